// Prints a step's plan as a C header: weights, a state that the caller owns, and one function, in C99 that C++ reads too. It
// takes no memory and calls nothing but the C library's functions of numbers.
//
//   write_c_header("amp.h", step_of(model.params, 1, model.lstm, model.out), {.name = "amp"});  // export/step_of.h
//
//   #include "amp.h"
//   amp_state state;
//   amp_reset(&state);
//   amp_step(&state, x, y);   // float x[1], y[1]
#pragma once

#include <filesystem>
#include <string>

#include "export/step_plan.h"

namespace unroll {

// The name and the form of a header.
struct CHeaderOptions {
  std::string name;  // begins all names of the header: a C identifier
  int bits = 32;     // of a matrix's weight: 32, or 8 with a scale for each row. Biases and gains are float
  std::string says = {};                // lines of a comment, about inputs and outputs
  std::vector<std::string> words = {};  // of a vocabulary, printed as NAME_words[]
};

// The name of a file's header: "last" of last.h. Characters that no identifier has become _.
std::string c_name(const std::filesystem::path& path);

// Throws InputError if the name is no C identifier, bits are neither 32 nor 8, or a weight is not finite.
std::string c_header(const StepPlan& plan, const CHeaderOptions& options);
// Writes the whole file or nothing.
void write_c_header(const std::filesystem::path& path, const StepPlan& plan, const CHeaderOptions& options);

}  // namespace unroll
