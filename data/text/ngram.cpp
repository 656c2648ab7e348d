// See ngram.h.
#include "data/text/ngram.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/check.h"
#include "framework/signals.h"

namespace unroll {
namespace {

constexpr int id_bits = 21;
static_assert(NgramModel::most_words == (1 << id_bits) - 2);

constexpr uint64_t symbol(int32_t id) { return static_cast<uint64_t>(id) + 1; }  // 0 is no symbol
constexpr uint64_t low(uint64_t key, int ids) { return key & ((uint64_t{1} << (ids * id_bits)) - 1); }

// Chen and Goodman's estimates from how many n-grams were counted 1, 2, 3 and 4 times. Half a count if those are
// too few to say anything (a small closed vocabulary).
std::array<double, 3> estimate_discounts(const std::array<int64_t, 5>& counted) {
  std::array<double, 3> discounts = {0.5, 0.5, 0.5};
  if (counted[1] == 0 || counted[2] == 0) return discounts;
  const double y = static_cast<double>(counted[1]) / static_cast<double>(counted[1] + 2 * counted[2]);
  for (int k = 1; k <= 3; ++k) {
    const auto n = static_cast<double>(counted[static_cast<std::size_t>(k)]);
    const auto more = static_cast<double>(counted[static_cast<std::size_t>(k) + 1]);
    const double discount = k - (k + 1) * y * more / n;
    discounts[static_cast<std::size_t>(k) - 1] = n > 0 && discount > 0 ? discount : y;
  }
  return discounts;
}

}  // namespace

NgramModel::NgramModel(int order, std::span<const int32_t> train, int vocabulary, int32_t eos)
    : order_(order), vocabulary_(vocabulary), eos_(eos) {
  require(order >= 1 && order <= max_order, "n-gram model: order {} is not 1, 2 or 3", order);
  require(vocabulary > 0 && vocabulary <= most_words, "n-gram model: a vocabulary of {} words", vocabulary);
  require(eos >= 0 && eos < vocabulary, "n-gram model: <eos> is {} of {} words", eos, vocabulary);
  require_input(!train.empty(), "n-gram model: no tokens to count");

  // The n-grams of the highest order, as often as they occur.
  std::vector<std::pair<Key, int64_t>> grams;
  grams.reserve(train.size());
  const Key start = symbol(eos) << id_bits | symbol(eos);
  Key history = start;
  for (const int32_t id : train) {
    require(id >= 0 && id < vocabulary, "n-gram model: id {} of {} words", id, vocabulary);
    grams.emplace_back(low(history << id_bits | symbol(id), order), 1);
    history = id == eos ? start : low(history << id_bits | symbol(id), 2);
  }

  for (int n = order; n >= 1; --n) {
    std::sort(grams.begin(), grams.end());
    std::size_t kept = 0;  // equal n-grams become one
    for (const auto& gram : grams) {
      if (kept > 0 && grams[kept - 1].first == gram.first) {
        grams[kept - 1].second += gram.second;
      } else {
        grams[kept++] = gram;
      }
    }
    grams.resize(kept);

    Order& level = orders_[static_cast<std::size_t>(n) - 1];
    level.counts.reserve(kept);
    std::array<int64_t, 5> counted = {};
    for (const auto& [key, count] : grams) {
      stop_if_signalled();
      level.counts.emplace(key, count);
      Context& context = level.contexts[key >> id_bits];
      context.total += count;
      ++context.words[static_cast<std::size_t>(std::min<int64_t>(count, 3)) - 1];
      if (count <= 4) ++counted[static_cast<std::size_t>(count)];
    }
    level.discounts = estimate_discounts(counted);

    // A shorter n-gram counts once for each different word before it.
    for (auto& gram : grams) gram = {low(gram.first, n - 1), 1};
  }
}

double NgramModel::probability(int order, Key context, int32_t word) const {
  if (order == 0) return 1.0 / vocabulary_;
  const Order& level = orders_[static_cast<std::size_t>(order) - 1];
  const double shorter = probability(order - 1, low(context, std::max(order - 2, 0)), word);
  const auto seen = level.contexts.find(context);
  if (seen == level.contexts.end()) return shorter;

  double freed = 0;  // what the discounts left for the shorter context to distribute
  for (std::size_t k = 0; k < 3; ++k)
    freed += level.discounts[k] * static_cast<double>(seen->second.words[k]);
  double kept = 0;
  if (const auto it = level.counts.find(context << id_bits | symbol(word)); it != level.counts.end()) {
    const auto k = static_cast<std::size_t>(std::min<int64_t>(it->second, 3)) - 1;
    kept = static_cast<double>(it->second) - level.discounts[k];
  }
  return (kept + freed * shorter) / static_cast<double>(seen->second.total);
}

double NgramModel::probability(std::span<const int32_t> history, int32_t word) const {
  require(word >= 0 && word < vocabulary_, "n-gram model: id {} of {} words", word, vocabulary_);
  std::array<int32_t, 2> last = {eos_, eos_};  // the token before, and the one before that
  for (std::size_t i = 0; i < std::min<std::size_t>(history.size(), 2); ++i) {
    last[i] = history[history.size() - 1 - i];
    if (last[i] == eos_) break;
  }
  const Key context = symbol(last[1]) << id_bits | symbol(last[0]);
  return probability(order_, low(context, order_ - 1), word);
}

double NgramModel::perplexity(std::span<const int32_t> tokens) const {
  require_input(!tokens.empty(), "n-gram model: no tokens to score");
  double log_sum = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    stop_if_signalled();
    log_sum += std::log(probability(tokens.first(i), tokens[i]));
  }
  return std::exp(-log_sum / static_cast<double>(tokens.size()));
}

}  // namespace unroll
