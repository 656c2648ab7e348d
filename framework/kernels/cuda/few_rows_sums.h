// The sums of a product of few rows, and what ends them, in one launch (framework/kernels/few_rows.h).
//
// A block has so many lines of the weights, and all of their numbers: no block waits for another. Its warps share out a line, and a
// lane reads 16 bytes of it at once. The rows lie in shared memory a slab at a time, rounded once for all lines. Each lane
// multiplies its numbers with those of all rows; at the end the shares of a sum are added in the order of the lanes.
#pragma once

#include "framework/kernels/cuda/fragments.h"
#include "framework/kernels/cuda/launch.h"
#include "framework/kernels/few_rows.h"

namespace unroll::cuda {

#ifdef __CUDACC__
inline constexpr int few_rows_warps = 8;
#else
inline constexpr int few_rows_warps = 2;  // as team_size
#endif
inline constexpr int few_rows_threads = few_rows_warps * warp_lanes;

// The numbers of a product's operands.
struct FullNumbers {
  using Number = real;
  UNROLL_KERNEL static real rounded(real x) { return x; }
  UNROLL_KERNEL static real widened(real x) { return x; }
};
struct Tf32Numbers {
  using Number = float;
  UNROLL_KERNEL static float rounded(real x) { return Tf32Words::rounded(static_cast<float>(x)); }
  UNROLL_KERNEL static real widened(float x) { return x; }
};
struct Bf16Numbers {
  using Number = __nv_bfloat16;
  UNROLL_KERNEL static Number rounded(real x) { return __float2bfloat16(static_cast<float>(x)); }
  UNROLL_KERNEL static real widened(Number x) { return __bfloat162float(x); }
};
struct Fp16Numbers {
  using Number = __half;
  UNROLL_KERNEL static Number rounded(real x) { return __float2half(static_cast<float>(x)); }
  UNROLL_KERNEL static real widened(Number x) { return __half2float(x); }
};

template <class N>
struct alignas(16) PartOfLine {
  static constexpr int count = 16 / sizeof(N);
  N numbers[count];
};
// A line's numbers in memory: whole pieces, zeros at the end.
template <class P>
UNROLL_FORMULA int64_t numbers_apart(int64_t depth) {
  constexpr int of_piece = PartOfLine<typename P::Number>::count;
  return (depth + of_piece - 1) / of_piece * of_piece;
}

// The block's sums of `most` rows and `lines` lines. A unit of several gates has 4 lines side by side.
template <class P, int lines, int most>
class FewRowsSums {
  using Number = typename P::Number;
  static constexpr int in_warp = lines < 8 ? lines : 8, of_lane = lines / in_warp,
                       across = warp_lanes / in_warp, shares = few_rows_warps * across,
                       numbers = PartOfLine<Number>::count, turn = shares * numbers,
                       slab = 1024 / int{sizeof(real)}, turns = (slab + turn - 1) / turn,
                       of_piece = PartOfLine<real>::count, together = 32 / int{sizeof(real)};
  static_assert(most % together == 0);

 public:
  // end(row, unit, sums): for each row and unit of the block, its gates' sums side by side. If there is an end.of_block(row, first
  // unit, units, sums): then that, for each row.
  template <class End>
  UNROLL_KERNEL static void each(const FewRows& p, const End& end) {
    UNROLL_SHARED(sums, real[most][lines]);
    const int count = p.gates > 1 ? lines / 4 : lines;  // units
    const int64_t first_unit = int64_t{blockIdx.x} * count;
    for (int64_t first = 0; first < p.rows; first += most) {
      const int rows = static_cast<int>(p.rows - first < most ? p.rows - first : most);
      multiply(p, first_unit, first, rows, sums);
      for (int i = static_cast<int>(threadIdx.x); i < rows * count; i += few_rows_threads) {
        const int row = i / count, unit = i % count;
        if (first_unit + unit < p.width)
          end(first + row, first_unit + unit, &sums[row][p.gates > 1 ? 4 * unit : unit]);
      }
      if constexpr (requires { end.of_block(first, first_unit, count, sums[0]); }) {
        const int64_t left = p.width - first_unit;
        __syncthreads();
        for (int row = static_cast<int>(threadIdx.x); row < rows; row += few_rows_threads)
          end.of_block(first + row, first_unit, left < count ? static_cast<int>(left) : count, sums[row]);
      }
    }
  }

 private:
  // The place of a thread: it has `numbers` numbers of each turn, of `of_lane` lines.
  struct Place {
    int thread = static_cast<int>(threadIdx.x), lane = thread % warp_lanes,
        share = thread / warp_lanes * across + lane % across, line = lane / across;
    UNROLL_KERNEL int in_slab(int t) const { return t * turn + share * numbers; }
  };
  using Slab = PartOfLine<real>[most][slab / of_piece];
  using Mine = real[of_lane][most];

