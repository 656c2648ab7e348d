// Models that run elsewhere.
#include "docs/reference/examples/examples.h"
#include "export/c_header.h"
#include "export/onnx.h"
#include "export/step_of.h"

void exports() {
  //! [OnnxLayer]
  const Folder folder;
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 2, .hidden = 3});
  const Dense out(params / "out", {.in = 3, .out = 1});
  export_onnx(folder / "model.onnx", {OnnxLayer(lstm), OnnxLayer(out)});  // a sequence of layers

  OnnxGraph graph("model");  // or a graph of one's own
  const OnnxValue x = graph.input("x", {"steps", "batch", 2});
  const OnnxOutput after = onnx(RecurrentLayer(lstm), x, OnnxState{});  // from zeros
  graph.output("y", onnx(out, after.y), {"steps", "batch", 1});
  graph.write(folder / "graph.onnx");
  check(std::filesystem::exists(folder / "graph.onnx"));
  //! [OnnxLayer]

  //! [CHeaderOptions]
  const CHeaderOptions options{.name = "model", .bits = 8};
  const std::string text = c_header(step_of(params, 2, RecurrentLayer(lstm), out), options);
  check(text.find("model_step(") != std::string::npos);
  //! [CHeaderOptions]
}
