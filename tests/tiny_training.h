// A language model that trains in a moment, with everything that a checkpoint must keep: dropout, a state
// that crosses windows, moments or averages, a schedule.
#pragma once

#include <memory>
#include <vector>

#include "tests/folder.h"
#include "training/trainer.h"
#include "unroll.h"

namespace unroll {

struct TinyTraining {
  struct Setup {
    int hidden = 6, layers = 2;
    enum class Rule { adam, asgd, momentum, averaged } rule = Rule::adam;
    bool variable_bptt = false;  // windows drawn around 12 steps, each with its share of the learning rate
  };
  explicit TinyTraining(const Setup& setup, uint64_t seed = 11)
      : params(seed),
        lstm(params / "lstm", {.input = 5,
                               .hidden = setup.hidden,
                               .layers = setup.layers,
                               .dropout = setup.layers > 1 ? 0.3f : 0}),
        decoder(params / "decoder", {.in = setup.hidden, .out = 7}),
        state(lstm.zero_state(3)),
        variable_bptt(setup.variable_bptt) {
    switch (setup.rule) {
      case Setup::Rule::adam:
        optimizer = std::make_unique<AdamW>(params, AdamWConfig{.learning_rate = 0.02});
        break;
      case Setup::Rule::asgd:
        optimizer = std::make_unique<Asgd>(
            params, AsgdConfig{.learning_rate = 1, .weight_decay = 1e-3, .average_after = AsgdConfig::never});
        break;
      case Setup::Rule::averaged:
        optimizer = std::make_unique<Lion>(params, LionConfig{.learning_rate = 0.01});
        optimizer->keep_average(0.8);
        break;
      case Setup::Rule::momentum:
        optimizer =
            std::make_unique<Sgd>(params, SgdConfig{.learning_rate = 0.3, .momentum = 0.9, .nesterov = true});
        break;
    }
  }

  TrainingTask task() {
    return {.windows = windows.count(),
            .cut = variable_bptt ? [this](int epoch) { return cut(epoch); } : std::function<int64_t(int)>(),
            .begin_epoch = [this](int) { state.reset(); },
            .loss =
                [this](int64_t) {
                  auto out = lstm(dropout(embedding(window.input)), state);
                  next = out.state;
                  WindowLoss result =
                      mean_loss(softmax_cross_entropy(decoder, out.y, window.target), window.target.size());
                  if (variable_bptt) result.rate_factor = window.target.dim(0) / 12.0;
                  return result;
                },
            .load =
                [this](int64_t k) {
                  window = windows.at(k);
                  return windows.kind_of(window);
                },
            .carry = [this] { state = next; },
            .carried = {{"h", state.h}, {"c", state.c}}};
  }

  int64_t cut(int epoch) {
    windows.cut([&](int64_t k) { return variable_steps(12, 11, epoch, k); });
    return windows.count();
  }

  static std::vector<int32_t> made_text() {
    std::vector<int32_t> text;
    for (int i = 0; i < 301; ++i) text.push_back(i % 5 == 4 ? 5 + (i / 5) % 2 : i % 5);
    return text;
  }

  const std::vector<int32_t> text = made_text();
  ParameterSet params;
  Embedding embedding{params / "embedding", {.vocab = 7, .dim = 5}};
  Dropout dropout{params / "dropout", {.rate = 0.2f}};
  Lstm lstm;
  Dense decoder;
  BpttWindows windows{text, {.batch = 3, .steps = 4}};  // 25 windows
  Window window;
  RecurrentState state;
  RecurrentVars next;
  bool variable_bptt;
  std::unique_ptr<Optimizer> optimizer;
};

// Options of a run in a folder that prints nothing.
inline TrainerOptions options(const Folder& folder, int epochs = 2) {
  return {.epochs = epochs,
          .clip = 1,
          .progress = {.mode = ProgressOptions::Mode::silent},
          .folder = folder.path(),
          .log_every = 7};
}

}  // namespace unroll
