// Times with marks of preliminary values behind them, and tables with a column a day or an hour.
#include <functional>

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
  const auto note = [](const char* without) {
    return fmt::format("each day ('1' to '31') of a month is read as a row of its own{}{}", without, counted);
  };
  const int begins[] = {0, 31, 59}, counts[] = {31, 28, 31};
  REQUIRE(dated(31 - 3) == "2021-02-01");
  const auto table_of = [&](const std::string& header, const char* form) {
    std::string csv = header + "\n";
    for (int k = 0; k < 3; ++k)
      csv += fmt::format(fmt::runtime(form), k + 1, months_of_year[static_cast<size_t>(k)]) +
             days_of(begins[k], counts[k]) + "\n";
    return csv;
  };
  check_mended(folder, table_of("Month" + names, "2021-{0:02}"), plain, {note("")});
  check_mended(folder, table_of("Year,Month" + names, "2021,{0}"), plain, {note("")});
  check_mended(folder, table_of("Month,Year" + names, "{1},2021"), plain, {note("")});
  check_mended(
      folder, table_of("Year,Month" + named, "2021,{1}"), plain,
      {"each day ('Day 1' to 'Day 31') of a month is read as a row of its own" + std::string(counted)});
  // A value of the month behind its days is that of each.
  std::string beside = table_of("Month" + names, "2021-{0:02}");
  for (size_t at = 0, line = 0; (at = beside.find('\n', at)) != beside.npos; ++line) {
    const std::string cell = line == 0 ? ",load" : fmt::format(",{}", 700 + line);
    beside.insert(at, cell), at += cell.size() + 1;
  }
  check_mended(
      folder, beside,
      rows("date,load,value", 90,
           [](int row) {
             return fmt::format("{},{},{}", dated(row - 3), row < 31 ? 701 : row < 59 ? 702 : 703, week(row));
           }),
      {});
  // Totals stand beside the days, and below them.
  std::string total = table_of("Month" + names, "2021-{0:02}");
  for (size_t at = 0, line = 0; (at = total.find('\n', at)) != total.npos; at += 5, ++line)
    total.insert(at, line == 0 ? ",Sum" : ",999");
  check_mended(folder, total + "Total,9,9\n", plain, {note(", without 'Sum'")});
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
  check_mended(
      folder, wide, plain,
      {std::string("each hour ('0' to '23') is read as a row of its own, without 'Total'") + counted});
  check_mended(
      folder, clocks, plain,
      {std::string("each time of day ('00:00' to '23:00') is read as a row of its own, without 'Total'") +
       counted});
}

TEST_CASE("in a table of years across, a column that counts the lines names no series, and no year is lost") {
  const Folder folder;
  std::string years, quoted;
  for (int year = 1990; year < 2020; ++year)
    years += fmt::format(",{}", year), quoted += fmt::format(",\"{}\"", year);
  const auto line = [](const char* name, int more) {
    std::string text = name;
    for (int k = 0; k < 30; ++k) text += fmt::format(",{}", week(k) + more);
    return text + "\n";
  };
  const std::string plain = rows("time,Austria,Belgium", 30, [](int row) {
    return fmt::format("{},{},{}", 1990 + row, week(row), week(row) + 5);
  });
  const std::string note = std::string("each column of a time is read as a row of its own") + counted;
  check_mended(folder, "Country" + years + "\n" + line("Austria", 0) + line("Belgium", 5), plain, {note});
  std::string later = line("Belgium", 5);  // three years later
  for (int k = 0; k < 3; ++k) later = with(later, fmt::format(",{},", week(k) + 5), ",,");
  check_mended(folder, "Country" + years + "\n" + line("Austria", 0) + later,
               rows("time,Austria,Belgium", 30,
                    [](int row) {
                      return fmt::format("{},{},{}", 1990 + row, week(row),
                                         row < 3 ? "" : std::to_string(week(row) + 5));
                    }),
               {note});
  check_mended(folder, ",Country" + years + "\n" + line("0,Austria", 0) + line("1,Belgium", 5), plain,
               {note});
  check_mended(folder, "\"\"" + quoted + "\n" + line("\"Austria\"", 0) + line("\"Belgium\"", 5), plain,
               {note});
}

