// Schedules of the learning rate and of the momentum, against tables worked out by hand and PyTorch's.
#include "optim/schedule.h"

#include "tests/optim_helpers.h"
#include "tests/reference.h"

using namespace unroll;
using doctest::Approx;

TEST_CASE("constant") {
  const Schedule schedule{.learning_rate = 0.3};
  for (int epoch : {0, 7, 1000}) CHECK(schedule.rate(epoch, 5 * epoch) == 0.3);
}

TEST_CASE("step decay: the tables of TensorFlow's ptb_word_lm.py") {
  // small: max_epoch 4, lr_decay 0.5; medium: 6, 0.8; large: 14, 1/1.15
  const Schedule small{.kind = Schedule::Kind::step, .learning_rate = 1, .after = 4, .factor = 0.5};
  const std::vector<double> table = {1,      1,        1,        1,         0.5,       0.25,     0.125,
                                     0.0625, 1.0 / 32, 1.0 / 64, 1.0 / 128, 1.0 / 256, 1.0 / 512};
  for (int epoch = 0; epoch < 13; ++epoch) CHECK(small.rate(epoch, 0) == table[epoch]);
  const Schedule medium{.kind = Schedule::Kind::step, .learning_rate = 1, .after = 6, .factor = 0.8};
  CHECK(medium.rate(5, 0) == 1);
  CHECK(medium.rate(6, 0) == 0.8);
  CHECK(medium.rate(38, 0) == Approx(0.000633825300114115).epsilon(1e-13));  // 0.8^33
  const Schedule large{.kind = Schedule::Kind::step, .learning_rate = 1, .after = 14, .factor = 1 / 1.15};
  CHECK(large.rate(13, 0) == 1);
  CHECK(large.rate(15, 0) == Approx(1 / 1.15 / 1.15).epsilon(1e-15));
  // after = 0: decays before the first epoch, as the formula says
  CHECK(Schedule{.kind = Schedule::Kind::step, .after = 0, .factor = 0.5}.rate(0, 0) == 0.5);
}

TEST_CASE("plateau: divided whenever validation is not better than the best so far") {
  Schedule schedule{.kind = Schedule::Kind::plateau, .learning_rate = 20, .factor = 4};
  const std::vector<std::pair<double, double>> losses_and_rates = {
      {5.5, 20},   {5.0, 20},     {5.2, 5},         {5.0, 1.25},
      {4.9, 1.25}, {NAN, 0.3125}, {4.95, 0.078125}, {4.0, 0.078125}};
  double best = infinity;
  for (const auto& [loss, rate] : losses_and_rates) {
    CHECK(schedule.validated(loss) == (loss < best));
    best = std::fmin(best, loss);
    CHECK(schedule.rate(3, 1234) == rate);
    CHECK(schedule.best == best);
    const Schedule copy = schedule;  // a copy is a checkpoint
    CHECK(copy.rate(0, 0) == rate);
  }
  // The other kinds only remember the best.
  Schedule constant{.learning_rate = 2};
  CHECK(constant.validated(3));
  CHECK_FALSE(constant.validated(4));
  CHECK(constant.best == 3);
  CHECK(constant.divisions == 0);
  CHECK(constant.rate(9, 9) == 2);
}

TEST_CASE("cosine with warm-up") {
  const Schedule schedule{
      .kind = Schedule::Kind::cosine, .learning_rate = 1, .warmup = 3, .total = 11, .final_rate = 0.2};
  const double half = std::sqrt(0.5);
  const std::vector<double> table = {0.25,
                                     0.5,
                                     0.75,
                                     1,
                                     0.6 + 0.4 * std::cos(std::acos(-1.0) / 8),
                                     0.6 + 0.4 * half,
                                     0.6 + 0.4 * std::sin(std::acos(-1.0) / 8),
                                     0.6};
  for (int step = 0; step < 8; ++step) CHECK(schedule.rate(99, step) == Approx(table[step]).epsilon(1e-15));
  CHECK(schedule.rate(0, 9) == Approx(0.6 - 0.4 * half).epsilon(1e-15));
  CHECK(schedule.rate(0, 11) == 0.2);
  CHECK(schedule.rate(0, 1000000) == 0.2);
  // It falls at every step after the warm-up, and a schedule without one starts at the top.
  for (int step = 3; step < 11; ++step) CHECK(schedule.rate(0, step + 1) < schedule.rate(0, step));
  CHECK(Schedule{.kind = Schedule::Kind::cosine, .learning_rate = 0.5, .total = 10}.rate(0, 0) == 0.5);
}

namespace {

// 20 steps from the first to the last, in phases of 2, 4, 8 and 6.
const Schedule cycle{.kind = Schedule::Kind::one_cycle,
                     .learning_rate = 1,
                     .total = 21,
                     .final_rate = 1.0 / 64,
                     .start_rate = 0.25,
                     .phases = {0.5, 1, 2, 1.5},
                     .momentum = {.low = 0.5, .high = 0.75}};

}  // namespace

