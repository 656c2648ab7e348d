// Columns of words: read out of a file, and told by the codes that a model knows.
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

// The words of one column while the rows are read.
class CategoryColumn {
 public:
  static constexpr std::size_t most_words = 1 << 16;
  static constexpr int32_t missing = -1;
  explicit CategoryColumn(char decimal) : decimal_(decimal) {}  // the mark before the decimals of a number
  // The code of the row's word, until settle(); an empty cell has none. `where` says where the cell stands: file, line, column.
  // InputError: there are too many words.
  template <class Where>
  int32_t code(std::string_view cell, const Where& where) {
    if (cell.empty()) return missing;
    if (last_ != missing && words_[static_cast<std::size_t>(last_)] == cell)
      return last_;  // as in the row above
    const std::string word(cell);
    const auto known = codes_.find(word);
    return last_ = known != codes_.end() ? known->second : new_word(word, where());
  }
  // Puts the words in order, and fills in missing codes by the one before in the same series. InputError with the line: there is
  // none before; all words are numbers, and some have decimals.
  void settle(Series& series, SeriesCategory& category) const;

 private:
  int32_t new_word(const std::string& word, const std::string& where);
  char decimal_;
  std::vector<std::string> words_;
  std::unordered_map<std::string, int32_t> codes_;
  int32_t last_ = missing;
  bool all_numbers_ = true;
  std::optional<std::string> decimals_;  // the first number with decimals, and where it stands
};

// What a model knows of a category: its words by code, and whether each series has one alone.
struct CategoryWords {
  std::string name;
  std::vector<std::string> words;
  bool is_static = false;
};

// Those of the rows of the part. Static: of several series in one file, each has one word in all of its rows.
std::vector<CategoryWords> words_of_categories(const Series& series, const Part& part);

// Gives each row the code that its word has there, and each category its words and whether it is static. InputError with file,
// line, column and the nearest word: one that is not among them (`which`: "the model of m.safetensors was not trained on it"); a
// static category that changes within a series.
void encode_categories(Series& series, const std::vector<CategoryWords>& known, std::string_view which);

}  // namespace unroll
