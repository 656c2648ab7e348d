// Dates as people write them: what is read, in which order day and month are taken, and what comes after the last row.
#include <sstream>

#include "examples/timeseries/series/series.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Names = std::vector<std::string>;

std::string text_of(std::string_view text, DateOrder order = DateOrder::unknown) {
  const auto time = parse_time(text, order);
  return time ? to_text(*time) : "no time";
}

// A file of those times, each beside a value.
std::string file_of(const Names& times) {
  std::string csv = "date,y\n";
  for (std::size_t i = 0; i < times.size(); ++i) csv += fmt::format("\"{}\",{}\n", times[i], i % 5);
  return csv;
}

Series parse(const Names& times, const SeriesOptions& options = {}) {
  return parse_series(file_of(times), "x.csv", options);
}

std::string refusal(const Names& times, const SeriesOptions& options = {}) {
  return input_error_of([&] { parse(times, options); });
}

// The three times after the last one.
std::string after(const Names& times, const SeriesOptions& options = {}) {
  const Series series = parse(times, options);
  std::string text;
  for (int64_t k = 0; k < 3; ++k) text += (k ? ", " : "") + series.times.text(series.rows() + k);
  return text;
}

}  // namespace

TEST_CASE("a date is read however it is written, if its year has four digits") {
  for (const auto& [text, meant] : std::vector<std::pair<std::string, std::string>>{
           {"2012/01/01", "2012-01-01"},
           {"2012/1/9", "2012-01-09"},
           {"2012.01.09", "2012-01-09"},
           {"2012-Jan-09", "2012-01-09"},
           {"2012 Jan 9", "2012-01-09"},
           {"9 Jan 2012", "2012-01-09"},
           {"09-Jan-2012", "2012-01-09"},
           {"09JAN2012", "2012-01-09"},
           {"9. January 2012", "2012-01-09"},
           {"Jan 9, 2012", "2012-01-09"},
           {"january 9 2012", "2012-01-09"},
           {"Mon, 09 Jan 2012", "2012-01-09"},
           {"Monday, January 9, 2012", "2012-01-09"},
           {"Jan 1980", "1980-01"},
           {"Jan-1980", "1980-01"},
           {"Jan1980", "1980-01"},
           {"September, 1980", "1980-09"},
           {"Sept. 1980", "1980-09"},
           {"1980 Jan", "1980-01"},
           {"1980-DEC", "1980-12"},
           {"12/1980", "1980-12"},
           {"1-1980", "1980-01"},
           {"1970 Q1", "1970-Q1"},
           {"1970Q4", "1970-Q4"},
           {"1970-q2", "1970-Q2"},
           {"Q3 1970", "1970-Q3"},
           {"Q3-1970", "1970-Q3"},
           {"FY19 Q1", "2019-Q1"},
           {"Q2 FY2019", "2019-Q2"},
           {"FY2019-Q4", "2019-Q4"},
           {"1Q14", "2014-Q1"},
           {"4Q 1998", "1998-Q4"},
           {"Q1-14", "2014-Q1"},
           {"Quarter 3, 2014", "2014-Q3"},
           {"2H2019", "2019-07"},
           {"P01-2023", "2023-01"},
           {"FY23 P12", "2023-12"},
           {"KW 1/2024", "2024-01-01"},
           {"Week 53 - 2020", "2020-12-28"},
           {"2017-03-31 9:05", "2017-03-31 09:05:00"},
           {"2017-03-31 9:05 PM", "2017-03-31 21:05:00"},
           {"2017-03-31 12:05:07 am", "2017-03-31 00:05:07"},
           {"2017-03-31 12:05 PM", "2017-03-31 12:05:00"},
           {"Mar 31, 2017 14:05", "2017-03-31 14:05:00"},
           {"Fri, 31 Mar 2017 14:05:59 +0200", "2017-03-31 14:05:59+02:00"},
           {"2017-03-31 14:05:59 UTC", "2017-03-31 14:05:59Z"},
           {"2017-03-31t14:05z", "2017-03-31 14:05:00Z"},
           {"2017-03-31 14:05:59.000000000", "2017-03-31 14:05:59"},
           {"20170331T140559Z", "2017-03-31 14:05:59Z"},
           {"2020-W01", "2019-12-30"},
           {"2020-W53", "2020-12-28"},
           {"2015-W53", "2015-12-28"},
           {"2021W1", "2021-01-04"},
           {"2024-W05-1", "2024-01-29"},
           {"2024-W05-3", "2024-01-31"},
           {"2021-032", "2021-02-01"},
           {"2020-366", "2020-12-31"},
           {"FY1980/81", "1980"},
           {"FY1999-00", "1999"},
           {"3rd March 2012", "2012-03-03"},
           {"March 22nd, 2012", "2012-03-22"},
           {"2017-03-31 14:05:59:412", "2017-03-31 14:05:59.412000"},
           {"20170331T1405", "2017-03-31 14:05:00"},
           {"20170331 14:05", "2017-03-31 14:05:00"}})
    CHECK_MESSAGE(text_of(text) == meant, text);
  for (const std::string text : {"Jan-80",
                                 "9-Jan-12",
                                 "1/9/12",
                                 "12-01-09",
                                 "31 Feb 2012",
                                 "32 Jan 2012",
                                 "Janu 1980",
                                 "Jan",
                                 "May 5",
                                 "1980 13",
                                 "1970 Q5",
                                 "2021-W53",
                                 "2014-W53",
                                 "2025-W53",
                                 "2021-W00",
                                 "2021-366",
                                 "FY1980/82",
                                 "2017-03-31 14:05:59:41",
                                 "1970 Q0",
                                 "Q1",
                                 "Q11970",
                                 "Q5-14",
                                 "1Q45",
                                 "P1-14",
                                 "P13-2023",
                                 "W1 14",
                                 "3H2019",
                                 "1970 Q1 14:00",
                                 "Jan 1980 14:00",
                                 "1999.05",
                                 "05.1999",
                                 "13/1999",
                                 "1999-1",
                                 "Tue, 09 Jan 2012",
                                 "Mon Jan 2012",
                                 "2017-03-31 13:05 PM",
                                 "2017-03-31 0:05 AM",
                                 "2017-03-31 9:5",
                                 "2017-03-31T1",
                                 "2017-03-31  14:05",
                                 "2017-03-31 14:05 CET",
                                 "20170331T14055",
                                 "1/2/2017",
                                 "31/12/2017",
                                 "12/31/2017"})
    CHECK_MESSAGE(text_of(text) == "no time", text);
}

