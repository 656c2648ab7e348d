// The check of lesson 5.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "examples/lessons/language.h"
#include "examples/lessons/lesson.h"
#include "layers/recurrent/lstm.h"

using namespace unroll;

namespace lessons {

using Results = std::map<float, std::vector<double>>;  // by forget bias: of each seed

template <class Add>
void check_bias(Add add) {
  constexpr int units = 6;
  ParameterSet params;
  const Lstm plain(params / "plain", {.input = 2, .hidden = units});
  const Tensor bias = params.at("plain.bias_l0").var().value();
  const std::vector<real> before = bias.to_host();
  add(bias, units, 2.0f);
  const std::vector<real> after = bias.to_host();
  int changed[4] = {}, added[4] = {};  // of each gate: how many of its biases
  for (int k = 0; k < 4 * units; ++k) {
    changed[k / units] += after[static_cast<size_t>(k)] != before[static_cast<size_t>(k)];
    added[k / units] += std::abs(after[static_cast<size_t>(k)] - before[static_cast<size_t>(k)] - 2) < 1e-5;
  }
  const int all = changed[0] + changed[1] + changed[2] + changed[3];
  const char* names[4] = {"input gates i", "forget gates f", "candidates g", "output gates o"};
  if (all == 0) wrong("no bias has changed: of 4 × {0} biases the {0} of the forget gates should.", units);
  if (all == 4 * units)
    wrong("all {} biases have changed, those of i, g and o too. The forget gates' are {} of them.", all,
          units);
  for (const int other : {0, 2, 3})
    if (changed[other] && !changed[1])
      wrong(
          "the biases of the {} have changed, not those of the forget gates. The order is i, f, g, o, with {} of each: "
          "the forget gates' begin at number {}.",
          names[other], units, units);
  for (const int other : {0, 2, 3})
    if (changed[other])
      wrong("beside those of the forget gates {} biases of the {} have changed.", changed[other],
            names[other]);
  if (changed[1] < units)
    wrong("{} of the {} forget gates have another bias; all should.", changed[1], units);
  if (added[1] < units)
    wrong(
        "the forget gates' biases have changed, but {} of {} by other amounts. Add to what is there: it was drawn at "
        "random.",
        units - added[1], units);
}

inline void check_order(Results& text) {
  fmt::print("perplexity after 40,000 words:\n\n{:<12} {:>9} {:>7} {:>7}\n", "forget bias", "seed 1", "2",
             "3");
  Chart chart{.title = "Perplexity after 40,000 words, by forget bias",
              .description = "It rises with the forget bias",
              .x_name = "forget bias",
              .y_name = "perplexity",
              .from_zero = false,
              .x_texts = {"-2", "0", "+1", "+3"}};
  for (int seed = 1; seed <= 3; ++seed)
    chart.series.push_back({.name = fmt::format("seed {}", seed), .points = true});
  for (const auto& [amount, perplexities] : text) {
    fmt::print("{:<+12} {:9.2f} {:7.2f} {:7.2f}\n", amount, perplexities[0], perplexities[1],
               perplexities[2]);
    for (size_t seed = 0; seed < 3; ++seed)
      chart.series[seed].x.push_back(double(chart.series[seed].x.size())),
          chart.series[seed].y.push_back(perplexities[seed]);
  }
  draw(chart);
  for (const float other : {1.0f, 3.0f})
    if (!(mean(text[-2]) < mean(text[other])))
      wrong(
          "in the mean of three seeds a forget bias of -2 should be ahead of {:+}; the perplexities are {:.2f} and {:.2f}.",
          other, mean(text[-2]), mean(text[other]));
  int seeds = 0;
  for (size_t k = 0; k < 3; ++k) seeds += text[-2][k] < text[1][k];
  right(
      "in the mean of three seeds -2 has {:.2f}, 0 has {:.2f}, +1 has {:.2f} and +3 has {:.2f}. -2 is ahead of +1 with {} "
      "of the 3 seeds.",
      mean(text[-2]), mean(text[0]), mean(text[1]), mean(text[3]), seeds);
}

}  // namespace lessons

using namespace lessons;
