// Shared by the examples of the reference: a check that ends the program, and a folder that goes away (tests/folder.h).
#pragma once

#include <source_location>
#include <string>

#include "tests/folder.h"
#include "unroll.h"

using namespace unroll;

// Throws Error with its line unless the condition holds.
inline void check(bool holds, std::source_location at = std::source_location::current()) {
  require(holds, "{}:{} does not hold", at.file_name(), at.line());
}
inline bool near(double a, double b, double most = 1e-5) { return std::abs(a - b) <= most; }

// A file of examples each; main.cpp calls all.
void tensors();
void tape();
void operations();
void losses();
void recurrent();
void layers();
void inference();
void optimizers();
void data();
void training();
void files();
void reports();
void recipes();
void exports();
