// The header of a series' file: names, columns without one, row numbers, and parts of times.
#include <array>

#include "data/csv.h"
#include "examples/timeseries/files/series_columns.h"
#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/series.h"
#include "tests/data_files.h"
#include "tests/series/mended.h"
#include "tests/series/parse.h"
#include "tests/support.h"

using namespace series_text;
using namespace unroll;
using Names = std::vector<std::string>;
using Values = std::vector<double>;

TEST_CASE("names must be there, and different") {
  CHECK(refusal("a,b,a\n1,2,3\n") == "x.csv:1: column 3 is named 'a', as column 1 is");
  CHECK(refusal("a,b,\n1,2,\n3,4,5\n") ==
        "x.csv:1: column 3 has no name: name it, or delete it if it is empty");
  CHECK(parse("a,b,\n1,2,\n3,4,\n", {.channels = {"b"}}).values == Values{2, 4});  // it is empty
  // A name is printed in many places: none of them may be broken by it.
  const std::string two_lines = "a,\"b\n(kW)\"\n1,2\n";
  CHECK(lacks(refusal(two_lines), {"x.csv:1: column 2", "control character", "'b?(kW)'"}) == "");
  CHECK(parse(two_lines, {.channels = {"a"}}).values == Values{1});
  CHECK(lacks(refusal("\"\x01\"\n1\n", {.time = "t"}), {"no column 't'; did you mean '?'?"}) ==
        "");  // found by fuzzing
}

TEST_CASE("a first column without a name numbers the rows, and is left out with a note") {
  const Series shorter =
      parse("\"date\",\"x\"\n\"140\",\"2015-02-02 14:19:00\",1\n\"141\",\"2015-02-02 14:20:00\",2\n");
  CHECK(shorter.channels == Names{"x"});
  CHECK(shorter.values == Values{1, 2});
  CHECK(shorter.times.text(1) == "2015-02-02 14:20:00");
  REQUIRE(shorter.notes.size() == 1);
  CHECK(lacks(shorter.notes[0], {"first column", "left out"}) == "");
  const Series unnamed = parse(",x\n0,5\n1,6\n");
  CHECK(unnamed.channels == Names{"x"});
  CHECK(unnamed.values == Values{5, 6});
  CHECK(unnamed.notes.size() == 1);
  CHECK(refusal("a,b\n0,1,2\n1,3\n") == "x.csv:3: column 3 is missing; the row has 2 cells, the header 3");
  CHECK(lacks(refusal(",x\n0,5\n1,q\n"), {"x.csv:3: column 2 ('x')"}) == "");  // columns as the file has them
}

TEST_CASE("what stands below no name must number the rows: values there would be lost") {
  const auto said = [](int line, const std::string& cell) {
    return fmt::format("x.csv:{}: the first column has no name, and '{}' is no row number", line, cell);
  };
  CHECK(refusal("temp,load\n20.5,1000,7\n") == said(2, "20.5"));
  CHECK(refusal(",x\n0,5\n1.5,6\n") == said(3, "1.5"));
  CHECK(refusal(",x\n0,5\n,6\n") == said(3, ""));
  CHECK(refusal("\"\",\"x\"\n\"Oslo\",5\n") == said(2, "Oslo"));
  CHECK(refusal(",x\n0,5\nz\n2,6\n")
            .starts_with("x.csv:3: column 2 is missing; the row has 1 cell, the header 2; if line 3"));
  CHECK(refusal(",x\n0,5\n1,6\n1,7\n") == said(4, "1") + ": it comes after 1");
  CHECK(refusal(",x\n7,5\n3,6\n") == said(3, "3") + ": it comes after 7");
  CHECK(refusal(",x\nFY20/21,5\n") ==
        said(2, "FY20/21") + "; if it is a time, these forms are read: " + forms_of_time);
  CHECK(
      refusal(",x\n31/01/20,5\n") ==
      "x.csv:2: column 1 ('time'): '31/01/20' has a year of two digits, and no row tells which number it is: write the "
      "years with four; data.date_order = \"dmy\" says that they stand last");
  CHECK(parse(",x\n-1,5\n0,6\n8,7\n").values == Values{5, 6, 7});  // a part of a table keeps its numbers
}

