// Dynamic evaluation of a text (optim/dynamic_evaluation.h): `evaluate --dynamic`.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "examples/ptb/model/model.h"
#include "examples/ptb/scores/text_scores.h"

namespace ptb {

struct DynamicSettings {
  enum class Rule : uint8_t {
    rms,  // of Krause and others
    sgd   // W -= rate·g, the textbook's
  } rule = Rule::rms;
  // rms: for segments of 5; both are multiplied with segment / 5.
  double rate = DynamicEvaluationConfig{}.learning_rate, decay = DynamicEvaluationConfig{}.decay;
  double epsilon = DynamicEvaluationConfig{}.epsilon;
  int segment = 5;  // tokens, after each of which the model learns
};

// Reads "rms", "rate=5e-5,decay=0.002", "sgd,rate=0.1". Throws InputError.
DynamicSettings read_dynamic_settings(const std::string& text);
// The text that read_dynamic_settings reads as `settings`.
std::string option_text(const DynamicSettings& settings);
// "rate 5e-05, decay 0.002, epsilon 2e-05, segments of 5"
std::string describe(const DynamicSettings& settings);

// An optimizer that changes the model's weights as the settings say. `statistics`: R of dynamic_statistics.h; sgd needs
// none.
std::unique_ptr<Optimizer> make_dynamic(LanguageModel& model, const DynamicSettings& settings,
                                        const Tensor& statistics);

// Thrown if a loss is not finite: the rate is too large.
struct LossNotFinite : InputError {
  using InputError::InputError;
};

// A segment, scored by weights that have not seen it.
struct ScoredSegment {
  Tensor h, logits;        // [steps, width] and [steps, vocabulary]
  IdTensor target;         // [steps]
  const IdTensor& resets;  // as BpttWindows has them
};

// Scores every token of a text in one stream, as score() does (model.h). Calls `scored` with each segment, then learns
// from it. A new document resets the state to zeros but keeps the learned weights. The model has its weights again at the end,
// also if this throws: Interrupted, LossNotFinite. `optimizer` is for one text.
void score_dynamically(LanguageModel& model, const ScoredText& text, const DynamicSettings& settings,
                       Optimizer& optimizer, const std::function<void(const ScoredSegment&)>& scored);

}  // namespace ptb
