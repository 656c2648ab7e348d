// Validation scores of before and after a change of data: which weights are the best then, and what the log and the report have.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/program.h"
#include "tests/training/line_training.h"
#include "training/report/report.h"
#include "training/report/run_description.h"

using namespace unroll;

namespace {

// A line whose w rises from 0.5 towards 3, and which is scored by w's distance from a goal.
struct Run {
  Line line;
  Sgd sgd{line.params, {.learning_rate = 0.1}};
  double goal;
  TrainingTask task;

  explicit Run(double goal) : goal(goal), task(line.task()) {
    task.validate = [this] { return std::abs(line.value() - this->goal); };
  }
  TrainerOptions options(const Folder& folder, int epochs = 3) const {
    return {.epochs = epochs,
            .schedule = Schedule{.kind = Schedule::Kind::plateau, .learning_rate = 0.1, .factor = 2},
            .unit = "values",
            .progress = silent,
            .folder = folder.path()};
  }
};

double w_of(const Folder& folder, const char* name) {
  return static_cast<double>(SafetensorsFile(folder / name).load("line.w").item());
}

// The weights that three epochs leave in both files.
void train(const Folder& folder, double goal) {
  Run run(goal);
  Trainer(run.sgd, run.options(folder)).run(run.task);
}

}  // namespace

// w rises in each epoch: the nearest to 0 are the weights after epoch 1, the nearest to 3 those after the last.
TEST_CASE("of the best and the last weights those are the best that score better on today's data") {
  const Folder folder;
  train(folder, 0);
  const double first = w_of(folder, best_checkpoint), last = w_of(folder, last_checkpoint);
  CHECK(first < last);
  CHECK(last < 3);
  Run run(3);
  Trainer trainer(run.sgd, run.options(folder));
  trainer.resume(run.task);
  CHECK(*trainer.state().best == first);  // of the old goal, 0
  CHECK(trainer.state().best_epoch == 1);
  trainer.score_anew(run.task);
  CHECK(*trainer.state().best == 3 - last);
  CHECK(*trainer.state().valid == 3 - last);
  CHECK(trainer.state().best_epoch == 3);
  CHECK(trainer.state().schedule->best == 3 - last);
  CHECK(w_of(folder, best_checkpoint) == last);
  CHECK(w_of(folder, last_checkpoint) == last);
  CHECK(run.line.value() == last);
}

TEST_CASE(
    "scoring anew that was killed half way is made again: the best has its own epoch, and the log says so") {
  const Folder folder;
  train(folder, 0);
  const double last = w_of(folder, last_checkpoint);
  const std::filesystem::path in_the_way = folder / (std::string(last_checkpoint) + ".unroll-partial");
  const auto anew = [&] {
    return std::ranges::count(read_log(folder / log_file, {.unit = "values"}), LogRecord::Kind::anew,
                              &LogRecord::kind);
  };
  {
    Run run(3);
    Trainer trainer(run.sgd, run.options(folder));
    trainer.resume(run.task);
    std::filesystem::create_directory(in_the_way);  // it ends before the last of its files
    CHECK(lacks(error_of([&] { trainer.score_anew(run.task); }), {last_checkpoint}) == "");
    std::filesystem::remove(in_the_way);
    CHECK(w_of(folder, best_checkpoint) == last);
    CHECK(anew() == 1);
  }
  Run run(3);
  Trainer trainer(run.sgd, run.options(folder));
  trainer.resume(run.task);
  CHECK(trainer.state().best_epoch == 1);  // of the old goal
  trainer.score_anew(run.task);
  CHECK(*trainer.state().best == 3 - last);
  CHECK(trainer.state().best_epoch == 3);
  CHECK(read_course(folder.path(), {.unit = "values"}).best()->epoch == 3);
}

TEST_CASE("weights that stay the best have their score of today, and later epochs are held against it") {
  const Folder folder;
  train(folder, 0);
  const double first = w_of(folder, best_checkpoint), last = w_of(folder, last_checkpoint);
  Run run(0.25);
  Trainer trainer(run.sgd, run.options(folder, 4));
  trainer.resume(run.task);
  trainer.score_anew(run.task);
  CHECK(*trainer.state().best == first - 0.25);
  CHECK(*trainer.state().valid == last - 0.25);
  CHECK(trainer.state().best_epoch == 1);
  CHECK(w_of(folder, best_checkpoint) == first);
  CHECK(run.line.value() == last);
  trainer.run(run.task);
  CHECK_FALSE(trainer.epochs().back().best);
  CHECK(w_of(folder, best_checkpoint) == first);
  // The checkpoint to which a rollback goes back has the score of today, too.
  Run other(0.25);
  std::filesystem::copy_file(folder / best_checkpoint, folder / last_checkpoint,
                             std::filesystem::copy_options::overwrite_existing);
  Trainer back(other.sgd, other.options(folder));
  back.resume(other.task);
  CHECK(*back.state().best == first - 0.25);

  // The log keeps what was measured when; the report shows scores of one kind.
  std::vector<std::string> kinds;
  for (const LogRecord& record : read_log(folder / log_file, {.unit = "values"}))
    if (record.kind != LogRecord::Kind::interval)
      kinds.push_back(fmt::format("{} {} {:.4f}", record.kind == LogRecord::Kind::anew ? "anew" : "epoch",
                                  record.epoch, record.valid.value_or(-1)));
  CHECK(kinds.size() == 2);  // cut by going back to epoch 1: the epoch, and its score of today
  CHECK(kinds.at(0) == fmt::format("epoch 1 {:.4f}", first));
  CHECK(kinds.at(1) == fmt::format("anew 1 {:.4f}", first - 0.25));
}

