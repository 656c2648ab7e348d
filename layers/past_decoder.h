// Past decode regularization: from what a language model predicts, a small layer must tell the token that the model has
// just read, so that the prediction keeps more of what came before (Brahma 2018, "Improved language modeling by decoding
// the past").
//
//   const auto [loss, past] = past_decoder(decoder, y, input, target);
//   Var objective = loss + scale(past, lambda);
#pragma once

#include <optional>

#include "layers/dense.h"

namespace unroll {

struct PastDecoderConfig {
  int in = 0, classes = 0;  // of the decoder
  float share = 1;          // in (0, 1]: only so many of a window's steps take part, its last ones
};

// With the decoder's rows W [classes, in] and its bias b, which are shared:
//   p = softmax(W y + b)      c = Wᵀ p      u = tanh(V c + v)      loss = -log softmax(W u + d)[read]
// Its own: V [in, in], v [in], d [classes]. All of W, b and y get gradients from both softmaxes.
struct PastDecoder {
  PastDecoder(Scope scope, const PastDecoderConfig& config);
  // A window's losses, in nats. A step whose target is not scored is not told back.
  struct Losses {
    Var next;  // the mean over scored targets
    Var past;  // the mean over tokens that are told back
  };
  // next = softmax_cross_entropy(decoder, y, target, {.margins = margins}), and the loss above. The steps that are told back
  // have one product for the logits of both, and one way back. y [steps, ..., in]: what `decoder` reads. read, target, margins
  // [steps, ...]: the tokens that went in at these steps, and those to come. Throws Error if the shapes do not fit.
  Losses operator()(const Dense& decoder, const Var& y, const IdTensor& read, const IdTensor& target,
                    const std::optional<Var>& margins = {}) const;

  PastDecoderConfig config;  // as it was made
  Dense hidden;              // V, v
  Var bias;                  // d
};

}  // namespace unroll
