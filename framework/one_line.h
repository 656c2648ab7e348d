// Text from a file, a name or a path, made fit to be shown: in a message, on a terminal, on a page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace unroll {

// Bytes of the UTF-8 code point that `text` begins with; 0 if it begins with none.
std::size_t code_point_size(std::string_view text);
std::size_t utf8_size(std::string_view text);  // bytes of its longest beginning that is UTF-8, without NUL
// Whether all of it is.
inline bool is_utf8(std::string_view text) { return utf8_size(text) == text.size(); }

// The longest beginning of `text` that has at most `at_most` bytes and does not end inside a code point.
std::string_view beginning(std::string_view text, std::size_t at_most);

// Whether a code point acts on a terminal, or on the order of reading, instead of standing in the text. Such are control
// characters (U+0080 to U+009F too), marks and overrides of the direction of writing, separators of lines and paragraphs.
bool acts_on_terminal(std::string_view code_point);

// Whether a code point leaves nothing to be seen, or a blank like any other: U+00A0, U+200B, U+FEFF and the like. The
// joiners U+200C and U+200D do not count: some scripts are written with them.
bool looks_like_nothing(std::string_view code_point);

// Calls use(part, shown) for each code point of the text and for each byte that belongs to none. shown is false for
// such a byte, and for a code point that acts on a terminal.
template <class Use>
void for_each_character(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::size_t size = code_point_size(text);
    const std::string_view part = text.substr(0, size == 0 ? 1 : size);
    use(part, size > 0 && !acts_on_terminal(part));
    text.remove_prefix(part.size());
  }
}

// The text with '?' for whatever is not to be shown or looks like nothing, but for the characters in `keep` ("\n").
std::string printable(std::string_view text, std::string_view keep = {});

// printable, and not longer than `at_most` bytes and an ellipsis.
std::string one_line(std::string_view text, std::size_t at_most = 60);

// The whole text as TOML has it, for a recipe or a message that says what to write there: in quotes, with escapes for quotes,
// backslashes and whatever acts on a terminal. Bytes that are not UTF-8 stay as they are.
std::string toml_string(std::string_view text);

// The end of a noun that is counted: "1 row", "2 rows".
constexpr const char* plural(auto count) { return count == 1 ? "" : "s"; }

}  // namespace unroll
