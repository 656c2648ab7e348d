// Several models that one optimizer trains side by side: each keeps the weights of its own best epoch.
#include "training/members.h"

#include <algorithm>
#include <csignal>

#include "framework/signals.h"
#include "tests/folder.h"
#include "tests/training/line_training.h"
#include "training/report/log.h"

using namespace unroll;

namespace {

// Two lines whose w rises towards 3, each scored by the distance of its w from a goal of its own; both together by the sum of what
// validation sees.
struct Pair {
  ParameterSet params{7};
  Parameter& a = (params / "a").add("w", {1, 1}, Init::constant(0.5f));
  Parameter& b = (params / "b").add("w", {1, 1}, Init::constant(0.5f));
  Sgd sgd{params, {.learning_rate = 0.1}};
  double goal_a, goal_b;
  int64_t windows = 1;                    // of an epoch
  size_t interrupted_at = 0;              // a signal comes after so many windows; 0: none does
  std::vector<std::string> trained = {};  // by window
  std::vector<double> validated = {};     // by epoch: a, b

  Pair(double goal_a, double goal_b) : goal_a(goal_a), goal_b(goal_b) {}
  static double value(Parameter& w) { return static_cast<double>(w.leaf_value().item()); }
  static Var loss(Parameter& w) {
    return mean_squared_error(matmul(Var(tensor({1, 1}, {1})), w.var()), tensor({1, 1}, {3}));
  }
  static SharedScore distance(Parameter& w, const double& goal) {
    return {.parts = 1,
            .sum = [&](int64_t) -> ScoreSum {
              return {std::abs(value(w) - goal), 1};
            },
            .score = [](const ScoreSum& sum) { return sum.total; }};
  }
  TrainingTask task() {
    return {.windows = windows,
            .loss =
                [this](int64_t) {
                  if (trained.size() + 1 == interrupted_at) throw Interrupted(SIGTERM);
                  trained.push_back(std::string(a.frozen ? "" : "a") + (b.frozen ? "" : "b"));
                  return mean_loss(a.frozen ? loss(b) : b.frozen ? loss(a) : loss(a) + loss(b), 1);
                },
            .validate =
                [this] {
                  validated.insert(validated.end(), {value(a), value(b)});
                  return std::abs(value(a) - goal_a) + std::abs(value(b) - goal_b);
                },
            .observer = std::make_shared<Members>(members())};
  }
  std::vector<Member> members() {
    return {{"first", {&a}, distance(a, goal_a)}, {"second", {&b}, distance(b, goal_b)}};
  }
  TrainerOptions options(const Folder& folder, int epochs, int patience = 0) const {
    return {.epochs = epochs,
            .patience = patience,
            .unit = "values",
            .progress = silent,
            .folder = folder.path()};
  }
};

// w after so many epochs: each is a step of 0.1 · 2 (3 - w).
double w_after(int epochs) {
  Pair pair(0, 0);
  for (int k = 0; k < epochs; ++k) {
    Tape tape;
    tape.backward(Pair::loss(pair.a));
    pair.sgd.step();
  }
  return Pair::value(pair.a);
}

double in_file(const Folder& folder, const char* file, const std::string& name) {
  return static_cast<double>(SafetensorsFile(folder / file).load(name).item());
}

std::string bytes_of_file(const Folder& folder, const char* name) {
  const SafetensorsFile file(folder / name);
  std::string all;
  for (const auto& entry : file.entries()) {
    const Tensor tensor = file.load(entry.name);
    for (const real value : tensor.to_host()) all += fmt::format("{} {:a}\n", entry.name, value);
  }
  for (const auto& [key, value] : file.metadata()) all += key + " " + value + "\n";
  return all;
}

}  // namespace

TEST_CASE("each member keeps the weights of its own best epoch, and files have those") {
  const Folder folder;
  Pair pair(w_after(2), 3);  // the second is the better the longer it trains
  Trainer trainer(pair.sgd, pair.options(folder, 4));
  trainer.run(pair.task());
  std::vector<double> seen;
  for (int epoch = 1; epoch <= 4; ++epoch)
    seen.insert(seen.end(), {w_after(std::min(epoch, 2)), w_after(epoch)});
  CHECK(pair.validated == seen);
  for (const char* name : {best_checkpoint, last_checkpoint}) {
    CHECK(in_file(folder, name, "a.w") == w_after(2));
    CHECK(in_file(folder, name, "b.w") == w_after(4));
  }
  CHECK(Pair::value(pair.a) == w_after(4));  // training goes on with the weights themselves
  REQUIRE(trainer.state().members.size() == 2);
  CHECK(trainer.state().members[0].best_epoch == 2);
  CHECK(trainer.state().members[1].best_epoch == 4);
  // Their scores stand in the log under their names.
  std::vector<Scalar> metrics;
  for (const LogRecord& record : read_log(folder / log_file, {.unit = "values"}))
    if (record.kind == LogRecord::Kind::epoch) metrics = record.metrics;
  REQUIRE(metrics.size() == 2);
  CHECK((metrics[0].name == "first" && metrics[0].value == w_after(4) - w_after(2)));
  CHECK((metrics[1].name == "second" && metrics[1].value == 3 - w_after(4)));
}

