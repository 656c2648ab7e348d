#include "framework/gradcheck.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <ostream>

namespace unroll {

static_assert(std::is_same_v<real, double>, "central differences need double");

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

long double product(const Tensor& weights, const Tensor& values) {
  const auto w = weights.on_host(), y = values.on_host();
  long double total = 0;
  for (int64_t i = 0; i < y.size(); ++i) total += static_cast<long double>(w[i]) * y[i];
  return total;
}

// L = Σ r·y.   dy = r·dL
Var contract(const Outputs& ys, const std::vector<Tensor>& weights, double factor) {
  long double total = 0;
  for (size_t k = 0; k < ys.size(); ++k) total += product(weights[k], ys[k].value());
  const Vars& list = ys;
  return record("contract", Tensor::full({}, factor * static_cast<double>(total)), inputs(list),
                [list, weights, factor](const Var& loss) {
                  for (size_t k = 0; k < list.size(); ++k) {
                    if (!list[k].wants_grad()) continue;
                    const Into d = list[k].gradient();
                    const auto sum = d.tensor.on_host(d.add ? Access::change : Access::overwrite);
                    const auto weight = weights[k].on_host();
                    const double of_loss = loss.grad().item();
                    for (int64_t i = 0; i < d.tensor.size(); ++i) {
                      const double part = factor * of_loss * weight[i];
                      sum[i] = d.add ? sum[i] + part : part;
                    }
                  }
                });
}

// At least so far from 0, on either side.
double away_from_zero(RandomStream& random, double least) {
  const double sign = random.uniform() < 0.5 ? -1 : 1;
  return sign * (least + random.uniform());
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (double v : values) result = std::max(result, std::abs(v));
  return result;
}

// One function at one point.
class Check {
 public:
  Check(const std::string& name, ParameterSet* parameters, const std::vector<Shape>& shapes,
        const CheckedFunction& function, const GradcheckOptions& options, uint64_t seed)
      : name_(name),
        parameters_(parameters),
        function_(function),
        options_(options),
        drawn_(seed, "gradcheck/elements/" + name) {
    RandomStream random(seed, "gradcheck/" + name);
    for (size_t k = 0; k < shapes.size(); ++k) {
      Tensor values(shapes[k]);
      for (double& v : values.on_host(Access::overwrite))
        v = options.low + (options.high - options.low) * random.uniform();
      if (options.fill) options.fill(static_cast<int>(k), values, random);
      points_.push_back({fmt::format("input {}", k), values, is_skipped(k)});
      ++inputs_;
    }
    if (parameters) {
      parameters->values();  // takes memory
      for (const auto& p : parameters->all()) points_.push_back({p->name, p->leaf_value(), p->frozen});
    }
    const Outputs ys = values();
    for (const Var& y : ys) {
      Tensor weights(y.shape());
      for (double& w : weights.on_host(Access::overwrite)) w = away_from_zero(random, 0.5);
      const auto of_y = y.value().on_host(), of_weights = weights.on_host();
      for (int64_t i = 0; i < of_y.size(); ++i) {
        const double size = std::max(std::abs(of_y[i]), options.magnitude);
        noise_ += options.roundings * eps * std::abs(of_weights[i]) * size;
      }
      weights_.push_back(weights);
    }
  }

  GradcheckResult run() {
    Gradients gradients;
    try {
      gradients = analytic(1, all_inputs);
    } catch (const Error& error) {
      add_failure(fmt::format("{}: {}", name_, error.what()));
      return result_;
    }
    compare_with_differences(gradients);
    compare_unrecorded();
    if (inputs_ > 1)
      for (int k = 0; k < inputs_; ++k)
        if (!points_[k].skip)
          compare("with the other inputs constant", {analytic(1, k)[k]}, {gradients[k]}, k, 1);
    if (options_.twice) compare("with two calls on one tape", analytic(2, all_inputs), gradients, 0, 1.5);
    return result_;
  }

 private:
  struct Point {
    std::string name;
    Tensor values;
    bool skip;
  };
  using Gradients = std::vector<std::vector<double>>;
  static constexpr int all_inputs = -1;