TEST_CASE("times of East Asia and Thailand are read by their own years") {
  for (const auto& [text, meant] :
       std::vector<std::pair<std::string, std::string>>{{"昭和64年1月7日", "1989-01-07"},
                                                        {"平成元年1月8日", "1989-01-08"},
                                                        {"令和7年3月1日(土)", "2025-03-01"},
                                                        {"民國114年3月1日", "2025-03-01"},
                                                        {"114年3月1日", "2025-03-01"},
                                                        {"2025년 3월 1일", "2025-03-01"},
                                                        {"2025年第四季度", "2025-Q4"},
                                                        {"2025年第3四半期", "2025-Q3"},
                                                        {"2025年3月1日 下午 3:05", "2025-03-01 15:05:00"},
                                                        {"2025年3月1日 午後3時5分", "2025-03-01 15:05:00"},
                                                        {"2025年3月1日 午前3時5分", "2025-03-01 03:05:00"},
                                                        {"15 ตุลาคม 2557", "2014-10-15"}})
    CHECK_MESSAGE(text_of(text) == meant, text);
  std::istringstream full(
      "มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน "
      "กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม");
  std::istringstream brief("ม.ค. ก.พ. มี.ค. เม.ย. พ.ค. มิ.ย. ก.ค. ส.ค. ก.ย. ต.ค. พ.ย. ธ.ค.");
  for (std::istringstream* const names : {&full, &brief})
    for (int month = 1; month <= 12; ++month) {
      std::string name;
      *names >> name;
      CHECK_MESSAGE(text_of(name + " 2557") == fmt::format("2014-{:02}", month), name);
    }
}

TEST_CASE("dates whose year comes last are read in one order") {
  for (const char* dash : {"/", "-", "."}) {
    const std::string date = fmt::format("05{0}4{0}1987", dash);
    CHECK(text_of(date, DateOrder::day_first) == "1987-04-05");
    CHECK(text_of(date, DateOrder::month_first) == "1987-05-04");
    const std::string late = fmt::format("31{0}12{0}1987", dash);
    CHECK(text_of(late, DateOrder::day_first) == "1987-12-31");
    CHECK(text_of(late, DateOrder::month_first) == "no time");
    CHECK(reads_as_date(late));
  }
  CHECK(text_of("3/31/2017 2:05:59 PM", DateOrder::month_first) == "2017-03-31 14:05:59");
  CHECK(text_of("31/03/2017, 14:05:59", DateOrder::day_first) == "2017-03-31 14:05:59");
  CHECK(text_of("05/20/1987", DateOrder::day_first) == "no time");
  CHECK(text_of("30/02/1987", DateOrder::day_first) == "no time");
  CHECK(text_of("05/20-1987", DateOrder::month_first) == "no time");
  CHECK(text_of("9-Jan-29", DateOrder::day_first) == "2029-01-09");
  CHECK(text_of("1/9/69", DateOrder::month_first) == "1969-01-09");
  CHECK(text_of("1/9/30", DateOrder::month_first) == "no time");  // 2030 or 1930
  CHECK(text_of("Jan-20", DateOrder::day_first) == "2020-01");
  CHECK_FALSE(reads_as_date("20170331"));
  CHECK_FALSE(reads_as_date("1/2"));
}

