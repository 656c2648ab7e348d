// Training on a GPU without waiting for it, and with graphs: the same bits as step by step, and the same words where a step
// fails.
#include "tests/training/run_ahead.h"

#include <cstdio>
#include <filesystem>
#include <limits>

#include <doctest/doctest.h>

#include "layers/dense.h"
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/support.h"
#include "tests/with_precision.h"

#ifdef UNROLL_STANDIN
#include "tests/standin/standin.h"
#endif

using namespace unroll;
using namespace running_ahead;

namespace {

// The trainer's own order of things, written down once more, and each step waited for.
Outcome step_by_step(TinyTraining& t, const TrainerOptions& options) {
  const TrainingTask task = t.task();
  TrainerState state;
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    const int64_t windows = task.cut ? task.cut(epoch) : task.windows;
    task.begin_epoch(epoch);
    double total = 0;
    int64_t count = 0;
    for (int64_t begin = 0; begin < windows; begin += options.accumulate) {
      const int64_t end = std::min(begin + options.accumulate, windows);
      double rate_factor = 0, of_step = 0;
      for (int64_t k = begin; k < end; ++k) {
        {
          Tape tape({.part = static_cast<uint32_t>(k - begin)});
          task.load(k);
          const WindowLoss loss = task.loss(k);
          of_step += static_cast<double>(loss.mean.item()) * static_cast<double>(loss.count);
          count += loss.count, rate_factor += loss.rate_factor;
          tape.backward(loss.objective);
        }
        const auto n = static_cast<double>(end - begin);
        if (k + 1 == end)
          t.optimizer->step({.max_norm = options.clip, .factor = 1 / n, .rate_factor = rate_factor / n});
        task.carry();
      }
      total += of_step;
    }
    state.train = total / static_cast<double>(count);
    state.all_count += count;
    if (epoch == 1)
      if (auto* asgd = dynamic_cast<Asgd*>(t.optimizer.get())) asgd->start_averaging();
  }
  return outcome_of(t, state);
}

}  // namespace

TEST_CASE("ahead of the device and with graphs, training has the bits that it has step by step") {
  for (const Rule rule : {Rule::adam, Rule::momentum, Rule::asgd})
    for (const bool variable_bptt : {false, true})
      for (const int accumulate : {1, 3}) {
        CAPTURE(static_cast<int>(rule));
        CAPTURE(variable_bptt);
        CAPTURE(accumulate);
        const TinyTraining::Setup setup{.rule = rule, .variable_bptt = variable_bptt};
        const TrainerOptions options = quietly({.accumulate = accumulate});
        TinyTraining slow(setup);
        const Outcome expected = step_by_step(slow, options);
        for (const bool graph : {false, true}) {
          CAPTURE(graph);
          TinyTraining t(setup);
          TrainerOptions with = options;
          with.graph = graph;
          CHECK(ahead(t, with, t.task()) == expected);
          if (rule != Rule::asgd) continue;
          CHECK(t.optimizer->averages()->to_host() == slow.optimizer->averages()->to_host());
        }
      }
}

TEST_CASE("the learning rate of a schedule reaches steps that are graphs") {
  const auto trained = [](bool graph) {
    TinyTraining t({});
    TrainerOptions options = quietly(
        {.schedule = Schedule{
             .kind = Schedule::Kind::cosine, .learning_rate = 0.05, .total = 75, .final_rate = 0.001}});
    options.graph = graph;
    return ahead(t, options, t.task());
  };
  const Outcome eager = trained(false);
  CHECK(trained(true) == eager);
  CHECK(eager.learning_rate < 0.002);
}