TEST_CASE(
    "a weekday that never has a value is left out, whether or not rows to be forecast stand at the end") {
  const Folder folder;
  const auto shop = [](int open) {
    return rows("day,x", 84 + open, [](int row) {
      return fmt::format("{},{}", dated(row), row % 7 == 6 || row >= 84 ? "" : std::to_string(week(row)));
    });
  };
  for (const int open : {0, 14})
    CHECK(has(forecast_of(folder, shop(open)).err, "are left out: no Sunday has a value"));
}

TEST_CASE("titles of any width stand above a table of times across, and a line of units below its names") {
  const Folder folder;
  std::string clocks = "Meter,Date,Units", months = "Geography", north = "North", south = "South";
  for (int k = 1; k <= 48; ++k) clocks += fmt::format(",{:02}:{:02}", k / 2, k % 2 * 30);
  std::string readings;
  for (int row = 0; row < 30; ++row) {
    readings += fmt::format("\n17,{},kWh", dated(row));
    for (int k = 0; k < 48; ++k) readings += fmt::format(",{}", week(row) + k);
  }
  check_mended(folder, "Half Hourly Data,,\nSite: Unit 4,,\n" + clocks + readings + "\n",
               clocks + readings + "\n", {"lines 1 to 2 are left out: above the names, which are in line 3"});
  for (int k = 0; k < 48; ++k) {
    months += fmt::format(",{} {}", months_of_year[static_cast<size_t>(k % 12)], 2017 + k / 12);
    north += fmt::format(",{}", week(k)), south += fmt::format(",{}", week(k) + 5);
  }
  const std::string plain = months + "\n" + north + "\n" + south + "\n";
  check_mended(folder, "Turnover by region\n\n" + with(plain, "Dec 2020", "Dec 2020*"), plain,
               {"lines 1 to 2 are left out: above the names, which are in line 3"});
  check_mended(folder,
               "Table 20\nRelease: today\n\nClassification,Trade\nAdjustments,Unadjusted\n" + months +
                   "\n,Dollars\n" + north + "\n" + south +
                   "\n\nSymbols:\nE,use with caution\np,preliminary\n\nHow to cite: Table 20\n",
               plain, {"line 7 is left out: it holds units, as 'Dollars'"});
}

TEST_CASE(
    "a line that counts the columns, and a year of two that stands once above its quarters, are read as such") {
  const Folder folder;
  const auto quarters = [](bool once) {
    return rows("Year,Quarter,Exports,Imports", 55, [=](int row) {
      constexpr std::array months = {" (Apr-Jun)", " (Jul-Sep)", " (Oct-Dec)", " (Jan-Mar)"};
      const int year = 2010 + row / 4;
      const std::string of_year =
          once && row % 4 > 0 ? ""
          : once              ? fmt::format("{}-{:02}{}", year, (year + 1) % 100, year == 2023 ? " (P)" : "")
                              : std::to_string(year);
      return fmt::format("{},Q{}{},{},{}", of_year, row % 4 + 1,
                         once ? months[static_cast<size_t>(row % 4)] : "", week(row), week(row) + 5);
    });
  };
  check_mended(folder, with(quarters(true), "Imports\n", "Imports\n1,2,3,4\n") + "P: Provisional.,,,\n",
               quarters(false), {"line 2 is left out: it counts the columns"});
}

TEST_CASE(
    "numbers that count a year's quarters, months or weeks are its parts, whatever their column is called") {
  const Folder folder;
  for (const auto& [parts, form] : {std::pair{4, "{} Q{}"}, {12, "{}-{:02}"}, {52, "{}-W{:02}"}}) {
    const auto written = [parts = parts](const std::string& names,
                                         const std::function<std::string(int year, int part)>& time) {
      return rows(names, 4 * parts - 1, [&](int row) {
        return fmt::format("{},{}", time(2019 + row / parts, row % parts + 1), week(row));
      });
    };
    const std::string plain = written(
        "År,x", [form = form](int year, int part) { return fmt::format(fmt::runtime(form), year, part); });
    check_mended(folder,
                 written("År,Del,x", [](int year, int part) { return fmt::format("{},{}", year, part); }),
                 plain, {});
  }
}

