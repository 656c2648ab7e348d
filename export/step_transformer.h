// The equations of a Transformer's step (layers/transformer.h). Its state is what the attention remembers: keys and values
// of the last steps, in a ring.
#pragma once

#include "export/step_builder.h"

namespace unroll {

struct TransformerConfig;

// Layers under a path. x [dim] -> y [dim]
StepVector transformer(StepBuilder& step, const std::string& path, const TransformerConfig& config,
                       const StepVector& x);

}  // namespace unroll
