// The numbers on a page of `look` that models of both programs have: gates and states, gradients, a tape, units and the
// properties they tell. As JSON, in the form that the scripts in training/program/look/ read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "framework/tape_graph.h"
#include "layers/inspection.h"

namespace unroll {

// Rounds to five digits, more than a page shows. Null: no number.
double rounded_for_look(double value);
nlohmann::ordered_json rounded_for_look(const std::optional<double>& value);
std::string base64(const void* data, size_t bytes);  // as JSON holds bytes

// values [rows, columns] as 16-bit integers times the largest value: off by at most 1/65534 of that.
nlohmann::ordered_json sixteen_bit_json(const Tensor& values);
// Norms [targets, steps] as 32-bit floats, row by row. triangle_json: only up to the diagonal.
nlohmann::ordered_json norms_json(const Tensor& norms);
nlohmann::ordered_json triangle_json(const Tensor& norms);

// A layer's gates and states, and an order of its units that puts similar ones side by side.
nlohmann::ordered_json layer_json(const LayerValues& layer, std::span<const std::string> gate_names);

// Tapes of the same operations, which differ only in the norms. A parameter's value is the same in each.
nlohmann::ordered_json tape_json(const std::vector<TapeGraph>& graphs);

// A property of each case: a class, 0 or 1 (-1: none), or a number (NaN: none).
struct UnitProperty {
  std::string what;  // "the subject is plural"
  std::vector<int> classes = {};
  std::vector<double> numbers = {};
};
// A unit that tells a property.
struct OfferedUnit {
  std::string what;
  std::string told;  // "99.6 %", "r 0.93"
  std::string how;   // in a sentence: on which cases
  int layer = 0, unit = 0;
};
// For each property the unit that tells it best, if that tells it well. states: by layer [cases, units], c if the cell
// has it. `from`: "of 1,204 words that the grammar drew".
std::vector<OfferedUnit> units_to_offer(const std::vector<Tensor>& states,
                                        std::span<const UnitProperty> properties, const std::string& from);
inline const Tensor& state_of(const LayerValues& layer) { return layer.c.defined() ? layer.c : layer.h; }
nlohmann::ordered_json offered_json(std::span<const OfferedUnit> offered);

}  // namespace unroll
