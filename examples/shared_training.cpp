// A training that several processes share, in one screen:
//
//   mpirun -n 4 shared_training
//
// Alone it computes the four shards of each step one after the other; with 2 or 4 processes each computes its own. The weights
// end in the same bits.
#include <cstdio>

#include "data/text/grammar.h"
#include "training/files/gradient_statistics.h"
#include "unroll.h"

using namespace unroll;

int main() {
  const ProcessGroup group;  // joins the processes that mpirun started
  set_threads(1);
  const Corpus corpus = generate_grammar_corpus(1, {.train = 30'000, .valid = 10}).corpus;
  constexpr int streams = 10, width = 24;  // of 4 shards two have three streams, and two have two

  ParameterSet params;
  const Embedding embed(params / "embed", {.vocab = corpus.vocabulary.size(), .dim = width});
  const Lstm lstm(params / "lstm", {.input = width, .hidden = width, .layers = 2, .dropout = 0.1f});
  const Dense decoder(params / "decoder", {.in = width, .out = corpus.vocabulary.size()});
  Adam adam(params, {.learning_rate = 0.01});

  BpttWindows windows(corpus.train, {.batch = streams, .steps = 20});
  RecurrentState state = lstm.zero_state(streams);
  RecurrentVars next;
  int begin = 0;  // of the streams of the present shard

  Trainer trainer(adam, {.epochs = 2, .clip = 1, .shards = 4, .perplexity = true});
  trainer.run({.windows = windows.count(),
               .begin_epoch = [&](int) { state.reset(); },
               .shard_loss =
                   [&](int64_t k, const Shard& shard) {
                     begin = shard.begin(streams);
                     const int end = shard.end(streams);
                     const Window window = windows.at(k, begin, end);
                     const auto out = lstm(embed(window.input), state.rows(begin, end));
                     next = out.state;
                     const Var loss = softmax_cross_entropy(decoder, out.y, window.target);
                     WindowLoss of_shard = mean_loss(loss, window.target.size());
                     of_shard.share = double(end - begin) / streams;
                     return of_shard;
                   },
               .carry = [&] { state.set_rows(begin, next); },
               .carried = {{"h", state.h}, {"c", state.c}}});
  if (is_first_process()) std::printf("fingerprint of the weights: %s\n", fingerprint_of(params).c_str());
}
