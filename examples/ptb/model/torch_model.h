// A language model as PyTorch saved it: which tensor of a state_dict is which of ours, and the sizes in its
// shapes.
//
// Known by their names are the weights of one nn.LSTM, nn.GRU or nn.RNN (whatever its module is called), of an
// embedding (embedding, encoder, …) and of a decoder (decoder, fc, …), wherever in the model they stand.
#pragma once

#include "examples/ptb/model/recipe.h"
#include "training/program/run/torch_tensors.h"

namespace ptb {

using namespace unroll;

struct TorchModel {
  int vocab = 0;
  RecurrentSizes layers;  // their input is the embedding's width
  bool tied = false;      // no decoder's weight, or the embedding's values
  // By our name ("lstm.weight_ih_l0", "gru.weight_ih_l0") the name in the file. What need not be there may be
  // missing: all biases of the layers, the decoder's, and its weight, which a tied model does not have.
  std::map<std::string, std::string> names;
};

// `renames` as TorchTensors has them. Throws InputError: a tensor that is not known or missing, one that another
// model has (a bidirectional one, …), shapes that do not fit each other.
TorchModel read_torch_model(const SafetensorsFile& file, const std::vector<std::string>& renames = {});

}  // namespace ptb
