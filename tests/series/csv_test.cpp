// CSV files as series: what is read, and what is refused, with line and column.
#include "data/csv.h"

#include "examples/timeseries/series/series.h"
#include "tests/data_files.h"
#include "tests/series/parse.h"
#include "tests/support.h"

using namespace series_text;
using namespace unroll;
using Names = std::vector<std::string>;
using Views = std::vector<std::string_view>;
using Values = std::vector<double>;

TEST_CASE("a series has its channels, times and lines from the file") {
  const Series series =
      parse("\"Month\",\"x\",y\r\n\"2016-11\",1,+2.5\r\n\"2016-12\",-3e2,4\r\n2017-01,.5,6\r\n");
  CHECK(series.channels == Names{"x", "y"});
  CHECK(series.values == Values{1, 2.5, -300, 4, 0.5, 6});
  CHECK(series.lines == std::vector<int64_t>{2, 3, 4});
  CHECK(series.times.form == TimeForm::month);
  CHECK(series.times.text(0) == "2016-11");
  CHECK(series.times.text(5) == "2017-04");  // beyond the end
  CHECK(series.notes.empty());
  CHECK(series.channel("y") == 1);
}

TEST_CASE("channels are chosen by name, in the order named") {
  const std::string text = "date,a,note,b\n2020-01-01,1,fine,2\n2020-01-02,3,\"so, so\",4\n";
  CHECK(parse(text, {.channels = {"b", "a"}}).values == Values{2, 1, 4, 3});
  CHECK(lacks(refusal(text), {"x.csv:2: column 3 ('note')", "'fine' is not a number",
                              "naming the channels: "
                              "data.channels = [\"a\", \"b\"]"}) == "");
  CHECK(lacks(refusal(text, {.channels = {"aa"}}), {"no column 'aa'", "did you mean 'a'?"}) == "");
  CHECK(lacks(refusal(text, {.time = "dat", .channels = {"a"}}), {"no column 'dat'", "'date'"}) == "");
  CHECK(lacks(refusal(text, {.channels = {"a", "a"}}), {"'a' is asked for twice"}) == "");
  CHECK(lacks(refusal(text, {.channels = {"date"}}), {"'date' holds the times"}) == "");
  CHECK(lacks(refusal("date\n2020-01-01\n"), {"no column of values"}) == "");
  Series series = parse(text, {.channels = {"a"}});
  CHECK_THROWS_WITH_AS(series.channel("A"), "x.csv: there is no channel 'A'; did you mean 'a'?", InputError);
}

TEST_CASE("ragged rows are refused with line and column") {
  CHECK(refusal("a,b,c\n1,2,3\n4,5\n") == "x.csv:3: column 3 is missing; the row has 2 cells, the header 3");
  CHECK(refusal("a,b\n1,2\n3,4,5\n") ==
        "x.csv:3: column 3 is one too many; the row has 3 cells, the header 2");
  CHECK(
      refusal("a,b\n1,2\nx\n3,4\n") ==
      "x.csv:3: column 2 is missing; the row has 1 cell, the header 2; if line 3 is no row of the series, such "
      "as a total, delete it");
}

TEST_CASE("a line of the separator, and lines of separators at the end, are no rows") {
  const Series series = parse("sep=;\r\na;b\r\n1;2\r\n3;4\r\n;\r\n ; \r\n", {.separator = ';'});
  CHECK(series.values == Values{1, 2, 3, 4});
  CHECK(series.lines == std::vector<int64_t>{3, 4});
  CHECK(lacks(refusal("a,b\n1,2\n,\n3,4\n"), {"x.csv:3: column 1 ('a'): a value is missing"}) == "");
}

TEST_CASE("a file without values is refused") {
  CHECK(refusal("") == "x.csv: the file is empty");
  CHECK(refusal("\n \r\n") == "x.csv: the file is empty");
  CHECK(refusal("\xef\xbb\xbf") == "x.csv: the file is empty");
  CHECK(refusal("a,b\n") == "x.csv: there are no rows below the header");
  CHECK(lacks(error_of([] { load_series("nowhere.csv"); }), {"nowhere.csv: there is no such file"}) == "");
}

