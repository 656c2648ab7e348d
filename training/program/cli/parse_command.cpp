#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <system_error>
#include <type_traits>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"
#include "training/program/cli/command.h"
#include "training/program/cli/console.h"
#include "training/program/cli/misplaced.h"
#include "training/program/cli/pages.h"
#include "training/program/recipe/recipe_reader.h"

namespace unroll {

namespace fs = std::filesystem;
namespace po = boost::program_options;

namespace {

// Says why a number does not fit T.
template <class T>
std::string out_of_range(const std::string& text) {
  if constexpr (!std::is_integral_v<T>) return "beyond the range of such numbers";
  const bool small = text.starts_with('-');
  return fmt::format("too {}: {} is the {}", small ? "small" : "large",
                     small ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max(),
                     small ? "least" : "most");
}

// Throws InputError if the field is a number and the text is none of its kind.
void check_number(const std::string& command, const Option& option, const std::string& text) {
  std::visit(
      [&](const auto* field) {
        using T = std::remove_cvref_t<decltype(*field)>;
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
          T number;
          const char* const end = text.data() + text.size();
          const auto [stopped, error] = std::from_chars(text.data(), end, number);
          if (error == std::errc::result_out_of_range && stopped == end)
            throw InputError(fmt::format("{}: --{} {} is {}", command, option.name, one_line(text),
                                         out_of_range<T>(text)));
          require_input(error == std::errc() && stopped == end, "{}: --{} '{}': {} is expected", command,
                        option.name, one_line(text),
                        !std::is_integral_v<T>   ? "a number"
                        : !std::is_unsigned_v<T> ? "a whole number"
                                                 : "a whole number from 0 up");
        }
      },
      option.field);
}

}  // namespace

Option& Option::one_of(std::vector<std::string> accepted) {
  words = std::move(accepted);
  value = fmt::format("{}", fmt::join(words, "|"));
  return *this;
}

Option& Option::otherwise(std::string text) {
  default_text = std::move(text);
  return *this;
}

Option& Option::may_stand_alone(std::string text, std::vector<std::string> values) {
  alone = true;
  implied = std::move(text);
  bare = std::move(values);
  value = fmt::format("[{}]", value);
  return *this;
}

// Whether the word is a value of the option, which may stand alone, and not CHECKPOINT.
static bool is_value(const Option& option, const std::string& word) {
  const size_t name = word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz");
  return std::ranges::find(option.bare, word) != option.bare.end() ||
         (name != word.npos && name > 0 && (word[name] == '=' || word[name] == ','));
}

Command::Command(std::string program, Entry name, std::vector<std::string> arguments, std::string first_run)
    : program_(std::move(program)),
      first_run_(std::move(first_run)),
      name_(std::move(name)),
      arguments_(std::move(arguments)) {}

void Command::word(std::string name, std::string description) {
  word_ = {std::move(name), std::move(description)};
}
void Command::example(std::string line, std::string description) {
  examples_.push_back({program_ + " " + line, std::move(description)});
}
void Command::file(std::string name, std::string description) {
  files_.push_back({std::move(name), std::move(description)});
}

Option& Command::add(Option option) {
  option.default_text = std::visit(
      [](const auto* field) -> std::string {
        using T = std::remove_cvref_t<decltype(*field)>;
        if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::vector<std::string>>)
          return "";
        else
          return fmt::format("{}", *field);
      },
      option.field);
  return options_.emplace_back(std::move(option));
}

std::string Command::synopsis() const { return word_.what.empty() ? name() : name() + " " + word_.what; }

// "--dynamic rate=1" becomes "--dynamic=rate=1". Throws InputError if an option stands in place of a value.
std::vector<std::string> Command::with_values_joined() {
  const auto option_of = [&](const std::string& word) {
    return std::ranges::find(options_, word.substr(0, word.find('=')),
                             [](const Option& option) { return "--" + option.name; });
  };
  std::vector<std::string> words = arguments_;
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const auto option = option_of(words[i]);
    if (option == options_.end() || option->value.empty()) continue;
    const auto next = words.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const bool lacks_value = words[i].find('=') == std::string::npos, has_next = next != words.end();
    if (!option->alone && lacks_value) {
      if (has_next && option_of(*next) != options_.end())
        throw InputError(
            fmt::format("{}: --{} needs {}, and {} is an option; a value like that is written --{}={}",
                        name(), option->name, option->value, one_line(*next), option->name, one_line(*next)));
      ++i;
    } else if (option->alone) {
      const bool has_value = lacks_value && has_next && is_value(*option, *next);
      if (lacks_value) words[i] += "=" + (has_value ? *next : option->implied);
      if (has_value) words.erase(next);
      if (i + 1 < words.size()) behind_.emplace(words[i + 1], &*option);
    }
  }
  return words;
}

