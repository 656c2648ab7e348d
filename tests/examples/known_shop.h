// A shop's sales, which offers raise; the plan of offers is known ahead of a forecast.
#pragma once

#include <string>
#include <vector>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/times.h"
#include "tests/examples/timeseries.h"

namespace known_shop {

using namespace unroll;

// Days of sales, three more where there is an offer, which comes by lot; and a little noise.
struct Shop {
  std::string csv = "day,sales,offer\n";
  explicit Shop(int rows, const std::string& name = "", double each = 3) {
    RandomStream random(7, "offers" + name);
    for (int i = 0; i < rows; ++i) {
      const int offer = random.uniform() < 0.3;
      csv += fmt::format("{},{:.3f},{}\n", day(i), 10 + each * offer + 0.2 * random.uniform(), offer);
    }
  }
  static std::string day(int i) {
    return to_text({.form = TimeForm::date, .count = *date_of(2021, 1, 1) + i * one_day});
  }
};

inline constexpr int rows = 280;

inline const std::string recipe = R"([model]
architecture = "linear"
normalization = "last"
[data]
known = ["offer"]
window = 4
horizon = 3
period = 7
ets = false
[training]
epochs = 12
[optimizer]
learning_rate = 0.02
)";

inline const std::string best = "run/best.safetensors";

inline std::vector<double> forecast(const Folder& folder, const std::string& model, const std::string& future,
                                    int steps = 3) {
  const auto lines = lines_of(timeseries_out(
      {"forecast", model, "--csv", "shop.csv", "--future", future, "--steps", std::to_string(steps)},
      folder.path()));
  std::vector<double> values;
  for (size_t k = 1; k < lines.size(); ++k) {
    const size_t comma = lines[k].find(',');
    values.push_back(std::stod(lines[k].substr(comma + 1)));
  }
  return values;
}

}  // namespace known_shop
