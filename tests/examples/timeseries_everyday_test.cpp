// Files as people have them: each is forecast, or one line names what to change, and the change works.
#include "tests/examples/everyday.h"
#include "tests/examples/timeseries.h"

using namespace everyday;

TEST_CASE("a time in several columns is refused with the cell that joins them, which is read") {
  struct Kind {
    std::string header, names, joined, next;
    std::function<std::string(int)> parts, one;
  };
  const auto month = [](int row) { return row % 12 + 1; };
  const std::vector<Kind> kinds = {
      {"Date,Time", "'Date' and 'Time'", "2021-01-14 12:00 AM", "2021-01-17 12:00:00",
       [](int row) {
         return fmt::format("{}/{}/2021,{}:00 {}", 1, 14 + row / 24, (row + 11) % 12 + 1,
                            row % 24 < 12 ? "AM" : "PM");
       },
       [](int row) {
         return fmt::format("2021-01-{:02} {}:00 {}", 14 + row / 24, (row + 11) % 12 + 1,
                            row % 24 < 12 ? "AM" : "PM");
       }},
      {"DATE,HOUR", "'DATE' and 'HOUR'", "2021-01-04 01:00", "2021-01-07 13:00:00",
       [](int row) { return fmt::format("202101{:02},{}", 4 + row / 24, row % 24 + 1); },
       [](int row) { return fmt::format("2021-01-{:02} {:02}:00", 4 + row / 24, row % 24 + 1); }},
      {"Year,Month", "'Year' and 'Month'", "2019-01", "2026-01",
       [=](int row) { return fmt::format("{},{}", 2019 + row / 12, month(row)); },
       [=](int row) { return fmt::format("{}-{:02}", 2019 + row / 12, month(row)); }},
      {"Month,Year", "'Year' and 'Month'", "2019-01", "2026-01",
       [=](int row) { return fmt::format("{},{}", month(row), 2019 + row / 12); },
       [=](int row) { return fmt::format("{}-{:02}", 2019 + row / 12, month(row)); }},
      {"Year,ISO Week", "'Year' and 'ISO Week'", "2021-W01", "2022-08-15",
       [](int row) { return fmt::format("{},{}", 2021 + row / 52, row % 52 + 1); },
       [](int row) { return fmt::format("{}-W{:02}", 2021 + row / 52, row % 52 + 1); }},
      {"year,month,day", "'year', 'month' and 'day'", "2021-01-04", "2021-03-29",
       [](int row) { return fmt::format("2021,{},{}", day(row).month, day(row).day); },
       [](int row) { return fmt::format("2021-{:02}-{:02}", day(row).month, day(row).day); }}};
  const Folder folder;
  for (const Kind& kind : kinds) {
    CAPTURE(kind.header);
    const auto with = [&](const auto& cell) {
      return [&](int row) { return fmt::format("{},{}", cell(row), week(row)); };
    };
    CHECK(refusal(folder, rows(kind.header + ",x", 84, with(kind.parts))) ==
          fmt::format(
              "timeseries: x.csv: the time stands in columns {}: write one column in their place, as {} in "
              "line 2\n",
              kind.names, kind.joined));
    CHECK(first_forecast(forecast_of(folder, rows("time,x", 84, with(kind.one)))) == kind.next + ",10");
  }
}

TEST_CASE("years of two digits are read where they stand last for sure, and that is said") {
  const Folder folder;
  const auto check = [&](const auto& cell, const std::string& note, const std::string& next) {
    const ProgramRun run = forecast_of(
        folder, rows("t,x", 84, [&](int row) { return fmt::format("{},{}", cell(row), week(row)); }));
    CHECK(first_forecast(run) == next + ",10");
    CHECK_MESSAGE(run.err.find("column 1 ('t'): " + note) != std::string::npos, run.err);
  };
  check([](int row) { return fmt::format("{}/{}/21", day(row).month, day(row).day); },
        "'1/4/21' in line 2 is read as 2021-01-04", "2021-03-29");
  check([](int row) { return fmt::format("{:02}.{:02}.21", day(row).day, day(row).month); },
        "'04.01.21' in line 2 is read as 2021-01-04", "2021-03-29");
  constexpr const char* names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  check([&](int row) { return fmt::format("{}-{}", names[row % 12], 19 + row / 12); },
        "'Jan-19' in line 2 is read as 2019-01", "2026-01");
  // The year first, or days of a month: each number that stands last changes more often.
  for (const char* form : {"21/01/{:02}", "Jan-{:02}"})
    CHECK(refusal(folder, rows("t,x", 28,
                               [&](int row) {
                                 return fmt::format(fmt::runtime(form), row + 1) +
                                        fmt::format(",{}", week(row));
                               }))
              .find(": write the years with four; data.date_order = ") != std::string::npos);
  const auto fiscal = [](int row) {
    return fmt::format("FY{}/{:02},{}", 1980 + row, (81 + row) % 100, week(row));
  };
  CHECK(first_forecast(forecast_of(folder, rows("t,x", 30, fiscal))).starts_with("2010,"));
}

