// See scaling.h.
#include "examples/timeseries/series/scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

Part whole_series(const Series& series) {
  Part part;
  for (int member = 0; member < series.count(); ++member)
    part.push_back({series.begin_of(member), series.end_of(member), series.begin_of(member)});
  return part;
}

double box_cox(double x, double lambda) {
  return lambda == 0 ? std::log(x) : std::expm1(lambda * std::log(x)) / lambda;
}

double inverse_box_cox(double y, double lambda) {
  if (lambda == 0) return std::exp(y);
  const double power = lambda * y;
  return power <= -1 ? 0 : std::exp(std::log1p(power) / lambda);
}

std::optional<double> guerrero_lambda(std::span<const double> y, int64_t period) {
  const auto length = static_cast<std::size_t>(std::max<int64_t>(period, 2));
  std::vector<double> means, deviations;
  for (std::size_t end = y.size(); end >= length; end -= length) {
    const std::span rows = y.subspan(end - length, length);
    double mean = 0, squares = 0;
    for (const double value : rows) mean += value / static_cast<double>(length);
    for (const double value : rows) squares += (value - mean) * (value - mean);
    means.push_back(mean), deviations.push_back(std::sqrt(squares / static_cast<double>(length - 1)));
  }
  constexpr std::size_t least_seasons = 3;
  if (means.size() < least_seasons) return {};
  double best = std::numeric_limits<double>::infinity();
  std::optional<double> found;
  for (int percent = 0; percent <= 100; ++percent) {
    const double lambda = percent / 100.0, n = static_cast<double>(means.size());
    std::vector<double> ratios;
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < means.size(); ++i)
      ratios.push_back(deviations[i] / std::pow(means[i], 1 - lambda)), mean += ratios.back() / n;
    for (const double ratio : ratios) squares += (ratio - mean) * (ratio - mean);
    if (mean > 0 && std::sqrt(squares) / mean < best) best = std::sqrt(squares) / mean, found = lambda;
  }
  return found;
}

Scaling Scaling::of(int member) const {
  const auto part = [&](const std::vector<double>& all) {
    if (all.empty()) return all;
    return std::vector(all.begin() + place(0, member), all.begin() + place(0, member + 1));
  };
  return {.shift = part(shift),
          .scale = part(scale),
          .power = part(power),
          .inner_shift = part(inner_shift),
          .inner_scale = part(inner_scale)};
}

void require_positive(const Series& series, const Scaling& scaling) {
  if (scaling.power.empty()) return;
  for (int member = 0; member < series.count(); ++member)
    for (int channel = 0; channel < series.width() - series.calendar; ++channel) {
      const int place = scaling.place(channel, member);
      if (!scaling.is_transformed(place)) continue;
      for (int64_t row = series.begin_of(member); row < series.end_of(member); ++row) {
        // Rows beyond the file's have no line and no value.
        const auto at = static_cast<std::size_t>(row);
        if (at >= series.lines.size() || series.lines[at] == 0) break;
        require_input(series.at(row, channel) > 0,
                      "{}:{}: channel '{}' is {}, and scaling.transform = \"{}\" takes values above 0",
                      series.origin, series.lines[at], one_line(series.channels[channel]),
                      series.at(row, channel), scaling.power[place] == 0 ? "log" : "box-cox");
      }
    }
}

namespace {

// 'load'; with several series 'load' of 'north'.
std::string name_of(const Series& series, int channel, const Part& part) {
  const std::string name = "'" + one_line(series.channels[channel]) + "'";
  if (series.members.empty()) return name;
  const int member = series.member_of(part.front().begin);
  return fmt::format("{} of '{}'", name, one_line(series.members[member].name));
}

// The observed values of the part's longest span, in which seasons follow each other without a break.
std::vector<double> longest_span_of(const Series& series, const Part& part, int channel) {
  const auto longest = std::max_element(part.begin(), part.end(), [](const Span& a, const Span& b) {
    return a.end - a.begin < b.end - b.begin;
  });
  std::vector<double> values;
  for (int64_t row = longest->begin; row < longest->end; ++row) values.push_back(series.at(row, channel));
  return values;
}

// Findings for the notes, over all series.
struct Found {
  std::vector<std::string> constant, powers;  // channels
};

void fit_transform(Scaling& scaling, const Series& series, const Part& part, ScalingKind kind,
                   Transform transform, int64_t period, const std::vector<int>& transformed, Found& found) {
  if (transform == Transform::none) return;
  const auto width = static_cast<std::size_t>(series.width());
  scaling.power.assign(width, std::nan("")), scaling.inner_shift.assign(width, 0),
      scaling.inner_scale.assign(width, 1);
  for (const int channel : transformed) {
    const auto at = static_cast<std::size_t>(channel);
    scaling.power[at] = 0;
    if (transform == Transform::box_cox) {
      scaling.power[at] = guerrero_lambda(longest_span_of(series, part, channel), period).value_or(0);
      found.powers.push_back(fmt::format("{:g} of {}", scaling.power[at], name_of(series, channel, part)));
    }
    double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0, squares = 0, rows = 0;
    const auto each = [&](auto use) {
      for (const Span& span : part)
        for (int64_t row = span.begin; row < span.end; ++row)
          if (!series.is_filled(row, channel)) use(box_cox(series.at(row, channel), scaling.power[at]));
    };
    each([&](double x) { ++rows, least = std::min(least, x), most = std::max(most, x), sum += x; });
    each([&](double x) { squares += (x - sum / rows) * (x - sum / rows); });
    if (kind == ScalingKind::none) continue;
    scaling.inner_shift[at] = kind == ScalingKind::standard && most > least ? sum / rows : least;
    if (most > least)
      scaling.inner_scale[at] = kind == ScalingKind::standard ? std::sqrt(squares / rows) : most - least;
  }
}

std::string list_of(const std::vector<std::string>& all, std::size_t shown) {
  shown = std::min(all.size(), shown);
  return fmt::format("{}{}", fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     all.size() > shown ? fmt::format(" and {} more", all.size() - shown) : "");
}

// Statistics of channels' observed values, all in one pass over rows: a row of a long file is far from the next.
struct Measured {
  struct Channel {
    double rows = 0, least = std::numeric_limits<double>::infinity(), most = -least;
    double mean = 0, squares = 0;  // squares: mean square distance from the mean
  };
  std::vector<Channel> channels;  // without calendar features

