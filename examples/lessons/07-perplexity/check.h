// The check of lesson 7.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "data/text/grammar.h"
#include "data/text/ngram.h"
#include "examples/lessons/lesson.h"

using namespace unroll;

namespace lessons {

struct Curves {
  double floor;
  struct Point {
    size_t words;  // that were counted
    double perplexity;
  };
  std::map<int, std::vector<Point>> of_order =
      {};  // by order: 1 for single words, 2 for pairs, 3 for triples
};

inline void check_perplexity(double (*perplexity_of)(const std::vector<double>&)) {
  const std::vector<double> dice(5, std::log(6.0));  // five throws: each of six faces is as likely
  const double of_dice = perplexity_of(dice);
  if (of_dice == 0)
    wrong("the perplexity of five throws of a die is 0; it should be 6, as many as its faces.");
  const auto differs = [](double a, double b) { return !(std::abs(a - b) < 1e-9 * std::abs(b)); };
  if (!differs(of_dice, std::log(6.0)))
    wrong("that is the mean of the nats, {:.3f} for five throws of a die. The perplexity is exp of it: 6.",
          of_dice);
  if (!differs(of_dice, std::exp(5 * std::log(6.0))))
    wrong(
        "for five throws of a die that is {:.0f}, one over the probability of all five; it should be 6. Take the "
        "mean of the nats, not their sum.",
        of_dice);
  if (!differs(of_dice, std::exp2(std::log(6.0))))
    wrong(
        "for five throws of a die that is {:.3f}; it should be 6. The nats are natural logarithms, so it takes exp, "
        "not a power of 2.",
        of_dice);
  // Words of different probabilities tell a mean of logarithms from a mean of something else.
  const std::vector<double> nats = {std::log(2.0), std::log(8.0)};
  const double of_two = perplexity_of(nats);
  if (!differs(of_two, 5.0))
    wrong(
        "for a word of probability 1/2 and one of 1/8 that is 5, the mean of 2 and 8; it should be 4: exp of the mean, "
        "not the mean of exp.");
  if (!differs(of_two, 3.2))
    wrong(
        "for a word of probability 1/2 and one of 1/8 that is 3.2, one over the mean probability; it should be 4: the "
        "mean is taken of the logarithms.");
  if (differs(of_dice, 6)) wrong("for five throws of a die that is {:.4g}; it should be 6.", of_dice);
  if (differs(of_two, 4))
    wrong("for words of probability 1/2 and 1/8 that is {:.4g}; it should be 4.", of_two);
}

inline void check_curves(const Curves& curves, const GrammarCorpus& source) {
  const Corpus& corpus = source.corpus;
  fmt::print("{:<16} {:>9} {:>9} {:>9}\n", "words counted", "unigram", "bigram", "trigram");
  Chart chart{.title = "Counting does not reach the floor",
              .description = "The more words are counted the better, but trigrams stay far above the floor",
              .x_name = "words counted, thousands",
              .y_name = "perplexity",
              .logarithmic = true,
              .levels = {{.name = "the source's own", .y = curves.floor}}};
  for (const char* name : {"unigram", "bigram", "trigram"})
    chart.series.push_back({.name = name, .points = true});
  for (size_t k = 0; k < curves.of_order.at(1).size(); ++k) {
    fmt::print("{:<16}", curves.of_order.at(1)[k].words);
    for (const auto& [order, points] : curves.of_order) {
      fmt::print(" {:9.2f}", points[k].perplexity);
      auto& series = chart.series[static_cast<size_t>(order - 1)];
      series.x.push_back(static_cast<double>(points[k].words) / 1000),
          series.y.push_back(points[k].perplexity);
    }
    fmt::print("\n");
  }
  fmt::print("the source's own {:28.2f}\n", curves.floor);
  draw(chart);
  const double unigram = curves.of_order.at(1).back().perplexity,
               trigram = curves.of_order.at(3).back().perplexity;
  const NgramModel counts(3, std::span(corpus.train).first(300'000), corpus.vocabulary.size(),
                          corpus.vocabulary.eos());
  const double library = counts.perplexity(corpus.valid);
  if (!(std::abs(trigram - library) < 1e-6 * library))
    wrong("of triples that is {:.3f}; the library has {:.3f}.", trigram, library);
  if (!(curves.floor < trigram && trigram < unigram))
    wrong("unigrams should be above trigrams, and both above the source: {:.2f}, {:.2f}, {:.2f}.", unigram,
          trigram, curves.floor);
  right(
      "single words {:.2f}, triples {:.2f}, the source itself {:.2f}: nothing that only counts triples comes near it.",
      unigram, trigram, curves.floor);
}

}  // namespace lessons

using namespace lessons;
