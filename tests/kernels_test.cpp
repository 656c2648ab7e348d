// The CPU's kernels, in every instruction set of this machine, against plain loops in double.
#include "framework/kernels/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/check.h"
#include "framework/kernels/cpu/variants.h"
#include "framework/random.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Reals = std::vector<real>;
using Ids = std::vector<int32_t>;

constexpr bool is_float = sizeof(real) == 4;
constexpr real infinity = std::numeric_limits<real>::infinity();
constexpr real not_a_number = std::numeric_limits<real>::quiet_NaN();
// A few rounding errors, relative to the size of the numbers involved.
constexpr double rounding = is_float ? 4e-6 : 1e-13;

const std::vector<int64_t> odd_sizes = {1, 31, 33, 1000};
const std::vector<std::pair<int64_t, int64_t>> matrices = {{1, 1},   {1, 31},  {31, 1},   {3, 33},
                                                           {7, 300}, {33, 31}, {20, 1000}};
constexpr int64_t parallel_size = 150001;  // enough for several threads

void each_variant(const std::function<void(const Kernels&)>& check) {
  for (const cpu::Variant& variant : cpu::variants()) {
    if (!variant.runs_here || variant.table().bf16.gemm) continue;  // that is avx512 but for the products
    INFO("instruction set ", std::string(variant.name));
    check(variant.table());
  }
}

class Numbers {
 public:
  explicit Numbers(const char* path) : stream_(7, path) {}
  Reals reals(int64_t n, double low = -2, double high = 2) {
    Reals result(static_cast<size_t>(n));
    for (real& v : result) v = static_cast<real>(low + (high - low) * stream_.uniform());
    return result;
  }
  Ids ids(int64_t n, uint32_t bound) {
    Ids result(static_cast<size_t>(n));
    for (int32_t& v : result) v = static_cast<int32_t>(stream_.below(bound));
    return result;
  }

 private:
  RandomStream stream_;
};

// Compares with expected(i), or with what was there plus expected(i). `scale`: the size of the largest term.
template <class Expected>
void check_close(const Reals& got, Expected expected, double scale = 1, const Reals* before = nullptr) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double want =
        expected(static_cast<int64_t>(i)) + (before ? static_cast<double>((*before)[i]) : 0.0);
    const double error = std::abs(static_cast<double>(got[i]) - want) / std::max(scale, std::abs(want));
    if (!(error <= worst)) worst = error;  // a NaN stays
  }
  CHECK(worst <= rounding);
}

double reference(Unary f, double x) {
  switch (f) {
    case Unary::exp:
      return std::exp(x);
    case Unary::log:
      return std::log(x);
    case Unary::sqrt:
      return std::sqrt(x);
    case Unary::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Unary::tanh:
      return std::tanh(x);
    case Unary::relu:
      return std::max(x, 0.0);
    case Unary::hard_sigmoid:
      return std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case Unary::hard_tanh:
      return std::clamp(x, -1.0, 1.0);
    case Unary::softsign:
      return x / (1 + std::abs(x));
  }
  return 0;
}
double reference_slope(Unary f, double x) {
  switch (f) {
    case Unary::exp:
      return std::exp(x);
    case Unary::log:
      return 1 / x;
    case Unary::sqrt:
      return 0.5 / std::sqrt(x);
    case Unary::sigmoid:
      return reference(f, x) * (1 - reference(f, x));
    case Unary::tanh:
      return 1 - std::tanh(x) * std::tanh(x);
    case Unary::relu:
      return x > 0 ? 1 : 0;
    case Unary::hard_sigmoid:
      return std::abs(x) < 3 ? 1.0 / 6 : 0;
    case Unary::hard_tanh:
      return std::abs(x) < 1 ? 1 : 0;
    case Unary::softsign:
      return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
  }
  return 0;
}
bool wants_positive(Unary f) { return f == Unary::log || f == Unary::sqrt; }

double reference(Binary f, double a, double b) {
  switch (f) {
    case Binary::add:
      return a + b;
    case Binary::sub:
      return a - b;
    case Binary::mul:
      return a * b;
    case Binary::div:
      return a / b;
  }
  return 0;
}
double reference_slope(Binary f, bool of_b, double a, double b) {
  switch (f) {
    case Binary::add:
      return 1;
    case Binary::sub:
      return of_b ? -1 : 1;
    case Binary::mul:
      return of_b ? a : b;
    case Binary::div:
      return of_b ? -a / (b * b) : 1 / b;
  }
  return 0;
}
const std::vector<Binary> all_binary = {Binary::add, Binary::sub, Binary::mul, Binary::div};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace

TEST_CASE("every instruction set fills the whole table") {
  each_variant([](const Kernels& k) {
    const char* const* entries = reinterpret_cast<const char* const*>(&k);  // all entries are pointers
    constexpr size_t bf16 = offsetof(Kernels, bf16) / sizeof(void*), size = sizeof(Products) / sizeof(void*);
    for (size_t i = 0; i < sizeof(Kernels) / sizeof(void*); ++i) {
      if (i >= bf16 && i < bf16 + size) continue;  // for some processors only
      CAPTURE(i);
      CHECK(entries[i] != nullptr);
    }
  });
  CHECK(std::string(cpu::variants().front().name) == "baseline");
}

