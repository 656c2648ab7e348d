// Recurrent layers: ONNX's operators where these have the options, else a Scan with the step of
// layers/recurrent/engines/lstm_composed.cpp, layers/recurrent/gru.cpp and layers/recurrent/rnn.cpp, operation by operation.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "export/onnx.h"

namespace unroll {

namespace {

// One layer in one direction.
struct OnnxCell {
  const CellFacts& facts;
  const RecurrentConfig& config;
  const std::map<std::string, Var>& weights;  // by their names without the path: "weight_ih_l0"
  std::string suffix;                         // "_l0", "_l0_reverse"
  bool backwards;

  // Empty: it has none.
  Var operator()(const std::string& name) const {
    const auto found = weights.find(name + suffix);
    return found == weights.end() ? Var() : found->second;
  }
  int hidden() const { return (*this)("weight_ih").dim(0) / config.gates(facts); }
  int width() const { return config.projection ? config.projection : hidden(); }
};

// --- ONNX's operators ------------------------------------------------------------------------------------

// The name of a function among those of the operators; nullptr: it is none of them.
const char* operator_function(Unary f) {
  return f == Unary::sigmoid        ? "Sigmoid"
         : f == Unary::tanh         ? "Tanh"
         : f == Unary::relu         ? "Relu"
         : f == Unary::softsign     ? "Softsign"
         : f == Unary::hard_sigmoid ? "HardSigmoid"
                                    : nullptr;
}

bool has_operator(const RecurrentConfig& c) {
  return !c.layer_norm && !c.coupled_gates && !c.projection && !c.mogrifier && c.cell_clip == 0 &&
         c.zoneout_h == 0 && c.zoneout_c == 0 && operator_function(c.gate_activation) &&
         operator_function(c.cell_activation) && operator_function(c.nonlinearity);
}

// Blocks of rows in another order, behind each other.
std::vector<float> in_order(const Var& weight, const std::vector<int>& order, int blocks) {
  const auto from = weight.value().to_host();
  const auto block = static_cast<int64_t>(from.size()) / blocks;
  std::vector<float> values;
  for (const int k : order)
    values.insert(values.end(), from.begin() + k * block, from.begin() + (k + 1) * block);
  return values;
}

// The operators take i o f g of an LSTM, z r n of a GRU; ours is i f g o, r z n.
OnnxOutput by_operator(const OnnxCell& cell, const OnnxValue& x, const OnnxState& before) {
  OnnxGraph& graph = *x.graph;
  const RecurrentConfig& config = cell.config;
  const CellKind kind = cell.facts.kind;
  const std::vector<int> order = kind == CellKind::lstm  ? std::vector{0, 3, 1, 2}
                                 : kind == CellKind::gru ? std::vector{1, 0, 2}
                                                         : std::vector{0};
  const int64_t hidden = cell.hidden(), gates = std::ssize(order);
  const auto arranged = [&](const Var& weight, const std::vector<int>& blocks) {
    return graph.arranged(weight.leaf()->leaf_name() + ".onnx", {1, weight.dim(0), weight.dim(-1)},
                          in_order(weight, blocks, static_cast<int>(blocks.size())));
  };
  const Var bias = cell("bias"), bias_hn = cell("bias_hn"), peepholes = cell("peepholes");
  std::vector<float> biases = in_order(bias, order, static_cast<int>(gates));  // of x, then of h
  biases.resize(static_cast<size_t>(2 * gates * hidden));
  if (has(bias_hn)) std::ranges::copy(bias_hn.value().to_host(), biases.end() - hidden);
  const auto state = [](const OnnxValue& of) { return of.graph ? unsqueeze(of, 0) : of; };
  OnnxValues inputs = {x,
                       arranged(cell("weight_ih"), order),
                       arranged(cell("weight_hh"), order),
                       graph.arranged(bias.leaf()->leaf_name() + ".onnx", {1, 2 * gates * hidden}, biases),
                       {},
                       state(before.h)};
  if (cell.facts.has_c) inputs.push_back(state(before.c));
  if (has(peepholes))  // i o f
    inputs.push_back(graph.arranged(peepholes.leaf()->leaf_name() + ".onnx", {1, 3 * hidden},
                                    in_order(peepholes, {0, 2, 1}, 3)));
  std::vector<std::string> functions = {"Sigmoid", "Tanh"};  // of a GRU
  std::vector<OnnxAttribute> attributes = {{"hidden_size", hidden},
                                           {"direction", cell.backwards ? "reverse" : "forward"}};
  if (kind == CellKind::lstm)
    functions = {operator_function(config.gate_activation), operator_function(config.cell_activation),
                 operator_function(config.cell_activation)};
  if (kind == CellKind::rnn) functions = {operator_function(config.nonlinearity)};
  if (kind == CellKind::gru) attributes.push_back({"linear_before_reset", int64_t{1}});
  attributes.push_back({"activations", functions});
  if (functions[0] == "HardSigmoid") {
    attributes.push_back({"activation_alpha", std::vector{1.0f / 6}});
    attributes.push_back({"activation_beta", std::vector{0.5f}});
  }
  const OnnxValues found = graph.ops(cell.facts.title, inputs, cell.facts.has_c ? 3 : 2, attributes);
  const auto of_direction = [&](const OnnxValue& all, int axis) {
    return graph.op("Squeeze", {all, graph.numbers({axis})});
  };
  return {of_direction(found[0], 1),
          {of_direction(found[1], 0), cell.facts.has_c ? of_direction(found[2], 0) : OnnxValue()}};
}

// --- steps in a Scan -------------------------------------------------------------------------------------

// x̂·gain + bias; x without a gain.
OnnxValue normed(const OnnxValue& x, const Var& gain, const Var& bias = {}) {
  if (!has(gain)) return x;
  OnnxValues inputs = {x, x.graph->weight(gain)};
  if (has(bias)) inputs.push_back(x.graph->weight(bias));
  return x.graph->op("LayerNormalization", inputs, {{"axis", int64_t{-1}}, {"epsilon", 1e-5f}});
}

OnnxState lstm_step(const OnnxCell& cell, const OnnxValue& x, const OnnxValue& h_in,
                    const OnnxState& before) {
  OnnxGraph& graph = *x.graph;
  const RecurrentConfig& config = cell.config;
  const Var peepholes = cell("peepholes"), weight_hr = cell("weight_hr");
  const OnnxValue a = normed(onnx_linear(x, cell("weight_ih")), cell("norm_ih")) +
                      normed(onnx_linear(h_in, cell("weight_hh")), cell("norm_hh")) +
                      graph.weight(cell("bias"));
  const bool coupled = config.coupled_gates;
  const OnnxValues sums = chunk(a, coupled ? 3 : 4, -1);
  const auto peephole = [&](size_t k, const OnnxValue& sum, const OnnxValue& seen) {
    return has(peepholes) ? sum + row(graph.weight(peepholes), static_cast<int64_t>(k)) * seen : sum;
  };
  const size_t at_f = coupled ? 0 : 1;  // gates f g o
  const OnnxValue f = unary(config.gate_activation, peephole(at_f, sums[at_f], before.c));
  const OnnxValue i = coupled ? one_minus(f) : unary(config.gate_activation, peephole(0, sums[0], before.c));
  const OnnxValue g = unary(config.cell_activation, sums[at_f + 1]);
  OnnxValue c = f * before.c + i * g;
  if (config.cell_clip > 0) {
    const double clip = double{config.cell_clip};
    c = graph.op("Clip", {c, graph.number(-clip), graph.number(clip)});
  }
  const OnnxValue o = unary(config.gate_activation, peephole(at_f + 1, sums[at_f + 2], c));
  const OnnxValue h = o * unary(config.cell_activation, normed(c, cell("norm_c"), cell("norm_c_bias")));
  return {has(weight_hr) ? onnx_linear(h, weight_hr) : h, c};
}

OnnxState gru_step(const OnnxCell& cell, const OnnxValue& x, const OnnxValue& h_in, const OnnxState& before) {
  const OnnxValues a = chunk(onnx_linear(x, cell("weight_ih"), cell("bias")), 3, -1),
                   q = chunk(onnx_linear(h_in, cell("weight_hh")), 3, -1);
  const OnnxValue r = sigmoid(a[0] + q[0]), z = sigmoid(a[1] + q[1]);
  const OnnxValue n = tanh(a[2] + r * (q[2] + x.graph->weight(cell("bias_hn"))));
  return {one_minus(z) * n + z * before.h, {}};
}

OnnxState rnn_step(const OnnxCell& cell, const OnnxValue& x, const OnnxValue& h_in) {
  return {unary(cell.config.nonlinearity,
                onnx_linear(x, cell("weight_ih"), cell("bias")) + onnx_linear(h_in, cell("weight_hh"))),
          {}};
}

// x and h as the step's products see them.
std::pair<OnnxValue, OnnxValue> mogrified(const OnnxCell& cell, const OnnxValue& x, const OnnxValue& h) {
  OnnxValue both[] = {x, h};
  for (int i = 0; i < cell.config.mogrifier; ++i) {
    const std::string name = fmt::format("mogrifier_{}{}", i % 2 ? 'r' : 'q', i + 1);
    const OnnxValue &scaled = both[i % 2], &seen = both[1 - i % 2];
    const OnnxValue sums = cell.config.mogrifier_rank
                               ? onnx_linear(onnx_linear(seen, cell(name + "_right")), cell(name + "_left"))
                               : onnx_linear(seen, cell(name));
    both[i % 2] = 2 * sigmoid(sums) * scaled;
  }
  return {both[0], both[1]};
}

OnnxOutput by_scan(const OnnxCell& cell, const OnnxValue& x, const OnnxState& before) {
  OnnxGraph& graph = *x.graph;
  const RecurrentConfig& config = cell.config;
  const auto first = [&](const OnnxValue& given, int width) {
    if (given.graph) return given;
    return graph.op("ConstantOfShape", {concat({extent(x, 1), graph.numbers({width})}, 0)});
  };
  OnnxValues states = {first(before.h, cell.width())};
  if (cell.facts.has_c) states.push_back(first(before.c, cell.hidden()));
  const auto carried = [](double zoneout, const OnnxValue& now, const OnnxValue& was) {
    return zoneout > 0 ? (1 - zoneout) * now + zoneout * was : now;
  };
  const auto step = [&](OnnxGraph&, const OnnxValues& was, const OnnxValues& xs) -> OnnxGraph::Stepped {
    const OnnxState state{was[0], cell.facts.has_c ? was[1] : OnnxValue()};
    const auto [x_seen, h_seen] = mogrified(cell, xs[0], state.h);
    const OnnxState now = cell.facts.kind == CellKind::lstm  ? lstm_step(cell, x_seen, h_seen, state)
                          : cell.facts.kind == CellKind::gru ? gru_step(cell, x_seen, h_seen, state)
                                                             : rnn_step(cell, x_seen, h_seen);
    const OnnxValue h = carried(double{config.zoneout_h}, now.h, state.h);
    if (!cell.facts.has_c) return {{h}, {h}};
    return {{h, carried(double{config.zoneout_c}, now.c, state.c)}, {h}};
  };
  const OnnxGraph::Stepped found = graph.scan(states, {x}, cell.backwards, step);
  return {found.outputs[0], {found.states[0], cell.facts.has_c ? found.states[1] : OnnxValue()}};
}

// One layer's rows of a state, as wide as the others': those of a last layer that is narrower, and zeros.
OnnxValue full_rows(const OnnxValue& rows, int width, int full) {
  if (width == full) return unsqueeze(rows, 0);
  return unsqueeze(rows.graph->op("Pad", {rows, rows.graph->numbers({0, 0, 0, full - width})}), 0);
}

}  // namespace

OnnxOutput onnx_recurrent(const CellFacts& facts, const RecurrentConfig& config, const Vars& weights,
                          const OnnxValue& x, const OnnxState& state) {
  require_input(
      facts.is_ours(),
      "onnx: '{}' is a cell from outside: its equations are not known here, and no operator has its name",
      facts.name);
  std::map<std::string, Var> by_name;
  for (const Var& weight : weights) {
    const std::string& path = weight.leaf()->leaf_name();
    by_name.emplace(path.substr(path.rfind('.') + 1), weight);
  }
  OnnxValue y = x;
  OnnxValues hs, cs;
  const int directions = config.directions();
  for (int layer = 0; layer < config.layers; ++layer) {
    OnnxValues sides;
    for (int side = 0; side < directions; ++side) {
      const OnnxCell cell{facts, config, by_name, fmt::format("_l{}{}", layer, side ? "_reverse" : ""),
                          side == 1};
      const auto own = [&](const OnnxValue& all, int width, int full) {
        if (!all.graph) return all;
        const OnnxValue rows = row(all, layer * directions + side);
        return width == full ? rows : slice(rows, 1, 0, width);
      };
      const OnnxState before{own(state.h, cell.width(), config.width()),
                             facts.has_c ? own(state.c, cell.hidden(), config.hidden) : OnnxValue()};
      const OnnxOutput out = has_operator(config) ? by_operator(cell, y, before) : by_scan(cell, y, before);
      sides.push_back(out.y);
      hs.push_back(full_rows(out.state.h, cell.width(), config.width()));
      if (facts.has_c) cs.push_back(full_rows(out.state.c, cell.hidden(), config.hidden));
    }
    const OnnxValue both = concat(sides, 2);
    y = config.residual && layer > 0 ? both + y : both;
  }
  return {y, {concat(hs, 0), facts.has_c ? concat(cs, 0) : OnnxValue()}};
}

OnnxOutput onnx(const RecurrentLayer& layer, const OnnxValue& x, const OnnxState& state) {
  Vars all;
  for (int k = 0; k < layer.config().layers * layer.config().directions(); ++k)
    all.insert(all.end(), layer.weights(k).begin(), layer.weights(k).end());
  return onnx_recurrent(layer.cell(), layer.config(), all, x, state);
}

OnnxValue onnx_with_state(const std::string& name, const RecurrentLayer& layer, const OnnxValue& x) {
  OnnxGraph& graph = *x.graph;
  const RecurrentConfig& config = layer.config();
  const int layers = config.layers * config.directions();
  const OnnxGraph::Dims of_h{layers, "batch", config.width()}, of_c{layers, "batch", config.hidden};
  OnnxState before{graph.input(name + ".h", of_h), {}};
  if (layer.cell().has_c) before.c = graph.input(name + ".c", of_c);
  const OnnxOutput out = onnx(layer, x, before);
  graph.output(name + ".h_next", out.state.h, of_h);
  if (layer.cell().has_c) graph.output(name + ".c_next", out.state.c, of_c);
  return out.y;
}

}  // namespace unroll
