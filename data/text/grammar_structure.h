// What the built-in grammar knows of a sentence besides its words: which noun is a verb's subject, how deep a word is nested, and
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

// "sg", "pl", or empty where the symbol has no number. "noun.animal.sg" is a noun.
std::string_view number_of(const Grammar& grammar, int symbol);
bool is_noun(const Grammar& grammar, int symbol);

// The word of the other number in the place of this one, in the order of the grammar's table: "chase" of "chases", "are" of "is".
// None where its symbol has no number.
std::optional<std::string_view> other_number(const Grammar& grammar, const AnnotatedWord& word);

// Reads a sentence of the grammar word by word and knows the exact probability of each word that may follow: the derivations that
// are still open, each a stack of symbols to be rewritten, with the probability of all that was read. A grammar that derives a
// sentence in many ways is served as well.
class GrammarPrefix {
 public:
  explicit GrammarPrefix(const Grammar& grammar = Grammar::built_in());

  // Words and their probabilities given what was read, likeliest first, of equals the first of the table.
  // Vocabulary::end_of_sentence is one of them. Empty after a word that the grammar does not allow there.
  std::vector<std::pair<std::string_view, double>> next() const;
  double probability(
      std::string_view word) const;  // of the word given what was read; 0: the grammar does not allow it
  // Goes on behind the word; after the end of the sentence with the next one.
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
