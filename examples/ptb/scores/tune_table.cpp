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

namespace {

constexpr std::size_t most_bytes_of_table = 1 << 24;
constexpr const char* kind_of_file = "unroll ptb tune";

// The number of number_or_null().
double number_of(const Json& json) {
  if (json.is_null()) return std::numeric_limits<double>::infinity();
  const double value = json.get<double>();
  require(value > 0, "a perplexity of {}", value);
  return value;
}

Json header_of(const TuneTable::Subject& s) {
  return {{"kind", kind_of_file}, {"model", s.model}, {"statistics", s.statistics},
          {"text", s.text},       {"mode", s.mode},   {"tokens", s.tokens}};
}

}  // namespace

TuneTable::TuneTable(std::filesystem::path path) : path_(std::move(path)) {
  { const AtomicFile can_be_written(path_); }  // asked before minutes of work
  if (std::filesystem::exists(path_)) read();
}

void TuneTable::read() {
  const Json json = parse_json(read_file(path_, most_bytes_of_table));
  try {
    require_input(json.at("kind") == kind_of_file, "{}: trials of another kind; remove it to begin anew",
                  path_.string());
    subject_ = {.model = json.at("model"),
                .statistics = json.at("statistics"),
                .text = json.at("text"),
                .mode = json.at("mode"),
                .tokens = json.at("tokens")};
    for (const Json& row : json.at("trials")) {
      Trial trial{.stage = row.at("stage").get<std::string>(),
                  .settings = row.at("settings").get<std::string>(),
                  .perplexity = number_of(row.at("perplexity"))};
      if (row.contains("by_temperature"))
        for (const Json& value : row.at("by_temperature")) trial.by_temperature.push_back(number_of(value));
      require(!find(trial.stage, trial.settings), "a trial that stands there twice");
      trials_.push_back(std::move(trial));
    }
  } catch (const InputError&) { throw; } catch (const Error& error) {
    throw InputError(fmt::format("{}: damaged: {}; remove it to begin anew", path_.string(), error.what()));
  } catch (const Json::exception&) {
    throw InputError(
        fmt::format("{}: damaged, or no table of --tune; remove it to begin anew", path_.string()));
  }
}

void TuneTable::begin(Subject subject) {
  const Json now = header_of(subject), before = header_of(subject_.value_or(subject));
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

std::string TuneTable::text() const {
  Json json = header_of(subject_.value());
  json["trials"] = Json::array();
  for (const Trial& trial : trials_) {
    Json row{{"stage", trial.stage},
             {"settings", trial.settings},
             {"perplexity", number_or_null<Json>(trial.perplexity)}};
    if (!trial.by_temperature.empty()) {
      row["by_temperature"] = Json::array();
      for (const double p : trial.by_temperature) row["by_temperature"].push_back(number_or_null<Json>(p));
    }
    json["trials"].push_back(row);
  }
  return json_text(json, 1) + "\n";
}

void TuneTable::add(Trial trial) {
  trials_.push_back(std::move(trial));
  write_file_atomically(path_, text());
}

}  // namespace ptb