// A recorded step that kept the momentum of its recording would have it at every step.
TEST_CASE("the momentum of a cycle, or beta1, reaches steps that are graphs") {
  for (const Rule rule : {Rule::adam, Rule::momentum}) {
    CAPTURE(static_cast<int>(rule));
    const auto trained = [&](bool graph, double low) {
      TinyTraining t({.rule = rule});
      TrainerOptions options = quietly({.schedule = Schedule{.kind = Schedule::Kind::one_cycle,
                                                             .learning_rate = 0.05,
                                                             .total = 75,
                                                             .final_rate = 0.001,
                                                             .start_rate = 0.01,
                                                             .momentum = {low, 0.95}}});
      options.graph = graph;
      return ahead(t, options, t.task());
    };
    const Outcome eager = trained(false, 0.5);
    CHECK(trained(true, 0.5) == eager);
    CHECK(trained(false, 0.9) != eager);
    CHECK(eager.learning_rate == 0.001);
  }
}

TEST_CASE("a step that is not finite is left out, or said, as it is step by step") {
  // Window 9 of the second epoch.
  const auto failing = [](TinyTraining& t, bool in_loss) {
    TrainingTask task = t.task();
    auto epoch = std::make_shared<int>(0);
    const auto infinite = std::make_shared<Var>(Tensor::full({}, std::numeric_limits<real>::infinity()));
    task.begin_epoch = [&t, epoch](int e) { t.state.reset(), *epoch = e; };
    task.load = [load = task.load, epoch](int64_t k) {
      return load(k) + (*epoch == 2 && k == 9 ? int64_t{1} << 60 : 0);
    };
    task.loss = [loss = task.loss, epoch, infinite, in_loss](int64_t k) {
      WindowLoss result = loss(k);
      if (*epoch != 2 || k != 9) return result;
      if (in_loss)
        result.mean = result.mean + *infinite;
      else  // finite forwards, and not backwards
        result.objective = result.objective + sum(sqrt(result.objective - result.objective));
      return result;
    };
    return task;
  };
  for (const bool in_loss : {true, false}) {
    CAPTURE(in_loss);
    std::string said[2];
    Outcome skipped[2];
    for (const bool graph : {false, true}) {
      TrainerOptions options = quietly({});
      options.graph = graph;
      TinyTraining stopped({});
      Trainer trainer(*stopped.optimizer, options);
      try {
        trainer.run(failing(stopped, in_loss));
      } catch (const Diverged& diverged) { said[graph] = diverged.what(); }
      CHECK(stopped.params.step() == 34);
      options.on_divergence = OnDivergence::skip;
      TinyTraining t({});
      skipped[graph] = ahead(t, options, failing(t, in_loss));
    }
    CHECK(said[0].find(in_loss ? "step 34: the loss is inf (epoch 2, window 10 of 25"
                               : "step 34: the gradient of '") != std::string::npos);
    CHECK(said[0] == said[1]);
    CHECK(skipped[0] == skipped[1]);
    CHECK(skipped[0].skipped == 1);
    CHECK(skipped[0].step == 74);
  }
}

TEST_CASE("in fp16, scales that overflow and grow are those of training step by step") {
  const WithPrecision half(Precision::fp16);
  const auto trained = [](bool graph) {
    TinyTraining t({.rule = Rule::momentum});
    TrainerOptions options = quietly({.accumulate = 2});
    options.graph = graph;
    TrainingTask task = t.task();
    bool large = false;  // an epoch's objective, whose gradient the first scale takes out of range
    task.begin_epoch = [&](int epoch) { t.state.reset(), large = epoch == 2; };
    task.load = [&, load = task.load](int64_t k) { return load(k) + (large ? int64_t{1} << 60 : 0); };
    task.loss = [&, loss = task.loss](int64_t k) {
      WindowLoss result = loss(k);
      if (large) result.objective = result.objective * real(1e5);
      return result;
    };
    Trainer trainer(*t.optimizer, options);
    trainer.run(task);
    const LossScale& scale = trainer.state().loss_scale.value();
    return std::tuple(outcome_of(t, trainer.state()), scale.scale, scale.good_steps, scale.skipped);
  };
  const auto eager = trained(false);
  CHECK(trained(true) == eager);
  CHECK(std::get<3>(eager) > 0);
}

