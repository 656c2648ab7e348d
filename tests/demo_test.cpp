// The demo recipe, trained to its end: how near it comes to the source, and whether what it then writes
// parses.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "data/grammar.h"
#include "tests/program.h"

using namespace unroll;

TEST_CASE(
    "the demo comes within 3 % of the source's perplexity, and 9 of 10 sentences that it writes parse") {
#if defined(__SANITIZE_ADDRESS__)
  std::puts("[skipped] the demo's training: it takes too long under a sanitizer");
#else
  const Folder folder;
  const ProgramRun trained = run_program(
      program_named("ptb"), {"train", "demo", "--json", "--threads", "1", "--out", "demo"}, folder.path());
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  const auto json = nlohmann::json::parse(trained.out);
  MESSAGE("demo: ", json.dump());
  const double valid = json["valid_perplexity"], source = json["source_valid_perplexity"];
  CHECK(valid < 1.03 * source);

  const ProgramRun written =
      run_program(program_named("ptb"),
                  {"generate", "demo/last.safetensors", "--words", "3000", "--seed", "5"}, folder.path());
  REQUIRE(written.code == 0);
  const auto sentences = lines_of(written.out);
  const auto parses = [](const std::string& line) {
    return Grammar::built_in().log_probability(line).has_value();
  };
  const auto parsed = std::ranges::count_if(sentences, parses);
  MESSAGE("demo: ", parsed, " of ", sentences.size(), " sentences parse");
  CHECK(sentences.size() > 200);
  CHECK(static_cast<double>(parsed) >= 0.9 * static_cast<double>(sentences.size()));
#endif
}
