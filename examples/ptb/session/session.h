// Training of a language model: connects the model and its text to a session (training/program/run/session.h).
#pragma once

#include <functional>
#include <optional>

#include "data/windows.h"
#include "examples/ptb/model/model.h"
#include "examples/ptb/session/result.h"
#include "examples/ptb/text/text.h"
#include "training/program/run/session.h"

namespace ptb {

class TextTraining {
 public:
  // Reads the text. Throws InputError.
  TextTraining(RunOptions options, Recipe recipe);
  TextTraining(const TextTraining&) = delete;  // the session refers to it
  TextTraining& operator=(const TextTraining&) = delete;

  void run() { session_.run(); }
  void dry_run() { session_.dry_run(); }
  // Throws Error if training does not learn one window by heart.
  void overfit_one_batch();

 private:
  std::vector<RunDescription::Figure> facts() const;
  RunDescription description() const;
  TrainingTask task();
  // Sets `next` to the state for the following window.
  WindowLoss loss(const Window& window, const IdTensor& resets, const ModelVars& state,
                  ModelVars& next) const;
  WindowLoss shard_loss(int64_t window, const Shard& shard);
  Metadata metadata() const;
  DataDifferences differences(const Metadata& then, const std::string& path) const;
  TrainingRun training_run();
  std::function<std::vector<std::string>()> look_words() const;
  ScoredText scored(const SplitText& split) const;  // as the recipe has it
  void score_a_little() const;
  std::string sample(int epoch) const;
  std::string written(std::span<const int32_t> ids) const;
  void describe_surprises(RunDescription& description);  // and chooses a text to look at
  void report(double valid, RunDescription& description);
  void print_score(Split split, double perplexity, RunDescription& description) const;

  const RunOptions options_;
  const Recipe recipe_;
  const Console console_;
  Text text_;
  LanguageModel model_;
  BpttWindows windows_;
  Window window_;  // the present one, where it is not cut into shards
  ModelState state_;
  ModelVars next_;
  Result result_;
  std::string text_to_look_at_;  // that the report proposes
  Session session_;
};

}  // namespace ptb
