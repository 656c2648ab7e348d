#include "framework/init.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "framework/threads.h"

namespace unroll {

namespace {

// Elements begin … end-1, begin a multiple of 4. A block of four random numbers serves four elements, or two.
void draw_part(const Init& init, const RandomKey& key, real* out, int64_t begin, int64_t end) {
  const auto kind = init.kind;
  const float a = init.a, b = init.b;
  if (kind == Init::Kind::constant) std::fill(out + begin, out + end, a);
  if (kind == Init::Kind::uniform)
    for (int64_t i = begin; i < end; i += 4) {
      const auto bits = key.block(static_cast<uint32_t>(i / 4));
      for (int64_t k = 0; k < std::min<int64_t>(4, end - i); ++k)
        out[i + k] = a + (b - a) * unit_interval(bits[k]);
    }
  if (kind == Init::Kind::normal)  // Box and Muller 1958: two numbers give one deviate
    for (int64_t i = begin; i < end; i += 2) {
      const auto bits = key.block(static_cast<uint32_t>(i / 2));
      for (int64_t k = 0; k < std::min<int64_t>(2, end - i); ++k) {
        const float u = 1 - unit_interval(bits[2 * k]), v = unit_interval(bits[2 * k + 1]);
        out[i + k] = a + b * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi_v<float> * v);
      }
    }
}

// [out, in · what is behind]
struct Fans {
  int64_t out, in;
  explicit Fans(const Shape& shape) : out(shape[0]), in(shape.size() / std::max(1, shape[0])) {}
  int64_t behind(const Shape& shape) const { return in / std::max(1, shape[1]); }
};

// Normal numbers made orthogonal, one behind the other, in double (Gram and Schmidt; twice, so that what rounding left of the
// others goes too). The signs stay as drawn, so that no direction is preferred.
void draw_orthogonal(const Shape& shape, float gain, RandomStream& random, std::span<real> out) {
  const Fans fans(shape);
  const bool by_rows = fans.out <= fans.in;
  const int64_t count = by_rows ? fans.out : fans.in, length = by_rows ? fans.in : fans.out;
  std::vector<double> lines(static_cast<size_t>(count * length));
  for (double& v : lines) v = random.normal();
  for (int64_t k = 0; k < count; ++k) {
    double* const line = &lines[static_cast<size_t>(k * length)];
    const auto dot = [&](const double* other) {
      double sum = 0;
      for (int64_t i = 0; i < length; ++i) sum += line[i] * other[i];
      return sum;
    };
    for (int turn = 0; turn < 2; ++turn)
      for (int64_t j = 0; j < k; ++j) {
        const double* const other = &lines[static_cast<size_t>(j * length)];
        const double share = dot(other);
        for (int64_t i = 0; i < length; ++i) line[i] -= share * other[i];
      }
    const double norm = std::sqrt(dot(line));
    for (int64_t i = 0; i < length; ++i) line[i] /= norm;
  }
  for (int64_t r = 0; r < fans.out; ++r)
    for (int64_t c = 0; c < fans.in; ++c)
      out[static_cast<size_t>(r * fans.in + c)] = static_cast<real>(
          double{gain} * lines[static_cast<size_t>(by_rows ? r * length + c : c * length + r)]);
}

}  // namespace

void Init::fill(const Tensor& values, RandomKey key) const {
  require(0 <= offset.begin && offset.begin <= offset.end && offset.end <= values.size(),
          "init: an offset for the elements {} to {} of {}", offset.begin, offset.end, values.shape());
  const Shape& shape = values.shape();
  const auto out = values.on_host(Access::overwrite);
  Init drawn = *this;
  if (kind == Kind::xavier || kind == Kind::orthogonal) {
    require(std::isfinite(a), "init: a gain {} for {}", a, shape);
    if (shape.rank() < 2 || shape.size() == 0) {
      drawn = constant(0);
    } else if (kind == Kind::xavier) {
      const Fans fans(shape);
      const float bound = a * std::sqrt(6 / static_cast<float>(fans.in + fans.out * fans.behind(shape)));
      drawn = uniform(-bound, bound);
    }
  }
  RandomStream random(key);
  if (drawn.kind == Kind::orthogonal) draw_orthogonal(shape, a, random, out);
  if (drawn.kind == Kind::own) {
    require(draw != nullptr, "init: one's own for {} has no function", shape);
    draw(shape, out, random);
  }
  constexpr int pieces = 32;
  const int64_t size = values.size(), each = (size / pieces / 4 + 1) * 4;
  run_pieces(pieces, [&](int piece) {
    draw_part(drawn, key, out.data(), std::min(size, piece * each), std::min(size, (piece + 1) * each));
  });
  for (int i = offset.begin; i < offset.end; ++i) out[i] += offset.amount;
}

}  // namespace unroll
