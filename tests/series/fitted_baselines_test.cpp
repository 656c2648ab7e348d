// Baselines beside what statsmodels and statsforecast find for the same rows (tests/reference/make_baselines.py), and what they
// do with rows that are later, filled in, too few or all alike.
#include <cmath>
#include <numbers>
#include <numeric>

#include <nlohmann/json.hpp>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/baselines/ets.h"
#include "examples/timeseries/baselines/theta.h"
#include "tests/reference.h"
#include "tests/series/fitted.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Values = std::vector<double>;

const nlohmann::json& recorded() { return reference("baselines.json"); }

EtsForm form_of(const std::string& name) {
  EtsForm form;
  form.multiplicative_error = name[0] == 'M';
  form.trend = name[1] == 'N'   ? EtsForm::Trend::none
               : name[2] == 'd' ? EtsForm::Trend::damped
                                : EtsForm::Trend::additive;
  form.season = name.back() == 'N'   ? EtsForm::Season::none
                : name.back() == 'A' ? EtsForm::Season::additive
                                     : EtsForm::Season::multiplicative;
  return form;
}

// To so many digits of the largest of them.
void check_near(const Values& found, const Values& expected, double digits) {
  REQUIRE(found.size() == expected.size());
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK_MESSAGE(std::abs(found[i] - expected[i]) <= std::pow(10, -digits) * largest, i, ": ", found[i], " ",
                  expected[i]);
}

// Forecasts the rows after the last of a series that is by itself.
Values forecast_of(const ForecastBaseline& baseline, const Series& series, std::size_t steps) {
  Values forecast(steps);
  baseline.forecast(series, series.rows(), 0, forecast);
  return forecast;
}

// By central differences of a step that is small beside the number and large beside what rounding leaves of the likelihood: they
// are off by its square, and by 1e-11 over it.
void check_slopes(const EtsModel& model, const Values& y) {
  EtsModel slopes;
  log_likelihood(model, {y}, &slopes);
  const auto check = [&](const char* name, double value, double slope, auto set) {
    const double step = 1e-5 * std::max(std::abs(value), 1e-3);
    const auto at = [&](double moved) {
      EtsModel other = model;
      set(other, moved);
      return log_likelihood(other, {y});
    };
    const double found = (at(value + step) - at(value - step)) / (2 * step);
    CHECK_MESSAGE(std::abs(found - slope) <= 1e-4 * std::abs(slope) + 1e-10 / step, name, ": ", found, " ",
                  slope);
  };
  check("alpha", model.alpha, slopes.alpha, [](EtsModel& m, double x) { m.alpha = x; });
  check("level", model.level, slopes.level, [](EtsModel& m, double x) { m.level = x; });
  if (model.form.trend != EtsForm::Trend::none) {
    check("beta", model.beta, slopes.beta, [](EtsModel& m, double x) { m.beta = x; });
    check("slope", model.slope, slopes.slope, [](EtsModel& m, double x) { m.slope = x; });
  }
  if (model.form.trend == EtsForm::Trend::damped)
    check("phi", model.phi, slopes.phi, [](EtsModel& m, double x) { m.phi = x; });
  if (model.season.empty()) return;
  check("gamma", model.gamma, slopes.gamma, [](EtsModel& m, double x) { m.gamma = x; });
  for (std::size_t k = 0; k < model.season.size(); ++k)
    check("season", model.season[k], slopes.season[k], [k](EtsModel& m, double x) { m.season[k] = x; });
}

Values wave(int rows, double noise) {
  RandomStream random(1, "baselines");
  Values y;
  for (int t = 0; t < rows; ++t)
    y.push_back(50 + 0.1 * t + 10 * std::sin(2 * std::numbers::pi * t / 6) +
                noise * (random.uniform() - 0.5));
  return y;
}

}  // namespace