TEST_CASE("a separator at the end of the rows alone does not shift the columns") {
  const std::string said =
      "the row ends with a separator and the header does not: the row has 3 cells, the header 2";
  CHECK(refusal("temp,load\n20.5,1000,\n20.7,1001,\n") == "x.csv:2: " + said);
  CHECK(refusal("date,load\n2020-01-01,1000,\n") == "x.csv:2: " + said);
  CHECK(refusal("id;load\n1;1000;\n2;1001;\n", {.separator = ';'}) == "x.csv:2: " + said);
  CHECK(refusal(",load\n1,1000,\n") == "x.csv:2: " + said);
  CHECK(parse("temp,load,\n20.5,1000,\n", {.channels = {"load"}}).values == Values{1000});
  // A cell that is empty in quotes is there: the column of row numbers is what the header lacks.
  CHECK(lacks(refusal("\"a\",\"b\"\n\"1\",5,\"\"\n"), {"x.csv:2: column 3 ('b')", "a value is missing"}) ==
        "");
}

TEST_CASE("dates in a first column without a name are the time") {
  for (const std::string text :
       {",value\n2020-01-01,0\n2020-01-02,5\n", "value\n2020-01-01,0\n2020-01-02,5\n",
        "\"\",\"value\"\n\"2020-01-01\",0\n\"2020-01-02\",5\n"}) {
    CAPTURE(text);
    for (const std::string time : {"", "time"}) {
      const Series series = parse(text, {.time = time});
      CHECK(series.channels == Names{"value"});
      CHECK(series.values == Values{0, 5});
      CHECK(series.times.form == TimeForm::date);
      CHECK(series.times.text(2) == "2020-01-03");
      CHECK(series.notes == Names{"the first column has no name: it holds dates, and is called 'time'"});
    }
  }
  CHECK(parse(",0\n2020-01-01,5\n").channels == Names{"0"});  // as pandas writes a series without a name
  CHECK(refusal(",x\n2020-01-02,0\n2020-01-03,0\n2020-01-01,5\n") ==
        "x.csv:4: column 1 ('time'): 2020-01-01 comes after 2020-01-03: rows must be in order of time");
  CHECK(lacks(refusal(",x\n2020-01-02,0\n2,5\n"), {"x.csv:3: column 1 ('time')", "another form of time"}) ==
        "");
  CHECK(lacks(refusal(",x\n2020-01-02,q\n"), {"x.csv:2: column 2 ('x')"}) == "");
  for (const std::string header : {",x,time", "x,time"})
    CHECK(
        refusal(header + "\n2020-01-02,5,1\n") ==
        "x.csv:1: the first column holds dates and has no name; it cannot be called 'time', since another is");
  // Other times that the user names go before.
  CHECK(parse(",stamp,x\n2020-01-01,7,5\n", {.time = "stamp", .channels = {"x"}}).times.text(0) == "7");
}

TEST_CASE("a file without a header is refused: its first row would be lost") {
  CHECK(refusal("10.000\n11\n12\n") ==
        "x.csv:1: the first line must name the columns; '10.000' is a value, as are all in it; if they are "
        "names, naming one in data.channels says so");
  CHECK(refusal("1\n2\n", {.channels = {"x"}, .model = "best.safetensors"}) ==
        "x.csv:1: the first line must name the columns; '1' is a value, as are all in it");
  for (const std::string text :
       {"1,2\n3,4\n", "10,10\n11,10\n", "2020-01-01,5\n2020-01-02,6\n", "2020-01,5\n2020-02,6\n",
        "2020-01-01 14:05,-5e3\n2020-01-01 14:06,6\n", "01/31/2020,+5\n02/28/2020,6\n", "1,2\n"})
    CHECK_MESSAGE(lacks(refusal(text), {"x.csv:1: the first line must name the columns"}) == "", text);
  CHECK(lacks(refusal("5,0\n6,1\n", {.label = "on"}), {"must name the columns"}) == "");
  // A cell that says that it is missing is a value too.
  for (const std::string missing : {"NA", "N/A", "nan", "null", "?", "\"?\""}) {
    CHECK(lacks(refusal(missing + ",5.1,3.2\n5,5.2,3.3\n"), {"x.csv:1: the first line must name"}) == "");
    CHECK(lacks(refusal(missing + "\n5\n"), {"x.csv:1: the first line must name"}) == "");
    CHECK(lacks(refusal("," + missing + ",3.2\n1,5.2,3.3\n"), {"x.csv:1: the first line must name"}) == "");
  }
  CHECK(parse("t,NA\n1,5\n").channels == Names{"t", "NA"});
  CHECK(parse("Na\n5\n", {.channels = {"Na"}}).values == Values{5});  // sodium
  // Nor does a first cell that is missing make a header of it.
  for (const std::string text : {",5.1,3.2\n1,5.2,3.3\n2,5.3,3.4\n", ",5,3\n1,5,3\n",
                                 ",5.1\n2020-01-02,5.2\n", "5.1,3.2\n1,5.2,3.3\n"})
    CHECK_MESSAGE(lacks(refusal(text), {"x.csv:1: the first line must name the columns; '5"}) == "", text);
  // One name is enough, as is one that the user names, and columns that are counted, beside row numbers.
  CHECK(parse("a,2\n3,4\n").channels == Names{"a", "2"});
  CHECK(parse("date,2019,2020\n2020-01-01,1,2\n").channels == Names{"2019", "2020"});
  CHECK(parse("may,june\n1,2\n").channels == Names{"may", "june"});
  CHECK(parse("1,2\n3,4\n", {.channels = {"2"}}).channels == Names{"2"});
  CHECK(parse("1,2\n3,0\n", {.label = "2"}).channels == Names{"1", "2"});
  CHECK(parse(",0,1\n0,5,6\n").channels == Names{"0", "1"});
  CHECK(parse("0,1\n0,5,6\n").channels == Names{"0", "1"});
  CHECK(parse("\"\",\"1\",\"2\"\n\"1\",5,6\n").channels == Names{"1", "2"});
  CHECK(parse(",2019,2020\n2020-01-01,5,6\n", {.channels = {"2020"}}).values == Values{6});
}

