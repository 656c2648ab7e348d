// Whether two engines agree: one window of a recurrent layer, its values and gradients, and how far rounding may take
// them apart.
//
// How equal can they be? Each engine computes sums of at most n terms, in its own order. A computed sum is
// the exact sum of terms that are off by n·eps relative, so what an engine returns is what exact arithmetic
// would return for parameters, inputs and state off by n·eps. How far that moves results and gradients is
// measured, by moving them: the bound is twice (two engines) the largest change that eight random such
// perturbations make, plus two roundings of the result itself.
//
// In a precision of 16 bits, with the unit roundoff u, each factor of a product is off by u, so a term by 2u + u².
// Sums in float add less than the rest of 3u to that. A number that an engine hands from call to call is
// such a factor, too. So the same holds with 3u in place of n·eps, and u in place of eps. In tf32 u is 2⁻¹⁰: a tensor
// core may cut off the bits that it does not read.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "framework/graph.h"
#include "framework/ops.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "layers/recurrent/recurrent_layer.h"
#include "tests/support.h"
#include "tests/with_precision.h"

namespace unroll {

// Values and gradients, by name.
using Results = std::vector<std::pair<std::string, Tensor>>;

struct WindowCase {
  std::string name;
  std::function<RecurrentLayer(ParameterSet&, Engine)> layer;
  int steps = 0, batch = 0;
  Lengths lengths = {};
  int windows = 1;  // on one tape, the state passed on from each to the next
  IdTensor resets = {};
};

// Parameters and data of a case; every number is first multiplied with 1 + perturbation·[-1, 1].
class Window {
 public:
  Window(const WindowCase& c, Engine engine, double perturbation = 0, uint64_t seed = 0)
      : params(31),
        layer(c.layer(params, engine)),
        lengths(c.lengths),
        windows(c.windows),
        resets(c.resets),
        noise_(seed, "noise") {
    RandomStream data(1, "data");
    const RecurrentState zero = layer.zero_state(c.batch);
    const auto moved = [&](const Tensor& t) {
      for (real& v : t.on_host(Access::change))
        v = static_cast<real>(v * (1 + perturbation * (2 * noise_.uniform() - 1)));
      return t;
    };
    params.values();
    for (const auto& p : params.all()) moved(p->leaf_value());
    x = moved(random_tensor({c.steps, c.batch, layer.config().input}, data));
    h0 = moved(random_tensor(zero.h.shape(), data));
    if (zero.c.defined()) c0 = moved(random_tensor(zero.c.shape(), data));
    of_y = random_tensor({c.steps, c.batch, layer.config().output()}, data);
    of_h = random_tensor(zero.h.shape(), data);
    if (zero.c.defined()) of_c = random_tensor(zero.c.shape(), data);
  }

  // The loss is the sum of y·of_y, h·of_h and c·of_c.
  Results run() {
    Tape tape;
    const Var vx = tape.watch(x), vh = tape.watch(h0), vc = c0.defined() ? tape.watch(c0) : Var();
    auto out = layer(vx, {vh, vc}, lengths, resets);
    for (int i = 1; i < windows; ++i) out = layer(vx, out.state, lengths, resets);
    Results results = {{"y", out.y.value().clone()}, {"h", out.state.h.value().clone()}};
    Var loss = sum(out.y * Var(of_y)) + sum(out.state.h * Var(of_h));
    if (c0.defined()) {
      results.emplace_back("c", out.state.c.value().clone());
      loss = loss + sum(out.state.c * Var(of_c));
    }
    tape.backward(loss);
    results.insert(results.end(), {{"dx", vx.grad()}, {"dh0", vh.grad()}});
    if (c0.defined()) results.emplace_back("dc0", vc.grad());
    for (const auto& p : params.all())
      results.emplace_back("d " + p->name, p->node.gradient.value(p->shape).clone());
    return results;
  }

  ParameterSet params;
  RecurrentLayer layer;
  Lengths lengths;
  int windows;
  IdTensor resets;
  Tensor x, h0, c0, of_y, of_h, of_c;

 private:
  RandomStream noise_;
};

// A window as a graph: once as usual, since all must have been there, once to record, and then played.
inline Results played(const WindowCase& w, Engine engine) {
  Window window(w, engine);
  window.run();
  window.params.spend_gradients();
  const Memory step(sizeof(uint32_t));
  const uint32_t now = 0;
  copy_to_device(step.data(), &now, sizeof now);
  Results results;
  const Graph graph(static_cast<const uint32_t*>(step.data()), now, [&] { results = window.run(); });
  for (const auto& [name, values] : results) values.fill(std::numeric_limits<real>::quiet_NaN());
  graph.play();
  synchronize();
  return results;
}

// How far numbers may be off, relatively: those that go into an engine, and its results as they are rounded. And how far
// the former may move the latter, or a comparison would say little.
struct Roundings {
  double moved, result, most_change;
};
inline Roundings roundings_of(Precision precision) {  // that rounds
  const double u = precision == Precision::bf16 ? 0x1p-8 : precision == Precision::tf32 ? 0x1p-10 : 0x1p-11;
  return {.moved = 3 * u, .result = u, .most_change = 40 * u};
}
// For sums in other orders: over what goes into a unit, or over all steps and rows for a weight's gradient.
inline Roundings roundings_of_sums(int input, int hidden, int steps_and_rows) {
  constexpr double eps = std::numeric_limits<real>::epsilon();
  const int n = std::max(input + hidden + 2, steps_and_rows);
  return {.moved = n * eps, .result = eps, .most_change = 1e5 * eps};
}

// The others came from other engines than composed, which is run in fp32, in the order of Window::run. `sensitive`: also
// checks that the comparison says something.
inline void check_agreement(const WindowCase& c, const std::vector<Results>& others, const Roundings& off,
                            bool sensitive) {
  const WithPrecision exact(Precision::fp32);
  const Results composed = Window(c, Engine::composed).run();
  std::vector<double> changes(composed.size());
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Results moved = Window(c, Engine::composed, off.moved, seed).run();
    for (size_t i = 0; i < moved.size(); ++i)
      changes[i] = std::max(changes[i], distance(moved[i].second, composed[i].second));
  }
  for (size_t i = 0; i < composed.size(); ++i) {
    const std::string& name = composed[i].first;
    CAPTURE(name);
    CAPTURE(c.name);
    const double size = largest(composed[i].second);
    if (sensitive) CHECK(size > 0);
    // or the comparison would say little; but what layer norm cancels out is nothing but rounding
    if (sensitive) CHECK(changes[i] <= off.most_change * size);
    for (const Results& other : others) {
      const auto found = std::ranges::find(other, name, &Results::value_type::first);
      REQUIRE(found != other.end());
      CHECK(distance(found->second, composed[i].second) <= 2 * off.result * size + 2 * changes[i]);
    }
  }
}
inline void check_agreement(const WindowCase& c, const std::vector<Results>& others, int input, int hidden,
                            bool sensitive) {
  Roundings off = roundings_of_sums(input, hidden, c.steps * c.batch);
  off.moved *= c.windows;
  check_agreement(c, others, off, sensitive);
}

}  // namespace unroll
