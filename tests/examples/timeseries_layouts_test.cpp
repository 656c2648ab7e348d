// Times with marks of preliminary values behind them, and tables with a column a day or an hour.
#include "tests/examples/mended.h"

using namespace mended;

namespace {

constexpr const char* counted = ", and lines are counted in the table that this makes";

constexpr std::array months_of_year = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::string marks_note(int column, const char* name, const char* cell, int line) {
  return fmt::format("marks behind the cells of column {} ('{}') are left out, as in '{}' in line {}", column,
                     name, cell, line);
}

}  // namespace

TEST_CASE("marks behind times are left out, wherever the time stands") {
  const Folder folder;
  // The last of 60 months, by its time.
  const auto months = [](const char* names, const char* form, const char* mark) {
    return rows(names, 60, [=](int row) {
      return fmt::format(fmt::runtime(form), 2019 + row / 12, 1 + row % 12, row < 59 ? "" : mark,
                         50 + row % 12);
    });
  };
  for (const char* mark :
       {"*", " (p)", "p", " r", "¹", "[2]", " 1)", " (prelim.)", " (provisional)", " (vorläufig)"}) {
    const std::string last = fmt::format("2023-12{}", mark);
    check_mended(folder, months("t,x", "{0}-{1:02}{2},{3}", mark), months("t,x", "{0}-{1:02}{2},{3}", ""),
                 {marks_note(1, "t", last.c_str(), 61)});
    const std::string year = fmt::format("2023{}", mark);
    check_mended(folder, months("Year,Month,x", "{0}{2},{1},{3}", mark),
                 months("Year,Month,x", "{0}{2},{1},{3}", ""), {marks_note(1, "Year", year.c_str(), 61)});
  }
  const auto named = [](const char* mark) {
    return rows("Year,Month,x", 48, [=](int row) {
      return fmt::format("{},{}{},{}", 2019 + row / 12, months_of_year[static_cast<size_t>(row % 12)],
                         row == 40 ? mark : "", 50 + row % 12);
    });
  };
  check_mended(folder, named(" (p)"), named(""), {marks_note(2, "Month", "May (p)", 42)});
  // Words that say no mark are no time.
  CHECK(has(forecast_of(folder, months("t,x", "{0}-{1:02}{2},{3}", " (strike)")).err,
            "is left out: below the rows, as '2023-12 (strike)'"));
}

TEST_CASE("a cell that is no year in a column of years is said") {
  const Folder folder;
  const auto years = [](const char* odd) {
    return rows("Year,x", 40,
                [=](int row) { return fmt::format("{}{},{}", 1985 + row, row == 20 ? odd : "", week(row)); });
  };
  CHECK(has(refused(folder, years("E")), ":22: column 1 ('Year'): '2005E' is not a time"));
  CHECK(has(forecast_of(folder, years("")).out, "\n2025,"));
}

TEST_CASE("a table with a column a day of the month is read by days") {
  const Folder folder;
  const std::string plain =
      rows("date,value", 90, [](int row) { return fmt::format("{},{}", dated(row - 3), week(row)); });
  const auto days_of = [](int first, int count) {
    std::string line;
    for (int k = 0; k < 31; ++k) line += k < count ? fmt::format(",{}", week(first + k)) : ",";
    return line;
  };
  std::string names, named;
  for (int k = 1; k <= 31; ++k) names += fmt::format(",{}", k), named += fmt::format(",Day {}", k);
  const std::string note =
      fmt::format("each day ('1' to '31') of a month is read as a row of its own{}", counted);
  const int begins[] = {0, 31, 59}, counts[] = {31, 28, 31};
  REQUIRE(dated(31 - 3) == "2021-02-01");
  const auto table_of = [&](const std::string& header, const char* form) {
    std::string csv = header + "\n";
    for (int k = 0; k < 3; ++k)
      csv += fmt::format(fmt::runtime(form), k + 1, months_of_year[static_cast<size_t>(k)]) +
             days_of(begins[k], counts[k]) + "\n";
    return csv;
  };
  check_mended(folder, table_of("Month" + names, "2021-{0:02}"), plain, {note});
  check_mended(folder, table_of("Year,Month" + names, "2021,{0}"), plain, {note});
  check_mended(folder, table_of("Month,Year" + names, "{1},2021"), plain, {note});
  check_mended(
      folder, table_of("Year,Month" + named, "2021,{1}"), plain,
      {"each day ('Day 1' to 'Day 31') of a month is read as a row of its own" + std::string(counted)});
  // Totals stand beside the days, and below them.
  std::string total = table_of("Month" + names, "2021-{0:02}");
  for (size_t at = 0, line = 0; (at = total.find('\n', at)) != total.npos; at += 5, ++line)
    total.insert(at, line == 0 ? ",Sum" : ",999");
  check_mended(folder, total + "Total,9,9\n", plain, {note});
}

TEST_CASE("hours may be numbers alone beside dates, and a total of the day is none") {
  const Folder folder;
  const auto value = [](int day, int hour) { return week(day) + (hour * 7) % 5; };
  std::string wide = "Date", clocks = "Date";
  for (int hour = 0; hour < 24; ++hour)
    wide += fmt::format(",{}", hour), clocks += fmt::format(",{:02}:00", hour);
  wide += ",Total\n", clocks += ",Total\n";
  for (int day = 0; day < 30; ++day) {
    std::string line = dated(day);
    for (int hour = 0; hour < 24; ++hour) line += fmt::format(",{}", value(day, hour));
    wide += line + ",500\n", clocks += line + ",500\n";
  }
  const std::string plain = rows("Date,value", 720, [&](int row) {
    return fmt::format("{} {:02}:00,{}", dated(row / 24), row % 24, value(row / 24, row % 24));
  });
  check_mended(folder, wide, plain,
               {std::string("each hour ('0' to '23') is read as a row of its own") + counted});
  check_mended(folder, clocks, plain,
               {std::string("each time of day ('00:00' to '23:00') is read as a row of its own") + counted});
}
