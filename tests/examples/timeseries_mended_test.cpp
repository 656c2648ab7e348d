// Files as programs export them are forecast as those that a person has mended by hand, and what was mended is said.
#include "tests/examples/mended.h"

using namespace mended;

TEST_CASE("lines above the names and below the rows are left out") {
  const Folder folder;
  const std::string plain = table("t,x");
  check_mended(folder, "Report of the shop\nGenerated 28/11/2026 09:12\n\n" + plain, plain,
               {"lines 1 to 3 are left out: above the names, which are in line 4"});
  check_mended(folder,
               "Meter;Kind;From;To\n0912;Load;26/02/2024;07/04/2024\n" +
                   [&] {
                     std::string semicolons = plain;
                     std::ranges::replace(semicolons, ',', ';');
                     return semicolons;
                   }(),
               plain, {"lines 1 to 2 are left out: above the names, which are in line 3"});
  check_mended(folder, plain + ",1090\n\nExported by ERP\n", plain,
               {"2 lines, the first is line 86, are left out: below the rows, as '1090'"});
  check_mended(folder, with(plain, "2021-01-20", "t,x\n,\nTotal,70\n2021-01-20"), plain,
               {"lines 18 to 20 are left out: no rows of the series, as 't'"});
  check_mended(folder, with(plain, "t,x\n", "t,x\nday,kWh\n"), plain,
               {"line 2 is left out: it holds units, as 'kWh'"});
  check_mended(
      folder, plain + "\n# Start: 1 Jan\nCountry,x\nUS,702345\nGB,302113\n\nPage,x\n/home,5\n", plain,
      {"6 lines, the first is line 87, are left out: another table stands below, from '# Start: 1 Jan' on"});
  const std::string numbered =
      rows("name,x", 84, [](int row) { return fmt::format("d{},{}", row, week(row)); });
  check_mended(folder, numbered + ",1092\n", numbered, {"line 86 is left out: the sum of the rows above it"});
  check_mended(folder, numbered + "Total,1090\n", numbered, {"line 86 is left out: 'Total' is a total"});
}

TEST_CASE("Windows-1252 is read as what it says") {
  const Folder folder;
  check_mended(
      folder,
      table("Tag,Gr\xf6\xdf"
            "e in \x80"),
      table("Tag,Größe in €"),
      {"the file is not UTF-8 (line 1) and is read as Windows-1252: where names have wrong letters, save it "
       "as UTF-8"});
}

TEST_CASE("a file without a mark is read in the encoding of its language") {
  const Folder folder;
  const auto note = [](const char* called) {
    return std::vector<std::string>{"the file is not UTF-8 (line 1) and is read as " + std::string(called) +
                                    ": where names have wrong letters, save it as UTF-8"};
  };
  const auto days = [](const char* header, const char* form) {
    return rows(header, 84, [&](int row) {
      return fmt::format(fmt::runtime(form), 2021, 1 + row / 28, 1 + row % 28, week(row));
    });
  };
  const auto dates = [&](const char* header) { return days(header, "{}-{:02}-{:02},{}"); };
  check_mended(folder, dates("\x93\xfa\x95\x74,\x94\x84\x8f\xe3\x8d\x82"), dates("日付,売上高"),
               note("Shift JIS"));
  check_mended(folder, dates("\x93\xfa\x95\x74,\x8d\x7e\x90\x85\x97\xca"),
               dates("日付,降水量"),  // 2 of 5 are frequent
               note("Shift JIS"));
  check_mended(folder, dates("\xc8\xd5\xc6\xda,\xcf\xfa\xca\xdb\xb6\xee"), dates("日期,销售额"), note("GBK"));
  check_mended(folder, dates("\xa4\xe9\xb4\xc1,\xbc\xc6\xb6\x71"), dates("日期,數量"), note("Big5"));
  check_mended(folder, dates("\xb3\xaf\xc2\xa5,\xb8\xc5\xc3\xe2\xbe\xd7"), dates("날짜,매출액"),
               note("Korea's code page"));
  check_mended(folder, dates("\xc4\xe0\xf2\xe0,\xcf\xf0\xee\xe4\xe0\xe6\xe8"), dates("Дата,Продажи"),
               note("Windows-1251"));
  check_mended(folder, dates("\xc7\xec\xe5\xf1\xef\xec\xe7\xed\xdf\xe1,\xd0\xf9\xeb\xde\xf3\xe5\xe9\xf2"),
               dates("Ημερομηνία,Πωλήσεις"), note("Windows-1253"));
  check_mended(folder, dates("Data,Ilo\x9c\xe6 mleka w \xb3ubkach"), dates("Data,Ilość mleka w łubkach"),
               note("Windows-1250"));
  check_mended(folder, dates("Date,C\x9cur \xe0 90 m\xb3"), dates("Date,Cœur à 90 m³"), note("Windows-1252"));
  // Western letters of which two stand together; a byte that no encoding has.
  check_mended(folder, dates("Situa\xe7\xe3o,Produ\xe7\xf5\x65s"), dates("Situação,Produções"),
               note("Windows-1252"));
  CHECK(has(refused(folder, dates("Tag,Gr\x81 \xf6")), "x.csv:1: this is not UTF-8 text (byte 0x81)"));
}

