// The check of lesson 8, and the sentences that it reads.
//
// A case is a subject, phrases with nouns of the other number, and the verb that agrees with the subject:
//   the keys near the car that the woman beside the truck loses | are
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "examples/lessons/demo.h"
#include "examples/lessons/lesson.h"

using namespace unroll;

namespace lessons {

inline constexpr int layers = 2, cases = 100;  // cases: of each number and length

enum class Number { singular, plural };

struct Unit {
  int layer, number;
  double tells;             // share of cases
  double singular, plural;  // means of its memory
};

struct Overwritten {
  size_t units;
  double right_verb;  // the mean probability of the right verb of the two
};

// Sentences up to the verb, all of one length: [words, cases], of 0 to 3 phrases with a noun of the other number.
inline IdTensor sentences(const Demo& demo, Number number, int phrases, uint64_t seed = 1) {
  const std::vector<std::string> things[2] = {{"key", "hammer", "knife", "ladder", "rope"},
                                              {"keys", "hammers", "knives", "ladders", "ropes"}},
                                 vehicles[2] = {{"car", "truck", "bus", "train", "boat"},
                                                {"cars", "trucks", "buses", "trains", "boats"}},
                                 people[2] = {{"man", "woman", "child", "doctor", "teacher"},
                                              {"men", "women", "children", "doctors", "teachers"}},
                                 loses[2] = {{"uses", "loses", "borrows"}, {"use", "lose", "borrow"}},
                                 near[2] = {{"near", "behind", "beside"}, {"near", "behind", "beside"}};
  RandomStream random(seed, "agreement");
  const int own = number == Number::plural, other = 1 - own;
  const auto one_of = [&](const std::vector<std::string>& words) {
    return words[random.below(static_cast<uint32_t>(words.size()))];
  };
  IdTensor result;
  for (int i = 0; i < cases; ++i) {
    std::string text = "the " + one_of(things[own]);
    if (phrases >= 1) text += " " + one_of(near[0]) + " the " + one_of(vehicles[other]);
    if (phrases >= 2) {
      text += " that the " + one_of(people[other]);
      if (phrases >= 3) text += " " + one_of(near[0]) + " the " + one_of(vehicles[other]);
      text += " " + one_of(loses[other]);
    }
    const std::vector<int32_t> ids = demo.ids(text);
    if (!result.defined()) result = IdTensor({static_cast<int>(ids.size()), cases});
    for (size_t t = 0; t < ids.size(); ++t) result.data()[t * cases + static_cast<size_t>(i)] = ids[t];
  }
  return result;
}

// p(right form) among "is" and "are", of each case.
inline std::vector<double> right_verbs(const Demo& demo, const Var& last, Number number) {
  const Tensor logits = demo.decoder(last).value();  // [cases, words]
  const std::vector<real> values = logits.to_host();
  const auto is = static_cast<size_t>(demo.words.id("is")), are = static_cast<size_t>(demo.words.id("are"));
  std::vector<double> result;
  for (size_t i = 0; i < cases; ++i) {
    const real* row = &values[i * static_cast<size_t>(logits.dim(1))];
    const double p_are = 1 / (1 + std::exp(double(row[is]) - double(row[are])));
    result.push_back(number == Number::plural ? p_are : 1 - p_are);
  }
  return result;
}

// Returns the least share of right verbs, in percent.
inline double show_agreement(const Demo& demo) {
  fmt::print("Which verb, \"is\" or \"are\"? By phrases of the other number between it and the subject:\n\n");
  Chart chart{
      .title = "Agreement: the right verb of two",
      .description = "The share of cases stays at 100 % with up to three phrases in between",
      .x_name = "phrases of the other number in between",
      .y_name = "share of cases, %",
      .series = {{.name = "singular subject", .points = true}, {.name = "plural subject", .points = true}},
      .levels = {{.name = "by chance", .y = 50}}};
  fmt::print("phrases    right    mean p    for example\n");
  double worst = 100;
  for (int phrases = 0; phrases <= 3; ++phrases) {
    double right = 0, p = 0;
    for (const Number number : {Number::singular, Number::plural}) {
      const IdTensor words = sentences(demo, number, phrases);
      const auto [y, state] = demo.lstm(demo.embedding(words), demo.lstm.zero_state(cases));
      const std::vector<double> of_case = right_verbs(demo, row(y, words.dim(0) - 1), number);
      const double share =
          100.0 * double(std::ranges::count_if(of_case, [](double v) { return v > 0.5; })) / cases;
      right += share / 2, p += mean(of_case) / 2;
      auto& series = chart.series[number == Number::plural];
      series.x.push_back(phrases), series.y.push_back(share);
    }
    std::string example;
    const IdTensor words = sentences(demo, Number::plural, phrases);
    for (int t = 1; t < words.dim(0); ++t) example += demo.words.word(words.data()[t * cases]) + " ";
    fmt::print("{:7} {:7.1f} % {:9.4f}    {}| are\n", phrases, right, p, example);
    worst = std::min(worst, right);
  }
  fmt::print("\n");
  draw(chart);
  return worst;
}

// The memory of all units just before the verb, after sentences of all lengths.
struct Readings {
  std::vector<std::vector<real>> states;  // by length: c [layers, cases, units]
  size_t units;
  std::vector<double> of(int layer, int unit) const {
    std::vector<double> result;
    for (const std::vector<real>& c : states)
      for (size_t i = 0; i < cases; ++i)
        result.push_back(
            double(c[(static_cast<size_t>(layer) * cases + i) * units + static_cast<size_t>(unit)]));
    return result;
  }
};
inline Readings read_cases(const Demo& demo, Number number) {
  Readings result{.states = {}, .units = static_cast<size_t>(demo.units())};
  for (int phrases = 0; phrases <= 3; ++phrases) {
    const IdTensor words = sentences(demo, number, phrases);
    const auto out = demo.lstm(demo.embedding(words), demo.lstm.zero_state(cases));
    result.states.push_back(out.state.c.value().to_host());
  }
  return result;
}

// The mean probability of the right verb where these units' memory is held at the mean that they have for the other number,
// from the subject on. One phrase in between; sentences that no unit was chosen by.
inline double right_verb(const Demo& demo, std::span<const Unit> held) {
  double sum = 0;
  for (const Number number : {Number::singular, Number::plural}) {
    const IdTensor words = sentences(demo, number, 1, 2);
    RecurrentState state = demo.lstm.zero_state(cases);
    Var last;
    for (int t = 0; t < words.dim(0); ++t) {
      const auto [y, next] = demo.lstm(demo.embedding(words.slice(t, t + 1)), state);
      last = row(y, 0);
      state = next;
      if (t < 2) continue;  // <eos> the keys
      const auto c = state.c.on_host(Access::change);
      for (const Unit& unit : held)
        for (int i = 0; i < cases; ++i)
          c[(unit.layer * cases + i) * demo.units() + unit.number] =
              static_cast<real>(number == Number::singular ? unit.plural : unit.singular);
    }
    sum += mean(right_verbs(demo, last, number)) / 2;
  }
  return sum;
}

inline void check_tells(double (*tells)(const std::vector<double>&, const std::vector<double>&)) {
  const std::vector<double> low = {-3, -2, -1.5, -1}, high = {1, 1.5, 2, 3}, mixed = {-1, 1, -2, 2};
  const double up = tells(low, high), down = tells(high, low);
  if (up == 0 && down == 0)
    wrong("every unit is said to tell the number in 0 % of the sentences: `best` stays 0.");
  if (up > 1 || down > 1)
    wrong(
        "a unit whose values lie apart tells the number in all sentences, a share of 1; yours is {}. Divide by the "
        "number of sentences.",
        std::max(up, down));
  if (up == 1 && down < 1)
    wrong(
        "a unit that is large for a singular subject, and small for a plural one, tells the number as well as one that "
        "is the other way round. Such a unit has {:.3f} with you; it should have 1.",
        down);
  if (up < 1)
    wrong(
        "singular {{-3, -2, -1.5, -1}} and plural {{1, 1.5, 2, 3}} lie apart, so the share is 1; yours is {:.3f}. Is "
        "the best line kept, or the last?",
        up);
  const double by_chance = tells(mixed, mixed), shifted = tells({1, 2, 3, 4}, {3.5, 5, 6, 7});
  if (!(std::abs(by_chance - 0.5) < 1e-9))
    wrong(
        "where both numbers have the same values, a line is right in half of the sentences; yours says {:.3f}.",
        by_chance);
  if (!(std::abs(shifted - 0.875) < 1e-9))
    wrong(
        "of singular {{1, 2, 3, 4}} and plural {{3.5, 5, 6, 7}} seven of eight are right; yours says {:.3f}.",
        shifted);
}

// The numbers of the page are those of one training. Other kernels round otherwise, which leads to another net: that is no mistake of
// the learner's.
inline void check_units(const std::vector<Unit>& units, const std::vector<Overwritten>& flips, double worst) {
  fmt::print("\nunits held at the other number's mean    mean p(right verb)\n");
  size_t flipped = 0;
  for (const auto& [count, p] : flips) {
    fmt::print("{:38} {:12.3f}\n", count, p);
    if (!flipped && p < 0.5) flipped = count;
  }
  const Unit& best = units.front();
  if (!(worst >= 99 && best.tells >= 0.99 && flips.at(1).right_verb > 0.5 && flipped)) {
    right(
        "your part is. But your demo is another net than the page's: it chooses the right verb in {:.1f} % at worst, not "
        "in 100 %, and its best unit tells the number in {:.1f} %. Kernels for another processor round otherwise, and that "
        "leads elsewhere.",
        worst, 100 * best.tells);
    return;
  }
  right(
      "layer {} unit {} tells the number in {:.1f} % of the cases. Overwritten it leaves p(right) at {:.3f}: others know, "
      "too. It takes up to {} units to flip the verb.",
      best.layer + 1, best.number, 100 * best.tells, flips.at(1).right_verb, flipped);
}

}  // namespace lessons

using namespace lessons;