TEST_CASE("one cycle: rate and momentum at every step of its four phases") {
  const std::vector<double> rates = {0.25,      0.625,    1,                   // up to the peak
                                     0.8125,    0.625,    0.4375,    0.25,     // down to the start
                                     0.2265625, 0.203125, 0.1796875, 0.15625,  // and to
                                     0.1328125, 0.109375, 0.0859375, 0.0625,   // √(1/4 · 1/64) = 1/16
                                     0.0546875, 0.046875, 0.0390625, 0.03125, 0.0234375,  // to the end
                                     0.015625};
  const std::vector<double> momenta = {0.75, 0.625, 0.5, 0.5625, 0.625, 0.6875, 0.75};
  REQUIRE(std::ssize(rates) == cycle.total);
  for (int step = 0; step < std::ssize(rates); ++step) {
    CAPTURE(step);
    CHECK(cycle.rate(step % 3, step) == Approx(rates[step]).epsilon(1e-15));  // whatever the epoch
    CHECK(*cycle.momentum_at(step) == Approx(step < 7 ? momenta[step] : 0.75).epsilon(1e-15));
  }
  for (const int64_t step :
       {int64_t{20}, int64_t{21}, int64_t{1} << 40}) {  // the end, and whatever comes after it
    CHECK(cycle.rate(0, step) == 1.0 / 64);
    CHECK(*cycle.momentum_at(step) == 0.75);
  }
  // Borders between steps: the peak of 90 epochs of 10 steps is between 74 and 75, half of its 899 steps after 449.
  const Schedule halves{.kind = Schedule::Kind::one_cycle,
                        .learning_rate = 1,
                        .total = 900,
                        .final_rate = 0.001,
                        .start_rate = 0.1,
                        .phases = {7.5, 37.5, 37.5, 7.5}};
  const double border = 899 * 7.5 / 90;
  CHECK(halves.rate(0, 74) == Approx(0.1 + 0.9 * 74 / border).epsilon(1e-13));
  CHECK(halves.rate(0, 75) == Approx(1 - 0.9 * (75 - border) / (5 * border)).epsilon(1e-13));
  CHECK(halves.rate(0, 450) == Approx(0.1 - 0.09 * (450 - 449.5) / (5 * border)).epsilon(1e-13));
  CHECK(halves.rate(0, 899) == 0.001);
  // One step is all of them: the first.
  const Schedule single{.kind = Schedule::Kind::one_cycle, .learning_rate = 1, .total = 1, .start_rate = 0.5};
  CHECK(single.rate(0, 0) == 0.5);
  CHECK(*single.momentum_at(0) == 0.95);
  for (const Schedule::Kind other : {Schedule::Kind::constant, Schedule::Kind::cosine})
    CHECK_FALSE(Schedule{.kind = other, .total = 9}.momentum_at(3));
}

// The bowl lets no error grow, so 41 steps have 41 times that of one: two dozen roundings of 1.1e-16, of numbers up to 2.
// Together 2.2e-13.
TEST_CASE("one cycle over rate and momentum: the path of PyTorch's optimizers under OneCycleLR") {
  const Json& json = reference("one_cycle.json");
  const auto steps = json.at("steps").get<int64_t>();
  const auto peak = json.at("peak").get<double>();
  const Schedule schedule{.kind = Schedule::Kind::one_cycle,
                          .learning_rate = peak,
                          .total = steps,
                          .final_rate = peak / 16,
                          .start_rate = peak / 4,
                          .phases = {1, 1, 2, 1},
                          .momentum = {0.85, 0.95}};
  const std::map<std::string, Maker> of_torch = {
      {"sgd", [](auto& p) { return std::make_unique<Sgd>(p, SgdConfig{.momentum = 0.95}); }},
      {"sgd_nesterov",
       [](auto& p) { return std::make_unique<Sgd>(p, SgdConfig{.momentum = 0.95, .nesterov = true}); }},
      {"adam", [](auto& p) { return std::make_unique<Adam>(p, AdamConfig{.beta2 = 0.99}); }},
      {"adamw",
       [](auto& p) { return std::make_unique<AdamW>(p, AdamWConfig{.beta2 = 0.99, .weight_decay = 0.05}); }}};
  REQUIRE(json.at("runs").size() == of_torch.size());
  for (const auto& [name, make] : of_torch) {
    CAPTURE(name);
    const Json& run = json.at("runs").at(name);
    ParameterSet params;
    Parameter& p = params.add("p", {3}, Init::constant(0));
    p.leaf_value().copy_from(tensor({3}, json.at("initial").get<std::vector<real>>()));
    const auto optimizer = make(params);
    const auto curvature = json.at("curvature").get<std::vector<double>>();
    double worst = 0;
    for (int64_t step = 0; step < steps; ++step) {
      CHECK(schedule.rate(0, step) == Approx(run.at("rates").at(step).get<double>()).epsilon(1e-14));
      CHECK(*schedule.momentum_at(step) == Approx(run.at("momenta").at(step).get<double>()).epsilon(1e-14));
      optimizer->set_learning_rate(schedule.rate(0, step));
      optimizer->set_momentum(*schedule.momentum_at(step));
      std::vector<real> gradient = weights(p);
      for (size_t i = 0; i < gradient.size(); ++i) gradient[i] *= curvature[i];
      give(p, gradient);
      optimizer->step();
      const auto path = run.at("path").at(step).get<std::vector<double>>(), ours = weights(p);
      for (size_t i = 0; i < path.size(); ++i) worst = std::max(worst, std::abs(ours[i] - path[i]));
    }
    CHECK_MESSAGE(worst < 2.2e-13, worst);
  }
}

