// timeseries generate: synthetic series as a file and as a picture.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/synthetic/synthetic.h"
#include "framework/check.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"

namespace timeseries {

namespace {

using namespace unroll;

std::string long_csv(const std::vector<SyntheticSeries>& all) {
  std::string csv = "series,row,value\n";
  for (size_t k = 0; k < all.size(); ++k)
    for (size_t t = 0; t < all[k].values.size(); ++t) {
      const float v = all[k].values[t];
      csv += fmt::format("{}-{}-{},{},", k, all[k].kind, all[k].season, t) +
             (std::isnan(v) ? "\n" : fmt::format("{}\n", v));
    }
  return csv;
}

// The series side by side, each with its kind and the season told, at a scale of its own.
std::string picture(const std::vector<SyntheticSeries>& all) {
  constexpr int columns = 4, width = 270, height = 130, top = 26, margin = 10;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<style>text{{font:13px system-ui,sans-serif;fill:#444}}path{{fill:none;stroke:#2b67a8;stroke-width:1.3;"
      "stroke-linejoin:round;stroke-linecap:round}}</style>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      columns * width, (static_cast<int>(all.size()) + columns - 1) / columns * height);
  for (size_t k = 0; k < all.size(); ++k) {
    const std::vector<float>& values = all[k].values;
    float low = std::numeric_limits<float>::infinity(), high = -low;
    for (const float v : values)
      if (!std::isnan(v)) low = std::min(low, v), high = std::max(high, v);
    const int left = static_cast<int>(k) % columns * width + margin,
              row = static_cast<int>(k) / columns * height;
    const double x = (width - 2.0 * margin) / (static_cast<double>(values.size()) - 1);
    const double y = (height - top - margin) / std::max(1e-30, static_cast<double>(high) - low);
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{}{}</text>\n<path d=\"", left, row + 18, all[k].kind,
                       all[k].season > 1 ? fmt::format(", {}", all[k].season) : "");
    for (size_t t = 0; t < values.size(); ++t)
      if (!std::isnan(values[t]))
        svg += fmt::format("{}{:.1f} {:.1f}", t > 0 && !std::isnan(values[t - 1]) ? "L" : "M",
                           left + x * static_cast<double>(t),
                           row + top + y * (static_cast<double>(high) - values[t]));
    svg += "\"/>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace

void generate(Command& command) {
  int count = 20, rows = 192;
  uint64_t seed = 1;
  bool held_out = false;
  std::string out, plot;
  command.describe(
      "Draws synthetic series, as those that the forecaster is trained on. They are written as one file with a column that tells "
      "them apart: number, kind and season. The same seed draws the same series.");
  command.option("count", count, "N", "series to draw");
  command.option("rows", rows, "N", "rows of each");
  command.option("seed", seed, "N", "of the random numbers");
  command.option("held-out", held_out, "kinds that training never draws");
  command.option("out", out, "FILE", "the file, instead of on the screen");
  command.option("plot", plot, "FILE", "a picture of them, as SVG");
  command.example("generate --plot kinds.svg --out kinds.csv", "twenty series and their picture");
  command.example("generate --held-out --count 200 --out unseen.csv",
                  "to be read with data.id = \"series\" and data.time = \"row\"");
  if (!command.parse()) return;
  require_input(count >= 1 && count <= 1'000'000, "generate: --count {}: 1 to 1,000,000", count);
  require_input(rows >= 3 && rows <= 100'000, "generate: --rows {}: 3 to 100,000", rows);
  require_new("generate", out);
  require_new("generate", plot);
  std::vector<SyntheticSeries> all;
  for (int k = 0; k < count; ++k)
    all.push_back(held_out ? held_out_series(seed, k, rows) : synthetic_series(seed, k, rows));
  if (!plot.empty()) write_new_file(plot, picture(all));
  if (!out.empty()) return write_new_file(out, long_csv(all));
  if (plot.empty()) show_data(long_csv(all));
}

}  // namespace timeseries
