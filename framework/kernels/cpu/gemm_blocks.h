// Matrix products: packed operands, blocks that fit the caches, and tiles of c in registers.
//
//            n (one thread's share)                     k                        n
//        ┌──────┬──┬──┬──────────┐             ┌─────┬──────┐          ┌──────┬──┬──┬───────┐
//        │      │  │  │          │             │     │      │       KC │      │  │B │       │
//      m │      ├──┼──┤          │  +=       mc│     │░░A░░░│  times   ├──────┴──┴──┴───────┤ k
//        │      │  │C │ tile     │             │     ├──────┤          │    nc, in panels   │
//        │      └──┴──┘          │             │     │  KC  │          │   of NR columns    │
//        └───────────────────────┘             └─────┴──────┘          └────────────────────┘
//
// * A tile of c, up to MR rows by NR columns, is summed in registers over KC steps along k.
// * It reads a panel of b, [KC, NR], which stays for all tiles below one another in the first cache, or, where KC is large
//   so that c is written less often, in the second, and panels of a, [KC, MR], that pass by from the second cache, where mc
//   rows of them stay for nc columns.
// * Both are packed: a panel lies in memory as it is read. Packing turns where k is not the slow dimension.
// * All of a is packed, as far as there is room, and b nc columns at a time, whose part of c stays near until all that was
//   packed of a is summed. If b is small, all of it is packed, and a piece by piece.
// * Threads pack the operand of fewer lines together, once. Then each takes pieces of c, columns or rows, one after the other,
//   and packs what these need of the other operand: a thread that is slow takes fewer.
// * Small products are cut into a share for each thread, which packs what it needs itself: they meet once, at the end. If k
//   is long beside c, two threads share its halves instead: then neither packs what the other does.
//
// An element of c is a sum of sums over KC numbers, each in order along k, or two such sums, one for each half of k.
// KC depends on k alone, and whether k is halved on the sizes of the product, so the bits of c do not depend on
// threads or tiles. Nor do they depend on whether b was packed beforehand, unless k is halved: with such a b it is
// not. (A way to do without packing may have an order of its own.)
//
// The parameter P says what a tile is made of: float numbers, or pairs of bfloat16. It brings
//   Element         what a packed panel holds: a number, or two that are neighbours along k
//   MR, AR, NR      rows of a tile and of a packed panel of a; columns of both
//   worth_a_thread  multiply-adds for which waking another thread pays
//   near            elements of b, or of a piece of a beside a small b, that stay in the second cache while they are used
//   a_at_once       elements of a that meet those of b before others come
//   few             elements of one of them that may stay there beside that
//   most            elements of a that are packed at once
//   second_sums     elements of c, at most, for which k may be halved
//   depth(k)        numbers along k in a block
//   steps(depth)    elements that they become
//   pack_a, pack_b(lines, count, height, depth, out)
//                   `count` lines into panels [steps, AR] or [steps, NR], `height` of them in each
//   without_packing(share)  where there is a way to do some products without; says whether it did this one
//   P(height)       for tiles of so many rows; made once for a share
//   multiply(tile)
#pragma once

#include "framework/kernels/cpu/launch.h"