// statsmodels' search may stop short of the best, and so may ours, each within what its own end condition lets pass.
TEST_CASE("ETS: states, likelihood and forecasts are statsmodels', and the fit is no less likely") {
  for (const auto& [name, data] : recorded().items()) {
    const Values y = data["y"];
    std::string least;
    for (const auto& [form, of] : data["ets"].items()) {
      CAPTURE(name + " " + form);
      EtsModel model{.form = form_of(form),
                     .alpha = of["alpha"],
                     .beta = of["beta"],
                     .gamma = of["gamma"],
                     .phi = of["phi"],
                     .level = of["level"],
                     .slope = of["slope"],
                     .season = of["season"]};
      CHECK(model.form.name() == form);
      const double theirs = of["log_likelihood"];
      CHECK(log_likelihood(model, {y}) == doctest::Approx(theirs).epsilon(1e-9));
      check_slopes(model, y);
      States<EtsModel> states(model);
      for (const double value : y) states.add(value);
      Values forecast(of["forecast"].size());
      states.forecast(states.rows(), forecast);
      check_near(forecast, of["forecast"], 8);

      const auto fitted = fit_ets(model.form, {y}, data["period"]);
      REQUIRE(fitted);
      CHECK(log_likelihood(*fitted, {y}) == doctest::Approx(fitted->log_likelihood).epsilon(1e-9));
      CHECK(fitted->log_likelihood > theirs - 0.1);
      if (least.empty() || of["aicc"] < data["ets"][least]["aicc"]) least = form;
    }
    const auto chosen = choose_ets({y}, data["period"]);
    REQUIRE(chosen);
    CHECK(chosen->form.name() == least);
    CHECK(chosen->aicc <= data["ets"][least]["aicc"].get<double>() + 0.2);
  }
}

TEST_CASE("Theta: α, share and forecasts are those of statsforecast's optimised method") {
  for (const auto& [name, data] : recorded().items())
    for (const auto& [key, period] :
         {std::pair<std::string, int64_t>{"theta", data["period"]}, {"theta_plain", 1}}) {
      CAPTURE(name + " " + key);
      if (!data.contains(key)) continue;
      const auto& of = data[key];
      const Values y = data["y"];
      const auto model = fit_theta({y}, period);
      REQUIRE(model);
      CHECK(model->variance * static_cast<double>(y.size() - 3) ==
            doctest::Approx(of["squares"].get<double>()).epsilon(1e-9));
      // The sum of squares is flat where it is least: an error of 1e-12 in it is one of 1e-6 in these.
      CHECK(model->share == doctest::Approx(of["share"].get<double>()).epsilon(1e-4));
      CHECK(model->alpha == doctest::Approx(of["alpha"].get<double>()).epsilon(1e-4));
      States<ThetaModel> states(*model);
      for (const double value : y) states.add(value);
      Values forecast(of["forecast"].size());
      states.forecast(states.rows(), forecast);
      check_near(forecast, of["forecast"], 4);
    }
}

