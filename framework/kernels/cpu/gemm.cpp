// Matrix products: packed operands, blocks that fit the caches, and tiles of c in registers.
//
//            n (one thread's share)                     k                        n
//        ┌──────┬──┬──┬──────────┐             ┌─────┬──────┐          ┌──────┬──┬──┬───────┐
//        │      │  │  │          │             │     │      │       KC │      │  │B │       │
//      m │      ├──┼──┤          │  +=       MC│     │░░A░░░│  times   ├──────┴──┴──┴───────┤ k
//        │      │  │C │ tile     │             │     ├──────┤          │       panels,      │
//        │      └──┴──┘          │             │     │  KC  │          │      NR columns    │
//        └───────────────────────┘             └─────┴──────┘          └────────────────────┘
//
// * A tile of c, up to MR rows by NR columns, is summed in registers over KC steps along k.
// * It reads a panel of b, [KC, NR], from the first cache, where it stays for all tiles below one another, and
//   a panel of a, [KC, MR], of a block of MC rows that stays in the second cache.
// * Both are packed: a panel lies in memory as it is read. Packing turns where k is not the slow dimension.
// * Threads get shares of c, columns or rows, and pack what they need themselves: they meet once, at the end.
//
// An element of c is a sum of sums over KC steps, each in order along k. KC depends on k alone, so the bits
// of c do not depend on threads, tiles or packing.
#include <utility>

#include "framework/kernels/cpu/fill.h"
#include "framework/kernels/cpu/launch.h"

namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64, registers = 32;
#elif defined(__AVX__)
constexpr int vector_bytes = 32, registers = 16;
#else
constexpr int vector_bytes = 16, registers = 16;
#endif
constexpr int W = vector_bytes / sizeof(real);  // elements of a vector
constexpr int NR = 2 * W;                       // columns of a tile
constexpr int MR = (registers - 4) / 2;   // rows of a tile: 14 or 6; its sums fill the registers but four
constexpr int AR = (MR + W - 1) / W * W;  // rows of a packed panel of a, as whole vectors
constexpr int64_t KC = 256, NC = 1024;    // a panel of b: 32 KiB; all that are kept: 1 MiB
constexpr int64_t MC = 72 / MR * MR;      // a block of a: at most 80 KiB

using Vector [[gnu::vector_size(vector_bytes)]] = real;
using Unaligned [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(real)), gnu::may_alias]] = real;

UNROLL_FORMULA Vector load(const real* p) { return *reinterpret_cast<const Unaligned*>(p); }
UNROLL_FORMULA void store(real* p, Vector v) { *reinterpret_cast<Unaligned*>(p) = v; }

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// n in equal pieces of at most `most`: their size.
constexpr int64_t even(int64_t n, int64_t most) { return ceil_div(n, ceil_div(n, most)); }

// --- tiles -------------------------------------------------------------------------------------------------

// What a tile reads and writes. a(i, l) lies at a[i * a_row + l], or at a[i + l * AR] in a packed panel.
struct Tile {
  const real *a, *b;
  int64_t a_row, k;
  real* c;
  int64_t c_row, columns;
  bool add;
};

// The sums [rows, NR] of a tile that reaches beyond the last column of c.
[[gnu::noinline]] void put_edge(const Tile& t, int rows, const real* sum) {
  for (int i = 0; i < rows; ++i)
    for (int64_t j = 0; j < t.columns; ++j) {
      real& c = t.c[i * t.c_row + j];
      c = t.add ? c + sum[i * NR + j] : sum[i * NR + j];
    }
}

template <int rows, int vectors, bool packed>
[[gnu::noinline]] void multiply(const Tile& t) {
  Vector sum[rows][vectors] = {};
  const real *a = t.a, *b = t.b;
  const int64_t a_row = t.a_row;
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v) __builtin_prefetch(t.c + i * t.c_row + v * W, 1);
  for (int64_t l = 0; l < t.k; ++l, a += packed ? AR : 1, b += NR) {
    Vector y[vectors];
    for (int v = 0; v < vectors; ++v) y[v] = load(b + v * W);
    if (packed) __builtin_prefetch(a + 16 * AR);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i)
      for (int v = 0; v < vectors; ++v) sum[i][v] += a[packed ? i : i * a_row] * y[v];
  }
  real edge[rows * NR];
  const bool whole = t.columns == vectors * W, add = whole && t.add;
  real* c = whole ? t.c : edge;
  const int64_t c_row = whole ? t.c_row : NR;
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i, c += c_row)
    for (int v = 0; v < vectors; ++v) store(c + v * W, add ? load(c + v * W) + sum[i][v] : sum[i][v]);
  if (!whole) put_edge(t, rows, edge);
}