TEST_CASE("numbers in quotes above numbers without are names") {
  const Series series = parse("\"1\",\"2\",\"3\"\n5,6,7\n8,9,10\n");  // as R writes them
  CHECK(series.channels == Names{"1", "2", "3"});
  CHECK(series.values == Values{5, 6, 7, 8, 9, 10});
  CHECK(parse("\"2019\",\"2020\"\n\"5\",6\n").channels == Names{"2019", "2020"});
  CHECK(parse("\"\",\"2019\",\"2020\"\n\"1\",5,6\n").channels == Names{"2019", "2020"});
  CHECK(parse("\"2019\",\"2020\"\n\"1\",5,6\n").channels == Names{"2019", "2020"});
  // It cannot be told if all is quoted, or nothing, or no number stands below.
  for (const std::string text :
       {"\"1\",\"2\"\n\"5\",\"6\"\n", "\"1\",\"2\"\n\"5\",NA\n", "\"1\",\"2\"\n,\n", "\"1\",2\n\"5\",6\n",
        "1,2\n5,6\n", "1,2\n\"5\",\"6\"\n", "\"1\",\"2\"\n", "\"2019\",\"2020\"\n1,\"5\",\"6\"\n"}) {
    CHECK_MESSAGE(
        lacks(refusal(text), {"x.csv:1: the first line must name", "naming one in data.channels"}) == "",
        text);
  }
  CHECK(parse("\"1\",\"2\"\n\"5\",\"6\"\n", {.channels = {"1", "2"}}).values == Values{5, 6});
  CHECK(parse("1,2\n5,6\n", {.known = {"x", "2"}}).channels == Names{"1", "2"});
  CHECK(lacks(refusal("1,2\n5,6\n", {.known = {"x"}}), {"must name the columns"}) == "");
}

namespace {

std::string of_years(const std::string& names, int count, const char* form, int parts) {
  return series_mended::rows(names, count, [=](int row) {
    return fmt::format(fmt::runtime(form), 2014 + row / parts, row % parts + 1, 10 + row % 7);
  });
}

}  // namespace

TEST_CASE("tables of years by quarters or months are turned, from the first value on") {
  using namespace series_mended;
  const auto cell = [](int year, int part, int first) {
    return 4 * year + part < first ? "" : std::to_string(10 + (4 * year + part) % 7);
  };
  for (const int first : {0, 2}) {
    std::string down = "Year,Q1,Q2,Q3,Q4,Total,Mean\n", across = "Part,2014,2015,2016,2017,2018,2019,Total\n",
                plain = "time,value\n";
    for (int year = 0; year < 6; ++year) {
      down += std::to_string(2014 + year);
      for (int part = 0; part < 4; ++part) down += "," + cell(year, part, first);
      down += ",150,12\n";
    }
    for (int part = 0; part < 4; ++part) {
      across += fmt::format("Q{}", part + 1);
      for (int year = 0; year < 6; ++year) across += "," + cell(year, part, first);
      across += ",99\n";
    }
    for (int k = first; k < 24; ++k) plain += fmt::format("{} Q{},{}\n", 2014 + k / 4, k % 4 + 1, 10 + k % 7);
    const auto note = [](const char* left_out) {
      return fmt::format("each quarter of a year is read as a row of its own; {} left out{}", left_out,
                         counted);
    };
    check_mended(down, plain, {}, {note("columns 'Total', 'Mean' are")});
    check_mended(across, plain, {}, {note("column 'Total' is")});
  }
}