namespace unroll::cpu::inline UNROLL_ISA {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// n in equal pieces of at most `most`: their size.
constexpr int64_t even(int64_t n, int64_t most) { return ceil_div(n, ceil_div(n, most)); }

// Sizes of P, of elements of four bytes.
struct UsualSizes {
  static constexpr int64_t worth_a_thread = 1 << 19;
  static constexpr int64_t near = 96 * 1024, a_at_once = near;   // 384 KiB
  static constexpr int64_t few = 256 * 1024, most = 576 * 1024;  // 1 and 2.25 MiB
  static constexpr int64_t second_sums = 544 * 1024;             // 2.1 MiB
};

// Number (i, l) at data[i * line + l * step]: a line is a row of a or a column of b, a step one along k.
struct Lines {
  const real* data;
  int64_t line, step;
  Lines at(int64_t i, int64_t l) const { return {data + i * line + l * step, line, step}; }
};
inline Lines rows_of(const Operand& a) { return {a.data, a.row, a.col}; }
inline Lines columns_of(const Operand& b) { return {b.data, b.col, b.row}; }

// Asks for the lines of so many numbers of c, which is about to be written. If the first does not begin with a line,
// the last is on one more.
template <int columns>
UNROLL_FORMULA void fetch_row(const real* c) {
  constexpr int line = 64 / sizeof(real);
  for (int j = 0; j < columns; j += line) __builtin_prefetch(c + j, 1);
  __builtin_prefetch(c + columns - 1, 1);
}

// A tile's operands and result.
template <class Element>
struct Tile {
  const Element *a, *b;
  int64_t steps;
  real* c;
  int64_t c_row, rows, columns;
  Addend addend;
  int64_t to_next;  // from b to what is read of it next, where it was packed beforehand and so is far; or 0
};

// One thread's part of a product.
template <class P>
struct Share {
  Lines a, b;
  const typename P::Element* packed;  // b in panels, each [steps of all k, NR]; or null, and b is packed here
  int64_t m, n, k;
  real* c;
  int64_t c_row;
  Addend addend;
  const typename P::Element* packed_a =
      nullptr;        // all of a, block by block along k; or null, and it is packed here
  int64_t depth = 0;  // of a block, where this is a part of k; or 0: as of all

  // The part with rows, or columns, begin … end-1 of c.
  Share rows(int64_t begin, int64_t end) const {
    Share part = *this;
    part.a = a.at(begin, 0), part.m = end - begin;
    part.c += begin * c_row, part.addend = addend.at(begin, 0);
    return part;
  }
  Share columns(int64_t begin, int64_t end) const {
    Share part = *this;
    part.b = b.at(begin, 0), part.n = end - begin;
    part.c += begin, part.addend = addend.at(0, begin);
    return part;
  }
};

// Elements of scratch for one thread: packed operands, and behind them, where k is halved, sums of a second half, or else its
// part of what threads pack together.
template <class P>
constexpr int64_t operands = P::near + P::most;
constexpr int64_t together = 832 * 1024;
template <class P>
constexpr int64_t room = operands<P> + together;

// How a share is cut, so that what was packed stays near while it is read.
template <class P>
struct Blocks {
  int64_t height;      // of a tile
  int64_t depth;       // of a tile, along k
  int64_t kept, rows;  // so much of a is packed at once: `rows` of it and, of k, `kept`
  int64_t mc, nc;      // so many rows meet so many columns of b, before others come
  bool once;           // all columns at once, and for the other rows they stay packed
  int64_t b_room;      // elements of scratch for b; behind them a is packed

