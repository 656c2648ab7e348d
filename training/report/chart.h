// Line charts as SVG.
//
// Drawings are static, so that they print and need no script; colours come from the report's style sheet,
// by class. The numbers stand beside it as JSON for a script that shows values under the pointer.
#pragma once

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

struct Chart {
  std::string title, description = {};  // for those who do not see it: what it is, and what it shows
  std::string x_name, y_name;           // "step", "perplexity"
  std::string right_name = {};          // of an axis on the right with the logarithm of y; "": none
  double top =
      std::numeric_limits<double>::infinity();  // y beyond it is cut off, where some of it lies below
  bool logarithmic = false;                              // y, where all of it is above zero
  double x_from = 0;                                     // where the axis of x begins
  bool from_zero = true;  // else y begins at zero, or below; or near the least value
  std::vector<std::string> x_texts =
      {};  // what x = 0, 1, 2, … are called, where they have names of their own
  std::vector<ChartSeries> series = {};
  // An interval around the last of the series, filled.
  struct Band {
    std::string name;
    std::vector<double> x = {}, low = {}, high = {};  // of one length, finite
  };
  std::optional<Band> band = {};
  struct Level {
    std::string name;
    double y = 0;
  };
  std::vector<Level> levels = {};  // to be held against: dashed, named, from edge to edge
  struct Mark {
    std::string text;
    double x = 0, y = 0;
  };
  std::optional<Mark> mark = {};  // a point that is named
};

// An <svg> of that many units, which are pixels where there is room; `id` must be new in the report.
std::string chart_svg(const Chart& chart, int width, int height, const std::string& id);
// The chart as a file of its own, with a title, names of the curves, colours, and a white ground: it needs no page
// around it. As wide as half a page, so that two can stand side by side.
std::string chart_file(const Chart& chart, int width = 560, int height = 340);
// Several of that height in one file, one below the other.
std::string chart_file(std::span<const Chart> charts, int width, int height);
// For a terminal: so many columns and lines of characters; a mark for each series, dots for the band.
std::string chart_text(const Chart& chart, int columns, int lines);
// {"x": "step", "series": [{"name": …, "x": […], "y": […]}]}
std::string chart_json(const Chart& chart);

// Whether a chart shows a value: differences of two such values are finite. Others break the line.
inline bool can_be_drawn(double value) { return std::abs(value) <= 1e300; }

// A series in at most so many points: neighbours are replaced by their means.
ChartSeries thinned(ChartSeries series, std::size_t at_most);

// Digits by which numbers of that size are told apart that lie `apart` from each other; at least `least`.
int digits_for(double size, double apart, int least);
// The text at an axis: "0.05", "250", "1.5k", "40M", "123.456789M"; neighbours that lie `apart` can be told apart.
std::string tick_text(double value, double apart = 0);
// Names of x as they stand at an axis: without the seconds, where they are 0 in all of them.
std::vector<std::string> short_texts(std::vector<std::string> texts);

// About so many round numbers (1, 2 or 5 times a power of ten apart) in [low, high].
std::vector<double> round_ticks(double low, double high, int about);
// As above, for a logarithmic axis; 0 < low < high.
std::vector<double> round_log_ticks(double low, double high, int about);

// Text as it may stand between tags, or in a quoted attribute.
std::string html_escaped(std::string_view text);

}  // namespace unroll
