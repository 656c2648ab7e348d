// A model's weights under the names that PyTorch's state_dict has for them.
//
// A parameter's path is that name already ("lstm.weight_ih_l0"), but for the biases of a recurrent layer.
// PyTorch has two for every gate, which it adds up; ours is one. "lstm.bias_l0" is written as
// "lstm.bias_ih_l0", with zeros as "lstm.bias_hh_l0"; on reading the two are summed. A GRU's reset gate
// stands between the two biases of its new state, so there both count: "gru.bias_hn_l0" is the last third of
// "gru.bias_hh_l0".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/parameters.h"
#include "training/files/safetensors.h"

namespace unroll {

// Every parameter, sharing its memory where it is a tensor of its own there.
std::vector<NamedTensor> state_dict(const ParameterSet& params);

// Fills a tensor as SafetensorsFile::load_into. Throws InputError naming it if a number in the file is not finite: no model
// can compute with that.
void load_finite_into(const SafetensorsFile& file, const std::string& name, const Tensor& into);

// Whether two tensors of a file have the same shape and the same bits.
bool same_bits(const SafetensorsFile& file, const std::string& a, const std::string& b);

// Fills every parameter from a file, which may hold other tensors too: returns their names, but those of a checkpoint that
// begin with "training/". (A file of more layers has such.) Throws InputError naming the tensor, and both shapes where they
// differ, or one with numbers that are not finite; nothing was changed then, unless it is because of the numbers, or the file
// could not be read to its end.
std::vector<std::string> load_state_dict(const SafetensorsFile& file, ParameterSet& params);
// As above, from anywhere: `load` fills the tensor of a name, and is called for each that state_dict would
// give. Parameters that it does not fill stay as they are, so it may take a part of another model, or other names:
//
//   load_state_dict([&](const std::string& name, const Tensor& into) {
//     if (name.starts_with("embed.")) file.load_into("encoder." + name, into);
//   }, model.params);
void load_state_dict(const std::function<void(const std::string& name, const Tensor& into)>& load,
                     ParameterSet& params);

}  // namespace unroll
