// Shared by the commands `look`: the option --live, and a step's plan as the page runs it (training/program/look/live.js).
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "export/step_plan.h"
#include "framework/parameters.h"
#include "training/program/run/look_command.h"

namespace unroll {

struct LiveOption {
  std::string bits;  // "16" or "8"; empty: the page runs no model

  void add_to(Command& command);
  // Whether it was given. Throws InputError beside --against.
  bool is_on(const LookCommand& page) const;

  // The calls of a plan of layers under the path `cell`, and its matrices in `bits` bits a number, with a scale for each output. Rounds
  // these numbers in `params`, too, so that a forward pass of the program computes what the page does. `path`: the model's file, in
  // messages. Throws InputError for more than most_numbers, and for kernels that the page does not have.
  nlohmann::ordered_json plan_json(const StepPlan& plan, const std::string& cell, const ParameterSet& params,
                                   const std::string& path) const;
  static constexpr int64_t most_numbers = 2'000'000;
};

}  // namespace unroll
