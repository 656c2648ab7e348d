// The programs of examples/. Each of those that train ends with 0 only if it learns what it set out to.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "tests/program.h"
#include "tests/support.h"

TEST_CASE("the first model tells its two classes apart") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("first_model"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
}

TEST_CASE("the language model of README comes near its source") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("language_model"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
  CHECK_MESSAGE(run.out.starts_with("validation perplexity "), run.out);
}

TEST_CASE("the custom cell learns to add") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("custom_cell"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
}

TEST_CASE("the training that processes can share runs in one, too") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("shared_training"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
  CHECK_MESSAGE(run.out.find("\nfingerprint of the weights: ") != std::string::npos, run.out);
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
  size_t on_diagonal = 0;
  for (size_t t = 0; t < length; ++t) on_diagonal += first[1 + t].at(7 + 2 * (length - 1 - t)) != ' ';
  CHECK(2 * on_diagonal > length);
}

TEST_CASE("the models of one screen learn what they set out to") {
  for (const char* name :
       {"anomalies", "crf", "ctc", "gpt", "min_gru", "own_optimizer", "seq2seq", "slstm", "sru", "tagger"}) {
    INFO(name);
    const Folder folder;
    const ProgramRun run = run_program(program_named(name), {}, folder.path());
    CHECK_MESSAGE(run.code == 0, run.out, run.err);
    if (std::string_view(name) != "min_gru") continue;
    // Sums of two numbers from -1 to 1 have the mean square 2/3, and that the variance 28/45: four deviations of 12,800.
    const double of_zero = std::stod(run.out.substr(run.out.rfind(' ')));
    CHECK(std::abs(of_zero - 2.0 / 3) < 0.028);
  }
}

TEST_CASE("saliency: a backward pass finds the letter that the prediction rests on") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("saliency"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
}

TEST_CASE("the operation of one's own is told from one whose gradient is wrong") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("own_operation"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
  const auto lines = lines_of(run.out);
  REQUIRE(lines.size() > 1);
  CHECK_MESSAGE(lines[0].starts_with("tanh(d):  worst relative error"), run.out);
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
  CHECK(lines.back().starts_with("next: "));

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
