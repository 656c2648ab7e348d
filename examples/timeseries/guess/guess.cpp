#include "examples/timeseries/guess/guess.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/guess/file_columns.h"
#include "examples/timeseries/recipe/ensemble_keys.h"
#include "examples/timeseries/series/season.h"
#include "examples/timeseries/session/ensemble_folds.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace timeseries {

namespace {

// Keys that were guessed, as lines of a recipe by section.
class Text {
 public:
  void set(const std::string& section, const std::string& key, const std::string& value) {
    for (auto& [name, lines] : sections_) {
      if (name != section) continue;
      for (auto& line : lines)
        if (line.first == key) return void(line.second = value);
      return lines.push_back({key, value});
    }
    sections_.push_back({section, {{key, value}}});
  }
  void set(const std::string& section, const std::string& key, int64_t value) {
    set(section, key, fmt::format("{}", value));
  }
  std::string text() const {
    std::string all;
    for (const auto& [name, lines] : sections_) {
      all += fmt::format("[{}]\n", name);
      for (const auto& [key, value] : lines) all += fmt::format("{} = {}\n", key, value);
    }
    return all;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>> sections_;
};

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + toml_string(word);
  return "[" + text + "]";
}

// --- the file ----------------------------------------------------------------------------------------------

int64_t rows_that_train(const Series& series, int member, double share) {
  const auto rows = static_cast<double>(series.end_of(member) - series.begin_of(member));
  return static_cast<int64_t>(std::floor(rows * share + 1e-9));
}

// The one of median length; of one series that one.
int typical_series(const Series& series) {
  std::vector<std::pair<int64_t, int>> lengths;
  for (int member = 0; member < series.count(); ++member)
    lengths.emplace_back(series.end_of(member) - series.begin_of(member), member);
  const auto middle = lengths.begin() + std::ssize(lengths) / 2;
  std::ranges::nth_element(lengths, middle);
  return middle->second;
}

// The rows that train, of each target of some series, evenly chosen among them.
std::vector<std::vector<double>> sample_of(const Series& series, const std::vector<std::string>& targets,
                                           double train) {
  constexpr int64_t most = 25;
  std::vector<std::vector<double>> sample;
  const auto all = series.count() * std::ssize(targets), count = std::min(all, most);
  for (int64_t k = 0; k < count; ++k) {
    const int64_t chosen = k * all / count;
    const int member = static_cast<int>(chosen / std::ssize(targets));
    const int channel = series.channel(targets[static_cast<size_t>(chosen % std::ssize(targets))]);
    const int64_t begin = series.begin_of(member);
    std::vector<double>& y = sample.emplace_back();
    for (int64_t row = begin; row < begin + rows_that_train(series, member, train); ++row)
      y.push_back(series.at(row, channel));
  }
  return sample;
}

// --- choices -----------------------------------------------------------------------------------------------

constexpr int most_folds = 8;

// A recurrent net of as many windows as a short series has learns them by heart at the rate that a linear one needs.
constexpr const char* gru = "cell=gru rate=0.3";

int64_t clamped(int64_t value, int64_t least, int64_t most) { return std::max(least, std::min(value, most)); }

// The divisor of the window by which it has nearest to 12 steps.
int64_t segment_of(int64_t window) {
  int64_t best = 1;
  const auto distance = [&](int64_t s) {
    return std::abs(std::log(static_cast<double>(window) / static_cast<double>(s) / 12));
  };
  for (int64_t s = 1; s <= window; ++s)
    if (window % s == 0 && distance(s) < distance(best)) best = s;
  return best;
}

std::vector<std::string> calendar_of(const Season& season, const TimeStep& step) {
  constexpr int64_t day = 86'400'000'000;
  std::vector<std::string> features;
  for (const int64_t period : {season.period, season.second_period}) {
    if (period <= 1) continue;
    const bool cycle = period == std::ssize(step.slots);  // of the slots, as against a part or several of it
    if (step.unit == TimeStep::Unit::slots)
      features.push_back((step.count == day) == cycle ? "hour" : "weekday");
    if (step.unit == TimeStep::Unit::month && cycle)
      features.push_back("day");
    else if (step.unit == TimeStep::Unit::month)
      features.push_back("month");
    if (step.unit == TimeStep::Unit::business_day) features.push_back("weekday");
    if (step.unit != TimeStep::Unit::microsecond) continue;
    const int64_t whole = period * step.count;
    features.push_back(whole > 200 * day  ? "day_of_year"
                       : whole == 7 * day ? "weekday"
                       : whole == day     ? "hour"
                                          : "minute");
  }
  return features;
}

std::string word_of(const std::string& network) {
  return network == "gru"      ? gru
         : network == "linear" ? "architecture=linear"
                               : "architecture=dlinear normalization=none";
}

// The baselines are those that the keys of [data] ask for.
std::vector<std::string> members_of(const Size& size, const Recipe& recipe) {
  const auto& d = recipe.data;
  std::vector<std::string> members;
  for (const std::string& network : size.networks) members.push_back(word_of(network));
  for (const char* word : {"last", "drift", "mean"}) members.emplace_back(word);
  if (d.period > 1) members.insert(members.end(), {"seasonal", "growth"});
  if (d.second_period > 1) members.insert(members.end(), {"second-seasonal", "second-growth"});
  if (d.autoregression > 0) members.emplace_back("autoregression");
  if (d.ridge) members.emplace_back("ridge");
  if (size.ets) members.emplace_back("ets");
  if (d.theta) members.emplace_back("theta");
  return members;
}

// With the option that stands for the key that a message names: 'data.gaps = "allow"' is --set data.gaps=allow.
[[noreturn]] void refuse(const InputError& error) {
  const std::string message = error.what();
  const size_t begin = message.find("data."), equals = message.find(" = ", begin);
  if (begin == std::string::npos || message.find("--set") != std::string::npos) throw InputError(message);
  const std::string key =
      message.substr(begin, message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin + 5) - begin);
  std::string option = key + "=VALUE";
  if (equals == begin + key.size() && message.compare(equals + 3, 1, "\"") == 0)
    option = key + "=" + message.substr(equals + 4, message.find('"', equals + 4) - equals - 4);
  if (message.find(" and data.together") != std::string::npos) option += " --set data.together=sum";
  throw InputError(fmt::format("{}; as an option: --set {}", message, option));
}

