// Recurrent layers: windows, states, rows of different lengths, engines, cells of one's own.
#include "docs/reference/examples/examples.h"

namespace {

void windows() {
  //! [LstmCell]
  ParameterSet params;
  const RecurrentConfig config{.input = 3, .hidden = 4, .layers = 2, .dropout = 0.5f};
  const Lstm lstm(params / "lstm", config);   // Recurrent<LstmCell>; Gru and Rnn are called alike
  RecurrentState state = lstm.zero_state(2);  // buffers of its own: h and c [layers, batch, hidden]
  const Tensor x = Tensor::zeros({5, 2, 3});  // [steps, batch, input]
  {
    Tape tape;
    const RecurrentOutput out = lstm(x, state);
    const RecurrentVars next = out.state;  // on the tape
    tape.backward(mean(out.y * out.y));
    state = next;  // copies the values: the gradient ends here
  }
  check(state.h.shape() == Shape{2, 2, 4});
  const LstmCell& first = lstm.cells()[0];
  check(first.weight_ih.shape() == Shape{4 * 4, 3});  // the gates i f g o, one after the other
  params.spend_gradients();
  //! [LstmCell]
}

void other_cells() {
  //! [GruCell]
  ParameterSet params;
  const Gru gru(params / "gru", {.input = 3, .hidden = 4});
  const GruCell& cell = gru.cells()[0];
  check(cell.weight_ih.shape() == Shape{3 * 4, 3});  // the gates r z n
  //! [GruCell]

  //! [RnnCell]
  ParameterSet others;
  const Rnn rnn(others / "rnn", {.input = 3, .hidden = 4, .nonlinearity = Unary::relu});
  const RnnCell& plain = rnn.cells()[0];
  check(plain.weight_ih.shape() == Shape{4, 3});
  //! [RnnCell]

  //! [RecurrentLayer]
  ParameterSet at_run_time;
  const RecurrentLayer chosen(at_run_time / "chosen", CellKind::gru,
                              {.input = 3, .hidden = 4});  // at run time
  const CellFacts& facts = chosen.cell();
  check(std::string(facts.title) == "GRU" && !facts.has_c);
  check(chosen(Tensor::zeros({5, 1, 3}), chosen.zero_state(1)).y.dim(2) == 4);
  //! [RecurrentLayer]

  //! [RecurrentStep]
  ParameterSet of_steps;
  const RecurrentStep<GruCell> step(of_steps / "step", {.input = 3, .hidden = 4});  // GruStepLayer
  RecurrentVars now = step.zero_state(1);
  for (int t = 0; t < 5; ++t) now = step(Tensor::zeros({1, 3}), now);  // x [batch, input]
  check(now.h.shape() == Shape{1, 4});
  //! [RecurrentStep]
}

//! [RecurrentStack]
// A cell of one's own: a leaky mean. Recurrent<Leaky> makes a RecurrentStack of such cells.
struct Leaky {
  static constexpr const char* name = "leaky";
  static constexpr bool has_c = false;
  explicit Leaky(const LayerScope& layer)
      : weight_ih(layer.add("weight_ih", {layer.hidden, layer.input}).var()) {}
  RecurrentVars step(const Var& x, const Var&, const RecurrentVars& before) const {
    return {before.h * real(0.9) + linear(x, weight_ih) * real(0.1), {}};
  }
  Var weight_ih;
};

void own_cell() {
  ParameterSet params;
  const Recurrent<Leaky> layers(params / "leaky", {.input = 3, .hidden = 4, .layers = 2});
  const RecurrentStack& stack = layers;  // whatever the cell
  const CellWeights listed{.all = stack.weights(0), .names = {"weight_ih"}};
  check(stack.count() == 2 && listed.find("weight_ih")->shape() == Shape{4, 3});
}
//! [RecurrentStack]

void rows() {
  //! [Lengths]
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 1, .hidden = 2});
  const Lengths lengths{.steps = IdTensor::from({2}, {3, 1})};  // row 1 has one step, and padding after it
  const RecurrentOutput out = lstm(Tensor::full({3, 2, 1}, 1), lstm.zero_state(2), lengths);
  check(out.y.value()(2, 1, 0) == 0);  // y of padding is 0; the state stays
  const StepRange real_ones = steps_of_row(lengths, 3, 2, 1);
  check(real_ones.has(0) && !real_ones.has(1));
  //! [Lengths]

  //! [Resets]
  const IdTensor begins = IdTensor::from({3, 1}, {0, 1, 0});  // [steps, batch]: a document begins at step 1
  const Resets resets = resets_of(begins, {}, 3, 1);
  check(resets.act_at(1) && !resets.act_at(2));
  const Var y = lstm(Tensor::full({3, 1, 1}, 1), lstm.zero_state(1), {}, begins).y;
  check(near(y.value()(0, 0, 0), y.value()(1, 0, 0)));  // both began from zero
  //! [Resets]
}

void option_table() {
  //! [RecurrentOption]
  const RecurrentOption& zoneout = option_named("zoneout_h");
  check(std::string(zoneout.source) == "Krueger et al. 2017");
  RecurrentConfig config{.input = 3, .hidden = 4, .zoneout_h = 0.1f};
  check(is_set(zoneout, config) && unknown_to_torch(config) == "zoneout_h");
  config.projection = 4;
  const std::optional<OptionFault> fault = fault_in(facts_of(CellKind::lstm), config);
  check(fault && fault->option == "projection");  // it must be less than hidden
  //! [RecurrentOption]
}

void engines() {
  //! [EngineChoice]
  // The engine that an H100 would take, from any machine.
  const EngineFacts h100{
      .gpu = "NVIDIA H100", .capability = 90, .cudnn = 91900, .times = EngineTimes{.cudnn = 1, .fused = 2}};
  const WindowFacts window{.steps = 35, .batch = 20};
  const EngineChoice choice =
      Lstm::choose({.input = 200, .hidden = 200, .recurrent_dropout = 0.25f}, h100, window);
  check(choice.engine == Engine::fused);  // cuDNN has no recurrent dropout
  for (const EngineReason& reason : choice.reasons)
    if (reason.fits == EngineReason::Fits::no) check(reason.criterion == "recurrent_dropout");
  //! [EngineChoice]
}

//! [RecurrentMasks]
// An engine of a cell's own gets the masks of its window: `fused` is the engine if HasFused<Cell> holds.
RecurrentOutput without_recurrence(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks) {
  require(!masks.h.defined() && masks.weight_hh.rate == 0, "this cell has no recurrent product");
  return {x, state};
}
//! [RecurrentMasks]

}  // namespace

void recurrent() {
  windows(), other_cells(), own_cell(), rows(), option_table(), engines();
  check(without_recurrence(Tensor::zeros({1, 1, 1}), {}, {}).y.shape() == Shape{1, 1, 1});
}
