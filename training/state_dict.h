// A model's weights under the names that PyTorch's state_dict has for them.
//
// A parameter's path is that name already ("lstm.weight_ih_l0"), but for the bias of an LSTM: ours is one per
// gate, PyTorch's are two, of which only the sum matters. "lstm.bias_l0" is written as "lstm.bias_ih_l0",
// with zeros as "lstm.bias_hh_l0"; on reading the two are summed.
#pragma once

#include <vector>

#include "framework/parameters.h"
#include "training/safetensors.h"

namespace unroll::inline UNROLL_REAL {

// Every parameter, sharing its memory.
std::vector<NamedTensor> state_dict(const ParameterSet& params);

// Fills every parameter from a file, which may hold other tensors too. Throws InputError naming the tensor,
// and both shapes where they differ; nothing was changed then.
void load_state_dict(const SafetensorsFile& file, ParameterSet& params);

}  // namespace unroll::inline UNROLL_REAL
