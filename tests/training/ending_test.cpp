// How a run ends early, and what it leaves: a signal, a full disk, a folder or checkpoint that is gone.
#include <csignal>
#include <filesystem>

#include <sys/resource.h>

#include "framework/signals.h"
#include "tests/program.h"
#include "tests/run_outcome.h"
#include "tests/support.h"
#include "tests/tiny_training.h"
#include "training/checkpoint.h"
#include "training/files/state_dict.h"

using namespace unroll;
namespace fs = std::filesystem;

TEST_CASE("a signal ends the run after a step, or a validation in its midst, and nothing is lost") {
  const Folder whole, parts;
  const auto go = [&](const Folder& folder, int64_t signal_at, int signal_in_validation) {
    TinyTraining tiny({});
    Trainer trainer(*tiny.optimizer, options(folder));
    TrainingTask task = tiny.task();
    task.loss = [&, loss = task.loss](int64_t window) {
      if (trainer.state().epoch * 25 + window == signal_at) std::raise(SIGINT);
      return loss(window);
    };
    task.validate = [&] {
      if (trainer.state().epoch == signal_in_validation) std::raise(SIGTERM);
      stop_if_signalled();
      return 10.0 - trainer.state().epoch;
    };
    const SignalGuard guard;
    trainer.resume(task);
    try {
      trainer.run(task);
    } catch (const Interrupted& interrupted) { return interrupted.signal; }
    return 0;
  };
  CHECK(go(whole, -1, -1) == 0);
  CHECK(go(parts, 7, -1) == SIGINT);
  CHECK(SafetensorsFile(parts / "last.safetensors").metadata().at("training").find("\"step\":8,") !=
        std::string::npos);
  CHECK(go(parts, 49, 0) == SIGTERM);
  CHECK(go(parts, 24 + 25, 9) == SIGINT);
  CHECK(go(parts, -1, 1) == SIGTERM);
  CHECK(go(parts, -1, -1) == 0);
  for (const char* name : {"last.safetensors", "best.safetensors"})
    CHECK(read_text(whole / name) == read_text(parts / name));
  CHECK(timeless_log(whole.path()) == timeless_log(parts.path()));
}

TEST_CASE(
    "a signal ends a step of several windows between two of them, and what follows an epoch in its midst") {
  const Folder whole, parts;
  const auto go = [&](const Folder& folder, int64_t signal_at, int signal_after) {
    TinyTraining tiny({});
    TrainerOptions of_steps = options(folder);
    of_steps.accumulate = 10;
    Trainer trainer(*tiny.optimizer, of_steps);
    TrainingTask task = tiny.task();
    int64_t last = -1;
    task.loss = [&, loss = task.loss](int64_t window) {
      last = trainer.state().epoch * 25 + window;
      if (last == signal_at) std::raise(SIGTERM);
      return loss(window);
    };
    task.after_epoch = [&](const EpochReport& epoch) {
      if (epoch.epoch == signal_after) std::raise(SIGTERM);
      stop_if_signalled();
    };
    const SignalGuard guard;
    trainer.resume(task);
    try {
      trainer.run(task);
    } catch (const Interrupted& interrupted) { CHECK(interrupted.signal == SIGTERM); }
    return last;
  };
  CHECK(go(whole, -1, -1) == 49);
  CHECK(go(parts, 13, -1) == 13);  // in the second step
  CHECK(SafetensorsFile(parts / "last.safetensors").metadata().at("training").find("\"step\":1,") !=
        std::string::npos);
  CHECK(go(parts, -1, 1) == 24);
  CHECK(go(parts, 25, -1) == 25);
  CHECK(go(parts, -1, 2) == 49);
  CHECK(read_text(whole / "last.safetensors") == read_text(parts / "last.safetensors"));
  CHECK(timeless_log(whole.path()) == timeless_log(parts.path()));
}