TEST_CASE("scores of other data do not start an average: what waits for it forgets them") {
  const Folder folder;
  const auto options = [&](int epochs) {
    return TrainerOptions{
        .epochs = epochs, .non_monotone = 2, .unit = "values", .progress = silent, .folder = folder.path()};
  };
  const auto task_of = [](Line& line, double score) {
    TrainingTask task = line.task();
    task.validate = [score] { return score; };
    return task;
  };
  {
    Line line;
    Asgd asgd(line.params, {.learning_rate = 0.1, .average_after = AsgdConfig::never});
    Trainer(asgd, options(4)).run(task_of(line, 1));
    CHECK(!asgd.averages());
  }
  Line line;
  Asgd asgd(line.params, {.learning_rate = 0.1, .average_after = AsgdConfig::never});
  Trainer trainer(asgd, options(6));
  const TrainingTask task = task_of(line, 2);  // above all scores of before
  trainer.resume(task);
  trainer.score_anew(task);
  trainer.run(task);
  CHECK(!asgd.averages());
  CHECK(trainer.state().trigger.history == std::vector<double>{2, 2});
}

TEST_CASE("what weights were trained on stands in their file until they are trained further") {
  const Folder folder;
  const auto options = [&](const Run& run, int epochs, const std::string& rows) {
    TrainerOptions options = run.options(folder, epochs);
    options.checkpoints = {.metadata = {{"rows", rows}, {"other", rows}}, .of_weights = {"rows"}};
    return options;
  };
  const auto rows = [&](const char* name, const char* key = "rows") {
    return SafetensorsFile(folder / name).metadata().at(key);
  };
  Run first(0);
  Trainer(first.sgd, options(first, 3, "100")).run(first.task);
  Run run(0.25);  // the weights of epoch 1 stay the best
  Trainer trainer(run.sgd, options(run, 4, "200"));
  trainer.resume(run.task);
  trainer.score_anew(run.task);
  for (const char* name : {best_checkpoint, last_checkpoint}) {
    CHECK(rows(name) == "100");
    CHECK(rows(name, "other") == "200");
  }
  trainer.run(run.task);
  CHECK(rows(best_checkpoint) == "100");
  CHECK(rows(last_checkpoint) == "200");
}

TEST_CASE("without anything to validate no epoch is the best; with it again the next one is") {
  const Folder folder;
  train(folder, 0);
  {
    Run run(0);
    TrainerOptions options = run.options(folder);
    options.schedule.reset();
    run.task.validate = {};
    Trainer trainer(run.sgd, options);
    trainer.resume(run.task);
    trainer.score_anew(run.task);
    CHECK_FALSE(trainer.state().best.has_value());
    CHECK_FALSE(trainer.state().valid.has_value());
    CHECK(trainer.state().best_epoch == 0);
  }
  Run run(3);
  Trainer trainer(run.sgd, run.options(folder));
  trainer.resume(run.task);
  trainer.score_anew(run.task);
  CHECK(trainer.state().best_epoch == 3);
  CHECK(*trainer.state().best == 3 - w_of(folder, last_checkpoint));
}

TEST_CASE("the report leaves out scores of other data") {
  const Folder folder;
  RunLog log(folder.path(), {.unit = "values"});
  const auto epoch = [](int number, double valid, bool best) {
    return LogRecord{.kind = LogRecord::Kind::epoch,
                     .step = 10 * number,
                     .epoch = number,
                     .count = 10,
                     .loss = 0.5,
                     .learning_rate = 0.1,
                     .valid = valid,
                     .best = best,
                     .seconds = 1,
                     .rate = 10};
  };
  log.write(epoch(1, 0.111, true));
  log.write(epoch(2, 0.222, false));
  log.write({.kind = LogRecord::Kind::anew,
             .step = 20,
             .epoch = 1,
             .count = 20,
             .learning_rate = 0.1,
             .valid = 7.777,
             .best = true});
  log.write(epoch(3, 8.888, false));
  RunDescription run;
  run.title = "small";
  run.names = {.unit = "values"};
  write_run_description(folder.path(), run);
  write_report(folder.path());
  const std::string page = read_text(folder / "report.html");
  const auto has = [&](const std::string& part) { return page.find(part) != page.npos; };
  CHECK(has("7.777"));
  CHECK(has("8.888"));
  CHECK_FALSE(has("0.111"));
  CHECK_FALSE(has("0.222"));
  CHECK(has("Validation scores up to epoch 2 do not compare"));
}
