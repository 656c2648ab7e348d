// Watching over a run: what is not finite is found, left out or rolled back, and patience ends.
#include <limits>

#include "tests/program.h"
#include "tests/training/line_training.h"
#include "training/run_folder.h"

using namespace unroll;

namespace {

// The square root of a weight times 0 … 4: finite, while the gradient of the first window is not.
Var root(Line& line, int64_t k) {
  return sum(sqrt(matmul(Var(tensor({1, 1}, {static_cast<real>(k)})), line.w.var())));
}

}  // namespace

TEST_CASE("what is not finite is traced to the operation and the parameter where it began") {
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.1});
  const auto error = [&](const std::function<Var(int64_t)>& loss) {
    const double before = line.value();
    TrainingTask task = line.task();
    task.loss = [&](int64_t k) { return mean_loss(loss(k), 1); };
    const std::string message = error_of([&] { Trainer(sgd, {.progress = silent}).run(task); });
    CHECK(line.value() == before);
    CHECK_THROWS_AS(Trainer(sgd, {.progress = silent}).run(task), Diverged);
    return message;
  };
  CHECK(lacks(error([&](int64_t) {
                return sum(tanh(log(matmul(Var(tensor({1, 1}, {-1})), line.w.var()))));
              }),
              {"diverged", "step 0", "epoch 1, window 1 of 3", "the loss is", "log [1, 1] after 'line.w'"}) ==
        "");
  CHECK(lacks(error([&](int64_t k) { return root(line, k); }),
              {"step 0", "the gradient of 'line.w'", "matmul [1, 1] of 'line.w'"}) == "");
}

TEST_CASE("skip: a step that is not finite is left out, windows and all") {
  Line line, other;
  Sgd sgd(line.params, {.learning_rate = 0.1}), by_hand(other.params, {.learning_rate = 0.1});
  std::vector<int64_t> carried;
  int64_t window = 0;
  TrainingTask task = line.task(5);
  task.loss = [&](int64_t k) {
    window = k;
    return mean_loss(root(line, k), 1);
  };
  task.carry = [&] { carried.push_back(window); };
  Trainer trainer(sgd, {.on_divergence = OnDivergence::skip, .progress = silent});
  trainer.run(task);
  for (int64_t k = 1; k < 5; ++k) {
    Tape tape;
    tape.backward(root(other, k));
    by_hand.step();
  }
  CHECK(line.value() == other.value());
  CHECK(carried == std::vector<int64_t>{1, 2, 3, 4});
  CHECK(trainer.state().skipped == 1);
  CHECK(trainer.count() == 4);

  task.loss = [&](int64_t) { return mean_loss(root(line, 0), 1); };
  task.windows = 30;
  CHECK(lacks(error_of(
                  [&] { Trainer(sgd, {.on_divergence = OnDivergence::skip, .progress = silent}).run(task); }),
              {"10 steps in a row", "window 10 of 30"}) == "");
}

TEST_CASE("of a step of several windows that is not finite the window is found, and nothing stays carried") {
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.1});
  const Tensor carried = Tensor::zeros({1});
  TrainingTask task = line.task(6);
  task.loss = [&](int64_t k) {
    return mean_loss(root(line, k == 2 ? 0 : k + 1), 1);
  };  // the first of the second step
  task.carry = [&] { carried.fill(carried.item() + 1); };
  TrainerOptions options{.accumulate = 2, .on_divergence = OnDivergence::skip, .progress = silent};
  CHECK(lacks(error_of([&] { Trainer(sgd, options).run(task); }), {"TrainingTask::carried"}) == "");
  task.carried = {{"count", carried}};
  Trainer trainer(sgd, options);
  trainer.run(task);
  CHECK(trainer.state().skipped == 1);
  CHECK(carried.item() == 4);
  options.on_divergence = OnDivergence::stop;
  CHECK(lacks(error_of([&] { Trainer(sgd, options).run(task); }), {"window 3 of 6", "'line.w'"}) == "");

  // So where the second window of the step has no finite loss, before any gradient is looked at.
  carried.fill(0);
  task.loss = [&](int64_t k) {
    const real x = k == 3 ? std::numeric_limits<real>::infinity() : 1;
    return mean_loss(sum(matmul(Var(tensor({1, 1}, {x})), line.w.var())), 1);
  };
  options.on_divergence = OnDivergence::skip;
  Trainer other(sgd, options);
  other.run(task);
  CHECK(other.state().skipped == 1);
  CHECK(carried.item() == 4);  // of windows 0, 1, 4 and 5; 2 was carried before 3 was seen
}

