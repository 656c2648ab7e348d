// A page of `look` for the suites that read it back: the numbers of its models.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

inline std::vector<nlohmann::json> models_in(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" class=\"model\">", end = "</script>";
  std::vector<nlohmann::json> result;
  for (size_t at = page.find(begin); at != page.npos; at = page.find(begin, at)) {
    at += begin.size();
    result.push_back(nlohmann::json::parse(page.substr(at, page.find(end, at) - at)));
  }
  return result;
}

template <class T>
std::vector<T> decoded(const nlohmann::json& base64) {
  const std::string text = base64.get<std::string>(),
                    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 4) {
    unsigned group = 0;
    for (size_t k = 0; k < 4; ++k) {
      const size_t digit = digits.find(text[i + k]);
      group = group << 6 | (digit == digits.npos ? 0u : static_cast<unsigned>(digit));
    }
    for (int k = 2; k >= 0; --k) bytes += static_cast<char>(group >> (8 * k) & 255);
  }
  const auto padding = static_cast<size_t>(std::ranges::count(text, '='));
  std::vector<T> result((bytes.size() - padding) / sizeof(T));
  std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
  return result;
}

// Numbers of 16 bits, [row * units + unit].
struct PageValues {
  std::vector<double> numbers = {};
  int units = 0;
  double largest = 0;
  double at(size_t row, int unit) const {
    return numbers[row * static_cast<size_t>(units) + static_cast<size_t>(unit)];
  }
};
inline PageValues values_in(const nlohmann::json& json) {
  PageValues result{.units = json.at("units"), .largest = json.at("largest")};
  for (const int16_t q : decoded<int16_t>(json.at("data")))
    result.numbers.push_back(q * result.largest / 32767);
  return result;
}
// A gate or a state of a layer.
inline PageValues values_of(const nlohmann::json& layer, const std::string& name) {
  for (const nlohmann::json& v : layer.at("values"))
    if (v.at("name") == name) return values_in(v);
  FAIL("no " << name);
  return {};
}

// c = f·c_before + i·g of an LSTM, h = (1 - z)·n + z·h_before of a GRU, at every step but the first.
inline void check_steps(const nlohmann::json& layer, const std::string& cell, size_t steps) {
  const bool lstm = cell == "lstm";
  const PageValues state = values_of(layer, lstm ? "c" : "h");
  const auto expected = [&, a = values_of(layer, lstm ? "f" : "z"),
                         i = lstm ? values_of(layer, "i") : PageValues(),
                         g = values_of(layer, lstm ? "g" : "n")](size_t t, int j) {
    return a.at(t, j) * state.at(t - 1, j) + (lstm ? i.at(t, j) : 1 - a.at(t, j)) * g.at(t, j);
  };
  for (size_t t = 1; t < steps; ++t)
    for (int j = 0; j < state.units; ++j)
      CHECK(std::abs(state.at(t, j) - expected(t, j)) < 1e-4 * std::max(1.0, state.largest));
}
