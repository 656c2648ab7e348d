#include "training/program/sweep/plan.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include <fmt/ranges.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "training/files/atomic_file.h"
#include "training/files/json/json.h"

namespace unroll {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_trials = 10'000, most_bytes_of_plan = std::size_t{256} << 20;

// At commas outside of quotes, brackets and braces.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  char quote = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (quote == '"' && c == '\\' && i + 1 < text.size())
        parts.back() += text[i++];
      else if (c == quote)
        quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += text[i];
  }
  for (std::string& part : parts) {
    const auto first = part.find_first_not_of(' '), last = part.find_last_not_of(' ');
    part = first == part.npos ? "" : part.substr(first, last - first + 1);
  }
  return parts;
}

uint64_t seed_in(std::string_view text, const std::string& all) {
  uint64_t seed = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), seed);
  require_input(result.ec == std::errc() && result.ptr == text.data() + text.size() &&
                    seed <= uint64_t{std::numeric_limits<int64_t>::max()},
                "--seeds {}: '{}' is no whole number; seeds are given as 1..5 or as 1,2,7", one_line(all),
                one_line(text));
  return seed;
}

bool same_trial(const Trial& a, const Trial& b) { return a.values == b.values && a.seed == b.seed; }

int number_of(const Trial& trial) {
  int number = 0;
  const std::size_t begin = trial.folder.find('-') + 1;
  std::from_chars(trial.folder.data() + begin, trial.folder.data() + trial.folder.size(), number);
  return number;
}

bool is_folder_of_trial(const std::string& name) {
  constexpr std::string_view prefix = "trial-";
  return name.starts_with(prefix) && name.size() > prefix.size() && name.size() < prefix.size() + 8 &&
         name.find_first_not_of("0123456789", prefix.size()) == name.npos;
}

std::string names_of(const std::vector<SweptKey>& keys) {
  std::vector<std::string> names;
  for (const SweptKey& key : keys) names.push_back(key.key);
  return names.empty() ? "no key" : fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Override> overrides_of(const SweepPlan& plan, const Trial& trial) {
  std::vector<Override> overrides;
  for (std::size_t i = 0; i < plan.keys.size(); ++i)
    overrides.push_back({plan.keys[i].key + "=" + trial.values[i]});
  if (trial.seed)
    overrides.push_back(
        {fmt::format("training.seed={}", *trial.seed), fmt::format("--seeds {}", *trial.seed)});
  return overrides;
}

}  // namespace

std::vector<std::size_t> SweepPlan::varying() const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i].values.size() > 1) found.push_back(i);
  return found;
}

