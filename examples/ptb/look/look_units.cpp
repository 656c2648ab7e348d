// Properties of the words read, and for each the unit that tells it best.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "data/lower_case.h"
#include "data/text/grammar_structure.h"
#include "examples/ptb/look/look_numbers.h"
#include "examples/ptb/text/writing.h"
#include "framework/one_line.h"

namespace ptb {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct Labelled {
  TokenText text;
  std::vector<UnitProperty> properties;
  std::string from;  // "of 1,204 words that the grammar drew"
};

TokenText text_of(std::vector<int32_t> ids, int32_t eos) {
  TokenText text{.input = {eos}, .target = std::move(ids)};
  text.input.insert(text.input.end(), text.target.begin(), text.target.end() - 1);
  return text;
}

// Sentences of the grammar, whose structure is known. A label describes what is open just before the word.
Labelled draw_sentences(const Vocabulary& vocabulary) {
  constexpr size_t words = 1500;
  const Grammar& grammar = Grammar::built_in();
  RandomStream random(1, "look");
  std::vector<int32_t> ids;
  UnitProperty number{"the subject is plural"}, relative{"inside a relative clause"},
      pair{"inside either … or, if … then"}, place{"position in the sentence"};
  for (int drawn = 0; drawn < 2000 && ids.size() < words; ++drawn) {
    const auto sentence = sample_annotated(grammar, random);
    if (!std::ranges::all_of(sentence,
                             [&](const auto& word) { return vocabulary.find(word.word).has_value(); }))
      continue;
    for (size_t i = 0; i < sentence.size(); ++i) {
      const AnnotatedWord& word = sentence[i];
      ids.push_back(*vocabulary.find(word.word));
      number.classes.push_back(word.subject < 0 ? -1 : number_of(grammar, word.symbol) == "pl");
      relative.classes.push_back(i > 0 && sentence[i - 1].depth > 0 && word.depth > 0);
      pair.classes.push_back(word.in_pair || word.word == "or" || word.word == "then");
      place.numbers.push_back(static_cast<double>(i));
    }
    ids.push_back(vocabulary.eos());
    for (UnitProperty* property : {&number, &relative, &pair})
      property->classes.push_back(property == &number ? -1 : 0);
    place.numbers.push_back(static_cast<double>(sentence.size()));
  }
  if (ids.empty()) return {};
  const std::string from = fmt::format("of {} words that the grammar drew", ids.size());
  return {text_of(std::move(ids), vocabulary.eos()), {number, relative, pair, place}, from};
}

bool is_quote(const std::string& word) {
  return word == "\"" || word == "“" || word == "”" || word == "``" || word == "''" || word == "„" ||
         word == "«" || word == "»";
}
double letters_of(const std::string& word) {
  double count = 0;
  for_each_character(word, [&](std::string_view, bool) { ++count; });
  return count;
}
bool is_capital(std::string_view word) {
  const std::string_view first = word.substr(0, code_point_size(word));
  return lower_case(first) != first;
}

// Any text. A label of word t describes the words read before it, up to t-1.
Labelled label(const std::vector<std::string>& words, std::vector<int32_t> ids, int32_t eos, Level level) {
  const bool letters = level == Level::character;
  UnitProperty capital{letters ? "a capital was just read" : "a word with a capital was just read"},
      quoted{"inside quotes"}, blank{"between two words"},
      place{letters ? "position in the line" : "position in the sentence"},
      length{letters ? "letters of the word so far" : "letters of the word just read"};
  double position = 0, so_far = 0;
  bool inside = false;
  std::string last(Vocabulary::end_of_sentence);
  for (const std::string& word : words) {
    const bool ended = last == Vocabulary::end_of_sentence;
    capital.classes.push_back(is_capital(last));
    quoted.classes.push_back(inside);
    blank.classes.push_back(last == " " || ended);
    place.numbers.push_back(position);
    length.numbers.push_back(letters ? so_far : ended ? none : letters_of(last));
    const bool ends = word == Vocabulary::end_of_sentence;
    position = ends ? 0 : position + 1;
    so_far = ends || word == " " ? 0 : so_far + 1;
    if (is_quote(word)) inside = !inside;
    if (ends) inside = false;
    last = word;
  }
  Labelled result{text_of(std::move(ids), eos), {capital, quoted, place, length}, ""};
  if (letters) result.properties.push_back(blank);
  return result;
}

Labelled read_and_write(SavedModel& saved, const std::string& text) {
  const TextForm form{form_of(saved.recipe).level};
  const int32_t eos = saved.vocabulary.eos();
  const int own_words = form.level == Level::word ? 300 : 900;
  const std::string own =
      write_text(*saved.model, saved.vocabulary, form_of(saved.recipe), {.words = own_words});
  std::string all = text;
  if (!all.ends_with('\n')) all += '\n';
  all += own;
  std::vector<int32_t> ids = encode(all, saved.vocabulary, form, "--text");
  const size_t count = ids.size();
  Labelled result = label(words_of(all, form, "--text"), std::move(ids), eos, form.level);
  result.from = fmt::format("of {} {}s: the text, and what the model writes by itself", count,
                            form.level == Level::word ? "word" : "character");
  return result;
}

}  // namespace

std::vector<OfferedUnit> offer_units(SavedModel& saved, const std::string& text) {
  const Labelled labelled = saved.recipe.data.corpus == CorpusKind::grammar ? draw_sentences(saved.vocabulary)
                                                                            : read_and_write(saved, text);
  if (labelled.text.input.empty()) return {};
  const TextInspection seen = inspect(parts_of(*saved.model), labelled.text);
  std::vector<Tensor> states;
  for (const LayerValues& layer : seen.layers) states.push_back(state_of(layer));
  return units_to_offer(states, labelled.properties, labelled.from);
}

}  // namespace ptb
