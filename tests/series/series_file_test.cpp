// Files of series that are packed, written with decimal commas, or mended.
#include "examples/timeseries/files/series_file.h"

#include <array>

#include "data/gzip.h"
#include "examples/timeseries/files/encoding.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/series/series.h"
#include "tests/folder.h"
#include "tests/series/mended.h"
#include "tests/support.h"

using namespace unroll;
using namespace series_mended;
using namespace std::string_literals;

namespace {

// printf 'x\n1\n2\n' | gzip -n9
const std::string packed =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\xe0\x32\xe4\x32\xe2\x02\x00\xd3\x91\xa6\x54\x06\x00\x00\x00"s;
constexpr std::size_t much = 1000;

std::string unpacking_fault(const std::string& bytes, std::size_t at_most = much) {
  return input_error_of([&] { unpacked(bytes, "x.csv.gz", at_most); });
}

// A build without zlib refuses all of them.
bool unpacks() { return unpacking_fault(packed).find("no zlib") == std::string::npos; }

}  // namespace

TEST_CASE("a packed file is read as what was packed, whatever its name") {
  const Folder folder;
  folder.write("x.csv", packed);
  if (!unpacks()) {
    CHECK(lacks(input_error_of([&] { load_series(folder / "x.csv"); }), {"x.csv: packed (gzip)", "gunzip"}) ==
          "");
    return;
  }
  CHECK(load_series(folder / "x.csv").values == std::vector<double>{1, 2});
  CHECK(unpacked(packed, "x", much) == "x\n1\n2\n");
  CHECK(unpacked(packed + packed, "x", much) == "x\n1\n2\nx\n1\n2\n");
  CHECK(unpacked(packed + std::string(7, '\0'), "x", much) == "x\n1\n2\n");
  CHECK(unpacked(packed, "x", 6).size() == 6);
}

TEST_CASE("what is packed badly is refused in one line, with its name, and nothing of it is read") {
  if (!unpacks()) return;
  CHECK(lacks(unpacking_fault(packed, 5), {"x.csv.gz: unpacked it is longer than the 5 bytes"}) == "");
  // printf 'x\n1\0' | gzip -n9: no more of what is no text is unpacked.
  const std::string zero =
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\xe0\x32\x64\x00\x00\x0b\xd5\x05\x44\x04\x00\x00\x00"s;
  CHECK(lacks(unpacking_fault(zero),
              {"x.csv.gz: packed (gzip), and what is packed is no text: it has a NUL byte"}) == "");
  CHECK(lacks(unpacking_fault(packed + "more"),
              {"x.csv.gz: packed (gzip), and other bytes follow its end"}) == "");
  for (std::size_t size = 2; size < packed.size(); ++size)
    CHECK(unpacking_fault(packed.substr(0, size)).find("cut off before its end") != std::string::npos);
  // The checksum finds a flipped bit, unless the bit says nothing about the text, as those that fill up a byte.
  for (std::size_t at = 2; at < packed.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = packed;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      std::string text;
      const std::string fault = input_error_of([&] { text = unpacked(flipped, "x", much); });
      CHECK((text == "x\n1\n2\n" || fault.starts_with("x: packed (gzip)")));
    }
}

TEST_CASE("numbers with a comma before their decimals are read where the options say so") {
  const SeriesOptions commas{.separator = ';', .decimal = ','};
  const Series series = parse_series("a;b\n1,5;-2\n,25;1e3\n\"+3,0\";4,\n", "x.csv", commas);
  CHECK(series.values == std::vector<double>{1.5, -2, 0.25, 1000, 3, 4});
  // In quotes also between commas.
  CHECK(parse_series("a,b\n\"1,5\",2\n", "x.csv", {.decimal = ','}).values == std::vector<double>{1.5, 2});
  const auto fault = [](std::string_view text, const SeriesOptions& options) {
    return input_error_of([&] { parse_series(text, "x.csv", options); });
  };
  CHECK(
      fault("a;b\n1,5;2\n", {.separator = ';'}) ==
      "x.csv:2: column 1 ('a'): '1,5' is not a number; data.decimal = \",\" reads numbers that are written so");
  CHECK(
      fault("a;b\n1,5;2\n1.5;2\n", commas) ==
      "x.csv:3: column 1 ('a'): '1.5' is not a number; data.decimal = \".\" reads numbers that are written so");
  for (const char* cell : {"1.234,5", "1,2,3", ",", "1,5x"})
    CHECK(fault(fmt::format("a;b\n{};2\n", cell), commas).find("is not a number") != std::string::npos);
  SeriesOptions of_model{.separator = ';'};
  of_model.model = "model.safetensors", of_model.channels = {"a", "b"};
  CHECK(fault("a;b\n1,5;2\n", of_model)
            .ends_with("; the model of model.safetensors reads numbers with '.' before their decimals"));
}

