// The numbers of a page of `look` that both programs' models have: gates and states, gradients, a tape, units by what they
// tell. As JSON, in the way in which the scripts in training/report/look/ read them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "framework/tape_graph.h"
#include "layers/inspection.h"

namespace unroll {

// Five digits are more than a page shows. Null: no number.
double rounded_for_look(double value);
nlohmann::ordered_json rounded_for_look(const std::optional<double>& value);

// values [rows, columns] in 16 bits a number, times the largest: off by 1/65534 of that at most.
nlohmann::ordered_json sixteen_bit_json(const Tensor& values);
// Norms [targets, steps] as 32-bit floats, row by row. Of a triangle the part up to the diagonal alone.
nlohmann::ordered_json norms_json(const Tensor& norms);
nlohmann::ordered_json triangle_json(const Tensor& norms);

// A layer's gates and states, and an order of its units in which each is as like the one before it as may be.
nlohmann::ordered_json layer_json(const LayerValues& layer, std::span<const std::string> gate_names);

// Tapes of the same operations, of which only the norms differ. A parameter's value is the same in each.
nlohmann::ordered_json tape_json(const std::vector<TapeGraph>& graphs);

// A property of each case: of a class 0 or 1, -1 where it has none; or a number, NaN where it has none.
struct UnitProperty {
  std::string what;  // "the subject is plural"
  std::vector<int> classes = {};
  std::vector<double> numbers = {};
};
// A unit that tells it.
struct OfferedUnit {
  std::string what;
  std::string told;  // "99.6 %", "r 0.93"
  std::string how;   // in a sentence: on which cases
  int layer = 0, unit = 0;
};
// Of each property the unit that tells it best, if that tells it well. states: by layer [cases, units], of c where the cell has
// it; `from` is "of 1,204 words that the grammar drew".
std::vector<OfferedUnit> units_to_offer(const std::vector<Tensor>& states,
                                        std::span<const UnitProperty> properties, const std::string& from);
inline const Tensor& state_of(const LayerValues& layer) { return layer.c.defined() ? layer.c : layer.h; }
nlohmann::ordered_json offered_json(std::span<const OfferedUnit> offered);

}  // namespace unroll