TEST_CASE("a time in several columns is read as one") {
  const Folder folder;
  const auto hours = [](const char* form) {
    return [=](int row) { return fmt::format(fmt::runtime(form), 4 + row / 24, row % 24, week(row)); };
  };
  check_mended(folder, rows("Date,at,x", 84, hours("2021-01-{:02},{}:00,{}")),
               rows("Date,x", 84, hours("2021-01-{:02} {:02}:00,{}")),
               {"the time stands in columns 'Date' and 'at', and is read as 2021-01-04 00:00:00 in line 2"});
  const auto months = [](bool filled) {
    return rows("Year,Month,x", 84, [=](int row) {
      return fmt::format("{},{},{}", filled || row % 12 == 0 ? std::to_string(2014 + row / 12) : "",
                         row % 12 + 1, week(row));
    });
  };
  const std::string joined = rows("Year,x", 84, [](int row) {
    return fmt::format("{}-{:02},{}", 2014 + row / 12, row % 12 + 1, week(row));
  });
  for (const bool filled : {true, false})
    check_mended(folder, months(filled), joined,
                 {"the time stands in columns 'Year' and 'Month', and is read as 2014-01 in line 2"});
  // A pivot table: the year stands above its months.
  std::string pivot = "Row Labels,x\n";
  for (int row = 0; row < 84; ++row) {
    if (row % 12 == 0) pivot += fmt::format("{},150\n", 2014 + row / 12);
    constexpr const char* names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    pivot += fmt::format("{},{}\n", names[row % 12], week(row));
  }
  check_mended(
      folder, pivot, with(joined, "Year,x", "Row Labels,x"),
      {"7 lines, the first is line 2, are left out: '2014' is a total; the year above is read with each row"});
  std::string quarters = "Row Labels,x\n";
  for (int row = 0; row < 56; ++row) {
    if (row % 4 == 0) quarters += fmt::format("{},150\n", 2008 + row / 4);
    quarters += fmt::format("Q{},{}\n", row % 4 + 1, week(row));
  }
  check_mended(
      folder, quarters,
      rows("Row Labels,x", 56,
           [](int row) { return fmt::format("{} Q{},{}", 2008 + row / 4, row % 4 + 1, week(row)); }),
      {"14 lines, the first is line 2, are left out: '2008' is a total; the year above is read with each row"});
}

TEST_CASE("an hour that comes twice is read once") {
  const Folder folder;
  // Quarters of an hour; clocks are set back at 03:00 of the second day.
  const auto quarters = [](bool twice) {
    std::string csv = "t,x\n";
    for (int row = 0; row < 192; ++row) {
      const auto line = [&](int of) {
        csv += fmt::format("2021-10-{} {:02}:{:02},{}\n", 30 + of / 96, of % 96 / 4, of % 4 * 15, week(of));
      };
      line(row);
      for (int again = 104; twice && row == 107 && again < 108; ++again) line(again);
    }
    return csv;
  };
  check_mended(folder, quarters(true), quarters(false),
               {"lines 110 to 113 are left out: clocks are set back, and an hour comes twice"});
}

