// Counter-based random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
//
// A number depends on (seed, place, step, element) and on nothing else: not on threads, device, engine or
// what was drawn before. A place is a path such as "lstm.dropout" and the number of the call there.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "framework/hash.h"

namespace unroll {

// Ten rounds over a 128-bit counter with a 64-bit key.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// In [0, 1), a multiple of 2^-24: the same value in float and in double.
constexpr float unit_interval(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// A path as a number; `call` tells apart several uses of one path.
constexpr uint64_t place_of(std::string_view path, uint64_t call = 0) {
  uint64_t hash = hash_of_nothing;
  for (char c : path) hash = hash_with(hash, static_cast<unsigned char>(c));
  for (int i = 0; i < 8; ++i) hash = hash_with(hash, (call >> (8 * i)) & 0xff);
  return hash;
}

// The numbers of one place at one step, by element.
struct RandomKey {
  uint64_t seed = 1;  // of the model or the run
  uint64_t place = 0;
  uint32_t step = 0;

  // The four numbers of elements 4*block … 4*block + 3.
  constexpr std::array<uint32_t, 4> block(uint32_t block) const {
    return philox({block, step, static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32)},
                  {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  }
  constexpr uint32_t bits(uint64_t element) const {  // 32 random bits of an element
    return block(static_cast<uint32_t>(element / 4))[element % 4];
  }
  constexpr float uniform(uint64_t element) const { return unit_interval(bits(element)); }  // in [0, 1)
};

// A sequence of numbers for code that draws one after the other (generators of data, sampling).
class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view path) : key_{.seed = seed, .place = place_of(path)} {}
  explicit RandomStream(const RandomKey& key) : key_(key) {}
  uint32_t bits() {  // the next 32 random bits
    if (position_ % 4 == 0) buffer_ = key_.block(static_cast<uint32_t>(position_ / 4));
    return buffer_[position_++ % 4];
  }
  // In [0, 1), 53 random bits.
  double uniform() {
    const uint64_t high = bits() >> 5, low = bits() >> 6;
    return static_cast<double>((high << 26) | low) * 0x1p-53;
  }
  // A number from the standard normal distribution (Box and Muller 1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  // In [0, n); the bias is below n / 2^32.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>((uint64_t{bits()} * n) >> 32); }
  uint64_t position() const { return position_; }  // how many words of 32 bits were drawn

 private:
  RandomKey key_;
  uint64_t position_ = 0;
  std::array<uint32_t, 4> buffer_{};
};

}  // namespace unroll