TEST_CASE("warm-up rises to what any schedule says") {
  using Kind = Schedule::Kind;
  const Schedule constant{.learning_rate = 2, .warmup = 3};
  for (int step = 0; step < 3; ++step) CHECK(constant.rate(0, step) == 2 * (step + 1) / 4.0);
  CHECK(constant.rate(0, 3) == 2);
  // A decay within the warm-up is not lost.
  const Schedule halved{.kind = Kind::step, .learning_rate = 1, .after = 1, .factor = 0.5, .warmup = 9};
  CHECK(halved.rate(0, 4) == 0.5);
  CHECK(halved.rate(1, 4) == 0.25);
  CHECK(halved.rate(1, 9) == 0.5);
  Schedule plateau{.kind = Kind::plateau, .learning_rate = 1, .factor = 4, .warmup = 1};
  (void)plateau.validated(1), (void)plateau.validated(2);
  CHECK(plateau.rate(2, 0) == 0.125);
  CHECK(plateau.rate(2, 1) == 0.25);
}

TEST_CASE("schedules that make no sense are refused") {
  using Kind = Schedule::Kind;
  const auto refuses = [](const Schedule& s, const std::string& part) {
    return lacks(error_of([&] { s.check(); }), {"schedule", part});
  };
  CHECK(refuses({.learning_rate = -1}, "learning_rate -1") == "");
  CHECK(refuses({.kind = Kind::step, .after = -2}, "after = -2") == "");
  CHECK(refuses({.kind = Kind::step, .factor = 1.5}, "factor 1.5") == "");
  CHECK(refuses({.kind = Kind::step, .factor = 0}, "factor 0") == "");
  CHECK(refuses({.kind = Kind::plateau, .factor = 0.25}, "0.25") == "");
  CHECK(refuses({.kind = Kind::cosine, .warmup = 5, .total = 5}, "total = 5") == "");
  for (Kind kind : {Kind::constant, Kind::step, Kind::plateau, Kind::cosine, Kind::one_cycle})
    CHECK(refuses({.kind = kind, .factor = 1, .warmup = -1, .total = 5}, "warmup = -1") == "");
  CHECK(refuses({.kind = Kind::cosine, .learning_rate = 1, .total = 5, .final_rate = 2}, "final_rate 2") ==
        "");
  // Each of a cycle's numbers.
  const auto changed = [](auto change) {
    Schedule s = cycle;
    change(s);
    return s;
  };
  CHECK(refuses(changed([](Schedule& s) { s.total = 0; }), "total = 0") == "");
  CHECK(refuses(changed([](Schedule& s) { s.warmup = 3; }), "warmup = 3") == "");
  CHECK(refuses(changed([](Schedule& s) { s.start_rate = 2; }), "start_rate 2 and learning_rate 1") == "");
  CHECK(refuses(changed([](Schedule& s) { s.final_rate = 0.5; }), "final_rate 0.5") == "");
  CHECK(refuses(changed([](Schedule& s) { s.final_rate = -1; }), "final_rate -1") == "");
  CHECK(refuses(changed([](Schedule& s) { s.phases[2] = 0; }), "length 0") == "");
  CHECK(refuses(changed([](Schedule& s) { s.phases[3] = NAN; }), "length nan") == "");
  CHECK(refuses(changed([](Schedule& s) { s.momentum = {0.9, 0.8}; }), "from 0.9 to 0.8") == "");
  CHECK(refuses(changed([](Schedule& s) { s.momentum = {0.9, 1}; }), "from 0.9 to 1") == "");
  CHECK(lacks(error_of([] { (void)Schedule{.kind = Kind::one_cycle}.rate(0, 0); }), {"total = 0"}) == "");
  CHECK_NOTHROW(cycle.check());
  for (const Schedule& good :
       {Schedule{}, Schedule{.kind = Kind::step, .after = 4}, Schedule{.kind = Kind::cosine, .total = 1},
        Schedule{.kind = Kind::plateau, .factor = 4}})
    CHECK_NOTHROW(good.check());
}
