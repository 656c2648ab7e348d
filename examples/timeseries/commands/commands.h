// The commands. main turns what they throw into an exit code.
#pragma once

#include <string>

#include "training/program/cli/command.h"

namespace timeseries {

void train(unroll::Command& command);
void pretrain(unroll::Command& command);
void resume(unroll::Command& command);
void sweep(unroll::Command& command);
void evaluate(unroll::Command& command);
void forecast(unroll::Command& command);
void detect(unroll::Command& command);
void look(unroll::Command& command);
void anomalies(unroll::Command& command);
void backtest(unroll::Command& command);
void generate(unroll::Command& command);
void baselines(unroll::Command& command);
void explain(unroll::Command& command);
void export_model(unroll::Command& command);

// Prints a command's data, or writes it to a new file if one is named.
void print_or_write(const std::string& out, const std::string& text);

}  // namespace timeseries
