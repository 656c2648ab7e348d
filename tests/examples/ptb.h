// The program `ptb` for the suites that run it: a recipe of moments, and what it says.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/random.h"
#include "tests/program.h"

// A recipe that trains in a moment.
inline const std::string tiny = read_text("tests/examples/tiny.toml");

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

// Words that no grammar tells beforehand, each line said three times over; an empty line ends a document of so many different
// ones, 0: none does.
inline std::string lines_thrice(uint64_t seed, int lines, int of_document = 0) {
  unroll::RandomStream random(seed, "words");
  std::string text;
  for (int i = 1; i <= lines; ++i) {
    std::string line;
    for (int word = 0; word < 6; ++word) line += fmt::format(" w{}", random.below(30));
    for (int again = 0; again < 3; ++again) text += line + "\n";
    if (of_document > 0 && i % of_document == 0) text += "\n";
  }
  return text;
}