TEST_CASE("a year and its week or month beside the names of several series are their time") {
  const Folder folder;
  for (const auto& [parts, form] : {std::pair{12, "{}-{:02}"}, {52, "{}-W{:02}"}}) {
    const auto written = [parts = parts](const std::string& names,
                                         const std::function<std::string(int year, int part)>& time) {
      std::string csv = names + "\n";
      for (int row = 0; row < 4 * parts - 1; ++row)
        for (const char* ward : {"North", "South"})
          csv += fmt::format("{},{},{}\n", time(2019 + row / parts, row % parts + 1), ward,
                             week(row) + (*ward == 'N' ? 0 : 5));
      return csv;
    };
    const std::string plain = written("Rok,Ward,x", [form = form](int year, int part) {
      return fmt::format(fmt::runtime(form), year, part);
    });
    for (const char* name : {"Part", "Tydzień", "Week"})
      if (std::string_view(name) != "Week" || parts == 52)
        check_mended(folder,
                     written(fmt::format("Rok,{},Ward,x", name),
                             [](int year, int part) { return fmt::format("{},{}", year, part); }),
                     plain, {});
  }
}

TEST_CASE("counters and flags beside values are not forecast, and totals of SAP are no rows") {
  const Folder folder;
  const auto closing = [](const std::string& names, const char* more) {
    return rows(names, 84, [=](int row) {
      return fmt::format(fmt::runtime(more), dated(row), week(row), 411 + row, row % 40 == 7 ? 5 : 8);
    });
  };
  const ProgramRun run = forecast_of(folder, closing("day,x,N. closing,x quality", "{},{},{:04},{}"));
  CHECK_MESSAGE(run.out == forecast_of(folder, closing("day,x", "{},{}")).out, run.err);
  CHECK(has(run.err, "left out: N. closing (numbers the rows), x quality (a flag by its name)"));
  // A value, since no column is called Air.
  CHECK(has(forecast_of(folder, closing("day,x,N. closing,Air quality", "{},{},{:04},{}")).out,
            "Air quality_low"));
  const auto ledger = [](bool totals) {
    std::string csv = "GJahr,Per.,Haben\n";
    for (int row = 0; row < 60; ++row) {
      csv += fmt::format("{},{:03},{}\n", 2013 + row / 12, row % 12 + 1, 100 + week(row));
      if (totals && row % 12 == 11) csv += fmt::format("*{},,1300\n", 2013 + row / 12);
    }
    return csv;
  };
  check_mended(folder, ledger(true), ledger(false),
               {"5 lines, the first is line 14, are left out: '*2013' is a total"});
}

TEST_CASE("years and months of Japan, and months of Russia below titles, are times") {
  const Folder folder;
  const auto months = [](const std::string& names, const std::function<std::string(int row)>& cells) {
    return rows(names, 60, cells);
  };
  const std::string plain = months("t,x", [](int row) {
    return fmt::format("{}-{:02},{}", 2015 + row / 12, row % 12 + 1,
                       row == 15 ? "" : std::to_string(34000 + week(row)));
  });
  // The year of the era stands in its first row; one value is an ellipsis, the last ones are marked.
  check_mended(folder,
               months("年,月,x",
                      [](int row) {
                        const std::string year = row % 12   ? ""
                                                 : row < 48 ? fmt::format("平成{}年", 27 + row / 12)
                                                            : fmt::format("令和{}年", row / 12 - 3);
                        return fmt::format("{},{}月,{}", year, row % 12 + 1,
                                           row == 15  ? "…"
                                           : row > 57 ? fmt::format("\"p 34,0{}\"", week(row))
                                                      : fmt::format("\"34,0{}\"", week(row)));
                      }),
               plain, {"marks behind the cells of column 3 ('x') are left out, as in 'p 34,012' in line 60"});
  constexpr std::array names = {"Январь", "Февраль", "Март",     "Апрель",  "Май",    "Июнь",
                                "Июль",   "Август",  "Сентябрь", "Октябрь", "Ноябрь", "Декабрь"};
  std::string sales = "Продажи;;\nПараметры:;Период: 01.01.2017;\n;;\nПериод;Выручка;Чек\n";
  for (int row = 0; row < 48; ++row) {
    sales += fmt::format("{} {} г.;{} 000,5;{}\n", names[static_cast<size_t>(row % 12)], 2017 + row / 12,
                         week(row), row % 5);
    if (row % 12 == 11) sales += fmt::format("Итого за {} г.;99 000,0;9\n", 2017 + row / 12);
  }
  check_mended(folder, sales,
               rows("Период;Выручка;Чек", 48,
                    [](int row) {
                      return fmt::format("{}-{:02};{}000,5;{}", 2017 + row / 12, row % 12 + 1, week(row),
                                         row % 5);
                    }),
               {"lines 1 to 3 are left out: above the names, which are in line 4"});
}

