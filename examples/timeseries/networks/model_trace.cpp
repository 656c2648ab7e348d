// How a model's forecast comes about: the steps of its layers, and operations back to the values of the window.
#include "examples/timeseries/networks/model.h"
#include "framework/ops.h"

namespace timeseries {

SeriesNetwork::Prepared SeriesNetwork::prepare_in_operations(const Var& input, int target) const {
  require(categories_.empty(), "look: a network that reads categories is not traced");
  const int window = input.dim(0), rows = input.dim(1), inputs = columns_.inputs,
            calendar = columns_.calendar;
  Var x = input;
  if (by_channel()) {
    const int column = columns_.targets[static_cast<size_t>(target)];
    x = slice(input, 2, column, column + 1);
    if (!linear() && calendar > 0) x = concat(Vars{x, slice(input, 2, inputs - calendar, inputs)}, 2);
  }
  const int only = by_channel() ? target : -1;
  if (recipe_.model.normalization == Normalization::none) return {x, {}, {}, only};
  const int features = x.dim(2), values = linear() ? 1 : features - calendar;
  const bool by_mean = recipe_.model.normalization == Normalization::window;
  const Var part = slice(x, 2, 0, values);
  const Var level = by_mean ? mean(part, 0) : row(part, window - 1);  // [rows, values]
  const Var apart = part - level;
  const Var deviation = by_mean ? sqrt(mean(apart * apart, 0) + static_cast<real>(least_deviation))
                                : Var(Tensor::full({rows, values}, 1));
  Prepared prepared{by_mean ? apart / deviation : apart, {}, {}, only};
  if (values < features) prepared.x = concat(Vars{prepared.x, slice(x, 2, values, features)}, 2);
  if (recipe_.detects()) return prepared;
  const auto of_targets = [&](const Var& by_feature) {
    Vars once, all;
    for (int k = 0; k < width(); ++k) once.push_back(slice(by_feature, 1, feature_of(k), feature_of(k) + 1));
    all.resize(static_cast<size_t>(recipe_.horizon()), concat(once, 1));
    return concat(all, 1);
  };
  prepared.shift = of_targets(level), prepared.scale = of_targets(deviation);
  return prepared;
}

SeriesNetwork::Trace SeriesNetwork::trace(const Var& input, int target) const {
  Trace trace;
  const Prepared prepared = prepare_in_operations(input, target);
  const Tracing tracing{trace};
  trace.y = outputs(prepared, &tracing);
  trace.read = prepared.x;
  return trace;
}

SeriesNetwork::Trace SeriesNetwork::trace_of_step(const Tensor& input, int target, int step) const {
  Trace trace;
  Prepared prepared = prepare_in_operations(input, target);
  const Tracing tracing{trace, step};
  const int column = column_of(step, target), each = by_channel() ? 1 : width();
  const bool decodes = decoder_.has_value();  // then y has the values of that step alone, which all are
  if (decodes && prepared.shift.value().defined()) {
    const int first = step * each;
    prepared.shift = slice(prepared.shift, 1, first, first + each);
    prepared.scale = slice(prepared.scale, 1, first, first + each);
  }
  for (const Var& y : outputs(prepared, &tracing)) {
    const int at = decodes ? column - step * each : column;
    trace.y.push_back(slice(y, 1, at, at + 1));
  }
  trace.read = prepared.x;
  return trace;
}

}  // namespace timeseries
