// ONNX: what has no form there is refused by its name, and a graph keeps its rules. onnx_test.py looks at numbers.
#include "export/onnx.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "tests/folder.h"
#include "tests/support.h"

using namespace unroll;

namespace {

// A cell from outside, with an operator's name in ONNX and other equations.
struct HalvedLstm : LstmCell {
  explicit HalvedLstm(const LayerScope& scope) : LstmCell(scope) {}
  RecurrentVars step(const Var& x, const Var& h_in, const RecurrentVars& before,
                     Vars* gates = nullptr) const {
    return LstmCell::step(0.5f * x, h_in, before, gates);
  }
};

std::string refusal(const std::filesystem::path& path, const std::vector<OnnxLayer>& layers) {
  try {
    export_onnx(path, layers);
  } catch (const InputError& error) { return error.what(); }
  return "taken";
}

}  // namespace

TEST_CASE("layers that have no form are refused by name, and no file is left") {
  const Folder folder;
  const auto path = folder / "model.onnx";
  ParameterSet params;
  const Recurrent<HalvedLstm> outside(params / "outside", {.input = 3, .hidden = 4});
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 4});
  const Embedding embed(params / "embed", {.vocab = 5, .dim = 3});
  const Dense out(params / "out", {.in = 5, .out = 2});
  const MultiHeadAttention attention(params / "attention", {.dim = 4});
  CHECK(
      refusal(path, {outside}) ==
      "onnx: 'lstm' is a cell from outside: its equations are not known here, and no operator has its name");
  CHECK(
      refusal(path, {lstm, out}).ends_with("layer 2 reads 5 numbers, and the one before it gives 4 numbers"));
  CHECK(
      refusal(path, {lstm, embed}).ends_with("layer 2 reads 5 words, and the one before it gives 4 numbers"));
  CHECK(refusal(path, {}).ends_with("there are no layers"));
  const AttentionCall with_lengths{.lengths = {.steps = IdTensor::from({2}, {1, 2})}};
  CHECK(refusal(path, {lstm, {attention, with_lengths}}) ==
        "onnx: attention with lengths of rows, or with first keys, has no form here");
  CHECK(!std::filesystem::exists(path));
  CHECK(refusal(path, {embed, lstm}) == "taken");
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("a graph: names are there once, tied weights are stored once, a constant is no parameter") {
  ParameterSet params;
  const Embedding embed(params / "embed", {.vocab = 500, .dim = 40});
  const Dense tied(params / "tied", {.in = 40, .out = 500}, embed.weight),
      own(params / "own", {.in = 40, .out = 500});
  const auto bytes = [&](const Dense& decoder) {
    OnnxGraph graph("model");
    const OnnxValue ids = graph.input("ids", {"steps", "batch"}, OnnxType::int64);
    CHECK_THROWS_WITH_AS(graph.input("ids", {1}), "onnx: the name 'ids' is taken", Error);
    CHECK_THROWS_WITH_AS(graph.weight(Tensor::zeros({3})),
                         "onnx: a weight [3] that is no parameter has no name", Error);
    graph.output("y", onnx(decoder, onnx(embed, ids)), {"steps", "batch", 500});
    return static_cast<int64_t>(graph.model_bytes().size());
  };
  const int64_t table = 4 * embed.weight.shape().size();
  CHECK(bytes(tied) > table);
  CHECK(bytes(tied) < table + 4000);
  CHECK(bytes(own) > 2 * table);
}
