// A command's findings about a model, as one JSON object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace unroll {

// Fields of every program. A field is null if its step was not done.
struct RunResult {
  std::string recipe, engine, precision;
  uint64_t seed = 0;
  std::string init_from = {};  // the file of the weights that training began with; empty: there was none
  int64_t parameters = 0;
  std::optional<int> epochs = {};
  int64_t count = 0;  // predicted in training, or scored
  double seconds = 0, rate = 0;
  std::optional<double> seconds_saving = {}, seconds_logging = {};
  std::optional<double> train = {};  // of the last epoch

  // Prints one line on standard output: these figures, with the count ("tokens") and the rate ("words_per_second")
  // under their names, then the program's own.
  void print_json(const std::string& count_name, const std::string& rate_name,
                  const nlohmann::ordered_json& scores) const;
};

// The value, or null if there is none.
nlohmann::ordered_json or_null(const std::optional<int>& value);
nlohmann::ordered_json or_null(const std::optional<double>& value);

}  // namespace unroll
