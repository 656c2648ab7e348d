// See combination.h.
#include "examples/timeseries/baselines/combination.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/signals.h"

namespace unroll {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr double z = 1.2815515655446004;  // of a normal distribution 80 % lie within

struct MemberWord {
  std::string_view word;
  bool is_fast;                                                  // to fit
  double first;                                                  // weight
  int64_t longest_season = std::numeric_limits<int64_t>::max();  // that suits it, rows
  const char* unsuited = nullptr;  // why a longer one does not, if that is to be said
  bool reads_one_season = false;   // of two, weigh() chooses
  bool estimates_season = false;   // from two of them at least
};
constexpr MemberWord member_words[] = {
    {.word = "pretrained", .is_fast = false, .first = 2, .reads_one_season = true},
    {"last", true, 0.1, 1},
    {"seasonal", true, 0.1},
    {"second-seasonal", true, 0.1},
    {"ets", false, 1, 24, "a season of more than 24 rows has too many states"},  // one for each row
    {.word = "theta", .is_fast = true, .first = 1, .reads_one_season = true, .estimates_season = true},
    {.word = "ces", .is_fast = true, .first = 1, .reads_one_season = true, .estimates_season = true},
    {"ridge", false, 0.5}};

// The members that can be fitted to these rows; the others are left out with the reason.
std::vector<Combination::Member> fitted(const Series& series, const Span& rows, int channel,
                                        const CombinationOptions& options) {
  const BaselineKeys keys{.window = 0,  // searched for
                          .horizon = options.horizon,
                          .period = options.period,
                          .second_period = options.second_period};
  const Part part = {rows};
  const std::vector<int> targets = {channel};
  std::vector<Combination::Member> members;
  const auto add = [&](const MemberWord& word, const BaselineKeys& by, const char* unsuited) {
    const ForecastBaselineRow& row = *baseline_row(word.word);
    Combination::Member& member =
        members.emplace_back(Combination::Member{.name = std::string(word.word), .first = word.first});
    member.error = unknown;
    member.left_out = unsuited ? unsuited : row.missing(by);
    if (!member.left_out.empty()) return;
    if (auto baseline = row.make({by, series, rows.end, part, targets});
        baseline && rows.end - rows.begin >= baseline->history)
      member.name = baseline->name, member.baseline = std::move(*baseline);
    else
      member.left_out = "too few rows";
  };
  for (const MemberWord& word : member_words) {
    const auto& asked = options.members;
    const ForecastBaselineRow& row = *baseline_row(word.word);
    const bool suits = options.period <= word.longest_season && row.missing(keys).empty();
    if (asked.empty() ? (!suits && !word.unsuited) || (options.fast && !word.is_fast)
                      : std::ranges::find(asked, word.word) == asked.end())
      continue;
    const char* const unsuited = asked.empty() && !suits ? word.unsuited : nullptr;
    add(word, keys, unsuited);
    if (!word.reads_one_season || options.second_period <= 1) continue;
    BaselineKeys by_second = keys;
    by_second.period = options.second_period;
    const bool is_short = word.estimates_season && rows.end - rows.begin < 2 * options.second_period;
    add(word, by_second, is_short ? "too few rows" : unsuited);
    members.back().name += fmt::format(" ({})", options.second_period), members.back().by_second = true;
  }
  return members;
}

// Rows that the folds forecast: a fifth of all, a horizon, or the longest season, of which each part is forecast so, if half of
// them are left to fit the members to, and two seasons. 0: none.
int64_t rows_of_folds(int64_t rows, const CombinationOptions& options) {
  const int64_t seasons = rows >= 2 * options.period ? 2 * options.period : 0,
                least = std::max({int64_t{5}, (rows + 1) / 2, seasons});
  return std::max<int64_t>(
      0, std::min(rows - least, std::max({int64_t{options.horizon}, rows / 5, options.longest_season()})));
}

}  // namespace

std::vector<std::string> combination_words() { return words_of(member_words); }

std::vector<double> combination_weights(std::span<const double> first, std::span<const double> mean_squares,
                                        double folds) {
  constexpr double half = 3;  // so many folds count as much as the first weights
  const double trust = folds / (folds + half);
  double least = std::numeric_limits<double>::infinity(), all = 0;
  for (const double square : mean_squares)
    if (square < least) least = square;
  std::vector<double> weights;
  for (std::size_t m = 0; m < first.size(); ++m) {
    const double square = mean_squares[m], better = std::isnan(square) ? 1 : least / square;
    weights.push_back(least == 0 ? first[m] * (square == 0)
                                 : std::pow(first[m], 1 - trust) * std::pow(better, 2 * trust));
    all += weights[m];
  }
  for (double& weight : weights) weight /= all;
  return weights;
}