TEST_CASE("rollback: back to the best checkpoint, at half the learning rate until it holds") {
  const Folder folder;
  Line line;
  Sgd sgd(line.params, {.learning_rate = 50});
  CHECK(lacks(error_of([&] { Trainer(sgd, {.on_divergence = OnDivergence::rollback}); }),
              {"rollback", "folder"}) == "");
  // An epoch multiplies the distance of w from 3 by the product of 1 - 2 rate x^2 over x = 1/4, 1/2, 3/4: 2.8
  // at a rate of 50 / 8, which leaves the range of float within 120 epochs, and 0.86 at 50 / 16.
  TrainerOptions options{.epochs = 120,
                         .schedule = Schedule{.learning_rate = 50},
                         .on_divergence = OnDivergence::rollback,
                         .progress = silent,
                         .folder = folder.path()};
  TrainingTask task = line.task();
  task.validate = [&] { return std::abs(line.value() - 3); };
  Trainer trainer(sgd, options);
  trainer.run(task);
  CHECK(trainer.state().epoch == 120);
  CHECK(trainer.state().rate_factor == 1.0 / 16);
  CHECK(sgd.learning_rate() == 50.0 / 16);
  CHECK(std::abs(line.value() - 3) < 0.01);
  const auto records = read_log(folder / "log.jsonl");
  REQUIRE(records.size() == 120 + 3);  // no epoch twice; steps 100, 200, 300
  for (size_t i = 1; i < records.size(); ++i) CHECK(records[i].step >= records[i - 1].step);

  options.epochs = 121;  // what cannot be trained at any rate
  task.loss = [&](int64_t) { return mean_loss(root(line, 0), 1); };
  Trainer hopeless(sgd, options);
  hopeless.resume(task);
  CHECK(lacks(error_of([&] { hopeless.run(task); }), {"diverged", "0.000976562"}) == "");
}

TEST_CASE("each window of a step that accumulates has masks of its own") {
  Line line;
  const Scope place = line.params / "dropout";
  std::vector<std::vector<real>> masks;
  TrainingTask task = line.task(4);
  const auto loss = task.loss;
  task.loss = [&](int64_t window) {
    const Tensor dropped = dropout(Var(Tensor::full({64}, 1)), real(0.5), place.next_key()).value();
    masks.emplace_back(dropped.span().begin(), dropped.span().end());
    return loss(window);
  };
  Sgd sgd(line.params, {.learning_rate = 0.01});
  Trainer(sgd, {.epochs = 1, .accumulate = 2, .progress = silent}).run(task);
  REQUIRE(masks.size() == 4);
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < i; ++j) CHECK(masks[i] != masks[j]);
}

TEST_CASE("rollback before there is a best checkpoint: back to the last") {
  const Folder folder;
  Line line;
  Sgd sgd(line.params, {.learning_rate = 1});
  TrainingTask task = line.task();
  const auto loss = task.loss;
  int failures = 0;
  task.loss = [&](int64_t window) { return failures++ == 1 ? mean_loss(root(line, 0), 1) : loss(window); };
  Trainer trainer(sgd, {.epochs = 1,
                        .schedule = Schedule{.learning_rate = 1},
                        .on_divergence = OnDivergence::rollback,
                        .progress = silent,
                        .folder = folder.path()});
  trainer.run(task);
  CHECK(trainer.state().epoch == 1);
  CHECK(trainer.state().rate_factor == 0.5);
}

