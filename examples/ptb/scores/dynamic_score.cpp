#include "examples/ptb/scores/dynamic_score.h"

#include <cmath>

#include <fmt/format.h>

#include "data/windows.h"
#include "examples/ptb/model/settings.h"
#include "framework/signals.h"

namespace ptb {

using Rule = DynamicSettings::Rule;

DynamicSettings read_dynamic_settings(const std::string& text) {
  DynamicSettings s{.rate = NAN, .decay = NAN, .epsilon = NAN};
  const Setting settings[] = {{"rate", "X", &s.rate},
                              {"decay", "X", &s.decay},
                              {"epsilon", "X", &s.epsilon},
                              {"segment", "N", &s.segment}};
  s.rule = read_settings("dynamic", text, settings, {"rms", "sgd"}) == "sgd" ? Rule::sgd : Rule::rms;
  const bool rms = s.rule == Rule::rms;
  require_input(rms || !std::isnan(s.rate), "--dynamic {}: sgd needs a rate, as in sgd,rate=0.1", text);
  require_input(rms || (std::isnan(s.decay) && std::isnan(s.epsilon)),
                "--dynamic {}: sgd has neither decay nor epsilon, which are of rms", text);
  const DynamicSettings defaults;
  if (std::isnan(s.rate)) s.rate = defaults.rate;
  if (std::isnan(s.decay)) s.decay = defaults.decay;
  if (std::isnan(s.epsilon)) s.epsilon = defaults.epsilon;
  const auto check = [](const char* name, double value, bool positive) {
    constexpr double most = 1e30;
    require_input((positive ? value > 1e-30 : value >= 0) && value <= most,
                  "--dynamic: {} {} is not a number {} {:g}", name, value,
                  positive ? "above 0 and up to" : "from 0 to", most);
  };
  check("rate", s.rate, false), check("decay", s.decay, false), check("epsilon", s.epsilon, true);
  require_input(s.segment >= 1 && s.segment <= 100'000,
                "--dynamic: segment {} is not from 1 to 100000 tokens", s.segment);
  return s;
}

std::string option_text(const DynamicSettings& s) {
  return s.rule == Rule::sgd
             ? fmt::format("sgd,rate={},segment={}", s.rate, s.segment)
             : fmt::format("rate={},decay={},epsilon={},segment={}", s.rate, s.decay, s.epsilon, s.segment);
}

std::string describe(const DynamicSettings& s) {
  return s.rule == Rule::sgd
             ? fmt::format("plain gradient descent, rate {:g}, segments of {}", s.rate, s.segment)
             : fmt::format("rate {:g}, decay {:g}, epsilon {:g}, segments of {}", s.rate, s.decay, s.epsilon,
                           s.segment);
}

std::unique_ptr<Optimizer> make_dynamic(LanguageModel& model, const DynamicSettings& s,
                                        const Tensor& statistics) {
  if (s.rule == Rule::sgd) return std::make_unique<Sgd>(model.params, SgdConfig{.learning_rate = s.rate});
  const double longer = s.segment / 5.0;
  return std::make_unique<DynamicEvaluation>(
      model.params, statistics,
      DynamicEvaluationConfig{
          .learning_rate = s.rate * longer, .decay = s.decay * longer, .epsilon = s.epsilon});
}

namespace {

// Puts the weights back that a model had.
struct WeightsForNow {
  explicit WeightsForNow(ParameterSet& set) : params(set), before(set.values().clone()) {}
  ~WeightsForNow() { params.changed_values().copy_from(before); }
  WeightsForNow(const WeightsForNow&) = delete;
  WeightsForNow& operator=(const WeightsForNow&) = delete;
  ParameterSet& params;
  const Tensor before;
};

}  // namespace

void score_dynamically(LanguageModel& model, const ScoredText& text, const DynamicSettings& settings,
                       Optimizer& optimizer, const std::function<void(const ScoredSegment&)>& scored) {
  const WeightsForNow changed(model.params);
  ModelState state = model.zero_state(1);
  BpttWindows windows = evaluation_windows(
      text.tokens, text.eos, {.batch = 1, .steps = settings.segment, .documents = text.documents});
  const auto loss = [&](int64_t k) {
    stop_if_signalled();
    const auto [input, target] = windows.at(k);
    const int steps = input.dim(0);
    const auto [y, next] = model.read(input, state, windows.resets());
    const Var logits = model.logits(y);
    const IdTensor words = target.reshape({steps});
    const Var of_segment = softmax_cross_entropy(logits, target);
    if (!std::isfinite(static_cast<double>(of_segment.item())))
      throw LossNotFinite(fmt::format("--dynamic: the loss is {} after {} tokens: the rate {} is too large",
                                      of_segment.item(), k * settings.segment, settings.rate));
    scored({y.value().reshape({steps, y.dim(2)}), logits.value().reshape({steps, logits.dim(2)}), words,
            windows.resets()});
    state = next;
    return of_segment;
  };
  learn_while_scoring(windows.count(), optimizer, loss);
}

}  // namespace ptb
