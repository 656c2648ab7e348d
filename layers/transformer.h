// A causal Transformer that reads a sequence window by window and carries a state between them, as recurrent layers do.
//
//   const Transformer net(params / "transformer", {.dim = 384, .heads = 6, .layers = 4, .memory = 64});
//   RecurrentState state = net.zero_state(20);
//   const auto [y, next] = net(x, state);  // x [steps, 20, 384] -> y of its shape
//   state = next;                          // without its gradient
//
// In each layer a step sees itself and the `memory` steps before it, also those of earlier windows. So y does not
// depend on the size of windows, and a window of one step is the one-step form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/attention.h"
#include "layers/dropout.h"
#include "layers/norm.h"
#include "layers/recurrent/state.h"

namespace unroll {

struct TransformerConfig {
  int dim = 0;    // of x and y
  int heads = 1;  // must divide dim
  int layers = 1;
  int feed_forward = 0;  // units between the two products of a layer; 0: 4·dim
  int memory = 64;       // steps before its own that a step sees
  // dropout: of the outputs of attention and feed-forward, and of the feed-forward's units. attention_dropout: of its
  // weights.
  float dropout = 0, attention_dropout = 0;
  bool locked_dropout = false;  // one mask for all steps of a window; attention weights excepted
  bool last_norm = true;        // y = norm(x), else y = x: y then keeps the scale of the layers before

  int units() const { return feed_forward > 0 ? feed_forward : 4 * dim; }
};

// Layers whose norms stand before attention and feed-forward (Xiong et al. 2020), and one more at the end:
//
//   x += attend(norm1(x))
//   x += W2 gelu(W1 norm2(x) + b1) + b2
//   y = norm(x), if last_norm
//
// Attention biases that fall with the distance encode the order (Press, Smith and Lewis 2022), so there is no table of
// positions. The state is what Transformer-XL (Dai et al. 2019) calls memory: here keys and values of the last steps.
//
// Weights have the names of torch.nn.TransformerEncoder: layers.0.self_attn.in_proj_weight [3·dim, dim], in_proj_bias,
// out_proj.weight, out_proj.bias, layers.0.linear1.weight [units, dim], linear2.weight [dim, units], norm1.weight,
// norm2.weight and their biases, norm.weight, norm.bias.
class Transformer {
 public:
  // One of the layers: norm1, self_attn, after_attention, norm2, linear1, of_units, linear2, after_feed_forward in turn.
  struct Layer {
    Layer(const Scope& scope, const TransformerConfig& config);
    // Appends x's keys and values to `past`.
    Var operator()(Var x, AttentionPast& past, const MultiHeadAttention::Call& call) const;
    LayerNorm norm1, norm2;
    MultiHeadAttention self_attn;
    Dense linear1, linear2;
    Dropout after_attention, of_units, after_feed_forward;
  };

  // Throws Error if a size or a rate is invalid.
  Transformer(Scope scope, const TransformerConfig& config);

  // x [steps, batch, dim] -> y of its shape, and the state after the last step. A row starts anew where resets [steps,
  // batch] are not 0: later steps do not see earlier ones. Throws Error, naming both shapes, if they do not fit.
  RecurrentOutput operator()(const Var& x, const RecurrentVars& state, const IdTensor& resets = {}) const;
  // The state of rows that have read nothing. h [2·layers·memory, batch, dim]: keys, then values of each layer.
  // c [1, batch, 1]: how many of them are real.
  RecurrentState zero_state(int batch) const;
  const TransformerConfig& config() const& { return config_; }  // as it was made
  TransformerConfig config() const&& { return config_; }
  const std::vector<Layer>& layers() const& { return layers_; }
  std::vector<Layer> layers() const&& { return layers_; }
  const std::optional<LayerNorm>& norm() const& { return norm_; }  // empty without last_norm
  std::optional<LayerNorm> norm() const&& { return norm_; }

 private:
  TransformerConfig config_;
  std::vector<Layer> layers_;
  std::optional<LayerNorm> norm_;
};

// "Transformer, 4 layers of 384, 6 heads, 1344 units, memory 64"
std::string describe_transformer(const TransformerConfig& config);

}  // namespace unroll