TEST_CASE(
    "bytes that are not UTF-8 are read in the encoding of their language, whatever stands between digits") {
  const auto decoded = [](const std::string& bytes, const std::string& text, const std::string& note) {
    Notes done;
    CHECK(as_utf8(bytes, "x.csv", done) == text);
    CHECK(done ==
          Notes{"the file is not UTF-8 (" + note + ": where names have wrong letters, save it as UTF-8"});
  };
  decoded("\xc7\xd1\xb9\xb7\xd5\xe8,\xc2\xcd\xb4\xa2\xd2\xc2\n1,2\n", "วันที่,ยอดขาย\n1,2\n",
          "line 1) and is read as Thailand's code page");
  std::string bytes = "a,b\n1,2\n\xc4\xe0\xf2\xe0,\xcf\xf0\xee\xe4\xe0\xe6\xe8\n",
              text = "a,b\n1,2\nДата,Продажи\n";
  for (int row = 0; row < 40; ++row)
    bytes +=
        "7,1\xa0"
        "234\n",
        text += "7,1\u00a0234\n";
  decoded(bytes, text, "line 3) and is read as Windows-1251");
  Notes none;
  CHECK(as_utf8("Größe", "x.csv", none) == "Größe");
  CHECK(none.empty());
}

TEST_CASE("lists of names show the first twelve, and lines are counted as they stand") {
  CHECK(toml_list({"a", "b\""}) == "[\"a\", \"b\\\"\"]");
  CHECK(toml_list({"a", "b", "c"}, 2) == "[\"a\", \"b\", ...]");
  CHECK(toml_list({"a", "b", "c"}, 3) == "[\"a\", \"b\", \"c\"]");
  CHECK(lines_are({7}) == "line 7 is");
  CHECK(lines_are({7, 8, 9}) == "lines 7 to 9 are");
  CHECK(lines_are({7, 9}) == "2 lines, the first is line 7, are");
}

