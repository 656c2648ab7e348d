// The eval `lstm` of GradBench, from ADBench: LSTMs whose matrices are diagonal, so each unit is alone.
#include "bench/gradbench/evals.h"
#include "framework/kernels/elementary.h"
#include "framework/ops.h"

namespace unroll::gradbench {

using pointwise::sigmoid, pointwise::tanh;

// A layer over all steps, one record on the tape. Gates i and g see h of the step before, f and o see x:
//   f = σ(x w_f + b_f)   i = σ(h w_i + b_i)   o = σ(x w_o + b_o)   g = tanh(h w_g + b_g);   c = f·c + i·g   h = o·tanh(c)
// x [steps, n]; weight and bias [4, n] in order f i o g; h and c before the first step [n] -> h [steps, n].
static Var diagonal_lstm(const Var& x, const Var& weight, const Var& bias, const Tensor& h_before,
                         const Tensor& c_before) {
  const int steps = x.dim(0), n = x.dim(1);
  Tensor h({steps + 1, n}), c({steps + 1, n}), kept({steps, 5, n});  // kept: f i o g and tanh(c)
  h[0].copy_from(h_before), c[0].copy_from(c_before);
  const real *w = weight.value().data(), *b = bias.value().data(), *ins = x.value().data();
  for (int t = 0; t < steps; ++t) {
    const real* const in = ins + t * n;
    real *const h_in = h.data() + t * n, *const c_in = c.data() + t * n, *const f = kept.data() + 5 * t * n;
    real *const i = f + n, *const o = i + n, *const g = o + n, *const seen = g + n;
    for (int j = 0; j < n; ++j) {
      f[j] = sigmoid(in[j] * w[j] + b[j]);
      i[j] = sigmoid(h_in[j] * w[n + j] + b[n + j]);
      o[j] = sigmoid(in[j] * w[2 * n + j] + b[2 * n + j]);
      g[j] = tanh(h_in[j] * w[3 * n + j] + b[3 * n + j]);
      c_in[n + j] = f[j] * c_in[j] + i[j] * g[j];
      seen[j] = tanh(c_in[n + j]);
      h_in[n + j] = o[j] * seen[j];
    }
  }
  // do = dh tanh(c);  dc += dh o (1 - tanh²(c));  df = dc c, di = dc g, dg = dc i;  times σ' = σ (1 - σ) and tanh' = 1 - tanh²
  return record("diagonal_lstm", h.slice(1, steps + 1), inputs(x, weight, bias), [=](const Var& y) {
    Tensor dx(x.shape()), dweight = Tensor::zeros({4, n}), dbias = Tensor::zeros({4, n});
    std::vector<real> dh(static_cast<size_t>(n)), dc(static_cast<size_t>(n));  // of the step after
    const Tensor &dy = y.grad(), &xs = x.value();
    const real *const w = weight.value().data(), *const dys = dy.data(), *const ins = xs.data();
    real *const dw = dweight.data(), *const db = dbias.data(), *const dxs = dx.data();
    for (int t = steps - 1; t >= 0; --t) {
      const real *const in = ins + t * n, *const h_in = h.data() + t * n, *const c_in = c.data() + t * n;
      const real* const f = kept.data() + 5 * t * n;
      const real *const i = f + n, *const o = i + n, *const g = o + n, *const seen = g + n;
      for (int j = 0; j < n; ++j) {
        const real d = dys[t * n + j] + dh[j], d_c = dc[j] + d * o[j] * (1 - seen[j] * seen[j]);
        const real sums[] = {d_c * c_in[j] * f[j] * (1 - f[j]), d_c * g[j] * i[j] * (1 - i[j]),
                             d * seen[j] * o[j] * (1 - o[j]), d_c * i[j] * (1 - g[j] * g[j])};
        for (int k = 0; k < 4; ++k)
          db[k * n + j] += sums[k], dw[k * n + j] += sums[k] * (k % 2 == 0 ? in[j] : h_in[j]);
        dxs[t * n + j] = sums[0] * w[j] + sums[2] * w[2 * n + j];
        dh[j] = sums[1] * w[n + j] + sums[3] * w[3 * n + j];
        dc[j] = d_c * f[j];
      }
    }
    contribute(dx, x), contribute(dweight, weight), contribute(dbias, bias);
  });
}

// How well each step's output, a line of the last layer's h, tells the bits that follow; the mean over all bits of
//   -y_i (p_i - log(2 + Σ exp p))
Problem lstm(const Json& input) {
  const Tensor parameters = rows(input, "main_params"), extra = rows(input, "extra_params"),
               state = rows(input, "state"), text = rows(input, "sequence");
  const int layers = parameters.dim(0) / 2, n = parameters.dim(1) / 4, steps = text.dim(0) - 1;
  require_input(layers > 0 && n > 0 && parameters.shape() == Shape({2 * layers, 4 * n}) &&
                    extra.shape() == Shape({3, n}) && state.shape() == Shape({2 * layers, n}) && steps > 0 &&
                    text.dim(1) == n,
                "input: main_params {}, extra_params {}, state {} and sequence {} do not fit each other",
                parameters.shape(), extra.shape(), state.shape(), text.shape());
  Tensor all({8 * layers * n + 3 * n});  // as the answer has their gradients
  std::ranges::copy(parameters.span(), all.data());
  std::ranges::copy(extra.span(), all.data() + parameters.size());
  return {.at = {all}, .value = [=](const Vars& at) {
            const Var main = reshape(slice(at[0], 0, 0, 8 * layers * n), {layers, 2, 4, n});
            const Var ends =
                reshape(slice(at[0], 0, 8 * layers * n), {3, n});  // factors in and out, and a bias out
            Var y = slice(text, 0, 0, steps) * ends[0];
            for (int k = 0; k < layers; ++k)
              y = diagonal_lstm(y, main[k][0], main[k][1], state[2 * k], state[2 * k + 1]);
            const Var p = y * ends[1] + ends[2], next = slice(text, 0, 1);
            const Var missed = sum(next, 1) * log(sum(exp(p), 1) + 2) - sum(next * p, 1);
            return sum(missed) / (real(steps) * n);
          }};
}

}  // namespace unroll::gradbench
