// For the targets that read safetensors files.
#pragma once

#include <array>

#include "framework/memory.h"
#include "fuzz/target.h"

namespace fuzz {

// The bytes, and the same with the header's length put right: up to the brace that closes the first. Else a
// change of the header would nearly always end at its length.
inline std::array<std::string, 2> as_safetensors(const uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::string mended = bytes;
  if (size < 9) return {bytes, mended};
  uint64_t length = 0;
  int depth = 0;
  do depth += bytes[8 + length] == '{' ? 1 : bytes[8 + length] == '}' ? -1 : 0;
  while (8 + ++length < size && depth > 0);
  return {bytes, mended.replace(0, 8, reinterpret_cast<const char*>(&length), 8)};
}

// Calls read(path), which may refuse the file, and checks that memory is in proportion to it. A model of half floats
// takes four times the file for weights and gradients, and as much again for two moments. A tensor of one number has
// at least 60 bytes of header, and takes twice 256 bytes of each of those slabs.
template <class F>
void expect_in_proportion(const std::string& bytes, F read) {
  const std::filesystem::path path = file("file.safetensors", bytes);
  unroll::reset_peak_memory();
  const int64_t before = unroll::memory_statistics().in_use;
  accepts([&] { read(path); });
  expect(unroll::memory_statistics().peak - before <= 20 * static_cast<int64_t>(bytes.size()) + (1 << 16),
         "memory in proportion to the file");
}

}  // namespace fuzz
