// Errors of forecasts and of detection, by hand, and where they are not defined.
#include <cmath>
#include <limits>

#include "examples/timeseries/series/detection_scores.h"
#include "examples/timeseries/series/forecast_scores.h"
#include "framework/random.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Values = std::vector<double>;
using Labels = std::vector<int>;

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("errors of forecasts by step, by target and overall, by hand") {
  // Rows of two channels; window 1, horizon 2: origins 1 and 2.
  const Series series = make_series({"a", "b"}, {0, 10, 2, 20, 4, 40, 6, 0});
  Scaling scaling{.channels = {{1, 2}, {5, 10}}};
  const SeriesWindows windows(series, scaling, {{0, 4, 0}}, "test", {.window = 1, .horizon = 2});
  REQUIRE(windows.count() == 2);
  ForecastScores scores(windows, {2, 10});
  // [horizon, origins, targets]: step 0 of origins 1, 2, then step 1; truth 2 20, 4 40, 4 40, 6 0.
  scores.add(windows.origins(), Values{3, 20, 4, 50, 2, 10, 6, 0});
  const ForecastErrors a0 = scores.at(0, 0), b1 = scores.at(1, 1), all = scores.overall();
  CHECK(a0.count == 2);
  CHECK(a0.mse == 0.5);
  CHECK(a0.mae == 0.5);
  CHECK(a0.rmse == doctest::Approx(std::sqrt(0.5)));
  CHECK(a0.scaled_mse == 0.125);
  CHECK(a0.scaled_mae == 0.25);
  CHECK(a0.smape == doctest::Approx(200.0 * 1 / 5 / 2));
  CHECK(a0.mase == 0.25);
  CHECK(b1.mse == 450);
  CHECK(b1.smape == doctest::Approx(200.0 * 30 / 50 / 2));  // 0 for 0 is no error
  CHECK(all.count == 8);
  CHECK(all.mse == doctest::Approx((1 + 0 + 0 + 100 + 4 + 900 + 0 + 0) / 8.0));
  CHECK(all.scaled_mse == doctest::Approx((0.25 + 1 + 1 + 9) / 8));
  CHECK(all.mase == doctest::Approx((0.5 + 1 + 1 + 3) / 8));
  CHECK(scores.at_step(1).mae == doctest::Approx((2 + 30) / 4.0));
  CHECK(scores.of_target(1).mae == doctest::Approx((10 + 30) / 4.0));
  CHECK(scores.windows() == 2);

  // One window at a time and in another order: the same scores.
  ForecastScores again(windows, {2, 10});
  again.add(windows.origins().subspan(1), Values{4, 50, 6, 0});
  again.add(windows.origins().first(1), Values{3, 20, 2, 10});
  CHECK(again.overall().mse == all.mse);
  CHECK(again.at(1, 0).mase == scores.at(1, 0).mase);

  CHECK(std::isnan(ForecastScores(windows).overall().mse));  // of nothing
  ForecastScores broken(windows);
  broken.add(windows.origins().first(1), Values{infinity, 0, 0, std::nan("")});
  CHECK(broken.at(0, 0).mse == infinity);
  CHECK(std::isnan(broken.overall().mse));
  CHECK(broken.at(0, 1).mse == 400);
  CHECK(std::isnan(broken.at(0, 1).mase));  // no scale was given
  CHECK(lacks(error_of([&] { broken.add(windows.origins(), Values{1}); }),
              {"1 predictions for 2 windows of 4"}) == "");
}