TEST_CASE(
    "training that goes on from a checkpoint in the middle of an epoch has the same bits, with graphs or without") {
  const auto trained = [](const std::filesystem::path& folder, std::initializer_list<bool> graphs) {
    Outcome outcome;
    int part = 0;
    for (const bool graph : graphs) {
      TinyTraining t({.rule = Rule::momentum});
      TrainerOptions options = quietly({.folder = folder, .checkpoints = {.every_steps = 7}});
      options.graph = graph;
      options.log_every = 5;
      Trainer trainer(*t.optimizer, options);
      TrainingTask task = t.task();
      if (++part == 1 && graphs.size() > 1)
        task.loss = [loss = task.loss, calls = 0](int64_t k) mutable {
          if (++calls == 4) throw std::runtime_error("killed");  // most windows are played
          return loss(k);
        };
      trainer.resume(task);
      try {
        trainer.run(task);
      } catch (const std::runtime_error& killed) {
        if (std::string_view(killed.what()) != "killed") throw;
      }
      outcome = outcome_of(t, trainer.state());
    }
    return outcome;
  };
  const Folder whole, parts, mixed;
  const Outcome expected = trained(whole.path(), {false});
  CHECK(trained(parts.path(), {true, true}) == expected);
  CHECK(trained(mixed.path(), {true, false}) == expected);
}

TEST_CASE(
    "a window that was recorded behind one window is not played behind another that begins other gradients") {
  RandomStream random(4, "heads");
  const Tensor x = random_tensor({5, 3}, random);
  const auto trained = [&](bool graph) {
    ParameterSet params;
    const Dense one(params / "one", {.in = 3, .out = 2}), two(params / "two", {.in = 3, .out = 2}),
        both(params / "both", {.in = 3, .out = 2});
    Adam adam(params, {.learning_rate = 0.1});
    TrainerOptions options = quietly({.accumulate = 2});
    options.graph = graph;
    // Steps of the windows 0 and 1, 2 and 3, …: one or two, and then both.
    const auto kind = [](int64_t window) { return window % 2 == 1 ? 2 : window / 2 % 2; };
    Trainer(adam, options)
        .run({.windows = 12,
              .loss =
                  [&](int64_t window) {
                    const Dense& layer = *std::array{&one, &two, &both}[kind(window)];
                    return mean_loss(mean(tanh(layer(Var(x)))), 10);
                  },
              .load = [&](int64_t window) { return int64_t{kind(window)}; }});
    return params.values().to_host();
  };
  CHECK(trained(true) == trained(false));
}

TEST_CASE("what cannot be recorded is said") {
  TinyTraining t({});
  TrainerOptions options = quietly({});
  options.graph = true;
  TrainingTask task = t.task();
  task.loss = [loss = task.loss](int64_t k) {
    const WindowLoss result = loss(k);
    (void)result.mean.item();
    return result;
  };
  Trainer reads(*t.optimizer, options);
  CHECK_THROWS_WITH_AS(reads.run(task), "a step that is recorded as a graph cannot read numbers on the host",
                       Error);
  TinyTraining other({});
  task = other.task();
  task.load = nullptr;
  task.loss = [&](int64_t) { return WindowLoss{}; };
  Trainer unloaded(*other.optimizer, options);
  CHECK_THROWS_WITH_AS(unloaded.run(task), doctest::Contains("TrainingTask::load"), Error);
  task = other.task();
  task.carried.clear();
  CHECK_THROWS_WITH_AS(unloaded.run(task), doctest::Contains("TrainingTask::carried"), Error);
}

