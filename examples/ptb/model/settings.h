// The settings of an option in one word: "window=500,theta=1.0".
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

namespace ptb {

struct Setting {
  const char* key;
  const char* value;  // what is given, "N"
  std::variant<int*, double*> field;
};

// Reads `text` into the fields of `settings`; fields that it does not name keep their values. `text` may begin with one
// of `kinds` ("sgd,rate=1", "sgd"). Returns that kind, else the first one. Throws InputError that names --option if a
// setting is unknown, given twice, or not a number.
std::string read_settings(const std::string& option, const std::string& text,
                          std::span<const Setting> settings, const std::vector<std::string>& kinds = {});

}  // namespace ptb
