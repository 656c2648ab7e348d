// Columns of words: reads them from a file, and encodes them by the words that a model knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/split.h"

namespace unroll {

// Collects the words of one column while rows are read.
class CategoryColumn {
 public:
  static constexpr std::size_t most_words = 1 << 16;
  static constexpr int32_t missing = -1;
  explicit CategoryColumn(char decimal) : decimal_(decimal) {}  // decimal separator
  // The code of the row's word, valid until settle(); `missing` for an empty cell. `where` gives the cell's file,
  // line and column. Throws InputError if there are too many words.
  template <class Where>
  int32_t code(std::string_view cell, const Where& where) {
    if (cell.empty()) return missing;
    if (last_ != missing && words_[last_] == cell) return last_;  // as in the row above
    const std::string word(cell);
    const auto known = codes_.find(word);
    return last_ = known != codes_.end() ? known->second : new_word(word, where());
  }
  // Sorts the words, and fills in missing codes with the previous one of the same series. Throws InputError, with
  // the line: there is no previous one; or all words are numbers, and some have decimals.
  void settle(Series& series, SeriesCategory& category) const;

 private:
  int32_t new_word(const std::string& word, const std::string& where);
  char decimal_;
  std::vector<std::string> words_;
  std::unordered_map<std::string, int32_t> codes_;
  int32_t last_ = missing;
  bool all_numbers_ = true;
  std::optional<std::string> decimals_;  // the first number with decimals, and its place
};

// A category as a model knows it: words by code, and whether each series has only one.
struct CategoryWords {
  std::string name;
  std::vector<std::string> words;
  bool is_static = false;
};

// The words in the part's rows. Static: there are several series, and each has one word in all of its rows.
std::vector<CategoryWords> words_of_categories(const Series& series, const Part& part);

// Replaces codes and words by the known ones, and says whether each category is static. Throws InputError, with
// file, line, column and nearest word: an unknown word (`which`: "the model of m.safetensors was not trained on
// it"), or a static category that changes within a series.
void encode_categories(Series& series, const std::vector<CategoryWords>& known, std::string_view which);

}  // namespace unroll
