// What a block of a persistent kernel does in each step: its lines of weights, which stay in shared memory, times the lines of what
// the step before handed on, by tensor cores. framework/kernels/persistent.h shares the lines out.
#pragma once

#include "framework/kernels/cuda/barrier.h"
#include "framework/kernels/cuda/fragments.h"
#include "framework/kernels/persistent.h"

namespace unroll::cuda {

#ifdef __CUDACC__
inline constexpr int persistent_warps = 8;
#else
inline constexpr int persistent_warps = 2;  // as team_size
#endif
inline constexpr int persistent_threads = persistent_warps * warp_lanes, shares = persistent_warps / 2;
static_assert(shares <= PersistentPlan::shares);

// What a step hands the next: [2, chunks, rows, chunk_numbers] numbers, in turn. What a warp reads at once, a chunk of 8 rows, lies
// together: 512 bytes.
template <class W>
struct HandedOn {
  typename W::Number* numbers;
  int rows, chunks;
  UNROLL_KERNEL typename W::Number* of_chunk(int64_t step, int chunk, int row) const {
    return numbers + ((step % 2 * chunks + chunk) * rows + row) * chunk_numbers<W>;
  }
  UNROLL_KERNEL typename W::Number& number(int64_t step, int row, int64_t k) const {
    constexpr auto of_one = static_cast<unsigned>(chunk_numbers<W>);  // a power of 2
    const auto place = static_cast<unsigned>(k);
    return of_chunk(step, static_cast<int>(place / of_one), row)[place % of_one];
  }
  // Behind the numbers of a line are zeros to the end of a chunk. By all threads of the grid, before the first barrier.
  UNROLL_KERNEL void clear_ends(int64_t depth) const {
    const int64_t rest = int64_t{chunks} * chunk_numbers<W> - depth;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < 2 * rows * rest;
         i += static_cast<int64_t>(gridDim.x) * blockDim.x)
      number(i / rest / rows, static_cast<int>(i / rest % rows), depth + i % rest) = W::rounded(0);
  }
};

// most_tiles: 16 lines of weights each, that a warp may have the sums of.
template <class W, int most_tiles>
class PersistentLines {
 public:
  UNROLL_KERNEL PersistentLines(uint4* shared, int groups, int chunks)
      : weights_(shared),
        sums_(reinterpret_cast<float*>(shared + groups * chunks * warp_lanes)),
        groups_(groups),
        chunks_(chunks) {}

  // weight(line, k), 0 where there is none: each lane's 16 bytes of a line, in the order in which they are read.
  template <class F>
  UNROLL_KERNEL void load(F weight) const {
    constexpr int of_lane = 4 * W::of_word,
                  together = 16 / of_lane;  // numbers in 16 bytes; 16 numbers are on their way together
    const int all = groups_ * chunks_ * warp_lanes;
    for (int begin = static_cast<int>(threadIdx.x); begin < all; begin += together * persistent_threads) {
      real values[together][of_lane];
      UNROLL_ALL
      for (int p = 0; p < together; ++p) {
        const int i = begin + p * persistent_threads, lane = i % warp_lanes, piece = i / warp_lanes;
        const int line = 8 * (piece / chunks_) + lane / 4,
                  k = piece % chunks_ * chunk_numbers<W> + lane % 4 * of_lane;
        UNROLL_ALL
        for (int j = 0; j < of_lane; ++j) values[p][j] = i < all ? weight(line, k + j) : 0;
      }
      UNROLL_ALL
      for (int p = 0; p < together; ++p) {
        typename W::Number numbers[of_lane];
        UNROLL_ALL
        for (int j = 0; j < of_lane; ++j) numbers[j] = W::rounded(static_cast<float>(values[p][j]));
        uint4 words;
        static_assert(sizeof words == sizeof numbers);
        __builtin_memcpy(&words, numbers, sizeof words);
        if (begin + p * persistent_threads < all) weights_[begin + p * persistent_threads] = words;
      }
    }
    __syncthreads();
  }

