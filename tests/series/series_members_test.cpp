// Several series in one file: read, split, scaled and cut into windows, each by itself.
#include <cmath>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/series/conformal.h"
#include "examples/timeseries/series/scaling.h"
#include "examples/timeseries/series/series_windows.h"
#include "examples/timeseries/series/split.h"
#include "tests/series/counting_series.h"

using namespace unroll;

namespace {

using Values = std::vector<double>;

Series parse(const std::string& csv, SeriesOptions options = {}) {
  if (options.id.empty()) options.id = "store";
  return parse_series(csv, "x.csv", options);
}
std::string refusal(const std::string& csv, const SeriesOptions& options = {}) {
  return input_error_of([&] { parse(csv, options); });
}
std::string text_of(const Series& series) {
  std::string text;
  for (const SeriesMember& member : series.members)
    text += fmt::format("{}[{},{}) ", member.name, member.begin, member.end);
  return text;
}
// Each of so many rows: series k of them holds 1000 k + row.
Series stores(const std::vector<int>& rows) {
  std::string csv = "date,store,sales\n";
  for (int day = 0; day < 28; ++day)
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (day < rows[k])
        csv += fmt::format("2020-02-{:02},s{},{}\n", day + 1, k, 1000 * static_cast<int>(k) + day);
  return parse(csv);
}

}  // namespace

TEST_CASE("the rows of each series are put together, in whatever order the file has them") {
  const std::string below = "store,t,y\nnorth,2020-01-01,1\nnorth,2020-01-02,2\nsouth,2020-01-01,10\n";
  CHECK(text_of(parse(below)) == "north[0,2) south[2,3) ");
  const Series turns = parse(
      "t,store,y,z\n2020-01-01,b,1,2\n2020-01-01,a,3,4\n2020-01-02,b,5,6\n2020-01-03,c,7,8\n2020-01-02,a,9,10\n"
      "2020-01-03,b,11,12\n");
  CHECK(text_of(turns) == "b[0,3) a[3,5) c[5,6) ");
  CHECK(turns.channels == std::vector<std::string>{"y", "z"});
  CHECK(turns.id_name == "store");
  CHECK(turns.values == Values{1, 2, 5, 6, 11, 12, 3, 4, 9, 10, 7, 8});
  CHECK(turns.lines == std::vector<int64_t>{2, 4, 7, 3, 6, 5});
  for (const auto& [row, time] :
       {std::pair{0, "2020-01-01"}, {2, "2020-01-03"}, {3, "2020-01-01"}, {5, "2020-01-03"}})
    CHECK(turns.times.text(row) == time);
  CHECK(to_text(turns.times.step) == "a day");
  for (const auto& [row, member] : {std::pair{0, 0}, {2, 0}, {3, 1}, {4, 1}, {5, 2}})
    CHECK(turns.member_of(row) == member);
  const Series alone = turns.alone(1);
  CHECK(alone.values == Values{3, 4, 9, 10});
  CHECK(alone.members.empty());
  CHECK(alone.times.text(2) == "2020-01-03");
  // Rows without times are numbered within their series; numbers name a series as words do.
  const Series numbered = parse("store,y\n2001,1\n2002,5\n2001,2\n");
  CHECK(text_of(numbered) == "2001[0,2) 2002[2,3) ");
  CHECK(numbered.times.at == std::vector<int64_t>{0, 1, 0});
  CHECK(parse("store,y\n1,7\n", {.channels = {"y"}}).count() == 1);
}