TEST_CASE("a second SIGINT leaves at once") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const SignalGuard guard;
    std::raise(SIGINT);
    std::raise(SIGTERM);  // is heeded already
    std::raise(SIGINT);   // the same key press
    usleep(200'000);
    if (signal_received() == SIGINT) std::raise(SIGINT);
    _exit(1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
}

TEST_CASE(
    "a full disk and a folder that is gone end the run with a message, and the last checkpoint stays whole") {
  const Folder folder;
  TinyTraining tiny({});
  Trainer trainer(*tiny.optimizer, options(folder, 3));
  TrainingTask task = tiny.task();
  std::string saved;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  task.after_epoch = [&](const EpochReport& report) {
    if (report.epoch > 1) return;
    saved = read_text(folder / "last.safetensors");
    const rlimit small{.rlim_cur = saved.size() / 2, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  };
  const std::string error = error_of([&] { trainer.run(task); });
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(lacks(error, {"last.safetensors", "cannot be written", "File too large", "left as it was"}) == "");
  CHECK(!saved.empty());
  CHECK(read_text(folder / "last.safetensors") == saved);
  CHECK(!fs::exists(folder / "last.safetensors.unroll-partial"));
  {
    TinyTraining next({});
    Trainer goes_on(*next.optimizer, options(folder, 3));
    CHECK(goes_on.resume(next.task()).has_value());
    CHECK(goes_on.state().epoch == 1);
    task = next.task();
    task.after_epoch = [&](const EpochReport&) { fs::remove_all(folder.path()); };
    CHECK(lacks(error_of([&] { goes_on.run(task); }), {"last.safetensors", "No such file or directory"}) ==
          "");
  }
  fs::create_directory(folder.path());
}

TEST_CASE("a run whose last checkpoint is gone is not begun again over what is left") {
  const Folder folder;
  const auto scored = [](TinyTraining& tiny) {
    TrainingTask task = tiny.task();
    task.validate = [epoch = 0]() mutable { return 1.0 / ++epoch; };
    return task;
  };
  const auto train_scored = [&](int epochs) {
    TinyTraining tiny({});
    Trainer trainer(*tiny.optimizer, options(folder, epochs));
    const auto differences = trainer.resume(scored(tiny));
    trainer.run(scored(tiny));
    return differences.has_value();
  };
  CHECK(!train_scored(1));
  fs::remove(folder / "last.safetensors");  // as if it had been killed between the two
  CHECK(train_scored(2));
  fs::remove(folder / "last.safetensors");
  const std::string best = read_text(folder / "best.safetensors"), log = read_text(folder / "log.jsonl");
  CHECK(lacks(error_of([&] { train_scored(3); }),
              {"last.safetensors: is missing", "best.safetensors and a log of 2 epochs",
               "a copy of the best one"}) == "");
  // Without resume() neither what is left nor a log alone is written over.
  const auto afresh = [&] {
    TinyTraining tiny({});
    return error_of([&] { Trainer(*tiny.optimizer, options(folder, 3)).run(scored(tiny)); });
  };
  CHECK(lacks(afresh(), {"has a run already", "resume()"}) == "");
  CHECK(read_text(folder / "best.safetensors") == best);
  fs::remove(folder / "log.jsonl");  // nor the best weights alone
  CHECK(lacks(afresh(), {"has a run already", "resume()"}) == "");
  CHECK(read_text(folder / "best.safetensors") == best);
  folder.write("log.jsonl", log);
  fs::remove(folder / "best.safetensors");
  CHECK(lacks(error_of([&] { train_scored(3); }), {"over a log of 2 epochs", "another folder"}) == "");
  CHECK(lacks(afresh(), {"has a run already", "resume()"}) == "");
  CHECK(read_text(folder / "log.jsonl") == log);
}

TEST_CASE("killed between an epoch's best checkpoint and its last one, a run goes on from the best one") {
  const Folder folder;
  const auto resume = [&](const auto& use) {
    TinyTraining tiny({});
    Trainer trainer(*tiny.optimizer, options(folder, 4));
    TrainingTask task = tiny.task();
    task.validate = [&] {
      return std::vector<double>{5, 4, 7, 6}.at(static_cast<size_t>(trainer.state().epoch));
    };
    trainer.resume(task);
    use(trainer, task);
  };
  resume([&](Trainer& trainer, TrainingTask& task) {
    std::string first;
    task.after_epoch = [&](const EpochReport& report) {
      if (report.epoch == 1) first = read_text(folder / "last.safetensors");
      if (report.epoch == 2) trainer.stop();
    };
    trainer.run(task);
    folder.write("last.safetensors", first);  // as if it had been killed between the two
  });
  const std::string best = read_text(folder / "best.safetensors");
  resume([&](Trainer& trainer, TrainingTask& task) {
    CHECK(trainer.state().epoch == 2);
    CHECK(read_text(folder / "last.safetensors") == best);
    trainer.run(task);
    CHECK(*trainer.state().best == 4);
    CHECK(trainer.state().best_epoch == 2);
  });
  CHECK(read_text(folder / "best.safetensors") == best);
  // One that cannot be read keeps nobody from going on.
  folder.write("best.safetensors", "damaged");
  resume([&](Trainer& trainer, TrainingTask&) { CHECK(trainer.state().epoch == 4); });
}
