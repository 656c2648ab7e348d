// A recipe for a series that came without one: each choice is guessed from the file and printed. See wishes.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "examples/timeseries/baselines/combination.h"
#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/guess/choices.h"
#include "examples/timeseries/guess/wishes.h"
#include "examples/timeseries/series/season.h"
#include "examples/timeseries/series/series_rows.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace timeseries {

namespace {

int64_t rows_in(const Series& series, int member, double share) {
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

// The first rows of each target of some series, evenly chosen among those of the common step.
std::vector<std::vector<double>> sample_of(const Series& series, const std::vector<std::string>& targets,
                                           double share) {
  constexpr int64_t most = 25;
  std::vector<std::vector<double>> sample;
  std::vector<int> members;
  for (int member = 0; member < series.count(); ++member)
    if (series.step_of(member) == series.times.step) members.push_back(member);
  const auto all = std::ssize(members) * std::ssize(targets), count = std::min(all, most);
  for (int64_t k = 0; k < count; ++k) {
    const int64_t chosen = k * all / count;
    const int member = members[static_cast<size_t>(chosen / std::ssize(targets))];
    const int channel = series.channel(targets[chosen % std::ssize(targets)]);
    const int64_t begin = series.begin_of(member);
    sample.push_back(values_of(series, channel, begin, begin + rows_in(series, member, share)));
  }
  return sample;
}

// With the option that stands for the key that a message names: 'data.gaps = "allow"' is --set data.gaps=allow.
[[noreturn]] void refuse(const InputError& error) {
  const std::string message = error.what();
  size_t begin = message.find("data.", message.find(": "));  // behind the file's name, which may be such
  while (begin != message.npos && message[begin - 1] != ' ' && message[begin - 1] != '(')
    begin = message.find("data.", begin + 1);
  const size_t equals = message.find(" = ", begin);
  if (begin == std::string::npos || message.find("--set") != std::string::npos) throw InputError(message);
  const std::string key =
      message.substr(begin, message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin + 5) - begin);
  // Rows are to be put together before that key can help.
  if (key == "data.missing" && message.find("together first") < begin) throw InputError(message);
  std::string option = key + "=VALUE";
  if (equals == begin + key.size() && message.compare(equals + 3, 1, "\"") == 0)
    option = key + "=" + message.substr(equals + 4, message.find('"', equals + 4) - equals - 4);
  const char* const quote = option.find(' ') == option.npos ? "" : "'";
  const bool or_zero = key == "data.gaps" && message.find("data.missing = \"zero\" with") != message.npos;
  throw InputError(fmt::format("{}; as an option: --set {}{}{}{}", message, quote, option, quote,
                               or_zero ? ", or for 0 --set data.missing=zero" : ""));
}

// Guesses one part after another: each rests on those before it.
class Guesser {
 public:
  Guesser(const std::filesystem::path& csv, const Wishes& wishes)
      : csv_(csv), wishes_(wishes), early_(wishes.overrides) {
    file_.name = csv == standard_input      ? "input"
                 : csv.extension() == ".gz" ? csv.stem().stem().string()
                                            : csv.stem().string();
    file_.origin = "the recipe guessed for " + name_of_series_file(csv);
    std::erase_if(early_, [](const Override& o) {
      constexpr std::array keys = {"data.file",       "data.separator", "data.decimal",       "data.time",
                                   "data.date_order", "data.only",      "data.missing",       "data.gaps",
                                   "data.id",         "data.channels",  "data.targets",       "data.period",
                                   "data.window",     "data.horizon",   "data.second_period", "data.ets",
                                   "data.open_end",   "data.thousands", "data.mend"};
      return std::ranges::none_of(
          keys, [&](const char* key) { return o.assignment.starts_with(std::string(key) + "="); });
    });
  }

  GuessedRecipe guess() {
    const Series series = read_series();
    measure(series);
    guess_season(series);
    guess_steps(series);
    guess_window();
    guess_baselines();
    if (wishes_.network) guess_network(series);
    load(wishes_.overrides);  // all of them: no key is missing
    return {recipe_, guesses_};
  }

 private:
  bool says(const std::string& key) const { return timeseries::says(wishes_, key); }

