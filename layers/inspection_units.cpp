#include "layers/inspection_units.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "framework/ops.h"

namespace unroll {

namespace {

// The best `count` of all units of all layers. score(column of the unit's values) is their UnitTells.
template <class Score>
std::vector<UnitTells> best_of(const std::vector<Tensor>& values, std::span<const size_t> cases, int count,
                               Score score) {
  std::vector<UnitTells> all;
  std::vector<double> column(cases.size());
  for (size_t k = 0; k < values.size(); ++k) {
    const auto numbers = values[k].on_host();
    const int units = values[k].dim(1);
    for (int j = 0; j < units; ++j) {
      for (size_t i = 0; i < cases.size(); ++i)
        column[i] = numbers[static_cast<int64_t>(cases[i]) * units + j];
      UnitTells tells = score(column);
      tells.layer = static_cast<int>(k), tells.unit = j;
      all.push_back(tells);
    }
  }
  const auto kept = std::min<size_t>(all.size(), static_cast<size_t>(count));
  std::ranges::stable_sort(all, std::greater(), &UnitTells::share);
  all.resize(kept);
  return all;
}

void check_cases(const std::vector<Tensor>& values, size_t cases) {
  for (const Tensor& of_layer : values)
    require(of_layer.rank() == 2 && of_layer.dim(0) == static_cast<int>(cases),
            "inspection: {} labels for values {}", cases, of_layer.shape());
}

}  // namespace

std::vector<UnitTells> units_that_tell(const std::vector<Tensor>& values, std::span<const int> labels,
                                       int count) {
  check_cases(values, labels.size());
  std::vector<size_t> cases;
  double of_class[2] = {0, 0};
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels[i] == 0 || labels[i] == 1) cases.push_back(i), ++of_class[labels[i]];
  if (of_class[0] == 0 || of_class[1] == 0) return {};
  std::vector<size_t> order(cases.size());
  return best_of(values, cases, count, [&](const std::vector<double>& column) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t i) { return column[i]; });
    UnitTells best;
    double below[2] = {0, 0};  // cases of each class below the threshold
    for (size_t n = 0; n + 1 < order.size(); ++n) {
      ++below[labels[cases[order[n]]]];
      const double low = column[order[n]], high = column[order[n + 1]];
      if (!(low < high)) continue;
      // The unit predicts 0 below and 1 above the threshold; the mirrored rule has share 1 - share.
      const double share = (below[0] / of_class[0] + 1 - below[1] / of_class[1]) / 2;
      if (std::max(share, 1 - share) > best.share)
        best = {
            .share = std::max(share, 1 - share), .threshold = (low + high) / 2, .above_is_1 = share >= 0.5};
    }
    return best;
  });
}

std::vector<UnitTells> units_that_follow(const std::vector<Tensor>& values, std::span<const double> numbers,
                                         int count) {
  check_cases(values, numbers.size());
  std::vector<size_t> cases;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (std::isfinite(numbers[i])) cases.push_back(i);
  const auto n = static_cast<double>(cases.size());
  double mean = 0, spread = 0;
  for (const size_t i : cases) mean += numbers[i];
  mean /= n;
  for (const size_t i : cases) spread += (numbers[i] - mean) * (numbers[i] - mean);
  if (!(spread > 0)) return {};
  return best_of(values, cases, count, [&](const std::vector<double>& column) {
    const double mean_of_unit = std::accumulate(column.begin(), column.end(), 0.0) / n;
    double both = 0, of_unit = 0;
    for (size_t i = 0; i < column.size(); ++i) {
      const double d = column[i] - mean_of_unit;
      both += d * (numbers[cases[i]] - mean), of_unit += d * d;
    }
    const double correlation = of_unit > 0 ? both / std::sqrt(of_unit * spread) : 0;
    return UnitTells{.share = std::abs(correlation), .above_is_1 = correlation > 0};
  });
}

Agreement measure_agreement(const TokenModel& model, std::span<const AgreementCase> cases, int at_once) {
  require(!cases.empty() && at_once >= 1, "agreement: {} cases, {} at once", cases.size(), at_once);
  const NoTape guard;
  const int layers = model.recurrent.config().layers, all = static_cast<int>(cases.size());
  const bool of_c = model.recurrent.cell().has_c;
  Agreement result;
  for (int first = 0; first < all; first += at_once) {
    const int rows = std::min(at_once, all - first);
    size_t steps = 0;
    for (int r = 0; r < rows; ++r)
      steps = std::max(steps, cases[static_cast<size_t>(first + r)].before.size());
    IdTensor input({static_cast<int>(steps), rows}), lengths({rows});
    std::ranges::fill(input.span(), 0);
    for (int r = 0; r < rows; ++r) {
      const std::vector<int32_t>& before = cases[static_cast<size_t>(first + r)].before;
      require(!before.empty(), "agreement: case {} has no words before the verb", first + r);
      for (size_t t = 0; t < before.size(); ++t) input.data()[static_cast<int64_t>(t) * rows + r] = before[t];
      lengths.data()[r] = static_cast<int32_t>(before.size());
    }
    const auto out =
        model.recurrent(model.embedding(input), model.recurrent.zero_state(rows), {.steps = lengths});
    Vars last;
    for (int r = 0; r < rows; ++r) last.push_back(slice(row(out.y, lengths.data()[r] - 1), 0, r, r + 1));
    const Tensor log_p = log_softmax(model.decoder(concat(last, 0))).value();
    for (int r = 0; r < rows; ++r) {
      const AgreementCase& one = cases[static_cast<size_t>(first + r)];
      const auto of_row = log_p[r].to_host();
      const double apart = static_cast<double>(of_row[static_cast<size_t>(one.wrong)]) -
                           static_cast<double>(of_row[static_cast<size_t>(one.right)]);
      result.p_right.push_back(1 / (1 + std::exp(apart)));
    }
    const Tensor state = of_c ? out.state.c.value() : out.state.h.value();
    for (int k = 0; k < layers; ++k) {
      if (first == 0) result.states.emplace_back(Shape{all, state.dim(2)});
      result.states[static_cast<size_t>(k)].slice(first, first + rows).copy_from(state[k]);
    }
  }
  return result;
}

Interval interval_of_share(int64_t hits, int64_t cases) {
  const double n = static_cast<double>(cases), p = static_cast<double>(hits) / n, z = 1.959963984540054;
  const double middle = p + z * z / (2 * n), half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  const double scale = 1 + z * z / n;
  // Rounding would carry the ends of 0 of n and of n of n past the share itself, or past 0 and 1.
  return {std::clamp((middle - half) / scale, 0.0, p), std::clamp((middle + half) / scale, p, 1.0)};
}

}  // namespace unroll
