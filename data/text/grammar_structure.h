// The structure of the built-in grammar's sentences: which noun is a verb's subject, how deep a word is nested, and
// which words may come next with which probability.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/text/grammar.h"

namespace unroll {

// A word with what its derivation says about it.
struct AnnotatedWord {
  std::string_view word;
  int symbol = 0;  // what it was derived from: "noun.animal.sg", "verb.animal.food.pl"
  int subject =
      -1;         // of a verb that agrees with one (is, chases): the place of its head noun in the sentence
  int depth = 0;  // relative clauses that it is in
  bool in_pair = false;  // between "either" and "or", or "if" and "then"
};
// A sentence drawn as Grammar::sample draws it, with the same random numbers.
std::vector<AnnotatedWord> sample_annotated(const Grammar& grammar, RandomStream& random);

// "sg", "pl", or empty if the symbol has no number. "noun.animal.sg" is a noun.
std::string_view number_of(const Grammar& grammar, int symbol);
bool is_noun(const Grammar& grammar, int symbol);  // "noun.animal.sg" is one

// The form of the other number, from the same place of the grammar's table: "chase" for "chases", "are" for "is".
// None if the word's symbol has no number.
std::optional<std::string_view> other_number(const Grammar& grammar, const AnnotatedWord& word);

// Reads a sentence of the grammar word by word and computes the exact probability of each word that may follow. It
// keeps the derivations that are still open: a stack of symbols to be rewritten, and the probability of the words read.
// Ambiguous grammars work, too.
class GrammarPrefix {
 public:
  explicit GrammarPrefix(const Grammar& grammar = Grammar::built_in());

  // The words that may follow and their probabilities, likeliest first; equals stand in the table's order.
  // Vocabulary::end_of_sentence is one of them. Empty after a word that the grammar does not allow.
  std::vector<std::pair<std::string_view, double>> next() const;
  double probability(
      std::string_view word) const;  // of the word given what was read; 0: the grammar does not allow it
  // Reads the next word. The end of a sentence begins a new one.
  void read(std::string_view word);

 private:
  using Stack = std::vector<int>;  // what is to be rewritten next comes last; empty: the sentence ends
  using Stacks = std::map<Stack, double>;  // those whose top is a word, and the empty one
  void add(Stack stack, double probability, Stacks& to) const;
  void begin();
  const Grammar* grammar_;
  Stacks open_;
};

}  // namespace unroll
