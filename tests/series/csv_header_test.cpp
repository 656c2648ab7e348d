// The header of a series' file: names, columns without one, row numbers.
#include "data/csv.h"
#include "examples/timeseries/series/series.h"
#include "tests/data_files.h"
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