TEST_CASE("the column shows which of day and month comes first, and a note says by what") {
  const Series us = parse({"05/20/1987", "05/21/1987", "05/22/1987"});
  CHECK(us.times.text(0) == "1987-05-20");
  CHECK(us.date_order == DateOrder::month_first);
  CHECK(us.notes ==
        Names{"column 1 ('date'): dates are read as month/day/year, as '05/20/1987' in line 2 shows"});
  CHECK(after({"11/05/1987", "12/05/1987", "13/05/1987"}) == "1987-05-14, 1987-05-15, 1987-05-16");
  CHECK(after({"1.5.1987", "2.5.1987", "3.5.1987"}, {.date_order = DateOrder::day_first}) ==
        "1987-05-04, 1987-05-05, 1987-05-06");
  // Thirteen firsts of a month: as month/day/year the last one lies before the others.
  Names firsts;
  for (int i = 0; i < 13; ++i) firsts.push_back(fmt::format("01/{:02}/{}", i % 12 + 1, 2019 + i / 12));
  const Series evenly = parse(firsts);
  CHECK(evenly.times.text(13) == "2020-02-01");
  CHECK(lacks(evenly.notes.at(0), {"day/month/year", "evenly spaced"}) == "");
  const Series ascends = parse({"01/12/2019", "02/11/2019", "03/10/2019"});
  CHECK(ascends.times.text(0) == "2019-01-12");
  CHECK(lacks(ascends.notes.at(0), {"month/day/year", "in no other order do they ascend"}) == "");
  // The newest first: fifths of a month, evenly spaced backwards.
  const Series newest = parse({"05/03/2020", "05/02/2020", "05/01/2020", "05/12/2019"});
  CHECK(newest.times.text(0) == "2019-12-05");
  CHECK(lacks(newest.notes.at(0), {"day/month/year", "evenly spaced"}) == "");
  // A column of another form needs no order.
  CHECK(parse({"2012/01/01", "2012/01/02"}).date_order == DateOrder::unknown);
  CHECK(parse({"01/01/2012"}).times.text(0) == "2012-01-01");
}

TEST_CASE("a column that may be either is refused by name, and a cell of the other order with its line") {
  const Names either = {"01/02/2020", "02/02/2020", "03/02/2020"};
  CHECK(
      refusal(either) ==
      "x.csv: column 1 ('date'): '01/02/2020' may be day/month/year or month/day/year, and no row tells which: "
      "data.date_order = \"dmy\" or \"mdy\" does");
  CHECK(after(either, {.date_order = DateOrder::day_first}) == "2020-02-04, 2020-02-05, 2020-02-06");
  CHECK(after(either, {.date_order = DateOrder::month_first}) == "2020-04-02, 2020-05-02, 2020-06-02");
  CHECK(
      refusal(either, {.model = "m"}) ==
      "x.csv: column 1 ('date'): '01/02/2020' may be day/month/year or month/day/year, and no row tells which: "
      "write the year first, as in 2017-03-31");
  const Series usual = parse(either, {.usual_order = DateOrder::day_first, .model = "m"});
  CHECK(usual.times.text(1) == "2020-02-02");
  CHECK(usual.notes.front() ==
        "column 1 ('date'): dates are read as day/month/year, as those of the rows that trained");
  CHECK(refusal({"13/02/2020", "14/02/2020", "02/15/2020"}) ==
        "x.csv:4: column 1 ('date'): '02/15/2020' is not a time, since dates here are day/month/year");
  CHECK(refusal({"13/02/2020", "14/02/2020"}, {.date_order = DateOrder::month_first}) ==
        "x.csv:2: column 1 ('date'): '13/02/2020' is not a time, since dates here are month/day/year");
  CHECK(lacks(refusal({"2020-02-13", "14/02/2020"}), {"x.csv:3", "'14/02/2020' is not a time", "2017 Q1"}) ==
        "");
  CHECK(lacks(refusal({"Jan 2020", "2 Feb 2020"}), {"x.csv:3", "another form of time than 'Jan 2020'"}) ==
        "");
  // If one series among several is read, its own rows decide the order of day and month.
  const std::string two = "id,date,y\na,13/02/2020,1\nb,01/03/2020,2\na,14/02/2020,1\nb,02/03/2020,2\n";
  CHECK(parse_series(two, "x.csv", {.only = "id=a"}).times.text(1) == "2020-02-14");
  CHECK(lacks(input_error_of([&] { parse_series(two, "x.csv", {.only = "id=b"}); }), {"data.date_order"}) ==
        "");
}

