// See recipe_reader.h.
#include "training/program/recipe/recipe_reader.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

// --- declarations ------------------------------------------------------------------------------------------

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

// Suggests first an equal name in another section, then a similar one in this section, then a similar one elsewhere.
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

void RecipeReader::gone(const std::string& section, const std::string& key, const std::string& why,
                        const std::string& nothing) {
  gone_.push_back({section, key, why, nothing});
}

bool RecipeReader::Gone::is_asked_for(const TomlValue& value) const {
  if (nothing == "*") return false;
  if (const auto* list = value.as<std::vector<TomlValue>>()) return !list->empty();
  if (const auto* text = value.as<std::string>()) return !text->empty() && *text != nothing;
  if (const auto* real = value.as<double>()) return *real != 0 && fmt::format("{}", *real) != nothing;
  if (const auto* whole = value.as<int64_t>()) return *whole != 0 && fmt::format("{}", *whole) != nothing;
  const auto* yes = value.as<bool>();
  return !yes || *yes;
}

const RecipeReader::Gone* RecipeReader::find_gone(const std::string& section,
                                                  const std::optional<std::string>& name) const {
  const auto found = std::ranges::find_if(
      gone_, [&](const Gone& gone) { return gone.section == section && (!name || gone.key == *name); });
  return found == gone_.end() ? nullptr : &*found;
}

// --- reading -----------------------------------------------------------------------------------------------

void RecipeReader::read(const RecipeFile& file) {
  std::vector<std::function<void()>> assignments;
  std::map<std::string, std::string> origins;
  std::map<uint32_t, std::string> complaints;  // by line: the table is not in the order of the file
  const auto complain = [&](const TomlValue& value, const std::string& text) {
    complaints.emplace(value.line, text);
  };
  std::vector<std::string> section_names;
  for (const Section& section : sections_) section_names.push_back(section.name);

  for (const auto& [section, section_value] : parse_toml(file.text, file.origin)) {
    const TomlTable* entries = section_value.as<TomlTable>();
    const bool is_declared = std::ranges::find(section_names, section) != section_names.end();
    if (!is_declared && !(entries && find_gone(section))) {
      std::string meant;
      for (const RecipeKey& key : keys_) {
        if (key.name == section) meant = key.path();
      }
      if (entries) {
        complain(section_value, fmt::format("unknown section '{}'{}", one_line(section),
                                            did_you_mean(nearest(section, section_names))));
      } else {
        complain(section_value,
                 fmt::format("'{}' stands outside of any section{}", one_line(section), did_you_mean(meant)));
      }
      continue;
    }
    if (!entries) {
      complain(section_value,
               fmt::format("'{}' is a section: write [{}] and its keys below", section, section));
      continue;
    }
    for (const auto& [name, value] : *entries) {
      const std::string path = section + "." + name;
      RecipeKey* key = find(path);
      if (!key) {
        const Gone* gone = find_gone(section, name);
        if (gone ? gone->is_asked_for(value) : is_declared)
          complain(value, gone ? fmt::format("'{}' {}", path, gone->why) : unknown_key(section, name));
        continue;
      }
      try {
        assignments.push_back(key->assignment(value));
        origins[path] = fmt::format("{}:{}", file.origin, value.line);
      } catch (const RecipeComplaint& complaint) {
        complain(value, fmt::format("'{}' {}", path, complaint.text));
      }
    }
  }
  if (!complaints.empty()) {
    throw InputError(
        fmt::format("{}:{}: {}", file.origin, complaints.begin()->first, complaints.begin()->second));
  }
  for (const auto& assign : assignments) assign();
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
    const bool is_declared = std::ranges::find(sections_, section, &Section::name) != sections_.end();
    if (const Gone* gone = is_declared ? find_gone(section, name) : find_gone(section))
      throw InputError(fmt::format("{}: '{}.{}' {}", place, section, gone->key, gone->why));
    std::string message = unknown_key(section, dot == std::string::npos ? path : name);
    if (dot == std::string::npos) message.replace(message.find("'."), 2, "'");
    throw InputError(fmt::format("{}: {}", place, message));
  }
  require_input(!value.empty(), "{}: there is no value", place);

  std::optional<TomlValue> parsed = parse_toml_value(value);
  // A bare word becomes a string; so does a number or a date if the key takes a string.
  const bool bare = !parsed && value.find_first_of("\"'[]{}") == std::string::npos;
  if (bare || (parsed && !parsed->as<std::string>() && key->takes_string()))
    parsed = parse_toml_value(toml_string(value));
  // So do the words of a list whose quotes the shell removed: [a, b].
  if (!parsed && key->takes_words() && value.starts_with('[') && value.ends_with(']') &&
      value.find_first_of("\"'[]{}", 1) == value.size() - 1) {
    std::string quoted;
    for (std::size_t begin = 1; begin < value.size(); begin = value.find_first_of(",]", begin) + 1) {
      const std::string_view all = value;
      quoted += toml_string(trimmed(all.substr(begin, value.find_first_of(",]", begin) - begin))) + ", ";
    }
    parsed = parse_toml_value("[" + quoted + "]");
  }
  // A list of one word needs no brackets. Several words do, since a comma may be part of one.
  if (parsed && key->takes_list() && !parsed->as<std::vector<TomlValue>>()) {
    require_input(!bare || value.find(',') == std::string::npos,
                  "{}: a list of several words stands in brackets: {}=[{}]", place, path, value);
    const bool number_as_word = key->takes_words() && !parsed->as<std::string>();
    parsed = TomlValue{
        std::vector<TomlValue>{number_as_word ? *parse_toml_value(toml_string(value)) : *parsed}, 1};
  }
  require_input(parsed.has_value(), "{}: the value is not TOML", place);
  try {
    key->assignment (*parsed)();
  } catch (const RecipeComplaint& complaint) {
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

void UnreadKeys::add_unless(bool read, const std::string& readers, std::initializer_list<const char*> paths,
                            bool asks) {
  for (const char* path : paths)
    if (!read) keys.push_back({path, readers, asks});
}

bool UnreadKeys::contains(const std::string& path) const {
  return std::ranges::find(keys, path, &UnreadKey::path) != keys.end();
}

void RecipeReader::refuse_unread(const UnreadKeys& unread, const UnreadKeys& by_itself) {
  for (const UnreadKey& key : unread.keys) {
    if (key.lost) {
      const RecipeKey& declared = *find(key.path);
      if (!overridden(key.path) && !by_itself.contains(key.path))
        declared.assignment (*parse_toml_value(declared.default_value))();
      continue;
    }
    const bool of_recipe = given(key.path) && !spelled_out() && by_itself.contains(key.path);
    if (key.asks || overridden(key.path) || of_recipe)
      refuse(key.path, fmt::format("is for {}: here nothing reads it", key.readers));
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
      if (const size_t bar = values.find('|'); bar != values.npos)
        values.insert(bar, "\\");  // else it ends the cell
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
    if (was.value() == is.value()) continue;
    require(is.on_resume != OnResume::undecided,
            "recipe: the declaration of '{}' does not say what another value means to a resumed run",
            is.path());
    const bool harmless = !is.harmless_where || is.harmless_where();
    result.push_back({.path = is.path(),
                      .before = was.value(),
                      .after = is.value(),
                      .on_resume = harmless ? is.on_resume : OnResume::may_change,
                      .cuts_windows = is.cuts_windows_where && is.cuts_windows_where()});
  }
  return result;
}

}  // namespace unroll