template <bool packed, int rows = MR>
void multiply(int64_t count, const Tile& t) {
  if constexpr (rows > 1)
    if (count < rows) return multiply<packed, rows - 1>(count, t);
  t.columns > W ? multiply<rows, 2, packed>(t) : multiply<rows, 1, packed>(t);
}

// --- packing -----------------------------------------------------------------------------------------------

// Element (i, l) at data[i * line + l * step]: a line is a row of a or a column of b, a step one along k.
struct Lines {
  const real* data;
  int64_t line, step;
  Lines at(int64_t i, int64_t l) const { return {data + i * line + l * step, line, step}; }
};
Lines rows_of(const Operand& a) { return {a.data, a.row, a.col}; }
Lines columns_of(const Operand& b) { return {b.data, b.col, b.row}; }

// x0 y0 x1 y1 … of two vectors, from element `first` of each on.
template <int first, int... i>
UNROLL_FORMULA Vector interleaved(Vector x, Vector y, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(x, y, (first + i / 2 + i % 2 * W)...);
}

// v[i][j] to v[j][i]: each round interleaves the first half of the vectors with the second.
UNROLL_FORMULA void turn(Vector (&v)[W]) {
  constexpr std::make_integer_sequence<int, W> elements;
#pragma GCC unroll 4
  for (int round = 1; round < W; round *= 2) {
    Vector next[W];
#pragma GCC unroll 8
    for (int i = 0; i < W / 2; ++i) {
      next[2 * i] = interleaved<0>(v[i], v[i + W / 2], elements);
      next[2 * i + 1] = interleaved<W / 2>(v[i], v[i + W / 2], elements);
    }
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) v[i] = next[i];
  }
}

// `count` lines over k steps into out [k, width]. What is beside them there does not matter, but is no
// denormal number.
template <int width>
void pack(const Lines& x, int64_t count, int64_t k, real* out) {
  if (x.step == 1 && k >= W) {
    for (int part = 0; part < width; part += W)
      for (int64_t next = 0; next < k; next += W) {
        const int64_t l = smaller(next, k - W);
        Vector v[W];
#pragma GCC unroll 16
        for (int i = 0; i < W; ++i) v[i] = load(x.data + smaller(part + i, count - 1) * x.line + l);
        turn(v);
#pragma GCC unroll 16
        for (int i = 0; i < W; ++i) store(out + (l + i) * width + part, v[i]);
      }
    return;
  }
  // Whole vectors where they end within the matrix, if not within the panel.
  const int64_t straight = x.line != 1 ? 0 : count == width ? k : x.step >= width ? k - 1 : 0;
  for (int64_t l = 0; l < straight; ++l)
    for (int part = 0; part < width; part += W)
      store(out + l * width + part, load(x.data + l * x.step + part));
  for (int64_t l = straight; l < k; ++l)
    for (int i = 0; i < width; ++i) out[l * width + i] = i < count ? x.data[i * x.line + l * x.step] : 0;
}

// --- one thread's share ------------------------------------------------------------------------------------

struct Share {
  Lines a, b;
  const real* packed;  // b in panels, each [k, NR]; or null, and b is packed here
  int64_t m, n, k;
  real* c;
  int64_t c_row;
  bool add;
};

constexpr int64_t scratch_size = MC / MR * AR * KC + NC * KC;

