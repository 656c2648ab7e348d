// The training loop: the order of things, what a step is made of, what is reported, and going on from a
// state.
#include "training/trainer.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "data/windows.h"
#include "tests/program.h"
#include "tests/training/line_training.h"

using namespace unroll;

// Every operator new of this program is counted.
static std::atomic<int64_t> allocations{0};

[[gnu::noinline]] void* operator new(
    std::size_t bytes) {  // inlined, gcc takes malloc for a mismatch of delete
  ++allocations;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes ? bytes : 1);
}

[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }

[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

static Var number(double x) { return Var(Tensor::full({}, static_cast<real>(x))); }

TEST_CASE("the loop calls the task's functions in their order") {
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.1});
  std::vector<std::string> calls;
  Trainer trainer(sgd, {.epochs = 2, .progress = silent});
  trainer.run(
      {.windows = 2,
       .begin_epoch = [&](int epoch) { calls.push_back(fmt::format("begin {}", epoch)); },
       .loss =
           [&](int64_t k) {
             calls.push_back(fmt::format("loss {}", k));
             CHECK(Tape::recording());
             return mean_loss(line.loss(k), 1);
           },
       .carry = [&] { calls.push_back("carry"); },
       .validate =
           [&] {
             CHECK(!Tape::recording());
             calls.push_back("validate");
             return 1.0;
           },
       .after_epoch =
           [&](const EpochReport& report) { calls.push_back(fmt::format("save {}", report.epoch)); }});
  CHECK(calls == std::vector<std::string>{"begin 1", "loss 0", "carry", "loss 1", "carry", "validate",
                                          "save 1", "begin 2", "loss 0", "carry", "loss 1", "carry",
                                          "validate", "save 2"});
}

TEST_CASE("a step is what one would write by hand: clipped, scheduled, the same bits") {
  const Schedule schedule{.kind = Schedule::Kind::step, .learning_rate = 0.2, .after = 1, .factor = 0.5};
  Line trained;
  Adam adam(trained.params, {});
  Trainer trainer(adam, {.epochs = 3, .clip = 0.5, .schedule = schedule, .progress = silent});
  trainer.run(trained.task());

  Line by_hand;
  Adam optimizer(by_hand.params, {});
  for (int epoch = 0; epoch < 3; ++epoch)
    for (int k = 0; k < 3; ++k) {
      Tape tape;
      tape.backward(by_hand.loss(k));
      optimizer.set_learning_rate(0.2 * std::pow(0.5, epoch));
      clip_grad_norm(by_hand.params, 0.5);
      optimizer.step();
    }
  CHECK(std::abs(trained.value() - by_hand.value()) < 1e-6);  // clipping inside the step rounds once less
  CHECK(trained.value() != 0.5);
  CHECK(trained.params.step() == 9);
  REQUIRE(trainer.epochs().size() == 3);
  CHECK(trainer.epochs()[0].learning_rate == 0.2);
  CHECK(trainer.epochs()[1].learning_rate == 0.1);
  CHECK(trainer.epochs()[2].learning_rate == 0.05);
}

TEST_CASE("accumulated windows make one step with their mean gradient, and so do those that are left over") {
  Line trained;
  Sgd sgd(trained.params, {.learning_rate = 0.1});
  Trainer(sgd, {.epochs = 2, .accumulate = 2, .progress = silent}).run(trained.task(3));

  Line by_hand;
  Sgd optimizer(by_hand.params, {.learning_rate = 0.1});
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const std::vector<int>& group : {std::vector<int>{0, 1}, std::vector<int>{2}}) {
      Tape tape;
      Var sum = by_hand.loss(group[0]);
      if (group.size() > 1) sum = sum + by_hand.loss(group[1]);
      tape.backward(sum * (real{1} / static_cast<real>(group.size())));
      optimizer.step();
    }
  CHECK(trained.params.step() == 4);
  CHECK(std::abs(trained.value() - by_hand.value()) < 1e-6);
}

