// The product of a block of a persistent kernel in each step, by tensor cores. It multiplies the block's lines of weights, which
// stay in shared memory, by the lines that the step before handed on. framework/kernels/persistent.h shares the lines out.
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

// The numbers that a step hands on: [places, chunks, rows, chunk_numbers], the places in turn. A warp reads a chunk of 8 rows at
// once, so these lie together: 512 bytes.
template <class W>
struct HandedOn {
  typename W::Number* numbers = nullptr;
  int rows = 0, chunks = 0;
  UNROLL_KERNEL typename W::Number* of_chunk(int64_t step, int chunk, int row) const {
    const auto place = static_cast<unsigned>(step) % unsigned{PersistentPlan::places};
    return numbers + (int64_t{place} * chunks + chunk) * rows * chunk_numbers<W> + row * chunk_numbers<W>;
  }
  UNROLL_KERNEL typename W::Number& number(int64_t step, int row, int64_t k) const {
    constexpr auto of_one = static_cast<unsigned>(chunk_numbers<W>);  // a power of 2
    const auto place = static_cast<unsigned>(k);
    return of_chunk(step, static_cast<int>(place / of_one), row)[place % of_one];
  }
  // Behind the numbers of a line are zeros to the end of a chunk. By all threads of the grid, before the first barrier.
  UNROLL_KERNEL void clear_ends(int64_t depth) const {
    const int64_t rest = int64_t{chunks} * chunk_numbers<W> - depth;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         i < PersistentPlan::places * rows * rest; i += static_cast<int64_t>(gridDim.x) * blockDim.x)
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
  UNROLL_KERNEL bool are_there() const { return chunks_ > 0; }

  // read(line, k, numbers): so many numbers of a line of weights, from k on, 0 where there is none. Each lane's 16 bytes of a line, in
  // the order in which they are read.
  template <class F>
  UNROLL_KERNEL void load(F read) const {
    constexpr int of_lane = 4 * W::of_word, together = 32 / of_lane;  // 32 numbers are on their way together
    const int all = groups_ * chunks_ * warp_lanes;
    for (int begin = static_cast<int>(threadIdx.x); begin < all; begin += together * persistent_threads) {
      real values[together][of_lane] = {};
      UNROLL_ALL
      for (int p = 0; p < together; ++p) {
        const int i = begin + p * persistent_threads, lane = i % warp_lanes, piece = i / warp_lanes;
        if (i < all)
          read(8 * (piece / chunks_) + lane / 4, piece % chunks_ * chunk_numbers<W> + lane % 4 * of_lane,
               values[p]);
      }
      UNROLL_ALL
      for (int p = 0; p < together; ++p) {
        typename W::Number numbers[of_lane];
        UNROLL_ALL
        for (int j = 0; j < of_lane; ++j) numbers[j] = W::rounded(static_cast<float>(values[p][j]));
        uint32_t words[4];
        static_assert(sizeof words == sizeof numbers);
        __builtin_memcpy(words, numbers, sizeof words);
        if (begin + p * persistent_threads < all) put(begin + p * persistent_threads, words);
      }
    }
    __syncthreads();
  }

  // Multiplies the `rows` rows from `first` on, at most rows_at_once. Then sum(row - first, line) returns the sums.
  UNROLL_KERNEL void multiply(const HandedOn<W>& x, int64_t step, int first, int rows) {
    static_assert(PersistentPlan::rows_at_once == 4 * 8);
    if (rows > 24)
      multiply_columns<4>(x, step, first);
    else if (rows > 16)
      multiply_columns<3>(x, step, first);
    else if (rows > 8)
      multiply_columns<2>(x, step, first);
    else
      multiply_columns<1>(x, step, first);
  }
  UNROLL_KERNEL float sum(int row, int line) const {
    float result = 0;
    for (int share = 0; share < shares; ++share) result += sums_[share * of_share_ + row * apart() + line];
    return result;
  }

 private:
  UNROLL_KERNEL int apart() const { return 8 * groups_ + 4; }

  // Puts piece i of [groups, chunks, lanes], the lane's words of a line. Two groups make a tile of 16 lines, [chunks,
  // 2, lanes], with the words of both in the order in which products take them. A group that is left over is a tile
  // of its own, [chunks, lanes].
  UNROLL_KERNEL void put(int i, const uint32_t (&words)[4]) const {
    const int lane = i % warp_lanes, group = i / warp_lanes / chunks_, chunk = i / warp_lanes % chunks_;
    if (group + 1 == groups_ && group % 2 == 0) {
      weights_[i] = {words[0], words[1], words[2], words[3]};
      return;
    }
    auto* const tile = reinterpret_cast<uint32_t*>(weights_ + (group / 2 * chunks_ + chunk) * 2 * warp_lanes);
    UNROLL_ALL
    for (int j = 0; j < 4; ++j) tile[(j / 2 * warp_lanes + lane) * 4 + 2 * (j % 2) + group % 2] = words[j];
  }