TEST_CASE("an instruction set is chosen by name, and an unknown one is refused in one line") {
  for (const cpu::Variant& variant : cpu::variants()) {
    if (variant.runs_here) {
      CHECK(std::string(cpu::choose(variant.name).name) == variant.name);
      CHECK(cpu::choose(nullptr).name != nullptr);
    } else {
      CHECK_THROWS_AS(cpu::choose(variant.name), InputError);
    }
  }
  if constexpr (is_float) CHECK(&kernels() == &cpu::choose(std::getenv("UNROLL_ISA")));
  try {
    cpu::choose("sse9");
    FAIL("accepted");
  } catch (const InputError& error) {
    const std::string text = error.what();
    CHECK(text.find("UNROLL_ISA=sse9") == 0);
    CHECK(text.find("baseline") != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  }
}

// --- random numbers ------------------------------------------------------------------------------

TEST_CASE("Philox 4x32-10 gives the known answers of its authors") {
  using Four = std::array<uint32_t, 4>;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) ==
        Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("dropout keeps what RandomKey says, in place, added and locked over time") {
  Numbers numbers("dropout");
  const RandomKey key{.seed = 0x123456789abcdef, .place = place_of("lstm/dropout", 3), .step = 41};
  struct Size {
    int64_t n, period;
  };
  for (const auto& [n, period] : std::vector<Size>{{1, 1},
                                                   {31, 31},
                                                   {33, 33},
                                                   {1000, 1000},
                                                   {1000, 40},
                                                   {999, 333},
                                                   {35 * 66, 66},
                                                   {20000, 4000},
                                                   {parallel_size, parallel_size}}) {
    for (real rate : {real(0), real(0.5), real(0.3), real(0.999)}) {
      const Reals x = numbers.reals(n), before = numbers.reals(n);
      each_variant([&, n = n, period = period](const Kernels& k) {
        CAPTURE(n);
        CAPTURE(period);
        Reals y(x), sum(before);
        k.dropout(y.data(), rate, key, period, y.data(), n, false);
        k.dropout(x.data(), rate, key, period, sum.data(), n, true);
        const auto expected = [&](int64_t i) {
          const bool kept = static_cast<real>(key.uniform(static_cast<uint64_t>(i % period))) >= rate;
          return kept ? static_cast<double>(x[static_cast<size_t>(i)]) / (1 - static_cast<double>(rate))
                      : 0.0;
        };
        int64_t differences = 0;
        for (int64_t i = 0; i < n; ++i) differences += (expected(i) == 0) != (y[static_cast<size_t>(i)] == 0);
        CHECK(differences == 0);
        check_close(y, expected);
        check_close(sum, expected, 1 / (1 - static_cast<double>(rate)), &before);
      });
    }
  }
}

// --- elements ------------------------------------------------------------------------------------

TEST_CASE("functions of one element and their gradients") {
  Numbers numbers("unary");
  for (int64_t n : {int64_t{1}, int64_t{31}, int64_t{33}, int64_t{1000}, parallel_size}) {
    for (size_t number = 0; number < std::size(unary_names); ++number) {
      const Unary f = static_cast<Unary>(number);
      const Reals x = wants_positive(f) ? numbers.reals(n, 0.1, 3) : numbers.reals(n, -3, 3);
      const Reals dy = numbers.reals(n), before = numbers.reals(n);
      const auto at = [](const Reals& v, int64_t i) {
        return static_cast<double>(v[static_cast<size_t>(i)]);
      };
      each_variant([&](const Kernels& k) {
        CAPTURE(n);
        CAPTURE(unary_names[number]);
        Reals y(x.size()), dx(x.size()), sum(before);
        k.unary(f, x.data(), y.data(), n);
        check_close(y, [&](int64_t i) { return reference(f, at(x, i)); });
        k.unary_gradient(f, x.data(), y.data(), dy.data(), dx.data(), n, false);
        k.unary_gradient(f, x.data(), y.data(), dy.data(), sum.data(), n, true);
        const auto slope = [&](int64_t i) { return at(dy, i) * reference_slope(f, at(x, i)); };
        check_close(dx, slope, 2);
        check_close(sum, slope, 2, &before);
      });
    }
  }
}

TEST_CASE("infinities, zeros and NaN pass through the functions as they should") {
  const real huge = std::numeric_limits<real>::max(), tiny = std::numeric_limits<real>::denorm_min();
  struct Case {
    Unary f;
    real x, y;
  };
  const std::vector<Case> cases = {{Unary::exp, -infinity, 0},
                                   {Unary::exp, infinity, infinity},
                                   {Unary::exp, huge, infinity},
                                   {Unary::exp, -huge, 0},
                                   {Unary::exp, 0, 1},
                                   {Unary::exp, not_a_number, not_a_number},
                                   {Unary::tanh, infinity, 1},
                                   {Unary::tanh, -infinity, -1},
                                   {Unary::tanh, 50, 1},
                                   {Unary::tanh, -huge, -1},
                                   {Unary::tanh, 0, 0},
                                   {Unary::tanh, not_a_number, not_a_number},
                                   {Unary::sigmoid, infinity, 1},
                                   {Unary::sigmoid, -infinity, 0},
                                   {Unary::sigmoid, huge, 1},
                                   {Unary::sigmoid, -huge, 0},
                                   {Unary::sigmoid, 0, real(0.5)},
                                   {Unary::sigmoid, not_a_number, not_a_number},
                                   {Unary::log, 0, -infinity},
                                   {Unary::log, -0.0, -infinity},
                                   {Unary::log, -1, not_a_number},
                                   {Unary::log, -tiny, not_a_number},
                                   {Unary::log, -infinity, not_a_number},
                                   {Unary::log, infinity, infinity},
                                   {Unary::log, 1, 0},
                                   {Unary::log, not_a_number, not_a_number},
                                   {Unary::log, -not_a_number, not_a_number},
                                   {Unary::sqrt, -1, not_a_number},
                                   {Unary::sqrt, infinity, infinity},
                                   {Unary::sqrt, 0, 0},
                                   {Unary::relu, not_a_number, not_a_number},
                                   {Unary::relu, -infinity, 0},
                                   {Unary::relu, infinity, infinity},
                                   {Unary::exp, -not_a_number, not_a_number},
                                   {Unary::tanh, -not_a_number, not_a_number},
                                   {Unary::sigmoid, -not_a_number, not_a_number}};
  for (const Case& c : cases) {
    for (int64_t n : {int64_t{1}, int64_t{40}}) {  // the end of a loop, and whole vectors
      each_variant([&](const Kernels& k) {
        CAPTURE(static_cast<int>(c.f));
        CAPTURE(c.x);
        const Reals x(static_cast<size_t>(n), c.x);
        Reals y(x.size());
        k.unary(c.f, x.data(), y.data(), n);
        for (real v : y) {
          CHECK(std::isnan(v) == std::isnan(c.y));
          if (!std::isnan(c.y)) CHECK(v == c.y);
        }
      });
    }
  }
}

TEST_CASE(
    "exp, log, tanh and sigmoid in float are right to 3 units of the last place over all of their range") {
  if constexpr (is_float) {
    // Every 1009th float, both signs; the unit of a denormal result is their distance, except for sigmoid,
    // which is zero below the normal numbers.
    std::vector<float> x;
    for (uint64_t bits = 0; bits <= 0xffffffff; bits += 1009) {
      const float v = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (std::isfinite(v)) x.push_back(v);
    }
    const int64_t n = static_cast<int64_t>(x.size());
    std::vector<float> y(x.size());
    for (Unary f : {Unary::exp, Unary::log, Unary::tanh, Unary::sigmoid}) {
      each_variant([&](const Kernels& k) {
        k.unary(f, reinterpret_cast<const real*>(x.data()), reinterpret_cast<real*>(y.data()), n);
        double worst = 0;
        float worst_at = 0;
        for (size_t i = 0; i < x.size(); ++i) {
          const double want = reference(f, x[i]);
          if (std::isnan(want) || std::abs(want) > static_cast<double>(std::numeric_limits<float>::max())) {
            if (static_cast<float>(want) != y[i] && !(std::isnan(want) && std::isnan(y[i])))
              worst = 1e9, worst_at = x[i];
            continue;
          }
          const bool below = f == Unary::sigmoid && want <= 0x1.00001p-126;
          const double unit =
              below ? 0x1p-126 : std::ldexp(1.0, std::max(want == 0 ? -1000 : std::ilogb(want), -126) - 23);
          const double error = std::abs(static_cast<double>(y[i]) - want) / unit;
          if (!(error <= worst)) worst = error, worst_at = x[i];
        }
        CAPTURE(static_cast<int>(f));
        CAPTURE(worst_at);
        CHECK(worst <= 3);
      });
    }
  }
}

TEST_CASE("functions of two elements repeat either operand") {
  Numbers numbers("binary");
  struct Sizes {
    int64_t na, nb;
  };
  for (const auto& [na, nb] : std::vector<Sizes>{{1, 1},
                                                 {31, 31},
                                                 {1000, 1000},
                                                 {1000, 1},
                                                 {1, 1000},
                                                 {33, 3},
                                                 {5, 1000},
                                                 {990, 330},
                                                 {300, 9000},
                                                 {20000, 500},
                                                 {20000, 256},
                                                 {20000, 10000},
                                                 {parallel_size, 1},
                                                 {3, 150000}}) {
    const int64_t n = std::max(na, nb);
    const Reals a = numbers.reals(na), b = numbers.reals(nb, 0.5, 2), dy = numbers.reals(n),
                before = numbers.reals(n);
    for (Binary f : all_binary) {
      each_variant([&, na = na, nb = nb](const Kernels& k) {
        CAPTURE(na);
        CAPTURE(nb);
        CAPTURE(static_cast<int>(f));
        const auto of_a = [&](int64_t i) { return static_cast<double>(a[static_cast<size_t>(i % na)]); };
        const auto of_b = [&](int64_t i) { return static_cast<double>(b[static_cast<size_t>(i % nb)]); };
        Reals y(dy.size());
        k.binary(f, a.data(), na, b.data(), nb, y.data(), n);
        check_close(y, [&](int64_t i) { return reference(f, of_a(i), of_b(i)); });
        for (bool second : {false, true}) {
          Reals d(dy.size()), sum(before);
          k.binary_gradient(f, second, a.data(), na, b.data(), nb, dy.data(), d.data(), n, false);
          k.binary_gradient(f, second, a.data(), na, b.data(), nb, dy.data(), sum.data(), n, true);
          const auto slope = [&](int64_t i) {
            return static_cast<double>(dy[static_cast<size_t>(i)]) *
                   reference_slope(f, second, of_a(i), of_b(i));
          };
          check_close(d, slope, 2);
          check_close(sum, slope, 2, &before);
        }
      });
    }
  }
}

TEST_CASE("affine, copies of blocks and transposes") {
  Numbers numbers("copies");
  for (const auto& [rows, cols] : matrices) {
    const int64_t n = rows * cols;
    const Reals x = numbers.reals(n), before = numbers.reals(n);
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      CAPTURE(rows);
      CAPTURE(cols);
      Reals y(x.size()), sum(before);
      k.affine(x.data(), 3, -1, y.data(), n, false);
      k.affine(x.data(), 3, -1, sum.data(), n, true);
      const auto line = [&](int64_t i) { return 3 * static_cast<double>(x[static_cast<size_t>(i)]) - 1; };
      check_close(y, line);
      check_close(sum, line, 7, &before);

      sum = before;
      k.transpose(x.data(), rows, cols, y.data(), false);
      k.transpose(x.data(), rows, cols, sum.data(), true);
      const auto turned = [&](int64_t i) {
        return static_cast<double>(x[static_cast<size_t>(i % rows * cols + i / rows)]);
      };
      check_close(y, turned, 0);
      check_close(sum, turned, 2, &before);

      // Every row into a wider matrix, and back out of it with a sum.
      const int64_t wide = cols + 5;
      Reals wider(static_cast<size_t>(rows * wide), 9);
      k.copy_blocks(x.data(), cols, wider.data() + 2, wide, rows, cols, false);
      int64_t wrong = 0;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < wide; ++c) {
          const bool inside = c >= 2 && c < cols + 2;
          wrong += wider[static_cast<size_t>(r * wide + c)] !=
                   (inside ? x[static_cast<size_t>(r * cols + c - 2)] : 9);
        }
      }
      CHECK(wrong == 0);
      sum = before;
      k.copy_blocks(wider.data() + 2, wide, sum.data(), cols, rows, cols, true);
      check_close(
          sum, [&](int64_t i) { return static_cast<double>(x[static_cast<size_t>(i)]); }, 2, &before);
    });
  }
}

