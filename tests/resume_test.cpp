// "resume", of every program that trains: what is killed, interrupted or to be changed goes on; what cannot
// says why.
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <sys/file.h>

#include "tests/program.h"
#include "tests/run_outcome.h"
#include "tests/support.h"
#include "training/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

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

const std::string common_sections = R"([training]
epochs = 3
clip = 1.0
save_every_steps = 1

[optimizer]
kind = "adam"
learning_rate = 0.01
)";

void write_text(const Folder& folder) {
  std::string text;
  for (int i = 0; i < 90; ++i) text += i % 3 ? "the cat sat on a mat\n" : "a dog sat\n";
  for (const char* split : {"train", "valid", "test"}) folder.write(fmt::format("text/{}.txt", split), text);
}

void write_series(const Folder& folder) {
  RandomStream random(1, "series");
  std::string csv = "date,load,wind\n";
  for (int i = 0; i < 240; ++i)
    csv += fmt::format("2020-{:02}-{:02} {:02}:00,{:.4f},{:.4f}\n", 1, 1 + i / 24, i % 24,
                       std::sin(i * 0.26) + 0.1 * random.uniform(), random.uniform());
  folder.write("series.csv", csv);
}

const std::vector<Subject> subjects = {
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
     {{{"--set", "model.hidden=9"}, {"[32, 8]", "[36, 8]"}},
      {{"--set", "model.embedding=9"}, {"embedding.weight", "8]", "9]"}},
      {{"--set", "model.layers=1"}, {"lstm.weight_ih_l1", "not in the model"}},
      {{"--set", "model.tied=true"}, {"model.tied", "true"}},
      {{"--set", "optimizer.kind=sgd"}, {"optimizer.kind", "adam", "sgd"}},
      {{"--set", "data.batch=5"}, {"carried/h", "[2, 4, 8]", "[2, 5, 8]"}}}},
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
     {{{"--set", "model.hidden=9"}, {"[24, 4]", "[36, 4]"}},
      {{"--set", "model.layers=1"}, {"lstm.weight_ih_l1", "not in the model"}},
      {{"--set", "model.cell=gru"}, {"model.cell", "lstm", "gru"}},
      {{"--set", "data.horizon=4"}, {"head.weight", "[6, 6]", "[8, 6]"}},
      {{"--set", "optimizer.kind=sgd"}, {"optimizer.kind", "adam", "sgd"}}}}};

ProgramRun run(const Subject& subject, const Words& words, const Folder& folder) {
  return run_program(program_named(subject.program), words, folder.path());
}

// Starts the program and sends `signal` as soon as `when` says so.
int run_with_signal(const Subject& subject, const Words& words, const Folder& folder, int signal,
                    const std::function<bool()>& when) {
  const std::string program = program_named(subject.program);
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

void write_inputs(const Subject& subject, const Folder& folder) {
  folder.write("tiny.toml", subject.recipe);
  subject.write_data(folder);
}

// With one thread: tests that run side by side would wait for each other.
Words train_tiny(const Subject& subject) {
  return Words{"train", "tiny.toml"} + subject.data + Words{"--threads", "1", "--out"};
}

// The tiny recipe, trained to its end in "whole".
const Folder& trained(const Subject& subject) {
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
    fs::copy(trained(subject).path(), path(), fs::copy_options::recursive);
  }
};

}  // namespace

TEST_CASE("killed at random moments and resumed, a run ends in the bits of one that was not") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder folder;
    write_inputs(subject, folder);
    RandomStream random(3, "kills");
    const auto begin = Clock::now();
    const auto expected = outcome(trained(subject) / "whole");
    const double whole = std::chrono::duration<double>(Clock::now() - begin).count();
    int kills = 0, resumed = 0;
    while (kills < 20) {
      const std::string out = "run-" + std::to_string(kills);
      const auto train = [&] {
        return fs::exists(folder / out / "recipe.toml") ? Words{"resume", out}
                                                        : train_tiny(subject) + Words{out};
      };
      int code = 128 + SIGKILL;
      while (kills < 20 && code == 128 + SIGKILL) {
        // A folder that was made and nothing more is no run yet.
        if (!fs::exists(folder / out / "recipe.toml")) fs::remove_all(folder / out);
        const Words words = train();
        const auto end = Clock::now() + std::chrono::duration<double>(whole / 4 * random.uniform());
        code = run_with_signal(subject, words, folder, SIGKILL, [&] { return Clock::now() >= end; });
        kills += code == 128 + SIGKILL;
        resumed += words[0] == "resume";
      }
      if (!fs::exists(folder / out / "recipe.toml")) fs::remove_all(folder / out);
      const ProgramRun last = run(subject, train(), folder);
      CHECK_MESSAGE(last.code == 0, last.err);
      CHECK(outcome(folder / out) == expected);
    }
    CHECK(resumed > 0);
    MESSAGE(subject.program << ": " << resumed << " resumptions");
  }
}

