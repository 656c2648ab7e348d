#include "data/text/grammar.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "data/text/grammar_table.h"
#include "framework/check.h"

namespace unroll {

using namespace grammar_table;

namespace {

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (begin < end) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

using Binding = std::map<std::string, std::string>;  // variable to value

constexpr std::array<const char*, 6> variables = {"n", "m", "c", "k", "o", "s"};

// "np.c.n.2" -> "np.food.sg.2". A full stop is a word, not a separator.
std::string substitute(const std::string& symbol, const Binding& binding) {
  if (symbol == ".") return symbol;
  std::string result;
  for (const std::string& part : split_at(symbol, '.')) {
    const auto it = binding.find(part);
    result += (result.empty() ? "" : ".") + (it == binding.end() ? part : it->second);
  }
  return result;
}

bool mentions(std::string_view symbols, const std::string& variable) {
  for (const std::string& symbol : split_at(symbols, ' ')) {
    const auto parts = split_at(symbol, '.');
    if (parts.size() > 1 && std::find(parts.begin() + 1, parts.end(), variable) != parts.end()) return true;
  }
  return false;
}

// The values of a variable, with their probabilities given what is bound already.
std::vector<std::pair<std::string, double>> values_of(const std::string& variable, const Binding& binding) {
  std::vector<std::pair<std::string, double>> values;
  if (variable == "n" || variable == "m") {
    for (const auto& [value, probability] : numbers) values.emplace_back(value, probability);
  } else if (variable == "c" || variable == "k") {
    for (const auto& [value, probability] : kinds) values.emplace_back(value, probability);
  } else {
    double sum = 0;
    for (const VerbsBetween& verbs : verbs_between) {
      if (binding.at("c") != (variable == "o" ? verbs.subject : verbs.object)) continue;
      double weight = verbs.share;
      for (const auto& [kind, probability] : kinds) {
        if (variable == "s" && kind == std::string_view(verbs.subject)) weight *= probability;
      }
      values.emplace_back(variable == "o" ? verbs.object : verbs.subject, weight);
      sum += weight;
    }
    for (auto& value : values) value.second /= sum;
  }
  return values;
}

// Calls rule(left, probability, right) for every way to fill in the variables of a template.
template <class F>
void expand(const Template& pattern, std::size_t next, Binding& binding, double probability, F& rule) {
  while (next < variables.size() && !mentions(pattern.left, variables[next]) &&
         !mentions(pattern.right, variables[next]))
    ++next;
  if (next == variables.size()) {
    std::vector<std::string> right;
    for (const std::string& symbol : split_at(pattern.right, ' '))
      right.push_back(substitute(symbol, binding));
    rule(substitute(pattern.left, binding), probability, right);
    return;
  }
  const std::string variable = variables[next];
  const bool drawn = !mentions(pattern.left, variable);
  for (const auto& [value, share] : values_of(variable, binding)) {
    binding[variable] = value;
    expand(pattern, next + 1, binding, drawn ? probability * share : probability, rule);
  }
  binding.erase(variable);
}

// --- parsing -----------------------------------------------------------------------------------------------

// A span that one symbol can derive from a given position: its end, and the sum of its derivations'
// probabilities.
struct Derivation {
  std::size_t end;
  double probability;
};

// The inside algorithm from the top, each (symbol, position) once. It ends because the grammar nests to a fixed
// depth.
class Inside {
 public:
  Inside(const Grammar& grammar, std::vector<int> words)
      : grammar_(grammar),
        words_(std::move(words)),
        known_(static_cast<std::size_t>(grammar.symbols()) * (words_.size() + 1)) {}

  const std::vector<Derivation>& spans(int symbol, std::size_t begin) {
    auto& known = known_[static_cast<std::size_t>(symbol) * (words_.size() + 1) + begin];
    if (known) return *known;
    std::vector<Derivation> found;
    if (grammar_.is_word(symbol)) {
      if (begin < words_.size() && words_[begin] == symbol) found.push_back({begin + 1, 1.0});
    } else {
      for (const Grammar::Rule& rule : grammar_.rules_of(symbol))
        follow(rule.right, begin, rule.probability, found);
    }
    return known.emplace(std::move(found));
  }

 private:
  void follow(std::span<const int> right, std::size_t begin, double probability,
              std::vector<Derivation>& found) {
    if (right.empty()) {
      const auto same =
          std::find_if(found.begin(), found.end(), [&](const Derivation& span) { return span.end == begin; });
      if (same == found.end()) {
        found.push_back({begin, probability});
      } else {
        same->probability += probability;
      }
      return;
    }
    const std::vector<Derivation>& spans_of_first = spans(right.front(), begin);
    for (const Derivation& span : spans_of_first)
      follow(right.subspan(1), span.end, probability * span.probability, found);
  }

