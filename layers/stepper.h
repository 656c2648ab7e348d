// Inference one step at a time: nothing is recorded, nothing is dropped, and a step takes no memory (with another
// cell than the plain one: none but from the pool).
//
//   load_state_dict(SafetensorsFile("last.safetensors"), model.params);
//   TokenStepper step(model.embedding, model.lstm, model.decoder);
//   for (int32_t word : text) std::span<const real> logits = step(word);   // of the word after it
//
// The values are those of the layers called on a whole window, to rounding, whichever engine the Lstm has. A
// stepper shares the weights with the layers, whose ParameterSet must outlive it, and has a state of its own:
// several may step through one model, also in several threads.
#pragma once

#include <span>
#include <vector>

#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/lstm.h"

namespace unroll::inline UNROLL_REAL {

class LstmStepper {
 public:
  // `batch` sequences side by side, all from a state of zeros.
  explicit LstmStepper(const Lstm& lstm, int batch = 1);

  // One step: x [batch, input] -> y [batch, output], valid until the next step.
  Tensor operator()(const Tensor& x);

  const LstmState& state() const { return state_; }  // h, c [layers, batch, hidden]
  void set_state(const LstmVars& state) { state_ = state; }
  void reset() { state_.reset(); }

 private:
  Lstm lstm_;
  bool plain_;
  LstmState state_;
  Tensor gates_;  // [batch, 4*hidden]
};

// An embedding, an LSTM and a decoder, batch 1: a language model.
class TokenStepper {
 public:
  TokenStepper(const Embedding& embedding, const Lstm& lstm, const Dense& decoder);

  // One token in [0, vocab) -> the decoder's values for the next one [out], valid until the next step.
  std::span<const real> operator()(int32_t token);

  LstmStepper lstm;

 private:
  Embedding embedding_;
  Dense decoder_;
  Tensor out_;  // [1, out]
};

}  // namespace unroll::inline UNROLL_REAL
