// JSON as text that is safe to show, and from files that anybody may have written: limits their depth and their numbers.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/check.h"

namespace unroll {

// Escapes (\u202e) characters that act on a terminal. `json` is JSON text already.
std::string escaped_for_terminal(std::string_view json);

// The value in one line, or indented: all JSON is written through this. The result is printable UTF-8 whatever its strings
// hold: bytes that are not UTF-8 become U+FFFD, and characters that act on a terminal are escaped, which reads back as before.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return escaped_for_terminal(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

// JSON has no number that is not finite, so such a number becomes null.
template <class Json>
Json number_or_null(double number) {
  return std::isfinite(number) ? Json(number) : Json();
}

// Nesting of lists and objects. Ours have five levels; deep ones could exhaust the stack.
constexpr int deepest_json = 32;

// Returns a discarded value (is_discarded()) if the text is no JSON, or deeper than `deepest_json`.
nlohmann::ordered_json parse_json(std::string_view text);

// Limit of a count in a file. With 2^53, sums of a few never overflow, and programs that read numbers as floating point
// keep them exact.
template <class T>
constexpr T largest_count = sizeof(T) < sizeof(int64_t) ? T{1'000'000'000} : T(int64_t{1} << 53);

// A whole number from 0 to largest_count<T>. Throws Error for another kind of value, or one out of range.
template <class T>
T count_in(const nlohmann::ordered_json& json) {
  require(json.is_number_integer() && json >= 0 && json <= largest_count<T>,
          "not a whole number from 0 to {}", largest_count<T>);
  return json.get<T>();
}

// A path is bytes, and JSON is UTF-8: a path that is not UTF-8 becomes a list of its bytes.
nlohmann::ordered_json path_json(const std::filesystem::path& path);
// Throws nlohmann::json::exception if `json` is no path.
std::filesystem::path path_in(const nlohmann::ordered_json& json);

// --- structs as objects ------------------------------------------------------------------------------------
//
// each_field(struct, f), a function beside the struct, calls f(name, member, name, member, …) with the members that the
// object has, and f.may_lack(name, member, …) with those that may be missing: such a one is not written while it is empty,
// and keeps its value where it is not read.
template <class Use>
struct EachField {
  Use use;  // use(name, member, may_lack)
  void operator()(auto&&... pairs) const { call(false, pairs...); }
  void may_lack(auto&&... pairs) const { call(true, pairs...); }

 private:
  void call(bool may_lack, const char* name, auto& member, auto&&... more) const {
    use(name, member, may_lack);
    if constexpr (sizeof...(more) > 0) call(may_lack, more...);
  }
};
template <class Use>
EachField(Use) -> EachField<Use>;

template <class T>
concept HasFields = requires(T& value) {
  each_field(value, EachField{[](const char*, auto&, bool) {}});
};
template <class T>
concept MayBeNull = requires(T& value) {
  value.has_value();
};
template <class T>
concept IsList = requires(T& value) {
  value.emplace_back();
  value.data();
};

// A field is missing, of another kind, or out of range. The message begins with its name.
struct FieldError : Error {
  using Error::Error;
};

template <class T>
nlohmann::ordered_json json_of(const T& value) {
  if constexpr (HasFields<T>) {
    auto json = nlohmann::ordered_json::object();
    each_field(const_cast<T&>(value), EachField{[&](const char* name, const auto& member, bool may_lack) {
                 if (auto of_member = json_of(member); !may_lack || !of_member.empty())
                   json[name] = std::move(of_member);
               }});
    return json;
  } else if constexpr (MayBeNull<T>) {
    return value ? json_of(*value) : nlohmann::ordered_json();
  } else if constexpr (IsList<T>) {
    auto json = nlohmann::ordered_json::array();
    for (const auto& element : value) json.push_back(json_of(element));
    return json;
  } else if constexpr (std::same_as<T, std::filesystem::path>) {
    return path_json(value);
  } else {
    return value;
  }
}

template <class T>
void read_field(const nlohmann::ordered_json& json, const char* name, T& value, bool may_be_nan = false);

// Throws FieldError, Error or nlohmann::json::exception. may_be_nan: a number may be null, and is NaN then.
template <class T>
void read_json(const nlohmann::ordered_json& json, T& value, bool may_be_nan = false) {
  if constexpr (HasFields<T>) {
    each_field(value, EachField{[&](const char* name, auto& member, bool may_lack) {
                 if (!may_lack || json.contains(name)) read_field(json, name, member, may_be_nan);
               }});
  } else if constexpr (MayBeNull<T>) {
    value.reset();
    if (!json.is_null()) read_json(json, value.emplace(), may_be_nan);
  } else if constexpr (IsList<T>) {
    require(json.is_array(), "no list");
    value.clear();
    for (const auto& element : json) read_json(element, value.emplace_back(), may_be_nan);
  } else if constexpr (std::same_as<T, uint64_t>) {  // all its bits count
    require(json.is_number_unsigned(), "no whole number from 0 on");
    json.get_to(value);
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    value = count_in<T>(json);
  } else if constexpr (std::floating_point<T>) {
    value = may_be_nan && json.is_null() ? std::numeric_limits<T>::quiet_NaN() : json.get<T>();
  } else if constexpr (std::same_as<T, std::filesystem::path>) {
    value = path_in(json);
  } else {
    json.get_to(value);
  }
}

template <class T>
void read_field(const nlohmann::ordered_json& json, const char* name, T& value, bool may_be_nan) {
  try {
    read_json(json.at(name), value, may_be_nan);
  } catch (const FieldError&) { throw; } catch (const Error& error) {
    throw FieldError(fmt::format("'{}' is {}", name, error.what()));
  } catch (const nlohmann::json::exception&) {
    throw FieldError(fmt::format("'{}' is missing, or of another kind", name));
  }
}

}  // namespace unroll