TEST_CASE("columns of a table on its side are named by all the words that tell its lines apart") {
  using namespace series_mended;
  std::string side = "source,region,item";
  for (int k = 0; k < 12; ++k) side += fmt::format(",2014-{:02}", k + 1);
  for (const char* line : {"office,Seoul,in", "office,Seoul,out", "office,Busan,in", "office,Busan,out"}) {
    side += fmt::format("\n{}", line);
    for (int k = 0; k < 12; ++k)
      side += fmt::format(",{}", k + (line[7] == 'S' ? 100 : 200) + (line[13] == 'i' ? 0 : 50));
  }
  check_mended(side + "\n",
               rows("time,Seoul in,Seoul out,Busan in,Busan out", 12,
                    [](int k) {
                      return fmt::format("2014-{:02},{},{},{},{}", k + 1, 100 + k, 150 + k, 200 + k, 250 + k);
                    }),
               {}, {std::string("each column of a time is read as a row of its own") + counted});
}

TEST_CASE("days of a week are columns from the day of their date on, in either order of day and month") {
  using namespace series_mended;
  constexpr std::array days = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
  for (const std::string form : {"{0:02}/{1:02}/{2}", "{1:02}/{0:02}/{2}", "{2}-{1:02}-{0:02}"})
    for (const int first : {0, 1, 3}) {
      CAPTURE(form);
      const auto table = [&](int date) {  // the first day that is a column, and that of the dates
        std::string text = "week";
        for (int k = 0; k < 7; ++k)
          text += fmt::format(",{}", days[static_cast<std::size_t>((first + k) % 7)]);
        return rows(text, 8, [&](int week_of) {
          const CalendarTime at = calendar_of(*parse_time(dated(7 * week_of + date - 1)));
          std::string cells = fmt::format(fmt::runtime(form), at.day, at.month, at.year);
          for (int k = 0; k < 7; ++k) cells += fmt::format(",{}", 7 * week_of + k);
          return cells;
        });
      };
      check_mended(
          table(first),
          rows("week,value", 56, [&](int row) { return fmt::format("{},{}", dated(row + first - 1), row); }),
          {},
          {fmt::format("each day ('{}' to '{}') is read as a row of its own{}",
                       days[static_cast<std::size_t>(first)], days[static_cast<std::size_t>((first + 6) % 7)],
                       counted)});
      CHECK(mended(table(first + 1), {}).rows() == 8);  // dates of another day
    }
}

TEST_CASE("hours are columns by each name for them, and what stands beside a month's days is repeated") {
  using namespace series_mended;
  const auto value = [](int row) { return row * 7 % 24 + row / 24 % 5; };
  for (const std::string form :
       {"H{:02}", "h{}", "HE{}", "HR {}", "Hour {}", "hour_{}", "hora {}", "Stunde {}", "Heure {}", "{}"}) {
    CAPTURE(form);
    std::string names = "day";
    for (int k = 1; k <= 24; ++k) names += "," + fmt::format(fmt::runtime(form), k);
    const std::string table = rows(names, 6, [&](int row) {
      std::string cells = dated(row);
      for (int k = 0; k < 24; ++k) cells += fmt::format(",{}", value(24 * row + k));
      return cells;
    });
    check_mended(table + "Source: office\n",
                 rows("day,value", 144,
                      [&](int row) { return fmt::format("{},{}", hour(row + 1, "2021-01-04"), value(row)); }),
                 {}, {});
    CHECK(mended(table + "Source: office\n", {}).notes == mended(table, {}).notes);
  }
  std::string names = "level,month";
  for (int k = 1; k <= 31; ++k) names += fmt::format(",{}", k);
  const std::string months = rows(names, 3, [](int row) {
    constexpr std::array counts = {31, 28, 31}, begins = {0, 31, 59};
    std::string cells = fmt::format("{},2021-{:02}", 700 + row, row + 1);
    for (int k = 0; k < 31; ++k)
      cells += k < counts[static_cast<std::size_t>(row)]
                   ? fmt::format(",{}", week(begins[static_cast<std::size_t>(row)] + k))
                   : ",";
    return cells;
  });
  check_mended(
      months,
      rows("date,level,value", 90,
           [](int row) {
             return fmt::format("{},{},{}", dated(row - 3), row < 31 ? 700 : row < 59 ? 701 : 702, week(row));
           }),
      {}, {std::string("each day ('1' to '31') of a month is read as a row of its own") + counted});
}