TEST_CASE("without a schedule each rollback halves the rate once, whatever rate the checkpoint has") {
  const Folder folder;
  Line line;
  Sgd sgd(line.params, {.learning_rate = 1});
  Trainer trainer(sgd, {.epochs = 3,
                        .on_divergence = OnDivergence::rollback,
                        .progress = silent,
                        .folder = folder.path()});
  TrainingTask task = line.task();
  int scored = 0;
  task.validate = [&] { return -++scored; };  // each epoch is the best, so the second checkpoint has half the rate
  task.loss = [&, loss = task.loss](int64_t window) {
    const TrainerState& now = trainer.state();
    const bool fails = (now.epoch == 1 && now.rate_factor == 1) || (now.epoch == 2 && now.rate_factor == 0.5);
    return fails ? mean_loss(root(line, 0), 1) : loss(window);
  };
  trainer.run(task);
  CHECK(trainer.state().rate_factor == 0.25);
  CHECK(sgd.learning_rate() == 0.25);
}

TEST_CASE("a run that is killed behind a rollback goes on from there, with a log that fits") {
  const Folder folder;
  const TrainerOptions options{.epochs = 5,
                               .schedule = Schedule{.learning_rate = 0.01},
                               .on_divergence = OnDivergence::rollback,
                               .progress = silent,
                               .folder = folder.path()};
  const std::vector<double> scores = {5, 4, 6, 7, 3};
  // The best is epoch 2; in epoch 5 the loss is not finite, once; after that the process ends.
  const auto task_of = [&](Line& line, const Trainer& trainer, bool ends) {
    TrainingTask task = line.task();
    task.validate = [&] { return scores[static_cast<size_t>(trainer.state().epoch)]; };
    task.loss = [&, ends, loss = task.loss, failed = false](int64_t window) mutable {
      const bool in_fifth = trainer.state().epoch == 4;
      if (ends && failed && !in_fifth) throw Error("killed");
      if (!ends || !in_fifth) return loss(window);
      failed = true;
      return mean_loss(root(line, 0), 1);
    };
    return task;
  };
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.01});
  Trainer trainer(sgd, options);
  CHECK(error_of([&] { trainer.run(task_of(line, trainer, true)); }) == "killed");
  std::vector<int> reported;
  for (const EpochReport& report : trainer.epochs()) reported.push_back(report.epoch);
  CHECK(reported == std::vector<int>{1, 2});

  Line again;
  Sgd next(again.params, {.learning_rate = 0.01});
  Trainer resumed(next, options);
  const TrainingTask task = task_of(again, resumed, false);
  resumed.resume(task);
  CHECK(resumed.state().epoch == 2);
  CHECK(resumed.state().rate_factor == 0.5);
  resumed.run(task);
  std::vector<int> logged;
  for (const LogRecord& record : read_log(folder / "log.jsonl"))
    if (record.kind == LogRecord::Kind::epoch) logged.push_back(record.epoch);
  CHECK(logged == std::vector<int>{1, 2, 3, 4, 5});
}

TEST_CASE("patience ends a run whose score no longer gets better; the best is kept") {
  const Folder folder;
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.01});
  const std::vector<double> scores = {5, 4, 6, 4, 7, 1};
  std::vector<double> values;
  Trainer trainer(sgd, {.epochs = 6, .patience = 3, .progress = silent, .folder = folder.path()});
  TrainingTask task = line.task();
  task.validate = [&] { return scores[static_cast<size_t>(trainer.state().epoch)]; };
  task.after_epoch = [&](const EpochReport&) { values.push_back(line.value()); };
  trainer.run(task);
  CHECK(trainer.state().epoch == 5);
  CHECK(trainer.finished());
  CHECK(trainer.out_of_patience());
  CHECK(trainer.state().best_epoch == 2);
  TrainerState state;
  read_checkpoint(folder / "best.safetensors", sgd, state, {});
  CHECK(state.epoch == 2);
  CHECK(line.value() == values[1]);
}
