// Which columns of a file are the time, a channel, or the names of several series; and what is said where that is not sure.
#include "data/series.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Names = std::vector<std::string>;
using Values = std::vector<double>;

Series parse(std::string_view text, const SeriesOptions& options = {}) {
  return parse_series(text, "x.csv", options);
}

std::string refusal(std::string_view text, const SeriesOptions& options = {}) {
  return input_error_of([&] { parse(text, options); });
}

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
  // Whoever leaves out dates that cannot be read is told what is lost.
  CHECK(parse("date,y\n31.1.2020,5\n29.2.2020,6\n", {.channels = {"y"}}).notes ==
        Names{"column 1 ('date') may hold times, but '31.1.2020' is not read as one: rows are numbered"});
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
  CHECK(refusal("y,year\n5,1900\n4,1901\n7,1902\n") ==
        "x.csv: column 'year' holds years: data.time = \"year\" makes it the time");
  CHECK(parse("y,year\n5,1900\n4,1901\n7,1902\n", {.time = "year"}).times.text(3) == "1903");
}

TEST_CASE("several series in one file are told from one, and one of them can be read") {
  std::string below = "symbol,date,close\n", turns = "date,close,store\n";
  for (const char* symbol : {"AAPL", "AMZN", "GOOG", "MSFT"})
    for (int day = 1; day <= 5; ++day)
      below += fmt::format("{},2020-01-{:02},{}\n", symbol, day, symbol[2] + day);
  for (int day = 1; day <= 5; ++day)
    for (int store : {7, 9}) turns += fmt::format("2020-01-{:02},{},{}\n", day, store * day, store);
  const std::string said =
      "x.csv: 4 series in one file, by column 'symbol' (AAPL, AMZN, GOOG, ...): data.only = \"symbol=AAPL\" reads one "
      "of them";
  CHECK(refusal(below) == said);
  CHECK(refusal(below, {.channels = {"close"}}) == said);  // whoever leaves the text out
  CHECK(refusal(turns) ==
        "x.csv: 2 series in one file, by column 'store' (7, 9): data.only = \"store=7\" reads one of them");
  const Series one = parse(below, {.only = "symbol=GOOG"});
  CHECK(one.channels == Names{"close"});
  CHECK(one.values == Values{'O' + 1, 'O' + 2, 'O' + 3, 'O' + 4, 'O' + 5});
  CHECK(one.times.text(5) == "2020-01-06");
  CHECK(parse(turns, {.only = "store=9"}).values == Values{9, 18, 27, 36, 45});
  CHECK(lacks(refusal(below, {.only = "symbol=GOGO"}), {"no row has 'GOGO' in column 'symbol'", "'GOOG'"}) ==
        "");
  CHECK(lacks(refusal(below, {.only = "symbl=GOOG"}), {"no column 'symbl'", "did you mean 'symbol'?"}) == "");
  CHECK(lacks(refusal(below, {.only = "GOOG"}), {"data.only = \"GOOG\"", "column=word"}) == "");
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
