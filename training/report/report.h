// The report of a run: `report.html` in its folder, one file that needs no network and no server.
//
//   write_run_description(folder, {.title = "mine", .summary = "Forecasts of 7 series", .names = {.unit = "values"},
//                                  .tables = {parameter_table(model.params)}});
//   task.after_epoch = [&](const EpochReport&) { write_report(folder); };
//
// Shows curves, results, epochs, the program's tables and the recipe. Its script only shows values under the pointer.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "training/report/chart.h"

namespace unroll {

// Makes the report from the folder's report.json (training/report/run_description.h), log.jsonl and, if there is one,
// recipe.toml. Atomic, and in turn with other processes: the last to write is the last to have read. Returns lines of
// the log that are no records and were left out ("log.jsonl:7: …"). Throws InputError if a file is missing or
// report.json is damaged, Error if the report cannot be written.
std::vector<std::string> write_report(const std::filesystem::path& folder);

// The report's first picture, for a file of its own: training and validation scores by step, and the scores to compare
// with. Throws InputError as above, and if the log is empty.
Chart score_chart(const std::filesystem::path& folder);

// --- samples that a model made after its epochs --------------------------------------------------------------

constexpr const char* samples_file = "samples.jsonl";  // in a run's folder

// A text that a model made after an epoch, counted from 1.
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
