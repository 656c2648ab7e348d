#include "examples/timeseries/pretrained/batches.h"

#include <algorithm>
#include <cmath>

#include "examples/timeseries/synthetic/synthetic.h"
#include "framework/random.h"

namespace timeseries {

constexpr int64_t series_of_step = 1 << 20;  // of a step: the numbers of its series begin at a multiple
constexpr double farthest = 30;              // a target from its base, in units of the scale

SyntheticBatch synthetic_batch(const PretrainRecipe& recipe, uint64_t seed, int64_t step) {
  RandomStream random(
      {.seed = seed, .place = place_of("pretrain/batch"), .step = static_cast<uint32_t>(step)});
  const auto log_uniform = [&](double low, double high) {
    return low * std::exp(random.uniform() * std::log(high / low));
  };
  const int context = segments_of(static_cast<int64_t>(log_uniform(4, most_context + 1)));
  const int ahead = static_cast<int>(log_uniform(1, std::min(most_ahead / segment_rows, 2 * context) + 1));
  SyntheticBatch batch(context, ahead, std::max(recipe.series.segments / (context + ahead), 1));
  batch.target.resize(batch.base.size()), batch.weight.resize(batch.base.size());
  for (int place = 0; place < batch.batch; ++place) {
    const int64_t least = context == 1 ? 4 : int64_t{context - 1} * segment_rows + 1;
    const int64_t rows =
        least + random.below(static_cast<uint32_t>(int64_t{context} * segment_rows - least + 1));
    const SyntheticSeries series =
        synthetic_series(seed, step * series_of_step + place, rows + int64_t{ahead} * segment_rows);
    const std::vector<double> values(series.values.begin(), series.values.end());
    batch.kinds.push_back(series.kind), batch.rows.push_back(rows);
    if (!batch.put(place, std::span(values).first(static_cast<size_t>(rows)), series.season)) continue;
    for (int i = 0; i < ahead * segment_rows; ++i) {
      const double value = values[rows + i];
      if (std::isnan(value)) continue;
      const size_t at = batch.at(place, i);
      const double base = batch.base[at], scaled = (value - batch.level[place]) / batch.scale[place];
      batch.target[at] = static_cast<real>(std::clamp(scaled, base - farthest, base + farthest));
      batch.weight[at] = static_cast<real>(1 / std::sqrt(1.0 + static_cast<double>(i / batch.season[place])));
      ++batch.scored;
    }
  }
  return batch;
}

const SyntheticBatch& BatchesAhead::at(int64_t step) {
  if (batch_ && step_ == step) return *batch_;
  if (next_.valid() && step_ + 1 == step)
    batch_ = next_.get();
  else
    batch_ = synthetic_batch(recipe_, seed_, step);
  step_ = step;
  next_ = std::async(std::launch::async, [this, step] { return synthetic_batch(recipe_, seed_, step + 1); });
  return *batch_;
}

}  // namespace timeseries
