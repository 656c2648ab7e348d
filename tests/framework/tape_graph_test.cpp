// The graph that a tape keeps: inputs, parameters, norms by hand, and its text for Graphviz and Mermaid.
#include "framework/tape_graph.h"

#include <cmath>

#include "framework/loss.h"
#include "framework/ops.h"
#include "framework/parameters.h"
#include "framework/profile.h"
#include "layers/recurrent/lstm.h"
#include "tests/support.h"

using namespace unroll;
using Kind = TapeGraph::Input::Kind;

TEST_CASE("the graph of y = sum(w·x + x): inputs, names, norms of values and gradients") {
  ParameterSet params;
  const Var w = params.add("layer.w", {2}, Init::constant(3)).var();
  const Tensor constant = tensor({2}, {4, 3});
  TapeGraph graph;
  Tape tape({.observer = &graph});
  const Var x = tape.watch(tensor({2}, {1, 2}));
  const Var product = w * x, y = sum(product + x), other = sum(x * Var(constant));
  CHECK(graph.operations.size() == 8);
  CHECK_FALSE(graph.operations[1].results[0].gradient_norm);
  tape.backward(y);
  std::vector<std::string> names;
  for (const auto& operation : graph.operations) names.push_back(operation.name);
  CHECK(names == std::vector<std::string>{"watch", "mul", "add", "reshape", "sum", "mul", "reshape", "sum"});

  const auto& mul = graph.operations[1];
  REQUIRE(mul.inputs.size() == 2);
  CHECK(mul.inputs[0].kind == Kind::parameter);
  CHECK(mul.inputs[0].number == 0);
  CHECK(mul.inputs[1].kind == Kind::result);
  CHECK(mul.inputs[1].number == 0);
  CHECK(mul.inputs[1].shape == Shape{2});
  CHECK(mul.results[0].norm == doctest::Approx(std::sqrt(9.0 + 36)).epsilon(1e-12));
  CHECK(mul.results[0].gradient_norm.value() == doctest::Approx(std::sqrt(2.0)).epsilon(1e-12));
  CHECK(mul.file == "framework/ops.cpp");
  CHECK(mul.line > 1);
  // x gains 3 + 1 in each element; w gains x.
  CHECK(graph.operations[0].results[0].gradient_norm.value() ==
        doctest::Approx(std::sqrt(32.0)).epsilon(1e-12));
  REQUIRE(graph.parameters.size() == 1);
  CHECK(graph.parameters[0].name == "layer.w");
  CHECK(graph.parameters[0].value.norm == doctest::Approx(std::sqrt(18.0)).epsilon(1e-12));
  CHECK(graph.parameters[0].value.gradient_norm.value() == doctest::Approx(std::sqrt(5.0)).epsilon(1e-12));
  CHECK(graph.operations[5].inputs[1].kind == Kind::constant);
  CHECK_FALSE(graph.operations[7].results[0].gradient_norm);  // the loss does not depend on it
}

TEST_CASE("an operation of very many inputs is kept and checked as any other, tape after tape") {
  constexpr int many = 40000;  // their list is larger than a block of the records' memory
  ParameterSet params;
  const Var w = params.add("w", {1}, Init::constant(3)).var();
  for (int tapes = 1; tapes <= 2; ++tapes) {
    TapeGraph graph;
    Tape tape({.check_inputs = true, .observer = &graph});
    tape.backward(sum(concat(Vars(many, w), 0) * 2));
    REQUIRE(graph.operations[0].inputs.size() == many);
    CHECK(graph.operations[0].inputs.back().kind == Kind::parameter);
    CHECK(w.grad().item() == 2 * many * tapes);
  }
}

TEST_CASE("operations with several results, and an input used twice") {
  ParameterSet params(1);
  const Lstm lstm(params / "lstm", {.input = 2, .hidden = 3, .engine = Engine::fused});
  const Tensor x = tensor({2, 1, 2}, {1, 2, 3, 4});
  TapeGraph graph;
  Tape tape({.observer = &graph});
  const auto [y, state] = lstm(x, lstm.zero_state(1));
  tape.backward(sum(state.c * state.c));
  const auto& operations = graph.operations;
  const auto fused = std::ranges::find(operations, "lstm_layer_fused", &TapeGraph::Operation::name);
  REQUIRE(fused != operations.end());
  REQUIRE(fused->results.size() == 3);
  CHECK(fused->results[0].shape == Shape{2, 1, 3});
  CHECK_FALSE(fused->results[0].gradient_norm);
  CHECK(fused->results[2].gradient_norm.value() > 0);
  const auto mul = std::ranges::find(operations, "mul", &TapeGraph::Operation::name);
  REQUIRE(mul != operations.end());
  CHECK(mul->inputs[0].number == mul->inputs[1].number);
  CHECK(graph.parameters.size() == 3);
}

