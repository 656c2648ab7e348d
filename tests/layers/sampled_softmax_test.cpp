// The sampled softmax: PyTorch's values, what it estimates, and who is drawn how often.
#include "layers/sampled_softmax.h"

#include <cmath>
#include <limits>

#include "framework/gradcheck.h"
#include "optim/optimizer.h"
#include "tests/reference.h"
#include "tests/support.h"

using namespace unroll;

TEST_CASE(
    "a sampled softmax is its definition: drawn classes corrected, the target itself, and no target twice") {
  Worst worst;
  const Json& recorded = reference("layers.json").at("sampled_softmax");
  for (const Reduction reduction : {Reduction::none, Reduction::sum})
    compare(
        recorded, "sampled softmax",
        [&](const Json& c, const RecordedInputs& in) {
          ParameterSet params;
          Dense layer(params / "out", {.in = 3, .out = 7});
          layer.weight = in.at("weight"), layer.bias = in.at("bias");
          const SampledClasses drawn{ids_of(c.at("drawn")), tensor_of(c.at("log_expected_counts"))};
          const IdTensor target = ids_of(c.at("target"));
          if (reduction == Reduction::none)
            return sampled_softmax_cross_entropy(layer, in.at("x"), target, drawn, {.reduction = reduction});
          Vars losses;  // each target by itself
          for (int t = 0; t < 2; ++t)
            for (int b = 0; b < 2; ++b)
              losses.push_back(sampled_softmax_cross_entropy(layer, slice(row(in.at("x"), t), 0, b, b + 1),
                                                             target[t].slice(b, b + 1), drawn,
                                                             {.reduction = Reduction::sum}));
          return reshape(stack(losses), {2, 2});
        },
        worst);
  CHECK_MESSAGE(worst.error < 1e-12, worst.text());
}

TEST_CASE("a sampled softmax is differentiated, with targets left out and weighed") {
  const ClassSampler sampler = ClassSampler::log_uniform(6);
  const SampledClasses drawn = sampler.draw(8, {.seed = 3});
  const IdTensor target = ids({2, 2}, {4, -1, 0, 5});
  for (const bool bias : {true, false}) {
    ParameterSet params;
    const Dense layer(params / "out", {.in = 3, .out = 6, .bias = bias});
    CHECK(gradcheck("sampled_softmax_cross_entropy", params, {{2, 2, 3}}, [&](auto& v) {
      return std::vector<Var>{sampled_softmax_cross_entropy(layer, v[0], target, drawn),
                              sampled_softmax_cross_entropy(
                                  layer, v[0], target, drawn,
                                  {.reduction = Reduction::none, .weights = tensor({2, 2}, {1, 2, 0, 0.5})})};
    }));
    // Elements that are not scored may hold anything.
    Tensor x = Tensor::full({2, 2, 3}, real(0.5));
    x[0][1].fill(std::numeric_limits<real>::quiet_NaN());
    Tape tape;
    const Var loss = sampled_softmax_cross_entropy(layer, x, target, drawn);
    tape.backward(loss);
    CHECK(std::isfinite(loss.item()));
    for (const real g : params.gradients().on_host()) CHECK(std::isfinite(g));
  }
}

TEST_CASE(
    "the sum that a sampled softmax estimates is the exact one on average, whatever is drawn with which probability") {
  constexpr int classes = 12, draws = 5, trials = 4000;
  RandomStream random(5, "logits");
  ParameterSet params;
  const Dense layer(params / "out", {.in = 4, .out = classes});
  const Tensor x = random_tensor({1, 4}, random, -3, 3);
  const IdTensor target = ids({1}, {7});
  // exp(loss) is that sum over exp(the target's logit).
  const double exact = std::exp(static_cast<double>(softmax_cross_entropy(layer, x, target).item()));
  std::vector<double> uneven;
  for (int k = 0; k < classes; ++k) uneven.push_back(1 + k % 4);
  for (const ClassSampler& sampler : {ClassSampler(uneven), ClassSampler::log_uniform(classes)}) {
    double sum = 0, squares = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const SampledClasses drawn = sampler.draw(draws, {.seed = 9, .step = static_cast<uint32_t>(trial)});
      const double estimate =
          std::exp(static_cast<double>(sampled_softmax_cross_entropy(layer, x, target, drawn).item()));
      CHECK(estimate >= 1);
      sum += estimate, squares += estimate * estimate;
    }
    const double mean = sum / trials, deviation = std::sqrt((squares / trials - mean * mean) / trials);
    CHECK(std::abs(mean - exact) < 5 * deviation);  // five deviations of the mean
    CHECK(deviation < 0.1 * exact);
  }
}

