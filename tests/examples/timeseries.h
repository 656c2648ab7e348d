// The program `timeseries` for the suites that run it: a recipe of moments, a series, and what it says.
#pragma once

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/program.h"
#include "tests/support.h"

inline ProgramRun started(const Words& words, const std::filesystem::path& folder) {
  return run_program(program_named("timeseries"), words, folder);
}

inline std::string timeseries_out(const Words& words, const std::filesystem::path& folder) {
  return output_of(started(words, folder));
}

inline nlohmann::json timeseries_json(const Words& words, const std::filesystem::path& folder) {
  const auto lines = lines_of(timeseries_out(words + Words{"--json"}, folder));
  REQUIRE(lines.size() == 1);
  return nlohmann::json::parse(lines[0]);
}

// A recipe that trains in a moment.
inline const std::string tiny = R"([model]
hidden = 8

[data]
window = 12
horizon = 3
batch = 32
period = 24

[training]
epochs = 4

[optimizer]
learning_rate = 0.01
)";

// A recipe of a linear map of the window's rows, the last one subtracted. Each argument is the lines of its section.
inline std::string linear_model(const std::string& data, const std::string& training,
                                const std::string& optimizer = "") {
  return "[model]\narchitecture = \"linear\"\nnormalization = \"last\"\n\n[data]\n" + data +
         "\n[training]\n" + training + "\n[optimizer]\n" + optimizer;
}

// Hours of a daily wave with noise, and a channel of noise alone.
inline std::string wave(int rows) {
  unroll::RandomStream random(1, "series");
  std::string csv = "date,load,noise\n";
  for (int i = 0; i < rows; ++i)
    csv += fmt::format("2020-{:02}-{:02} {:02}:00,{:.5f},{:.5f}\n", 1 + i / 672, 1 + i / 24 % 28, i % 24,
                       20 + 5 * std::sin(i * 2 * 3.14159265 / 24) + random.uniform(), random.uniform());
  return csv;
}

// A folder with the tiny recipe, a series, and one trained model: made once for all tests that only read it.
inline const Folder& trained() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("tiny.toml", tiny);
    folder.write("wave.csv", wave(600));
    const ProgramRun run =
        started({"train", "tiny.toml", "--csv", "wave.csv", "--out", "run"}, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    return true;
  }();
  (void)done;
  return folder;
}
inline const std::string model = "run/best.safetensors";

inline Words set(const Words& assignments) {
  Words words;
  for (const std::string& assignment : assignments) words = words + Words{"--set", assignment};
  return words;
}
