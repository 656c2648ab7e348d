// Ensembles of a moment: recipes, and what their files hold.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

namespace small_ensemble {

using namespace unroll;

inline const std::string ensemble = R"([model]
cell = "gru"
hidden = 4
shared_channels = true
normalization = "last"

[data]
channels = ["load"]
window = 12
horizon = 3
train = 0.8
valid = 0.0
period = 24
ets = false

[ensemble]
members = ["segment=2", "architecture=linear", "last", "seasonal", "theta"]
folds = 3
fold_rows = 20

[training]
epochs = 2
keep = "last"
)";

inline const std::string file = "run/last.safetensors";

inline nlohmann::json facts_in(const std::filesystem::path& path) {
  return nlohmann::json::parse(SafetensorsFile(path).metadata().at("ensemble"));
}

// A copy of an ensemble of one target, with other weights of its members, and NLinear's matrix times `linear`.
inline std::string weighed(const std::vector<double>& weights, const Folder& folder, const std::string& path,
                           real linear = 1) {
  const SafetensorsFile good(folder / path);
  auto facts = facts_in(folder / path);
  for (size_t m = 0; m < weights.size(); ++m) facts["members"][m]["weights"][0] = weights[m];
  Metadata metadata = good.metadata();
  metadata["ensemble"] = facts.dump();
  std::vector<NamedTensor> tensors;
  for (const auto& entry : good.entries()) {
    if (entry.name.starts_with("training/")) continue;
    Tensor tensor = good.load(entry.name);
    if (entry.name == "member2.linear.weight") {
      const auto values = tensor.on_host(Access::change);
      for (int64_t i = 0; i < tensor.size(); ++i) values[i] *= linear;
    }
    tensors.push_back({entry.name, std::move(tensor)});
  }
  const std::filesystem::path other = folder / "weighed.safetensors";
  std::filesystem::remove(other);
  write_safetensors(other, tensors, metadata);
  return other.string();
}

inline double first_value(const std::string& csv) {
  const std::string line = lines_of(csv).at(1);
  return std::stod(line.substr(line.find(',') + 1));
}

// The first value that it forecasts of wave.csv.
inline double first_value_with(const std::vector<double>& weights, const Folder& folder,
                               const std::string& path) {
  return first_value(
      timeseries_out({"forecast", weighed(weights, folder, path), "--csv", "wave.csv"}, folder.path()));
}

// A segment RNN and NLinear on wave.csv, of which two values of the valid split are missing.
inline void write_without_folds(const Folder& folder, bool with_series = true) {
  folder.write("mine.toml", R"([model]
architecture = "segment-rnn"
cell = "gru"
hidden = 4
normalization = "last"
segment = 3

[data]
channels = ["load"]
window = 12
horizon = 6
train = 0.6
valid = 0.2
period = 24
missing = "previous"

[ensemble]
members = ["architecture=segment-rnn", "architecture=linear rate=3"]
folds = 0
weights = "equal"

[training]
epochs = 3
keep = "best"
)");
  if (!with_series) return;
  std::vector<std::string> lines = lines_of(wave(400));
  std::string csv;
  for (size_t row = 0; row < lines.size(); ++row)
    csv += (row == 271 || row == 290 ? lines[row].substr(0, 17) + ",0.5" : lines[row]) + "\n";
  folder.write("wave.csv", csv);
}

}  // namespace small_ensemble
