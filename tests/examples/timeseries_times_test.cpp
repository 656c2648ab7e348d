// How the program `timeseries` reads the times of a file: the rows beyond its last, the step that a model knows,
// whole numbers that are dates, and its messages if that cannot be told. Dates are counted by hand.
#include "examples/timeseries/series/times.h"

#include "tests/examples/timeseries.h"
#include "tests/torch_files.h"

using namespace unroll;

namespace {

const std::string linear_recipe = linear_model("window = 12\nhorizon = 3\n", "epochs = 1\nkeep = \"last\"\n");

// A wave beside those times.
std::string series_of(const std::vector<std::string>& times, const std::string& name = "time") {
  std::string csv = name + ",y\n";
  for (size_t i = 0; i < times.size(); ++i)
    csv += fmt::format("{},{:.4f}\n", times[i], 10 + std::sin(static_cast<double>(i) / 6));
  return csv;
}

// So many dates from that one on, or times of day, a step of microseconds apart.
std::vector<std::string> times_from(const std::string& first, int64_t step, int count) {
  const Time begin = *parse_time(first);
  std::vector<std::string> times;
  for (int i = 0; i < count; ++i) times.push_back(to_text({begin.form, begin.count + i * step}));
  return times;
}

// Monthly on that day, from January 2010 on; a shorter month's last day in its place.
std::vector<std::string> months_on(int day, int count) {
  constexpr int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  std::vector<std::string> times;
  for (int i = 0; i < count; ++i) {
    const int year = 2010 + i / 12, length = lengths[i % 12] + (i % 12 == 1 && year % 4 == 0 ? 1 : 0);
    times.push_back(fmt::format("{}-{:02}-{:02}", year, i % 12 + 1, std::min(day, length)));
  }
  return times;
}

std::vector<std::string> without_weekends(const std::vector<std::string>& days) {
  std::vector<std::string> kept;
  for (const std::string& day : days)
    if (calendar_of(*parse_time(day)).weekday < 5) kept.push_back(day);
  return kept;
}

std::string trained_on(const Folder& folder, const std::string& csv, const Words& assignments = {}) {
  static int runs = 0;
  const std::string run = fmt::format("run{}", ++runs);
  folder.write("linear.toml", linear_recipe);
  timeseries_out(Words{"train", "linear.toml", "--csv", csv, "--out", run} + set(assignments), folder.path());
  return run + "/last.safetensors";
}

// The first column of what is forecast.
std::string forecast_times(const Folder& folder, const std::string& model, const std::string& csv,
                           int steps = 3) {
  const auto lines = lines_of(
      timeseries_out({"forecast", model, "--csv", csv, "--steps", std::to_string(steps)}, folder.path()));
  std::string all;
  for (size_t i = 1; i < lines.size(); ++i)
    all += (i > 1 ? ", " : "") + lines[i].substr(0, lines[i].find(','));
  return all;
}

std::string refusal(const Folder& folder, const Words& words) {
  const ProgramRun run = started(words, folder.path());
  CHECK_MESSAGE(run.code == 2, run.out, run.err);
  CHECK(lines_of(run.err).size() == 1);
  return lines_of(run.err).at(0);
}

}  // namespace

// 120 months from January 2010 end with December 2019; February 2020 has 29 days. 2020-10-06 is a Tuesday.
TEST_CASE("forecasts beyond the last row: month days, business days, whole numbers, years, jitter") {
  const Folder folder;
  const auto after = [&](const std::string& name, const std::vector<std::string>& times,
                         const std::string& column = "time") {
    folder.write(name, series_of(times, column));
    return forecast_times(folder, trained_on(folder, name), name);
  };
  CHECK(after("day30.csv", months_on(30, 120)) == "2020-01-30, 2020-02-29, 2020-03-30");
  CHECK(after("day31.csv", months_on(31, 120)) == "2020-01-31, 2020-02-29, 2020-03-31");
  const auto weekdays = without_weekends(times_from("2020-01-01", one_day, 280));
  REQUIRE(weekdays.back() == "2020-10-06");
  CHECK(after("weekdays.csv", weekdays) == "2020-10-07, 2020-10-08, 2020-10-09");
  CHECK(forecast_times(folder, trained_on(folder, "weekdays.csv"), "weekdays.csv", 4) ==
        "2020-10-07, 2020-10-08, 2020-10-09, 2020-10-12");
  std::vector<std::string> numbers, years;
  for (std::string date : times_from("2001-01-01", one_day, 365)) {
    std::erase(date, '-');
    numbers.push_back(date);
  }
  CHECK(after("numbers.csv", numbers, "date") == "20020101, 20020102, 20020103");
  for (int year = 1900; year < 2020; ++year) years.push_back(std::to_string(year));
  CHECK(after("years.csv", years, "year") == "2020, 2021, 2022");
  // Differences of 64, 58 and 58 s in turn: most are 58 s, but 150 of them last 150 minutes.
  std::vector<std::string> jitter = times_from("2020-01-01 00:00:00", 60'000'000, 151);
  for (size_t i = 0; i < jitter.size(); ++i)
    jitter[i] = jitter[i].substr(0, 17) + (i % 3 == 0 ? "01" : i % 3 == 1 ? "05" : "03");
  folder.write("jitter.csv", series_of(jitter));
  const std::string said = timeseries_out({"baselines", "linear.toml", "--csv", "jitter.csv"}, folder.path());
  CHECK_MESSAGE(said.find("note    rows are 60 s apart, give or take 4 s") != std::string::npos, said);
  CHECK(after("jitter.csv", jitter).starts_with("2020-01-01 02:31:01, 2020-01-01 02:32:01"));
}

