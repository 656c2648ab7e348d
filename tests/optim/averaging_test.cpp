// Averaged weights, and optimizers that go on from their state.
#include "optim/schedule.h"
#include "tests/optim_helpers.h"

using namespace unroll;
using doctest::Approx;

// --- averaging -----------------------------------------------------------------------------------

TEST_CASE("averaged descent keeps the mean of the weights") {
  Alike alike;
  Asgd asgd(alike.params, {.learning_rate = 1, .average_after = 2});
  const auto step = [&](real g) {
    alike.give(g);
    asgd.step();
  };
  step(-8);
  step(-8);
  CHECK(asgd.averages() == nullptr);
  CHECK(asgd.averaged() == 0);
  {
    AveragedWeights none(asgd);  // nothing to put in
    CHECK(alike.value() == 16);
    step(-4);  // 20: averaging begins, and what was not put in is not taken out either
  }
  CHECK(alike.value() == 20);
  CHECK(alike.in(*asgd.averages()) == 20);
  step(2);   // 18
  step(-4);  // 22
  step(6);   // 16
  CHECK(asgd.averaged() == 4);
  CHECK(alike.in(*asgd.averages()) == Approx(19).epsilon(1e-15));
  CHECK(alike.value() == 16);
}

TEST_CASE("averaging that is started by hand") {
  Alike alike;
  Asgd asgd(alike.params, {.learning_rate = 1, .average_after = AsgdConfig::never});
  const auto step = [&](real g) {
    alike.give(g);
    asgd.step();
  };
  for (int i = 0; i < 5; ++i) step(-1);
  CHECK(asgd.averages() == nullptr);
  asgd.start_averaging();
  CHECK(asgd.averages() == nullptr);
  step(-1);                // 6
  asgd.start_averaging();  // has begun
  step(-2);                // 8
  CHECK(asgd.averaged() == 2);
  CHECK(alike.in(*asgd.averages()) == 7);
}

TEST_CASE("averaged weights take the place of the others for a while") {
  RandomStream random(6, "swap");
  Model m;
  Asgd asgd(m.params, {.learning_rate = 0.5});
  const RandomWindow w(random);
  std::vector<Tensor> history;
  for (int step = 0; step < 4; ++step) {
    m.contribute(w.input, w.target);
    asgd.step();
    history.push_back(m.params.values().clone());
  }
  const real last = m.loss(w.input, w.target).item();
  const Tensor average = asgd.averages()->clone();
  {
    AveragedWeights guard(asgd);
    CHECK(same_bits(m.params.values(), average));
    CHECK(m.embed.weight.value().data()[0] == average.data()[0]);  // variables see them
    const Var mean = (Var(history[0]) + history[1] + history[2] + history[3]) / 4;
    CHECK(distance(average, mean.value()) < 1e-14);
    CHECK(m.loss(w.input, w.target).item() > last);  // earlier weights are mixed in
    CHECK(lacks(error_of([&] { asgd.step(); }), {"step", "AveragedWeights"}) == "");
    CHECK(lacks(error_of([&] { AveragedWeights second(asgd); }), {"averaged weights", "in use"}) == "");
  }
  CHECK(same_bits(m.params.values(), history[3]));
  CHECK(same_bits(*asgd.averages(), average));
  CHECK(m.loss(w.input, w.target).item() == last);
  m.contribute(w.input, w.target);
  asgd.step();
}

// They change places piece by piece.
TEST_CASE("so do those of a large model, all of them") {
  ParameterSet params(3);
  const Var w = params.add("w", {700, 1000}, Init::uniform(-1, 1)).var();
  Asgd asgd(params, {.learning_rate = 0.1});
  for (const real slope : {real(1), real(-3)}) {
    Tape tape;
    tape.backward(sum(w * w * slope));
    asgd.step();
  }
  const Tensor last = params.values().clone(), average = asgd.averages()->clone();
  CHECK(distance(average, last) > 0.1);
  {
    AveragedWeights guard(asgd);
    CHECK(same_bits(params.values(), average));
  }
  CHECK(same_bits(params.values(), last));
  CHECK(same_bits(*asgd.averages(), average));
}

