#include "training/report/tensorboard.h"

#include <array>
#include <bit>
#include <concepts>

#include <fmt/format.h>

namespace unroll {

namespace {

constexpr std::array<uint32_t, 256> crc_table = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0);
    table[i] = crc;
  }
  return table;
}();

// TFRecord masks checksums like this, because a checksum of data that holds its own checksum says little.
uint32_t masked(uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8U; }

std::string little_endian(std::unsigned_integral auto number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(number); ++i) bytes += static_cast<char>(number >> 8 * i & 0xff);
  return bytes;
}

std::string record(std::string_view data) {
  const std::string length = little_endian(uint64_t{data.size()});
  return length + little_endian(masked(crc32c(length))) + std::string(data) +
         little_endian(masked(crc32c(data)));
}

// --- protocol buffers: a field is its number and wire type, then its value ---------------------------------

std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 128; number >>= 7) bytes += static_cast<char>((number & 127) | 128);
  return bytes += static_cast<char>(number);
}
std::string field(int number, uint64_t value) { return varint(number << 3 | 0) + varint(value); }
std::string field(int number, double value) {
  return varint(number << 3 | 1) + little_endian(std::bit_cast<uint64_t>(value));
}
std::string field(int number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
std::string field(int number, float value) {
  return varint(number << 3 | 5) + little_endian(std::bit_cast<uint32_t>(value));
}

// The field numbers of event.proto and summary.proto.
std::string event(double wall_time, int64_t step, int content, std::string_view data) {
  return record(field(1, wall_time) + field(2, static_cast<uint64_t>(step)) + field(content, data));
}
constexpr int file_version = 3, summary = 5, session_log = 7;

// Always a new file: neither an existing one, nor a link's target.
AppendFile next_file(const std::filesystem::path& folder) {
  for (int number = 1;; ++number)
    if (auto file = AppendFile::create(folder / fmt::format("events.out.tfevents.{:04}", number)))
      return std::move(*file);
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) crc = crc >> 8 ^ crc_table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

EventFile::EventFile(const std::filesystem::path& folder, double wall_time) : file_(next_file(folder)) {
  file_.append(event(wall_time, 0, file_version, "brain.Event:2"));
}

void EventFile::write(int64_t step, std::span<const Scalar> scalars, double wall_time) {
  std::string values;
  for (const Scalar& scalar : scalars)
    values += field(1, field(1, std::string_view(scalar.name)) + field(2, static_cast<float>(scalar.value)));
  file_.append(event(wall_time, step, summary, values));
}

void EventFile::restart(int64_t step, double wall_time) {
  constexpr uint64_t start = 1;  // SessionLog.SessionStatus
  file_.append(event(wall_time, step, session_log, field(1, start)));
}

}  // namespace unroll
