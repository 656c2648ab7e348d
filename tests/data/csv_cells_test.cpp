// The cells of a CSV file: how it is split, and numbers as most are written.
#include <bit>
#include <cmath>

#include "data/series/cells.h"
#include "data/series/csv.h"
#include "framework/random.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Views = std::vector<std::string_view>;

// Cells with a bar after each, rows with a slash.
std::string cells_of(std::string_view text, char separator = ',') {
  CsvReader csv(text, "x.csv", separator);
  std::string all;
  while (csv.next()) {
    for (const std::string_view cell : csv.cells()) (all += cell) += "|";
    all += "/";
  }
  return all;
}

std::string refusal(std::string_view text) {
  return input_error_of([&] { cells_of(text); });
}

}  // namespace

TEST_CASE("cells, quotes, line ends and a byte-order mark are read as RFC 4180 has them") {
  CHECK(cells_of("a,b\n1,2\n") == "a|b|/1|2|/");
  CHECK(cells_of("a,b\r\n1,2\r\n") == "a|b|/1|2|/");
  CHECK(cells_of("\xef\xbb\xbf"
                 "a,b\n1,2") == "a|b|/1|2|/");
  CHECK(cells_of("\"a,b\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"\"\n") == "a,b|say \"hi\"|/two\nlines||/");
  CHECK(cells_of(" a , \"b\" ,c d\n") == "a|b|c d|/");
  CHECK(cells_of("a,,\n,b,\n") == "a|||/|b||/");
  CHECK(cells_of("a;b,c\n", ';') == "a|b,c|/");
  CHECK(cells_of("a\tb c\t\n1\t2\t3\n", '\t') == "a|b c||/1|2|3|/");
  CHECK(cells_of("é,\xf0\x9d\x84\x9e\n") == "é|\xf0\x9d\x84\x9e|/");
  CHECK(cells_of("a\n\n1\n \n\r\n\n") == "a|/|/1|/");  // empty lines at the end do not count
}

TEST_CASE("a row knows its line, also below a cell of several lines") {
  CsvReader csv("a,b\n\"1\n2\",3\r\n4,5\n", "x.csv");
  std::vector<int64_t> lines;
  while (csv.next()) lines.push_back(csv.line());
  CHECK(lines == std::vector<int64_t>{1, 2, 4});
}

TEST_CASE("a copy of a reader keeps its row, also the cells with quotes in them, when the first reads on") {
  CsvReader csv("\"say \"\"hi\"\"\",b\n\"\"\"\",c\n", "x.csv");
  csv.next();
  const CsvReader copy = csv;
  csv.next();
  CHECK(copy.cells() == Views{"say \"hi\"", "b"});
  CHECK(csv.cells() == Views{"\"", "c"});
  CHECK(csv.lines() == 2);
}

TEST_CASE("numbers as most are written are the same double as any reading of them gives") {
  for (const char* text : {"0",
                           "-0",
                           "7",
                           "-7",
                           "007",
                           "1.5",
                           "-1.5",
                           ".5",
                           "5.",
                           "100.1234",
                           "0.1",
                           "0.3",
                           "123456789012345",
                           "12345678901234.5",
                           "0.00000000000001",
                           "99999999999.9999",
                           "-273.15",
                           "1e5",
                           "1234567890123456",
                           "0.1234567890123456",
                           "",
                           "-",
                           ".",
                           "-.",
                           "1.2.3",
                           "1-2",
                           "+1",
                           " 1",
                           "nan",
                           "inf",
                           "0x1"}) {
    const auto plain = plain_decimal(text, '.'), any = parse_number(text);
    CAPTURE(text);
    if (plain) {
      REQUIRE(any);
      CHECK(std::bit_cast<uint64_t>(*plain) == std::bit_cast<uint64_t>(*any));
    }
  }
  CHECK(plain_decimal("100.1234", '.') == 100.1234);
  CHECK(plain_decimal("100,1234", ',') == 100.1234);
  CHECK_FALSE(plain_decimal("100.1234", ','));
  CHECK_FALSE(plain_decimal("1234567890123456", '.'));
  RandomStream random(5, "numbers");
  for (int i = 0; i < 2000; ++i) {
    const std::string text = fmt::format("{:.{}f}", (random.uniform() - 0.5) * std::pow(10, i % 9), i % 6);
    const auto plain = plain_decimal(text, '.');
    REQUIRE_MESSAGE(plain, text);
    CHECK(*plain == std::strtod(text.c_str(), nullptr));
  }
}

TEST_CASE("a row knows which of its cells stand in quotes") {
  CsvReader csv("a, \"b\" ,\"\",\n\"1\"\n", "x.csv");
  csv.next();
  CHECK(csv.quoted() == std::vector<bool>{false, true, true, false});
  csv.next();
  CHECK(csv.quoted() == std::vector<bool>{true});
}

TEST_CASE("what is no CSV is refused with line and column") {
  CHECK(lacks(refusal("a,b\n1,\"2\n3,4\n"), {"x.csv:2: column 2", "not closed"}) == "");
  CHECK(lacks(refusal("a,b\n1,\"2\"3\n"), {"x.csv:2: column 2", "after a closing quote"}) == "");
  CHECK(lacks(refusal("a,b\n1,2\"3\n"), {"x.csv:2: column 2", "a quote inside '2\"3'"}) == "");
  CHECK(lacks(refusal("a,b\n1,\xff\n"), {"x.csv:2", "UTF-8", "0xff"}) == "");
  CHECK(lacks(refusal(std::string_view("a,b\n1,\0\n", 8)), {"x.csv:2", "UTF-8"}) == "");
  CHECK(lacks(refusal(std::string_view("\xff\xfe"
                                       "a\0,\0",
                                       6)),
              {"x.csv", "UTF-16"}) == "");
}
