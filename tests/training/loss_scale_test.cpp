// Training in fp16, over the stand-in: the scale of the loss, steps that are left out, what a checkpoint keeps of it, and
// gradients that would be lost without it.
#include "training/loss_scale.h"

#include <cmath>
#include <limits>

#include "tests/run_outcome.h"
#include "tests/support.h"
#include "tests/tiny_training.h"
#include "tests/training/line_training.h"
#include "tests/with_precision.h"
#include "training/report/log.h"

using namespace unroll;

namespace {

const TinyTraining::Setup setup;

// A Line whose loss is `slope` times its output for x = 1: the gradient of w is `slope`, and the loss's scale times it is
// what half precision has to hold.
TrainingTask sloped(Line& line, int64_t windows, const std::function<double(int64_t window)>& slope) {
  TrainingTask task = line.task(windows);
  task.loss = [&line, slope](int64_t k) {
    const Var y = matmul(Var(tensor({1, 1}, {1})), line.w.var());
    return mean_loss(sum(y) * static_cast<real>(slope(k)), 1);
  };
  return task;
}
TrainingTask sloped(Line& line, int64_t windows, double slope) {
  return sloped(line, windows, [slope](int64_t) { return slope; });
}

// The log of an epoch of it with steps of no length, two to an interval.
std::vector<LogRecord> logged(int64_t windows, const std::function<double(int64_t window)>& slope) {
  const WithPrecision fp16(Precision::fp16);
  const Folder folder;
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0});
  Trainer(sgd, {.progress = silent, .folder = folder.path(), .log_every = 2})
      .run(sloped(line, windows, slope));
  return read_log(folder.path() / "log.jsonl");
}

}  // namespace