// n r_4² / (1 + 2 Σ r_k²) is 1.96 for 28 rows of a ramp, below 1.645²; with Σ counted once it would be 3.24.
// c_j is how much an error moves the forecast j rows later; the variance is σ² (1 + Σ c_j²), or for relative errors as below
// (chapter 6 of the book).
TEST_CASE("deviations of ETS and Theta grow with the steps ahead as their forms say") {
  const auto squares = [](const EtsModel& model, std::size_t steps) {
    Values found(steps);
    States<EtsModel>(model).deviations(0, found);
    for (double& value : found) value *= value;
    return found;
  };
  EtsModel model{
      .form = form_of("ANA"), .alpha = 0.3, .gamma = 0.2, .level = 10, .season = {1, -1}, .variance = 4};
  check_near(squares(model, 4), {4, 4 * 1.09, 4 * (1.09 + 0.25), 4 * (1.09 + 0.25 + 0.09)}, 12);
  model = {
      .form = form_of("AAdN"), .alpha = 0.3, .beta = 0.1, .phi = 0.5, .level = 10, .slope = 1, .variance = 4};
  check_near(squares(model, 3), {4, 4 * (1 + 0.35 * 0.35), 4 * (1 + 0.35 * 0.35 + 0.375 * 0.375)}, 12);
  model = {.form = form_of("MNN"), .alpha = 0.5, .level = 10, .variance = 0.04};
  check_near(squares(model, 3), {100 * 0.04, 100 * (1.04 * 1.01 - 1), 100 * (1.04 * 1.01 * 1.01 - 1)}, 12);
  // A season that multiplies: times its square, and its own errors count from the second period on.
  model = {
      .form = form_of("MNM"), .alpha = 0.5, .gamma = 0.25, .level = 10, .season = {2, 0.5}, .variance = 0.04};
  check_near(squares(model, 3), {400 * 0.04, 25 * (1.04 * 1.01 - 1), 400 * (1.04 * 1.01 * 1.01 * 1.0025 - 1)},
             12);
  ThetaModel theta{.alpha = 0.5, .first = 10, .season = {2, 0.5}, .multiplies = true, .variance = 4};
  Values found(3);
  States<ThetaModel>(theta).deviations(0, found);
  check_near(found, {2 * 2, 0.5 * 2 * std::sqrt(1.25), 2 * 2 * std::sqrt(1.5)}, 12);
  theta.multiplies = false;
  States<ThetaModel>(theta).deviations(0, found);
  check_near(found, {2, 2 * std::sqrt(1.25), 2 * std::sqrt(1.5)}, 12);
}

TEST_CASE("a ramp has no season, though rows four apart are alike") {
  Values ramp(28);
  std::iota(ramp.begin(), ramp.end(), 0.0);
  const auto model = fit_theta({ramp}, 4);
  REQUIRE(model);
  CHECK(model->season.empty());
}

TEST_CASE("the naive forecasts are statsforecast's") {
  for (const auto& [name, data] : recorded().items()) {
    CAPTURE(name);
    const Series series = make_series({"y"}, data["y"]);
    const Part all = {{0, series.rows(), 0}};
    for (const ForecastBaseline& baseline :
         {last_value(), drift(), seasonal_naive(data["period"]), training_mean(series, all)}) {
      const std::string key = baseline.name.substr(0, baseline.name.find(" ("));
      CAPTURE(key);
      const Values expected = data["naive"][key];
      check_near(forecast_of(baseline, series, expected.size()), expected, 6);  // statsforecast has float32
    }
  }
}

TEST_CASE("ETS and Theta learn from training rows alone, and go on from the rows before the origin") {
  const Series series = make_series({"y"}, wave(120, 2));
  Series later = series;
  for (int64_t row = 80; row < later.rows(); ++row) later.values[static_cast<std::size_t>(row)] *= 3;
  const Part train = {{0, 80, 0}};
  for (const auto fit : {ets, theta}) {
    const auto a = fitted(fit, series, train, {.period = 6}), b = fitted(fit, later, train, {.period = 6});
    REQUIRE(a);
    REQUIRE(b);
    CAPTURE(a->name);
    CHECK(a->detail == b->detail);
    Values of_a(12), of_b(12);
    a->forecast(series, 80, 0, of_a), b->forecast(later, 80, 0, of_b);
    CHECK(of_a == of_b);
    a->forecast(series, 100, 0, of_a);
    // Asked again for an earlier origin, they know no more than before.
    Values again(12);
    a->forecast(series, 80, 0, again);
    CHECK(again == of_b);
    b->forecast(later, 100, 0, of_b);
    CHECK(std::abs(of_a[0] - of_b[0]) > 1);
    for (int h = 0; h < 12; ++h)  // the wave goes on
      CHECK(std::abs(of_a[static_cast<std::size_t>(h)] - series.at(100 + h, 0)) < 5);
  }
}

