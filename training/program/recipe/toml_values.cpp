// See toml_values.h.
#include "training/program/recipe/toml_values.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

// toml++ asserts facts that a file can break ("[#data]"). That must be an error in the file, not the end of the
// process.
struct TakenForGranted {};
[[noreturn]] static void taken_for_granted() { throw TakenForGranted(); }
#define TOML_ASSERT(expr) (static_cast<bool>(expr) ? void() : taken_for_granted())
#undef NDEBUG  // which would take these out
// Header-only: a distribution's flags may ask for its library instead.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#include <toml++/toml.h>

#include "framework/check.h"
#include "framework/one_line.h"
#include "training/files/run_files.h"

namespace unroll {
namespace {

// Scans the text as toml++ does, but without recursion: strings, comments, brackets, and the dots of keys.
class TomlDepth {
 public:
  explicit TomlDepth(std::string_view text) : text_(text) {
    while (at_ < text_.size() && !too_deep()) step();
  }
  bool too_deep() const { return brackets_ > deepest_toml || parts_ > deepest_toml; }
  int64_t line() const { return 1 + std::ranges::count(text_.substr(0, at_), '\n'); }  // where that is

 private:
  void step() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return pass_string(c);
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    if (c == '.')
      ++parts_;
    else if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos)
      parts_ = 1;
    if (c == '[' || c == '{') ++brackets_;
    if (c == ']' || c == '}') --brackets_;
    if (!too_deep()) ++at_;
  }
  void pass_string(char quote) {
    const std::string three(3, quote);
    const bool lines = text_.substr(at_).starts_with(three);
    at_ += lines ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (quote == '"' && text_[at_] == '\\') {
        ++at_;
      } else if (!lines && (text_[at_] == quote || text_[at_] == '\n')) {
        at_ += text_[at_] == quote;
        return;
      } else if (lines && text_.substr(at_).starts_with(three)) {
        at_ += 3;  // of up to five in a row the last three end it
        for (int more = 0; more < 2 && at_ < text_.size() && text_[at_] == quote; ++more) ++at_;
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int brackets_ = 0, parts_ = 1;
};

TomlValue value_of(const toml::node& node);

TomlTable table_of(const toml::table& table) {
  TomlTable result;
  for (const auto& [name, node] : table) result.push_back({std::string(name.str()), value_of(node)});
  return result;
}

TomlValue value_of(const toml::node& node) {
  TomlValue result{TomlDate{}, node.source().begin.line};
  if (const auto* boolean = node.as_boolean()) {
    result.value = boolean->get();
  } else if (const auto* whole = node.as_integer()) {
    result.value = whole->get();
  } else if (const auto* fraction = node.as_floating_point()) {
    result.value = fraction->get();
  } else if (const auto* text = node.as_string()) {
    result.value = text->get();
  } else if (const auto* table = node.as_table()) {
    result.value = table_of(*table);
  } else if (const auto* array = node.as_array()) {
    std::vector<TomlValue> elements;
    for (const toml::node& element : *array) elements.push_back(value_of(element));
    result.value = std::move(elements);
  }
  return result;
}

bool takes_for_granted(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (const toml::parse_error&) {
  } catch (const TakenForGranted&) { return true; }
  return false;
}

// The line, from 1, that makes toml++'s assertion fail: the last line of the shortest prefix that fails.
int64_t line_taken_for_granted(std::string_view text) {
  std::vector<std::size_t> ends;  // of the lines
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' || i + 1 == text.size()) ends.push_back(i + 1);
  const auto passes = [&](std::size_t end) { return !takes_for_granted(text.substr(0, end)); };
  return std::ranges::partition_point(ends, passes) - ends.begin() + 1;
}

// True if the value on a line of the file looks like text without quotes: `corpus = grammar`.
bool lacks_quotes(std::string_view text, std::size_t line) {
  for (; line > 1 && !text.empty(); --line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  const std::size_t value = text.find_first_not_of(" \t", std::min(text.find('='), text.size() - 1) + 1);
  return value < text.size() && (std::isalpha(static_cast<unsigned char>(text[value])) || text[value] == '/');
}

}  // namespace

std::string_view TomlValue::kind() const {
  constexpr std::string_view names[] = {"true or false", "a whole number", "a fraction", "a string",
                                        "a list",        "a section",      "a date"};
  static_assert(std::size(names) == std::variant_size_v<decltype(value)>);
  return names[value.index()];
}

TomlTable parse_toml(std::string_view text, const std::string& origin) {
  require_input(text.size() <= most_bytes_of_recipe, "{}: more than a megabyte: not a recipe", origin);
  const TomlDepth depth(text);
  require_input(!depth.too_deep(),
                "{}:{}: lists, tables and parts of a key stand in one another {} deep at most", origin,
                depth.line(), deepest_toml);
  try {
    return table_of(toml::parse(text));
  } catch (const TakenForGranted&) {
    throw InputError(fmt::format("{}:{}: not TOML", origin, line_taken_for_granted(text)));
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    throw InputError(fmt::format("{}:{}:{}: not TOML: {}{}", origin, at.line, at.column,
                                 one_line(error.description(), 200),
                                 lacks_quotes(text, at.line) ? "; text wants quotes, key = \"text\"" : ""));
  }
}

std::optional<TomlValue> parse_toml_value(std::string_view text) {
  if (TomlDepth(text).too_deep()) return std::nullopt;
  try {
    // Put it in braces: otherwise a '#' would begin a comment, and a new line another key.
    const toml::table all = toml::parse(fmt::format("all = {{ value = {} }}", text));
    const toml::table* braces = all["all"].as_table();
    const toml::node* node = braces ? braces->get("value") : nullptr;
    if (node && braces->size() == 1 && all.size() == 1) return value_of(*node);
  } catch (const toml::parse_error&) {
  } catch (const TakenForGranted&) {}
  return std::nullopt;
}

}  // namespace unroll
