// A chart by itself: as a file of SVG, and in characters for a terminal.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "training/report/chart.h"

namespace unroll {

namespace {

// One colour per series, in order: the style sheet's colours for paper.
constexpr std::array<const char*, series_styles> colours = {"#2b67a8", "#a83c05", "#356b25",
                                                            "#6b4c9a", "#8a6d1b", "#5a6169"};
constexpr const char* style =
    "text{font:12px system-ui,sans-serif;fill:#444}.name{font-weight:600}.grid{stroke:#e4e4e4}"
    ".axis{stroke:#444}.series path{fill:none;stroke-width:1.6;stroke-linejoin:round}.band{opacity:.18}"
    ".level{stroke:#444;stroke-dasharray:5 4}"
    ".mark{fill:none;stroke:#444;stroke-width:1.4}.leader{stroke:#888}.halo{paint-order:stroke;stroke:#fff;stroke-width:4px}";

const char* colour(std::size_t style) { return colours[style % series_styles]; }

constexpr int margin = 12;

// Title, names of the curves and drawing, `top` units below the file's top.
std::string panel(const Chart& chart, int top, int width, int height, const std::string& id) {
  constexpr int head = 52;
  std::string names;
  int x = margin;
  const auto add_name = [&](const std::string& name, const char* of, double opacity) {
    names += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"18\" height=\"4\" fill=\"{}\" opacity=\"{}\"/><text x=\"{}\" "
        "y=\"{}\">{}</text>\n",
        x, top + 36, of, opacity, x + 24, top + 43, html_escaped(name));
    x += 44 + 7 * static_cast<int>(name.size());
  };
  for (std::size_t k = 0; k < chart.series.size(); ++k) add_name(chart.series[k].name, colour(k), 1);
  if (chart.band) add_name(chart.band->name, colour(chart.series.size() - 1), 0.18);
  std::string drawing = chart_svg(chart, width - 2 * margin, height - head - margin, id);
  drawing.insert(4, fmt::format(" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", margin, top + head,
                                width - 2 * margin, height - head - margin));
  return fmt::format("<text x=\"{}\" y=\"{}\" style=\"font-size:15px;font-weight:600\">{}</text>\n{}{}",
                     margin, top + 22, html_escaped(chart.title), names, drawing);
}

}  // namespace

std::string chart_file(std::span<const Chart> charts, int width, int height) {
  std::size_t series = 0;
  std::string colour_rules, panels;
  for (std::size_t k = 0; k < charts.size(); ++k) {
    series = std::max(series, std::min(charts[k].series.size(), series_styles));
    panels += panel(charts[k], static_cast<int>(k) * height, width, height,
                    k == 0 ? "chart" : fmt::format("chart-{}", k + 1));
  }
  for (std::size_t k = 0; k < series; ++k)
    colour_rules += fmt::format(".s{0} path{{stroke:{1}}}.s{0} circle,.band.s{0}{{fill:{1}}}", k, colour(k));
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<style>{2}{3}</style>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n{4}</svg>\n",
      width, height * static_cast<int>(charts.size()), style, colour_rules, panels);
}

namespace {

constexpr std::string_view marks = "o*x+#%";

DrawnRange text_range_of_y(const Chart& chart) {
  DrawnRange range = range_of_y(chart, true);
  if (range.empty()) range.low = range.high = 0;
  if (chart.from_zero) range.low = std::min(range.low, 0.0);
  if (range.low == range.high) range.high = range.low + std::max(1.0, 1e-9 * std::abs(range.low));
  return range;
}

// Below the axis: both ends of x, and the names. If there is no room for both ends, the second gets a line of its own.
std::string below_axis(const Chart& chart, double last, int left, int width) {
  const std::vector<std::string> x_texts = short_texts(chart.x_texts);
  const auto name_of = [&](double x) {
    const auto k = static_cast<std::size_t>(std::llround(x));
    return k < x_texts.size() ? x_texts[k] : fmt::format("{:.4g}", x);
  };
  const std::string first = name_of(chart.x_from), end = name_of(last);
  const bool in_one_line = static_cast<int>(first.size() + end.size()) < width;
  const int between = in_one_line ? width - static_cast<int>(first.size()) : width;
  std::string text = fmt::format("{:>{}}{}", "", left, first);
  if (!in_one_line) text += fmt::format("\n{:>{}}", "", left);
  text += fmt::format("{:>{}}\n", end, between);
  std::string names;
  for (std::size_t s = 0; s < chart.series.size(); ++s)
    names +=
        fmt::format("{}{} {}", names.empty() ? "" : "   ", marks[s % marks.size()], chart.series[s].name);
  if (chart.band) names += "   . " + chart.band->name;
  return text + fmt::format("{:>{}}{}\n", "", left, names);
}

}  // namespace

std::string chart_text(const Chart& chart, int columns, int lines) {
  const DrawnRange range = text_range_of_y(chart);
  DrawnRange x_range = range_of_x(chart, chart.x_from);
  if (chart.band) x_range.add(chart.band->x);
  const double low = range.low, high = range.high, last = x_range.high;
  const auto drawn = [&](double x, double y) {
    return can_be_drawn(x) && chart.x_from <= x && can_be_drawn(y);
  };
  const int digits = digits_for(std::max(std::abs(low), std::abs(high)), (high - low) / 10, 4);
  const auto y_text = [&](std::size_t k) {
    const bool labelled =
        k == 0 || k + 1 == static_cast<std::size_t>(lines) || k == static_cast<std::size_t>(lines) / 2;
    const double value = high - (high - low) * static_cast<double>(k) / (lines - 1);
    return labelled ? fmt::format("{:.{}g}", value, digits) : std::string();
  };
  int left = 10;  // of a value and the axis
  for (std::size_t k = 0; k < static_cast<std::size_t>(lines); ++k)
    left = std::max(left, static_cast<int>(y_text(k).size()) + 2);
  const int width = std::max(columns - left, 10);
  const auto column = [&](double x) {
    return static_cast<std::size_t>(
        std::lround((x - chart.x_from) / std::max(last - chart.x_from, 1e-12) * (width - 1)));
  };
  const auto line = [&](double y) {
    return static_cast<std::size_t>(std::lround((high - y) / (high - low) * (lines - 1)));
  };
  std::vector<std::string> grid(static_cast<std::size_t>(lines),
                                std::string(static_cast<std::size_t>(width), ' '));
  if (chart.band)
    for (std::size_t i = 0; i < chart.band->x.size(); ++i)
      if (drawn(chart.band->x[i], chart.band->low[i]) && drawn(chart.band->x[i], chart.band->high[i]))
        for (std::size_t k = line(chart.band->high[i]); k <= line(chart.band->low[i]); ++k)
          grid[k][column(chart.band->x[i])] = '.';
  for (std::size_t s = 0; s < chart.series.size(); ++s)
    for (std::size_t i = 0; i < chart.series[s].x.size(); ++i)
      if (drawn(chart.series[s].x[i], chart.series[s].y[i]))
        grid[line(chart.series[s].y[i])][column(chart.series[s].x[i])] = marks[s % marks.size()];

  std::string text = chart.title + "\n";
  for (std::size_t k = 0; k < grid.size(); ++k)
    text += fmt::format("{:>{}} |{}\n", y_text(k), left - 2,
                        grid[k].substr(0, grid[k].find_last_not_of(' ') + 1));
  return text + below_axis(chart, last, left, width);
}

}  // namespace unroll
