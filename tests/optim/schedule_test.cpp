// Schedules of the learning rate, against tables worked out by hand.
#include "optim/schedule.h"

#include "tests/optim_helpers.h"

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
  for (Kind kind : {Kind::constant, Kind::step, Kind::plateau, Kind::cosine})
    CHECK(refuses({.kind = kind, .factor = 1, .warmup = -1, .total = 5}, "warmup = -1") == "");
  CHECK(refuses({.kind = Kind::cosine, .learning_rate = 1, .total = 5, .final_rate = 2}, "final_rate 2") ==
        "");
  for (const Schedule& good :
       {Schedule{}, Schedule{.kind = Kind::step, .after = 4}, Schedule{.kind = Kind::cosine, .total = 1},
        Schedule{.kind = Kind::plateau, .factor = 4}})
    CHECK_NOTHROW(good.check());
}
