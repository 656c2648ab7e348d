#include "examples/ptb/scores/dynamic_statistics.h"

#include <cmath>

#include <fmt/format.h>

#include "data/windows.h"
#include "framework/signals.h"
#include "training/files/atomic_file.h"
#include "training/files/gradient_statistics.h"
#include "training/program/cli/console.h"
#include "training/report/progress.h"

namespace ptb {

static constexpr int statistics_streams = 100, statistics_steps = 5;

static void require_tokens(int64_t tokens) {
  require_input(tokens > statistics_streams,
                "--dynamic: the training text has {} tokens: too few for statistics in {} streams", tokens,
                statistics_streams);
}

MadeStatistics make_statistics(LanguageModel& model, std::span<const int32_t> tokens,
                               std::span<const int64_t> documents, bool progress) {
  require_tokens(std::ssize(tokens));
  BpttWindows windows(tokens,
                      {.batch = statistics_streams, .steps = statistics_steps, .documents = documents});
  Progress shown("statistics", windows.count(),
                 {.stream = stderr,
                  .mode = progress ? ProgressOptions::Mode::automatic : ProgressOptions::Mode::silent});
  GradientStatistics statistics(model.params);
  ModelState state = model.zero_state(statistics_streams);
  for (int64_t k = 0; k < windows.count(); ++k) {
    stop_if_signalled();
    const auto [input, target] = windows.at(k);
    Tape tape({.dropout = false});
    const LanguageModel::Output out = model(input, target, state, windows.resets());
    require_input(std::isfinite(static_cast<double>(out.loss.item())),
                  "--dynamic: the model's loss of its training text is {}", out.loss.item());
    tape.backward(out.loss);
    statistics.add();
    state = out.state;
    shown.update(k + 1);
  }
  MadeStatistics made{statistics.root_mean_square(), statistics.windows()};
  for (const real r : made.root_mean_square.on_host())
    require_input(std::isfinite(static_cast<double>(r)),
                  "--dynamic: a gradient of the model's on its training text is not finite");
  return made;
}

std::filesystem::path statistics_path(const std::filesystem::path& model) {
  return model.parent_path() / (model.stem().string() + ".statistics.safetensors");
}

Statistics::Statistics(SavedModel& saved, std::filesystem::path path, const std::filesystem::path& data)
    : model_(*saved.model), path_(std::move(path)) {
  if (std::filesystem::exists(path_)) {
    stored_ = read_gradient_statistics(path_, model_.params).root_mean_square;
    return;
  }
  const AtomicFile can_be_written(path_);
  text_ = load_split(saved.recipe, data, Split::train, saved.vocabulary);
  require_tokens(std::ssize(text_.tokens));
}

Tensor Statistics::root_mean_square(std::string& said) {
  if (stored_.defined()) {
    said = fmt::format("statistics of the training text, made before: {}", path_.string());
    return stored_;
  }
  show(stderr, "statistics of gradients on the training text, made once: {}\n", shown(path_));
  const MadeStatistics made = make_statistics(model_, text_.tokens, text_.documents, true);
  write_gradient_statistics(path_, model_.params, made.root_mean_square,
                            {{"text", fingerprint_of(text_.tokens, text_.documents)},
                             {"streams", std::to_string(statistics_streams)},
                             {"steps", std::to_string(statistics_steps)},
                             {"windows", std::to_string(made.windows)}});
  said = fmt::format("statistics of {} windows of the training text, kept for the next time: {}",
                     with_commas(made.windows), path_.string());
  return made.root_mean_square;
}

}  // namespace ptb