TEST_CASE("text, NaN, infinity and overflow are no values") {
  CHECK(lacks(refusal("a,b\n1,2\n3,4 kW\n"), {"x.csv:3: column 2 ('b')", "'4 kW' is not a number"}) == "");
  CHECK(lacks(refusal("a\n0x10\n"), {"x.csv:2: column 1 ('a')", "not a number"}) == "");
  CHECK(lacks(refusal("a\n+-1\n"), {"not a number"}) == "");
  CHECK(lacks(refusal("a\n\"1,5\"\n"), {"'1,5' is not a number"}) == "");
  CHECK(parse_series("a,b\n1,1e-400\n2,-1e-4000\n", "x.csv").values == std::vector<double>{1, 0, 2, -0.0});
  for (const std::string text : {"inf", "-inf", "Infinity", "INF", "1e999", "-nan"})
    CHECK(lacks(refusal("a,b\n1,2\n3," + text + "\n"),
                {"x.csv:3: column 2 ('b')", "'" + text + "' is no finite number"}) == "");
  for (const std::string text : {"", "NA", "N/A", "NaN", "nan", "null", "?", "\"\""})
    CHECK(lacks(refusal("a,b\n1,2\n3," + text + "\n"),
                {"x.csv:3: column 2 ('b')", "a value is missing", "previous"}) == "");
  CHECK(lacks(refusal("a\n1\n\x1b[31m\n"), {"x.csv:3", "'?[31m'"}) == "");  // would colour the terminal
}

TEST_CASE("a column's numbers have one unit, and a note says how they are read") {
  const Series series = parse("a,b\n$5,1\n($1 200),2\n,3\n", {.missing = Missing::previous});
  CHECK(series.values == Values{5, 1, -1200, 2, -1200, 3});
  CHECK(series.notes.at(0) ==
        "column 1 ('a'): numbers are read without their marks, '$5' in line 2 as 5");
  CHECK(lacks(refusal("a,b\n5,1\n€20,2\n"),
              {"x.csv:3: column 1 ('a'): '€20' has €, and the numbers above it have none"}) == "");
  CHECK(lacks(refusal("a,b\n5 %,1\n20,2\n"), {"x.csv:3: column 1 ('a'): '20' has no unit", "have %"}) == "");
  CHECK(lacks(refusal("a\n\"1,495\"\n"),
              {"data.decimal = \",\" reads it as 1.495, data.thousands = \",\" as 1495"}) == "");
  CHECK(parse("a\n\"1,495\"\n", {.thousands = ','}).values == Values{1495});
  CHECK(lacks(refusal("$5,$6\n$7,$8\n"), {"x.csv:1: the first line must name the columns"}) == "");
}

TEST_CASE("a line that is no row of the table is named: a title, a total, a quote in a cell") {
  for (const std::string title : {"Report of sales,", "Report of sales", "Report of sales,2020"})
    CHECK(refusal(title + "\ndate,sales\n2020-01-01,5\n") ==
          "x.csv:1: 'Report of sales' names no columns, but line 2 does: delete what is above it");
  CHECK(refusal("Sales\n\nNorth,,\nday,x,y\n2020-01-01,5,6\n") ==
        "x.csv:1: 'Sales' names no columns, but line 4 does: delete what is above it");
  const std::string rows = "date,x,y\n2020-01-01,1,2\n2020-01-02,3,4\n",
                    advice = "if line 4 is no row of the series, such as a total, delete it";
  for (const std::string total : {"Total,4,6", "Total", ",4,6"})
    CHECK(lacks(refusal(rows + total + "\n"),
                {"x.csv:4", total.starts_with(',') || total == "Total,4,6" ? "is not a time" : "is missing",
                 advice}) == "");
  CHECK(lacks(refusal("x,y\n1,2\n3,4\nTotal,6\n"),
              {"x.csv:4: column 1 ('x'): 'Total' is not a number", advice}) == "");
  CHECK(refusal("x\n1\nNone\n")
            .starts_with(
                "x.csv:3: column 1 ('x'): 'None' is not a number; the cells above it are numbers: leave it "
                "empty if its value is missing"));
  CHECK(lacks(refusal("shop,x\nThe \"A\",1\n"),
              {"x.csv:2: column 1: a quote inside", "write \"The \"\"A\"\"\""}) == "");
}

