// The trials of a sweep: every combination of the values that were given, each with every seed.
//
//   {{"model.hidden", {"100", "200"}}} and seeds {1, 2}: trial-1 is 100 with seed 1, trial-2 is 100 with seed 2, …
//
// `sweep.json` in the sweep's folder has all of it, the recipes too, so a sweep can be gone on with from that file alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "training/program/recipe/recipe_reader.h"

namespace unroll {

// "--set model.hidden=100,200". A key with one value has that in all trials.
struct SweptKey {
  std::string key;
  std::vector<std::string> values;  // TOML or bare words, as they were written
};

struct Trial {
  std::string folder;               // within that of the sweep: "trial-3"
  std::vector<std::string> values;  // of SweepPlan::keys, in their order
  std::optional<uint64_t> seed;     // none: the recipe's own
  std::string recipe = {};          // with every key spelled out
};

struct SweepPlan {
  std::string program, version;          // "ptb", "0.2.0"
  std::string recipe;                    // its name
  std::filesystem::path data = {};       // absolute; empty: none was given
  std::filesystem::path directory = {};  // absolute: what relative paths in recipes begin at
  std::string device = {};               // empty: none was given
  std::vector<SweptKey> keys = {};
  std::vector<uint64_t> seeds = {};  // empty: the recipe's own
  std::vector<Trial> trials = {};    // in the order of the table: seeds change first, then the last key

  std::vector<std::size_t> varying() const;       // those of `keys` that have several values
  std::string summary() const;                    // "model.hidden = 100, 200; seeds 1, 2, 3"
  std::string name_of(const Trial& trial) const;  // "model.hidden = 100, seed 1"
  // "model.hidden = 100"; the recipe's name where nothing varies.
  std::string name_of_values(const Trial& trial) const;
};

// Throws InputError: there is no '=', a value is missing, or stands there twice.
SweptKey swept_key(const std::string& assignment);
// "1..5", "1,2,7". Throws InputError.
std::vector<uint64_t> seeds_in(const std::string& text);
// The trials of `keys` and `seeds`, with folders by number and their recipes: `resolve` gives the text of one. Throws InputError:
// a key is given twice, is training.seed, or there is but one trial, or too many; and as `resolve`.
std::vector<Trial> trials_of(const SweepPlan& plan,
                             const std::function<std::string(const std::vector<Override>&)>& resolve);

// Lets a plan go on with what lies in the folder of `before`: its trials keep their folders. Throws InputError where their
// recipes or data differ, with what differs, or one of them is not asked for any more.
using DifferingKeys =
    std::function<std::vector<DifferingKey>(const std::string& before, const std::string& after)>;
void go_on_with(SweepPlan& plan, const SweepPlan& before, const std::filesystem::path& folder,
                const DifferingKeys& differing_keys);

constexpr const char* plan_file = "sweep.json";
// Atomically. Throws Error.
void write_plan(const std::filesystem::path& folder, const SweepPlan& plan);
// Throws InputError: there is none, it is another program's, or is damaged.
SweepPlan read_plan(const std::filesystem::path& folder, const std::string& program);

}  // namespace unroll
