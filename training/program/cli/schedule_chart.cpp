#include "training/program/cli/schedule_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "training/files/atomic_file.h"

namespace unroll {

namespace {

// Takes points from left to right and keeps those that the line needs. Every dropped point is within `tolerance` of the
// line through its kept neighbours: each point narrows the slopes that a line from the last kept one may have.
class Simplified {
 public:
  Simplified(ChartSeries& series, double tolerance) : series_(series), tolerance_(tolerance) {}

  void add(double x, double y) {
    if (series_.x.empty()) return keep(x, y);
    if (pending_ && !allows(x, y)) keep(x_, y_);
    pending_ = true, x_ = x, y_ = y;
    const double from = series_.x.back(), base = series_.y.back();
    low_ = std::max(low_, (y - tolerance_ - base) / (x - from));
    high_ = std::min(high_, (y + tolerance_ - base) / (x - from));
  }
  void finish() {
    if (pending_) keep(x_, y_);
  }

 private:
  bool allows(double x, double y) const {
    const double slope = (y - series_.y.back()) / (x - series_.x.back());
    return low_ <= slope && slope <= high_;
  }
  void keep(double x, double y) {
    series_.x.push_back(x), series_.y.push_back(y);
    low_ = -std::numeric_limits<double>::infinity(), high_ = -low_;
    pending_ = false;
  }

  ChartSeries& series_;
  const double tolerance_;
  double x_ = 0, y_ = 0, low_ = 0, high_ = 0;
  bool pending_ = false;
};

// value(epoch, step) over all steps of the training. The last value holds to the end.
template <class F>
ChartSeries curve(const std::string& name, const TrainingSections& sections, const EpochWindows& windows,
                  double height, F value) {
  constexpr int64_t most_steps = 1'000'000;  // that are looked at, and the first and last of each epoch
  const int epochs = sections.training.epochs;
  ChartSeries series{.name = name};
  Simplified line(series, height / 2000);
  const int64_t stride = std::max<int64_t>(1, epochs * steps_of_epoch(sections, windows, 1) / most_steps);
  int64_t before = 0;
  double last = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const int64_t steps = steps_of_epoch(sections, windows, epoch + 1);
    for (int64_t k = 0; k < steps; k = k + 1 < steps ? std::min(k + stride, steps - 1) : steps) {
      last = value(epoch, before + k);
      line.add(epoch + static_cast<double>(k) / static_cast<double>(steps), last);
    }
    before += steps;
  }
  line.add(epochs, last);
  line.finish();
  return series;
}

}  // namespace

std::vector<Chart> schedule_charts(const std::string& recipe, const TrainingSections& sections,
                                   const EpochWindows& windows) {
  const Schedule schedule = make_schedule(sections, windows);
  const auto ends = [](const ChartSeries& s) {
    return fmt::format("By epoch: {:.3g} at first, {:.3g} at the end, at most {:.3g}.", s.y.front(),
                       s.y.back(), *std::ranges::max_element(s.y));
  };
  const auto chart = [&](const std::string& name, const ChartSeries& series) {
    return Chart{.title = fmt::format("{}: {}", recipe, name),
                 .description = ends(series),
                 .x_name = "epochs",
                 .y_name = name,
                 .series = {series}};
  };
  std::vector<Chart> charts = {
      chart("learning rate", curve("learning rate", sections, windows, schedule.learning_rate,
                                   [&](int epoch, int64_t step) { return schedule.rate(epoch, step); }))};
  if (schedule.kind == Schedule::Kind::plateau) {
    charts[0].series[0].name = "while valid scores improve";
    charts[0].logarithmic = true;
    Schedule divided = schedule;
    for (const char* times : {"1 epoch", "2 epochs", "3 epochs"}) {
      ++divided.divisions;
      charts[0].levels.push_back({fmt::format("after {} without a better score", times),
                                  divided.full_rate(sections.training.epochs, divided.warmup)});
    }
  }
  if (schedule.momentum_at(0)) {
    const char* name = sections.optimizer.kind == OptimizerKind::sgd ? "momentum" : "beta1";
    charts.push_back(
        chart(name, curve(name, sections, windows, schedule.momentum.high - schedule.momentum.low,
                          [&](int, int64_t step) { return *schedule.momentum_at(step); })));
    charts.back().from_zero = false;
  }
  return charts;
}

void write_schedule_plot(const std::filesystem::path& file, const std::string& recipe,
                         const TrainingSections& sections, const EpochWindows& windows) {
  constexpr int width = 560, height = 240;
  write_new_file(file, chart_file(schedule_charts(recipe, sections, windows), width, height));
}

}  // namespace unroll
