// The environment variable UNROLL_PLAIN: words, separated by commas, of changes to the GPU's kernels that are taken back, so that
// one binary can time a step with a change and without it (bench/gpu_check/check.sh, part `changes`).
#pragma once

#include <string_view>

namespace unroll {

// Whether this change is taken back. The variable is read once.
bool is_plain(std::string_view change);

}  // namespace unroll
