// See recipe_key.h.
#include "training/program/recipe/recipe_key.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

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
  if (!low || !high) throw RecipeComplaint{fmt::format("must be {}, got {}", key.range(), text)};
}

// Words with commas between them. Words that are not plain are written as in TOML: "", ",", ";", "\t".
std::string listed(const std::vector<std::string>& words) {
  std::vector<std::string> shown;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
      return std::isalnum(c) || c == '_' || c == '-';
    });
    shown.push_back(plain ? word : toml_string(word));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

void check_word(const RecipeKey& key, const std::string& word) {
  if (key.words.empty() || std::find(key.words.begin(), key.words.end(), word) != key.words.end()) return;
  for (const auto& [gone, why] : key.gone_words)
    if (gone == word) throw RecipeComplaint{fmt::format("= \"{}\" {}", word, why)};
  throw RecipeComplaint{fmt::format("must be one of {}; got '{}'{}", listed(key.words), one_line(word),
                                    did_you_mean(nearest(word, key.words)))};
}

template <class T>
T convert(const RecipeKey& key, const TomlValue& value) {
  const auto mismatch = [&] {
    const std::string wanted = key.takes_string() ? key.type() : std::string(type_name<T>());
    const auto* text =
        value.as<std::string>();  // shown: --set makes a string of text that is no other value (.5, 1e999)
    return RecipeComplaint{
        fmt::format("expects {}, got {}", wanted,
                    text ? fmt::format("'{}'", one_line(*text)) : std::string(value.kind()))};
  };
  if constexpr (std::is_same_v<T, bool>) {
    if (const auto* boolean = value.as<bool>()) return *boolean;
    throw mismatch();
  } else if constexpr (std::is_integral_v<T>) {
    const auto* whole = value.as<int64_t>();
    if (!whole) throw mismatch();
    const std::string text = fmt::format("{}", *whole);
    check_range(key, static_cast<double>(*whole), text);
    if (!std::in_range<T>(*whole)) {
      throw RecipeComplaint{
          fmt::format("must be {} {}, got {}", *whole < 0 ? "at least" : "at most",
                      *whole < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max(), text)};
    }
    return static_cast<T>(*whole);
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto* whole = value.as<int64_t>();
    const auto* fraction = value.as<double>();
    if (!whole && !fraction) throw mismatch();
    const double number = whole ? static_cast<double>(*whole) : *fraction;
    const std::string text = short_number(number);
    if (!std::isfinite(static_cast<T>(number)))
      throw RecipeComplaint{fmt::format("must be finite, got {}", text)};
    check_range(key, number, text);
    return static_cast<T>(number);
  } else if constexpr (std::is_same_v<T, std::string>) {
    const auto* text = value.as<std::string>();
    // true and false count as words if the key has other choices too.
    const auto* boolean = value.as<bool>();
    if (!text && !(boolean && std::ranges::count(key.words, "true") > 0)) throw mismatch();
    const std::string word = text ? *text : *boolean ? "true" : "false";
    check_word(key, word);
    return word;
  } else {
    const auto* list = value.as<std::vector<TomlValue>>();
    if (!list) throw mismatch();
    T result;
    for (const TomlValue& element : *list) {
      try {
        result.push_back(convert<typename T::value_type>(key, element));
      } catch (const RecipeComplaint& complaint) {
        throw RecipeComplaint{fmt::format("element {}{} {}", result.size() + 1,
                                          complaint.text.starts_with('=') ? "" : ":", complaint.text)};
      }
    }
    return result;
  }
}

}  // namespace

RecipeKey& RecipeKey::at_least(double bound) { return low = bound, low_bound = Bound::closed, *this; }
RecipeKey& RecipeKey::above(double bound) { return low = bound, low_bound = Bound::open, *this; }
RecipeKey& RecipeKey::at_most(double bound) { return high = bound, high_bound = Bound::closed, *this; }
RecipeKey& RecipeKey::below(double bound) { return high = bound, high_bound = Bound::open, *this; }
RecipeKey& RecipeKey::one_of(std::vector<std::string> choices) {
  words = std::move(choices);
  if (std::holds_alternative<RecipeChoice>(field)) default_value = value();
  return *this;
}
RecipeKey& RecipeKey::gone(std::string word, std::string why) {
  return gone_words.emplace_back(std::move(word), std::move(why)), *this;
}
RecipeKey& RecipeKey::unit(std::string text) { return unit_text = std::move(text), *this; }
RecipeKey& RecipeKey::source(std::string text) { return source_text = std::move(text), *this; }

RecipeKey& RecipeKey::harmless(Condition where) {
  harmless_where = std::move(where);
  return on_resume = OnResume::harmless, *this;
}
RecipeKey& RecipeKey::may_change() { return on_resume = OnResume::may_change, *this; }
RecipeKey& RecipeKey::rescores() { return on_resume = OnResume::rescores, *this; }
RecipeKey& RecipeKey::fixed() { return on_resume = OnResume::fixed, *this; }
RecipeKey& RecipeKey::cuts_windows(Condition where) { return cuts_windows_where = std::move(where), *this; }

std::string RecipeKey::type() const {
  if (!words.empty()) return (takes_string() ? "one of " : "a list of ") + listed(words);
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

bool RecipeKey::takes_string() const {
  return std::holds_alternative<std::string*>(field) || std::holds_alternative<RecipeChoice>(field);
}

bool RecipeKey::takes_words() const { return std::holds_alternative<std::vector<std::string>*>(field); }

bool RecipeKey::takes_list() const {
  return std::visit(
      [](const auto& f) {
        using F = std::decay_t<decltype(f)>;
        return std::is_pointer_v<F> && requires { f->front(); }
        &&!std::is_same_v<F, std::string*>;
      },
      field);
}

std::function<void()> RecipeKey::assignment(const TomlValue& value) const {
  return std::visit(
      [&](const auto& f) -> std::function<void()> {
        if constexpr (std::is_same_v<std::decay_t<decltype(f)>, RecipeChoice>) {
          const auto word = convert<std::string>(*this, value);
          const auto index = std::find(words.begin(), words.end(), word) - words.begin();
          return [set = f.set, index] { set(static_cast<std::size_t>(index)); };
        } else {
          using T = std::remove_pointer_t<std::decay_t<decltype(f)>>;
          return [f = f, converted = convert<T>(*this, value)] { *f = converted; };
        }
      },
      field);
}

}  // namespace unroll
