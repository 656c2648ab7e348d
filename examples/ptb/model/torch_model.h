// A language model as PyTorch saved it: maps the tensors of a state_dict to ours and reads the sizes from their
// shapes.
//
// Names identify tensors anywhere in the model. It has one nn.LSTM, nn.GRU or nn.RNN, whatever its module is
// called, an embedding (embedding, encoder, …) and a decoder (decoder, fc, …). A mixture of softmaxes has `prior` and `latent`
// between them, as model.softmax = "mixture" does.
#pragma once

#include "examples/ptb/model/recipe.h"
#include "training/program/run/torch_tensors.h"

namespace ptb {

using namespace unroll;

struct TorchModel {
  int vocab = 0;
  RecurrentSizes layers;  // their input is the embedding's width
  int components = 0;     // of a mixture of softmaxes; 0: one softmax
  bool tied = false;      // no decoder's weight, or the embedding's values
  // Our name ("lstm.weight_ih_l0", "gru.weight_ih_l0") to the name in the file. May lack all biases of the
  // layers, the decoder's bias, and the decoder's weight, which a tied model does not have.
  std::map<std::string, std::string> names;
};

// `renames` as TorchTensors has them. Throws InputError if a tensor is unknown or missing or belongs to another kind
// of model (a bidirectional one, …), or if shapes do not fit each other.
TorchModel read_torch_model(const SafetensorsFile& file, const std::vector<std::string>& renames = {});

}  // namespace ptb
