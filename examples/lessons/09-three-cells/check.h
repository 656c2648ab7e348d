// The check of lesson 9.
#pragma once

#include <vector>

#include "examples/lessons/language.h"
#include "examples/lessons/lesson.h"

using namespace unroll;

namespace lessons {

struct Row {
  CellKind cell;
  int units;
  int64_t parameters = 0;
  std::vector<double> perplexities = {};  // by seed
};

inline void check_count(int (*count)(CellKind, int), int inputs) {
  for (const CellKind cell : {CellKind::rnn, CellKind::lstm, CellKind::gru}) {
    const int units = 10, gates = facts_of(cell).gates, theirs = count(cell, units);
    ParameterSet params;
    const RecurrentLayer layer(params / "layer", cell, {.input = inputs, .hidden = units});
    const auto ours = static_cast<int>(params.count());
    const char* title = facts_of(cell).title;
    const int w = gates * units * inputs, u = gates * units * units, b = gates * units,
              extra = ours - w - u - b;
    if (theirs == ours) continue;
    if (theirs == 0) wrong("{} is said to have no parameters; with {} units it has {}.", title, units, ours);
    if (theirs == ours - extra)
      wrong("{} has {} parameters; you count {}. Its extra bias is missing.", title, ours, theirs);
    if (theirs == w + u || theirs == w + u + extra)
      wrong("{} of {} units has {} parameters; you count {}. The biases are missing.", title, units, ours,
            theirs);
    if (theirs == w + b || theirs == w + b + extra)
      wrong(
          "{} of {} units has {} parameters; you count {}. U is missing, which goes from the units to the units.",
          title, units, ours, theirs);
    if (theirs == w / gates + u / gates + b / gates || theirs == w / gates + u / gates + b / gates + extra)
      wrong("{} of {} units has {} parameters; you count {}. Each of its {} gates has weights of its own.",
            title, units, ours, theirs, gates);
    wrong("{} of {} units has {} parameters; you count {}.", title, units, ours, theirs);
  }
}

inline void check_order(const std::vector<Row>& table, double floor) {
  fmt::print("{:<6} {:>6} {:>11}    perplexity: seed 1       2       3\n", "", "units", "parameters");
  Chart chart{.title = "Three cells with as many parameters",
              .description = "The GRU has the lowest perplexity, the LSTM the highest",
              .x_name = "seed",
              .y_name = "perplexity after 40,000 words",
              .x_texts = {"", "1", "2", "3"},
              .levels = {{.name = "the source's own", .y = floor}}};
  for (const Row& row : table) {
    fmt::print("{:<6} {:6} {:11} {:21.2f} {:7.2f} {:7.2f}\n", facts_of(row.cell).title, row.units,
               row.parameters, row.perplexities[0], row.perplexities[1], row.perplexities[2]);
    ChartSeries series{.name = facts_of(row.cell).title, .points = true};
    for (size_t k = 0; k < row.perplexities.size(); ++k)
      series.x.push_back(static_cast<double>(k + 1)), series.y.push_back(row.perplexities[k]);
    chart.series.push_back(series);
  }
  draw(chart);
  const Row &rnn = table[0], &lstm = table[1], &gru = table[2];
  for (const Row& row : {rnn, gru})
    if (row.parameters > lstm.parameters || double(row.parameters) < 0.97 * double(lstm.parameters))
      wrong("{} has {} parameters, the LSTM {}: they should be within 3 %.", facts_of(row.cell).title,
            row.parameters, lstm.parameters);
  for (size_t seed = 0; seed < 3; ++seed)
    if (!(gru.perplexities[seed] < rnn.perplexities[seed] &&
          rnn.perplexities[seed] < lstm.perplexities[seed]))
      wrong(
          "with seed {} the order should be GRU, RNN, LSTM; the perplexities are {:.2f}, {:.2f} and {:.2f}.",
          seed + 1, gru.perplexities[seed], rnn.perplexities[seed], lstm.perplexities[seed]);
  right(
      "with {} parameters at most, after 40,000 words, the GRU is ahead of the plain net and this of the LSTM, with all "
      "three seeds.",
      lstm.parameters);
}

}  // namespace lessons

using namespace lessons;