// --- rows ----------------------------------------------------------------------------------------

TEST_CASE("rows: broadcast and sums") {
  Numbers numbers("rows");
  for (const auto& [rows, cols] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {31, 1}, {3, 33}, {7, 300}, {33, 31}, {20, 1000}, {300, 700}}) {
    const Reals x = numbers.reals(rows * cols), b = numbers.reals(cols);
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      Reals y(x.size()), sums(b.size()), more(b);
      k.broadcast_rows(b.data(), rows, cols, y.data());
      check_close(
          y, [&](int64_t i) { return static_cast<double>(b[static_cast<size_t>(i % cols)]); }, 0);
      k.sum_rows(x.data(), rows, cols, sums.data(), false);
      k.sum_rows(x.data(), rows, cols, more.data(), true);
      const auto expected = [&](int64_t c) {
        double sum = 0;
        for (int64_t r = 0; r < rows; ++r) sum += static_cast<double>(x[static_cast<size_t>(r * cols + c)]);
        return sum;
      };
      check_close(sums, expected, std::sqrt(static_cast<double>(rows)) * 4);
      check_close(more, expected, std::sqrt(static_cast<double>(rows)) * 4, &b);
    });
  }
}

TEST_CASE("softmax and its gradient, also for extreme rows") {
  Numbers numbers("softmax");
  for (const auto& [rows, cols] : matrices) {
    Reals x = numbers.reals(rows * cols, -5, 5);
    x[0] = 3000, x.back() = -infinity;
    if (cols == 1) x[0] = x.back() = 0;
    const Reals dy = numbers.reals(rows * cols), before = numbers.reals(rows * cols);
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      CAPTURE(rows);
      CAPTURE(cols);
      Reals y(x.size()), dx(x.size()), sum(before);
      k.softmax(x.data(), rows, cols, y.data());
      k.softmax_gradient(y.data(), dy.data(), rows, cols, dx.data(), false);
      k.softmax_gradient(y.data(), dy.data(), rows, cols, sum.data(), true);
      std::vector<double> want(x.size()), slope(x.size());
      for (int64_t r = 0; r < rows; ++r) {
        const size_t at = static_cast<size_t>(r * cols), n = static_cast<size_t>(cols);
        const double largest = static_cast<double>(*std::max_element(&x[at], &x[at] + n));
        double total = 0, dot = 0;
        for (size_t c = at; c < at + n; ++c) total += want[c] = std::exp(static_cast<double>(x[c]) - largest);
        for (size_t c = at; c < at + n; ++c) dot += (want[c] /= total) * static_cast<double>(dy[c]);
        for (size_t c = at; c < at + n; ++c) slope[c] = want[c] * (static_cast<double>(dy[c]) - dot);
      }
      check_close(y, [&](int64_t i) { return want[static_cast<size_t>(i)]; });
      check_close(
          dx, [&](int64_t i) { return slope[static_cast<size_t>(i)]; }, 2);
      check_close(
          sum, [&](int64_t i) { return slope[static_cast<size_t>(i)]; }, 2, &before);
    });
  }
  each_variant([](const Kernels& k) {  // one NaN spoils its row and no other
    Reals x(80, 1), y(80);
    x[5] = not_a_number;
    k.softmax(x.data(), 2, 40, y.data());
    CHECK(std::all_of(y.begin(), y.begin() + 40, [](real v) { return std::isnan(v); }));
    CHECK(std::none_of(y.begin() + 40, y.end(), [](real v) { return std::isnan(v); }));
  });
}

