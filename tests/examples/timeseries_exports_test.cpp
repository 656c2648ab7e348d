// Files as offices and their programs export them: forms of time below each other, UTF-16, empty columns, rows of events.
#include "examples/timeseries/guess/choices.h"
#include "examples/timeseries/guess/columns.h"
#include "tests/examples/mended.h"

using namespace mended;

namespace {

// Rows of each form from 2015 on: 2015 / 2015 Q1 / 2015 JAN.
std::string stacked(int years, int quarters, int months) {
  constexpr const char* names[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                   "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
  std::string text;
  const auto add = [&](const std::string& time, int value) { text += fmt::format("{},{}\n", time, value); };
  for (int k = 0; k < years; ++k) add(std::to_string(2015 + k), 1200 + k);
  for (int k = 0; k < quarters; ++k) add(fmt::format("{} Q{}", 2015 + k / 4, 1 + k % 4), 300 + k % 5);
  for (int k = 0; k < months; ++k) add(fmt::format("{} {}", 2015 + k / 12, names[k % 12]), week(k));
  return text;
}

std::string begun(const std::string& table, const std::string& with_each) {
  std::string text;
  for (const std::string& line : lines_of(table)) text += with_each + line + "\n";
  return text;
}

std::string utf16(std::string_view utf8, bool big) {
  std::string text = big ? "\xfe\xff" : "\xff\xfe";
  const auto add = [&](uint32_t unit) {
    const char high = static_cast<char>(unit >> 8), low = static_cast<char>(unit & 255);
    (text += big ? high : low) += big ? low : high;
  };
  while (!utf8.empty()) {
    const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(utf8[i])); };
    const uint32_t first = byte(0);
    const size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t point = size == 1 ? first : first & (0xff >> (size + 1));
    for (size_t i = 1; i < size; ++i) point = point << 6 | (byte(i) & 63);
    if (point >= 0x10000) add(0xd800 + ((point - 0x10000) >> 10)), point = 0xdc00 + (point & 0x3ff);
    add(point);
    utf8.remove_prefix(size);
  }
  return text;
}

}  // namespace

TEST_CASE("years and quarters above months are left out, and metadata above them") {
  const Folder folder;
  const std::string names = "Title,x\n", metadata = "CDID,GMAA\nUnit,m\nRelease date,21-03-2025\nNotes,\n",
                    months = names + stacked(0, 0, 84);
  check_mended(
      folder, names + metadata + stacked(7, 28, 84), months,
      {"lines 2 to 5 are left out: above the first time, as 'CDID'",
       "lines 6 to 40 are left out: 7 rows of years and 28 of quarters in column 1 ('Title'), which has "
       "months, too"});
  check_mended(folder, names + stacked(0, 0, 84) + stacked(7, 0, 0), months,
               {"lines 86 to 92 are left out: 7 rows of years in column 1 ('Title'), which has months, too"});
  check_mended(folder, names + stacked(7, 28, 0), names + stacked(0, 28, 0), {});
  check_mended(folder, "FREQ," + names + begun(stacked(7, 28, 84), "M,"),
               "FREQ," + names + begun(stacked(0, 0, 84), "M,"), {});
  check_mended(folder, names + metadata + stacked(40, 0, 0), names + stacked(40, 0, 0),
               {"lines 2 to 5 are left out: above the first time, as 'CDID'"});
  check_mended(folder, names + stacked(1, 0, 84), months,
               {"line 2 is left out: 1 row of years in column 1 ('Title'), which has months, too"});
  CHECK(has(
      refusal(folder, names + stacked(7, 28, 84)),
      "x.csv:2: column 1 ('Title') has 7 rows of years and 28 of quarters beside those of months: delete them"));
}

TEST_CASE("rows of two forms in turn, or few of the finest, are refused with both") {
  const Folder folder;
  const std::string names = "Title,x\n", years = stacked(8, 0, 0), months = stacked(0, 0, 84);
  CHECK(refused(folder, names + years + stacked(0, 0, 24) + years + months) ==
        "timeseries: x.csv:10: column 1 ('Title'): '2015 JAN' is another form of time than '2022' above it: "
        "keep the rows of one form\n");
  std::string with_sums = names;  // each year above its months
  for (int year = 2015; year < 2021; ++year) {
    with_sums += fmt::format("{},150\n", year);
    for (int month = 1; month <= 12; ++month)
      with_sums += fmt::format("{}-{:02},{}\n", year, month, week(month));
  }
  CHECK(has(refused(folder, with_sums), "keep the rows of one form"));
  CHECK(has(refused(folder, names + stacked(30, 0, 9)), "'2015 JAN' is another form of time than '2044'"));
  // Seasons beside days are no times of the rows.
  CHECK(forecast_of(folder, rows("t,season,x", 84,
                                 [](int row) {
                                   return fmt::format("{},{},{}", dated(row), row < 40 ? "2020" : "2020 Q4",
                                                      week(row));
                                 }))
            .code == 0);
}

