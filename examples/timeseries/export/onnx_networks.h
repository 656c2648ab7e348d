// The networks of series (networks/) as ONNX, operation by operation.
#pragma once

#include "examples/timeseries/networks/network.h"
#include "export/onnx.h"

namespace timeseries {

// As Window, in a graph.
struct OnnxWindow {
  OnnxValue x;           // [window, rows, features], normalized
  OnnxValue ahead = {};  // [horizon, rows, Columns::ahead()]; of no graph: nothing is known
  OnnxValue batch;  // [1], a whole number: by channel there are as many rows for each as there are targets
};

// [rows, outputs * horizon * width]; of a detector the logits [rows, 1]. `params`: of the network, under its names.
OnnxValue onnx_network(const NetworkPlan& plan, const ParameterSet& params, const OnnxWindow& window);

}  // namespace timeseries
