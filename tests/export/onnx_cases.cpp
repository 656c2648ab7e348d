// Writes the cases that onnx_test.py gives to ONNX Runtime. Usage: onnx_cases FOLDER
#include <cstdio>

#include "framework/setup.h"
#include "tests/export/cases.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: onnx_cases FOLDER\n", stderr), 2;
  unroll::set_up({.threads = 1});
  unroll::write_layer_cases(argv[1]);
  unroll::write_language_cases(argv[1]);
  unroll::write_series_cases(argv[1]);
}