TEST_CASE("an interval's coverage, Winkler and pinball scores, by hand") {
  const Series series = make_series({"a"}, {0, 2, 4, 6, 8});
  const SeriesWindows windows(series, {.channels = {{0, 2}}}, {{1, 5, 0}}, "test", {.window = 1});
  REQUIRE(windows.count() == 4);
  ForecastScores scores(windows);
  const double none = std::nan("");
  // Four values: 2 lies within [1, 4], 4 below [5, 7], 6 above [2, 5], and 8 has no interval.
  scores.add(windows.origins(), Values{3, 6, 4, 8}, {Values{1, 5, 2, none}, Values{4, 7, 5, none}, 0.25, 0.25});
  const ForecastErrors errors = scores.overall();
  CHECK(errors.count == 4);
  CHECK(errors.intervals == 3);
  CHECK(errors.coverage == doctest::Approx(1.0 / 3));
  CHECK(errors.scaled_winkler ==
        doctest::Approx((3 + (2 + 4) + (3 + 4)) / 2.0 / 3));  // 2 / (1 - 0.5) = 4 times the distance
  // Quantiles 0.25, 0.5 and 0.75.
  const double first = 0.25 * 1 + 0.5 * 1 + 0.25 * 2, second = 0.75 * 1 + 0.5 * 2 + 0.25 * 3,
               third = 0.25 * 4 + 0.5 * 2 + 0.75 * 1;
  CHECK(errors.scaled_pinball == doctest::Approx((first + second + third) / 3 / 3 / 2));
  // 0.5 and 0.9: half of the values lie below, a tenth above.
  ForecastScores unlike(windows);
  unlike.add(windows.origins(), Values{3, 6, 4, 8}, {Values{1, 5, 2, none}, Values{4, 7, 5, none}, 0.5, 0.1});
  CHECK(unlike.overall().scaled_winkler == doctest::Approx((3 + (2 + 1 / 0.5) + (3 + 1 / 0.1)) / 2.0 / 3));
  const double of_all = 0.5 * 1 + 0.5 * 1 + 0.1 * 2 + 0.5 * 1 + 0.5 * 2 + 0.1 * 3 + 0.5 * 4 + 0.5 * 2 + 0.9 * 1;
  CHECK(unlike.overall().scaled_pinball == doctest::Approx(of_all / 3 / 3 / 2));
  CHECK(std::isnan(ForecastScores(windows).overall().coverage));
  CHECK(lacks(error_of([&] {
                scores.add(windows.origins(), Values{1, 2, 3, 4}, {Values{1}, Values{1}});
              }),
              {"intervals of 1 and 1 ends for 4 predictions"}) == "");
}

TEST_CASE("the scale of mase is the error of the seasonal naive forecast within the training part") {
  const Series series = make_series({"a", "b"}, {1, 5, 2, 5, 4, 5, 8, 5, 100, 9});
  const std::vector<int> both = {0, 1};
  CHECK(mase_scale(series, {{0, 4, 0}}, 1, both) == Values{7.0 / 3, 0});
  CHECK(mase_scale(series, {{0, 4, 0}}, 2, both)[0] == 4.5);
  CHECK(mase_scale(series, {{0, 2, 0}, {2, 4, 2}}, 1, both)[0] == 2.5);  // not across spans
  CHECK(std::isnan(mase_scale(series, {{0, 4, 0}}, 4, both)[0]));
  Series filled = series;
  filled.filled.assign(10, 0),
      filled.filled[2] = 1;  // what was filled in is no end of a step, nor its beginning
  CHECK(mase_scale(filled, {{0, 4, 0}}, 1, both)[0] == 4);
  const SeriesWindows windows(series, {.channels = {{0, 1}, {0, 1}}}, {{4, 5, 0}}, "test", {.window = 1});
  ForecastScores scores(windows, mase_scale(series, {{0, 4, 0}}, 1, both));
  scores.add(windows.origins(), Values{93, 9});
  CHECK(scores.of_target(0).mase == doctest::Approx(3));
  CHECK(std::isnan(scores.of_target(1).mase));  // a channel that was constant
  CHECK(std::isnan(scores.overall().mase));
}

