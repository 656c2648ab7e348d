// See encoding.h.
#include "examples/timeseries/files/encoding.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>
#include <iconv.h>

#include "data/file_marks.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

namespace {

struct Decoded {
  std::string text;       // as far as it could be read
  std::size_t bytes = 0;  // of the source that are read
  bool is_cut = false;    // it ends within a character
};

// A text as UTF-8, from an encoding by its name of iconv(3).
Decoded decoded(std::string_view source, const char* encoding) {
  Decoded result;
  iconv_t const converter = iconv_open("UTF-8", encoding);
  // NOLINTNEXTLINE: what iconv_open returns for an encoding that this system does not have
  if (converter == reinterpret_cast<iconv_t>(-1)) return result;
  char* in = const_cast<char*>(source.data());  // iconv does not write to it
  std::size_t in_left = source.size();
  for (bool is_full = true; is_full;) {
    char buffer[1 << 16], *out = buffer;
    std::size_t out_left = sizeof buffer;
    const bool failed = iconv(converter, &in, &in_left, &out, &out_left) == std::size_t(-1);
    is_full = failed && errno == E2BIG, result.is_cut = failed && errno == EINVAL;
    result.text.append(buffer, out);
  }
  iconv_close(converter);
  result.bytes = source.size() - in_left;
  return result;
}

std::string from_utf16(std::string_view text, const std::string& origin) {
  Decoded utf8 = decoded(text, "UTF-16");
  require_input(utf8.bytes == text.size(), "{}:{}: the file is UTF-16, and {}: save it anew, as UTF-8",
                origin, 1 + std::count(utf8.text.begin(), utf8.text.end(), '\n'),
                utf8.is_cut && text.size() - utf8.bytes < 2 ? "ends within a character"
                                                            : "half of a character stands there");
  return std::move(utf8.text);
}

// An encoding, and the characters by which its tables are known: of dates, amounts and sums.
struct Encoding {
  const char *name, *called;
  std::string_view frequent;
};
constexpr Encoding western = {"CP1252", "Windows-1252", ""}, central = {"CP1250", "Windows-1250", ""};
constexpr Encoding of_pairs[] = {
    {"CP932", "Shift JIS", "年月日円計売上高数量人件気温時分曜合県市区のるをはがとしンーアイスルトラリ"},
    {"GB18030", "GBK", "年月日期时间数量额合计元销售入出人个季周度的金万亿地区省市值名称"},
    {"BIG5", "Big5", "年月日期時間數量額合計元銷售入出人個季週度的金萬億地區縣市值名稱"},
    {"CP949", "Korea's code page", "년월일시분기간계합수량액명구전국지역연도별매출인금단위원"}};
constexpr Encoding of_letters[] = {{"CP1251", "Windows-1251", "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэф"},
                                   {"CP1253", "Windows-1253", "αβγδεζηθικλμνξοπρςστυφχψωάέήίόύώ"},
                                   {"CP874", "Thailand's code page", "กขคงจชญณดตถทธนบปผพภมยรลวศษสหอฮะาิีึืุู่้เแโไ"}};

// The share of the characters beyond ASCII that are among those.
double share_of(std::string_view utf8, std::string_view frequent) {
  std::size_t all = 0, known = 0;
  for (std::size_t i = 0, size = 1; i < utf8.size(); i += size, size = 1) {
    const auto first = static_cast<uint8_t>(utf8[i]);
    if (first < 0x80) continue;
    size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (utf8.substr(i, size) == "\u00a0") continue;  // stands between digits
    ++all, known += frequent.find(utf8.substr(i, size)) != frequent.npos;
  }
  return all == 0 ? 0 : static_cast<double>(known) / static_cast<double>(all);
}

// The share of bytes beyond ASCII that stand three and more together: words without Latin letters.
double share_in_words(std::string_view text) {
  std::size_t all = 0, in_words = 0, run = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && static_cast<uint8_t>(text[i]) >= 0x80 && static_cast<uint8_t>(text[i]) != 0xa0) {
      ++run;
      continue;
    }
    all += run, in_words += run > 2 ? run : 0, run = 0;
  }
  return all == 0 ? 0 : static_cast<double>(in_words) / static_cast<double>(all);
}

// Whether letters of Poland stand where Western text has signs: ¹, ³, ¿ or Ÿ behind a letter, or œ that no letter of the alphabet follows.
bool has_polish_letters(std::string_view text) {
  const auto is_letter = [&](std::size_t at) {
    const char c = at < text.size() ? text[at] : ' ';
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<uint8_t>(c) >= 0xc0;
  };
  std::size_t signs = 0, letters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<uint8_t>(text[i]);
    const bool is_sign = c == 0xb9 || c == 0xb3 || c == 0xbf || c == 0x9c || c == 0x9f;
    const bool is_cube = c == 0xb3 && i > 0 && text[i - 1] == 'm' && !is_letter(i + 1);
    letters += c >= 0x80;
    signs += is_sign && !is_cube && (i > 0 && is_letter(i - 1)) &&
             (c != 0x9c || !is_letter(i + 1) || static_cast<uint8_t>(text[i + 1]) >= 0x80);
  }
  return 6 * signs > letters;
}

// Judged by the first rows. One whose letters are its language's is taken; none: the Western one.
Encoding encoding_of(std::string_view text) {
  constexpr std::size_t most = 1 << 16;
  constexpr double least_of_pairs = 0.15, least_of_letters = 0.6;
  if (text.size() > most) text = text.substr(0, text.rfind('\n', most) + 1);
  Encoding best = western;
  double best_share = 0;
  const auto judge = [&](const Encoding& encoding, double least) {
    const Decoded utf8 = decoded(text, encoding.name);
    const double share = utf8.bytes == text.size() ? share_of(utf8.text, encoding.frequent) : 0;
    if (share >= least && share > best_share) best = encoding, best_share = share;
  };
  for (const Encoding& encoding : of_pairs) judge(encoding, least_of_pairs);
  if (best_share == 0 && share_in_words(text) > 0.5)
    for (const Encoding& encoding : of_letters) judge(encoding, least_of_letters);
  if (best_share == 0 && has_polish_letters(text)) return central;
  return best;
}

}  // namespace

std::string as_utf8(std::string text, const std::string& origin, std::vector<std::string>& done) {
  if (is_utf16(text)) {
    done.emplace_back("the file is UTF-16, and is read so");
    return from_utf16(text, origin);
  }
  const std::size_t first = utf8_size(text);
  if (first >= text.size() || text.find('\0') != text.npos) return text;  // NUL is refused
  const Encoding encoding = encoding_of(text);
  Decoded utf8 = decoded(text, encoding.name);
  if (utf8.bytes < text.size()) return text;
  const int64_t line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(first), '\n');
  done.push_back(fmt::format(
      "the file is not UTF-8 (line {}) and is read as {}: where names have wrong letters, save it as UTF-8",
      line, encoding.called));
  return std::move(utf8.text);
}

}  // namespace unroll
