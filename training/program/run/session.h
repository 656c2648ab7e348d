// One training run of a program, around the loop of training/trainer.h: its folder, what it prints as it
// begins, goes on and ends, its checkpoints, its resumption, its report.
//
//   Session session(options, run);  // the program's model and data, and what there is to say about them
//   session.run();
//
// The program decides what is trained: nothing here is about language models, or about series.
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

// A run's settings from the command line, beside its recipe.
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

// The parts of the data that have changed since a checkpoint was written.
struct DataDifferences {
  Differences notes = {};  // a line for each
  bool scores = false;     // validation scores of then and now do not compare
};

// A program's part of a training run. Everything that it refers to must outlive the session.
struct TrainingRun {
  std::string recipe_name, recipe;  // the latter with every key
  TrainingSections sections;
  ParameterSet& params;
  TrainingTask task;  // all of it but after_epoch
  Metadata metadata;  // of the checkpoints; with "recipe", "engine" and what data_differences looks at
  std::vector<std::string> of_weights = {};  // CheckpointOptions::of_weights
  std::function<Metadata()> validated = {};  // CheckpointOptions::validated
  std::vector<NamedTensor> also = {};        // CheckpointOptions::also
  // Puts the weights of RunOptions::init_from in place of those that were drawn. Called where there is such a file, before the
  // first step; a run that goes on from a checkpoint does not need the file. Throws InputError: it does not fit.
  std::function<void()> take_first_weights = {};
  RunDescription description;  // but for its title; names, facts and tables are used here too

  // The keys that differ from those of another resolved recipe. Throws InputError as the reading of it.
  std::function<std::vector<DifferingKey>(const RecipeFile& before)> differing_keys;
  // From the recipe, if no option named any: kept with the run, which may be resumed from elsewhere.
  std::filesystem::path own_data = {};
  WindowSizes window_sizes = {};  // for the advice where memory runs out
  bool graph = false;             // TrainerOptions::graph
  double operations = 0;          // of a step's products, forward and back; 0: not known
  // Compares the data with those of the checkpoint that has this metadata. Throws InputError where training cannot go on:
  // `path` begins the message.
  std::function<DataDifferences(const Metadata& then, const std::string& path)> data_differences;

  // What the model makes after an epoch, to be printed below its line and to stand in the report. Empty: nothing.
  std::function<std::string(int epoch)> sample = {};
  std::function<void()> score_a_little;             // for a dry run; prints the result
  // Before `report`: the file of the weights that are kept.
  std::function<void(const SafetensorsFile& file)> kept = {};
  // Scores the weights that are kept, prints the scores, and adds them to the description, whose last table is
  // the profile's. `valid` is their validation score, where there is one.
  std::function<void(std::optional<double> valid, RunDescription& description)> report;
  std::function<void(const RunResult& result)> print_json;
  std::string next;                          // what to do with the model: the command that takes it
  std::vector<std::string> next_words = {};  // which follow the model's file there, as a shell reads them
  // What follows it in the command "look", which the report names. Called after `report`.
  std::function<std::vector<std::string>()> look_words = {};
};

// The checkpoint that a run goes on from: the latest, or that of its first epoch if it was killed just then. None: it
// begins anew. Throws InputError as reading it does.
std::optional<SafetensorsFile> checkpoint_to_resume(const std::filesystem::path& folder);
// Throws InputError if there is a key among these that no run can go on with: before data are read as it says.
void refuse_fixed_keys(const std::string& path, const std::vector<DifferingKey>& keys);

class Session {
 public:
  Session(RunOptions options, TrainingRun run);

  // Trains to the end, in a folder of its own, or going on in that of a run. Throws as Trainer::run.
  void run();
  // Trains without a word and without a folder; then the parameters are the weights that are kept.
  void fit();
  // For those who debug a model; both write nothing.
  void dry_run();
  // One window ("one window of 400 tokens"), until its loss is as near as that to the least there can be.
  // Throws Error if that takes too long.
  void overfit_one_window(const std::string& window, double least, double near);

 private:
  void introduce() const;
  void take_first_weights() const;
  void compare_ranks() const;  // throws InputError where they would not train the same
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