TEST_CASE("log softmax and its gradient") {
  Numbers numbers("log_softmax");
  for (const auto& [rows, cols] : matrices) {
    Reals x = numbers.reals(rows * cols, -5, 5);
    if (cols > 1) x[0] = 3000, x.back() = -infinity;
    const Reals dy = numbers.reals(rows * cols), before = numbers.reals(rows * cols);
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      CAPTURE(rows);
      CAPTURE(cols);
      Reals y(x.size()), dx(x.size()), sum(before);
      k.log_softmax(x.data(), rows, cols, y.data());
      k.log_softmax_gradient(y.data(), dy.data(), rows, cols, dx.data(), false);
      k.log_softmax_gradient(y.data(), dy.data(), rows, cols, sum.data(), true);
      std::vector<double> want(x.size()), slope(x.size());
      for (int64_t r = 0; r < rows; ++r) {
        const size_t at = static_cast<size_t>(r * cols), n = static_cast<size_t>(cols);
        const double largest = static_cast<double>(*std::max_element(&x[at], &x[at] + n));
        double total = 0, upstream = 0;
        for (size_t c = at; c < at + n; ++c) total += std::exp(static_cast<double>(x[c]) - largest);
        for (size_t c = at; c < at + n; ++c) upstream += static_cast<double>(dy[c]);
        for (size_t c = at; c < at + n; ++c) {
          want[c] = static_cast<double>(x[c]) - largest - std::log(total);
          slope[c] = static_cast<double>(dy[c]) - std::exp(want[c]) * upstream;
        }
      }
      if (cols > 1) {
        CHECK(y.back() == -infinity);
        y.back() = 0, want.back() = 0;
      }
      check_close(
          y, [&](int64_t i) { return want[static_cast<size_t>(i)]; }, 5);
      check_close(
          dx, [&](int64_t i) { return slope[static_cast<size_t>(i)]; }, 20);
      check_close(
          sum, [&](int64_t i) { return slope[static_cast<size_t>(i)]; }, 20, &before);
    });
  }
}

