// Which columns of a file are the time, a channel, or the names of several series; and what is said where that is not sure.
#include <algorithm>

#include <fmt/format.h>

#include "examples/timeseries/series/series.h"
#include "tests/series/parse.h"
#include "tests/support.h"
#include "training/program/recipe/toml_values.h"

using namespace series_text;
using namespace unroll;

namespace {

using Names = std::vector<std::string>;
using Values = std::vector<double>;

}  // namespace

TEST_CASE("the only column of dates is the time wherever it stands, and that is said") {
  const Series series = parse("y,time\n5,2020-01-01\n6,2020-01-02\n");
  CHECK(series.channels == Names{"y"});
  CHECK(series.times.text(2) == "2020-01-03");
  CHECK(series.notes == Names{"column 2 ('time') holds dates, and is taken as the time (data.time)"});
  CHECK(parse("a,y,time\n1,5,2020-01-01\n0,6,2020-01-02\n", {.channels = {"y"}}).times.text(0) ==
        "2020-01-01");
  const std::string two = "y,from,to\n5,2020-01-01,2020-01-02\n6,2020-01-02,2020-01-03\n";
  CHECK(refusal(two) == "x.csv: columns 'from' and 'to' hold dates: data.time = \"from\" makes one the time");
  CHECK(lacks(refusal(two, {.time = "from"}), {"column 3 ('to'): '2020-01-02' is not a number",
                                               "a column of dates", "data.channels = [\"y\"]"}) == "");
  CHECK(parse(two, {.time = "from", .channels = {"y"}}).values == Values{5, 6});
  // Years of two digits are read where they stand last for sure; whoever leaves out other forms is told what is lost.
  CHECK(parse("date,y\n31.1.20,5\n29.2.20,6\n", {.channels = {"y"}}).notes ==
        Names{"column 1 ('date'): dates are read as day/month/year, as '31.1.20' in line 2 shows",
              "column 1 ('date'): '31.1.20' in line 2 is read as 2020-01-31"});
  CHECK(parse("date,y\nFY19/20,5\nFY20/21,6\n", {.channels = {"y"}}).notes ==
        Names{std::string(
                  "column 1 ('date') may hold times, but 'FY19/20' in line 2 is not read as one: rows are "
                  "numbered; write it in one of these forms: ") +
              forms_of_time});
  // A model that has no times is given none by another column of the file.
  CHECK(parse("y,time\n5,2020-01-01\n", {.channels = {"y"}, .model = "m"}).times.form == TimeForm::number);
}

TEST_CASE(
    "a first column of whole numbers that ascend is the time where they are dates, else somebody must say") {
  const auto rows = [](const std::string& header, int64_t first, int64_t count = 6) {
    std::string text = header + "\n";
    for (int64_t i = 0; i < count; ++i) text += fmt::format("{},{}\n", first + i, i % 2);
    return text;
  };
  const Series years = parse(rows("year,y", 1900));
  CHECK(years.channels == Names{"y"});
  CHECK(years.values == Values{0, 1, 0, 1, 0, 1});
  CHECK(years.times.text(6) == "1906");
  CHECK(to_text(years.times.step) == "a year");
  CHECK(years.notes == Names{"column 1 ('year') holds years, and is taken as the time (data.time)"});
  const Series days = parse(rows("day,y", 20'011'226));
  CHECK(days.times.text(6) == "20020101");  // the sixth is the 31st
  CHECK(parse(rows("year,y", 1900), {.label = "y"}).label == 0);
  CHECK(parse(rows(",y", 20'011'226)).times.text(6) == "20020101");
  // Ordinals may be either.
  const std::string ordinals = rows("id,y", 1, 8);
  CHECK(refusal(ordinals) ==
        "x.csv: column 1 ('id') holds whole numbers that ascend: data.time = \"id\" makes it the time, "
        "data.channels = [\"y\"] leaves it out; to read it as a channel, name it there too");
  CHECK(parse(ordinals, {.time = "id"}).times.text(8) == "9");
  CHECK(parse(rows("id,y", 1, 7)).channels == Names{"id", "y"});  // so few may ascend by chance
  CHECK(parse(ordinals, {.channels = {"y"}}).channels == Names{"y"});
  CHECK(parse(ordinals, {.channels = {"id", "y"}}).channels == Names{"id", "y"});
  CHECK(parse(rows("year,y", 1900), {.channels = {"year", "y"}}).channels == Names{"year", "y"});
  CHECK(lacks(refusal(rows("year,y", 1900), {.time = "y"}), {"rows must be in order"}) == "");
  // Values that ascend by chance, those of the only column, and what is not whole are channels.
  CHECK(parse("a,b\n1,2\n3,0\n5,4\n").channels == Names{"a", "b"});
  CHECK(parse("a\n1\n2\n3\n4\n5\n6\n").channels == Names{"a"});
  CHECK(parse("a,b\n1,0\n2.5,0\n3,0\n4,0\n5,0\n").channels == Names{"a", "b"});
  // Elsewhere years and dates are no values either.
  CHECK(
      refusal("y,year\n5,1900\n4,1901\n7,1902\n") ==
      "x.csv: column 2 ('year') holds years: data.time = \"year\" makes it the time, data.channels = [\"y\"] "
      "leaves it out; to read it as a channel, name it there too");
  CHECK(parse("y,year\n5,1900\n4,1901\n7,1902\n", {.time = "year"}).times.text(3) == "1903");
}