#ifdef UNROLL_STANDIN
TEST_CASE(
    "a window that cannot be recorded is computed without a graph, in the same bits, and that is said once") {
  enum class Fault { memory, capture, end, instance };
  const size_t whole = standin::control().memory;
  for (const int accumulate : {1, 3}) {
    CAPTURE(accumulate);
    TinyTraining eager({});
    const Outcome expected = ahead(eager, quietly({.accumulate = accumulate}), eager.task());
    for (const Fault fault : {Fault::memory, Fault::capture, Fault::end, Fault::instance}) {
      CAPTURE(static_cast<int>(fault));
      const Folder folder;
      TinyTraining t({});
      TrainerOptions options = quietly({.accumulate = accumulate});
      options.graph = true;
      options.progress = {.stream = std::fopen((folder / "said").c_str(), "w")};
      const auto fail_after = [](int64_t calls, cudaError_t failure) {
        standin::control().failure = failure, standin::control().calls_until_failure = calls;
      };
      TrainingTask task = t.task();
      int recordings = 0;
      const auto fails = [&] { return recording_graph() && recordings <= 2; };
      task.loss = [&, loss = task.loss](int64_t k) {
        recordings += recording_graph();
        standin::control().memory = whole;
        if (fails() && fault == Fault::capture) fail_after(10, cudaErrorStreamCaptureInvalidated);
        const WindowLoss result = loss(k);
        if (fails() && fault == Fault::memory) {
          standin::control().memory = standin::control().in_use;
          const Tensor one_too_many({1 << 22});
        }
        return result;
      };
      task.carry = [&, carry = task.carry] {
        carry();
        if (fails() && fault == Fault::end) fail_after(0, cudaErrorStreamCaptureInvalidated);
        if (fails() && fault == Fault::instance) fail_after(1, cudaErrorMemoryAllocation);
      };
      const int64_t graphs = standin::control().graphs;
      CHECK(ahead(t, options, task) == expected);
      // All windows are of a kind; or the first, second and third of a step, and the one that is left over.
      CHECK(recordings == (accumulate == 1 ? 1 : 4));
      CHECK(standin::control().graphs - graphs == (accumulate == 1 ? 0 : 2));
      std::fclose(options.progress.stream);
      const auto lines = lines_of(read_text(folder / "said"));
      REQUIRE(lines.size() == 4);  // and three epochs
      const char* const why[] = {
          "out of memory on stand-in for an H100: ", "CUDA has failed: ",  // whatever the tenth call is
          "CUDA has failed: cudaStreamEndCapture reports cudaErrorStreamCapture",
          "out of memory on the GPU: cudaGraphInstantiate failed"};
      CHECK(lines[0].starts_with(
          fmt::format("window {} is computed without a graph, and so is what else cannot be recorded: {}",
                      accumulate + 1, why[static_cast<size_t>(fault)])));
      if (fault == Fault::capture)
        CHECK(lines[0].find("reports cudaErrorStreamCapture") != std::string::npos);
    }
  }
}

TEST_CASE("the host looks now and then, and a window that is played is one call") {
  const auto counted = [](bool graph) {
    TinyTraining t({});
    TrainerOptions options = quietly({});
    options.graph = graph;
    Trainer trainer(*t.optimizer, options);
    TrainingTask task = t.task();
    standin::Control before;
    task.begin_epoch = [&](int epoch) {
      t.state.reset();
      if (epoch == 3) before = standin::control();
    };
    trainer.run(task);
    standin::Control after = standin::control();
    after.launches -= before.launches, after.synchronizations -= before.synchronizations;
    after.allocations -= before.allocations, after.graph_launches -= before.graph_launches;
    return after;
  };
  const standin::Control eager = counted(false), graph = counted(true);
  CHECK(eager.synchronizations == 1);  // in the epoch's 25 steps
  CHECK(graph.synchronizations == 1);
  CHECK(eager.allocations == 0);
  CHECK(graph.allocations == 0);
  CHECK(graph.graph_launches == 25);
  CHECK(graph.launches == 50);  // h and c are kept beforehand: RunAhead::begin_step
  CHECK(eager.launches > 25 * 40);
}
#endif