TEST_CASE("an overflow halves the scale, 2000 good steps in a row double it, and both have an end") {
  LossScale s;
  CHECK(s.scale == 65'536);
  for (int i = 0; i < 1999; ++i) s.succeeded();
  CHECK(s.scale == 65'536);
  CHECK(s.overflowed());
  CHECK(s.scale == 32'768);
  for (int i = 0; i < 1999; ++i) s.succeeded();
  CHECK(s.scale == 32'768);
  s.succeeded();
  CHECK(s.scale == 65'536);
  CHECK(s.good_steps == 0);
  CHECK(s.skipped == 1);
  for (int i = 0; i < 20 * 2000; ++i) s.succeeded();
  CHECK(s.scale == 0x1p24);
  for (int i = 0; i < 24; ++i) CHECK(s.overflowed());
  CHECK(s.scale == 1);
  CHECK_FALSE(s.overflowed());
  CHECK(s.scale == 1);
  CHECK(s.skipped == 25);
}

TEST_CASE("a backward pass that starts from a scale has that multiple of every gradient, exactly") {
  TinyTraining tiny{setup}, scaled{setup};
  tiny.optimizer.reset(), scaled.optimizer.reset();
  const auto run = [](TinyTraining& t, real scale) {
    Tape tape;
    const TrainingTask task = t.task();
    task.load(0);
    tape.backward(task.loss(0).objective, scale);
    t.params.complete_gradients();
    return t.params.gradients().to_host();
  };
  const std::vector<real> one = run(tiny, 1), many = run(scaled, 4096);
  double largest = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    CHECK(many[i] == 4096 * one[i]);
    largest = std::max(largest, std::abs(static_cast<double>(one[i])));
  }
  CHECK(largest > 0);
}

TEST_CASE(
    "planted: a gradient that overflows is left out, the scale falls until it fits, and the state crosses") {
  const WithPrecision fp16(Precision::fp16);
  Line line;
  Adam adam(line.params, {.learning_rate = 0.125});
  // 1000 times the scale fits into 65504 from 2^6 on: ten steps are left out of sixteen.
  TrainingTask task = sloped(line, 16, 1000);
  std::vector<double> weights(16, 0);  // after each window, left out or not; windows may be asked for again
  int64_t window = 0;
  task.load = [&](int64_t k) { return window = k; };
  task.carry = [&] { weights[static_cast<size_t>(window)] = line.value(); };
  Trainer trainer(adam, {.clip = 1e9, .progress = silent});
  trainer.run(task);
  for (size_t i = 0; i < 10; ++i) CHECK(weights[i] == 0.5);
  for (size_t i = 10; i < 16; ++i) CHECK(weights[i] < weights[i - 1]);
  CHECK(line.params.step() == 6);
  CHECK(*adam.state().counters[0].value == 6);
  REQUIRE(trainer.state().loss_scale.has_value());
  CHECK(trainer.state().loss_scale->scale == 64);
  CHECK(trainer.state().loss_scale->good_steps == 6);
  CHECK(trainer.state().loss_scale->skipped == 10);
  CHECK(trainer.state().skipped == 0);  // none of them was a divergence
  CHECK(trainer.epochs()[0].skipped == 10);
  CHECK(trainer.epochs()[0].count == 16);
  // The scale is divided out, so Adam's first step has the size of its rate, and the sums are those of fp32.
  CHECK(weights[10] == doctest::Approx(0.375).epsilon(1e-6));
  const double averages = 1000 * (1 - std::pow(0.9, 6));
  CHECK(static_cast<double>(adam.state().slabs[0].values.slice(0, 1).item()) ==
        doctest::Approx(averages).epsilon(1e-6));
}

TEST_CASE("the scale grows in training, and what it grows beyond is left out again") {
  const WithPrecision fp16(Precision::fp16);
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0});
  const Folder folder;
  std::FILE* const out = std::fopen((folder / "out").c_str(), "w");
  Trainer trainer(sgd, {.epochs = 2, .progress = {.stream = out, .mode = ProgressOptions::Mode::plain}});
  TrainerState state = trainer.state();
  state.loss_scale = LossScale{.scale = 0x1p15, .good_steps = 1995};
  trainer.set_state(state);
  trainer.run(sloped(line, 8, 1));  // which 2^15 is the largest scale for: 2^16 is beyond 65504
  // Five good ones, one that is too large, ten good ones.
  CHECK(trainer.state().loss_scale->scale == 0x1p15);
  CHECK(trainer.state().loss_scale->good_steps == 10);
  CHECK(trainer.epochs()[0].skipped == 1);
  CHECK(trainer.epochs()[1].skipped == 0);
  std::fclose(out);
  for (const std::string& line : lines_of(read_text(folder / "out")))  // each says its own
    if (line.starts_with("epoch "))
      CHECK_MESSAGE(line.ends_with("  1 step skipped") == line.starts_with("epoch 1/2"), line);
  CHECK(line.params.step() == 15);
}

TEST_CASE("a gradient that is not finite at the smallest scale is a divergence, and says so") {
  const WithPrecision fp16(Precision::fp16);
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.1});
  Trainer trainer(sgd, {.progress = silent});
  const std::string message = error_of([&] { trainer.run(sloped(line, 40, 1e6)); });
  CHECK(lacks(message,
              {"diverged",
               "the gradient of 'line.w' is not finite in fp16, with the loss scale at its smallest, 1",
               "window 17 of 40"}) == "");
  CHECK(line.value() == 0.5);
  // A loss that is not finite is none of the scale's affairs.
  const double infinite = std::numeric_limits<double>::infinity();
  Trainer other(sgd, {.progress = silent});
  CHECK(lacks(error_of([&] { other.run(sloped(line, 4, infinite)); }), {"the loss is", "window 1 of 4"}) ==
        "");
}

TEST_CASE("accumulated windows are scaled alike, and left out together") {
  const WithPrecision fp16(Precision::fp16);
  Line line;
  Sgd sgd(line.params, {.learning_rate = 0.25});
  Trainer trainer(sgd, {.accumulate = 2, .progress = silent});
  // Times 2^16: too large in the second window.
  trainer.run(sloped(line, 6, [](int64_t k) { return k == 1 ? 4 : 0.5; }));
  CHECK(trainer.state().loss_scale->skipped == 1);
  CHECK(trainer.state().loss_scale->scale == 0x1p15);
  CHECK(line.value() == 0.5 - 2 * 0.25 * 0.5);
}

TEST_CASE("no other precision has a scale") {
  for (const Precision p : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    const WithPrecision with(p);
    const Folder folder;
    Line line;
    Sgd sgd(line.params, {.learning_rate = 0.1});
    Trainer trainer(sgd, {.progress = silent, .folder = folder.path(), .log_every = 1});
    trainer.run(line.task());
    CHECK_FALSE(trainer.state().loss_scale.has_value());
    for (const LogRecord& r : read_log(folder.path() / "log.jsonl")) CHECK_FALSE(r.loss_scale.has_value());
  }
}

