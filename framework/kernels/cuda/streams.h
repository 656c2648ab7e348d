// The streams that an elementwise kernel reads and writes: a thread gets `width` neighbours of each, a piece, and works on
// them one by one. Pieces have 4 elements, which are one access to memory, where every stream says in_pieces(). Else,
// and behind the last whole piece, they have 1. So a kernel's text is that of one element.
//
//   struct Saxpy {
//     real a;
//     UNROLL_KERNEL void operator()(real x, real& y) const { y += a * x; }
//   };
//   each(n, Saxpy{a}, read(x, n), change(y, n));
//
// A stream is read before it is written, piece by piece, so two may be the same memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "framework/kernels/cuda/language.h"
#include "framework/plain.h"
#include "framework/real.h"

namespace unroll::cuda {

template <class T, int width>
struct alignas(width == 1           ? alignof(T)
               : 4 * sizeof(T) < 16 ? 4 * sizeof(T)
                                    : 16) Piece {
  T at[width];
};
template <class T>
bool is_aligned(const T* x) {
  static const bool one_by_one = is_plain("passes");
  return !one_by_one && reinterpret_cast<std::uintptr_t>(x) % alignof(Piece<T, 4>) == 0;
}
template <int width, class T>
UNROLL_KERNEL Piece<std::remove_const_t<T>, width> piece_at(T* x) {
  return *reinterpret_cast<const Piece<std::remove_const_t<T>, width>*>(x);
}

// Whole numbers that are not negative, divided in 32 bits where they fit: in 64 a GPU takes tens of instructions.
UNROLL_KERNEL inline int64_t quotient(int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if ((x | y) >> 32) return a / b;
  return static_cast<uint32_t>(x) / static_cast<uint32_t>(y);
}
UNROLL_KERNEL inline int64_t rest_of(int64_t a, int64_t b) { return a - quotient(a, b) * b; }

// Divides whole numbers that are not negative by one that the host knows: below 2^31 by a product (Granlund and Montgomery
// 1994). With 2^(s-1) < d ≤ 2^s and f = ⌊2^32 (2^s - d) / d⌋ + 1, a / d is (⌊a·f / 2^32⌋ + a) / 2^s.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int64_t by) : by_(by) {
    if (by <= 0 || by >> 31) return;
    while ((int64_t{1} << shift_) < by) ++shift_;
    factor_ = static_cast<uint32_t>(
        (((uint64_t{1} << shift_) - static_cast<uint64_t>(by)) << 32) / static_cast<uint64_t>(by) + 1);
  }
  UNROLL_KERNEL int64_t by() const { return by_; }
  UNROLL_KERNEL int64_t quotient(int64_t a) const {
    if ((a | by_) >> 31) return a / by_;
    const auto x = static_cast<uint32_t>(a);
    const auto high = static_cast<uint32_t>((uint64_t{x} * factor_) >> 32);
    return (high + x) >> shift_;
  }
  UNROLL_KERNEL int64_t rest(int64_t a) const { return a - quotient(a) * by_; }
  bool is_multiple_of_4() const { return by_ % 4 == 0; }

 private:
  int64_t by_ = 1;
  uint32_t factor_ = 1, shift_ = 0;
};

// --- streams -----------------------------------------------------------------------------------------

struct NotWritten {
  template <class P>
  UNROLL_KERNEL void store(int64_t, const P&) const {}
};

template <class T>
struct Read : NotWritten {
  const T* x;
  explicit Read(const T* x) : x(x) {}
  bool in_pieces() const { return is_aligned(x); }
  template <int width>
  UNROLL_KERNEL Piece<T, width> load(int64_t i) const {
    return piece_at<width>(x + i);
  }
};
template <class T>
Read<T> read(const T* x, int64_t n) {
  return Read<T>(given(x, n));
}

