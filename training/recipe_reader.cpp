#include "training/recipe_reader.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <type_traits>

#include <fmt/format.h>

// What toml++ takes for granted where a file need not keep it ("[#data]"): an error in that file, not the end of the process.
struct TakenForGranted {};
[[noreturn]] static void taken_for_granted() { throw TakenForGranted(); }
#define TOML_ASSERT(expr) (static_cast<bool>(expr) ? void() : taken_for_granted())
#undef NDEBUG  // which would take these out
// Whole, as headers: a distribution's flags may ask for its library instead.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#include <toml++/toml.h>

#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// --- values to TOML ----------------------------------------------------------------------------------------

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (c == '\t') {
      result += "\\t";
    } else if (static_cast<unsigned char>(c) < 32 || c == 127) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

template <class T>
std::string as_toml(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    std::string text = fmt::format("{}", value);  // the fewest digits that read back as the same number
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return toml_string(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return fmt::format("{}", value);
  } else {
    std::vector<std::string> parts;
    for (const auto& element : value) parts.push_back(as_toml(element));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
}

// --- TOML to values ----------------------------------------------------------------------------------------

// What is wrong with a value. Becomes an InputError where the place is known.
struct Complaint {
  std::string text;
};

std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a section";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a fraction";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date";
  }
}

template <class T>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, std::string>) return "a string";
  if constexpr (std::is_floating_point_v<T>) return "a number";
  if constexpr (std::is_integral_v<T>) return "a whole number";
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return "a list of strings";
  if constexpr (std::is_same_v<T, std::vector<double>>) return "a list of numbers";
  return "a list of whole numbers";
}

std::string short_number(double value) { return fmt::format("{}", value); }

void check_range(const RecipeKey& key, double value, const std::string& text) {
  using Bound = RecipeKey::Bound;
  const bool low =
      key.low_bound == Bound::none || value > key.low || (key.low_bound == Bound::closed && value == key.low);
  const bool high = key.high_bound == Bound::none || value < key.high ||
                    (key.high_bound == Bound::closed && value == key.high);
  if (!low || !high) throw Complaint{fmt::format("must be {}, got {}", key.range(), text)};
}

