// A model's weights under the names of PyTorch's state_dict.
//
// A parameter's path is that name already ("lstm.weight_ih_l0"), except for the biases of a recurrent layer. PyTorch
// has two for every gate and adds them; we have one. "lstm.bias_l0" is written as "lstm.bias_ih_l0", and zeros as
// "lstm.bias_hh_l0"; reading adds the two. So is every parameter whose name is "bias_l" and a number, perhaps with "_reverse".
// In a GRU the reset gate acts between the two biases of the new state, so it keeps both: "gru.bias_hn_l0" is the last third of
// "gru.bias_hh_l0".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/parameters.h"
#include "training/files/safetensors.h"

namespace unroll {

// Every parameter. Shares a parameter's memory if it is a tensor of its own in PyTorch.
std::vector<NamedTensor> state_dict(const ParameterSet& params);

// A parameter's part of a slab that is laid out as ParameterSet::values().
Tensor segment_of(const Parameter& parameter, const Tensor& slab);

// Fills a tensor as SafetensorsFile::load_into. Throws InputError, naming it, if a number in the file is not finite.
void load_finite_into(const SafetensorsFile& file, const std::string& name, const Tensor& into);

// True if two tensors of a file have the same shape and the same bits.
bool same_bits(const SafetensorsFile& file, const std::string& a, const std::string& b);

// Fills every parameter from a file. Returns the names of the file's other tensors (those of further layers, say),
// except for a checkpoint's that begin with "training/". Throws InputError, naming the tensor, if it is missing, its
// shape differs (naming both), or its numbers are not finite. After an error the parameters are unchanged, unless
// numbers were not finite or the file could not be read to its end.
std::vector<std::string> load_state_dict(const SafetensorsFile& file, ParameterSet& params);
// As above, from any source: `load` fills the tensor of a name, and is called for each name of state_dict. Parameters
// that it does not fill stay as they are. So it may take a part of another model, or other names:
//
//   load_state_dict([&](const std::string& name, const Tensor& into) {
//     if (name.starts_with("embed.")) file.load_into("encoder." + name, into);
//   }, model.params);
void load_state_dict(const std::function<void(const std::string& name, const Tensor& into)>& load,
                     ParameterSet& params);

}  // namespace unroll