TEST_CASE("what is wrong in a file of several series names line, column and series") {
  CHECK(
      refusal("t,store,y\n2020-01-02,a,1\n2020-01-03,a,1\n2020-01-01,a,1\n") ==
      "x.csv:4: column 1 ('t'): 2020-01-01 of series 'a' comes after 2020-01-03: rows must be in order of time");
  CHECK(refusal("t,store,y\n2020-01-02,a,1\n2020-01-02,a,1\n") ==
        "x.csv:3: column 1 ('t'): 2020-01-02 of series 'a' stands there twice");
  CHECK(refusal("t,store,y\n2020-01-02,a,1\n2020-01-03,,1\n") ==
        "x.csv:3: column 2 ('store'): a row does not name its series (data.id)");
  CHECK(lacks(refusal("t,stores,y\n2020-01-02,a,1\n"),
              {"there is no column 'store' that names the series (data.id)", "did you mean 'stores'?"}) ==
        "");
  CHECK(lacks(refusal("t,store,y\n2020-01-02,a,1\n", {.channels = {"y", "store"}}),
              {"column 'store' names the series (data.id), and is no channel"}) == "");
  CHECK(lacks(refusal("t,store,y\n2020-01-02,a,1\n", {.time = "store"}),
              {"both name the series and hold the times"}) == "");
  CHECK(lacks(refusal("t,store,y\n2020-01-01,a,1\n2020-01-02,a,1\n2020-01-01,b,1\n2020-01-02,b,\n"),
              {"x.csv:5: column 3 ('y')", "a value is missing"}) == "");
  CHECK(lacks(refusal("t,store,y\n2020-01-01,a,1\n2020-01-01,b,\n2020-01-02,b,1\n",
                      {.missing = Missing::previous}),
              {"x.csv:3: channel 'y'", "there is none before it in series 'b'"}) == "");
  CHECK(
      lacks(
          refusal(
              "t,store,y\n2020-01-01,a,1\n2020-01-02,a,1\n2020-01-03,a,1\n2020-01-01,b,1\n2020-01-05,b,1\n"),
          {"x.csv:6: a gap of 4 days"}) == "");
}

TEST_CASE("each series is split by itself, and no window lies in two") {
  const Series series = stores({10, 4, 20});
  std::vector<int> left_out;
  const SeriesSplit split = split_each(
      series,
      [&](int member) {
        return split_by_fraction(series.end_of(member) - series.begin_of(member), 0.5, 0.2);
      },
      left_out);
  CHECK(left_out.empty());
  std::string text;
  for (const Part* part : {&split.train, &split.valid, &split.test}) {
    for (const Span& span : *part) text += fmt::format("[{},{})<{} ", span.begin, span.end, span.history);
    text += "| ";
  }
  CHECK(text == "[0,5)<0 [10,12)<10 [14,24)<14 | [5,7)<0 [24,28)<14 | [7,10)<0 [12,14)<10 [28,34)<14 | ");
  std::vector<std::string> notes;
  const Scaling none = fit_scaling(series, split.train, ScalingKind::none, notes);
  SeriesWindows windows(series, none, split.test, "test", {.window = 3, .horizon = 2});
  const std::vector<int64_t> origins(windows.origins().begin(), windows.origins().end());
  CHECK(origins == std::vector<int64_t>{7, 8, 28, 29, 30, 31, 32});  // the second has too few rows before
  const SeriesBatch batch = windows.batch(0, 7);
  for (int b = 0; b < 7; ++b)  // all that a window holds is of one thousand
    for (int row = 0; row < 3; ++row)
      CHECK(std::floor(batch.input.to_host()[static_cast<std::size_t>(row * 7 + b)] / 1000) ==
            (b < 2 ? 0 : 2));
  CHECK(lacks(input_error_of([&] { windows.input_before(16); }), {"does not lie in"}) == "");
  CHECK(windows.input_before(17).to_host() == std::vector<real>{2000, 2001, 2002});
  CHECK_THROWS(SeriesWindows(series, none, {{5, 12, 0}}, "of two", {.window = 1, .horizon = 1}));
  std::string rest;
  for (const Span& span : from_rows(split.test, series, std::vector<int64_t>{8, 13, 40}))
    rest += fmt::format("[{},{})<{} ", span.begin, span.end, span.history);
  CHECK(rest == "[8,10)<0 [13,14)<10 ");
  // One that cannot be split is named; if none can, the first says why.
  const auto rows = [&](int64_t least) {
    return split_each(
        series,
        [&](int member) {
          return split_at_rows(series.end_of(member) - series.begin_of(member), least, least);
        },
        left_out);
  };
  CHECK(rows_of(rows(4).test) == 6 + 16);
  CHECK(left_out == std::vector<int>{1});
  left_out.clear();
  CHECK(lacks(input_error_of([&] { rows(50); }), {"50, 50 and 10, of 10 rows"}) == "");
}