  // Sets keys to values as recipes write them, in place of earlier ones.
  void set(const std::string& key, const std::string& value) { keys_[key] = value; }
  void set(const std::string& key, int64_t value) { set(key, std::to_string(value)); }
  void set(std::initializer_list<std::pair<const char*, const char*>> keys) {
    for (const auto& [key, value] : keys) set(key, value);
  }
  // Reads the recipe from the keys so far, with overrides. Throws InputError like load_recipe.
  void load(const std::vector<Override>& overrides) {
    file_.text.clear();
    for (const auto& [key, value] : keys_) file_.text += fmt::format("{} = {}\n", key, value);
    recipe_ = load_recipe(file_, overrides);
    recipe_.name = file_.name;
  }
  void load() { load(early_); }
  // Notes a guess, unless the user's overrides name its key.
  void say(const Guess& guess) {
    const std::string key = guess.option.substr(0, guess.option.find('='));  // "--set data.window"
    if (!key.starts_with("--set ") || !says(key.substr(6))) guesses_.push_back(guess);
  }

  void take(const FileReading& reading) {
    for (const auto& [key, value] : reading.keys) {
      set("data." + key, value);
      if (key == "thousands") thousands_ = value;
    }
    for (const Guess& guess : reading.guesses) say(guess);
    load();
  }

  // Guesses how the file is read, mends it where it must, and reads it.
  Series read_series() {
    if (csv_ != standard_input) set("data.file", toml_string(std::filesystem::absolute(csv_).string()));
    if (says("data.gaps") && !says("data.missing")) set("data.missing", toml_string("previous"));
    load();
    const auto known = keys_;  // what a text tells that is not mended yet is forgotten
    std::map<std::string, std::string> told;
    std::vector<std::string> mended;
    const auto read = [&](const std::string& text) {
      for (;;) try {
          keys_ = known, guesses_.clear();
          keys_.insert(told.begin(), told.end());
          return read_text(text);
        } catch (const MendableFile& fault) {
          if (fault.key.empty() || !may_mend() || says("data." + fault.key) ||
              told.contains("data." + fault.key))
            throw;
          told["data." + fault.key] = toml_string(fault.value);
        }
    };
    Series series = read_mended(read_series_file(csv_), name_of_series_file(csv_), may_mend(), mended, read);
    take(reading_of_holes(series, wishes_));
    // Rows that are left out may have marks, too: the file is read anew with them.
    if (!thousands_.empty() && !keys_.contains("data.thousands") && thousands_[1] != recipe_.data.decimal[0])
      set("data.thousands", thousands_), load();
    if (mended.empty()) return series;
    set("data.mend", "true");
    if (!keys_.contains("data.missing") &&
        !says("data.missing"))  // rows that a mend leaves out may lack values
      set("data.missing", toml_string("previous"));
    return series;
  }
  bool may_mend() const { return !says("data.mend") || recipe_.data.mend; }
  Series read_text(const std::string& content) {
    const char separator = separator_of(content);
    set("data.separator", toml_string(std::string(1, separator)));
    load();
    SeriesOptions options = series_options(recipe_);
    options.mend = may_mend();
    FileReading columns = reading_of_file(content, name_of_series_file(csv_), options, wishes_);
    if (!says("data.channels")) set("data.channels", toml_list(columns.targets, columns.targets.size()));
    if (!says("data.targets")) set("data.targets", toml_list(columns.targets, columns.targets.size()));
    take(columns);
    options = series_options(recipe_);
    options.mend = may_mend(), options.needs_times = may_mend() && !says("data.time");
    options.channels_guessed = wishes_.columns.empty() && !says("data.channels");
    if (!says("data.missing")) {
      options.missing = Missing::mask;
      if (!says("data.open_end")) options.open_end = recipe_.data.targets;
    }
    if (!says("data.gaps") && options.missing != Missing::error) options.gaps = Gaps::fill;
    Series series = parse_series(content, name_of_series_file(csv_), options);
    columns.targets = recipe_.data.targets;
    const FileReading others = reading_of_steps(series, columns, wishes_);
    if (others.keys.empty()) return series;
    std::erase_if(guesses_, [](const Guess& guess) { return guess.name == "columns"; });
    take(others);
    options.channels = recipe_.data.channels;
    if (!options.open_end.empty()) options.open_end = recipe_.data.targets;
    return parse_series(content, name_of_series_file(csv_), options);
  }

  // ": 549 from 2023-06-01 to 2024-11-30", with the rows that are put in and without those to forecast.
  static std::string range_text(const Series& series) {
    if (series.time_name.empty()) return fmt::format(": {}", series.rows());
    int64_t first = 0, last = series.rows() - 1;
    for (int member = 0; member < series.count(); ++member) {
      const int64_t begin = series.begin_of(member), end = series.end_of(member) - 1;
      if (series.times.at[begin] < series.times.at[first]) first = begin;
      if (series.times.at[end] > series.times.at[last]) last = end;
    }
    return fmt::format(": {}{} from {} to {}", series.rows(), series.members.empty() ? "" : " in all,",
                       series.times.text(first), series.times.text(last));
  }

