// The built-in corpus: its grammar is proper, unambiguous and bounded, its probabilities are exact, and it
// needs context.
#include "data/text/grammar.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "data/text/ngram.h"
#include "tests/support.h"

using namespace unroll;

namespace {

// The result of either of two independent readings of the rules, for one sentence.
struct Chart {
  double probability = 0;  // summed over derivations
  int64_t derivations = 0;
};

// The textbook's way, bottom up and without any knowledge of this grammar. Binarises the rules. Then for each span,
// by length, adds up every split by every rule. Chains of single symbols are closed by walking symbols from the
// leaves of the rules up.
class BottomUp {
 public:
  explicit BottomUp(const Grammar& grammar) : grammar_(grammar), symbols_(grammar.symbols()) {
    for (int left = 0; left < grammar.symbols(); ++left) {
      for (const Grammar::Rule& rule : grammar.rules_of(left)) {
        int rest = left;  // left -> a (left2 -> b (left3 -> c d))
        double probability = rule.probability;
        std::size_t i = 0;
        for (; i + 2 < rule.right.size(); ++i, probability = 1) {
          pairs_.push_back({rest, rule.right[i], symbols_, probability});
          rest = symbols_++;
        }
        if (rule.right.size() - i == 1) {
          singles_.push_back({rest, rule.right[i], -1, probability});
        } else {
          pairs_.push_back({rest, rule.right[i], rule.right[i + 1], probability});
        }
      }
    }
    // A chain's lower symbol must be complete before the upper one: sort by the longest chain below.
    std::vector<int> height(static_cast<std::size_t>(symbols_), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (const Production& p : singles_) {
        const int needed = height[static_cast<std::size_t>(p.first)] + 1;
        if (height[static_cast<std::size_t>(p.left)] < needed)
          height[static_cast<std::size_t>(p.left)] = needed, changed = true;
      }
    }
    std::sort(singles_.begin(), singles_.end(), [&](const Production& a, const Production& b) {
      return height[static_cast<std::size_t>(a.left)] < height[static_cast<std::size_t>(b.left)];
    });
  }

  Chart read(const std::vector<std::string_view>& words) const {
    const std::size_t n = words.size();
    std::vector<std::map<int, Chart>> cells((n + 1) * (n + 1));
    const auto cell = [&](std::size_t i, std::size_t j) -> std::map<int, Chart>& {
      return cells[i * (n + 1) + j];
    };
    for (std::size_t length = 1; length <= n; ++length) {
      for (std::size_t i = 0; i + length <= n; ++i) {
        auto& here = cell(i, i + length);
        if (length == 1) here[grammar_.symbol(words[i]).value()] = {1, 1};
        for (std::size_t middle = i + 1; middle < i + length; ++middle) {
          const auto &left = cell(i, middle), &right = cell(middle, i + length);
          if (left.empty() || right.empty()) continue;
          for (const Production& p : pairs_) {
            const auto a = left.find(p.first);
            if (a == left.end()) continue;
            const auto b = right.find(p.second);
            if (b == right.end()) continue;
            add(here[p.left], p.probability * a->second.probability * b->second.probability,
                a->second.derivations * b->second.derivations);
          }
        }
        for (const Production& p : singles_) {
          if (const auto a = here.find(p.first); a != here.end())
            add(here[p.left], p.probability * a->second.probability, a->second.derivations);
        }
      }
    }
    const auto whole = cell(0, n).find(Grammar::start);
    return whole == cell(0, n).end() ? Chart{} : whole->second;
  }

 private:
  struct Production {
    int left, first, second;
    double probability;
  };
  static void add(Chart& chart, double probability, int64_t derivations) {
    chart.probability += probability;
    chart.derivations += derivations;
  }
  const Grammar& grammar_;
  int symbols_;
  std::vector<Production> pairs_, singles_;
};

}  // namespace

TEST_CASE("the grammar's rules are probabilities, and every symbol is reached") {
  const Grammar& grammar = Grammar::built_in();
  CHECK(grammar.name(Grammar::start) == "sentence");
  std::vector<bool> reached(static_cast<std::size_t>(grammar.symbols()), false);
  std::vector<int> open = {Grammar::start};
  reached[Grammar::start] = true;
  while (!open.empty()) {
    const int symbol = open.back();
    open.pop_back();
    for (const Grammar::Rule& rule : grammar.rules_of(symbol)) {
      CHECK_FALSE(rule.right.empty());
      for (const int next : rule.right) {
        if (!reached[static_cast<std::size_t>(next)]) open.push_back(next);
        reached[static_cast<std::size_t>(next)] = true;
      }
    }
  }
  int words = 0;
  for (int symbol = 0; symbol < grammar.symbols(); ++symbol) {
    CAPTURE(grammar.name(symbol));
    CHECK(reached[static_cast<std::size_t>(symbol)]);
    if (grammar.is_word(symbol)) {
      ++words;
      // A symbol that lacks its rules would pass for a word.
      const bool plain =
          grammar.name(symbol).find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos;
      CHECK((plain || grammar.name(symbol) == "." || grammar.name(symbol) == "?"));
      continue;
    }
    double sum = 0;
    for (const Grammar::Rule& rule : grammar.rules_of(symbol)) sum += rule.probability;
    CHECK(sum == doctest::Approx(1).epsilon(1e-12));
  }
  CHECK(words >= 200);
  CHECK(words <= 400);
}