TEST_CASE("averaged weights of other optimizers: there are none") {
  Pair m;
  Adam adam(m.params, {});
  give(m.a, {1, 1});
  adam.step();
  const Tensor before = m.params.values().clone();
  AveragedWeights guard(adam);
  CHECK(same_bits(m.params.values(), before));
}

TEST_CASE("the non-monotone trigger") {
  // Position (from 1) of the first loss at which it fires, 0 for never.
  const auto fires_at = [](int patience, const std::vector<double>& losses) {
    NonMonotoneTrigger trigger{.patience = patience};
    for (size_t i = 0; i < losses.size(); ++i)
      if (trigger(losses[i])) return static_cast<int>(i) + 1;
    return 0;
  };
  CHECK(fires_at(5, {9, 8, 7, 6, 5, 4, 3, 2, 1}) == 0);
  CHECK(fires_at(5, {1, 2, 3, 4, 5}) == 0);     // six are needed before the question arises
  CHECK(fires_at(5, {1, 2, 3, 4, 5, 6}) == 0);  // before the sixth there are five: none is more than 5 back
  CHECK(fires_at(5, {1, 2, 3, 4, 5, 6, 7}) == 7);     // 7 > min(1)
  CHECK(fires_at(5, {1, 2, 2, 2, 2, 2, 1}) == 0);     // equal is not above
  CHECK(fires_at(5, {9, 5, 4, 3, 2, 1, 8}) == 0);     // 8 < 9; that it is above the last five does not matter
  CHECK(fires_at(5, {9, 5, 4, 3, 2, 1, 8, 6}) == 8);  // 6 > min(9, 5)
  CHECK(fires_at(2, {3, 2, 2.5, 2.6, 2.1}) == 5);     // 2.1 > min(3, 2)
  CHECK(fires_at(0, {3, 3, 4}) == 3);
  CHECK(fires_at(1, {1, NAN, NAN}) == 0);

  // A copy goes on where the other stood.
  NonMonotoneTrigger trigger{.patience = 2};
  for (double loss : {3.0, 2.0, 1.0}) CHECK_FALSE(trigger(loss));
  NonMonotoneTrigger copy{.patience = 2, .history = trigger.history};
  CHECK(copy(3.5));
}

// --- going on ------------------------------------------------------------------------------------

TEST_CASE("from its state an optimizer goes on with the same bits") {
  for (const auto& [name, make] : makers) {
    for (const int saved_after : {0, 1, 3, 5}) {
      CAPTURE(name);
      CAPTURE(saved_after);
      RandomStream random(7, "state");
      std::vector<RandomWindow> windows;
      for (int i = 0; i < 10; ++i) windows.emplace_back(random);
      const auto train = [&](Model& m, Optimizer& optimizer, int begin, int end) {
        for (int i = begin; i < end; ++i) {
          optimizer.set_learning_rate(0.1 / (i + 1));
          m.contribute(windows[i].input, windows[i].target);
          optimizer.step({.max_norm = 0.25});
        }
      };
      Model whole;
      const auto untouched = make(whole.params);
      train(whole, *untouched, 0, 10);

      std::map<std::string, int64_t> counters;
      std::map<std::string, std::vector<real>> slabs;
      {
        Model m;
        const auto optimizer = make(m.params);
        train(m, *optimizer, 0, saved_after);
        const OptimizerState state = optimizer->whole_state();
        for (const auto& c : state.counters) counters[std::string(c.name)] = *c.value;
        for (const auto& s : state.slabs) slabs[std::string(s.name)] = s.values.to_host();
        slabs[""] = m.params.values().to_host();
        CHECK(*state.learning_rate == optimizer->learning_rate());
      }
      Model resumed;
      const auto optimizer = make(resumed.params);
      for (const auto& c : optimizer->whole_state().counters) *c.value = counters.at(std::string(c.name));
      const OptimizerState state = optimizer->whole_state();
      CHECK(state.slabs.size() + 1 == slabs.size());
      for (const auto& s : state.slabs)
        std::ranges::copy(slabs.at(std::string(s.name)), Tensor(s.values).data());
      std::ranges::copy(slabs.at(""), Tensor(resumed.params.values()).data());
      train(resumed, *optimizer, saved_after, 10);
      CHECK(same_bits(resumed.params.values(), whole.params.values()));
      CHECK((optimizer->averages() == nullptr) == (untouched->averages() == nullptr));
      if (optimizer->averages()) CHECK(same_bits(*optimizer->averages(), *untouched->averages()));
    }
  }
}

