// Elementwise kernels on memory that is aligned and that is not, at lengths with and without whole pieces of 4. On a GPU
// both ways are one kernel's (framework/kernels/cuda/streams.h).
#include "tests/framework/kernel_checks.h"

#ifdef UNROLL_STANDIN
#include "framework/kernels/cuda/launch.h"
#endif

using namespace unroll;

namespace {

constexpr int64_t margin = 4;  // elements before and behind what a kernel is given
const std::vector<int64_t> lengths = {1, 2, 3, 4, 5, 7, 8, 11, 12, 130};

// n numbers that begin `offset` elements behind an aligned place.
struct Part {
  Reals all;
  int64_t n, offset;
  Part(Numbers& numbers, int64_t n, int64_t offset)
      : all(numbers.reals(n + offset + margin)), n(n), offset(offset) {}
  real* data() { return all.data() + offset; }
  real operator[](int64_t i) const { return all[static_cast<size_t>(offset + i)]; }
};

// Compares element i of y with expected(i), and all around it with what was there before.
template <class Expected>
void check_part(const Part& y, const Part& before, Expected expected) {
  for (int64_t i = -y.offset; i < y.n + margin; ++i)
    if (i < 0 || i >= y.n)
      CHECK(y[i] == before[i]);
    else
      CHECK(std::abs(static_cast<double>(y[i]) - static_cast<double>(expected(i))) <= rounding * 4);
}

// Calls use(n, offsets of two operands).
template <class Use>
void each_place(Use use) {
  for (const int64_t n : lengths)
    for (int64_t a = 0; a < 4; ++a)
      for (int64_t b = 0; b < 4; ++b) use(n, a, b);
}

}  // namespace

TEST_CASE("each element is computed once, and none beside them is written, however memory lies") {
  Numbers numbers("pieces");
  each_variant([&](const Kernels& k) {
    each_place([&](int64_t n, int64_t of_x, int64_t of_y) {
      Part x(numbers, n, of_x), y(numbers, n, of_y);
      const Part before = y;
      k.affine(x.data(), 2, 1, y.data(), n, true);
      check_part(y, before, [&](int64_t i) { return before[i] + (2 * x[i] + 1); });
      k.affine(x.data(), 2, 1, y.data(), n, false);
      check_part(y, before, [&](int64_t i) { return 2 * x[i] + 1; });
      k.affine(y.data(), 1, 1, y.data(), n, false);  // in place
      check_part(y, before, [&](int64_t i) { return 2 * x[i] + 2; });
    });
  });
}

TEST_CASE("a repeated operand is met again from its beginning, within a piece too") {
  Numbers numbers("repeated");
  each_variant([&](const Kernels& k) {
    for (const int64_t count : {1, 2, 3, 4, 5, 6, 8, 12})
      for (const int64_t times : {1, 2, 5})
        for (int64_t offset = 0; offset < 4; ++offset) {
          const int64_t n = count * times;
          Part a(numbers, n, 0), b(numbers, count, offset), y(numbers, n, 0);
          const Part before = y;
          k.binary(Binary::sub, a.data(), n, b.data(), count, y.data(), n);
          check_part(y, before, [&](int64_t i) { return a[i] - b[i % count]; });
          k.binary(Binary::sub, b.data(), count, a.data(), n, y.data(), n);
          check_part(y, before, [&](int64_t i) { return b[i % count] - a[i]; });
          k.keep_rows(a.data(), b.data(), count, times, y.data(), false);
          check_part(y, before, [&](int64_t i) { return a[i]; });  // none is 0
        }
  });
}