TEST_CASE("the log counts the steps that were left out, once for each interval of steps") {
  const std::vector<LogRecord> records = logged(16, [](int64_t) { return 1000; });
  REQUIRE(records.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(records[i].step == std::min<int64_t>(6, 2 * (static_cast<int64_t>(i) + 1)));
    CHECK(records[i].loss_scale == 64);
    CHECK(records[i].skipped == 10);
  }
  CHECK(records[0].count == 12);  // predictions of those that were left out too
  CHECK(records[3].kind == LogRecord::Kind::epoch);
}

TEST_CASE("an overflow right after an interval's end adds no record of its own") {
  std::vector<int64_t> steps, skipped;
  for (const LogRecord& r : logged(6, [](int64_t k) { return k == 2 ? 4 : 0.5; }))
    if (r.kind == LogRecord::Kind::interval) steps.push_back(r.step), skipped.push_back(r.skipped);
  CHECK(steps == std::vector<int64_t>{2, 4});
  CHECK(skipped == std::vector<int64_t>{0, 1});
}

TEST_CASE("a run that was interrupted anywhere goes on in the same bits, its scale and its count with it") {
  const WithPrecision fp16(Precision::fp16);
  const auto options = [](const Folder& folder) {
    return TrainerOptions{.epochs = 2,
                          .clip = 1,
                          .progress = silent,
                          .folder = folder.path(),
                          .checkpoints = {.every_steps = 1},
                          .log_every = 7};
  };
  struct Stop {};
  struct Run {
    TinyTraining tiny{setup};
    int calls = 0, stop_after;
    explicit Run(int stop_after) : stop_after(stop_after) {}
    TrainingTask task() {
      TrainingTask task = tiny.task();
      task.loss = [this, loss = task.loss](int64_t k) {
        if (calls++ == stop_after) throw Stop();
        WindowLoss result = loss(k);
        result.objective = result.objective * real(4096);  // so that the first scales are too large
        return result;
      };
      return task;
    }
  };
  const Folder whole;
  Run run(-1);
  Trainer trainer(*run.tiny.optimizer, options(whole));
  trainer.run(run.task());
  REQUIRE(trainer.state().loss_scale->skipped > 2);
  REQUIRE(run.tiny.params.step() > 30);
  for (const int stop_after : {1, 3, 5, 20, 27, 45}) {
    CAPTURE(stop_after);
    const Folder folder;
    {
      Run cut(stop_after);
      Trainer first(*cut.tiny.optimizer, options(folder));
      CHECK_THROWS_AS(first.run(cut.task()), Stop);
    }
    Run rest(-1);
    Trainer second(*rest.tiny.optimizer, options(folder));
    second.resume(rest.task());
    second.run(rest.task());
    CHECK(outcome(folder.path()) == outcome(whole.path()));
  }
}

TEST_CASE("checkpoints move freely between fp32 and fp16") {
  const Folder folder;
  const auto options = [&](int epochs) {
    return TrainerOptions{.epochs = epochs, .progress = silent, .folder = folder.path()};
  };
  const auto epoch = [&](Precision p, int number) {
    const WithPrecision with(p);
    TinyTraining tiny{setup};
    Trainer trainer(*tiny.optimizer, options(number));
    trainer.resume(tiny.task());
    CHECK(trainer.state().epoch == number - 1);
    trainer.run(tiny.task());
    CHECK(trainer.state().epoch == number);
    CHECK(trainer.state().loss_scale.has_value() == (p == Precision::fp16));
    return trainer.state();
  };
  epoch(Precision::fp32, 1);
  const TrainerState in_fp16 = epoch(Precision::fp16, 2);
  CHECK(in_fp16.loss_scale->good_steps > 20);
  CHECK(std::isfinite(epoch(Precision::fp32, 3).train));
  CHECK(epoch(Precision::fp16, 4).loss_scale->good_steps ==
        in_fp16.loss_scale->good_steps);  // which begins anew
  CHECK(std::isfinite(epoch(Precision::bf16, 5).train));
}

TEST_CASE("planted: a scale that is no power of two in range is a damaged checkpoint") {
  const WithPrecision fp16(Precision::fp16);
  for (const double scale : {0.0, 3.0, -2.0, 0x1p25, 0.5}) {
    const Folder folder;
    TinyTraining tiny{setup};
    TrainerState state;
    state.loss_scale = LossScale{.scale = scale};
    write_checkpoint(folder.path() / "last.safetensors", *tiny.optimizer, state, {});
    CHECK(lacks(input_error_of(
                    [&] { read_checkpoint(folder.path() / "last.safetensors", *tiny.optimizer, state, {}); }),
                {"damaged", "'scale'"}) == "");
  }
}