double trimmed_mean(std::vector<WeightedValue>& all) {
  constexpr double cut = 0.2;
  std::ranges::sort(all, {}, &WeightedValue::value);
  double sum = 0, below = 0, kept = 0;
  double off = 0;  // a sum of distances from the lowest value, as a level may be far above the spread
  for (const WeightedValue& of : all) sum += of.weight;
  for (const auto& [value, weight] : all) {
    const double share = std::min(below + weight, (1 - cut) * sum) - std::max(below, cut * sum);
    below += weight;
    if (share <= 0) continue;
    kept += share, off += share * (value - all.front().value);
  }
  return all.front().value + off / kept;
}

// --- folds -------------------------------------------------------------------------------------------------

// Windows of a channel's last rows: whole ones, evenly spread where there are many; or if none is whole, a shorter one.
struct Combination::FoldRows {
  const Series& series;
  int channel;
  int64_t begin, end, first;  // rows, and the first one that is forecast
  int64_t horizon, season;
  std::vector<int64_t> origins = {};

  int64_t count() const { return end - first; }
  // Calls use(h, value) for the observed values of a window.
  template <class Use>
  void each_value(int64_t origin, Use use) const {
    for (int64_t h = 0; h < std::min(horizon, end - origin); ++h)
      if (!series.is_filled(origin + h, channel))
        use(static_cast<std::size_t>(h), series.at(origin + h, channel));
  }
  std::size_t steps(int64_t origin) const {
    return static_cast<std::size_t>(std::min(horizon, end - origin));
  }
};

Combination::Combination(const Series& series, const Part& train, int channel,
                         const CombinationOptions& options)
    : channel_(channel), period_(options.period), begin_(train.empty() ? 0 : train.back().begin) {
  require(!train.empty(), "combination: no rows to fit it to");
  const Span rows = train.back();
  const int64_t fold_rows = rows_of_folds(rows.end - rows.begin, options);
  members_ = fitted(series, rows, channel, options);
  folds_ = {.first = rows.end - fold_rows, .naive_error = unknown};
  FoldRows of_folds{
      series, channel, rows.begin, rows.end, folds_.first, options.horizon, options.longest_season()};
  std::vector<Member> early;
  if (fold_rows > 0) {
    constexpr int64_t most_windows = 100;
    const int64_t last = std::max(folds_.first, rows.end - options.horizon);
    for (int64_t origin = folds_.first; origin <= last; origin += (last - folds_.first) / most_windows + 1)
      of_folds.origins.push_back(origin);
    early = fitted(series, {rows.begin, folds_.first, rows.history}, channel, options);
  }
  folds_.windows = std::ssize(of_folds.origins);
  weigh(of_folds, early);
  widen(of_folds, early);
}

void Combination::weigh(const FoldRows& folds, std::vector<Member>& early) {
  constexpr const char* exploded = "it went far outside of what the series was, on the folds";
  std::vector<double> squares(members_.size(), 0), values;
  for (const Member& member : early)
    if (member.left_out.empty() && member.baseline.prepare)
      member.baseline.prepare(folds.series, folds.origins, channel_, static_cast<std::size_t>(folds.horizon));
  double counted = 0, naive_counted = 0, naive_squares = 0;
  for (const int64_t origin : folds.origins) {
    stop_if_signalled();
    values.resize(folds.steps(origin));
    const auto add_errors = [&](double& to) {
      folds.each_value(origin, [&](std::size_t h, double y) { to += (values[h] - y) * (values[h] - y); });
    };
    folds.each_value(origin, [&](std::size_t, double) { ++counted; });
    const RangeBefore range(folds.series, origin, channel_);
    for (std::size_t m = 0; m < early.size(); ++m) {
      if (!early[m].left_out.empty()) continue;
      early[m].baseline.forecast(folds.series, origin, channel_, values);
      if (range.is_left_by(values)) early[m].left_out = exploded;
      add_errors(squares[m]);
    }
    if (origin - period_ < folds.begin) continue;
    seasonal_naive(period_).forecast(folds.series, origin, channel_, values);
    add_errors(naive_squares);
    folds.each_value(origin, [&](std::size_t, double) { ++naive_counted; });
  }
  if (counted > 0 && naive_counted == counted) folds_.naive_error = std::sqrt(naive_squares / counted);
  std::vector<double> mean_squares, first;
  std::vector<std::size_t> which;
  for (std::size_t m = 0; m < members_.size() && counted > 0; ++m)
    if (early[m].left_out.empty()) members_[m].error = std::sqrt(squares[m] / counted);
  for (std::size_t m = 1; m < members_.size(); ++m) {
    if (!members_[m].by_second) continue;
    const bool worse = std::isnan(members_[m].error) || members_[m - 1].error <= members_[m].error;
    const auto out = static_cast<std::ptrdiff_t>(worse ? m : m - 1);
    members_.erase(members_.begin() + out);
    if (!early.empty()) early.erase(early.begin() + out);
  }
  for (std::size_t m = 0; m < members_.size(); ++m) {
    Member& member = members_[m];
    if (!early.empty() && early[m].left_out == exploded && member.left_out.empty())
      member.left_out = exploded;
    if (!member.left_out.empty()) continue;
    which.push_back(m), first.push_back(member.first), mean_squares.push_back(member.error * member.error);
  }
  const std::vector<double> weights = combination_weights(
      first, mean_squares, static_cast<double>(folds.count()) / static_cast<double>(folds.horizon));
  for (std::size_t k = 0; k < which.size(); ++k) {
    members_[which[k]].weight = weights[k];
    if (!early.empty()) early[which[k]].weight = weights[k];
  }
}