TEST_CASE("the row after the last: quarters, months' ends, business days, whatever the form") {
  CHECK(after({"1970 Q1", "1970 Q2", "1970 Q3"}) == "1970-Q4, 1971-Q1, 1971-Q2");
  CHECK(to_text(parse({"1970 Q1", "1970 Q2", "1970 Q3"}).times.step) == "a quarter");
  CHECK(
      refusal({"1970 Q1", "1970 Q2", "1970 Q3", "1971 Q1"}) ==
      "x.csv:5: a gap of 6 months after 1970-Q3, where rows are a quarter apart; data.gaps = \"allow\" takes the "
      "rows as they come, \"fill\" puts rows in");
  CHECK(after({"Q1 1970", "Q1 1971"}) == "1972-Q1, 1973-Q1, 1974-Q1");
  CHECK(after({"Nov 1980", "Dec 1980"}) == "1981-01, 1981-02, 1981-03");
  CHECK(after({"Jan 31, 2020", "Feb 29, 2020", "Mar 31, 2020"}) == "2020-04-30, 2020-05-31, 2020-06-30");
  CHECK(after({"30/11/2019", "30/12/2019", "30/01/2020", "29/02/2020"}) ==
        "2020-03-30, 2020-04-30, 2020-05-30");
  CHECK(after({"31.12.2019", "31.03.2020", "30.06.2020"}) == "2020-09-30, 2020-12-31, 2021-03-31");
  CHECK(after({"Thu, 2 Jan 2020", "Fri, 3 Jan 2020", "Mon, 6 Jan 2020"}) ==
        "2020-01-07, 2020-01-08, 2020-01-09");
  CHECK(after({"1/31/2020 10:00 PM", "1/31/2020 11:00 PM", "2/1/2020 12:00 AM"}) ==
        "2020-02-01 01:00:00, 2020-02-01 02:00:00, 2020-02-01 03:00:00");
  // Clocks in Berlin are set forward on 2020-03-29: with the offset no hour is missing.
  CHECK(after({"29/03/2020 01:00 +0100", "29/03/2020 03:00 +0200", "29/03/2020 04:00 +0200"}) ==
        "2020-03-29 05:00:00+02:00, 2020-03-29 06:00:00+02:00, 2020-03-29 07:00:00+02:00");
}

TEST_CASE("a quarter has a calendar, and a split may begin with one or within it") {
  CHECK(calendar_of(*parse_time("1970 Q3")).month == 7);
  CHECK(to_text(in_form(*parse_time("1970-08-15"), TimeForm::quarter)) == "1970-Q3");
  CHECK(to_text(in_form(*parse_time("1970-Q3"), TimeForm::date)) == "1970-07-01");
  CHECK(to_text(in_form(*parse_time("1970-Q3"), TimeForm::year)) == "1970");
  const Series series = parse({"1970 Q1", "1970 Q2", "1970 Q3", "1970 Q4"});
  CHECK(parse_time(series.times.text(3))->count == series.times.at[3]);
}

TEST_CASE(
    "what is typed beside a column is a year, a month, a date; its cells may be weeks, and moments since 1970") {
  const auto typed = [](const char* text, TimeForm beside) { return to_text(*parse_time(text, beside)); };
  for (const TimeForm beside : {TimeForm::date, TimeForm::date_time}) {
    CHECK(typed("201707", beside) == "201707");  // July
    CHECK(typed("2017", beside) == "2017");
    CHECK(typed("20170704", beside) == "20170704");
  }
  const auto cell = [](const char* text, TimeForm form) {
    return to_text(*time_in_column(text, form, DateOrder::unknown));
  };
  CHECK(cell("201707", TimeForm::date) == "2017-02-13");
  CHECK(cell("1735686000", TimeForm::date_time) == "2024-12-31 23:00:00Z");
  // A machine's name is no part of a year.
  CHECK(parse_time("M1-2024"));
  CHECK(!parse_time("M1-1001"));
  CHECK(!parse_time("T4-1001"));
  CHECK(parse_time("Q4-1850"));
}

TEST_CASE("a typed time with an offset is that of the clock where the column's times have none") {
  const Series series = parse({"2021-03-30 00:00", "2021-03-30 01:00", "2021-03-30 02:00"});
  CHECK(series.times.count_of(*parse_time("2021-03-30T00:00+02:00")) == series.times.at[0]);
}
