// Batches of synthetic series to train and to score the pretrained network on. A batch depends on its seed and number alone.
#pragma once

#include <future>
#include <optional>
#include <string_view>

#include "examples/timeseries/pretrained/recipe.h"
#include "examples/timeseries/pretrained/window.h"

namespace timeseries {

struct SyntheticBatch : ForecastBatch {
  using ForecastBatch::ForecastBatch;
  // In units of each series' scale, as far as 30 from the base: [ahead_segments, batch, segment_rows].
  std::vector<real> target;
  // 1 / √(seasons ahead), as the errors of a random walk grow; 0: missing, or of a series without a scale.
  std::vector<real> weight;
  std::vector<std::string_view> kinds;  // [batch]
  std::vector<int64_t> rows;            // [batch], of the context
  int64_t scored = 0;
};

// Batch `step` of a seed. All its windows have equal numbers of segments: the rows of a context are log-uniform from 4 to 512,
// the segments ahead from 1 to 8, and at most twice as many as those of the context. Longer windows come in smaller batches.
SyntheticBatch synthetic_batch(const PretrainRecipe& recipe, uint64_t seed, int64_t step);

// Series of validation come from another seed.
inline uint64_t seed_of_validation(uint64_t seed) { return seed ^ 0x5eed'0f'5c0'7e5ULL; }

// Batches of one seed, one after the other. A thread of its own makes the next one meanwhile.
class BatchesAhead {
 public:
  BatchesAhead(const PretrainRecipe& recipe, uint64_t seed) : recipe_(recipe), seed_(seed) {}
  // Valid until the next call.
  const SyntheticBatch& at(int64_t step);

 private:
  const PretrainRecipe& recipe_;
  uint64_t seed_;
  int64_t step_ = -1;
  std::optional<SyntheticBatch> batch_;  // of that step
  std::future<SyntheticBatch> next_;
};

}  // namespace timeseries
