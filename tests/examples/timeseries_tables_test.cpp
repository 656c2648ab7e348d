// Tables as people and their programs write them: subtotals, blanks that mean zero, commas that split numbers, cells that stand
// for those below. Each is forecast, or one line says what to change.
#include <array>

#include "tests/examples/timeseries.h"

using namespace unroll;

namespace {

ProgramRun forecast_of(const Folder& folder, const std::string& csv, const Words& more = {}) {
  folder.write("x.csv", csv);
  return started(
      Words{"forecast", "x.csv", "--steps", "2", "--members", "theta"} + set({"data.period=1"}) + more,
      folder.path());
}
// The one line in which a file is refused that is not mended, without its end and the program's name.
std::string refusal(const Folder& folder, const std::string& csv, const Words& more = {}) {
  const ProgramRun run = forecast_of(folder, csv, set({"data.mend=false"}) + more);
  CHECK_MESSAGE((run.code == 2 && lines_of(run.err).size() == 1), run.err);
  return run.err.substr(12, run.err.find('\n') - 12);
}
std::string notes(const Folder& folder, const std::string& csv, const Words& more = {}) {
  const ProgramRun run = forecast_of(folder, csv, more);
  CHECK_MESSAGE(run.code == 0, run.err);
  return run.err;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
template <class Line>
std::string rows(const std::string& header, int count, const Line& line) {
  std::string csv = header + "\n";
  for (int row = 0; row < count; ++row) csv += line(row) + "\n";
  return csv;
}
int value(int row) { return 100 + row * row % 17; }
constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

}  // namespace

TEST_CASE(
    "rows of subtotals are refused with all their lines, by words for totals and by years among months") {
  const Folder folder;
  const auto with = [&](const std::string& before, const std::string& after, const std::string& last = "") {
    std::string csv = "Row Labels;Sales\n";
    for (int year = 2018; year < 2020; ++year) {
      if (!before.empty()) csv += fmt::format(fmt::runtime(before), year) + ";1200\n";
      for (int month = 0; month < 12; ++month) csv += fmt::format("{};{}\n", months[month], value(month));
      if (!after.empty()) csv += fmt::format(fmt::runtime(after), year) + ";1200\n";
    }
    return csv + last;
  };
  const std::string column = ": column 1 ('Row Labels'): ";
  CHECK(
      refusal(folder, with("{}", "", "Grand Total;2400\n")) ==
      "x.csv:2" + column +
          "'2018' holds a total of other rows: delete lines 2, 15, 28, and write the year into each row, as Jan 2018");
  for (const char* label :
       {"{} Total", "Total {}", "Summe {}", "Sous-total", "North Total", "Gesamtergebnis", "Average"})
    CHECK(refusal(folder, with("", label)) == "x.csv:14" + column + "'" +
                                                  fmt::format(fmt::runtime(label), 2018) +
                                                  "' holds a total of other rows: delete lines 14, 27");
  CHECK(has(refusal(folder, with("", "", "Moyenne;105\n")),
            "'Moyenne' holds a total of other rows: delete line 26"));
  // Quarters between a year and its months.
  std::string pivot = "Row Labels,Sales\n";
  for (int year = 2018; year < 2020; ++year) {
    pivot += fmt::format("{},1200\n", year);
    for (int month = 0; month < 6; ++month)
      pivot += (month % 3 == 0 ? fmt::format("Qtr{},300\n", month / 3 + 1) : "") +
               fmt::format("{},{}\n", months[month], value(month));
  }
  CHECK(has(refusal(folder, pivot), "delete lines 2, 3, 7, 11, 12, 16, and write"));
  // Words that hold one, years alone, and labels that are mostly such are none.
  for (const char* label : {"Totally", "Summer {}", "Meaning"})
    CHECK(forecast_of(folder, with("", label)).code == 0);
  CHECK(forecast_of(folder, rows("Kind,x", 12, [](int row) { return fmt::format("Total,{}", value(row)); }))
            .code == 0);
}

TEST_CASE("data.missing = \"zero\": a step without a row, a blank and a dash are 0") {
  const Folder folder;
  const auto is_sold = [](int row) { return row % 3 == 0 || row % 7 == 2; };  // on the last of 28 days, too
  std::string full = "t,x\n", sparse = full, blank = full, dashes = full, below = full;
  for (int row = 0; row < 28; ++row) {
    const std::string day = fmt::format("2023-01-{:02},", row + 1), number = std::to_string(1 + row % 4);
    full += day + (is_sold(row) ? number : "0") + "\n";
    blank += day + (is_sold(row) ? number : "") + "\n";
    dashes += day + (is_sold(row) ? number : "-") + "\n";
    below += day + (is_sold(row) ? "-" + number : "") + "\n";
    if (is_sold(row)) sparse += day + number + "\n";
  }
  const std::string values = forecast_of(folder, full).out;
  REQUIRE(has(values, "2023-01-29,"));
  const Words zero = set({"data.missing=zero"});
  for (const std::string& csv : {sparse, blank, dashes}) CHECK(forecast_of(folder, csv, zero).out == values);
  const std::string hint =
      "; if what is not there means 0, data.missing = \"zero\" with data.gaps = \"fill\" reads it so";
  CHECK(has(notes(folder, blank), hint));
  CHECK(has(refusal(folder, sparse), hint));
  const std::string months_of_gaps = rows("t,x", 40, [](int row) {
    return fmt::format("2023-{:02}-{:02},{}", (row + row / 4) / 28 + 1, (row + row / 4) % 28 + 1, row % 5);
  });
  CHECK(has(notes(folder, months_of_gaps, set({"data.gaps=allow"})), hint));
  const std::string amounts = rows("t,x", 30, [](int row) {  // of either sign
    return fmt::format("2023-{:02}-{:02},{}", (row + row / 4) / 28 + 1, (row + row / 4) % 28 + 1,
                       row % 5 - 2);
  });
  CHECK(has(refusal(folder, amounts), "data.gaps = \"allow\" takes the rows as they come"));
  CHECK(has(refusal(folder, amounts), hint));
  CHECK_FALSE(has(notes(folder, blank, zero), hint));
  CHECK_FALSE(has(notes(folder, below), hint));
  // Stamps that jitter, and days with the offsets of two seasons, keep their step.
  const auto same_rows = [&](const std::string& csv) {
    return forecast_of(folder, csv, zero).out == forecast_of(folder, csv).out;
  };
  CHECK(same_rows(rows("t,x", 40, [](int row) {
    return fmt::format("2023-01-01 10:{:02}:{:02},{}", row, row * row % 3, value(row));
  })));
  CHECK(same_rows(rows("t,x", 40, [](int row) {
    return fmt::format("2023-{:02}-{:02}T00:00+0{}:00,{}", row < 22 ? 3 : 4, row < 22 ? 10 + row : row - 21,
                       row < 17 ? 1 : 2, value(row));
  })));
  // Months, and one gap that is longer than the file.
  const std::string sparse_months = rows("t,x", 20, [](int row) {
    return fmt::format("{}-{:02},{}", 2018 + row / 6, row % 6 * 2 + (row == 3 ? 2 : 1), value(row));
  });
  CHECK(has(forecast_of(folder, sparse_months, zero).out, "\n2021-04,"));
  const std::string long_gap = rows("t,x", 12, [](int row) {
    return fmt::format("2023-{:02}-{:02},{}", row < 6 ? 1 : 4, row + 1, value(row));
  });
  CHECK(has(notes(folder, long_gap, zero), "rows that the file lacks are put in: they count as 0"));
  // Each series is filled by itself.
  const std::string two = rows("t,id,x", 16, [](int row) {
    return fmt::format("2023-01-{:02},{},{}", row + 1 + row / 8 * 2, row % 2 ? "a" : "b", 3 + row % 3);
  });
  CHECK(has(notes(folder, two, zero + set({"data.id=id"})),
            "rows that the file lacks are put in: they count as 0"));
}

TEST_CASE("a row with more cells than the header may be split by decimal commas") {
  const Folder folder;
  const auto with = [&](const std::string& header, const char* form) {
    return rows(header, 14,
                [&](int row) { return fmt::format(fmt::runtime(form), row + 1, value(row), row * 7 % 10); });
  };
  const std::string advice =
      "perhaps its numbers have decimal commas without quotes: put them in quotes, or ';' between the cells";
  CHECK(refusal(folder, with("Data,Temperatura", "{:02}/01/2023,{},{}")) ==
        "x.csv:2: the row has 3 cells, the header 2: " + advice +
            "; if the first column has no name, give it one");
  CHECK(has(refusal(folder, with("Data,Temp,Umid", "{:02}/01/2023,{},{},47,2")),
            "column 4 is one too many; the row has 5 cells, the header 3; " + advice));
  // A first column without a name, as its cells show.
  for (const char* form : {"2023-01-{:02},{},{}.5", "2023-01-{:02},{}.0,{}", "\"2023-01-{:02}\",{},{}",
                           "2023-01-{:02},{},1{}00"})
    CHECK(has(notes(folder, with("x,y", form)), "the first column has no name"));
  CHECK(has(notes(folder, with(",x,y", "2023-01-{:02},{},{}")), "the first column has no name"));
  CHECK(has(notes(folder, rows("x,open", 14,
                               [](int row) {
                                 return fmt::format("2023-01-{:02},{},{}", row + 1, value(row), row % 3 == 0);
                               })),
            "the first column has no name"));  // a flag
}

TEST_CASE("a cell or two that are no numbers are named, in a column that is numbers otherwise") {
  const Folder folder;
  const auto with = [&](const char* last, const char* index) {
    return rows(fmt::format("Month,Passengers{}", *index ? ",Index" : ""), 40, [&](int row) {
      return fmt::format("{}-{:02},\"4,{}{}\"{}", 2018 + row / 12, row % 12 + 1, value(row),
                         row == 30 ? last : "", *index ? fmt::format(",{}.5", row) : "");
    });
  };
  for (const char* index : {"", "x"}) {
    CHECK(refusal(folder, with("*", index)) ==
          fmt::format("x.csv:32: column 2 ('Passengers'): '4,{}*' is not a number: delete the mark",
                      value(30)));
    CHECK(has(refusal(folder, with("p", index)),
              fmt::format("x.csv:32: column 2 ('Passengers'): '4,{}p'", value(30))));
  }
  CHECK(has(forecast_of(folder, with("*", "x"), Words{"--column", "Index"}).out, "time,Index,"));
}

TEST_CASE("numbers with decimal commas are no row of units, though their dates are not read") {
  const Folder folder;
  for (const char* label : {"Monat {:02}", "janv. {}", "Mrz{}"})
    CHECK(has(notes(folder, rows("Mois;Ventes", 24,
                                 [&](int row) {
                                   return fmt::format(fmt::runtime(label), row + 1) +
                                          fmt::format(";3{},25", value(row));
                                 }),
                        set({"data.time=\"\""})),
              "numbers with decimal commas"));
  CHECK(has(refusal(folder, rows("t;x\nMonat;EUR", 12,
                                 [](int row) { return fmt::format("{};{},5", row, value(row)); })),
            "line 2 looks like a row of units: delete it"));
}

TEST_CASE("units behind decimal commas, and Cr and Dr, get the advice of other units") {
  const Folder folder;
  const auto with = [&](const char* cell) {
    return refusal(folder, rows("Datum;Belopp", 20, [&](int row) {
                     return fmt::format("2023-01-{:02};", row + 1) +
                            fmt::format(fmt::runtime(cell), value(row));
                   }));
  };
  for (const char* cell : {"{} kWh", "{},92 t", "2 {},92 l", "{},92 kWh", "2.{},92 pcs"})
    CHECK(with(cell).ends_with("is no number: delete the unit, which all cells must share)"));
  for (const char* cell : {"{}.67 Cr", "{} DR"})
    CHECK(with(cell).ends_with(
        "is no number: delete Cr and Dr, and write a minus before each number with Dr)"));
}

TEST_CASE("years of two digits stand last where a day stands between, and one order fits alone") {
  const Folder folder;
  const auto of_day = [](int row) { return fmt::format("05/{:02}/24,{}", row + 1, value(row)); };
  CHECK(has(notes(folder, rows("t,x", 30, of_day)), "'05/01/24' in line 2 is read as 2024-05-01"));
  const auto with_hours = [](int row) {
    return fmt::format("05/{:02}/24 {}:00,{}", row / 24 + 1, row % 24, value(row));
  };
  CHECK(has(notes(folder, rows("t,x", 24 * 14, with_hours)), "is read as 2024-05-01 00:00:00"));
  CHECK(has(refusal(folder, rows("t,x", 12, of_day)),
            "tells which number it is: write the years with four; data.date_order = "
            "\"dmy\" or \"mdy\" says"));
  // An order that is named is one that fits.
  const std::string days =
      rows("t,x", 12, [](int row) { return fmt::format("21/01/{:02},{}", row + 1, value(row)); });
  CHECK(has(refusal(folder, days), "; data.date_order = \"dmy\" says"));
  CHECK(has(forecast_of(folder, days, set({"data.date_order=dmy"})).out, "\n2013-01-21,"));
}

TEST_CASE("years with the newest first are turned around, and values that descend are not taken for times") {
  const Folder folder;
  const ProgramRun run = forecast_of(
      folder, rows("Year,x", 30, [](int row) { return fmt::format("{},{}", 2023 - row, value(row)); }));
  CHECK_MESSAGE(run.out.find("\n2024,") != std::string::npos, run.err);
  CHECK(has(run.err, "the newest row stands first: rows were turned around"));
  CHECK(run.out ==
        forecast_of(folder, rows("Year,x", 30,
                                 [](int row) { return fmt::format("{},{}", 1994 + row, value(29 - row)); }))
            .out);
}

TEST_CASE("zeros at the end, and nowhere before, may be rows to come: a note says which lines") {
  const Folder folder;
  const auto with = [&](int zeros, int early) {
    return notes(folder, rows("Month,x", 36, [&](int row) {
                   return fmt::format("{}-{:02},{}", 2018 + row / 12, row % 12 + 1,
                                      row >= 36 - zeros || row == early ? 0 : value(row));
                 }));
  };
  CHECK(has(
      with(3, -1),
      "'x' is 0 in its last 3 rows, lines 35 to 37, and in none before: if these are to come, delete the lines, and "
      "they are forecast"));
  for (const auto& [zeros, early] : {std::pair(1, -1), {3, 4}, {0, -1}})
    CHECK_FALSE(has(with(zeros, early), "is 0 in"));
}

TEST_CASE("a year, a date or a series that stands only in the first row of several is to be filled down") {
  const Folder folder;
  const auto first = [](int row, int of, const auto& text) {
    return row % of == 0 ? fmt::format("{}", text) : "";
  };
  for (const char* name : {"Year", "Rok"}) {
    const std::string sales = rows(fmt::format("{},Month,Sales", name), 29, [&](int row) {
      return first(row, 12, 2018 + row / 12) + fmt::format(",{},{}", months[row % 12], value(row));
    });
    CHECK(
        refusal(folder, sales) ==
        fmt::format(
            "x.csv: the time stands in columns '{0}' and 'Month': fill '{0}' down, which only the first of several "
            "rows has, and write one column in their place, as 2018 Jan in line 2",
            name));
  }
  CHECK(has(refusal(folder, rows("Year,Quarter,Sales", 24,
                                 [&](int row) {
                                   return first(row, 4, 2018 + row / 4) +
                                          fmt::format(",Q{},{}", row % 4 + 1, value(row));
                                 })),
            "as 2018 Q1 in line 2"));
  CHECK(
      refusal(folder, rows("Date,Time,Calls", 72,
                           [&](int row) {
                             return first(row, 24, fmt::format("2023-01-{:02}", row / 24 + 1)) +
                                    fmt::format(",{:02}:00,{}", row % 24, value(row));
                           })) ==
      "x.csv:3: column 1 ('Date'): the row has no time: only the first of several rows has it; fill it down into "
      "the others");
  CHECK(
      refusal(folder, rows("Region,Month,Sales", 48,
                           [&](int row) {
                             return first(row, 24, row ? "South" : "North") +
                                    fmt::format(",{}-{:02},{}", 2018 + row / 12 % 2, row % 12 + 1,
                                                value(row));
                           })) ==
      "x.csv: 2 series in one file, by column 'Region' (North, South); only the first row of each names it: fill the "
      "column down");
  // Values beside gaps are no years.
  CHECK(has(notes(folder, rows("a,x", 25,
                               [&](int row) {
                                 return first(row, 3, 1900 + 5 * row) + fmt::format(",{}", value(row));
                               })),
            "columns 2 of 2"));
}

TEST_CASE("two columns that name the series together are to be joined, also where data.id names one") {
  const Folder folder;
  const std::string csv = rows("Week,Store,Product,Units", 80, [](int row) {
    return fmt::format("2022-{:02}-{:02},{},{},{}", row / 4 / 4 + 1, row / 4 % 4 * 7 + 1,
                       row / 2 % 2 ? "South" : "North", row % 2 ? "Tea" : "Coffee", value(row));
  });
  for (const Words& more : {Words{}, set({"data.id=Store"}), set({"data.id=Product"})})
    CHECK(has(
        refusal(folder, csv, more),
        "x.csv: columns 'Store' and 'Product' name the series together: join them into one, as 'North Coffee', and name "
        "it in data.id"));
}

TEST_CASE("a double row makes no column of numbers a part of the series' name") {
  const Folder folder;
  for (const char* orders : {"{}.5", "{}"}) {  // amounts, and whole numbers that repeat
    const std::string csv = rows("Kind,Day,Orders,Sales", 61, [&](int row) {
      const int day = row - (row > 30);
      return fmt::format("Shop,2023-{:02}-{:02},{},{}", day / 28 + 1, day % 28 + 1,
                         fmt::format(fmt::runtime(orders), 50 + row % 7), value(row));
    });
    CHECK(
        has(refusal(folder, csv), "x.csv:33: column 2 ('Day'): 2023-02-03 stands there twice; put the rows"));
  }
  // Orders of a day: a product and a quantity name no series.
  const std::string orders = rows("Day,Product,Quantity,Amount", 80, [](int row) {
    return fmt::format("2023-{:02}-{:02},{},{},{}", row / 2 / 28 + 1, row / 2 % 28 + 1,
                       row / 5 % 2 ? "Tea" : "Mug", row % 2 + row / 2 % 7 * 2, value(row));
  });
  CHECK_FALSE(has(refusal(folder, orders), "name the series together"));
  // Numbers that each store has at most times do.
  const std::string departments = rows("Day,Store,Department,Units", 120, [](int row) {
    return fmt::format("2023-01-{:02},{},{},{}", row / 4 + 1, row / 2 % 2 ? "South" : "North", row % 2 + 1,
                       value(row));
  });
  CHECK(has(refusal(folder, departments), "'Store' and 'Department' name the series together"));
}

TEST_CASE("a double row among several series leaves the column that names them, and its line is said") {
  const Folder folder;
  const auto with_doubles = [](int doubles) {
    std::string csv = "Day,Product,Units\n";
    for (int row = 0; row < 90; ++row) {
      const std::string line = fmt::format("2023-{:02}-{:02},{},{}\n", row / 3 / 28 + 1, row / 3 % 28 + 1,
                                           std::array{"Tea", "Mug", "Pot"}[row % 3], value(row));
      csv += line;
      if (row % 12 == 4 && doubles-- > 0) csv += line;
    }
    return csv;
  };
  const std::string said =
      "x.csv: 3 series in one file, by column 'Product' (Tea, Mug, Pot): data.id = \"Product\"";
  CHECK(has(refusal(folder, with_doubles(0)), said));
  CHECK_FALSE(has(refusal(folder, with_doubles(0)), "again"));
  CHECK(has(refusal(folder, with_doubles(1)), said));
  CHECK(has(refusal(folder, with_doubles(1)), "; line 7 has 2023-01-02 of 'Mug' again"));
  CHECK(has(refusal(folder, with_doubles(2)), "again, the first of 2 such"));
  CHECK(has(refusal(folder, with_doubles(8)), "stands there twice"));
  CHECK(has(refusal(folder, with_doubles(1), set({"data.id=Product"})),
            "x.csv:7: column 1 ('Day'): 2023-01-02 of series 'Mug' stands there twice"));
}

TEST_CASE("an empty last column is none, and hides no line above the names") {
  const Folder folder;
  const auto table = [](const std::string& above, const std::string& names, const char* end) {
    return rows(above + names, 24, [&](int row) {
      return fmt::format("2023-01-{:02},{},{}{}", row + 1, value(row), 50 + row % 3, end);
    });
  };
  const std::string plain = forecast_of(folder, table("", "Day,Takings,Costs", "")).out;
  REQUIRE(has(plain, "2023-01-25,"));
  CHECK(forecast_of(folder, table("", "Day,Takings,Costs,", ",")).out == plain);
  CHECK(forecast_of(folder, table("", "Day,Takings,Costs,", "")).out == plain);
  CHECK(refusal(folder, table("", "Day,Takings,Costs,", ",x")) ==
        "x.csv:1: column 4 has no name: name it, or delete it if it is empty");
  CHECK(has(refusal(folder, table("", "5,6,7,", ",")), "the first line must name the columns"));
  CHECK(refusal(folder, table("Cafe 2023,,,\n,,,\n", "Day,Takings,Costs,", ",")) ==
        "x.csv:1: 'Cafe 2023' names no columns, but line 3 does: delete what is above it");
  CHECK(refusal(folder,
                "Source,Bank,\n\nCountry,Code,2018,2019,2020,2021,\nFrance,F,5,6,7,8,\nItaly,I,5,6,7,8,\n") ==
        "x.csv:1: 'Source' names no columns, but line 3 does: delete what is above it");
}

TEST_CASE("years side by side, with a month a line, are not to be transposed") {
  const Folder folder;
  for (const auto& [first, kind] : {std::pair{"Jan", "month"}, {"Q1", "quarter"}})
    CHECK(refusal(folder, fmt::format("Part,2018,2019,2020,2021\n{},5,6,7,8\n", first)) ==
          fmt::format(
              "x.csv:1: columns are years, and rows their {0}s: write one {0} a line, as '{1} 2018' and its "
              "value",
              kind, first));
  CHECK(has(refusal(folder, "Town,2018,2019,2020,2021\nMarseille,5,6,7,8\n"), ": transpose the table"));
}