Recipe loaded(const RecipeFile& file, const Wishes& wishes) {
  Recipe recipe = load_recipe(file, wishes.overrides);
  recipe.name = file.name;
  return recipe;
}

}  // namespace

bool says(const Wishes& wishes, const std::string& key) {
  return std::ranges::any_of(wishes.overrides,
                             [&](const Override& o) { return o.assignment.starts_with(key + "="); });
}

GuessedRecipe guess_recipe(const std::filesystem::path& csv, const Wishes& wishes) {
  GuessedRecipe guessed;
  guessed.file.name = csv == standard_input      ? "input"
                      : csv.extension() == ".gz" ? csv.stem().stem().string()
                                                 : csv.stem().string();
  guessed.file.origin = "the recipe guessed for " + name_of_series_file(csv);
  Text text;
  // While keys are missing, with those overrides alone that say how the file is read and cut.
  Wishes early = wishes;
  std::erase_if(early.overrides, [](const Override& o) {
    constexpr std::array keys = {
        "data.file",       "data.separator",  "data.decimal",  "data.time",
        "data.date_order", "data.only",       "data.missing",  "data.gaps",
        "data.id",         "data.resample",   "data.together", "data.channels",
        "data.targets",    "data.categories", "data.period",   "data.second_period",
        "data.window",     "data.horizon",    "data.ets",      "data.theta",
        "data.ridge",      "data.thousands",  "data.open_end", "data.autoregression"};
    return std::ranges::none_of(
        keys, [&](const char* key) { return o.assignment.starts_with(std::string(key) + "="); });
  });
  const auto load = [&](bool all = false) {
    guessed.file.text = text.text();
    guessed.recipe = loaded(guessed.file, all ? wishes : early);
  };
  const auto say = [&](const char* name, const std::string& what, const std::string& why,
                       const std::string& option) {
    const std::string key = option.substr(0, option.find('='));  // "--set data.window"
    if (!key.starts_with("--set ") || !says(wishes, key.substr(6)))
      guessed.guesses.push_back({name, what, why, option});
  };
  try {
    const std::string content = csv_text(csv);
    const char separator = separator_of(content);
    if (csv != standard_input) text.set("data", "file", toml_string(std::filesystem::absolute(csv).string()));
    text.set("data", "separator", toml_string(std::string(1, separator)));
    load();
    const auto take = [&](const FileReading& reading) {
      for (const auto& [key, value] : reading.keys) text.set("data", key, value);
      for (const Guess& guess : reading.guesses) say(guess.name.c_str(), guess.what, guess.why, guess.option);
      load();
    };
    const std::vector<std::string> categories = guessed.recipe.data.categories;
    const FileReading columns =
        reading_of_file(content, name_of_series_file(csv), series_options(guessed.recipe), wishes);
    if (!says(wishes, "data.channels")) text.set("data", "channels", list_of(columns.targets));
    if (!says(wishes, "data.targets")) text.set("data", "targets", list_of(columns.targets));
    take(columns);
    // A step that rows are put together by may have none.
    if (!guessed.recipe.data.resample.empty()) text.set("data", "missing", toml_string("previous"));
    SeriesOptions options = series_options(guessed.recipe);
    options.channels_guessed = wishes.columns.empty() && !says(wishes, "data.channels");
    if (!says(wishes, "data.missing")) {
      options.missing = Missing::mask;
      if (!says(wishes, "data.open_end")) options.open_end = guessed.recipe.data.targets;
    }
    if (!says(wishes, "data.gaps") && options.missing != Missing::error && options.resample.empty())
      options.gaps = Gaps::fill;
    const Series series = load_csv(csv, options);
    take(reading_of_holes(series, wishes));
    const bool several = !series.members.empty(), one_network = several || !categories.empty();
    const int typical = typical_series(series);
    const int64_t rows = rows_that_train(series, typical, wishes.train);
    constexpr int64_t fewest = 5, least_window = 2;  // a window, a step, and a fold of two rows
    require_input(rows >= fewest, "{}: {} row{} to train on {} too few for a forecast, which takes {}",
                  name_of_series_file(csv), rows, rows == 1 ? "" : "s", rows == 1 ? "is" : "are", fewest);
    if (several)
      guessed.guesses.push_back({"series",
                                 fmt::format("{} by column '{}'", series.count(), one_line(series.id_name)),
                                 fmt::format("lengths are those of '{}', the median",
                                             one_line(series.members[static_cast<size_t>(typical)].name)),
                                 "--set data.id=NAME"});
    say("time", series.time_name.empty() ? "none" : fmt::format("column '{}'", one_line(series.time_name)),
        series.time_name.empty() ? "no column of dates: rows are numbered"
                                 : "rows are " + apart_text(series.times.step),
        "--set data.time=NAME");
    Season season;
    if (says(wishes, "data.period") || says(wishes, "data.second_period")) {
      season.period = guessed.recipe.data.period, season.second_period = guessed.recipe.data.second_period;
    } else {
      season =
          season_of_most(sample_of(series, guessed.recipe.data.targets, wishes.train), series.times.step);
      say("season",
          season.period == 1          ? "none"
          : season.second_period == 0 ? fmt::format("{} rows", season.period)
                                      : fmt::format("{} and {} rows", season.period, season.second_period),
          season.why, "--set data.period=N");
      text.set("data", "period", season.period);
      text.set("data", "second_period", season.second_period);
    }
    int64_t steps = wishes.steps > 0 ? wishes.steps : series.open_rows;
    if (steps == 0 && says(wishes, "data.horizon")) steps = guessed.recipe.data.horizon;
    if (steps == 0) {
      steps = clamped(season.period > 1 && season.period <= 60 ? season.period : 12, 1,
                      std::max<int64_t>(rows / 10, 1));
      say("steps", fmt::format("{}", steps),
          season.period > 1 && steps == season.period ? "a season" : "a tenth of the rows at most",
          "--steps N");
    }
    // Before a fold lie two seasons and half of the rows. Where the rest is too short for one, it forecasts fewer steps, of more
    // windows; a longer forecast goes on from these.
    constexpr int64_t further = 4, least_fold = 6;
    const int64_t rest = rows - std::max(2 * (season.period > 1 ? season.period : 0), (rows + 1) / 2);
    const bool is_short = !one_network && steps + further > rest && !says(wishes, "data.horizon");
    const int64_t short_fold = std::max(rest, std::min(least_fold, rows / 2));
    text.set("data", "horizon",
             is_short ? std::min({steps, (short_fold + 1) / 2, rows - short_fold - least_window}) : steps);
    load();
    const int64_t horizon = guessed.recipe.data.horizon;
    if (horizon < steps)
      say("horizon", fmt::format("{} of {} steps", horizon, steps),
          fmt::format("{} rows leave no more to try it on; the further steps go on from the first", rows),
          "--set data.horizon=N");
    const int64_t most = std::max(rows / 6, least_window);
    int64_t longest = season.second_period > 1 ? season.second_period
                      : season.period > 1      ? 2 * season.period
                                               : 12;
    if (season.period > most) longest = std::max<int64_t>(4 * horizon, 12);  // no window holds a season
    text.set("data", "window", clamped(std::max(longest, horizon), least_window, most));
    load();
    const int64_t window = guessed.recipe.data.window;
    say("window", fmt::format("{} rows", window),
        season.period > 1 ? "two seasons, or the longer one; a sixth of the rows at most"
                          : "a sixth of the rows at most",
        "--set data.window=N");
    text.set("data", "batch", 32);
    if (!one_network) {
      text.set("data", "train", fmt::format("{:.6g}{}", wishes.train, wishes.train == 1 ? ".0" : ""));
      text.set("data", "valid", "0.0");
    } else if (!several) {  // there are no folds to set the interval
      constexpr double valid = 0.1;
      text.set("data", "train", fmt::format("{:.6g}", std::min(wishes.train, 0.9) - valid));
      text.set("data", "valid", fmt::format("{:.6g}", valid));
    }
    text.set("data", "autoregression",
             clamped(season.period > 1 && season.period <= 60 ? season.period + 1 : 10, 1,
                     std::max<int64_t>(rows / 8, 1)));
    text.set("data", "ridge", "true");
    constexpr int64_t longest_of_ets = 24;
    if (season.period > longest_of_ets) {
      text.set("data", "ets", "false");
      say("ETS", "left out", fmt::format("a season of more than {} rows has too many states", longest_of_ets),
          "--set data.ets=true");
    }
    load();
    if (const auto calendar = calendar_of(season, series.times.step);
        !calendar.empty() && !says(wishes, "data.calendar"))
      text.set("data", "calendar", list_of(calendar));
    const int64_t windows = std::max<int64_t>(rows - window - horizon + 1, 1), batches = (windows + 31) / 32;
    if (several) {
      constexpr int64_t batch = 128, all_steps = 2000, most_for_ets = 50;
      const int64_t of_all = (windows * series.count() + batch - 1) / batch;
      text.set("data", "batch", batch);
      text.set("data", "split", toml_string("rows"));
      text.set("data", "valid_rows", guessed.recipe.data.horizon);
      text.set("data", "test_rows", guessed.recipe.data.horizon);
      say("parts", fmt::format("{} rows each to validate and to test", guessed.recipe.data.horizon),
          "the last ones of every series", "--set data.test_rows=N");
      if (series.count() > most_for_ets && season.period <= longest_of_ets) {
        text.set("data", "ets", "false");
        say("ETS", "left out", fmt::format("it is slow on more than {} series", most_for_ets),
            "--set data.ets=true");
      }
      text.set("training", "epochs", clamped(all_steps / of_all, 2, 100));
      text.set("model", "hidden", 64);
      say("model", "one GRU over segments, for all series", "ensembles are of one series",
          "--set model.architecture=linear");
    }
    text.set("model", "cell", toml_string("gru"));
    if (!several) text.set("model", "hidden", 32);
    text.set("model", "shared_channels", "true");
    text.set("model", "normalization", toml_string("last"));
    text.set("model", "segment", segment_of(guessed.recipe.data.window));
    if (!one_network) text.set("model", "moving_average", clamped(window / 2 * 2 - 1, 1, 25));
    const Size size{.networks = {"gru", "linear", "dlinear", "gru", "linear", "dlinear"},
                    .folds = most_folds,
                    .epochs = static_cast<int>(clamped((1500 + batches - 1) / batches, 4, 150)),
                    .ets = guessed.recipe.data.ets};
    if (!several) text.set("training", "epochs", size.epochs);
    if (one_network && !several)
      say("model", "one GRU over segments", "ensembles do not read words (data.categories)",
          "--set data.categories=[]");
    if (!one_network) {
      text.set("training", "keep", toml_string("last"));
      text.set("ensemble", "members", list_of(members_of(size, guessed.recipe)));
      text.set("ensemble", "folds", size.folds);
      if (is_short) text.set("ensemble", "fold_rows", short_fold);
      text.set("training", "clip", "0.0");  // of one network's gradients the norm of all would be cut
    }
    text.set("optimizer", "kind", toml_string("adamw"));
    text.set("optimizer", "learning_rate", "0.003");
    text.set("optimizer", "weight_decay", "0.01");
    text.set("schedule", "kind", toml_string("cosine"));
    load(true);
    if (!guessed.recipe.is_ensemble()) return guessed;
    // As many folds as the rows allow, behind two seasons.
    const int64_t fold_rows = rows_of_fold(guessed.recipe, rows),
                  least = std::max(window + horizon + rows / 4, season.period > 1 ? 2 * season.period : 0);
    const int64_t folds = clamped((rows - least) / fold_rows, 1, most_folds);
    if (folds < size.folds && !says(wishes, "ensemble.folds"))
      text.set("ensemble", "folds", folds), load(true);
    say("folds",
        fmt::format("{} of {} rows", guessed.recipe.ensemble.folds, rows_of_fold(guessed.recipe, rows)),
        fmt::format("the last ones of {} that train", rows), "--set ensemble.folds=N");
  } catch (const InputError& error) { refuse(error); }
  return guessed;
}

