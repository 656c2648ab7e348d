// The parts of products on processors with vectors: tiles of c in registers, and turning while packing.
#pragma once

#include <utility>

#include "framework/kernels/cpu/gemm_blocks.h"

namespace unroll::cpu::inline UNROLL_ISA {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64, registers = 32, other_registers = 4;
#elif defined(__AVX__)
constexpr int vector_bytes = 32, registers = 16, other_registers = 4;
#elif defined(__aarch64__)  // whose instructions take no factor from memory
constexpr int vector_bytes = 16, registers = 32, other_registers = 8;
#else
constexpr int vector_bytes = 16, registers = 16, other_registers = 4;
#endif
constexpr int W = vector_bytes / sizeof(real);  // elements of a vector
constexpr int tile_columns = 2 * W;
constexpr int tile_rows =
    (registers - other_registers) / 2;                   // 14, 12 or 6: sums fill all registers but these
constexpr int panel_rows = (tile_rows + W - 1) / W * W;  // of a packed panel of a: whole vectors

using Vector [[gnu::vector_size(vector_bytes)]] = real;
using Unaligned [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(real)), gnu::may_alias]] = real;

UNROLL_FORMULA Vector load(const real* p) { return *reinterpret_cast<const Unaligned*>(p); }
UNROLL_FORMULA void store(real* p, Vector v) { *reinterpret_cast<Unaligned*>(p) = v; }

// The sums [rows, tile_columns] of a tile that reaches beyond the last column of c.
template <class Element>
[[gnu::noinline]] void put_edge(const Tile<Element>& t, const real* sum) {
  for (int64_t i = 0; i < t.rows; ++i)
    for (int64_t j = 0; j < t.columns; ++j) {
      real& c = t.c[i * t.c_row + j];
      const real* from = t.addend.at(i, j).data;
      c = from ? *from + sum[i * tile_columns + j] : sum[i * tile_columns + j];
    }
}

// Kind::load(b) gives W columns of a panel; Kind::accumulate(sum, a, b) adds a's product with each.
//
// Panels of a that come from the last cache are fetched ahead by instruction: what a processor fetches by itself ends
// with each page, and a page of a panel is 64 steps. The rows of c are fetched in the first half of the steps, one
// after the other. A core waits for some sixteen lines at a time, and a few of them are a's and b's.
template <class Kind, int rows, int vectors>
[[gnu::noinline]] void multiply(const Tile<typename Kind::Element>& t) {
  using Element = typename Kind::Element;
  constexpr int64_t line = 64 / sizeof(Element), a_ahead = 64;
  Vector sum[rows][vectors] = {};
  const Element *a = t.a, *b = t.b;
  const auto add_step = [&](int l) __attribute__((always_inline)) {
    Vector y[vectors];
    for (int v = 0; v < vectors; ++v) y[v] = Kind::load(b + l * tile_columns + v * W);
    if (t.to_next != 0)
      for (int i = 0; i < tile_columns; i += line)
        __builtin_prefetch(b + t.to_next + l * tile_columns + i, 0, 2);  // into the second cache
    if (registers == 32) __builtin_prefetch(a + (l + a_ahead) * panel_rows);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      // Else gcc reads all factors first, and has no registers for them.
      if (other_registers > 4 && i % 4 == 0) asm volatile("" ::: "memory");
      for (int v = 0; v < vectors; ++v) Kind::accumulate(sum[i][v], a[l * panel_rows + i], y[v]);
    }
  };
  int64_t left = t.steps;
  const real *coming = t.c, *const last = t.c + rows * t.c_row;  // rows of c
  const int64_t pairs_a_row = left / (4 * rows) + 1;
  for (int64_t wait = 1; left >= 2; left -= 2) {
    if (--wait == 0 && coming < last) {
      fetch_row<vectors * W>(coming);
      coming += t.c_row, wait = pairs_a_row;
    }
    add_step(0), add_step(1);
    a += 2 * panel_rows, b += 2 * tile_columns;
  }
  if (left > 0) add_step(0);
  real edge[rows * tile_columns];
  const bool whole = t.columns == vectors * W;
  const real* from = whole ? t.addend.data : nullptr;
  real* c = whole ? t.c : edge;
  const int64_t c_row = whole ? t.c_row : tile_columns;
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i, c += c_row) {
    for (int v = 0; v < vectors; ++v) store(c + v * W, from ? load(from + v * W) + sum[i][v] : sum[i][v]);
    if (from) from += t.addend.row;
  }
  if (!whole) put_edge(t, edge);
}

template <class Kind, int rows = tile_rows>
void multiply_rows(const Tile<typename Kind::Element>& t) {
  if constexpr (rows > 1)
    if (t.rows < rows) return multiply_rows<Kind, rows - 1>(t);
  t.columns > W ? multiply<Kind, rows, 2>(t) : multiply<Kind, rows, 1>(t);
}

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

}  // namespace unroll::cpu::inline UNROLL_ISA
