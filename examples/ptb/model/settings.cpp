#include "examples/ptb/model/settings.h"

#include <algorithm>
#include <locale>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace ptb {

using namespace unroll;

// "window=N, theta=X and lambda=X"
static std::string list_of(std::span<const Setting> settings) {
  std::string text;
  for (size_t i = 0; i < settings.size(); ++i)
    text += fmt::format("{}{}={}",
                        i == 0                    ? ""
                        : i + 1 < settings.size() ? ", "
                                                  : " and ",
                        settings[i].key, settings[i].value);
  return text;
}

static void read_setting(const std::string& option, const Setting& setting, const std::string& value) {
  const auto read = [&](auto* field) {
    std::istringstream stream(value);
    stream.imbue(std::locale::classic());
    const bool whole = stream >> *field && stream.peek() == EOF;
    require_input(whole, "--{} {}={}: '{}' is not a number that can be read", option, setting.key,
                  one_line(value), one_line(value));
  };
  std::visit(read, setting.field);
}

std::string read_settings(const std::string& option, const std::string& text,
                          std::span<const Setting> settings, const std::vector<std::string>& kinds) {
  std::vector<std::string> keys = kinds;
  for (const Setting& setting : settings) keys.push_back(setting.key);
  std::string kind = kinds.empty() ? "" : kinds.front();
  std::set<std::string> given;
  std::istringstream parts(text + ",");  // "window=500," has an empty one at its end, which is refused too
  bool first = true;
  for (std::string part; std::getline(parts, part, ','); first = false) {
    if (first && std::ranges::find(kinds, part) != kinds.end()) {
      kind = part;
      continue;
    }
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const auto setting =
        std::ranges::find(settings, key, [](const Setting& s) { return std::string(s.key); });
    if (equals == part.npos || setting == settings.end()) {
      const std::string meant = nearest(key, keys);
      throw InputError(fmt::format("--{} {}: must be of {}{}, separated by commas{}", option, one_line(text),
                                   kinds.empty() ? "" : fmt::format("{} and ", fmt::join(kinds, " or ")),
                                   list_of(settings), did_you_mean(meant == key ? "" : meant)));
    }
    require_input(given.insert(key).second, "--{} {}: '{}' is given twice", option, one_line(text), key);
    read_setting(option, *setting, part.substr(equals + 1));
  }
  return kind;
}

}  // namespace ptb
