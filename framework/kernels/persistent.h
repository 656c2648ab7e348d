// Shares a recurrence out among the processors of a GPU. Each keeps its part of the recurrent weights in its shared
// memory for a whole window (Diamos et al. 2016, "Persistent RNNs: Stashing Recurrent Weights On-Chip").
//
// A block has the same units in both directions. Forward it keeps their rows of weight_hh [gates·hidden, hidden], and backward
// their columns: lines of numbers that are multiplied with the lines of what a step hands the next, h and the gates' gradients.
#pragma once

#include <cstdint>

namespace unroll {

// The product of a block in each step: its lines of weights with `batch` lines of as many numbers.
struct PersistentProduct {
  int64_t lines, depth, number_bytes;
  // Tensor cores take lines by 8, and 64 bytes of each (cuda/fragments.h).
  constexpr int64_t groups() const { return (lines + 7) / 8; }
  constexpr int64_t chunks() const { return (depth * number_bytes + 63) / 64; }
  constexpr int64_t weight_bytes() const { return groups() * 8 * chunks() * 64; }
  // Sums of one line of the batch, apart so that a warp's lanes meet in no bank.
  constexpr int64_t sums_apart() const { return 8 * groups() + 4; }
};

struct PersistentPlan {
  static constexpr int64_t most_units = 16;  // of a block: a warp has the sums of so many in registers
  static constexpr int64_t rows_at_once = 32, most_batch = 64;
  static constexpr int64_t shares = 4;  // of a sum: half as many as a block has warps
  static constexpr int64_t places =
      3;  // of what is handed on, used in turn: a layer above reads it two steps later
  static constexpr int64_t step_bytes =
      3 * 448;  // of shared memory beside that of products: three steps' pointers
  static constexpr int64_t norm_bytes =
      rows_at_once * (most_units + 1) * 8;  // and with layer norm: pairs of sums

  int64_t units = 0, blocks = 0, batch = 0;
  PersistentProduct forward = {}, backward = {};
  bool layer_norm = false;

  // As few units as all processors make it, by four: with their gates two groups.
  static constexpr PersistentPlan of(int64_t hidden, int64_t gates, int64_t batch, int64_t number_bytes,
                                     int64_t processors) {
    const int64_t units = ((hidden + processors - 1) / processors + 3) / 4 * 4;
    return {.units = units,
            .blocks = (hidden + units - 1) / units,
            .batch = batch,
            .forward = {gates * units, hidden, number_bytes},
            .backward = {units, gates * hidden, number_bytes}};
  }
  // Rows of the batch that are multiplied: groups of 8.
  constexpr int64_t rows() const { return (batch + 7) / 8 * 8; }
  constexpr int64_t shared_bytes(const PersistentProduct& p) const {
    const int64_t at_once = rows() < rows_at_once ? rows() : rows_at_once;
    return p.weight_bytes() + shares * at_once * p.sums_apart() * 4;
  }
  // A block's shared memory in all: enough for either direction.
  constexpr int64_t shared_bytes() const {
    const int64_t a = shared_bytes(forward), b = shared_bytes(backward);
    return step_bytes + (layer_norm ? norm_bytes : 0) + (a > b ? a : b);
  }
  // As much, for two layers of this plan in one launch: the upper's x, and the lower's gradient from there, are products like
  // the recurrent ones, so some blocks have two.
  constexpr int64_t shared_bytes_of_two() const { return 2 * shared_bytes() - step_bytes; }
  // Memory for the numbers that a step hands on.
  constexpr int64_t operand_bytes(const PersistentProduct& p) const {
    return places * rows() * p.chunks() * 64;
  }
};

}  // namespace unroll
