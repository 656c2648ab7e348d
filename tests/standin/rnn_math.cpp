#include "tests/standin/rnn_math.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace standin {

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
std::size_t z(int n) { return static_cast<std::size_t>(n); }
double carried(const RnnShape& shape, double x) { return shape.carried ? shape.carried(x) : x; }

// The places of one layer's numbers in one direction, by step and row.
struct Place {
  const RnnShape& shape;
  int pseudo;

  bool backwards() const { return shape.directions == 2 && pseudo % 2 == 1; }
  int step(int s, int length) const { return backwards() ? length - 1 - s : s; }
  std::size_t row(int t, int b) const { return z(t) * z(shape.batch) + z(b); }
  std::size_t gates(int t, int b) const { return row(t, b) * z(shape.gates() * shape.hidden); }
  std::size_t hidden(int t, int b) const { return row(t, b) * z(shape.hidden); }
  std::size_t input(int t, int b) const { return row(t, b) * z(shape.input_of(pseudo)); }
  std::size_t projected(int t, int b) const { return row(t, b) * z(shape.width); }
  std::size_t y(int t, int b) const {
    return row(t, b) * z(shape.directions * shape.width) + (backwards() ? z(shape.width) : 0);
  }
};

// m [rows, cols] times v, row j.
double dot(const Numbers& m, int j, int cols, const double* v) {
  double sum = 0;
  for (int k = 0; k < cols; ++k) sum += m[z(j) * z(cols) + z(k)] * v[k];
  return sum;
}
// out += mᵀ v
void add_transposed(const Numbers& m, int rows, int cols, const double* v, double* out) {
  for (int j = 0; j < rows; ++j)
    for (int k = 0; k < cols; ++k) out[k] += m[z(j) * z(cols) + z(k)] * v[j];
}
// m += u vᵀ
void add_outer(Numbers& m, int rows, int cols, const double* u, const double* v) {
  for (int j = 0; j < rows; ++j)
    for (int k = 0; k < cols; ++k) m[z(j) * z(cols) + z(k)] += u[j] * v[k];
}

}  // namespace

RnnTrace trace_of(const RnnShape& s) {
  const std::size_t rows = z(s.steps) * z(s.batch), gates = rows * z(s.gates() * s.hidden);
  return {Numbers(gates), Numbers(rows * z(s.hidden)), Numbers(rows * z(s.hidden)), Numbers(gates),
          Numbers(gates), Numbers(rows * z(s.width))};
}
std::size_t numbers_of_trace(const RnnShape& s) {
  return z(s.steps) * z(s.batch) * z(3 * s.gates() * s.hidden + 2 * s.hidden + s.width);
}

// LSTM: i f o = σ(W x + b_W + R h + b_R), g = tanh(…); c' = f c + i g; h' = o tanh(c'), projected where asked for
// RNN:  h' = f(W x + b_W + R h + b_R), f tanh or relu
// GRU:  r z = σ(W x + b_W + R h + b_R); n = tanh(W x + b_W + r (R h + b_R)); h' = (1-z) n + z h
void forward(const RnnShape& shape, int pseudo, const RnnWeights& w, const std::vector<int>& lengths,
             const Numbers& x, Numbers& y, double* h_all, double* c_all, RnnTrace& trace) {
  const Place at{shape, pseudo};
  const int hidden = shape.hidden, width = shape.width, in = shape.input_of(pseudo);
  for (int b = 0; b < shape.batch; ++b) {
    double* const h = h_all + b * width;
    double* const c = c_all + b * hidden;
    for (int s = 0; s < lengths[z(b)]; ++s) {
      const int t = at.step(s, lengths[z(b)]);
      double* const gate = &trace.gates[at.gates(t, b)];
      double* const state = &trace.state[at.hidden(t, b)];
      double* const out = &trace.out[at.hidden(t, b)];
      const double* const xt = &x[at.input(t, b)];
      const auto of_x = [&](int k, int j) {
        return dot(w.x, k * hidden + j, in, xt) + w.bias_x[z(k * hidden + j)];
      };
      const auto of_h = [&](int k, int j) {
        return dot(w.h, k * hidden + j, width, h) + w.bias_h[z(k * hidden + j)];
      };
      for (int j = 0; j < hidden; ++j) {
        const auto sum = [&](int k) { return of_x(k, j) + of_h(k, j); };
        if (shape.kind == RnnKind::lstm) {
          const double i = sigmoid(sum(0)), f = sigmoid(sum(1)), g = std::tanh(sum(2)), o = sigmoid(sum(3));
          gate[j] = i, gate[hidden + j] = f, gate[2 * hidden + j] = g, gate[3 * hidden + j] = o;
          state[j] = carried(shape, f * c[j] + i * g);
          out[j] = o * std::tanh(state[j]);
        } else if (shape.kind != RnnKind::gru) {
          gate[j] = shape.kind == RnnKind::tanh ? std::tanh(sum(0)) : std::max(sum(0), 0.0);
          out[j] = gate[j];
        } else {
          const double r = sigmoid(sum(0)), u = sigmoid(sum(1)), recurrent = of_h(2, j);
          const double n = std::tanh(of_x(2, j) + r * recurrent);
          gate[j] = r, gate[hidden + j] = u, gate[2 * hidden + j] = n;
          state[j] = recurrent;
          out[j] = (1 - u) * n + u * h[j];
        }
      }
      for (int j = 0; j < hidden && shape.kind == RnnKind::lstm; ++j) c[j] = state[j];
      for (int p = 0; p < width; ++p) {
        h[p] = carried(shape, w.projection.empty() ? out[p] : dot(w.projection, p, hidden, out));
        y[at.y(t, b) + z(p)] = h[p];
      }
    }
  }
}