TEST_CASE("numbers for the days of a spreadsheet name their cure") {
  const Folder folder;
  const ProgramRun run = forecast_of(
      folder, rows("Date,x", 84, [](int row) { return fmt::format("{},{}", 45658 + row, week(row)); }));
  CHECK_MESSAGE(run.err.find("format the cells as dates there, as 2025-03-31") != std::string::npos, run.err);
}

TEST_CASE("words and numbers that stand for missing values are named") {
  const Folder folder;
  const auto with = [](const std::string& cell) {
    return rows("t,x,y", 84, [&](int row) {
      return fmt::format("2021-{:02}-{:02},{},{}", day(row).month, day(row).day,
                         row % 20 == 5 ? cell : std::to_string(week(row)), week(row));
    });
  };
  ProgramRun run = forecast_of(folder, with("ERR"), set({"data.mend=false"}));
  CHECK_MESSAGE(
      run.err.find("left out: x ('ERR' in line 7 is no number, nor are 3 other cells: forecast if they are, "
                   "or are left empty)") != std::string::npos,
      run.err);
  run = forecast_of(folder, with(""));
  CHECK(lines_of(run.out).at(0) == "time,x,x_low,x_high,y,y_low,y_high");
  for (const char* sentinel : {"-999", "9999"}) {
    run = forecast_of(folder, with(sentinel), set({"data.mend=false"}));
    CHECK_MESSAGE(run.err.find(fmt::format("'x' is {} at 2021-01-09, far outside of 10 to 16", sentinel)) !=
                      std::string::npos,
                  run.err);
    CHECK_MESSAGE(run.err.find("or stands for a missing value, empty the cell") != std::string::npos,
                  run.err);
  }
}

TEST_CASE("a total without a name, a line of the separator, other bytes, a table on its side, empty lines") {
  const Folder folder;
  const std::string csv = rows("day,x", 84, [](int row) { return fmt::format("d{},{}", row, week(row)); });
  int total = 0;
  for (int row = 0; row < 84; ++row) total += week(row);
  CHECK(
      refusal(folder, csv + fmt::format(",{}\n", total)) ==
      fmt::format(
          "timeseries: x.csv:86: 'x' is {}, the sum of the rows above it: delete the line, which holds totals\n",
          total));
  std::string semicolons = csv;
  std::ranges::replace(semicolons, ',', ';');
  CHECK(forecast_of(folder, "sep=;\r\n" + semicolons + ";\n;\n").out == forecast_of(folder, csv).out);
  CHECK(
      refusal(folder,
              "t,Gr\xf6\xdf"
              "e\n2021-01-01,1\n") ==
      "timeseries: x.csv:1: this is not UTF-8 text (byte 0xf6): save it as UTF-8; a spreadsheet calls it \"CSV UTF-8\"\n");
  for (const char* form : {"2021-{:02}", "20{:02}"}) {
    std::string header = "Product", tea = "Tea", milk = "Milk";
    for (int k = 1; k <= 12; ++k)
      header += "," + fmt::format(fmt::runtime(form), k), tea += ",5", milk += ",7";
    const std::string error = refusal(folder, header + "\n" + tea + "\n" + milk + "\n");
    CHECK_MESSAGE(error.find(": transpose the table, so that each time has a line") != std::string::npos,
                  error);
  }
}

