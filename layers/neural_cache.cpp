#include "layers/neural_cache.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/check.h"
#include "framework/gemm.h"
#include "framework/kernels/kernels.h"

namespace unroll {

NeuralCache::NeuralCache(const NeuralCacheConfig& c) : config_(c) {
  require_input(c.window >= 1, "cache: window {} must be at least 1", c.window);
  constexpr double most = std::numeric_limits<real>::max();
  require_input(c.theta >= 0 && c.theta <= most, "cache: theta {} is not in [0, {:.2g}]", c.theta, most);
  require_input(c.lambda >= 0 && c.lambda < 1, "cache: lambda {} is not in [0, 1)", c.lambda);
}

// After the last `window` steps of before.
void NeuralCache::remember(const Tensor& h, std::span<const int32_t> words) {
  const int width = h.dim(1), forgotten = std::max(0, static_cast<int>(words_.size()) - config_.window);
  words_.erase(words_.begin(), words_.begin() + forgotten);
  const int kept = static_cast<int>(words_.size()), held = kept + h.dim(0);
  const Tensor before = states_;
  if (!states_.defined() || states_.dim(0) < held) states_ = Tensor({std::max(held, 2 * kept), width});
  if (kept > 0) states_.slice(0, kept).copy_from(before.slice(forgotten, forgotten + kept).clone());
  states_.slice(kept, held).copy_from(h);
  words_.insert(words_.end(), words.begin(), words.end());
}

void NeuralCache::mix(const Tensor& h, std::span<const int32_t> words, std::span<double> nats) {
  require(h.rank() == 2 && std::ssize(words) == h.dim(0) && nats.size() == words.size(),
          "cache: {} words and {} losses for states {}, which must be [steps, width]", words.size(),
          nats.size(), h.shape());
  require(!states_.defined() || states_.dim(1) == h.dim(1), "cache: states {} after states [steps, {}]",
          h.shape(), states_.defined() ? states_.dim(1) : 0);
  remember(h, words);
  const int held = static_cast<int>(words_.size()), first_step = held - h.dim(0);
  // One product covers so many steps. It also compares some that are further apart than the window.
  constexpr int together = 64;
  for (int begin = first_step; begin < held; begin += together) {
    const int end = std::min(held, begin + together), oldest = std::max(0, begin - config_.window);
    if (end - 1 == oldest) continue;  // the first step alone
    const Tensor likeness({end - begin, end - 1 - oldest});
    gemm(states_.slice(begin, end), transposed(states_.slice(oldest, end - 1)), overwrite(likeness));
    const auto on_host = likeness.on_host(Access::change);
    for (int t = std::max(begin, 1); t < end; ++t) {
      const int first = std::max(0, t - config_.window), count = t - first;
      real* weight = on_host.data() + int64_t{t - begin} * likeness.dim(1) + (first - oldest);
      const real largest = *std::max_element(weight, weight + count);
      host_kernels().affine(weight, 1, -largest, weight, count, false);
      host_kernels().affine(weight, static_cast<real>(config_.theta), 0, weight, count, false);
      host_kernels().unary(Unary::exp, weight, weight, count);
      double all = 0, of_word = 0;
      for (int i = 0; i < count; ++i) {
        all += weight[i];
        if (words_[static_cast<size_t>(first + i)] == words_[static_cast<size_t>(t)]) of_word += weight[i];
      }
      double& loss = nats[static_cast<size_t>(t - first_step)];
      const double of_model = std::log1p(-config_.lambda) - loss,
                   of_cache = std::log(config_.lambda * of_word / all);
      const double larger = std::max(of_model, of_cache);
      loss = -(larger + std::log(std::exp(of_model - larger) + std::exp(of_cache - larger)));
    }
  }
}

}  // namespace unroll
