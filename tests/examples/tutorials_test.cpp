// The programs of examples/. Each of those that train ends with 0 only if it learns what it set out to.
#include <algorithm>
#include <cmath>
#include <regex>

#include <nlohmann/json.hpp>

#include "tests/program.h"
#include "tests/support.h"

namespace {

std::vector<double> numbers_in(const std::string& text) {
  static const std::regex number("-?[0-9]+(\\.[0-9]+)?");
  std::vector<double> found;
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it)
    found.push_back(std::stod(it->str()));
  return found;
}

// Lines "step 50  loss 0.1234 …": steps in even distances, and what they fall to is below where they began.
void check_course(const std::string& out) {
  std::vector<std::vector<double>> steps;
  for (const std::string& line : lines_of(out))
    if (line.starts_with("step ")) steps.push_back(numbers_in(line));
  for (size_t k = 0; k < steps.size(); ++k)
    CHECK(steps[k][0] == static_cast<double>(k + 1) * steps[0][0]);
  if (!steps.empty()) CHECK(steps.back()[1] < steps[0][1]);
}

}  // namespace

TEST_CASE("the training that processes can share runs in one, too") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("shared_training"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
  const auto lines = lines_of(run.out);
  REQUIRE(lines.size() == 3);
  CHECK_MESSAGE(lines[2].starts_with("fingerprint of the weights: "), run.out);
  // Single words of this source have a perplexity of 100, and the source has 10 (examples/lessons/07-perplexity).
  const double first = std::stod(lines[0].substr(lines[0].find("train ") + 6)),
               second = std::stod(lines[1].substr(lines[1].find("train ") + 6));
  CHECK_MESSAGE((10 < second && second < first && first < 100), run.out);
}

TEST_CASE("the encoder and decoder with attention learn to write backwards, and look there") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("attention"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
  // The picture has a mark for each digit written, most of them on the diagonal that runs backwards.
  const auto lines = lines_of(run.out);
  const auto first = std::ranges::find_if(lines, [](auto& line) { return line.starts_with("       "); });
  REQUIRE(first != lines.end());
  const auto length = static_cast<size_t>(std::ranges::count_if(*first, [](char c) { return c != ' '; }));
  REQUIRE(static_cast<size_t>(lines.end() - first) == length + 1);
  std::string read = *first, written;  // its digits, and those that are to be written: backwards
  std::erase(read, ' ');
  for (size_t t = 0; t < length; ++t) written += first[1 + t].at(4);
  CHECK(std::string(read.rbegin(), read.rend()) == written);
  const auto share = std::ranges::find_if(lines, [](auto& line) { return line.find(" % of the digits") != line.npos; });
  CHECK_MESSAGE((95 < std::stod(*share) && std::stod(*share) <= 100), *share);
  check_course(run.out);
  size_t on_diagonal = 0;
  for (size_t t = 0; t < length; ++t) on_diagonal += first[1 + t].at(7 + 2 * (length - 1 - t)) != ' ';
  CHECK(2 * on_diagonal > length);
}

TEST_CASE("the models of one screen learn what they set out to, and their last lines say how well") {
  struct Range {
    double low, high;
  };
  struct Example {
    const char *name, *last;    // the line, with # for each number
    std::vector<Range> ranges;  // of its numbers: as its page of code asks, and as its task can be solved at all
  };
  // A tagger's 640 rows have 3 to 9 digits, in the mean 6: four deviations, of 51. Sums of two numbers from -1 to 1 have the mean
  // square 2/3, and that the variance 28/45: four deviations of 12,800. 80 % of a row's tags are seen as they are.
  for (const auto& [name, last, ranges] : std::vector<Example>{
           {"anomalies",
            "found of #: spikes #, lost rhythms #; false alarms #",
            {{32, 32}, {29, 32}, {29, 32}, {0, 1}}},
           {"crf", "right tags: # % one by one, # % by the best path", {{70, 84}, {75, 100}}},
           {"ctc", "# % of # new rows are heard without a mistake", {{93.7, 100}, {320, 320}}},
           {"custom_cell", "step # mean squared error #", {{400, 400}, {0, 0.01}}},
           {"first_model", "# % of # new sequences are told apart", {{95, 100}, {1000, 1000}}},
           {"gpt",
            "it goes on: # # # # # # # # ",
            {{37, 37}, {38, 38}, {39, 39}, {40, 40}, {41, 41}, {42, 42}, {43, 43}, {44, 44}}},
           {"language_model", "validation perplexity #; the best possible is #", {{10, 17}, {10, 10}}},
           {"min_gru",
            "step # squared error #; of always #: #",
            {{400, 400}, {0, 0.05}, {0, 0}, {2.0 / 3 - 0.028, 2.0 / 3 + 0.028}}},
           {"own_optimizer", "in one go and in two: the same bits", {}},
           {"seq2seq", "# of # new rows are written backwards without a mistake", {{640, 640}, {640, 640}}},
           {"slstm", "step # loss # right #", {{200, 200}, {0, 1}, {0.95, 1}}},
           {"sru", "step # loss # right #", {{300, 300}, {0, 1}, {0.95, 1}}},
           {"tagger", "# % of # tags of new rows are right", {{97, 100}, {3840 - 204, 3840 + 204}}}}) {
    INFO(name);
    const Folder folder;
    const ProgramRun run = run_program(program_named(name), {}, folder.path());
    CHECK_MESSAGE(run.code == 0, run.out, run.err);
    check_course(run.out);
    const std::string line = lines_of(run.out).back();
    const std::string words = std::regex_replace(line, std::regex("-?[0-9]+(\\.[0-9]+)?"), "#");
    CHECK(std::regex_replace(words, std::regex(" +"), " ") == last);
    const std::vector<double> numbers = numbers_in(line);
    REQUIRE(numbers.size() == ranges.size());
    for (size_t k = 0; k < numbers.size(); ++k)
      CHECK_MESSAGE((ranges[k].low <= numbers[k] && numbers[k] <= ranges[k].high), line);
    if (std::string_view(name) == "crf") CHECK(numbers[1] >= numbers[0] + 3 - 0.1);
    if (std::string_view(name) != "own_optimizer") continue;
    // It learns y = 2 x, in one go and in two; in between it is on its way.
    for (const std::string& fit : lines_of(run.out))
      if (const bool between = fit.starts_with("parts after 4"); between || fit.find(" after 10 ") != fit.npos)
        CHECK_MESSAGE((std::abs(numbers_in(fit)[1] - 2) < 0.1) != between, fit);
  }
}

