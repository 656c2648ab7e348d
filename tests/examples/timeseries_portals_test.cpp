// Files as portals, ministries and devices export them: tables a day or a month wide, several series, times of other scripts.
#include "tests/examples/mended.h"

using namespace mended;

namespace {

std::string joined(const Words& cells, char separator = ',') {
  return fmt::format("{}", fmt::join(cells, std::string(1, separator)));
}
int month_value(int row) { return 100 + 10 * (row % 12) + row / 12; }
std::string month(int row) { return fmt::format("{}-{:02}", 2014 + row / 12, row % 12 + 1); }
// Each hour of some days.
std::string hours(int days, int first) {
  return rows("t,value", 24 * days, [&](int row) {
    return fmt::format(
        "{},{}",
        to_text({TimeForm::date_time, parse_time(dated(row / 24))->count + (row % 24 + first) * one_hour}),
        row % 24 + row / 24 % 7);
  });
}

}  // namespace

TEST_CASE("a column an hour, a time of day or a day of the week becomes a row each") {
  const Folder folder;
  const auto wide = [](const Words& names, const auto& cell) {
    return rows("day," + joined(names), 21, [&](int row) {
      Words cells = {dated(row)};
      for (size_t k = 0; k < names.size(); ++k) cells.push_back(cell(row, static_cast<int>(k)));
      return joined(cells);
    });
  };
  Words named, flagged, clocks;
  for (int k = 0; k < 24; ++k) {
    named.push_back(fmt::format("h{}", k));
    flagged.push_back(fmt::format("H{:02}", k + 1)), flagged.push_back(fmt::format("V{:02}", k + 1));
    clocks.push_back(fmt::format("{:02}:00", k));
  }
  const auto value = [](int row, int k) { return std::to_string(k + row % 7); };
  const std::string counted = "and lines are counted in the table that this makes";
  check_mended(folder, wide(named, value), hours(21, 0),
               {"each hour ('h0' to 'h23') is read as a row of its own, " + counted});
  check_mended(
      folder, wide(flagged, [&](int row, int k) { return k % 2 ? "V" : value(row, k / 2); }), hours(21, 1),
      {"each hour ('H01' to 'H24') is read as a row of its own, without the columns 'V01' to 'V24', " +
       counted});
  CHECK(!has(
      forecast_of(folder, wide(flagged, [&](int row, int k) { return k % 2 ? "1" : value(row, k / 2); })).err,
      "left out: V01"));
  check_mended(folder, wide(clocks, value), hours(21, 0),
               {"each time of day ('00:00' to '23:00') is read as a row of its own, " + counted});
  const std::string weeks = rows("week of;mon;tue;wed;thu;fri;sat;sun;total", 12, [](int row) {
    Words cells = {fmt::format("{:02}/{:02}/2021", day(7 * row).day, day(7 * row).month)};
    for (int k = 0; k < 7; ++k) cells.push_back(std::to_string(week(k)));
    return joined(cells, ';') + ";91";
  });
  check_mended(folder, weeks, with(table("t,value"), "t,", "week of,"),
               {"each day ('mon' to 'sun') is read as a row of its own, without 'total', " + counted});
}