TEST_CASE("epochs may be cut into windows of their own, and a window may have a share of the learning rate") {
  const auto factor = [](int epoch, int64_t k) {
    return (epoch == 1 ? 1.0 : 0.5) / static_cast<double>(k + 1);
  };
  const auto windows = [](int epoch) { return int64_t{2} + epoch; };
  for (const int accumulate : {1, 2}) {
    Line trained;
    Sgd sgd(trained.params, {.learning_rate = 0.1});
    int present = 0;
    std::vector<std::string> calls;
    Trainer trainer(sgd, {.epochs = 2, .accumulate = accumulate, .progress = silent});
    trainer.run({.cut =
                     [&](int epoch) {
                       calls.push_back(fmt::format("cut {}", epoch));
                       return windows(present = epoch);
                     },
                 .begin_epoch = [&](int epoch) { calls.push_back(fmt::format("begin {}", epoch)); },
                 .loss =
                     [&](int64_t k) {
                       WindowLoss result = mean_loss(trained.loss(k), 1);
                       result.rate_factor = factor(present, k);
                       return result;
                     }});
    CHECK(calls == std::vector<std::string>{"cut 1", "begin 1", "cut 2", "begin 2"});
    CHECK(trainer.epochs()[0].count == 3);
    CHECK(trainer.epochs()[1].count == 4);
    CHECK(trainer.epochs()[1].learning_rate == 0.1);

    Line by_hand;
    Sgd optimizer(by_hand.params, {.learning_rate = 1});
    for (int epoch = 1; epoch <= 2; ++epoch)
      for (int64_t k = 0; k < windows(epoch); k += accumulate) {
        const int64_t end = std::min(k + accumulate, windows(epoch));
        double rate = 0;
        for (int64_t i = k; i < end; ++i) {
          Tape tape;
          tape.backward(by_hand.loss(i));
          rate += 0.1 * factor(epoch, i) / static_cast<double>(end - k);
        }
        optimizer.set_learning_rate(rate);
        optimizer.step({.factor = 1.0 / static_cast<double>(end - k)});
      }
    CHECK(std::abs(trained.value() - by_hand.value()) < 1e-6);  // a rounding of the rate
  }
}

TEST_CASE("what is reported: means over what was predicted, the best score, time without validation") {
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0});
  const std::vector<double> scores = {5, 4, 4, 6, 3};
  std::vector<EpochReport> saved;
  Trainer trainer(sgd, {.epochs = 5, .perplexity = true, .progress = silent});
  size_t epoch = 0;
  trainer.run({.windows = 2,
               .loss =
                   [&](int64_t k) {  // 2 predictions of 1 nat each, then 6 of 3
                     return WindowLoss{line.loss(k), number(k == 0 ? 1 : 3), k == 0 ? 2 : 6};
                   },
               .validate =
                   [&] {
                     std::this_thread::sleep_for(std::chrono::milliseconds(250));
                     return scores[epoch++];
                   },
               .after_epoch = [&](const EpochReport& report) { saved.push_back(report); }});
  REQUIRE(saved.size() == 5);
  CHECK(trainer.epochs().size() == 5);
  for (size_t i = 0; i < 5; ++i) {
    CHECK(saved[i].epoch == static_cast<int>(i) + 1);
    CHECK(saved[i].train == doctest::Approx(std::exp(2.5)));
    CHECK(saved[i].count == 8);
    CHECK(*saved[i].valid == scores[i]);
    CHECK(saved[i].best == (i == 0 || i == 1 || i == 4));
    CHECK(saved[i].seconds > 0);
    CHECK(saved[i].seconds < 0.25);
    CHECK(saved[i].rate == doctest::Approx(8 / saved[i].seconds));
  }
  CHECK(*trainer.state().best == 3);
  CHECK(trainer.state().best_epoch == 5);
  CHECK(trainer.count() == 40);
  CHECK(trainer.times().training < 1.25);
  CHECK(trainer.times().rate() == doctest::Approx(40 / trainer.times().training));
}

TEST_CASE("a plateau schedule follows the validation score") {
  Line line;
  Sgd sgd(line.params, {.learning_rate = 1});
  const Schedule schedule{.kind = Schedule::Kind::plateau, .learning_rate = 0.4, .factor = 4};
  const std::vector<double> scores = {5, 6, 4, 4, 4};
  size_t epoch = 0;
  TrainingTask task = line.task();
  task.validate = [&] { return scores[epoch++]; };
  Trainer trainer(sgd, {.epochs = 5, .schedule = schedule, .progress = silent});
  trainer.run(task);
  const std::vector<double> expected = {0.4, 0.4, 0.1, 0.1, 0.025};
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK(trainer.epochs()[i].learning_rate == doctest::Approx(expected[i]));
}