TEST_CASE("no word stands in two lists") {
  const Grammar& grammar = Grammar::built_in();
  std::map<int, std::set<std::string>> lists;  // word to the symbols that become it alone
  for (int symbol = 0; symbol < grammar.symbols(); ++symbol) {
    for (const Grammar::Rule& rule : grammar.rules_of(symbol))
      if (rule.right.size() == 1 && grammar.is_word(rule.right[0]))
        lists[rule.right[0]].insert(grammar.name(symbol));
  }
  for (const auto& [word, symbols] : lists) {
    CAPTURE(grammar.name(word));
    const bool determiner = symbols == std::set<std::string>{"det.pl", "det.sg"};  // "the" has no number
    CHECK((symbols.size() == 1 || determiner));
  }
}

TEST_CASE("nothing contains itself: sentences are bounded") {
  const Grammar& grammar = Grammar::built_in();
  // Symbols whose rules mention finished symbols only are finished; in a bounded grammar all become so.
  std::vector<bool> finished(static_cast<std::size_t>(grammar.symbols()), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (int symbol = 0; symbol < grammar.symbols(); ++symbol) {
      if (finished[static_cast<std::size_t>(symbol)]) continue;
      const auto rules = grammar.rules_of(symbol);
      const bool now = std::all_of(rules.begin(), rules.end(), [&](const Grammar::Rule& rule) {
        return std::all_of(rule.right.begin(), rule.right.end(),
                           [&](int next) { return finished[static_cast<std::size_t>(next)]; });
      });
      if (now) finished[static_cast<std::size_t>(symbol)] = changed = true;
    }
  }
  CHECK(std::count(finished.begin(), finished.end(), false) == 0);
}

TEST_CASE("a sentence has one derivation, and its probability is the sentence's") {
  const Grammar& grammar = Grammar::built_in();
  RandomStream random(11, "grammar test");
  for (int i = 0; i < 5000; ++i) {
    const Grammar::Sentence sentence = grammar.sample(random);
    const auto inside = grammar.log_probability(sentence.words);
    REQUIRE(inside.has_value());
    CHECK(*inside == doctest::Approx(sentence.log_probability).epsilon(1e-10));
  }
}

TEST_CASE("an independent chart counts one derivation and finds the same probability") {
  const Grammar& grammar = Grammar::built_in();
  const BottomUp reader(grammar);
  RandomStream random(12, "grammar test");
  int nested = 0;
  for (int i = 0; i < 1000; ++i) {
    const Grammar::Sentence sentence = grammar.sample(random);
    if (sentence.words.size() > 30) continue;  // a chart's cost is cubic
    nested += std::count(sentence.words.begin(), sentence.words.end(), "that") >= 2;
    const Chart chart = reader.read(sentence.words);
    CHECK(chart.derivations == 1);
    CHECK(std::log(chart.probability) == doctest::Approx(sentence.log_probability).epsilon(1e-10));
  }
  CHECK(nested >= 50);
  CHECK(reader.read({"the", "dog", "growl", "."}).derivations == 0);
}

TEST_CASE("agreement holds across relative clauses and attractors") {
  const Grammar& grammar = Grammar::built_in();
  const auto parses = [&](std::string_view sentence) {
    return grammar.log_probability(sentence).has_value();
  };
  CHECK(parses("the keys that the man near the cars loses are rusty ."));
  CHECK_FALSE(parses("the keys that the man near the cars loses is rusty ."));
  CHECK_FALSE(parses("the keys that the man near the cars lose are rusty ."));
  CHECK_FALSE(parses("the keys that the man near the cars loses are hungry ."));
  CHECK(parses("the dog that the old women near this bus feed often growls and chases the cats ."));
  CHECK_FALSE(parses("the dog that the old women near this bus feed often growls and chase the cats ."));
  CHECK(parses("does the dog near the cars growl ?"));
  CHECK_FALSE(parses("does the dog near the cars growls ?"));
  CHECK_FALSE(parses("do the dog near the cars growl ?"));
  CHECK_FALSE(parses("does the dog near the cars growl ."));
  CHECK(parses("either the boat stops or the child sleeps ."));
  CHECK_FALSE(parses("either the boat stops then the child sleeps ."));
  CHECK_FALSE(parses("the man eats the hammer ."));
  CHECK_FALSE(parses("the man sleeps"));
  CHECK_FALSE(parses("the man sleeps . ."));
  CHECK_FALSE(parses("the zebra sleeps ."));
  CHECK_FALSE(parses("noun.person.sg sleeps ."));
  CHECK_FALSE(parses(""));
}