  UNROLL_KERNEL static void multiply(const FewRows& p, int64_t first_unit, int64_t first, int rows,
                                     real (&sums)[most][lines]) {
    UNROLL_SHARED(slab_of_x, Slab);
    const Place place;
    Mine mine = {};
    UNROLL_NOT
    for (int which = 0; which < 2; ++which) {
      const FewRows::Term term =
          which ? p.terms[1] : p.terms[0];  // an index would put the arguments on the stack
      if (!term.x) break;
      const PartOfLine<Number>* from[of_lane];
      UNROLL_ALL
      for (int i = 0; i < of_lane; ++i) from[i] = line_of(p, term, first_unit, place.line + i * in_warp);
      UNROLL_NOT
      for (int64_t begin = 0; begin < term.depth; begin += slab) {
        // The weights are on their way while the rows come.
        PartOfLine<Number> weights[turns][of_lane] = {};
        UNROLL_ALL
        for (int t = 0; t < turns; ++t) UNROLL_ALL
        for (int i = 0; i < of_lane; ++i) {
          const int k = place.in_slab(t);
          if (from[i] && k < slab && begin + k < term.depth) weights[t][i] = from[i][(begin + k) / numbers];
        }
        __syncthreads();
        bring(term, first, rows, begin, slab_of_x);
        __syncthreads();
        UNROLL_ALL
        for (int t = 0; t < turns; ++t)
          if (place.in_slab(t) < slab) add_products(weights[t], slab_of_x, place.in_slab(t), mine);
      }
    }
    add_shares(place, mine, sums);
  }

  // The rows' numbers from `begin` on, rounded; zeros where there are none.
  UNROLL_KERNEL static void bring(const FewRows::Term& term, int64_t first, int rows, int64_t begin,
                                  Slab& to) {
    for (int k = static_cast<int>(threadIdx.x); k < slab; k += few_rows_threads) {
      const int count = begin + k < term.depth ? rows : 0;
      const real* const x = term.x + first * term.depth + begin + k;
      UNROLL_ALL
      for (int r = 0; r < most; ++r)
        to[r][k / of_piece].numbers[k % of_piece] =
            r < count ? P::widened(P::rounded(x[r * term.depth])) : real{0};
    }
  }

  UNROLL_KERNEL static void add_products(const PartOfLine<Number> (&weights)[of_lane], const Slab& slab_of_x,
                                         int k, Mine& mine) {
    UNROLL_ALL
    for (int part = 0; part < numbers; part += of_piece) UNROLL_ALL
    for (int r = 0; r < most; ++r) {
      const PartOfLine<real> x = slab_of_x[r][(k + part) / of_piece];
      UNROLL_ALL
      for (int j = 0; j < of_piece; ++j) UNROLL_ALL
      for (int i = 0; i < of_lane; ++i) mine[i][r] += P::widened(weights[i].numbers[part + j]) * x.numbers[j];
    }
  }

  // So many rows at a time, as shared memory has room for. A warp's lanes write side by side, and rows are apart so that its threads
  // read from all banks.
  UNROLL_KERNEL static void add_shares(const Place& place, const Mine& mine, real (&sums)[most][lines]) {
    UNROLL_SHARED(of_share, real[together * of_lane][(shares + 1) * in_warp]);
    UNROLL_ALL
    for (int top = 0; top < most; top += together) {
      __syncthreads();
      UNROLL_ALL
      for (int i = 0; i < of_lane; ++i) UNROLL_ALL
      for (int r = 0; r < together; ++r)
        of_share[r * of_lane + i][place.share * in_warp + place.line] = mine[i][top + r];
      __syncthreads();
      for (int i = place.thread; i < lines * together; i += few_rows_threads) {
        const int row = i / lines, line = i % lines;
        const real* const parts = &of_share[row * of_lane + line / in_warp][line % in_warp];
        real sum = 0;
        UNROLL_ALL
        for (int share = 0; share < shares; ++share) sum += parts[share * in_warp];
        sums[top + row][line] = sum;
      }
    }
    __syncthreads();
  }

  // The numbers of a line of the block; null if it has none.
  UNROLL_KERNEL static const PartOfLine<Number>* line_of(const FewRows& p, const FewRows::Term& term,
                                                    int64_t first_unit, int line) {
    const int gate = p.gates > 1 ? line % 4 : 0;
    const int64_t unit = first_unit + (p.gates > 1 ? line / 4 : line);
    if (unit >= p.width || gate >= p.gates) return nullptr;
    const int64_t at = (gate * p.width + unit) * numbers_apart<P>(term.depth);
    return reinterpret_cast<const PartOfLine<Number>*>(static_cast<const Number*>(term.lines) + at);
  }
};

template <class P, int lines, int most, class End>
__global__ void UNROLL_THREADS(few_rows_threads) run_few_rows(FewRows product, End end) {
  FewRowsSums<P, lines, most>::each(product, end);
}

inline int processors() {
  int count = 0;
  gpu::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, gpu::use_device()),
             "cudaDeviceGetAttribute");
  return count;
}

// How a product is shared out: 16 lines a block if all processors have one then, else 4.
struct FewRowsBlocks {
  int64_t lines, units, count;
  explicit FewRowsBlocks(const FewRows& p) {
    const auto of = [&](int64_t some) {
      lines = some, units = p.gates > 1 ? lines / 4 : lines, count = (p.width + units - 1) / units;
    };
    of(16);
    if (count < processors()) of(4);
  }
};

// end: what follows the sums, as FewRowsSums::each calls it.
template <class P, class End>
void multiply_few_rows(const FewRows& p, const End& end) {
  for (const FewRows::Term& term : p.terms)
    if (term.x)
      given(term.x, p.rows * term.depth), given(static_cast<const typename P::Number*>(term.lines),
                                                p.gates * p.width * numbers_apart<P>(term.depth));
  const FewRowsBlocks blocks(p);
  const auto run = [&]<int lines, int most>() {
    launch(run_few_rows<P, lines, most, End>, static_cast<unsigned>(blocks.count), few_rows_threads, p, end);
  };
  if (p.rows <= 8)
    blocks.lines == 16 ? run.template operator()<16, 8>() : run.template operator()<4, 8>();
  else
    blocks.lines == 16 ? run.template operator()<16, 24>() : run.template operator()<4, 24>();
}

}  // namespace unroll::cuda
