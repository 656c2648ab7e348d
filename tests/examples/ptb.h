// The program `ptb` for the suites that run it: a recipe of moments, and what it says.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/program.h"

// A recipe that trains in a moment.
inline const std::string tiny = R"([model]
embedding = 12
hidden = 16
layers = 2
dropout = 0.1
init = 0.1

[data]
corpus = "grammar"
train_tokens = 20_000
valid_tokens = 400
test_tokens = 500
batch = 10
bptt = 10

[training]
epochs = 1
clip = 1.0
reduction = "mean"

[optimizer]
kind = "adam"
learning_rate = 0.01
)";

inline ProgramRun ptb(const Words& words, const std::filesystem::path& folder,
                      const std::string& output = {}) {
  return run_program(program_named("ptb"), words, folder, output);
}

inline std::string ptb_out(const Words& words, const std::filesystem::path& folder) {
  return output_of(ptb(words, folder));
}

// The one line of standard output under --json.
inline nlohmann::json ptb_json(const Words& words, const std::filesystem::path& folder) {
  const auto lines = lines_of(ptb_out(words + Words{"--json"}, folder));
  REQUIRE(lines.size() == 1);
  return nlohmann::json::parse(lines[0]);
}

// A folder with the tiny recipe and one trained model, made once for all tests that only read it.
inline const Folder& trained() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("tiny.toml", tiny);
    const ProgramRun run = ptb({"train", "tiny.toml", "--out", "model"}, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    return true;
  }();
  (void)done;
  return folder;
}

// Text of words in a fixed order, for the corpora of files.
inline std::string sentences(int count, const std::string& words = "the cat sat on a mat") {
  std::string text;
  for (int i = 0; i < count; ++i) text += " " + words + (i % 2 ? " today" : "") + " \n";
  return text;
}

inline void write_text(const Folder& folder, const std::string& name) {
  folder.write(name + "/train.txt", sentences(200));
  folder.write(name + "/valid.txt", sentences(20));
  folder.write(name + "/test.txt", sentences(20));
}
