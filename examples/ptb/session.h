// One training run: a model, its text, and what training it needs.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "data/windows.h"
#include "model.h"
#include "result.h"
#include "text.h"
#include "training/run_description.h"
#include "training/trainer.h"

namespace ptb {

struct TrainOptions {
  Recipe recipe;
  std::filesystem::path data, out;  // out: of a run that is resumed, its folder
  bool json = false, dry_run = false, overfit_one_batch = false, resume = false;
  bool quiet = false, profile = false;
};

class Session {
 public:
  // Reads the text. Throws InputError.
  explicit Session(TrainOptions options);

  // Trains to the end, in a folder of its own, or going on in that of a run. Throws as Trainer::run.
  void run();
  // For those who debug a model; both write nothing. overfit_one_batch throws Error if it could not.
  void dry_run();
  void overfit_one_batch();

 private:
  // A result.
  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) const {
    fmt::print(out_, format, std::forward<Args>(args)...);
    std::fflush(out_);
  }
  // What is not to be said when quiet.
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (!options_.quiet) tell(format, std::forward<Args>(args)...);
  }
  std::vector<RunDescription::Figure> facts() const;
  void introduce() const;
  TrainingTask task();
  TrainerOptions trainer_options(const std::filesystem::path& folder = {}) const;
  Metadata metadata() const;
  void resume(Trainer& trainer, const TrainingTask& task, const std::filesystem::path& folder) const;
  // One window, again and again, without a word.
  TrainerOptions one_window_options(int steps) const;
  Score score_split(Split split) const;
  void report(const Trainer& trainer, const std::filesystem::path& folder);
  void tell_score(Split split, double perplexity, int64_t tokens, std::optional<double> source);
  void print_json(const Trainer& trainer, int epochs);

  void train(Trainer& trainer, const TrainingTask& task);  // measured, if that was asked for
  void tell_profile();                                     // and ends it
  void tell_memory() const;
  RunDescription describe_run(const std::filesystem::path& folder) const;
  void write_page(const std::filesystem::path& folder);
  void sample(int epoch) const;

  const TrainOptions options_;
  const Recipe& recipe_;
  std::FILE* out_;
  Text text_;
  LanguageModel model_;
  BpttWindows windows_;
  LstmState state_;
  LstmVars next_;
  std::unique_ptr<Optimizer> optimizer_;
  Result result_;
  std::optional<Profile> profile_;
  RunDescription description_;
  double seconds_of_pages_ = 0;
};

}  // namespace ptb