TEST_CASE("a table by year and month, and one on its side, are turned") {
  const Folder folder;
  const std::vector<std::string> months = {"Ene", "Feb", "Mar", "Abr", "May", "Jun",
                                           "Jul", "Ago", "Sep", "Oct", "Nov", "Dic"};
  const auto value = [](int year, int month) { return std::to_string(week(12 * year + month)); };
  const auto cell = [&](int year, int month) { return year == 6 && month > 9 ? "" : value(year, month); };
  const std::string plain = rows("time,value", 82, [&](int row) {
    return fmt::format("{}-{:02},{}", 2014 + row / 12, row % 12 + 1, value(row / 12, row % 12));
  });
  std::string down = "Gasto", across = "Mes";
  for (const std::string& month : months) down += "," + month;
  down += ",Total\n";
  for (int year = 0; year < 7; ++year) {
    down += std::to_string(2014 + year), across += "," + std::to_string(2014 + year);
    for (int month = 0; month < 12; ++month) down += "," + cell(year, month);
    down += ",150\n";
  }
  across += "\n";
  for (int month = 0; month < 12; ++month) {
    across += months[static_cast<size_t>(month)];
    for (int year = 0; year < 7; ++year) across += "," + cell(year, month);
    across += "\n";
  }
  const auto note = [](const char* left_out) {
    return std::vector{fmt::format(
        "each month of a year is read as a row of its own{}, and lines are counted in the table that this makes",
        left_out)};
  };
  check_mended(folder, down, plain, note("; column 'Total' is left out"));
  check_mended(folder, across, plain, note(""));
  for (const char* mark : {"*", " (p)", "p"}) {  // of a preliminary year
    check_mended(folder, with(down, "2020", fmt::format("2020{}", mark)) + "Average,10,10\n", plain,
                 note("; column 'Total' is left out; line 9 is left out"));
    check_mended(folder, with(across, "2020", fmt::format("2020{}", mark)), plain, note(""));
    check_mended(
        folder,
        with(rows("year,x", 45, [](int row) { return fmt::format("{},{}", 1980 + row, week(row)); }), "2024",
             fmt::format("2024{}", mark)),
        rows("year,x", 45, [](int row) { return fmt::format("{},{}", 1980 + row, week(row)); }),
        {fmt::format("marks behind the cells of column 1 ('year') are left out, as in '2024{}' in line 46",
                     mark)});
  }
  for (const char* year : {"FY2020", "2020x"}) {
    const ProgramRun run = forecast_of(folder, with(down, "2020", year));
    CHECK_MESSAGE(
        (run.code == 2 && run.err.find(fmt::format(":8: '{}' is not read", year)) != std::string::npos),
        run.err);
    CHECK(forecast_of(folder, with(across, "2020", year)).code == 2);
  }
  std::string side = "Product", tea = "Tea", milk = "Milk";
  for (int row = 0; row < 30; ++row)
    side += "," + dated(row), tea += fmt::format(",{}", week(row)), milk += fmt::format(",{}", 2 * week(row));
  check_mended(
      folder, side + "\n" + tea + "\n" + milk + "\n",
      rows("time,Tea,Milk", 30,
           [](int row) { return fmt::format("{},{},{}", dated(row), week(row), 2 * week(row)); }),
      {"each column of a time is read as a row of its own, and lines are counted in the table that this makes"});
}

TEST_CASE("words in place of values are missing values, where they are few") {
  const Folder folder;
  const auto words = [](const char* word, int each) {
    return rows("t,x", 84, [=](int row) {
      return fmt::format("{},{}", dated(row), row % each == 5 ? word : std::to_string(week(row)));
    });
  };
  check_mended(folder, words("closed", 40), words("", 40),
               {"2 words in column 2 ('x') are read as missing, as 'closed' in line 7"});
  check_mended(folder, words("closed", 10), words("", 10),
               {"8 words in column 2 ('x') are read as missing, as 'closed' in line 7"});
  const ProgramRun remarks =
      forecast_of(folder, rows("t,x,remark", 84, [](int row) {
                    return fmt::format("{},{},{}", dated(row), week(row), row == 30 ? "closed early" : "");
                  }));
  CHECK_MESSAGE(lines_of(remarks.out).at(0) == "time,x,x_low,x_high", remarks.err);
  const ProgramRun run =
      forecast_of(folder, rows("t,x", 84, [](int row) {
                    return fmt::format("{},{}", dated(row),
                                       row % 10 == 5 ? fmt::format("w{}", row) : std::to_string(week(row)));
                  }));
  CHECK_MESSAGE((run.code == 2 && run.err.find("'w5' is not a number") != std::string::npos), run.err);
}

