#include "training/program/run/first_weights.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "framework/check.h"
#include "framework/one_line.h"
#include "training/files/state_dict.h"

namespace unroll {

std::filesystem::path first_weights_file(const TrainingSection& training) {
  if (training.init_from.empty()) return {};
  std::error_code error;
  require_input(
      std::filesystem::exists(training.init_from, error),
      "{}: there is no such file; training.init_from names the model whose weights training begins with",
      training.init_from);
  return std::filesystem::absolute(training.init_from);
}

void load_first_weights(const SafetensorsFile& file, ParameterSet& params, const std::string& repeats,
                        const std::string& original, const std::string& of_training) {
  for (const std::string& name : load_state_dict(file, params)) {
    if (!of_training.empty() && name.starts_with(of_training)) continue;
    require_input(name == repeats, "{}: '{}' {} is in it and not in the model", file.path(), one_line(name),
                  file.entry(name).shape_text());
    require_input(same_bits(file, repeats, original),
                  "{}: '{}' is not '{}' in it, and one matrix is both in the model (model.tied = true)",
                  file.path(), repeats, original);
  }
}

std::vector<RunDescription::Figure> describe_first_weights(const std::filesystem::path& file,
                                                           const std::vector<DifferingKey>& keys) {
  constexpr std::array of_first_values = {"model.init", "model.init_scheme", "model.forget_bias"};
  std::vector<RunDescription::Figure> facts = {{"begins", "with the weights of " + file.string()}};
  for (const DifferingKey& key : keys)
    if (key.on_resume == OnResume::fixed && (key.path.starts_with("model.") || key.path == "data.reset") &&
        std::ranges::find(of_first_values, key.path) == of_first_values.end())
      facts.push_back({"note", fmt::format("{} = {}; the weights were trained with {}", key.path, key.after,
                                           key.before)});
  return facts;
}

}  // namespace unroll