// With commas between them; what is more than a word as TOML writes it: ",", ";", "\t".
std::string listed(const std::vector<std::string>& words) {
  std::vector<std::string> shown;
  for (const std::string& word : words) {
    const bool plain =
        std::ranges::all_of(word, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
    shown.push_back(plain ? word : toml_string(word));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

void check_word(const RecipeKey& key, const std::string& word) {
  if (key.words.empty() || std::find(key.words.begin(), key.words.end(), word) != key.words.end()) return;
  throw Complaint{fmt::format("must be one of {}; got '{}'{}", listed(key.words), one_line(word),
                              did_you_mean(nearest(word, key.words)))};
}

bool takes_string(const RecipeKey& key) {
  return std::holds_alternative<std::string*>(key.field) || std::holds_alternative<RecipeChoice>(key.field);
}

template <class T>
T convert(const RecipeKey& key, const toml::node& node) {
  const auto mismatch = [&] {
    const std::string wanted = takes_string(key) ? key.type() : std::string(type_name<T>());
    const auto* text =
        node.as_string();  // shown, as --set makes one of whatever is no other value (.5, 1e999)
    return Complaint{
        fmt::format("expects {}, got {}", wanted,
                    text ? fmt::format("'{}'", one_line(text->get())) : std::string(kind_of(node)))};
  };
  if constexpr (std::is_same_v<T, bool>) {
    if (const auto* value = node.as_boolean()) return value->get();
    throw mismatch();
  } else if constexpr (std::is_integral_v<T>) {
    const auto* value = node.as_integer();
    if (!value) throw mismatch();
    const std::string text = fmt::format("{}", value->get());
    check_range(key, static_cast<double>(value->get()), text);
    if (!std::in_range<T>(value->get())) {
      throw Complaint{fmt::format(
          "must be {} {}, got {}", value->get() < 0 ? "at least" : "at most",
          value->get() < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max(), text)};
    }
    return static_cast<T>(value->get());
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!node.is_number()) throw mismatch();
    const auto* whole = node.as_integer();
    const double value = whole ? static_cast<double>(whole->get()) : node.as_floating_point()->get();
    const std::string text = short_number(value);
    if (!std::isfinite(static_cast<T>(value))) throw Complaint{fmt::format("must be finite, got {}", text)};
    check_range(key, value, text);
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    const auto* value = node.as_string();
    if (!value) throw mismatch();
    check_word(key, value->get());
    return value->get();
  } else {
    const auto* list = node.as_array();
    if (!list) throw mismatch();
    T result;
    for (const toml::node& element : *list) {
      try {
        result.push_back(convert<typename T::value_type>(key, element));
      } catch (const Complaint& complaint) {
        throw Complaint{fmt::format("element {}: {}", result.size() + 1, complaint.text)};
      }
    }
    return result;
  }
}

// Checks a value and returns what stores it: nothing is stored before all is checked.
std::function<void()> assignment(const RecipeKey& key, const toml::node& node) {
  return std::visit(
      [&](const auto& field) -> std::function<void()> {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, RecipeChoice>) {
          const auto word = convert<std::string>(key, node);
          const auto index = std::find(key.words.begin(), key.words.end(), word) - key.words.begin();
          return [set = field.set, index] { set(static_cast<std::size_t>(index)); };
        } else {
          using T = std::remove_pointer_t<std::decay_t<decltype(field)>>;
          return [field = field, value = convert<T>(key, node)] { *field = value; };
        }
      },
      key.field);
}

// Whether a line of a file has a word after its '=' that wants quotes: `corpus = grammar`.
bool lacks_quotes(std::string_view text, std::size_t line) {
  for (; line > 1 && !text.empty(); --line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  const std::size_t value = text.find_first_not_of(" \t", std::min(text.find('='), text.size() - 1) + 1);
  return value < text.size() && (std::isalpha(static_cast<unsigned char>(text[value])) || text[value] == '/');
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

// --- declarations ------------------------------------------------------------------------------------------

RecipeKey& RecipeKey::at_least(double bound) { return low = bound, low_bound = Bound::closed, *this; }
RecipeKey& RecipeKey::above(double bound) { return low = bound, low_bound = Bound::open, *this; }
RecipeKey& RecipeKey::at_most(double bound) { return high = bound, high_bound = Bound::closed, *this; }
RecipeKey& RecipeKey::below(double bound) { return high = bound, high_bound = Bound::open, *this; }
RecipeKey& RecipeKey::one_of(std::vector<std::string> choices) {
  words = std::move(choices);
  if (std::holds_alternative<RecipeChoice>(field)) default_value = value();
  return *this;
}
RecipeKey& RecipeKey::unit(std::string text) { return unit_text = std::move(text), *this; }
RecipeKey& RecipeKey::source(std::string text) { return source_text = std::move(text), *this; }

std::string RecipeKey::type() const {
  if (!words.empty()) return (takes_string(*this) ? "one of " : "a list of ") + listed(words);
  return std::visit(
      [](const auto& f) -> std::string {
        using F = std::decay_t<decltype(f)>;
        if constexpr (std::is_same_v<F, RecipeChoice>) {
          return "a word";
        } else {
          return std::string(type_name<std::remove_pointer_t<F>>());
        }
      },
      field);
}

std::string RecipeKey::range() const {
  const std::string l = short_number(low), h = short_number(high);
  const bool has_low = low_bound != Bound::none, has_high = high_bound != Bound::none;
  if (has_low && has_high) {
    return fmt::format("in {}{}, {}{}", low_bound == Bound::closed ? '[' : '(', l, h,
                       high_bound == Bound::closed ? ']' : ')');
  }
  if (has_low) return (low_bound == Bound::closed ? "at least " : "above ") + l;
  if (has_high) return (high_bound == Bound::closed ? "at most " : "below ") + h;
  return "";
}

std::string RecipeKey::value() const {
  return std::visit(
      [this](const auto& f) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(f)>, RecipeChoice>) {
          return toml_string(words.at(f.get()));
        } else {
          return as_toml(*f);
        }
      },
      field);
}

void RecipeReader::section(const std::string& name, const std::string& description) {
  current_ = name;
  for (Section& section : sections_) {
    if (section.name == name) return;
  }
  sections_.push_back({name, description});
}

RecipeKey& RecipeReader::add(const std::string& name, RecipeKey::Field field,
                             const std::string& description) {
  require(!current_.empty(), "recipe: key '{}' is declared before any section", name);
  require(!find(current_ + "." + name), "recipe: '{}.{}' is declared twice", current_, name);
  RecipeKey& key = keys_.emplace_back();
  key.section = current_;
  key.name = name;
  key.description = description;
  key.field = std::move(field);
  if (!std::holds_alternative<RecipeChoice>(key.field))
    key.default_value = key.value();  // else: when words are known
  return key;
}

RecipeKey* RecipeReader::find(const std::string& path) {
  for (RecipeKey& key : keys_) {
    if (key.path() == path) return &key;
  }
  return nullptr;
}

// The same name elsewhere is the likeliest, then a similar one in this section, then a similar one elsewhere.
std::string RecipeReader::unknown_key(const std::string& section, const std::string& name) const {
  const RecipeKey* best = nullptr;
  std::size_t least = SIZE_MAX;
  for (const RecipeKey& key : keys_) {
    const auto distance = nearness(name, key.name);
    if (!distance) continue;
    const std::size_t cost = *distance == 0 ? 0 : *distance + (key.section == section ? 0 : 100);
    if (cost < least) least = cost, best = &key;
  }
  return fmt::format("unknown key '{}.{}'{}", one_line(section), one_line(name),
                     did_you_mean(best ? best->path() : ""));
}

// --- reading -----------------------------------------------------------------------------------------------

static bool takes_for_granted(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (const toml::parse_error&) {
  } catch (const TakenForGranted&) { return true; }
  return false;
}

// The line, from 1, at which toml++ fails so: the last one of the shortest text that makes it.
static int64_t line_taken_for_granted(std::string_view text) {
  std::vector<std::size_t> ends;  // of the lines
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' || i + 1 == text.size()) ends.push_back(i + 1);
  const auto passes = [&](std::size_t end) { return !takes_for_granted(text.substr(0, end)); };
  return std::ranges::partition_point(ends, passes) - ends.begin() + 1;
}

void RecipeReader::read(const RecipeFile& file) {
  toml::table document;
  try {
    document = toml::parse(file.text);
  } catch (const TakenForGranted&) {
    throw InputError(fmt::format("{}:{}: not TOML", file.origin, line_taken_for_granted(file.text)));
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    throw InputError(fmt::format(
        "{}:{}:{}: not TOML: {}{}", file.origin, at.line, at.column, one_line(error.description(), 200),
        lacks_quotes(file.text, at.line) ? "; text wants quotes, key = \"text\"" : ""));
  }

  std::vector<std::pair<RecipeKey*, std::function<void()>>> assignments;
  std::map<std::string, std::string> origins;
  std::map<uint32_t, std::string> complaints;  // by line: the table is not in the order of the file
  const auto complain = [&](const toml::node& node, const std::string& text) {
    complaints.emplace(node.source().begin.line, text);
  };
  std::vector<std::string> section_names;
  for (const Section& section : sections_) section_names.push_back(section.name);

  for (const auto& [section_key, section_node] : document) {
    const std::string section(section_key.str());
    const toml::table* entries = section_node.as_table();
    if (std::find(section_names.begin(), section_names.end(), section) == section_names.end()) {
      std::string meant;
      for (const RecipeKey& key : keys_) {
        if (key.name == section) meant = key.path();
      }
      if (entries) {
        complain(section_node, fmt::format("unknown section '{}'{}", one_line(section),
                                           did_you_mean(nearest(section, section_names))));
      } else {
        complain(section_node,
                 fmt::format("'{}' stands outside of any section{}", one_line(section), did_you_mean(meant)));
      }
      continue;
    }
    if (!entries) {
      complain(section_node,
               fmt::format("'{}' is a section: write [{}] and its keys below", section, section));
      continue;
    }
    for (const auto& [name, node] : *entries) {
      const std::string path = section + "." + std::string(name.str());
      RecipeKey* key = find(path);
      if (!key) {
        complain(node, unknown_key(section, std::string(name.str())));
        continue;
      }
      try {
        assignments.emplace_back(key, assignment(*key, node));
        origins[path] = fmt::format("{}:{}", file.origin, node.source().begin.line);
      } catch (const Complaint& complaint) { complain(node, fmt::format("'{}' {}", path, complaint.text)); }
    }
  }
  if (!complaints.empty()) {
    throw InputError(
        fmt::format("{}:{}: {}", file.origin, complaints.begin()->first, complaints.begin()->second));
  }
  for (const auto& [key, assign] : assignments) assign();
  named_ = origins.size();
  for (auto& [path, origin] : origins) origins_[path] = std::move(origin);
  file_ = file.origin;
}

void RecipeReader::set(std::string_view text, const std::string& said) {
  const std::string place = one_line(said.empty() ? fmt::format("--set {}", text) : said);
  const std::size_t equals = text.find('=');
  const std::string path(trimmed(text.substr(0, equals)));
  const std::string value(equals == std::string_view::npos ? "" : trimmed(text.substr(equals + 1)));
  require_input(equals != std::string_view::npos && !path.empty(), "{}: write section.key=value", place);
  const std::size_t dot = path.find('.');
  RecipeKey* key = find(path);
  if (!key) {
    const std::string section = dot == std::string::npos ? "" : path.substr(0, dot),
                      name = path.substr(dot + 1);
    std::string message = unknown_key(section, dot == std::string::npos ? path : name);
    if (dot == std::string::npos) message.replace(message.find("'."), 2, "'");
    throw InputError(fmt::format("{}: {}", place, message));
  }
  require_input(!value.empty(), "{}: there is no value", place);

  // In braces, since a '#' would otherwise begin a comment, and a new line another key.
  const auto parsed = [&](const std::string& toml_value) -> toml::table {
    try {
      const toml::table all = toml::parse("all = { value = " + toml_value + " }");
      if (const toml::table* table = all["all"].as_table(); table && table->size() == 1 && all.size() == 1)
        return *table;
    } catch (const toml::parse_error&) {
    } catch (const TakenForGranted&) {}
    return {};
  };
  toml::table table = parsed(value);
  const toml::node* node = table.get("value");
  // A bare word, and whatever looks like a number or a date but is to be a string.
  const bool bare = !node && value.find_first_of("\"'[]{}") == std::string::npos;
  if (bare || (node && !node->is_string() && takes_string(*key))) {
    table = parsed(toml_string(value));
    node = table.get("value");
  }
  // So do the words of a list whose quotes the shell took away: [a, b].
  if (!node && std::holds_alternative<std::vector<std::string>*>(key->field) && value.starts_with('[') &&
      value.ends_with(']') && value.find_first_of("\"'[]{}", 1) == value.size() - 1) {
    std::string quoted;
    for (std::size_t begin = 1; begin < value.size(); begin = value.find_first_of(",]", begin) + 1) {
      const std::string_view all = value;
      quoted += toml_string(trimmed(all.substr(begin, value.find_first_of(",]", begin) - begin))) + ", ";
    }
    table = parsed("[" + quoted + "]");
    node = table.get("value");
  }
  require_input(node, "{}: the value is not TOML", place);
  try {
    assignment(*key, *node)();
  } catch (const Complaint& complaint) {
    throw InputError(fmt::format("{}: '{}' {}", place, path, complaint.text));
  }
  origins_[path] = place;
  overridden_.insert(path);
}

void RecipeReader::refuse(const std::string& path, const std::string& message) const {
  const auto origin = origins_.find(path);
  throw InputError(
      fmt::format("{}: '{}' {}", origin == origins_.end() ? file_ : origin->second, path, message));
}

void RecipeReader::refuse_unread(const UnreadKey& key) const {
  refuse(key.path, fmt::format("is for {}: here nothing reads it", key.readers));
}

void RecipeReader::refuse_unread(const std::vector<UnreadKey>& keys,
                                 const std::vector<UnreadKey>& by_itself) const {
  for (const UnreadKey& key : keys) {
    const bool of_recipe = given(key.path) && !spelled_out() &&
                           std::ranges::find(by_itself, key.path, &UnreadKey::path) != by_itself.end();
    if (overridden(key.path) || of_recipe) refuse_unread(key);
  }
}

// --- writing -----------------------------------------------------------------------------------------------

std::string RecipeReader::toml(bool comments) const {
  std::string text;
  for (const Section& section : sections_) {
    text += fmt::format("{}[{}]", text.empty() ? "" : "\n", section.name);
    text += comments && !section.description.empty() ? fmt::format("  # {}\n", section.description) : "\n";
    for (const RecipeKey& key : keys_) {
      if (key.section != section.name) continue;
      const std::string line = fmt::format("{} = {}", key.name, key.value());
      text += comments ? fmt::format("{:<27} # {}\n", line, key.description) : line + "\n";
    }
  }
  return text;
}

std::string RecipeReader::markdown() const {
  std::string text;
  for (const Section& section : sections_) {
    text += fmt::format("{}## [{}]\n\n{}\n\n", text.empty() ? "" : "\n", section.name, section.description);
    text += "| key | default | values | meaning |\n| --- | --- | --- | --- |\n";
    for (const RecipeKey& key : keys_) {
      if (key.section != section.name) continue;
      std::string values = key.type();
      if (const std::string range = key.range(); !range.empty())
        values += (range.starts_with("in") ? " " : ", ") + range;
      if (!key.unit_text.empty()) values += fmt::format(" ({})", key.unit_text);
      std::string meaning = key.description;
      if (!key.source_text.empty()) meaning += fmt::format(" ({})", key.source_text);
      text += fmt::format("| `{}` | `{}` | {} | {} |\n", key.name, key.default_value, values, meaning);
    }
  }
  return text;
}

std::vector<DifferingKey> differing_keys(const RecipeReader& before, const RecipeReader& after) {
  std::vector<DifferingKey> result;
  for (size_t i = 0; i < before.keys().size(); ++i) {
    const RecipeKey &was = before.keys()[i], &is = after.keys()[i];
    if (was.value() != is.value()) result.push_back({was.path(), was.value(), is.value()});
  }
  return result;
}

}  // namespace unroll
