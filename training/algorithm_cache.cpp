#include "training/algorithm_cache.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "training/atomic_file.h"

namespace unroll {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr int version = 1;  // of the file

// Everything that the times depend on.
template <class Config>
Json key_of(const Config& c, int steps, int batch) {
  const EngineFacts facts = engine_facts();
  Json key{{"gpu", facts.gpu},
           {"capability", facts.capability},
           {"driver", facts.driver},
           {"cuda", facts.toolkit},
           {"cudnn", facts.cudnn},
           {"precision", name_of(facts.precision)},
           {"cell", "gru"},
           {"input", c.input},
           {"hidden", c.hidden},
           {"layers", c.layers},
           {"directions", c.directions()},
           {"steps", steps},
           {"batch", batch}};
  bool between = (c.layers > 1 && c.dropout > 0) || c.residual;
  if constexpr (std::is_same_v<Config, LstmConfig>) {
    key["cell"] = "lstm", key["width"] = c.width(), key["last"] = c.last_hidden;
    between |= c.last_hidden > 0;
  }
  key["call for each layer"] = between;  // rather than one for all
  return key;
}
Json key_of(const LayerUse& use) {
  return std::visit([&](const auto& config) { return key_of(config, use.steps, use.batch); }, use.config);
}

// An entry of the file: {"of": the key, "seconds": {"standard": 0.01}, "cannot": {"persistent": "why"}}.
Json entry_of(Json key, const std::vector<MeasuredAlgorithm>& measured) {
  Json seconds = Json::object(), cannot = Json::object();
  for (const MeasuredAlgorithm& m : measured) {
    const std::string name(name_of(m.algorithm));
    m.why_not.empty() ? seconds[name] = m.seconds : cannot[name] = m.why_not;
  }
  return {{"of", std::move(key)}, {"seconds", seconds}, {"cannot", cannot}};
}

// The reverse. Throws Error or Json::exception where that is no entry.
std::vector<MeasuredAlgorithm> measured_in(const Json& entry) {
  std::vector<MeasuredAlgorithm> result;
  for (const auto& [name, seconds] : entry.at("seconds").get_ref<const Json::object_t&>())
    result.push_back({cudnn_algorithm_named(name), seconds.get<double>()});
  for (const auto& [name, why] : entry.at("cannot").get_ref<const Json::object_t&>())
    result.push_back({cudnn_algorithm_named(name), 0, why.get<std::string>()});
  std::ranges::sort(result, {}, &MeasuredAlgorithm::algorithm);
  // Each once, in the order of measure_algorithms().
  require(result.size() == 4 && entry.at("of").is_object(), "not an entry");
  for (size_t i = 0; i < result.size(); ++i) {
    const auto& [algorithm, seconds, why_not] = result[i];
    require(static_cast<size_t>(algorithm) == i + 1 && (i > 0 || why_not.empty()), "not these algorithms");
    require(std::isfinite(seconds) && seconds >= 0, "not a time");
  }
  return result;
}

struct Contents {
  Json entries = Json::array();
  std::string complaint = {};
};

Contents read_entries(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return {};
  std::ifstream file(path, std::ios::binary);
  if (error || !fs::is_regular_file(status) || !file)
    return {Json::array(), fmt::format("{}: cannot be read: measuring anew", path.string())};
  const Json json = Json::parse(file, nullptr, false);
  try {
    require(json.at("version").get<int>() == version, "another version");
    const Json entries = json.at("measured");
    require(entries.is_array(), "no list");
    for (const Json& entry : entries) measured_in(entry);
    return {entries};
  } catch (const std::exception&) {
    return {Json::array(), fmt::format("{}: damaged: measuring anew", path.string())};
  }
}

// A line for each entry. Throws Error where that cannot be done.
void write_entries(const fs::path& path, const Json& entries) {
  std::string text = fmt::format("{{\"version\": {}, \"measured\": [", version);
  for (const Json& entry : entries)
    text += (&entry == &entries.front() ? "\n" : ",\n") +
            entry.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  require(!error, "{}: {}", path.parent_path().string(), error.message());
  write_file_atomically(path, text + "\n]}\n");
}

std::vector<MeasuredAlgorithm> measure(const LayerUse& use, const std::function<double()>& now) {
  return std::visit([&](const auto& config) { return measure_algorithms(config, use.steps, use.batch, now); },
                    use.config);
}

std::optional<std::vector<MeasuredAlgorithm>> find_entry(const Json& entries, const Json& key) {
  for (const Json& entry : entries)
    if (entry.at("of") == key) return measured_in(entry);
  return {};
}

// What a step takes, of the algorithms that serve everywhere.
void add_call(std::vector<MeasuredAlgorithm>& step, const std::vector<MeasuredAlgorithm>& call, double calls) {
  if (step.empty()) step.resize(call.size());
  for (size_t i = 0; i < call.size(); ++i) {
    step[i].algorithm = call[i].algorithm;
    step[i].seconds += calls * call[i].seconds;
    if (step[i].why_not.empty()) step[i].why_not = call[i].why_not;
  }
}

}  // namespace

