// The demo recipe, trained to its end: how near it comes to the source, and whether what it then writes
// parses.
#include <algorithm>
#include <regex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "data/text/grammar.h"
#include "tests/program.h"

using namespace unroll;

namespace {

// The output that docs/first-run.md shows: from the line "recipe" to the end of the block.
std::vector<std::string> sample_of_first_run() {
  std::vector<std::string> sample;
  for (const std::string& line : lines_of(read_text("docs/first-run.md"))) {
    if (line.starts_with("```") && !sample.empty()) break;
    if (line.starts_with("recipe  ") || !sample.empty()) sample.push_back(line);
  }
  return sample;
}

// A line without what a machine, its speed and the folder decide: those become a star, and each perplexity of the model
// a hash.
std::string common_part(std::string line) {
  const auto put = [&](const char* pattern, const char* in_place) {
    line = std::regex_replace(line, std::regex(pattern), in_place);
  };
  put("^(engine|folder|speed|memory|report|next) .*", "$1 *");
  put("^model   .*safetensors$", "model *");
  put("^        fp32 on .*", "        fp32 on *");
  put(" [0-9.]+k? words/s +[0-9:]+", " *");
  put("(train|valid) +[0-9.]+(\\*?) +", "$1 #$2 ");
  put("perplexity [0-9.]+", "perplexity #");
  put("[0-9.]+ % above", "# % above");
  return line;
}

// The perplexities of the model in it, in order.
std::vector<double> perplexities_in(const std::vector<std::string>& lines) {
  std::vector<double> found;
  const std::regex number("(?:train|valid|perplexity) +([0-9]+\\.[0-9]+)");
  for (const std::string& line : lines)
    for (std::sregex_iterator it(line.begin(), line.end(), number), end; it != end; ++it)
      found.push_back(std::stod((*it)[1]));
  return found;
}

}  // namespace

TEST_CASE(
    "the demo comes within 3 % of the source's perplexity, and 9 of 10 sentences that it writes parse") {
#if defined(__SANITIZE_ADDRESS__)
  std::puts("[skipped] the demo's training: it takes too long under a sanitizer");
#else
  const Folder folder;
  const ProgramRun trained =
      run_program(program_named("ptb"), {"train", "demo", "--threads", "1", "--out", "demo"}, folder.path());
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  MESSAGE("demo:\n", trained.out);
  std::vector<std::string> lines = lines_of(trained.out);
  const std::vector<std::string> shown = sample_of_first_run();
  std::erase_if(lines, [](const std::string& line) { return line.find(" ETA ") != std::string::npos; });
  REQUIRE(lines.size() == shown.size());
  for (size_t i = 0; i < lines.size(); ++i) CHECK(common_part(lines[i]) == common_part(shown[i]));
  // With the recorded kernels the digits are the same. Others round otherwise, which leads to another model: those
  // seen so far, of several kernels and of seeds 1 to 3, end 0.9 to 1.5 % above the source. Three times as far apart
  // is an error.
  const auto kernels = [](const std::vector<std::string>& all) {
    return all.at(4).substr(0, all.at(4).find(','));
  };
  const bool same_kernels = kernels(lines) == kernels(shown);
  const std::vector<double> found = perplexities_in(lines), in_sample = perplexities_in(shown);
  REQUIRE(found.size() == in_sample.size());
  for (size_t i = same_kernels ? 0 : found.size() - 2; i < found.size(); ++i)
    CHECK(found[i] == doctest::Approx(in_sample[i]).epsilon(same_kernels ? 1e-9 : 0.02));

  const auto valid = std::ranges::find_if(
      lines, [](const std::string& line) { return line.starts_with("valid   perplexity "); });
  REQUIRE(valid != lines.end());
  constexpr double source = 9.92;  // that of the grammar, as the next line says
  CHECK(std::stod(valid->substr(19)) < 1.03 * source);

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

  // Two lessons look at the model: how far the gradient reaches, and where the number of a subject is kept. Their
  // claims hold for the kernels of the lessons' pages.
  const bool recorded = kernels(lines).ends_with("amx");
  for (const char* lesson : {"lesson_04", "lesson_08"}) {
    const ProgramRun run = run_program(
        "/usr/bin/env",
        {"UNROLL_LESSON_VARIANT=solution", "UNROLL_LESSON_DEMO=demo/last.safetensors", program_named(lesson)},
        folder.path());
    CHECK_MESSAGE(run.code == 0, lesson, ":\n", run.out, run.err);
    if (recorded) CHECK_MESSAGE(run.out.find("another net") == run.out.npos, run.out);
    if (std::string(lesson) == "lesson_04")  // the words stand where the teacher's page has them
      for (const std::string& line : lines_of(read_text("examples/lessons/04-lstm-cell/teacher.md")))
        if (line.starts_with("         "))
          CHECK_MESSAGE(run.out.find("\n" + line.substr(0, 22)) != run.out.npos, line, "\n", run.out);
  }

  // Verbs agree with their subjects, whatever stands between, and one unit alone tells the number of a main clause's
  // subject. Among other kernels avx2 was seen: 94.0 % at three nouns, and a unit with 99.8 %.
  const ProgramRun agreed = run_program(
      program_named("ptb"), {"evaluate", "demo/last.safetensors", "--agreement", "--json"}, folder.path());
  REQUIRE_MESSAGE(agreed.code == 0, agreed.err);
  MESSAGE("demo: ", agreed.err);
  const auto agreement = nlohmann::json::parse(agreed.out)["agreement"];
  REQUIRE(agreement["by_attractors"].size() == 4);
  for (const auto& row : agreement["by_attractors"])
    CHECK(row["share"].get<double>() >= (recorded ? 0.99 : 0.9));
  CHECK(agreement["unit_of_main_clauses"]["share"].get<double>() >= (recorded ? 0.99 : 0.9));
#endif
}