TEST_CASE("a member without patience is frozen, and training ends when all are") {
  const Folder folder;
  Pair pair(w_after(1), w_after(3));
  Trainer trainer(pair.sgd, pair.options(folder, 20, 2));
  trainer.run(pair.task());
  CHECK(pair.trained == std::vector<std::string>{"ab", "ab", "ab", "b", "b"});
  CHECK(trainer.out_of_patience());
  CHECK(in_file(folder, last_checkpoint, "a.w") == w_after(1));
  CHECK(in_file(folder, last_checkpoint, "b.w") == w_after(3));
  CHECK(in_file(folder, last_checkpoint, "training/weights/a.w") == w_after(3));
  CHECK(in_file(folder, last_checkpoint, "training/weights/b.w") == w_after(5));
  // Its score stays that of the weights it keeps.
  const std::vector<Scalar> metrics = trainer.epochs().back().metrics;
  CHECK((metrics.at(0).value == 0 && metrics.at(1).value == w_after(5) - w_after(3)));
}

TEST_CASE("a run that goes on keeps what it kept: the same bits as one that was never ended") {
  const Folder whole, halves;
  for (const int ended : {1, 3, 4}) {  // before a member is frozen, as it is to be, and after
    Pair once(w_after(1), w_after(4));
    Trainer(once.sgd, once.options(whole, 5, 2)).run(once.task());
    Pair first(w_after(1), w_after(4)), second(w_after(1), w_after(4));
    Trainer(first.sgd, first.options(halves, ended, 2)).run(first.task());
    Trainer trainer(second.sgd, second.options(halves, 5, 2));
    trainer.resume(second.task());
    trainer.run(second.task());
    for (const char* name : {best_checkpoint, last_checkpoint})
      CHECK(bytes_of_file(halves, name) == bytes_of_file(whole, name));
    std::filesystem::remove_all(whole.path()), std::filesystem::remove_all(halves.path());
  }
}

TEST_CASE("a run that is ended in the middle of an epoch freezes the same members when it goes on") {
  for (const size_t at : {2, 6, 10, 12}) {  // the first is frozen from the ninth window on
    const Folder whole, halves;
    Pair once(w_after(4), w_after(10)), first(w_after(4), w_after(10)), second(w_after(4), w_after(10));
    for (Pair* pair : {&once, &first, &second}) pair->windows = 2;
    first.interrupted_at = at;
    Trainer(once.sgd, once.options(whole, 6, 2)).run(once.task());
    CHECK_THROWS_AS(Trainer(first.sgd, first.options(halves, 6, 2)).run(first.task()), Interrupted);
    Trainer trainer(second.sgd, second.options(halves, 6, 2));
    trainer.resume(second.task());
    trainer.run(second.task());
    std::vector<std::string> trained = first.trained;
    trained.insert(trained.end(), second.trained.begin(), second.trained.end());
    CHECK(trained == once.trained);
    CHECK(std::ranges::count(trained, "b") == 4);
    for (const char* name : {best_checkpoint, last_checkpoint})
      CHECK(bytes_of_file(halves, name) == bytes_of_file(whole, name));
  }
}

TEST_CASE("after a change of data the members' scores are those of what they keep") {
  const Folder folder;
  Pair then(w_after(1), w_after(3));
  Trainer(then.sgd, then.options(folder, 3)).run(then.task());
  Pair now(3, 3);
  Trainer trainer(now.sgd, now.options(folder, 4));
  trainer.resume(now.task());
  trainer.score_anew(now.task());
  CHECK(*trainer.state().members[0].best == 3 - w_after(1));
  CHECK(*trainer.state().best == 3 - w_after(1) + 3 - w_after(3));
  trainer.run(now.task());
  CHECK(in_file(folder, best_checkpoint, "a.w") == w_after(4));
  CHECK(in_file(folder, best_checkpoint, "b.w") == w_after(4));
}

TEST_CASE("a task without members goes on from the weights themselves") {
  const Folder folder;
  Pair then(w_after(1), w_after(1));
  Trainer(then.sgd, then.options(folder, 3)).run(then.task());
  Pair now(0, 0);
  TrainingTask task = now.task();
  task.observer = {};
  Trainer trainer(now.sgd, now.options(folder, 4));
  trainer.resume(task);
  CHECK(Pair::value(now.a) == w_after(3));
  trainer.run(task);
  CHECK(now.validated == std::vector<double>(2, w_after(4)));
  CHECK(in_file(folder, last_checkpoint, "a.w") == w_after(4));
}

TEST_CASE("members that cannot keep weights are refused") {
  Pair pair(0, 0);
  TrainingTask task = pair.task();
  const auto error = [&](Optimizer& optimizer, const TrainingTask& task) {
    return error_of([&] { Trainer(optimizer, {.progress = silent}).run(task); });
  };
  task.validate = {};
  CHECK(lacks(error(pair.sgd, task), {"members", "validate"}) == "");
  task = pair.task();
  std::vector<Member> unnamed = pair.members();
  unnamed[0].name.clear();
  task.observer = std::make_shared<Members>(unnamed);
  CHECK(lacks(error(pair.sgd, task), {"member needs a name"}) == "");
  task = pair.task();
  task.metrics = [] { return std::vector<Scalar>{{"second", 1}}; };
  CHECK(lacks(error(pair.sgd, task), {"metric", "'second'"}) == "");
  Pair averaged(0, 0);
  averaged.sgd.keep_average(0.5);
  CHECK(lacks(error(averaged.sgd, averaged.task()), {"average"}) == "");
  Asgd asgd(pair.params, {});
  CHECK(lacks(error(asgd, pair.task()), {"asgd"}) == "");
}