  bool is_skipped(size_t k) const { return std::ranges::count(options_.skip, static_cast<int>(k)) > 0; }
  std::vector<Var> constants() const {
    std::vector<Var> vars;
    for (int k = 0; k < inputs_; ++k) vars.emplace_back(points_[k].values);
    return vars;
  }
  // On a tape of its own, because without one dropout is off. A watched constant makes the function record.
  Outputs values() const {
    Tape tape({.dropout = options_.dropout});
    std::vector<Var> watched, results;
    for (const Var& var : constants()) watched.push_back(tape.watch(var.value()));
    for (const Var& y : function_(watched)) results.emplace_back(y.value());
    return results;
  }
  double loss() const {
    long double total = 0;
    const Outputs ys = values();
    for (size_t k = 0; k < ys.size(); ++k) total += product(weights_[k], ys[k].value());
    return static_cast<double>(total);
  }

  // Gradients of every point; of two calls, the second counts half.
  Gradients analytic(int calls, int only) {
    if (parameters_) parameters_->spend_gradients();
    Tape tape({.dropout = options_.dropout, .check_inputs = true});
    std::vector<Var> vars;
    for (int k = 0; k < inputs_; ++k) {
      const bool watched = !points_[k].skip && (only == all_inputs || only == k);
      vars.push_back(watched ? tape.watch(points_[k].values) : Var(points_[k].values));
    }
    Outputs losses = contract(function_(vars), weights_, 1);
    if (calls == 2) losses.push_back(contract(function_(vars), weights_, 0.5));
    const Tensor one = Tensor::full({}, 1);
    const Var total = calls == 1 ? losses[0] : contract(losses, {one, one}, 1);
    if (total.wants_grad()) tape.backward(total);
    Gradients result;
    for (const Var& var : vars)
      result.push_back(var.wants_grad() ? var.grad().to_host() : std::vector<double>(var.value().size()));
    if (parameters_) {
      for (const auto& p : parameters_->all()) result.push_back(p->node.gradient.value(p->shape).to_host());
      parameters_->spend_gradients();
    }
    return result;
  }

  void compare_with_differences(const Gradients& gradients) {
    const double h = std::cbrt(eps);
    const double natural = noise_ / (options_.roundings * eps);  // Σ|r|·max(|y|, magnitude)
    for (size_t k = 0; k < points_.size(); ++k) {
      if (points_[k].skip) continue;
      const double scale = largest(gradients[k]);
      const auto compare = [&](double g, const std::vector<double>& direction, const std::string& where) {
        const double d = difference(k, direction, h), d2 = difference(k, direction, 2 * h);
        const double error = std::abs(g - d), tolerance = std::abs(d2 - d) + noise_ / h;
        result_.worst = std::max(result_.worst, error / std::max({scale, std::abs(d), natural * eps / h}));
        if (!(error <= tolerance))
          fail(k, where,
               fmt::format("the tape says {:.12g}, differences say {:.12g} ± {:.2g}", g, d, tolerance));
        if (!(tolerance <= 1e-4 * std::max({scale, std::abs(d), natural})))
          fail(k, where,
               fmt::format("nothing is checked here: differences say {:.12g} ± {:.2g}", d, tolerance));
      };
      std::vector<double> direction(gradients[k].size());
      const std::vector<int64_t> some = elements_of(std::ssize(direction));
      for (const int64_t i : some) {
        direction[i] = 1;
        compare(gradients[k][i], direction, fmt::format("element {}", i));
        direction[i] = 0;
      }
      if (some.size() == direction.size()) continue;
      double along = 0;
      for (size_t i = 0; i < direction.size(); ++i)
        along += (direction[i] = drawn_.uniform() < 0.5 ? -1 : 1) * gradients[k][i];
      compare(along, direction, "a direction through all elements");
    }
  }
  // All, or the first, the last and others that are drawn, in order.
  std::vector<int64_t> elements_of(int64_t size) {
    const int64_t most = options_.elements > 0 ? options_.elements : on_gpu() ? 12 : size;
    std::vector<int64_t> result(static_cast<size_t>(size));
    std::iota(result.begin(), result.end(), 0);
    if (size <= most) return result;
    for (int64_t k = 1; k + 1 < most; ++k)
      std::swap(result[k], result[k + drawn_.below(static_cast<uint32_t>(size - 1 - k))]);
    std::swap(result[most - 1], result[size - 1]);
    result.resize(static_cast<size_t>(most));
    std::ranges::sort(result);
    return result;
  }
  // D(h) along a direction [elements].
  double difference(size_t k, const std::vector<double>& direction, double h) const {
    Tensor values = points_[k].values;
    const std::vector<double> middle = values.to_host();
    const auto loss_at = [&](double way) {
      std::vector<double> moved = middle;
      for (size_t i = 0; i < moved.size(); ++i) moved[i] += way * direction[i];
      copy_to_device(values.data(), moved.data(), moved.size() * sizeof(double));
      return loss();
    };
    const double result = (loss_at(h) - loss_at(-h)) / (2 * h);
    copy_to_device(values.data(), middle.data(), middle.size() * sizeof(double));
    return result;
  }