TEST_CASE("a table with a column a month is turned, with its titles, remarks and columns of words") {
  const Folder folder;
  constexpr int count = 60;
  const auto wide = [&](const char* form, bool back) {
    Words names = {"region", "item"}, values = {"Seoul", "in"}, others = {"Busan", "in"};
    for (int k = 0; k < count; ++k) {
      const int row = back ? count - 1 - k : k;
      names.push_back(fmt::format(fmt::runtime(form), 2014 + row / 12, row % 12 + 1));
      values.push_back(std::to_string(month_value(row))),
          others.push_back(std::to_string(2 * month_value(row)));
    }
    return joined(names) + "\n" + joined(values) + "\n" + joined(others) + "\n";
  };
  const std::string plain = rows("time,Seoul,Busan", count, [](int row) {
    return fmt::format("{},{},{}", month(row), month_value(row), 2 * month_value(row));
  });
  const std::string of_columns = "each column of a time is read as a row of its own",
                    turned = of_columns + ", and lines are counted in the table that this makes",
                    remark = "; line 6 is left out: without a value" + turned.substr(of_columns.size());
  check_mended(folder, wide("{}.{:02} 월", false), plain, {turned});
  check_mended(folder, wide("Landings (t) {}M{:02}", false), plain,
               {turned, "'Landings (t) ' before the times in the first line is left out"});
  check_mended(folder, "Database\nTime: last years\n" + wide("{}年{}月", true) + "Note: 1. All regions.\n",
               plain,
               {"lines 1 to 2 are left out: above the names, which are in line 3", of_columns + remark});
  // Days as people of a hospital write them; a number beside the name.
  std::string roster = "Hours by unit,,\nTrust\nRun by: K,Run date: 01/07/2024,\n\nUnit,Centre",
              ward = "AMU,301244", other = "Ward 4,301251";
  for (int row = 0; row < 84; ++row) {
    roster += fmt::format(",{:02}/{:02}/{}", day(row).day, day(row).month, day(row).year);
    ward += fmt::format(",{}", week(row)), other += fmt::format(",{}", 2 * week(row));
  }
  check_mended(folder, roster + ",Total\n" + ward + ",9\n" + other + ",9\nTotal,," + ward.substr(11) + ",9\n",
               rows("time,AMU,Ward 4,Total", 84,
                    [](int row) {
                      return fmt::format("{},{},{},{}", dated(row), week(row), 2 * week(row), week(row));
                    }),
               {"lines 1 to 4 are left out: above the names, which are in line 5"});
  // Months of two years, from September on.
  std::string school = "year;sept.;oct.;nov.;déc.;janv.;févr.;mars;avril;mai;juin;juil.;août;total\n";
  for (int year = 0; year < 6; ++year) {
    school += fmt::format("{}-{}", 2014 + year, 2015 + year);
    for (int k = 0; k < 12; ++k) school += fmt::format(";{}", month_value(12 * year + k));
    school += ";0\n";
  }
  check_mended(
      folder, school + "Moyenne;1;1;1;1;1;1;1;1;1;1;1;1;1\n",
      rows("time,value", 72,
           [](int row) {
             return fmt::format("{}-{:02},{}", 2014 + (row + 8) / 12, (row + 8) % 12 + 1, month_value(row));
           }),
      {"each month of a year is read as a row of its own; column 'total' is left out; line 8 is left out, and lines are counted in the table that this makes"});
}

