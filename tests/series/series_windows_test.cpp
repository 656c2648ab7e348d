// Splits, scaling and windows of series: what each part reads and predicts.
#include "examples/timeseries/series/series_windows.h"

#include <cmath>
#include <map>
#include <set>

#include "examples/timeseries/series/scaling.h"
#include "examples/timeseries/series/split.h"
#include "framework/memory.h"
#include "tests/series/counting_series.h"

using namespace unroll;

namespace {

using Ints = std::vector<int64_t>;

Scaling unscaled(const Series& series) {
  std::vector<std::string> notes;
  return fit_scaling(series, whole_series(series), ScalingKind::none, notes);
}

Ints origins(const SeriesWindows& windows) {
  return Ints(windows.origins().begin(), windows.origins().end());
}

}  // namespace

// --- splits ------------------------------------------------------------------------------------------------

namespace {
std::string text_of(const Part& part) {
  std::string text;
  for (const Span& span : part) text += fmt::format("[{},{})<{} ", span.begin, span.end, span.history);
  return text;
}
std::string text_of(const SeriesSplit& split) {
  return text_of(split.train) + "| " + text_of(split.valid) + "| " + text_of(split.test);
}
}  // namespace

TEST_CASE("splits by row, fraction and time") {
  CHECK(text_of(split_at_rows(17'420, 8640, 11'520, 14'400)) ==
        "[0,8640)<0 | [8640,11520)<0 | [11520,14400)<0 ");
  CHECK(text_of(split_at_rows(10, 7, 7)) == "[0,7)<0 | | [7,10)<0 ");
  CHECK(text_of(split_by_fraction(144, 0.67, 0)) == "[0,96)<0 | | [96,144)<0 ");
  CHECK(text_of(split_by_fraction(10, 0.7, 0.1)) ==
        "[0,7)<0 | [7,8)<0 | [8,10)<0 ");  // 0.7 + 0.1 is below 0.8
  const Series series =
      parse_series("t,x\n2020-01-30,1\n2020-01-31,2\n2020-02-01,3\n2020-02-02,4\n", "x.csv");
  CHECK(text_of(split_by_time(series, "2020-01-31", "2020-02")) == "[0,1)<0 | [1,2)<0 | [2,4)<0 ");
  CHECK(text_of(split_by_time(series, "2020-02", "2020-02")) == "[0,2)<0 | | [2,4)<0 ");
  CHECK(lacks(input_error_of([&] { split_by_time(series, "2020-02", "17"); }),
              {"'17' is not written as the series' times are: '2020-01-30'"}) == "");
  CHECK(lacks(input_error_of([&] { split_by_time(series, "2020-02", "2021"); }), {"2, 4 and 4"}) ==
        "");  // a year is its first day
  CHECK(lacks(input_error_of([&] { split_by_time(series, "2020-02", "2021-01"); }),
              {"2, 4 and 4", "4 rows"}) == "");
  CHECK(lacks(input_error_of([&] { split_by_time(series, "soon", "2021-01"); }), {"'soon' is not a time"}) ==
        "");
  CHECK(lacks(input_error_of([] { split_at_rows(10, 0, 5); }), {"0, 5 and 10"}) == "");
  CHECK(lacks(input_error_of([] { split_at_rows(10, 6, 5); }), {"6, 5 and 10"}) == "");
  CHECK(lacks(input_error_of([] { split_at_rows(10, 5, 6, 11); }), {"5, 6 and 11", "10 rows"}) == "");
  CHECK(lacks(input_error_of([] { split_by_fraction(10, 0.8, 0.2); }), {"0.8", "0.2"}) == "");
}

TEST_CASE("rolling origins end with the series, and train on what is before") {
  const auto folds = rolling_origin(100, 3, 10, 5);
  REQUIRE(folds.size() == 3);
  CHECK(text_of(folds[0]) == "[0,65)<0 | [65,70)<0 | [70,80)<0 ");
  CHECK(text_of(folds[2]) == "[0,85)<0 | [85,90)<0 | [90,100)<0 ");
  CHECK(lacks(input_error_of([] { rolling_origin(35, 3, 10, 5); }), {"need 36 rows, not 35"}) == "");
}

TEST_CASE("contiguous blocks test each row once, and train across no border of another part") {
  const auto folds = contiguous_blocks(103, 5);
  std::vector<int> tested(103, 0);
  for (const SeriesSplit& split : folds) {
    CHECK(rows_of(split.train) + rows_of(split.valid) + rows_of(split.test) == 103);
    for (const Span& span : split.test)
      for (int64_t row = span.begin; row < span.end; ++row) ++tested[static_cast<std::size_t>(row)];
    for (const Span& span : split.train) CHECK(span.history == span.begin);
  }
  CHECK(tested == std::vector<int>(103, 1));
  CHECK(text_of(folds[2]) == "[0,20)<0 [61,103)<61 | [20,41)<0 | [41,61)<0 ");
  CHECK(text_of(folds[0]) == "[20,82)<20 | [82,103)<0 | [0,20)<0 ");
}

// --- scaling -----------------------------------------------------------------------------------------------

TEST_CASE("scaling is measured on the training part alone") {
  const Series series = make_series({"x", "same"}, {1, 7, 3, 7, 1, 7, 3, 7, 1000, 8});
  const Part train = split_at_rows(5, 3, 4).train;
  std::vector<std::string> notes;
  Scaling scaling = fit_scaling(series, train, ScalingKind::standard, notes);
  CHECK(scaling.channels[0].shift == doctest::Approx(5.0 / 3));
  CHECK(scaling.channels[0].scale == doctest::Approx(std::sqrt(8.0 / 9)));  // over n
  CHECK(scaling.undo(scaling.apply(12.5, 0), 0) == doctest::Approx(12.5));
  CHECK(scaling.apply(8, 1) == 1);  // constant: shifted, not scaled
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "constant in training, so not scaled: 'same'");
  scaling = fit_scaling(series, train, ScalingKind::minmax, notes);
  CHECK(scaling.apply(1, 0) == 0);
  CHECK(scaling.apply(3, 0) == 1);
  CHECK(scaling.apply(7, 1) == 0);
  notes.clear();
  CHECK(fit_scaling(series, whole_series(series), ScalingKind::minmax, notes).apply(1000, 0) == 1);
  CHECK(notes.empty());
  CHECK(fit_scaling(series, train, ScalingKind::none, notes).apply(1000, 0) == 1000);
  const Series many =
      make_series({"a", "b", "c", "d", "e", "f", "g", "x"}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2});
  fit_scaling(many, whole_series(many), ScalingKind::standard, notes);
  CHECK(notes.back() == "constant in training, so not scaled: 'a', 'b', 'c', 'd', 'e' and 2 more");
  const Series tenths = make_series({"x"}, {0.1, 0.1, 0.1});  // whose mean rounds to another number
  CHECK(fit_scaling(tenths, whole_series(tenths), ScalingKind::standard, notes).channels[0].scale == 1);
  const Series wide = make_series({"x"}, {-1.7e308, 1.7e308});
  CHECK(lacks(input_error_of([&] { fit_scaling(wide, whole_series(wide), ScalingKind::standard, notes); }),
              {"channel 'x'", "cannot be scaled"}) == "");
}