TEST_CASE("UTF-16 is read with its mark, in either order of bytes, and refused where it is cut off") {
  const Folder folder;
  const std::string plain = table("t,Länge \U0001D11E 値");
  for (const bool big : {false, true}) {
    check_mended(folder, utf16(plain, big), plain, {"the file is UTF-16, and is read so"});
    CHECK(refused(folder, utf16(plain, big) + "a") ==
          "timeseries: x.csv:86: the file is UTF-16, and ends within a character: save it anew, as UTF-8\n");
    const std::string first_half = utf16("\U0001D11E", big).substr(2, 2);  // of a pair, behind the mark
    CHECK(has(refused(folder, utf16(plain, big) + first_half),
              "x.csv:86: the file is UTF-16, and half of a character"));
    std::string half = utf16(plain, big);
    half.erase(utf16("t,Länge ", big).size(), 2);  // of the pair
    CHECK(has(refused(folder, half), "x.csv:1: the file is UTF-16, and half of a character stands there"));
    CHECK(has(refusal(folder, utf16(plain, big)), "this is UTF-16; save it as UTF-8"));
  }
  CHECK(has(refused(folder, utf16(plain, false).substr(2)), "a NUL byte"));
}

TEST_CASE("columns at the begin without a name or a value are left out, below a title, too") {
  const Folder folder;
  const auto cells = [](const char* names) {
    return rows(names, 84, [](int row) { return fmt::format("{}\t{}", dated(row), week(row)); });
  };
  check_mended(folder, begun(cells("t\tx"), "\t"), cells("t\tx"), {"column 1 is left out: it is empty"});
  check_mended(folder, begun(cells("t\tx"), "\t\t"), cells("t\tx"),
               {"columns 1 to 2 are left out: they are empty"});
  check_mended(folder, "List of items\t\t\n\n" + begun(cells("t\tx"), "\t"), cells("t\tx"),
               {"column 1 is left out: it is empty",
                "lines 1 to 2 are left out: above the names, which are in line 3"});
  CHECK(has(refusal(folder, begun(cells("t\tx"), "\t")),
            "x.csv:1: column 1 has neither a name nor values: delete it"));
  // With a name it is a column.
  CHECK(!has(forecast_of(folder, "shop" + begun(cells("t\tx"), "\t")).err, "column 1 is left out"));
}

TEST_CASE("a date that never changes is not the time where another column has times") {
  const Folder folder;
  const auto cells = [](const char* names, const char* first, bool yearly) {
    return rows(names, 84, [=](int row) {
      const std::string time = yearly ? std::to_string(1940 + row) : dated(row);
      return fmt::format("{},{},{}", first, time, week(row));
    });
  };
  for (const char* update : {"24/07/23 23:00:00", "2023-07-24"}) {
    CHECK(has(forecast_of(folder, cells("LAST UPDATE,day,x", update, false)).err, "time    column 'day'"));
    CHECK(has(forecast_of(folder, cells("LAST UPDATE,TIME_PERIOD,x", update, true)).err,
              "time    column 'TIME_PERIOD': rows are a year apart"));
  }
  // It stays the time where there is no other.
  CHECK(has(refused(folder, cells("day,n,x", "2023-07-24", true)), "2023-07-24 stands there twice"));
}

