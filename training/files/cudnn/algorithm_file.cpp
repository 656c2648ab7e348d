#include "training/files/cudnn/algorithm_file.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "data/text_file.h"
#include "training/files/atomic_file.h"
#include "training/files/json/read_json.h"
#include "training/files/json_text.h"
#include "training/files/run_files.h"

namespace unroll {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr int file_version = 1;  // of the file

// The reverse of measured_entry(). Throws Error or Json::exception where that is no entry.
std::vector<MeasuredAlgorithm> measured_in(const Json& entry) {
  std::vector<MeasuredAlgorithm> result;
  for (const auto& [name, seconds] : entry.at("seconds").get_ref<const Json::object_t&>())
    result.push_back({cudnn_algorithm_named(name), seconds.get<double>()});
  for (const auto& [name, why] : entry.at("cannot").get_ref<const Json::object_t&>()) {
    result.push_back({cudnn_algorithm_named(name), 0, why.get<std::string>()});
    require(!result.back().why_not.empty(), "no reason, so that it would be the fastest");
  }
  std::ranges::sort(result, {}, &MeasuredAlgorithm::algorithm);
  // Each once, in the order of measure_algorithms().
  require(result.size() == 4 && entry.at("of").is_object(), "not an entry");
  for (size_t i = 0; i < result.size(); ++i) {
    const MeasuredAlgorithm& m = result[i];
    require(static_cast<size_t>(m.algorithm) == i + 1 && (i > 0 || m.why_not.empty()),
            "not these algorithms");
    require(std::isfinite(m.seconds) && m.seconds >= 0, "not a time");
  }
  return result;
}

}  // namespace

AlgorithmFile read_algorithm_file(const fs::path& path) {
  Json json;
  try {
    if (!has_own_file(path)) return {};
    json = parse_json(read_own_file(path, most_bytes_of_algorithms));
  } catch (const Error&) {
    return {.complaint = fmt::format("{}: cannot be read: measuring anew", path.string())};
  }
  try {
    require(json.at("version") == file_version, "another version");
    const Json& entries = json.at("measured");
    require(entries.is_array(), "no list");
    for (const Json& entry : entries) measured_in(entry);
    return {entries};
  } catch (const std::exception&) {
    return {.complaint = fmt::format("{}: damaged: measuring anew", path.string())};
  }
}

Json measured_entry(Json of, const std::vector<MeasuredAlgorithm>& measured) {
  Json seconds = Json::object(), cannot = Json::object();
  for (const MeasuredAlgorithm& m : measured) {
    const std::string name(name_of(m.algorithm));
    m.why_not.empty() ? seconds[name] = m.seconds : cannot[name] = m.why_not;
  }
  return {{"of", std::move(of)}, {"seconds", seconds}, {"cannot", cannot}};
}

std::optional<std::vector<MeasuredAlgorithm>> find_measured(const Json& entries, const Json& of) {
  for (const Json& entry : entries)
    if (entry.at("of") == of) return measured_in(entry);
  return {};
}

void write_algorithm_file(const fs::path& path, const Json& entries) {
  std::string text = fmt::format("{{\"version\": {}, \"measured\": [", file_version);
  for (const Json& entry : entries) text += (&entry == &entries.front() ? "\n" : ",\n") + json_text(entry);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  require(!error, "{}: {}", path.parent_path().string(), error.message());
  write_file_atomically(path, text + "\n]}\n");
}

}  // namespace unroll
