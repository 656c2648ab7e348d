// Masked elements reach nothing: targets of weight 0, targets that are not scored, padding. NaN or infinity there
// leaves values and gradients as they are with ordinary numbers in the same places, to the bit.
#include <cmath>
#include <limits>

#include "layers/dense.h"
#include "layers/recurrent/gru.h"
#include "tests/layers/lstm_cases.h"

using namespace unroll;

namespace {

constexpr real infinity = std::numeric_limits<real>::infinity();
constexpr real poisons[] = {std::numeric_limits<real>::quiet_NaN(), infinity, -infinity};
constexpr Reduction reductions[] = {Reduction::mean, Reduction::sum, Reduction::none};

// A copy with `value` in the rows of x where kept is 0.
Tensor poisoned(const Tensor& x, const Tensor& kept, real value) {
  Tensor result = x.clone();
  const auto elements = result.on_host(Access::change);
  const auto is_kept = kept.on_host();
  const int64_t cols = x.size() / kept.size();
  for (int64_t i = 0; i < x.size(); ++i)
    if (is_kept[i / cols] == 0) elements[i] = value;
  return result;
}

// Values first, then the gradients of what was watched and of all parameters.
std::vector<Tensor> results(const std::vector<Tensor>& inputs, ParameterSet& params,
                            const std::function<std::vector<Var>(const std::vector<Var>&)>& function) {
  params.spend_gradients();
  Tape tape;
  std::vector<Var> watched;
  for (const Tensor& x : inputs) watched.push_back(tape.watch(x));
  const std::vector<Var> ys = function(watched);
  std::vector<Tensor> found;
  Vars parts;
  RandomStream random(5, "weights");
  for (const Var& y : ys) {
    found.push_back(y.value().clone());
    parts.push_back(sum(y * Var(random_tensor(y.shape(), random, 0.5, 1.5))));
  }
  tape.backward(sum(stack(parts)));
  for (const Var& x : watched) found.push_back(x.grad().clone());
  for (const auto& p : params.all()) found.push_back(p->var().grad().clone());
  return found;
}

bool all_finite(const std::vector<Tensor>& tensors) {
  return std::ranges::all_of(tensors, [](const Tensor& t) {
    const std::vector<real> x = t.to_host();
    return std::ranges::all_of(x, [](real v) { return std::isfinite(v); });
  });
}
bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return unroll::same_bits(x, y); });
}
// Whether the rows of d where kept is 0 are 0.
bool is_zero_where_left_out(const Tensor& d, const Tensor& kept) {
  return unroll::same_bits(d, poisoned(d, kept, 0));
}

struct ElementLoss {
  const char* name;
  int predictions;
  std::function<Var(const std::vector<Var>&, const Tensor& target, const ElementLossOptions&)> loss;
};
const std::vector<ElementLoss> element_losses = {
    {"mean squared error", 1, [](auto& v, auto& t, auto& o) { return mean_squared_error(v[0], t, o); }},
    {"binary cross-entropy", 1,
     [](auto& v, auto& t, auto& o) {
       return binary_cross_entropy(v[0], t, {o.reduction, 3, o.weights});
     }},
    {"quantile loss", 2,
     [](auto& v, auto& t, auto& o) {
       const double quantiles[] = {0.1, 0.8};
       return quantile_loss({v[0], v[1]}, t, quantiles, o);
     }},
    {"gaussian loss", 2, [](auto& v, auto& t, auto& o) { return gaussian_loss(v[0], v[1], t, o); }}};

}  // namespace