TEST_CASE("rows that the file lacks are put in, if they are few") {
  std::string text = "date,x\n";
  for (int day = 1; day <= 28; ++day)
    if (day < 15 || day > 18) text += fmt::format("2021-02-{:02},{}\n", day, day);
  const SeriesOptions fill{.missing = Missing::previous, .gaps = Gaps::fill};
  const Series series = parse(text, fill);
  REQUIRE(series.rows() == 28);
  for (int day = 1; day <= 28; ++day) {
    const bool lacks_it = day >= 15 && day <= 18;
    CHECK(series.times.text(day - 1) == fmt::format("2021-02-{:02}", day));
    CHECK(series.at(day - 1, 0) == (lacks_it ? 14 : day));
    CHECK(series.is_filled(day - 1, 0) == lacks_it);
  }
  CHECK(series.added_rows == 4);
  CHECK(series.notes.at(0).starts_with("4 rows that the file lacks are put in, without values"));
  CHECK(series.notes.at(1) == "4 missing values filled in (the previous value); the first after line 15");
  // Rows are no holes if most are missing, or if they are missing by a rule.
  CHECK(lacks(refusal("date,x\n2020-01-01,1\n2020-01-02,1\n2020-01-03,1\n2020-01-09,1\n2020-01-10,1\n", fill),
              {"x.csv:5: a gap of 6 days"}) == "");
  std::string both = "id,date,x\n";
  for (const char* id : {"a", "b"})
    for (int day = 1; day <= 20; ++day)
      if (*id == 'a' || day != 10) both += fmt::format("{},2021-01-{:02},{}\n", id, day, day);
  SeriesOptions several = fill;
  several.id = "id";
  const Series two = parse(both, several);
  CHECK(two.members[1].begin == 20);
  CHECK(two.members[1].end == 40);
  CHECK(two.at(29, 0) == 9);
}

TEST_CASE("rows at the end without a value of what is forecast are left out where the options say so") {
  const std::string text =
      "date,x,price\n2020-01-01,1,5\n2020-01-02,,5\n2020-01-03,3,\n2020-01-04,,6\n2020-01-05,,7\n";
  const Series series = parse(text, {.missing = Missing::previous, .open_end = {"x"}});
  CHECK(series.values == Values{1, 5, 1, 5, 3, 5});
  CHECK(series.open_rows == 2);
  CHECK(series.notes.at(0) ==
        "2 rows without a value of 'x' at the end: to be forecast, from line 5 on (data.open_end)");
  CHECK(parse(text, {.missing = Missing::previous}).rows() == 5);
  CHECK(parse("a,x\nn,1\nn,\ns,2\ns,3\n", {.id = "a", .missing = Missing::previous, .open_end = {"x"}})
            .members[1]
            .begin == 1);
}

TEST_CASE("a file whose cells are separated otherwise is refused with what separates them") {
  CHECK(lacks(refusal("a;b\n1;2\n"), {"x.csv:1: one column, 'a;b'", "data.separator = \";\""}) == "");
  CHECK(lacks(refusal("a\tb\n1\t2\n"), {"x.csv:1: one column", "data.separator = \"\\t\""}) == "");
  CHECK(lacks(refusal("a,b\n1,2\n", {.separator = ';'}),
              {"x.csv:1: one column, 'a,b'", "data.separator = \",\""}) == "");
}

