// Files as programs export them: what is wrong with one, and how its text is mended.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/csv.h"
#include "examples/timeseries/files/encoding.h"
#include "framework/check.h"

namespace unroll {

// A file is refused for a fault of which there is one mend: of its text, or with a key of [data] that says how it is read.
class MendableFile : public InputError {
 public:
  using Mend = std::function<std::string(const std::string& text)>;
  // `done`: the mend in words, as "line 7 is left out: a total".
  MendableFile(const std::string& message, std::string done, Mend mend)
      : InputError(message), done(std::move(done)), mend(std::move(mend)) {}
  MendableFile(const std::string& message, std::string key, std::string value)
      : InputError(message), key(std::move(key)), value(std::move(value)) {}

  std::string done;
  Mend mend = {};
  std::string key = {}, value = {};  // "id", "SKU"
};

// Names as a recipe lists them, only the first `most` of a long list: ["load", "noise"]
std::string toml_list(const std::vector<std::string>& names, std::size_t most = 12);
// A line of a recipe: data.time = "when"
std::string toml_line(std::string_view key, std::string_view value);

// "line 7 is", "lines 1 to 3 are"; of more than one gap "5 lines, the first is line 7, are".
std::string lines_are(const std::set<int64_t>& lines);
// Why lines are left out; where further ones are, the last of these notes holds for all.
constexpr std::string_view above_the_names = "above the names, which are in line ";
// Throws MendableFile: these lines are no rows. `why`: "a total".
[[noreturn]] void refuse_lines(const std::string& message, std::set<int64_t> lines, const std::string& why);

// Each row is written anew, in its line, after edit(cells, line); one that is left without cells is left out.
using RowEdit = std::function<void(std::vector<std::string>& cells, int64_t line)>;
// Throws MendableFile: `edit` mends the rows of a text with this separator.
[[noreturn]] void refuse_rows(const std::string& message, std::string done, char separator, RowEdit edit);
// Throws MendableFile: the column at a place of the header, from 1, may be called otherwise.
[[noreturn]] void refuse_name(const CsvReader& csv, std::size_t place, const std::string& why,
                              const std::string& called);

// Throws MendableFile about the row's cell in a column that holds what is read, and a mark behind it.
void require_no_marks(const CsvReader& csv, const std::string& called, std::size_t place,
                      const std::function<bool(std::string_view)>& is_read, const std::string& message);

// read(text), and after each mend again; without `mend` once. `done` says what was mended. A text that is not UTF-8 is read as
// as_utf8() does. Throws what read() throws that has no mend.
template <class Read>
auto read_mended(std::string text, const std::string& origin, bool mend, std::vector<std::string>& done,
                 const Read& read);
// Without the bars around the rows of a table that is drawn with them, and its lines of dashes. Notes it in `done`.
std::string without_frame(const std::string& text, std::vector<std::string>& done);
// In lines that cannot be read from the fault on, quotes become `: an apostrophe may stand between the digits of a number. Notes them
// in `done`.
std::string with_plain_quotes(std::string text, const CsvQuoteError& fault, std::vector<std::string>& done);

template <class Read>
auto read_mended(std::string text, const std::string& origin, bool mend, std::vector<std::string>& done,
                 const Read& read) {
  constexpr int most = 12;  // mends of one file
  if (mend) text = without_frame(as_utf8(std::move(text), origin, done), done);
  for (int mends = 0;; ++mends) try {
      return read(text);
    } catch (const CsvQuoteError& fault) {
      if (!mend || mends == most) throw;
      text = with_plain_quotes(std::move(text), fault, done);
    } catch (const MendableFile& fault) {
      if (!mend || !fault.mend || mends == most) throw;
      try {
        text = fault.mend(text);
        const auto says_above = [](const std::string& what) {
          return what.find(above_the_names) != what.npos;
        };
        if (!done.empty() && says_above(done.back()) && says_above(fault.done)) done.pop_back();
        done.push_back(fault.done);
      } catch (const CsvQuoteError& quote) { text = with_plain_quotes(std::move(text), quote, done); }
    }
}

}  // namespace unroll
