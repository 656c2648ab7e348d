// The functions that GradBench's evals ask for, by the tape's operations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "framework/tape.h"

namespace unroll::gradbench {

using Json = nlohmann::ordered_json;

// A function, and the point where it is asked for.
struct Problem {
  // One variable, or several under their names in the answer.
  std::vector<Tensor> at;
  std::vector<const char*> names = {};
  // A number; or a vector, of whose last element the gradient is asked.
  std::function<Var(const Vars&)> value;
};

// An eval's module, and the names of its value and its gradient.
struct Eval {
  const char *module, *value, *gradient;
  Problem (*read)(const Json& input);  // throws InputError for an input that cannot be used
};
const std::vector<Eval>& evals();

// --- parts of an input; each throws InputError that names the key ----------------------------------------------
// A list of numbers -> [n]; a list of n lists of equal lengths -> [n, length].
Tensor numbers(const Json& input, const char* key);
Tensor rows(const Json& input, const char* key);
int count(const Json& input, const char* key, int least);  // a whole number
double number(const Json& input, const char* key);

// Diagonal LSTMs over a text, as ADBench has them.
Problem lstm(const Json& input);

}  // namespace unroll::gradbench
