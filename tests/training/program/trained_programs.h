// The programs that train, for suites that put them all to the same test: a tiny recipe with data for each, what it says,
// and a run of it that is whole.
#pragma once

#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "tests/program.h"
#include "tests/support.h"

struct Case {
  Words words, parts;
};

// A program, and a moment's training with it that saves after each step.
struct Subject {
  std::string program, recipe;
  void (*write_data)(const Folder&);
  Words data;     // the option that names them
  Words changes;  // with which a run goes on in other bits …
  Words told;     // … and what it says then
  Words results;  // that a finished run says again
  std::vector<Case> refused;
};

inline const std::string common_sections = R"([training]
epochs = 3
clip = 1.0
save_every_steps = 1

[optimizer]
kind = "adam"
learning_rate = 0.01
)";

inline void write_text(const Folder& folder) {
  std::string text;
  for (int i = 0; i < 90; ++i) text += i % 3 ? "the cat sat on a mat\n" : "a dog sat\n";
  for (const char* split : {"train", "valid", "test"}) folder.write(fmt::format("text/{}.txt", split), text);
}

inline void write_series(const Folder& folder) {
  unroll::RandomStream random(1, "series");
  std::string csv = "date,load,wind\n";
  for (int i = 0; i < 240; ++i)
    csv += fmt::format("2020-{:02}-{:02} {:02}:00,{:.4f},{:.4f}\n", 1, 1 + i / 24, i % 24,
                       std::sin(i * 0.26) + 0.1 * random.uniform(), random.uniform());
  folder.write("series.csv", csv);
}

inline const std::vector<Subject> subjects = {
    {"ptb",
     R"([model]
embedding = 8
hidden = 8
dropout = 0.2

[data]
corpus = "text"
batch = 4
bptt = 8
eval_batch = 4

)" + common_sections,
     write_text,
     {"--data", "text"},
     {"--set", "model.dropout=0.1", "--set", "schedule.kind=plateau"},
     {"model.dropout = 0.1, was 0.2", "schedule.kind = \"plateau\", was \"constant\""},
     {"test", "perplexity"},
     {{{"--set", "model.hidden=9"}, {"'model.hidden' is 8 in it", "with 9"}},
      {{"--set", "model.tied=true"}, {"model.tied", "true"}},
      {{"--set", "optimizer.kind=sgd"}, {"optimizer.kind", "adam", "sgd"}},
      {{"--set", "data.batch=5"}, {"'data.batch' is 4 in it", "with 5"}}}},
    {"timeseries",
     R"([model]
hidden = 6
layers = 2
dropout = 0.2

[data]
window = 12
horizon = 3
batch = 16
calendar = ["hour"]

)" + common_sections,
     write_series,
     {"--csv", "series.csv"},
     {"--set", "model.dropout=0.1", "--set", "schedule.kind=plateau"},
     {"model.dropout = 0.1, was 0.2", "schedule.kind = \"plateau\", was \"constant\""},
     {"test", "RMSE", "last value"},
     {{{"--set", "model.layers=1"}, {"'model.layers' is 2 in it", "with 1"}},
      {{"--set", "model.cell=gru"}, {"model.cell", "lstm", "gru"}},
      {{"--set", "data.horizon=4"}, {"'data.horizon' is 3 in it", "with 4"}},
      {{"--set", "optimizer.kind=sgd"}, {"optimizer.kind", "adam", "sgd"}}}}};

inline ProgramRun run(const Subject& subject, const Words& words, const Folder& folder) {
  return run_program(program_named(subject.program), words, folder.path());
}

inline void write_inputs(const Subject& subject, const Folder& folder) {
  folder.write("tiny.toml", subject.recipe);
  subject.write_data(folder);
}

// With one thread: tests that run side by side would wait for each other.
inline Words train_tiny(const Subject& subject) {
  return Words{"train", "tiny.toml"} + subject.data + Words{"--threads", "1", "--out"};
}

// The tiny recipe, trained to its end in "whole".
inline const Folder& trained(const Subject& subject) {
  static std::map<std::string, Folder> folders;
  const auto [entry, is_new] = folders.try_emplace(subject.program);
  if (is_new) {
    write_inputs(subject, entry->second);
    const ProgramRun training = run(subject, train_tiny(subject) + Words{"whole"}, entry->second);
    REQUIRE_MESSAGE(training.code == 0, training.err);
  }
  return entry->second;
}

// A copy of that run in a folder of its own.
struct Copy : Folder {
  explicit Copy(const Subject& subject) {
    std::filesystem::copy(trained(subject).path(), path(), std::filesystem::copy_options::recursive);
  }
};