TEST_CASE("layer norm and its gradients") {
  Numbers numbers("layer_norm");
  for (const auto& [rows, cols] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {3, 33}, {7, 300}, {33, 31}, {20, 1000}}) {
    const Reals x = numbers.reals(rows * cols, 9, 12), dy = numbers.reals(rows * cols),
                before = numbers.reals(rows * cols);
    const Reals gain = numbers.reals(cols), bias = numbers.reals(cols);
    const real eps = real(1e-5);
    const auto at = [](const Reals& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); };
    std::vector<double> mean(static_cast<size_t>(rows)), rstd(mean.size()), a(mean.size()), b(mean.size());
    for (int64_t r = 0; r < rows; ++r) {
      const size_t i = static_cast<size_t>(r);
      for (int64_t c = 0; c < cols; ++c) mean[i] += at(x, r * cols + c) / static_cast<double>(cols);
      for (int64_t c = 0; c < cols; ++c)
        rstd[i] += std::pow(at(x, r * cols + c) - mean[i], 2) / static_cast<double>(cols);
      rstd[i] = 1 / std::sqrt(rstd[i] + static_cast<double>(eps));
      for (int64_t c = 0; c < cols; ++c) {
        const double g = at(dy, r * cols + c) * at(gain, c) / static_cast<double>(cols);
        a[i] += g;
        b[i] += g * (at(x, r * cols + c) - mean[i]) * rstd[i];
      }
    }
    const auto normal = [&](int64_t i) {
      const size_t r = static_cast<size_t>(i / cols);
      return (at(x, i) - mean[r]) * rstd[r];
    };
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      CAPTURE(rows);
      CAPTURE(cols);
      Reals y(x.size()), m(mean.size()), s(mean.size()), dx(x.size()), sum(before), dgain(gain), dbias(bias);
      k.layer_norm(x.data(), gain.data(), bias.data(), eps, rows, cols, y.data(), false, m.data(), s.data());
      check_close(
          y, [&](int64_t i) { return normal(i) * at(gain, i % cols) + at(bias, i % cols); }, 40);
      Reals added(before);
      k.layer_norm(x.data(), gain.data(), nullptr, eps, rows, cols, added.data(), true, m.data(), s.data());
      check_close(
          added, [&](int64_t i) { return normal(i) * at(gain, i % cols); }, 40, &before);
      k.layer_norm_gradient(x.data(), gain.data(), m.data(), s.data(), dy.data(), rows, cols, dx.data(),
                            false, nullptr, nullptr);
      k.layer_norm_gradient(x.data(), gain.data(), m.data(), s.data(), dy.data(), rows, cols, sum.data(),
                            true, dgain.data(), dbias.data());
      const auto slope = [&](int64_t i) {
        const size_t r = static_cast<size_t>(i / cols);
        return rstd[r] * (at(dy, i) * at(gain, i % cols) - a[r] - normal(i) * b[r]);
      };
      check_close(dx, slope, 40);
      check_close(sum, slope, 40, &before);
      Reals in_place(x), of_gain(gain);
      k.layer_norm_gradient(in_place.data(), gain.data(), m.data(), s.data(), dy.data(), rows, cols,
                            in_place.data(), false, of_gain.data(), nullptr);
      CHECK(in_place == dx);
      CHECK(of_gain == dgain);
      check_close(
          dgain,
          [&](int64_t c) {
            double total = 0;
            for (int64_t r = 0; r < rows; ++r) total += at(dy, r * cols + c) * normal(r * cols + c);
            return total;
          },
          40, &gain);
      check_close(
          dbias,
          [&](int64_t c) {
            double total = 0;
            for (int64_t r = 0; r < rows; ++r) total += at(dy, r * cols + c);
            return total;
          },
          40, &bias);
    });
  }
}