TEST_CASE("in fp16 a loss that is fused with its matrix keeps the gradients that half precision would lose") {
  // Over 600 rows of 50 classes, most probabilities about e^-12: divided by the rows, below half precision's numbers.
  constexpr int rows = 600, in = 4, classes = 50;
  const auto z = [](int i) { return static_cast<size_t>(i); };
  RandomStream random(3, "logits");
  const Tensor x = random_tensor({rows, in}, random), w = random_tensor({classes, in}, random);
  const Tensor b = Tensor::full({classes}, -12);
  b.slice(0, 1).fill(0);
  const WithPrecision fp16(Precision::fp16);
  ParameterSet params;
  Parameter& weight = (params / "decoder").add("weight", {classes, in}, Init::constant(0));
  weight.leaf_value().copy_from(w);
  Tape tape;
  const Var vx = tape.watch(x);
  constexpr double scale = 0x1p16;
  tape.backward(softmax_cross_entropy(vx, weight.var(), Var(b), ids({rows}, std::vector<int32_t>(rows, 0))),
                scale);
  const std::vector<real> dx = vx.grad().to_host(), dw = weight.node.gradient.value(weight.shape).to_host();

  // Computes in double, and for each element the sizes of its terms. Logits are sums of four products of at most 1,
  // off by 8u together. A probability is the exponential of a difference of two, so off by 16u, relatively, and so is
  // the distance of the target's to 1. Then two factors are rounded: 18u, and what float adds, and squares, are less
  // than two more.
  const std::vector<real> xs = x.to_host(), ws = w.to_host();
  std::vector<double> exact_dx(dx.size()), exact_dw(dw.size()), size_dx(dx.size()), size_dw(dw.size());
  double largest_of_class_7 = 0;
  for (int r = 0; r < rows; ++r) {
    std::vector<double> d(classes);
    double sum = 0;
    for (int k = 0; k < classes; ++k) {
      double logit = k == 0 ? 0 : -12;
      for (int i = 0; i < in; ++i)
        logit += static_cast<double>(xs[z(r * in + i)]) * static_cast<double>(ws[z(k * in + i)]);
      sum += d[z(k)] = std::exp(logit);
    }
    for (int k = 0; k < classes; ++k) d[z(k)] = (d[z(k)] / sum - (k == 0)) / rows;
    largest_of_class_7 = std::max(largest_of_class_7, d[7]);
    for (int k = 0; k < classes; ++k)
      for (int i = 0; i < in; ++i) {
        const double to_x = d[z(k)] * static_cast<double>(ws[z(k * in + i)]),
                     to_w = d[z(k)] * static_cast<double>(xs[z(r * in + i)]);
        exact_dx[z(r * in + i)] += to_x, size_dx[z(r * in + i)] += std::abs(to_x);
        exact_dw[z(k * in + i)] += to_w, size_dw[z(k * in + i)] += std::abs(to_w);
      }
  }
  CHECK(largest_of_class_7 < 0x1p-20);  // where half precision has four bits, and for most of them none
  constexpr double u = 0x1p-11;
  const auto worst = [&](const std::vector<real>& found, const std::vector<double>& exact,
                         const std::vector<double>& size) {
    double result = 0;
    for (size_t i = 0; i < found.size(); ++i)
      result =
          std::max(result, std::abs(static_cast<double>(found[i]) / scale - exact[i]) / (20 * u * size[i]));
    return result;
  };
  CHECK(worst(dx, exact_dx, size_dx) <= 1);
  CHECK(worst(dw, exact_dw, size_dw) <= 1);
}

TEST_CASE("in fp16 a fused loss takes weights of any size") {
  const WithPrecision fp16(Precision::fp16);
  const Tensor x = tensor({2, 1}, {1, -1}), w = tensor({2, 1}, {0.5, -0.5});
  for (const real size : {real(0), real(1e-6), real(1), real(1e6)}) {
    Tape tape;
    const Var vx = tape.watch(x);
    tape.backward(softmax_cross_entropy(vx, Var(w), Var(Tensor::zeros({2})), ids({2}, {0, 0}),
                                        {.reduction = Reduction::sum, .weights = tensor({2}, {size, size})}));
    // dx = w₀ (p₀ - 1) + w₁ p₁ = -p₁, exact to the roundings of two factors and of what the logits are made of
    const double expected = -static_cast<double>(size) / (1 + std::exp(1.0));
    CHECK(std::abs(static_cast<double>(vx.grad().to_host()[0]) - expected) <=
          4 * 0x1p-11 * std::abs(expected));
  }
}