// Each number in a row of its own, beside a channel that rises.
static std::string beside(const std::string& header, const std::vector<int64_t>& numbers) {
  std::string text = header + "\n";
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += fmt::format("{},{:.1f}\n", numbers[i], 0.5 * static_cast<double>(i));
  return text;
}

TEST_CASE("whole numbers that are dates have the faults of dates: in their order, and among them") {
  const std::string as_values =
      "; if the column holds values, data.channels = [\"d\", \"y\"] reads it as a channel";
  CHECK(parse(beside("d,y", {20200103, 20200102, 20200101})).times.text(3) == "20200104");
  CHECK(
      refusal(beside("d,y", {20200103, 20200102, 20200104})) ==
      "x.csv:4: column 1 ('d'): 20200104 comes after 20200102: rows must be in order of time, and those above it "
      "have the newest first" +
          as_values);
  CHECK(refusal(beside("d,y", {20200101, 20200102, 20200102, 20200103})) ==
        "x.csv:4: column 1 ('d'): 20200102 stands there twice" + as_values);
  CHECK(refusal(beside("d,y", {20200229, 20200230, 20200301})) ==
        "x.csv:3: column 1 ('d'): '20200230' is no date, and the column holds dates" + as_values);
  CHECK(lacks(refusal(beside("d,y", {20200231, 20200301, 20200302})), {"x.csv:2", "'20200231' is no date"}) ==
        "");
  CHECK(lacks(refusal("d,y\n20200101,1\n2020-01-02,0\n20200103,1\n"), {"x.csv:3", "another form"}) == "");
  CHECK(lacks(refusal("d,y\n20200101,1\n,0\n20200103,1\n"), {"x.csv:3: column 1 ('d')", "not a time"}) == "");
  CHECK(lacks(refusal(beside(",y", {20200101, 20200103, 20200102})),
              {"x.csv:4: column 1 ('time'): 20200102 comes after 20200103"}) == "");
  // If the user named the time, the message is the same in fewer words.
  CHECK(refusal(beside("d,y", {20200229, 20200230, 20200301}), {.time = "d"}) ==
        "x.csv:3: column 1 ('d'): '20200230' is no date, and the column holds dates");
  CHECK(parse("y,d\n1,20200103\n0,20200102\n", {.time = "d"}).times.text(0) == "20200102");
  CHECK(parse(beside("d,y", {20200103, 20200102, 20200101}), {.channels = {"d", "y"}}).channels ==
        Names{"d", "y"});
  // Months and years.
  CHECK(parse(beside("d,y", {202002, 202001, 201912})).times.text(0) == "201912");
  CHECK(lacks(refusal(beside("month,y", {202001, 202002, 202002})),
              {"x.csv:4", "202002 stands there twice"}) == "");
  CHECK(lacks(refusal(beside("month,y", {202011, 202012, 202013})), {"x.csv:4", "'202013' is no month"}) ==
        "");
  CHECK(parse(beside("year,y", {2003, 2002, 2001})).times.text(0) == "2001");
  CHECK(lacks(refusal(beside("year,y", {2001, 2002, 2003, 2003})), {"x.csv:5", "2003 stands there twice"}) ==
        "");
  CHECK(lacks(refusal(beside("year,y", {2001, 2001, 2001})), {"x.csv:3", "2001 stands there twice"}) == "");
  // The only column of dates is the time wherever it stands.
  const Series second = parse("y,d\n1,20191231\n0,20200101\n");
  CHECK(second.times.text(2) == "20200102");
  CHECK(second.notes == Names{"column 2 ('d') holds dates, and is taken as the time (data.time)"});
  CHECK(lacks(refusal("y,d,e\n1,20191231,20191231\n0,20200101,20200101\n"),
              {"columns 'd' and 'e' hold dates: data.time = \"d\""}) == "");
}