TEST_CASE("missing values are filled in as asked, never with zero") {
  const std::string text = "a,b\n1,10\n,NA\n?,40\n7,\n";
  Series series = parse(text, {.missing = Missing::previous});
  CHECK(series.values == Values{1, 10, 1, 10, 1, 40, 7, 40});
  REQUIRE(series.notes.size() == 2);
  CHECK(series.notes[0] == "2 cells are read as missing, as 'NA' in line 3");
  CHECK(series.notes[1] == "4 missing values filled in (the previous value); the first in line 3");
  for (const double value : parse("a\n21.3\n?\n?\n?\n1\n", {.missing = Missing::previous}).values)
    CHECK((value == 21.3 || value == 1));  // the same number, to the bit
  series = parse("a,b\n1,10\n,NA\n?,40\n?,50\n9,60\n", {.missing = Missing::interpolate});
  CHECK(series.values == Values{1, 10, 3, 25, 5, 40, 7, 50, 9, 60});
  CHECK(lacks(refusal(text, {.missing = Missing::interpolate}),
              {"x.csv:5: channel 'b'", "missing", "none after it"}) == "");
  for (const Missing missing : {Missing::previous, Missing::interpolate})
    CHECK(lacks(refusal("a,b\n1,\n2,3\n", {.missing = missing}),
                {"x.csv:2: channel 'b'", "none before it"}) == "");
  // Also between the largest numbers there are.
  series = parse("a\n-1.5e308\n?\n1.5e308\n", {.missing = Missing::interpolate});
  CHECK(series.values[1] == 0);
}

TEST_CASE("a label is 0 or 1, and there") {
  const std::string text = "a,on\n5,0\n6,1.0\n";
  const Series series = parse(text, {.label = "on"});
  CHECK(series.label == 1);
  CHECK(series.values == Values{5, 0, 6, 1});
  CHECK(parse(text, {.channels = {"a"}, .label = "on"}).channels == Names{"a", "on"});
  CHECK(lacks(refusal("a,on\n5,0\n6,2\n", {.label = "on"}),
              {"x.csv:3: column 2 ('on')", "0 or 1, not '2'"}) == "");
  CHECK(lacks(refusal("a,on\n5,0\n6,\n", {.label = "on", .missing = Missing::previous}),
              {"x.csv:3: column 2 ('on')", "a label is missing"}) == "");
  CHECK(lacks(refusal(text, {.label = "On"}), {"no column 'On'", "'on'"}) == "");
}

TEST_CASE("times must be read, ascend, be different, and leave no gaps") {
  for (const char* beyond : {"-9223372036854775808", "9223372036854775807", "9223372036854775808"})
    CHECK(!parse_time(beyond));
  CHECK(lacks(refusal("date,x\n2020-01-01,1\n2020-02-30,2\n"),
              {"x.csv:3: column 1 ('date')", "'2020-02-30' is not a time"}) == "");
  CHECK(refusal("date,x\n2020-01-01,1\n2020-01-03,2\n2020-01-02,3\n") ==
        "x.csv:4: column 1 ('date'): 2020-01-02 comes after 2020-01-03: rows must be in order of time");
  CHECK(refusal("date,x\n2020-01-01,1\n2020-01-01,2\n") ==
        "x.csv:3: column 1 ('date'): 2020-01-01 stands there twice; put the rows of one time together first: "
        "their number, sum, mean or last; "
        "data.missing = \"zero\" with data.gaps = \"fill\" then counts 0 for times without rows");
  CHECK(lacks(refusal("date,x\n2020-01,1\n2020-02-01,2\n"), {"x.csv:3: column 1", "another form"}) == "");
  CHECK(lacks(refusal("t,x\n1,1\n2.5,2\n", {.time = "t"}),
              {"x.csv:3: column 1 ('t')", "'2.5' is not a time"}) == "");
  const std::string gap =
      "date,x\n2020-01-03,1\n2020-01-04,2\n2020-01-05,2\n2020-01-08,3\n2020-01-09,3\n2020-01-11,3\n";
  CHECK(
      refusal(gap) ==
      "x.csv:5: a gap of 3 days after 2020-01-05, where rows are a day apart; data.gaps = \"allow\" takes the "
      "rows as they come, \"fill\" puts rows in");
  const Series allowed = parse(gap, {.gaps = Gaps::allow});
  CHECK(allowed.rows() == 6);
  REQUIRE(allowed.notes.size() == 1);
  CHECK(lacks(allowed.notes[0], {"2 gaps", "line 5: 3 days after 2020-01-05"}) == "");
}

