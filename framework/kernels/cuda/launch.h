// CUDA's launch helpers: each element of some streams, each index, each row by a team of threads, sums of columns, reduce.
// Kernels are functors: a struct with what they work on, and the work on one element or row. Sums have an order that
// depends on sizes alone.
//
// nvcc compiles this text, and over the stand-in of tests/standin a plain C++ compiler does.
#pragma once

#include <cstdint>

#include "framework/kernels/cuda/language.h"
#include "framework/kernels/cuda/streams.h"
#include "framework/kernels/pointwise.h"

namespace unroll::cuda {

using namespace pointwise;

struct Two {
  real a, b;
};

// For a column's sum each lane adds every 16th row, in blocks of so many rows.
inline constexpr int lanes_of_column = 16, rows_of_block = 1024 * lanes_of_column;

// The threads of one block, which work on a row together. All of them call the same functions with the same sizes;
// what one has written before such a call, all can read after it.
template <int size>
class TeamOf {
 public:
  // f(i) for i in 0 … n-1. A thread meets the same i in every call.
  template <class F>
  UNROLL_KERNEL void each(int64_t n, F f) const {
    for (int64_t i = threadIdx.x; i < n; i += size) f(i);
    __syncthreads();
  }
  // Σ f(i), each a pair
  template <class F>
  UNROLL_KERNEL Two sums(int64_t n, F f) const {
    Two mine{0, 0};
    for (int64_t i = threadIdx.x; i < n; i += size) {
      const Two one = f(i);
      mine.a += one.a, mine.b += one.b;
    }
    return combined(mine, [](Two x, Two y) { return Two{x.a + y.a, x.b + y.b}; });
  }
  template <class F>
  UNROLL_KERNEL real sum(int64_t n, F f) const {
    return sums(n, [&](int64_t i) { return Two{f(i), 0}; }).a;
  }
  // The largest f(i). A NaN loses, but as f(0), which then is the result. n is positive.
  template <class F>
  UNROLL_KERNEL real max(int64_t n, F f) const {
    real mine = f(0);
    for (int64_t i = threadIdx.x; i < n; i += size) {
      const real one = f(i);
      mine = one > mine ? one : mine;
    }
    return combined(Two{mine, 0}, [](Two x, Two y) { return x.a > y.a ? x : y; }).a;
  }
  template <class F>
  UNROLL_KERNEL bool any(int64_t n, F f) const {
    int mine = 0;
    for (int64_t i = threadIdx.x; i < n; i += size) mine |= f(i) ? 1 : 0;
    return __syncthreads_or(mine) != 0;
  }
  // Calls use(list, count) with those i of begin … n-1, in order, for which f(i) is true. One call has as many as are
  // found in one look at numbers side by side. list is shared. Each thread calls use, which must not wait for others.
  template <class F, class Use>
  UNROLL_KERNEL void gather(int64_t begin, int64_t n, F f, Use use) const {
    constexpr int looks = 4;  // of a thread
    UNROLL_SHARED(list, int64_t[looks * size]);
    UNROLL_SHARED(found, int[size]);
    const int thread = static_cast<int>(threadIdx.x);
    for (int64_t top = begin; top < n; top += looks * size) {
      const int64_t first = top + looks * thread;
      int mine = 0;
      bool is_mine[looks];
      UNROLL_ALL
      for (int k = 0; k < looks; ++k) {
        is_mine[k] = first + k < n && f(first + k);
        mine += is_mine[k];
      }
      if (!__syncthreads_or(mine)) continue;  // and all have used the last list
      // How many the threads up to this one found.
      found[thread] = mine;
      for (int step = 1; step < size; step *= 2) {
        __syncthreads();
        const int before = thread >= step ? found[thread - step] : 0;
        __syncthreads();
        found[thread] += before;
      }
      int64_t* place = list + found[thread] - mine;
      UNROLL_ALL
      for (int k = 0; k < looks; ++k)
        if (is_mine[k]) *place++ = first + k;
      __syncthreads();
      use(list, found[size - 1]);
    }
  }

 private:
  template <class Combine>
  UNROLL_KERNEL static Two combined(Two mine, Combine combine) {
    UNROLL_SHARED(of_thread, Two[size]);
    of_thread[threadIdx.x] = mine;
    for (int half = size / 2; half > 0; half /= 2) {
      __syncthreads();
      if (static_cast<int>(threadIdx.x) < half)
        of_thread[threadIdx.x] = combine(of_thread[threadIdx.x], of_thread[threadIdx.x + half]);
    }
    __syncthreads();
    const Two result = of_thread[0];
    __syncthreads();  // before the next call writes
    return result;
  }
};
using Team = TeamOf<team_size>;
using WideTeam = TeamOf<wide_team>;  // for few rows

// A thread's elements are the `pieces` pieces of 4 and then the elements behind them, each a turn. Whole numbers of turns:
// to unroll them, their number would be divided out first.
template <class F, class... Streams>
__global__ void run_each(int64_t n, int64_t pieces, F f, Streams... streams) {
  if constexpr (requires { f.acts(); })
    if (!f.acts()) return;
  const auto work = for_thread(f);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  UNROLL_NOT
  for (int64_t turn = first; turn < n - 3 * pieces; turn += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    if (turn < pieces)
      on_piece<4>(4 * turn, work, streams...);
    else
      on_piece<1>(3 * pieces + turn, work, streams...);
  }
}
template <class F>
__global__ void run_each_index(int64_t n, F f) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  UNROLL_NOT
  for (int64_t i = first; i < n; i += static_cast<int64_t>(gridDim.x) * blockDim.x) f(i);
}
template <int size, class F>
__global__ void UNROLL_THREADS(size) run_each_row(int64_t rows, F f) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) f(TeamOf<size>(), r);
}

