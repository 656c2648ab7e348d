// A program's own code in the trainer's loop: figures of its own, a choice of windows, a hand on the gradients.
#include <algorithm>
#include <cmath>
#include <csignal>

#include "framework/signals.h"
#include "tests/program.h"
#include "tests/training/line_training.h"
#include "training/report/log.h"
#include "training/report/report.h"
#include "training/run_folder.h"

using namespace unroll;

using Windows = std::vector<int64_t>;

TEST_CASE(
    "a program's own figures stand in the epoch's report, line and log, and in the order it gives them") {
  const Folder folder;
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.1});
  std::FILE* const screen = std::tmpfile();
  Trainer trainer(sgd, {.epochs = 2,
                        .progress = {.stream = screen, .mode = ProgressOptions::Mode::plain},
                        .folder = folder.path()});
  TrainingTask task = line.task();
  task.metrics = [&] {
    CHECK(!Tape::recording());
    return std::vector<Scalar>{{"weight", line.value()}, {"above zero", std::nan("")}};
  };
  trainer.run(task);

  REQUIRE(trainer.epochs().size() == 2);
  const std::vector<Scalar>& last = trainer.epochs()[1].metrics;
  REQUIRE(last.size() == 2);
  CHECK(last[0].name == "weight");
  CHECK(last[0].value == line.value());

  std::rewind(screen);
  std::string printed(4096, '\0');
  printed.resize(std::fread(printed.data(), 1, printed.size(), screen));
  std::fclose(screen);
  CHECK(printed.find(fmt::format("  weight {:.4g}  above zero nan\n", line.value())) != printed.npos);

  const Course course = read_course(folder.path(), {});
  CHECK(course.metrics() == std::vector<std::string>{"weight", "above zero"});
  REQUIRE(course.epochs.size() == 2);
  CHECK(metric_of(course.epochs[1], "weight") == line.value());
  CHECK(metric_of(course.epochs[0], "weight") == trainer.epochs()[0].metrics[0].value);
  CHECK(std::isnan(metric_of(course.epochs[1], "above zero")));
  CHECK(std::isnan(metric_of(course.epochs[1], "nobody's")));
  CHECK(read_text(folder / "log.jsonl").find("\"above zero\":null},\"time\"") != std::string::npos);
}

TEST_CASE("what is scored, measured and done after an epoch is of the average, and the weights go on") {
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.1});
  sgd.keep_average(0.75);
  Trainer trainer(sgd, {.epochs = 2, .progress = silent});
  TrainingTask task = line.task();
  std::vector<double> seen;
  task.validate = [&] { return seen.push_back(line.value()), 1.0; };
  task.metrics = [&] { return seen.push_back(line.value()), std::vector<Scalar>{}; };
  task.after_epoch = [&](const EpochReport&) { seen.push_back(line.value()); };
  trainer.run(task);
  REQUIRE(seen.size() == 6);
  for (const size_t k : {0, 3}) CHECK((seen[k] == seen[k + 1] && seen[k] == seen[k + 2]));
  CHECK(seen[5] == static_cast<double>(sgd.averages()->to_host()[0]));
  CHECK(seen[5] != line.value());
}

TEST_CASE("a score that processes share, and no other, is one to validate by") {
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.1});
  TrainingTask task = line.task();
  const TrainerOptions options{.epochs = 5, .patience = 2, .progress = silent};
  CHECK(lacks(error_of([&] { Trainer(sgd, options).run(task); }), {"the task has no validate"}) == "");
  task.shared_validation = {
      .parts = 3,
      .sum =
          [](int64_t part) {
            return ScoreSum{static_cast<double>(part), 1};
          },
      .score = [](const ScoreSum& all) { return all.total / static_cast<double>(all.count); }};
  Trainer trainer(sgd, options);
  trainer.run(task);
  CHECK(*trainer.state().best == 1);  // the mean of 0, 1 and 2
  CHECK(trainer.state().epoch == 3);  // patience is at its end
}

