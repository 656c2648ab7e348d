// Lesson 5: the forget bias. The page to read: examples/lessons/05-forget-bias/README.md
#include "examples/lessons/05-forget-bias/check.h"

// The bias of an LSTM layer, [4*units], has those of its gates one after the other: all of i, then f, g and o.
void add_to_forget_bias(const Tensor& bias, int units, float amount) {
  const auto values = bias.on_host(Access::change);
  // ---- your part: add the amount to the biases of the forget gates, and to no others
  for (int k = 0; k < 0; ++k) values[k] += amount;
  // ---- end of your part
}

// The perplexity, on new text, of a small language model that has read 40,000 words; less is better.
double after_some_text(const GrammarCorpus& source, float forget_bias, uint64_t seed) {
  const Corpus& corpus = source.corpus;
  LanguageModel model(seed, CellKind::lstm, corpus.vocabulary.size(), 48, 48);
  add_to_forget_bias(model.params.at("layer.bias_l0").var().value(), 48, forget_bias);
  train(model, corpus.train);
  return perplexity(model, corpus.valid, corpus.vocabulary.eos());
}

void lesson() {
  check_bias(add_to_forget_bias);
  const GrammarCorpus source = generate_grammar_corpus(1, {.train = 40'000, .valid = 5'000});
  Results results;
  for (const float forget_bias : {-2.0f, 0.0f, 1.0f, 3.0f})
    for (const uint64_t seed : {1, 2, 3})
      results[forget_bias].push_back(after_some_text(source, forget_bias, seed));
  check_order(results);
}
