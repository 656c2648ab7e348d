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

// Reads `text` into the fields of `settings`; those that are not in it stay as they are. It may begin with one of `kinds`
// ("sgd,rate=1", "sgd"), which is returned, else the first of them. Throws InputError that names --option: there is no such
// setting, it is given twice, it is no number.
std::string read_settings(const std::string& option, const std::string& text,
                          std::span<const Setting> settings, const std::vector<std::string>& kinds = {});

}  // namespace ptb