TEST_CASE("a profit and loss table is turned, with padded titles, headings and totals") {
  const Folder folder;
  constexpr int count = 60;
  std::string names, income, costs, pads;
  for (int row = 0; row < count; ++row) {
    constexpr std::array called = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    names += fmt::format(",{} {}", called[static_cast<size_t>(row % 12)], 2014 + row / 12);
    income += fmt::format(",{}", month_value(row)), costs += fmt::format(",{}", 2 * month_value(row)),
        pads += ',';
  }
  const std::string books = "Profit and Loss" + pads + ",\nLLC" + pads + ",\n" + pads + ",\n" + names +
                            ",Total\nIncome" + pads + ",\n   Sales" + income + ",1\n   Costs" + costs +
                            ",1\n" + pads + ",\nAccrual basis" + pads + ",\n";
  check_mended(folder, books,
               rows("time,Sales,Costs", count,
                    [](int row) {
                      return fmt::format("{},{},{}", month(row), month_value(row), 2 * month_value(row));
                    }),
               {"lines 1 to 3 are left out: above the names, which are in line 4"});
  const ProgramRun run = forecast_of(folder, books, {"--series", "Costs"}),
                   same = forecast_of(folder, books, {"--column", "Costs"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.out == same.out);
  CHECK(has(run.err, "column  'Costs': no column names several series (--column NAME)"));
  CHECK(started({"look", "x.csv", "--series", "Costs", "--out", "look.html"}, folder.path()).code == 0);
}

TEST_CASE("names above units that are alike, over a year and a month without names") {
  const Folder folder;
  const auto months = [](const std::string& head, const char* form) {
    return head + rows("", 60, [&](int row) {
                    return fmt::format(fmt::runtime(form), 2014 + row / 12, row % 12 + 1, month_value(row),
                                       2 * month_value(row));
                  }).substr(1);
  };
  constexpr std::array called = {"Januar", "Februar", "März",      "April",   "Mai",      "Juni",
                                 "Juli",   "August",  "September", "Oktober", "November", "Dezember"};
  std::string office = "Table 7;;;;\nMonths;;;;\n;;Guests;Nights;Stay\n;;number;number;days\n";
  for (int row = 0; row < 60; ++row)
    office += fmt::format("{};{};{};{};{}\n", 2014 + row / 12, called[static_cast<size_t>(row % 12)],
                          month_value(row), 2 * month_value(row), row % 3);
  const ProgramRun run = forecast_of(folder, office + "__________\nSource: office\n", {"--column", "Nights"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const ProgramRun plain =
      forecast_of(folder, months("t,Guests,Nights\n", "{}-{:02},{},{}"), {"--column", "Nights"});
  CHECK(run.out == plain.out);
  CHECK(has(run.err, "above the names, which are in line 3"));
}

TEST_CASE("rows without the value that is asked for may share their times with others") {
  const Folder folder;
  std::string bank = "day,text,credit,debit\n";
  for (int row = 0; row < 84; ++row) {
    bank += fmt::format("{},shop {},{},\n", dated(row), row, week(row));
    if (row % 9 == 0) bank += fmt::format("{},mill {},,-500\n", dated(row), row);
  }
  const ProgramRun run = forecast_of(folder, bank, {"--column", "credit"}),
                   plain = forecast_of(folder, table("day,credit"), {"--column", "credit"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.out == plain.out);
  CHECK(
      has(run.err, "are left out: without a value in column 3 ('credit'), and other rows have their times"));
  // A day without a credit stays, and so do its neighbours.
  const std::string lone =
      with(bank, dated(40) + ",shop 40," + std::to_string(week(40)) + ",\n", dated(40) + ",mill,,-9\n");
  CHECK(has(forecast_of(folder, lone, {"--column", "credit"}).err, "note    1 missing value filled in"));
  // Two credits of a day are a sum that the program does not make.
  const std::string message = refused(folder, bank + dated(83) + ",shop,5,\n", {"--column", "credit"});
  CHECK(has(message, "together first"));
  CHECK(!has(message, "as an option"));
}

TEST_CASE("a day's numbered parts are times of day") {
  const Folder folder;
  const auto numbered = [](int parts) {
    return rows("day,code,x", 14 * parts, [&](int row) {
      return fmt::format("{},{},{}", dated(row / parts), row % parts + 1, row * 7 % 11);
    });
  };
  for (const int parts : {24, 48, 96})
    check_mended(
        folder, numbered(parts),
        rows("day,x", 14 * parts,
             [&](int row) {
               const int64_t at = parse_time(dated(row / parts))->count + row % parts * (one_day / parts);
               return fmt::format("{},{}", to_text({TimeForm::date_time, at}), row * 7 % 11);
             }),
        {"the time stands in columns 'day' and 'code', and is read as 2021-01-04 00:00:00 in line 2"});
  CHECK(has(forecast_of(folder, numbered(10)).err, "series  10 by column 'code'"));
}

TEST_CASE("a column names the series that is asked for, and those of rows without times") {
  const Folder folder;
  // Years, names of months in the order of the alphabet, and four kinds.
  constexpr std::array names = {"april", "august", "desember", "februar",  "januar",  "juli",
                                "juni",  "mai",    "mars",     "november", "oktober", "september"};
  constexpr std::array places = {3, 7, 11, 1, 0, 6, 5, 4, 2, 10, 9, 8};
  const std::string catches = rows("Landingsår;Landingsmåned;Art;tonn", 5 * 12 * 2, [&](int row) {
    const size_t k = static_cast<size_t>(row / 2 % 12);
    return fmt::format("{};{};{};{}", 2014 + row / 24, names[k], row % 2 ? "Sild" : "Torsk",
                       (1 + row % 2) * month_value(12 * (row / 24) + places[k]));
  });
  const std::string plain = rows(
      "Landingsår,tonn", 60, [](int row) { return fmt::format("{},{}", month(row), 2 * month_value(row)); });
  folder.write("catch.csv", catches);
  folder.write("plain.csv", plain);
  const ProgramRun one =
                       started({"forecast", "catch.csv", "--series", "Sild", "--steps", "2"}, folder.path()),
                   same = started({"forecast", "plain.csv", "--steps", "2"}, folder.path());
  REQUIRE_MESSAGE(one.code == 0, one.err);
  CHECK(one.out == same.out);
  CHECK(has(one.err, "series  2 by column 'Art'"));
  CHECK(has(one.err, "note    rows are sorted by column 1 ('Landingsår')"));
  const std::string chained = rows("n,Point,x", 168, [](int row) {
    return fmt::format("m{},{},{}", row % 84, row < 84 ? "north" : "south", week(row) * (1 + row / 84));
  });
  const ProgramRun two = forecast_of(folder, chained);
  REQUIRE_MESSAGE(two.code == 0, two.err);
  CHECK(has(two.err, "series  2 by column 'Point'"));
  CHECK(lines_of(two.out).size() == 5);
  // Words that come again are no series.
  const ProgramRun mixed =
      forecast_of(folder, rows("n,kind,x", 84, [](int row) {
                    return fmt::format("m{},{},{}", row, row / 10 % 2 ? "a" : "b", week(row));
                  }));
  CHECK(!has(mixed.err, "series  "));
}

TEST_CASE("rows in any order are sorted, and not where days may be months") {
  const Folder folder;
  const std::string plain = table("t,x");
  std::string moved = plain;
  const std::string line = lines_of(plain)[40] + "\n";
  moved.erase(moved.find(line), line.size());
  check_mended(folder, moved + line, plain,
               {"rows are sorted by column 1 ('t'), and lines are counted in the table that this makes"});
  CHECK(has(refusal(folder, moved + line), "rows must be in order of time"));
  CHECK(has(refused(folder, moved + line + lines_of(plain)[41] + "\n"), "rows must be in order of time"));
  CHECK(has(refused(folder, with(plain, "2021-02-10", "2022-02-10")), "rows must be in order of time"));
  const std::string days = rows("t,x", 84, [](int row) {
    return fmt::format("{:02}/{:02}/{},{}", day(row).day, day(row).month, day(row).year, week(row));
  });
  std::string swapped = days;
  const std::string other = lines_of(days)[40] + "\n";
  swapped.erase(swapped.find(other), other.size());
  CHECK(has(refused(folder, swapped + other), "rows must be in order of time"));
}

TEST_CASE("a column is found in a table below, by how it begins, and without blanks around it") {
  const Folder folder;
  const std::string plain = table("Date,Steps");
  const auto column = [](const char* name) { return Words{"--column", name}; };
  const auto same_as = [&](const std::string& csv, const char* name, const std::string& words) {
    const ProgramRun run = forecast_of(folder, csv, column(name));
    REQUIRE_MESSAGE(run.code == 0, run.err);
    const ProgramRun by_hand = forecast_of(folder, plain, column("Steps"));
    CHECK(run.out.substr(run.out.find('\n')) == by_hand.out.substr(by_hand.out.find('\n')));
    CHECK_MESSAGE(has(run.err, words), run.err);
  };
  same_as(
      "Body\n" + table("Date,Weight", 30) + "\nActivities\n" + plain + "\nSleep\nStart,End,Minutes\n1,2,3\n",
      "Steps", "note    lines 1 to 34 are left out: above the table that has 'Steps'\n");
  same_as(with(plain, "Date,Steps", "Date,\"Steps, all (S/N: 1)\""), "steps",
          "column  'Steps, all (S/N: 1)': the only one that begins with 'steps' (--column NAME)\n");
  same_as(with(plain, "Date,Steps", "\"Date \",\" Steps \""), "Steps",
          "note    blanks around names are left out, as in 'Date '\n");
  CHECK(
      has(refused(folder,
                  rows("t,Ab,Ac", 84, [](int row) { return fmt::format("{},{},1", dated(row), week(row)); }),
                  column("A")),
          "there is no column 'A'"));
}

TEST_CASE("cells of one kind of unit are read in the usual one") {
  const Folder folder;
  const auto memory = [](const char* small, const char* large) {
    return rows("t,x", 84, [&](int row) {
      const int value = 512 * (1 + row % 7);
      return value < 1024 ? fmt::format("{},{} {}", dated(row), value, small)
                          : fmt::format("{},{} {}", dated(row), value / 1024.0, large);
    });
  };
  const std::string plain =
      rows("t,x", 84, [](int row) { return fmt::format("{},{}", dated(row), (1 + row % 7) / 2.0); });
  check_mended(folder, memory("MiB", "GiB"), plain,
               {"column 2 ('x') has the units 'GiB', 'MiB', and is read in 'GiB'"});
  check_mended(folder, memory("GiB", "GiB"),
               rows("t,x", 84,
                    [](int row) {
                      const int value = 512 * (1 + row % 7);
                      return fmt::format("{},{}", dated(row), value < 1024 ? value : value / 1024.0);
                    }),
               {"the unit 'GiB' behind the cells of column 2 ('x') is left out"});
  CHECK(has(refused(folder, memory("MiB", "pages")),
            "its cells have several units, 'MiB', 'pages': write all with one, or without"));
}

TEST_CASE("a weekday that never has a value, rows of nothing and a footer are left out") {
  const Folder folder;
  const auto shop = [](bool closed) {
    std::string csv = "day,x,note\n";
    for (int row = 0; row < 90; ++row)
      if (row % 7 != 6)
        csv += fmt::format("{},{},\n", dated(row), week(row));
      else if (closed)
        csv += fmt::format("{},,closed\n", dated(row));
    return csv;
  };
  check_mended(folder, shop(true), shop(false),
               {"12 lines, the first is line 8, are left out: no Sunday has a value"});
  const std::string plain =
      rows("n,x,y", 84, [](int row) { return fmt::format("d{},{},{}", row % 28 + 1, week(row), row % 3); });
  std::string titled = plain;
  titled.insert(titled.find("d1,", titled.find("d28,")), "February,,\n,,\n");
  check_mended(folder, titled, plain, {"lines 30 to 31 are left out: empty, or titles as 'February'"});
  std::string school = "日付,x\n";
  for (int row = 0; row < 84; ++row) {
    if (row > 0 && day(row).month != day(row - 1).month)
      school += fmt::format("平成33年度{}月計,300\n", day(row - 1).month);
    school += fmt::format("{},{}\n", dated(row), week(row));
  }
  check_mended(folder, school, table("日付,x"),
               {"2 lines, the first is line 30, are left out: no rows of the series, as '平成33年度1月計'"});
  CHECK(has(refused(folder, with(with(table("t,x"), "2021-01-10", "closed"), "2021-01-20", "closed")),
            "; if line 8 and 1 more like it are no rows of the series, such as a total, delete them"));
  const std::string log =
      rows("name,t,x", 84, [](int row) { return fmt::format("a,{} 00:00:00,{}", dated(row), week(row)); });
  check_mended(folder, log + "$COUNT$,2084,\n", log, {"line 86 is left out: below the rows, as '$COUNT$'"});
}

TEST_CASE("what looks like a time is one, or the file is refused") {
  const Folder folder;
  const std::string years = rows("Year,x", 60, [](int row) {
    return fmt::format("Season {}/{:02},{}", 1960 + row, (61 + row) % 100, week(row));
  });
  CHECK(has(refused(folder, years),
            "x.csv:2: column 1 ('Year'): 'Season 1960/61' looks like a time, but is not read as one"));
  CHECK(has(refused(folder, years), "or number the rows: --set 'data.time=\"\"'\n"));
  CHECK(forecast_of(folder, years, set({"data.time=\"\""})).code == 0);
  CHECK(
      forecast_of(folder, rows("Run,x", 60, [](int row) { return fmt::format("run {},{}", row, week(row)); }))
          .code == 0);
  CHECK(has(
      refused(folder, rows("t,x", 60, [](int row) { return fmt::format("{},{}:30", dated(row), 60 + row); })),
      "x.csv:2: 'x' holds lengths of time, as '60:30': write each as one number, such as minutes"));
  CHECK(has(refused(folder, with(table("t,x"), "-10,16", "-10,ca. 16")),
            "'ca. 16' is not a number: write 16, or leave it empty"));
}

TEST_CASE("a year above dates without one is read with them, and totals among them are left out") {
  const Folder folder;
  std::string eggs = "Year,Week ending,x\n", plain = "Year,x\n";
  int before = 0;
  for (int row = 0; row < 104; ++row) {
    const CalendarTime at = day(7 * row);
    constexpr std::array names = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    if (row > 0 && at.month != day(7 * row - 7).month)
      eggs += fmt::format(",{} total,99\n", names[static_cast<size_t>(day(7 * row - 7).month - 1)]);
    eggs += fmt::format("{},Mon {} {},{}\n", at.year == before ? "" : std::to_string(at.year), at.day,
                        names[static_cast<size_t>(at.month - 1)], week(row));
    plain += fmt::format("{},{}\n", dated(7 * row), week(row));
    before = at.year;
  }
  check_mended(folder, eggs, plain, {"23 lines, the first is line 6, are left out: 'Jan total' is a total"});
}

TEST_CASE("holidays of business days are put in, and the oldest rows of a file may lack values") {
  const Folder folder;
  std::string days = "t,x\n";
  int count = 0;
  for (int row = 0; row < 200; ++row)
    if (row % 7 < 5 && ++count % 16 != 0) days += fmt::format("{},{}\n", dated(row), week(row));
  const ProgramRun run = forecast_of(folder, days);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(has(run.err, "8 rows that the file lacks are put in"));
  const std::string newest = rows("t,x,y", 84, [](int row) {
    return fmt::format("{},{},{}", dated(83 - row), week(83 - row),
                       row < 60 ? std::to_string(week(row)) : "");
  });
  const ProgramRun both = forecast_of(folder, newest);
  REQUIRE_MESSAGE(both.code == 0, both.err);
  CHECK(has(both.err, "columns 2 of 2: all hold numbers"));
}