TEST_CASE(
    "parts of a time in other columns are joined with it: of a day, a month, a year, and of several series") {
  using namespace series_mended;
  check_mended(
      rows("day,code,x", 4 * 288,
           [](int row) { return fmt::format("{},{},{}", dated(row / 288), row % 288 + 1, row * 7 % 11); }),
      rows("day,x", 4 * 288,
           [](int row) {
             return fmt::format("{} {:02}:{:02},{}", dated(row / 288), row % 288 / 12, row % 12 * 5,
                                row * 7 % 11);
           }),
      {}, {});
  check_mended(
      rows("Date,HE,x", 96,
           [](int row) { return fmt::format("{},{},{}", dated(row / 24), row % 24 + 1, row * 7 % 11); }),
      rows("Date,x", 96,
           [](int row) { return fmt::format("{},{}", hour(row + 1, "2021-01-04"), row * 7 % 11); }),
      {}, {"the time stands in columns 'Date' and 'HE', and is read as 2021-01-04 01:00:00 in line 2"});
  check_mended(of_years("연도,월,x", 60, "{},{}월,{}", 12), of_years("연도,x", 60, "{}-{:02},{}", 12), {},
               {});
  // 2020 has 53 weeks.
  const auto weeks = [](const char* names, const char* form) {
    std::string text = std::string(names) + "\n";
    for (int row = 0; row < 209; ++row) {
      const int year = row < 52    ? 2019
                       : row < 105 ? 2020
                       : row < 157 ? 2021
                                   : 2022,
                before[] = {0, 52, 105, 157};
      text += fmt::format(fmt::runtime(form), year, row - before[year - 2019] + 1, week(row)) + "\n";
    }
    return text;
  };
  check_mended(weeks("År,Del,x", "{},{},{}"), weeks("År,x", "{}-W{:02},{}"), {}, {});
  // A month stands in the first row of its series, and names of series in each.
  const auto shops = [](const char* names, const char* form, bool once) {
    return rows(names, 72, [=](int row) {
      const int month = row / 3 % 12 + 1;
      return fmt::format(fmt::runtime(form), 2018 + row / 36,
                         once && row % 3 > 0 ? "" : fmt::format("{:02}", month), "abc"[row % 3], week(row));
    });
  };
  Options ids{.id = "shop"};
  const Series once = mended(shops("Year,Month,shop,x", "{},{},{},{}", true), ids),
               each = mended(shops("Year,shop,x", "{}-{},{},{}", false), ids);
  CHECK(once.times.at == each.times.at);
  CHECK(once.values == each.values);
  // Years of two that follow each other.
  check_mended(
      rows("Year,x", 30,
           [](int row) { return fmt::format("{}-{:02},{}", 1990 + row, (1991 + row) % 100, week(row)); }),
      rows("Year,x", 30, [](int row) { return fmt::format("{},{}", 1990 + row, week(row)); }), {},
      {"column 1 ('Year') is read by the first of its two years, '1990-91' in line 2 as 1990"});
  CHECK(mended(
            rows("shop,t,x", 24,
                 [](int row) { return fmt::format("a,{}/{},{}", 2018 + row / 12, row % 12 + 1, week(row)); }),
            {.channels = {"x"}})
            .times.text(23) == "2019-12");
}

TEST_CASE("a first column without a name that numbers nothing is called by its place") {
  using namespace series_mended;
  const Series series = mended(rows(",x", 12, [](int row) { return fmt::format("n{},{}", row, week(row)); }),
                               {.channels = {"x"}});
  CHECK(series.notes.at(0) == "column 1 is called 'column 1'");
  CHECK(series.rows() == 12);
  CHECK(looks_like_a_year("Season 1980/81"));
  CHECK(looks_like_a_year("ปี 2557"));
  for (const std::string cell : {"run 5", "no 12345", "no 1234", "no 2700"})
    CHECK_MESSAGE(!looks_like_a_year(cell), cell);
}