TEST_CASE("weight 0 keeps NaN and infinity out of a loss of elements and its gradients") {
  ParameterSet none;
  const Tensor weights = tensor({2, 3}, {1, 0, 0.5, real(-0.0), 2, 1});
  for (const ElementLoss& l : element_losses)
    for (const Reduction reduction : reductions) {
      RandomStream random(3, l.name);
      std::vector<Tensor> predictions;
      for (int k = 0; k < l.predictions; ++k) predictions.push_back(random_tensor({2, 3}, random, 0.1, 1));
      const Tensor target = random_tensor({2, 3}, random, 0.1, 0.9);
      const auto run = [&](const std::vector<Tensor>& x, const Tensor& t) {
        return results(x, none, [&](auto& v) {
          return std::vector{l.loss(v, t, {.reduction = reduction, .weights = weights})};
        });
      };
      const auto usual = run(predictions, target);
      CHECK(all_finite(usual));
      for (const real poison : poisons) {
        CAPTURE(l.name);
        CAPTURE(static_cast<int>(reduction));
        CAPTURE(poison);
        std::vector<Tensor> x;
        for (const Tensor& p : predictions) x.push_back(poisoned(p, weights, poison));
        const auto found = run(x, poisoned(target, weights, poison));
        CHECK(same_bits(found, usual));
        for (size_t k = 0; k < x.size(); ++k) CHECK(is_zero_where_left_out(found[1 + k], weights));
      }
    }
}

// By hand, of d = prediction - target = (1, ·, -2, ·) with the weights (3, 0, 1, 0):
//   Σ w d² / Σ w = (3·1 + 1·4) / 4 = 1.75, and its gradient 2 w d / 4 = (1.5, 0, -1, 0)
TEST_CASE("the mean of squared errors is that of the targets that have a weight") {
  const real bad = poisons[0];
  Tape tape;
  const Var prediction = tape.watch(tensor({4}, {2, bad, 1, 5}));
  const Var loss =
      mean_squared_error(prediction, tensor({4}, {1, 2, 3, bad}), {.weights = tensor({4}, {3, 0, 1, 0})});
  tape.backward(loss);
  CHECK(loss.item() == real(1.75));
  CHECK(prediction.grad().to_host() == std::vector<real>{1.5, 0, -1, 0});

  const Tensor nothing = Tensor::zeros({4}), bad_4 = Tensor::full({4}, bad);
  CHECK(mean_squared_error(Var(bad_4), bad_4, {.weights = nothing}).item() == 0);
}

TEST_CASE("weight 0 and targets that are not scored keep NaN and infinity out of a cross-entropy") {
  const IdTensor target = ids({3, 2}, {1, -1, 3, 0, 2, 2});
  const Tensor weights = tensor({3, 2}, {1, 1, 0, 2, 0.5, 1});
  for (const bool by_class : {false, true})
    for (const Reduction reduction : reductions) {
      const Tensor of_classes = by_class ? tensor({4}, {1, 2, 0, 1}) : Tensor();
      // By class: class 2 has the weight 0.
      const Tensor left = by_class ? tensor({3, 2}, {1, 0, 0, 1, 0, 0}) : tensor({3, 2}, {1, 0, 0, 1, 1, 1});
      const CrossEntropyOptions options{
          .reduction = reduction, .weights = weights, .class_weights = of_classes};
      RandomStream random(3, "logits");
      ParameterSet none;
      const Tensor logits = random_tensor({3, 2, 4}, random);
      const auto of_logits = [&](auto& v) {
        return std::vector{softmax_cross_entropy(v[0], target, options)};
      };
      const auto usual = results({logits}, none, of_logits);
      CHECK(all_finite(usual));
      for (const real poison : poisons) {
        const auto found = results({poisoned(logits, left, poison)}, none, of_logits);
        CHECK(same_bits(found, usual));
        CHECK(is_zero_where_left_out(found[1], left));
      }
    }
}

