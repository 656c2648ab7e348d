// Complex exponential smoothing beside what statsforecast finds for the same rows (tests/reference/make_baselines.py), by hand,
// and with rows that are filled in, too few or all alike.
#include "examples/timeseries/baselines/ces.h"

#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "examples/timeseries/baselines/baselines.h"
#include "tests/reference.h"
#include "tests/series/fitted.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Values = std::vector<double>;

const std::pair<const char*, CesSeason> seasons[] = {
    {"N", CesSeason::none}, {"S", CesSeason::simple}, {"P", CesSeason::partial}, {"F", CesSeason::full}};

CesModel model_in(const nlohmann::json& of, CesSeason season) {
  const auto number = [&](const char* key) { return of[key].is_null() ? 0 : of[key].get<double>(); };
  CesModel model{.season = season,
                 .alpha0 = number("alpha_0"),
                 .alpha1 = number("alpha_1"),
                 .beta0 = number("beta_0"),
                 .beta1 = number("beta_1"),
                 .first = {}};
  for (const auto& row : of["first"]) {
    CesModel::State state = {};
    for (std::size_t k = 0; k < row.size(); ++k) state[k] = row[k];
    model.first.push_back(state);
  }
  return model;
}

Values forecast_of(const CesModel& model, const Values& y, std::size_t steps) {
  States<CesModel> states(model);
  for (const double value : y) states.add(value);
  Values forecast(steps);
  states.forecast(states.rows(), forecast);
  return forecast;
}

}  // namespace

// Both searches end where a step gains less than some number; the parameters may lie at a bound, which ours only come near to.
TEST_CASE("states, likelihood and forecasts are statsforecast's, and the fit is no less likely") {
  for (const auto& [name, data] : reference("baselines.json").items()) {
    const Values y = data["y"];
    for (const auto& [word, season] : seasons) {
      CAPTURE(name + " " + word);
      const auto& of = data["ces"][word];
      const CesModel model = model_in(of, season);
      CHECK(std::string(model.name()) == word);
      const double theirs = of["log_likelihood"];
      CHECK(log_likelihood(model, {y}) == doctest::Approx(theirs).epsilon(1e-9));
      const Values expected = of["forecast"], found = forecast_of(model, y, expected.size());
      for (std::size_t h = 0; h < expected.size(); ++h)
        CHECK(found[h] == doctest::Approx(expected[h]).epsilon(1e-9));

      const auto fitted = fit_ces(season, {y}, data["period"]);
      REQUIRE(fitted);
      CHECK(fitted->log_likelihood > theirs - 0.1);
      CHECK(log_likelihood(*fitted, {y}) == doctest::Approx(fitted->log_likelihood).epsilon(1e-12));
      if (fitted->log_likelihood < theirs + 0.1)
        CHECK(fitted->aicc == doctest::Approx(of["aicc"].get<double>()).epsilon(1e-3));
    }
    const auto chosen = choose_ces({y}, data["period"]);
    REQUIRE(chosen);
    double least = INFINITY;
    for (const auto& [word, season] : seasons)
      least = std::min(least, data["ces"][word]["aicc"].get<double>());
    CHECK(chosen->aicc < least + 0.2);
  }
}

TEST_CASE("two rows by hand") {
  // e = 12 - 10, l = 10 - 0.5·4 + 1·2, c = 10 - 0.5·4 + 2·2; then e = 11 - 10.
  const CesModel model{.alpha0 = 1.5, .alpha1 = 0.5, .first = {{10, 4, 0, 0}}};
  CHECK(log_likelihood(model, {Values{12, 11}}) == doctest::Approx(-std::log(5.0)));
  // l = 10 - 0.5·12 + 1, c = 10 - 0.5·12 + 2; the next row is as it was forecast: l = 5 - 0.5·6.
  CHECK(forecast_of(model, {12, 11}, 2) == Values{5, 2});
  // A season of two rows: level and season move by the same error.
  const CesModel partial{.season = CesSeason::partial,
                         .alpha0 = 1,
                         .alpha1 = 1,
                         .beta0 = 0.5,
                         .first = {{0, 0, 3, 0}, {10, 0, -3, 0}}};
  // The first row is forecast as 10 + 3; e = 1 leaves the level and moves its season by a half.
  CHECK(forecast_of(partial, {14}, 3) == Values{7, 13.5, 7});
}

TEST_CASE("it learns from training rows alone, and goes on from the rows before the origin") {
  const Values y = reference("baselines.json")["wave"]["y"];
  const Series series = make_series({"y"}, y);
  Series later = series;
  for (int64_t row = 100; row < later.rows(); ++row) later.values[static_cast<std::size_t>(row)] *= 3;
  const auto a = fitted(ces, series, {{0, 100, 0}}, {.period = 7}),
             b = fitted(ces, later, {{0, 100, 0}}, {.period = 7});
  REQUIRE((a && b));
  CHECK(a->detail == b->detail);
  CHECK(a->detail.ends_with("fitted to the 100 rows that train, and carried on"));
  Values of_a(7), of_b(7);
  a->forecast(series, 100, 0, of_a), b->forecast(later, 100, 0, of_b);
  CHECK(of_a == of_b);
  b->forecast(later, 120, 0, of_b);
  a->forecast(series, 120, 0, of_a);
  CHECK(std::abs(of_a[0] - of_b[0]) > 1);
}

TEST_CASE("a filled-in row moves the states, and its error does not count") {
  Values y = reference("baselines.json")["wave"]["y"];
  std::vector<uint8_t> filled(y.size());
  y[50] += 40, filled[50] = 1;
  const auto model = fit_ces(CesSeason::none, {y, filled}, 7);
  REQUIRE(model);
  CHECK(log_likelihood(*model, {y, filled}) == doctest::Approx(model->log_likelihood));
  CHECK(model->log_likelihood > fit_ces(CesSeason::none, {y}, 7)->log_likelihood);
  // The last row moves no state that an error follows: filled in, it is as if it were not there.
  const double without =
      log_likelihood(*model, {std::span(y).first(y.size() - 1), std::span(filled).first(y.size() - 1)});
  y.back() += 1000, filled.back() = 1;
  CHECK(log_likelihood(*model, {y, filled}) == doctest::Approx(without));
}

TEST_CASE("too few rows, rows that are all alike, and a season of less than two periods") {
  CHECK_FALSE(choose_ces({Values{1, 2, 4, 3}}, 1));
  CHECK(choose_ces({Values{1, 2, 4, 3, 5}}, 1));
  CHECK_FALSE(choose_ces({Values{1, 2, 4, 3, 5}, std::vector<uint8_t>{0, 0, 1, 0, 0}}, 1));
  CHECK_FALSE(fit_ces(CesSeason::simple, {Values{1, 2, 4, 3, 5, 6, 4}}, 4));
  CHECK(fit_ces(CesSeason::simple, {Values{1, 2, 4, 3, 5, 6, 4, 2}}, 4));
  CHECK_FALSE(fit_ces(CesSeason::none, {Values(20, 7.0)}, 1));
  const auto constant = choose_ces({Values(20, 7.0)}, 4);
  REQUIRE(constant);
  CHECK(forecast_of(*constant, Values(20, 7.0), 3) == Values{7, 7, 7});
}
