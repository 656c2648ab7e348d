// A training's folder, its log and what it prints.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "tests/program.h"
#include "tests/training/line_training.h"
#include "training/run_folder.h"
#include "training/trainer.h"

using namespace unroll;

static Var number(double x) { return Var(Tensor::full({}, static_cast<real>(x))); }

TEST_CASE(
    "a folder loses nothing: what is carried must be named, and an earlier run is gone on with or left alone") {
  const Folder parent;
  const std::filesystem::path folder = parent / "runs/mine";  // neither is there yet
  const TrainerOptions options{.epochs = 1, .progress = silent, .folder = folder};
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.1});
  TrainingTask task = line.task();
  task.carry = [] {};
  CHECK(lacks(error_of([&] { Trainer(sgd, options).run(task); }), {"TrainingTask::carried"}) == "");
  CHECK(!std::filesystem::exists(folder / "last.safetensors"));
  task.carried = {{"sum", Tensor::zeros({1})}};
  Trainer(sgd, options).run(task);
  const std::string kept = read_text(folder / "last.safetensors");

  Line other;
  Sgd again(other.params, {.learning_rate = 0.5});
  CHECK(lacks(error_of([&] { Trainer(again, options).run(task); }), {"has a run", "resume()"}) == "");
  CHECK(read_text(folder / "last.safetensors") == kept);
  Trainer trainer(again, options);
  trainer.resume(task);
  CHECK_NOTHROW(trainer.run(task));
  CHECK(bits(other.params) == bits(line.params));
}

TEST_CASE("a step that was left out makes no checkpoint") {
  const Folder folder;
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.1});
  TrainingTask task = line.task(6);
  std::vector<bool> saved;
  task.loss = [&](int64_t k) {
    saved.push_back(std::filesystem::remove(folder / "last.safetensors"));
    const bool bad = k == 2 || k == 3;
    return bad ? WindowLoss{line.loss(k), number(std::nan("")), 1} : mean_loss(line.loss(k), 1);
  };
  Trainer(sgd, {.epochs = 1,
                .on_divergence = OnDivergence::skip,
                .progress = silent,
                .folder = folder.path(),
                .checkpoints = {.every_steps = 2}})
      .run(task);
  CHECK(saved == std::vector<bool>{false, false, true, false, false,
                                   false});  // after steps 2 and, after the last window, 4
}

TEST_CASE("epochs are printed as plain lines and logged as JSON") {
  const Folder folder;
  std::FILE* stream = std::fopen((folder / "out").c_str(), "w");
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0});
  size_t epoch = 0;
  Trainer trainer(sgd, {.epochs = 2,
                        .perplexity = true,
                        .unit = "steps",
                        .progress = {.stream = stream},
                        .folder = folder.path(),
                        .log_every = 2});
  trainer.run({.windows = 1,
               .loss =
                   [&](int64_t k) {
                     return WindowLoss{line.loss(k), number(2), 10};
                   },
               .validate = [&] { return epoch++ == 0 ? 123.456 : 234.5; }});
  std::fclose(stream);
  const auto lines = lines_of(read_text(folder / "out"));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("epoch 1/2  lr 0         train  7.3891  valid  123.46*") == 0);
  CHECK(lines[1].find("epoch 2/2  lr 0         train  7.3891  valid  234.50 ") == 0);
  CHECK(lines[0].find("steps/s") != std::string::npos);

  // An epoch, then an interval of both epochs' steps, and the second epoch.
  const auto records = read_log(folder / "log.jsonl", {.unit = "steps", .perplexity = true});
  REQUIRE(records.size() == 3);
  CHECK(records[0].kind == LogRecord::Kind::epoch);
  CHECK(records[0].best);
  CHECK(records[0].step == 1);
  CHECK(records[1].kind == LogRecord::Kind::interval);
  CHECK(records[1].epoch == 2);
  CHECK(records[1].loss == 2);
  CHECK(records[1].count == 20);
  CHECK(*records[1].gradient_norm > 0);
  CHECK(records[2].epoch == 2);
  CHECK(records[2].count == 20);
  CHECK(*records[2].valid == 234.5);
  CHECK(!records[2].best);
}

TEST_CASE("the log's seconds go on where those of the run before it ended") {
  const Folder folder;
  const auto train = [&](int epochs) {
    Line line;
    Sgd sgd(line.params, {.learning_rate = 0.1});
    Trainer trainer(sgd, {.epochs = epochs, .progress = silent, .folder = folder.path(), .log_every = 1});
    trainer.resume(line.task());
    trainer.run(line.task());
  };
  train(1);
  auto json = nlohmann::ordered_json::parse(lines_of(read_text(folder / "log.jsonl")).back());
  json["time"]["seconds"] = 3600;
  folder.write("log.jsonl", json.dump() + '\n');
  train(2);
  const auto records = read_log(folder / "log.jsonl", {});
  REQUIRE(records.size() > 1);
  for (size_t i = 1; i < records.size(); ++i) CHECK(records[i].seconds >= records[i - 1].seconds);
}

