// The cells of a CSV file: how it is split, and numbers as most are written.
#include <bit>
#include <cmath>

#include "data/csv.h"
#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/series_columns.h"
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

TEST_CASE("numbers are read as people write them: with a unit, in parentheses, in groups of three digits") {
  const NumberMarks english{.decimal = '.', .thousands = ','}, german{.decimal = ',', .thousands = '.'};
  struct Case {
    std::string_view cell;
    NumberMarks marks;
    double value;
    std::string_view unit;
  };
  for (const auto& [cell, marks, value, unit] : {Case{"$1,234.50", english, 1234.5, "$"},
                                                 {"1.234,50 €", german, 1234.5, "€"},
                                                 {"1,234", english, 1234, ""},
                                                 {"1,234", {.decimal = ','}, 1.234, ""},
                                                 {"-1,234,567", english, -1234567, ""},
                                                 {"12,34,567.5", english, 1234567.5, ""},
                                                 {"1,23,456", english, 123456, ""},
                                                 {"1,234.50-", english, -1234.5, ""},
                                                 {"R$ 1,234.50", english, 1234.5, "R$"},
                                                 {"US$5", english, 5, "US$"},
                                                 {"12 kr", english, 12, "kr"},
                                                 {"12.5 %", {}, 12.5, "%"},
                                                 {"12,5%", german, 12.5, "%"},
                                                 {"(12)", {}, -12, ""},
                                                 {"($1,234.50)", english, -1234.5, "$"},
                                                 {"$ (5)", {}, -5, "$"},
                                                 {"-€20", {}, -20, "€"},
                                                 {"€-20", {}, -20, "€"},
                                                 {"−3", {}, -3, ""},
                                                 {"1 234", {}, 1234, ""},
                                                 {"1\u00a0234,5", german, 1234.5, ""},
                                                 {"1\u202f234\u202f567", {}, 1234567, ""},
                                                 {"1'234.5", {}, 1234.5, ""}}) {
    CAPTURE(cell);
    const auto number = written_number(cell, marks);
    REQUIRE(number);
    CHECK(number->value == value);
    CHECK(number->unit == unit);
  }
  for (const std::string cell :
       {"",      "-",    "None",      "$",          "()",           "1,23", "1,2345", "12 34 567",
        "0,123", ",123", "1,234 567", "123,45,678", "1,234,56,789", "$5€",  "5 kW",   "-(5)",
        "(-5)",  "1 23", "1,234.5.6", "2017-03-31", "1/2",          "$NaN"})
    CHECK_MESSAGE(!written_number(cell, english), cell);
  CHECK(!written_number("1,234", {}));  // nobody has said what the comma means
}

TEST_CASE("all cells of a file say which mark stands before the decimals, and else what separates them") {
  const auto found = [](const std::vector<std::string>& cells, char separator) {
    MarkFinder finder;
    for (const std::string& cell : cells) finder.add(cell);
    const auto decimal = finder.decimal(separator);
    if (!decimal) return "'" + finder.either() + "' may be either";
    const char thousands = finder.thousands(*decimal);
    return std::string(1, *decimal) + (thousands == '\0' ? "" : std::string(1, thousands));
  };
  CHECK(found({"950", "1,495"}, ',') == ".,");
  CHECK(found({"950", "1,495"}, ';') == "'1,495' may be either");
  CHECK(found({"950", "1.495"}, ';') == "'1.495' may be either");
  CHECK(found({"950", "1.495"}, ',') == ".");
  CHECK(found({"1,495", "0,5"}, ';') == ",");
  CHECK(found({"1,495", "0,5"}, ',') == ",");
  CHECK(found({"1,495", "0.5"}, ';') == ".,");
  CHECK(found({"1.495", "$1.234,50"}, ';') == ",.");
  CHECK(found({"1,495", "1,234,567"}, ';') == ".,");
  CHECK(found({"12,5 %", "1.495"}, '\t') == ",.");
  CHECK(found({"1", "words, and 1.2.2020"}, ';') == ".");
}

TEST_CASE(
    "other columns decide on a column's mark if they hold numbers, but not for decimals beside whole numbers") {
  const auto found = [](const std::vector<std::vector<std::string>>& columns, char separator) {
    MarkFinder all;
    for (const auto& cells : columns) {
      MarkFinder column;
      for (const std::string& cell : cells) column.add(cell);
      all.join(column);
    }
    const auto decimal = all.decimal(separator);
    return decimal ? std::string(1, *decimal) : "'" + all.either() + "' may be either";
  };
  CHECK(found({{"1.10", "1.11"}, {"950", "1.495"}}, ';') == "'1.495' may be either");
  CHECK(found({{"1.10", "1.11"}, {"950", "1.495"}}, ',') == ".");
  CHECK(found({{"1,10", "1,11"}, {"950", "1,495"}}, ';') == "'1,495' may be either");
  CHECK(found({{"1,10", "1,11"}, {"950", "1.495"}}, ';') == ",");  // groups
  CHECK(found({{"1.10", "1.11"}, {"2.950", "1.495"}}, ';') == ".");
  CHECK(found({{"1.10", "1.11"}, {"950", "1.495", "0.5"}}, ';') == ".");
  CHECK(found({{"2.5", "none", "some"}, {"2.950", "1.495"}}, ';') == "'2.950' may be either");
}

