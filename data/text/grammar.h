// The built-in corpus: English-like sentences drawn from a probabilistic grammar whose probabilities are
// known.
//
// The grammar (its table: grammar_table.h) derives every sentence in one way only and nests to a fixed depth. So
// the probability of a sentence is a finite product, and the perplexity of a text under its own source can be
// computed. No model beats this floor in expectation. Late words of a sentence depend on early ones (number and kind
// of the subject across relative clauses, the objects of a verb, `either` and `or`), which short contexts do not
// show.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/corpus.h"
#include "framework/random.h"

namespace unroll {

class Grammar {
 public:
  // One way to rewrite a symbol. Symbols are numbered; one that no rule rewrites is a word.
  struct Rule {
    int left;                // the symbol
    double probability;      // of this rule among those of `left`
    std::vector<int> right;  // symbols in its place
  };
  // As drawn.
  struct Sentence {
    std::vector<std::string_view> words;  // without `<eos>`; the text belongs to the grammar
    double log_probability;               // of the derivation drawn
  };

  // The table in grammar_table.h.
  static const Grammar& built_in();

  static constexpr int start = 0;                                  // the symbol of a sentence
  int symbols() const { return static_cast<int>(names_.size()); }  // how many there are
  const std::string& name(int symbol) const& { return names_[static_cast<std::size_t>(symbol)]; }
  std::string name(int symbol) const&& { return names_[static_cast<std::size_t>(symbol)]; }
  bool is_word(int symbol) const { return rules_of(symbol).empty(); }  // no rule rewrites it
  // The ways to rewrite a symbol; empty if it is a word.
  std::span<const Rule> rules_of(int symbol) const& { return rules_[static_cast<std::size_t>(symbol)]; }
  std::span<const Rule> rules_of(int symbol) const&& = delete;
  std::optional<int> symbol(std::string_view name) const;  // its number, if there is one

  Sentence sample(RandomStream& random) const;  // draws one

  // log P of a sentence, given without `<eos>` (which follows with certainty). None if the grammar does not
  // derive it.
  std::optional<double> log_probability(std::span<const std::string_view> words) const;
  // As above, for words separated by blanks.
  std::optional<double> log_probability(std::string_view sentence) const;
  // exp(-Σ log P(sentence) / tokens), where each `<eos>` counts as a token. Throws InputError, with the sentence's
  // number, if one does not parse or the last one does not end with `<eos>`, and if there is none.
  double perplexity(std::span<const int32_t> tokens, const Vocabulary& vocabulary) const;

 private:
  Grammar();
  int intern(const std::string& name);
  std::vector<std::string> names_;
  std::vector<std::vector<Rule>> rules_;  // by symbol
  Vocabulary numbers_;                    // name to symbol
};

// Tokens of train, valid, test, `<eos>` counted; each ends with the sentence that reaches its size.
struct GrammarSizes {
  int64_t train = 1'000'000;
  int64_t valid = 10'000;
  int64_t test = 10'000;
  int64_t limit = 0;  // of each, those that are kept, from its beginning; the vocabulary is of all. 0: all
};

// Text drawn from the grammar, and the perplexity of its own source.
struct GrammarCorpus {
  Corpus corpus;                                                                    // the three splits
  double source_train_perplexity, source_valid_perplexity, source_test_perplexity;  // exact
};

// Draws sentences independently. Each split has random numbers of its own, so the size of one does not change
// another. Throws InputError if a size is below 1 or if the training split is too small to contain all words of
// the others.
GrammarCorpus generate_grammar_corpus(uint64_t seed = 1, const GrammarSizes& sizes = {});

}  // namespace unroll
