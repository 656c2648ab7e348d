// TensorBoard's event files, read by a second implementation of their format.
#include "training/report/tensorboard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>

#include "framework/check.h"
#include "tests/program.h"
#include "tests/support.h"
#include "training/report/log.h"

using namespace unroll;

namespace {

// A message of protocol buffers, as (number, bytes) of its fields in order; fixed-width ones as they lie in
// the file.
using Message = std::vector<std::pair<int, std::string>>;

uint64_t take_varint(std::string_view& bytes) {
  uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    REQUIRE(!bytes.empty());
    const uint8_t byte = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    number += static_cast<uint64_t>(byte % 128) << shift;
    if (byte < 128) return number;
  }
}

std::string take(std::string_view& bytes, size_t size) {
  REQUIRE(bytes.size() >= size);
  const std::string result(bytes.substr(0, size));
  bytes.remove_prefix(size);
  return result;
}

Message parse(std::string_view bytes) {
  Message message;
  while (!bytes.empty()) {
    const uint64_t key = take_varint(bytes);
    const int number = static_cast<int>(key / 8);
    switch (key % 8) {
      case 0:
        message.emplace_back(number, std::to_string(take_varint(bytes)));
        break;
      case 1:
        message.emplace_back(number, take(bytes, 8));
        break;
      case 2:
        message.emplace_back(number, take(bytes, take_varint(bytes)));
        break;
      case 5:
        message.emplace_back(number, take(bytes, 4));
        break;
      default:
        FAIL("wire type ", key % 8);
    }
  }
  return message;
}

template <class T>
T number(const std::string& bytes) {
  REQUIRE(bytes.size() == sizeof(T));
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// The checksum bit by bit, by polynomial division: x^32 + 0x1edc6f41, bits of a byte lowest first.
uint32_t slow_crc32c(std::string_view bytes) {
  uint32_t remainder = 0xffffffff;
  for (const char c : bytes)
    for (int bit = 0; bit < 8; ++bit) {
      const uint32_t in = (static_cast<uint8_t>(c) >> bit & 1U) << 31;
      remainder = (remainder ^ in) & 0x80000000 ? remainder << 1 ^ 0x1edc6f41 : remainder << 1;
    }
  uint32_t reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (remainder >> bit & 1U) << (31 - bit);
  return ~reversed;
}

uint32_t unmasked(uint32_t stored) {
  const uint32_t rotated = stored - 0xa282ead8;
  return rotated >> 17 | rotated << 15;
}

// The events of a file, their framing and checksums checked.
std::vector<Message> events(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  std::string_view rest = text;
  std::vector<Message> result;
  while (!rest.empty()) {
    const std::string length = take(rest, 8);
    CHECK(unmasked(number<uint32_t>(take(rest, 4))) == slow_crc32c(length));
    const std::string data = take(rest, number<uint64_t>(length));
    CHECK(unmasked(number<uint32_t>(take(rest, 4))) == slow_crc32c(data));
    result.push_back(parse(data));
  }
  return result;
}

}  // namespace

TEST_CASE("the checksum has its published values") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);  // RFC 3720, B.4
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  std::string up, down;
  for (char i = 0; i < 32; ++i) up += i, down += static_cast<char>(31 - i);
  CHECK(crc32c(up) == 0x46dd794e);
  CHECK(crc32c(down) == 0x113fdb5c);
  CHECK(slow_crc32c("123456789") == 0xe3069283);
}

TEST_CASE("a file begins with its version, and has an event for each write") {
  const Folder folder;
  EventFile file(folder.path(), 1700000000.25);
  file.write(300, std::vector<Scalar>{{"train/loss", 5.5}, {"train/gradient_norm", std::nan("")}},
             1700000001.5);
  const auto found = events(folder / "events.out.tfevents.0001");
  REQUIRE(found.size() == 2);
  REQUIRE(found[0].size() == 3);
  CHECK(found[0][0].first == 1);
  CHECK(number<double>(found[0][0].second) == 1700000000.25);
  CHECK(found[0][2] == std::pair<int, std::string>{3, "brain.Event:2"});
  REQUIRE(found[1].size() == 3);
  CHECK(number<double>(found[1][0].second) == 1700000001.5);
  CHECK(found[1][1] == std::pair<int, std::string>{2, "300"});
  CHECK(found[1][2].first == 5);
  const Message summary = parse(found[1][2].second);
  REQUIRE(summary.size() == 2);
  const Message first = parse(summary[0].second), second = parse(summary[1].second);
  CHECK(first[0] == std::pair<int, std::string>{1, "train/loss"});
  CHECK(first[1].first == 2);
  CHECK(number<float>(first[1].second) == 5.5F);
  CHECK(second[0].second == "train/gradient_norm");
  CHECK(std::isnan(number<float>(second[1].second)));
}