TEST_CASE("rows of events are to be counted, with the option that makes days without any 0") {
  const Folder folder;
  const auto events = [](const char* last) {
    return rows("opened,kind,priority", 84, [=](int row) {
      return fmt::format("{} 09:{:02},mail,{}", dated(row / 3), row % 3 == 2 ? 1 : row % 3,
                         last == std::string("3") || row % 2 ? last : "low");
    });
  };
  CHECK(refused(folder, events("3"))
            .ends_with("put the rows of one hour or day together first: their number, sum, mean or last; "
                       "data.missing = \"zero\" with data.gaps = \"fill\" then counts 0 for times without "
                       "rows\n"));
  CHECK(has(refused(folder, events("high")),
            "if each row is an event, count those of each day, and forecast the counts with --set "
            "data.missing=zero"));
  // Days without an event are in no table of counts.
  std::string counts = "day,count\n", whole = counts;
  for (int row = 0; row < 120; ++row) {
    const bool has_event = row % 9 != 4 && row % 13 != 6;
    if (has_event) counts += fmt::format("{},{}\n", dated(row), week(row));
    whole += fmt::format("{},{}\n", dated(row), has_event ? week(row) : 0);
  }
  CHECK(refused(folder, counts)
            .ends_with("; as an option: --set data.gaps=allow, or for 0 --set data.missing=zero\n"));
  CHECK(forecast_of(folder, counts, set({"data.missing=zero"})).out == forecast_of(folder, whole).out);
}

TEST_CASE("a blank within a number is shown as one") {
  const Folder folder;
  const auto cells = [](const char* blank) {
    return rows("t;x", 84, [=](int row) { return fmt::format("{};1{}3{}", dated(row), blank, week(row)); });
  };
  for (const char* blank : {"\u00a0", "\u202f", "\u2009", " "})
    CHECK(has(forecast_of(folder, cells(blank)).err, "'1 310' in line 2 as 1310"));
}

TEST_CASE("the help names the option that says which column holds the times") {
  const Folder folder;
  CHECK(has(started({"forecast", "--help"}, folder.path()).out, "--set data.time="));
}

TEST_CASE("a thirteenth month is a year's total, and no row") {
  const Folder folder;
  const auto months = [](bool with_totals) {
    std::string csv = "MSN,YYYYMM,Value\n";
    for (const char* name : {"NG", "EL"})
      for (int year = 1970; year < 1978; ++year) {
        for (int month = 1; month <= 12 && year > 1971; ++month)
          csv += fmt::format("{},{}{:02},{}\n", name, year, month, 40 + month);
        if (with_totals) csv += fmt::format("{},{}13,558\n", name, year);
      }
    return csv;
  };
  check_mended(folder, months(true), months(false),
               {"16 lines, the first is line 2, are left out: month 13 is a year's total"});
}

TEST_CASE(
    "a column that is 0 on most days repeats no time, a code of the month does; words name series before prices do") {
  const Folder folder;
  const ProgramRun run = forecast_of(
      folder, rows("date,code,out,x", 84, [](int row) {
        return fmt::format("{},{},\"{}\",{}", dated(row), with(with(dated(row), "-", ""), "-", ""),
                           row % 7 == 4 ? fmt::format("-5{},200.00", row) : "0.00", week(row));
      }));
  CHECK_MESSAGE(has(run.err, "columns 2 of 3: left out: code (it repeats the time) ("), run.err);
  const auto prices = [](const char* names, const char* form) {
    return rows(names, 6 * 60, [=](int row) {
      const int month = row / 6, of = row % 6;
      return fmt::format(fmt::runtime(form), 2018 + month / 12, month % 12 + 1, of < 3 ? "North" : "South",
                         std::array{"Maize", "Rice", "Beans"}[static_cast<size_t>(of % 3)],
                         200 + 100 * of + month, (27.0 + 10 * of + month % 5) / 100);
    });
  };
  check_mended(folder, prices("date,market,commodity,price,usd", "{}-{:02}-15,{},{},{},{:.2f}"),
               prices("date,market commodity,price,usd", "{}-{:02}-15,{} {},{},{:.2f}"),
               {"columns 'market' and 'commodity' name the series together, and are joined"},
               set({"data.id=market commodity"}));
}

TEST_CASE("numbered weeks are said to be ISO's, and the code of a month is no value") {
  const Folder folder;
  const ProgramRun weeks =
      forecast_of(folder, rows("WM Week,x", 104, [](int row) {
                    return fmt::format("{}{:02},{}", 2021 + row / 52, row % 52 + 1, week(row));
                  }));
  CHECK_MESSAGE(
      has(weeks.err,
          "column 1 ('WM Week'): weeks are ISO's, from Monday on: '202101' in line 2 is read as 2021-01-04"),
      weeks.err);
  const ProgramRun months =
      forecast_of(folder, rows("time_code,month,x", 60, [](int row) {
                    return fmt::format("{}00{:02}{:02},{}年{}月,{}", 2015 + row / 12, row % 12 + 1,
                                       row % 12 + 1, 2015 + row / 12, row % 12 + 1, week(row));
                  }));
  CHECK_MESSAGE(has(months.err, "left out: time_code (it repeats the time)"), months.err);
}