TEST_CASE("a date of another form is refused with the forms that are read") {
  for (const std::string date : {"31.1.20", "31 Jan 20", "Jan-20", "1/12/20 2:05 PM"})
    CHECK(lacks(refusal("date,x\n" + date + ",1\n"),
                {"x.csv:2: column 1 ('date'): '" + date + "' has a year of two digits",
                 "write the years with four"}) == "");
  for (const std::string date : {"01/31/30", "32/1/2020", "2020-1-32", "14:05", "2020/13/1"}) {
    CHECK(refusal("date,x\n" + date + ",1\n") ==
          "x.csv:2: column 1 ('date'): '" + date +
              "' is not a number; if it is a time, these forms are read: " + forms_of_time);
    CHECK(lacks(refusal("date,x\n" + date + ",1\n", {.time = "date"}),
                {"x.csv:2: column 1 ('date')", "'" + date + "' is not a time", "2017 Q1"}) == "");
  }
  for (const std::string text : {"4 kW", "1,5 kW", "marked", "--", "0x10", "1.2e", "much: 3", "a/b"})
    CHECK(lacks(refusal("a,x\n\"" + text + "\",1\n"), {"is not a number; a column of text"}) == "");
  // Whoever has named the channels is not told to.
  CHECK(refusal("a,x\n1,<1\n2,2\n") ==
        "x.csv:2: column 2 ('x'): '<1' is not a number: write 1, or leave it empty");
  CHECK(refusal("a,x\n4 kW,1\n", {.channels = {"a"}}) == "x.csv:2: column 1 ('a'): '4 kW' is not a number");
}

TEST_CASE("business days without a holiday have a gap there") {
  // 2020-04-10, a Friday, was a holiday.
  CHECK(
      lacks(refusal(
                "date,x\n2020-04-02,1\n2020-04-03,1\n2020-04-06,1\n2020-04-07,1\n2020-04-08,1\n2020-04-09,1\n"
                "2020-04-13,1\n2020-04-14,1\n"),
            {"x.csv:8: a gap of a business day after 2020-04-09", "a business day apart"}) == "");
}

TEST_CASE("a step need not be exact: jitter and months of different lengths are no gaps") {
  std::string text = "t,x\n";
  for (const char* time : {"14:17:00", "14:18:00", "14:19:00", "14:19:59", "14:21:00", "14:22:00"})
    text += fmt::format("2015-02-02 {},1\n", time);
  const Series jitter = parse(text);
  CHECK(jitter.times.step.count == 60'000'000);
  CHECK(jitter.times.text(6) == "2015-02-02 14:23:00");
  const Series months = parse("t,x\n2019-12-01,1\n2020-01-01,2\n2020-02-01,3\n2020-03-01,4\n");
  CHECK(to_text(months.times.step) == "a month");
  CHECK(months.times.text(4) == "2020-04-01");
  CHECK(months.times.text(13) == "2021-01-01");
  CHECK(lacks(refusal("t,x\n2019-12-01,1\n2020-01-01,2\n2020-03-01,4\n"),
              {"x.csv:4", "2 months", "a month apart"}) == "");
}