TEST_CASE("sums and maxima over a middle dimension") {
  Numbers numbers("middle");
  struct Block {
    int64_t outer, n, inner;
  };
  for (const auto& [outer, n, inner] : std::vector<Block>{{1, 1, 1},
                                                          {1, 1000, 1},
                                                          {33, 31, 1},
                                                          {1, 31, 33},
                                                          {3, 7, 5},
                                                          {2, 33, 300},
                                                          {5, 1, 31},
                                                          {1, parallel_size, 1},
                                                          {4, 9, 5000}}) {
    const int64_t size = outer * n * inner, results = outer * inner;
    Reals x = numbers.reals(size);
    if (n > 2) x[static_cast<size_t>(inner)] = x[static_cast<size_t>(2 * inner)] = 7;  // equals
    const Reals dy = numbers.reals(results), before = numbers.reals(size);
    each_variant([&, outer = outer, n = n, inner = inner](const Kernels& k) {
      CAPTURE(outer);
      CAPTURE(n);
      CAPTURE(inner);
      const auto index = [&](int64_t i, int64_t j) {
        return static_cast<size_t>((i / inner * n + j) * inner + i % inner);
      };
      const auto result_of = [&](int64_t i) {
        return static_cast<size_t>(i / (n * inner) * inner + i % inner);
      };
      Reals y(dy.size()), dx(x.size()), sum(before);
      const real scale = real(0.25);
      k.sum_middle(x.data(), outer, n, inner, scale, y.data());
      check_close(
          y,
          [&](int64_t i) {
            double total = 0;
            for (int64_t j = 0; j < n; ++j) total += static_cast<double>(x[index(i, j)]);
            return 0.25 * total;
          },
          10);
      k.sum_middle_gradient(dy.data(), outer, n, inner, scale, dx.data(), false);
      k.sum_middle_gradient(dy.data(), outer, n, inner, scale, sum.data(), true);
      const auto spread = [&](int64_t i) { return 0.25 * static_cast<double>(dy[result_of(i)]); };
      check_close(dx, spread);
      check_close(sum, spread, 2, &before);

      Ids where(dy.size(), -1);
      k.max_middle(x.data(), outer, n, inner, y.data(), where.data());
      int64_t wrong = 0;
      Reals want(x.size());
      for (int64_t i = 0; i < results; ++i) {
        int64_t best = 0;
        for (int64_t j = 1; j < n; ++j) {
          if (x[index(i, j)] > x[index(i, best)]) best = j;
        }
        const size_t at = static_cast<size_t>(i);
        wrong += where[at] != best || y[at] != x[index(i, best)];
        want[index(i, best)] = dy[at];
      }
      CHECK(wrong == 0);
      k.max_middle_gradient(dy.data(), where.data(), outer, n, inner, dx.data());
      CHECK(dx == want);
    });
  }
  each_variant([](const Kernels& k) {  // NaN is the largest, the first one counts
    for (int64_t inner : {int64_t{1}, int64_t{3}}) {
      Reals x(static_cast<size_t>(20 * inner), 1), y(3);
      for (int64_t i : {7, 9}) x[static_cast<size_t>(i * inner)] = not_a_number;
      x[static_cast<size_t>(12 * inner)] = infinity;
      Ids where(3);
      k.max_middle(x.data(), 1, 20, inner, y.data(), where.data());
      CHECK(std::isnan(y[0]));
      CHECK(where[0] == 7);
    }
    Reals x(40, -infinity), y(1);
    Ids where(1, -1);
    k.max_middle(x.data(), 1, 40, 1, y.data(), where.data());
    CHECK(where[0] == 0);
  });
}

TEST_CASE("rows are taken by number and added back in order") {
  Numbers numbers("indices");
  for (int64_t cols : {1, 31, 33, 1000}) {
    for (int64_t n : {1, 33, 200}) {
      const Reals table = numbers.reals(50 * cols), dy = numbers.reals(n * cols);
      const Ids ids = numbers.ids(n, 50);
      each_variant([&](const Kernels& k) {
        Reals y(dy.size()), sum(table), want(table);
        k.take_rows(table.data(), ids.data(), n, cols, y.data());
        k.add_to_rows(dy.data(), ids.data(), n, cols, sum.data());
        int64_t wrong = 0;
        for (int64_t i = 0; i < n * cols; ++i) {
          const size_t from = static_cast<size_t>(ids[static_cast<size_t>(i / cols)] * cols + i % cols);
          wrong += y[static_cast<size_t>(i)] != table[from];
          want[from] += dy[static_cast<size_t>(i)];
        }
        CHECK(wrong == 0);
        CHECK(sum == want);
      });
    }
  }
}

TEST_CASE("blend is exact where a share is 0 or 1") {
  Numbers numbers("blend");
  for (int64_t n : {int64_t{1}, int64_t{33}, parallel_size}) {
    const Reals a = numbers.reals(n), b = numbers.reals(n);
    Reals u = numbers.reals(n, 0, 1);
    for (int64_t i = 0; i < n; ++i)
      if (i % 3 > 0) u[static_cast<size_t>(i)] = static_cast<real>(i % 3 - 1);
    each_variant([&](const Kernels& k) {
      Reals y(a);
      k.blend(u.data(), y.data(), b.data(), y.data(), n);  // in place
      int64_t wrong = 0;
      for (int64_t i = 0; i < n; ++i) {
        const size_t j = static_cast<size_t>(i);
        if (i % 3 > 0)
          wrong += y[j] != (i % 3 == 1 ? b[j] : a[j]);
        else
          wrong += std::abs(y[j] - (double{u[j]} * a[j] + (1 - double{u[j]}) * b[j])) > rounding;
      }
      CHECK(wrong == 0);
    });
  }
}

TEST_CASE("keep_rows lets rows through or leaves zeros, whatever they hold, in place and added") {
  Numbers numbers("keep_rows");
  for (const auto& [rows, cols] : matrices) {
    const Reals x = numbers.reals(rows * cols), before = numbers.reals(rows * cols);
    Reals kept(static_cast<size_t>(rows), 1), holed(x);
    for (int64_t r = 0; r < rows; r += 2) {
      kept[static_cast<size_t>(r)] = 0;
      std::fill_n(holed.begin() + r * cols, cols, r % 4 ? not_a_number : infinity);
    }
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      Reals y(holed), sum(before);
      k.keep_rows(y.data(), kept.data(), rows, cols, y.data(), false);
      k.keep_rows(holed.data(), kept.data(), rows, cols, sum.data(), true);
      int64_t wrong = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const bool stays = kept[i / static_cast<size_t>(cols)] != 0;
        wrong += y[i] != (stays ? x[i] : 0);
        wrong += sum[i] != (stays ? before[i] + x[i] : before[i]);
      }
      CHECK(wrong == 0);
    });
  }
}

// --- the cell ------------------------------------------------------------------------------------

