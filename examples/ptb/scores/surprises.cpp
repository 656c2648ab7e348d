#include "examples/ptb/scores/surprises.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "examples/ptb/scores/text_scores.h"
#include "framework/ops.h"

namespace ptb {

// The likeliest word after a row of h, [1, width].
static void add_expected(const LanguageModel& model, const Tensor& h, Surprise& to) {
  const std::vector<real> log_p = log_softmax(model.logits(Var(h))).value().to_host();
  const auto best = std::ranges::max_element(log_p);
  to.expected = static_cast<int32_t>(best - log_p.begin());
  to.p_expected = std::exp(static_cast<double>(*best));
}

std::vector<Surprise> most_surprising(const LanguageModel& model, const ScoredText& given, int count) {
  constexpr std::array<double, 1> as_it_is = {1};
  const ScoredText text = given.in_fitting_streams();
  std::vector<Surprise> found;
  std::vector<std::vector<int32_t>> before(
      static_cast<size_t>(text.batch));  // of each stream, its sentence so far
  read_windows(
      model, text, {0, 1}, [&](const IdTensor& input, const IdTensor& target, const Var& y, const IdTensor&) {
        const int steps = static_cast<int>(target.size());
        const Tensor h = y.value().reshape({steps, y.dim(2)});
        const Tensor losses = model.losses(h, target.reshape({steps}), as_it_is);
        const auto nats = losses.on_host();
        const double least = std::ssize(found) < count ? 0 : found.back().bits;
        std::vector<std::pair<int, Surprise>> here;  // by row of h
        for (int at = 0; at < steps; ++at) {
          const int32_t read = input.data()[at], word = target.data()[at];
          if (word == ignored_target) continue;
          auto& words = before[static_cast<size_t>(at % text.batch)];
          if (read == text.eos)
            words.clear();
          else
            words.push_back(read);
          const double bits = static_cast<double>(nats[at]) / std::log(2.0);
          if (!(bits > least)) continue;  // nor what is not finite
          const auto kept = static_cast<std::ptrdiff_t>(std::min(words.size(), most_before));
          here.push_back({at, {bits, word, 0, 0, {words.end() - kept, words.end()}}});
        }
        std::ranges::stable_sort(here, std::greater(), [](const auto& one) { return one.second.bits; });
        if (std::ssize(here) > count) here.resize(static_cast<size_t>(count));
        for (auto& [at, surprise] : here) {
          add_expected(model, h.slice(at, at + 1), surprise);
          found.push_back(std::move(surprise));
        }
        std::ranges::stable_sort(found, std::greater(), &Surprise::bits);
        if (std::ssize(found) > count) found.resize(static_cast<size_t>(count));
      });
  return found;
}

}  // namespace ptb