// Here the hidden state itself is NaN where it is left out: the decoder's weights must not see it.
TEST_CASE("weight 0 and targets that are not scored keep NaN and infinity out of a decoder") {
  const IdTensor target = ids({3, 2}, {1, -1, 3, 0, 2, 2});
  for (const bool weighted : {true, false})
    for (const Reduction reduction : reductions)
      for (const int chunk : {0, 1, 4}) {
        const Tensor kept =
            weighted ? tensor({3, 2}, {1, 0, 0, 1, 1, 1}) : tensor({3, 2}, {1, 0, 1, 1, 1, 1});
        const CrossEntropyOptions options{
            .reduction = reduction,
            .weights = weighted ? tensor({3, 2}, {1, 1, 0, 2, 0.5, 1}) : Tensor(),
            .chunk_rows = chunk};
        ParameterSet params(3);
        const Dense out(params / "out", {.in = 3, .out = 4});
        RandomStream random(3, "x");
        const Tensor x = random_tensor({3, 2, 3}, random);
        const auto loss = [&](auto& v) {
          return std::vector{softmax_cross_entropy(out, v[0], target, options)};
        };
        const auto usual = results({x}, params, loss);
        CHECK(all_finite(usual));
        for (const real poison : poisons) {
          CAPTURE(weighted);
          CAPTURE(static_cast<int>(reduction));
          CAPTURE(chunk);
          CAPTURE(poison);
          const auto found = results({poisoned(x, kept, poison)}, params, loss);
          CHECK(same_bits(found, usual));
          CHECK(is_zero_where_left_out(found[1], kept));
        }
      }
}

// Padding goes in as NaN; and what comes out there is multiplied with NaN, on its way to a loss that gives it weight 0.
TEST_CASE("padding reaches neither what a recurrent layer gives nor a gradient, with any option and engine") {
  const auto check = [](const std::string& name, ParameterSet& params, const Shape& of_x,
                        const std::vector<Shape>& states, const Lengths& lengths, const auto& layer) {
    CAPTURE(name);
    RandomStream random(9, "window");
    std::vector<Tensor> inputs = {random_tensor(of_x, random)};
    for (const Shape& s : states) inputs.push_back(random_tensor(s, random));
    const Tensor kept = real_steps(lengths, of_x[0], of_x[1]);
    const auto run = [&](real poison) {
      inputs[0] = poisoned(inputs[0], kept, poison);
      return results(inputs, params, [&](auto& v) {
        std::vector<Var> out = layer(v);
        const Tensor factor = poisoned(Tensor::full(out[0].shape(), 1), kept, poison),
                     weights = poisoned(Tensor::full(out[0].shape(), 1), kept, 0);
        out[0] = mean_squared_error(out[0] * factor, Tensor::zeros(out[0].shape()), {.weights = weights});
        return out;
      });
    };
    const auto usual = run(real(0.5));
    CHECK(all_finite(usual));
    for (const real poison : poisons) {
      CAPTURE(poison);
      const auto found = run(poison);
      CHECK(same_bits(found, usual));
      CHECK(is_zero_where_left_out(found[1 + states.size()], kept));
    }
  };
  using Known = WindowFacts::Lengths;
  for (const Padding padding : {Padding::after, Padding::before}) {
    const Lengths lengths{ids({3}, {2, 0, 4}), padding};
    const Known known = padding == Padding::after ? Known::padded_after : Known::padded_before;
    for (LstmCase c : lstm_options_alone(3, 4, 2, 4, 3))
      for (const Engine engine : {Engine::composed, Engine::fused, Engine::cudnn}) {
        c.config.engine = Engine::automatic;
        if (engine == Engine::cudnn &&
            Lstm::choose(c.config, engine_facts(), {4, 3, known}).engine != Engine::cudnn)
          continue;
        c.config.engine = engine;
        ParameterSet params(17);
        const Lstm lstm(params / "lstm", c.config);
        const std::vector<Shape> shapes = c.shapes();
        check(c.name(), params, shapes[0], {shapes[1], shapes[2]}, lengths, [&](auto& v) {
          const auto out = lstm(v[0], {v[1], v[2]}, lengths);
          return std::vector{out.y, out.state.h, out.state.c};
        });
      }
    for (const Engine engine : {Engine::composed, Engine::fused, Engine::cudnn}) {
      RecurrentConfig config{.input = 3, .hidden = 4, .layers = 2};
      if (engine == Engine::cudnn &&
          Gru::choose(config, engine_facts(), {4, 3, known}).engine != Engine::cudnn)
        continue;
      config.engine = engine;
      ParameterSet params(17);
      const Gru gru(params / "gru", config);
      check("gru", params, {4, 3, 3}, {{2, 3, 4}}, lengths, [&](auto& v) {
        const auto out = gru(v[0], {v[1]}, lengths);
        return std::vector{out.y, out.state.h};
      });
    }
  }
}
