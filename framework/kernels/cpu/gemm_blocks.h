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
//   panels of a, [KC, MR], that pass by from the second cache.
// * Both are packed: a panel lies in memory as it is read. Packing turns where k is not the slow dimension.
// * A block of c stays in the second cache until all of k is summed, or a good part of it. Where all
//   of a fits beside it, it is packed once, and b a few columns at a time.
// * Threads get shares of c, columns or rows, and pack what they need themselves: they meet once, at the end.
//
// An element of c is a sum of sums over KC numbers, each in order along k. KC depends on k alone, so the bits
// of c do not depend on threads, tiles or packing.
//
// What a tile is made of is the parameter P: float numbers, or pairs of bfloat16. It brings
//   Element         what a packed panel holds: a number, or two that are neighbours along k
//   MR, AR, NR      rows of a tile and of a packed panel of a; columns of both
//   MC              rows of a block of a
//   worth_a_thread  multiply-adds for which waking another thread pays
//   room            elements that packed blocks of a and b may take together
//   depth(k)        numbers along k in a block
//   steps(depth)    elements that they become
//   pack_a, pack_b(lines, count, height, depth, out)
//                   `count` lines into panels [steps, AR] or [steps, NR], `height` of them in each
//   without_packing(share)  where there is a way to do some products without; says whether it did this one
//   P(height)       for tiles of so many rows; made once for a share
//   multiply(tile)
#pragma once

#include "framework/kernels/cpu/launch.h"

namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// n in equal pieces of at most `most`: their size.
constexpr int64_t even(int64_t n, int64_t most) { return ceil_div(n, ceil_div(n, most)); }

// Number (i, l) at data[i * line + l * step]: a line is a row of a or a column of b, a step one along k.
struct Lines {
  const real* data;
  int64_t line, step;
  Lines at(int64_t i, int64_t l) const { return {data + i * line + l * step, line, step}; }
};
inline Lines rows_of(const Operand& a) { return {a.data, a.row, a.col}; }
inline Lines columns_of(const Operand& b) { return {b.data, b.col, b.row}; }

// What a tile reads and writes. Where b was packed whole, the panel that comes next lies behind this one.
template <class Element>
struct Tile {
  const Element *a, *b;
  int64_t steps;
  real* c;
  int64_t c_row, rows, columns;
  bool add;
};

// One thread's part of a product.
template <class P>
struct Share {
  Lines a, b;
  const typename P::Element* packed;  // b in panels, each [steps of all k, NR]; or null, and b is packed here
  int64_t m, n, k;
  real* c;
  int64_t c_row;
  bool add;
};

template <class P>
void compute(const Share<P>& s, typename P::Element* scratch) {
  using Element = typename P::Element;
  constexpr int64_t AR = P::AR, NR = P::NR;
  const int64_t height = even(s.m, P::MR), kc = P::depth(s.k), all_steps = P::steps(s.k);
  const int64_t a_column = ceil_div(s.m, height) * AR;  // elements at one step
  // Where all of a fits, it is packed once; and weights that were packed beforehand then pass by in the order
  // in which they lie in memory, since a batch of few rows meets them while they come from there.
  const bool a_fits = a_column * all_steps <= P::room * 2 / 3, streamed = a_fits && s.packed;
  const int64_t mc = a_fits ? s.m : P::MC / P::MR * height;
  Element* const panels = scratch + (a_fits ? a_column * all_steps : P::MC / P::MR * AR * P::steps(kc));
  // A block of c stays until `kept` of k is summed: as much as leaves room for several panels of b.
  const int64_t kept = streamed ? s.k : smaller(s.k, 4 * kc);
  const int64_t fitting = (scratch + P::room - panels) / (NR * P::steps(kept));
  // Where rows are few, panels are used before they leave the first caches.
  const int64_t nc = streamed ? NR : even(ceil_div(s.n, NR), a_fits ? smaller(fitting, 4) : fitting) * NR;

  const P tiles(height);
  const auto pack_rows = [&](int64_t top, int64_t l, Element* out) {
    P::pack_a(s.a.at(top, l), smaller(mc, s.m - top), height, smaller(kc, s.k - l), out);
  };
  if (a_fits)
    for (int64_t l = 0; l < s.k; l += kc) pack_rows(0, l, scratch + a_column * P::steps(l));
  for (int64_t front = 0; front < s.k; front += kept)
    for (int64_t left = 0; left < s.n; left += nc)
      for (int64_t top = 0; top < s.m; top += mc)
        for (int64_t l = front; l < smaller(front + kept, s.k); l += kc) {
          const int64_t right = smaller(left + nc, s.n), depth = smaller(kc, s.k - l),
                        steps = P::steps(depth);
          Element *a = scratch, *b = panels + nc * P::steps(l - front);
          if (a_fits)
            a += a_column * P::steps(l);
          else
            pack_rows(top, l, a);
          if (!s.packed && top == 0) P::pack_b(s.b.at(left, l), right - left, NR, depth, b);
          for (int64_t j = left; j < right; j += NR) {
            Tile<Element> t{
                .a = a,
                .b = s.packed ? s.packed + j * all_steps + P::steps(l) * NR : b + (j - left) * steps,
                .steps = steps,
                .c = s.c + top * s.c_row + j,
                .c_row = s.c_row,
                .rows = 0,
                .columns = smaller(NR, s.n - j),
                .add = s.add || l > 0};
            const int64_t bottom = smaller(top + mc, s.m);
            for (int64_t i = top; i < bottom; i += height, t.a += AR * steps, t.c += height * s.c_row) {
              t.rows = smaller(height, bottom - i);
              tiles.multiply(t);
            }
          }
        }
}