  // Counts series and rows: guesses rest on the one of median length.
  void measure(const Series& series) {
    several_ = !series.members.empty();
    const int typical = typical_series(series);
    rows_ = rows_in(series, typical, wishes_.train + wishes_.valid);
    valid_rows_ = rows_in(series, typical, wishes_.valid);
    const int64_t fewest = wishes_.network ? least_window + 3 : Combination::least_rows;
    require_input(rows_ >= fewest, "{}: {} row{} to {} {} too few for a forecast, which takes {}",
                  name_of_series_file(csv_), rows_, plural(rows_),
                  wishes_.network ? "train on" : "forecast from", rows_ == 1 ? "is" : "are", fewest);
    if (several_)
      guesses_.push_back({"series",
                          fmt::format("{} by column '{}'", series.count(), one_line(series.id_name)),
                          wishes_.steps > 0 && !wishes_.series.empty()
                              ? fmt::format("'{}' is asked for", one_line(wishes_.series))
                              : fmt::format("guesses rest on '{}', of median length",
                                            one_line(series.members[typical].name)),
                          "--set data.id=NAME"});
    say({"time", series.time_name.empty() ? "none" : fmt::format("column '{}'", one_line(series.time_name)),
         (series.time_name.empty() ? "no column of dates: rows are numbered"
                                   : "rows are " + apart_text(series)) +
             range_text(series),
         "--set data.time=NAME"});
  }

  void guess_season(const Series& series) {
    const auto& d = recipe_.data;
    if (says("data.period")) {
      season_.period = d.period, season_.second_period = d.second_period;
    } else {
      const auto sample = sample_of(series, d.targets, wishes_.train + wishes_.valid);
      season_ = season_of_most(sample, series.times.step,
                               std::ssize(sample) < series.count() * std::ssize(d.targets));
      if (says("data.second_period")) {
        season_.second_period = d.second_period;
        season_.why = season_.why.substr(0, season_.why.find(", ")) + "; data.second_period is set";
      }
      say({"season", to_text(season_), season_.why, "--set data.period=N"});
      set("data.period", season_.period);
      set("data.second_period", season_.second_period);
    }
    has_season_ = season_.period > 1, is_short_season_ = has_season_ && season_.period <= 60;
    is_day_ = has_season_ && !wishes_.network && season_.period <= 288 &&
              !calendar_periods(series.times.step, rows_).empty() &&
              calendar_period(season_.period, series.times.step) == CalendarPeriod::day;
  }

  // The steps to forecast, and the model's horizon, which may be shorter.
  void guess_steps(const Series& series) {
    // One row without a value may be one whose value is late.
    int64_t steps = wishes_.steps > 0 ? wishes_.steps : series.open_rows > 1 ? series.open_rows : 0;
    if (steps == 0 && says("data.horizon")) steps = recipe_.data.horizon;
    if (steps == 0) {
      const bool is_season = is_short_season_ || is_day_;
      steps = is_season ? clamped(season_.period, 1, rows_ / 4)
                        : clamped(12, 1, std::max<int64_t>(rows_ / 10, 1));
      say({"steps", fmt::format("{}", steps),
           has_season_ && steps == season_.period ? "a season"
           : is_season                            ? "a quarter of the rows at most"
           : steps < 12                           ? "a tenth of the rows"
           : has_season_                          ? "the season is long"
                                                  : "there is no season",
           "--steps N"});
    }
    // A network is validated on rows that hold its horizon.
    const bool is_long = wishes_.network && !several_ && steps > valid_rows_ && !says("data.horizon");
    set("data.horizon", is_long ? std::max<int64_t>(valid_rows_, 1) : steps);
    load();
    horizon_ = recipe_.data.horizon;
    if (horizon_ < steps)
      say({"horizon", fmt::format("{} of {} steps", horizon_, steps),
           fmt::format("{} rows leave no more to validate it on; the further steps go on from the first",
                       rows_),
           "--set data.horizon=N"});
  }

