// The command "sweep": independent trainings of one recipe with other values and seeds, and a table of them.
//
// Each trial is this program's own `train`, or `resume`, in a process of its own: one that crashes is a row of the table. A
// trial that is done is never trained again. One process works on a sweep at a time.
//
//   runs/demo-sweep-1/sweep.json                   what is trained (plan.h)
//                     trial-3/demo.toml            the recipe of that trial
//                     trial-3/run/                 the folder of its run
//                     trial-3/output.txt           what its processes have printed
//                     trial-3/result.json          once it is over
//                     table.csv, trials.csv, table.json
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "training/program/run/run_commands.h"
#include "training/program/sweep/plan.h"

namespace unroll {

// A program's part of it.
struct SweepProgram {
  DataOption data;
  RecipeOptions recipe;
  std::string example;  // "sweep demo --set model.hidden=100,200 --seeds 1..3"
  // A recipe with its overrides, every key spelled out. Throws InputError.
  std::function<std::string(const RecipeFile& recipe, const std::vector<Override>& overrides)> resolve;
  // Makes the data that a trial trains on, to see that it can. Throws InputError.
  std::function<void(const RecipeFile& trial, const std::filesystem::path& data)> make_data;
  DifferingKeys differing_keys;
};

void sweep_command(Command& command, SweepProgram program);

}  // namespace unroll
