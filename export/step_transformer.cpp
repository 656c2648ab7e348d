#include "export/step_transformer.h"

#include "layers/transformer.h"

namespace unroll {

// x += W_o attend(norm1(x));  x += W2 gelu(W1 norm2(x) + b1) + b2
static void layer(StepBuilder& step, const std::string& path, const TransformerConfig& c, const StepVector& x,
                  const StepVector& past) {
  const int places = c.memory + 1;
  const StepVector seen = step.layer_norm(path + ".norm1", x);
  const std::string attention = path + ".self_attn.";
  const StepVector all =
      step.dense(attention + "in_proj_weight", attention + "in_proj_bias", 3 * c.dim, seen);
  const StepVector query = all.part(0, c.dim), key = all.part(c.dim, 2 * c.dim),
                   value = all.part(2 * c.dim, 3 * c.dim);
  const StepVector keys = step.state(path + ".keys", places * c.dim),
                   values = step.state(path + ".values", places * c.dim);
  step.call({.kernel = "remember",
             .sizes = {c.dim, places},
             .places = {keys.place, values.place, key.place, value.place, past.place}});
  const StepVector found = step.work(path + ".found", c.dim), scores = step.work("scores", places);
  step.call({.kernel = "attend",
             .sizes = {c.heads, c.dim, places},
             .places = {found.place, scores.place, query.place, keys.place, values.place, past.place}});
  step.call("add", x, {step.dense(attention + "out_proj.weight", attention + "out_proj.bias", c.dim, found)});
  const StepVector units = step.dense(path + ".linear1.weight", path + ".linear1.bias", c.units(),
                                      step.layer_norm(path + ".norm2", x));
  step.call("gelu", units);
  step.call("add", x, {step.dense(path + ".linear2.weight", path + ".linear2.bias", c.dim, units)});
}

StepVector transformer(StepBuilder& step, const std::string& path, const TransformerConfig& config,
                       const StepVector& x) {
  require(x.size == config.dim, "step: {} reads {} numbers, and is given {}", path, config.dim, x.size);
  const StepVector y = step.result(path + ".x", config.dim), past = step.state(path + ".past", 2);
  step.copy(y, x);
  for (int k = 0; k < config.layers; ++k) layer(step, fmt::format("{}.layers.{}", path, k), config, y, past);
  step.call({.kernel = "advance", .sizes = {config.memory + 1}, .places = {past.place}});
  return config.last_norm ? step.layer_norm(path + ".norm", y) : y;
}

}  // namespace unroll
