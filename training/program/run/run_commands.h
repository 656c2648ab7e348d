// Commands that every training program shares, up to a few words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "training/program/cli/options.h"
#include "training/program/run/machine.h"
#include "training/program/run/session.h"

namespace unroll {

// The option that names the data ("data", "DIR", "folder of the text"), its heading ("Text and machine"), and a word
// for the data ("text").
struct DataOption {
  std::string name, value, description, heading, what;
};

// A training that a command line asks for.
struct TrainRequest {
  RunOptions run;
  RecipeFile recipe;
  std::vector<Override> overrides;
  bool data_given = false;  // by an option; else they are those of the run's beginning
  Machine machine;          // to be set up when the recipe is known
};

// Declares and reads the command "resume". False if only the declarations were wanted.
bool parse_resume(Command& command, const DataOption& data, RecipeOptions recipe, TrainRequest& request);

// The output options of "train", and the files that it leaves.
class TrainOutput {
 public:
  void add_to(Command& command, RunOptions& run);
  // Requires: the command has been parsed. Throws InputError.
  void take(const Command& command, RunOptions& run, std::vector<Override>& overrides) const;

 private:
  std::string out_;
  int64_t log_every_ = 0;
};

void report_command(Command& command);

}  // namespace unroll
