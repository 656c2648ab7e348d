// An average of the weights beside any optimizer.
#include "tests/optim_helpers.h"

using namespace unroll;

TEST_CASE("the average begins with the weights of the first step and moves towards those of each") {
  Alike alike;
  Sgd sgd(alike.params, {.learning_rate = 1});
  sgd.keep_average(0.75);
  CHECK(sgd.averages() == nullptr);
  const auto step = [&](real g) {
    alike.give(g);
    sgd.step();
  };
  step(-8);
  CHECK(alike.in(*sgd.averages()) == 8);
  step(-4);                                  // 12
  CHECK(alike.in(*sgd.averages()) == 9);     // 0.75·8 + 0.25·12
  step(4);                                   // 8
  CHECK(alike.in(*sgd.averages()) == 8.75);  // 0.75·9 + 0.25·8
  {
    const AveragedWeights averaged(sgd);
    CHECK(alike.value() == 8.75);
    CHECK(lacks(error_of([&] { step(1); }), {"averaged"}) == "");
    alike.params.spend_gradients();
  }
  CHECK(alike.value() == 8);
  sgd.keep_average(0);
  CHECK(sgd.averages() == nullptr);
}

TEST_CASE("the average does not touch the weights, and goes on from the state") {
  RandomStream random(1, "windows");
  std::vector<RandomWindow> windows;
  for (int i = 0; i < 6; ++i) windows.emplace_back(random);
  Model plain, whole, first, second;
  Adam without(plain.params, {}), all(whole.params, {}), begun(first.params, {}), gone_on(second.params, {});
  all.keep_average(0.9), begun.keep_average(0.9), gone_on.keep_average(0.9);
  const auto step = [&](Model& m, Optimizer& o, int i) {
    m.contribute(windows[static_cast<size_t>(i)].input, windows[static_cast<size_t>(i)].target);
    o.step();
  };
  for (int i = 0; i < 6; ++i) step(plain, without, i), step(whole, all, i);
  CHECK(same_bits(plain.params.values(), whole.params.values()));
  for (int i = 0; i < 3; ++i) step(first, begun, i);
  // As a checkpoint does: counters, then the slabs that they say there are.
  second.params.values().copy_from(first.params.values());
  const OptimizerState from = begun.whole_state();
  for (size_t i = 0; i < from.counters.size(); ++i) {
    CHECK(gone_on.whole_state().counters[i].name == from.counters[i].name);
    *gone_on.whole_state().counters[i].value = *from.counters[i].value;
  }
  const OptimizerState to = gone_on.whole_state();
  REQUIRE(to.slabs.size() == 3);
  for (size_t i = 0; i < 3; ++i) to.slabs[i].values.copy_from(from.slabs[i].values);
  for (int i = 3; i < 6; ++i) step(second, gone_on, i);
  CHECK(same_bits(second.params.values(), whole.params.values()));
  CHECK(same_bits(*gone_on.averages(), *all.averages()));
}

TEST_CASE("the average of weights that stay is these weights") {
  Alike alike(10);
  Sgd sgd(alike.params, {.learning_rate = 0});
  sgd.keep_average(0.5);
  for (int step = 0; step < 3; ++step) {
    alike.give(1), sgd.step();
    CHECK(alike.in(*sgd.averages()) == 10);
  }
}

TEST_CASE("an average is refused where there is one, and where it is none") {
  Model m;
  Asgd asgd(m.params, {});
  CHECK(lacks(error_of([&] { asgd.keep_average(0.9); }), {"asgd", "0.9"}) == "");
  Lion lion(m.params, {});
  CHECK(lacks(error_of([&] { lion.keep_average(1); }), {"average", "1", "[0, 1)"}) == "");
  const uint64_t before = lion.step_signature();
  lion.keep_average(0.5);
  CHECK(lion.step_signature() != before);
}