TEST_CASE("saliency: a backward pass finds the letter that the prediction rests on") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("saliency"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
  const auto lines = lines_of(run.out);
  REQUIRE(lines.size() == 21);
  int found = 0;  // rows in which the bars of three marks and more are below the two numbers that are starred
  for (size_t k = 0; k < 20; k += 2) {
    CHECK(std::ranges::count(lines[k], '*') == 2);
    bool right = true;
    for (size_t t = 0; t < 10; ++t)
      right = right && (lines[k].substr(6 * t, 6).ends_with('*')) ==
                           (lines[k + 1].substr(6 * t, 6).find("##") != std::string::npos);
    found += right;
  }
  CHECK(numbers_in(lines[20]) == std::vector<double>{static_cast<double>(found), 10});
}

TEST_CASE("the operation of one's own is told from one whose gradient is wrong") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("own_operation"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
  const auto lines = lines_of(run.out);
  REQUIRE(lines.size() > 1);
  CHECK_MESSAGE(lines[0].starts_with("tanh(d):  worst relative error"), run.out);
  CHECK(std::stod(lines[0].substr(lines[0].rfind(' '))) < 1e-6);
  CHECK_MESSAGE(lines[1].starts_with("d:        log_cosh: input 0"), run.out);
}

TEST_CASE("step by step, a model of PyTorch is as surprised by each word as it was there") {
  const std::filesystem::path folder = std::filesystem::absolute("tests/fixtures/language_model");
  const auto reading = [&](const std::string& words) {
    return run_program("/bin/sh", {"-c", program_named("step_by_step") + " " + words}, folder);
  };
  const ProgramRun run = reading("unroll.safetensors <test.txt");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto lines = lines_of(run.out);
  const auto recorded = nlohmann::json::parse(read_text(folder / "perplexity.json"));
  REQUIRE(lines.size() == recorded["tokens"].get<size_t>() + 2);
  CHECK(lines[7].ends_with("  <eos>"));
  CHECK(lines[9].ends_with("  <unk>"));
  const std::string perplexity = lines[lines.size() - 2];
  REQUIRE(perplexity.starts_with("perplexity "));
  CHECK(std::stod(perplexity.substr(11)) == doctest::Approx(recorded["float64"].get<double>()).epsilon(5e-5));
  double bits = 0;
  for (size_t k = 0; k + 2 < lines.size(); ++k) bits += std::stod(lines[k]);
  CHECK(std::exp2(bits / static_cast<double>(lines.size() - 2)) ==
        doctest::Approx(std::stod(perplexity.substr(11))).epsilon(0.005 * std::log(2.0)));  // each has two places
  // A word that may come next surprises less than the one that stands there.
  REQUIRE(lines.back().starts_with("next: "));
  std::istringstream next(lines.back().substr(6));
  double least = 0;
  for (int k = 0; k < 5; ++k) {
    std::string word;
    REQUIRE(static_cast<bool>(next >> word));
    const ProgramRun run_on = run_program(
        "/bin/sh", {"-c", "{ cat test.txt; printf '" + word + "'; } | " + program_named("step_by_step") + " unroll.safetensors"},
        folder);
    const auto more = lines_of(run_on.out);
    REQUIRE(more.size() == lines.size() + 1);
    CHECK(std::stod(more[more.size() - 3]) >= least);
    least = std::stod(more[more.size() - 3]);
  }

  CHECK(lines_of(reading("unroll.safetensors").out).size() == 1);
  for (const char* words : {"", "nowhere.safetensors", "torch.safetensors", "vocabulary.txt"}) {
    const ProgramRun refused = reading(words);
    CHECK(refused.code == 2);
    CHECK(refused.out.empty());
    CHECK_MESSAGE(lines_of(refused.err).size() == 1, refused.err);
  }
}

TEST_CASE("step by step, a model with options that it would pass over is refused") {
  const Folder folder;
  const ProgramRun trained = run_program(
      program_named("ptb"),
      {"train", "demo", "--out", "run", "--set", "model.residual=true", "--set", "model.embedding=8", "--set",
       "model.hidden=8", "--set", "data.train_tokens=20000", "--set", "training.epochs=1"},
      folder.path());
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  const ProgramRun refused =
      run_program("/bin/sh", {"-c", "echo a b | " + program_named("step_by_step") + " run/last.safetensors"},
                  folder.path());
  CHECK(refused.code == 2);
  CHECK_MESSAGE(unroll::lacks(lines_of(refused.err).at(0), {"run/last.safetensors", "residual"}) == "",
                refused.err);
}
