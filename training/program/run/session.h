// One training run of a program, around the loop of training/trainer.h: its folder, its output, its checkpoints, its
// resumption, its report.
//
//   Session session(options, run);  // the program's model and data, and its words about them
//   session.run();
//
// The program decides what is trained: a session knows nothing of language models or series.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/processes/processes.h"
#include "framework/profile.h"
#include "training/program/cli/console.h"
#include "training/program/recipe/recipe_sections.h"
#include "training/program/run/result.h"
#include "training/report/run_description.h"
#include "training/trainer.h"

namespace unroll {

// A run's settings from the command line, besides its recipe.
struct RunOptions {
  std::string program;              // "ptb"
  std::filesystem::path data, out;  // out: of a run that is resumed, its folder
  std::filesystem::path init_from =
      {};                        // training.init_from, absolute; of a run that is resumed as it was then
  std::string data_option = {};  // that names the data: "csv"; of a run that is resumed
  bool json = false, dry_run = false, resume = false;
  bool quiet = false, profile = false;
  Console console() const { return {.out = json && is_first_process() ? stderr : stdout, .quiet = quiet}; }
};

// The parts of the data that changed since a checkpoint was written.
struct DataDifferences {
  Differences notes = {};  // a line for each
  bool scores = false;     // validation scores of then and now do not compare
};

// A program's part of a training run. Requires: everything it refers to outlives the session.
struct TrainingRun {
  std::string recipe_name, recipe;  // the latter with every key
  TrainingSections sections;
  ParameterSet& params;
  TrainingTask task;     // all of it but after_epoch
  EpochWindows windows;  // how many an epoch has: schedules ask for epochs to come, so task.cut is not called for it
  Metadata metadata;  // of the checkpoints; with "recipe", "engine" and what data_differences looks at
  std::vector<std::string> of_weights = {};  // CheckpointOptions::of_weights
  std::vector<NamedTensor> also = {};        // CheckpointOptions::also
  // Replaces the initial weights by those of RunOptions::init_from. Called before the first step if there is such a
  // file; a run that continues from a checkpoint does not need it. Throws InputError if the file does not fit.
  std::function<void()> take_first_weights = {};
  RunDescription description;  // without its title; names, facts and tables are also printed

  // The keys that differ from another resolved recipe's. Throws InputError if that one cannot be read.
  std::function<std::vector<DifferingKey>(const RecipeFile& before)> differing_keys;
  // Data that the recipe names, used if no option names any. Kept with the run, which may be resumed from elsewhere.
  std::filesystem::path own_data = {};
  WindowSizes window_sizes = {};  // for the advice where memory runs out
  bool graph = false;             // TrainerOptions::graph
  double operations = 0;          // of a step's products, forward and back; 0: not known
  // Compares the data with those of the checkpoint with this metadata. Throws InputError, whose message begins with
  // `path`, if training cannot go on.
  std::function<DataDifferences(const Metadata& then, const std::string& path)> data_differences;

  // Lets the model make a sample after an epoch, to be printed below its line and shown in the report. Empty: none.
  std::function<std::string(int epoch)> sample = {};
  std::function<void()> score_a_little;  // for a dry run; prints the result
  // Called before `report`, with the file of the kept weights.
  std::function<void(const SafetensorsFile& file)> kept = {};
  // Scores the kept weights, prints the scores, and adds them to the description, whose last table is the profile's.
  // `valid`: their validation score, if there is one.
  std::function<void(std::optional<double> valid, RunDescription& description)> report;
  std::function<void(const RunResult& result)> print_json;
  std::string next = {};  // what to do with the model: the command that takes it; empty: there is none
  std::vector<std::string> next_words = {};  // which follow the model's file there, as a shell reads them
  // The words after the model's file in the command "look", which the report names. Called after `report`.
  std::function<std::vector<std::string>()> look_words = {};
};

// The checkpoint to continue from: the latest, or that of the first epoch if the run was killed just then. None: the
// run begins anew. `auto` keeps the engine that it names (keep_engine). Throws InputError if it cannot be read.
std::optional<SafetensorsFile> checkpoint_to_resume(const std::filesystem::path& folder);
// Throws InputError if one of the keys is fixed, so that no run can go on with it. Called before the data are read.
void refuse_fixed_keys(const std::string& path, const std::vector<DifferingKey>& keys);

class Session {
 public:
  Session(RunOptions options, TrainingRun run);

  // Trains to the end, in a new folder, or in that of the resumed run. Throws as Trainer::run.
  void run();
  // Trains without output and without a folder. Afterwards the parameters are the kept weights.
  void fit();
  // For debugging a model; both write no files.
  void dry_run();
  // Trains on one window ("one window of 400 tokens") until its loss is within `near` of `least`, the least there can
  // be. Throws Error if that takes too long.
  void overfit_one_window(const std::string& window, double least, double near);

 private:
  void introduce() const;
  void take_first_weights() const;
  void compare_ranks() const;  // throws InputError if they would not train the same
  void introduce_processes();
  void follow(const std::filesystem::path& folder);  // rank 0, which owns that folder, as another rank
  TrainerOptions trainer_options(const std::filesystem::path& folder = {}) const;
  TrainingTask one_window_task() const;
  TrainerOptions one_window_options(int steps) const;  // that window again and again, without a word
  void resume(Trainer& trainer, const std::filesystem::path& folder) const;
  void resume_as_rank_0_does(Trainer& trainer) const;
  void score_anew(Trainer& trainer) const;
  void print_damaged_log(const Trainer& trainer) const;
  void keep_sample(const std::filesystem::path& folder, int epoch, const std::string& text) const;
  void describe_run(const std::filesystem::path& folder);
  void keep_what_was_measured(const std::filesystem::path& folder);  // while the finished run in it trained
  void train(Trainer& trainer, const TrainingTask& task);            // measured, if that was asked for
  void write_report_now(const std::filesystem::path& folder);
  void write_report_in_time(
      const std::filesystem::path& folder);  // unless the last one is a second old at most
  void report(const Trainer& trainer, const std::filesystem::path& folder);
  void print_profile();  // and ends it
  void print_memory() const;
  void print_json(const Trainer& trainer, int epochs) const;

  const RunOptions options_;
  TrainingRun run_;
  const Console console_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<Profile> profile_;
  RunDescription description_;
  std::optional<RunDescription::Figure> peak_memory_;  // of the process that trained, if that was another
  std::chrono::steady_clock::time_point last_report_ = {};
  double seconds_of_reports_ = 0;
};

}  // namespace unroll