  // Of `rows` rows from `first` on: after it sum(row - first, line). Blocks begin with chunks of their own, so that they do not all ask
  // for the same one at a time.
  UNROLL_KERNEL void multiply(const HandedOn<W>& x, int64_t step, int first, int rows) {
    const int tiles_of_rows = (rows + 7) / 8,
              turned = static_cast<int>(static_cast<int64_t>(blockIdx.x) * chunks_ / gridDim.x);
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes,
              lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const int g = lane / 4, q = lane % 4;
    constexpr int most_columns = PersistentPlan::rows_at_once / 8;
    float d[most_tiles][most_columns][4] = {};
    // So many chunks of a warp are on their way from the cache at a time.
    constexpr int ahead = most_tiles > 1 ? 3 : 6;
    uint4 columns[ahead][most_columns] = {};
    const auto place_of = [&](int turn) {
      return turn + turned < chunks_ ? turn + turned : turn + turned - chunks_;
    };
    const auto fetch = [&](uint4(&into)[most_columns], int turn) {
      if (turn >= chunks_) return;
      const auto* const from = x.of_chunk(step, place_of(turn), first + g) + 4 * q * W::of_word;
      UNROLL_ALL
      for (int n = 0; n < most_columns; ++n)
        if (8 * n + g < rows) into[n] = load_16_bytes(from + 8 * n * chunk_numbers<W>);
    };
    UNROLL_ALL
    for (int i = 0; i < ahead; ++i) fetch(columns[i], warp + i * persistent_warps);
    for (int begin = warp; begin < chunks_; begin += ahead * persistent_warps) {
      UNROLL_ALL
      for (int i = 0; i < ahead; ++i) {
        const int turn = begin + i * persistent_warps;
        if (turn >= chunks_) break;
        const int chunk = place_of(turn);
        UNROLL_ALL
        for (int m = 0; m < most_tiles; ++m) {
          if (2 * m >= groups_) continue;
          const uint4 upper = weights_[(2 * m * chunks_ + chunk) * warp_lanes + lane];
          uint4 lower = {};
          if (2 * m + 1 < groups_) lower = weights_[((2 * m + 1) * chunks_ + chunk) * warp_lanes + lane];
          UNROLL_ALL
          for (int n = 0; n < most_columns; ++n)
            if (n < tiles_of_rows) multiply_add_chunk<W>(d[m][n], upper, lower, columns[i][n]);
        }
        fetch(columns[i], turn + ahead * persistent_warps);
      }
    }
    // Each warp has a share of every sum: those of its chunks. One half of the warps adds to what the other has put down.
    const auto put = [&](bool add) {
      float* const mine = sums_ + warp % shares * 8 * tiles_of_rows * apart();
      UNROLL_ALL
      for (int m = 0; m < most_tiles; ++m) UNROLL_ALL
      for (int n = 0; n < most_columns; ++n) UNROLL_ALL
      for (int r = 0; r < 4; ++r) {
        if (2 * m + r / 2 >= groups_ || n >= tiles_of_rows) continue;
        float& sum = mine[(8 * n + 2 * q + r % 2) * apart() + 16 * m + 8 * (r / 2) + g];
        sum = add ? sum + d[m][n][r] : d[m][n][r];
      }
    };
    if (warp >= shares) put(false);
    __syncthreads();
    if (warp < shares) put(true);
    __syncthreads();
    of_share_ = 8 * tiles_of_rows * apart();
  }
  UNROLL_KERNEL float sum(int row, int line) const {
    float result = 0;
    for (int share = 0; share < shares; ++share) result += sums_[share * of_share_ + row * apart() + line];
    return result;
  }

 private:
  UNROLL_KERNEL int apart() const { return 8 * groups_ + 4; }

  uint4* weights_;  // [groups, chunks, lanes]
  float* sums_;     // [shares, rows, apart()]
  int groups_, chunks_;
  int of_share_ = 0;  // numbers of sums_
};

}  // namespace unroll::cuda