TEST_CASE("classes are drawn by their weights, the same with the same key, and none of weight 0") {
  const std::vector<double> weights = {3, 0, 1, 2, 0, 4};
  const ClassSampler sampler(weights);
  constexpr int draws = 20000;
  const SampledClasses drawn = sampler.draw(draws, {.seed = 2});
  std::vector<int> count(weights.size());
  for (const int32_t id : drawn.ids.span()) ++count[static_cast<size_t>(id)];
  const std::vector<real> logs = drawn.log_expected_counts.to_host();
  for (size_t k = 0; k < weights.size(); ++k) {
    const double p = weights[k] / 10;
    CHECK(sampler.probability(static_cast<int32_t>(k)) == doctest::Approx(p));
    CHECK(std::abs(count[k] - p * draws) <= 5 * std::sqrt(p * (1 - p) * draws));
  }
  for (int i = 0; i < 100; ++i)
    CHECK(logs[static_cast<size_t>(i)] ==
          doctest::Approx(std::log(draws * sampler.probability(drawn.ids(i)))));
  CHECK(sampler.draw(50, {.seed = 2}).ids.to_host() == drawn.ids.slice(0, 50).to_host());
  CHECK(sampler.draw(50, {.seed = 3}).ids.to_host() != drawn.ids.slice(0, 50).to_host());
  const ClassSampler zipf = ClassSampler::log_uniform(1000);
  double sum = 0;
  for (int k = 0; k < 1000; ++k) sum += zipf.probability(k);
  CHECK(sum == doctest::Approx(1));
  CHECK(zipf.probability(0) == doctest::Approx(std::log(2.0) / std::log(1001.0)));
}

TEST_CASE("what is trained with a sampled softmax has the exact one's optimum") {
  // One number in, three classes in shares of 1/2, 1/3 and 1/6: the best logits are the shares' logarithms.
  const IdTensor target = ids({6}, {0, 0, 0, 1, 1, 2});
  const Tensor x = Tensor::full({6, 1}, 1);
  const ClassSampler sampler(std::vector<double>{1, 5, 2});
  ParameterSet params;
  const Dense layer(params / "out", {.in = 1, .out = 3, .bias = false});
  Adam adam(params, {.learning_rate = 0.02});
  const Scope place = params / "sampler";
  for (int step = 0; step < 400; ++step) {
    if (step == 300) adam.set_learning_rate(0.002);
    Tape tape;
    tape.backward(sampled_softmax_cross_entropy(layer, x, target, sampler.draw(64, place.next_key())));
    adam.step();
  }
  const double best = (std::log(2) / 2 + std::log(3) / 3 + std::log(6) / 6);
  CHECK(softmax_cross_entropy(layer, x, target).item() < best + 0.01);
}

