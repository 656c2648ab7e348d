#include "layers/sampled_softmax.h"

#include <cmath>
#include <numeric>

namespace unroll {

ClassSampler::ClassSampler(std::span<const double> weights) {
  double sum = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    require_input(std::isfinite(weights[k]) && weights[k] >= 0,
                  "class sampler: the weight {} of class {} is not a number from 0 up", weights[k], k);
    sum += weights[k];
  }
  require_input(sum > 0, "class sampler: of {} weights none is positive", weights.size());
  // Each place holds a class up to its share, and behind that another one, whose share is more than a place.
  const size_t n = weights.size();
  std::vector<int32_t> small, large;
  keep_.resize(n), alias_.resize(n);
  for (size_t k = 0; k < n; ++k) {
    probability_.push_back(weights[k] / sum);
    keep_[k] = probability_[k] * static_cast<double>(n);
    alias_[k] = static_cast<int32_t>(k);
    (keep_[k] < 1 ? small : large).push_back(static_cast<int32_t>(k));
  }
  while (!small.empty() && !large.empty()) {
    const auto less = static_cast<size_t>(small.back()), more = static_cast<size_t>(large.back());
    small.pop_back();
    alias_[less] = large.back();
    keep_[more] -= 1 - keep_[less];
    if (keep_[more] < 1) small.push_back(large.back()), large.pop_back();
  }
  // Places left over are whole but for rounding.
  for (const auto* left : {&small, &large})
    for (const int32_t k : *left) keep_[static_cast<size_t>(k)] = 1;
}

ClassSampler ClassSampler::log_uniform(int classes) {
  require(classes > 0, "class sampler: {} classes; there must be one", classes);
  std::vector<double> weights;
  for (int k = 0; k < classes; ++k) weights.push_back(std::log((k + 2.0) / (k + 1.0)));
  return ClassSampler(weights);
}

double ClassSampler::probability(int32_t id) const {
  require(id >= 0 && id < classes(), "class sampler: no class {} of {}", id, classes());
  return probability_[static_cast<size_t>(id)];
}

SampledClasses ClassSampler::draw(int count, const RandomKey& key) const {
  require(count > 0, "class sampler: {} classes to draw; the number must be positive", count);
  RandomStream random(key);
  SampledClasses drawn{IdTensor({count}), Tensor({count})};
  const auto ids = drawn.ids.span();
  const auto logs = drawn.log_expected_counts.on_host(Access::overwrite);
  for (int i = 0; i < count; ++i) {
    const uint32_t place = random.below(static_cast<uint32_t>(classes()));
    const int32_t id = random.uniform() < keep_[place] ? static_cast<int32_t>(place) : alias_[place];
    ids[static_cast<size_t>(i)] = id;
    logs[i] = static_cast<real>(std::log(count * probability_[static_cast<size_t>(id)]));
  }
  return drawn;
}

// Class numbers to be compared on the device: exact, as they are below 2^24.
static Tensor as_numbers(const IdTensor& ids, const Shape& shape) {
  Tensor result(shape);
  const auto to = result.on_host(Access::overwrite);
  for (int64_t i = 0; i < ids.size(); ++i) to[i] = static_cast<real>(ids.data()[i]);
  return result;
}

Var sampled_softmax_cross_entropy(const Dense& layer, const Var& x, const IdTensor& target,
                                  const SampledClasses& drawn, const CrossEntropyOptions& options) {
  constexpr const char* name = "sampled_softmax_cross_entropy";
  const int in = layer.config.in, classes = layer.config.out;
  require(layer.config.activation == Activation::none,
          "{}: the layer has an activation; its outputs are to be logits", name);
  require(options.label_smoothing == 0 && !options.class_weights.defined(),
          "{}: label_smoothing and class_weights are about all classes; use softmax_cross_entropy", name);
  require(!options.margins, "{}: margins are of softmax_cross_entropy alone", name);
  require(classes < (1 << 24), "{}: {} classes; at most 2^24 are told apart", name, classes);
  Shape of_x = target.shape();
  if (of_x.rank() < Shape::max_rank) of_x.append(in);
  require(x.shape() == of_x && x.shape().rank() == target.rank() + 1,
          "{}: x {} must be target {} with {} behind it", name, x.shape(), target.shape(), in);
  require(drawn.ids.rank() == 1 && drawn.log_expected_counts.shape() == drawn.ids.shape(),
          "{}: ids {} and log_expected_counts {} of what was drawn must be [draws]", name, drawn.ids.shape(),
          drawn.log_expected_counts.shape());
  for (const int32_t id : drawn.ids.span())
    require(id >= 0 && id < classes, "{}: class {} was drawn of {}", name, id, classes);

  const int count = static_cast<int>(target.size()), draws = drawn.ids.dim(0);
  IdTensor wanted({count}), first({count});
  require(!options.weights.defined() || options.weights.shape() == target.shape(),
          "{}: weights {} must have the shape of the target {}", name, options.weights.shape(), target.shape());
  const std::vector<real> weights = options.weights.defined() ? options.weights.to_host() : std::vector<real>();
  for (int r = 0; r < count; ++r) {
    const int32_t t = target.data()[r];
    const bool ignored =
        t == options.ignore_index || (!weights.empty() && weights[static_cast<size_t>(r)] == 0);
    require(ignored || (t >= 0 && t < classes), "{}: target {} of {} classes", name, t, classes);
    wanted.span()[static_cast<size_t>(r)] = ignored ? 0 : t;
    first.span()[static_cast<size_t>(r)] = ignored ? -1 : 0;
  }
  const Var seen = reshape(only_scored(x, target, options), {count, in});

  Var of_target = sum(seen * embedding(layer.weight, wanted), 1);
  Var corrections = -Var(drawn.log_expected_counts);
  if (layer.config.bias) {
    of_target += index_select(layer.bias, 0, wanted);
    corrections += index_select(layer.bias, 0, drawn.ids);
  }
  const Var of_drawn = linear(seen, embedding(layer.weight, drawn.ids), corrections);  // [count, draws]
  const Tensor hits = equal(as_numbers(target, {count, 1}), as_numbers(drawn.ids, {draws}));
  constexpr real nothing = real(-1e30);  // a logit whose exponential is 0
  const Var logits = concat({reshape(of_target, {count, 1}), masked_fill(of_drawn, hits, nothing)}, 1);
  CrossEntropyOptions of_rows{.reduction = options.reduction};
  if (options.weights.defined()) of_rows.weights = options.weights.reshape({count});
  const Var loss = softmax_cross_entropy(logits, first, of_rows);
  return options.reduction == Reduction::none ? reshape(loss, target.shape()) : loss;
}

}  // namespace unroll