void backward_data(const RnnShape& shape, int pseudo, const RnnWeights& w, const std::vector<int>& lengths,
                   const Numbers& y, const Numbers& dy, const double* h0, const double* c0, double* dh_all,
                   double* dc_all, Numbers& dx, RnnTrace& trace) {
  const Place at{shape, pseudo};
  const int hidden = shape.hidden, width = shape.width, in = shape.input_of(pseudo);
  for (int b = 0; b < shape.batch; ++b) {
    double* const dh = dh_all + b * width;
    double* const dc = dc_all + b * hidden;
    for (int s = lengths[z(b)] - 1; s >= 0; --s) {
      const int t = at.step(s, lengths[z(b)]), before = s > 0 ? at.step(s - 1, lengths[z(b)]) : -1;
      const double* const gate = &trace.gates[at.gates(t, b)];
      const double* const state = &trace.state[at.hidden(t, b)];
      double* const d_x = &trace.d_sums_x[at.gates(t, b)];
      double* const d_h = &trace.d_sums_h[at.gates(t, b)];
      double* const d_projected = &trace.d_projected[at.projected(t, b)];
      for (int p = 0; p < width; ++p) d_projected[p] = dh[p] + dy[at.y(t, b) + z(p)];
      Numbers d_out(z(hidden));
      if (w.projection.empty())
        d_out.assign(d_projected, d_projected + width);
      else
        add_transposed(w.projection, width, hidden, d_projected, d_out.data());
      for (int p = 0; p < width; ++p) dh[p] = 0;
      for (int j = 0; j < hidden; ++j) {
        const double d = d_out[z(j)];
        if (shape.kind == RnnKind::lstm) {
          const double i = gate[j], f = gate[hidden + j], g = gate[2 * hidden + j], o = gate[3 * hidden + j];
          const double squashed = std::tanh(state[j]);
          const double c_before = before < 0 ? c0[b * hidden + j] : trace.state[at.hidden(before, b) + z(j)];
          const double d_state = dc[j] + d * o * (1 - squashed * squashed);
          d_x[j] = d_state * g * i * (1 - i);
          d_x[hidden + j] = d_state * c_before * f * (1 - f);
          d_x[2 * hidden + j] = d_state * i * (1 - g * g);
          d_x[3 * hidden + j] = d * squashed * o * (1 - o);
          for (int k = 0; k < 4; ++k) d_h[k * hidden + j] = d_x[k * hidden + j];
          dc[j] = carried(shape, d_state * f);
        } else if (shape.kind != RnnKind::gru) {
          d_x[j] = d * (shape.kind == RnnKind::tanh ? 1 - gate[j] * gate[j] : gate[j] > 0);
          d_h[j] = d_x[j];
        } else {
          const double r = gate[j], u = gate[hidden + j], n = gate[2 * hidden + j];
          const double h_before = before < 0 ? h0[b * width + j] : y[at.y(before, b) + z(j)];
          const double d_n = d * (1 - u) * (1 - n * n);
          d_x[j] = d_n * state[j] * r * (1 - r);
          d_x[hidden + j] = d * (h_before - n) * u * (1 - u);
          d_x[2 * hidden + j] = d_n;
          d_h[j] = d_x[j], d_h[hidden + j] = d_x[hidden + j], d_h[2 * hidden + j] = d_n * r;
          dh[j] = d * u;
        }
      }
      add_transposed(w.h, shape.gates() * hidden, width, d_h, dh);
      for (int p = 0; p < width; ++p) dh[p] = carried(shape, dh[p]);
      add_transposed(w.x, shape.gates() * hidden, in, d_x, &dx[at.input(t, b)]);
    }
  }
}

void backward_weights(const RnnShape& shape, int pseudo, const std::vector<int>& lengths, const Numbers& x,
                      const Numbers& y, const double* h0, const RnnTrace& trace, RnnWeights& dw) {
  const Place at{shape, pseudo};
  const int sums = shape.gates() * shape.hidden, width = shape.width;
  for (int b = 0; b < shape.batch; ++b)
    for (int s = 0; s < lengths[z(b)]; ++s) {
      const int t = at.step(s, lengths[z(b)]);
      const double* const d_x = &trace.d_sums_x[at.gates(t, b)];
      const double* const d_h = &trace.d_sums_h[at.gates(t, b)];
      const double* const h = s == 0 ? h0 + b * width : &y[at.y(at.step(s - 1, lengths[z(b)]), b)];
      add_outer(dw.x, sums, shape.input_of(pseudo), d_x, &x[at.input(t, b)]);
      add_outer(dw.h, sums, width, d_h, h);
      for (int j = 0; j < sums; ++j) dw.bias_x[z(j)] += d_x[j], dw.bias_h[z(j)] += d_h[j];
      if (!dw.projection.empty())
        add_outer(dw.projection, width, shape.hidden, &trace.d_projected[at.projected(t, b)],
                  &trace.out[at.hidden(t, b)]);
    }
}

}  // namespace standin
