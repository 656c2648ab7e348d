// The season of a series: calendar periods, their strength, and cycles without a calendar.
#include "examples/timeseries/series/season.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "examples/timeseries/series/series.h"
#include "framework/random.h"
#include "tests/support.h"

using namespace unroll;

namespace {

constexpr int64_t hour = 3'600'000'000, day = 24 * hour;
const TimeStep hours{.unit = TimeStep::Unit::microsecond, .count = hour};
const TimeStep months{.unit = TimeStep::Unit::month, .count = 1};
const TimeStep numbers{.unit = TimeStep::Unit::number, .count = 1};

// A wave of that height and noise of variance 1.
std::vector<double> wave(int rows, double period, double height, const char* stream = "season") {
  RandomStream random(1, stream);
  std::vector<double> y;
  for (int t = 0; t < rows; ++t) {
    const double noise = (random.uniform() - 0.5) * std::sqrt(12.0);
    y.push_back(height * std::sin(2 * std::numbers::pi * t / period) + noise);
  }
  return y;
}

}  // namespace

TEST_CASE("calendar periods are whole hours, days, weeks and years of rows") {
  using P = std::vector<int64_t>;
  const auto of = [](TimeStep::Unit unit, int64_t count) {
    return calendar_periods({.unit = unit, .count = count}, 10'000);
  };
  const auto microsecond = TimeStep::Unit::microsecond;
  CHECK(of(microsecond, hour / 60) == P{60, 1440, 10080});
  CHECK(of(microsecond, hour / 2) == P{2, 48, 336});
  CHECK(of(microsecond, hour) == P{24, 168});
  CHECK(of(microsecond, 5 * hour) == P{});  // no whole number of them is a day, or a week
  CHECK(of(microsecond, day) == P{7, 365});
  CHECK(of(microsecond, 7 * day) == P{52});
  CHECK(of(microsecond, 14 * day) == P{26});
  CHECK(of(TimeStep::Unit::business_day, 1) == P{5});
  CHECK(of(TimeStep::Unit::month, 1) == P{12});
  CHECK(of(TimeStep::Unit::month, 3) == P{4});
  CHECK(of(TimeStep::Unit::month, 12) == P{});
  CHECK(of(TimeStep::Unit::number, 1) == P{});

  // Over all rows a period drifts by at most a 24th of it, and by a stamp's jitter.
  const auto drifting = [](int64_t count, int64_t jitter, int64_t rows) {
    return calendar_periods({.unit = TimeStep::Unit::microsecond, .count = count, .jitter = jitter}, rows);
  };
  constexpr int64_t second = hour / 3600;
  CHECK(drifting(hour / 4 + 7, second, 9000) == P{4, 96, 672});
  CHECK(drifting(hour / 4 - 7, second, 9000) == P{4, 96, 672});
  // Half a second more than ten minutes: a day is 72 s off, an hour after 7,200 rows; a week of 1007 rows 96.5 s, and an hour 3 s.
  CHECK(drifting(hour / 6 + second / 2, 0, 7200) == P{144, 1007});
  CHECK(drifting(hour / 6 + second / 2, 0, 7201) == P{1007});
  CHECK(drifting(hour / 6 + second / 2, 2 * second, 7203) == P{144, 1007});
  CHECK(drifting(hour / 6 + second / 2, 0, 263'000) == P{});
  CHECK(drifting(hour / 6 + second / 2, 0, 300) == P{6, 144, 1007});
  CHECK(drifting(day + hour / 8, hour, 60) == P{7, 365});  // 7.5 hours, of 8
  CHECK(drifting(day + hour / 8, hour, 70) == P{365});     // 8.75 hours
  CHECK(drifting(day + 9 * hour, 10 * hour, 30) == P{});   // no step to speak of
  const TimeStep late{.unit = TimeStep::Unit::microsecond, .count = hour / 6 + second / 2, .jitter = second};
  CHECK(find_season(wave(1440, 144, 3), late).why.starts_with("nearly a day of 144 rows: strength 0.8"));
  CHECK(calendar_period(
            96, {.unit = TimeStep::Unit::microsecond, .count = hour / 4 - 7, .jitter = hour / 3600}) ==
        CalendarPeriod::day);
}

TEST_CASE("the strength of a season is 0 in noise, however few its periods, and nears 1 without noise") {
  // A wave of height a has the variance a² / 2, beside 1 of the noise. The moving average takes 1 / period of the noise away.
  CHECK(strength_of_season(wave(2400, 12, 2), 12) == doctest::Approx(2.0 / 3).epsilon(0.05));
  CHECK(strength_of_season(wave(2400, 12, 100), 12) > 0.99);
  // Means of 100 values, and of 3: the spread of an F statistic of (11, 1188) and of (11, 24) degrees of freedom around 1.
  CHECK(std::abs(strength_of_season(wave(1212, 12, 0), 12)) < 0.05);
  CHECK(std::abs(strength_of_season(wave(48, 12, 0), 12)) < 0.4);
  CHECK(std::isnan(strength_of_season(wave(23, 12, 1), 12)));
  CHECK(!std::isnan(strength_of_season(wave(24, 12, 1), 12)));
  CHECK(std::isnan(strength_of_season(std::vector<double>(100, 3.0), 12)));
  // A line is no season.
  std::vector<double> line;
  RandomStream random(1, "line");
  for (int t = 0; t < 240; ++t) line.push_back(5 * t + random.uniform());
  CHECK(strength_of_season(line, 12) < 0.2);
}

TEST_CASE(
    "a season is the shortest strong period of the calendar, and a longer one that is left is the second") {
  const std::vector<double> daily = wave(2000, 24, 3), weekly = wave(2000, 168, 3, "other");
  std::vector<double> both;
  for (size_t i = 0; i < daily.size(); ++i) both.push_back(daily[i] + weekly[i]);
  CHECK(find_season(daily, hours).period == 24);
  CHECK(find_season(daily, hours).second_period == 0);
  CHECK(find_season(both, hours).period == 24);
  CHECK(find_season(both, hours).second_period == 168);
  CHECK(find_season(weekly, hours).period == 168);
  CHECK(find_season(weekly, hours).second_period == 0);
  // A week of strength .15 beside a strong day counts; alone it does not, nor a year of days beside a week.
  std::vector<double> faint = wave(3000, 168, 0.6, "faint");
  CHECK(find_season(faint, hours).period == 1);
  for (size_t i = 0; i < faint.size(); ++i)
    faint[i] += 9 * std::sin(2 * std::numbers::pi * static_cast<double>(i) / 24);
  CHECK(find_season(faint, hours).second_period == 168);
  CHECK(find_season(wave(3000, 24, 9), hours).second_period == 0);
  const Season none = find_season(wave(300, 12, 0), months);
  CHECK(none.period == 1);
  CHECK(none.why.find("a year of 12 rows has ") != std::string::npos);
  CHECK(find_season(wave(20, 12, 5), months).why == "too few rows for a calendar's");
}

TEST_CASE("two periods are enough for a clear season, on a trend too, and noise has none") {
  std::vector<double> rising = wave(24, 12, 5), line;
  for (size_t t = 0; t < rising.size(); ++t) {
    rising[t] += 10 * static_cast<double>(t);
    line.push_back(0.1 * static_cast<double>(t));
  }
  // The changes of noise, of variance 2, over 12 rows leave an error of 1.4 / √12 over a period; the wave has a variance of 12.5.
  CHECK(strength_of_season(rising, 12) > 0.8);
  CHECK(find_season(rising, months).period == 12);
  CHECK(find_season(std::span(rising).first(23), months).period == 1);
  CHECK(std::isnan(strength_of_season(line, 12)));
  // The strength is about the correlation of 12 pairs: of noise it is 0.5 or more once in twenty times.
  int found = 0;
  for (int k = 0; k < 60; ++k)
    found += find_season(wave(24, 12, 0, ("noise " + std::to_string(k)).c_str()), months).period > 1;
  CHECK(found <= 9);
}

TEST_CASE("without a calendar a season is the first high maximum of the differences' autocorrelation") {
  CHECK(find_season(wave(200, 11, 4), numbers).period == 11);
  // The second period correlates as well as the first: the first is taken.
  CHECK(find_season(wave(120, 10, 12), numbers).period == 10);
  CHECK(find_season(wave(200, 11, 0), numbers).period == 1);
  std::vector<double> walk = {0};
  for (const double step : wave(300, 7, 0, "walk")) walk.push_back(walk.back() + step);
  CHECK(find_season(walk, numbers).period == 1);
  CHECK(find_season(std::vector<double>(50, 1.0), numbers).period == 1);
  CHECK(find_season(std::vector<double>{1, 2}, numbers).period == 1);
  CHECK(find_season({}, numbers).period == 1);
  // A smooth day: the differences correlate at lag 2 above their neighbours, and at 22 to 26 alike.
  for (int k = 0; k < 20; ++k)
    CHECK(find_season(wave(1000, 24, 9, ("smooth " + std::to_string(k)).c_str()), numbers).period == 24);
  std::vector<double> in_turn = wave(100, 2.5, 0, "in turn");
  for (size_t t = 0; t < in_turn.size(); t += 2) in_turn[t] += 9;
  CHECK(find_season(in_turn, numbers).period == 2);
  // In few rows, noise often reaches 0.3 and seldom 2/sqrt(n).
  int found = 0;
  for (int k = 0; k < 100; ++k)
    found += find_season(wave(24, 12, 0, ("few " + std::to_string(k)).c_str()), numbers).period > 1;
  CHECK(found <= 9);
}

TEST_CASE(
    "without a calendar a smooth season beneath noise is found by means over eighths of it, and none in noise") {
  // Waves of a height of 1.5 and 1 beside noise of variance 1: differences correlate by less than 0.08.
  for (int k = 0; k < 20; ++k) {
    const std::string stream = "beneath " + std::to_string(k);
    CHECK(find_season(wave(720, 24, 1.5, stream.c_str()), numbers).period == 24);
    const int64_t long_one = find_season(wave(4320, 144, 1, stream.c_str()), numbers).period;
    CHECK_MESSAGE(std::abs(long_one - 144) <= 1, long_one);
  }
  // Seven of them: on two days of each week values are 3 lower.
  std::vector<double> week = wave(1008, 24, 4);
  for (size_t t = 0; t < week.size(); ++t) week[t] -= t / 24 % 7 >= 5 ? 3 : 0;
  CHECK(to_text(find_season(week, numbers)) == "24 and 168 rows");
  // The middle of an eighth may lie between two rows: a steep line has no season.
  for (const double by : {0.0, 1.0}) {
    std::vector<double> line = wave(997, 24, 0, "steep");
    for (size_t t = 0; t < line.size(); ++t) line[t] = by * line[t] + 5 * static_cast<double>(t);
    CHECK(find_season(line, numbers).period == 1);
  }
  // Noise and walks of it have one no more often than by their differences, which find none here.
  int found = 0;
  for (int k = 0; k < 50; ++k) {
    std::vector<double> y = wave(600, 24, 0, ("still " + std::to_string(k)).c_str());
    found += find_season(y, numbers).period > 1;
    for (size_t t = 1; t < y.size(); ++t) y[t] += y[t - 1];
    found += find_season(y, numbers).period > 1;
  }
  CHECK(found <= 2);
}

TEST_CASE("without a calendar a season is no multiple of itself") {
  // A wave of a height of 4.8 to 6 beside noise of variance 1: differences correlate by about 0.3 at 24, 48, 72 and 96.
  for (const double height : {4.8, 5.0, 6.0})
    for (int k = 0; k < 8; ++k) {
      const std::string stream = "multiple " + std::to_string(k);
      CHECK(find_season(wave(4000, 24, height, stream.c_str()), numbers).period == 24);
      CHECK(find_season(wave(4000, 12, height / 2, stream.c_str()), numbers).period == 12);
    }
}

TEST_CASE("the values of a channel begin and end with observed ones") {
  Series series = make_series({"a", "b"}, {0, 9, 1, 9, 2, 9, 3, 9, 4, 9});
  CHECK(values_of(series, 0, 1, 4) == std::vector<double>{1, 2, 3});
  series.filled = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0};
  CHECK(values_of(series, 0, 0, 5) == std::vector<double>{1, 2, 3});
  CHECK(values_of(series, 0, 0, 1).empty());
}

TEST_CASE("of several series the season is that of most that have one, wherever constant ones stand") {
  const std::vector<double> constant(240, 7), year = wave(240, 12, 3), other = wave(240, 12, 2, "other"),
                                              noise = wave(240, 12, 0);
  const auto period = [](const std::vector<std::vector<double>>& all) {
    return season_of_most(all, months).period;
  };
  CHECK(period({constant, year}) == 12);
  CHECK(period({constant, noise, year, constant, other}) == 12);
  CHECK(period({constant, constant, constant, constant, year}) == 12);
  CHECK(period({constant}) == 1);
  CHECK(period({noise, noise, noise, noise, year}) == 1);  // one of five
  CHECK(lacks(season_of_most({constant, year, other}, months).why, {"a year", "2 of 3 have it"}) == "");
  const TimeStep days{.unit = TimeStep::Unit::microsecond, .count = day};
  const std::vector<double> weeks = wave(400, 7, 9);
  CHECK(season_of_most({weeks, weeks}, days)
            .why.ends_with(
                "2 of 2 have it; a year of 365 rows takes 730 rows to be found, and 400 are looked at"));
  CHECK(season_of_most(std::vector<std::vector<double>>{year}, months).why ==
        find_season(std::span<const double>(year), months).why);
}

TEST_CASE("rows at places of a day, a week or a month have a day, a week or a year of them") {
  const auto slots = TimeStep::Unit::slots;
  TimeStep hours_of_day{.unit = slots, .count = day}, hours_of_week{.unit = slots, .count = 7 * day};
  for (int64_t k = 0; k < 5 * 9; ++k) {
    if (k < 9) hours_of_day.slots.push_back((9 + k) * hour);
    hours_of_week.slots.push_back(k / 9 * day + (9 + k % 9) * hour);
  }
  const TimeStep days_of_week{.unit = slots, .count = 7 * day, .slots = {0, 2 * day, 4 * day}};
  const TimeStep days_of_month{
      .unit = TimeStep::Unit::month, .count = 1, .day = TimeStep::Day::several, .slots = {1, 15}};
  const auto named = [](const TimeStep& step) {
    std::vector<std::pair<int64_t, CalendarPeriod>> all;
    for (const int64_t period : calendar_periods(step, 1000))
      all.emplace_back(period, calendar_period(period, step));
    return all;
  };
  using All = std::vector<std::pair<int64_t, CalendarPeriod>>;
  using enum CalendarPeriod;
  CHECK((named(hours_of_day) == All{{9, CalendarPeriod::day}, {63, week}}));
  CHECK((named(hours_of_week) == All{{9, CalendarPeriod::day}, {45, week}}));
  CHECK((named(days_of_week) == All{{3, week}}));
  CHECK((named(days_of_month) == All{{2, month}, {24, year}}));
}