// By the errors of the mean on the folds, in units of the width that its members expect. These may say little, as if the member
// that knows its width has no weight: over many folds they count as far as that has the better Winkler score.
void Combination::widen(const FoldRows& folds, const std::vector<Member>& early) {
  std::vector<std::vector<Widths::Error>> errors(static_cast<std::size_t>(folds.horizon));
  int64_t count = 0;
  for (const int64_t origin : folds.origins) {
    const Forecast found = mean_of(early, folds.series, origin, static_cast<int64_t>(folds.steps(origin)));
    folds.each_value(origin, [&](std::size_t h, double y) {
      const double middle = found.values[h],
                   reach = y > middle ? found.high[h] - middle : middle - found.low[h];
      if (reach > 0) errors[h].push_back({std::abs(y - middle), reach}), ++count;
    });
  }
  while (!errors.empty() && errors.back().empty()) errors.pop_back();
  constexpr int64_t many = 40, many_windows = 5;
  const auto rows = static_cast<double>(folds.count());
  Widths best = Widths::by(errors, 1, rows);
  // A part of a season says nothing of the rest.
  if (std::isnan(best.ratio) || (folds.count() < folds.season && best.ratio < 1)) return;
  folds_.interval_errors = count, folds_.interval_factor = best.factor;
  for (const double share : {0.5, 0.0})
    if (folds.count() >= std::max(many, many_windows * folds.horizon))
      if (Widths found = Widths::by(errors, share, rows); found.score < best.score) best = std::move(found);
  folds_.interval_share = best.share, widths_ = std::move(best);
}

// --- forecasts ---------------------------------------------------------------------------------------------

// The first of the rows without a value just before the origin, or the origin if there is none.
int64_t Combination::after_last_value(const Series& series, int64_t origin) const {
  while (origin > begin_ + least_rows && series.is_filled(origin - 1, channel_)) --origin;
  return origin;
}

Combination::Forecast Combination::mean_of(const std::vector<Member>& members, const Series& series,
                                           int64_t origin, int64_t steps) const {
  if (const int64_t gap = origin - after_last_value(series, origin); gap > 0) {
    Forecast found = mean_of(members, series, origin - gap, gap + steps);
    for (auto* part : {&found.values, &found.low, &found.high})
      part->erase(part->begin(), part->begin() + gap);
    return found;
  }
  const auto count = static_cast<std::size_t>(steps);
  Forecast found{std::vector<double>(count), std::vector<double>(count), std::vector<double>(count)};
  std::vector<double> values(count), low(count), high(count);
  std::vector<std::vector<WeightedValue>> all(count);  // of the members
  const RangeBefore range(series, origin, channel_);
  bool has_interval = false;
  for (const Member& member : members) {
    if (!(member.weight > 0) || !member.left_out.empty() || origin < member.baseline.history) continue;
    member.baseline.forecast(series, origin, channel_, values);
    if (range.is_left_by(values)) {
      found.exploded.push_back(member.name);
      continue;
    }
    for (std::size_t h = 0; h < count; ++h) all[h].push_back({values[h], member.weight});
    if (has_interval || !member.baseline.interval) continue;
    member.baseline.interval(series, origin, channel_, low, high);
    const auto is_finite = [](double v) { return std::isfinite(v); };
    if (!std::ranges::all_of(low, is_finite) || !std::ranges::all_of(high, is_finite)) continue;
    has_interval = true;
    for (std::size_t h = 0; h < count; ++h)
      found.low[h] = values[h] - low[h], found.high[h] = high[h] - values[h];
  }
  const std::vector<double> walk = random_walk(series, origin, steps);
  if (!has_interval) found.low = found.high = walk;
  // That width, and how far the members are apart. Few rows make both wider, about as much as Student's quantile of 90 % for
  // the normal one and the error of an estimated level do: 1.16 / rows. Nor can n rows show that
  // errors are below an n-th of a random walk's.
  const double rows = static_cast<double>(origin - begin_);
  for (std::size_t h = 0; h < count; ++h) {
    const double mean = all[h].empty() ? series.at(origin - 1, channel_) : trimmed_mean(all[h]);
    found.values[h] = mean;
    double apart = 0, sum = 0;
    for (const auto& [value, weight] : all[h])
      apart += weight * (value - mean) * (value - mean), sum += weight;
    for (double* reach : {&found.low[h], &found.high[h]})
      *reach = (1 + 1 / rows) * std::sqrt(*reach * *reach + z * z * (sum > 0 ? apart / sum : 0));
  }
  for (const auto& [ends, sign] : {std::pair{&found.low, -1.0}, {&found.high, 1.0}}) {
    const std::vector<double> reach = *ends;
    for (std::size_t h = 0; h < count; ++h)
      (*ends)[h] = found.values[h] + sign * std::max(walk[h] / rows, widths_.at(h, reach));
  }
  return found;
}