TEST_CASE("rows of one time are refused, and what to do is said") {
  const Folder folder;
  const auto dated = [](int row) { return fmt::format("2021-{:02}-{:02}", day(row).month, day(row).day); };
  const std::string twice =
      rows("t,x", 84, [&](int row) { return fmt::format("{},{}", dated(row / 2), week(row / 2)); });
  CHECK(
      refusal(folder, twice) ==
      "timeseries: x.csv:3: column 1 ('t'): 2021-01-04 stands there twice; put the rows of one time together first: "
      "their number, sum, mean or last; "
      "data.missing = \"zero\" with data.gaps = \"fill\" then counts 0 for times without rows\n");
  // Sales at any time of day, 7 to 137 minutes apart.
  const auto sales = [&](int first) {
    return rows("t,x", 84, [&](int row) {
      int minute = 3;
      for (int k = first; k <= row; ++k) minute += 7 + 13 * (k % 11);
      return fmt::format("{} {:02}:{:02},{}", dated(minute / 720), 9 + minute / 60 % 12, minute % 60,
                         week(row));
    });
  };
  CHECK(
      refusal(folder, sales(2))
          .ends_with(
              "2021-01-04 09:03:00 stands there twice; put the rows of one hour or day together first: their number, sum, mean or last; "
              "data.missing = \"zero\" with data.gaps = \"fill\" then counts 0 for times without rows\n"));
  CHECK(
      refusal(folder, sales(1))
          .find(
              "; rows of events become a series when those of each hour, day, week or month are put together: their number, "
              "sum or mean; "
              "data.missing = \"zero\"") != std::string::npos);
}

TEST_CASE("a column that begins late is forecast from its first value on") {
  const Folder folder;
  const auto cells = [](int row) {
    return fmt::format("2021-{:02}-{:02},{},{}", day(row).month, day(row).day, week(row),
                       row < 30 ? "" : fmt::format("{}", 2 * week(row)));
  };
  const ProgramRun run = forecast_of(folder, rows("date,bikes,scooters", 60, cells));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const std::vector<std::string> lines = lines_of(run.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].starts_with("2021-03-05,14,14,14,28,28,28"));
}

TEST_CASE("each note is printed once") {
  const Folder folder;
  const ProgramRun run =
      forecast_of(folder, rows("t,x", 84, [](int row) {
                    return fmt::format("{}/{}/2021,{}%", day(row).month, day(row).day, week(row));
                  }));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(count_of(run.err, "dates are read as month/day/year") == 1);
  CHECK(count_of(run.err, "numbers are read without their marks") == 1);
}

TEST_CASE(
    "rows to be forecast in which another column is known: how to forecast with it is said, and works") {
  const Folder folder;
  const std::string csv = rows("t,promo,x", 91, [](int row) {
    return fmt::format("2021-{:02}-{:02},{},{}", day(row).month, day(row).day, row % 3 ? 0 : 1,
                       row < 84 ? std::to_string(week(row)) : "");
  });
  const ProgramRun run = forecast_of(folder, csv);
  CHECK_MESSAGE(
      run.err.find("ahead   the last rows have no 'x', but 'promo': these options forecast them with it "
                   "(--column 'x' --set 'data.known=[\"promo\"]' --future x.csv)") != std::string::npos,
      run.err);
  CHECK(first_forecast(run) == "2021-03-29,10");
  CHECK_MESSAGE(run.err.find("columns 1 of 2: left out: promo (known of the last rows)") != std::string::npos,
                run.err);
  std::vector<std::string> newest_first = lines_of(csv);
  std::reverse(newest_first.begin() + 1, newest_first.end());
  const ProgramRun turned = forecast_of(folder, fmt::format("{}\n", fmt::join(newest_first, "\n")));
  CHECK(turned.out == run.out);
  CHECK_MESSAGE(turned.err.find("left out: promo (known of the last rows)") != std::string::npos, turned.err);
  const ProgramRun known =
      forecast_of(folder, csv, Words{"--column", "x", "--future", "x.csv"} + set({"data.known=[\"promo\"]"}));
  CHECK(first_forecast(known).starts_with("2021-03-29,10"));
  const ProgramRun of_two = forecast_of(
      folder, csv,
      Words{"--column", "x", "--future", "x.csv"} + set({"data.known=[\"promo\"]", "data.horizon=2"}));
  CHECK(of_two.out == known.out);  // --steps 2: so many are learnt
  CHECK_MESSAGE(
      known.err.find(
          "model   one GRU over segments, trained now: the members of the mean do not read what is known ahead") !=
          std::string::npos,
      known.err);
}

