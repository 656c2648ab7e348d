// ONNX: models in the format that runtimes on phones, in browsers and elsewhere read (onnx.ai).
//
//   export_onnx("model.onnx", {model.embed, model.lstm, model.out});
//
// The file's inputs are `ids` [steps, batch], whole numbers, if the first layer is an embedding, else `x` [steps, batch,
// width]; and each state, "lstm.h" and "lstm.c" [layers, batch, width]. Outputs are `y` and the states after the last step,
// "lstm.h_next". Steps and batch may be any numbers when the model runs. A runtime that hands lstm.h_next back as lstm.h goes on
// where it ended.
//
// An LSTM, a GRU or an RNN becomes ONNX's operator of that name. With an option that this lacks it becomes a Scan over the
// step's equations. Dropout of all kinds is off, and zoneout is its expectation. Rows of different lengths and resets stay here.
// Throws InputError, naming the layer, where there is no such form: a cell from outside, attention with lengths.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "export/onnx_graph.h"
#include "layers/attention.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/mixture_softmax.h"
#include "layers/norm.h"
#include "layers/recurrent/recurrent_layer.h"
#include "layers/transformer.h"

namespace unroll {

// --- layers in a graph: each as the layer's own call ---------------------------------------------------------

OnnxValue onnx_linear(const OnnxValue& x, const Var& weight, const Var& bias = {});  // bias may be empty
OnnxValue onnx(const Dense& layer, const OnnxValue& x);
OnnxValue onnx(const LayerNorm& layer, const OnnxValue& x);
OnnxValue onnx(const RmsNorm& layer, const OnnxValue& x);
OnnxValue onnx(const Embedding& layer, const OnnxValue& ids);
// log p [steps, batch, classes]
OnnxValue onnx_log_probabilities(const MixtureSoftmax& mixture, const Dense& decoder, const OnnxValue& y);
// queries [steps, batch, dim], memory [past, batch, key_dim]. Throws InputError: the call has lengths or firsts.
OnnxValue onnx(const MultiHeadAttention& layer, const OnnxValue& queries, const OnnxValue& memory,
               const AttentionCall& call = {});

// States h and c as in RecurrentVars; without them (a value of no graph) zeros. c is empty where the layer has none.
struct OnnxState {
  OnnxValue h = {}, c = {};
};
struct OnnxOutput {
  OnnxValue y;
  OnnxState state;
};
OnnxOutput onnx(const RecurrentLayer& layer, const OnnxValue& x, const OnnxState& state = {});
// As above, of weights alone, in any order: "….weight_ih_l0", "….bias_l0", …
OnnxOutput onnx_recurrent(const CellFacts& cell, const RecurrentConfig& config, const Vars& weights,
                          const OnnxValue& x, const OnnxState& state = {});
OnnxOutput onnx(const Transformer& layer, const OnnxValue& x, const OnnxState& state);

// The state as inputs NAME.h and NAME.c of the graph, and as outputs NAME.h_next and NAME.c_next. Returns y.
OnnxValue onnx_with_state(const std::string& name, const RecurrentLayer& layer, const OnnxValue& x);
OnnxValue onnx_with_state(const std::string& name, const Transformer& layer, const OnnxValue& x);

// --- whole models ------------------------------------------------------------------------------------------

// A layer of a model that is a sequence of layers. A state is named by its cell, "lstm", or "transformer"; two of a kind are
// "lstm" and "lstm_2". Requires: the layer outlives this.
struct OnnxLayer {
  OnnxLayer(const Embedding& layer);
  OnnxLayer(const Dense& layer);
  OnnxLayer(const LayerNorm& layer);
  OnnxLayer(const RmsNorm& layer);
  OnnxLayer(const MultiHeadAttention& layer, const AttentionCall& call = {});  // of its input with itself
  OnnxLayer(const Transformer& layer);
  OnnxLayer(const RecurrentLayer& layer);
  template <class Cell>
  OnnxLayer(const Recurrent<Cell>& layer) : OnnxLayer(RecurrentLayer(layer)) {}

  bool reads_ids = false;     // it is an embedding
  int input = 0, output = 0;  // widths
  std::string state = {};     // its name without a number; empty: there is none
  std::function<OnnxValue(const std::string& name, const OnnxValue& x)> add;  // to a graph; returns y
};

// Writes the file whole or not at all. Throws InputError, naming both widths, if a layer does not read what the one before it
// gives.
void export_onnx(const std::filesystem::path& path, const std::vector<OnnxLayer>& layers);

}  // namespace unroll
