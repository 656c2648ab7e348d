// A language model in one screen: it reads words and predicts the next one. The text is drawn from the built-in grammar,
// whose own perplexity is known; no model can expect to be below it.
#include <cmath>
#include <cstdio>

#include "data/text/grammar.h"
#include "unroll.h"

using namespace unroll;

struct LanguageModel {
  int vocab, width;
  ParameterSet params{};  // first: the layers register in it
  Embedding embed{params / "embed", {.vocab = vocab, .dim = width}};
  Lstm lstm{params / "lstm", {.input = width, .hidden = width, .layers = 2}};
  Dense out{params / "out", {.in = width, .out = vocab}};
};

void train(LanguageModel& model, const std::vector<int32_t>& words) {
  Adam adam(model.params, {.learning_rate = 1e-2});
  RecurrentState state = model.lstm.zero_state(10);
  for (const auto& [input, target] : BpttWindows(words, {.batch = 10, .steps = 20})) {
    Tape tape;  // while it lives, everything is recorded
    const auto [y, next] = model.lstm(model.embed(input), state);
    tape.backward(softmax_cross_entropy(model.out, y, target));
    adam.step({.max_norm = 5});  // clips, updates, forgets the gradients
    state = next;                // copies the values: gradients stop at the window's edge
  }
}

// exp of the mean loss. There is no tape, so nothing is recorded and nothing dropped.
double perplexity(const LanguageModel& model, const std::vector<int32_t>& words, int32_t eos) {
  RecurrentState state = model.lstm.zero_state(1);
  double sum = 0;
  for (const auto& [input, target] : evaluation_windows(words, eos, {.batch = 1, .steps = 100})) {
    const auto [y, next] = model.lstm(model.embed(input), state);
    sum += double(softmax_cross_entropy(model.out, y, target).item()) * target.dim(0);
    state = next;
  }
  return std::exp(sum / double(words.size()));
}

int main() {
  const GrammarCorpus source = generate_grammar_corpus(1, {.train = 400'000, .valid = 5'000});
  const Corpus& corpus = source.corpus;
  LanguageModel model{corpus.vocabulary.size(), 64};
  train(model, corpus.train);
  const double valid = perplexity(model, corpus.valid, corpus.vocabulary.id("<eos>"));
  std::printf("validation perplexity %.1f; the best possible is %.1f\n", valid,
              source.source_valid_perplexity);
  return valid < 1.7 * source.source_valid_perplexity ? 0 : 1;
}
