// Lesson 7: perplexity. The page to read: examples/lessons/07-perplexity/README.md
#include "examples/lessons/07-perplexity/check.h"

// Perplexity of a text, from the nats of its words: nats[t] = -log P(word t, given those before it).
double perplexity_of(const std::vector<double>& nats) {
  double sum = 0;
  for (const double of_word : nats) sum += of_word;
  // ---- your part: the perplexity
  return 0;
  // ---- end of your part
}

// The nats of a text's words by counting: how often followed this word those before it in the text that was counted?
std::vector<double> by_counting(const NgramModel& counts, const std::vector<int32_t>& text) {
  std::vector<double> nats;
  for (size_t t = 0; t < text.size(); ++t)
    nats.push_back(-std::log(counts.probability(std::span(text).first(t), text[t])));
  return nats;
}

void lesson() {
  check_perplexity(perplexity_of);
  const GrammarCorpus source = generate_grammar_corpus(1, {.train = 300'000, .valid = 5'000, .test = 5'000});
  const Corpus& corpus = source.corpus;
  Curves curves{.floor = source.source_valid_perplexity};
  for (const size_t words : {10'000, 30'000, 100'000, 300'000})
    for (const int order : {1, 2, 3}) {
      const NgramModel counts(order, std::span(corpus.train).first(words), corpus.vocabulary.size(),
                              corpus.vocabulary.eos());
      curves.of_order[order].push_back({words, perplexity_of(by_counting(counts, corpus.valid))});
    }
  check_curves(curves, source);
}