  void guess_window() {
    const int64_t most = std::max(rows_ / 6, least_window);
    int64_t longest = season_.second_period > 1 ? season_.second_period
                      : has_season_             ? 2 * season_.period
                                                : 12;
    if (season_.period > most) longest = std::max<int64_t>(4 * horizon_, 12);  // no window holds a season
    set("data.window", clamped(std::max(longest, horizon_), least_window, most));
    load();
    window_ = recipe_.data.window;
    if (wishes_.network)
      say({"window", fmt::format("{} rows", window_),
           has_season_ ? "two seasons, or the longer one; a sixth of the rows at most"
                       : "a sixth of the rows at most",
           "--set data.window=N"});
    if (several_ && wishes_.network) return;  // its rows are split by their number
    set("data.train", fmt::format("{:.6g}{}", wishes_.train, wishes_.train == 1 ? ".0" : ""));
    set("data.valid", fmt::format("{:.6g}{}", wishes_.valid, wishes_.valid == 0 ? ".0" : ""));
  }

  void guess_baselines() {
    set({{"data.ridge", "true"}, {"data.ces", "true"}, {"data.pretrained", "true"}});
    if (!several_) set("data.combination", "true");
    if (season_.period > longest_of_ets)
      leave_out_ets(fmt::format("a season of more than {} rows has too many states", longest_of_ets));
    load();
  }

  void leave_out_ets(const std::string& why) {
    set("data.ets", "false");
    if (wishes_.network) say({"ETS", "left out", why, "--set data.ets=true"});
  }

  void guess_network(const Series& series) {
    const auto calendar = calendar_of(season_, series.times.step, rows_);
    if (!calendar.empty() && !says("data.calendar"))
      set("data.calendar", toml_list(calendar, calendar.size()));
    set({{"model.cell", "\"gru\""}, {"model.shared_channels", "true"}, {"model.normalization", "\"last\""}});
    set("model.segment", segment_of(window_));
    if (several_) {
      guess_for_several(series);
    } else {
      const int64_t batches = (windows() + 31) / 32;
      set("data.batch", 32);
      set("model.hidden", 32);
      set("training.epochs", clamped((1500 + batches - 1) / batches, 4, 150));
      say({"model", "one GRU over segments, trained now",
           says("data.known") ? "the members of the mean do not read what is known ahead" : "by channel",
           "--set model.architecture=linear"});
    }
    set({{"optimizer.kind", "\"adamw\""},
         {"optimizer.learning_rate", "0.003"},
         {"optimizer.weight_decay", "0.01"}});
    set({{"schedule.kind", "\"cosine\""}});
  }

  // One network learns from every series, and its last rows validate and test it.
  void guess_for_several(const Series& series) {
    constexpr int64_t batch = 128, all_steps = 2000, most_for_ets = 50;
    set("data.batch", batch);
    set("data.split", toml_string("rows"));
    set("data.valid_rows", horizon_);
    set("data.test_rows", horizon_);
    say({"parts", fmt::format("{} rows each to validate and to test", horizon_),
         "the last ones of every series", "--set data.test_rows=N"});
    if (series.count() > most_for_ets && season_.period <= longest_of_ets)
      leave_out_ets(fmt::format("it is slow on more than {} series", most_for_ets));
    const int64_t of_all = (windows() * series.count() + batch - 1) / batch;
    set("training.epochs", clamped(all_steps / of_all, 2, 100));
    set("model.hidden", 64);
    say({"model", "one GRU over segments, for all series", "each scaled by itself",
         "--set model.architecture=linear"});
  }

  int64_t windows() const { return std::max<int64_t>(rows_ - window_ - horizon_ + 1, 1); }

  static constexpr int64_t least_window = 2, longest_of_ets = 24;  // rows; ETS: of a season

  const std::filesystem::path csv_;
  const Wishes& wishes_;
  std::vector<Override> early_;  // those that say how the file is read and cut: read while keys are missing
  RecipeFile file_;
  std::map<std::string, std::string> keys_;  // "data.period", and its value as recipes write it
  std::string thousands_;                    // between digits, in any reading
  Recipe recipe_;                            // as far as it is loaded
  std::vector<Guess> guesses_;
  bool several_ = false;  // series
  bool has_season_ = false, is_short_season_ = false, is_day_ = false;
  int64_t rows_ = 0, valid_rows_ = 0, window_ = 0, horizon_ = 0;
  Season season_;
};

}  // namespace

GuessedRecipe guess_recipe(const std::filesystem::path& csv, const Wishes& wishes) {
  try {
    return Guesser(csv, wishes).guess();
  } catch (const InputError& error) { refuse(error); }
}

}  // namespace timeseries
