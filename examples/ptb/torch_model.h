// A language model as PyTorch saved it: which tensor of a state_dict is which of ours, and the sizes in its
// shapes.
//
// Known by their names are the weights of one nn.LSTM or nn.GRU (whatever its module is called), of an
// embedding (embedding, encoder, …) and of a decoder (decoder, fc, …), wherever in the model they stand.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "recipe.h"
#include "training/safetensors.h"

namespace ptb {

using namespace unroll;

struct TorchModel {
  int vocab = 0, embedding = 0, hidden = 0, layers = 0;
  int projection = 0;  // of an LSTM: proj_size
  Cell cell = Cell::lstm;
  bool tied = false;  // no decoder's weight, or the embedding's values
  // By our name ("lstm.weight_ih_l0", "gru.weight_ih_l0") the name in the file. What need not be there may be
  // missing: all biases of the layers, the decoder's, and its weight.
  std::map<std::string, std::string> names;
};

// `renames` are "THEIRS=OURS", of a tensor or a module ("rnns.0=lstm"); with nothing after '=' it is left
// out. Throws InputError: a tensor that is not known or missing, one that another model has (a plain RNN,
// bidirectional, …), shapes that do not fit each other.
TorchModel read_torch_model(const SafetensorsFile& file, const std::vector<std::string>& renames = {});

}  // namespace ptb
