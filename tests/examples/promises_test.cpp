// Promises that the pages and --help make in passing, and that no other suite would miss.
#include <csignal>
#include <functional>

#include "tests/examples/ptb.h"
#include "tests/support.h"

using namespace unroll;

namespace {

const Words train = {"train", "tiny.toml", "--data", "text", "--set", "data.corpus=text", "--threads", "1"};

void write_inputs(const Folder& folder) {
  folder.write("tiny.toml", tiny);
  write_text(folder, "text");
}

bool log_has(const Folder& folder, const std::string& part) {
  const std::filesystem::path log = folder / "run/log.jsonl";
  return std::filesystem::exists(log) && read_text(log).find(part) != std::string::npos;
}

// Runs ptb, and ends it with SIGTERM as soon as `when` says so. Its exit code.
int terminate(const Words& words, const Folder& folder, const std::function<bool()>& when) {
  return run_program(program_named("ptb"), words, folder.path(), {}, {SIGTERM, when}).code;
}

}  // namespace

TEST_CASE("generate: the last sentence is ended, however few words were asked for") {
  const std::string model = (trained() / "model/last.safetensors").string();
  const auto written = [&](int words) {
    return lines_of(ptb_out({"generate", model, "--words", std::to_string(words)}, trained().path()));
  };
  const std::vector<std::string> many = written(60);
  for (const int words :
       {1, 2, 3}) {  // all of them in the first sentence, which one seed always begins alike
    REQUIRE(std::ranges::count(many[0], ' ') >= 3);
    CHECK(written(words) == std::vector<std::string>{many[0]});
  }
}

TEST_CASE(
    "a run that is resumed is scored on the text at hand, keeps its threads, and finds its data from anywhere") {
  const Folder folder, elsewhere;
  write_inputs(folder);
  ptb_out(train + Words{"--out", "run"}, folder.path());
  folder.write("text/valid.txt", sentences(7, "a mat sat on the cat"));
  const std::string run = (folder / "run").string();
  const auto resumed = ptb_json({"resume", run, "--set", "training.keep=last"}, elsewhere.path());
  const auto scored =
      ptb_json({"evaluate", run + "/last.safetensors", "--split", "valid", "--data", "text"}, folder.path());
  CHECK(resumed["valid_perplexity"] == scored["valid_perplexity"]);
  CHECK(nlohmann::json::parse(read_text(folder / "run/start.json"))["threads"] == 1);

  // The recipe in its folder is the one that it has gone on with.
  ptb_out({"resume", run, "--set", "training.epochs=2"}, elsewhere.path());
  CHECK(read_text(folder / "run/recipe.toml").find("epochs = 2\n") != std::string::npos);
}

TEST_CASE("evaluate reads as many streams as the recipe says, or as are asked for") {
  const Folder folder;
  write_inputs(folder);
  ptb_out(train + Words{"--out", "run", "--set", "data.eval_batch=4"}, folder.path());
  const auto perplexity = [&](const Words& more) {
    return ptb_json(Words{"evaluate", "run/last.safetensors", "--data", "text"} + more,
                    folder.path())["test_perplexity"];
  };
  CHECK(perplexity({}) == perplexity({"--batch", "4"}));
  CHECK(perplexity({}) != perplexity({"--batch", "1"}));
}

TEST_CASE("one window is learnt by heart without the dropout of the recipe") {
  const Folder folder;
  write_inputs(folder);
  const ProgramRun run =
      ptb(train + Words{"--overfit-one-batch", "--set", "model.dropout=0.95"}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.err);
}

TEST_CASE("nor does a schedule touch the rate at which one window is learnt by heart") {
  const Folder folder;
  write_inputs(folder);
  const auto learnt = [&](const Words& more) {
    const ProgramRun run = ptb(train + Words{"--overfit-one-batch"} + more, folder.path());
    CHECK_MESSAGE(run.code == 0, run.err);
    return run.out.substr(run.out.find("\n\n"));  // the window, and lines of steps
  };
  const std::string plain = learnt({});
  CHECK(learnt({"--set", "schedule.kind=cosine"}) == plain);
  CHECK(learnt({"--set", "schedule.kind=step", "--set", "schedule.after=0", "--set", "schedule.factor=0.1"}) == plain);
  CHECK(learnt({"--set", "training.accumulate=4"}) == plain);
}

TEST_CASE("the report of a run is there after its first epoch") {
  const Folder folder;
  write_inputs(folder);
  terminate(train + Words{"--out", "run", "--quiet", "--set", "training.epochs=100000"}, folder,
            [&] { return log_has(folder, "\"kind\":\"epoch\""); });
  // The epoch's report comes before the next step, at whose end the signal is looked at.
  CHECK(std::filesystem::exists(folder / "run/report.html"));
}

TEST_CASE("in the middle of a validation a signal gives it up") {
  const Folder folder;
  write_inputs(folder);
  folder.write("text/valid.txt",
               sentences(30'000));  // 200,000 tokens: some 200 windows, after each of which is looked
  // 200 lines of 7 and 8 tokens, of which 10 streams predict 149 each: 15 windows of 10 steps.
  CHECK(terminate(train + Words{"--out", "run", "--quiet", "--log-every", "1"}, folder,
                  [&] { return log_has(folder, "\"step\":15,"); }) == 143);
  CHECK(!log_has(folder, "\"kind\":\"epoch\""));
}

TEST_CASE("a run does not go on with a text of other words") {
  const Folder folder;
  write_inputs(folder);
  ptb_out(train + Words{"--out", "run"}, folder.path());
  const std::string before = read_text(folder / "run/last.safetensors");
  for (const char* split : {"train", "valid", "test"})  // as many words as before, one of them another
    folder.write(fmt::format("text/{}.txt", split), sentences(40, "the dog sat on a mat"));
  const ProgramRun resumed = ptb({"resume", "run", "--set", "training.epochs=2"}, folder.path());
  CHECK(resumed.code == 2);
  CHECK(lacks(resumed.err.substr(0, resumed.err.size() - 1),
              {"run/last.safetensors: its vocabulary is not that of text in"}) == "");
  CHECK(read_text(folder / "run/last.safetensors") == before);
}
