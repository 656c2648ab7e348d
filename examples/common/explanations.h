// What the command "explain" of every program says: which engine and kernels compute, and the course of the learning rate.
#pragma once

#include <cstdint>
#include <string>

#include "layers/lstm.h"
#include "training/recipe_sections.h"

namespace unroll {

void print_engine(const LstmChoice& choice);
// `precision` as in a recipe. Throws InputError if the processor lacks it.
void print_products(const std::string& precision);
void print_learning_rate(const TrainingSections& sections, const EpochWindows& windows);

}  // namespace unroll