TEST_CASE("an optimizer that is set back to its beginning forgets what came after") {
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    RandomStream random(8, "back");
    std::vector<RandomWindow> windows;
    for (int i = 0; i < 6; ++i) windows.emplace_back(random);
    Model m;
    const auto optimizer = make(m.params);
    const Tensor first = m.params.values().clone();
    const auto train = [&] {
      m.params.values().copy_from(first);
      for (const auto& c : optimizer->state().counters)
        if (c.name != "average_after") *c.value = 0;
      for (const RandomWindow& w : windows) {
        m.contribute(w.input, w.target);
        optimizer->step();
      }
      return m.params.values().clone();
    };
    const Tensor once = train();
    CHECK(same_bits(train(), once));
  }
}

TEST_CASE("averaging that was started by hand goes on, begun or not") {
  for (const int saved_after : {2, 3, 5}) {  // averaging is started after 3 steps
    CAPTURE(saved_after);
    const AsgdConfig config{.learning_rate = 0.5, .average_after = AsgdConfig::never};
    const auto train = [](Pair& m, Asgd& asgd, int begin, int end) {
      for (int i = begin; i < end; ++i) {
        give(m.a, {real(i), 1});
        asgd.step();
        if (i == 2) asgd.start_averaging();
      }
    };
    Pair whole, part, resumed;
    Asgd untouched(whole.params, config), saved(part.params, config), loaded(resumed.params, config);
    train(whole, untouched, 0, 9);
    train(part, saved, 0, saved_after);
    const OptimizerState from = saved.whole_state(), to = loaded.whole_state();
    for (size_t i = 0; i < from.counters.size(); ++i) *to.counters[i].value = *from.counters[i].value;
    resumed.params.values().copy_from(part.params.values());
    for (size_t i = 0; i < from.slabs.size(); ++i)
      loaded.whole_state().slabs[i].values.copy_from(from.slabs[i].values);
    train(resumed, loaded, saved_after, 9);
    CHECK(loaded.averaged() == 6);
    CHECK(same_bits(*loaded.averages(), *untouched.averages()));
  }
}

TEST_CASE("the state says which slabs there are") {
  const auto names = [](Optimizer& optimizer) {
    std::vector<std::string> result;
    for (const auto& s : optimizer.whole_state().slabs) result.emplace_back(s.name);
    return result;
  };
  using Names = std::vector<std::string>;
  const std::map<std::string, Names> expected = {
      {"sgd", {}},
      {"sgd with decay", {}},
      {"momentum", {"momentum_buffer"}},
      {"nesterov", {"momentum_buffer"}},
      {"adam", {"exp_avg", "exp_avg_sq"}},
      {"adamw", {"exp_avg", "exp_avg_sq"}},
      {"rmsprop", {"square_avg"}},
      {"rmsprop with momentum", {"square_avg", "momentum_buffer"}},
      {"lion", {"exp_avg"}},
      {"adam with an average", {"exp_avg", "exp_avg_sq", "moving_average"}},
      {"asgd", {"average"}}};
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    Pair m;
    const auto optimizer = make(m.params);
    CHECK(names(*optimizer).empty());
    for (int step = 0; step < 4; ++step) give(m.a, {0, 0}), optimizer->step();
    CHECK(names(*optimizer) == expected.at(name));
  }
}
