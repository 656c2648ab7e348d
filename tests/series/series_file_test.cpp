// Files of series that are packed or written with decimal commas.
#include "examples/timeseries/files/series_file.h"

#include "data/gzip.h"
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