// Columns side by side in a warp, so that they are read in one piece; the block's warps share out the rows.
inline constexpr int columns_of_block = 32;
template <class Value, class Finish>
__global__ void run_column_sums(int64_t first, int64_t rows, int64_t cols, Value value, Finish finish) {
  UNROLL_SHARED(sums, real[lanes_of_column][columns_of_block]);
  const int64_t matrix = first + blockIdx.y,
                c = static_cast<int64_t>(blockIdx.x) * columns_of_block + threadIdx.x;
  real sum = 0;
  if (c < cols) {
    // As on a CPU: a float that a million numbers went into rounds the next away.
    for (int64_t top = 0; top < rows; top += rows_of_block) {
      const int64_t end = rows < top + rows_of_block ? rows : top + rows_of_block;
      real part = 0;
      // Several on their way at once: a sum waits for memory, and for one number after the other it would wait each time.
      constexpr int at_once = 4;
      for (int64_t r = top + threadIdx.y; r < end; r += at_once * lanes_of_column) {
        real values[at_once];
        UNROLL_ALL
        for (int k = 0; k < at_once; ++k) {
          const int64_t row = r + k * lanes_of_column;
          values[k] = row < end ? value(matrix, row, c) : 0;
        }
        UNROLL_ALL
        for (int k = 0; k < at_once; ++k) part += values[k];
      }
      sum += part;
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || c >= cols) return;
  for (int lane = 1; lane < lanes_of_column; ++lane) sum += sums[lane][threadIdx.x];
  finish(matrix, c, sum);
}

// Each block its share, in the order of its threads.
template <class F>
__global__ void run_reduce(int64_t n, F f, double* of_block) {
  UNROLL_SHARED(of_thread, double[team_size]);
  double sum = 0;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * team_size + threadIdx.x,
                apart = static_cast<int64_t>(gridDim.x) * team_size;
  constexpr int at_once = 8;  // on their way from memory
  UNROLL_NOT
  for (int64_t i = first; i < n; i += at_once * apart) {
    double values[at_once];
    UNROLL_ALL
    for (int k = 0; k < at_once; ++k) values[k] = i + k * apart < n ? f(i + k * apart) : 0;
    UNROLL_ALL
    for (int k = 0; k < at_once; ++k) sum += values[k];
  }
  of_thread[threadIdx.x] = sum;
  for (int half = team_size / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) of_thread[threadIdx.x] += of_thread[threadIdx.x + half];
  }
  if (threadIdx.x == 0) of_block[blockIdx.x] = of_thread[0];
}

inline unsigned blocks_for(int64_t n, int64_t most) { return static_cast<unsigned>(n < most ? n : most); }

// f(element of each stream) for all n elements (streams.h). A functor may say by acts() that there is nothing to do, and
// by for_thread() return what it becomes for a thread: so what is the same for all elements is computed once.
template <class F, class... Streams>
void each(int64_t n, F f, Streams... streams) {
  if (n == 0) return;
  constexpr int threads = 128;
  const int64_t pieces = (streams.in_pieces() && ...) ? n / 4 : 0, turns = n - 3 * pieces;
  launch(run_each<F, Streams...>, blocks_for((turns + threads - 1) / threads, 1 << 14), threads, n, pieces, f,
         streams...);
}
// f(i), for what is no stream
template <class F>
void each_index(int64_t n, F f) {
  if (n == 0) return;
  launch(run_each_index<F>, blocks_for((n + 255) / 256, 1 << 20), 256, n, f);
}
template <int size = team_size, class F>
void each_row(int64_t rows, F f) {
  if (rows == 0) return;
  launch(run_each_row<size, F>, blocks_for(rows, 1 << 20), size, rows, f);
}
template <class Value, class Finish>
void each_column_sum(int64_t count, int64_t rows, int64_t cols, Value value, Finish finish) {
  constexpr int64_t most = 65535;  // blocks in y
  if (cols == 0) return;
  const auto across = static_cast<unsigned>((cols + columns_of_block - 1) / columns_of_block);
  for (int64_t first = 0; first < count; first += most) {
    const dim3 grid(across, static_cast<unsigned>(count - first < most ? count - first : most));
    launch(run_column_sums<Value, Finish>, grid, dim3(columns_of_block, lanes_of_column), first, rows, cols,
           value, finish);
  }
}
struct Share {
  const double* of_block;
  UNROLL_KERNEL double operator()(int64_t i) const { return of_block[i]; }
};
// Σ f(i) in double, put where `result` says, which is the device's.
template <class F>
void reduce(int64_t n, F f, double* result) {
  constexpr int most = 512;
  double* shares = static_cast<double*>(gpu::workspace(most * sizeof(double)));
  const unsigned blocks = n == 0 ? 1 : blocks_for((n + team_size - 1) / team_size, most);
  launch(run_reduce<F>, blocks, team_size, n, f, shares);
  launch(run_reduce<Share>, 1, team_size, blocks, Share{shares}, result);
}

// Whether the GPU of this thread has code for the kernels that work on each element: finding it translates PTX.
template <class F, class... Streams>
cudaError_t find_code() {
  cudaFuncAttributes found;
  return cudaFuncGetAttributes(&found, reinterpret_cast<const void*>(run_each<F, Streams...>));
}

// Overwrites, or adds.
UNROLL_FORMULA void put(bool add, real& y, real value) { y = add ? y + value : value; }

}  // namespace unroll::cuda
