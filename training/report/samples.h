// What a model made after its epochs, to be looked at in the report of its run.
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

// Adds a sample, of which the file has 600 bytes at most. Those of this epoch and of later ones go: a run that went back to a
// checkpoint makes them anew. Throws Error: the file cannot be written.
void add_sample(const std::filesystem::path& folder, const Sample& sample);

// By epoch; none without the file. Lines that are no samples are left out, and said in `damaged` where there is one.
std::vector<Sample> read_samples(const std::filesystem::path& folder,
                                 std::vector<std::string>* damaged = nullptr);

}  // namespace unroll
