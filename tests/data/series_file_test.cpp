// Files of series that are packed or written with decimal commas.
#include "data/series/series_file.h"

#include "data/gzip.h"
#include "data/series/resample.h"
#include "data/series/series.h"
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
  CHECK(lacks(unpacking_fault(packed + "more"),
              {"x.csv.gz: packed (gzip), and other bytes follow its end"}) == "");
  for (std::size_t size = 2; size < packed.size(); ++size)
    CHECK(unpacking_fault(packed.substr(0, size)).find("cut off before its end") != std::string::npos);
  // Of a bit that was flipped its checksum tells, or it says nothing about the text, as those that fill up a byte.
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
  CHECK(
      input_error_of([&] { parse_series(text, "x.csv", {.resample = "1h"}); }) ==
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
