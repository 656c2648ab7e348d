// What the command "explain" of every program says: which engine computes, and the course of the learning rate.
#pragma once

#include <cstdint>

#include "layers/lstm.h"
#include "training/recipe_sections.h"

namespace unroll {

void print_engine(const LstmChoice& choice);
void print_learning_rate(const TrainingSections& sections, const EpochWindows& windows);

}  // namespace unroll