TEST_CASE("numbers in order may be times: whole ones, or others by equal steps") {
  const auto described = [](auto number) {
    NumberOrder order;
    for (int i = 0; i < 8; ++i) order.add(number(i));
    return order.described();
  };
  CHECK(described([](int i) { return i * i; }) == "whole numbers that ascend");
  CHECK(described([](int i) { return -i; }) == "whole numbers that descend");
  CHECK(described([](int i) { return i * 0.5; }) == "numbers that ascend by equal steps");
  CHECK(described([](int i) { return std::round(i * 100 / 3.0) / 100; }) ==
        "numbers that ascend by equal steps");
  CHECK(described([](int i) { return i * 0.5 + i * i; }) == "");
  CHECK(described([](int i) { return i % 7; }) == "");
}

TEST_CASE("a cell says that its value is missing by each word for that, in letters of either case") {
  for (const std::string cell :
       {"",     "NA",   "N/A", "n.a.", "k.A.", "K.A.", "#N/A", "#n/a", "#NV", "NaN", "nan",
        "NULL", "null", "?",   ".",    "..",   "...",  "…",    ":",    "-",   "–"})
    CHECK_MESSAGE(says_missing(cell), cell);
  for (const std::string cell :
       {"0", "0.0", "--", "none", "nil", "na na", "x", "::", "....", "N/A*", "-1", "??"})
    CHECK_MESSAGE(!says_missing(cell), cell);
}

TEST_CASE("each unit stands before or behind its number, and beside a dash that is 0") {
  for (const std::string unit :
       {"$", "€", "£", "¥", "₹", "R$", "US$", "CHF", "EUR", "USD", "GBP", "kr", "zł", "Kč", "Ft", "₽"}) {
    for (const std::string& cell :
         {unit + "1’234.5", "1 234.5 " + unit, "1234.5" + unit, "+" + unit + "1234.5"}) {
      CAPTURE(cell);
      const auto number = written_number(cell, {});
      REQUIRE(number);
      CHECK(number->value == 1234.5);
      CHECK(number->unit == unit);
    }
    const auto zero = written_number(" -   " + unit + " ", {});
    REQUIRE_MESSAGE(zero, unit);
    CHECK((zero->value == 0 && zero->unit == unit));
    CHECK(written_number("(" + unit + "5)", {}).value().value == -5);
  }
  CHECK(!written_number("- %", {}));
}

TEST_CASE("units of one kind are so many of each other, and those of two kinds are none") {
  struct Kind {
    std::vector<std::pair<const char*, double>> sizes;
  };
  for (const auto& [sizes] :
       {Kind{{{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776}}},
        Kind{{{"B", 1}, {"kB", 1000}, {"KB", 1000}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}},
        Kind{{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60}}},
        Kind{{{"", 1}, {"K", 1000}, {"k", 1000}, {"Mil", 1e6}, {"M", 1e6}, {"Bil", 1e9}}}})
    for (const auto& [name, size] : sizes) {
      if (name == std::string(sizes[0].first)) continue;
      const auto found = unit_sizes({sizes[0].first, name});
      REQUIRE_MESSAGE(found.size() == 2, name);
      CHECK_MESSAGE(found.at(name) / found.at(sizes[0].first) == doctest::Approx(size), name);
    }
  CHECK(unit_sizes({"KiB", "kB"}).empty());
  CHECK(unit_sizes({"ms", "MiB"}).empty());
  CHECK(unit_sizes({"kWh"}).at("kWh") == 1);
}

TEST_CASE("what stands beside a number and says how sure it is, is no part of it; a unit is") {
  for (const std::string cell : {"12 (p)",
                                 "12*",
                                 "12†",
                                 "12‡",
                                 "12¹",
                                 "12**",
                                 "12 p",
                                 "12 r",
                                 "12 e",
                                 "12 b",
                                 "12p",
                                 "12r",
                                 "p 12",
                                 "r 12",
                                 "12 (r)",
                                 "12 [e]",
                                 "12 (prelim.)",
                                 "12 (Provisional)",
                                 "12 (estimated)",
                                 "12 (revised)",
                                 "12 (vorläufig)",
                                 "12 (geschätzt)",
                                 "12 1)"})
    CHECK_MESSAGE(without_mark(cell) == "12", cell);
  for (const std::string cell : {"12", "12 m", "12 (tons)", "(12)", "e 12", "12 x", "1:30p", "kWh"})
    CHECK_MESSAGE(without_mark(cell) == cell, cell);
  for (const std::string cell : {"<12", "< 12", ">12", ">  12"})
    CHECK_MESSAGE(without_limit(cell) == "12", cell);
  for (const std::string cell : {"<x", "<", "12", "<-12", "=12"})
    CHECK_MESSAGE(without_limit(cell) == cell, cell);
}

TEST_CASE("an interval of time begins with its first time, whichever dash stands between") {
  const auto begins = [](const std::string& cell, const std::string& begin) {
    const auto found = begin_of_interval(cell);
    REQUIRE_MESSAGE(found, cell);
    CHECK_MESSAGE(*found == begin, cell);
  };
  for (const std::string cell : {"07:00-08:00", "07:00 - 08:00", "07:00–08:00", "07:00 – 08:00"})
    begins(cell, "07:00");
  begins("2021-03-04 07:00–08:00", "2021-03-04 07:00"),
      begins("3/4/2021 7:00 AM - 8:00 AM", "3/4/2021 7:00 AM");
  begins("2021-03-04 07:00 - 2021-03-04 08:00", "2021-03-04 07:00"),
      begins("2021-03-04 – 2021-03-05", "2021-03-04");
  for (const std::string cell : {"2021-03-04", "07:00", "5-6", "07:00-x", "x - 08:00", "2021-03-04 - 5"})
    CHECK_MESSAGE(!begin_of_interval(cell), cell);
}
