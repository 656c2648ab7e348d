// Every network of the table, by itself: what it forecasts moves with its window, and its gradient is right.
#include <cmath>

#include "examples/timeseries/networks/model.h"
#include "examples/timeseries/networks/trained_on.cpp"
#include "framework/ops.h"
#include "tests/support.h"

using namespace unroll;
using namespace timeseries;

namespace {

// Windows of 12 rows of two targets and a feature of the calendar; two quantiles of 6 rows.
struct Case {
  const NetworkRow& row;
  Normalization normalization;
  bool shared = false;
  SeriesNetwork network{plan(), 3};
  RandomStream random{5, "windows"};
  Tensor input = random_tensor({12, 4, 3}, random);

  NetworkPlan plan() {
    NetworkKeys keys;
    keys.architecture = &row, keys.normalization = normalization, keys.shared_channels = shared;
    keys.hidden = 6, keys.segment = row.reads("segment") ? 3 : 1;
    keys.dropout = 0.5f;  // which acts in training alone
    keys.highway = row.reads("highway") ? 4 : 0;
    return {keys,
            {.name = "test", .window = 12, .horizon = 6, .quantiles = {0.5, 0.9}},
            {.inputs = 3, .calendar = 1, .targets = {1, 0}}};
  }
};

template <class F>
void for_each_case(F check) {
  for (const NetworkRow& row : series_networks)
    for (const Normalization normalization :
         {Normalization::none, Normalization::last, Normalization::window})
      for (const bool shared : {false, true}) {
        if (shared && !row.reads("shared_channels")) continue;
        CAPTURE(row.word);
        CAPTURE(static_cast<int>(normalization));
        CAPTURE(shared);
        Case one{row, normalization, shared};
        check(one);
      }
}

// The input with targets times `scale` plus `shift`; the calendar stays.
Tensor moved(const Tensor& input, real scale, real shift) {
  return concat(Vars{slice(input, 2, 0, 2) * scale + shift, slice(input, 2, 2, 3)}, 2).value();
}

double furthest(const Tensor& a, const Tensor& b) { return static_cast<double>(max(abs(sub(a, b))).item()); }

}  // namespace

TEST_CASE("networks: a forecast has the level of its window, and the scale if that is normalised, too") {
  for_each_case([](Case& c) {
    const Tensor y = c.network.predict(c.input);
    REQUIRE(y.shape() == Shape{2, 6, 4, 2});
    CHECK(std::isfinite(sum(y).item()));
    if (c.normalization == Normalization::none) return;
    const real scale = c.normalization == Normalization::window ? 3 : 1;
    CHECK(furthest(c.network.predict(moved(c.input, scale, 2)), (y * scale + real(2)).value()) < 1e-3);
    CHECK(furthest(c.network.predict(moved(c.input, scale, 2)), y) > 0.1);
  });
}

TEST_CASE("networks: a window is forecast as if it were alone, and a target by channel, too") {
  for_each_case([](Case& c) {
    const Tensor y = c.network.predict(c.input);
    const Tensor third = c.network.predict(slice(c.input, 1, 2, 3).value());
    CHECK(furthest(third, slice(y, 2, 2, 3).value()) < 1e-5);
    const bool by_channel = c.network.plan().by_channel();
    const Tensor other = moved(c.input, -2, 1);
    const Tensor own = concat(Vars{slice(other, 2, 0, 1), slice(c.input, 2, 1, 3)}, 2).value();
    // The first target is column 1.
    const double change = furthest(slice(c.network.predict(own), 3, 0, 1).value(), slice(y, 3, 0, 1).value());
    CHECK((change == 0) == by_channel);
    if (!by_channel) return;
    const NoTape guard;
    const Vars all = c.network.outputs(c.network.window(c.input)),
               one = c.network.outputs(c.network.window(c.input, 1));
    for (size_t q = 0; q < 2; ++q)
      CHECK(furthest(one[q].value(), row(transpose(reshape(all[q], {4, 2, 6}), 0, 1), 1).value()) < 1e-5);
  });
}

TEST_CASE("networks: dropout acts on what the dense layer after recurrent ones reads, in training alone") {
  for_each_case([](Case& c) {
    const auto forecast = [&] { return c.network.outputs(c.network.window(c.input))[0].value(); };
    {
      const NoTape guard;
      CHECK(furthest(forecast(), forecast()) == 0);
    }
    const Tape tape;
    CHECK((furthest(forecast(), forecast()) > 0) == c.row.reads("cell"));
  });
}

TEST_CASE("networks: the gradient of a forecast goes back to the window's values") {
  for_each_case([](Case& c) {
    const Tensor weights = random_tensor(
        {4 * c.network.plan().targets() / c.network.plan().width(), 6 * c.network.plan().width()}, c.random);
    const auto forecast = [&](const Var& x) {
      const Vars y = c.network.outputs(c.network.window(x));
      return sum((y[0] + y[1] * y[1]) * Var(weights));
    };
    Tape tape({.dropout = false});
    const Var x = tape.watch(c.input);
    tape.backward(forecast(x));
    const Tensor gradient = x.grad();
    const NoTape guard;
    const real by = real(2e-3);
    const Var direction = random_tensor(c.input.shape(), c.random);
    const Var up = forecast(add(c.input, direction * by)), down = forecast(sub(c.input, direction * by));
    CHECK(((up - down) / (2 * by)).item() ==
          doctest::Approx(sum(mul(gradient, direction)).item()).epsilon(0.02));
    c.network.params.spend_gradients();
  });
}

TEST_CASE("what trained on later rows and then on earlier ones of a series without times knows all of them") {
  const auto counting_from = [](int first) {
    std::string text = "x\n";
    for (int row = 0; row < 12; ++row) text += fmt::format("{}\n", first + row);
    return parse_series(text, "x.csv");
  };
  const Series series = counting_from(5);
  TrainedOn trained = trained_on(series, {{6, 10, 6}});
  trained.add(series, {{2, 6, 2}});
  const auto warning = trained.warning_of(series, {{0, 5, 0}}, "the test");
  REQUIRE(warning);
  CHECK(lacks(*warning, {"3 of the 5 rows of the test", "rows 2 to 9"}) == "");
  CHECK(!trained.warning_of(counting_from(6), {{0, 5, 0}}, "the test"));  // another series
}
