// What recurrent layers share beside their cells: rows of different lengths, masks, and layers on top of each
// other.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "framework/ops.h"
#include "framework/parameters.h"

namespace unroll::inline UNROLL_REAL {

// Which steps of the rows of a padded batch are real.
enum class Padding : uint8_t { after, before };
struct Lengths {
  IdTensor steps = {};  // [batch], each from 0 to the steps of x; undefined: all are real
  Padding padding = Padding::after;

  Lengths backwards() const {  // of x with its steps in reverse order
    return {steps, padding == Padding::after ? Padding::before : Padding::after};
  }
};

// What acts on one layer in one window beside its weights, drawn once for whichever engine. What is
// undefined, or has rate 0, does not act.
struct RecurrentMasks {
  struct Drop {
    float rate = 0;
    RandomKey key = {};
  };
  Tensor h = {};  // [batch, width]: factors of h_{t-1} in the recurrent product
  Drop weight_hh = {};
  // [steps, batch, width of the state]: it is u·(what the step computed) + (1-u)·(the state before).
  Tensor new_h = {}, new_c = {};
};

// "recurrent_dropout, zoneout": the names of those options that are set.
std::string named(std::initializer_list<std::pair<const char*, bool>> options);

// u·computed + (1-u)·before in step t; `computed` where there is no u. In elementary operations.
Var carried(const Tensor& u, int t, const Var& computed, const Var& before);

// Layers on top of each other, whatever their cell; the options are those of LstmConfig.
struct StackConfig {
  const char* name;  // "lstm", for messages
  int input, hidden, layers, directions;
  int width, cells;  // of h and of c; 0: there is no c
  float dropout;
  bool locked_dropout, residual;
  float recurrent_dropout, weight_drop, zoneout_h, zoneout_c;
};

class RecurrentStack {
 public:
  RecurrentStack(const Scope& scope,
                 const StackConfig& config);  // throws Error where the options make no sense

  int count() const { return config_.layers * config_.directions; }
  int input_of(int layer) const {  // width of its x
    return layer < config_.directions ? config_.input : config_.directions * config_.width;
  }
  static std::string suffix(int layer, int directions) {  // of its parameters' names: "_l0", "_l0_reverse"
    return fmt::format("_l{}{}", layer / directions, layer % directions ? "_reverse" : "");
  }

  // y of all layers over x [steps, batch, input]; run(k, x, masks) is y of layer k, steps backwards if it
  // reads backwards.
  template <class Run>
  Var operator()(const Var& x, const Lengths& lengths, Run run) const {
    require_input(x);
    const int steps = x.dim(0), batch = x.dim(1), directions = config_.directions;
    const Tensor real_steps[] = {
        real_steps_of(lengths, steps, batch),
        directions == 2 ? real_steps_of(lengths.backwards(), steps, batch) : Tensor()};
    Var y = real_steps[0].defined() ? mask_rows(x, real_steps[0]) : x;  // from here on padding is finite
    for (int k = 0; k < count(); k += directions) {
      const bool first = k == 0;
      const Var in =
          first ? y : dropout(y, config_.dropout, places_.dropout.next_key(), config_.locked_dropout);
      const Var forwards = run(k, in, masks(steps, batch, real_steps[0]));
      const Var out =
          directions == 1
              ? forwards
              : concat({forwards, flip(run(k + 1, flip(in), masks(steps, batch, real_steps[1])))}, 2);
      y = config_.residual && !first ? out + y : out;
    }
    return real_steps[0].defined() ? mask_rows(y, real_steps[0]) : y;
  }

 private:
  void require_input(const Var& x) const;
  // 1 where a row's step is real, 0 where it is padding: [steps, batch]; undefined if all are real.
  static Tensor real_steps_of(const Lengths& lengths, int steps, int batch);
  RecurrentMasks masks(int steps, int batch, const Tensor& real_steps) const;

  StackConfig config_;
  struct {
    Scope dropout, recurrent_dropout, weight_drop, zoneout_h, zoneout_c;
  } places_;  // of the random numbers
};

}  // namespace unroll::inline UNROLL_REAL