TEST_CASE("measurements that are whole numbers stay channels") {
  for (const auto& [name, numbers] : std::vector<std::pair<std::string, std::vector<int64_t>>>{
           {"load", {20170331, 20170452, 20171305, 20180077, 20170000, 20160931}},  // one date among six
           {"price", {150000, 175000, 162500, 201012, 180000, 155000}},
           {"sales_of_the_year", {1500, 1800, 1650, 1720, 1510, 1900}},
           {"t", {1600, 1600, 1600, 1700, 1600, 1600}},
           {"bytes", {1600000000, 1600004096, 1600001000, 1600900000, 1600000512, 1600000000}},
           {"level", {9, 8, 7, 6, 5, 4, 3}},
           {"hour", {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3}}}) {
    CAPTURE(name);
    CHECK(parse(beside(name + ",y", numbers)).channels == Names{name, "y"});
    std::string second = "y," + name + "\n";
    for (std::size_t i = 0; i < numbers.size(); ++i) second += fmt::format("{},{}\n", i % 2, numbers[i]);
    CHECK(parse(second).channels == Names{"y", name});
  }
}

TEST_CASE(
    "moments since 1970 are times in UTC, in whatever unit, order and column, unless somebody says channel") {
  for (const int64_t second : {1, 1'000, 1'000'000, 1'000'000'000}) {
    CAPTURE(second);
    std::vector<int64_t> hours;
    for (int64_t i = 0; i < 6; ++i) hours.push_back((1'577'836'800 + 3600 * i) * second);
    std::vector<int64_t> twice = hours, down(hours.rbegin(), hours.rend());
    twice[3] = twice[2];
    for (const auto& at : {hours, down}) {
      const Series series = parse(beside("v,y", at));
      CHECK(to_text(series.times.step) == "an hour");
      CHECK(series.times.text(6) == "2020-01-01 06:00:00Z");
      CHECK(series.channels == Names{"y"});
    }
    CHECK(lacks(refusal(beside("v,y", twice)),
                {"x.csv:5: column 1 ('v')", "2020-01-01 02:00:00Z stands there twice"}) == "");
    CHECK(parse(beside("v,y", twice), {.channels = {"v", "y"}}).channels == Names{"v", "y"});
    std::string other = "y,timestamp\n";  // unevenly, by its name
    for (const int64_t minute : {0, 1, 5, 2})
      other += fmt::format("{},{}\n", minute % 2, (1'577'836'800 + 60 * minute) * second);
    CHECK(lacks(refusal(other), {"column 2 ('timestamp')", "00:02:00Z comes after 2020-01-01 00:05:00Z"}) ==
          "");
  }
  CHECK(lacks(refusal("t,y\n3000000000000000001,5\n", {.time = "t"}),
              {"'3000000000000000001' is not a time", "up to 3000000000000000000 (nanoseconds since 1970"}) ==
        "");
  // Dates with a time of day, though 1712012000 would be the year 1712, and is 2024.
  CHECK(parse(beside("t,y", {2020010122, 2020010123, 2020010200})).times.text(3) == "2020-01-02 01:00:00");
  CHECK(parse(beside("t,y", {202001012359, 202001020000})).times.text(2) == "2020-01-02 00:01:00");
  CHECK(parse(beside("t,y", {20200101235900, 20200102000000})).times.text(1) == "2020-01-02 00:00:00");
  CHECK(parse(beside("t,y", {1712012000, 1712012060})).times.text(0) == "2024-04-01 22:53:20Z");
  // Ordinals that descend may be the time as those that ascend.
  CHECK(lacks(refusal(beside("id,y", {8, 7, 6, 5, 4, 3, 2, 1})), {"'id'", "whole numbers that descend"}) ==
        "");
}

TEST_CASE("what a message advises is TOML whatever the names and words are") {
  const auto last_string = [](const std::string& said, const std::string& key) {
    const std::size_t begin = said.find(key + " = ") + key.size() + 3;
    for (std::size_t end = said.size(); end > begin; --end)
      if (const auto value = parse_toml_value(std::string_view(said).substr(begin, end - begin)); value)
        if (value->as<std::string>()) return *value->as<std::string>();
    return "no TOML: " + said;
  };
  const std::string name = "a \"b\" \\ " + std::string(70, 'c'),
                    cell = "\"a \"\"b\"\" \\ " + std::string(70, 'c') + "\"";
  std::string panel = "date," + cell + ",y\n";
  for (const char* word : {"\"Å\"\"x\"", "\"o\\\""})
    for (int day = 1; day <= 4; ++day) panel += fmt::format("2020010{},{},{}\n", day, word, day);
  const std::string only = last_string(refusal(panel), "data.only");
  CHECK(only == name + "=Å\"x");
  CHECK(parse(panel, {.only = only}).values == Values{1, 2, 3, 4});
  CHECK(last_string(refusal(cell + ",y\n1,1\n2,2\n3,3\n4,4\n5,5\n6,6\n7,7\n8,8\n"), "data.time") == name);
  const std::string said = refusal("t," + cell + "\n2020-01-01,1\n2020-01-02,2\n", {.only = "t\"\\=x"});
  CHECK(last_string(said, "data.only") == "t\"\\=x");
  const std::string text = refusal("date,note," + cell + "\n2020-01-01,fine,2\n");
  const std::size_t begin = text.find("data.channels = ") + 16;
  const auto list = parse_toml_value(std::string_view(text).substr(begin));
  REQUIRE_MESSAGE(list, text);
  REQUIRE(list->as<std::vector<TomlValue>>());
  CHECK(*list->as<std::vector<TomlValue>>()->at(0).as<std::string>() == name);
}

TEST_CASE("several series in one file are told from one, and one of them can be read") {
  std::string below = "symbol,date,close\n", turns = "date,close,store\n";
  for (const char* symbol : {"AAPL", "AMZN", "GOOG", "MSFT"})
    for (int day = 1; day <= 5; ++day)
      below += fmt::format("{},2020-01-{:02},{}\n", symbol, day, symbol[2] + day);
  for (int day = 1; day <= 5; ++day)
    for (int store : {7, 9}) turns += fmt::format("2020-01-{:02},{},{}\n", day, store * day, store);
  const std::string said =
      "x.csv: 4 series in one file, by column 'symbol' (AAPL, AMZN, GOOG, ...): data.id = \"symbol\" reads them all, "
      "data.only = \"symbol=AAPL\" one of them";
  CHECK(refusal(below) == said);
  CHECK(refusal(below, {.channels = {"close"}}) == said);  // whoever leaves the text out
  CHECK(
      refusal(turns) ==
      "x.csv: 2 series in one file, by column 'store' (7, 9): data.id = \"store\" reads them all, data.only = "
      "\"store=7\" one of them");
  const Series one = parse(below, {.only = "symbol=GOOG"});
  CHECK(one.channels == Names{"close"});
  CHECK(one.values == Values{'O' + 1, 'O' + 2, 'O' + 3, 'O' + 4, 'O' + 5});
  CHECK(one.times.text(5) == "2020-01-06");
  CHECK(parse(turns, {.only = "store=9"}).values == Values{9, 18, 27, 36, 45});
  CHECK(lacks(refusal(below, {.only = "symbol=GOGO"}), {"no row has 'GOGO' in column 'symbol'", "'GOOG'"}) ==
        "");
  CHECK(lacks(refusal(below, {.only = "symbl=GOOG"}), {"no column 'symbl'", "did you mean 'symbol'?"}) == "");
  CHECK(lacks(refusal(below, {.only = "GOOG"}), {"data.only = \"GOOG\"", "column=word"}) == "");
  // Dates in whole numbers, the series' numbers before them or behind.
  std::string numbered = "date,id,y\n", before = "id,date,y\n";
  for (int id = 1; id <= 4; ++id)
    for (int day = 1; day <= 5; ++day) {
      numbered += fmt::format("2020010{},{},{}\n", day, id, id * day % 3);
      before += fmt::format("{},2020010{},{}\n", id, day, id * day % 3);
    }
  for (const SeriesOptions& options : {SeriesOptions{}, SeriesOptions{.channels = {"y"}}})
    for (const std::string& panel : {numbered, before})
      CHECK(
          refusal(panel, options) ==
          "x.csv: 4 series in one file, by column 'id' (1, 2, 3, ...): data.id = \"id\" reads them all, data.only = "
          "\"id=1\" one of them");
  CHECK(parse(numbered, {.only = "id=2"}).values == Values{2, 1, 0, 2, 1});
  CHECK(parse(before, {.only = "id=2"}).times.text(5) == "20200106");
  CHECK(parse("date,a=b,y\n2020-01-01,x=1,5\n2020-01-01,z,6\n", {.only = "a=b=x=1"}).values == Values{5});
  // One series with a mistake is not several.
  CHECK(lacks(refusal("date,y\n2020-01-01,1\n2020-01-02,2\n2020-01-01,3\n"),
              {"rows must be in order of time"}) == "");
  CHECK(lacks(refusal("date,y,note\n2020-01-01,1,a\n2020-01-02,2,a\n"), {"a column of text is left out"}) ==
        "");
}

TEST_CASE("a name that no column has: the nearest is named, or all there are") {
  CHECK(lacks(refusal("date,cnt\n2020-01-01,1\n", {.channels = {"count"}}),
              {"no column 'count'", "'date', 'cnt'"}) == "");
  CHECK(lacks(refusal("a,b\n1,2\n", {.label = "state"}), {"no column 'state'; there are 'a', 'b'"}) == "");
  CHECK(lacks(refusal("a\n1\n", {.time = "when"}), {"no column 'when'; there is 'a'"}) == "");
}

TEST_CASE(
    "months with a point are the time if most cells are some, and one begins with 0 or they follow each other") {
  const auto form = [](const std::string& cells) {
    return parse("y,t\n" + cells, {.time = "t"}).times.text(1);
  };
  CHECK(form("5,01.2019\n6,02.2019\n") == "2019-02");
  CHECK(parse("y,t\n5,11.2019\n6,09.2020\n").times.text(1) == "2020-09");
  CHECK(parse("t,y\n01.2019,5\n02.2019,6\n").notes ==
        Names{"column 1 ('t') holds months, and is taken as the time (data.time)"});
  // Else they are numbers.
  CHECK(parse("t,y\n10.1999,5\n11.1999,6\n").values == Values{10.1999, 5, 11.1999, 6});
  CHECK(parse("t,y\n1999.05,5\n1999.06,6\n").values == Values{1999.05, 5, 1999.06, 6});
  CHECK(parse("t,y\n01.2019,5\n0.5,6\n3,6\n").values == Values{1.2019, 5, 0.5, 6, 3, 6});
  CHECK(lacks(refusal("t,y\n01.2019,5\n02.2019,6\nSumme,11\n"),
              {"x.csv:4: column 1 ('t'): 'Summe' is not a time", "such as a total"}) == "");
}

TEST_CASE(
    "a table with the months or quarters of a year side by side is refused, unless channels are named") {
  const std::string months = "Year,Jan,Feb,Mär,Apr,Mai,Jun,Jul,Aug,Sep,Okt,Nov,Dez,Total\n";
  CHECK(refusal(months + "2003,1,2,3,4,5,6,7,8,9,10,11,12,78\n") ==
        "x.csv:1: columns are months ('Jan' to 'Dez'): write one month a line, as 2017-01 and its value");
  CHECK(refusal("Year,Q1,Q2,Q3,Q4\n2003,1,2,3,4\n") ==
        "x.csv:1: columns are quarters ('Q1' to 'Q4'): write one quarter a line, as 2017 Q1 and its value");
  CHECK(parse("Year,Q1,Q2,Q3,Q4\n2003,1,2,3,4\n2004,5,6,7,8\n", {.channels = {"Q2"}}).values == Values{2, 6});
  CHECK(parse("t,Mar,Jan,Kim,Ann\n1,2,3,4,5\n2,3,4,5,6\n", {.time = "t"}).width() == 4);
  CHECK(parse("t,market_a,market_b,march,may\n1,2,3,4,5\n2,3,4,5,6\n", {.time = "t"}).width() == 4);
}

TEST_CASE("a column of values names no series: the line says which time stands there twice") {
  std::string once = "date,orders\n", scored = "date,score,orders\n", stores = "date,store,orders\n";
  for (int day = 1; day <= 28; ++day) {
    for (int k = 0; k < (day == 20 ? 2 : 1); ++k) {
      once += fmt::format("2024-01-{:02},{}\n", day, 7 + day % 7 + k);
      scored += fmt::format("2024-01-{:02},{},{}\n", day, day % 7 + k, 900 + day);
    }
    for (int store = 1; store <= 2; ++store)
      stores += fmt::format("2024-01-{:02},{},{}\n", day, store, 900 + day);
  }
  for (const std::string& text : {once, scored})
    CHECK(
        refusal(text) ==
        "x.csv:22: column 1 ('date'): 2024-01-20 stands there twice; put the rows of one time together first: "
        "their number, sum, mean or last; "
        "data.missing = \"zero\" with data.gaps = \"fill\" then counts 0 for times without rows");
  std::string commas = scored;  // date;score;orders, the scores as 1,5
  for (char& c : commas)
    if (c == ',') c = ';';
  for (size_t at = commas.find(";0;"); at != std::string::npos; at = commas.find(";0;")) commas[at + 1] = '9';
  for (size_t digit = 1; digit <= 9; ++digit)
    for (size_t at; (at = commas.find(fmt::format(";{};", digit))) != std::string::npos;)
      commas.insert(at + 2, ",5");
  CHECK(lacks(refusal(commas, {.separator = ';', .decimal = ','}), {"x.csv:22: ", "stands there twice"}) ==
        "");
  CHECK(lacks(refusal(stores), {"2 series in one file, by column 'store' (1, 2)"}) == "");
}

TEST_CASE("twelve lines of totals are named, and no rows where most lack a time") {
  std::string text = "Row Labels,x\n";
  for (int year = 2001; year < 2015; ++year)
    text += fmt::format("north,5\nsouth,{}\nTotal {},12\n", year % 7, year);
  CHECK(refusal(text, {.channels = {"x"}})
            .ends_with("delete lines 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37, ..."));
  std::string words = "t,x\n2021-01-01,5\n";
  for (int row = 0; row < 8; ++row) words += fmt::format("n{},5\n", row);
  CHECK(refusal(words + "2021-01-02,5\n", {.time = "t"})
            .ends_with("; if line 3 is no row of the series, such as a total, delete it"));
}

TEST_CASE("events of several series are such where the newest stands first, too") {
  Names lines;
  for (int row = 0; row < 90; ++row) {
    const int of = row == 6 ? 5 : row, minutes = of * 150 + of * of * 31 % 140;  // two at once
    lines.push_back(fmt::format("{},2021-01-{:02} {:02}:{:02},{}", row % 3 ? "Mia" : "Jo", minutes / 1440 + 1,
                                minutes / 60 % 24, minutes % 60, row % 7));
  }
  for (const bool newest_first : {false, true}) {
    if (newest_first) std::ranges::reverse(lines);
    CHECK(refusal(fmt::format("user,start,amount\n{}\n", fmt::join(lines, "\n")))
              .find("with rows at any time") != std::string::npos);
  }
}