// As above, but x may be null: then the numbers are 0, and the functor knows not to look at them.
template <class T>
struct ReadIf : NotWritten {
  const T* x;
  explicit ReadIf(const T* x) : x(x) {}
  bool in_pieces() const { return is_aligned(x); }
  template <int width>
  UNROLL_KERNEL Piece<T, width> load(int64_t i) const {
    if (x) return piece_at<width>(x + i);
    return {};
  }
};
template <class T>
ReadIf<T> read_if(const T* x, int64_t n) {
  return ReadIf<T>(given(x, n));
}

// Written; and read before if `reads`, else 0 before. Nothing happens where x is null.
template <class T>
struct Written {
  T* x;
  bool reads;
  bool in_pieces() const { return is_aligned(x); }
  template <int width>
  UNROLL_KERNEL Piece<T, width> load(int64_t i) const {
    if (reads) return piece_at<width>(x + i);
    return {};
  }
  template <int width>
  UNROLL_KERNEL void store(int64_t i, const Piece<T, width>& piece) const {
    if (x) *reinterpret_cast<Piece<T, width>*>(x + i) = piece;
  }
};
template <class T>
Written<T> write(T* x, int64_t n, bool reads = false) {
  reads = reads && x;
  return {reads ? changed(x, n) : given(x, n), reads};
}
template <class T>
Written<T> change(T* x, int64_t n) {
  return write(x, n, true);
}

// x[i % count]
struct Repeated : NotWritten {
  const real* x;
  Divisor count;
  bool whole, pieces;  // count is n; pieces of x lie together and are aligned
  bool in_pieces() const { return pieces || !whole; }
  template <int width>
  UNROLL_KERNEL Piece<real, width> load(int64_t i) const {
    int64_t at = whole ? i : count.rest(i);
    if (pieces) return piece_at<width>(x + at);
    Piece<real, width> result;
    UNROLL_ALL
    for (int k = 0; k < width; ++k) {
      result.at[k] = x[at];
      if (++at == count.by()) at = 0;
    }
    return result;
  }
};
inline Repeated read_repeated(const real* x, int64_t count, int64_t n) {
  const Divisor by(count);
  return {{}, given(x, count), by, count == n, is_aligned(x) && (count == n || by.is_multiple_of_4())};
}

// x[i / cols]: a number for each row
struct OfRow : NotWritten {
  const real* x;
  Divisor cols;
  bool in_pieces() const { return true; }
  template <int width>
  UNROLL_KERNEL Piece<real, width> load(int64_t i) const {
    int64_t row = cols.quotient(i), left = (row + 1) * cols.by() - i;
    Piece<real, width> result;
    UNROLL_ALL
    for (int k = 0; k < width; ++k) {
      if (left == 0) ++row, left = cols.by();
      --left;
      result.at[k] = x[row];
    }
    return result;
  }
};
inline OfRow read_of_row(const real* x, int64_t rows, int64_t cols) {
  return {{}, given(x, rows), Divisor(cols)};
}

// Lines of `length` elements, which begin `apart` elements one from the other: in order, and backwards if that is negative.
template <class T, bool writes>
struct Lines {
  std::conditional_t<writes, T, const T>* x;
  int64_t apart;
  Divisor length;
  bool reads;
  bool in_pieces() const { return is_aligned(x) && length.is_multiple_of_4() && apart % 4 == 0; }
  UNROLL_KERNEL int64_t place(int64_t i) const {
    const int64_t line = length.quotient(i);
    return line * apart + (i - line * length.by());
  }
  template <int width>
  UNROLL_KERNEL Piece<T, width> load(int64_t i) const {
    if (reads) return piece_at<width>(x + place(i));
    return {};
  }
  template <int width>
  UNROLL_KERNEL void store(int64_t i, const Piece<T, width>& piece) const {
    if constexpr (writes) *reinterpret_cast<Piece<T, width>*>(x + place(i)) = piece;
  }
};
// The line that is first in memory may be the last.
template <class T>
T* begin_of_lines(T* x, int64_t apart, int64_t lines) {
  return apart < 0 ? x + (lines - 1) * apart : x;
}
inline Lines<real, false> read_lines(const real* x, int64_t apart, int64_t lines, int64_t length) {
  const int64_t reach = (lines - 1) * (apart < 0 ? -apart : apart) + length;
  given(begin_of_lines(x, apart, lines), reach, lines * length);
  return {x, apart, Divisor(length), true};
}
inline Lines<real, true> write_lines(real* x, int64_t apart, int64_t lines, int64_t length, bool reads) {
  const int64_t reach = (lines - 1) * (apart < 0 ? -apart : apart) + length;
  real* const begin = begin_of_lines(x, apart, lines);
  reads ? changed(begin, reach, lines * length) : given(begin, reach, lines * length);
  return {x, apart, Divisor(length), reads};
}

