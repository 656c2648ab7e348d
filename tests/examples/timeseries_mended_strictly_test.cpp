// A mend changes no file that is right as it is, and says what is true.
#include "data/csv.h"
#include "examples/timeseries/files/cells.h"
#include "tests/examples/mended.h"

using namespace mended;

namespace {

std::string hour(int row) {  // of day 0
  return fmt::format("{} {:02}:00", dated(row / 24), row % 24);
}
bool notes(const Folder& folder, const std::string& csv, const std::string& words) {
  const ProgramRun run = forecast_of(folder, csv);
  CHECK_MESSAGE(run.code == 0, run.err);
  return run.err.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("an hour that comes twice is left out in a night when clocks are set back, a whole one") {
  const Folder folder;
  const auto hours = [](const char* first_day, int again) {  // the fifth day has the hour `again` twice
    const int64_t from = parse_time(first_day)->count;
    std::string csv = "t,x\n";
    for (int row = 0; row < 240; ++row)
      for (int k = 0; k < (row == 96 + again ? 2 : 1); ++k)
        csv += fmt::format("{},{}\n", to_text({TimeForm::date_time, from + row * one_hour}), week(row));
    return csv;
  };
  for (const char* day : {"2021-10-27", "2021-11-03", "2021-03-31"})  // to a last and a first Sunday
    CHECK(notes(folder, hours(day, 2), "clocks are set back, and an hour comes twice"));
  for (const char* day : {"2021-10-25", "2021-06-23", "2021-10-13"})  // a Friday, June, the middle of October
    CHECK(refused(folder, hours(day, 2)).find("stands there twice") != std::string::npos);
  CHECK(refused(folder, hours("2021-10-27", 14)).find("stands there twice") != std::string::npos);
  // A quarter of an hour is no hour.
  std::string quarters = "t,x\n";
  for (int row = 0; row < 192; ++row)
    for (int k = 0; k < (row == 105 ? 2 : 1); ++k)
      quarters +=
          fmt::format("2021-10-{} {:02}:{:02},{}\n", 30 + row / 96, row % 96 / 4, row % 4 * 15, week(row));
  CHECK(refused(folder, quarters).find("stands there twice") != std::string::npos);
}

TEST_CASE("numbers of nines that are values stay") {
  const Folder folder;
  const auto cells = [](const char* other, int each, int scale) {
    return rows("t,x", 84, [=](int row) {
      return fmt::format("{},{}", dated(row),
                         row % each == 5 ? other : std::to_string(scale * (week(row) - 10)));
    });
  };
  for (const char* sentinel : {"-99", "-99.9", "999"})
    CHECK_MESSAGE(notes(folder, cells(sentinel, 20, 1), "is read as missing, 4 times"), sentinel);
  CHECK(!notes(folder, cells("9999", 80, 1), "is read as missing"));  // once
  CHECK(!notes(folder, cells("99", 20, 1), "is read as missing"));    // a price
  CHECK(!notes(folder, cells("-99", 20, 80), "is read as missing"));  // nearer than the others' range
  CHECK(!notes(folder, cells("999", 20, 80), "is read as missing"));  // a sensor at its end
  CHECK(!notes(folder, cells("9999", 20, 0), "is read as missing"));  // the others never change
}

TEST_CASE("a line that is left out of a file of one column is no row without a value") {
  const Folder folder;
  const std::string plain = rows("x", 84, [](int row) { return std::to_string(week(row)); });
  check_mended(folder, with(plain, "x\n", "x\nkWh\n"), plain,
               {"line 2 is left out: it holds units, as 'kWh'"});
  check_mended(folder, with(plain, "x\n", "x\n10\nx\n"), with(plain, "x\n", "x\n10\n"),
               {"line 3 is left out: no rows of the series, as 'x'"});
  check_mended(folder, with(plain, "x\n", "x\n10\nx\n") + "Exported by ERP\n", with(plain, "x\n", "x\n10\n"),
               {"line 3 is left out: no rows of the series, as 'x'",
                "line 88 is left out: below the rows, as 'Exported by ERP'"});
}

TEST_CASE("rows above the first time are left out, and names above a table of as many columns") {
  const Folder folder;
  const std::string plain = table("t,x");
  check_mended(folder, with(plain, "t,x\n", "t,x\nid,0017\nupdated,14/11/2025 12:00\nday,\n"), plain,
               {"lines 2 to 4 are left out: above the first time, as 'id'"});
  check_mended(folder, with(plain, "t,x\n", "t,x\n,1000,Grand total\n"), plain,
               {"line 2 is left out: above the first time, as '1000'"});
  CHECK(forecast_of(folder, with(plain, "2021-01-04", "2021-02-30")).err.find("above") == std::string::npos);
  check_mended(folder, with(plain, "t,x\n", "t,x\nt,x\n"), plain, {"line 2 is left out: the names again"});
  check_mended(folder, "Key,Value\nname,load\nrows,84\n\n" + plain, plain,
               {"lines 1 to 4 are left out: above the names, which are in line 5"});
  const std::string three =
      rows("t,x,y", 84, [](int row) { return fmt::format("{},{},1", dated(row), week(row)); });
  check_mended(folder, "Report\nA,B\n1,2\n\n" + three, three,
               {"lines 1 to 4 are left out: above the names, which are in line 5"});
}

TEST_CASE("another table below ends the first one; the same names go on with it") {
  const Folder folder;
  const std::string plain = table("t,x", 50), more = with(table("t,x"), plain, "");
  check_mended(folder, plain + "\nday,y\n" + more, plain,
               {"lines 53 to 87 are left out: another table stands below, from 'day' on"});
  check_mended(folder, plain + "\nt,x\n" + more + "\nregion,y\nnorth,5\n", table("t,x"),
               {"line 53 is left out: no rows of the series, as 't'"});
  // A row of words ends no table.
  CHECK(refused(folder,
                with(rows("t,x,y", 84, [](int row) { return fmt::format("{},{},1", dated(row), week(row)); }),
                     "2021-02-01,10,1", "holiday,closed"))
            .find("column 3 is missing") != std::string::npos);
}

TEST_CASE("names stand below a wider line, and above sub-headings and rows of units") {
  const Folder folder;
  const std::string plain = table("t,x");
  check_mended(folder, "Logger,Harbour,CR1000,12874\n" + with(plain, "t,x\n", "t,x\nTS,m\n,Avg\n"), plain,
               {"line 1 is left out: above the names, which are in line 2",
                "lines 3 to 4 are left out: above the first time, as 'TS'"});
  const auto wide = [](const char* names) {
    return rows(names, 84, [](int row) { return fmt::format("{},{},8,1", dated(row), week(row)); });
  };
  const std::string sub = "month,sun,sun,sun\n";
  check_mended(
      folder,
      "Made at noon\n\n,Here,Here,Here\n" + with(wide("names"), "names\n", sub + ",,,\n,,quality,site\n"),
      with(wide("names"), "names\n", "month,sun,sun quality,sun site\n"),
      {"lines 1 to 3 are left out: above the names, which are in line 4",
       "the names go on in line 6, as 'quality' below 'sun'"});
  check_mended(folder,
               "Made at noon\n\n,Here,Here,Here\n" + with(wide("names"), "names\n", sub + ",,quality,site\n"),
               with(wide("names"), "names\n", "month,sun,sun quality,sun site\n"),
               {"lines 1 to 3 are left out: above the names, which are in line 4",
                "the names go on in line 5, as 'quality' below 'sun'"});
  const ProgramRun other = forecast_of(folder, plain, {"--column", "data.csv"});
  CHECK(other.err.find("as an option") == std::string::npos);
}

TEST_CASE("empty columns at the end are left out together") {
  const Folder folder;
  check_mended(folder,
               rows("t,x,,,", 84, [](int row) { return fmt::format("{},{},,,", dated(row), week(row)); }),
               table("t,x"), {"columns 3 to 5 are left out: they are empty"});
}

TEST_CASE("months without a zero are months, and quarters if there are four a year") {
  const Folder folder;
  const auto parts = [](const char* form, int each) {
    return rows("t,x", 60, [=](int row) {
      return fmt::format(fmt::runtime(form), 2004 + row / each, row % each + 1, week(row));
    });
  };
  check_mended(folder, parts("{}/{},{}", 12), parts("{}-{:02},{}", 12),
               {"months in column 1 ('t') are read so: '2004/1' in line 2 as 2004-01"});
  check_mended(folder, parts("{}-{},{}", 4), parts("{} Q{},{}", 4),
               {"quarters in column 1 ('t') are read so: '2004-1' in line 2 as 2004 Q1"});
  CHECK(has(refused(folder, parts("{}-{},{}", 3)), "'2004-1' looks like a time, but is not read as one"));
  CHECK(has(refused(folder, parts("{}-{},{}", 13)), "'2004-13' is not a time"));
  CHECK(has(refusal(folder, parts("{}/{},{}", 12)), "'2004/1' is not a time: write 2004-01"));
}

TEST_CASE("another table stands below comments, and a total has no series") {
  const Folder folder;
  const std::string plain = table("t,x");
  check_mended(folder,
               plain + "\n#\n# All Users\n# from 2021\n# to 2024\nGroup,Users\nSearch,377\nDirect,142\n",
               plain, {"lines 87 to 93 are left out: another table stands below, from '#' on"});
  const std::string shops = rows("t,shop,x", 84, [](int row) {
    return fmt::format("{},{},{}", dated(row / 2), row % 2 == 0 ? "a" : "b", week(row / 2) + row % 2);
  });
  check_mended(folder, with(shops, "2021-01-25,a", "*,,700\n2021-01-25,a") + "**,,1400\n", shops,
               {"2 lines, the first is line 44, are left out: no rows of the series, as '*'"});
}

TEST_CASE("a number below a limit is read as half of it, one above as the limit") {
  const Folder folder;
  const auto cells = [](const char* low, const char* high) {
    return rows("t,x", 84, [=](int row) {
      return fmt::format("{},{}", dated(row),
                         row % 7 == 3    ? low
                         : row % 14 == 5 ? high
                                         : std::to_string(week(row)));
    });
  };
  check_mended(folder, cells("<1", ">30"), cells("0.5", "30"),
               {"limits are read as numbers, '<1' in line 5 as 0.5: below one as its half, above as itself"});
  check_mended(folder, cells("< 3", "> 30"), cells("1.5", "30"), {});
  const std::string two = rows("t,x,y", 84, [](int row) {
    return fmt::format("{},{},{}", dated(row), week(row), row % 2 == 0 ? "<1" : "3");
  });
  CHECK(notes(folder, two, "columns 2 of 2: all hold numbers"));
  CHECK(notes(folder, cells("<x", "30"), "read as missing, as '<x'"));
}

TEST_CASE("an interval of time is read as its begin, and an offset as one") {
  const Folder folder;
  const std::string begins =
      rows("t,x", 84, [](int row) { return fmt::format("{},{}", hour(row), week(row)); });
  for (const char* form : {"{}-{:02}:00,{}", "{} - {:02}:00,{}"})
    check_mended(
        folder,
        rows("t,x", 84,
             [&](int row) { return fmt::format(fmt::runtime(form), hour(row), (row + 1) % 24, week(row)); }),
        begins,
        {fmt::format("intervals in column 1 ('t') are read as their begins, as '{}' in line 2",
                     form[2] == '-' ? "2021-01-04 00:00-01:00" : "2021-01-04 00:00 - 01:00")});
  check_mended(
      folder,
      rows("t,x", 84, [](int row) { return fmt::format("{} - {},{}", hour(row), hour(row + 1), week(row)); }),
      begins, {});
  check_mended(folder,
               rows("day,at,x", 84,
                    [](int row) {
                      return fmt::format("{},{:02}:00-{:02}:00,{}", dated(row / 24), row % 24, (row + 1) % 24,
                                         week(row));
                    }),
               with(begins, "t,x", "day,x"), {});
  CHECK(!notes(folder,
               rows("t,x", 84, [](int row) { return fmt::format("{}-08:00,{}", hour(row), week(row)); }),
               "intervals"));
  CHECK(!notes(folder,
               rows("t,x", 84,
                    [](int row) {
                      return fmt::format("{} 00:00-0{}:00,{}", dated(row), row < 69 ? 5 : 4, week(row));
                    }),
               "intervals"));
}

TEST_CASE("quotes that do not fit are mended at once, and cells of several lines stay") {
  const Folder folder;
  const auto remarks = [](const char* quoted) {
    return rows("t,note,x", 84, [=](int row) {
      return fmt::format("{},{},{}", dated(row),
                         row % 4 == 1 ? quoted
                         : row == 30  ? "\"two\nlines\""
                                      : "ok",
                         week(row));
    });
  };
  check_mended(folder, remarks("5\" pipe"), remarks("5` pipe"),
               {"21 lines, the first is line 3, are read with their quotes as they stand"});
  CHECK(csv_cell("a;b", ';') == "\"a;b\"");
  CHECK(csv_cell("a;b") == "a;b");
  CHECK(csv_cell("a,b", ';') == "a,b");
}

TEST_CASE("a number with another mark is no word, and a time keeps its afternoon") {
  const Folder folder;
  const auto cells = [](const char* other) {
    return rows("t,x", 84, [=](int row) {
      return fmt::format("{},{}", dated(row), row == 40 ? other : fmt::format("{}.5", week(row)));
    });
  };
  CHECK(refused(folder, cells("\"12,5\"")).find("'12,5' is not a number") != std::string::npos);
  CHECK(notes(folder, cells("#DIV/0!"), "a word in column 2 ('x') is read as missing"));
  CHECK(without_mark("1/2/2021 1:30p") == "1/2/2021 1:30p");
  CHECK(without_mark("1.30p") == "1.30");
}

TEST_CASE("a column of remarks beside an empty one is no table") {
  const Folder folder;
  const auto beside = [](bool empty) {
    return rows(empty ? "t,x,,rent" : "t,x,rent", 400, [=](int row) {
      return fmt::format("{},{},{}{}", dated(row), week(row), empty ? "," : "",
                         day(row).day == 5 ? "800" : "");
    });
  };
  check_mended(folder, beside(true), beside(false), {"column 3 is left out: it is empty"});
}

TEST_CASE("months and days in words, and signs around them") {
  CHECK(parse_time("MAR 2000")->form == TimeForm::month);
  CHECK(parse_time("MAR 2000")->count == parse_time("2000-03")->count);
  CHECK(parse_time("Mar, 2 mars 2021")->count == parse_time("2021-03-02")->count);
  for (const char* text : {"2025年(令和7年)3月1日(土)", "2025(令和7)年3月1日", "1 de marzo de 2025",
                           "1.03.2025 r.", "1 marca 2025 r."}) {
    const auto time = parse_time(text, DateOrder::day_first);
    CHECK_MESSAGE((time && time->count == parse_time("2025-03-01")->count), text);
  }
  CHECK(parse_time("2025年(令和7年)3月")->form == TimeForm::month);
  CHECK(parse_time("marzo de 2025")->form == TimeForm::month);
  for (const char* none : {"2025(年)3月", "(2025年3月", "2025年(3月", "1 de 2025", "2025-03 r. 1"})
    CHECK_MESSAGE(!parse_time(none), std::string(none));
}

TEST_CASE("a column is a time by a word of its name, not by a part of one") {
  const Folder folder;
  const auto moments = [](const char* name) {
    return rows(fmt::format("k,{},x", name), 84, [](int row) {
      return fmt::format("a{},{},{}", row % 3, 1600000000 + 3600 * row, week(row));
    });
  };
  for (const char* name : {"created_at", "eventTime", "timestamp"})
    CHECK_MESSAGE(notes(folder, moments(name), fmt::format("time    column '{}'", name)), name);
  CHECK(forecast_of(folder, moments("runtimes")).err.find("time    column 'runtimes'") == std::string::npos);
}

TEST_CASE(
    "rows at the end without a value are events where they lie below the others and another column says so") {
  const Folder folder;
  const auto days = [](const char* end) {
    return rows("t,x,note", 84, [](int row) { return fmt::format("{},{},", dated(row), week(row)); }) + end;
  };
  check_mended(folder, days("2021-04-10,,Exported\n"), table("t,x"),
               {"line 86 is left out: without a value, where others are not a step apart"});
  for (const char* ahead : {"2021-03-29,,plan\n2021-03-30,,plan\n", "2021-04-01,,\n2021-04-02,,\n"})
    CHECK(notes(folder, days(ahead), "rows at the end are to be forecast"));
}

TEST_CASE("the columns that are forecast are said once") {
  const Folder folder;
  const ProgramRun run =
      forecast_of(folder, rows("date,sales,rent,shop", 400, [](int row) {
                    return fmt::format("{},{},{},a", dated(row), week(row),
                                       day(row).day == 5 ? std::to_string(800 + row % 2) : "");
                  }));
  CHECK_MESSAGE(
      count_of(run.err, "columns 1 of 3: left out: shop (text, 'a' in line 2 is no number), 'rent' has") == 1,
      run.err);
  CHECK(count_of(run.err, "columns ") == 1);
}

TEST_CASE("times are read in the scripts of Japan, China, Taiwan, Korea and Thailand") {
  const auto same = [](const char* text, const char* plain) {
    const auto time = parse_time(text), expected = parse_time(plain);
    CHECK_MESSAGE((time && time->form == expected->form && time->count == expected->count),
                  std::string(text));
  };
  same("令和元年5月", "2019-05"), same("令和7年3月1日", "2025-03-01"), same("平成31年4月", "2019-04");
  same("昭和63年12月", "1988-12"), same("民國114年3月", "2025-03"), same("114年3月", "2025-03");
  same("2025년 3월 1일", "2025-03-01"), same("2025년 3월", "2025-03"), same("2025.03 월", "2025-03");
  same("2025年第一季度", "2025 Q1"), same("2025年第4四半期", "2025 Q4"), same("2025년 2분기", "2025 Q2");
  same("ม.ค. 2557", "2014-01"), same("15 ธันวาคม 2566", "2023-12-15"), same("พ.ค. 2557", "2014-05");
  same("2023-11-20 07", "2023-11-20 07:00"), same("2023-11-20 7h", "2023-11-20 07:00");
  same("2023-11-20 07:05:59,250", "2023-11-20 07:05:59.25"),
      same("20Nov2023:07:05:59", "2023-11-20 07:05:59");
  same("2009K1", "2009 Q1"), same("2020/012", "2020-12"), same("2023-W47-3", "2023-11-22"),
      same("2023-324", "2023-11-20"), same("FY2016/17", "FY2016");
  CHECK(parse_time("20.11.2023 07:05 Uhr", DateOrder::day_first)->count ==
        parse_time("2023-11-20 07:05")->count);
  same("Sun Jun 29 2025 00:00:00 GMT-0700 (Pacific Daylight Time)", "2025-06-29 00:00:00-07:00");
  for (const char* none :
       {"2023-11-20 7", "2020/013", "2020/0012", "2023-366", "2023-W47-8", "2023-Q4-1", "FY2016/18",
        "20Nov2023:7", "年3月", "25年3月", "2025年13月", "2025年3月x", "ม.ค.", "第一季度", "令和年5月"})
    CHECK_MESSAGE(!parse_time(none), std::string(none));
}

TEST_CASE(
    "names of months and weekdays are read in capitals and in the languages of Europe, and clocks with their words") {
  const auto same = [](const char* text, const char* plain) {
    const auto time = parse_time(text, DateOrder::day_first), expected = parse_time(plain);
    CHECK_MESSAGE((time && time->form == expected->form && time->count == expected->count),
                  std::string(text));
  };
  same("DÉCEMBRE 2024", "2024-12"), same("MÄRZ 2024", "2024-03"), same("FÉV. 24", "2024-02");
  same("Январь 2024", "2024-01"), same("ЯНВ 2024", "2024-01"), same("15 января 2024 г.", "2024-01-15");
  same("янв. 2024", "2024-01"), same("Листопад 2024", "2024-11"), same("Ιούνιος 2024", "2024-06");
  same("ΜΆΙ 2024", "2024-05"), same("15 Οκτωβρίου 2024", "2024-10-15");
  same("Kesäkuu 2024", "2024-06"), same("Ağustos 2024", "2024-08"), same("ŞUB 2024", "2024-02");
  same("Říjen 2024", "2024-10"), same("Szeptember 2024", "2024-09"), same("Maret 2024", "2024-03");
  same("Ma 04-03-2025", "2025-03-04"), same("ma 03-03-2025", "2025-03-03");  // mardi, maandag
  same("ПН, 03.03.2025", "2025-03-03"), same("fre 07.03.2025", "2025-03-07"),
      same("Śr 05.03.2025", "2025-03-05");
  same("segunda-feira, 03/03/2025", "2025-03-03"), same("LÖR 08.03.2025", "2025-03-08");
  same("03/03/2025 02:05:00 p. m.", "2025-03-03 14:05"), same("03/03/2025 12:05 a.m.", "2025-03-03 00:05");
  same("2025/3/3 下午 2:05:00", "2025-03-03 14:05"), same("2025-03-03 오전 9:05", "2025-03-03 09:05");
  same("2025年3月3日 14時5分", "2025-03-03 14:05"), same("2025年3月3日14时", "2025-03-03 14:00");
  same("2025年3月3日 午後2時05分09秒", "2025-03-03 14:05:09");
  for (const char* none : {"ма 03.03.2025", "di 03-03-2025", "Янвр 2024", "п 2024", "03/03/2025 2:05 p. x.",
                           "2025/3/3 下午 14:05", "2025年3月3日 25時", "segunda-xyz 03/03/2025"})
    CHECK_MESSAGE(!parse_time(none, DateOrder::day_first), std::string(none));
}

TEST_CASE("thousands are known by whole numbers beside three digits, of which some end with 0") {
  const Folder folder;
  const auto cases = [](const char* form) {
    return rows("day;cases", 84, [&](int row) {
      const int value = 640 + 30 * (row % 20);
      return fmt::format("{};", dated(row)) +
             (value < 1000 ? std::to_string(value)
                           : fmt::format(fmt::runtime(form), value / 1000, value % 1000));
    });
  };
  CHECK(forecast_of(folder, cases("{}.{:03}")).out == forecast_of(folder, cases("{}{:03}")).out);
  // Totals alone have marks.
  std::string pivot = "Rijlabels;x\n", plain = "Rijlabels,x\n";
  constexpr std::array names = {"jan", "feb", "mrt", "apr", "mei", "jun",
                                "jul", "aug", "sep", "okt", "nov", "dec"};
  for (int row = 0; row < 60; ++row) {
    if (row % 12 == 0) pivot += fmt::format("{};7.882\n", 2018 + row / 12);
    pivot += fmt::format("{};{}\n", names[static_cast<size_t>(row % 12)], 640 + row % 12);
    plain += fmt::format("{}-{:02},{}\n", 2018 + row / 12, row % 12 + 1, 640 + row % 12);
  }
  CHECK(forecast_of(folder, pivot + "Eindtotaal;53.875\n", set({"data.decimal=,"})).out ==
        forecast_of(folder, plain).out);
  // Months with their numbers.
  const std::string trade = rows("Ano;Mês;x", 60, [](int row) {
    constexpr std::array called = {"01. Janeiro",  "02. Fevereiro", "03. Março",    "04. Abril",
                                   "05. Maio",     "06. Junho",     "07. Julho",    "08. Agosto",
                                   "09. Setembro", "10. Outubro",   "11. Novembro", "12. Dezembro"};
    return fmt::format("{};{};{}", 2018 + row / 12, called[static_cast<size_t>(row % 12)], 640 + row % 12);
  });
  CHECK(forecast_of(folder, trade).out == forecast_of(folder, with(plain, "Rijlabels", "Ano")).out);
}
