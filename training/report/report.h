// The report of a run: `report.html` in its folder, one file that needs no network and no server.
//
//   write_run_description(folder, {.title = "mine", .summary = "Forecasts of 7 series", .names = {.unit = "values"},
//                                  .tables = {parameter_table(model.params)}});
//   task.after_epoch = [&](const EpochReport&) { write_report(folder); };
//
// Curves, results, epochs, the tables that the program gave, the recipe. Light or dark as the reader's system
// is, readable on a telephone and on paper, and with a script only for values under the pointer.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "training/report/chart.h"

namespace unroll {

// Makes the report from what lies in the folder: report.json (training/report/run_description.h), log.jsonl, and
// recipe.toml where there is one. Atomically, and in turn with other processes that make it: the last one to write has read
// last. Returns the lines of the log that are no records and so were left out ("log.jsonl:7: …"). Throws InputError if one
// of the files is missing, or report.json is damaged; Error if the report cannot be written.
std::vector<std::string> write_report(const std::filesystem::path& folder);

// The first picture of that report, for a file of its own: the scores of training and validation by step, and the scores to
// compare with. Throws InputError as above, and if nothing is in the log yet.
Chart score_chart(const std::filesystem::path& folder);

}  // namespace unroll
