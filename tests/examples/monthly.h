// A monthly series with a season, as a CSV file.
#pragma once

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "framework/random.h"

// Columns month, shop (a word), sales (a line and a yearly wave), left (noise); from 1990-01 on.
inline std::string monthly(int rows) {
  unroll::RandomStream random(1, "monthly");
  std::string csv = "month,shop,sales,left\n";
  for (int i = 0; i < rows; ++i)
    csv += fmt::format("{}-{:02},north,{:.3f},{:.3f}\n", 1990 + i / 12, i % 12 + 1,
                       100 + i + 20 * std::sin(i * 2 * 3.14159265 / 12) + random.uniform(), random.uniform());
  return csv;
}
