// Trainings that are killed at random moments and resumed, until they are done: the same bits as one that
// nobody touched.
//
// Each process is forked and so begins at once; a checkpoint after each step makes most kills meet a file
// that is being written.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/program.h"
#include "tests/run_outcome.h"
#include "tests/support.h"
#include "tests/tiny_training.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

using Setup = TinyTraining::Setup;
using Clock = std::chrono::steady_clock;

struct Variant {
  const char* name;
  Setup setup;
  TrainerOptions options;
  std::vector<double> scores = {};  // of the epochs; empty: no validation
};

void train(const Variant& variant, const fs::path& folder) {
  TinyTraining tiny(variant.setup);
  TrainerOptions options = variant.options;
  options.epochs = 4;
  options.progress.mode = ProgressOptions::Mode::silent;
  options.folder = folder;
  options.checkpoints.every_steps = 1;
  options.log_every = 4;
  Trainer trainer(*tiny.optimizer, options);
  TrainingTask task = tiny.task();
  if (!variant.scores.empty())
    task.validate = [&] { return variant.scores[static_cast<size_t>(trainer.state().epoch)]; };
  trainer.resume(task);
  trainer.run(task);
}

// Trains in a process of its own, which is killed after `seconds`; 0: never. True if it was killed before its
// end.
bool train_until_killed(const Variant& variant, const fs::path& folder, double seconds) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_threads(1);  // threads do not survive a fork
    const std::string error = error_of([&] { train(variant, folder); });
    if (!error.empty()) fmt::print(stderr, "{}: {}\n", variant.name, error);
    _exit(error.empty() ? 0 : 1);
  }
  if (seconds > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    kill(child, SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) return true;
  REQUIRE(WEXITSTATUS(status) == 0);
  return false;
}

const std::vector<Variant> variants = {
    {"dropout, adamw, cosine",
     {},
     {.clip = 0.5,
      .schedule =
          Schedule{.kind = Schedule::Kind::cosine, .learning_rate = 0.03, .warmup = 9, .total = 100}}},
    {"dropout, adamw, one cycle",
     {},
     {.clip = 0.5,
      .schedule = Schedule{.kind = Schedule::Kind::one_cycle,
                           .learning_rate = 0.03,
                           .total = 100,
                           .final_rate = 3e-5,
                           .start_rate = 3e-3,
                           .momentum = {0.7, 0.8}}}},
    {"momentum, one cycle",
     {.rule = Setup::Rule::momentum},
     {.schedule = Schedule{.kind = Schedule::Kind::one_cycle,
                           .learning_rate = 0.3,
                           .total = 100,
                           .final_rate = 3e-4,
                           .start_rate = 0.03}}},
    // The scores start the averaging after epoch 3.
    {"averaged sgd across its trigger", {.rule = Setup::Rule::asgd}, {.non_monotone = 1}, {5, 4, 6, 3}},
    {"plateau",
     {.rule = Setup::Rule::momentum},
     {.clip = 1, .schedule = Schedule{.kind = Schedule::Kind::plateau, .learning_rate = 0.4, .factor = 3}},
     {5, 6, 4, 5}},
    {"accumulation",
     {},
     {.clip = 1, .accumulate = 2, .schedule = Schedule{.learning_rate = 0.01}},
     {5, 4, 3, 2}},
    {"windows of drawn lengths",
     {.rule = Setup::Rule::asgd, .variable_bptt = true},
     {.clip = 0.25, .non_monotone = 1},
     {5, 4, 6, 3}}};

}  // namespace

TEST_CASE("killed 20 times and resumed, a training ends in the bits of one that was not") {
  int caught_writing = 0;
  RandomStream random(1, "kills");
  for (const Variant& variant : variants) {
    CAPTURE(variant.name);
    const Folder folder;
    fs::create_directory(folder / "untouched");
    const auto begin = Clock::now();
    train_until_killed(variant, folder / "untouched", 0);
    const double whole = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::vector<std::string> expected = outcome(folder / "untouched");

    int kills = 0;
    for (int run = 0; kills < 20; ++run) {
      const fs::path killed = folder / std::to_string(run);
      fs::create_directory(killed);
      while (kills < 20 && train_until_killed(variant, killed, whole / 6 * random.uniform() + 1e-4)) {
        ++kills;
        caught_writing += fs::exists(killed / "last.safetensors.unroll-partial");
      }
      train_until_killed(variant, killed, 0);
      CHECK(outcome(killed) == expected);
      CHECK(!fs::exists(killed / "last.safetensors.unroll-partial"));
    }
  }
  CHECK(caught_writing > 0);
  MESSAGE(caught_writing << " kills met a checkpoint that was being written");
}
