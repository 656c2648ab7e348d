// The equations of the recurrent cells (layers/recurrent/engines/lstm_composed.cpp has them as operations).
#include "export/step_builder.h"

namespace unroll {

namespace {

// One layer of a stack.
struct Layer {
  StepBuilder& step;
  const RecurrentConfig& config;
  std::string path, suffix;  // "lstm", "_l0"
  int hidden;
  bool is_gru;
  StepVector h, c;  // the state

  std::string name(const std::string& weight) const { return path + "." + weight + suffix; }
  StepVector work(const std::string& what, int size) const { return step.work(name(what), size); }
  void apply(Unary f, const StepVector& y) const { step.call(StepBuilder::kernel_of(f), y); }
  // W x + b; "": no bias
  StepVector sums(const std::string& what, int out, const StepVector& x, const std::string& bias) const {
    const StepVector y = work(what + "_sums", out);
    bias.empty() ? step.call("zero", y) : step.copy(y, step.constant({name(bias), {out}, is_gru}));
    step.product(y, x, name(what));
    return y;
  }

  void lstm(const StepVector& x, const StepVector& h_in) const;
  void gru(const StepVector& x, const StepVector& h_in) const;
  void rnn(const StepVector& x, const StepVector& h_in) const;
  void mogrify(StepVector& x, StepVector& h_in) const;
};

// a = W_ih x + W_hh h + b, each product normalised where norms are on, then
//   i f o = gate(a + peephole c),  g = cell(a),  c = f c + i g,  h = W_hr (o cell(norm(c)))
void Layer::lstm(const StepVector& x, const StepVector& h_in) const {
  const bool coupled = config.coupled_gates, norm = config.layer_norm;
  const int gates = (coupled ? 3 : 4) * hidden, at_f = coupled ? 0 : 1;
  const StepVector a = sums("weight_ih", gates, x, norm ? "" : "bias");
  if (norm) {
    step.call("norm", 1e-5f, a, {step.constant({name("norm_ih"), {gates}})});
    const StepVector q = sums("weight_hh", gates, h_in, "");
    step.call("norm", 1e-5f, q, {step.constant({name("norm_hh"), {gates}})});
    step.call("add", a, {q});
    step.call("add", a, {step.constant({name("bias"), {gates}})});
  } else {
    step.product(a, h_in, name("weight_hh"));
  }
  const auto gate = [&](int k) { return a.part(k * hidden, (k + 1) * hidden); };
  const auto look = [&](int k) {  // through a peephole
    if (config.peepholes)
      step.call("multiply_add", gate(k),
                {step.constant({name("peepholes"), {at_f + 2, hidden}})
                     .part((k > at_f ? k - 1 : k) * hidden, (k > at_f ? k : k + 1) * hidden),
                 c});
  };
  const StepVector f = gate(at_f), g = gate(at_f + 1), o = gate(at_f + 2);
  const StepVector i = coupled ? work("i", hidden) : gate(0);
  for (int k = 0; k <= at_f; ++k) look(k);
  apply(config.gate_activation, a.part(0, (at_f + 1) * hidden));
  if (coupled) step.call("one_minus", i, {f});
  apply(config.cell_activation, g);
  step.call("multiply", c, {f});
  step.call("multiply_add", c, {i, g});
  if (config.cell_clip > 0) step.call("clip", config.cell_clip, c);
  look(at_f + 2);
  apply(config.gate_activation, o);
  const StepVector y = config.projection ? work("y", hidden) : h;
  step.copy(y, c);
  if (norm) {
    step.call("norm", 1e-5f, y, {step.constant({name("norm_c"), {hidden}})});
    step.call("add", y, {step.constant({name("norm_c_bias"), {hidden}})});
  }
  apply(config.cell_activation, y);
  step.call("multiply", y, {o});
  if (!config.projection) return;
  step.call("zero", h);
  step.product(h, y, name("weight_hr"));
}

// a = W_ih x + b,  q = W_hh h;  r z = σ(a + q),  n = tanh(a + r (q + b_hn)),  h = (1 - z) n + z h
void Layer::gru(const StepVector& x, const StepVector& h_in) const {
  const StepVector a = sums("weight_ih", 3 * hidden, x, "bias"), q = sums("weight_hh", 3 * hidden, h_in, "");
  const StepVector gates = a.part(0, 2 * hidden), n = a.part(2 * hidden, 3 * hidden),
                   of_n = q.part(2 * hidden, 3 * hidden);
  step.call("add", gates, {q.part(0, 2 * hidden)});
  step.call("sigmoid", gates);
  step.call("add", of_n, {step.constant({name("bias_hn"), {hidden}})});
  step.call("multiply_add", n, {gates.part(0, hidden), of_n});
  step.call("tanh", n);
  step.call("mix", h, {gates.part(hidden, 2 * hidden), n});
}

// h = f(W_ih x + W_hh h + b)
void Layer::rnn(const StepVector& x, const StepVector& h_in) const {
  const StepVector a = sums("weight_ih", hidden, x, "bias");
  step.product(a, h_in, name("weight_hh"));
  apply(config.nonlinearity, a);
  step.copy(h, a);
}

// odd rounds: x = 2σ(Q h) x;  even ones: h = 2σ(R x) h
void Layer::mogrify(StepVector& x, StepVector& h_in) const {
  StepVector both[] = {work("x_seen", x.size), work("h_seen", h_in.size)};
  step.copy(both[0], x), step.copy(both[1], h_in);
  for (int k = 0; k < config.mogrifier; ++k) {
    const StepVector &scaled = both[k % 2], &seen = both[1 - k % 2];
    const std::string matrix = fmt::format("mogrifier_{}{}", k % 2 ? 'r' : 'q', k + 1);
    const std::string left = config.mogrifier_rank ? matrix + "_left" : matrix;
    const StepVector in =
        config.mogrifier_rank ? sums(matrix + "_right", config.mogrifier_rank, seen, "") : seen;
    const StepVector gate = sums(left, scaled.size, in, "");
    step.call("sigmoid", gate);
    step.call("scale", 2, gate);
    step.call("multiply", scaled, {gate});
  }
  x = both[0], h_in = both[1];
}

}  // namespace

RecurrentPlaces StepBuilder::recurrent_state(const std::string& path, CellKind cell,
                                             const RecurrentConfig& config, StepArray::Kind kind) {
  RecurrentPlaces state;
  for (int k = 0; k < config.layers; ++k) {
    const bool narrow = config.last_hidden > 0 && k == config.layers - 1;
    const auto made = [&](char of, int size) {
      const std::string name = fmt::format("{}.{}_l{}", path, of, k);
      return kind == StepArray::Kind::state ? this->state(name, size) : result(name, size);
    };
    state.h.push_back(made('h', narrow ? config.last_hidden : config.width()));
    if (facts_of(cell).has_c) state.c.push_back(made('c', narrow ? config.last_hidden : config.hidden));
  }
  if (kind == StepArray::Kind::state) return state;
  for (const auto* vectors : {&state.h, &state.c})
    for (const StepVector& zeroed : *vectors) call("zero", zeroed);
  return state;
}

StepVector StepBuilder::recurrent(const std::string& path, CellKind cell, const RecurrentConfig& config,
                                  const StepVector& x, const RecurrentPlaces& state) {
  require(cell != CellKind::other, "step: {} is a cell from outside, whose equations are not known here",
          path);
  require(!config.bidirectional, "step: {} reads backwards, too, which no step can", path);
  require(x.size == config.input, "step: {} reads {} numbers, and is given {}", path, config.input, x.size);
  require(std::ssize(state.h) == config.layers, "step: {} has {} layers, and its state {}", path,
          config.layers, state.h.size());
  StepVector in = x;
  for (int k = 0; k < config.layers; ++k) {
    const StepVector h = state.h[static_cast<size_t>(k)],
                     c = state.c.empty() ? StepVector() : state.c[static_cast<size_t>(k)];
    const int hidden = config.last_hidden > 0 && k == config.layers - 1 ? config.last_hidden : config.hidden;
    const Layer layer{*this, config, path, fmt::format("_l{}", k), hidden, cell == CellKind::gru, h, c};
    const auto keep = [&](const StepVector& v, float rate, const char* name) {
      const StepVector before = rate > 0 ? layer.work(name, v.size) : StepVector();
      if (rate > 0) copy(before, v);
      return before;
    };
    const StepVector h_before = keep(h, config.zoneout_h, "h_before"),
                     c_before = keep(c, config.zoneout_c, "c_before");
    StepVector x_seen = in, h_seen = h;
    if (config.mogrifier) layer.mogrify(x_seen, h_seen);
    cell == CellKind::lstm  ? layer.lstm(x_seen, h_seen)
    : cell == CellKind::gru ? layer.gru(x_seen, h_seen)
                            : layer.rnn(x_seen, h_seen);
    if (h_before.size) call("carry", config.zoneout_h, h, {h_before});
    if (c_before.size) call("carry", config.zoneout_c, c, {c_before});
    if (config.residual && k > 0) {
      const StepVector sum = result(layer.name("sum"), h.size);
      copy(sum, h);
      call("add", sum, {in});
      in = sum;
    } else {
      in = h;
    }
  }
  return in;
}

}  // namespace unroll