TEST_CASE("scores of detection, by hand") {
  const Values probability = {0.9, 0.8, 0.7, 0.4, 0.3, 0.1};
  const Labels label = {1, 0, 1, 1, 0, 0};
  const DetectionScores s = score_detection(probability, label);
  CHECK(s.count == 6);
  CHECK(s.positives == 3);
  CHECK(s.accuracy == doctest::Approx(4.0 / 6));
  CHECK(s.balanced_accuracy == doctest::Approx(4.0 / 6));
  CHECK(s.precision == doctest::Approx(2.0 / 3));
  CHECK(s.recall == doctest::Approx(2.0 / 3));
  CHECK(s.f1 == doctest::Approx(2.0 / 3));
  CHECK(s.roc_auc == doctest::Approx(7.0 / 9));
  CHECK(s.log_loss == doctest::Approx(-(std::log(0.9) + std::log(0.2) + std::log(0.7) + std::log(0.4) +
                                        std::log(0.7) + std::log(0.9)) /
                                      6));
  const DetectionScores bold = score_detection(probability, label, 0.35);
  CHECK(bold.recall == 1);
  CHECK(bold.precision == 0.75);
  CHECK(bold.roc_auc == s.roc_auc);
  CHECK(score_detection(Values{0.5, 0.5}, Labels{0, 1}).accuracy == 0.5);  // the threshold itself is negative
}

TEST_CASE("ties count half, and certainty that is wrong costs log 1e7") {
  CHECK(score_detection(Values{0.5, 0.5, 0.5}, Labels{0, 1, 1}).roc_auc == 0.5);
  CHECK(score_detection(Values{0.9, 0.5, 0.5, 0.1}, Labels{1, 1, 0, 0}).roc_auc == 0.875);
  CHECK(score_detection(Values{0, 1}, Labels{1, 0}).log_loss == doctest::Approx(7 * std::log(10)));
}

TEST_CASE("what is not defined is NaN, and what is, is not") {
  const DetectionScores none = score_detection(Values{0.1, 0.2}, Labels{0, 0});
  CHECK(none.accuracy == 1);
  for (const double score : {none.balanced_accuracy, none.precision, none.recall, none.f1, none.roc_auc})
    CHECK(std::isnan(score));
  const DetectionScores all = score_detection(Values{0.9, 0.2}, Labels{1, 1});
  CHECK(all.recall == 0.5);
  CHECK(all.precision == 1);
  CHECK(std::isnan(all.roc_auc));
  const DetectionScores silent = score_detection(Values{0.1, 0.2}, Labels{0, 1});
  CHECK(std::isnan(silent.precision));
  CHECK(silent.recall == 0);
  CHECK(silent.f1 == 0);
  CHECK(silent.balanced_accuracy == 0.5);
  CHECK(lacks(error_of([] { score_detection(Values{}, Labels{}); }), {"0 probabilities for 0 labels"}) == "");
  CHECK(lacks(error_of([] { score_detection(Values{0.5}, Labels{0, 1}); }), {"1 probabilities for 2"}) == "");
  CHECK(lacks(error_of([] { score_detection(Values{std::nan("")}, Labels{0}); }),
              {"nan is no probability"}) == "");
  CHECK(lacks(error_of([] { score_detection(Values{1.5}, Labels{0}); }), {"1.5 is no probability"}) == "");
  CHECK(lacks(error_of([] { score_detection(Values{0.5}, Labels{2}); }), {"not 2"}) == "");
}

TEST_CASE("the area is the share of the pairs in which the positive is above, ties counted half") {
  RandomStream random(5, "curve");
  Values probability;
  Labels label;
  for (int i = 0; i < 500; ++i) {
    label.push_back(random.below(3) == 0);
    probability.push_back(random.below(20) / 40.0 + (label.back() ? 0.3 : 0));  // many ties
  }
  double pairs = 0, above = 0;
  for (std::size_t i = 0; i < label.size(); ++i)
    for (std::size_t k = 0; k < label.size(); ++k) {
      if (!label[i] || label[k]) continue;
      ++pairs;
      above += probability[i] > probability[k] ? 1 : probability[i] == probability[k] ? 0.5 : 0;
    }
  CHECK(score_detection(probability, label).roc_auc == doctest::Approx(above / pairs).epsilon(1e-12));
}
