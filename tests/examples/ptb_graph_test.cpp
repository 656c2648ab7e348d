// When ptb plays windows as CUDA graphs, over the stand-in: by itself where all have one size, with the bits of none.
#include "tests/examples/ptb.h"
#include "tests/support.h"

using namespace unroll;

namespace {

constexpr const char* said = "windows are played as CUDA graphs";

// Output of a run of an epoch on the GPU, with its model in the folder of this name.
std::string train(const Folder& folder, const std::string& name, const Words& words) {
  return ptb_out(Words{"train", "tiny.toml", "--set", "data.batch=40", "--set", "data.bptt=25", "--set",
                       "training.log_every=1", "--set", "training.deterministic=true", "--device", "cuda",
                       "--out", name} +
                     words,
                 folder.path());
}

// Each step's loss and gradient norm, as logged.
std::vector<double> steps_of(const Folder& folder, const std::string& name) {
  std::vector<double> steps;
  for (const std::string& line : lines_of(read_text((folder / name / "log.jsonl").string()))) {
    const auto record = nlohmann::json::parse(line);
    if (record.at("kind") == "interval")
      steps.insert(steps.end(), {record.at("loss").get<double>(), record.at("gradient_norm").get<double>()});
  }
  return steps;
}

}  // namespace

TEST_CASE("windows of one size are played as graphs unless the recipe says no, and the bits are the same") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  CHECK(train(folder, "auto", {}).find(said) != std::string::npos);
  CHECK(train(folder, "true", {"--set", "training.graph=true"}).find(said) != std::string::npos);
  CHECK(train(folder, "false", {"--set", "training.graph=false"}).find(said) == std::string::npos);
  const auto steps = steps_of(folder, "false");
  CHECK(steps.size() == 2 * 20);
  CHECK(steps_of(folder, "auto") == steps);
  CHECK(steps_of(folder, "true") == steps);
}

TEST_CASE("what training asks of the decoder beside the next word has the same bits in a graph") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const Words asked = {"--set", "training.past_decode=0.1",         "--set", "training.past_decode_share=0.5",
                       "--set", "training.adversarial_softmax=0.01", "--set", "data.train_tokens=8000"};
  CHECK(train(folder, "played", asked).find(said) != std::string::npos);
  train(folder, "not", asked + Words{"--set", "training.graph=false"});
  CHECK(steps_of(folder, "played") == steps_of(folder, "not"));
}

TEST_CASE(
    "nothing is played as a graph by itself where sizes vary, operations are timed, or a batch is cut") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto plays = [&](const Words& words) {
    return train(folder, "run", Words{"--dry-run"} + words).find(said) != std::string::npos;
  };
  CHECK(plays({}));
  CHECK(!plays({"--set", "data.variable_bptt=true"}));
  CHECK(!plays({"--profile"}));
  CHECK(!plays({"--set", "model.softmax=mixture"}));
  CHECK(!plays({"--set", "training.shards=2"}));
  CHECK(plays({"--set", "data.variable_bptt=true", "--set", "training.graph=true"}));
}

TEST_CASE("a run on a GPU is resumed with the engine that it was trained with, in every precision") {
  const Folder folder;
  for (const std::string precision : {"fp32", "tf32", "bf16"}) {
    const auto engine_of = [&](const Words& words) {
      const std::string out = output_of(run_program(program_named("timeseries"), words, folder.path()));
      for (const std::string& line : lines_of(out))
        if (line.starts_with("engine ")) return line;
      return "no line in: " + out;
    };
    const std::string trained =
        engine_of({"train", "airline", "--set", "model.hidden=8", "--set", "training.epochs=1", "--set",
                   "training.precision=" + precision, "--device", "cuda", "--out", precision});
    CHECK_MESSAGE(trained.starts_with("engine  lstm: "), trained);
    CHECK(trained == engine_of({"resume", precision, "--set", "training.epochs=2"}));
  }
}
