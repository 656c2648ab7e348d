// Lines that every program prints about its computing: the engine, the kernels, and the course of the learning rate.
#pragma once

#include <cstdint>
#include <string>

#include "layers/recurrent/lstm.h"
#include "training/program/recipe/recipe_sections.h"
#include "training/report/run_description.h"

namespace unroll {

// cuDNN's criteria and how a layer meets them, for `explain` and for the report of a run.
RunDescription::Table engine_table(const EngineChoice& choice);
void print_engine(const EngineChoice& choice);
// "fp32 on kernels for avx512, 2 threads, seed 1"
std::string describe_computing(const TrainingSection& training);
void print_products();
// Also prints the model that training starts from, if there is one.
void print_learning_rate(const TrainingSections& sections, const EpochWindows& windows);

}  // namespace unroll
