// Parity with PyTorch, values and gradients: single operations and recurrent layers, in double.
#include <cmath>
#include <functional>
#include <map>

#include "framework/loss.h"
#include "framework/ops.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "layers/recurrent/rnn.h"
#include "tests/reference.h"
#include "tests/support.h"

using namespace unroll;

namespace {

constexpr Engine engines[] = {Engine::fused, Engine::composed};

using Inputs = std::map<std::string, Var>;

// The loss of each row (or element) of x alone, [rows].
Var row_by_row(const Var& x, const std::function<Var(const Var& row, int r)>& loss) {
  Vars parts;
  for (int r = 0; r < x.dim(0); ++r) parts.push_back(reshape(loss(slice(x, 0, r, r + 1), r), {1}));
  return concat(parts, 0);
}

// Cross-entropy of logits, or of a product that gives the same logits, two rows at a time.
Var cross_entropy(const Var& x, const IdTensor& target, CrossEntropyOptions options, bool fused) {
  if (!fused) return softmax_cross_entropy(x, target, options);
  options.chunk_rows = 2;
  const int n = x.dim(-1);
  Tensor identity = Tensor::zeros({n, n});
  for (int i = 0; i < n; ++i) identity[i].on_host(Access::change)[i] = 1;
  return softmax_cross_entropy(x, Var(identity), Var(Tensor::zeros({n})), target, options);
}

// y by our operations, from the inputs and settings of a recorded case.
Var compute(const std::string& name, const Json& c, const Inputs& in, bool fused) {
  const auto is = [&](const char* start) { return name.rfind(start, 0) == 0; };
  const Var& x = in.at("x");
  if (is("layer_norm")) return layer_norm(x, in.at("weight"), in.at("bias"), c.at("eps"));
  if (is("softmax")) return softmax(x);
  if (is("log_softmax")) return log_softmax(x);
  if (is("sigmoid")) return sigmoid(x);
  if (is("tanh")) return tanh(x);
  if (is("max_last")) return max(x, 1);
  if (is("max_first")) return max(x, 0);
  if (is("mse_mean")) return mean_squared_error(x, in.at("target").value());
  if (is("bce_logits")) {
    const Tensor labels = tensor_of(c.at("labels"));
    const BinaryCrossEntropyOptions options{.pos_weight = c.value("pos_weight", real(1))};
    return row_by_row(
        x, [&](const Var& e, int i) { return binary_cross_entropy(e, labels.slice(i, i + 1), options); });
  }
  REQUIRE(is("cross_entropy"));
  const IdTensor target = ids_of(c.at("targets"));
  if (is("cross_entropy_rows") || is("cross_entropy_extreme")) {
    return row_by_row(
        x, [&](const Var& row, int r) { return cross_entropy(row, target.slice(r, r + 1), {}, fused); });
  }
  CrossEntropyOptions options{.reduction = name.ends_with("_sum") ? Reduction::sum : Reduction::mean,
                              .ignore_index = c.value("ignore_index", -1)};
  if (c.contains("row_weights")) options.weights = tensor_of(c.at("row_weights"));
  if (c.contains("class_weights")) {
    options.weights = Tensor(target.shape());
    for (int64_t r = 0; r < target.size(); ++r)
      options.weights.on_host(Access::change)[r] = c.at("class_weights").at("data").at(target.data()[r]);
  }
  return cross_entropy(x, target, options, fused);
}

}  // namespace

TEST_CASE("operations: values and gradients") {
  Worst worst;
  int cases = 0;
  for (const auto& [name, c] : reference("ops.json").items()) {
    if (name == "torch" || name == "lstm") continue;
    CAPTURE(name);
    ++cases;
    // Sums of terms that cancel have an absolute error. If each element stands alone, all of its digits count.
    const double floor = name.find("extreme") == std::string::npos ? 1e-3 : 0;
    // Values 3000 times larger than their deviations: so is the rounding.
    const double bound = name == "layer_norm_nearly_constant" ? 3e-11 : 1e-12;
    Worst of_case;
    for (const bool fused : {false, true}) {
      if (fused && name.rfind("cross_entropy", 0) != 0) continue;
      Tape tape;
      Inputs in;
      for (const char* input : {"x", "weight", "bias", "target"})
        if (c.contains(input)) in[input] = tape.watch(tensor_of(c.at(input)));
      const Var y = compute(name, c, in, fused);
      of_case(relative(y.value(), c.at("y"), floor), name + ": y");
      tape.backward(sum(y * Var(tensor_of(c.at("dy")))));
      for (const auto& [input, var] : in) {
        if (input == "target") continue;  // a tensor with us: it has no gradient
        of_case(relative(var.grad(), c.at("d" + input), floor), name + ": d" + input);
      }
    }
    CHECK_MESSAGE(of_case.error < bound, of_case.text());
    worst(of_case);
  }
  CHECK(cases == 20);
  MESSAGE(worst.text());
}

