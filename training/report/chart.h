// Line charts as SVG. Drawings are static, so they print and need no script; the report's style sheet sets colours by class. The
// numbers stand beside a drawing as JSON, for a script that shows values under the pointer.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace unroll {

constexpr std::size_t series_styles = 6;  // of colours and lines: the seventh series has those of the first

struct ChartSeries {
  std::string name;
  bool points = false;                 // each one is marked, as well as joined
  std::vector<double> x = {}, y = {};  // of one length; where y cannot be drawn the line is broken
};

// A filled interval around the last of a chart's series.
struct ChartBand {
  std::string name;
  std::vector<double> x = {}, low = {}, high = {};  // of one length, finite
};
// A point with a name.
struct ChartMark {
  std::string text;     // its name
  double x = 0, y = 0;  // its place
};

// Curves over x, with axes, levels and a band.
struct Chart {
  using Band = ChartBand;  // Clang 14 makes no optional of a struct inside, whose members have values
  using Mark = ChartMark;  // a named point
  std::string title, description = {};  // for readers who cannot see it: what it is, and what it shows
  std::string x_name, y_name;           // "step", "perplexity"
  std::string right_name = {};          // of an axis on the right with the logarithm of y; "": none
  double top = std::numeric_limits<double>::infinity();  // y beyond it is cut off
  bool logarithmic = false;                              // y, if all of it is above zero
  double x_from = 0;                                     // the start of the x axis
  bool from_zero = true;  // else y begins at zero, or below; or near the least value
  std::vector<std::string> x_texts = {};  // names of x = 0, 1, 2, …; empty: none
  std::vector<ChartSeries> series = {};   // the curves
  std::optional<Band> band = {};          // around the last curve
  // A value to compare with.
  struct Level {
    std::string name;
    double y = 0;  // its height
  };
  std::vector<Level> levels = {};  // to be held against: dashed, named, from edge to edge
  std::optional<Mark> mark = {};  // a point that is named
};

// An <svg> of width × height units, which are pixels if there is room. Requires: an `id` that is new in the report.
std::string chart_svg(const Chart& chart, int width, int height, const std::string& id);
// The chart as a file of its own, with title, names of the curves, colours and a white ground. By default it is half a
// page wide, so two fit side by side.
std::string chart_file(std::span<const Chart> charts, int width, int height);  // one below the other
inline std::string chart_file(const Chart& chart, int width = 560, int height = 340) {
  return chart_file(std::span(&chart, 1), width, height);
}
// The chart in characters for a terminal, `columns` × `lines`: a mark for each series, dots for the band.
std::string chart_text(const Chart& chart, int columns, int lines);
// {"x": "step", "series": [{"name": …, "x": […], "y": […]}]}
std::string chart_json(const Chart& chart);

// True if a chart can show the value: differences of two such values are finite. Other values break the line.
inline bool can_be_drawn(double value) { return std::abs(value) <= 1e300; }

// The least and the largest (low, high) of those of some values that can be drawn.
struct DrawnRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {  // widens it
    if (can_be_drawn(value)) low = std::min(low, value), high = std::max(high, value);
  }
  void add(std::span<const double> values) {
    for (const double value : values) add(value);
  }
  bool empty() const { return low > high; }  // nothing was added
};
// The range of all series' y, and the band's if `with_band`.
DrawnRange range_of_y(const Chart& chart, bool with_band);
// The range of all series' x, and `from`.
DrawnRange range_of_x(const Chart& chart, double from);

// The series with at most `at_most` points: neighbours are replaced by their means.
ChartSeries thinned(ChartSeries series, std::size_t at_most);

// How many digits tell numbers of that size apart that lie `apart` from each other; at least `least`.
int digits_for(double size, double apart, int least);
// The text of a tick: "0.05", "250", "1.5k", "40M", "123.456789M". Ticks that lie `apart` get different texts.
std::string tick_text(double value, double apart = 0);
// Texts of x as shown at an axis: without seconds if all of them are 0.
std::vector<std::string> short_texts(std::vector<std::string> texts);

// About `about` round numbers in [low, high], 1, 2 or 5 times a power of ten apart.
std::vector<double> round_ticks(double low, double high, int about);
// As above, for a logarithmic axis; 0 < low < high.
std::vector<double> round_log_ticks(double low, double high, int about);

// Escapes text to stand between tags, or in a quoted attribute.
std::string html_escaped(std::string_view text);

}  // namespace unroll