TEST_CASE("a mend of cells keeps lines, quotes, and cells of several lines") {
  const auto notes = [](const char* mark) {
    return rows("t,note,x", 12, [=](int row) {
      return fmt::format("{},{},{}{}", dated(row),
                         row == 2   ? "\"two\nlines\""
                         : row == 4 ? "\"a, b\""
                                    : "ok",
                         week(row), row == 1 ? mark : "");
    });
  };
  const Options x{.channels = {"x"}};
  CHECK(mended(notes("*"), x).lines == std::vector<int64_t>{2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  const Series footer = mended(notes("*") + "\nExported\n", x);
  CHECK(footer.notes.at(1) == "line 16 is left out: below the rows, as 'Exported'");
  CHECK(footer.values == mended(notes(""), x).values);
  // Numbers in quotes stay the names of numbers without.
  const Series numbered = mended("\"1\",\"2\"\n5*,6\n7,8\n", {});
  CHECK(numbered.channels == Notes{"1", "2"});
  CHECK(numbered.values == std::vector<double>{5, 6, 7, 8});
}

TEST_CASE("units, limits and numbers for missing values are mended in files with decimal commas, too") {
  const Options semicolons{.separator = ';', .decimal = ','};
  const auto cells = [](const std::string& names, const std::function<std::string(int)>& cell) {
    return rows(names, 14, [=](int row) { return dated(row) + ";" + cell(row); });
  };
  check_mended(
      cells("t;x", [](int row) { return row % 7 < 2 ? "512 MiB" : fmt::format("{},5 GiB", row % 7); }),
      cells("t;x", [](int row) { return row % 7 < 2 ? "0,5" : fmt::format("{},5", row % 7); }), semicolons,
      {"column 2 ('x') has the units 'GiB', 'MiB', and is read in 'GiB'"});
  check_mended(
      cells("t;x", [](int row) { return row % 7 < 2 ? "<0,5" : fmt::format("{},5", row % 7); }),
      cells("t;x", [](int row) { return row % 7 < 2 ? "0,25" : fmt::format("{},5", row % 7); }), semicolons,
      {"limits are read as numbers, '<0,5' in line 2 as 0.25: below one as its half, above as itself"});
  check_mended(cells("t;x", [](int row) { return row % 7 == 3 ? "-99,9" : fmt::format("{},5", row % 7); }),
               cells("t;x", [](int row) { return row % 7 == 3 ? "" : fmt::format("{},5", row % 7); }),
               semicolons,
               {"-99.9 in column 2 ('x') is read as missing, 2 times: the other values lie from 0.5 to 6.5"});
  // The note names four of many columns with a unit.
  check_mended(
      rows("t,a,b,c,d,e,f", 14,
           [](int row) {
             return fmt::format("{0},{1} kg,{1} kg,{1} kg,{1} kg,{1} kg,{1} kg", dated(row), week(row));
           }),
      rows("t,a,b,c,d,e,f", 14,
           [](int row) { return fmt::format("{0},{1},{1},{1},{1},{1},{1}", dated(row), week(row)); }),
      {},
      {"the unit 'kg' behind the cells of column 2 ('a') is left out; likewise 'kg' of column 3 ('b'), 'kg' of column 4 ('c'), "
       "'kg' of column 5 ('d') and 2 more"});
  // A unit in one cell of many may be a mistake.
  CHECK(lacks(refused(rows("t,x", 12, [](int row) { return dated(row) + (row == 7 ? ",2K" : ",5"); }), {}),
              {"x.csv:9: column 2 ('x'): '2K' is not a number: earlier cells have no 'K'; write 2000"}) ==
        "");
}

TEST_CASE("a note counts the columns whose numbers have marks") {
  const Series series = parse_series("a,b,c,d\n$5,1,2%,3 €\n$6,2,3%,4 €\n", "x.csv");
  CHECK(series.notes ==
        Notes{"column 1 ('a'): numbers are read without their marks, '$5' in line 2 as 5; so in 3 columns"});
}

TEST_CASE("rows are left out for what no column of them has") {
  // One account has both columns; a row of either is a value.
  const auto bank = [](const char* more) {
    return rows("day,what,credit,debit", 14, [=](int row) {
      return fmt::format("{0},shop {2},{1},{1}", dated(row), week(row), row) +
             (row == 6 ? fmt::format(fmt::runtime(more), dated(row)) : "");
    });
  };
  const Options both{.channels = {"credit", "debit"}};
  CHECK(refused(bank("\n{},mill,,-5"), both).find("stands there twice") != std::string::npos);
  CHECK(refused(bank("\n{},mill,-5,"), both).find("stands there twice") != std::string::npos);
  CHECK(mended(bank("\n{},remark,,"), both).values == mended(bank(""), both).values);
  // A sum below one column is none below the others.
  const auto sums = [](const char* last) {
    return rows("x,y", 14, [](int row) { return fmt::format("{},{}", week(row), 20 - row); }) + last;
  };
  CHECK(mended(sums("182,189\n"), {}).rows() == 14);
  CHECK(mended(sums("182,5\n"), {}).rows() == 15);
  CHECK(mended(sums("9,189\n"), {}).rows() == 15);
  // Words beside an empty cell name a value, where there are two columns.
  const auto labels = [](const char* names, const char* empty, const char* filled) {
    return rows(names, 14, [=](int row) {
      return row == 6 ? std::string(empty) : fmt::format(fmt::runtime(filled), row, week(row));
    });
  };
  CHECK(mended(labels("name,x", "d6,", "d{},{}"), {.channels = {"x"}}).rows() == 14);
  CHECK(mended(labels("name,x,y", "d6,,", "d{},{},1"), {.channels = {"x", "y"}}).rows() == 13);
}

TEST_CASE(
    "weekdays that never have a value are left out, where the others mostly have one, for four weeks or more") {
  const auto shop = [](int count, const std::function<bool(int)>& is_open) {
    return mended(rows("day,x", count,
                       [=](int row) {
                         return fmt::format("{},{}", dated(row),
                                            is_open(row) ? std::to_string(week(row)) : "");
                       }),
                  {});
  };
  const auto weekdays = [](int row) { return row % 7 < 5; };
  const Series closed = shop(84, weekdays);
  CHECK(closed.rows() == 60);
  CHECK(closed.notes.at(0) ==
        "24 lines, the first is line 7, are left out: no Saturday or Sunday has a value");
  CHECK(shop(26, weekdays).rows() == 26);
  CHECK(shop(84, [](int row) { return row % 7 < 6 && row % 14 != 3; }).rows() == 84);
}

TEST_CASE("an event far below the rows is none of them if nothing else has its word") {
  const auto days = [](const char* note) {
    return rows("t,x,note", 28,
                [=](int row) {
                  return fmt::format("{},{},{}", dated(row), week(row), row == 9 ? note : "");
                }) +
           "2021-02-05,,Exported\n2021-02-06,,Printed\n";
  };
  const Options fills{.channels = {"x"}, .missing = Missing::previous, .gaps = Gaps::fill};
  const Series series = mended(days(""), fills);
  CHECK(series.rows() == 28);
  CHECK(series.notes.at(0) == "lines 30 to 31 are left out: without a value, as 'Exported'");
  CHECK(mended(days("rain"), fills).rows() == 34);
}

TEST_CASE(
    "an hour that comes twice is left out in each night when clocks are set back, from the newest row on, too") {
  // The last Sunday in October of Europe, the first one in November of America, the last one in September of Europe until 1995,
  // the first one in April and the last one in March of Australia.
  for (const std::string night : {"2021-10-31", "2021-11-07", "1995-09-24", "2021-04-04", "2007-03-25"})
    for (const bool newest_first : {false, true}) {
      CAPTURE(night);
      const auto hours = [&](bool twice) {
        Notes lines;
        for (int row = -40; row < 40; ++row)
          for (int again = 0; again < (twice && row == 2 ? 2 : 1); ++again)
            lines.push_back(fmt::format("{},{}", hour(row, night.c_str()), week(row + 42)));
        if (newest_first) std::ranges::reverse(lines);
        return fmt::format("t,x\n{}\n", fmt::join(lines, "\n"));
      };
      check_mended(hours(true), hours(false), {},
                   {fmt::format("line {} is left out: clocks are set back, and an hour comes twice",
                                newest_first ? 40 : 45)});
    }
}

TEST_CASE("rows of business days are sorted, and up to three lines of numbers below months are a footer") {
  const auto days = [](bool moved) {
    std::string text, last;
    for (int row = 0; row < 40; ++row)
      if (const std::string line = fmt::format("{},{}\n", dated(row), week(row)); row % 7 < 5)
        (moved && row == 9 ? last : text) += line;
    return "t,x\n" + text + last;
  };
  check_mended(days(true), days(false), {}, {fmt::format("rows are sorted by column 1 ('t'){}", counted)});
  const auto months = [](int footnotes) {
    return rows(
               "t,x", 24,
               [](int row) { return fmt::format("{}-{:02},{}", 2019 + row / 12, row % 12 + 1, week(row)); }) +
           std::string("1,revised\n2,estimated\n3,new\n4,old\n")
               .substr(0, std::array{0, 10, 22, 28, 34}[static_cast<std::size_t>(footnotes)]);
  };
  for (const int count : {1, 2, 3}) CHECK(mended(months(count), {}).rows() == 24);
  CHECK(mended(months(2), {}).notes.at(0) == "lines 26 to 27 are left out: below the rows, as '1'");
  CHECK(refused(months(4), {}).find("is another form of time") != std::string::npos);
}

TEST_CASE("lines above the names are said once, though a table of other names stands there") {
  std::string text = "Report\nA,B\n";
  for (int row = 0; row < 15; ++row) text += "1,2\n";
  const Series series = mended(text + "\n" + in_days("t,x,y", 84, "{},{},1"), {});
  CHECK(series.rows() == 84);
  CHECK(series.notes.at(0) == "lines 1 to 18 are left out: above the names, which are in line 19");
}

TEST_CASE("a number stands for missing values in its own column, where it is rare and far from the others") {
  const auto cells = [](const char* other, int each) {
    return rows("t,x,y", 40, [=](int row) {
      return fmt::format("{},{},{}", dated(row), row % each == 3 ? other : std::to_string(week(row)),
                         row == 12 ? "9999" : "7");
    });
  };
  for (const char* missing : {"-99", "-999", "9999"}) {
    const Series series = mended(cells(missing, 10), {.channels = {"x", "y"}});
    CHECK(series.at(3, 0) == week(2));
    CHECK(series.at(12, 1) == 9999);
    CHECK(series.filled.size() == 80);
    CHECK(std::ranges::count(series.filled, 1) == 4);
  }
  // A fifth of the rows or more; within three times their range above; above 0 below all others.
  CHECK(mended(cells("9999", 4), {.channels = {"x"}}).filled.empty());
  const auto spread = [](const char* other, int least, int step) {
    return mended(rows("t,x", 40,
                       [=](int row) {
                         return fmt::format("{},{}", dated(row),
                                            row % 10 == 3 ? other : std::to_string(least + step * (row % 7)));
                       }),
                  {})
        .filled.size();
  };
  CHECK(spread("999", 10, 60) == 0);
  CHECK(spread("999", 10, 30) == 40);
  CHECK(spread("99", 1000, 10) == 0);
  CHECK(spread("-99", 1000, 10) == 40);
}

TEST_CASE("limits and units are mended in each column, and months of 13 in each year") {
  check_mended(rows("t;x;y", 14,
                    [](int row) {
                      return fmt::format("{};{};{}", dated(row), row == 3 ? "<0,5" : "2,5",
                                         row == 5 ? ">30,5" : "7,5");
                    }),
               rows("t;x;y", 14,
                    [](int row) {
                      return fmt::format("{};{};{}", dated(row), row == 3 ? "0,25" : "2,5",
                                         row == 5 ? "30,5" : "7,5");
                    }),
               {.separator = ';', .decimal = ','}, {});
  check_mended(
      rows("t,x,y", 14,
           [](int row) {
             return row % 7 == 2 ? fmt::format("{},512 MiB,{} ms", dated(row), week(row))
                                 : fmt::format("{},{} GiB,{} ms", dated(row), week(row), week(row));
           }),
      rows("t,x,y", 14,
           [](int row) {
             return row % 7 == 2 ? fmt::format("{},0.5,{}", dated(row), week(row))
                                 : fmt::format("{0},{1},{1}", dated(row), week(row));
           }),
      {},
      {"column 2 ('x') has the units 'GiB', 'MiB', and is read in 'GiB'; likewise 'ms' of column 3 ('y')"});
  std::string years = "month,x\n";
  for (int row = 0; row < 36; ++row) {
    years += fmt::format("{}{:02},{}\n", 1973 + row / 12, row % 12 + 1, week(row));
    if (row % 12 == 11) years += fmt::format("{}13,160\n", 1973 + row / 12);
  }
  check_mended(
      years,
      rows("month,x", 36,
           [](int row) { return fmt::format("{}{:02},{}", 1973 + row / 12, row % 12 + 1, week(row)); }),
      {}, {"3 lines, the first is line 14, are left out: month 13 is a year's total"});
}

TEST_CASE("a weekday has a value if any column has one, and rows of several series are sorted in each") {
  const Series either = mended(rows("t,x,y", 84,
                                    [](int row) {
                                      return fmt::format("{},{},{}", dated(row), row % 7 < 5 ? "1" : "",
                                                         row % 7 < 6 ? std::to_string(week(row)) : "");
                                    }),
                               {});
  CHECK(either.rows() == 72);
  CHECK(either.notes.at(0) == "12 lines, the first is line 8, are left out: no Sunday has a value");
  const auto shops = [](const std::vector<int>& order) {
    std::string text = "shop,t,x\n";
    for (const char* shop : {"a", "b"})
      for (const int row : order) text += fmt::format("{},{},{}\n", shop, dated(row), *shop * 100 + row);
    return text;
  };
  const Options ids{.id = "shop"};
  const Series sorted = mended(shops({0, 1, 2, 5, 4, 3, 6, 7}), ids),
               plain = mended(shops({0, 1, 2, 3, 4, 5, 6, 7}), ids);
  CHECK(sorted.values == plain.values);
  CHECK(sorted.times.at == plain.times.at);
  CHECK(sorted.members.size() == 2);
}
