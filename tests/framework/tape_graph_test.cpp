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
