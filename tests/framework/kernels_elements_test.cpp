// Kernels that treat every element alike, against plain loops in double.
#include <bit>
#include <numbers>

#include "tests/framework/kernel_checks.h"

using namespace unroll;

namespace {

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
    case Unary::softplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case Unary::erf:
      return std::erf(x);
    case Unary::gelu:
      return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case Unary::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Unary::silu:
      return x / (1 + std::exp(-x));
    case Unary::sin:
      return std::sin(x);
    case Unary::cos:
      return std::cos(x);
    case Unary::relu:
      return std::max(x, 0.0);
    case Unary::hard_sigmoid:
      return std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case Unary::hard_tanh:
      return std::clamp(x, -1.0, 1.0);
    case Unary::softsign:
      return x / (1 + std::abs(x));
    case Unary::abs:
      return std::abs(x);
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
    case Unary::softplus:
      return 1 / (1 + std::exp(-x));
    case Unary::erf:
      return 2 / std::sqrt(std::numbers::pi) * std::exp(-x * x);
    case Unary::gelu:
      return std::erfc(-x / std::sqrt(2.0)) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case Unary::gelu_tanh: {
      const double root = std::sqrt(2 / std::numbers::pi), t = std::tanh(root * (x + 0.044715 * x * x * x));
      return (1 + t) / 2 + x / 2 * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
    }
    case Unary::silu:
      return reference(Unary::sigmoid, x) * (1 + x * (1 - reference(Unary::sigmoid, x)));
    case Unary::sin:
      return std::cos(x);
    case Unary::cos:
      return -std::sin(x);
    case Unary::relu:
      return x > 0 ? 1 : 0;
    case Unary::hard_sigmoid:
      return std::abs(x) < 3 ? 1.0 / 6 : 0;
    case Unary::hard_tanh:
      return std::abs(x) < 1 ? 1 : 0;
    case Unary::softsign:
      return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
    case Unary::abs:
      return x > 0 ? 1 : -1;
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
    case Binary::max:
      return std::max(a, b);
    case Binary::min:
      return std::min(a, b);
    case Binary::pow:
      return std::pow(a, b);
    case Binary::less:
      return a < b;
    case Binary::less_equal:
      return a <= b;
    case Binary::equal:
      return a == b;
    case Binary::not_equal:
      return a != b;
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
    case Binary::max:
      return (of_b ? b > a : a > b) ? 1 : 0;
    case Binary::min:
      return (of_b ? b < a : a < b) ? 1 : 0;
    case Binary::pow:
      return of_b ? std::pow(a, b) * std::log(a) : b * std::pow(a, b - 1);
    default:  // comparisons
      return 0;
  }
  return 0;
}

const std::vector<Binary> all_binary = {Binary::add,        Binary::sub,   Binary::mul,      Binary::div,
                                        Binary::max,        Binary::min,   Binary::pow,      Binary::less,
                                        Binary::less_equal, Binary::equal, Binary::not_equal};

}  // namespace

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

TEST_CASE("a choice takes one of two arrays, or a number in place of either") {
  Numbers numbers("select");
  for (int64_t n : {int64_t{1}, int64_t{33}, int64_t{1000}}) {
    const Reals a = numbers.reals(n), b = numbers.reals(n), before = numbers.reals(n);
    Reals c(a.size());
    for (size_t i = 0; i < c.size(); ++i) c[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? real(-0.5) : not_a_number;
    each_variant([&](const Kernels& k) {
      for (const int given : {0, 1, 2, 3}) {
        Reals y(a.size()), sum(before);
        const real *one = given & 1 ? a.data() : nullptr, *other = given & 2 ? b.data() : nullptr;
        k.select(c.data(), one, 7, other, 9, y.data(), n, false);
        k.select(c.data(), one, 7, other, 9, sum.data(), n, true);
        const auto chosen = [&](int64_t i) {
          const size_t at = static_cast<size_t>(i);
          return static_cast<double>(i % 3 != 0 ? (one ? a[at] : 7) : (other ? b[at] : 9));
        };
        check_close(y, chosen, 0);
        check_close(sum, chosen, 9, &before);
      }
    });
  }
}

TEST_CASE("a gate scales by twice its sigmoid, and its gradients take the places of what they are of") {
  Numbers numbers("gate");
  for (int64_t n : {int64_t{1}, int64_t{31}, int64_t{33}, int64_t{1000}, parallel_size}) {
    const Reals a = numbers.reals(n, -3, 3), x = numbers.reals(n), dy = numbers.reals(n);
    const auto at = [](const Reals& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); };
    const auto s = [&](int64_t i) { return reference(Unary::sigmoid, at(a, i)); };
    each_variant([&](const Kernels& k) {
      CAPTURE(n);
      Reals gate(a), y(a.size()), d(dy);
      k.gate(gate.data(), x.data(), y.data(), n);
      check_close(gate, s);
      check_close(
          y, [&](int64_t i) { return 2 * s(i) * at(x, i); }, 2);
      k.gate_gradient(gate.data(), x.data(), d.data(), n);
      check_close(
          gate, [&](int64_t i) { return at(dy, i) * 2 * at(x, i) * s(i) * (1 - s(i)); }, 2);
      check_close(
          d, [&](int64_t i) { return at(dy, i) * 2 * s(i); }, 2);
    });
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
                                   {Unary::softplus, -infinity, 0},
                                   {Unary::softplus, infinity, infinity},
                                   {Unary::softplus, 200, 200},
                                   {Unary::softplus, not_a_number, not_a_number},
                                   {Unary::erf, infinity, 1},
                                   {Unary::erf, -infinity, -1},
                                   {Unary::erf, -0.0, 0},
                                   {Unary::erf, not_a_number, not_a_number},
                                   {Unary::erf, -not_a_number, not_a_number},
                                   {Unary::gelu, -huge, 0},
                                   {Unary::gelu, huge, huge},
                                   {Unary::silu, -200, 0},
                                   {Unary::silu, huge, huge},
                                   {Unary::abs, -infinity, infinity},
                                   {Unary::abs, -0.0, 0},
                                   {Unary::abs, not_a_number, not_a_number},
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
    "exp, log, tanh, sigmoid, softplus and erf in float are right to 3 units of the last place over all of their range") {
  if constexpr (is_float) {
    // Every 1009th float, both signs; the unit of a denormal result is their distance, except for sigmoid and
    // softplus, which are zero below the normal numbers.
    KernelVector<float> x;
    for (uint64_t bits = 0; bits <= 0xffffffff; bits += 1009) {
      const float v = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (std::isfinite(v)) x.push_back(v);
    }
    const int64_t n = static_cast<int64_t>(x.size());
    KernelVector<float> y(x.size());
    for (Unary f : {Unary::exp, Unary::log, Unary::tanh, Unary::sigmoid, Unary::softplus, Unary::erf}) {
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
          const bool below = (f == Unary::sigmoid || f == Unary::softplus) && want <= 0x1.00001p-126;
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
    const Reals both_signs = numbers.reals(na), b = numbers.reals(nb, 0.5, 2), dy = numbers.reals(n),
                before = numbers.reals(n);
    for (Binary f : all_binary) {
      Reals a = both_signs;
      if (f == Binary::pow)
        for (real& v : a) v = std::abs(v) + real(0.1);
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