TEST_CASE(
    "averaged SGD starts when scores stop to improve; scoring and saving see the averages, training does "
    "not") {
  Line line;
  Asgd asgd(line.params, {.learning_rate = 0.1, .average_after = AsgdConfig::never});
  const std::vector<double> scores = {5, 4, 6, 5, 5, 5};
  std::vector<bool> averages;
  std::vector<double> scored, saved;
  size_t epoch = 0;
  TrainingTask task = line.task();
  task.validate = [&] {
    averages.push_back(asgd.averages() != nullptr);
    scored.push_back(line.value());
    return scores[epoch++];
  };
  task.after_epoch = [&](const EpochReport&) { saved.push_back(line.value()); };
  Trainer trainer(asgd, {.epochs = 6, .non_monotone = 2, .progress = silent});
  trainer.run(task);
  // The fifth score, 5, is above the best of those more than two back, the 4 of epoch 2.
  CHECK(averages == std::vector<bool>{false, false, false, false, false, true});
  CHECK(scored == saved);
  CHECK(asgd.averaged() == 3);

  Line plain;
  Sgd sgd(plain.params, {.learning_rate = 0.1});
  Trainer(sgd, {.epochs = 6, .progress = silent}).run(plain.task());
  CHECK(bits(plain.params) == bits(line.params));  // the averages changed nothing
  CHECK(scored.back() != line.value());
}

TEST_CASE("a trainer goes on from a state as if it had never stopped") {
  const Schedule schedule{.kind = Schedule::Kind::plateau, .learning_rate = 0.05, .factor = 2};
  const std::vector<double> scores = {5, 6, 7, 4};
  Line whole, parts;
  const auto run = [&](Line& line, Adam& adam, int epochs, const TrainerState* state) {
    Trainer trainer(adam, {.epochs = epochs, .schedule = schedule, .progress = silent});
    if (state) trainer.set_state(*state);
    TrainingTask task = line.task();
    task.validate = [&] { return scores[static_cast<size_t>(trainer.state().epoch)]; };
    trainer.run(task);
    return trainer.state();
  };
  Adam first(whole.params, {}), second(parts.params, {});
  const TrainerState at_once = run(whole, first, 4, nullptr);
  const TrainerState half = run(parts, second, 2, nullptr);
  const TrainerState then = run(parts, second, 4, &half);
  CHECK(bits(whole.params) == bits(parts.params));
  CHECK(then.epoch == 4);
  CHECK(*then.best == *at_once.best);
  CHECK(then.schedule->divisions == at_once.schedule->divisions);
  CHECK(then.all_count == at_once.all_count);
}

TEST_CASE("stop() ends the run after the epoch; another run() goes on") {
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.01});
  Trainer trainer(sgd, {.epochs = 5, .progress = silent});
  TrainingTask task = line.task();
  task.after_epoch = [&](const EpochReport& report) {
    if (report.epoch == 2) trainer.stop();
  };
  trainer.run(task);
  CHECK(trainer.state().epoch == 2);
  trainer.run(task);
  CHECK(trainer.state().epoch == 5);
}