TEST_CASE("several series: an early end, a column that never changes, and members left out of one are said") {
  const Folder folder;
  const auto cells = [](int row) {
    return fmt::format("2021-{:02}-{:02},{},4711,{}", day(row / 2).month, day(row / 2).day,
                       row % 2 ? "south" : "north", week(row / 2) + row % 2);
  };
  std::string csv = rows("t,shop,article,x", 168, cells);
  for (int row = 0; row < 8; ++row) csv += fmt::format("2021-01-{:02},west,4711,{}\n", 4 + row, week(row));
  const ProgramRun run = forecast_of(folder, csv, set({"data.id=shop"}));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const std::vector<std::string> lines = lines_of(run.out);
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "shop,time,x,x_low,x_high");
  CHECK(lines[1].starts_with("north,2021-03-29,10,"));
  CHECK(lines[5].starts_with("west,2021-01-12,"));
  for (const char* part : {"columns 1 of 2: left out: article (it never changes)",
                           "from their own end: 'west' ends at 2021-01-11, 76 days before the last",
                           "ridge is left out of 1 of 3 series: too few rows."})
    CHECK_MESSAGE(run.err.find(part) != std::string::npos, part, "\n", run.err);
}

TEST_CASE("the lines of a footer are named at once, and only those that no row follows") {
  const Folder folder;
  const auto dated = [](int row) {
    return fmt::format("2021-{:02}-{:02},\"North, East\",{}", day(row).month, day(row).day, week(row));
  };
  const std::string csv = rows("t,region,x", 84, dated);
  const auto hint = [&](const std::string& text) {
    const std::string error = refusal(folder, text);
    return error.substr(error.rfind("; ") + 2);
  };
  const std::string footer = "lines 86 to 88 look like a footer: delete them\n",
                    one = "if line 86 is no row of the series, such as a total, delete it\n";
  for (const char* last :
       {"Total,,\"1,090\"\n\n\"Exported by ERP, 7.2\"\n", ",,1090\n\nExported\n", "a,b,c,d\n\nx\n\n"})
    CHECK(hint(csv + last) == footer);
  CHECK(hint(csv + "\nTotal,1090\n2021-05-01\n") == "lines 87 to 88 look like a footer: delete them\n");
  for (const char* last : {"Total,,1090\n", "Exported on 01/05/2025\n"}) CHECK(hint(csv + last) == one);
  CHECK(hint(csv + "x\n" + dated(84) + "\nTotal\n") ==
        "if line 86 and 1 more like it are no rows of the series, such as a total, delete them\n");
  CHECK(hint(csv + "Total,,1090\n2021-05-01,1\n") == one);
  // A row is known by its time, wherever that stands.
  const std::string later = rows("region,t,x", 84, [&](int row) {
    return fmt::format("North,2021-{:02}-{:02},{}", day(row).month, day(row).day, week(row));
  });
  CHECK(hint(later + "North,no day,5\nNorth,2021-03-30,6\n") == one);
  CHECK(hint(later + "Sum,,5\n\nExported\n") == footer);
  CHECK(first_forecast(forecast_of(folder, csv)) == "2021-03-29,10");
}

TEST_CASE("a unit that earlier cells lack: the number without it is given") {
  const Folder folder;
  const auto last = [&](const std::string& cell, const char* earlier = "{}", const char* separator = ",") {
    const auto cells = [&](int row) {
      return fmt::format("2021-{:02}-{:02}{}", day(row).month, day(row).day, separator) +
             (row < 83 ? fmt::format(fmt::runtime(earlier), week(row)) : cell);
    };
    const std::string error = refusal(folder, rows(fmt::format("t{}x", separator), 84, cells));
    return error.substr(error.find("'x'"));
  };
  CHECK(last("1.04k") == "'x'): '1.04k' is not a number: earlier cells have no 'k'; write 1040\n");
  CHECK(last("-1.005 K").ends_with("no 'K'; write -1005\n"));
  CHECK(last("2.5M").ends_with("no 'M'; write 2500000\n"));
  CHECK(last("$1.04k", "${}").ends_with("no 'k'; write $1040\n"));
  CHECK(last("1,0405k", "{},5", ";").ends_with("no 'k'; write 1040,5\n"));
  CHECK(last("-.5k").ends_with("no 'k'; write -500\n"));
  CHECK(last("<5") == "'x'): '<5' is not a number: write 5, or leave it empty\n");
  CHECK(last(">1,5", "{},5", ";").ends_with(": write 1,5, or leave it empty\n"));
  for (const char* cell : {"12 kWh", "~1.04k", "(1.04k)"})
    CHECK(last(cell).ends_with("'; write the number in the unit of the others\n"));
}