// --- windows -----------------------------------------------------------------------------------------------

TEST_CASE("a window reads the rows before its origin and predicts those from it") {
  const Series series = counting(12, 2);
  SeriesWindows windows(series, unscaled(series), {{0, 12, 0}}, "train",
                        {.window = 3, .horizon = 2, .inputs = {1, 0}, .targets = {0}});
  CHECK(origins(windows) == Ints{3, 4, 5, 6, 7, 8, 9, 10});
  const SeriesBatch batch = windows.batch(1, 2);  // origins 5 and 6
  CHECK(batch.input.shape() == Shape{3, 2, 2});
  CHECK(batch.input.to_host() ==
        std::vector<real>{201, 200, 301, 300, 301, 300, 401, 400, 401, 400, 501, 500});
  CHECK(batch.target.shape() == Shape{2, 2, 1});
  CHECK(batch.target.to_host() == std::vector<real>{500, 600, 600, 700});
  CHECK(windows.input_before(12).to_host() == std::vector<real>{901, 900, 1001, 1000, 1101, 1100});
  CHECK(lacks(input_error_of([&] { windows.input_before(2); }), {"window of 3 rows before row 2"}) == "");
}

TEST_CASE("to detect, the label is that of the last row read, and no input") {
  Series series = counting(6, 2);
  series.label = 1;
  for (int64_t row = 0; row < 6; ++row)
    series.values[static_cast<std::size_t>(2 * row + 1)] = double(row % 2);
  SeriesWindows windows(series, unscaled(series), {{0, 6, 0}}, "train", {.window = 2, .lead = 0});
  CHECK(windows.options().inputs == std::vector<int>{0});
  CHECK(windows.options().targets == std::vector<int>{1});
  CHECK(origins(windows) == Ints{1, 2, 3, 4, 5});
  const SeriesBatch batch = windows.batch(0, 2);
  CHECK(batch.input.to_host() == std::vector<real>{0, 100, 100, 200});
  CHECK(batch.target.to_host() == std::vector<real>{1, 0});
  CHECK(lacks(error_of([&] {
                SeriesWindows(series, unscaled(series), {{0, 6, 0}}, "train",
                              {.window = 2, .lead = 0, .inputs = {0, 1}});
              }),
              {"'c1'", "read and predicted at once"}) == "");
}