TEST_CASE("each series is scaled by its own rows, and errors count in these units") {
  const Series series = stores({6, 0, 6});
  REQUIRE(series.count() == 2);
  std::vector<std::string> notes;
  const Part train = {{0, 4, 0}, {6, 10, 6}};
  const Scaling scaling = fit_scaling(series, train, ScalingKind::standard, notes);
  CHECK(scaling.members == 2);
  CHECK(scaling.channels[0].shift == 1.5);
  CHECK(scaling.channels[1].shift == 2001.5);
  CHECK(scaling.channels[0].scale == doctest::Approx(std::sqrt(1.25)));
  CHECK(scaling.of(1).at(0).shift == 2001.5);
  SeriesWindows windows(series, scaling, {{4, 6, 0}, {10, 12, 6}}, "test", {.window = 2, .horizon = 1});
  const SeriesBatch batch = windows.batch(0, 4);
  const std::vector<real> target = batch.target.to_host();
  for (int b = 0; b < 2; ++b)
    CHECK(target[static_cast<std::size_t>(b)] == target[static_cast<std::size_t>(b + 2)]);
  const std::vector<double> naive = mase_scale(series, train, 2, std::vector<int>{0});
  CHECK(naive == Values{2, 2});
  const Series steps = parse("store,y\na,1\na,2\na,3\nb,1\nb,4\nb,7\n");
  CHECK(mase_scale(steps, {{0, 3, 0}, {3, 6, 3}}, 1, std::vector<int>{0}) == Values{1, 3});
  ForecastScores scores(windows, naive);
  for (const int64_t origin : windows.origins()) {
    const double off = origin < 6 ? 1 : 3;
    const std::vector<double> forecast = {series.at(origin, 0) + off};
    scores.add({&origin, 1}, forecast);
  }
  CHECK(scores.overall().scaled_mae == doctest::Approx(2 / std::sqrt(1.25)));
  CHECK(scores.overall().mase == doctest::Approx(1));
  CHECK(scores.of_member(0).mae == 1);
  CHECK(scores.of_member(1).mae == 3);
  CHECK(scores.of_member(1).count == 2);
  // A series whose seasonal naive forecast made no error has no MASE, and takes none from the others.
  ForecastScores without(windows, {2, 0});
  for (const int64_t origin : windows.origins()) without.add({&origin, 1}, Values{series.at(origin, 0) + 1});
  CHECK(without.overall().mase == 0.5);
  CHECK(std::isnan(without.of_member(1).mase));
  // One without rows that train is measured on all that it has; a constant one is named with its series.
  const Scaling all = fit_scaling(series, {{0, 4, 0}}, ScalingKind::standard, notes);
  CHECK(all.channels[1].shift == 2002.5);
  const Series flat = parse("store,y\na,1\na,1\nb,1\nb,2\n");
  notes.clear();
  fit_scaling(flat, {{0, 2, 0}, {2, 4, 2}}, ScalingKind::standard, notes);
  CHECK(notes == std::vector<std::string>{"constant in training, so not scaled: 'y' of 'a'"});
}

TEST_CASE("the errors of all series widen an interval, in units of the window and of its series") {
  const Series series = stores({24, 0, 24});
  std::vector<std::string> notes;
  const Part train = {{0, 12, 0}, {24, 36, 24}};
  const Scaling scaling = fit_scaling(series, train, ScalingKind::standard, notes);
  SeriesWindows valid(series, scaling, {{12, 20, 0}, {36, 44, 24}}, "valid", {.window = 4, .horizon = 1});
  ConformalInterval interval(valid, {.steps = 1});
  CHECK(interval.is_pooled());
  for (const int64_t origin : valid.origins()) {
    const Values forecast = {series.at(origin, 0) + (origin < 24 ? 1 : 2)};
    interval.know(interval.errors_of(origin, forecast, forecast), true);
  }
  CHECK(interval.known().chose == 16);
  Values values = {0}, low = {0}, high = {0};
  interval.widen(22, values, low, high);
  CHECK(high[0] == doctest::Approx(2));  // of 16 errors the 14th: those of the second series
  values = low = high = {0};
  interval.widen(46, values, low, high);
  CHECK(high[0] == doctest::Approx(2));  // both have the same spread
}

TEST_CASE("rows to forecast are counted in each series, and the most of any are said") {
  std::string csv = "store,t,y\n";
  for (const char* store : {"a", "b", "c"})
    for (int day = 1; day <= 9; ++day) {
      const int known = *store == 'a' ? 8 : *store == 'b' ? 6 : 7;
      csv += fmt::format("{},2020-02-{:02},{}\n", store, day, day <= known ? "1" : "");
    }
  const Series series = parse(csv, {.missing = Missing::previous, .open_end = {"y"}});
  CHECK(text_of(series) == "a[0,8) b[8,14) c[14,21) ");
  CHECK(series.open_rows == 3);
  std::string notes;
  for (const std::string& note : series.notes) notes += note + "; ";
  CHECK(lacks(notes, {"3 rows without a value of 'y' at the end: to be forecast, from line 17 on"}) == "");
}