TEST_CASE("a record has the momentum of its last step where the schedule moves it") {
  const Folder folder;
  Line line;
  Adam adam(line.params, {});
  Trainer(adam, {.schedule = Schedule{.kind = Schedule::Kind::one_cycle,
                                      .total = 5,
                                      .final_rate = 1e-6,
                                      .start_rate = 1e-4,
                                      .phases = {1, 1, 1, 1},
                                      .momentum = {0.75, 0.875}},
                 .progress = silent,
                 .folder = folder.path(),
                 .log_every = 1})
      .run(line.task(5));
  std::vector<double> momenta;
  const auto records = read_log(folder / "log.jsonl", {});
  for (const LogRecord& record : records) momenta.push_back(record.momentum.value());
  CHECK(momenta == std::vector<double>{0.875, 0.75, 0.875, 0.875, 0.875, 0.875});  // five steps, the epoch
  // Each step's loss is its own, and the epoch's their mean.
  double sum = 0;
  for (size_t k = 0; k < 5; ++k) sum += records[k].loss;
  CHECK(records[5].loss == doctest::Approx(sum / 5));
}

TEST_CASE("a run gets a folder of its own, and none is used twice") {
  const Folder folder;
  const auto runs = folder / "runs";
  CHECK(create_run_folder({}, "demo", runs) == runs / "demo-1");
  CHECK(create_run_folder({}, "demo", runs) == runs / "demo-2");
  CHECK(create_run_folder({}, "demo-large", runs) == runs / "demo-large-1");
  std::filesystem::create_directory(runs / "demo-11");
  std::filesystem::create_directory(runs / "demo-x");
  std::filesystem::remove(runs / "demo-1");
  CHECK(create_run_folder({}, "demo", runs) == runs / "demo-12");

  const auto named = folder / "mine/first";
  CHECK_NOTHROW(check_run_folder(named));
  CHECK(create_run_folder(named, "demo", runs) == named);
  CHECK(std::filesystem::is_directory(named));
  CHECK(create_run_folder(named, "demo", runs) == named);  // empty still
  folder.write("mine/first/recipe.toml", "x");
  CHECK_THROWS_AS(check_run_folder(named), InputError);
  CHECK(lacks(error_of([&] { create_run_folder(named, "demo", runs); }),
              {"mine/first", "overwritten", "--out"}) == "");
  CHECK(lacks(error_of([&] { create_run_folder(named / "recipe.toml", "demo", runs); }),
              {"recipe.toml", "file"}) == "");
  CHECK_THROWS_AS(create_run_folder(named / "recipe.toml/x", "demo", runs), InputError);
}

TEST_CASE(
    "the log of a run that is done is cut to its checkpoint, and what it lacks or had damaged is said") {
  const Folder folder;
  const auto resume = [&](int epochs, bool trains) {
    Line line;
    Sgd sgd(line.params, {.learning_rate = 0.1});
    Trainer trainer(sgd, {.epochs = epochs, .progress = silent, .folder = folder.path(), .log_every = 1});
    trainer.resume(line.task());
    if (trains) trainer.run(line.task());
    return trainer.damaged_log();
  };
  const auto last_step = [&] { return read_log(folder / "log.jsonl").back().step; };
  CHECK(resume(1, true).empty());
  const std::string first = read_text(folder / "last.safetensors");
  resume(2, true);
  CHECK(last_step() == 6);
  folder.write("last.safetensors", first);  // as if it had been killed before the second epoch's
  CHECK(resume(1, false).empty());
  CHECK(last_step() == 3);
  CHECK(!std::filesystem::exists(folder / "events.out.tfevents.0003"));  // nothing was left to do

  auto lines = lines_of(read_text(folder / "log.jsonl"));
  REQUIRE(lines.size() == 4);  // three steps, the epoch
  const auto write = [&](const std::string& end) { folder.write("log.jsonl", lines[0] + '\n' + end); };
  write("no record\n" + lines[3] + '\n');
  CHECK(lacks(resume(1, false).at(0), {"log.jsonl:2: no record", "log.jsonl.damaged"}) == "");
  write("");  // as a power cut leaves it
  const auto lacking = resume(1, false);
  REQUIRE(lacking.size() == 1);
  CHECK(lacks(lacking[0], {"log.jsonl: ends with epoch 0 of 1"}) == "");
  // A run of more epochs than are asked for is left alone, and one without a log gets none.
  resume(2, true);
  const auto before = folder.listing();
  CHECK(resume(1, false).empty());
  CHECK(folder.listing() == before);
  std::filesystem::remove(folder / "log.jsonl");
  CHECK(lacks(resume(2, false).at(0), {"log.jsonl: is missing"}) == "");
  CHECK(!std::filesystem::exists(folder / "log.jsonl"));
}
