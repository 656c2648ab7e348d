#include "data/text/grammar_structure.h"

#include <algorithm>
#include <cmath>

#include "data/text/vocabulary.h"
#include "framework/check.h"

namespace unroll {

namespace {

std::string_view kind_of(const Grammar& grammar, int symbol) {
  const std::string_view name = grammar.name(symbol);
  return name.substr(0, name == "." ? name.size() : name.find('.'));
}

// Rewrites symbols from left to right, as Grammar::sample does, and remembers where each stands.
class Annotator {
 public:
  Annotator(const Grammar& grammar, RandomStream& random) : grammar_(grammar), random_(random) {}

  // Derives `symbol`. Returns the place of a noun phrase's head, -1 if there is none. `subject`: the place of the noun
  // that the verbs in it agree with, -1 for none.
  int derive(int symbol, int subject, int depth, bool in_pair) {
    const std::span<const Grammar::Rule> rules = grammar_.rules_of(symbol);
    double left = random_.uniform();
    std::size_t drawn = 0;
    while (drawn + 1 < rules.size() && left >= rules[drawn].probability) left -= rules[drawn++].probability;
    const std::string_view kind = kind_of(grammar_, symbol);
    const bool takes_subject = kind == "clause" || kind == "rc";  // its verb follows its noun phrase
    const int inside = depth + (kind == "rc");
    bool pair = in_pair;
    int head = -1;
    for (const int part : rules[drawn].right) {
      if (grammar_.is_word(part)) {
        const std::string_view word = grammar_.name(part);
        if (word == "or" || word == "then") pair = in_pair;
        const bool agrees = kind == "verb" || kind == "be";
        if (is_noun(grammar_, symbol)) head = static_cast<int>(words.size());
        words.push_back({word, symbol, agrees ? subject : -1, inside, pair});
        if (word == "either" || word == "if") pair = true;
        continue;
      }
      const std::string_view of_part = kind_of(grammar_, part);
      const int found = derive(part, subject, inside, pair);
      if (of_part == "np" && takes_subject) subject = found;
      // A noun phrase's first noun is its head, and the subject of a relative clause that begins with its verb.
      if (found >= 0 && head < 0 && (of_part == "core" || of_part == "noun")) head = found;
      if (kind == "np" && of_part == "core") subject = head;
    }
    return head;
  }

  std::vector<AnnotatedWord> words;

 private:
  const Grammar& grammar_;
  RandomStream& random_;
};

}  // namespace

std::vector<AnnotatedWord> sample_annotated(const Grammar& grammar, RandomStream& random) {
  Annotator annotator(grammar, random);
  annotator.derive(Grammar::start, -1, 0, false);
  return std::move(annotator.words);
}

std::string_view number_of(const Grammar& grammar, int symbol) {
  const std::string_view name = grammar.name(symbol);
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return last == "sg" || last == "pl" ? last : std::string_view();
}

bool is_noun(const Grammar& grammar, int symbol) { return kind_of(grammar, symbol) == "noun"; }

std::optional<std::string_view> other_number(const Grammar& grammar, const AnnotatedWord& word) {
  const std::string_view number = number_of(grammar, word.symbol);
  if (number.empty()) return {};
  std::string name = grammar.name(word.symbol);
  name.replace(name.size() - 2, 2, number == "sg" ? "pl" : "sg");
  const auto other = grammar.symbol(name);
  if (!other) return {};
  const auto ours = grammar.rules_of(word.symbol), theirs = grammar.rules_of(*other);
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i)
    if (grammar.name(ours[i].right.front()) == word.word) return grammar.name(theirs[i].right.front());
  return {};
}

// --- what may come next -----------------------------------------------------------------------------------------

GrammarPrefix::GrammarPrefix(const Grammar& grammar) : grammar_(&grammar) { begin(); }

void GrammarPrefix::begin() {
  open_.clear();
  add({Grammar::start}, 1, open_);
}

void GrammarPrefix::add(Stack stack, double probability, Stacks& to) const {
  if (stack.empty() || grammar_->is_word(stack.back())) {
    to[std::move(stack)] += probability;
    return;
  }
  const int symbol = stack.back();
  stack.pop_back();
  for (const Grammar::Rule& rule : grammar_->rules_of(symbol)) {
    Stack longer = stack;
    longer.insert(longer.end(), rule.right.rbegin(), rule.right.rend());
    add(std::move(longer), probability * rule.probability, to);
  }
}

std::vector<std::pair<std::string_view, double>> GrammarPrefix::next() const {
  std::map<int, double> of_word;  // the end of the sentence is -1
  double all = 0;
  for (const auto& [stack, probability] : open_) {
    of_word[stack.empty() ? -1 : stack.back()] += probability;
    all += probability;
  }
  std::vector<std::pair<std::string_view, double>> result;
  for (const auto& [word, probability] : of_word)
    result.emplace_back(word < 0 ? Vocabulary::end_of_sentence : std::string_view(grammar_->name(word)),
                        probability / all);
  std::ranges::stable_sort(result, [](const auto& a, const auto& b) { return a.second > b.second; });
  return result;
}

double GrammarPrefix::probability(std::string_view word) const {
  for (const auto& [name, probability] : next())
    if (name == word) return probability;
  return 0;
}

void GrammarPrefix::read(std::string_view word) {
  if (word == Vocabulary::end_of_sentence) return begin();
  Stacks rest;
  for (const auto& [stack, probability] : open_) {
    if (stack.empty() || grammar_->name(stack.back()) != word) continue;
    add(Stack(stack.begin(), stack.end() - 1), probability, rest);
  }
  // The probabilities grow small in a long sentence; only their ratios count.
  double all = 0;
  for (const auto& [stack, probability] : rest) all += probability;
  for (auto& [stack, probability] : rest) probability /= all;
  open_ = std::move(rest);
}

}  // namespace unroll
