// The commands. Each throws for main to turn into an exit code.
#pragma once

#include "training/program/cli/command.h"

namespace ptb {

void train(unroll::Command& command);
void resume(unroll::Command& command);
void sweep(unroll::Command& command);
void evaluate(unroll::Command& command);
void generate(unroll::Command& command);
void look(unroll::Command& command);
void explain(unroll::Command& command);
void import_model(unroll::Command& command);
void export_model(unroll::Command& command);

}  // namespace ptb
