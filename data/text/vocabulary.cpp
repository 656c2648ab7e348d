// See vocabulary.h.
#include "data/text/vocabulary.h"

#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

Vocabulary::Vocabulary(std::vector<std::string> words) {
  words_.reserve(words.size());
  ids_.reserve(words.size());
  for (const std::string& word : words) {
    require_input(!word.empty(), "vocabulary: the word of id {} is empty", size());
    const int32_t next = size();
    const int32_t id = add(word);
    require_input(id == next, "vocabulary: '{}' stands there twice, as {} and {}", one_line(word), id, next);
  }
}

int32_t Vocabulary::add(std::string_view word) {
  if (const auto known = find(word)) return *known;
  const int32_t id = size();
  words_.emplace_back(word);
  ids_.emplace(words_.back(), id);
  return id;
}

std::optional<int32_t> Vocabulary::find(std::string_view word) const {
  const auto it = ids_.find(word);
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

int32_t Vocabulary::id(std::string_view word) const {
  if (const auto known = find(word)) return *known;
  const auto substitute = find(unknown);
  require_input(substitute.has_value(), "'{}' is not in the vocabulary, and neither is {}", one_line(word),
                unknown);
  return *substitute;
}

int32_t Vocabulary::eos() const {
  const auto found = find(end_of_sentence);
  require_input(found.has_value(), "the vocabulary has no {}", end_of_sentence);
  return *found;
}

const std::string& Vocabulary::word(int32_t id) const& {
  require(id >= 0 && id < size(), "vocabulary: no word {}, there are {}", id, size());
  return words_[static_cast<std::size_t>(id)];
}

}  // namespace unroll