TEST_CASE("as text: Graphviz and Mermaid, names that would end a label included") {
  ParameterSet params;
  const Var w = params.add("a\"b<i>", {1}, Init::constant(2)).var();
  TapeGraph graph;
  Tape tape({.observer = &graph});
  tape.backward(sum(w * Var(tensor({1}, {3}))));
  const std::string dot = graph.dot(), mermaid = graph.mermaid();
  CHECK(dot ==
        "digraph tape {\n  node [shape=box];\n"
        "  p0 [label=\"a\\\"b<i> [1]\\n|value| 2 |gradient| 3\", shape=ellipse];\n"
        "  o0 [label=\"mul [1]\\n|value| 6 |gradient| 1\"];\n"
        "  p0 -> o0;\n"
        "  c0 [label=\"constant [1]\", shape=plaintext];\n"
        "  c0 -> o0;\n"
        "  o1 [label=\"reshape [1]\\n|value| 6 |gradient| 1\"];\n"
        "  o0 -> o1;\n"
        "  o2 [label=\"sum []\\n|value| 6 |gradient| 1\"];\n"
        "  o1 -> o2;\n}\n");
  CHECK(mermaid ==
        "flowchart TD\n"
        "  p0([\"a#34;b#60;i#62; [1]<br/>|value| 2 |gradient| 3\"])\n"
        "  o0[\"mul [1]<br/>|value| 6 |gradient| 1\"]\n"
        "  p0 --> o0\n"
        "  c0[\"constant [1]\"]\n"
        "  c0 --> o0\n"
        "  o1[\"reshape [1]<br/>|value| 6 |gradient| 1\"]\n"
        "  o0 --> o1\n"
        "  o2[\"sum []<br/>|value| 6 |gradient| 1\"]\n"
        "  o1 --> o2\n");
}

TEST_CASE("gradients are the same bits with a graph as without") {
  ParameterSet params(3);
  const Lstm lstm(params / "lstm", {.input = 2, .hidden = 3, .layers = 2});
  const Tensor x = tensor({2, 1, 2}, {1, 2, 3, 4});
  std::vector<std::vector<real>> gradients;
  for (const bool keep : {false, true}) {
    TapeGraph graph;
    Tape tape({.observer = keep ? &graph : nullptr});
    const auto [y, state] = lstm(x, lstm.zero_state(1));
    tape.backward(sum(y * y));
    gradients.push_back(params.gradients().to_host());
    params.spend_gradients();
    CHECK(graph.operations.empty() == !keep);
  }
  CHECK(gradients[0] == gradients[1]);
}

TEST_CASE("a tape says what operations it has, and how many numbers all their results are") {
  Tape tape;
  const auto [h, c] = lstm_cell(tape.watch(Tensor::zeros({2, 12})), Var(Tensor::zeros({2, 3})));
  const auto entries = tape.entries();
  REQUIRE(entries.size() == 2);
  CHECK((entries[0].text == "watch [2, 12]" && entries[0].numbers == 24));
  CHECK((entries[1].text == "lstm_cell [2, 3] [2, 3]" && entries[1].numbers == 12));
}

TEST_CASE("the first operation that is not finite is named after its parameter, or after the one before it") {
  ParameterSet params;
  const Var u = params.add("u", {2}, Init::constant(0)).var(),
            v = params.add("v", {2}, Init::constant(1)).var();
  {  // of values, the first; the log of 0 comes behind v's operation
    Tape tape;
    const Var zeros = u * v, finite = zeros + v * v - 1;
    CHECK(tape.first_not_finite() == "");
    const Var infinite = log(finite);
    CHECK(tape.first_not_finite() == "log [2] after 'v'");
    (void)(infinite * u);
    CHECK(tape.first_not_finite() == "log [2] after 'v'");
  }
  {
    Tape tape;
    (void)log(scale(u, 1));
    CHECK(tape.first_not_finite() == "log [2] after 'u'");
  }
  {
    Tape tape;
    (void)(v / u);
    CHECK(tape.first_not_finite() == "div [2] of 'v'");
  }
  {  // all values are finite: of gradients, the first that the backward met is that of the root's operand
    Tape tape({.keep_gradients = true});
    const Var twice = shift(scale(u, 2), 0), loss = sum(sqrt(twice));
    CHECK(tape.first_not_finite() == "");
    tape.backward(loss);
    CHECK(tape.first_not_finite() == "shift [2] after 'u'");
  }
  params.spend_gradients();
  Tape tape({.keep_gradients = true});
  tape.backward(sum(sqrt(v)));
  CHECK(tape.first_not_finite() == "");
}

TEST_CASE("an input says which of an operation's results it is, and a label has the norms of them all") {
  ParameterSet params;
  const Var w = params.add("a\\b#c", {1, 4}, Init::constant(0)).var();
  TapeGraph graph;
  Tape tape({.observer = &graph});
  const auto [h, c] = lstm_cell(w, Var(Tensor::full({1, 1}, 4)));
  tape.backward(sum(c * Var(Tensor::full({1, 1}, 3)) + h));
  // Gates of 1/2 and 0: c is 2, h tanh(2) / 2; c's gradient is 3 + (1 - tanh²(2)) / 2.
  CHECK(graph.operations[1].inputs[0].result == 1);
  CHECK(graph.operations[2].inputs[1].number == 0);
  CHECK(graph.operations[2].inputs[1].result == 0);
  const std::string dot = graph.dot(), mermaid = graph.mermaid();
  CHECK(dot.starts_with(
      "digraph tape {\n  node [shape=box];\n  p0 [label=\"a\\\\b#c [1, 4]\\n|value| 0 |gradient| "));
  CHECK(dot.find(
            "  o0 [label=\"lstm_cell [1, 1] [1, 1]\\n|value| 0.482 |gradient| 1\\n|value| 2 |gradient| 3") !=
        std::string::npos);
  CHECK(dot.find("  c0 [label=\"constant [1, 1]\", shape=plaintext];\n  c0 -> o0;\n") != std::string::npos);
  CHECK(dot.find("  c1 [label=\"constant [1, 1]\", shape=plaintext];\n  c1 -> o1;\n") != std::string::npos);
  CHECK(mermaid.starts_with("flowchart TD\n  p0([\"a\\b#35;c [1, 4]<br/>|value| 0 |gradient| "));
  CHECK(mermaid.find("  c0[\"constant [1, 1]\"]\n  c0 --> o0\n") != std::string::npos);
  CHECK(mermaid.find("  c1[\"constant [1, 1]\"]\n  c1 --> o1\n") != std::string::npos);
}
