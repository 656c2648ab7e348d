// The LSTM's engines against each other, in double and in float: same parameters, same masks, same results.
//
// How equal can they be? Each engine computes sums of at most n terms, in its own order. A computed sum is
// the exact sum of terms that are off by n·eps relative, so what an engine returns is what exact arithmetic
// would return for parameters, inputs and state off by n·eps. How far that moves results and gradients is
// measured, by moving them: the bound is twice (two engines) the largest change that eight random such
// perturbations make, plus two roundings of the result itself.
#include <algorithm>
#include <array>
#include <limits>

#include "framework/ops.h"
#include "layers/lstm.h"
#include "tests/lstm_cases.h"

using namespace unroll;

namespace {

constexpr double eps = std::numeric_limits<real>::epsilon();

using Case = LstmCase;

// Values and gradients, by name.
using Results = std::vector<std::pair<std::string, Tensor>>;

// One engine over one window; every number that goes in is first multiplied with 1 + perturbation·[-1, 1].
Results run(LstmEngine engine, const Case& c, double perturbation, uint64_t seed) {
  ParameterSet params(31);
  const Lstm lstm(params / "lstm", c.with(engine).config);
  RandomStream data(1, "data"), noise(seed, "noise");
  const auto perturb = [&](const Tensor& x) {
    for (real& v : x.span()) v = static_cast<real>(v * (1 + perturbation * (2 * noise.uniform() - 1)));
    return x;
  };
  params.values();
  for (const auto& p : params.all()) perturb(p->value);
  const std::vector<Shape> shapes = c.shapes();
  const Tensor x = perturb(random_tensor(shapes[0], data));
  const Tensor h0 = perturb(random_tensor(shapes[1], data)), c0 = perturb(random_tensor(shapes[2], data));
  const Tensor of_y = random_tensor(shapes[0].with(2, c.config.output()), data),
               of_h = random_tensor(shapes[1], data), of_c = random_tensor(shapes[2], data);

  Tape tape;
  const Var vx = tape.watch(x), vh = tape.watch(h0), vc = tape.watch(c0);
  const auto out = lstm(vx, {vh, vc}, c.lengths());
  Results results = {{"y", out.y.value()}, {"h", out.state.h.value()}, {"c", out.state.c.value()}};
  tape.backward(sum(out.y * Var(of_y)) + sum(out.state.h * Var(of_h)) + sum(out.state.c * Var(of_c)));
  results.insert(results.end(), {{"dx", vx.grad()}, {"dh0", vh.grad()}, {"dc0", vc.grad()}});
  for (const auto& p : params.all())
    results.emplace_back("d " + p->name, p->node.gradient.value(p->shape).clone());
  return results;
}

double largest(const Tensor& x) {
  double result = 0;
  for (const real v : x.span()) result = std::max(result, std::abs(static_cast<double>(v)));
  return result;
}

void compare(const Case& c, bool at_random = false) {
  const int n = std::max(c.config.input + c.config.hidden + 2, c.steps * c.batch);
  const Results fused = run(LstmEngine::fused, c, 0, 0), composed = run(LstmEngine::composed, c, 0, 0);
  std::vector<double> bounds;
  for (const auto& [name, value] : composed) bounds.push_back(2 * eps * largest(value));
  std::vector<double> changes(bounds.size());
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Results moved = run(LstmEngine::composed, c, n * eps, seed);
    for (size_t i = 0; i < moved.size(); ++i)
      changes[i] = std::max(changes[i], distance(moved[i].second, composed[i].second));
  }
  for (size_t i = 0; i < fused.size(); ++i) {
    CAPTURE(fused[i].first);
    CAPTURE(c.name());
    if (!at_random) CHECK(largest(composed[i].second) > 0);
    CHECK(distance(fused[i].second, composed[i].second) <= bounds[i] + 2 * changes[i]);
    // or the comparison would say little; but what layer norm cancels out is nothing but rounding
    if (!at_random) CHECK(changes[i] <= 1e5 * eps * largest(composed[i].second));
  }
}

}  // namespace

TEST_CASE("fused and composed agree to rounding, forward and backward") {
  for (const auto& [input, hidden, layers, steps, batch] : {std::array{1, 1, 1, 1, 1},
                                                            {3, 5, 1, 1, 2},
                                                            {3, 5, 1, 7, 3},
                                                            {2, 7, 2, 4, 1},
                                                            {5, 3, 3, 6, 2},
                                                            {16, 33, 2, 10, 4},
                                                            {65, 40, 1, 12, 20}})
    compare({.config = {.input = input, .hidden = hidden, .layers = layers}, .steps = steps, .batch = batch});
}

TEST_CASE("fused and composed agree to rounding with each option, the masks being the same bits") {
  for (const auto& [input, hidden, layers, steps, batch] :
       {std::array{3, 5, 2, 5, 3}, {5, 3, 3, 6, 2}, {16, 33, 2, 10, 4}})
    for (const Case& c : lstm_options_alone(input, hidden, layers, steps, batch)) compare(c);
}

TEST_CASE("fused and composed agree to rounding with options together") {
  RandomStream random(6, "cases");
  for (int i = 0; i < 200; ++i) compare(random_lstm_case(random, 6), true);
}

TEST_CASE("an engine gives the same bits twice") {
  for (LstmEngine engine : {LstmEngine::fused, LstmEngine::composed}) {
    const Case c{
        .config = {.input = 16, .hidden = 33, .layers = 2, .dropout = 0.5f}, .steps = 10, .batch = 4};
    const Results first = run(engine, c, 0, 0), second = run(engine, c, 0, 0);
    for (size_t i = 0; i < first.size(); ++i) CHECK(same_bits(first[i].second, second[i].second));
  }
}
