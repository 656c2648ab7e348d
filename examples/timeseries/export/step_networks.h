// The networks of series (networks/) as plans of a step, equation by equation.
#pragma once

#include "examples/timeseries/networks/network.h"
#include "export/step_builder.h"

namespace timeseries {

// Numbers of a batch of one window: `input` [window, inputs], scaled; with Columns::ahead() the rows to forecast stand
// behind those of the window. Returns the forecast as the input is scaled [outputs, horizon, targets], quantiles in order; of a detector the
// probability [1]. Weights are found under `params`' names.
StepVector forecast_step(StepBuilder& step, const NetworkPlan& plan, const StepVector& input);

}  // namespace timeseries
