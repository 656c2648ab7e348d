// The weights of a step, from a model's file.
#pragma once

#include "export/step_builder.h"
#include "training/files/safetensors.h"

namespace unroll {

// Reads names as state_dict() has written them (training/files/state_dict.h), also of PyTorch's modules: two biases are added. The
// file must live as long as the result. Throws InputError, naming the weight: it is not there, its shape is another, or it holds a
// number that is not finite.
StepWeights weights_in(const SafetensorsFile& file);
StepWeights weights_in(SafetensorsFile&&) = delete;

}  // namespace unroll