TEST_CASE("what cannot be trained is said at once") {
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.1});
  const auto error = [&](const TrainerOptions& options, const TrainingTask& task) {
    return error_of([&] { Trainer(sgd, options).run(task); });
  };
  CHECK(lacks(error({.epochs = 1, .accumulate = 0}, line.task()), {"accumulate 0"}) == "");
  CHECK(lacks(error({.epochs = -1}, line.task()), {"-1 epochs"}) == "");
  CHECK(lacks(error({.clip = -1}, line.task()), {"clip -1"}) == "");
  CHECK(lacks(error({.non_monotone = -3}, line.task()), {"non_monotone -3"}) == "");
  CHECK(lacks(error({.checkpoints = {.every_steps = -5}}, line.task()), {"-5 steps"}) == "");
  CHECK(lacks(error({.checkpoints = {.every_minutes = std::nan("")}}, line.task()), {"nan minutes"}) == "");
  CHECK(lacks(error({.non_monotone = 3}, line.task()), {"non_monotone", "sgd"}) == "");
  CHECK(lacks(error({.schedule = Schedule{.kind = Schedule::Kind::step, .factor = 2}}, line.task()),
              {"factor 2"}) == "");
  CHECK(lacks(error({}, line.task(0)), {"windows"}) == "");
  CHECK(lacks(error({}, {.windows = 1}), {"loss"}) == "");
  CHECK(lacks(error({.patience = 2}, line.task()), {"patience", "validate"}) == "");
  CHECK(lacks(error({.schedule = Schedule{.kind = Schedule::Kind::plateau, .factor = 2}}, line.task()),
              {"plateau", "validate"}) == "");

  TrainingTask task = line.task();
  task.loss = [&](int64_t k) { return WindowLoss{line.loss(k), number(k == 1 ? std::nan("") : 1), 1}; };
  TrainingTask large = line.task();
  large.loss = [&](int64_t k) { return WindowLoss{line.loss(k), number(1000), 1}; };
  CHECK(lacks(error({.perplexity = true, .progress = silent}, large),
              {"the loss is 1000, and its exp, the perplexity, is not finite"}) == "");
  TrainingTask negative = line.task();
  negative.loss = [&](int64_t k) { return mean_loss(line.loss(k), -1); };
  CHECK(lacks(error({.progress = silent}, negative), {"window 0 has -1 predictions"}) == "");
  ProgressOptions progress = silent;
  CHECK(lacks(error({.epochs = 2, .progress = progress}, task), {"diverged", "epoch 1", "window 2 of 3"}) ==
        "");
}

TEST_CASE("a language model of one's own is trained in a dozen lines, and its steps ask for no memory") {
  std::vector<int32_t> text;
  for (int i = 0; i < 4000; ++i)
    text.push_back(i % 8 == 7 ? (i / 8) % 3 : i % 8);  // each eighth word needs memory
  struct {
    ParameterSet params{1};
    Embedding embedding{params / "embedding", {.vocab = 8, .dim = 12}};
    Lstm lstm{params / "lstm", {.input = 12, .hidden = 24}};
    Dense decoder{params / "decoder", {.in = 24, .out = 8}};
  } model;

  set_threads(
      1);  // what a product asks for when it is shared among threads is looked at elsewhere (memory_test)
  Adam adam(model.params, {.learning_rate = 0.01});
  Trainer trainer(adam, {.epochs = 8, .clip = 1, .perplexity = true, .progress = silent});
  BpttWindows windows(text, {.batch = 4, .steps = 16});
  RecurrentState state = model.lstm.zero_state(4);
  RecurrentVars next;
  std::vector<int64_t> counted(static_cast<size_t>(windows.count()));
  trainer.run({.windows = windows.count(),
               .begin_epoch = [&](int) { state.reset(); },
               .loss =
                   [&](int64_t k) {
                     counted[static_cast<size_t>(k)] = allocations;
                     const Window window = windows.at(k);
                     auto out = model.lstm(model.embedding(window.input), state);
                     next = out.state;
                     return mean_loss(softmax_cross_entropy(model.decoder, out.y, window.target),
                                      window.target.size());
                   },
               .carry = [&] { state = next; }});
  CHECK(trainer.epochs().front().train > 2);
  CHECK(trainer.epochs().back().train < 1.3);
  // The last epoch, once its progress line is there: nothing from the system.
  CHECK(counted.at(counted.size() - 2) == counted[1]);
}

TEST_CASE("a step of several windows that was given up is begun again whole") {
  const auto trained = [](bool fails) {
    Line line;
    Sgd sgd(line.params, {.learning_rate = 0.1});
    TrainingTask task = line.task(4);
    task.loss = [loss = task.loss, fails](int64_t k) mutable {
      if (k == 2 && std::exchange(fails, false)) throw std::runtime_error("no such file");
      return loss(k);
    };
    Trainer trainer(sgd, {.accumulate = 4, .progress = silent});
    try {
      trainer.run(task);
    } catch (const std::runtime_error&) { trainer.run(task); }
    return line.value();
  };
  CHECK(trained(true) == trained(false));
}