void compute(const Share& s, real* scratch) {
  real *a_block = scratch, *b_panels = scratch + MC / MR * AR * KC;
  const int64_t kc = even(s.k, KC), tile_rows = even(s.m, MR), mc = MC / MR * tile_rows;
  const bool one_block = s.m <= mc;  // of a: a panel of b is used up before the next one is packed
  const bool in_place = s.m <= 2 * MR && s.a.step == 1;  // so few rows of a are read where they are
  for (int64_t l = 0; l < s.k; l += kc) {
    const int64_t depth = smaller(kc, s.k - l), nc = one_block ? s.n : NC;
    for (int64_t block = 0; block < s.n; block += nc) {
      for (int64_t top = 0; top < s.m; top += mc) {
        const int64_t bottom = smaller(top + mc, s.m);
        if (!in_place)
          for (int64_t i = top; i < bottom; i += tile_rows)
            pack<AR>(s.a.at(i, l), smaller(tile_rows, bottom - i), depth,
                     a_block + (i - top) / tile_rows * AR * depth);
        for (int64_t j = block; j < smaller(block + nc, s.n); j += NR) {
          const int64_t columns = smaller(NR, s.n - j);
          real* panel = b_panels + (one_block ? 0 : (j - block) * depth);
          if (!s.packed && top == 0) pack<NR>(s.b.at(j, l), columns, depth, panel);
          Tile tile{.a = a_block,
                    .b = s.packed ? s.packed + j * s.k + l * NR : panel,
                    .a_row = s.a.line,
                    .k = depth,
                    .c = s.c + top * s.c_row + j,
                    .c_row = s.c_row,
                    .columns = columns,
                    .add = s.add || l > 0};
          for (int64_t i = top; i < bottom; i += tile_rows, tile.c += tile_rows * s.c_row) {
            const int64_t rows = smaller(tile_rows, bottom - i);
            if (in_place) {
              tile.a = s.a.at(i, l).data;
              multiply<false>(rows, tile);
            } else {
              multiply<true>(rows, tile);
              tile.a += AR * depth;
            }
          }
        }
      }
    }
  }
}

// --- kernels -----------------------------------------------------------------------------------------------

// Multiply-adds for which waking another thread pays.
constexpr int64_t worth_a_thread = 1 << 21;

void share_out(const Share& all, real* scratch, int threads) {
  const int64_t panels = ceil_div(all.n, NR);
  const bool by_rows = all.m > all.n;
  const int64_t most =
      smaller(by_rows ? ceil_div(all.m, MR) : panels, all.m * all.n * all.k / worth_a_thread);
  const int64_t shares = smaller(threads, most < 1 ? 1 : most);
  spread(shares, shares * worth_threads, [=](int64_t i) {
    Share s = all;
    if (by_rows) {
      const int64_t begin = all.m * i / shares, end = all.m * (i + 1) / shares;
      s.a = all.a.at(begin, 0), s.m = end - begin, s.c += begin * s.c_row;
    } else {
      const int64_t begin = panels * i / shares * NR, end = smaller(panels * (i + 1) / shares * NR, all.n);
      s.b = all.b.at(begin, 0), s.n = end - begin, s.c += begin;
      if (s.packed) s.packed += begin * s.k;
    }
    compute(s, scratch + i * scratch_size);
  });
}

void gemm(const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
          bool add, real* scratch, int threads) {
  share_out({rows_of(a), columns_of(b), nullptr, m, n, k, c, c_row, add}, scratch, threads);
}

void gemm_packed(const Operand& a, const real* b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
                 bool add, real* scratch, int threads) {
  share_out({rows_of(a), {}, b, m, n, k, c, c_row, add}, scratch, threads);
}

int64_t packed_size(int64_t k, int64_t n) { return ceil_div(n, NR) * NR * k; }

void pack_matrix(const Operand& b, int64_t k, int64_t n, real* packed) {
  const Lines columns = columns_of(b);
  spread(ceil_div(n, NR), k * n, [=](int64_t i) {
    pack<NR>(columns.at(i * NR, 0), smaller(NR, n - i * NR), k, packed + i * NR * k);
  });
}

}  // namespace

void fill_gemm(Kernels& k) noexcept {
  k.gemm_scratch = scratch_size;
  k.gemm = gemm;
  k.packed_size = packed_size;
  k.pack = pack_matrix;
  k.gemm_packed = gemm_packed;
}

}  // namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA
