// Times of East Asia and Thailand as parse_time() reads them. See time_names.h.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/series/time_names.h"

namespace unroll {

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

// The number that a text begins with, and takes it off; none: it begins with no digit.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

constexpr std::string_view year_sign = "年", month_sign = "月", day_sign = "日";

// The year before its sign: 2025, 令和7, 平成元, 民國114, 114.
std::optional<int> year_of(std::string_view text) {
  constexpr std::pair<std::string_view, int> eras[] = {{"令和", 2018},     {"平成", 1988}, {"昭和", 1925},
                                                       {"中華民國", 1911}, {"民國", 1911}, {"民国", 1911}};
  int before = 0;
  for (const auto& [era, year] : eras)
    if (before == 0 && text.starts_with(era)) before = year, text.remove_prefix(era.size());
  const bool is_named = before > 0, is_first = text == "元";
  const std::size_t digits = text.size();
  const auto number = is_first ? std::optional(1) : take_number(text);
  if (!number || (!text.empty() && !is_first)) return std::nullopt;
  if (is_named) return before + *number;
  if (digits == 4) return *number;
  return digits == 3 && *number < 200 ? std::optional(1911 + *number) : std::nullopt;  // Taiwan's
}

// 第一季度, 第1四半期, 1분기
std::optional<int> quarter_of(std::string_view text) {
  const bool is_quarter = text.ends_with("季度") || text.ends_with("四半期") || text.ends_with("분기");
  if (!is_quarter) return std::nullopt;
  if (text.starts_with("第")) text.remove_prefix(std::string_view("第").size());
  constexpr std::array<std::string_view, 4> numbers = {"一", "二", "三", "四"};
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (text.starts_with(numbers[i]) && !text.starts_with("四半期")) return static_cast<int>(i) + 1;
  return take_number(text);
}

// 下午 3:05 as 3:05 PM, 14時5分 as 14:05.
std::string latin_clock(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> signs[] = {
      {"時", ":"}, {"时", ":"}, {"시", ":"}, {"分", ":"}, {"분", ":"}, {"秒", ""}, {"초", ""}};
  constexpr std::pair<std::string_view, std::string_view> halves[] = {
      {"上午", " AM"}, {"午前", " AM"}, {"오전", " AM"}, {"下午", " PM"}, {"午後", " PM"}, {"오후", " PM"}};
  const bool has_hours = std::ranges::any_of(
      std::span(signs).first(3), [&](const auto& sign) { return text.find(sign.first) != text.npos; });
  for (const auto& [sign, latin] : signs) {
    if (!has_hours) break;  // 2분기 is a quarter
    replace_all(text, fmt::format("{} ", sign), sign), replace_all(text, sign, latin);
  }
  for (std::size_t at = 0; (at = text.find(':', at)) != text.npos; ++at) {
    const std::size_t digits = text.find_first_not_of("0123456789", at + 1);
    const std::size_t count = std::min(digits, text.size()) - at - 1;
    if (at + 1 == text.size() && text.find(':') < at)
      text.pop_back();  // 14:05:
    else if (count < 2)
      text.insert(at + 1, 2 - count, '0');
  }
  for (const auto& [half, latin] : halves) {
    const std::size_t at = text.find(half);
    if (at == text.npos) continue;
    text.erase(at, half.size());
    while (text[at] == ' ') text.erase(at, 1);
    text += latin;
  }
  return text;
}

// ม.ค. 2557 as Jan 2014: years count from Buddha's death.
std::string thai_time(std::string text) {
  constexpr std::array<std::string_view, 12> full = {"มกราคม",  "กุมภาพันธ์", "มีนาคม",    "เมษายน",
                                                     "พฤษภาคม", "มิถุนายน",  "กรกฎาคม",  "สิงหาคม",
                                                     "กันยายน",  "ตุลาคม",   "พฤศจิกายน", "ธันวาคม"};
  constexpr std::array<std::string_view, 12> brief = {"ม.ค.", "ก.พ.", "มี.ค.", "เม.ย.", "พ.ค.", "มิ.ย.",
                                                      "ก.ค.", "ส.ค.", "ก.ย.", "ต.ค.",  "พ.ย.", "ธ.ค."};
  constexpr std::array<std::string_view, 12> names = {"Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ",
                                                      "Jul ", "Aug ", "Sep ", "Oct ", "Nov ", "Dec "};
  for (const auto* const months : {&full, &brief})
    for (std::size_t i = 0; i < names.size(); ++i) replace_all(text, (*months)[i], names[i]);
  replace_all(text, "พ.ศ.", ""), replace_all(text, "  ", " ");
  const std::size_t digits = text.size() >= 4 ? text.size() - 4 : text.npos;
  if (digits == text.npos || text.find_first_not_of("0123456789", digits) != text.npos) return text;
  std::string_view end = std::string_view(text).substr(digits);
  const int year = take_number(end).value_or(0);
  return year > 2400 ? text.substr(0, digits) + fmt::format("{:04}", year - 543) : text;
}

}  // namespace

std::string latin_time(std::string_view given) {
  std::string text = latin_clock(std::string(given));
  if (text.find("\xe0\xb8") != text.npos) return thai_time(std::move(text));
  for (const auto& [opens, closes] : {std::pair("(", ")"), std::pair("（", "）")})
    for (std::size_t begin, end; (begin = text.find(opens)) < (end = text.find(closes)) && end != text.npos;)
      text.erase(begin, end + std::string_view(closes).size() - begin);
  for (const auto& [from, to] :
       {std::pair("년", year_sign), std::pair("월", month_sign), std::pair("일", day_sign)})
    replace_all(text, from, to);
  for (const std::string_view sign : {year_sign, month_sign}) {
    replace_all(text, fmt::format("{} ", sign), sign), replace_all(text, fmt::format(" {}", sign), sign);
  }
  const std::size_t sign = text.find(year_sign);
  std::string_view left = text;
  if (sign == text.npos) {  // 2025.03 月
    if (left.ends_with(month_sign)) left.remove_suffix(month_sign.size());
    std::string plain(left);
    std::ranges::replace(plain, '.', '-');
    const bool is_month = left.size() < text.size() && plain.size() == 7 && plain[4] == '-';
    return is_month ? plain : text != given ? text : "";
  }
  const auto year = year_of(left.substr(0, sign));
  if (!year) return "";
  left.remove_prefix(sign + year_sign.size());
  if (left.empty()) return fmt::format("{:04}", *year);
  if (const auto quarter = quarter_of(left)) return fmt::format("{:04} Q{}", *year, *quarter);
  const auto month = take_number(left);
  if (!month || !left.starts_with(month_sign)) return "";
  left.remove_prefix(month_sign.size());
  const auto day = take_number(left);
  if (!day) return left.empty() ? fmt::format("{:04}-{:02}", *year, *month) : "";
  if (!left.starts_with(day_sign)) return "";
  left.remove_prefix(day_sign.size());
  const bool is_clock = !left.empty() && left[0] != ' ';
  return fmt::format("{:04}-{:02}-{:02}{}{}", *year, *month, *day, is_clock ? " " : "", left);
}

}  // namespace unroll
