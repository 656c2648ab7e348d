// `ptb resume`: what is killed, interrupted or to be changed goes on; what cannot says why.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include <sys/file.h>

#include "tests/program.h"
#include "tests/run_outcome.h"
#include "tests/support.h"
#include "training/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

// A moment's training, saved after each step.
const std::string tiny = R"([model]
embedding = 8
hidden = 8
dropout = 0.2

[data]
corpus = "text"
batch = 4
bptt = 8
eval_batch = 4

[training]
epochs = 3
clip = 1.0
save_every_steps = 1

[optimizer]
kind = "adam"
learning_rate = 0.01
)";

ProgramRun ptb(const Words& words, const Folder& folder) {
  return run_program(program_named("ptb"), words, folder.path());
}

// Starts the program and sends `signal` as soon as `when` says so.
int ptb_with_signal(const Words& words, const Folder& folder, int signal, const std::function<bool()>& when) {
  const std::string program = program_named("ptb");
  std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (chdir(folder.path().c_str()) == 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0)
      execv(program.c_str(), arguments.data());
    _exit(127);
  }
  int status = 0;
  pid_t ended = 0;
  while (!ended && !when()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ended = waitpid(child, &status, WNOHANG);
  }
  if (!ended) {
    kill(child, signal);
    REQUIRE(waitpid(child, &status, 0) == child);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void write_inputs(const Folder& folder) {
  folder.write("tiny.toml", tiny);
  std::string text;
  for (int i = 0; i < 90; ++i) text += i % 3 ? "the cat sat on a mat\n" : "a dog sat\n";
  for (const char* split : {"train", "valid", "test"}) folder.write(fmt::format("text/{}.txt", split), text);
}

// With one thread: tests that run side by side would wait for each other.
const Words train_tiny = {"train", "tiny.toml", "--data", "text", "--threads", "1", "--out"};
Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The tiny recipe, trained to its end in "whole".
const Folder& trained() {
  static const Folder folder;
  static const bool done = [] {
    write_inputs(folder);
    const ProgramRun run = ptb(train_tiny + Words{"whole"}, folder);
    REQUIRE_MESSAGE(run.code == 0, run.err);
    return true;
  }();
  (void)done;
  return folder;
}

// A copy of that run in a folder of its own.
struct Copy : Folder {
  Copy() { fs::copy(trained().path(), path(), fs::copy_options::recursive); }
};

}  // namespace

TEST_CASE("ptb, killed at random moments and resumed, ends in the bits of a run that was not") {
  const Folder folder;
  write_inputs(folder);
  RandomStream random(3, "kills");
  const auto begin = Clock::now();
  const auto expected = outcome(trained() / "whole");
  const double whole = std::chrono::duration<double>(Clock::now() - begin).count();
  int kills = 0, resumed = 0;
  while (kills < 20) {
    const std::string out = "run-" + std::to_string(kills);
    const auto train = [&] {
      return fs::exists(folder / out / "recipe.toml") ? Words{"resume", out} : train_tiny + Words{out};
    };
    int code = 128 + SIGKILL;
    while (kills < 20 && code == 128 + SIGKILL) {
      // A folder that was made and nothing more is no run yet.
      if (!fs::exists(folder / out / "recipe.toml")) fs::remove_all(folder / out);
      const Words words = train();
      const auto end = Clock::now() + std::chrono::duration<double>(whole / 4 * random.uniform());
      code = ptb_with_signal(words, folder, SIGKILL, [&] { return Clock::now() >= end; });
      kills += code == 128 + SIGKILL;
      resumed += words[0] == "resume";
    }
    if (!fs::exists(folder / out / "recipe.toml")) fs::remove_all(folder / out);
    const ProgramRun last = ptb(train(), folder);
    CHECK_MESSAGE(last.code == 0, last.err);
    CHECK(outcome(folder / out) == expected);
  }
  CHECK(resumed > 0);
  MESSAGE(resumed << " resumptions");
}

TEST_CASE("windows of drawn lengths: the same bits from the middle of an epoch, and no other windows there") {
  const Folder folder;
  write_inputs(folder);
  const Words train = {"train",     "tiny.toml",
                       "--data",    "text",
                       "--threads", "1",
                       "--set",     "data.variable_bptt=true",
                       "--set",     "data.batch=1",
                       "--set",     "training.epochs=1",
                       "--out"};
  CHECK(ptb(train + Words{"whole"}, folder).code == 0);
  const int code = ptb_with_signal(train + Words{"run"}, folder, SIGKILL,
                                   [&] { return fs::exists(folder / "run/last.safetensors"); });
  REQUIRE(code == 128 + SIGKILL);  // of sixty steps, each with a checkpoint
  for (const char* set : {"training.seed=2", "data.bptt=9", "data.variable_bptt=false"}) {
    const ProgramRun refused = ptb({"resume", "run", "--set", set}, folder);
    CHECK(refused.code == 2);
    CHECK(lacks(refused.err.substr(0, refused.err.size() - 1), {"last.safetensors", "in "}) == "");
  }
  CHECK(ptb({"resume", "run"}, folder).code == 0);
  CHECK(outcome(folder / "run") == outcome(folder / "whole"));
}