TEST_CASE(
    "a model knows its step: rows of another one are refused by every command, in one line that names both") {
  const Folder folder;
  folder.write("daily.csv", series_of(times_from("2000-01-01", one_day, 300)));
  folder.write("hourly.csv", series_of(times_from("2001-03-01 00:00", 3'600'000'000, 300)));
  folder.write("weekly.csv", series_of(times_from("2001-03-01", 7 * one_day, 300)));
  const std::string model = trained_on(folder, "daily.csv");
  const std::string said = "the model's rows are a day apart, those of hourly.csv an hour apart";
  for (const char* command : {"forecast", "evaluate"}) {
    CHECK(refusal(folder, {command, model, "--csv", "hourly.csv"}) == "timeseries: " + model + ": " + said);
    CHECK(lacks(refusal(folder, {command, model, "--csv", "weekly.csv"}),
                {"a day apart", "weekly.csv a week apart"}) == "");
  }
  CHECK(refusal(folder, {"resume", model.substr(0, model.find('/')), "--csv", "hourly.csv"}) ==
        "timeseries: " + model + ": " + said);
  // A detector, in `detect` with labels and without, and for its test files.
  const auto labelled = [&](const std::string& name, const std::vector<std::string>& times) {
    std::string csv = "time,y,on\n", bare = "time,y\n";
    for (size_t i = 0; i < times.size(); ++i) {
      csv += fmt::format("{},{},{}\n", times[i], i % 5, i % 2);
      bare += fmt::format("{},{}\n", times[i], i % 5);
    }
    folder.write(name + ".csv", csv);
    folder.write(name + "-bare.csv", bare);
  };
  labelled("days", times_from("2000-01-01", one_day, 200));
  labelled("hours", times_from("2000-01-01 00:00", 3'600'000'000, 200));
  const std::string detector =
      "[data]\nwindow = 3\nlabel = \"on\"\n[model]\nhidden = 2\n[training]\nepochs = 1\nkeep = \"last\"\n";
  folder.write("detector.toml", detector);
  timeseries_out({"train", "detector.toml", "--csv", "days.csv", "--out", "detector"}, folder.path());
  for (const char* csv : {"hours.csv", "hours-bare.csv"})
    CHECK(lacks(refusal(folder, {"detect", "detector/last.safetensors", "--csv", csv}),
                {"the model's rows are a day apart", "an hour apart"}) == "");
  CHECK(refusal(folder, Words{"train", "detector.toml", "--csv", "days.csv"} +
                            set({"data.test_files=hours.csv", "data.train=0.8", "data.valid=0.2"})) ==
        "timeseries: the first file's rows are a day apart, those of hours.csv an hour apart");
  // Days written with a time of day are days.
  folder.write("midnights.csv", series_of(times_from("2000-01-01 00:00", 86'400'000'000, 300)));
  CHECK(forecast_times(folder, model, "midnights.csv").starts_with("2000-10-27 00:00:00"));
}

// A model of the 30th of each month is given two rows, and one: neither says that February's 29th is the 30th's.
TEST_CASE("a short file is read by the model's step") {
  const Folder folder;
  folder.write("day30.csv", series_of(months_on(30, 120)));
  const std::string model = trained_on(folder, "day30.csv", {"data.window=1"});
  folder.write("one.csv", series_of({"2020-02-29"}));
  CHECK(forecast_times(folder, model, "one.csv") == "2020-03-30, 2020-04-30, 2020-05-30");
  folder.write("one.csv", series_of({"2021-02-28", "2021-03-30"}));
  CHECK(forecast_times(folder, model, "one.csv") == "2021-04-30, 2021-05-30, 2021-06-30");
}

TEST_CASE("a model of an earlier version takes the step of the file at hand, and says so") {
  const Folder folder;
  folder.write("daily.csv", series_of(times_from("2000-01-01", one_day, 300)));
  folder.write("hourly.csv", series_of(times_from("2001-03-01 00:00", 3'600'000'000, 300)));
  const std::string model = trained_on(folder, "daily.csv");
  Metadata metadata = SafetensorsFile(folder / model).metadata();
  CHECK(metadata.at("step") == "microsecond 86400000000 0 -1");
  metadata.erase("step");
  write_tensors(folder / "older.safetensors", tensors_of(folder / model), metadata);
  const ProgramRun run = started({"forecast", "older.safetensors", "--csv", "hourly.csv"}, folder.path());
  CHECK(run.code == 0);
  CHECK_MESSAGE(
      run.err.find(
          "note: older.safetensors does not say how far apart its rows are: taken from hourly.csv, an hour\n") !=
          std::string::npos,
      run.err);
  metadata["step"] = "soon";
  write_tensors(folder / "damaged.safetensors", tensors_of(folder / model), metadata);
  CHECK(lacks(refusal(folder, {"forecast", "damaged.safetensors", "--csv", "daily.csv"}),
              {"damaged.safetensors", "'soon'"}) == "");
}

TEST_CASE("what a message advises about a file's columns works as it stands") {
  const Folder folder;
  folder.write("empty.toml", "[training]\nepochs = 1\n");
  const auto baselines = [&](const std::string& csv, const Words& assignments = {}) {
    return started(Words{"baselines", "empty.toml", "--csv", csv} + set(assignments), folder.path());
  };
  // The text after the first "data." of the message, as TOML on the command line.
  const auto advised = [&](const std::string& csv, const Words& before = {}) {
    const ProgramRun run = baselines(csv, before);
    CHECK_MESSAGE(run.code == 2, run.out, run.err);
    const size_t begin = run.err.find("data.");
    REQUIRE_MESSAGE(begin != std::string::npos, run.err);
    const bool list = run.err.find(" = [", begin) < run.err.find(" = \"", begin);
    const size_t end = list ? run.err.find(']', begin) : run.err.find('"', run.err.find('"', begin) + 1);
    return run.err.substr(begin, end + 1 - begin);
  };
  std::string second = "y,time\n", ordinals = "id,y\n", stocks = "symbol,date,close\n", hole = "time,y\n",
              years = "y,year\n", panel = "day,id,y\n";
  for (int i = 0; i < 100; ++i) {
    const std::string day = times_from("2000-01-01", one_day, 100)[static_cast<size_t>(i)];
    second += fmt::format("{},{}\n", i % 7, day);
    ordinals += fmt::format("{},{}\n", i + 1, i % 7);
    hole += fmt::format("{},{}\n", day, i == 50 ? "" : std::to_string(i % 7));
    years += fmt::format("{},{}\n", i % 7, 1900 + i);
  }
  for (const char* symbol : {"AAPL", "MSFT"})
    for (int i = 0; i < 100; ++i)
      stocks += fmt::format("{},{},{}\n", symbol,
                            times_from("2000-01-01", one_day, 100)[static_cast<size_t>(i)], i % 7);
  for (int id = 1; id <= 4; ++id)
    for (std::string day : times_from("2000-01-01", one_day, 100)) {
      std::erase(day, '-');
      panel += fmt::format("{},{},{}\n", day, id, day[7]);
    }
  std::string gap = hole;
  gap.erase(gap.find("2000-02-20"), gap.find("2000-02-21") - gap.find("2000-02-20"));  // the empty cell's row
  std::string semicolons = second;
  std::ranges::replace(semicolons, ',', ';');
  for (const auto& [name, csv, advice] : {std::tuple{"ordinals.csv", ordinals, "data.time = \"id\""},
                                          {"stocks.csv", stocks, "data.id = \"symbol\""},
                                          {"hole.csv", hole, "data.missing = \"previous\""},
                                          {"gap.csv", gap, "data.gaps = \"allow\""},
                                          {"semicolons.csv", semicolons, "data.separator = \";\""},
                                          {"years.csv", years, "data.time = \"year\""},
                                          {"panel.csv", panel, "data.id = \"id\""}}) {
    folder.write(name, csv);
    CAPTURE(name);
    CHECK(advised(name) == advice);
    const ProgramRun followed = baselines(name, {advice});
    CHECK_MESSAGE(followed.code == 0, followed.err);
  }
  folder.write("second.csv", second);
  const ProgramRun found = baselines("second.csv");
  CHECK(found.code == 0);
  CHECK_MESSAGE(
      found.out.starts_with("note    column 2 ('time') holds dates, and is taken as the time (data.time)\n"),
      found.out);
  // Whoever names the channels does not lose the order, or read two series as one.
  CHECK(advised("stocks.csv", {"data.channels=close"}) == "data.id = \"symbol\"");
  // ISO times with an offset are times: an hour apart, with a calendar.
  std::string utc = "at,y\n";
  for (int i = 0; i < 100; ++i)
    utc += fmt::format("2020-01-{:02}T{:02}:00:00+00:00,{}\n", 1 + i / 24, i % 24, i % 24);
  folder.write("utc.csv", utc);
  const std::string model = trained_on(folder, "utc.csv");
  CHECK(forecast_times(folder, model, "utc.csv") ==
        "2020-01-05 04:00:00Z, 2020-01-05 05:00:00Z, 2020-01-05 06:00:00Z");
  CHECK(baselines("utc.csv", {"data.calendar=hour"}).code == 0);
}

TEST_CASE("dates in whole numbers with a fault are refused, not forecast") {
  const Folder folder;
  folder.write("linear.toml", linear_recipe);
  std::vector<std::string> days = times_from("2000-01-01", one_day, 100);
  for (std::string& day : days) std::erase(day, '-');
  const auto said = [&](const std::vector<std::string>& faulty) {
    folder.write("days.csv", series_of(faulty, "day"));
    return refusal(folder, {"train", "linear.toml", "--csv", "days.csv", "--out", "run"});
  };
  auto faulty = days;
  std::swap(faulty[49], faulty[50]);
  CHECK(lacks(said(faulty), {"days.csv:52", "20000219 comes after 20000220"}) == "");
  faulty = days;
  faulty[50] = faulty[49];
  CHECK(lacks(said(faulty), {"days.csv:52", "20000219 stands there twice"}) == "");
  faulty[50] = "20000231";
  CHECK(lacks(said(faulty), {"days.csv:52", "'20000231' is no date"}) == "");
  CHECK(!std::filesystem::exists(folder / "run"));
}

// Weekdays from Thursday 2020-01-02 to Thursday 2020-05-14 in Berlin, whose clocks are set forward on 2020-03-29.
TEST_CASE("business days at a zone's midnight go on from Monday to Friday of that zone") {
  const Folder folder;
  std::vector<std::string> days = without_weekends(times_from("2020-01-02", one_day, 134));
  REQUIRE(days.back() == "2020-05-14");
  for (std::string& day : days) day += day < "2020-03-29" ? "T00:00+01:00" : "T00:00+02:00";
  folder.write("berlin.csv", series_of(days));
  const std::string model = trained_on(folder, "berlin.csv");
  // Midnight of Friday the 15th, Monday the 18th and Tuesday the 19th.
  CHECK(forecast_times(folder, model, "berlin.csv") ==
        "2020-05-15 00:00:00+02:00, 2020-05-18 00:00:00+02:00, 2020-05-19 00:00:00+02:00");
  CHECK(SafetensorsFile(folder / model).metadata().at("step") == "business_day 1 0 79200000000 3600000000");
  // A winter's file, and one without a weekend.
  folder.write("winter.csv", series_of({days.begin(), days.begin() + 40}));
  CHECK(forecast_times(folder, model, "winter.csv")
            .starts_with("2020-02-27 00:00:00+01:00, 2020-02-28 00:00:00+01:00, "
                         "2020-03-02 00:00:00+01:00"));
}

TEST_CASE("a forecast beyond the year 9999, which could not be read again, is refused with the file") {
  const Folder folder;
  folder.write("late.csv", series_of(times_from("9999-09-03", one_day, 120)));
  const std::string model = trained_on(folder, "late.csv");
  CHECK(refusal(folder, {"forecast", model, "--csv", "late.csv"}) ==
        "timeseries: late.csv: 3 rows after 9999-12-31 end beyond 9999-12-31, the last time that is read");
}

TEST_CASE("dates with slashes, the year first, are read; forecasts have dashes") {
  const Folder folder;
  std::vector<std::string> days = times_from("2012-01-01", one_day, 100);
  for (std::string& day : days) std::ranges::replace(day, '-', '/');
  folder.write("slashes.csv", series_of(days));
  CHECK(forecast_times(folder, trained_on(folder, "slashes.csv"), "slashes.csv") ==
        "2012-04-10, 2012-04-11, 2012-04-12");
}

TEST_CASE("dates whose year comes last: the column shows the order, the key says it, a model keeps it") {
  const Folder folder;
  const auto us = [](const std::string& day) {
    return day.substr(5, 2) + "/" + day.substr(8) + "/" + day.substr(0, 4);
  };
  std::vector<std::string> days;
  for (const std::string& day : times_from("2012-01-01", one_day, 100)) days.push_back(us(day));
  folder.write("us.csv", series_of(days));
  const std::string model = trained_on(folder, "us.csv");
  CHECK(forecast_times(folder, model, "us.csv") == "2012-04-10, 2012-04-11, 2012-04-12");
  CHECK(SafetensorsFile(folder / model).metadata().at("date_order") == "mdy");
  // The first twelve days of April, or the fourth of twelve months.
  std::vector<std::string> april;
  for (const std::string& day : times_from("2012-04-01", one_day, 12)) april.push_back(us(day));
  folder.write("april.csv", series_of(april));
  const ProgramRun run = started({"forecast", model, "--csv", "april.csv"}, folder.path());
  CHECK_MESSAGE(run.out.find("\n2012-04-13,") != std::string::npos, run.out, run.err);
  CHECK_MESSAGE(run.err.find("dates are read as month/day/year, as those of the rows that trained") !=
                    std::string::npos,
                run.err);
  const std::string said =
      refusal(folder, {"train", "linear.toml", "--csv", "april.csv", "--set", "data.window=1"});
  CHECK(lacks(said, {"april.csv: column 1 ('time'): '04/01/2012' may be", "data.date_order = \"dmy\""}) ==
        "");
  CHECK(forecast_times(
            folder,
            trained_on(folder, "april.csv", {"data.window=1", "data.horizon=1", "data.date_order=dmy"}),
            "april.csv") == "2013-01-04, 2013-02-04, 2013-03-04");
  CHECK(lacks(refusal(folder, {"train", "linear.toml", "--csv", "april.csv", "--set", "data.date_order=ymd"}),
              {"data.date_order", "auto, dmy, mdy"}) == "");
  std::vector<std::string> quarters;
  for (int k = 0; k < 100; ++k) quarters.push_back(fmt::format("{} Q{}", 1970 + k / 4, k % 4 + 1));
  folder.write("quarters.csv", series_of(quarters));
  CHECK(forecast_times(folder, trained_on(folder, "quarters.csv"), "quarters.csv") ==
        "1995-Q1, 1995-Q2, 1995-Q3");
}

TEST_CASE("a word in the place of another: what to type instead works") {
  const Folder folder;
  folder.write("sales.csv", series_of(times_from("2000-01-01", one_day, 300)));
  folder.write("mine.toml", "");
  folder.write("text/train.txt", "a b\n");
  const std::string model = trained_on(folder, "sales.csv");
  const std::string run = model.substr(0, model.find('/'));
  // The quoted text after the name of the program.
  const auto advised = [&](const Words& words) {
    const std::string said = refusal(folder, words);
    const size_t begin = said.find("timeseries ", said.find('\'')), end = said.find('\'', begin);
    REQUIRE_MESSAGE(end != std::string::npos, said);
    Words result;
    std::istringstream all(said.substr(begin + 11, end - begin - 11));
    for (std::string word; all >> word;) result.push_back(word);
    return result;
  };
  const auto works = [&](Words words) {
    for (std::string& word : words)
      if (word.starts_with("runs/")) word = model;
    if (words[0] == "train") words = words + Words{"--set", "training.epochs=1"};
    const ProgramRun result = started(words, folder.path());
    CHECK_MESSAGE(result.code == 0, fmt::format("{}", fmt::join(words, " ")), result.err);
  };
  CHECK(advised({"baselines", "sales.csv"}) == Words{"baselines", "mine.toml", "--csv", "sales.csv"});
  works(advised({"baselines", "sales.csv"}));
  CHECK(advised({"forecast", run, "--csv", "sales.csv"}) == Words{"forecast", run + "/best.safetensors"});
  CHECK(advised({"forecast", "airline"}) == Words{"train", "airline"});
  CHECK(advised({"evaluate", "mine.toml"}) == Words{"train", "mine.toml"});
  CHECK(advised({"resume", model}) == Words{"resume", run});
  works(advised({"resume", model}));
  CHECK(advised({"train", run}) == Words{"resume", run});
  CHECK(lacks(refusal(folder, {"train", model}), {"is a model, not a recipe", run + "/recipe.toml"}) == "");
  CHECK(lacks(refusal(folder, {"resume", "sales.csv"}), {"is a series, not a run's folder"}) == "");
  CHECK(lacks(refusal(folder, {"train", "text"}),
              {"is a text, not a recipe", "'ptb' is the program for it"}) == "");
}
