// See mend.h.
#include "examples/timeseries/files/mend.h"

#include <algorithm>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "framework/one_line.h"

namespace unroll {

std::string toml_list(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i ? ", " : "") + toml_string(names[i]);
  return "[" + text + (names.size() > most ? ", ...]" : "]");
}

std::string toml_line(std::string_view key, std::string_view value) {
  return fmt::format("{} = {}", key, toml_string(value));
}

std::string lines_are(const std::set<int64_t>& lines) {
  const int64_t first = *lines.begin(), last = *lines.rbegin();
  if (first == last) return fmt::format("line {} is", first);
  if (last - first + 1 == std::ssize(lines)) return fmt::format("lines {} to {} are", first, last);
  return fmt::format("{} lines, the first is line {}, are", lines.size(), first);
}

void refuse_lines(const std::string& message, std::set<int64_t> lines, const std::string& why) {
  std::string done = fmt::format("{} left out: {}", lines_are(lines), why);
  throw MendableFile(message, std::move(done), [lines = std::move(lines)](const std::string& text) {
    std::string kept;
    int64_t line = 1;
    for (std::size_t begin = 0; begin < text.size(); ++line) {
      const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      kept += lines.contains(line) ? std::string{no_row, '\n'} : text.substr(begin, end - begin);
      begin = end;
    }
    return kept;
  });
}

static std::string with_rows(const std::string& text, char separator, RowEdit edit) {
  CsvReader csv(text, "", separator);
  std::string written;
  int64_t line = 1;  // that the next byte is written in
  while (csv.next()) {
    std::vector<std::string> cells(csv.cells().begin(), csv.cells().end());
    const std::vector<bool> quoted = csv.quoted();
    edit(cells, csv.line());
    for (; line < csv.line(); ++line) (written += no_row) += '\n';
    if (cells.empty()) continue;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += std::ranges::count(cells[i], '\n');
      const std::string cell = csv_cell(cells[i], separator);
      if (i > 0) written += separator;
      written += i < quoted.size() && quoted[i] && cell == cells[i] ? '"' + cell + '"' : cell;
    }
    written += '\n', ++line;
  }
  return written;
}

void refuse_rows(const std::string& message, std::string done, char separator, RowEdit edit) {
  throw MendableFile(message, std::move(done),
                     [=](const std::string& text) { return with_rows(text, separator, edit); });
}

void refuse_name(const CsvReader& csv, std::size_t place, const std::string& why, const std::string& called) {
  refuse_rows(fmt::format("{}:1: column {} {}", csv.origin(), place, why),
              fmt::format("column {} is called '{}'", place, one_line(called)), csv.separator(),
              [=, row = 0](std::vector<std::string>& cells, int64_t) mutable {
                if (row++ == 0 && place <= cells.size()) cells[place - 1] = called;
              });
}

void require_no_marks(const CsvReader& csv, const std::string& called, std::size_t place,
                      const std::function<bool(std::string_view)>& is_read, const std::string& message) {
  const auto bare = [is_read](std::string_view cell) {
    const std::string_view found = without_mark(cell);
    return std::string(found != cell && is_read(found) ? found : cell);
  };
  const std::string_view cell = place < csv.cells().size() ? csv.cells()[place] : std::string_view();
  if (bare(cell) == cell) return;
  refuse_rows(message,
              fmt::format("marks behind the cells of {} are left out, as in '{}' in line {}", called,
                          one_line(cell), csv.line()),
              csv.separator(), [=, row = 0](std::vector<std::string>& cells, int64_t) mutable {
                if (row++ > 0 && place < cells.size()) cells[place] = bare(cells[place]);
              });
}

std::string without_frame(const std::string& text, std::vector<std::string>& done) {
  constexpr std::string_view blanks = " \t\r", rule = "-=+| \t\r";
  std::string bare;
  int64_t framed = 0, lines = 0, line = 0, first = 0;
  for (std::size_t begin = 0; begin < text.size(); bare += '\n') {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view of = std::string_view(text).substr(begin, end - begin);
    begin = end + 1, ++line;
    if (of.find_first_not_of(rule) == of.npos) {
      bare += no_row;
      continue;
    }
    ++lines;
    of.remove_suffix(of.size() - 1 - of.find_last_not_of(blanks));
    of.remove_prefix(of.find_first_not_of(blanks));
    if (of.size() > 2 && of.front() == '|' && of.back() == '|') {
      of = of.substr(1, of.size() - 2);
      if (++framed == 1) first = line;
    }
    bare += of;
  }
  if (framed < 8 || 2 * framed < lines) return text;
  done.push_back(fmt::format("the bars around the rows, from line {} on, are left out", first));
  return bare;
}

// Whether whole rows stand in a text.
static bool are_rows(std::string_view text, char separator) {
  try {
    for (CsvReader csv(text, "", separator); csv.next();) continue;
    return true;
  } catch (const CsvQuoteError&) { return false; }
}

std::string with_plain_quotes(std::string text, const CsvQuoteError& fault, std::vector<std::string>& done) {
  constexpr int64_t most = 8;  // lines of a row
  std::set<int64_t> plain;
  const auto end_of = [&](std::size_t at) { return std::min(text.find('\n', at), text.size()); };
  int64_t line = 1, lines = 1;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1, line += lines) {
    end = end_of(begin), lines = 1;
    const auto part = [&] { return std::string_view(text).substr(begin, end - begin); };
    if (line < fault.line || part().find('"') == text.npos) continue;
    while (!are_rows(part(), fault.separator) && ++lines <= most && end < text.size()) end = end_of(end + 1);
    if (are_rows(part(), fault.separator)) continue;
    end = end_of(begin), lines = 1;
    std::replace(text.data() + begin, text.data() + end, '"', '`');
    plain.insert(line);
  }
  if (plain.empty()) throw fault;
  done.push_back(fmt::format("{} read with {} quotes as they stand", lines_are(plain),
                             plain.size() == 1 ? "its" : "their"));
  return text;
}

}  // namespace unroll
