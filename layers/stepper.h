// Inference one step at a time. Nothing is recorded, and dropout is off. A step of a plain cell allocates nothing;
// other cells allocate from the pool only.
//
//   load_state_dict(SafetensorsFile("last.safetensors"), model.params);
//   TokenStepper step(model.embedding, model.lstm, model.decoder);
//   for (int32_t word : text) std::span<const real> logits = step(word);   // of the word after it
//
// Values equal those of the layers called on a whole window, to rounding, whatever the engine. A stepper shares the
// layers' weights, so their ParameterSet must outlive it, and has its own state: several may step through one model, on
// a CPU also in several threads.
#pragma once

#include <span>
#include <vector>

#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/recurrent/recurrent_layer.h"

namespace unroll {

class Stepper {
 public:
  // Takes all recurrent layers except bidirectional ones, at which it throws Error. Steps `batch` sequences side by side, from a state of zeros.
  explicit Stepper(const RecurrentLayer& layers, int batch = 1);
  Stepper(Stepper&&) = default;  // no copies: they would share the buffers that a step writes

  // One step: x [batch, input] -> y [batch, output], valid until the next step.
  Tensor operator()(const Tensor& x);
  // One step with its gates and states of each layer, for inspection. Allocates, and takes longer.
  RecurrentTrace trace(const Tensor& x);

  // h, c [layers, batch, hidden]; c where the cell has one.
  const RecurrentState& state() const& { return state_; }
  RecurrentState state() const&& { return state_; }
  void set_state(const RecurrentVars& state) { state_ = state; }  // to go on from: values are copied
  void reset() { state_.reset(); }                                // the state is zero again
  // Starts one sequence anew. Throws Error if there is no such row.
  void reset(int row) { state_.reset(row); }

 private:
  Var window_of(const Tensor& x) const;  // [1, batch, input]
  RecurrentLayer layers_;
  RecurrentState state_;
  Tensor room_;  // for a plain step; undefined: the layers' options need the way of a whole window
};

// An embedding, recurrent layers and a decoder, batch 1: a language model.
class TokenStepper {
 public:
  TokenStepper(const Embedding& embedding, const RecurrentLayer& layers, const Dense& decoder);

  // One token in [0, vocab) -> the decoder's values for the next one [out], valid until the next step.
  std::span<const real> operator()(int32_t token) &;
  std::span<const real> operator()(int32_t token) && = delete;

  Stepper layers;

 private:
  Embedding embedding_;
  Dense decoder_;
  Tensor out_;                     // [1, out]
  std::vector<real> out_on_host_;  // a copy, with a GPU
};

}  // namespace unroll