TEST_CASE("of a logger's times with years of two digits the one order is read that makes them even") {
  const Folder folder;
  const auto hours = [](const char* form, int days) {
    std::string csv = "t,x\n";
    for (int row = 0; row < 24 * days; ++row)
      csv += fmt::format(fmt::runtime(form), 3 + row / 24, row % 24, week(row));
    return csv;
  };
  const char* const logged = "06/{0:02}/24 {1:02}:00:00,{2}\n";
  const ProgramRun run = forecast_of(folder, hours(logged, 10) + "06/13/24 00:07:12,\n"),
                   plain = forecast_of(folder, hours("2024-06-{0:02} {1:02}:00:00,{2}\n", 10));
  CHECK(run.out == plain.out);
  CHECK_MESSAGE(has(run.err, "'06/03/24 00:00:00' in line 2 is read as 2024-06-03 00:00:00"), run.err);
  const ProgramRun ten = forecast_of(folder, hours(logged, 10));
  CHECK(ten.out == plain.out);
  CHECK_MESSAGE(has(ten.err, "dates are read as month/day/year, in no other order are they evenly spaced"),
                ten.err);
  CHECK(has(refused(folder, hours(logged, 2)),
            "has a year of two digits, and no row tells which number it is"));
}

TEST_CASE("flags, counters, few numbers, and what stays the same in each series are not forecast") {
  const Folder folder;
  const auto left_out = [&](const std::string& csv, const Words& more = {}) {
    const std::string err = forecast_of(folder, csv, Words{"--members", "last,seasonal"} + more).err;
    const size_t at = err.find("columns ");
    return at == err.npos ? err : err.substr(at, err.find(" (--column", at) - at);
  };
  CHECK(
      left_out(rows("day,shop,fee,Temp,Temp QC,Temp Flag,Invoice No.,x", 84,
                    [](int row) {
                      return fmt::format("{},{},{},{},{},{},{},{}", dated(row / 2), row % 2 ? "b" : "a",
                                         40 + row % 2, week(row / 2), row % 9 ? 8 : 5, row % 5,
                                         100 + row * (row + 3), week(row / 2));
                    }),
               set({"data.id=shop"})) ==
      "columns 2 of 6: left out: Temp QC (a flag by its name), Temp Flag (a flag by its name), Invoice No. (a counter by its "
      "name and whole numbers that ascend), fee (it never changes)");
  const auto few = [](int each) {
    return rows("t,x,rare", 84, [=](int row) {
      return fmt::format("{},{},{}", dated(row), week(row), row % each == 3 ? std::to_string(row) : "");
    });
  };
  CHECK(left_out(few(20)) == "columns 1 of 2: left out: rare (only 5 cells have a number)");
  CHECK(left_out(few(15)) == "columns 1 of 2: left out: 'rare' has values 15 days apart");
  CHECK(left_out(rows("region,year,x", 40, [](int row) {
          return fmt::format("N,{},{}", 1980 + row, week(row));
        })) == "columns 1 of 2: left out: region (text, 'N' in line 2 is no number)");
  // The last rows lack two columns; one value may be late.
  const auto ahead = [](int open) {
    return rows("t,promo,x,y", 91, [=](int row) {
      return fmt::format("{},{},", dated(row), row % 3 ? 0 : 1) +
             (row < 91 - open ? fmt::format("{},{}", week(row), 2 * week(row)) : ",");
    });
  };
  CHECK(left_out(ahead(7)) == "columns 2 of 3: left out: promo (known of the last rows)");
  CHECK(has(
      forecast_of(folder, ahead(7)).err,
      "the last rows have no 'x', 'y', but 'promo': these options forecast them with it (--column 'x' --column 'y' --set "
      "'data.known=[\"promo\"]' --future x.csv)"));
  CHECK(left_out(ahead(1)) == "columns 3 of 3: all hold numbers");
  // Two columns of words may name series of rows without times: the one with more names does.
  const ProgramRun blocks = forecast_of(folder, rows("n,country,city,x", 168, [](int row) {
                                          return fmt::format("m{},{},{},{}", row % 42, row < 84 ? "no" : "se",
                                                             "abcd"[row / 42], week(row));
                                        }));
  CHECK_MESSAGE(has(blocks.err, "series  4 by column 'city'"), blocks.err);
}