  Measured(const Series& series, const Part& part)
      : channels(static_cast<std::size_t>(series.width() - series.calendar)) {
    for (Channel& c : channels) c.rows = series.filled.empty() ? static_cast<double>(rows_of(part)) : 0;
    if (!series.filled.empty()) each(series, part, [](Channel& c, double) { ++c.rows; });
    each(series, part, [](Channel& c, double x) {
      c.least = std::min(c.least, x), c.most = std::max(c.most, x), c.mean += x / c.rows;
    });
    each(series, part, [](Channel& c, double x) { c.squares += (x - c.mean) * (x - c.mean) / c.rows; });
  }

 private:
  template <class Use>
  void each(const Series& series, const Part& part, const Use& use) {
    const std::size_t width = static_cast<std::size_t>(series.width()), count = channels.size();
    for (const Span& span : part)
      for (auto row = static_cast<std::size_t>(span.begin); row < static_cast<std::size_t>(span.end); ++row) {
        const double* const values = series.values.data() + row * width;
        const uint8_t* const filled = series.filled.empty() ? nullptr : series.filled.data() + row * width;
        for (std::size_t c = 0; c < count; ++c)
          if (!filled || filled[c] == 0) use(channels[c], values[c]);
      }
  }
};

// Fits the scaling of one series on the rows in `part`.
Scaling fit_one(const Series& series, const Part& part, ScalingKind kind, Transform transform, int64_t period,
                const std::vector<int>& transformed, Found& found) {
  Scaling scaling;
  fit_transform(scaling, series, part, kind, transform, period, transformed, found);
  scaling.shift.assign(series.width(), 0);
  scaling.scale.assign(series.width(), 1);
  if (kind == ScalingKind::none) return scaling;
  const Measured measured(series, part);
  for (int channel = 0; channel < series.width() - series.calendar; ++channel) {
    if (channel == series.label) continue;
    const auto& [rows, least, most, sum, squares] = measured.channels[channel];
    require_input(rows > 0, "{}: channel {}: all values to measure its scale on are missing", series.origin,
                  name_of(series, channel, part));
    const std::size_t at = static_cast<std::size_t>(channel);
    const bool varies = most > least;  // rounding may leave a constant a deviation above 0
    scaling.shift[at] = kind == ScalingKind::standard && varies ? sum : least;
    if (varies) scaling.scale[at] = kind == ScalingKind::standard ? std::sqrt(squares) : most - least;
    if (!varies) found.constant.push_back(name_of(series, channel, part));
    require_input(std::isfinite(scaling.scale[at]) && scaling.scale[at] > 0,
                  "{}: channel {} spreads from {} to {}, which cannot be scaled", series.origin,
                  name_of(series, channel, part), least, most);
  }
  return scaling;
}

}  // namespace

Scaling fit_scaling(const Series& series, const Part& part, ScalingKind kind, std::vector<std::string>& notes,
                    Transform transform, int64_t period, const std::vector<int>& transformed) {
  require(rows_of(part) > 0, "scaling: no rows to measure");
  std::vector<int> named = transformed;
  for (int channel = 0; transformed.empty() && channel < series.width() - series.calendar; ++channel)
    if (channel != series.label) named.push_back(channel);
  if (transform != Transform::none) {  // checks all values, also those of rows that are not measured
    Scaling any;
    any.members = series.count();
    const auto size = static_cast<std::size_t>(series.width()) * static_cast<std::size_t>(any.members);
    any.scale.assign(size, 1), any.power.assign(size, std::nan(""));
    for (int member = 0; member < any.members; ++member)
      for (const int channel : named)
        any.power[any.place(channel, member)] = transform == Transform::log ? 0 : 0.5;
    require_positive(series, any);
  }
  Found found;
  Scaling all;
  all.members = series.count();
  for (int member = 0; member < series.count(); ++member) {
    Part own = within(part, series.begin_of(member), series.end_of(member));
    if (own.empty()) own = {{series.begin_of(member), series.end_of(member), series.begin_of(member)}};
    const Scaling one = fit_one(series, own, kind, transform, period, named, found);
    const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(all.shift, one.shift), append(all.scale, one.scale), append(all.power, one.power);
    append(all.inner_shift, one.inner_shift), append(all.inner_scale, one.inner_scale);
  }
  constexpr std::size_t shown_powers = 8, shown_constant = 5;
  if (!found.powers.empty())
    notes.push_back(
        fmt::format("Box-Cox: the power is {} (Guerrero 1993)", list_of(found.powers, shown_powers)));
  if (!found.constant.empty())
    notes.push_back(
        fmt::format("constant in training, so not scaled: {}", list_of(found.constant, shown_constant)));
  return all;
}

}  // namespace unroll
