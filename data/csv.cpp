// See csv.h.
#include "data/csv.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

namespace {

// The first `c` from `begin` on, or `end`.
inline const char* find_byte(const char* begin, const char* end, char c) {
  const void* const found = std::memchr(begin, c, static_cast<std::size_t>(end - begin));
  return found ? static_cast<const char*>(found) : end;
}

}  // namespace

CsvReader::CsvReader(std::string_view text, std::string origin, char separator)
    : text_(without_byte_order_mark(text)), origin_(std::move(origin)), separator_(separator) {
  require_input(separator != '"' && separator != '\n' && separator != '\r',
                "{}: a quote or the end of a line cannot separate cells", origin_);
  require_input(!text_.starts_with("\xff\xfe") && !text_.starts_with("\xfe\xff"),
                "{}: this is UTF-16; save it as UTF-8", origin_);
  std::string blanks = {'\r', '\n', no_row};
  for (const char c : {' ', '\t'}) {
    if (c != separator) blanks += c;
  }
  text_ = text_.substr(0, text_.find_last_not_of(blanks) + 1);
  require_input(!text_.empty(), "{}: the file is empty", origin_);
  for (std::size_t line; (line = text_.rfind('\n')) != text_.npos &&
                         text_.find_first_not_of(blanks + separator, line) == text_.npos;)
    text_ = text_.substr(0, text_.find_last_not_of(blanks, line) + 1);
  if (text_.starts_with("sep=") && text_.find_first_of("\r\n") == 5)
    at_ = text_.find('\n') + 1, next_line_ = 2;
  const char *const begin = text_.data(), *const end = begin + text_.size();
  has_quotes_ = find_byte(begin, end, '"') != end;
  for (const char* at = begin; (at = find_byte(at, end, '\n')) != end; ++at) ++lines_;
  if (const std::size_t good = utf8_size(text_); good < text_.size())
    throw_no_text(origin_, 1 + std::count(begin, begin + good, '\n'), text_[good]);
}

inline void CsvReader::skip_blanks() {
  const auto is_blank = [&](char c) { return (c == ' ' || c == '\t' || c == '\r') && c != separator_; };
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

std::string_view CsvReader::read_quoted(std::size_t column) {
  const int64_t opened = next_line_;
  const std::size_t first = ++at_;
  std::string inside;
  bool doubled = false;
  for (;; ++at_) {
    if (at_ >= text_.size())
      throw CsvQuoteError(
          fmt::format("{}:{}: column {}: the quote that begins here is not closed", origin_, opened, column),
          line_, separator_);
    if (text_[at_] == '"') {
      if (!text_.substr(at_ + 1).starts_with('"')) break;
      if (!doubled) inside = text_.substr(first, at_ - first);
      doubled = true, ++at_;
    }
    next_line_ += text_[at_] == '\n';
    if (doubled) inside += text_[at_];
  }
  std::string_view cell = text_.substr(first, at_ - first);
  if (doubled) cell = *inside_.emplace_back(std::make_shared<const std::string>(std::move(inside)));
  ++at_;
  skip_blanks();
  if (at_ != text_.size() && text_[at_] != separator_ && text_[at_] != '\n')
    throw CsvQuoteError(
        fmt::format("{}:{}: column {}: text after a closing quote", origin_, next_line_, column), line_,
        separator_);
  return cell;
}

inline std::string_view CsvReader::read_plain(const char* end_of_line, std::size_t column) {
  const char *const begin = text_.data() + at_, *end = find_byte(begin, end_of_line, separator_);
  at_ += static_cast<std::size_t>(end - begin);
  const bool quote = has_quotes_ && find_byte(begin, end, '"') != end;
  while (end != begin && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) --end;
  const std::string_view cell(begin, static_cast<std::size_t>(end - begin));
  if (quote)  // what a message says is made for none of the other cells
    throw CsvQuoteError(
        fmt::format("{}:{}: column {}: a quote inside '{}', which does not begin with one: write {}", origin_,
                    next_line_, column, one_line(cell), one_line(csv_cell(std::string(cell), separator_))),
        line_, separator_);
  return cell;
}

std::vector<bool> CsvReader::quoted() const {
  std::vector<bool> all(cells_.size());
  for (const std::size_t cell : quoted_) all[cell] = true;
  return all;
}

std::string csv_cell(std::string text, char separator) {
  if (text.find_first_of(std::string("\"\n\r") + separator) == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, "\"");
  return "\"" + text + "\"";
}

void CsvReader::pass_empty_lines() {
  for (;;) {
    const bool is_no_row = at_ < text_.size() && text_[at_] == no_row;
    if (!is_no_row && first_count_ == 1) return;
    const std::size_t end =
        is_no_row ? at_ + 1 : text_.find_first_not_of(separator_ == '\t' ? " \r" : " \t\r", at_);
    if (end >= text_.size() || text_[end] != '\n') return;
    at_ = end + 1, ++next_line_;
  }
}

bool CsvReader::next() {
  pass_empty_lines();
  if (at_ >= text_.size()) return false;
  line_ = next_line_;
  quoted_.clear(), inside_.clear(), cells_.clear();
  const char* const last = text_.data() + text_.size();
  const char* end_of_line = find_byte(text_.data() + at_, last, '\n');
  std::size_t column = 0;
  for (bool goes_on = true; goes_on; ++column) {
    const bool kept = column < kept_;
    skip_blanks();
    const bool quoted = has_quotes_ && at_ < text_.size() && text_[at_] == '"';
    const std::string_view cell = quoted ? read_quoted(column + 1) : read_plain(end_of_line, column + 1);
    if (kept) cells_.push_back(cell);
    if (kept && quoted) quoted_.push_back(column);
    goes_on = at_ < text_.size() && text_[at_] == separator_;
    // A line's end may stand in quotes.
    if (goes_on && text_.data() + at_ > end_of_line) end_of_line = find_byte(text_.data() + at_, last, '\n');
    next_line_ += at_ < text_.size() && text_[at_] == '\n';
    ++at_;
  }
  count_ = static_cast<int64_t>(column);
  if (first_count_ == 0) first_count_ = count_;
  return true;
}

}  // namespace unroll