TEST_CASE("SIGINT and SIGTERM: a checkpoint, how to resume, 130 and 143") {
  for (const Subject& subject : subjects) {
    for (const int signal : {SIGINT, SIGTERM}) {
      CAPTURE(subject.program);
      const Folder folder;
      write_inputs(subject, folder);
      const Words train = train_tiny(subject) + Words{"run", "--set", "training.epochs=100000", "--set",
                                                      "training.save_every_steps=0"};
      const int code = run_with_signal(subject, train, folder, signal,
                                       [&] { return fs::exists(folder / "run/best.safetensors"); });
      CHECK(code == 128 + signal);
      const std::string out = read_text(folder / "out");
      CHECK_MESSAGE(out.find(subject.program + " resume run") != std::string::npos, out);
      CHECK(fs::exists(folder / "run/last.safetensors"));
      const ProgramRun resumed = run(subject, {"resume", "run", "--set", "training.epochs=1"}, folder);
      CHECK_MESSAGE(resumed.code == 0, resumed.err);
      CHECK(resumed.out.find("resumed after step") != std::string::npos);
    }
  }
}

TEST_CASE("a finished run says its results again; with more epochs it goes on") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const auto before = outcome(folder / "whole");
    const ProgramRun again = run(subject, {"resume", "whole"}, folder);
    CHECK(again.code == 0);
    for (const std::string& part : Words{"nothing is left to train"} + subject.results)
      CHECK_MESSAGE(again.out.find(part) != std::string::npos, again.out);
    CHECK(outcome(folder / "whole") == before);

    const ProgramRun more = run(subject, {"resume", "whole", "--set", "training.epochs=4"}, folder);
    CHECK(more.code == 0);
    CHECK(more.out.find("training.epochs = 4, was 3") != std::string::npos);
    CHECK(more.out.find("bits") == std::string::npos);
    CHECK(more.out.find("epoch 4/4") != std::string::npos);
    // As if it had been meant to have four from the beginning.
    CHECK(run(subject, train_tiny(subject) + Words{"four", "--set", "training.epochs=4"}, folder).code == 0);
    CHECK(outcome(folder / "whole") == outcome(folder / "four"));
    CHECK(run(subject, {"resume", "whole"}, folder).out.find("was 3") ==
          std::string::npos);  // it is the run's recipe now
  }
}

TEST_CASE("a changed recipe or engine: goes on and says that the bits will differ") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const ProgramRun resumed =
        run(subject,
            Words{"resume", "whole", "--threads", "2", "--engine", "composed", "--set", "training.epochs=4"} +
                subject.changes,
            folder);
    CHECK(resumed.code == 0);
    for (const std::string& part :
         subject.told + Words{"engine fused then, composed now", "the bits will differ", "epoch 4/4"})
      CHECK_MESSAGE(resumed.out.find(part) != std::string::npos, resumed.out);
    CHECK(read_text(folder / "whole/recipe.toml").find("dropout = 0.1") != std::string::npos);
  }
}

TEST_CASE("resuming what cannot be resumed: exit code 2, one line, nothing changed") {
  for (const Subject& subject : subjects) {
    const Copy folder(subject);
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
    std::vector<Case> cases = {{{"resume"}, {"DIR"}},
                               {{"resume", "nowhere"}, {"nowhere", "no such folder"}},
                               {{"resume", "empty"}, {"empty", subject.program + " train"}},
                               {{"resume", "cut"}, {"cut/last.safetensors", "cut off"}},
                               {{"resume", "later"}, {"later/last.safetensors", "version 7", "version 1"}},
                               {Words{"evaluate", "later/last.safetensors"} + subject.data, {"version 7"}},
                               {train_tiny(subject) + Words{"whole"}, {"whole", "resume"}}};
    for (const Case& own : subject.refused)
      cases.push_back({Words{"resume", "whole"} + own.words, own.parts});
    const auto before = folder.listing();
    for (const Case& one : cases) {
      const ProgramRun refused = run(subject, one.words, folder);
      const std::string command =
          fmt::format("{} {}\n  -> {}", subject.program, fmt::join(one.words, " "), refused.err);
      CHECK_MESSAGE(refused.code == 2, command);
      const auto lines = lines_of(refused.err);
      REQUIRE_MESSAGE(lines.size() == 1, command);
      const std::string missing = lacks(lines[0], one.parts);
      CHECK_MESSAGE(missing.empty(), command, missing);
    }
    CHECK(folder.listing() == before);
  }
}

TEST_CASE("two processes do not train in one folder") {
  for (const Subject& subject : subjects) {
    const Copy folder(subject);
    const int descriptor = open((folder / "whole").c_str(), O_RDONLY | O_DIRECTORY);
    REQUIRE(flock(descriptor, LOCK_EX) == 0);
    const ProgramRun second = run(subject, {"resume", "whole"}, folder);
    close(descriptor);
    CHECK(second.code == 2);
    CHECK(lacks(lines_of(second.err).at(0), {"whole", "another process"}) == "");
  }
}

TEST_CASE("the log has every step and epoch, and the page is made from it again") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    int epochs = 0;
    for (const std::string& line : timeless_log(folder / "whole"))
      epochs += line.find("\"kind\":\"epoch\"") != std::string::npos;
    CHECK(epochs == 3);
    const std::string page = read_text(folder / "whole/report.html");
    for (const std::string& part : Words{"<svg", "tiny", "Parameters", "recipe.toml"})
      CHECK_MESSAGE(page.find(part) != std::string::npos, part);
    fs::remove(folder / "whole/report.html");
    CHECK(run(subject, {"report", "whole"}, folder).code == 0);
    CHECK(read_text(folder / "whole/report.html") == page);
  }
}
