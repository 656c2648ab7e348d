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
#include <nlohmann/json.hpp>
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

TEST_CASE("SIGINT, SIGTERM and SIGHUP: a checkpoint, how to resume, 130, 143 and 129") {
  const auto before = std::signal(SIGHUP, SIG_DFL);  // these tests may themselves have been started by nohup
  for (const Subject& subject : subjects) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
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
      int64_t epochs = 0;
      for (const std::string& record : timeless_log(folder / "run"))
        epochs += record.find("\"kind\":\"epoch\"") != std::string::npos;
      const auto resumed_to = [&](int64_t last) {
        return run(subject, {"resume", "run", "--set", fmt::format("training.epochs={}", last)}, folder);
      };
      // In the middle of an epoch the weights are not those that the epochs before it ended with.
      const auto state = SafetensorsFile(folder / "run/last.safetensors").metadata().at("training");
      const bool in_an_epoch = nlohmann::json::parse(state).at("state").at("window") != 0;
      const ProgramRun without_it = resumed_to(epochs);
      CHECK_MESSAGE(without_it.code == (in_an_epoch ? 2 : 0), without_it.err);
      if (in_an_epoch) CHECK(lacks(without_it.err, {"run/last.safetensors", "training.epochs"}) == "");
      if (in_an_epoch && subject.program == "timeseries") {  // whose windows go in an order of the seed's
        const ProgramRun other = run(subject, {"resume", "run", "--set", "training.seed=77"}, folder);
        CHECK(other.code == 2);
        CHECK(lacks(other.err, {"in the middle of an epoch", "training.seed = 77, was "}) == "");
      }
      const ProgramRun resumed = resumed_to(epochs + 1);
      CHECK_MESSAGE(resumed.code == 0, resumed.err);
      CHECK(resumed.out.find("resumed after step") != std::string::npos);
    }
  }
  std::signal(SIGHUP, before);
}

TEST_CASE("a SIGHUP that is ignored stays ignored, and output that nobody reads ends no training") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder folder;
    write_inputs(subject, folder);
    const std::string train =
        fmt::format("'{}' {}", program_named(subject.program), fmt::join(train_tiny(subject), " "));
    const auto shell = [&](const std::string& script) {
      return run_program("/bin/sh", {"-c", script}, folder.path());
    };
    // The shell's own signal comes to the program as soon as it has something to save.
    const ProgramRun hung_up = shell(
        "trap '' HUP; " + train +
        " nohup & child=$!; until [ -e nohup/last.safetensors ] || ! kill -0 $child; do sleep 0.01; done; "
        "kill -HUP $child; wait $child");
    CHECK_MESSAGE(hung_up.code == 0, hung_up.err);
    CHECK(outcome(folder / "nohup") == outcome(trained(subject) / "whole"));

    for (const std::string& unread : Words{" | head -1", " | true", " >/dev/full"}) {
      CAPTURE(unread);
      const ProgramRun run =
          shell("rm -rf run; { " + train + " run; echo $? >code; }" + unread + "; cat code");
      CHECK(run.out.ends_with("1\n"));
      CHECK(lacks(run.err.substr(0, run.err.size() - 1),
                  {subject.program + ": run: the run is complete and saved", "could not be written"}) == "");
      CHECK(outcome(folder / "run") == outcome(trained(subject) / "whole"));
    }
  }
}

TEST_CASE("without its latest checkpoint a run is not begun again over what is left of it") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    fs::remove(folder / "whole/last.safetensors");
    const auto refused = [&](const std::vector<std::string>& parts) {
      const auto before = folder.listing();
      const ProgramRun resumed = run(subject, {"resume", "whole"}, folder);
      CHECK(resumed.code == 2);
      CHECK(lacks(resumed.err.substr(0, resumed.err.size() - 1), parts) == "");
      CHECK(folder.listing() == before);
    };
    refused({"whole/last.safetensors: is missing", "best.safetensors and a log of 3 epochs",
             "'cp whole/best.safetensors whole/last.safetensors'",
             subject.program + " train whole/recipe.toml"});
    fs::rename(folder / "whole/log.jsonl", folder / "log");
    refused({"is missing", "over best.safetensors;"});
    fs::rename(folder / "log", folder / "whole/log.jsonl");
    // What it advises.
    fs::copy_file(folder / "whole/best.safetensors", folder / "whole/last.safetensors");
    const ProgramRun resumed = run(subject, {"resume", "whole"}, folder);
    CHECK_MESSAGE(resumed.code == 0, resumed.err);
    CHECK(outcome(folder / "whole") == outcome(trained(subject) / "whole"));
    for (const char* name : {"last.safetensors", "best.safetensors"}) fs::remove(folder / "whole" / name);
    refused({"is missing", "over a log of 3 epochs;", "train whole/recipe.toml"});
  }
}

