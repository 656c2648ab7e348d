// The subcommands. Each throws for main to turn into an exit code.
#pragma once

#include "options.h"

namespace ptb {

void train(const Arguments& arguments);
void evaluate(const Arguments& arguments);
void generate(const Arguments& arguments);
void explain(const Arguments& arguments);

}  // namespace ptb
