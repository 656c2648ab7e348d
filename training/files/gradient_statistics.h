// The file of a model's gradient statistics (optim/dynamic_evaluation.h), which stands beside the model's.
//
// It is a safetensors file: R of each parameter under the parameter's name, and in the metadata which model it was made of
// and a checksum of all the rest. A file of another model, or one in which a byte differs, is refused.
#pragma once

#include <filesystem>
#include <string>

#include "framework/parameters.h"
#include "training/files/safetensors.h"

namespace unroll {

// Of names, shapes and bits of all parameters: 16 hexadecimal digits.
std::string fingerprint_of(const ParameterSet& params);
// Of shape and bits.
std::string fingerprint_of(const Tensor& tensor);

// Writes the file whole or not at all. root_mean_square: laid out as params.values(). `metadata` is the program's own: how
// the statistics were made. Throws Error.
void write_gradient_statistics(const std::filesystem::path& path, const ParameterSet& params,
                               const Tensor& root_mean_square, Metadata metadata);

struct StoredStatistics {
  Tensor root_mean_square;  // laid out as params.values()
  Metadata metadata;        // the program's own
};
// Throws InputError: no such file, of another kind, of another model, damaged.
StoredStatistics read_gradient_statistics(const std::filesystem::path& path, const ParameterSet& params);

}  // namespace unroll