TEST_CASE("numbers of nines or eights far from all others, and marks behind numbers, are no values") {
  const Folder folder;
  const auto cells = [](const char* other, int each) {
    return rows("t,x", 84, [=](int row) {
      return fmt::format("{},{}", dated(row), row % each == 5 ? other : std::to_string(week(row)));
    });
  };
  for (const char* sentinel : {"-99.9", "9999", "-888.88"})
    check_mended(
        folder, cells(sentinel, 20), cells("", 20),
        {fmt::format("{} in column 2 ('x') is read as missing, 4 times: the other values lie from 10 to 16",
                     sentinel)});
  // Near the others, or of other digits: values.
  for (const char* value : {"19", "999.5"})
    CHECK(forecast_of(folder, cells(value, 20)).err.find("is read as missing") == std::string::npos);
  const auto marked = [](const char* form) {
    return rows("t,x", 84, [=](int row) {
      return fmt::format(
          "{},{}", dated(row),
          row % 9 == 0 ? fmt::format(fmt::runtime(form), week(row)) : std::to_string(week(row)));
    });
  };
  for (const char* mark : {" (p)", "*", " r", " (*)"})
    check_mended(
        folder, marked((std::string("{}") + mark).c_str()), marked("{}"),
        {fmt::format("marks behind the cells of column 2 ('x') are left out, as in '10{}' in line 2", mark)});
}

TEST_CASE("marks behind times, the newest or the oldest ones, lose no row") {
  const Folder folder;
  const auto months = [](const char* mark, bool newest_first) {
    return rows("t,x", 84, [=](int row) {
      const int of = newest_first ? 83 - row : row;
      return fmt::format("{}-{:02}{},{}", 2014 + of / 12, of % 12 + 1, of > 80 ? mark : "", week(of));
    });
  };
  for (const bool newest_first : {false, true})
    for (const char* mark : {"(P)", "*", "p", " r"}) {
      const int line = newest_first ? 2 : 83;
      check_mended(
          folder, months(mark, newest_first), months("", newest_first),
          {fmt::format("marks behind the cells of column 1 ('t') are left out, as in '2020-{}{}' in line {}",
                       newest_first ? 12 : 10, mark, line)});
    }
  // Ordinal numbers and words of other languages in a date.
  for (const char* form : {"{} mars 2021", "{}er mars 2021", "mar. {} mars 2021", "{}. März 2021"})
    CHECK_MESSAGE(parse_time(fmt::format(fmt::runtime(form), form[0] == 'm' ? 2 : 1)), form);
  CHECK(parse_time("2025年3月1日(土)")->count == parse_time("2025-03-01")->count);
  CHECK(parse_time("2025年3月1日(土) 10:30")->count == parse_time("2025-03-01 10:30")->count);
  CHECK(parse_time("2025年3月")->form == TimeForm::month);
  CHECK(parse_time("平成27年", TimeForm::year)->count == parse_time("2015", TimeForm::year)->count);
  CHECK(parse_time("2026-S46")->count == parse_time("2026-W46")->count);
  for (const char* none : {"2026-S1", "2025年日月", "2025年13月", "lun. 2 mars 2021"})
    CHECK_MESSAGE(!parse_time(none), none);
}

TEST_CASE("a table that is drawn with bars, quotes in a remark, and rows of a logger without a value") {
  const Folder folder;
  const std::string plain = rows("Werk,Periode,Menge", 84, [](int row) {
    return fmt::format("{},{}-{:02},{}", 10 + row / 42, 2019 + row % 42 / 12,
                       row % 12 + 1 == 0 ? 1 : row % 42 % 12 + 1, week(row % 42));
  });
  std::string drawn =
      "29.11.2026    Liste\n\n-------------------\n|Werk|Periode |Menge|\n-------------------\n";
  for (int row = 0; row < 84; ++row) {
    drawn += fmt::format("|{}| {:03}.{}| {}|\n", 10 + row / 42, row % 42 % 12 + 1, 2019 + row % 42 / 12,
                         week(row % 42));
    if (row == 41) drawn += "|* 10|         |546|\n-------------------\n";
  }
  check_mended(folder, drawn, plain,
               {"the bars around the rows, from line 4 on, are left out",
                "lines 1 to 3 are left out: above the names, which are in line 4",
                "line 48 is left out: no rows of the series, as '* 10'"});
  const std::string weeks = table("t,x");
  check_mended(folder, weeks + "\".\" not known\n", weeks,
               {"line 86 is read with its quotes as they stand",
                "line 86 is left out: below the rows, as '`.` not known'"});
  const auto logger = [](bool logs) {
    std::string csv = "t,x,y\n";
    for (int row = 0; row < 84; ++row) {
      csv += fmt::format("2021-01-{:02} {:02}:00,{},{}\n", 4 + row / 24, row % 24, week(row), week(row));
      if (logs && row == 30) csv += fmt::format("2021-01-{:02} {:02}:03,,\n", 4 + row / 24, row % 24);
    }
    return csv;
  };
  check_mended(folder, logger(false) + "2021-01-07 11:07,,\n", logger(false),
               {"line 86 is left out: without a value, where others are not a step apart"});
  check_mended(folder, logger(true), logger(false),
               {"line 33 is left out: without a value, where others are not a step apart"});
}

