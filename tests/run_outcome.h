// Two runs that computed the same agree in every byte of their files, except for what the clock decided.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/program.h"

// The records of log.jsonl without their time.
inline std::vector<std::string> timeless_log(const std::filesystem::path& run) {
  std::vector<std::string> records;
  for (const std::string& line : lines_of(read_text(run / "log.jsonl"))) {
    auto record = nlohmann::ordered_json::parse(line);
    record.erase("time");
    records.push_back(record.dump());
  }
  return records;
}

inline std::vector<std::string> outcome(const std::filesystem::path& run) {
  std::vector<std::string> parts = timeless_log(run);
  for (const char* name : {"last.safetensors", "best.safetensors", "recipe.toml"})
    parts.push_back(std::filesystem::exists(run / name) ? read_text(run / name) : "there is none");
  return parts;
}
