// Gated recurrent units over a window of time (Cho et al. 2014), the reset gate after the product, as in
// cuDNN and PyTorch; layers, options and engines as those of an Lstm.
//
// Gate order r z n; per layer weight_ih [3*hidden, input], weight_hh [3*hidden, hidden], bias [3*hidden], and
// bias_hn [hidden], which the reset gate acts on. Of PyTorch's biases, bias is bias_ih + bias_hh but for n,
// whose bias_hh is bias_hn.
#pragma once

#include <memory>
#include <vector>

#include "framework/parameters.h"
#include "layers/recurrent/lstm.h"
#include "layers/recurrent/recurrent.h"

namespace unroll {

// What stands here means what it means in LstmConfig.
struct GruConfig {
  int input = 0;
  int hidden = 0;
  int layers = 1;
  float dropout = 0;
  bool locked_dropout = false;
  float recurrent_dropout = 0;
  float weight_drop = 0;
  float zoneout = 0;  // of h
  bool residual = false;
  bool bidirectional = false;
  LstmEngine engine = LstmEngine::automatic;
  CudnnAlgorithm algorithm = CudnnAlgorithm::automatic;

  int directions() const { return bidirectional ? 2 : 1; }
  int output() const { return directions() * hidden; }  // of y
};

// As choose_lstm.
LstmChoice choose_gru(const GruConfig& config, const EngineFacts& facts = engine_facts(),
                      const WindowFacts& window = {});

// h [layers, batch, hidden] across windows of time, as a RecurrentState: a copy has a buffer of its own, assigning copies
// the values, and the Var that a Gru gives loses its gradient.
struct GruState : RecurrentState {
  using RecurrentState::RecurrentState;
  GruState& operator=(const Var& next) {
    RecurrentState::operator=(RecurrentVars{next, {}});
    return *this;
  }
  operator Var() const {
    return static_cast<RecurrentVars>(*this).h;
  }  // throws Error where it has no size yet
};

class Gru {
 public:
  Gru(Scope scope, const GruConfig& config);

  struct Output {
    Var y;  // [steps, batch, config.output()], of the last layer
    Var h;  // [layers, batch, hidden] after the last step; with two directions as an Lstm's
  };
  // x [steps, batch, input], h as above. Padding as for an Lstm.
  Output operator()(const Var& x, const Var& h, const Lengths& lengths = {}) const;

  GruState zero_state(int batch) const;
  const GruConfig& config() const& { return config_; }
  GruConfig config() const&& { return config_; }
  const LstmChoice& choice() const& { return choice_; }
  LstmChoice choice() const&& { return choice_; }

  struct Layer {  // as Lstm::Layer
    static constexpr const char* name = "gru";
    static constexpr bool has_c = false;
    explicit Layer(const LayerScope& scope);
    RecurrentVars step(const Var& x, const Var& h_in, const RecurrentVars& before) const;
    const Vars& weights() const& { return *weights_; }
    Vars weights() const&& { return *weights_; }

    Var weight_ih, weight_hh, bias, bias_hn;

   private:
    std::shared_ptr<const Vars> weights_;
  };
  const std::vector<Layer>& layers() const& { return layers_; }  // forwards, backwards, forwards, …
  std::vector<Layer> layers() const&& { return layers_; }

 private:
  GruConfig config_;
  LstmChoice choice_;
  RecurrentStack stack_;
  std::vector<Layer> layers_;
  CudnnStack cudnn_;  // if that is the engine
};

// One layer by one engine: y [steps, batch, hidden], h [batch, hidden] after the last step.
struct GruLayerOutput {
  Var y, h;
};
GruLayerOutput gru_layer_fused(const Var& x, const Var& h0, const Gru::Layer& layer,
                               const RecurrentMasks& masks = {});
GruLayerOutput gru_layer_composed(const Var& x, const Var& h0, const Gru::Layer& layer,
                                  const RecurrentMasks& masks = {});

}  // namespace unroll