Size size_of(const GuessedRecipe& guessed) {
  Size size{.networks = {},
            .folds = guessed.recipe.ensemble.folds,
            .epochs = guessed.recipe.training.epochs,
            .ets = false};
  for (const std::string& member : guessed.recipe.ensemble.members)
    if (std::ranges::find(baseline_words(), member) == baseline_words().end())
      size.networks.emplace_back(member == word_of("linear")    ? "linear"
                                 : member == word_of("dlinear") ? "dlinear"
                                                                : "gru");
    else
      size.ets = size.ets || member == "ets";
  return size;
}

GuessedRecipe with_size(const GuessedRecipe& guessed, const Wishes& wishes, const Size& size) {
  GuessedRecipe result = guessed;
  Wishes all = wishes;
  const auto set = [&](const char* key, const std::string& value) {
    if (!says(wishes, key)) all.overrides.push_back({fmt::format("{}={}", key, value), "the budget"});
  };
  set("ensemble.members", list_of(members_of(size, guessed.recipe)));
  set("ensemble.folds", fmt::format("{}", size.folds));
  set("training.epochs", fmt::format("{}", size.epochs));
  if (!size.ets) set("data.ets", "false");
  result.recipe = loaded(guessed.file, all);
  return result;
}

}  // namespace timeseries