TEST_CASE("killed before its first checkpoint a run is begun again, or goes on from that of its best epoch") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const Words one = {"one", "--set", "training.epochs=1"};
    REQUIRE(run(subject, train_tiny(subject) + one, folder).code == 0);
    fs::remove(folder / "one/last.safetensors");  // as if it had been killed between the two
    const auto resume = [&] { return run(subject, {"resume", "one", "--set", "training.epochs=3"}, folder); };
    const ProgramRun second = resume();
    CHECK_MESSAGE(second.code == 0, second.err);
    CHECK(second.out.find("1 of 3 epochs complete") != std::string::npos);
    CHECK(outcome(folder / "one") == outcome(folder / "whole"));

    for (const char* name : {"last.safetensors", "best.safetensors", "log.jsonl"})
      fs::remove(folder / "one" / name);
    const ProgramRun first = resume();
    CHECK_MESSAGE(first.code == 0, first.err);
    CHECK(first.out.find("resumed from the beginning") != std::string::npos);
    CHECK(outcome(folder / "one") == outcome(folder / "whole"));
  }
}

TEST_CASE("a folder in which no run has begun can have one") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder folder;
    write_inputs(subject, folder);
    for (const char* name : {"start.json", "start.json.partial", "recipe.toml.partial"})
      folder.write(fmt::format("run/{}", name), R"({"recipe": "tiny", "data": "", "threads": 1})");
    CHECK(run(subject, {"resume", "run"}, folder).code == 2);
    const Words train = train_tiny(subject) + Words{"run"};
    folder.write("run/mine.txt", "precious");
    CHECK(run(subject, train, folder).code == 2);
    fs::remove(folder / "run/mine.txt");
    folder.write("foreign/start.json", "{}");  // no file of ours
    CHECK(run(subject, train_tiny(subject) + Words{"foreign"}, folder).code == 2);
    const ProgramRun trained = run(subject, train, folder);
    CHECK_MESSAGE(trained.code == 0, trained.err);
    CHECK(!fs::exists(folder / "run/start.json.partial"));
  }
}

TEST_CASE("after an error that resuming would only repeat, nothing says to resume") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const Words resume = {"resume", "whole", "--set", "training.keep=best"};
    CHECK(run(subject, resume, folder).code == 0);
    fs::remove(folder / "whole/best.safetensors");
    const ProgramRun failed = run(subject, resume, folder);
    CHECK(failed.code == 2);
    CHECK(lacks(failed.err.substr(0, failed.err.size() - 1), {"whole/best.safetensors", "no such file"}) ==
          "");
    CHECK_MESSAGE(failed.out.find("next ") == std::string::npos, failed.out);
  }
}

TEST_CASE("what the file system refuses is said in its words, on one line") {
  for (const Subject& subject : subjects) {
    const Folder folder;
    fs::create_symlink("loop", folder / "loop");
    const ProgramRun refused = run(subject, {"resume", "loop"}, folder);
    CHECK(refused.code == 2);
    CHECK(refused.err == subject.program + ": loop: Too many levels of symbolic links\n");
    fs::remove(folder / "loop");
  }
}

TEST_CASE("a run of one program is no run of another") {
  for (const bool swapped : {false, true}) {
    const Subject &own = subjects[swapped], &other = subjects[!swapped];
    const Copy folder(own);
    const ProgramRun refused = run(other, {"resume", "whole"}, folder);
    CHECK(refused.code == 2);
    CHECK(refused.err == fmt::format("{}: whole: a run of 'unroll {}', not of 'unroll {}'\n", other.program,
                                     own.program, other.program));
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
    cases.push_back({{"resume", "whole", "--set", "training.epochs=1"},
                     {"whole/last.safetensors: 3 epochs are complete", "training.epochs = 1"}});
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
