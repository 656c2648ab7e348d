// The mogrifier (Melis, Kočiský and Blunsom 2020). Before each step, the cell's input x and its state h scale each other in
// turn, so that the cell sees each in the light of the other.
//
//   for i = 1 … rounds:   odd i:  x ← 2σ(h Q_iᵀ) x     even i:  h ← 2σ(x R_iᵀ) h
//
// As in the paper, each round has a matrix of its own, there are no biases, and at 0 a gate is 1. With a rank k a matrix is a
// product of two, left [·, k] and right [k, ·]. First values are drawn as those of the layer's other weights.
//
// The rounds begin with h as recurrent dropout leaves it. They change only the operands of the cell's products.
// Zoneout and a GRU's mixture keep the h from before the rounds, and a residual connection adds the x from before them. Weight
// drop acts on weight_hh alone.
#pragma once

#include <utility>
#include <vector>

#include "layers/recurrent/state.h"

namespace unroll {

// The rounds of one layer in one direction.
struct Mogrifier {
  // left [size of what it scales, size of what it sees]; with a rank left [.., rank] and right [rank, ..].
  struct Round {
    Var left, right;
  };

  Mogrifier() = default;  // none
  // Adds mogrifier_q1, mogrifier_r2, mogrifier_q3, …; with a rank mogrifier_q1_left, mogrifier_q1_right, …
  explicit Mogrifier(const LayerScope& scope);

  // x [batch, input] and h [batch, width] after the last round, in elementary operations.
  std::pair<Var, Var> operator()(const Var& x, const Var& h) const;

  std::vector<Round, PoolAllocator<Round>> rounds = {};
};

inline Mogrifier::Mogrifier(const LayerScope& scope) {
  const int sizes[] = {scope.input, scope.width()}, rank = scope.config.mogrifier_rank;
  for (int i = 0; i < scope.config.mogrifier; ++i) {
    const int scaled = sizes[i % 2], seen = sizes[1 - i % 2];
    const std::string name = fmt::format("mogrifier_{}{}", i % 2 ? 'r' : 'q', i + 1);
    if (rank)
      rounds.push_back(
          {scope.add(name + "_left", {scaled, rank}).var(), scope.add(name + "_right", {rank, seen}).var()});
    else
      rounds.push_back({scope.add(name, {scaled, seen}).var(), {}});
  }
}

inline std::pair<Var, Var> Mogrifier::operator()(const Var& x, const Var& h) const {
  Var both[] = {x, h};
  for (size_t i = 0; i < rounds.size(); ++i) {
    Var& scaled = both[i % 2];
    const Var& seen = both[1 - i % 2];
    const auto& [left, right] = rounds[i];
    scaled = 2 * sigmoid(linear(has(right) ? linear(seen, right) : seen, left)) * scaled;
  }
  return {both[0], both[1]};
}

// x and h as a layer's products see them.
inline std::pair<Var, Var> mogrified(const RecurrentMasks& masks, const Var& x, const Var& h) {
  return masks.mogrifier ? (*masks.mogrifier)(x, h) : std::pair(x, h);
}

}  // namespace unroll