  void compare_unrecorded() {
    if (options_.dropout) return;
    const Outputs recorded = values(), bare = function_(constants());
    for (size_t k = 0; k < bare.size(); ++k)
      if (bare[k].value().shape() != recorded[k].value().shape() ||
          bare[k].value().to_host() != recorded[k].value().to_host())
        add_failure(fmt::format("{}: output {} differs when nothing records", name_, k));
  }

  // That `given` = factor · expected to rounding, for points from `first` on.
  void compare(const char* when, const Gradients& given, const Gradients& expected, size_t first,
               double factor) {
    const double natural = noise_ / (options_.roundings * eps);
    for (size_t k = 0; k < given.size(); ++k) {
      const double tolerance = options_.roundings * eps * std::max(factor * largest(expected[k]), natural);
      for (size_t i = 0; i < given[k].size(); ++i)
        if (!(std::abs(given[k][i] - factor * expected[k][i]) <= tolerance))
          fail(first + k, fmt::format("element {}", i),
               fmt::format("{} the gradient is {:.12g}, not {:.12g}", when, given[k][i],
                           factor * expected[k][i]));
    }
  }

  void fail(size_t point, const std::string& where, const std::string& what) {
    add_failure(fmt::format("{}: {} {} at {}: {}", name_, points_[point].name, points_[point].values.shape(),
                            where, what));
  }
  void add_failure(const std::string& line) {
    if (++failures_ <= 8) result_.failure += (failures_ > 1 ? "\n" : "") + line;
  }

  std::string name_;
  ParameterSet* parameters_;
  const CheckedFunction& function_;
  const GradcheckOptions& options_;
  RandomStream drawn_;         // which elements, and directions
  std::vector<Point> points_;  // inputs, then parameters
  int inputs_ = 0;
  std::vector<Tensor> weights_;
  double noise_ = 0;  // N
  GradcheckResult result_;
  int failures_ = 0;
};

GradcheckResult check(const std::string& name, ParameterSet* parameters, const std::vector<Shape>& shapes,
                      const CheckedFunction& function, const GradcheckOptions& options) {
  GradcheckResult result;
  for (int seed = 1; seed <= options.seeds && result; ++seed) {
    GradcheckResult one =
        Check(name, parameters, shapes, function, options, static_cast<uint64_t>(seed)).run();
    result.worst = std::max(result.worst, one.worst);
    result.failure = std::move(one.failure);
  }
  return result;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const GradcheckResult& result) {
  return result ? out << "worst relative error " << result.worst : out << result.failure;
}

GradcheckResult gradcheck(const std::string& name, const std::vector<Shape>& shapes,
                          const CheckedFunction& function, const GradcheckOptions& options) {
  return check(name, nullptr, shapes, function, options);
}
GradcheckResult gradcheck(const std::string& name, ParameterSet& parameters, const std::vector<Shape>& shapes,
                          const CheckedFunction& function, const GradcheckOptions& options) {
  return check(name, &parameters, shapes, function, options);
}

void fill_away_from_zero(int, const Tensor& values, RandomStream& random) {
  for (double& v : values.on_host(Access::overwrite)) v = away_from_zero(random, 0.1);
}

void fill_apart(int, const Tensor& values, RandomStream& random) {
  const auto n = static_cast<uint32_t>(values.size());
  const auto x = values.on_host(Access::overwrite);
  for (uint32_t i = 0; i < n; ++i) x[i] = 0.05 * (i - 0.5 * n);
  for (uint32_t i = n; i > 1; --i) std::swap(x[i - 1], x[random.below(i)]);
}

}  // namespace unroll