TEST_CASE("every row of a part is predicted, and none of another's") {
  const Series series = counting(60);
  for (const int window : {1, 4, 20}) {
    for (const int horizon : {1, 3}) {
      for (const bool history : {true, false}) {
        CAPTURE(window);
        CAPTURE(horizon);
        CAPTURE(history);
        SeriesSplit split = split_at_rows(60, 30, 45);
        for (Part* part : {&split.train, &split.valid, &split.test})
          if (!history) part->front().history = part->front().begin;
        if (!history && window + horizon > 15) continue;
        std::vector<std::set<int64_t>> read(3), predicted(3);
        for (int p = 0; p < 3; ++p) {
          const Part& part = p == 0 ? split.train : p == 1 ? split.valid : split.test;
          SeriesWindows windows(series, unscaled(series), part, "this",
                                {.window = window, .horizon = horizon});
          for (int64_t k = 0; k < windows.batches(4); ++k) {
            const SeriesBatch batch = windows.batch(k, 4);
            const auto rows = [](const Tensor& tensor, std::set<int64_t>& into) {
              for (const real value : tensor.span()) into.insert(static_cast<int64_t>(value) / 100);
            };
            rows(batch.input, read[static_cast<std::size_t>(p)]);
            rows(batch.target, predicted[static_cast<std::size_t>(p)]);
          }
          const int64_t begin = part[0].begin, end = part[0].end;
          const int64_t first = history && p > 0 ? begin : begin + window;
          std::set<int64_t> all;
          for (int64_t row = first; row < end; ++row) all.insert(row);
          CHECK(predicted[static_cast<std::size_t>(p)] == all);
          CHECK(windows.count() == end - first - horizon + 1);
        }
        CHECK(*read[0].rbegin() < 30);                            // training reads nothing of the others
        CHECK(*read[1].begin() == (history ? 30 - window : 30));  // they read before their border if they may
        CHECK(*read[2].rbegin() < 60);
      }
    }
  }
}

TEST_CASE("spans of a part do not mix; stride thins out each of them") {
  const Series series = counting(30);
  const Part part = {{0, 10, 0}, {20, 30, 20}};
  const auto of = [&](const SeriesWindowOptions& options) {
    return origins(SeriesWindows(series, unscaled(series), part, "train", options));
  };
  CHECK(of({.window = 3, .horizon = 2}) == Ints{3, 4, 5, 6, 7, 8, 23, 24, 25, 26, 27, 28});
  CHECK(of({.window = 3, .horizon = 2, .stride = 4}) == Ints{3, 7, 23, 27});
}

