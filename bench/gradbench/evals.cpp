#include "bench/gradbench/evals.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "framework/kernels/kernels.h"
#include "framework/ops.h"

namespace unroll::gradbench {

// --- parts of an input ------------------------------------------------------------------------------------------

static const Json& part(const Json& input, const char* key) {
  require_input(input.is_object() && input.contains(key), "input: there is no '{}'", key);
  return input[key];
}

static void append(const Json& list, const char* key, std::vector<real>& values) {
  require_input(list.is_array(), "input: '{}' is not what was asked for: lists of numbers", key);
  for (const Json& element : list) {
    require_input(element.is_number(), "input: an element of '{}' is not a number", key);
    values.push_back(element.get<real>());
  }
}

static int extent(size_t size, const char* key) {
  require_input(size <= INT32_MAX, "input: '{}' has {} elements, more than {}", key, size, INT32_MAX);
  return static_cast<int>(size);
}

Tensor numbers(const Json& input, const char* key) {
  std::vector<real> values;
  append(part(input, key), key, values);
  return Tensor::from({extent(values.size(), key)}, std::span<const real>(values));
}

Tensor rows(const Json& input, const char* key) {
  const Json& list = part(input, key);
  require_input(list.is_array() && !list.empty(), "input: '{}' must be a list of lists", key);
  std::vector<real> values;
  size_t length = 0;
  for (const Json& row : list) {
    const size_t before = values.size();
    append(row, key, values);
    if (&row == &list.front()) length = values.size();
    require_input(values.size() - before == length, "input: the lists in '{}' have different lengths", key);
  }
  return Tensor::from({extent(list.size(), key), extent(length, key)}, std::span<const real>(values));
}

double number(const Json& input, const char* key) {
  const Json& value = part(input, key);
  require_input(value.is_number(), "input: '{}' must be a number", key);
  return value.get<double>();
}

int count(const Json& input, const char* key, int least) {
  const double value = number(input, key);
  require_input(value >= least && value <= INT32_MAX && value == std::floor(value),
                "input: '{}' must be a whole number from {} on, not {}", key, least, value);
  return static_cast<int>(value);
}

// --- hello, lse, llsq, ode --------------------------------------------------------------------------------------

static Problem hello(const Json& input) {
  require_input(input.is_number(), "input: it must be a number");
  return {.at = {Tensor::full({}, input.get<real>())}, .value = [](const Vars& x) { return x[0] * x[0]; }};
}

// max x + log Σ exp (x - max x), from its elements, as the eval wants it
static Problem lse(const Json& input) {
  const Tensor x = numbers(input, "x");
  require_input(x.size() > 0, "input: 'x' is empty");
  return {.at = {x}, .value = [](const Vars& x) {
            const Var most = max(x[0]);
            return log(sum(exp(x[0] - most))) + most;
          }};
}

// ½ Σ (s_i - Σ_j x_j t_i^j)²,  t_i = -1 + 2i / (n-1),  s_i the sign of t_i
static Problem llsq(const Json& input) {
  const Tensor x = numbers(input, "x");
  const int n = count(input, "n", 2), m = x.dim(0);
  return {.at = {x}, .value = [n, m](const Vars& x) {
            Tensor powers({n, m}), signs({n});
            for (int i = 0; i < n; ++i) {
              const real t = -1 + real(2) * i / (n - 1);
              signs.data()[i] = t > 0 ? 1 : t < 0 ? -1 : 0;
              real power = 1;
              for (real& v : powers[i].span()) v = power, power *= t;
            }
            const Var missed = signs - linear(x[0], powers);
            return sum(missed * missed) / 2;
          }};
}

// z_0 = x_0, z_i = x_i y_{i-1};  dx_0 = dz_0, dx_i = dz_i y_{i-1};  dy_{i-1} = dz_i x_i, and 0 for the last
static Var times_shifted(const Var& x, const Var& y) {
  const int n = x.dim(0);
  Tensor z({n});
  const real* const first = x.value().data();
  z.data()[0] = first[0];
  kernels().binary(Binary::mul, first + 1, n - 1, y.value().data(), n - 1, z.data() + 1, n - 1);
  return record("times_shifted", z, inputs(x, y), [=](const Var& z) {
    const Tensor &xs = x.value(), &ys = y.value(), &dz = z.grad();
    const auto slopes = [&](bool of_y, real* d, bool add) {
      kernels().binary_gradient(Binary::mul, of_y, xs.data() + 1, n - 1, ys.data(), n - 1, dz.data() + 1, d,
                                n - 1, add);
    };
    const Into dx = x.gradient();
    real* const first = dx.tensor.data();
    *first = dx.add ? *first + dz.data()[0] : dz.data()[0];
    slopes(false, first + 1, dx.add);
    if (!y.wants_grad()) return;
    const Into dy = y.gradient();
    slopes(true, dy.tensor.data(), dy.add);
    if (!dy.add) dy.tensor.data()[n - 1] = 0;
  });
}

// y' = x_0, and y_i' = x_i y_{i-1}, from 0 at time 0 to time 2 in s steps of the Runge-Kutta method of order 4
static Problem ode(const Json& input) {
  const Tensor x = numbers(input, "x");
  require_input(x.size() > 0, "input: 'x' is empty");
  const int n = x.dim(0), s = count(input, "s", 1);
  return {.at = {x}, .value = [n, s](const Vars& at) {
            const Var whole = at[0] * (real(2) / s),
                      half = whole / 2;  // x times a step, and times half of one
            Var y = Tensor::zeros({n});
            for (int step = 0; step < s; ++step) {
              const Var k1 = times_shifted(half, y), k2 = times_shifted(half, y + k1);  // times half a step
              const Var k3 = times_shifted(whole, y + k2), k4 = times_shifted(half, y + k3);
              y = y + (k1 + k2 * 2 + k3 + k4) / 3;
            }
            return y;
          }};
}

// --- gmm --------------------------------------------------------------------------------------------------------

// log Γ_d(a)
static double log_gamma(double a, int d) {
  double result = d * (d - 1) / 4.0 * std::log(std::numbers::pi);
  for (int j = 0; j < d; ++j) result += std::lgamma(a - j / 2.0);
  return result;
}

// Element (i, j) of a lower triangular matrix is e^q_j on the diagonal and, column by column, one of l below it. These are
// its places in [e^q, l, 0].
static IdTensor triangle_places(int d) {
  IdTensor places({d * d});
  const int zero = d + d * (d - 1) / 2;
  for (int i = 0; i < d; ++i)
    for (int j = 0; j < d; ++j)
      places.data()[i * d + j] = i < j ? zero : i == j ? j : d + j * d - j * (j + 1) / 2 + i - j - 1;
  return places;
}

// The log posterior of k normal distributions in d dimensions with weights softmax(alpha), means mu and inverse covariances QᵀQ,
// given x and a Wishart prior:
//   Σ_i log Σ_k exp(alpha_k + Σ q_k - ½ |Q_k (x_i - mu_k)|²) - n log Σ exp alpha - ½ γ² Σ |Q_k|² + m Σ q + a constant
static Problem gmm(const Json& input) {
  const int d = count(input, "d", 1), k = count(input, "k", 1), n = count(input, "n", 1),
            m = count(input, "m", 0);
  require_input(d <= 4096, "input: 'd' is {}, more than 4096", d);
  const double gamma = number(input, "gamma");
  require_input(gamma > 0, "input: 'gamma' must be above 0, not {}", gamma);
  const Tensor x = rows(input, "x"), alpha = numbers(input, "alpha"), mu = rows(input, "mu"),
               q = rows(input, "q"), l = rows(input, "l");
  require_input(x.shape() == Shape({n, d}) && alpha.shape() == Shape{k} && mu.shape() == Shape({k, d}) &&
                    q.shape() == Shape({k, d}) && l.shape() == Shape({k, d * (d - 1) / 2}),
                "input: x {}, alpha {}, mu {}, q {} and l {} do not fit n = {}, d = {} and k = {}", x.shape(),
                alpha.shape(), mu.shape(), q.shape(), l.shape(), n, d, k);
  const double freedom = double(d) + m + 1;
  const double constant =
      -n * d * 0.5 * std::log(2 * std::numbers::pi) +
      k * (freedom * d * (std::log(gamma) - 0.5 * std::log(2)) - log_gamma(freedom / 2, d));
  return {.at = {alpha, mu, q, l},
          .names = {"alpha", "mu", "q", "l"},
          .value = [=, places = triangle_places(d)](const Vars& at) {
            const Var &alpha = at[0], &mu = at[1], &q = at[2], &l = at[3], diagonal = exp(q);
            const Vars elements{diagonal, l, Tensor::zeros({k, 1})};
            const Var factors = reshape(index_select(concat(elements, 1), 1, places), {k, d, d});
            const Var of_means = sum(factors * reshape(mu, {k, 1, d}), 2);  // [k, d]
            const Var centred =
                reshape(linear(x, reshape(factors, {k * d, d}), -reshape(of_means, {k * d})), {n, k, d});
            const Var exponents = alpha + sum(q, 1) - sum(centred * centred, 2) * real(0.5);  // [n, k]
            return sum(logsumexp(exponents)) - logsumexp(alpha) * real(n) -
                   (sum(diagonal * diagonal) + sum(l * l)) * real(gamma * gamma / 2) + sum(q) * real(m) +
                   real(constant);
          }};
}

const std::vector<Eval>& evals() {
  static const std::vector<Eval> all{
      {"hello", "square", "double", hello},  {"lse", "primal", "gradient", lse},
      {"llsq", "primal", "gradient", llsq},  {"ode", "primal", "gradient", ode},
      {"gmm", "objective", "jacobian", gmm}, {"lstm", "objective", "jacobian", lstm}};
  return all;
}

}  // namespace unroll::gradbench