TEST_CASE("a filled-in row moves the states, and its error does not count") {
  Values y = wave(90, 2);
  std::vector<uint8_t> filled(y.size());
  for (const std::size_t row : {20u, 21u, 50u}) y[row] += 40, filled[row] = 1;
  const auto model = fit_ets(form_of("ANA"), {y, filled}, 6);
  REQUIRE(model);
  const double known = log_likelihood(*model, {y, filled});
  CHECK(known > log_likelihood(*model, {y}));
  CHECK(known == doctest::Approx(model->log_likelihood));
  CHECK(known > fit_ets(form_of("ANA"), {y}, 6)->log_likelihood);
  // Two weights, the level, five of six states and the variance are fitted to the observed rows (Hurvich and Tsai 1989).
  const double n = static_cast<double>(y.size()) - 3, k = 9;
  CHECK(model->aicc ==
        doctest::Approx(-2 * model->log_likelihood + 2 * k + 2 * k * (k + 1) / (n - k - 1)).epsilon(1e-12));
  const auto smooth = fit_theta({y, filled}, 6), rough = fit_theta({y}, 6);
  REQUIRE(smooth);
  CHECK(smooth->variance < rough->variance / 2);
  // Without a season: no other weight, share or first level near these has smaller errors on the rows that were observed.
  const auto level = fit_theta({y, filled}, 1);
  const auto squares = [&](const ThetaModel& of) {
    double at = of.first, sum = 0;
    for (std::size_t t = 0; t < y.size(); ++t) {
      const double ahead = (1 - std::pow(1 - of.alpha, static_cast<double>(t + 1))) / of.alpha,
                   error = y[t] - at - of.share * of.slope * ahead;
      if (!filled[t]) sum += error * error;
      at += of.alpha * (y[t] - at);
    }
    return sum;
  };
  CHECK(squares(*level) == doctest::Approx(level->variance * (static_cast<double>(y.size()) - 6)));
  for (const double off : {-0.01, 0.01}) {
    ThetaModel alpha = *level, share = *level, first = *level;
    alpha.alpha = std::clamp(level->alpha + off, 0.1, 1.0),
    share.share = std::clamp(share.share + off, 0.0, 1.0), first.first += off;
    for (const ThetaModel& other : {alpha, share, first})
      CHECK(squares(*level) <= squares(other) * (1 + 1e-9));
  }
  CHECK_FALSE(fit_theta({y, std::vector<uint8_t>(y.size(), 1)}, 6));
}

TEST_CASE("too few rows, rows that are all alike, a perfect line, values that are not above 0") {
  CHECK_FALSE(choose_ets({Values{1, 2, 4}}, 1));
  CHECK_FALSE(fit_ets(form_of("AAA"), {wave(11, 1)}, 6));  // less than two periods
  CHECK_FALSE(fit_theta({Values{1, 2, 3}}, 1));
  const auto constant = choose_ets({Values(30, 7)}, 6);
  REQUIRE(constant);
  States<EtsModel> states(*constant);
  for (int t = 0; t < 30; ++t) states.add(7);
  Values two(2);
  states.forecast(30, two);
  CHECK(two == Values{7, 7});
  Values line;
  for (int t = 0; t < 40; ++t) line.push_back(2 * t - 30);
  const auto straight = choose_ets({line}, 1);
  REQUIRE(straight);
  CHECK_FALSE(straight->form.multiplicative_error);
  CHECK(straight->form.trend != EtsForm::Trend::none);
  States<EtsModel> on(*straight);
  for (const double value : line) on.add(value);
  on.forecast(40, two);
  CHECK(two[1] == doctest::Approx(52).epsilon(1e-4));
  CHECK_FALSE(fit_ets(form_of("MNN"), {line}, 1));
  const Series short_series = make_series({"y"}, {1, 2, 4});
  CHECK_FALSE(fitted(ets, short_series, {{0, 3, 0}}, {.period = 1}));
  CHECK_FALSE(choose_ets({Values(4, 7)}, 1));
  CHECK(choose_ets({Values(5, 7)}, 1));
  CHECK_FALSE(choose_ets({Values(5, 7), std::vector<uint8_t>{0, 0, 1, 0, 0}}, 1));
  CHECK_FALSE(choose_ets({Values{1, 2, 4, 3}}, 1));
  CHECK(choose_ets({Values{1, 2, 4, 3, 5}}, 1));
  // Rows drawn by lot to train have hardly any beside them.
  CHECK_FALSE(fitted(ets, make_series({"y"}, wave(60, 2)), {{0, 1, 0}, {3, 4, 0}, {7, 8, 0}}, {.period = 1}));
  CHECK_FALSE(fitted(theta, short_series, {}, {.period = 1}));
}