TEST_CASE(
    "a row's cells beyond those of the header are counted, and not kept; a header has a million at most") {
  CsvReader csv("a,b\n1,2,3,\"4\n5\",6\n7,8\n", "x.csv");
  csv.next();
  csv.keep(3);
  csv.next();
  CHECK(csv.cells() == Views{"1", "2", "3"});
  CHECK(csv.quoted().size() == 3);
  CHECK(csv.count() == 5);
  csv.next();
  CHECK(csv.cells() == Views{"7", "8"});
  CHECK(csv.count() == 2);
  CHECK(csv.line() == 4);
  CHECK(refusal("a,b\n1,2\n3" + std::string(999, ',') + "\n") ==
        "x.csv:3: column 3 is one too many; the row has 1000 cells, the header 2");
  const auto columns = [](std::size_t count) {
    std::string header = "c0";
    for (std::size_t i = 1; i < count; ++i) header += fmt::format(",c{}", i);
    return header + "\n";
  };
  constexpr std::size_t most = CsvReader::most_columns;
  CHECK(most == 1'048'576);
  CHECK(refusal(columns(most)) == "x.csv: there are no rows below the header");
  CHECK(refusal(columns(most + 1)) == "x.csv:1: 1048577 columns; at most 1048576 are read");
}

TEST_CASE("ten thousand columns are read, and one fault among them is found") {
  std::string header = "t", row = "1", bad = "2";
  for (int i = 0; i < 10'000; ++i) {
    header += fmt::format(",c{}", i);
    row += fmt::format(",{}", i);
    bad += i == 7'654 ? ",x" : ",0";
  }
  const Series series = parse(header + "\n" + row + "\n", {.time = "t"});
  CHECK(series.width() == 10'000);
  CHECK(series.at(0, 9'999) == 9'999);
  CHECK(lacks(refusal(header + "\n" + row + "\n" + bad + "\n", {.time = "t"}),
              {"x.csv:3: column 7656 ('c7654')", "'x'"}) == "");
}

TEST_CASE("the bundled tables are what everybody counts") {
  const Series airline = load_series(project_root() / "data/series/airline.csv");
  CHECK(airline.rows() == 144);
  CHECK(airline.times.text(143) == "1960-12");
  CHECK(airline.at(0, 0) == 112);
  CHECK(airline.at(143, 0) == 432);
  const Series sunspots = load_series(project_root() / "data/series/sunspots.csv");
  CHECK(sunspots.rows() == 2820);
  CHECK(sunspots.times.text(0) == "1749-01");
  CHECK(sunspots.times.text(2819) == "1983-12");
  CHECK(*std::max_element(sunspots.values.begin(), sunspots.values.end()) == 253.8);
}

TEST_CASE("the files that data/get-series.sh fetches are read whole") {
  const auto file = [](const std::string& name) {
    const std::filesystem::path path = series_file(name);
    if (path.empty()) fmt::print("[skipped] {}: UNROLL_SERIES names no folder with it\n", name);
    return path;
  };
  if (const auto path = file("ETTh1.csv"); !path.empty()) {
    const Series series = load_series(path);
    CHECK(series.rows() == 17'420);
    CHECK(series.channels == Names{"HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT"});
    CHECK(series.times.text(17'420) == "2018-06-26 20:00:00");
    CHECK(series.notes.empty());
  }
  for (const auto& [name, rows, occupied] : {std::tuple{"occupancy-datatraining.csv", 8143, 1729},
                                             {"occupancy-datatest.csv", 2665, 972},
                                             {"occupancy-datatest2.csv", 9752, 2049}}) {
    const auto path = file(name);
    if (path.empty()) continue;
    const Series series = load_series(path, {.label = "Occupancy"});
    CHECK(series.rows() == rows);
    CHECK(series.channels == Names{"Temperature", "Humidity", "Light", "CO2", "HumidityRatio", "Occupancy"});
    int64_t count = 0;
    for (int64_t row = 0; row < series.rows(); ++row) count += series.at(row, series.label) == 1;
    CHECK(count == occupied);
    REQUIRE(series.notes.size() == 2);  // the row numbers; no gap
    CHECK(series.notes[1] == "rows are 60 s apart, give or take 1 s");
  }
  if (const auto path = file("eeg-eye-state.csv"); !path.empty()) {
    const Series series = load_series(path, {.label = "Class"});
    CHECK(series.rows() == 14'980);
    CHECK(series.width() == 15);
    CHECK(series.times.form == TimeForm::number);
  }
}