TEST_CASE("the LSTM cell and its gradient") {
  Numbers numbers("lstm_cell");
  for (const auto& [batch, hidden] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 31}, {2, 33}, {20, 200}, {5, 1000}, {40, 1000}}) {
    const Reals gates = numbers.reals(batch * hidden * 4, -4, 4), c_prev = numbers.reals(batch * hidden);
    const Reals dh = numbers.reals(batch * hidden), dc = numbers.reals(batch * hidden);
    each_variant([&, batch = batch, hidden = hidden](const Kernels& k) {
      CAPTURE(batch);
      CAPTURE(hidden);
      Reals a(gates), c(c_prev.size()), h(c_prev.size()), dc_prev(dc);
      const LstmStep step{.batch = batch, .hidden = hidden, .gates = a.data(), .c_prev = c_prev.data(), .c = c.data(), .h = h.data()};
      k.lstm_cell(step);
      struct Unit {
        double i, f, g, o, c, h, c_prev, dh, dc;
      };
      const auto unit = [&](int64_t at) {
        const auto gate = [&](int64_t q) {
          return static_cast<double>(
              gates[static_cast<size_t>((at / hidden * 4 + q) * hidden + at % hidden)]);
        };
        const size_t j = static_cast<size_t>(at);
        Unit u{sigmoid(gate(0)),
               sigmoid(gate(1)),
               std::tanh(gate(2)),
               sigmoid(gate(3)),
               0,
               0,
               static_cast<double>(c_prev[j]),
               static_cast<double>(dh[j]),
               static_cast<double>(dc[j])};
        u.c = u.f * u.c_prev + u.i * u.g;
        u.h = u.o * std::tanh(u.c);
        u.dc += u.dh * u.o * (1 - std::pow(std::tanh(u.c), 2));
        return u;
      };
      const auto of_gate = [&](int64_t at, auto part) {
        const int64_t row = at / (4 * hidden), q = at / hidden % 4;
        return part(unit(row * hidden + at % hidden), q);
      };
      check_close(c, [&](int64_t at) { return unit(at).c; });
      check_close(h, [&](int64_t at) { return unit(at).h; });
      check_close(a, [&](int64_t at) {
        return of_gate(at, [](const Unit& u, int64_t q) {
          return q == 0 ? u.i : q == 1 ? u.f : q == 2 ? u.g : u.o;
        });
      });
      k.lstm_cell_gradient(step, dh.data(), dc.data(), dc_prev.data());
      check_close(
          dc_prev, [&](int64_t at) { return unit(at).dc * unit(at).f; }, 4);
      check_close(
          a,
          [&](int64_t at) {
            return of_gate(at, [](const Unit& u, int64_t q) {
              return q == 0   ? u.dc * u.g * u.i * (1 - u.i)
                     : q == 1 ? u.dc * u.c_prev * u.f * (1 - u.f)
                     : q == 2 ? u.dc * u.i * (1 - u.g * u.g)
                              : u.dh * std::tanh(u.c) * u.o * (1 - u.o);
            });
          },
          4);
    });
  }
}

// --- losses --------------------------------------------------------------------------------------

TEST_CASE("cross-entropy, its gradient, weights, ignored and extreme rows") {
  Numbers numbers("cross_entropy");
  for (const auto& [rows, cols] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {5, 31}, {6, 33}, {9, 1000}, {40, 10000}}) {
    Reals x = numbers.reals(rows * cols, -6, 6);
    x[0] = 5000, x[1] = -infinity;
    Ids target = numbers.ids(rows, static_cast<uint32_t>(cols));
    target[0] = 0;
    if (rows > 2) target[2] = -1;
    const Reals weights = numbers.reals(rows, 0, 2);
    for (bool weighted : {false, true}) {
      each_variant([&, rows = rows, cols = cols](const Kernels& k) {
        CAPTURE(rows);
        CAPTURE(cols);
        Reals same(x), dx(x), loss(static_cast<size_t>(rows)), again(loss);
        const real* w = weighted ? weights.data() : nullptr;
        k.cross_entropy(same.data(), target.data(), w, -1, rows, cols, loss.data(), false, 3);
        CHECK(std::memcmp(same.data(), x.data(), x.size() * sizeof(real)) == 0);
        k.cross_entropy(dx.data(), target.data(), w, -1, rows, cols, again.data(), true, 3);
        std::vector<double> want(x.size()), losses(loss.size());
        for (int64_t r = 0; r < rows; ++r) {
          const size_t at = static_cast<size_t>(r * cols), n = static_cast<size_t>(cols),
                       row = static_cast<size_t>(r);
          if (target[row] == -1) continue;
          const double largest = static_cast<double>(*std::max_element(&x[at], &x[at] + n));
          const double weight = weighted ? static_cast<double>(weights[row]) : 1;
          double total = 0;
          for (size_t c = at; c < at + n; ++c)
            total += want[c] = std::exp(static_cast<double>(x[c]) - largest);
          for (size_t c = at; c < at + n; ++c) want[c] *= weight * 3 / total;
          const size_t chosen = at + static_cast<size_t>(target[row]);
          want[chosen] -= weight * 3;
          losses[row] = weight * (std::log(total) + largest - static_cast<double>(x[chosen]));
        }
        check_close(loss, [&](int64_t r) { return losses[static_cast<size_t>(r)]; });
        CHECK(loss == again);
        check_close(dx, [&](int64_t i) { return want[static_cast<size_t>(i)]; });
      });
    }
  }
  each_variant([](const Kernels& k) {
    Reals x(100, 1), loss(1);
    x[70] = not_a_number;
    const int32_t target = 3;
    k.cross_entropy(x.data(), &target, nullptr, -1, 1, 100, loss.data(), false, 1);
    CHECK(std::isnan(loss[0]));
  });
}

