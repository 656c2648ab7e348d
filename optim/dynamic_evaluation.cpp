#include "optim/dynamic_evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/kernels/updates.h"
#include "framework/threads.h"

namespace unroll {

// --- statistics ----------------------------------------------------------------------------------

GradientStatistics::GradientStatistics(ParameterSet& params)
    : params_(params.shared()), sum_(Tensor::zeros(params.values().shape())) {}

void GradientStatistics::add() {
  params_.require_alive("gradient statistics");
  require(
      std::ranges::any_of(params_.all(), [](const auto& p) { return p->node.gradient.written(); }),
      "gradient statistics: nothing was contributed to a gradient since the last window; tape.backward(loss) does that");
  const real* const g = params_.contributed_gradients().data();
  real* const sum = sum_.data();
  for (const auto& p : params_.all()) {
    const Gradient& gradient = p->node.gradient;
    if (p->frozen || p->size() == 0 || !gradient.written()) continue;
    if (gradient.only_some_rows()) {
      const int64_t cols = p->size() / p->shape[0];
      for (const int32_t row : gradient.rows())
        kernels().add_square(g + p->offset + row * cols, sum + p->offset + row * cols, cols);
    } else {
      kernels().add_square(g + p->offset, sum + p->offset, p->size());
    }
  }
  params_.spend_gradients();
  ++windows_;
}

Tensor GradientStatistics::root_mean_square() const {
  require(windows_ > 0, "gradient statistics: there was no window");
  Tensor result(sum_.shape());
  real* const r = result.data();
  kernels().affine(sum_.data(), static_cast<real>(1 / static_cast<double>(windows_)), 0, r, sum_.size(),
                   false);
  kernels().unary(Unary::sqrt, r, r, sum_.size());
  return result;
}

// --- updates -------------------------------------------------------------------------------------

// The mean of R over each parameter tensor that has a gradient, and the mean of these. Weights of training alone have none.
static double typical_root_mean_square(const ParameterSet& params, const Tensor& rms) {
  const auto values = rms.on_host();
  double sum = 0;
  int tensors = 0;
  for (const auto& p : params.all()) {
    if (p->frozen || p->size() == 0) continue;
    double of_tensor = 0;
    for (int64_t i = p->offset; i < p->offset + p->size(); ++i) {
      const double r = static_cast<double>(values[i]);
      require_input(r >= 0 && r <= std::numeric_limits<real>::max(),
                    "dynamic evaluation: the statistics of '{}' hold {}, which is no root of a mean square",
                    p->name, r);
      of_tensor += r;
    }
    sum += of_tensor / static_cast<double>(p->size());
    tensors += of_tensor > 0;
  }
  require_input(sum > 0, "dynamic evaluation: no weight has a gradient in the statistics");
  return sum / tensors;
}

DynamicEvaluation::DynamicEvaluation(ParameterSet& params, const Tensor& root_mean_square,
                                     const DynamicEvaluationConfig& c)
    : Optimizer(params, 0, 0), config_(c), rms_(root_mean_square), rows_(params.all().size()) {
  constexpr double most = std::numeric_limits<real>::max();
  require_input(c.learning_rate >= 0 && c.learning_rate <= most,
                "dynamic evaluation: rate {} is not in [0, {:.2g}]", c.learning_rate, most);
  require_input(c.decay >= 0 && c.decay <= most, "dynamic evaluation: decay {} is not in [0, {:.2g}]",
                c.decay, most);
  require_input(c.epsilon <= most && static_cast<real>(c.epsilon) > 0,
                "dynamic evaluation: epsilon {} is not a positive number", c.epsilon);
  require(rms_.defined() && rms_.shape() == params.values().shape(),
          "dynamic evaluation: statistics {} of weights {}", rms_.defined() ? rms_.shape() : Shape{},
          params.values().shape());
  typical_ = typical_root_mean_square(params, rms_);
  set_learning_rate(c.learning_rate);
  start_ = params.values().clone();
}

OptimizerState DynamicEvaluation::state() {
  return {.counters = {},
          .slabs = {{"start", start_}, {"root_mean_square", rms_}},
          .learning_rate = &learning_rate_};
}

void DynamicEvaluation::restore() {
  params_.require_alive(name());
  params_.changed_values().copy_from(start_);
  for (Rows& rows : rows_) rows = {};
}

void DynamicEvaluation::update() {
  real* const p = params_.changed_values().data();
  const real* const g = params_.contributed_gradients().data();
  const real *const start = std::as_const(start_).data(), *const rms = std::as_const(rms_).data();
  const StepValues* const step = step_values();
  for (size_t i = 0; i < params_.all().size(); ++i) {
    const Parameter& parameter = *params_.all()[i];
    const Gradient& gradient = parameter.node.gradient;
    if (parameter.frozen || parameter.size() == 0) continue;
    Rows& rows = rows_[i];
    const DynamicUpdate u{.decay = static_cast<real>(config_.decay / typical_),
                          .epsilon = static_cast<real>(config_.epsilon),
                          .rate = double{parameter.rate}};
    const int64_t offset = parameter.offset, cols = parameter.shape.row().size();
    if (gradient.written() && !gradient.only_some_rows()) {
      rows.all = true;
      kernels().dynamic(u, step, p + offset, g + offset, start + offset, rms + offset, parameter.size());
      continue;
    }
    // Few rows of an embedding have a gradient. Rows that have had one before are drawn back.
    if (rows.all) {
      kernels().dynamic(u, step, p + offset, nullptr, start + offset, rms + offset, parameter.size());
    } else {
      const int64_t n = std::ssize(rows.moved);
      const int pieces = static_cast<int>(std::min<int64_t>(most_threads, n));
      run_pieces(pieces, [&](int piece) {
        for (int64_t k = n * piece / pieces; k < n * (piece + 1) / pieces; ++k) {
          const int64_t at = offset + rows.moved[static_cast<size_t>(k)] * cols;
          host_kernels().dynamic(u, step, p + at, nullptr, start + at, rms + at, cols);
        }
      });
    }
    if (!gradient.written()) continue;
    const DynamicUpdate of_gradient{.decay = 0, .epsilon = u.epsilon, .rate = u.rate};
    rows.is_moved.resize(static_cast<size_t>(parameter.shape[0]));
    for (const int32_t row : gradient.rows()) {
      const int64_t at = offset + row * cols;
      kernels().dynamic(of_gradient, step, p + at, g + at, start + at, rms + at, cols);
      if (!std::exchange(rows.is_moved[static_cast<size_t>(row)], 1)) rows.moved.push_back(row);
    }
  }
}

}  // namespace unroll