TEST_CASE("flags of Eurostat behind values, and six columns of words before its times, are read") {
  const Folder folder;
  std::string table = "freq,indic,nace,adj,unit,geo\\TIME", austria = "Q,X,G,CA,I21,AT",
              germany = "Q,X,G,CA,I21,DE";
  for (int k = 0; k < 60; ++k) {
    table += fmt::format(",{}-Q{}", 2008 + k / 4, k % 4 + 1);
    austria += fmt::format(",{}{}", week(k), k == 59 ? " p" : ""),
        germany += fmt::format(",{}{}", week(k) + 5, k == 20 ? " b" : "");
  }
  check_mended(
      folder, table + "\n" + austria + "\n" + germany + "\n",
      rows("time,AT,DE", 60,
           [](int k) { return fmt::format("{} Q{},{},{}", 2008 + k / 4, k % 4 + 1, week(k), week(k) + 5); }),
      {});
}

TEST_CASE("two lines of names are joined where the first one repeats") {
  const Folder folder;
  const auto cells = [](const std::string& names) {
    return rows(names, 84, [](int row) { return fmt::format("{},{},{}", dated(row), week(row), row % 5); });
  };
  check_mended(folder, cells("day,Temp,Temp\n,,quality"), cells("day,Temp,Temp quality"),
               {"the names go on in line 2, as 'quality' below 'Temp'"});
}

TEST_CASE(
    "cells with one kind of unit are forecast beside plain numbers, and those of several are left out") {
  const Folder folder;
  const auto cells = [](const char* form) {
    return rows("day,x,volume,what", 84, [=](int row) {
      return fmt::format(fmt::runtime(form), dated(row), week(row), 440 + week(row),
                         row % 2 ? "3 kg" : "2 St");
    });
  };
  check_mended(
      folder, cells("{},{} req/s,{}M,{}"), cells("{},{},{},{}"),
      {"the unit 'req/s' behind the cells of column 2 ('x') is left out; likewise 'M' of column 3 ('volume')"});
  CHECK(has(forecast_of(folder, cells("{},{},{},{}")).err, "left out: what (text, '2 St' in line 2"));
  // Packs of one size are no values, nor are numbers with a unit in a few rows.
  CHECK(has(forecast_of(folder, cells("{},{},5 kg,{}")).err, "volume (it never changes)"));
}

TEST_CASE("a total above the months, labels above the first one, and -999 beside one value are mended") {
  const Folder folder;
  const auto months = [](const std::string& above, const char* form) {
    return rows(above, 60, [=](int row) {
      return fmt::format(fmt::runtime(form), 2019 + row / 12, 1 + row % 12, 30 + row % 12);
    });
  };
  check_mended(
      folder,
      months("Monat;Umsatz;Menge\nSumme;2.701.034 EUR;2.701.034 ST", "{1:02}.{0};30.7{2},5 EUR;30.{2}7 ST"),
      months("Monat;Umsatz;Menge", "{0}-{1:02};307{2},5;30{2}7"), {"line 2 is left out: 'Summe' is a total"});
  // The header has a cell less than the rows, and names the first columns, as the lines below it show.
  check_mended(
      folder,
      months("\"Libellé\";\"Prix\"\n\"idBank\";\"001\"\n\"Période\";\"\"", "\"{0}-{1:02}\";\"{2}.5\";\"A\""),
      months("Libellé;Prix;flag", "{0}-{1:02};{2}.5;A"),
      {"the last column has no name, and is called 'column 3'"});
  const ProgramRun run = forecast_of(folder, rows("day,quality,x", 84, [](int row) {
                                       const bool is_out = row == 40 || row == 41;
                                       return fmt::format("{},{},{}", dated(row), is_out ? "-999" : "10",
                                                          is_out ? "-999" : std::to_string(week(row)));
                                     }));
  CHECK_MESSAGE(has(run.err, "left out: quality (it never changes)"), run.err);
  CHECK_MESSAGE(has(run.err, "-999 in column 3 ('x') is read as missing, 2 times: the other values lie from"),
                run.err);
}
