// The file of a model's gradient statistics (optim/dynamic_evaluation.h), beside the model's file.
//
// A safetensors file with R of each parameter under the parameter's name. The metadata identifies the model and holds a
// checksum of everything else. A file of another model, or one with a changed byte, is refused.
#pragma once

#include <filesystem>
#include <string>

#include "framework/parameters.h"
#include "training/files/safetensors.h"

namespace unroll {

// Hash of names, shapes and bits of all parameters: 16 hexadecimal digits.
std::string fingerprint_of(const ParameterSet& params);
// Hash of shape and bits.
std::string fingerprint_of(const Tensor& tensor);

// Writes the file whole or not at all. root_mean_square: laid out as params.values(). `metadata` belongs to the
// program: how the statistics were made. Throws Error.
void write_gradient_statistics(const std::filesystem::path& path, const ParameterSet& params,
                               const Tensor& root_mean_square, Metadata metadata);

struct StoredStatistics {
  Tensor root_mean_square;  // laid out as params.values()
  Metadata metadata;        // the program's own
};
// Throws InputError if the file is missing, of another kind, of another model, or damaged.
StoredStatistics read_gradient_statistics(const std::filesystem::path& path, const ParameterSet& params);

}  // namespace unroll
