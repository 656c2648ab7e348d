// Runs that are killed, interrupted or left alone by who reads them, of every program that trains: nothing is lost, and
// "resume" ends in the same bits.
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/run_outcome.h"
#include "tests/training/program/trained_programs.h"
#include "training/files/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// Starts the program and sends `signal` as soon as `when` says so.
ProgramRun run_with_signal(const Subject& subject, const Words& words, const Folder& folder, int signal,
                           const std::function<bool()>& when) {
  return run_program(program_named(subject.program), words, folder.path(), {}, {signal, when});
}

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
        code = run_with_signal(subject, words, folder, SIGKILL, [&] { return Clock::now() >= end; }).code;
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
      const ProgramRun ended = run_with_signal(subject, train, folder, signal,
                                               [&] { return fs::exists(folder / "run/best.safetensors"); });
      CHECK(ended.code == 128 + signal);
      const std::string out = ended.out + ended.err;
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

TEST_CASE("a signal ends the sample that a model writes after an epoch, and the run goes on from there") {
  const Subject& subject = subjects[0];
  REQUIRE(subject.program == "ptb");
  const Folder folder;
  write_inputs(subject, folder);
  const Words train = train_tiny(subject) + Words{"run",
                                                  "--set",
                                                  "training.save_every_steps=0",
                                                  "--set",
                                                  "training.sample_every_epochs=1",
                                                  "--set",
                                                  "training.sample_words=20000000"};
  const ProgramRun ended = run_with_signal(subject, train, folder, SIGTERM,
                                           [&] { return fs::exists(folder / "run/last.safetensors"); });
  CHECK(ended.code == 143);
  CHECK((ended.out + ended.err).find("ptb resume run") != std::string::npos);
  const ProgramRun resumed =
      run(subject, {"resume", "run", "--set", "training.sample_every_epochs=0"}, folder);
  CHECK_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(read_text(folder / "run/best.safetensors").size() > 1000);
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

    for (const std::string& unread : Words{" | head -1", " | true", " >/dev/full", " <&- >&-"}) {
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