  explicit Blocks(const Share<P>& s)
      : height(even(s.m, P::MR)), depth(s.depth > 0 ? s.depth : P::depth(s.k)) {
    constexpr int64_t AR = P::AR, NR = P::NR;
    const int64_t steps = P::steps(depth), all_tiles = ceil_div(s.m, height), all_panels = ceil_div(s.n, NR);
    // So many pieces, of `size` elements each, fit.
    const auto fitting = [](int64_t space, int64_t size) { return space < size ? 1 : space / size; };
    // All rows; where one block of k is too much of them, fewer.
    kept = smaller(s.k, fitting(P::most, all_tiles * AR * steps) * depth);
    int64_t tiles = even(all_tiles, fitting(P::most, AR * P::steps(kept)));
    if (s.packed_a) kept = s.k, tiles = all_tiles;
    int64_t panels = even(all_panels, fitting(P::near, NR * steps));
    const bool few = tiles * AR * P::steps(kept) <= P::few;
    // An operand that is read once is packed shortly before, no more of it than stays near, beside a b that does.
    once = !few && !s.packed_a && all_panels * NR * steps <= P::few;
    if (once) {
      kept = all_panels * NR * P::steps(s.k) <= P::few ? s.k : depth;
      tiles = even(all_tiles, fitting(P::near, AR * P::steps(kept)));
      panels = all_panels;
    }
    b_room = s.packed ? 0 : once ? panels * NR * P::steps(kept) : P::near;
    rows = tiles * height;
    // If a has few rows in all, these stay. Weights that were packed beforehand pass by in the order in which they
    // lie in memory: a batch of few rows meets them while they come from there.
    mc = few ? rows : fitting(P::a_at_once, AR * steps) * height;
    nc = few && s.packed ? NR : panels * NR;
  }
};

template <class P>
void compute(const Share<P>& s, typename P::Element* scratch) {
  using Element = typename P::Element;
  constexpr int64_t AR = P::AR, NR = P::NR;
  const auto [height, kc, kept, rows, mc, nc, once, b_room] = Blocks<P>(s);
  const int64_t all_steps = P::steps(s.k), b_column = ceil_div(s.n, NR) * NR;  // elements at one step
  const P tiles(height);
  // Weights that were packed beforehand pass by at each step of a recurrence: from the other end than last time, so that
  // those come first that were read last and are still near.
  thread_local bool backwards = false;
  const bool in_turns = s.packed && nc == NR, from_right = in_turns && (backwards = !backwards);
  const int64_t last = (s.n - 1) / nc * nc;
  for (int64_t front = 0; front < s.k; front += kept)
    for (int64_t top = 0; top < s.m; top += rows) {
      const int64_t back = smaller(front + kept, s.k), bottom = smaller(top + rows, s.m);
      const int64_t a_column = ceil_div(bottom - top, height) * AR;
      const Element* const packed_a = s.packed_a ? s.packed_a : scratch + b_room;
      const auto a_block = [&](int64_t l) { return a_column * P::steps(l - front); };
      // `once` by name: clang before 16 captures no structured binding.
      const auto b_from = [&, once = once](int64_t l) {
        return scratch + (once ? b_column * P::steps(l - front) : 0);
      };
      for (int64_t l = front; l < back && !s.packed_a; l += kc)
        P::pack_a(s.a.at(top, l), bottom - top, height, smaller(kc, back - l), scratch + b_room + a_block(l));
      const bool packs_b = !s.packed && (top == 0 || !once);
      for (int64_t passed = 0; passed < s.n; passed += nc) {
        const int64_t left = from_right ? last - passed : passed, right = smaller(left + nc, s.n);
        for (int64_t l = front; l < back; l += kc) {
          const int64_t depth = smaller(kc, back - l), steps = P::steps(depth);
          if (packs_b) P::pack_b(s.b.at(left, l), right - left, NR, depth, b_from(l));
          for (int64_t upper = top; upper < bottom; upper += mc)
            for (int64_t j = left; j < right; j += NR) {
              Tile<Element> t{.a = packed_a + a_block(l) + (upper - top) / height * AR * steps,
                              .b = s.packed ? s.packed + j * all_steps + P::steps(l) * NR
                                            : b_from(l) + (j - left) * steps,
                              .steps = steps,
                              .c = s.c + upper * s.c_row + j,
                              .c_row = s.c_row,
                              .rows = 0,
                              .columns = smaller(NR, s.n - j),
                              .addend = l > 0 ? Addend{s.c, s.c_row} : s.addend,
                              .to_next = 0};
              // Behind this block lies the panel's next one, or the next panel; from the right that begins two panels before.
              if (s.packed && (l + kc < s.k || (!from_right && j + NR < s.n)))
                t.to_next = steps * NR;
              else if (s.packed && from_right && j > 0)
                t.to_next = (steps - 2 * all_steps) * NR;
              t.addend = t.addend.at(upper, j);
              const int64_t lower = smaller(upper + mc, bottom);
              for (int64_t i = upper; i < lower; i += height, t.a += AR * steps, t.c += height * s.c_row,
                           t.addend = t.addend.at(height, 0), t.to_next = 0) {
                t.rows = smaller(height, lower - i);
                tiles.multiply(t);
              }
            }
        }
      }
    }
}

constexpr int64_t long_k = 4096;  // as it is where the gradient of logits meets their weights

// work(i, taker) for i in 0 … pieces-1: takers, a thread each, take one after the other until none is left.
template <class Work>
void each_piece(int64_t pieces, int64_t takers, Work work) {
  int64_t first_left = 0;
  int64_t* const left = &first_left;
  spread(takers, takers * worth_threads, [=](int64_t taker) {
    for (int64_t i = 0; (i = __atomic_fetch_add(left, 1, __ATOMIC_RELAXED)) < pieces;) work(i, taker);
  });
}

// Lines `begin` … end-1 of `count`, in tiles or panels of `height`: piece i of so many.
struct Piece {
  Piece(int64_t count, int64_t height, int64_t i, int64_t pieces)
      : begin(ceil_div(count, height) * i / pieces * height),
        end(smaller(ceil_div(count, height) * (i + 1) / pieces * height, count)) {}
  int64_t begin, end;
  // How many: no smaller than `least` lines, and some for each taker.
  static int64_t pieces(int64_t count, int64_t height, int64_t least, int64_t takers) {
    return smaller(ceil_div(ceil_div(count, height), ceil_div(least, height)), 8 * takers);
  }
};

// Threads pack the operand of fewer lines together: b if c is tall. Then they take pieces of c, one part of k after
// the other, so that what was packed stays near for all of them. Returns false if there is too little room.
template <class P>
bool share_in_pieces(const Share<P>& all, typename P::Element* scratch, int threads, int64_t takers) {
  using Element = typename P::Element;
  constexpr int64_t some = 64;  // lines that are worth a piece
  const bool by_rows = all.m > all.n;
  const int64_t height = even(all.m, P::MR), kc = P::depth(all.k);
  const int64_t own = by_rows ? P::most : P::near;
  Element* const packed = scratch + threads * own;
  const int64_t a_column = ceil_div(all.m, height) * P::AR, b_column = ceil_div(all.n, P::NR) * P::NR;
  const int64_t of_block = (by_rows ? b_column : a_column) * P::steps(kc);
  if (of_block > threads * (room<P> - own)) return false;
  const int64_t part = (of_block < P::few ? P::few / of_block : 1) * kc;
  for (int64_t front = 0; front < all.k; front += part) {
    Share<P> s = all;
    s.a = all.a.at(0, front), s.b = all.b.at(0, front), s.k = smaller(part, all.k - front), s.depth = kc;
    if (front > 0) s.addend = {all.c, all.c_row};
    if (by_rows) {
      const int64_t packings = Piece::pieces(s.n, P::NR, 1, takers);
      each_piece(packings, takers, [=](int64_t i, int64_t) {
        const Piece of_b(s.n, P::NR, i, packings);
        P::pack_b(s.b.at(of_b.begin, 0), of_b.end - of_b.begin, P::NR, s.k,
                  packed + of_b.begin * P::steps(s.k));
      });
      const int64_t pieces = Piece::pieces(s.m, height, some, takers);
      each_piece(pieces, takers, [=](int64_t i, int64_t taker) {
        const auto [begin, end] = Piece(s.m, height, i, pieces);
        Share<P> one = s.rows(begin, end);
        one.packed = packed;
        compute(one, scratch + taker * own);
      });
    } else {
      const int64_t packings = Piece::pieces(s.m, height, 1, takers), blocks = ceil_div(s.k, kc);
      each_piece(packings * blocks, takers, [=](int64_t i, int64_t) {
        const Piece of_a(s.m, height, i % packings, packings);
        const int64_t l = i / packings * kc, depth = smaller(kc, s.k - l);
        P::pack_a(s.a.at(of_a.begin, l), of_a.end - of_a.begin, height, depth,
                  packed + a_column * P::steps(l) + of_a.begin / height * P::AR * P::steps(depth));
      });
      const int64_t pieces = Piece::pieces(s.n, P::NR, some, takers);
      each_piece(pieces, takers, [=](int64_t i, int64_t taker) {
        const auto [begin, end] = Piece(s.n, P::NR, i, pieces);
        Share<P> one = s.columns(begin, end);
        one.packed_a = packed;
        compute(one, scratch + taker * own);
      });
    }
  }
  return true;
}

// Pieces of c; or of a small product shares, side by side, or below one another where c is tall; for each half of k, where there
// are two.
template <class P>
void share_out(const Share<P>& all, void* scratch, int threads) {
  using Element = typename P::Element;
  static_assert(sizeof(Element) == sizeof(real) && P::few <= P::most && P::second_sums <= together);
  const int64_t panels = ceil_div(all.n, P::NR), c_size = all.m * all.n;
  const bool by_rows = all.m > all.n;
  const bool halved = !all.packed && all.k >= long_k && all.k >= 8 * smaller(all.m, all.n) &&
                      c_size <= P::second_sums && c_size * all.k >= 2 * P::worth_a_thread;
  const int64_t halves = halved ? 2 : 1, middle = ceil_div(all.k, 64) * 32;
  const auto at_least_one = [](int64_t n) { return n < 1 ? int64_t{1} : n; };
  const int64_t pieces = by_rows ? ceil_div(all.m, P::MR) : panels,
                worth = c_size * all.k / P::worth_a_thread;
  const int64_t shares = smaller(pieces, at_least_one(smaller(threads, worth) / halves));  // of each half
  Element* const first_scratch = static_cast<Element*>(scratch);
  if (shares > 1 && !all.packed && !halved && worth >= 8 && smaller(all.m, all.n) >= 64 &&
      share_in_pieces(all, first_scratch, threads, shares))
    return;
  real* const second_sums = reinterpret_cast<real*>(first_scratch + operands<P>);
  // One thread does both halves, one after the other, with one thread's scratch.
  spread(halves * shares, threads > 1 ? halves * shares * worth_threads : 0, [=](int64_t task) {
    Share<P> s = all;
    if (halved && task < shares) s.k = middle;
    if (task >= shares) {
      s.a = all.a.at(0, middle), s.b = all.b.at(0, middle), s.k = all.k - middle;
      s.c = second_sums, s.c_row = all.n, s.addend = {};
    }
    const int64_t i = task % shares;
    if (by_rows) {
      s = s.rows(all.m * i / shares, all.m * (i + 1) / shares);
    } else {
      const int64_t begin = panels * i / shares * P::NR,
                    end = smaller(panels * (i + 1) / shares * P::NR, all.n);
      s = s.columns(begin, end);
      if (s.packed) s.packed += begin * P::steps(all.k);
    }
    if constexpr (requires { P::without_packing(s); })
      if (P::without_packing(s)) return;
    compute(s, first_scratch + task % threads * room<P>);
  });
  if (halved)
    each_row(all.m, all.n, 1, [=](int64_t i) {
      for (int64_t j = 0; j < all.n; ++j) all.c[i * all.c_row + j] += second_sums[i * all.n + j];
    });
}

// The kernels for the table.
template <class P>
Products products_of() {
  using Element = typename P::Element;
  return {
      .gemm =
          [](const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
             const Addend& addend, void* scratch, int threads) {
            const auto* const packed = static_cast<const Element*>(b.packed);
            share_out<P>({rows_of(a), columns_of(b), packed, m, n, k, c, c_row, addend}, scratch, threads);
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
      .scratch_bytes = room<P> * static_cast<int64_t>(sizeof(Element)),
  };
}

// The table, whose products in bfloat16 are those of this instruction set.
template <class P>
Kernels with_bf16(Kernels k) {
  k.name = UNROLL_NAME(UNROLL_ISA);
  k.bf16 = products_of<P>();
  return k;
}

}  // namespace unroll::cpu::inline UNROLL_ISA