TEST_CASE("metrics without a name, or with that of another, are refused") {
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.1});
  TrainingTask task = line.task();
  task.metrics = [] { return std::vector<Scalar>{{"f1", 1}, {"f1", 2}}; };
  CHECK_THROWS_WITH(Trainer(sgd, {.progress = silent}).run(task), "trainer: two metrics have the name 'f1'");
  task.metrics = [] { return std::vector<Scalar>{{"", 1}}; };
  CHECK_THROWS_WITH(Trainer(sgd, {.progress = silent}).run(task), "trainer: metric 1 has no name");
}

TEST_CASE("a sample's windows are taken in its order, some twice, others not at all") {
  const auto sample = [](int epoch) { return epoch == 1 ? Windows{2, 0, 2} : Windows{1}; };
  Line trained;
  Sgd sgd(trained.params, {.learning_rate = 0.1});
  TrainingTask task = trained.task();
  task.sample = sample;
  Trainer trainer(sgd, {.epochs = 2, .progress = silent});
  trainer.run(task);

  Line by_hand;
  Sgd optimizer(by_hand.params, {.learning_rate = 0.1});
  for (const int epoch : {1, 2})
    for (const int64_t k : sample(epoch)) {
      Tape tape;
      tape.backward(by_hand.loss(k));
      optimizer.step();
    }
  CHECK(bits(trained.params) == bits(by_hand.params));
  CHECK(trainer.epochs()[0].count == 3);
  CHECK(trainer.epochs()[1].count == 1);

  const auto refusal = [&](const Windows& windows) {
    task.sample = [&](int) { return windows; };
    try {
      Trainer(sgd, {.progress = silent}).run(task);
      return std::string("none");
    } catch (const Error& error) { return std::string(error.what()); }
  };
  CHECK(refusal({}) == "trainer: the sample of epoch 1 has no windows");
  CHECK(refusal({0, 3}) == "trainer: the sample of epoch 1 has window 3; there are 3, from 0 on");
  CHECK(refusal({-1}) == "trainer: the sample of epoch 1 has window -1; there are 3, from 0 on");
}

TEST_CASE("a run that is interrupted within a sample goes on in the same bits") {
  const auto task_of = [](Line& line, int end_after) {
    TrainingTask task = line.task();
    task.sample = [](int epoch) { return epoch % 2 ? Windows{2, 0, 1, 0} : Windows{1, 2}; };
    task.loss = [&line, end_after, taken = 0](int64_t k) mutable {
      if (taken++ == end_after) throw Interrupted(SIGINT);
      return mean_loss(line.loss(k), 1);
    };
    return task;
  };
  Line whole;
  Adam adam(whole.params, {});
  Trainer(adam, {.epochs = 3, .progress = silent}).run(task_of(whole, -1));
  for (const int end_after : {1, 3, 4, 5, 9}) {
    const Folder folder;
    const TrainerOptions options{.epochs = 3, .progress = silent, .folder = folder.path()};
    {
      Line line;
      Adam optimizer(line.params, {});
      Trainer trainer(optimizer, options);
      CHECK_THROWS_AS(trainer.run(task_of(line, end_after)), Interrupted);
    }
    Line line;
    Adam optimizer(line.params, {});
    Trainer trainer(optimizer, options);
    const TrainingTask task = task_of(line, -1);
    CHECK(trainer.resume(task).has_value());
    trainer.run(task);
    CHECK(bits(line.params) == bits(whole.params));
  }
}

TEST_CASE("gradients may be changed between backward and update, once a step") {
  Line trained, half;
  Sgd sgd(trained.params, {.learning_rate = 0.2}), slower(half.params, {.learning_rate = 0.1});
  TrainingTask task = trained.task();
  int calls = 0;
  task.reduce_gradients = [&] {
    ++calls;
    trained.params.reduce_gradients([](std::span<real> all) {
      for (real& x : all) x *= real{0.5};
    });
  };
  Trainer(sgd, {.epochs = 2, .accumulate = 2, .progress = silent}).run(task);
  Trainer(slower, {.epochs = 2, .accumulate = 2, .progress = silent}).run(half.task());
  CHECK(calls == 4);
  CHECK(bits(trained.params) == bits(half.params));  // a half is exact

  task.reduce_gradients = [&] {
    trained.params.reduce_gradients([](std::span<real> all) { all[0] = std::nanf(""); });
  };
  CHECK_THROWS_AS(Trainer(sgd, {.progress = silent}).run(task), Diverged);
}