TEST_CASE("the last batch is smaller, and nothing is allocated on the way") {
  const Series series = counting(30);
  SeriesWindows windows(series, unscaled(series), {{0, 30, 0}}, "train", {.window = 4});
  CHECK(windows.count() == 26);
  CHECK(windows.batches(8) == 4);
  Ints seen;
  const real* memory = windows.batch(0, 8).input.data();
  const int64_t calls = memory_statistics().system_calls;
  for (int64_t k = 0; k < windows.batches(8); ++k) {
    const SeriesBatch batch = windows.batch(k, 8);
    CHECK(batch.input.dim(1) == (k < 3 ? 8 : 2));
    CHECK(batch.input.data() == memory);
    seen.insert(seen.end(), batch.origins.begin(), batch.origins.end());
  }
  CHECK(memory_statistics().system_calls == calls);
  CHECK(seen == origins(windows));
  CHECK(lacks(error_of([&] { windows.batch(4, 8); }), {"no batch 4", "there are 4"}) == "");
  const int64_t held = memory_statistics().in_use;
  CHECK(windows.batch(0, 1'000'000'000).input.dim(1) == 26);
  CHECK(memory_statistics().in_use < held + 10'000);  // room for the windows that there are
}

TEST_CASE("the order of an epoch depends on seed and epoch alone") {
  const Series series = counting(200);
  SeriesWindows windows(series, unscaled(series), {{0, 200, 0}}, "train", {.window = 4});
  const Ints in_order = origins(windows);
  windows.shuffle(1, 5);
  const Ints fifth = origins(windows);
  windows.shuffle(1, 6);
  const Ints sixth = origins(windows);
  windows.shuffle(2, 5);
  CHECK(origins(windows) != fifth);
  CHECK(fifth != sixth);
  windows.shuffle(1, 5);
  CHECK(origins(windows) == fifth);  // whatever the order was
  CHECK(std::is_permutation(fifth.begin(), fifth.end(), in_order.begin(), in_order.end()));
  CHECK(windows.batch(0, 3).target.to_host()[0] == static_cast<real>(100 * fifth[0]));
  windows.in_order();
  CHECK(origins(windows) == in_order);

  // All orders of three windows are as likely as each other: 600 draws, 100 ± 4 · √(600 · 1/6 · 5/6) each.
  const Series three = counting(4);
  SeriesWindows few(three, unscaled(three), {{0, 4, 0}}, "train", {.window = 1});
  std::map<Ints, int> counts;
  for (uint32_t epoch = 0; epoch < 600; ++epoch) few.shuffle(7, epoch), ++counts[origins(few)];
  CHECK(counts.size() == 6);
  for (const auto& [order, count] : counts) CHECK(std::abs(count - 100) < 4 * std::sqrt(600.0 * 5 / 36));
}

TEST_CASE("windows that cannot be cut are refused, with what it would take") {
  const Series series = counting(20);
  const auto refused = [&](const Part& part, const SeriesWindowOptions& options) {
    return input_error_of([&] { SeriesWindows(series, unscaled(series), part, "test", options); });
  };
  CHECK(lacks(refused({{15, 20, 0}}, {.window = 16, .horizon = 5}),
              {"the test part has 5 rows, and 15 before them", "window of 16", "horizon of 5", "need 21"}) ==
        "");
  CHECK(refused({{15, 20, 0}}, {.window = 15, .horizon = 5}) == "");
  CHECK(lacks(refused({{15, 20, 0}}, {.window = 4, .horizon = 6}), {"horizon of 6"}) == "");
  CHECK(lacks(refused({}, {}), {"test part has 0 rows"}) == "");
  CHECK(lacks(refused({{0, 20, 0}}, {.window = 0}), {"window must be at least 1, not 0"}) == "");
  CHECK(lacks(refused({{0, 20, 0}}, {.window = 1, .horizon = 0}), {"horizon must be at least 1"}) == "");
  CHECK(lacks(refused({{0, 20, 0}}, {.window = 1, .stride = 0}), {"stride must be at least 1"}) == "");
}

// --- transforms --------------------------------------------------------------------------------------------

TEST_CASE("a transform is scaled in turn, and errors keep the unit of the values") {
  const Series series = parse_series("a,b\n1,5\n10,6\n100,7\n1000,8\n", "x.csv", {});
  std::vector<std::string> notes;
  const Part part = {{0, 4, 0}};
  const Scaling log = fit_scaling(series, part, ScalingKind::standard, notes, Transform::log);
  const Scaling plain = fit_scaling(series, part, ScalingKind::standard, notes);
  for (const int channel : {0, 1}) CHECK(log.at(channel).scale == plain.at(channel).scale);
  CHECK(log.apply(1, 0) == doctest::Approx(-3 / std::sqrt(5)));  // of -3, -1, 1, 3 the deviation is √5
  CHECK(log.undo(log.apply(123, 0), 0) == doctest::Approx(123));
  const Scaling range = fit_scaling(series, part, ScalingKind::minmax, notes, Transform::log);
  CHECK(range.apply(10, 0) == doctest::Approx(1.0 / 3));
  CHECK(notes.empty());
  CHECK(fit_scaling(series, part, ScalingKind::none, notes, Transform::log).apply(10, 0) == std::log(10.0));
  const Series zero = parse_series("a,b\n1,5\n2,0\n", "x.csv", {});
  CHECK(input_error_of([&] {
          fit_scaling(zero, {{0, 2, 0}}, ScalingKind::standard, notes, Transform::log);
        }) == "x.csv:3: channel 'b' is 0, and scaling.transform = \"log\" takes values above 0");
}

TEST_CASE("a transform is of the channels that are named, and others may be 0") {
  const Series series = parse_series("y,promo\n1,0\n10,1\n100,0\n1000,1\n", "x.csv", {});
  std::vector<std::string> notes;
  const Scaling log = fit_scaling(series, {{0, 4, 0}}, ScalingKind::standard, notes, Transform::log, {0});
  CHECK(log.apply(1, 0) == doctest::Approx(-3 / std::sqrt(5)));
  CHECK(log.apply(0, 1) == -1);  // of 0, 1, 0, 1 mean and deviation are a half
  CHECK(!log.at(1).is_log);
  require_positive(series, log);
}

TEST_CASE("of a value that is missing from the beginning on a window has the mean, and a mark") {
  const std::string csv = "a,b\n,1\nNA,2\n4,3\n,4\n8,5\n6,6\n";
  CHECK(lacks(input_error_of([&] { parse_series(csv, "x.csv", {.missing = Missing::previous}); }),
              {"x.csv:2: channel 'a'", "none before it"}) == "");
  Series series = parse_series(csv, "x.csv", {.missing = Missing::mask});
  CHECK(series.filled == std::vector<uint8_t>{2, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  CHECK(series.at(0, 0) == 4);
  CHECK(series.at(3, 0) == 4);
  add_indicators(series);
  CHECK(series.channels == std::vector<std::string>{"a", "b", "a missing", "b missing"});
  CHECK(series.calendar == 2);
  std::vector<std::string> notes;
  const Scaling scaling = fit_scaling(series, whole_series(series), ScalingKind::standard, notes);
  CHECK(scaling.channels.size() == 4);
  CHECK(scaling.at(0).shift == 6);
  CHECK(scaling.at(1).shift == 3.5);
  for (const int indicator : {2, 3}) CHECK(scaling.at(indicator).shift == 0);
  SeriesWindows windows(series, scaling, whole_series(series), "train",
                        {.window = 2, .horizon = 1, .inputs = {0, 2}, .targets = {0}});
  const std::vector<real> input = windows.input_before(4).to_host(),
                          early = windows.input_before(3).to_host();
  const real off = input[0];
  CHECK(input == std::vector<real>{off, 0, off, 1});  // both are 4, and one was filled in
  CHECK(off < 0);
  CHECK(early == std::vector<real>{0, 1, off, 0});
  CHECK(lacks(input_error_of([&] { parse_series("a,b\n,1\n,2\n", "x.csv", {.missing = Missing::mask}); }),
              {"x.csv:2: channel 'a'", "none after it"}) == "");
}

TEST_CASE("what is known ahead stands behind a window, and nothing else of these rows does") {
  Series series = counting(8, 3);
  SeriesWindows windows(series, unscaled(series), {{3, 8, 0}}, "test",
                        {.window = 2, .horizon = 2, .inputs = {0, 2}, .targets = {0}, .known = {2}});
  const SeriesBatch batch = windows.batch(0, 4);
  CHECK(batch.input.shape() == Shape{4, 4, 2});
  const std::vector<real> input = batch.input.to_host();
  for (int b = 0; b < 4; ++b)
    for (int row = 0; row < 4; ++row) {
      const real first = static_cast<real>(100 * (1 + b + row));
      CHECK(input[static_cast<std::size_t>((row * 4 + b) * 2)] == (row < 2 ? first : 0));
      CHECK(input[static_cast<std::size_t>((row * 4 + b) * 2 + 1)] == first + 2);
    }
  CHECK(windows.input_before(6).shape() == Shape{4, 1, 2});
  CHECK(lacks(input_error_of([&] { windows.input_before(7); }), {"known ahead of 2 rows from row 7"}) == "");
  CHECK_THROWS(SeriesWindows(series, unscaled(series), {{3, 8, 0}}, "test",
                             {.window = 2, .horizon = 2, .inputs = {0}, .targets = {0}, .known = {2}}));
}

TEST_CASE("what is known ahead but missing from the beginning on has the mean there, too") {
  const Series series = parse_series("y,p\n1,\n2,\n3,\n4,40\n5,50\n6,60\n", "p.csv", {.missing = Missing::mask});
  SeriesWindows windows(series, unscaled(series), {{2, 6, 0}}, "test",
                        {.window = 2, .horizon = 2, .inputs = {0, 1}, .targets = {0}, .known = {1}});
  CHECK(windows.input_before(2).to_host() == std::vector<real>{1, 0, 2, 0, 0, 0, 0, 40});
}

TEST_CASE("of each batch a target that was filled in has no weight, and is not counted") {
  Series series = counting(14, 2);
  series.filled.assign(28, 0);
  for (const size_t at : {9, 10, 12, 13, 14, 15, 27}) series.filled[at] = 1;  // rows 6 and 7 lack both
  SeriesWindows windows(series, unscaled(series), {{2, 14, 0}}, "test", {.window = 2, .horizon = 2});
  CHECK(origins(windows) == Ints{2, 3, 4, 5, 7, 8, 9, 10, 11, 12});
  int64_t left_out = 4;  // of the window that predicts rows 6 and 7
  for (int64_t k = 0; k < windows.batches(3); ++k) {
    const SeriesBatch batch = windows.batch(k, 3);
    const int count = windows.windows_in(k, 3);
    int64_t observed = 0, at = 0;
    for (int64_t h = 0; h < 2; ++h)
      for (const int64_t origin : batch.origins)
        for (int channel = 0; channel < 2; ++channel, ++at) {
          const bool is_observed = !series.is_filled(origin + h, channel);
          observed += is_observed;
          CHECK((batch.weights.defined() ? batch.weights.to_host()[static_cast<size_t>(at)] : 1) ==
                is_observed);
        }
    CHECK(batch.observed == observed);
    CHECK(windows.observed_in(k, 3) == observed);
    left_out += 4 * count - observed;
  }
  CHECK(windows.targets_left_out() == left_out);
}
