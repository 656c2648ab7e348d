// Samples that a model made after its epochs, for the report of its run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace unroll {

constexpr const char* samples_file = "samples.jsonl";  // in a run's folder

struct Sample {
  int epoch = 0;
  std::string text;
};

// Adds a sample; the file keeps at most its first 600 bytes. Removes samples of this and later epochs, since a run that
// went back to a checkpoint makes them anew. Throws Error if the file cannot be written.
void add_sample(const std::filesystem::path& folder, const Sample& sample);

// Samples by epoch; none if there is no file. Skips lines that are no samples; if `damaged` is given, lists them there.
std::vector<Sample> read_samples(const std::filesystem::path& folder,
                                 std::vector<std::string>* damaged = nullptr);

}  // namespace unroll
