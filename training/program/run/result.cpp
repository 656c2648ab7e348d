#include "training/program/run/result.h"

#include <fmt/format.h>

#include "framework/memory.h"
#include "training/files/json/json.h"
#include "training/program/cli/console.h"

namespace unroll {

void RunResult::print_json(const std::string& count_name, const std::string& rate_name,
                           const nlohmann::ordered_json& scores) const {
  nlohmann::ordered_json json{{"recipe", recipe},
                              {"engine", engine},
                              {"precision", precision},
                              {"seed", seed},
                              {"parameters", parameters},
                              {"epochs", or_null(epochs)},
                              {count_name, count},
                              {"seconds", seconds},
                              {rate_name, rate},
                              {"seconds_saving", or_null(seconds_saving)},
                              {"seconds_logging", or_null(seconds_logging)},
                              {"peak_memory", peak_memory_of_process()}};
  if (!init_from.empty()) json["init_from"] = shown(init_from);
  json.update(scores);
  show("{}\n", json_text(json));
}

nlohmann::ordered_json or_null(const std::optional<int>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}
nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace unroll