TEST_CASE("another session has a file of its own, and says from which step on it counts") {
  const Folder folder;
  EventFile(folder.path(), 1).write(9, std::vector<Scalar>{{"a", 1}}, 2);
  const std::string before = read_text(folder / "events.out.tfevents.0001");
  EventFile(folder.path(), 3).restart(5, 4);
  CHECK(read_text(folder / "events.out.tfevents.0001") == before);
  const auto found = events(folder / "events.out.tfevents.0002");
  REQUIRE(found.size() == 2);
  CHECK(found[1][1] == std::pair<int, std::string>{2, "5"});
  CHECK(found[1][2].first == 7);
  CHECK((parse(found[1][2].second) == Message{{1, "1"}}));  // status: START
}

TEST_CASE(
    "each record of a log is there with its figures under their names, and from where it was cut on anew") {
  const auto figures_of = [](const LogNames& names) {
    const Folder folder;
    RunLog log(folder.path(), names);
    log.write({.step = 4,
               .epoch = 1,
               .loss = std::log(8.0),
               .learning_rate = 0.5,
               .momentum = 0.75,
               .gradient_norm = 2,
               .loss_scale = 4,
               .skipped = 3,
               .seconds = 9,
               .rate = 7});
    log.write({.step = 5, .epoch = 1, .loss = 1, .learning_rate = 0.25, .rate = 6});
    log.write({.kind = LogRecord::Kind::epoch,
               .step = 6,
               .epoch = 1,
               .loss = std::log(4.0),
               .learning_rate = 0.25,
               .valid = 6,
               .best = true,
               .metrics = {{"f1", 0.125}}});
    log.write({.kind = LogRecord::Kind::anew, .step = 6, .epoch = 1, .valid = 5, .best = true});
    log.cut_after(5, 0);
    log.write({.step = 7, .epoch = 1, .loss = 2, .learning_rate = 0.25, .rate = 5});
    std::vector<std::string> lines;
    std::vector<Message> all = events(folder / "events.out.tfevents.0001");
    std::ranges::move(events(folder / "events.out.tfevents.0002"), std::back_inserter(all));
    for (const Message& event : all) {
      std::string line = event[1].second;
      if (event[2].first == 7) line += " restarts";
      if (event[2].first == 5)
        for (const auto& [_, value] : parse(event[2].second)) {
          const Message scalar = parse(value);
          line += fmt::format(" {}={:.4g}", scalar[0].second, number<float>(scalar[1].second));
        }
      lines.push_back(line);
    }
    return lines;
  };
  using Lines = std::vector<std::string>;
  CHECK(
      figures_of({.unit = "words", .perplexity = true}) ==
      Lines{
          "0",
          "4 train/loss=2.079 train/learning_rate=0.5 train/momentum=0.75 train/perplexity=8 train/gradient_norm=2 "
          "train/loss_scale=4 train/skipped_steps=3 speed/words_per_second=7",
          "5 train/loss=1 train/learning_rate=0.25 train/perplexity=2.718 speed/words_per_second=6",
          "6 epoch/train_perplexity=4 epoch/valid_perplexity=6 epoch/f1=0.125", "0", "6 restarts",
          "7 train/loss=2 train/learning_rate=0.25 train/perplexity=7.389 speed/words_per_second=5"});
  CHECK(figures_of({.unit = "values"})[2] ==
        "5 train/loss=1 train/learning_rate=0.25 speed/values_per_second=6");
  CHECK(figures_of({.unit = "values"})[3] == "6 epoch/train_loss=1.386 epoch/valid_loss=6 epoch/f1=0.125");
}
