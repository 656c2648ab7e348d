// How the user calls a program, for the lines that say what to do next.
#pragma once

#include <string>

namespace unroll {

// As a program begins: what it was started as.
void remember_invocation(const char* argv0);

// "./run ptb" if ./run started it, which names itself in UNROLL_RUN; else what it was started as, or its name.
std::string invocation(const std::string& program);

}  // namespace unroll