TEST_CASE("drift goes on by the mean step from the first row to the last") {
  const Series series = make_series({"y"}, {1, 5, 2, 7});
  CHECK(forecast_of(drift(), series, 2) == Values{9, 11});
  Values one(1);
  drift().forecast(series, 3, 0, one);
  CHECK(one[0] == 2.5);
}

TEST_CASE(
    "the intervals of ETS and Theta are so many deviations wide, and a filled-in row does not count in their fits") {
  Values y = wave(90, 2);
  std::vector<uint8_t> filled(y.size());
  for (const std::size_t row : {20u, 21u, 50u}) y[row] += 40, filled[row] = 1;
  Series series = make_series({"y"}, y);
  series.filled = filled;
  constexpr double z = 1.2815515655446004;  // of a normal distribution 80 % lie within
  const auto check = [&](const ForecastBaseline& baseline, auto model) {
    States<decltype(model)> states(model);
    for (const double value : y) states.add(value);
    Values middle(8), deviations(8), low(8), high(8);
    states.forecast(90, middle), states.deviations(90, deviations);
    CHECK(forecast_of(baseline, series, 8) == middle);
    baseline.interval(series, 90, 0, low, high);
    for (std::size_t h = 0; h < 8; ++h) {
      CHECK(low[h] == doctest::Approx(middle[h] - z * deviations[h]));
      CHECK(high[h] == doctest::Approx(middle[h] + z * deviations[h]));
    }
  };
  check(*fitted(ets, series, {{0, 90, 0}}, {.period = 6}), *choose_ets({y, filled}, 6));
  check(*fitted(theta, series, {{0, 90, 0}}, {.period = 6}), *fit_theta({y, filled}, 6));
}

TEST_CASE(
    "a detail names the forms of the first eight columns, and how many rows of several spans were fitted") {
  const Values y = wave(60, 2);
  std::vector<std::string> names;
  std::vector<int> targets;
  for (int c = 0; c < 9; ++c) names.push_back(fmt::format("c{}", c)), targets.push_back(c);
  Values values;
  for (const double value : y)
    for (int c = 0; c < 9; ++c) values.push_back(value + c * c);
  const Series series = make_series(names, values);
  const BaselineKeys keys;
  const Part spans = {{0, 20, 0}, {25, 60, 25}};
  const std::string of_nine = ets({keys, series, 60, spans, targets})->detail;
  CHECK(of_nine.find(" of c7, …, fitted to the last 35 rows that train, and carried on") !=
        std::string::npos);
  const std::vector<int> two = {1, 4};
  const std::string of_two = ets({keys, series, 60, {{0, 60, 0}}, two})->detail;
  CHECK(of_two.substr(of_two.find(" of c1, ") + 8)
            .ends_with(" of c4, fitted to the 60 rows that train, and carried on"));
}

TEST_CASE("growth needs values above 0 in each column that is forecast, where rows are known") {
  const BaselineKeys keys{.period = 2};
  const Part train = {{0, 6, 0}};
  const auto has = [&](const Values& values, int64_t known, const std::vector<int>& targets) {
    const Series series = make_series({"a", "b"}, values);
    return baseline_row("growth")->make({keys, series, known, train, targets}).has_value();
  };
  const Values second = {1, 1, 2, 2, 1, 0, 2, 2, 1, 1, 2, 2};
  CHECK_FALSE(has(second, 6, {0, 1}));
  CHECK(has(second, 6, {0}));
  CHECK(has({1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 0, 0}, 5, {0, 1}));
}
