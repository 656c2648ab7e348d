// See series_windows.h.
#include "examples/timeseries/series/series_windows.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/one_line.h"
#include "framework/random.h"

namespace unroll {
namespace {

void fill_in_channels(const Series& series, SeriesWindowOptions& options) {
  if (options.inputs.empty()) {
    for (int c = 0; c < series.width(); ++c)
      if (c != series.label) options.inputs.push_back(c);
  }
  if (options.targets.empty() && series.label >= 0) options.targets = {series.label};
  if (options.targets.empty()) {
    options.targets.resize(series.width() - series.calendar);
    std::iota(options.targets.begin(), options.targets.end(), 0);
  }
  for (const auto* channels : {&options.inputs, &options.targets}) {
    require(!channels->empty(), "windows: there is no channel to {}",
            channels == &options.inputs ? "read" : "predict");
    for (const int c : *channels)
      require(c >= 0 && c < series.width(), "windows: no channel {}, there are {}", c, series.width());
  }
}

}  // namespace

SeriesWindows::SeriesWindows(const Series& series, const Scaling& scaling, const Part& part,
                             std::string_view part_name, const SeriesWindowOptions& options)
    : series_(&series), scaling_(scaling), options_(options) {
  for (const auto& [what, value] :
       {std::pair{"window", options.window}, {"horizon", options.horizon}, {"stride", options.stride}})
    require_input(value >= 1, "windows: {} must be at least 1, not {}", what, value);
  fill_in_channels(series, options_);
  require(scaling.members == series.count() &&
              static_cast<int>(scaling.channels.size()) == series.width() * series.count(),
          "windows: a scaling of {} channels of {} series for {} of {}", scaling.channels.size(),
          scaling.members, series.width() * series.count(), series.count());
  require(options.lead == 0 || options.lead == 1, "windows: a lead of {} is neither 0 nor 1", options.lead);
  for (const int target : options_.targets)
    require(options_.lead == 1 || std::ranges::count(options_.inputs, target) == 0,
            "windows: with a lead of 0, channel '{}' would be read and predicted at once",
            one_line(series.channels[target]));
  for (const int input : options_.inputs)
    is_known_.push_back(std::ranges::find(options_.known, input) != options_.known.end());
  require(std::ranges::count(is_known_, uint8_t{1}) == std::ssize(options_.known),
          "windows: what is known ahead must be among the inputs");
  for (const Span& span : part) {
    require(0 <= span.history && span.history <= span.begin && span.end <= series.rows(),
            "windows: rows {} to {} with history from {} do not lie in {} rows", span.begin, span.end,
            span.history, series.rows());
    const int member = series.member_of(span.begin);
    require(series.begin_of(member) <= span.history && span.end <= series.end_of(member),
            "windows: rows {} to {} with history from {} are of two series", span.begin, span.end,
            span.history);
    const int64_t first = std::max(span.begin, span.history + options_.window + options_.lead - 1);
    for (int64_t origin = first; origin + options_.horizon <= span.end; origin += options_.stride)
      origins_.push_back(origin);
  }
  const int64_t needed = int64_t{options_.window} + options_.lead - 1 + options_.horizon;
  const int64_t history = part.empty() ? 0 : part.front().begin - part.front().history;
  require_input(
      !origins_.empty(),
      "{}: the {} part has {} rows{}, and {} before them to look back on; a window of {} and a horizon of {} "
      "need {} in all",
      series.origin, part_name, rows_of(part),
      part.size() > 1 ? fmt::format(", at most {} side by side", longest_span(part)) : "", history,
      options_.window, options_.horizon, needed);
  if (!series.filled.empty()) {
    const int targets = options_.horizon * static_cast<int>(options_.targets.size());
    std::erase_if(origins_, [&](int64_t origin) {
      const int filled = filled_targets(origin);
      targets_left_out_ += filled;
      return filled == targets;
    });
    require_input(!origins_.empty(), "{}: the {} part has nothing to predict: all its values are missing",
                  series.origin, part_name);
  }
  order_ = origins_;
}

int SeriesWindows::filled_targets(int64_t origin) const {
  int filled = 0;
  for (int64_t row = origin; row < origin + options_.horizon; ++row)
    for (const int channel : options_.targets) filled += series_->is_filled(row, channel);
  return filled;
}

void SeriesWindows::shuffle(uint64_t seed, uint32_t epoch) {
  in_order();
  const RandomKey random{.seed = seed, .place = place_of("windows/order"), .step = epoch};
  for (std::size_t i = order_.size(); i > 1; --i)
    std::swap(order_[i - 1], order_[(uint64_t{random.bits(i)} * i) >> 32]);
}

void SeriesWindows::read(const Series& rows, int64_t first_row, int64_t origin, real* to,
                         int64_t step) const {
  const int64_t first = origin - options_.lead - options_.window + 1;
  const int base = scaling_.place(0, series_->member_of(first));
  const auto scaled = [&](int64_t row, int channel) {
    return rows.is_unknown(row - first_row, channel)
               ? real(0)
               : static_cast<real>(scaling_.apply(rows.at(row - first_row, channel), base + channel));
  };
  for (int64_t row = first; row < first + options_.window; ++row, to += step) {
    for (std::size_t i = 0; i < options_.inputs.size(); ++i) to[i] = scaled(row, options_.inputs[i]);
  }
  for (int64_t row = origin; row < origin + read_rows() - options_.window; ++row, to += step) {
    for (std::size_t i = 0; i < options_.inputs.size(); ++i)
      to[i] = is_known_[i] ? scaled(row, options_.inputs[i]) : 0;
  }
}

int SeriesWindows::windows_in(int64_t k, int size) const {
  require(size >= 1 && k >= 0 && k < batches(size), "windows: no batch {} of {} windows each, there are {}",
          k, size, size >= 1 ? batches(size) : 0);
  return static_cast<int>(std::min<int64_t>(size, count() - k * size));
}

int64_t SeriesWindows::observed_in(int64_t k, int size) const {
  const int windows = windows_in(k, size);
  int64_t observed = int64_t{options_.horizon} * windows * static_cast<int64_t>(options_.targets.size());
  if (targets_left_out_ == 0) return observed;
  for (const int64_t origin : origins().subspan(k * size, windows)) observed -= filled_targets(origin);
  return observed;
}

SeriesBatch SeriesWindows::batch(int64_t k, int size, int first, int end) {
  const int windows = windows_in(k, size);
  require(0 <= first && first < end && end <= windows, "windows: no windows {} to {} of a batch, it has {}",
          first, end, windows);
  const int inputs = static_cast<int>(options_.inputs.size()),
            targets = static_cast<int>(options_.targets.size());
  if (size != size_) {
    const int64_t most = std::min<int64_t>(size, count());
    const auto flat = [&](int64_t steps, int64_t channels) {
      const int64_t elements = steps * most * channels;
      require_input(elements <= std::numeric_limits<int>::max(),
                    "windows: {} of them side by side, each {} rows of {} channels, are too large", most,
                    steps, channels);
      return Tensor({static_cast<int>(elements)});
    };
    input_ = flat(read_rows(), inputs), target_ = flat(options_.horizon, targets);
    if (targets_left_out_ > 0) weights_ = flat(options_.horizon, targets);
    size_ = size;
  }
  const int64_t begin = k * size + first;
  const int rows = end - first;
  const auto of_targets = [&](const Tensor& all) {
    return all.slice(0, options_.horizon * rows * targets).reshape({options_.horizon, rows, targets});
  };
  SeriesBatch batch{
      .input = input_.slice(0, read_rows() * rows * inputs).reshape({read_rows(), rows, inputs}),
      .target = of_targets(target_),
      .weights = {},
      .observed = int64_t{options_.horizon} * rows * targets,
      .origins = origins().subspan(begin, rows)};
  const auto input = batch.input.on_host(Access::overwrite), target = batch.target.on_host(Access::overwrite);
  for (int b = 0; b < rows; ++b) {
    const int64_t origin = batch.origins[b];
    const int base = scaling_.place(0, series_->member_of(origin));
    read(*series_, 0, origin, input.data() + b * inputs, int64_t{rows} * inputs);
    for (int h = 0; h < options_.horizon; ++h) {
      for (int t = 0; t < targets; ++t) {
        const int channel = options_.targets[t];
        target[(int64_t{h} * rows + b) * targets + t] =
            static_cast<real>(scaling_.apply(series_->at(origin + h, channel), base + channel));
      }
    }
  }
  if (targets_left_out_ == 0) return batch;
  const Tensor weights = of_targets(weights_);
  const auto weight = weights.on_host(Access::overwrite);
  int64_t i = 0, filled = 0;
  for (int h = 0; h < options_.horizon; ++h) {
    for (const int64_t origin : batch.origins) {
      for (const int channel : options_.targets) {
        const bool is_filled = series_->is_filled(origin + h, channel);
        weight[i++] = is_filled ? real(0) : real(1);
        filled += is_filled;
      }
    }
  }
  if (filled > 0) batch.weights = weights, batch.observed -= filled;
  return batch;
}

Tensor SeriesWindows::input_before(int64_t origin, const Series& rows, int64_t first) const {
  const int64_t last = origin - options_.lead, begin = last - options_.window + 1;
  require_input(begin >= 0 && last < series_->rows() && series_->begin_of(series_->member_of(last)) <= begin,
                "{}: a window of {} rows before row {} does not lie in {} rows", series_->origin,
                options_.window, origin, series_->rows());
  require_input(
      options_.known.empty() || origin + options_.horizon <= series_->end_of(series_->member_of(last)),
      "{}: what is known ahead of {} rows from row {} on does not lie in it", series_->origin,
      options_.horizon, origin);
  const int inputs = static_cast<int>(options_.inputs.size());
  Tensor input({read_rows(), 1, inputs});
  const auto on_host = input.on_host(Access::overwrite);
  read(rows, first, origin, on_host.data(), inputs);
  return input;
}

}  // namespace unroll