TEST_CASE("binary cross-entropy and its gradient") {
  Numbers numbers("binary_cross_entropy");
  for (int64_t n : odd_sizes) {
    Reals x = numbers.reals(n, -9, 9);
    x[0] = 200;
    if (n > 1) x[1] = -200;
    const Reals t = numbers.reals(n, 0, 1), dy = numbers.reals(n), before = numbers.reals(n);
    const auto at = [](const Reals& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); };
    each_variant([&](const Kernels& k) {
      Reals y(x.size()), dx(x.size()), sum(before);
      k.binary_cross_entropy(x.data(), t.data(), 3, y.data(), n);
      k.binary_cross_entropy_gradient(x.data(), t.data(), 3, dy.data(), dx.data(), n, false);
      k.binary_cross_entropy_gradient(x.data(), t.data(), 3, dy.data(), sum.data(), n, true);
      check_close(y, [&](int64_t i) {
        return 3 * at(t, i) * softplus(-at(x, i)) + (1 - at(t, i)) * softplus(at(x, i));
      });
      const auto slope = [&](int64_t i) {
        return at(dy, i) * ((1 - at(t, i)) * sigmoid(at(x, i)) - 3 * at(t, i) * sigmoid(-at(x, i)));
      };
      check_close(dx, slope, 4);
      check_close(sum, slope, 4, &before);
    });
  }
}

// --- updates -------------------------------------------------------------------------------------

TEST_CASE("sums over slabs do not depend on the number of threads") {
  Numbers numbers("sums");
  for (int64_t n : {int64_t{1}, int64_t{31}, int64_t{1000}, parallel_size}) {
    const Reals x = numbers.reals(n);
    double total = 0, squares = 0;
    for (real v : x)
      total += static_cast<double>(v), squares += static_cast<double>(v) * static_cast<double>(v);
    each_variant([&](const Kernels& k) {
      CHECK(k.sum(x.data(), n) == doctest::Approx(total).epsilon(1e-10));
      CHECK(k.sum_of_squares(x.data(), n) == doctest::Approx(squares).epsilon(1e-12));
    });
  }
  const Reals x = numbers.reals(parallel_size);
  const Threads guard(1);
  each_variant([&](const Kernels& k) {
    set_threads(1);
    const double total = k.sum(x.data(), parallel_size), squares = k.sum_of_squares(x.data(), parallel_size);
    Reals sums(501), same(501);
    k.sum_rows(x.data(), 299, 501, sums.data(), false);
    for (int count : {2, 3}) {
      set_threads(count);
      CHECK(k.sum(x.data(), parallel_size) == total);
      CHECK(k.sum_of_squares(x.data(), parallel_size) == squares);
      k.sum_rows(x.data(), 299, 501, same.data(), false);
      CHECK(same == sums);
    }
  });
  const Reals large(100, std::numeric_limits<real>::max() / 4);
  each_variant([&](const Kernels& k) {
    if (is_float) CHECK(std::isfinite(k.sum_of_squares(large.data(), 100)));
    const Reals spoiled = {1, not_a_number, 2};
    CHECK(std::isnan(k.sum_of_squares(spoiled.data(), 3)));
  });
}

TEST_CASE("optimizers' updates follow PyTorch's definitions") {
  Numbers numbers("updates");
  for (int64_t n : {int64_t{1}, int64_t{31}, int64_t{33}, int64_t{1000}, parallel_size}) {
    const Reals p = numbers.reals(n), g = numbers.reals(n), first = numbers.reals(n),
                second = numbers.reals(n, 0, 1);
    const auto at = [](const Reals& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); };
    each_variant([&](const Kernels& k) {
      CAPTURE(n);
      for (int variant = 0; variant < 8; ++variant) {
        const SgdUpdate u{.scale = real(0.5),
                          .learning_rate = real(0.1),
                          .momentum = variant & 1 ? real(0.9) : 0,
                          .weight_decay = real(0.25),
                          .nesterov = (variant & 2) != 0,
                          .first = (variant & 4) != 0};
        Reals q(p), v(first);
        k.sgd(u, q.data(), g.data(), v.data(), n);
        const auto direction = [&](int64_t i) { return 0.5 * at(g, i) + 0.25 * at(p, i); };
        const double momentum = static_cast<double>(u.momentum), rate = static_cast<double>(u.learning_rate);
        const auto velocity = [&](int64_t i) {
          return u.first ? direction(i) : momentum * at(first, i) + direction(i);
        };
        check_close(v, velocity, 2);
        check_close(
            q,
            [&](int64_t i) {
              return at(p, i) - rate * (u.nesterov ? direction(i) + momentum * velocity(i) : velocity(i));
            },
            2);
        Reals plain(p);
        k.sgd(u, plain.data(), g.data(), nullptr, n);
        check_close(
            plain, [&](int64_t i) { return at(p, i) - rate * direction(i); }, 2);
      }
      for (bool decoupled : {false, true}) {
        const AdamUpdate u{.scale = real(0.5),
                           .learning_rate = real(0.01),
                           .beta1 = real(0.75),
                           .beta2 = real(0.875),
                           .eps = real(1e-8),
                           .weight_decay = real(0.25),
                           .decoupled = decoupled,
                           .correction1 = real(0.4375),
                           .correction2 = real(0.234375)};
        Reals q(p), m(first), v(second);
        k.adam(u, q.data(), g.data(), m.data(), v.data(), n);
        const auto direction = [&](int64_t i) { return 0.5 * at(g, i) + (decoupled ? 0 : 0.25 * at(p, i)); };
        const auto mean = [&](int64_t i) { return 0.75 * at(first, i) + 0.25 * direction(i); };
        const auto square = [&](int64_t i) {
          return 0.875 * at(second, i) + 0.125 * direction(i) * direction(i);
        };
        check_close(m, mean, 2);
        check_close(v, square, 2);
        const double rate = static_cast<double>(u.learning_rate);
        check_close(
            q,
            [&](int64_t i) {
              const double decayed = at(p, i) * (decoupled ? 1 - rate * 0.25 : 1);
              return decayed - rate * (mean(i) / 0.4375) / (std::sqrt(square(i) / 0.234375) + 1e-8);
            },
            2);
      }
      Reals mean(first);
      k.average(p.data(), real(0.25), mean.data(), n);
      check_close(
          mean, [&](int64_t i) { return at(first, i) + 0.25 * (at(p, i) - at(first, i)); }, 2);
    });
  }
}