TEST_CASE("a probability by hand") {
  // clause.2 with a bare singular person, one predicate: an action without adverb or object.
  const double zipf4 = 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5., zipf5 = zipf4 + 1 / 6.;
  const double zipf10 = zipf5 + 1 / 7. + 1 / 8. + 1 / 9. + 1 / 10. + 1 / 11.;
  const double the_man = 0.65 * (0.5 / zipf4) * (0.5 / zipf10);
  const double p = 0.64 * 0.36 * 0.55 * 0.42 * the_man * 0.80 * 0.80 * 0.75 * 0.35 * (0.5 / zipf5);
  CHECK(std::exp(Grammar::built_in().log_probability("the man sleeps .").value()) == doctest::Approx(p));
}

TEST_CASE("a corpus follows from its seed, and its splits do not depend on each other's size") {
  const GrammarSizes small = {.train = 20'000, .valid = 500, .test = 700};
  const GrammarCorpus one = generate_grammar_corpus(7, small), same = generate_grammar_corpus(7, small);
  CHECK(one.corpus.train == same.corpus.train);
  CHECK(one.corpus.test == same.corpus.test);
  CHECK(one.corpus.vocabulary.words() == same.corpus.vocabulary.words());
  CHECK(one.source_valid_perplexity == same.source_valid_perplexity);
  CHECK(generate_grammar_corpus(8, small).corpus.train != one.corpus.train);

  const GrammarCorpus longer = generate_grammar_corpus(7, {.train = 30'000, .valid = 500, .test = 700});
  CHECK(std::equal(one.corpus.train.begin(), one.corpus.train.end(), longer.corpus.train.begin()));
  CHECK(one.corpus.valid == longer.corpus.valid);
  CHECK(one.corpus.valid != one.corpus.test);
  for (const Split split : {Split::train, Split::valid, Split::test}) {
    const auto& tokens = one.corpus.split(split);
    CHECK(tokens.back() == one.corpus.vocabulary.eos());
    const int64_t asked = split == Split::train   ? small.train
                          : split == Split::valid ? small.valid
                                                  : small.test;
    CHECK(static_cast<int64_t>(tokens.size()) >= asked);
    CHECK(static_cast<int64_t>(tokens.size()) < asked + 60);
  }
}

TEST_CASE("the source's perplexity is that of its parsed sentences") {
  const GrammarCorpus made = generate_grammar_corpus(1, {.train = 20'000, .valid = 3'000, .test = 3'000});
  const Grammar& grammar = Grammar::built_in();
  const Vocabulary& vocabulary = made.corpus.vocabulary;
  CHECK(grammar.perplexity(made.corpus.train, vocabulary) ==
        doctest::Approx(made.source_train_perplexity).epsilon(1e-10));
  CHECK(grammar.perplexity(made.corpus.valid, vocabulary) ==
        doctest::Approx(made.source_valid_perplexity).epsilon(1e-10));
  CHECK(grammar.perplexity(made.corpus.test, vocabulary) ==
        doctest::Approx(made.source_test_perplexity).epsilon(1e-10));

  std::vector<int32_t> tokens = encode("the man sleeps .\n", vocabulary, Level::word, "test");
  CHECK(grammar.perplexity(tokens, vocabulary) ==
        doctest::Approx(std::exp(-grammar.log_probability("the man sleeps .").value() / 5)));
  tokens.pop_back();
  CHECK(lacks(error_of([&] { (void)grammar.perplexity(tokens, vocabulary); }), {"sentence 1", "<eos>"}) ==
        "");
  tokens = encode("the man sleeps .\nthe man sleep .\n", vocabulary, Level::word, "test");
  CHECK(lacks(error_of([&] { (void)grammar.perplexity(tokens, vocabulary); }),
              {"sentence 2", "'the man sleep .'"}) == "");
}

TEST_CASE("sizes that make no corpus are refused") {
  CHECK(lacks(error_of([] { generate_grammar_corpus(1, {.train = 0}); }), {"train", "0 tokens"}) == "");
  CHECK(lacks(error_of([] { generate_grammar_corpus(1, {.train = 100}); }), {"valid", "training tokens"}) ==
        "");
}

TEST_CASE("the default corpus is a task: a trigram stays far above the source") {
  const GrammarCorpus made = generate_grammar_corpus();
  const Corpus& corpus = made.corpus;
  const auto perplexity = [&](int order) {
    return NgramModel(order, corpus.train, corpus.vocabulary.size(), corpus.vocabulary.eos())
        .perplexity(corpus.valid);
  };
  const double unigram = perplexity(1), trigram = perplexity(3), source = made.source_valid_perplexity;
  MESSAGE("perplexity on valid: unigram ", unigram, ", trigram ", trigram, ", source ", source);
  CHECK(trigram > 1.5 * source);
  CHECK(unigram > 3 * trigram);
  // Splits are draws of one source: their perplexities differ as chance has it.
  CHECK(made.source_valid_perplexity == doctest::Approx(made.source_train_perplexity).epsilon(0.03));
  CHECK(made.source_test_perplexity == doctest::Approx(made.source_train_perplexity).epsilon(0.03));
  CHECK(corpus.vocabulary.size() == 304);
}