TEST_CASE("an LSTM of two layers with state in and out: values and gradients") {
  const Json& c = reference("ops.json").at("lstm");
  Worst worst;
  for (const Engine engine : engines) {
    ParameterSet params;
    Lstm lstm(params / "lstm", {.input = 3, .hidden = 4, .layers = 2, .engine = engine});
    const auto recorded = [](const Parameter& p, const Json& json) { return json.at(p.name.substr(5)); };
    for (const auto& p : params.all()) p->leaf_value().copy_from(tensor_of(recorded(*p, c.at("parameters"))));
    Tape tape;
    const Var x = tape.watch(tensor_of(c.at("x")));
    const RecurrentVars start{tape.watch(tensor_of(c.at("h0"))), tape.watch(tensor_of(c.at("c0")))};
    const auto [y, state] = lstm(x, start);
    worst(relative(y.value(), c.at("y")), "y");
    worst(relative(state.h.value(), c.at("hn")), "h");
    worst(relative(state.c.value(), c.at("cn")), "c");
    tape.backward(sum(y * Var(tensor_of(c.at("dy")))) + sum(state.h * Var(tensor_of(c.at("dhn")))) +
                  sum(state.c * Var(tensor_of(c.at("dcn")))));
    worst(relative(x.grad(), c.at("dx")), "dx");
    worst(relative(start.h.grad(), c.at("dh0")), "dh0");
    worst(relative(start.c.grad(), c.at("dc0")), "dc0");
    for (const auto& p : params.all())
      worst(relative(p->node.gradient.value(p->shape), recorded(*p, c.at("gradients"))),
            "gradient of " + p->name);
  }
  CHECK_MESSAGE(worst.error < 1e-11, worst.text());
  MESSAGE(worst.text());
}

namespace {

// Compares a layer with what PyTorch's packed sequences gave; `states` are h0 and, of an LSTM, c0.
template <class Layer, class Call>
void check_recurrent(const Json& c, Worst& worst, ParameterSet& params, const Layer& layer, Call call) {
  const Lengths lengths{
      IdTensor::from({3}, reference("recurrent.json").at("lengths").get<std::vector<int32_t>>())};
  for (const auto& p : params.all())
    p->leaf_value().copy_from(tensor_of(c.at("parameters").at(p->name.substr(6))));
  Tape tape;
  const Var x = tape.watch(tensor_of(c.at("x")));
  std::vector<std::string> names = {"h"};
  if (c.contains("c0")) names.push_back("c");
  Vars states;
  for (const std::string& name : names) states.push_back(tape.watch(tensor_of(c.at(name + "0"))));
  const auto [y, last] = call(layer, x, states, lengths);
  worst(relative(y.value(), c.at("y"), 1e-2), "y");
  Var loss = sum(y * Var(tensor_of(c.at("dy"))));
  for (size_t i = 0; i < names.size(); ++i) {
    worst(relative(last[i].value(), c.at(names[i] + "n")), names[i]);
    loss = loss + sum(last[i] * Var(tensor_of(c.at("d" + names[i] + "n"))));
  }
  tape.backward(loss);
  worst(relative(x.grad(), c.at("dx"), 1e-2), "dx");
  for (size_t i = 0; i < names.size(); ++i)
    worst(relative(states[i].grad(), c.at("d" + names[i] + "0")), "d" + names[i]);
  for (const auto& p : params.all())
    worst(relative(p->node.gradient.value(p->shape), c.at("gradients").at(p->name.substr(6)), 1e-2),
          "gradient of " + p->name);
}

}  // namespace

TEST_CASE(
    "a GRU, plain networks and an LSTM with projection, in two directions over rows of different lengths") {
  const Json& all = reference("recurrent.json");
  Worst worst;
  for (const Engine engine : engines) {
    ParameterSet of_gru, of_lstm;
    const Gru gru(of_gru / "layer",
                  {.input = 2, .hidden = 3, .layers = 2, .bidirectional = true, .engine = engine});
    check_recurrent(all.at("gru"), worst, of_gru, gru,
                    [](const Gru& layer, const Var& x, const Vars& states, const Lengths& lengths) {
                      const auto out = layer(x, {states[0]}, lengths);
                      return std::pair{out.y, std::vector{out.state.h}};
                    });
    for (const Unary f : plain_functions) {
      ParameterSet of_rnn;
      const Rnn rnn(
          of_rnn / "layer",
          {.input = 2, .hidden = 3, .layers = 2, .nonlinearity = f, .bidirectional = true, .engine = engine});
      check_recurrent(all.at(f == Unary::relu ? "rnn_relu" : "rnn"), worst, of_rnn, rnn,
                      [](const Rnn& layer, const Var& x, const Vars& states, const Lengths& lengths) {
                        const auto out = layer(x, {states[0]}, lengths);
                        return std::pair{out.y, std::vector{out.state.h}};
                      });
    }
    const Lstm lstm(
        of_lstm / "layer",
        {.input = 2, .hidden = 3, .layers = 2, .projection = 2, .bidirectional = true, .engine = engine});
    check_recurrent(all.at("lstm"), worst, of_lstm, lstm,
                    [](const Lstm& layer, const Var& x, const Vars& states, const Lengths& lengths) {
                      const auto out = layer(x, {states[0], states[1]}, lengths);
                      return std::pair{out.y, std::vector{out.state.h, out.state.c}};
                    });
  }
  CHECK_MESSAGE(worst.error < 1e-11, worst.text());
  MESSAGE(worst.text());
}
