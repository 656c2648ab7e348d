// Words and their numbers: ids 0 … size()-1, in the order in which the words were first seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace unroll {

class Vocabulary {
 public:
  static constexpr std::string_view end_of_sentence = "<eos>";  // the word at each line's end
  static constexpr std::string_view unknown = "<unk>";          // stands for words that are not in it

  Vocabulary() = default;
  // Takes the words in the order of their ids, as words() gives them. Throws InputError if one is empty or occurs
  // twice.
  explicit Vocabulary(std::vector<std::string> words);

  // The word's id; a new word is given the next one.
  int32_t add(std::string_view word);

  int size() const { return static_cast<int>(words_.size()); }
  // The word's own id, if it has one.
  std::optional<int32_t> find(std::string_view word) const;
  // The word's id, else that of `<unk>`. Throws InputError, naming the word, if there is neither.
  int32_t id(std::string_view word) const;
  // The id of `<eos>`. Throws InputError if there is none.
  int32_t eos() const;
  // Throws Error unless 0 <= id < size().
  const std::string& word(int32_t id) const&;
  std::string word(int32_t id) const&& { return word(id); }
  const std::vector<std::string>& words() const& { return words_; }
  std::vector<std::string> words() const&& { return words_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  std::vector<std::string> words_;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
};

}  // namespace unroll
