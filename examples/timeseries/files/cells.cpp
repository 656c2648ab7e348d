// See cells.h.
#include "examples/timeseries/files/cells.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "data/lower_case.h"
#include "examples/timeseries/series/times.h"
#include "framework/one_line.h"

namespace unroll {

bool says_missing(std::string_view cell) {
  constexpr std::size_t longest = 4;
  if (cell.size() > longest || (!cell.empty() && cell[0] >= '0' && cell[0] <= '9')) return false;
  constexpr std::array<std::string_view, 17> words = {"",    "na",  "n/a",  "n.a.", "k.a.", "#n/a",
                                                      "#nv", "nan", "null", "?",    ".",    "-",
                                                      "–",   "..",  "...",  "…",    ":"};
  return std::ranges::find(words, lower_case(cell)) != words.end();
}

std::optional<double> parse_number(std::string_view cell, char decimal) {
  if (decimal != '.' && cell.find('.') != std::string_view::npos) return std::nullopt;
  if (decimal != '.' && cell.find(decimal) != std::string_view::npos) {
    std::string with_point(cell);
    std::replace(with_point.begin(), with_point.end(), decimal, '.');
    return parse_number(with_point);
  }
  double value = 0;
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  const auto [stopped, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (stopped != cell.data() + cell.size() || error == std::errc::invalid_argument) return std::nullopt;
  // Out of range: infinite, or so small that it is 0.
  return error == std::errc() ? value : std::strtod(std::string(cell).c_str(), nullptr);
}

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

template <std::size_t N>
std::string_view prefix_of(std::string_view text, const std::array<std::string_view, N>& words) {
  for (const std::string_view word : words)
    if (text.starts_with(word)) return word;
  return {};
}
template <std::size_t N>
std::string_view suffix_of(std::string_view text, const std::array<std::string_view, N>& words) {
  for (const std::string_view word : words)
    if (text.ends_with(word)) return word;
  return {};
}

// A blank, and Unicode's non-breaking and thin blanks: U+00A0, U+202F, U+2009.
constexpr std::array<std::string_view, 4> blanks = {" ", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"};
constexpr std::array<std::string_view, 18> units = {"US$", "R$", "$",   "€",   "£",   "¥",
                                                    "₹",   "%",  "CHF", "EUR", "USD", "GBP",
                                                    "kr.", "kr", "zł",  "Kč",  "Ft",  "₽"};
constexpr std::array<std::string_view, 3> minuses = {"-", "−", "+"};

// A number's digits and the unit, sign and brackets around them, each at most once.
struct Core {
  std::string_view digits, unit = {}, sign = {};
  bool enclosed = false;
};
Core core_of(std::string_view cell) {
  Core core{.digits = cell};
  std::string_view& text = core.digits;
  for (std::size_t before = text.size() + 1; text.size() < before;) {
    before = text.size();
    text.remove_prefix(prefix_of(text, blanks).size());
    text.remove_suffix(suffix_of(text, blanks).size());
    if (core.sign.empty() && !core.enclosed) {
      core.sign = prefix_of(text, minuses);
      text.remove_prefix(core.sign.size());
      if (core.sign.empty() && text.starts_with('(') && text.ends_with(')') && text.size() > 2) {
        core.enclosed = true;
        text = text.substr(1, text.size() - 2);
      }
    }
    if (core.sign.empty() && !core.enclosed && text.ends_with('-') && text.size() > 1)  // as SAP writes 12-
      core.sign = minuses[0], text.remove_suffix(1);
    if (!core.unit.empty()) continue;
    core.unit = prefix_of(text, units);
    text.remove_prefix(core.unit.size());
    if (!core.unit.empty()) continue;
    core.unit = suffix_of(text, units);
    text.remove_suffix(core.unit.size());
  }
  return core;
}

// Removes the mark between groups of three digits, or, as in India, of two before the last three: 12,34,567. "": they are not
// grouped by one mark, or are a single group.
std::string without_groups(std::string_view digits, char thousands) {
  std::string all, mark;
  std::size_t first = 0, inner = 0;  // digits of the first group, and of those between it and the last
  for (;;) {
    std::size_t count = 0;
    while (count < digits.size() && digit(digits[count])) ++count;
    const bool is_first = all.empty(), is_last = count == digits.size();
    if (is_first ? count == 0 || count > 3 || digits[0] == '0' : is_last && count != 3) return "";
    if (!is_first && !is_last && inner != 0 && count != inner) return "";
    if (is_first) first = count;
    if (!is_first && !is_last) inner = count;
    all += digits.substr(0, count);
    digits.remove_prefix(count);
    if (is_last) break;
    constexpr std::array<std::string_view, 2> apostrophes = {"'", "’"};
    std::string_view found = prefix_of(digits, blanks);
    if (found.empty()) found = prefix_of(digits, apostrophes);
    if (found.empty() && thousands != '\0' && digits[0] == thousands) found = digits.substr(0, 1);
    if (found.empty() || (!mark.empty() && mark != found)) return "";
    mark = found;
    digits.remove_prefix(found.size());
  }
  const bool is_grouped = inner == 0 || inner == 3 || (inner == 2 && first < 3 && mark == ",");
  return mark.empty() || !is_grouped ? "" : all;
}

}  // namespace

std::optional<WrittenNumber> written_number(std::string_view cell, NumberMarks marks) {
  if (const auto plain = parse_number(cell, marks.decimal)) return WrittenNumber{*plain};
  const Core core = core_of(cell);
  if (core.digits.empty() && !core.sign.empty() && !core.unit.empty() && core.unit != "%")
    return WrittenNumber{0, core.unit};  // as spreadsheets write 0 for accountants: -   €
  const std::size_t point = std::min(core.digits.find(marks.decimal), core.digits.size());
  std::string text = without_groups(core.digits.substr(0, point), marks.thousands);
  if (text.empty())
    text = core.digits;
  else
    text += core.digits.substr(point);
  if (text.empty() || !(digit(text[0]) || text[0] == marks.decimal)) return std::nullopt;
  const auto number = parse_number(text, marks.decimal);
  if (!number) return std::nullopt;
  const bool is_negative = core.enclosed || core.sign == minuses[0] || core.sign == minuses[1];
  return WrittenNumber{is_negative ? -*number : *number, core.unit};
}

namespace {

// Units of one kind, by how many of the first each is.
struct UnitSize {
  std::string_view name;
  double size;
};
constexpr std::array<std::array<UnitSize, 6>, 4> families = {
    {{{{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}}},
     {{{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"KB", 1e3}}},
     {{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60}}},
     {{{"", 1}, {"K", 1e3}, {"Mil", 1e6}, {"Bil", 1e9}, {"k", 1e3}, {"M", 1e6}}}}};

}  // namespace

std::map<std::string, double, std::less<>> unit_sizes(const std::set<std::string>& units) {
  if (units.size() == 1) return {{*units.begin(), 1}};
  for (const auto& family : families) {
    std::map<std::string, double, std::less<>> sizes;
    for (const std::string& unit : units)
      if (const auto found = std::ranges::find(family, unit, &UnitSize::name); found != family.end())
        sizes.emplace(unit, found->size);
    if (sizes.size() == units.size()) return sizes;
  }
  return {};
}

std::optional<std::pair<std::string_view, std::string_view>> with_unit(std::string_view cell,
                                                                       NumberMarks marks) {
  std::size_t end = cell.find_last_of("0123456789");
  if (end != cell.npos && end + 2 < cell.size() && cell[end + 1] == '-' && cell[end + 2] == ' ')
    ++end;  // SAP's 12- EUR
  if (end == cell.npos || !written_number(cell.substr(0, end + 1), marks)) return std::nullopt;
  std::string_view unit = cell.substr(end + 1);
  while (unit.starts_with(' ') || unit.starts_with("\xc2\xa0")) unit.remove_prefix(unit[0] == ' ' ? 1 : 2);
  return std::pair(cell.substr(0, end + 1), unit);
}

std::string_view number_before_unit(std::string_view cell) {
  for (const char decimal : {'.', ','})
    if (const auto found = with_unit(cell, {decimal, other_mark(decimal)}); found && !found->second.empty())
      return found->first;
  return "";
}

std::string with_plain_blanks(std::string_view cell) {
  std::string plain;
  while (!cell.empty()) {
    const std::size_t blank = prefix_of(cell, blanks).size();
    plain += blank > 0 ? ' ' : cell[0];
    cell.remove_prefix(std::max<std::size_t>(blank, 1));
  }
  return plain;
}

std::string_view without_limit(std::string_view cell) {
  if (cell.empty() || (cell[0] != '<' && cell[0] != '>')) return cell;
  const std::size_t at = cell.find_first_not_of(' ', 1);
  return at != cell.npos && cell[at] >= '0' && cell[at] <= '9' ? cell.substr(at) : cell;
}

std::string_view without_mark(std::string_view cell) {
  constexpr std::array<std::string_view, 6> signs = {"*", "†", "‡", "¹", "²", "³"};
  constexpr std::string_view words =
      " prelim. prelim preliminary provisional prov. est. estimate estimated rev. revised vorläufig vorl. geschätzt "
      "provisoire provisorio provisório voorlopig ";
  std::string_view bare = cell;
  if (cell.size() > 2 && (cell[0] == 'p' || cell[0] == 'r') && cell[1] == ' ' && digit(cell[2]))
    bare.remove_prefix(2);
  while (const std::size_t size = suffix_of(bare, signs).size()) bare.remove_suffix(size);
  if (bare.find(':') != bare.npos && bare.ends_with('p')) return cell;  // 1:30 p
  if (bare.size() > 1 && digit(bare[bare.size() - 2]) && (bare.ends_with('p') || bare.ends_with('r')))
    bare.remove_suffix(1);
  const std::size_t bracket = bare.find_last_of("(["), blank = bare.rfind(' ');
  const bool is_closed = bare.ends_with(')') || bare.ends_with(']');
  const std::string word = is_closed ? lower_case(bare.substr(bracket + 1, bare.size() - bracket - 2)) : "";
  if (is_closed && bracket != bare.npos && bracket > 0 &&
      (word.size() <= 2 || words.find(fmt::format(" {} ", word)) != words.npos))
    bare = bare.substr(0, bracket);
  else if (bare.ends_with(')') && blank != bare.npos && blank + 3 == bare.size() && digit(bare[blank + 1]))
    bare = bare.substr(0, blank);  // a footnote: 2005 1)
  else if (blank != bare.npos && blank + 2 == bare.size() &&
           std::string_view("preb").find(bare.back()) != std::string_view::npos)
    bare = bare.substr(0, blank);
  while (const std::size_t size = suffix_of(bare, blanks).size()) bare.remove_suffix(size);
  return bare;
}

bool is_duration(std::string_view cell) {
  return cell.find(':') != cell.npos && cell.find_first_not_of("0123456789:.") == cell.npos;
}

std::string how_to_mend(std::string_view cell, NumberMarks marks, bool below_numbers) {
  if (const auto bare = without_mark(cell); bare != cell && written_number(bare, marks))
    return "delete the mark";
  constexpr const char* digits = "0123456789";
  std::size_t first = cell.find_first_of(digits);
  if (first == cell.npos) return "";
  const std::size_t end = cell.find_last_of(digits) + 1;
  if (looks_like_a_date(cell.substr(0, end)) && cell.find(',') == cell.npos) return "";
  if (first > 0 && cell[first - 1] == marks.decimal) --first;
  const std::string_view number = cell.substr(first, end - first);
  std::string_view after = cell.substr(end);
  after.remove_prefix(prefix_of(after, blanks).size());
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) || c >= 0x80; };
  auto read = written_number(number, marks);
  if (!read && !below_numbers)  // no other cell tells the marks either
    read = written_number(number, {other_mark(marks.decimal), marks.decimal});
  const std::string before = lower_case(cell.substr(0, first));
  for (const std::string_view about : {"ca. ", "ca ", "approx. ", "about ", "env. ", "etwa "})
    if (read && after.empty() && before == about)
      return fmt::format("write {}, or leave it empty", with_plain_blanks(number));
  if (std::ranges::any_of(before, is_letter) || !read) return "";
  if (after.empty() && first == 1 && cell.find_first_of("<>~") == 0)
    return fmt::format("write {}, or leave it empty", with_plain_blanks(number));
  if (after.empty()) return "";
  if (after == "-" && first == 0) return fmt::format("write -{}", number);
  if (!std::ranges::any_of(after, is_letter)) return "delete the mark";
  std::string unit(after);
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (unit == "CR" || unit == "DR") return "delete Cr and Dr, and write a minus before each number with Dr";
  if (!below_numbers) return "delete the unit, which all cells must share";
  const double factor = after == "k" || after == "K" ? 1e3 : after == "M" ? 1e6 : 0;
  std::string whole = fmt::format("{}{:.15g}", cell.substr(0, first), read->value * factor);
  std::ranges::replace(whole, '.', marks.decimal);
  return fmt::format(
      "earlier cells have no '{}'; write {}", one_line(after),
      factor > 0 && written_number(whole, marks) ? whole : "the number in the unit of the others");
}

