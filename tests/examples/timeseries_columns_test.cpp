// Which columns of a file are its time, which name its series, and which are forecast.
#include "tests/examples/mended.h"
#include "tests/examples/timeseries.h"

using namespace mended;

TEST_CASE(
    "names and numbers of a year's parts are the time, and a text with a number that is none is said to be none") {
  const Folder folder;
  const auto quarter = [](int row) { return std::pair(row % 4 + 1, 2003 + row / 4); };
  const auto part = [](int row, int of) { return std::pair(row % of + 1, 2014 + row / of); };
  struct Kind {
    std::function<std::string(int)> cell;
    std::string next;
  };
  for (const Kind& kind : std::vector<Kind>{
           {[&](int row) {
              return fmt::format("FY{:02} Q{}", quarter(row).second - 2000, quarter(row).first);
            },
            "2024-Q1"},
           {[&](int row) { return fmt::format("{}Q{:02}", quarter(row).first, quarter(row).second - 2000); },
            "2024-Q1"},
           {[&](int row) { return fmt::format("{}{}", quarter(row).second, quarter(row).first); }, "2024-Q1"},
           {[&](int row) { return fmt::format("T{} {}", quarter(row).first, quarter(row).second); },
            "2024-Q1"},
           {[&](int row) { return fmt::format("{}. Quartal {}", quarter(row).first, quarter(row).second); },
            "2024-Q1"},
           {[&](int row) { return fmt::format("P{:02}-{}", part(row, 12).first, part(row, 12).second); },
            "2021-01"},
           {[&](int row) { return fmt::format("{}M{:02}", part(row, 12).second, part(row, 12).first); },
            "2021-01"},
           {[&](int row) { return fmt::format("{}{:02}", part(row, 52).second, part(row, 52).first); },
            "2015-08-10"},
           {[&](int row) { return fmt::format("KW {}/{}", part(row, 52).first, part(row, 52).second); },
            "2015-08-10"},
           {[&](int row) { return fmt::format("{}", 1'600'000'000 + 3600 * row); },
            "2020-09-17 00:26:40Z"}}) {
    CAPTURE(kind.cell(0));
    const auto beside = [&](int row) { return fmt::format("{},{}", kind.cell(row), week(row)); };
    CHECK(first_forecast(forecast_of(folder, rows("t,x", 84, beside))) == kind.next + ",10");
  }
  const ProgramRun run = forecast_of(
      folder, rows("t,x", 84, [](int row) { return fmt::format("Tag {},{}", row + 1, week(row)); }));
  CHECK_MESSAGE(run.err.find("column 1 ('t') may hold times, but 'Tag 1' in line 2 is not read as one") !=
                    std::string::npos,
                run.err);
}

TEST_CASE("columns that count or select are not forecast") {
  const Folder folder;
  for (const char* name : {"entry_id", "Invoice No", "OrderID", "index"}) {
    const ProgramRun run =
        forecast_of(folder, rows(fmt::format("t,{},paid", name), 84, [](int row) {
                      return fmt::format("2021-{:02}-{:02},{},{}", day(row).month, day(row).day,
                                         100 + row * (row + 3), 900 + row * row);
                    }));
    CHECK_MESSAGE(
        run.err.find(fmt::format("left out: {} (a counter by its name and whole numbers that ascend)",
                                 name)) != std::string::npos,
        run.err);
    CHECK(lines_of(run.out).at(0) == "time,paid,paid_low,paid_high");
  }
  for (const char* name : {"COVID", "case number"})  // these add up, and are forecast
    CHECK(lines_of(forecast_of(folder, rows(fmt::format("t,{}", name), 84,
                                            [](int row) {
                                              return fmt::format("2021-{:02}-{:02},{}", day(row).month,
                                                                 day(row).day, 100 + row * (row + 3));
                                            }))
                       .out)
              .at(0)
              .starts_with(fmt::format("time,{}", name)));
  const std::string shops = rows("t,shop no,x", 84, [](int row) {
    return fmt::format("2021-{:02}-{:02},{},{}", day(row / 2).month, day(row / 2).day, row % 2 + 7,
                       week(row / 2));
  });
  CHECK(refusal(folder, shops).ends_with("as an option: --set 'data.id=shop no'\n"));
  CHECK(lines_of(forecast_of(folder, shops, set({"data.only=shop no=7"})).out).at(0) ==
        "time,x,x_low,x_high");
  // The newest stand first, of each series in turn or of one after the other.
  for (const bool in_turn : {true, false})
    CHECK(refusal(folder, rows("t,shop no,x", 84,
                               [&](int row) {
                                 const int at = in_turn ? 41 - row / 2 : 41 - row % 42;
                                 return fmt::format("2021-{:02}-{:02},{},{}", day(at).month, day(at).day,
                                                    7 + (in_turn ? row % 2 : row / 42), week(at));
                               }))
              .find("2 series in one file, by column 'shop no' (7, 8)") != std::string::npos);
}

// Clocks are set back on 2021-10-31 at 01:00 UTC. Each value is the hour that the clock shows.
TEST_CASE("hours with offsets that change are forecast by the clock") {
  const Folder folder;
  folder.write("x.csv", rows("t,x", 140, [](int row) {
                 const int64_t hour = 3'600'000'000;
                 const Time time{.form = TimeForm::date_time,
                                 .count = parse_time("2021-10-28 00:00")->count + row * hour,
                                 .utc = true,
                                 .offset = (row < 73 ? 2 : 1) * hour};
                 return fmt::format("{},{}", to_text(time), calendar_of(time).hour);
               }));
  const ProgramRun run =
      started(Words{"forecast", "x.csv", "--steps", "2"} + set({"data.period=24"}), folder.path());
  CHECK(first_forecast(run) == "2021-11-02 21:00:00,21");
}

TEST_CASE("a first line of numbers has the names if --column asks for one of them") {
  const Folder folder;
  const std::string csv =
      rows("0,1,2", 84, [](int row) { return fmt::format("{},{},{}", dated(row), week(row), row % 7); });
  const ProgramRun run = forecast_of(folder, csv, {"--column", "1"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.out.starts_with("time,1,1_low,1_high\n"));
  CHECK(refused(folder, csv).find("'0' is a value, as are all in it") != std::string::npos);
}

TEST_CASE("events of several series are to be put together, and no series is offered") {
  const Folder folder;
  const std::string error =
      refused(folder, rows("user,start,amount", 90, [](int row) {
                const int of = row == 6 ? 5 : row, minutes = of * 150 + of * of * 31 % 140;  // two at once
                return fmt::format("{},{} {:02}:{:02},{}", row % 3 ? "Mia" : "Jo", dated(minutes / 1440),
                                   minutes / 60 % 24, minutes % 60, week(row));
              }));
  CHECK_MESSAGE(
      has(error,
          "2 series in one file, by column 'user' (Jo, Mia), with rows at any time: rows of events become a series when"),
      error);
  CHECK_MESSAGE(!has(error, "data.id"), error);
}

TEST_CASE(
    "how many rows are read is said, from when to when, and where a hole is if the newest row stands first") {
  const Folder folder;
  std::string csv = "day,x\n";
  for (int row = 83; row >= 0; --row)
    if (row != 40) csv += fmt::format("{},{}\n", dated(row), 5'000'000 + 1'000'000 * week(row));
  const ProgramRun run = forecast_of(folder, csv);
  CHECK_MESSAGE(has(run.err, fmt::format("rows are a day apart: 84 from {} to {} (", dated(0), dated(83))),
                run.err);
  CHECK_MESSAGE(has(run.err, "(data.gaps = \"fill\"); the first above line 45\n"), run.err);
  CHECK_MESSAGE(!has(run.out, "e+"), run.out);  // whole numbers are easier to read
}

TEST_CASE("a forecast that 0 bounds is said where no row is near it") {
  const Folder folder;
  const auto falling = [&](const char* name) {
    return forecast_of(folder, rows(fmt::format("day,{}", name), 60,
                                    [](int row) {
                                      return fmt::format("{},{}", dated(row), 1200 - 20 * row + row % 3);
                                    }))
        .err;
  };
  CHECK_MESSAGE(has(falling("x"), "'x' is forecast as 0 in "), falling("x"));
  CHECK(!has(falling("Mittel in °C"), "is forecast as 0"));  // and not cut
}

TEST_CASE("dates at midnight are joined with the times beside them, and weeks from Sunday with their years") {
  const Folder folder;
  const auto quarters = [](const char* names, const char* form) {
    return rows(names, 96 * 15, [=](int row) {
      const int minute = 14 + row % 96 * 15;
      return fmt::format(fmt::runtime(form), dated(row / 96), minute / 60, minute % 60,
                         row % 96 + row / 96 % 7);
    });
  };
  check_mended(folder, quarters("Report Date,Time Period Ending,Volume", "{} 00:00:00,{:02}:{:02}:00,{}"),
               quarters("Report Date,Volume", "{} {:02}:{:02},{}"), {});
  // 2014 has 53 weeks that begin on Sundays, and 52 of ISO's; the first begins on 5 January.
  const auto weeks = [](const char* names, bool as_exported) {
    return rows(names, 150, [=](int row) {
      const int year = row < 53    ? 2014
                       : row < 105 ? 2015
                                   : 2016,
                week = row - (row < 53    ? 0
                              : row < 105 ? 53
                                          : 105);
      const Time day{TimeForm::date, *date_of(2013, 12, 29) + 7 * row * one_day};
      return as_exported ? fmt::format("National,X,{},{},{}", year, week + 1, row % 52 + 7)
                         : fmt::format("{},{}", to_text(day), row % 52 + 7);
    });
  };
  check_mended(folder, weeks("REGION TYPE,REGION,YEAR,WEEK,ILI", true), weeks("day,ILI", false),
               {"the time stands in columns 'YEAR' and 'WEEK', and is read as 2013-12-29 in line 2"});
}

TEST_CASE("a temperature may fall below 0 though none did, and constant columns are counted") {
  const Folder folder;
  const auto low = [&](const char* name) {
    const ProgramRun run =
        forecast_of(folder, rows(fmt::format("day,{},a,b,c,d,e", name), 60, [](int row) {
                      return fmt::format("{},{},1,2,3,4,5", dated(row), std::abs((row * 37) % 23 - 11));
                    }));
    CHECK_MESSAGE(has(run.err, "a, b and 3 others (they never change)"), run.err);
    const std::string line = lines_of(run.out).at(1), cells = line.substr(line.find(',') + 1);
    return cells.substr(cells.find(',') + 1, 1);
  };
  CHECK(low("Tagesmittel (°C)") == "-");
  CHECK(low("sales") == "0");
}

TEST_CASE(
    "names below headings, flags below an empty line, and two columns that name the series are joined") {
  const Folder folder;
  static constexpr std::array german = {"Januar", "Februar", "März",      "April",   "Mai",      "Juni",
                                        "Juli",   "August",  "September", "Oktober", "November", "Dezember"};
  const auto months = [](const std::string& names, const char* form) {
    return rows(names, 60, [=](int row) {
      return fmt::format(fmt::runtime(form), 2019 + row / 12, german[static_cast<size_t>(row % 12)],
                         30 + row % 12, 90 - row % 12);
    });
  };
  const std::string exported = with(
      months(
          "Tabelle;;;;;\nMonate;;;;;\n;;Ankünfte;;Nächte;\n;;Inland;Alle;Inland;Alle\n;;Anzahl;Anzahl;Anzahl;Anzahl",
          "{0};{1};{2};{3};5{2};7{3}"),
      "2023;November;40;80;", "2023;November;...;80;");
  check_mended(folder, exported,
               with(months("year;month;Ankünfte Inland;Ankünfte Alle;Nächte Inland;Nächte Alle",
                           "{0};{1};{2};{3};5{2};7{3}"),
                    "2023;November;40;80;", "2023;November;;80;"),
               {"the names in line 4 stand below headings, and are read as 'Ankünfte Inland'",
                "line 5 is left out: it holds units, as 'Anzahl'"});
  const auto weather = [](const std::string& names) {
    return rows(names, 84, [](int row) { return fmt::format("{},{},{}", dated(row), week(row), row % 5); });
  };
  check_mended(folder, weather("day,Temp,Temp\n,,\n,,quality"), weather("day,Temp,Temp quality"),
               {"the names go on in line 3, as 'quality' below 'Temp'"});
  const auto rates = [](const std::string& names, const char* form) {
    return rows(names, 4 * 60, [=](int row) {
      return fmt::format(fmt::runtime(form), 2019 + row / 48, row / 4 % 12 + 1, row % 4 / 2,
                         row % 2 ? "GBP" : "EUR", 50 * (row % 4) + row * 7 % 41);
    });
  };
  check_mended(folder, rates("Date;D0;D1;Value", "{}-{:02};M{};{};{}"),
               rates("Date;D0 D1;Value", "{}-{:02};M{} {};{}"),
               {"columns 'D0' and 'D1' name the series together, and are joined"}, set({"data.id=D0 D1"}));
}

TEST_CASE(
    "months as Excel writes them in French, intervals with half days, grouped numbers with units, and a spreadsheet's days are read") {
  const Folder folder;
  constexpr std::array french = {"janv.", "févr.", "mars",  "avr.", "mai",  "juin",
                                 "juil.", "août",  "sept.", "oct.", "nov.", "déc."};
  check_mended(
      folder,
      rows("Mois;x", 60,
           [&](int row) {
             return fmt::format("{}-{};{}", french[static_cast<size_t>(row % 12)], 19 + row / 12, row % 12);
           }),
      rows("Mois;x", 60,
           [](int row) { return fmt::format("{}-{:02};{}", 2019 + row / 12, row % 12 + 1, row % 12); }),
      {});
  const auto clock = [](int hour) {
    return fmt::format("{}:00:00 {}", hour % 12 ? hour % 12 : 12, hour % 24 < 12 ? "AM" : "PM");
  };
  const auto hours = [&](const char* names, bool as_exported) {
    std::string text = rows(names, 24 * 14, [&](int row) {
      const CalendarTime d = day(row / 24);
      const int value = 1400 + 50 * (row % 24) + row % 7;
      return as_exported ? fmt::format("\"{}/{}/{} {} - {}\",{:.10f},\"{},{:03} MB\"", d.month, d.day, d.year,
                                       clock(row % 24), clock(row % 24 + 1), 44200 + row / 24.0, value / 1000,
                                       value % 1000)
                         : fmt::format("{} {:02}:00,{}", dated(row / 24), row % 24, value);
    });
    return as_exported ? text + "Sums,,\"480,000 MB\"\n" : text;
  };
  check_mended(folder, hours("time,time(RAW),volume", true), hours("time,volume", false),
               {"the unit 'MB' behind the cells of column 3 ('volume') is left out"});
  CHECK(has(forecast_of(folder, hours("time,time(RAW),volume", true)).err,
            "left out: time(RAW) (it repeats the time)"));
}

TEST_CASE(
    "a number that stands for a missing value in one column stays in another, and a weekday that has one value stays") {
  const Folder folder;
  const ProgramRun run =
      forecast_of(folder, rows("day,x,level", 84, [](int row) {
                    return fmt::format("{},{},{}", dated(row), row == 40 || row == 41 ? -999 : week(row),
                                       -990 - row % 20);
                  }));
  CHECK_MESSAGE(has(run.err, "-999 in column 2 ('x') is read as missing, 2 times"), run.err);
  CHECK_MESSAGE(has(run.err, "note    2 missing values filled in"), run.err);
  // Sundays have a value in one of two columns.
  const ProgramRun shop = forecast_of(folder, rows("day,open,sold", 84, [](int row) {
                                        return fmt::format("{},{},{}", dated(row), week(row),
                                                           row % 7 == 6 ? "" : std::to_string(5 * week(row)));
                                      }));
  CHECK_MESSAGE(!has(shop.err, "has a value"), shop.err);
  CHECK_MESSAGE(has(shop.err, "rows are a day apart: 84 from"), shop.err);
}

TEST_CASE(
    "comments above the names, widths below them, names that are alike, parts of the time, and milliseconds behind a colon are read") {
  const Folder folder;
  const auto days = [](const std::string& above, const char* form) {
    return rows(above, 84, [=](int row) {
      const CalendarTime d = day(row);
      return fmt::format(fmt::runtime(form), dated(row), week(row), d.year, d.month, d.day);
    });
  };
  const std::string plain = days("t\tflow\tcode", "{0}\t{1}\tA");
  std::string comments;
  for (int line = 0; line < 27; ++line) comments += "# data, as they were obtained, may be revised\n#\n";
  check_mended(folder, comments + days("t\tflow\tcode\n20d\t14n\t10s", "{0}\t{1}\tA"), plain,
               {"lines 1 to 54 are left out: above the names, which are in line 55",
                "line 56 is left out: it holds units, as '14n'"});
  check_mended(
      folder,
      days(";SN 1;SN 1\n;SB 30;SB 30\n;Ertrag;Tag\n;Counter;Analog\ndd.MM.yyyy;kWh;kWh", "{0};{1};{4}"),
      days("time;Ertrag;Tag", "{0};{1};{4}"),
      {"lines 1 to 2 are left out: above the names, which are in line 3"});
  const ProgramRun run = forecast_of(folder, days("station,date,year,month,x", "7,{0},{2},{3},{1}"));
  CHECK_MESSAGE(has(run.err, "left out: month (it repeats the time), station (it never changes)"), run.err);
  const auto clock = [](const char* mark) {
    return rows("t,x", 60,
                [=](int row) { return fmt::format("2021-03-04 13:{:02}:03{}412,{}", row, mark, week(row)); });
  };
  check_mended(folder, clock(":"), clock("."), {});
}

TEST_CASE("no year is lost where lines end with a separator, and totals among numbered months are left out") {
  const Folder folder;
  std::string names = "\"Data Source\",\"Indicators\",\n\nName,Code",
              lines[2] = {"Austria,AUT", "Belgium,BEL"}, plain = "time,Austria,Belgium\n";
  for (int k = 0; k < 64; ++k) {
    names += fmt::format(",{}", 1960 + k);
    for (int of = 0; of < 2; ++of) lines[of] += fmt::format(",{}", 500 + 3 * k + of * week(k));
    plain += fmt::format("{},{},{}\n", 1960 + k, 500 + 3 * k, 500 + 3 * k + week(k));
  }
  check_mended(folder, names + ",\n" + lines[0] + ",\n" + lines[1] + ",\n", plain, {});
  std::string months = "Year,Month,x\n";
  for (int row = 9; row < 9 + 90; ++row) {
    months += fmt::format("{},{},{}\n", 2002 + row / 12, row % 12 + 1, 40 + row % 12);
    if (row % 12 == 11) months += fmt::format("{},TOTAL,700\n", 2002 + row / 12);
  }
  check_mended(folder, months,
               rows("Year,x", 90,
                    [](int row) {
                      return fmt::format("{}-{:02},{}", 2002 + (row + 9) / 12, (row + 9) % 12 + 1,
                                         40 + (row + 9) % 12);
                    }),
               {"8 lines, the first is line 5, are left out: 'TOTAL' is a total"});
}

TEST_CASE("rows two weeks apart have a year of 26") {
  const Folder folder;
  folder.write("x.csv", rows("pay,x", 104, [](int row) {
                 return fmt::format("{},{:.2f}", dated(14 * row),
                                    500 + 60 * std::sin(row * 2 * 3.14159265 / 26) + row % 5);
               }));
  const ProgramRun run =
      started({"forecast", "x.csv", "--steps", "2", "--members", "last,seasonal"}, folder.path());
  CHECK_MESSAGE(has(run.err, "season  26 rows: a year of 26 rows: strength 1.00"), run.err);
}

TEST_CASE("columns that repeat the time are no values: clocks, and counts of a day's rows; flags stay") {
  const Folder folder;
  const ProgramRun run =
      forecast_of(folder, rows("t,Time_ms,stamp,interval,flag,x", 24 * 20, [](int row) {
                    return fmt::format("{} {:02}:00,{:.3f},{},{},{},{}", dated(row / 24), row % 24,
                                       (44200 + row / 24.0) * 1e6, 1609718400 + 3600 * row, row % 24,
                                       row / 24 % 2, week(row));
                  }));
  CHECK_MESSAGE(
      has(run.err,
          "columns 2 of 5: left out: Time_ms (it repeats the time), stamp (it repeats the time), interval (it repeats the time) ("),
      run.err);
}

TEST_CASE("a minus before a unit, an accountant's zero, and a quarter beside its month keep their meaning") {
  const Folder folder;
  const auto months = [](const char* names, const char* form) {
    return rows(names, 60, [=](int row) {
      const std::string zero = row % 12 == 3 ? "{zero}" : fmt::format("{},00 €", 40 + row % 12);
      return fmt::format(fmt::runtime(form), 2019 + row / 12, row % 12 + 1, 30 + row % 7, zero);
    });
  };
  const auto with_zero = [](std::string text, const std::string& zero) {
    for (size_t at = text.find("{zero}"); at != text.npos; at = text.find("{zero}"))
      text.replace(at, 6, zero);
    return text;
  };
  check_mended(
      folder,
      with_zero(months("Monat;zurück;Menge;Beitrag", "{1:02}.{0};13.5{2},49- EUR;{2} ST; {3} "), " -   € "),
      with_zero(months("Monat;zurück;Menge;Beitrag", "{0}-{1:02};-135{2},49;{2};{3}"), "0,00 €"), {});
  static constexpr std::array english = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
  const ProgramRun run =
      forecast_of(folder, rows("Year,Quarter,Month,x", 60, [](int row) {
                    return fmt::format("{},Qtr {},{},{}", 2019 + row / 12, row % 12 / 3 + 1,
                                       english[static_cast<size_t>(row % 12)], 30 + row % 12);
                  }));
  CHECK_MESSAGE(has(run.err, "rows are a month apart: 60 from 2019-01 to 2023-12"), run.err);
}