TEST_CASE("a year that the rows hold once, not twice, is said not to be looked for") {
  const Folder folder;
  const auto season = [&](int count) {
    folder.write("x.csv", rows("t,x", count, [](int row) {
                   return fmt::format("{}-{:02}-{:02},{}", day(row).year, day(row).month, day(row).day,
                                      week(row) + row % 3);
                 }));
    const ProgramRun run =
        started({"forecast", "x.csv", "--steps", "2", "--members", "theta"}, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    return run.err;
  };
  for (const int count : {365, 400})
    CHECK(season(count).find(fmt::format("; a year of 365 rows takes 730 rows to be found, and {} are looked "
                                         "at (--set data.period=N)",
                                         count)) != std::string::npos);
  for (const int count : {364, 730}) CHECK(season(count).find("to be found") == std::string::npos);
}

TEST_CASE("months as 01.2019 are the time, and no column but those of numbers tells the marks of a column") {
  const Folder folder;
  const auto sales = [](int row) { return row % 7 == 6 ? "1.093" : fmt::format("60{}", row % 7); };
  const std::string asked =
      "timeseries: x.csv: '1.093' may be 1.093 or 1093, and no cell of its column tells which: "
      "--set data.decimal=. reads the first, --set data.decimal=, the second\n";
  for (const char* form : {"{:02}.{}", "{}.{}", "{1}.{0:02}"}) {
    const std::string csv = rows("Monat;Umsatz", 83, [&](int row) {
      return fmt::format(fmt::runtime(form), row % 12 + 1, 2019 + row / 12) + ";" + sales(row);
    });
    CHECK(refusal(folder, csv) == asked);
    CHECK(first_forecast(forecast_of(folder, csv, set({"data.decimal=,"}))) == "2025-12,1093");
    CHECK(first_forecast(forecast_of(folder, csv, set({"data.decimal=."}))) == "2025-12,1.093");
  }
  // A version, a time of day.
  for (const char* beside : {"1.10", "12.30"})
    CHECK(refusal(folder, rows("Tag;a;Umsatz", 83, [&](int row) {
                    return fmt::format("2021-{:02}-{:02};{};{}", row / 28 + 1, row % 28 + 1, beside,
                                       sales(row));
                  })) == asked);
}

TEST_CASE(
    "a row of units, and numbers with marks that are not read, are refused with the cell and how to mend it") {
  const Folder folder;
  const auto with = [](const std::string& second, const char* last) {
    return rows("Date,Power,Temp\n" + second, 84, [&](int row) {
      return fmt::format("2021-{:02}-{:02},{},{}{}", day(row).month, day(row).day, week(row), week(row),
                         row == 83 ? last : "");
    });
  };
  CHECK(
      refusal(folder, with(",kW,°C", "")) ==
      "timeseries: x.csv:2: column 2 ('Power'): 'kW' is not a number; line 2 looks like a row of units: delete "
      "it\n");
  CHECK(refusal(folder, with("dd.mm.yyyy,-,°C", "")).find("x.csv:2: column 3 ('Temp'): '°C' is not") !=
        std::string::npos);
  const auto energy = [&](const char* cell) {
    return refusal(folder, rows("date,x", 28, [&](int row) {
                     return fmt::format("2021-01-{:02},{}", row + 1,
                                        row == 27 ? cell : std::to_string(week(row)));
                   }));
  };
  CHECK(energy("1370*") ==
        "timeseries: x.csv:29: column 2 ('x'): '1370*' is not a number: delete the mark\n");
  CHECK(
      refusal(folder, rows("month,energy", 30,
                           [](int row) { return fmt::format("{}-01,{} kWh", 1990 + row, week(row)); })) ==
      "timeseries: x.csv: there is no column of numbers to forecast; it has energy (text, '10 kWh' in line 2 is no "
      "number: delete the unit, which all cells must share)\n");
}

TEST_CASE("cells that say that a value is missing are counted, and leave no column out") {
  const Folder folder;
  for (const char* word : {"-", "–", "#N/A", "#NV", "n/a", "n.a.", "k.A.", "NaN", "null", "."}) {
    const ProgramRun run = forecast_of(
        folder, rows("t,x,y", 84, [&](int row) {
          const std::string cell = row == 40 || row == 47 ? word : std::to_string(week(row));
          return fmt::format("2021-{:02}-{:02},{},{}", day(row).month, day(row).day, cell, week(row));
        }));
    CHECK(first_forecast(run) == "2021-03-29,10");
    CHECK_MESSAGE(run.err.find("columns 2 of 2: all hold numbers") != std::string::npos, run.err);
    const std::string said = fmt::format("2 cells are read as missing, as '{}' in line 42", word);
    const bool is_said = word != std::string_view("NaN");  // programs write that
    CHECK_MESSAGE((run.err.find(said) != std::string::npos) == is_said, said, "\n", run.err);
  }
}
