// Lesson 9: three cells with as many parameters. The page to read: examples/lessons/09-three-cells/README.md
#include "examples/lessons/09-three-cells/check.h"

constexpr int width = 48;  // of the embedding: what comes in at each step

// How many numbers a recurrent layer learns: all entries of its W, U and b.
int parameters_of_layer(CellKind cell, int units) {
  const int gates = facts_of(cell).gates;               // 4 in an LSTM, 3 in a GRU, 1 in a plain net
  const int extra = cell == CellKind::gru ? units : 0;  // a GRU has one bias more, of its candidate
  // ---- your part: W is [gates*units, width], U is [gates*units, units], b is [gates*units]
  return 0;
  // ---- end of your part
}

// The whole model: an embedding, the layer, and a decoder from the units to the words.
int parameters(CellKind cell, int units, int words) {
  return words * width + parameters_of_layer(cell, units) + words * (units + 1);
}

// The widest layer that has no more parameters than allowed.
int units_for(CellKind cell, int allowed, int words) {
  int units = 1;
  while (parameters(cell, units + 1, words) <= allowed) ++units;
  return units;
}

void lesson() {
  check_count(parameters_of_layer, width);
  const GrammarCorpus source = generate_grammar_corpus(1, {.train = 40'000, .valid = 5'000});
  const Corpus& corpus = source.corpus;
  const int words = corpus.vocabulary.size(), allowed = parameters(CellKind::lstm, 48, words);
  std::vector<Row> table;
  for (const CellKind cell : {CellKind::rnn, CellKind::lstm, CellKind::gru}) {
    Row row{.cell = cell, .units = units_for(cell, allowed, words)};
    for (const uint64_t seed : {1, 2, 3}) {
      LanguageModel model(seed, cell, words, width, row.units);
      row.parameters = model.params.count();
      train(model, corpus.train);
      row.perplexities.push_back(perplexity(model, corpus.valid, corpus.vocabulary.eos()));
    }
    table.push_back(row);
  }
  check_order(table, source.source_valid_perplexity);
}