TEST_CASE("a sampled softmax refuses what does not fit") {
  ParameterSet params;
  const Dense layer(params / "out", {.in = 3, .out = 5}),
      bent(params / "bent", {.in = 3, .out = 5, .activation = Activation::relu});
  const SampledClasses drawn = ClassSampler::log_uniform(5).draw(4, {});
  const auto refused = [&](const Dense& out, const Shape& x, const IdTensor& target, const SampledClasses& of,
                           CrossEntropyOptions o = {}) {
    return error_of([&] { sampled_softmax_cross_entropy(out, Var(Tensor::zeros(x)), target, of, o); });
  };
  CHECK(lacks(refused(layer, {2, 4}, ids({2}, {0, 1}), drawn), {"sampled_softmax", "[2, 4]", "[2]", "3"}) ==
        "");
  CHECK(lacks(refused(layer, {3, 3}, ids({2}, {0, 1}), drawn), {"sampled_softmax", "[3, 3]", "[2]"}) == "");
  CHECK(lacks(refused(layer, {2, 3}, ids({2}, {0, 5}), drawn), {"target 5", "5 classes"}) == "");
  CHECK(lacks(refused(layer, {2, 3}, ids({2}, {0, 1}), ClassSampler::log_uniform(500).draw(50, {})),
              {"was drawn of 5"}) == "");
  CHECK(lacks(refused(bent, {2, 3}, ids({2}, {0, 1}), drawn), {"sampled_softmax", "activation"}) == "");
  CHECK(lacks(refused(layer, {2, 3}, ids({2}, {0, 1}), drawn, {.label_smoothing = real(0.1)}),
              {"label_smoothing"}) == "");
  CHECK(lacks(refused(layer, {2, 3}, ids({2}, {0, 1}), drawn, {.weights = Tensor::zeros({3})}),
              {"weights [3]", "[2]"}) == "");
  CHECK(lacks(input_error_of([&] {
                ClassSampler(std::vector<double>{1, -2});
              }),
              {"weight -2", "class 1"}) == "");
  CHECK(lacks(input_error_of([&] {
                ClassSampler(std::vector<double>{0, 0});
              }),
              {"2 weights", "positive"}) == "");
  CHECK(lacks(error_of([&] { ClassSampler::log_uniform(5).draw(0, {}); }), {"0 classes"}) == "");
}

TEST_CASE("a sampled softmax leaves out the targets that it is told to") {
  const SampledClasses drawn = ClassSampler::log_uniform(6).draw(8, {.seed = 3});
  ParameterSet params;
  const Dense layer(params / "out", {.in = 3, .out = 6});
  RandomStream random(3, "x");
  const Tensor x = random_tensor({4, 3}, random);
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none})
    CHECK(same_bits(
        sampled_softmax_cross_entropy(layer, x, ids({4}, {4, 2, 0, 5}), drawn,
                                      {.reduction = reduction, .ignore_index = 2})
            .value(),
        sampled_softmax_cross_entropy(layer, x, ids({4}, {4, -1, 0, 5}), drawn, {.reduction = reduction})
            .value()));
  // A weight of 0 leaves out as well, whatever the row holds.
  Tensor broken = x.clone();
  broken[1].fill(std::numeric_limits<real>::quiet_NaN());
  const auto gradients_with = [&](const IdTensor& target, const Tensor& weights) {
    Tape tape;
    tape.backward(
        sampled_softmax_cross_entropy(layer, Var(broken), target, drawn, {.weights = weights}));
    const auto found = params.contributed_gradients().to_host();
    params.spend_gradients();
    return found;
  };
  CHECK(gradients_with(ids({4}, {4, 2, 0, 5}), tensor({4}, {1, 0, 1, 1})) ==
        gradients_with(ids({4}, {4, -1, 0, 5}), tensor({4}, {1, 1, 1, 1})));
  CHECK(lacks(error_of([&] {
                sampled_softmax_cross_entropy(layer, x, ids({4}, {4, 2, 0, 5}), drawn,
                                              {.margins = Var(Tensor::zeros({4}))});
              }),
              {"margins"}) == "");
  CHECK(lacks(error_of([&] {
                sampled_softmax_cross_entropy(layer, x, ids({4}, {4, -1, 0, 5}), drawn, {.ignore_index = 2});
              }),
              {"target -1"}) == "");
}

TEST_CASE("a sampled softmax refuses weights of classes, and a sampler a class that it has not") {
  ParameterSet params;
  const Dense layer(params / "out", {.in = 3, .out = 5});
  const ClassSampler sampler = ClassSampler::log_uniform(5);
  CHECK(lacks(error_of([&] {
                sampled_softmax_cross_entropy(layer, Var(Tensor::zeros({2, 3})), ids({2}, {0, 1}),
                                              sampler.draw(4, {}), {.class_weights = Tensor::full({5}, 1)});
              }),
              {"class_weights"}) == "");
  for (const int32_t id : {-1, 5})
    CHECK(error_of([&] { (void)sampler.probability(id); }) ==
          fmt::format("class sampler: no class {} of 5", id));
}