std::string SweepPlan::summary() const {
  std::vector<std::string> parts;
  for (const SweptKey& key : keys)
    parts.push_back(fmt::format("{} = {}", key.key, fmt::join(key.values, ", ")));
  if (!seeds.empty()) parts.push_back(fmt::format("seeds {}", fmt::join(seeds, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string SweepPlan::name_of_values(const Trial& trial) const {
  std::vector<std::string> words;
  for (const std::size_t i : varying()) words.push_back(fmt::format("{} = {}", keys[i].key, trial.values[i]));
  return words.empty() ? recipe : fmt::format("{}", fmt::join(words, ", "));
}

std::string SweepPlan::name_of(const Trial& trial) const {
  if (!trial.seed) return name_of_values(trial);
  const std::string seed = fmt::format("seed {}", *trial.seed);
  return varying().empty() ? seed : name_of_values(trial) + ", " + seed;
}

SweptKey swept_key(const std::string& assignment) {
  const std::string shown = one_line(assignment);
  const auto equals = assignment.find('=');
  require_input(equals != assignment.npos && equals > 0, "--set {}: KEY=VALUE or KEY=VALUE,VALUE,… is wanted",
                shown);
  SweptKey key{assignment.substr(0, equals), parts_of(assignment.substr(equals + 1))};
  std::set<std::string> seen;
  for (const std::string& value : key.values) {
    require_input(!value.empty(), "--set {}: {}", shown,
                  key.values.size() == 1 ? "there is no value behind the '='"
                                         : "a value between two commas, or at an end, is missing");
    require_input(seen.insert(value).second, "--set {}: {} stands there twice", shown, one_line(value));
  }
  return key;
}

std::vector<uint64_t> seeds_in(const std::string& text) {
  std::vector<uint64_t> seeds;
  std::set<uint64_t> seen;
  for (const std::string& part : parts_of(text)) {
    const auto dots = part.find("..");
    const uint64_t first = seed_in(std::string_view(part).substr(0, dots), text),
                   last = dots == part.npos ? first : seed_in(std::string_view(part).substr(dots + 2), text);
    require_input(first <= last, "--seeds {}: {} is above {}", one_line(text), first, last);
    require_input(last - first < most_trials, "--seeds {}: more than {} seeds", one_line(text), most_trials);
    for (uint64_t seed = first; seed <= last; ++seed) {
      require_input(seen.insert(seed).second, "--seeds {}: {} stands there twice", one_line(text), seed);
      seeds.push_back(seed);
    }
  }
  return seeds;
}

std::vector<Trial> trials_of(const SweepPlan& plan,
                             const std::function<std::string(const std::vector<Override>&)>& resolve) {
  std::size_t count = std::max<std::size_t>(plan.seeds.size(), 1);
  std::set<std::string> seen;
  for (const SweptKey& key : plan.keys) {
    require_input(seen.insert(key.key).second,
                  "--set {} is given twice: all values of a key stand in one list, {}=VALUE,VALUE",
                  one_line(key.key), one_line(key.key));
    require_input(key.key != "training.seed", "seeds are given by --seeds 1..5, not by --set training.seed");
    count *= key.values.size();
    require_input(count <= most_trials, "that is more than {} trials", most_trials);
  }
  require_input(
      count > 1,
      "that is one trial: give values to compare, as in --set model.hidden=100,200, or --seeds 1..5");
  std::vector<Trial> trials;
  for (std::size_t number = 0; number < count; ++number) {
    Trial trial{.folder = fmt::format("trial-{}", number + 1), .values = {}, .seed = {}};
    std::size_t rest = number;
    if (!plan.seeds.empty()) trial.seed = plan.seeds[rest % plan.seeds.size()], rest /= plan.seeds.size();
    for (auto key = plan.keys.rbegin(); key != plan.keys.rend(); ++key)
      trial.values.push_back(key->values[rest % key->values.size()]), rest /= key->values.size();
    std::ranges::reverse(trial.values);
    trial.recipe = resolve(overrides_of(plan, trial));
    trials.push_back(std::move(trial));
  }
  return trials;
}

void go_on_with(SweepPlan& plan, const SweepPlan& before, const fs::path& folder,
                const DifferingKeys& differing_keys) {
  const std::string where = folder.string();
  const auto or_none = [](const std::string& text) { return text.empty() ? "not given" : text; };
  require_input(plan.data == before.data, "{}: its data were {}, and are {} now: begin another sweep", where,
                or_none(printable(before.data.string())), or_none(printable(plan.data.string())));
  require_input(names_of(plan.keys) == names_of(before.keys),
                "{}: it varies {}, and {} would be varied now: begin another sweep", where,
                names_of(before.keys), names_of(plan.keys));
  int last = 0;
  for (const Trial& old : before.trials) last = std::max(last, number_of(old));
  for (Trial& trial : plan.trials) {
    const auto old =
        std::ranges::find_if(before.trials, [&](const Trial& t) { return same_trial(t, trial); });
    if (old == before.trials.end()) {
      trial.folder = fmt::format("trial-{}", ++last);
      continue;
    }
    trial.folder = old->folder;
    if (old->recipe == trial.recipe) continue;
    for (const DifferingKey& key : differing_keys(old->recipe, trial.recipe))
      throw InputError(fmt::format(
          "{}: its recipe was another: '{}' was {} in {}, and is {} now: begin another sweep, or give that recipe",
          where, key.path, key.before, old->folder, key.after));
  }
  for (const Trial& old : before.trials)
    require_input(
        std::ranges::any_of(plan.trials, [&](const Trial& t) { return same_trial(t, old); }),
        "{}: {} ({}) is not asked for any more: a sweep that has begun can get more values and more "
        "seeds, not fewer",
        where, old.folder, before.name_of(old));
  require_input(plan.device.empty() || plan.device == before.device,
                "{}: its device was {}, and is {} now: begin another sweep", where, or_none(before.device),
                plan.device);
  plan.directory = before.directory, plan.device = before.device;
}

static void each_field(SweptKey& key, auto f) { f("key", key.key, "values", key.values); }

static void each_field(Trial& trial, auto f) {
  f("folder", trial.folder, "values", trial.values);
  f.may_lack("seed", trial.seed);
  f("recipe", trial.recipe);
}

static void each_field(SweepPlan& plan, auto f) {
  f("program", plan.program, "version", plan.version, "recipe", plan.recipe, "data", plan.data, "directory",
    plan.directory, "device", plan.device, "keys", plan.keys, "seeds", plan.seeds, "trials", plan.trials);
}

void write_plan(const fs::path& folder, const SweepPlan& plan) {
  write_file_atomically(folder / plan_file, json_text(json_of(plan), 1) + '\n');
}

SweepPlan read_plan(const fs::path& folder, const std::string& program) {
  const fs::path path = folder / plan_file;
  SweepPlan plan;
  try {
    read_json(parse_json(read_own_file(path, most_bytes_of_plan)), plan);
    for (const Trial& trial : plan.trials)
      require(is_folder_of_trial(trial.folder) && trial.values.size() == plan.keys.size(),
              "no trial of ours");
    require(!plan.trials.empty() && plan.trials.size() <= most_trials, "no trials");
    require(plan.recipe.find('/') == std::string::npos, "no name of a recipe");  // a file has it
  } catch (const Error& error) {
    throw InputError(fmt::format("{}: damaged: {}", path.string(), error.what()));
  }
  require_input(plan.program == program, "{}: a sweep of '{}', not of '{}'", folder.string(),
                one_line(plan.program), program);
  return plan;
}

}  // namespace unroll
