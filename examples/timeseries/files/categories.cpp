// See categories.h.
#include "examples/timeseries/files/categories.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

std::string place_of_word(const Series& series, const SeriesCategory& category, int64_t row) {
  const auto at = static_cast<std::size_t>(row);
  return fmt::format("{}:{}: column {} ('{}')", series.origin,
                     at < series.lines.size() ? series.lines[at] : 0, category.column,
                     one_line(category.name));
}

// Sorts the words, and adapts the codes.
void sort_words(SeriesCategory& category) {
  std::vector<double> numbers;
  for (const std::string& word : category.words)
    if (const auto number = parse_number(word)) numbers.push_back(*number);
  const bool by_value = numbers.size() == category.words.size();
  std::vector<int32_t> order(category.words.size()), to(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int32_t a, int32_t b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    if (by_value && numbers[i] != numbers[j]) return numbers[i] < numbers[j];
    return category.words[i] < category.words[j];
  });
  std::vector<std::string> words;
  for (std::size_t k = 0; k < order.size(); ++k) {
    words.push_back(category.words[order[k]]);
    to[order[k]] = static_cast<int32_t>(k);
  }
  category.words = std::move(words);
  for (int32_t& code : category.codes) code = to[code];
}

// Copies the codes to their channels.
void put_codes(Series& series) {
  if (series.coded == 0) return;
  const auto width = static_cast<std::size_t>(series.width()),
             first = width - static_cast<std::size_t>(series.coded);
  for (std::size_t k = 0; k < series.categories.size(); ++k)
    for (std::size_t row = 0; row < series.categories[k].codes.size(); ++row)
      series.values[row * width + first + k] = series.categories[k].codes[row];
}

}  // namespace

int32_t CategoryColumn::new_word(const std::string& word, const std::string& where) {
  require_input(words_.size() < most_words,
                "{}: more than {} words: this column is no category (data.categories)", where, most_words);
  const auto number = parse_number(word, decimal_);
  all_numbers_ = all_numbers_ && number;
  if (number && !decimals_ && (*number != std::floor(*number) || !std::isfinite(*number)))
    decimals_ = fmt::format("{}: '{}'", where, one_line(word));
  words_.push_back(word);
  const auto code = static_cast<int32_t>(words_.size() - 1);
  codes_.emplace(word, code);
  return code;
}

void CategoryColumn::settle(Series& series, SeriesCategory& category) const {
  require_input(
      !all_numbers_ || !decimals_,
      "{} is no whole number: a category (data.categories) is of words or of whole numbers, and this "
      "column is of numbers",
      decimals_.value_or(""));
  category.words = words_;
  int64_t filled = 0, first = 0;
  for (int member = 0; member < series.count(); ++member) {
    int32_t before = missing;
    for (int64_t row = series.begin_of(member); row < series.end_of(member); ++row) {
      int32_t& code = category.codes[row];
      if (code == missing) {
        if (before == missing)
          throw InputError(fmt::format(
              "{}: a word is missing, and there is none before it{} to fill it in from",
              place_of_word(series, category, row), series.members.empty() ? "" : " in its series"));
        code = before;
        if (filled++ == 0) first = row;
      }
      before = code;
    }
  }
  sort_words(category);
  if (filled > 0)
    series.notes.push_back(
        fmt::format("{} missing word{} of '{}' filled in (the previous one); the first in line {}", filled,
                    filled == 1 ? "" : "s", one_line(category.name), series.lines[first]));
}

void add_categories(Series& series) {
  require(series.coded == 0, "series: the categories are channels already");
  std::vector<std::string> names;
  for (const SeriesCategory& category : series.categories) {
    require_input(std::ranges::find(series.channels, category.name) == series.channels.end(),
                  "{}: there is a channel '{}' already, beside the category (data.categories)", series.origin,
                  one_line(category.name));
    names.push_back(category.name);
  }
  if (names.empty()) return;
  series.insert_channels(series.width(), names,
                         std::vector(names.size(), std::vector<double>(series.rows())));
  series.coded = static_cast<int>(names.size()), series.calendar += series.coded;
  put_codes(series);
}

std::vector<CategoryWords> words_of_categories(const Series& series, const Part& part) {
  std::vector<CategoryWords> all;
  for (const SeriesCategory& category : series.categories) {
    CategoryWords found{.name = category.name, .words = {}, .is_static = !series.members.empty()};
    std::vector<bool> stands(category.words.size());
    for (const Span& span : part)
      for (int64_t row = span.begin; row < span.end; ++row) stands[category.codes[row]] = true;
    for (std::size_t code = 0; code < stands.size(); ++code)
      if (stands[code]) found.words.push_back(category.words[code]);
    for (int member = 0; member < series.count() && found.is_static; ++member) {
      const auto begin = category.codes.begin() + series.begin_of(member),
                 end = category.codes.begin() + series.end_of(member);
      found.is_static = std::all_of(begin, end, [&](int32_t code) { return code == *begin; });
    }
    all.push_back(std::move(found));
  }
  return all;
}

void encode_categories(Series& series, const std::vector<CategoryWords>& known, std::string_view which) {
  require(known.size() == series.categories.size(), "series: {} categories, and words of {}",
          series.categories.size(), known.size());
  for (std::size_t k = 0; k < known.size(); ++k) {
    SeriesCategory& category = series.categories[k];
    std::unordered_map<std::string_view, int32_t> codes;
    for (const std::string& word : known[k].words) codes.emplace(word, static_cast<int32_t>(codes.size()));
    std::vector<int32_t> to;  // by code in the file
    for (const std::string& word : category.words) {
      const auto found = codes.find(word);
      to.push_back(found == codes.end() ? CategoryColumn::missing : found->second);
    }
    for (int member = 0; member < series.count(); ++member) {
      const int64_t begin = series.begin_of(member);
      for (int64_t row = begin; row < series.end_of(member); ++row) {
        int32_t& code = category.codes[row];
        const std::string& word = category.words[code];
        code = to[code];
        if (code == CategoryColumn::missing)
          throw InputError(fmt::format("{}: '{}': {}{}", place_of_word(series, category, row), one_line(word),
                                       which, which_was_meant(word, known[k].words)));
        const int32_t first = category.codes[begin];
        if (known[k].is_static && code != first)
          throw InputError(fmt::format(
              "{}: '{}' follows '{}', and where the model was trained each series had one word throughout",
              place_of_word(series, category, row), one_line(word), one_line(known[k].words[first])));
      }
    }
    category.words = known[k].words, category.is_static = known[k].is_static;
  }
  put_codes(series);
}

}  // namespace unroll
