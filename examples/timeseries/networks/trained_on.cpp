#include "examples/timeseries/networks/trained_on.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ranges>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/one_line.h"
#include "framework/random.h"
#include "training/files/json/json.h"
#include "training/report/run_description.h"

namespace timeseries {

namespace {

constexpr const char *from_key = "trained_from", *to_key = "trained_to", *first_key = "trained_first",
                     *range_key = "trained_range", *ends_key = "trained_ends";

// Facts that are a single text, by their names in the metadata.
template <class Facts>
auto trained_texts(Facts& trained) {
  return std::array{std::pair{from_key, &trained.from}, std::pair{to_key, &trained.to},
                    std::pair{first_key, &trained.first_row}};
}

int measured_channels(const Series& series) { return series.width() - series.calendar; }

std::string fingerprint_of_row(const Series& series, int64_t row) {
  return fingerprint(
      std::as_bytes(std::span(series.values).subspan(row * series.width(), measured_channels(series))));
}

// The first row of one of the series whose time is not before `text`; or with `after`, after it.
std::optional<int64_t> first_row_from(const Series& series, const std::string& text, bool after,
                                      int member = 0) {
  const Times& times = series.times;
  const auto read = parse_time(text, times.form);
  if (!read) return {};
  const Time border = *read;
  if ((times.form == TimeForm::number) != (border.form == TimeForm::number)) return {};
  // Months, dates and times of day compare as far as both are written.
  const TimeForm coarser = std::min(times.form, border.form);
  const bool same = times.form == border.form;
  const int64_t at = same ? times.count_of(border) : in_form(border, coarser).count;
  const auto before = [&](int64_t row) {
    const int64_t count = in_form(times.time(row), coarser).count;
    return after ? count <= at : count < at;
  };
  return *std::ranges::partition_point(std::views::iota(series.begin_of(member), series.end_of(member)),
                                       before);
}

}  // namespace

std::string fingerprint(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", place_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

TrainedOn trained_on(const Series& series, const Part& train) {
  TrainedOn trained;
  if (series.members.empty()) {
    trained.from = series.times.text(train.front().begin);
    trained.to = series.times.text(train.back().end - 1);
    trained.first_row = fingerprint_of_row(series, train.front().begin);
  }
  const auto channels = static_cast<size_t>(measured_channels(series));
  trained.least.assign(channels, std::numeric_limits<double>::max());
  trained.most.assign(channels, std::numeric_limits<double>::lowest());
  trained.add(series, train);
  return trained;
}

void TrainedOn::add(const Series& series, const Part& train) {
  const int64_t begin = train.front().begin, end = train.back().end;
  if (!series.members.empty()) {
    for (const Span& span : train) {
      const int member = series.member_of(span.begin);
      if (first_after(series, member).value_or(0) < span.end)
        ends[series.name_of(member)] = series.times.text(span.end - 1);
    }
  } else {
    if (first_after(series).value_or(0) < end) to = series.times.text(end - 1);
    if (!from.empty() && first_row_from(series, from, false).value_or(series.rows()) > begin) {
      from = series.times.text(begin);
      first_row = fingerprint_of_row(series, begin);
    }
  }
  for (const Span& span : train)  // row by row: in a long file one is far from the next
    for (int64_t row = span.begin; row < span.end; ++row)
      for (size_t channel = 0; channel < least.size(); ++channel) {
        const double value = series.at(row, static_cast<int>(channel));
        least[channel] = std::min(least[channel], value), most[channel] = std::max(most[channel], value);
      }
}

std::optional<int64_t> TrainedOn::first_after(const Series& series, int member) const {
  if (!series.members.empty()) {
    if (ends.empty()) return {};
    const auto end = ends.find(series.name_of(member));
    return end == ends.end() ? series.begin_of(member) : first_row_from(series, end->second, true, member);
  }
  return to.empty() ? std::nullopt : first_row_from(series, to, true);
}

std::optional<std::string> TrainedOn::warning_of(const Series& series, const Part& part,
                                                 const std::string& name) const {
  if (!series.members.empty()) {
    int64_t trained = 0;
    std::set<int> members;
    for (const Span& span : part) {
      const int member = series.member_of(span.begin);
      const int64_t rows = first_after(series, member).value_or(span.begin) - span.begin;
      if (rows > 0) trained += std::min(rows, span.end - span.begin), members.insert(member);
    }
    if (members.empty()) return {};
    return fmt::format(
        "{} of the {} rows of {}, of {} series from '{}' on, lie where the model trained: if the series are the "
        "same, it has trained on them",
        trained, rows_of(part), name, members.size(), one_line(series.name_of(*members.begin())));
  }
  if (to.empty() || part.empty()) return {};
  const auto end = first_after(series);
  if (!end)
    return fmt::format(
        "training ended with {}, and the rows begin with {}: whether some of {} trained cannot be told", to,
        series.times.text(0), name);
  const int64_t begin = from.empty() ? 0 : first_row_from(series, from, false).value_or(0);
  const bool numbered = series.times.form == TimeForm::number;
  if (numbered && !first_row.empty() && begin < series.rows() &&
      fingerprint_of_row(series, begin) != first_row)
    return {};
  int64_t trained = 0;
  for (const Span& span : part)
    trained += std::max<int64_t>(0, std::min(*end, span.end) - std::max(begin, span.begin));
  if (trained == 0) return {};
  return fmt::format(
      "{} of the {} rows of {} lie where the model trained, {}{}{}: if the series is the same, it has trained on them",
      trained, rows_of(part), name, numbered ? "rows " : "", from.empty() ? "up to " : from + " to ", to);
}

// --- in a model's file -------------------------------------------------------------------------------------

std::vector<std::string> trained_on_keys() { return {from_key, to_key, first_key, range_key, ends_key}; }

Metadata metadata_of(const TrainedOn& trained) {
  Metadata metadata;
  for (const auto& [key, text] : trained_texts(trained))
    if (!text->empty()) metadata[key] = *text;
  if (!trained.ends.empty()) metadata[ends_key] = json_text(nlohmann::ordered_json(trained.ends));
  if (!trained.least.empty())
    metadata[range_key] = json_text(nlohmann::ordered_json{{"least", trained.least}, {"most", trained.most}});
  return metadata;
}

TrainedOn trained_on(const Metadata& metadata, size_t channels, const std::string& path) {
  TrainedOn trained;
  for (const auto& [key, text] : trained_texts(trained))
    if (const auto found = metadata.find(key); found != metadata.end()) *text = found->second;
  for (const auto& [what, text] : {std::pair{"began", &trained.from}, {"ended", &trained.to}})
    require_input(text->empty() || parse_time(*text),
                  "{}: training {} with '{}' in its metadata, which is no time", path, what, one_line(*text));
  const auto from = parse_time(trained.from), to = parse_time(trained.to);
  require_input(!from || !to || from->form != to->form || from->count <= to->count,
                "{}: training began with '{}' in its metadata, after it ended with '{}'", path, trained.from,
                trained.to);
  if (const auto ends = metadata.find(ends_key); ends != metadata.end()) {
    try {
      trained.ends = parse_json(ends->second).get<std::map<std::string, std::string>>();
    } catch (const nlohmann::json::exception&) {
      throw InputError(
          fmt::format("{}: '{}' in its metadata is no JSON of a time by series", path, ends_key));
    }
    for (const auto& [series, end] : trained.ends)
      require_input(parse_time(end).has_value(),
                    "{}: training ended with '{}' of series '{}' in its metadata, which is no time", path,
                    one_line(end), one_line(series));
  }
  const auto found = metadata.find(range_key);
  if (found == metadata.end()) return trained;
  const auto range = parse_json(found->second);
  bool good = false;
  try {
    trained.least = range.at("least").get<std::vector<double>>();
    trained.most = range.at("most").get<std::vector<double>>();
    good = trained.least.size() <= channels &&
           std::ranges::equal(trained.least, trained.most, [](double least, double most) {
             return std::isfinite(least) && std::isfinite(most) && least <= most;
           });
  } catch (const nlohmann::json::exception&) {}  // said below
  require_input(good, "{}: '{}' in its metadata is not the least and the most of {} channels", path,
                range_key, channels);
  return trained;
}

// --- values far outside ------------------------------------------------------------------------------------

void FarOutside::look(double value, int channel, int64_t row) {
  if (channel >= std::ssize(trained_.least)) return;  // of the calendar, or nothing is known
  const double least = trained_.least[channel], most = trained_.most[channel];
  if (least <= value && value <= most) return;
  const double range = most > least ? most - least : scaling_.at(channel).scale;
  const double ranges = (value < least ? least - value : value - most) / range;
  if (ranges <= 10) return;
  ++count_;
  if (ranges <= furthest_) return;
  furthest_ = ranges, value_ = value, channel_ = channel, row_ = row;
}

void FarOutside::look(const Series& series, int64_t begin, int64_t end, const std::set<int>& channels) {
  for (int64_t row = std::max<int64_t>(0, begin); row < std::min(end, series.rows()); ++row)
    for (const int channel : channels) look(series.at(row, channel), channel, row);
}

std::optional<std::string> FarOutside::warning(const Series& series, Of of) const {
  if (count_ == 0) return {};
  const std::string others = count_ == 2  ? " (so is 1 other value)"
                             : count_ > 2 ? fmt::format(" (so are {} other values)", with_commas(count_ - 1))
                                          : "";
  constexpr const char* so[] = {
      "the model never met such values; are they in the units of training?", "not credible",
      "it sets scale and loss, and flattens the forecasts; if it is a mistake, or stands for a missing value, empty the cell"};
  return fmt::format("'{}' is {}{:.4g} at {}, far outside of {:.4g} to {:.4g}, the range of the {}{}: {}",
                     one_line(series.channels[channel_]), of == forecasts ? "forecast as " : "", value_,
                     series.times.text(row_), trained_.least[channel_], trained_.most[channel_],
                     of == training ? "other rows that train" : "rows that trained", others, so[of]);
}

namespace {

// Values in order without one at an end that may stand for missing ones: it repeats itself, far from the others.
std::span<const double> without_stand_in(std::span<const double> values) {
  const auto is_far = [](double value, size_t count, std::span<const double> rest) {
    if (value == 0 || count < 2 || rest.empty()) return false;
    return std::min(std::abs(value - rest.front()), std::abs(value - rest.back())) >
           10 * (rest.back() - rest.front());
  };
  const auto low = static_cast<size_t>(std::ranges::upper_bound(values, values.front()) - values.begin()),
             high = static_cast<size_t>(values.end() - std::ranges::lower_bound(values, values.back()));
  if (const auto rest = values.subspan(low); is_far(values.front(), low, rest)) return rest;
  if (const auto rest = values.first(values.size() - high); is_far(values.back(), high, rest)) return rest;
  return values;
}

}  // namespace

std::vector<std::string> warnings_of_outliers(const Series& series, const Part& train) {
  constexpr size_t most_warnings = 5, least_rows = 20;
  std::vector<std::string> warnings;
  std::vector<double> values;
  for (int member = 0; member < series.count() && warnings.size() < most_warnings; ++member) {
    const Part part = within(train, series.begin_of(member), series.end_of(member));
    TrainedOn inner;  // the range without the few largest and smallest values
    std::set<int> channels;
    for (int channel = 0; channel < measured_channels(series); ++channel) {
      inner.least.push_back(0), inner.most.push_back(0);
      values.clear();
      for (const Span& span : part)
        for (int64_t row = span.begin; row < span.end; ++row)
          if (!series.is_filled(row, channel)) values.push_back(series.at(row, channel));
      if (values.size() < least_rows || channel == series.label) continue;
      std::ranges::sort(values);
      const std::span<const double> rest = without_stand_in(values);
      const size_t few = 2 + rest.size() / 100;
      if (rest.size() < least_rows) continue;
      inner.least.back() = rest[few], inner.most.back() = rest[rest.size() - 1 - few];
      if (inner.least.back() < inner.most.back()) channels.insert(channel);  // else most are 0, or a flag
    }
    const Scaling none;
    FarOutside far(inner, none);
    for (const Span& span : part) far.look(series, span.begin, span.end, channels);
    if (auto warning = far.warning(series, FarOutside::training)) warnings.push_back(std::move(*warning));
  }
  return warnings;
}

}  // namespace timeseries