fs::path algorithm_cache_file() {
  const auto folder = [](const char* variable) {
    const char* value = std::getenv(variable);
    const fs::path path = value ? value : "";
    return path.is_absolute() ? path : fs::path();
  };
  fs::path cache = folder("XDG_CACHE_HOME");
  if (cache.empty() && !folder("HOME").empty()) cache = folder("HOME") / ".cache";
  return cache.empty() ? cache : cache / "unroll" / "cudnn-algorithms.json";
}

SettledAlgorithm settle_algorithm(const std::vector<LayerUse>& layers, bool deterministic,
                                  const AlgorithmCache& cache, const std::function<double()>& now) {
  SettledAlgorithm settled{CudnnAlgorithm::automatic};
  std::vector<const LayerUse*> open;
  for (const LayerUse& use : layers) {
    const auto known = std::visit(
        [&](const auto& config) {
          return algorithm_without_measuring(config, use.steps, use.batch, deterministic);
        },
        use.config);
    if (!known)
      open.push_back(&use);
    else
      settled.algorithm = *known;
  }
  if (open.empty()) return settled;

  Contents before = cache.file.empty() ? Contents{} : read_entries(cache.file);
  settled.complaint = before.complaint;
  std::vector<MeasuredAlgorithm> step;
  std::vector<Json> measured_now;
  for (const LayerUse* use : open) {
    const Json key = key_of(*use);
    auto measured = find_entry(before.entries, key);
    if (!measured) {
      measured = measure(*use, now);
      measured_now.push_back(entry_of(key, *measured));
      before.entries.push_back(measured_now.back());
    }
    add_call(step, *measured, use->calls);
  }
  settled.algorithm = fastest(step);
  const auto serving = std::ranges::count(step, std::string(), &MeasuredAlgorithm::why_not);
  settled.text = fmt::format("{}, the fastest of {}, ", name_of(settled.algorithm), serving);
  if (measured_now.empty()) {
    settled.text += "known from before: " + cache.file.string();
    return settled;
  }
  settled.text += "measured now";
  if (cache.file.empty()) {
    settled.complaint = "what was measured is not kept: neither XDG_CACHE_HOME nor HOME names a folder";
  } else if (cache.keep) {
    try {
      Json entries = read_entries(cache.file).entries;  // with what others have measured in the meantime
      for (const Json& entry : measured_now)
        if (!find_entry(entries, entry.at("of"))) entries.push_back(entry);
      write_entries(cache.file, entries);
      settled.text += ", kept in " + cache.file.string();
    } catch (const Error& error) {
      if (!settled.complaint.empty()) settled.complaint += "; ";
      settled.complaint += fmt::format("what was measured is not kept: {}", error.what());
    }
  }
  return settled;
}

}  // namespace unroll