bool Command::parse() {
  if (only_declare_) return false;
  for (const char* help : {"--help", "-h"}) {
    if (std::ranges::find(arguments_, help) == arguments_.end()) continue;
    show("{}", help_page(*this, page_columns()));
    return false;
  }
  po::options_description known;
  for (const Option& option : options_) {
    std::visit(
        [&](auto* field) {
          using T = std::remove_cvref_t<decltype(*field)>;
          if constexpr (std::is_same_v<T, bool>)
            known.add_options()(option.name.c_str(), po::bool_switch(field));
          else
            known.add_options()(option.name.c_str(), po::value(field));
        },
        option.field);
  }
  std::vector<std::string> words;
  known.add_options()("positional", po::value(&words));
  po::positional_options_description places;
  places.add("positional", -1);
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::variables_map found;
    const auto parsed =
        po::command_line_parser(with_values_joined()).options(known).positional(places).style(style).run();
    for (const Option& option : options_)
      for (const po::option& given : parsed.options)
        if (given.string_key == option.name)
          for (const std::string& text : given.value) check_number(name(), option, text);
    po::store(parsed, found);
    po::notify(found);
    for (const auto& [name, value] : found)
      if (!value.defaulted()) given_.insert(name);
  } catch (const po::unknown_option& error) {
    std::vector<std::string> names;
    for (const Option& option : options_) names.push_back("--" + option.name);
    throw InputError(fmt::format("{}: there is no option '{}'{}", name(), one_line(error.get_option_name()),
                                 did_you_mean(nearest(error.get_option_name(), names))));
  } catch (const po::error& error) {
    throw InputError(fmt::format("{}: {}", name(), one_line(error.what(), 200)));
  }
  take(words);
  check_kind_of_word(*this);
  check_words();
  return true;
}

void Command::take(const std::vector<std::string>& words) {
  const bool optional = word_.what.empty() || word_.what.starts_with('[');
  require_input(optional || !words.empty(), "{}: {} is missing; '{} {} --help' explains", name(), word_.what,
                program_, name());
  if (words.empty()) return;
  if (words.size() > 1 || word_.what.empty()) refuse_surplus(words);
  positional_ = words[0];
}

// Also names the option that a misspelt value stands behind.
void Command::refuse_surplus(const std::vector<std::string>& words) const {
  std::string surplus = words.back(), hint;
  for (const auto& [word, option] : behind_) {
    std::error_code error;
    if (std::ranges::find(words, word) == words.end() || fs::exists(word, error)) continue;
    std::vector<std::string> accepted = option->bare;
    if (option->words.empty()) accepted.emplace_back("KEY=VALUE,KEY=VALUE");
    surplus = word;
    hint = fmt::format("; --{} before it takes {}{}", option->name, fmt::join(accepted, " or "),
                       did_you_mean(nearest(word, option->bare)));
  }
  throw InputError(fmt::format("{}: {} is expected, '{}' is too much{}", name(),
                               word_.what.empty() ? "no word" : "one " + word_.what, one_line(surplus),
                               hint));
}

void Command::check_words() const {
  for (const Option& option : options_) {
    if (option.words.empty() || !given(option.name)) continue;
    const std::string& word = *std::get<std::string*>(option.field);
    if (std::ranges::find(option.words, word) != option.words.end()) continue;
    throw InputError(fmt::format("{}: --{} '{}' is none of {}{}", name(), option.name, one_line(word),
                                 fmt::join(option.words, ", "), did_you_mean(nearest(word, option.words))));
  }
}

}  // namespace unroll
