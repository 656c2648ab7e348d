// Files of series that are packed or written with decimal commas.
#include "examples/timeseries/files/series_file.h"

#include <functional>

#include "data/gzip.h"
#include "examples/timeseries/files/resample.h"
#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/series.h"
#include "tests/folder.h"
#include "tests/support.h"

using namespace unroll;
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

// --- irregular times ---------------------------------------------------------------------------------------

TEST_CASE("rows are put together by steps, whatever their order, and steps without one are filled in") {
  const std::string text =
      "time,a,b\n2020-01-01 00:50,3,1\n2020-01-01 00:10,1,\n2020-01-01 03:59,7,5\n2020-01-01 00:10,2,4\n";
  const Series series = parse_series(text, "x.csv", {.missing = Missing::previous, .resample = "1h"});
  CHECK(series.values == std::vector<double>{2, 2.5, 2, 2.5, 2, 2.5, 7, 5});
  CHECK(series.filled == std::vector<uint8_t>{0, 0, 1, 1, 1, 1, 0, 0});
  CHECK(series.times.text(0) == "2020-01-01 00:00:00");
  CHECK(series.times.text(4) == "2020-01-01 04:00:00");
  CHECK(series.notes.front() ==
        "4 rows put together by steps of 1h: 4 rows, 2 of them without a value; the last may lack some");
  const auto first_of = [&](Together together) {
    return parse_series(text, "x.csv", {.missing = Missing::previous, .resample = "1h", .together = together})
        .values[0];
  };
  // In order of time, and of the file where that is one: 1, 2, 3.
  CHECK(first_of(Together::sum) == 6), CHECK(first_of(Together::first) == 1),
      CHECK(first_of(Together::last) == 3);
  CHECK(first_of(Together::least) == 1), CHECK(first_of(Together::most) == 3);
  CHECK(input_error_of([&] { parse_series(text, "x.csv", {.resample = "1h"}); }) ==
        "x.csv:4: channel 'a' has no value in 2020-01-01 01:00:00; data.missing = \"previous\", "
        "\"mask\" or \"interpolate\" fills it in");
}

TEST_CASE("steps of days, weeks from Monday, months, quarters and years") {
  std::string text = "date,x\n";
  for (int month = 1; month <= 12; ++month)
    for (const int day : {1, 15}) text += fmt::format("2023-{:02}-{:02},{}\n", month, day, month);
  const auto read = [&](const std::string& step) {
    return parse_series(text, "x.csv",
                        {.missing = Missing::previous, .resample = step, .together = Together::sum});
  };
  const Series months = read("1month");
  CHECK(months.rows() == 12), CHECK(months.times.text(11) == "2023-12"), CHECK(months.values[11] == 24);
  const Series quarters = read("1quarter");
  CHECK(quarters.times.text(3) == "2023-Q4"), CHECK(quarters.values[3] == 66);
  CHECK(read("1year").times.text(0) == "2023");
  CHECK(read("2month").rows() == 6);
  const Series weeks = read("1w");  // 2023-01-01 is a Sunday
  CHECK(weeks.times.text(0) == "2022-12-26"), CHECK(weeks.times.text(1) == "2023-01-02");
  CHECK(read("1d").rows() == 349);
}

// Hours from 2024-01-01 on, of each day its number; `cell` says what stands in an hour, empty: no row.
static std::string hours(int count, const std::function<std::string(int)>& cell) {
  std::string text = "time,y\n";
  for (int hour = 0; hour < count; ++hour)
    if (const std::string value = cell(hour); !value.empty())
      text += fmt::format("2024-01-{:02} {:02}:00,{}\n", 1 + hour / 24, hour % 24, value == "?" ? "" : value);
  return text;
}