// A matrix [rows, cols] whose element (r, c) is x[r·row + c·col].
struct Strided : NotWritten {
  const real* x;
  int64_t row, col;
  Divisor cols;
  bool in_pieces() const { return true; }
  template <int width>
  UNROLL_KERNEL Piece<real, width> load(int64_t i) const {
    int64_t r = cols.quotient(i), c = i - r * cols.by();
    Piece<real, width> result;
    UNROLL_ALL
    for (int k = 0; k < width; ++k) {
      result.at[k] = x[r * row + c * col];
      if (++c == cols.by()) c = 0, ++r;
    }
    return result;
  }
};

// Rows of a table by their numbers: x[ids[i / cols]·cols + i % cols]
struct RowsOf : NotWritten {
  const real* x;
  const int32_t* ids;
  Divisor cols;
  bool in_pieces() const { return is_aligned(x) && cols.is_multiple_of_4(); }
  template <int width>
  UNROLL_KERNEL Piece<real, width> load(int64_t i) const {
    const int64_t row = cols.quotient(i);
    return piece_at<width>(x + ids[row] * cols.by() + (i - row * cols.by()));
  }
};

// x[at(i)], element by element
template <class T, class At>
struct Chosen : NotWritten {
  const T* x;
  At at;
  bool in_pieces() const { return true; }
  template <int width>
  UNROLL_KERNEL Piece<T, width> load(int64_t i) const {
    Piece<T, width> result;
    UNROLL_ALL
    for (int k = 0; k < width; ++k) result.at[k] = x[at(i + k)];
    return result;
  }
};
// The number of x's `all` elements that are read: `count`
template <class T, class At>
Chosen<T, At> read_chosen(const T* x, int64_t all, int64_t count, At at) {
  return {{}, given(x, all, count), at};
}

// The place of the number of element i's column, i in [outer, n, inner]: in [outer, inner].
struct OfColumn {
  Divisor inner, block;
  OfColumn(int64_t n, int64_t inner) : inner(inner), block(n * inner) {}
  UNROLL_KERNEL int64_t operator()(int64_t i) const { return block.quotient(i) * inner.by() + inner.rest(i); }
};

// i itself
struct Index : NotWritten {
  bool in_pieces() const { return true; }
  template <int width>
  UNROLL_KERNEL Piece<int64_t, width> load(int64_t i) const {
    Piece<int64_t, width> result;
    UNROLL_ALL
    for (int k = 0; k < width; ++k) result.at[k] = i + k;
    return result;
  }
};

// --- a thread's work ---------------------------------------------------------------------------------

template <class F>
UNROLL_KERNEL auto for_thread(const F& f) {
  if constexpr (requires { f.for_thread(); })
    return f.for_thread();
  else
    return f;
}

template <int width, class F, class... Streams>
UNROLL_KERNEL void on_piece(int64_t i, const F& f, const Streams&... streams) {
  [&](auto... pieces) {
    UNROLL_ALL
    for (int k = 0; k < width; ++k) f(pieces.at[k]...);
    (streams.store(i, pieces), ...);
  }(streams.template load<width>(i)...);
}

}  // namespace unroll::cuda
