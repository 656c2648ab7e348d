#include "examples/ptb/export/c_model.h"

#include <cmath>

#include "export/c_header.h"
#include "export/step_of.h"

namespace ptb {

StepPlan step_plan(const LanguageModel& model) {
  StepBuilder step(weights_of(model.params));
  StepVector x = append(step, model.embedding);
  if (!model.recurrent) step.call("scale", std::sqrt(static_cast<float>(model.embedding.config.dim)), x);
  if (model.recurrent) x = append(step, *model.recurrent, x);
  if (model.transformer) x = append(step, *model.transformer, x);
  if (model.mixture)
    step.output("log_p", append(step, *model.mixture, model.decoder, x));
  else
    step.output("logits", append(step, model.decoder, x));
  return step.plan();
}

static void write_header(const std::filesystem::path& path, const SavedModel& saved, int bits) {
  write_c_header(path, step_plan(*saved.model),
                 {.name = c_name(path),
                  .bits = bits,
                  .says = "A token is a word's place among the words. The output scores the word after it.",
                  .words = saved.vocabulary.words()});
}
void write_c(const std::filesystem::path& path, const SavedModel& saved) { write_header(path, saved, 32); }
void write_c_in_8_bits(const std::filesystem::path& path, const SavedModel& saved) { write_header(path, saved, 8); }

}  // namespace ptb
