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

TEST_CASE("weights that are kept are those of the moment, and of the parameters that are named") {
  ParameterSet params;
  Parameter &a = params.add("a", {2}, Init::constant(1)), &b = params.add("b", {3}, Init::constant(2));
  Sgd sgd(params, {.learning_rate = 1});
  WeightAverage& beside = sgd.set_average({.what = "kept weights", .counter = "times_kept", .slab = "kept"});
  const auto kept = [&](const Parameter& p) {
    const std::vector<real> all = sgd.averages()->to_host();
    const auto begin = all.begin() + static_cast<int64_t>(p.offset);
    return std::vector<real>(begin, begin + p.size());
  };
  const auto step = [&] {
    give(a, {-1, -2}), give(b, {-1, -2, -3});
    sgd.step({.max_norm = 100});
  };
  step();  // a: 2, 3; b: 3, 4, 5
  CHECK(sgd.averages() == nullptr);
  Parameter* const of_a[] = {&a};
  Parameter* const of_b[] = {&b};
  beside.keep(params, of_a);  // the first time all of them
  REQUIRE(sgd.averages() != nullptr);
  CHECK(kept(a) == std::vector<real>{2, 3}), CHECK(kept(b) == std::vector<real>{3, 4, 5});
  step();
  CHECK(kept(a) == std::vector<real>{2, 3}), CHECK(kept(b) == std::vector<real>{3, 4, 5});
  beside.keep(params, of_b);
  CHECK(kept(a) == std::vector<real>{2, 3}), CHECK(kept(b) == std::vector<real>{4, 6, 8});
  beside.count = 0;
  CHECK(sgd.averages() == nullptr);
  step();
  beside.keep(params, of_b);
  CHECK(kept(a) == std::vector<real>{4, 7}), CHECK(kept(b) == std::vector<real>{5, 8, 11});
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

TEST_CASE("kept weights are those of the moment, of the parameters that are named and at first of all") {
  Pair m;
  Sgd sgd(m.params, {.learning_rate = 1});
  WeightAverage& beside = sgd.set_average({.what = "kept weights", .counter = "times_kept", .slab = "kept"});
  const auto step = [&] { give(m.a, {1, 2}), give(m.b, {1, 2, 3}), sgd.step(); };
  const auto kept = [&] {
    const AveragedWeights in_place(sgd);
    return std::pair(weights(m.a), weights(m.b));
  };
  step();
  beside.keep(m.params, std::array{&m.a});
  step();
  CHECK(kept() == std::pair(std::vector<real>{0, -1}, std::vector<real>{-3, -4, -5}));
  beside.keep(m.params, std::array{&m.b});
  step();
  CHECK(kept() == std::pair(std::vector<real>{0, -1}, std::vector<real>{-4, -6, -8}));
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
