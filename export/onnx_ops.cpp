#include <cmath>
#include <numbers>

#include "export/onnx_graph.h"
#include "framework/check.h"

namespace unroll {

OnnxValue operator+(const OnnxValue& a, const OnnxValue& b) { return a.graph->op("Add", {a, b}); }
OnnxValue operator-(const OnnxValue& a, const OnnxValue& b) { return a.graph->op("Sub", {a, b}); }
OnnxValue operator*(const OnnxValue& a, const OnnxValue& b) { return a.graph->op("Mul", {a, b}); }
OnnxValue operator/(const OnnxValue& a, const OnnxValue& b) { return a.graph->op("Div", {a, b}); }
OnnxValue operator*(double a, const OnnxValue& b) { return b.graph->number(a) * b; }
OnnxValue one_minus(const OnnxValue& x) { return x.graph->number(1) - x; }
OnnxValue matmul(const OnnxValue& a, const OnnxValue& b) { return a.graph->op("MatMul", {a, b}); }

OnnxValue unary(Unary f, const OnnxValue& x) {
  OnnxGraph& graph = *x.graph;
  switch (f) {
    case Unary::exp:
      return graph.op("Exp", {x});
    case Unary::log:
      return graph.op("Log", {x});
    case Unary::sqrt:
      return graph.op("Sqrt", {x});
    case Unary::sigmoid:
      return graph.op("Sigmoid", {x});
    case Unary::tanh:
      return graph.op("Tanh", {x});
    case Unary::softplus:
      return graph.op("Softplus", {x});
    case Unary::erf:
      return graph.op("Erf", {x});
    case Unary::gelu:
      return 0.5 * x * (graph.number(1) + graph.op("Erf", {1 / std::numbers::sqrt2 * x}));
    case Unary::gelu_tanh:
      return 0.5 * x * (graph.number(1) + tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Unary::silu:
      return x * sigmoid(x);
    case Unary::sin:
      return graph.op("Sin", {x});
    case Unary::cos:
      return graph.op("Cos", {x});
    case Unary::relu:
      return graph.op("Relu", {x});
    case Unary::hard_sigmoid:
      return graph.op("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
    case Unary::hard_tanh:
      return graph.op("Clip", {x, graph.number(-1), graph.number(1)});
    case Unary::softsign:
      return graph.op("Softsign", {x});
    case Unary::abs:
      return graph.op("Abs", {x});
  }
  throw Error("onnx: a function without a name");
}

OnnxValue sigmoid(const OnnxValue& x) { return unary(Unary::sigmoid, x); }
OnnxValue tanh(const OnnxValue& x) { return unary(Unary::tanh, x); }
OnnxValue relu(const OnnxValue& x) { return unary(Unary::relu, x); }
OnnxValue softmax(const OnnxValue& x, int axis) {
  return x.graph->op("Softmax", {x}, {{"axis", int64_t{axis}}});
}
OnnxValue log_softmax(const OnnxValue& x, int axis) {
  return x.graph->op("LogSoftmax", {x}, {{"axis", int64_t{axis}}});
}

OnnxValue concat(const OnnxValues& parts, int axis) {
  return parts.size() == 1 ? parts[0] : parts[0].graph->op("Concat", parts, {{"axis", int64_t{axis}}});
}

OnnxValues chunk(const OnnxValue& x, int parts, int axis) {
  return x.graph->ops("Split", {x}, parts, {{"axis", int64_t{axis}}});
}

OnnxValue slice(const OnnxValue& x, int axis, int64_t begin, int64_t end) {
  OnnxGraph& graph = *x.graph;
  return graph.op("Slice", {x, graph.numbers({begin}), graph.numbers({end}), graph.numbers({axis})});
}

OnnxValue row(const OnnxValue& x, int64_t i) {
  return x.graph->op("Gather", {x, x.graph->number(static_cast<double>(i), OnnxType::int64)});
}

OnnxValue rows(const OnnxValue& table, const OnnxValue& ids) { return ids.graph->op("Gather", {table, ids}); }

OnnxValue reshape(const OnnxValue& x, const std::vector<int64_t>& shape) {
  return x.graph->op("Reshape", {x, x.graph->numbers(shape)});
}

OnnxValue permute(const OnnxValue& x, const std::vector<int64_t>& order) {
  return x.graph->op("Transpose", {x}, {{"perm", order}});
}

OnnxValue unsqueeze(const OnnxValue& x, int axis) {
  return x.graph->op("Unsqueeze", {x, x.graph->numbers({axis})});
}

OnnxValue cast(const OnnxValue& x, OnnxType type) {
  return x.graph->op("Cast", {x}, {{"to", static_cast<int64_t>(type)}});
}

OnnxValue extent(const OnnxValue& x, int axis) {
  return x.graph->op("Shape", {x}, {{"start", int64_t{axis}}, {"end", int64_t{axis} + 1}});
}

}  // namespace unroll