void MarkFinder::join(const MarkFinder& column) {
  int64_t decided = column.points_ + column.commas_;
  if (column.others_ >= column.whole_ + decided + column.eithers_) return;  // text
  points_ += column.points_, commas_ += column.commas_;
  constexpr int64_t enough = 8;
  // Beside whole numbers no decimals have three digits throughout, of which the last may be 0.
  if (decided == 0 && column.whole_ > 0 && column.zeros_ > 0 && column.eithers_ >= enough) {
    const bool is_point = column.either_.find('.') != column.either_.npos;
    decided = column.eithers_, (is_point ? commas_ : points_) += decided;
    (is_point ? grouped_by_point_ : grouped_by_comma_) = is_point ? '.' : ',', grouped_ = column.either_;
  }
  if (column.grouped_by_comma_ != '\0') grouped_by_comma_ = ',';
  if (column.grouped_by_point_ != '\0') grouped_by_point_ = '.';
  has_decimal_commas_ = has_decimal_commas_ || column.has_decimal_commas_;
  if (grouped_.empty()) grouped_ = column.grouped_;
  const bool doubtful = decided == 0 && column.whole_ > 0 && !column.either_.empty();
  if (either_.empty() || (doubtful && !doubtful_)) either_ = column.either_;
  doubtful_ = doubtful_ || doubtful;
}