// The shares side by side, or below one another where c is tall.
template <class P>
void share_out(const Share<P>& all, void* scratch, int threads) {
  const int64_t panels = ceil_div(all.n, P::NR);
  const bool by_rows = all.m > all.n;
  const int64_t most =
      smaller(by_rows ? ceil_div(all.m, P::MR) : panels, all.m * all.n * all.k / P::worth_a_thread);
  const int64_t shares = smaller(threads, most < 1 ? 1 : most);
  spread(shares, shares * worth_threads, [=](int64_t i) {
    Share<P> s = all;
    if (by_rows) {
      const int64_t begin = all.m * i / shares, end = all.m * (i + 1) / shares;
      s.a = all.a.at(begin, 0), s.m = end - begin, s.c += begin * s.c_row;
    } else {
      const int64_t begin = panels * i / shares * P::NR,
                    end = smaller(panels * (i + 1) / shares * P::NR, all.n);
      s.b = all.b.at(begin, 0), s.n = end - begin, s.c += begin;
      if (s.packed) s.packed += begin * P::steps(all.k);
    }
    if constexpr (requires { P::without_packing(s); })
      if (P::without_packing(s)) return;
    compute(s, static_cast<typename P::Element*>(scratch) + i * P::room);
  });
}

// The kernels for the table.
template <class P>
Products products_of() {
  using Element = typename P::Element;
  return {
      .gemm =
          [](const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
             bool add, void* scratch, int threads) {
            share_out<P>({rows_of(a), columns_of(b), nullptr, m, n, k, c, c_row, add}, scratch, threads);
          },
      .gemm_packed =
          [](const Operand& a, const void* b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
             bool add, void* scratch, int threads) {
            share_out<P>({rows_of(a), {}, static_cast<const Element*>(b), m, n, k, c, c_row, add}, scratch,
                         threads);
          },
      .pack =
          [](const Operand& b, int64_t k, int64_t n, void* packed) {
            const Lines columns = columns_of(b);
            Element* const out = static_cast<Element*>(packed);
            constexpr int64_t some = 8 * P::NR;  // together, so that rows are read in long pieces
            spread(ceil_div(n, some), k * n, [=](int64_t i) {
              const int64_t j = i * some;
              P::pack_b(columns.at(j, 0), smaller(some, n - j), P::NR, k, out + j * P::steps(k));
            });
          },
      .packed_bytes =
          [](int64_t k, int64_t n) {
            return ceil_div(n, P::NR) * P::NR * P::steps(k) * static_cast<int64_t>(sizeof(Element));
          },
      .scratch_bytes = P::room * static_cast<int64_t>(sizeof(Element)),
  };
}

}  // namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA
