// TOML text as values, each with its line, and values as TOML text. What is known of the TOML library stands behind this.
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

struct TomlValue {
  std::variant<bool, int64_t, double, std::string, std::vector<TomlValue>, TomlTable, TomlDate> value;
  uint32_t line = 1;  // of the text, from 1

  template <class T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
  std::string_view kind() const;  // "a whole number", "a list"
};

struct TomlEntry {
  std::string name;
  TomlValue value;
};

// A file's keys and sections. Throws InputError "<origin>:7:3: not TOML: ...", one line.
TomlTable parse_toml(std::string_view text, const std::string& origin);

// What stands behind a key's '=', alone; none if it is not one value.
std::optional<TomlValue> parse_toml_value(std::string_view text);

// As a string in quotes.
std::string toml_string(std::string_view text);

}  // namespace unroll