TEST_CASE("a step that lacks rows is left out at the ends, and weighed or missing within") {
  const SeriesOptions sums{.missing = Missing::previous, .resample = "1d", .together = Together::sum};
  const auto day = [](int hour) { return std::to_string(1 + hour / 24); };
  const auto read = [&](const std::string& text) { return parse_series(text, "x.csv", sums); };
  const auto put_together = [](int rows, const std::string& rest) {
    return std::vector{fmt::format("{} rows put together by steps of 1d: {}", rows, rest)};
  };
  const Series whole = read(hours(5 * 24, day));
  CHECK(whole.values == std::vector<double>{24, 48, 72, 96, 120});
  CHECK(whole.notes == put_together(120, "5 rows"));

  const Series cut = read(hours(4 * 24 + 9, day));
  CHECK(cut.values == std::vector<double>{24, 48, 72, 96});
  CHECK(cut.notes == put_together(105, "4 rows; the last step, 2024-01-05, lacks rows: left out"));
  const Series late = read(hours(5 * 24, [&](int hour) { return hour < 15 ? "" : day(hour); }));
  CHECK(late.values == std::vector<double>{48, 72, 96, 120});
  CHECK(late.times.text(0) == "2024-01-02");
  CHECK(late.notes == put_together(105, "4 rows; the first step, 2024-01-01, lacks rows: left out"));

  // Half of a day in the middle says nothing of the other half, whether its rows or their cells are missing.
  for (const char* missing : {"", "?"}) {
    const auto half = [&](int hour) { return hour >= 60 && hour < 72 ? missing : day(hour); };
    const Series few = read(hours(5 * 24, half));
    CHECK(few.values == std::vector<double>{24, 48, 48, 96, 120});
    CHECK(few.filled == std::vector<uint8_t>{0, 0, 1, 0, 0});
    REQUIRE(few.notes.size() >= 2);
    CHECK(
        few.notes[1] ==
        "1 value of steps of 1d that lack rows count as missing, having fewer than three in four; the first, of "
        "2024-01-03, has 12 of 24");
    CHECK(lacks(input_error_of([&] {
                  parse_series(hours(5 * 24, half), "x.csv", {.resample = "1d", .together = Together::sum});
                }),
                {"channel 'y' has 12 of 24 values in 2024-01-03; data.missing"}) == "");
  }
  // An hour of 24 is made up for in the sum; a mean is that of the others.
  const auto hole = [&](int hour) { return hour == 50 ? "" : day(hour); };
  const Series most = read(hours(5 * 24, hole));
  CHECK(most.values == std::vector<double>{24, 48, 72, 96, 120});
  CHECK(lacks(most.notes.back(), {"1 value of steps of 1d that lack rows are scaled to the whole step",
                                  "2024-01-03, has 23 of 24"}) == "");
  CHECK(parse_series(hours(5 * 24, hole), "x.csv", {.resample = "1d"}).values ==
        std::vector<double>{1, 2, 3, 4, 5});
  // Each channel by its own cells: the other's are all there.
  std::string two = "time,x,y\n";
  for (int hour = 0; hour < 5 * 24; ++hour)
    two += fmt::format("2024-01-{:02} {:02}:00,1,{}\n", 1 + hour / 24, hour % 24,
                       hour >= 60 && hour < 72 ? "" : "2");
  const Series apart = read(two);
  CHECK(apart.filled == std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 0, 0, 0, 0});
  // Two rows of each hour, of two sensors, are no uneven times: half a day still counts as missing.
  std::string twice = "time,y\n";
  for (int hour = 0; hour < 5 * 24; ++hour)
    if (hour < 60 || hour >= 72)
      for (int sensor = 0; sensor < 2; ++sensor)
        twice += fmt::format("2024-01-{:02} {:02}:00,{}\n", 1 + hour / 24, hour % 24, day(hour));
  CHECK(read(twice).filled == std::vector<uint8_t>{0, 0, 1, 0, 0});
  CHECK(lacks(input_error_of([&] { read(hours(9, day)); }),
              {"x.csv: no step of data.resample = \"1d\" has all of its rows"}) == "");
}

TEST_CASE("rows that are missing by right are not made up for: closed days, a channel of its own step") {
  std::string shop = "day,y,price\n";  // from Monday 2024-01-01 on, closed on Sundays; a price each Monday
  for (int day = 0; day < 8 * 7 + 3; ++day)
    if (day % 7 != 6)
      shop += fmt::format("{},1,{}\n", to_text({.form = TimeForm::date, .count = days_of(2024, 1, 1) + day}),
                          day % 7 == 0 ? "5" : "");
  const Series weeks =
      parse_series(shop, "x.csv", {.channels = {"y"}, .resample = "1w", .together = Together::sum});
  CHECK(weeks.values == std::vector<double>(8, 6));
  CHECK(lacks(weeks.notes.front(), {"8 rows; the last step, 2024-02-26, lacks rows: left out"}) == "");
  const Series both = parse_series(shop, "x.csv", {.resample = "1w", .together = Together::last});
  for (int64_t row = 0; row < 8; ++row) CHECK(both.at(row, 1) == 5);
}

TEST_CASE("what cannot be put together is refused") {
  const auto fault = [](std::string_view text, const std::string& step) {
    return input_error_of(
        [&] { parse_series(text, "x.csv", {.missing = Missing::previous, .resample = step}); });
  };
  CHECK(lacks(fault("x\n1\n2\n", "1h"), {"needs a column of dates, and rows are numbered"}) == "");
  CHECK(lacks(fault("date,x\n2020-01,1\n2020-02,2\n", "1d"),
              {"x.csv:2: the times are coarser than data.resample"}) == "");
  CHECK(lacks(fault("date,x\n1900-01-01 00:00,1\n2020-01-01 00:00,2\n", "1s"),
              {"makes 3786825601 rows of 2"}) == "");
  CHECK(lacks(fault("day,shop,x\n2020-01-01,a,1\n2020-01-02,a,1\n2020-01-01,b,1\n2020-01-02,b,2\n", "1d"),
              {"2 series in one file, by column 'shop'"}) == "");
  for (const char* step : {"", "h", "0h", "-1h", "1", "1 h", "1hour", "10001d", "1.5h"})
    CHECK(!parse_resample(step));
}
