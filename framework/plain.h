// Changes that can be switched off, so that one binary compares times and numbers with and without them: UNROLL_PLAIN in the
// environment names them, "cudnn-lanes,…".
#pragma once

#include <string_view>

namespace unroll {

// True if UNROLL_PLAIN names this change: act as before it. The environment is read once.
bool is_plain(std::string_view change);

// A list as UNROLL_PLAIN has it. Throws InputError where a word is no change.
bool names_change(std::string_view list, std::string_view change);

}  // namespace unroll