  const Grammar& grammar_;
  std::vector<int> words_;
  std::vector<std::optional<std::vector<Derivation>>> known_;
};

}  // namespace

int Grammar::intern(const std::string& name) {
  const int id = numbers_.add(name);
  if (id == static_cast<int>(names_.size())) {
    names_.push_back(name);
    rules_.emplace_back();
  }
  return id;
}

Grammar::Grammar() {
  auto add = [this](const std::string& left, double probability, const std::vector<std::string>& right) {
    Rule rule{intern(left), probability, {}};
    for (const std::string& symbol : right) rule.right.push_back(intern(symbol));
    rules_[static_cast<std::size_t>(rule.left)].push_back(std::move(rule));
  };
  const auto add_words = [&](const std::string& symbol, std::string_view list) {
    const std::vector<std::string> words = split_at(list, ' ');
    double sum = 0;
    for (std::size_t r = 1; r <= words.size(); ++r) sum += 1.0 / static_cast<double>(r + 1);
    for (std::size_t r = 1; r <= words.size(); ++r)
      add(symbol, 1.0 / static_cast<double>(r + 1) / sum, {words[r - 1]});
  };
  for (const Template& pattern : templates) {
    Binding binding;
    expand(pattern, 0, binding, pattern.probability, add);
  }
  for (const auto& [symbol, words] : lexicon) add_words(symbol, words);
  for (const VerbsBetween& verbs : verbs_between) {
    add_words(fmt::format("verb.{}.{}.sg", verbs.subject, verbs.object), verbs.singular);
    add_words(fmt::format("verb.{}.{}.pl", verbs.subject, verbs.object), verbs.plural);
  }
}

const Grammar& Grammar::built_in() {
  static const Grammar grammar;
  return grammar;
}

std::optional<int> Grammar::symbol(std::string_view name) const { return numbers_.find(name); }

Grammar::Sentence Grammar::sample(RandomStream& random) const {
  Sentence sentence{{}, 0};
  std::vector<int> open = {start};  // still to be rewritten, the next one last
  while (!open.empty()) {
    const int symbol = open.back();
    open.pop_back();
    if (is_word(symbol)) {
      sentence.words.push_back(name(symbol));
      continue;
    }
    const std::span<const Rule> rules = rules_of(symbol);
    double left = random.uniform();
    std::size_t drawn = 0;
    while (drawn + 1 < rules.size() && left >= rules[drawn].probability) left -= rules[drawn++].probability;
    sentence.log_probability += std::log(rules[drawn].probability);
    open.insert(open.end(), rules[drawn].right.rbegin(), rules[drawn].right.rend());
  }
  return sentence;
}

std::optional<double> Grammar::log_probability(std::span<const std::string_view> words) const {
  std::vector<int> symbols;
  symbols.reserve(words.size());
  for (const std::string_view word : words) {
    const auto found = symbol(word);
    if (!found || !is_word(*found)) return std::nullopt;
    symbols.push_back(*found);
  }
  Inside inside(*this, std::move(symbols));
  for (const Derivation& span : inside.spans(start, 0)) {
    if (span.end == words.size()) return std::log(span.probability);
  }
  return std::nullopt;
}

std::optional<double> Grammar::log_probability(std::string_view sentence) const {
  const std::vector<std::string> parts = split_at(sentence, ' ');
  return log_probability(std::vector<std::string_view>(parts.begin(), parts.end()));
}

double Grammar::perplexity(std::span<const int32_t> tokens, const Vocabulary& vocabulary) const {
  double log_sum = 0;
  int64_t sentences = 0;
  std::vector<std::string_view> sentence;
  for (const int32_t id : tokens) {
    const std::string& word = vocabulary.word(id);
    if (word != Vocabulary::end_of_sentence) {
      sentence.push_back(word);
      continue;
    }
    ++sentences;
    const auto log_p = log_probability(sentence);
    require_input(log_p.has_value(), "the built-in grammar does not derive sentence {}: '{}'", sentences,
                  fmt::join(sentence, " "));
    log_sum += *log_p;
    sentence.clear();
  }
  require_input(sentences > 0 && sentence.empty(), "sentence {} is not ended by {}", sentences + 1,
                Vocabulary::end_of_sentence);
  return std::exp(-log_sum / static_cast<double>(tokens.size()));
}

GrammarCorpus generate_grammar_corpus(uint64_t seed, const GrammarSizes& sizes) {
  const Grammar& grammar = Grammar::built_in();
  GrammarCorpus result{};
  Corpus& corpus = result.corpus;
  const auto fill = [&](Split split, int64_t size, std::vector<int32_t>& tokens) {
    require_input(size >= 1, "built-in corpus: a {} split of {} tokens", name(split), size);
    RandomStream random(seed, fmt::format("grammar/{}", name(split)));
    double log_sum = 0;
    int64_t drawn = 0;
    const auto id_of = [&](std::string_view word) {
      if (split == Split::train) return corpus.vocabulary.add(word);
      const auto id = corpus.vocabulary.find(word);
      require_input(
          id.has_value(),
          "built-in corpus: '{}' of the {} split is not among the {} training tokens; ask for more of them",
          word, name(split), sizes.train);
      return *id;
    };
    while (drawn < size) {
      Grammar::Sentence sentence = grammar.sample(random);
      sentence.words.push_back(Vocabulary::end_of_sentence);
      const bool kept = sizes.limit == 0 || std::ssize(tokens) < sizes.limit;
      for (const std::string_view word : sentence.words)
        if (const int32_t id = id_of(word); kept) tokens.push_back(id);
      if (kept) log_sum += sentence.log_probability;
      drawn += std::ssize(sentence.words);
    }
    return std::exp(-log_sum / static_cast<double>(tokens.size()));
  };
  result.source_train_perplexity = fill(Split::train, sizes.train, corpus.train);
  result.source_valid_perplexity = fill(Split::valid, sizes.valid, corpus.valid);
  result.source_test_perplexity = fill(Split::test, sizes.test, corpus.test);
  return result;
}

}  // namespace unroll