// How far 80 % of a random walk's values lie, which moves by the differences of a season; or of a row if rows are few, or repeat
// exactly and no member sees it.
std::vector<double> Combination::random_walk(const Series& series, int64_t origin, int64_t steps) const {
  const auto square = [&](int64_t lag) {  // the mean one
    double squares = 0, count = 0;
    for (int64_t row = begin_ + lag; row < origin; ++row)
      if (!series.is_filled(row, channel_) && !series.is_filled(row - lag, channel_))
        squares += std::pow(series.at(row, channel_) - series.at(row - lag, channel_), 2), ++count;
    return squares / std::max(count, 1.0);
  };
  const bool is_exact =
      std::ranges::any_of(members_, [](const Member& m) { return m.weight > 0 && m.error == 0; });
  int64_t lag = origin - begin_ >= 2 * period_ + 1 ? period_ : 1;
  double each = square(lag);
  if (each == 0 && !is_exact) each = square(lag = 1);
  std::vector<double> reach;
  for (int64_t h = 0; h < steps; ++h) reach.push_back(z * std::sqrt(each * static_cast<double>(h / lag + 1)));
  return reach;
}

Combination::Forecast Combination::forecast(const Series& series, int64_t origin, int64_t steps) const {
  return mean_of(members_, series, origin, steps);
}

void Combination::prepare(const Series& series, std::span<const int64_t> origins, std::size_t steps) const {
  std::vector<int64_t> from;
  std::size_t most = steps;
  for (const int64_t origin : origins) {
    const int64_t row = after_last_value(series, origin);
    if (from.empty() || from.back() != row) from.push_back(row);  // the origins of a hole share one
    most = std::max(most, steps + static_cast<std::size_t>(origin - row));
  }
  for (const Member& member : members_)
    if (member.weight > 0 && member.baseline.prepare) member.baseline.prepare(series, from, channel_, most);
}

Fitted combination(const BaselineRows& rows) {
  if (rows.train.empty() || longest_span(rows.train) < Combination::least_rows) return std::nullopt;
  const CombinationOptions options{
      .period = rows.keys.period, .second_period = rows.keys.second_period, .horizon = rows.keys.horizon};
  std::map<int, Combination> found;
  int64_t history = 1;
  std::string members;
  for (const int channel : rows.targets) {
    const auto& of =
        found.emplace(channel, Combination(rows.series, rows.train, channel, options)).first->second;
    members.clear();
    for (const Combination::Member& member : of.members()) {
      if (!(member.weight > 0)) continue;
      history = std::max(history, member.baseline.history);
      members += fmt::format("{}{:.2f} {}", members.empty() ? "" : ", ", member.weight, member.name);
    }
  }
  const auto all = std::make_shared<const std::map<int, Combination>>(std::move(found));
  return ForecastBaseline{
      .name = "combination",
      .history = history,
      .forecast =
          [all](const Series& now, int64_t origin, int channel, std::span<double> forecast) {
            const auto mean = all->at(channel).forecast(now, origin, std::ssize(forecast));
            std::ranges::copy(mean.values, forecast.begin());
          },
      .detail = rows.targets.size() == 1 ? members : "",
      .prepare = [all](const Series& now, std::span<const int64_t> origins, int channel,
                       std::size_t steps) { all->at(channel).prepare(now, origins, steps); }};
}

}  // namespace unroll