  // Multiplies 8·columns rows. Blocks begin with chunks of their own, so that they do not all ask for the same one at
  // a time.
  template <int columns>
  UNROLL_KERNEL void multiply_columns(const HandedOn<W>& x, int64_t step, int first) {
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes,
              lane = static_cast<int>(threadIdx.x) % warp_lanes, g = lane / 4, q = lane % 4;
    const int turned = static_cast<int>(blockIdx.x * static_cast<unsigned>(chunks_) / gridDim.x);
    const auto wrapped = [&](int chunk) { return chunk < chunks_ ? chunk : chunk - chunks_; };
    // A row's 64 bytes of a chunk are 4 pieces of 16.
    const auto* const rows = reinterpret_cast<const uint4*>(x.of_chunk(step, 0, first + g)) + q;
    const int chunk_apart = 4 * x.rows, tile_apart = 2 * chunks_ * warp_lanes;
    float d[most_tiles][columns][4] = {};
    // So many chunks of a warp are on their way from the cache at a time.
    constexpr int ahead = most_tiles > 1 ? 3 : 6;
    uint4 column[ahead][columns];
    UNROLL_ALL
    for (int i = 0; i < ahead; ++i) {
      const int turn = warp + i * persistent_warps;
      const uint4* const from = rows + wrapped(turn + turned) * chunk_apart;
      UNROLL_ALL
      for (int n = 0; n < columns; ++n)
        column[i][n] = turn < chunks_ ? load_16_bytes(from + 32 * n) : uint4{};
    }
    int here = wrapped(warp + turned), there = wrapped(warp + ahead * persistent_warps + turned);
    for (int begin = warp; begin < chunks_; begin += ahead * persistent_warps) {
      UNROLL_ALL
      for (int i = 0; i < ahead; ++i) {
        const int turn = begin + i * persistent_warps;
        if (turn >= chunks_) break;
        const uint4* tile = weights_ + 2 * here * warp_lanes + lane;
        UNROLL_ALL
        for (int m = 0; m < most_tiles; ++m, tile += tile_apart) {
          if (2 * m >= groups_) break;
          if (2 * m + 1 < groups_)
            multiply_add_chunk<W>(d[m], {tile[0], tile[warp_lanes]}, column[i]);
          else
            multiply_add_chunk<W>(d[m], ChunkWords::of(tile[-here * warp_lanes], {}), column[i]);
        }
        if (turn + ahead * persistent_warps < chunks_) {
          const uint4* const from = rows + there * chunk_apart;
          UNROLL_ALL
          for (int n = 0; n < columns; ++n) column[i][n] = load_16_bytes(from + 32 * n);
        }
        here = wrapped(here + persistent_warps), there = wrapped(there + persistent_warps);
      }
    }
    // Each warp has a share of every sum: those of its chunks. One half of the warps adds to what the other has put down.
    of_share_ = 8 * columns * apart();
    float* const mine = sums_ + warp % shares * of_share_ + 2 * q * apart() + g;
    const auto each_sum = [&](auto use) {
      UNROLL_ALL
      for (int m = 0; m < most_tiles; ++m) {
        if (2 * m >= groups_) break;
        const int halves = 2 * m + 1 < groups_ ? 2 : 1;
        UNROLL_ALL
        for (int n = 0; n < columns; ++n) UNROLL_ALL
        for (int r = 0; r < 4; ++r)
          if (r / 2 < halves) use(mine[(8 * n + r % 2) * apart() + 16 * m + 8 * (r / 2)], d[m][n][r]);
      }
    };
    const auto put_down = [&] { each_sum([](float& place, float sum) { place = sum; }); };
    if (warp >= shares) put_down();
    __syncthreads();
    if (warp < shares) {  // all are read before any is written, so that they are on their way together
      each_sum([](const float& place, float& sum) { sum += place; });
      put_down();
    }
    __syncthreads();
  }

  uint4* weights_;  // as put() shares it out
  float* sums_;     // [shares, rows, apart()]
  int groups_, chunks_;
  int of_share_ = 0;  // numbers of sums_
};

}  // namespace unroll::cuda
