#include "layers/recurrent/mogrifier.h"

namespace unroll {

Mogrifier::Mogrifier(const LayerScope& scope) {
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

std::pair<Var, Var> Mogrifier::operator()(const Var& x, const Var& h) const {
  Var both[] = {x, h};
  for (size_t i = 0; i < rounds.size(); ++i) {
    Var& scaled = both[i % 2];
    const Var& seen = both[1 - i % 2];
    const auto& [left, right] = rounds[i];
    scaled = 2 * sigmoid(linear(has(right) ? linear(seen, right) : seen, left)) * scaled;
  }
  return {both[0], both[1]};
}

}  // namespace unroll