TEST_CASE("rows of any width are kept, copied, taken by number and summed back") {
  Numbers numbers("rows");
  each_variant([&](const Kernels& k) {
    for (const int64_t cols : {1, 2, 3, 4, 5, 8})
      for (const int64_t apart : {8, 9, 12, -8, -9}) {
        const int64_t rows = 6, n = rows * cols, reach = (rows - 1) * std::abs(apart) + cols,
                      first = apart < 0 ? (rows - 1) * -apart : 0;
        for (int64_t offset = 0; offset < 2; ++offset) {
          Part x(numbers, reach, offset), y(numbers, n, 0), kept(numbers, rows, 0),
              back(numbers, reach, offset);
          Part before = y;
          const auto place = [&](int64_t i) { return first + i / cols * apart + i % cols; };
          k.copy_blocks(x.data() + first, apart, y.data(), cols, rows, cols, false);
          check_part(y, before, [&](int64_t i) { return x[place(i)]; });
          const Part old = back;
          k.copy_blocks(y.data(), cols, back.data() + first, apart, rows, cols, true);
          std::vector<double> expected(static_cast<size_t>(reach));
          for (int64_t i = 0; i < reach; ++i) expected[static_cast<size_t>(i)] = old[i];
          for (int64_t i = 0; i < n; ++i) expected[static_cast<size_t>(place(i))] += y[i];
          check_part(back, old, [&](int64_t i) { return expected[static_cast<size_t>(i)]; });

          before = y;
          kept.data()[2] = 0;
          k.keep_rows(x.data(), kept.data(), rows, cols, y.data(), true);
          check_part(y, before, [&](int64_t i) { return before[i] + (i / cols == 2 ? real(0) : x[i]); });
          const Ids ids = numbers.ids(rows, static_cast<uint32_t>(reach / cols));
          k.take_rows(x.data(), ids.data(), rows, cols, y.data());
          check_part(y, before,
                     [&](int64_t i) { return x[ids[static_cast<size_t>(i / cols)] * cols + i % cols]; });
        }
      }
  });
}

TEST_CASE("dropout has one mask, however memory lies") {
  Numbers numbers("dropout in pieces");
  const RandomKey key{.seed = 5, .place = 6, .step = 7};
  each_variant([&](const Kernels& k) {
    for (const int64_t period : {3, 4, 6, 8, 130}) {
      Part ones(numbers, 130, 0), mask(numbers, 130, 0);
      k.fill(ones.data(), 1, 130);
      k.dropout(ones.data(), real(0.5), key, period, mask.data(), 130, false);
      each_place([&](int64_t n, int64_t of_x, int64_t of_y) {
        Part x(numbers, n, of_x), y(numbers, n, of_y);
        const Part before = y;
        k.dropout(x.data(), real(0.5), key, period, y.data(), n, false);
        check_part(y, before, [&](int64_t i) { return mask[i] * x[i]; });
      });
    }
  });
}

#ifdef UNROLL_STANDIN
TEST_CASE("a division by a product is exact") {
  RandomStream stream(7, "division");
  const auto check = [](int64_t a, int64_t b) {
    const cuda::Divisor divisor(b);
    if (divisor.quotient(a) != a / b || divisor.rest(a) != a % b) FAIL(a, " / ", b);
  };
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  for (int64_t b = 1; b < 200; ++b)
    for (int64_t a = 0; a < 1000; ++a) check(a, b);
  std::vector<int64_t> edges = {most, most - 1, most + 1, most + 2, 4 * most};
  for (int bit = 0; bit < 31; ++bit)
    for (const int64_t near : {-1, 0, 1}) edges.push_back(std::max<int64_t>(1, (int64_t{1} << bit) + near));
  for (const int64_t a : edges)
    for (const int64_t b : edges)
      check(a, b), check(b - 1, b), check(a / b * b, b), check(a / b * b + b - 1, b);
  for (int i = 0; i < 200000; ++i) {
    const auto any = [&] {
      return static_cast<int64_t>(stream.below(uint32_t{1} << (1 + stream.below(31))));
    };
    check(any(), any() + 1);
  }
}

TEST_CASE("aligned memory has a thread for 4 elements, and other memory for each") {
  Numbers numbers("threads");
  const int64_t n = 4096;
  Part x(numbers, n, 0), y(numbers, n, 1);
  const auto threads = [&](real* to) {
    auto& moved = standin::control().moved["Affine"];
    moved = {};
    kernels().affine(x.data(), 1, 0, to, n, false);
    CHECK(moved.read == n * int64_t{sizeof(real)});
    CHECK(moved.written == n * int64_t{sizeof(real)});
    return moved.threads;
  };
  CHECK(threads(x.data()) == n / 4);
  CHECK(threads(y.data()) == n);
}
#endif
