// Operations that move elements without computing: views, pieces, and their joining.
#include <algorithm>
#include <climits>
#include <numeric>

#include <fmt/ranges.h>

#include "framework/kernels/kernels.h"
#include "framework/ops.h"

namespace unroll {

namespace {

int64_t elements_from(const Shape& shape, int axis) { return shape.size(axis, shape.rank()); }

// The part of `whole` that begins at `begin` of one dimension, as blocks of contiguous elements.
struct Piece {
  int64_t offset, stride, blocks, length;
  Piece(const Shape& whole, int axis, int begin, int extent)
      : offset(begin * elements_from(whole, axis + 1)),
        stride(elements_from(whole, axis)),
        blocks(stride ? whole.size() / stride : 0),
        length(extent * elements_from(whole, axis + 1)) {}
  void read(const Tensor& whole, const Into& part) const {
    kernels().copy_blocks(whole.data() + offset, stride, part.tensor.data(), length, blocks, length,
                          part.add);
  }
  void write(const Tensor& part, const Into& whole) const {
    kernels().copy_blocks(part.data(), length, whole.tensor.data() + offset, stride, blocks, length,
                          whole.add);
  }
};

// The gradient of x, ready for pieces to be added.
Into pieces_of_gradient(const Var& x) {
  const Into dx = x.gradient();
  if (!dx.add) dx.tensor.fill(0);
  return add_to(dx.tensor);
}

}  // namespace

// y = x under another shape        dx = dy
Var reshape(const Var& x, const Shape& shape) {
  Tensor y = x.value().reshape(shape);
  return record("reshape", y, inputs(x), [=](const Var& y) { contribute(y.grad(), x); });
}
Var reshape(const Var& x, std::initializer_list<int> extents) {
  return reshape(x, Shape::completed(extents, x.shape()));
}

//   y[…, j, …, i, …] = x[…, i, …, j, …]        dx likewise of dy
// The dimensions between are taken with the first, and then go back before it: [o, a, b, c, i] -> [o, c, a, b, i] ->
// [o, c, b, a, i].
static void exchange_axes(const Tensor& x, int i, int j, const Into& y) {
  const Shape& s = x.shape();
  const int64_t outer = s.size(0, i), between = s.size(i + 1, j), inner = elements_from(s, j + 1);
  if (between == 1) return kernels().transpose(x.data(), outer, s[i], s[j], inner, y.tensor.data(), y.add);
  Tensor first(s);
  kernels().transpose(x.data(), outer, s[i] * between, s[j], inner, first.data(), false);
  kernels().transpose(first.data(), outer * s[j], s[i], between, inner, y.tensor.data(), y.add);
}
Var transpose(const Var& x, int axis, int other) {
  const int a = x.shape().axis("transpose", axis), b = x.shape().axis("transpose", other);
  const int i = std::min(a, b), j = std::max(a, b);
  if (i == j) return reshape(x, x.shape());
  Tensor y(x.shape().with(i, x.dim(j)).with(j, x.dim(i)));
  exchange_axes(x.value(), i, j, overwrite(y));
  return record("transpose", y, inputs(x),
                [=](const Var& y) { exchange_axes(y.grad(), i, j, x.gradient()); });
}
Var transpose(const Var& x) {
  require(x.shape().rank() == 2, "transpose: x {} must be [rows, cols]", x.shape());
  return transpose(x, 0, 1);
}

// y[i₀, i₁, …] = x[…, i_k in dimension axes[k], …]        dx likewise of dy, the other way round
// Runs of dimensions that stay neighbours move together: of each, the dimensions before it go behind it.
static Tensor permuted(const Tensor& x, const std::vector<int>& axes) {
  Tensor y = x;
  std::vector<int> order(axes.size());  // of y: which dimension of x is where
  std::iota(order.begin(), order.end(), 0);
  for (size_t to = 0; to < axes.size(); ++to) {
    const auto from = static_cast<size_t>(std::ranges::find(order, axes[to]) - order.begin());
    if (from == to) continue;
    size_t run = 1;
    while (from + run < order.size() && order[from + run] == axes[to + run]) ++run;
    const auto product = [&](size_t begin, size_t end) {
      return y.shape().size(static_cast<int>(begin), static_cast<int>(end));
    };
    std::rotate(order.begin() + static_cast<int>(to), order.begin() + static_cast<int>(from),
                order.begin() + static_cast<int>(from + run));
    Shape shape;
    for (const int axis : order) shape.append(x.dim(axis));
    Tensor turned(shape);
    kernels().transpose(std::as_const(y).data(), product(0, to), product(to, from), product(from, from + run),
                        product(from + run, order.size()), turned.data(), false);
    y = turned;
  }
  return y;
}
Var permute(const Var& x, const std::vector<int>& axes) {
  const int rank = x.shape().rank();
  std::vector<int> from, back(axes.size(), -1);
  bool each_once = static_cast<int>(axes.size()) == rank;
  for (size_t i = 0; each_once && i < axes.size(); ++i) {
    const int axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    each_once = axis >= 0 && axis < rank && back[static_cast<size_t>(axis)] < 0;
    if (each_once) from.push_back(axis), back[static_cast<size_t>(axis)] = static_cast<int>(i);
  }
  require(each_once, "permute: the axes {} must name each dimension of x {} once",
          fmt::format("{{{}}}", fmt::join(axes, ", ")), x.shape());
  if (std::ranges::is_sorted(from)) return reshape(x, x.shape());
  return record("permute", permuted(x.value(), from), inputs(x),
                [=](const Var& y) { contribute(permuted(y.grad(), back), x); });
}

// y = x, repeated where its extent is 1        dx = Σ dy over the repeats
namespace {
struct Repeat {
  Shape before;             // of what is repeated …
  int64_t outer, n, inner;  // … as [outer, 1, inner], n times
};
// From the last dimensions to the first, neighbours together.
std::vector<Repeat, PoolAllocator<Repeat>> repeats_of(const Shape& from, const Shape& to) {
  Shape shape;
  for (int i = from.rank(); i < to.rank(); ++i) shape.append(1);
  for (int i = 0; i < from.rank(); ++i) shape.append(from[i]);
  std::vector<Repeat, PoolAllocator<Repeat>> result;
  for (int end = to.rank(); end > 0; --end) {
    int begin = end;
    while (begin > 0 && shape[begin - 1] != to[begin - 1]) --begin;
    if (begin == end) continue;
    result.push_back({shape, shape.size(0, begin), to.size(begin, end), elements_from(to, end)});
    for (int i = begin; i < end; ++i) shape = shape.with(i, to[i]);
    end = begin;
  }
  return result;
}
}  // namespace
Var broadcast_to(const Var& x, const Shape& shape) {
  require(
      Shape::together(x.shape(), shape) == shape,
      "broadcast_to: x {} cannot be repeated to {}: counted from the last, its extents must be those or 1",
      x.shape(), shape);
  if (x.value().size() == shape.size()) return reshape(x, shape);
  const auto repeats = repeats_of(x.shape(), shape);
  Tensor y = x.value();
  for (size_t k = 0; k < repeats.size(); ++k) {
    const auto& [before, outer, n, inner] = repeats[k];
    Tensor repeated(k + 1 < repeats.size() ? repeats[k + 1].before : shape);
    kernels().sum_middle_gradient(std::as_const(y).data(), outer, n, inner, 1, repeated.data(), false);
    y = repeated;
  }
  return record("broadcast_to", y, inputs(x), [=](const Var& y) {
    Tensor d = y.grad();
    for (size_t k = repeats.size(); k-- > 0;) {
      const auto& [before, outer, n, inner] = repeats[k];
      Tensor summed(before);
      kernels().sum_middle(d.data(), outer, n, inner, 1, summed.data());
      d = summed;
    }
    contribute(d, x);
  });
}

// y = parts side by side along one dimension        dpart = its piece of dy
Var concat(const Vars& parts, int axis) {
  require(!parts.empty(), "concat: no parts");
  const int k = parts[0].shape().axis("concat", axis);
  int64_t extent = 0;
  for (const Var& part : parts) {
    require(part.shape().rank() == parts[0].shape().rank() &&
                part.shape().with(k, 0) == parts[0].shape().with(k, 0),
            "concat: shapes {} and {} differ elsewhere than in dimension {}", parts[0].shape(), part.shape(),
            k);
    extent += part.dim(k);
  }
  require(extent <= INT_MAX, "concat: {} parts have {} elements in dimension {}, at most {} are possible",
          parts.size(), extent, k, INT_MAX);
  Tensor y(parts[0].shape().with(k, static_cast<int>(extent)));
  int begin = 0;
  for (const Var& part : parts) {
    Piece(y.shape(), k, begin, part.dim(k)).write(part.value(), overwrite(y));
    begin += part.dim(k);
  }
  return record("concat", y, inputs(parts), [=](const Var& y) {
    int first = 0;
    for (const Var& part : parts) {
      if (part.wants_grad()) Piece(y.shape(), k, first, part.dim(k)).read(y.grad(), part.gradient());
      first += part.dim(k);
    }
  });
}

// y[k] = parts[k]        dparts[k] = dy[k]
Var stack(const Vars& parts) {
  require(!parts.empty(), "stack: no parts");
  require(parts[0].shape().rank() < Shape::max_rank, "stack: {} of {} would have more than {} dimensions",
          parts.size(), parts[0].shape(), Shape::max_rank);
  Tensor y(parts[0].shape().stacked(static_cast<int>(parts.size())));
  for (size_t i = 0; i < parts.size(); ++i) {
    require(parts[i].shape() == parts[0].shape(), "stack: shapes {} and {} differ", parts[0].shape(),
            parts[i].shape());
    y[static_cast<int>(i)].copy_from(parts[i].value());
  }
  return record("stack", y, inputs(parts), [=](const Var& y) {
    for (size_t i = 0; i < parts.size(); ++i) contribute(y.grad()[static_cast<int>(i)], parts[i]);
  });
}

// y = elements begin … end-1 of one dimension        dx = dy in its place
Var slice(const Var& x, int axis, int first, int last) {
  const int k = x.shape().axis("slice", axis), n = x.dim(k);
  const int begin = first < 0 ? first + n : first, end = last < 0 ? last + n : last;
  require(0 <= begin && begin <= end && end <= n, "slice: no elements {} to {} in dimension {} of x {}",
          first, last, k, x.shape());
  const Piece piece(x.shape(), k, begin, end - begin);
  Tensor y(x.shape().with(k, end - begin));
  piece.read(x.value(), overwrite(y));
  return record("slice", y, inputs(x), [=](const Var& y) { piece.write(y.grad(), pieces_of_gradient(x)); });
}

Var slice(const Var& x, int axis, int begin) {
  return slice(x, axis, begin, x.dim(x.shape().axis("slice", axis)));
}

Vars chunk(const Var& x, int count, int axis) {
  const int k = x.shape().axis("chunk", axis), n = x.dim(k);
  require(count > 0, "chunk: {} parts of dimension {} of x {}", count, k, x.shape());
  const int extent = std::max(1, n / count + (n % count != 0));
  Vars parts;
  for (int begin = 0; begin < n || parts.empty(); begin += extent)
    parts.push_back(slice(x, k, begin, std::min(n, begin + extent)));
  return parts;
}

// y = `value` and x in its place        dx = its piece of dy
Var pad(const Var& x, int axis, int before, int after, real value) {
  const int k = x.shape().axis("pad", axis), n = x.dim(k);
  require(before >= 0 && after >= 0 && int64_t{n} + before + after <= INT_MAX,
          "pad: {} elements before and {} after dimension {} of x {}", before, after, k, x.shape());
  Tensor y = Tensor::full(x.shape().with(k, n + before + after), value);
  const Piece piece(y.shape(), k, before, n);
  piece.write(x.value(), overwrite(y));
  return record("pad", y, inputs(x), [=](const Var& y) { piece.read(y.grad(), x.gradient()); });
}

// y = x[index]        dx[index] = dy
Var row(const Var& x, int number) {
  const int index = number < 0 && x.shape().rank() >= 1 ? number + x.dim(0) : number;
  require(x.shape().rank() >= 1 && index >= 0 && index < x.dim(0), "row: no row {} in x {}", number,
          x.shape());
  const Piece piece(x.shape(), 0, index, 1);
  return record("row", x.value()[index], inputs(x),
                [=](const Var& y) { piece.write(y.grad(), pieces_of_gradient(x)); });
}
Var Var::operator[](int i) const { return row(*this, i); }

// y[i] = x[n-1-i]        dx[i] = dy[n-1-i]
static void copy_backwards(const Tensor& x, const Into& y) {
  const int n = x.dim(0);
  const int64_t length = n ? x.size() / n : 0;
  kernels().copy_blocks(x.data() + (n - 1) * length, -length, y.tensor.data(), length, n, length, y.add);
}
Var flip(const Var& x) {
  require(x.shape().rank() >= 1, "flip: x {} has no dimension", x.shape());
  Tensor y(x.shape());
  copy_backwards(x.value(), overwrite(y));
  return record("flip", y, inputs(x), [=](const Var& y) { copy_backwards(y.grad(), x.gradient()); });
}

}  // namespace unroll