TEST_CASE("SIGINT and SIGTERM: a checkpoint, how to resume, 130 and 143") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Folder folder;
    write_inputs(folder);
    const Words train =
        train_tiny + Words{"run", "--set", "training.epochs=100000", "--set", "training.save_every_steps=0"};
    const int code =
        ptb_with_signal(train, folder, signal, [&] { return fs::exists(folder / "run/best.safetensors"); });
    CHECK(code == 128 + signal);
    const std::string out = read_text(folder / "out");
    CHECK_MESSAGE(out.find("ptb resume run") != std::string::npos, out);
    CHECK(fs::exists(folder / "run/last.safetensors"));
    const ProgramRun resumed = ptb({"resume", "run", "--set", "training.epochs=1"}, folder);
    CHECK_MESSAGE(resumed.code == 0, resumed.err);
    CHECK(resumed.out.find("resumed after step") != std::string::npos);
  }
}

TEST_CASE("a finished run says its results again; with more epochs it goes on") {
  const Copy folder;
  const auto before = outcome(folder / "whole");
  const ProgramRun again = ptb({"resume", "whole"}, folder);
  CHECK(again.code == 0);
  for (const char* part : {"nothing is left to train", "test", "perplexity"})
    CHECK_MESSAGE(again.out.find(part) != std::string::npos, again.out);
  CHECK(outcome(folder / "whole") == before);

  const ProgramRun more = ptb({"resume", "whole", "--set", "training.epochs=4"}, folder);
  CHECK(more.code == 0);
  CHECK(more.out.find("training.epochs = 4, was 3") != std::string::npos);
  CHECK(more.out.find("bits") == std::string::npos);
  CHECK(more.out.find("epoch 4/4") != std::string::npos);
  // As if it had been meant to have four from the beginning.
  CHECK(ptb(train_tiny + Words{"four", "--set", "training.epochs=4"}, folder).code == 0);
  CHECK(outcome(folder / "whole") == outcome(folder / "four"));
  CHECK(ptb({"resume", "whole"}, folder).out.find("was 3") ==
        std::string::npos);  // it is the run's recipe now
}

TEST_CASE("a changed recipe, engine or thread count: goes on and says that the bits will differ") {
  const Copy folder;
  const ProgramRun run =
      ptb({"resume", "whole", "--threads", "2", "--engine", "composed", "--set", "training.epochs=4", "--set",
           "model.dropout=0.1", "--set", "schedule.kind=plateau"},
          folder);
  CHECK(run.code == 0);
  for (const char* part :
       {"1 threads then, 2 now", "engine fused then, composed now", "model.dropout = 0.1, was 0.2",
        "schedule.kind = \"plateau\", was \"constant\"", "the bits will differ", "epoch 4/4"})
    CHECK_MESSAGE(run.out.find(part) != std::string::npos, run.out);
  CHECK(read_text(folder / "whole/recipe.toml").find("dropout = 0.1") != std::string::npos);
}

TEST_CASE("resuming what cannot be resumed: exit code 2, one line, nothing changed") {
  const Copy folder;
  const std::string good = read_text(folder / "whole/last.safetensors");
  const auto with_checkpoint = [&](const std::string& name, const std::string& contents) {
    fs::copy(folder / "whole", folder / name, fs::copy_options::recursive);
    folder.write(name + "/last.safetensors", contents);
  };
  with_checkpoint("cut", good.substr(0, good.size() / 2));
  std::string later = good;
  const std::string version = R"("checkpoint_version":"1")";
  REQUIRE(later.find(version) != std::string::npos);
  later.replace(later.find(version) + version.size() - 2, 1, "7");
  with_checkpoint("later", later);
  fs::create_directory(folder / "empty");
  struct Case {
    Words words, parts;
  };
  const std::vector<Case> cases = {
      {{"resume"}, {"DIR"}},
      {{"resume", "nowhere"}, {"nowhere", "no such folder"}},
      {{"resume", "empty"}, {"empty", "ptb train"}},
      {{"resume", "cut"}, {"cut/last.safetensors", "cut off"}},
      {{"resume", "later"}, {"later/last.safetensors", "version 7", "version 1"}},
      {{"evaluate", "later/last.safetensors"}, {"version 7"}},
      {{"resume", "whole", "--set", "model.hidden=9"}, {"[32, 8]", "[36, 8]"}},
      {{"resume", "whole", "--set", "model.embedding=9"}, {"embedding.weight", "8]", "9]"}},
      {{"resume", "whole", "--set", "model.layers=1"}, {"lstm.weight_ih_l1", "not in the model"}},
      {{"resume", "whole", "--set", "model.tied=true"}, {"model.tied", "true"}},
      {{"resume", "whole", "--set", "optimizer.kind=sgd"}, {"optimizer.kind", "adam", "sgd"}},
      {{"resume", "whole", "--set", "data.batch=5"}, {"carried/h", "[2, 4, 8]", "[2, 5, 8]"}},
      {train_tiny + Words{"whole"}, {"whole", "resume"}}};
  const auto before = folder.listing();
  for (const Case& one : cases) {
    const ProgramRun run = ptb(one.words, folder);
    const std::string command = fmt::format("ptb {}\n  -> {}", fmt::join(one.words, " "), run.err);
    CHECK_MESSAGE(run.code == 2, command);
    const auto lines = lines_of(run.err);
    REQUIRE_MESSAGE(lines.size() == 1, command);
    const std::string missing = lacks(lines[0], one.parts);
    CHECK_MESSAGE(missing.empty(), command, missing);
  }
  CHECK(folder.listing() == before);
}

TEST_CASE("two processes do not train in one folder") {
  const Copy folder;
  const int descriptor = open((folder / "whole").c_str(), O_RDONLY | O_DIRECTORY);
  REQUIRE(flock(descriptor, LOCK_EX) == 0);
  const ProgramRun run = ptb({"resume", "whole"}, folder);
  close(descriptor);
  CHECK(run.code == 2);
  CHECK(lacks(lines_of(run.err).at(0), {"whole", "another process"}) == "");
}
