// The plan of a step of a model that exists, by naming its layers:
//
//   StepPlan plan = step_of(model.params, model.embed, model.lstm, model.out);   // a token -> "y", the logits
//   StepPlan plan = step_of(model.params, 3, model.lstm, model.out);             // "x" [3] -> "y"
//
// The plan has copies of the weights, as they are now: c_header() prints it, RealTimeStep runs it. A model of another form calls
// append() for each layer itself. All throw Error for a cell or an option that StepBuilder has no equation for.
#pragma once

#include "export/step_builder.h"
#include "export/step_transformer.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/mixture_softmax.h"
#include "layers/norm.h"
#include "layers/recurrent/recurrent_layer.h"
#include "layers/transformer.h"

namespace unroll {

// The parameters of a model, by their names.
StepWeights weights_of(const ParameterSet& params);

// Each adds a layer's equations to the step. Returns y.
StepVector append(StepBuilder& step, const Embedding& layer);
StepVector append(StepBuilder& step, const Dense& layer, const StepVector& x);
StepVector append(StepBuilder& step, const LayerNorm& layer, const StepVector& x);
StepVector append(StepBuilder& step, const RecurrentLayer& layer, const StepVector& x);
StepVector append(StepBuilder& step, const Transformer& layer, const StepVector& x);
// log p of the next token
StepVector append(StepBuilder& step, const MixtureSoftmax& layer, const Dense& decoder, const StepVector& x);

template <class... Layers>
StepPlan step_of(const ParameterSet& params, int inputs, const Layers&... layers) {  // of numbers [inputs]
  StepBuilder step(weights_of(params));
  StepVector x = step.input("x", inputs);
  ((x = append(step, layers, x)), ...);
  step.output("y", x);
  return step.plan();
}
template <class... Layers>
StepPlan step_of(const ParameterSet& params, const Embedding& first, const Layers&... layers) {
  StepBuilder step(weights_of(params));
  StepVector x = append(step, first);
  ((x = append(step, layers, x)), ...);
  step.output("y", x);
  return step.plan();
}

}  // namespace unroll
