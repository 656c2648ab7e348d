// Long short-term memory over a window of time: any number of layers, dropout between them, state in and out.
//
// One parameter layout, gate order i f g o, per layer weight_ih [4*hidden, input], weight_hh [4*hidden,
// width] and one bias [4*hidden], width being that of h: hidden, or projection; several engines that share
// it. What an option adds has a name of its own, so a checkpoint says what it is.
#pragma once

#include <memory>
#include <vector>

#include "framework/parameters.h"
#include "layers/recurrent/engines/cudnn.h"
#include "layers/recurrent/engine.h"
#include "layers/recurrent/recurrent.h"

namespace unroll {

struct LstmConfig {
  int input = 0;
  int hidden = 0;
  int layers = 1;
  float dropout = 0;            // on the outputs of every layer but the last
  bool locked_dropout = false;  // that one with one mask for all steps of a window (Gal and Ghahramani 2016)
  // On h as it enters the recurrent product, one mask for all gates and all steps of a window (same).
  float recurrent_dropout = 0;
  // On the elements of weight_hh, a fresh mask for each call (Merity, Keskar and Socher 2018).
  float weight_drop = 0;
  // A unit of the state keeps its value of the step before with this probability; without dropout the state
  // is the expectation (Krueger et al. 2017).
  float zoneout_h = 0, zoneout_c = 0;
  // Width of h where it is not hidden: h = W_hr (o·tanh(c)) (Sak, Senior and Beaufays 2014).
  int projection = 0;
  // Width of the last layer where it is less than hidden, so that a decoder can be tied to a narrow embedding
  // (Merity, Keskar and Socher 2018). Its states fill the first elements of their rows, the others are 0.
  int last_hidden = 0;
  bool layer_norm = false;  // of both products, and of c on its way to h (Ba, Kiros and Hinton 2016)
  bool peepholes = false;   // i and f see c_{t-1}, o sees c_t, each unit its own (Gers and Schmidhuber 2000)
  Unary gate_activation = Unary::sigmoid;  // of i, f and o: sigmoid or hard_sigmoid
  Unary cell_activation = Unary::tanh;  // of g, and of c on its way to h: tanh, relu, hard_tanh or softsign
  // Every layer but the first adds its input to its output (Wu et al. 2016).
  bool residual = false;
  // Each layer reads the steps in both directions; y is forwards and backwards side by side (Schuster and
  // Paliwal 1997).
  bool bidirectional = false;
  float forget_bias = 0;  // added to the forget gate's first bias (Jozefowicz et al. 2015 take 1)
  LstmEngine engine = LstmEngine::automatic;
  CudnnAlgorithm algorithm = CudnnAlgorithm::automatic;  // of the engine cudnn

  int width() const { return projection ? projection : hidden; }  // of h
  int directions() const { return bidirectional ? 2 : 1; }
  int output() const { return directions() * (last_hidden ? last_hidden : width()); }  // of y
};

// The engine for a configuration, on this machine if no other is given. Throws InputError if a forced engine cannot
// serve, naming what is in the way.
LstmChoice choose_lstm(const LstmConfig& config, const EngineFacts& facts = engine_facts(),
                       const WindowFacts& window = {});

using LstmVars = RecurrentVars;
using LstmState = RecurrentState;

class Lstm {
 public:
  Lstm(Scope scope, const LstmConfig& config);

  struct Output {
    Var y;           // [steps, batch, config.output()], of the last layer
    LstmVars state;  // after the last step
  };
  // x [steps, batch, input]. Steps that are padding may hold anything, NaN too: there y is zero, the state
  // stays as it was, and no gradient passes. What a row gives does not depend on the others nor on its
  // padding.
  Output operator()(const Var& x, const LstmVars& state, const Lengths& lengths = {}) const;

  LstmState zero_state(int batch) const;
  const LstmConfig& config() const& { return config_; }
  LstmConfig config() const&& { return config_; }
  const LstmChoice& choice() const& { return choice_; }
  LstmChoice choice() const&& { return choice_; }

  // One layer in one direction. What an option does not ask for is empty.
  struct Layer {
    static constexpr const char* name = "lstm";
    static constexpr bool has_c = true;
    explicit Layer(const LayerScope& scope, const LstmConfig& config = {});
    // One step in elementary operations, as layers/recurrent/cell.h has it.
    LstmVars step(const Var& x, const Var& h_in, const LstmVars& before) const;
    // All that it has, and those of a cell that derives from it.
    const Vars& weights() const& { return *weights_; }
    Vars weights() const&& { return *weights_; }

    Var weight_ih = {}, weight_hh = {}, bias = {};
    Unary gate = Unary::sigmoid, cell = Unary::tanh;
    Var weight_hr = {};                 // [projection, hidden]
    Var peepholes = {};                 // [3, hidden], of i, f and o
    Var norm_ih = {}, norm_hh = {};     // gains of the two products [4*hidden]; bias shifts both
    Var norm_c = {}, norm_c_bias = {};  // of c [hidden]

   private:
    std::shared_ptr<const Vars> weights_;
  };
  const std::vector<Layer>& layers() const& { return layers_; }  // forwards, backwards, forwards, …
  std::vector<Layer> layers() const&& { return layers_; }

 private:
  LstmConfig config_;
  LstmChoice choice_;
  RecurrentStack stack_;
  std::vector<Layer> layers_;
  CudnnStack cudnn_;  // if that is the engine
};

// One layer by one engine: y [steps, batch, width], h [batch, width] and c [batch, hidden] after the last
// step.
struct LstmLayerOutput {
  Var y, h, c;
};
LstmLayerOutput lstm_layer_fused(const Var& x, const Var& h0, const Var& c0, const Lstm::Layer& layer,
                                 const RecurrentMasks& masks = {});
LstmLayerOutput lstm_layer_composed(const Var& x, const Var& h0, const Var& c0, const Lstm::Layer& layer,
                                    const RecurrentMasks& masks = {});

}  // namespace unroll
