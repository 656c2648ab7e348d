// The page that explains a run: `report.html` in its folder, one file that needs no network and no server.
//
//   write_run_description(folder, {.title = "mine", .summary = "Forecasts of 7 series", .names = {.unit = "values"},
//                                  .tables = {parameter_table(model.params)}});
//   task.after_epoch = [&](const EpochReport&) { write_report(folder); };
//
// Curves, results, epochs, the tables that the program gave, the recipe. Light or dark as the reader's system
// is, readable on a telephone and on paper, and with a script only for values under the pointer.
#pragma once

#include <filesystem>

namespace unroll {

// Makes the page from what lies in the folder: report.json (training/run_description.h), log.jsonl, and
// recipe.toml where there is one. Atomically. Throws InputError if one of them is missing or damaged, Error
// if the page cannot be written.
void write_report(const std::filesystem::path& folder);

}  // namespace unroll
