// A recurrent layer whose cell is chosen at run time: an Lstm or a Gru, called alike.
#pragma once

#include <variant>

#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"

namespace unroll {

// Shares the weights with the layer it was made of. A Gru has no c: in every state it is undefined.
class RecurrentLayer {
 public:
  RecurrentLayer(const Lstm& lstm) : layer_(lstm) {}
  RecurrentLayer(const Gru& gru) : layer_(gru) {}

  // As the layer's own.
  Lstm::Output operator()(const Var& x, const RecurrentVars& state, const Lengths& lengths = {}) const;
  RecurrentState zero_state(int batch) const;
  const LstmChoice& choice() const&;
  const LstmChoice& choice() const&& = delete;
  LstmChoice choice_for(const WindowFacts& window) const;  // the same, with what the windows add to the table
  int input() const;
  int output() const;
  bool bidirectional() const;

  const Lstm* lstm() const& { return std::get_if<Lstm>(&layer_); }  // nullptr: it is the other
  const Gru* gru() const& { return std::get_if<Gru>(&layer_); }
  const Lstm* lstm() const&& = delete;
  const Gru* gru() const&& = delete;

 private:
  std::variant<Lstm, Gru> layer_;
};

}  // namespace unroll
