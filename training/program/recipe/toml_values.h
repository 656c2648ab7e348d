// TOML text as values with their lines, and values as TOML text. Hides the TOML library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace unroll {

struct TomlEntry;
using TomlTable = std::vector<TomlEntry>;  // in the order of their names
struct TomlDate {};                        // a date, a time or both: no key takes one

// A value with its line.
struct TomlValue {
  std::variant<bool, int64_t, double, std::string, std::vector<TomlValue>, TomlTable, TomlDate> value;
  uint32_t line = 1;  // of the text, from 1

  template <class T>
  const T* as() const {  // the value, if it is of this type
    return std::get_if<T>(&value);
  }
  std::string_view kind() const;  // "a whole number", "a list"
};

// A key with its value, or a section.
struct TomlEntry {
  std::string name;
  TomlValue value;
};

// Largest nesting of lists, tables in braces and parts of a key ("a.b.c" has three). Recipes need two; deep nesting
// could exhaust the stack.
constexpr int deepest_toml = 32;

// A file's keys and sections. Throws InputError of one line: "<origin>: more than a megabyte: not a recipe",
// "<origin>:7: … 32 deep at most", "<origin>:7:3: not TOML: …".
TomlTable parse_toml(std::string_view text, const std::string& origin);

// The value after a key's '='. Empty if the text is not exactly one value, or is deeper than `deepest_toml`.
std::optional<TomlValue> parse_toml_value(std::string_view text);

}  // namespace unroll