void MarkFinder::add(std::string_view cell) {
  if (says_missing(cell)) return;
  if (cell.find_first_of(".,") == std::string_view::npos)
    return void(++(written_number(cell, {}) ? whole_ : others_));
  const auto as = [&](char decimal, char thousands) {
    return written_number(cell, {decimal, thousands}).has_value();
  };
  const bool point = as('.', '\0'), comma = as(',', '\0'), by_comma = !point && as('.', ','),
             by_point = !comma && as(',', '.');
  if (by_comma) grouped_by_comma_ = ',';
  if (by_point) grouped_by_point_ = '.';
  if ((by_comma || by_point) && grouped_.empty()) grouped_ = cell;
  const bool with_point = point || by_comma, with_comma = comma || by_point;
  has_decimal_commas_ = has_decimal_commas_ || (comma && !with_point);
  points_ += with_point && !with_comma, commas_ += with_comma && !with_point;
  others_ += !with_point && !with_comma;
  if (with_point && with_comma && ++eithers_ == 1) either_ = cell;
  zeros_ += with_point && with_comma && cell.ends_with('0');
}

std::optional<char> MarkFinder::decimal(char separator) const {
  const char most = points_ > commas_ ? '.' : ',';
  const bool in_doubt = doubtful_ && separator != ',' && either_.find(most) != either_.npos;
  if (points_ != commas_ && !in_doubt) return most;
  if (separator == ',' || either_.empty()) return '.';
  return std::nullopt;
}

void NumberOrder::add(std::optional<double> number) {
  if (!number) ascends_ = descends_ = false;
  if (!ascends_ && !descends_) return;
  const double step = *number - last_;
  if (++count_ > 1) ascends_ = ascends_ && step > 0, descends_ = descends_ && step < 0;
  if (count_ == 2) step_ = step;
  constexpr double rounding = 0.05;  // allows for thirds written as 0.33, 0.67
  if (count_ > 2) even_ = even_ && std::abs(step - step_) <= rounding * std::abs(step_);
  whole_ = whole_ && *number == std::floor(*number);
  last_ = *number;
}

std::string NumberOrder::described() const {
  constexpr int64_t least = 8;
  if (count_ < least || ascends_ == descends_ || !(whole_ || even_)) return "";
  const char* const order = ascends_ ? "ascend" : "descend";
  return whole_ ? fmt::format("whole numbers that {}", order)
                : fmt::format("numbers that {} by equal steps", order);
}

}  // namespace unroll