TEST_CASE("of two tables beside each other that of more rows is read; an empty column is left out") {
  const Folder folder;
  const auto beside = [](int left, int right) {
    std::string csv = "t,x,,day,y\n";
    for (int row = 0; row < std::max(left, right); ++row)
      csv += (row < left ? fmt::format("{},{}", dated(row), week(row)) : ",") + ",," +
             (row < right ? fmt::format("{},{}", dated(row + 7), 2 * week(row)) : ",") + "\n";
    return csv;
  };
  for (const int right : {20, 60})
    check_mended(folder, beside(84, right), table("t,x"),
                 {"two tables stand beside each other: columns 3 to 5 are left out"});
  check_mended(folder, beside(20, 84),
               rows("day,y", 84, [](int row) { return fmt::format("{},{}", dated(row + 7), 2 * week(row)); }),
               {"two tables stand beside each other: columns 1 to 3 are left out"});
  check_mended(
      folder,
      rows("t,x,,y", 84, [](int row) { return fmt::format("{},{},,{}", dated(row), week(row), week(row)); }),
      rows("t,x,y", 84, [](int row) { return fmt::format("{},{},{}", dated(row), week(row), week(row)); }),
      {"column 3 is left out: it is empty"});
  // A comma in a name and in numbers separates nothing where each row has semicolons.
  check_mended(
      folder, rows("t;x, EUR", 84, [](int row) { return fmt::format("{};{},5", dated(row), week(row)); }),
      rows("t,\"x, EUR\"", 84, [](int row) { return fmt::format("{},{}.5", dated(row), week(row)); }), {});
}

TEST_CASE("columns of one name or none get another; rows of several series are each series' own") {
  const Folder folder;
  const auto three = [](const char* header) {
    return rows(header, 84, [](int row) {
      return fmt::format("{},{},{},{}", dated(row), week(row), week(row), week(row));
    });
  };
  check_mended(folder, three("t,x,,x"), three("t,x,column 3,x (4)"),
               {"column 3 is called 'column 3'", "column 4 is called 'x (4)'"});
  const std::string shops = rows("t,shop,until,x", 168, [](int row) {
    return fmt::format("{},{},{},{}", dated(row % 84), row / 84 ? "north" : "south", dated(row % 84 + 1),
                       week(row));
  });
  check_mended(folder, shops, shops, {}, set({"data.id=shop", "data.time=t"}));
  // Events of many kinds, few of each.
  std::string events = "t,kind,x\n";
  for (int row = 0; row < 84; ++row) {
    events += fmt::format("{},food,{}\n", dated(row), week(row));
    if (row % 7 == 0) events += fmt::format("{},{},5\n", dated(row), "abcd"[row / 7 % 4]);
  }
  const ProgramRun run = forecast_of(folder, events);
  CHECK_MESSAGE((run.code == 2 && run.err.find("as an option: --set data.id=kind") != std::string::npos),
                run.err);
}

TEST_CASE("all at once, and the recipe that is guessed reads the file again") {
  const Folder folder;
  std::string exported =
      "Lastgang der Stra\xdf"
      "e\n\nTag;von;bis;Menge;Menge;Status\n";
  for (int row = 0; row < 168; ++row)
    exported += fmt::format("{};{:02}:00;{:02}:00;{};{},5;W\n", dated(row / 24), row % 24, (row + 1) % 24,
                            row == 30 ? "St\xf6rung" : std::to_string(week(row)), week(row));
  exported += "Summe;;;2180;2264,0;\n";
  const std::string plain = rows("Tag,Menge,Menge (5)", 168, [](int row) {
    return fmt::format("{} {:02}:00,{},{}.5", dated(row / 24), row % 24,
                       row == 30 ? "" : std::to_string(week(row)), week(row));
  });
  check_mended(
      folder, exported, plain,
      {"lines 1 to 2 are left out: above the names, which are in line 3", "column 5 is called 'Menge (5)'"});
}

TEST_CASE("a date that no calendar has is refused: a row is not left out for it") {
  const Folder folder;
  const ProgramRun run = forecast_of(folder, with(table("t,x"), "2021-02-10", "2021-02-30"));
  CHECK_MESSAGE((run.code == 2 && run.err.find("'2021-02-30' is not a time") != std::string::npos), run.err);
}
