// timeseries generate: synthetic series as a file.
#include <cmath>

#include <fmt/format.h>

#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/synthetic/synthetic.h"
#include "framework/check.h"
#include "training/files/atomic_file.h"

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

}  // namespace

void generate(Command& command) {
  int count = 20, rows = 192;
  uint64_t seed = 1;
  bool held_out = false;
  std::string out;
  command.describe(
      "Draws synthetic series, as those that the forecaster is trained on. They are written as one file with a column that tells "
      "them apart: number, kind and season. The same seed draws the same series.");
  command.option("count", count, "N", "series to draw");
  command.option("rows", rows, "N", "rows of each");
  command.option("seed", seed, "N", "of the random numbers");
  command.option("held-out", held_out, "kinds that training never draws");
  command.option("out", out, "FILE", "the file, instead of on the screen");
  command.example("generate --out kinds.csv", "twenty series");
  command.example("generate --held-out --count 200 --out unseen.csv",
                  "to be read with data.id = \"series\" and data.time = \"row\"");
  if (!command.parse()) return;
  require_input(count >= 1 && count <= 1'000'000, "generate: --count {}: 1 to 1,000,000", count);
  require_input(rows >= 3 && rows <= 100'000, "generate: --rows {}: 3 to 100,000", rows);
  require_new("generate", out);
  std::vector<SyntheticSeries> all;
  for (int k = 0; k < count; ++k)
    all.push_back(held_out ? held_out_series(seed, k, rows) : synthetic_series(seed, k, rows));
  print_or_write(out, long_csv(all));
}

}  // namespace timeseries