TEST_CASE("a column that is asked for tells its own marks, whatever another one leaves open") {
  const Folder folder;
  const std::string csv = rows("t;a;b", 84, [](int row) {
    return fmt::format("{};{};1.1{}", dated(row), row % 7 == 6 ? "1.495" : std::to_string(950 + row % 7),
                       row % 7);
  });
  CHECK(has(refused(folder, csv), "'1.495' may be 1.495 or 1495"));
  CHECK(has(refused(folder, csv, {"--column", "a"}), "'1.495' may be 1.495 or 1495"));
  CHECK(first_forecast(forecast_of(folder, csv, {"--column", "b"})) == dated(84) + ",1.1");
}

TEST_CASE(
    "a column repeats the time if it is one part of it in each row, or a clock that shows it, and not if one row differs") {
  const auto holds = [](const auto& value, int64_t step, int rows, bool differs) {
    timeseries::RepeatsTime repeats;
    for (int row = 0; row < rows; ++row) {
      const Time time{TimeForm::date_time, parse_time("2021-02-27 00:00")->count + row * step};
      repeats.add(value(time, calendar_of(time)) + (differs && row == rows - 1 ? 5e13 : 0), time);
    }
    return repeats.holds();
  };
  using Value = std::function<double(const Time&, const CalendarTime&)>;
  const std::vector<Value> values = {
      [](const Time&, const CalendarTime& at) { return at.year; },
      [](const Time&, const CalendarTime& at) { return at.month; },
      [](const Time&, const CalendarTime& at) { return (at.month - 1) / 3 + 1; },
      [](const Time&, const CalendarTime& at) { return at.day; },
      [](const Time&, const CalendarTime& at) {
        return at.month == 1 ? at.day : at.month == 2 ? 31 + at.day : 59 + at.day;
      },
      [](const Time&, const CalendarTime& at) { return at.weekday + 1; },  // Monday is 1
      [](const Time&, const CalendarTime& at) { return at.hour; },
      [](const Time&, const CalendarTime& at) { return 100 * at.year + at.month; },
      [](const Time&, const CalendarTime& at) { return 10'000 * at.year + 100 * at.month + at.day; },
      [](const Time& time, const CalendarTime&) { return static_cast<double>(time.count) / 1e6; },
      [](const Time& time, const CalendarTime&) { return static_cast<double>(time.count) / 1e3; },
      [](const Time& time, const CalendarTime&) { return static_cast<double>(time.count); },
      [](const Time& time, const CalendarTime&) {
        return static_cast<double>(time.count) / 86.4e9 + 25'569;
      }};  // of a spreadsheet
  for (size_t k = 0; k < values.size(); ++k) {
    CAPTURE(k);
    CHECK(holds(values[k], 5 * one_hour, 150, false));
    CHECK(!holds(values[k], 5 * one_hour, 150, true));
    CHECK(!holds(values[k], 5 * one_hour, 8, false));  // by chance
  }
  CHECK(!holds([](const Time&, const CalendarTime& at) { return at.weekday; }, 5 * one_hour, 150, false));
}

TEST_CASE("a segment leaves the window nearly 12 steps, and a network reads the places in its seasons") {
  for (const auto& [window, segment] :
       {std::pair{12, 1}, {24, 2}, {20, 2}, {7, 1}, {64, 4}, {100, 10}, {168, 14}, {13, 1}})
    CHECK(timeseries::segment_of(window) == segment);
  const auto places = [](const char* first, const char* second, int64_t period, int64_t other) {
    const std::array at = {parse_time(first)->count, parse_time(second)->count};
    const TimeStep step = find_step(parse_time(first)->form, at).step;
    return fmt::format(
        "{}",
        fmt::join(timeseries::calendar_of({.period = period, .second_period = other}, step, 5000), " "));
  };
  CHECK(places("2021-01-04 00:00", "2021-01-04 01:00", 24, 168) == "hour weekday");
  CHECK(places("2021-01-04 00:00", "2021-01-04 00:15", 96, 1) == "hour");
  CHECK(places("2021-01-04", "2021-01-05", 7, 365) == "weekday day_of_year");
  CHECK(places("2021-01", "2021-02", 12, 1) == "month");
  CHECK(places("2021-01-04", "2021-01-05", 1, 1) == "");
}
