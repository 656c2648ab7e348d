// Layers alone: each cell with each option, attention, norms.
#include <array>

#include "export/onnx.h"
#include "framework/tape.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "tests/export/cases.h"

namespace unroll {

namespace {

constexpr int input = 5, hidden = 12, classes = 3;

struct CellCase {
  std::string name;
  CellKind kind = CellKind::lstm;
  RecurrentConfig config = {};
  float size = 0.3f;  // of the weights
};

std::vector<CellCase> cell_cases() {
  using enum CellKind;
  const RecurrentConfig all{.layers = 3,
                            .zoneout_h = 0.1f,
                            .zoneout_c = 0.2f,
                            .last_hidden = 7,
                            .layer_norm = true,
                            .peepholes = true,
                            .cell_clip = 0.5f,
                            .mogrifier = 4,
                            .mogrifier_rank = 2,
                            .residual = false};
  std::vector<CellCase> cases{
      {"lstm", lstm, {}},
      {"lstm_layers", lstm, {.layers = 2, .dropout = 0.5f, .recurrent_dropout = 0.5f, .weight_drop = 0.5f}},
      {"lstm_bidirectional", lstm, {.layers = 2, .bidirectional = true}},
      {"lstm_residual", lstm, {.layers = 3, .residual = true}},
      {"lstm_last_hidden", lstm, {.layers = 2, .last_hidden = 7}},
      {"lstm_peepholes", lstm, {.peepholes = true}},
      {"lstm_functions", lstm, {.gate_activation = Unary::hard_sigmoid, .cell_activation = Unary::softsign}},
      {"lstm_relu", lstm, {.cell_activation = Unary::relu}, 0.2f},
      {"lstm_hard_tanh", lstm, {.cell_activation = Unary::hard_tanh}, 0.6f},
      {"lstm_projection", lstm, {.layers = 2, .projection = 4}},
      {"lstm_layer_norm", lstm, {.layers = 2, .layer_norm = true}},
      {"lstm_coupled", lstm, {.peepholes = true, .coupled_gates = true}},
      {"lstm_clip", lstm, {.cell_clip = 0.3f}},
      {"lstm_zoneout", lstm, {.zoneout_h = 0.3f, .zoneout_c = 0.1f}},
      {"lstm_zoneout_bidirectional", lstm, {.zoneout_h = 0.3f, .bidirectional = true}},
      {"lstm_mogrifier", lstm, {.mogrifier = 5}},
      {"lstm_mogrifier_rank", lstm, {.layers = 2, .projection = 4, .mogrifier = 2, .mogrifier_rank = 3}},
      {"lstm_options", lstm, all},
      {"gru", gru, {}},
      {"gru_layers", gru, {.layers = 2, .residual = true, .bidirectional = true}},
      {"gru_zoneout", gru, {.zoneout_h = 0.3f}},
      {"gru_mogrifier", gru, {.mogrifier = 3}},
      {"rnn", rnn, {.layers = 2}},
      {"rnn_relu", rnn, {.nonlinearity = Unary::relu}, 0.15f},
      {"rnn_mogrifier", rnn, {.mogrifier = 2}}};
  // Options together, by lot.
  RandomStream random(7, "together");
  const auto chance = [&] { return random.below(2) == 0; };
  for (int k = 0; k < 24; ++k) {
    const CellKind kind = std::array{lstm, lstm, gru, rnn}[static_cast<size_t>(k % 4)];
    RecurrentConfig c{.layers = 1 + chance(), .bidirectional = chance()};
    const bool scans = chance();  // else it is an operator of ONNX
    if (scans && chance()) c.zoneout_h = 0.2f;
    if (scans && chance())
      c.mogrifier = 1 + static_cast<int>(random.below(4)), c.mogrifier_rank = 3 * chance();
    if (kind == lstm) {
      c.peepholes = chance();
      if (chance()) c.gate_activation = Unary::hard_sigmoid;
      if (chance()) c.cell_activation = Unary::softsign;
      if (scans && chance()) c.projection = 4;
      if (scans && chance()) c.zoneout_c = 0.1f;
      if (scans && chance()) c.cell_clip = 0.3f;
      c.layer_norm = scans && chance(), c.coupled_gates = scans && chance();
    }
    c.residual = c.layers > 1 && chance();
    if (kind == lstm && c.layers > 1 && !c.residual && !c.projection && chance()) c.last_hidden = 7;
    cases.push_back({fmt::format("together_{}", k), kind, c});
  }
  return cases;
}

void write_cell(const std::filesystem::path& folder, const CellCase& of) {
  RecurrentConfig config = of.config;
  config.input = config.residual ? hidden : input, config.hidden = hidden;
  if (config.residual && config.bidirectional) config.input = 2 * hidden;
  ParameterSet params(7);
  const RecurrentLayer layer(params / facts_of(of.kind).name, of.kind, config);
  const Dense out(params / "out", {.in = config.output(), .out = classes, .activation = Activation::tanh});
  params.initialize(Init::uniform(-of.size, of.size));
  // With gains of 1 rounding may grow from step to step.
  for (Parameter* p : params)
    if (p->name.find(".norm_") != std::string::npos)
      for (real& gain : Tensor(p->var().value()).on_host(Access::change)) gain *= real(0.4);
  Case one(folder, of.name);
  export_onnx(one.onnx(), {layer, out});
  RandomStream random(3, of.name);
  const std::string name = layer.cell().name;
  for (const int batch : {3, 1}) {
    RecurrentState state = layer.zero_state(batch);
    state.h.copy_from(drawn(state.h.shape(), random, 0.5));
    if (layer.cell().has_c) state.c.copy_from(drawn(state.c.shape(), random, 0.5));
    if (config.last_hidden) state.reset();  // of the last layer only a part counts
    for (const int steps : steps_of_calls) {
      one.begin_call();
      const Tensor x = drawn({steps, batch, config.input}, random);
      one.input("x", x);
      if (one.call % std::ssize(steps_of_calls) == 0) {
        one.input(name + ".h", state.h);
        if (layer.cell().has_c) one.input(name + ".c", state.c);
      }
      const RecurrentOutput found = layer(x, state);
      state = found.state;
      one.output("y", out(found.y).value());
      one.output(name + ".h_next", state.h);
      if (layer.cell().has_c) one.output(name + ".c_next", state.c);
    }
  }
  one.write();
}

// Layers without a state: one call.
template <class Forward>
void write_plain(const std::filesystem::path& folder, const std::string& name, ParameterSet& params,
                 const std::vector<OnnxLayer>& layers, Forward forward) {
  params.initialize(Init::uniform(-0.5f, 0.5f));
  Case one(folder, name);
  export_onnx(one.onnx(), layers);
  RandomStream random(4, name);
  one.begin_call();
  const Tensor x = drawn({9, 2, layers[0].input}, random);
  one.input("x", x);
  one.output("y", forward(Var(x)).value());
  one.write();
}

void write_attention(const std::filesystem::path& folder) {
  ParameterSet params(5);
  const LayerNorm norm(params / "norm", {.dim = 12});
  const RmsNorm rms(params / "rms", {.dim = 12});
  const MultiHeadAttention all(params / "all", {.dim = 12, .heads = 3}),
      causal(params / "causal", {.dim = 12, .heads = 2, .bias = false});
  const AttentionCall call{.causal = true, .window = 3, .linear_biases = true};
  const Dense relus(params / "relus", {.in = 12, .out = 6, .activation = Activation::relu}),
      sums(params / "sums", {.in = 6, .out = 4, .bias = false});
  write_plain(folder, "attention", params, {norm, all, rms, {causal, call}, relus, sums},
              [&](const Var& x) { return sums(relus(causal(rms(all(norm(x))), call))); });
}

// Norms whose epsilon counts.
void write_epsilons(const std::filesystem::path& folder) {
  ParameterSet params(5);
  const LayerNorm norm(params / "norm", {.dim = 12, .eps = 0.3f});
  const RmsNorm rms(params / "rms", {.dim = 12, .eps = 0.2f});
  const Dense out(params / "out", {.in = 12, .out = 4, .activation = Activation::sigmoid});
  write_plain(folder, "epsilons", params, {norm, rms, out}, [&](const Var& x) { return out(rms(norm(x))); });
}

// Attention to a memory, of another width too.
void write_memory(const std::filesystem::path& folder, const std::string& name, int width) {
  ParameterSet params(6);
  const MultiHeadAttention look(params / "look", {.dim = 8, .heads = 2, .key_dim = width});
  params.initialize(Init::uniform(-0.5f, 0.5f));
  Case one(folder, name);
  OnnxGraph graph("look");
  const OnnxGraph::Dims of_queries{"steps", "batch", 8};
  const OnnxValue queries = graph.input("queries", of_queries);
  graph.output("y", onnx(look, queries, graph.input("memory", {"past", "batch", width})), of_queries);
  graph.write(one.onnx());
  RandomStream random(8, "memory");
  one.begin_call();
  const Tensor x = drawn({4, 2, 8}, random), memory = drawn({6, 2, width}, random);
  one.input("queries", x), one.input("memory", memory);
  one.output("y", look(x, memory).value());
  one.write();
}

// Functions of an element.
void write_functions(const std::filesystem::path& folder) {
  Case one(folder, "functions");
  OnnxGraph graph("functions");
  const OnnxValue x = graph.input("x", {"n"});
  one.begin_call();
  RandomStream random(9, "functions");
  Tensor values = drawn({64}, random, 4);
  one.input("x", values);
  for (int k = 0; k <= static_cast<int>(Unary::abs); ++k) {
    const Unary f = static_cast<Unary>(k);
    const bool positive = f == Unary::log || f == Unary::sqrt;
    graph.output(name_of(f), unary(f, positive ? x * x : x), {"n"});
    const Var of = positive ? Var(values) * Var(values) : Var(values);
    one.output(name_of(f), unary(f, of).value());
  }
  graph.write(one.onnx());
  one.write();
}

// A model of one's own, of an embedding tied to its decoder and two stacks of one kind.
void write_tied(const std::filesystem::path& folder) {
  constexpr int vocab = 17;
  ParameterSet params(2);
  const Embedding embed(params / "embed", {.vocab = vocab, .dim = 6, .dropout = 0.5f});
  const Lstm first(params / "first", {.input = 6, .hidden = 9});
  const Lstm second(params / "second", {.input = 9, .hidden = 6});
  const Dense out(params / "out", {.in = 6, .out = vocab}, embed.weight);
  params.initialize(Init::uniform(-0.5f, 0.5f));
  Case one(folder, "tied");
  export_onnx(one.onnx(), {embed, first, second, out});
  RandomStream random(1, "tied");
  RecurrentState a = first.zero_state(2), b = second.zero_state(2);
  for (const int steps : steps_of_calls) {
    one.begin_call();
    IdTensor ids({steps, 2});
    Tensor as_numbers({steps, 2});
    for (int64_t k = 0; k < ids.size(); ++k)
      as_numbers.data()[k] = static_cast<real>(ids.data()[k] = static_cast<int32_t>(random.bits() % vocab));
    one.input("ids", as_numbers);
    if (one.call == 0)
      for (const auto& [name, state] : {std::pair{"lstm", &a}, {"lstm_2", &b}})
        one.input(name + std::string(".h"), state->h), one.input(name + std::string(".c"), state->c);
    const RecurrentOutput y = first(embed(ids), a), z = second(y.y, b);
    a = y.state, b = z.state;
    one.output("y", out(z.y).value());
    one.output("lstm.c_next", a.c), one.output("lstm_2.h_next", b.h);
  }
  one.write();
}

}  // namespace

void write_layer_cases(const std::filesystem::path& folder) {
  const NoTape guard;
  for (const CellCase& one : cell_cases()) write_cell(folder, one);
  write_attention(folder);
  write_memory(folder, "attention_memory", 5), write_memory(folder, "attention_own_width", 8);
  write_epsilons(folder);
  write_functions(folder);
  write_tied(folder);
}

}  // namespace unroll
