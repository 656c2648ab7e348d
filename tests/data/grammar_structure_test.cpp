// The grammar's knowledge of its sentences: subjects, depth, and the probability of each next word.
#include "data/text/grammar_structure.h"

#include <cmath>
#include <map>

#include "data/text/vocabulary.h"
#include "tests/support.h"

using namespace unroll;

namespace {

const Grammar& grammar() { return Grammar::built_in(); }

std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

TEST_CASE("an annotated sentence is the one that Grammar::sample draws") {
  RandomStream one(4, "sentences"), other(4, "sentences");
  for (int n = 0; n < 300; ++n) {
    const auto annotated = sample_annotated(grammar(), one);
    const auto plain = grammar().sample(other).words;
    REQUIRE(annotated.size() == plain.size());
    for (size_t i = 0; i < plain.size(); ++i) CHECK(annotated[i].word == plain[i]);
  }
  CHECK(one.position() == other.position());
}

TEST_CASE(
    "a verb agrees with its subject, which is a noun before it; and with no noun between of another number alone") {
  RandomStream random(4, "sentences");
  std::map<int, int> of_attractors;
  int verbs = 0, in_relative = 0;
  for (int n = 0; n < 3000; ++n) {
    const auto words = sample_annotated(grammar(), random);
    for (int i = 0; i < static_cast<int>(words.size()); ++i) {
      const AnnotatedWord& word = words[static_cast<size_t>(i)];
      if (word.subject < 0) continue;
      ++verbs, in_relative += word.depth > 0;
      const AnnotatedWord& subject = words[static_cast<size_t>(word.subject)];
      CHECK(word.subject < i);
      CHECK(is_noun(grammar(), subject.symbol));
      CHECK(number_of(grammar(), subject.symbol) == number_of(grammar(), word.symbol));
      const auto wrong = other_number(grammar(), word);
      REQUIRE(wrong.has_value());
      CHECK(*wrong != word.word);
      int attractors = 0;
      for (int between = word.subject + 1; between < i; ++between) {
        const int symbol = words[static_cast<size_t>(between)].symbol;
        attractors +=
            is_noun(grammar(), symbol) && number_of(grammar(), symbol) != number_of(grammar(), word.symbol);
      }
      ++of_attractors[attractors];
    }
  }
  CHECK(verbs > 3000);
  CHECK(in_relative > 500);
  for (int k = 0; k <= 3; ++k) CHECK(of_attractors[k] > 0);
}

TEST_CASE("subjects, depth and pairs of sentences whose structure is plain") {
  // Drawn until each was seen: the words of a sentence say which structure it has.
  std::map<std::string, bool> seen;
  RandomStream random(9, "sentences");
  for (int n = 0; n < 30000 && seen.size() < 5; ++n) {
    const auto words = sample_annotated(grammar(), random);
    const auto symbol = [&](size_t i) { return std::string(grammar().name(words[i].symbol)).substr(0, 4); };
    // det noun that det noun verb verb .      the dog that the men wash sleeps .
    if (words.size() == 8 && words[2].word == "that" && symbol(3) == "det." && symbol(4) == "noun" &&
        symbol(5) == "verb" && symbol(6) == "verb") {
      seen["object"] = true;
      CHECK(words[5].subject == 4);
      CHECK(words[6].subject == 1);
      CHECK((words[1].depth == 0 && words[2].depth == 1 && words[5].depth == 1 && words[6].depth == 0));
    }
    // det noun that verb verb .               the dog that sleeps runs .
    if (words.size() == 6 && words[2].word == "that" && symbol(3) == "verb" && symbol(4) == "verb") {
      seen["subject"] = true;
      CHECK((words[3].subject == 1 && words[4].subject == 1));
    }
    const auto opens = [](const AnnotatedWord& word) { return word.word == "either" || word.word == "if"; };
    if (opens(words[0]) && std::ranges::count_if(words, opens) == 1) {
      seen[std::string(words[0].word)] = true;
      bool inside = false;
      for (const AnnotatedWord& word : words) {
        if (word.word == "or" || word.word == "then") inside = false;
        CHECK(word.in_pair == inside);
        if (opens(word)) inside = true;
      }
    }
    // aux det noun verb ?                     does the dog growl ?
    if (words[0].word == "does" && words.size() == 5) {
      seen["question"] = true;
      CHECK(words[3].subject == -1);
    }
  }
  CHECK(seen.size() == 5);
}

TEST_CASE("the other number of a word: forms side by side, and none where there is no number") {
  const auto symbol = [](const char* name) { return grammar().symbol(name).value(); };
  CHECK(other_number(grammar(), {"chases", symbol("verb.animal.animal.sg")}) == "chase");
  CHECK(other_number(grammar(), {"mice", symbol("noun.animal.pl")}) == "mouse");
  CHECK(other_number(grammar(), {"is", symbol("be.sg")}) == "are");
  CHECK_FALSE(other_number(grammar(), {"near", symbol("preposition")}));
  CHECK(number_of(grammar(), symbol(".")).empty());
}

TEST_CASE("the next word's probabilities: they sum to one, and their product is the sentence's own") {
  RandomStream random(6, "sentences");
  GrammarPrefix prefix;
  for (int n = 0; n < 60; ++n) {
    const Grammar::Sentence sentence = grammar().sample(random);
    double log_p = 0;
    for (const std::string_view word : sentence.words) {
      double sum = 0;
      for (const auto& [next, probability] : prefix.next()) sum += probability;
      CHECK(sum == doctest::Approx(1).epsilon(1e-12));
      log_p += std::log(prefix.probability(word));
      prefix.read(word);
    }
    CHECK(prefix.probability(Vocabulary::end_of_sentence) == doctest::Approx(1).epsilon(1e-12));
    prefix.read(Vocabulary::end_of_sentence);
    CHECK(log_p == doctest::Approx(grammar().log_probability(sentence.words).value()).epsilon(1e-10));
  }
}

TEST_CASE("the next word by hand, and words that the grammar does not allow") {
  GrammarPrefix prefix;
  // A sentence begins with "if" in one case of ten; "." cannot begin one.
  CHECK(prefix.probability("if") == doctest::Approx(0.10).epsilon(1e-12));
  CHECK(prefix.probability(".") == 0);
  prefix.read("does");
  for (const auto& [word, probability] : prefix.next()) CHECK(word != "many");  // a determiner of plurals
  // A singular determiner: "the" with 1/2 of 1/2 + 1/3 + 1/4 + 1/5.
  CHECK(prefix.probability("the") == doctest::Approx(0.5 / (0.5 + 1 / 3.0 + 0.25 + 0.2)).epsilon(1e-12));
  prefix.read("many");
  CHECK(prefix.next().empty());
  CHECK(prefix.probability("dog") == 0);
  prefix.read("dog");
  CHECK(prefix.next().empty());
  prefix.read("<eos>");
  CHECK(prefix.probability("if") == doctest::Approx(0.10).epsilon(1e-12));
  for (const std::string_view word : words_in("the dog that the men near the trucks wash often"))
    prefix.read(word);
  double singular = 0, plural = 0;
  for (const auto& [word, probability] : prefix.next()) {
    for (const char* number : {"sg", "pl"})
      for (int s = 0; s < grammar().symbols(); ++s)
        if (grammar().name(s).starts_with("verb.animal.") && grammar().name(s).ends_with(number))
          for (const auto& rule : grammar().rules_of(s))
            if (grammar().name(rule.right.front()) == word)
              (number[0] == 's' ? singular : plural) += probability;
  }
  CHECK(singular > 0.5);
  CHECK(plural == 0);
}
