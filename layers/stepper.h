// Inference one step at a time: nothing is recorded, nothing is dropped, and a step takes no memory (with
// another cell than the plain ones: none but from the pool).
//
//   load_state_dict(SafetensorsFile("last.safetensors"), model.params);
//   TokenStepper step(model.embedding, model.lstm, model.decoder);
//   for (int32_t word : text) std::span<const real> logits = step(word);   // of the word after it
//
// The values are those of the layers called on a whole window, to rounding, whichever their engine. A stepper
// shares the weights with the layers, whose ParameterSet must outlive it, and has a state of its own: several
// may step through one model; on a CPU also in several threads.
#pragma once

#include <span>
#include <vector>

#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/recurrent/recurrent_layer.h"

namespace unroll {

class Stepper {
 public:
  // Takes any recurrent layers but bidirectional ones; `batch` sequences side by side, all from a state of zeros.
  explicit Stepper(const RecurrentLayer& layers, int batch = 1);
  Stepper(Stepper&&) = default;  // and no copies: they would share what a step writes

  // One step: x [batch, input] -> y [batch, output], valid until the next step.
  Tensor operator()(const Tensor& x);
  // One step, and what it computed: gates and states of each layer, for looking at. Takes memory, and longer.
  RecurrentTrace trace(const Tensor& x);

  const RecurrentState& state() const& {
    return state_;
  }  // h, c [layers, batch, hidden]; c where the cell has one
  RecurrentState state() const&& { return state_; }
  void set_state(const RecurrentVars& state) { state_ = state; }
  void reset() { state_.reset(); }
  // Of one sequence alone, which begins anew; throws Error if there is no such row.
  void reset(int row) { state_.reset(row); }

 private:
  Var window_of(const Tensor& x) const;  // [1, batch, input]
  RecurrentLayer layers_;
  RecurrentState state_;
  Tensor room_;  // of a plain step; undefined: the layers have options that need a whole window's way
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
