#include "examples/timeseries/networks/networks.h"

#include <fmt/format.h>

namespace timeseries {

std::string networks_reading(std::string_view key, std::string_view last) {
  std::string text, word;
  for (const NetworkRow& row : series_networks) {
    if (!row.reads(key)) continue;
    if (!word.empty()) text += text.empty() ? word : ", " + word;
    word = last.empty() ? std::string(row.word) : fmt::format("\"{}\"", row.word);
  }
  return text.empty() ? word : fmt::format("{}{}{}", text, last.empty() ? ", " : last, word);
}

RecurrentConfig NetworkKeys::layers_of(int input) const {
  RecurrentConfig layers = *this;
  layers.input = input;
  if (cell != CellKind::lstm) layers.forget_bias = 0;  // the default is for LSTMs
  if (layers.layers == 1) layers.dropout = 0;          // then it acts only on the dense layer's input
  return layers;
}

}  // namespace timeseries
