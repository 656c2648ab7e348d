#include "examples/ptb/scores/tune_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "training/files/atomic_file.h"
#include "training/files/json/json.h"

namespace ptb {

using namespace unroll;
using Json = nlohmann::ordered_json;

static constexpr std::size_t most_bytes_of_table = 1 << 24;
static constexpr const char* kind_of_file = "unroll ptb tune";

// The file's contents. A perplexity that is infinite stands there as null.
struct StoredTable {
  std::string kind = kind_of_file;
  TuneTable::Subject subject = {};
  std::vector<Trial> trials = {};
};

static void each_field(TuneTable::Subject& s, auto f) {
  f("model", s.model, "statistics", s.statistics, "text", s.text, "mode", s.mode, "tokens", s.tokens);
}
static void each_field(Trial& trial, auto f) {
  f("stage", trial.stage, "settings", trial.settings, "perplexity", trial.perplexity);
  f.may_lack("by_temperature", trial.by_temperature);
}
static void each_field(StoredTable& stored, auto f) {
  f("kind", stored.kind);
  each_field(stored.subject, f);
  f("trials", stored.trials);
}

TuneTable::TuneTable(std::filesystem::path path) : path_(std::move(path)) {
  { const AtomicFile can_be_written(path_); }  // asked before minutes of work
  if (std::filesystem::exists(path_)) read();
}

void TuneTable::read() {
  const Json json = parse_json(read_file(path_, most_bytes_of_table));
  const auto check = [](double& perplexity) {
    if (std::isnan(perplexity)) perplexity = std::numeric_limits<double>::infinity();
    require(perplexity > 0, "a perplexity of {}", perplexity);
  };
  StoredTable stored;
  try {
    read_field(json, "kind", stored.kind);
    require_input(stored.kind == kind_of_file, "{}: trials of another kind; remove it to begin anew",
                  path_.string());
    read_json(json, stored, true);
    for (Trial& trial : stored.trials) {
      check(trial.perplexity);
      for (double& perplexity : trial.by_temperature) check(perplexity);
      require(!find(trial.stage, trial.settings), "a trial that stands there twice");
      trials_.push_back(std::move(trial));
    }
  } catch (const InputError&) { throw; } catch (const Error& error) {
    throw InputError(fmt::format("{}: damaged, or no table of --tune: {}; remove it to begin anew",
                                 path_.string(), error.what()));
  }
  subject_ = std::move(stored.subject);
}

void TuneTable::begin(Subject subject) {
  const Json now = json_of(subject), before = json_of(subject_.value_or(subject));
  for (const auto& [key, value] : now.items())
    require_input(before.at(key) == value, "{}: trials of another {}; remove it to begin anew",
                  path_.string(), key == "mode" ? "kind" : key);
  subject_ = std::move(subject);
}

const Trial* TuneTable::find(std::string_view stage, std::string_view settings) const& {
  const auto found = std::ranges::find_if(
      trials_, [&](const Trial& t) { return t.stage == stage && t.settings == settings; });
  return found == trials_.end() ? nullptr : &*found;
}

void TuneTable::add(Trial trial) {
  trials_.push_back(std::move(trial));
  const StoredTable stored{.subject = subject_.value(), .trials = trials_};
  write_file_atomically(path_, json_text(json_of(stored), 1) + "\n");
}

}  // namespace ptb
