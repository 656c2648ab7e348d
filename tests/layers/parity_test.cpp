// Parity with PyTorch in training: 50 steps of whole models with each optimizer, and a single step. The suite parity
// is compiled in double, parity_float in float.
#include <cmath>
#include <functional>
#include <memory>

#include "framework/loss.h"
#include "framework/ops.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/recurrent/lstm.h"
#include "optim/optimizer.h"
#include "tests/reference.h"
#include "tests/support.h"

using namespace unroll;

namespace {

// --- the models ----------------------------------------------------------------------------------

struct LanguageModel {
  LanguageModel(const Json& c, Engine engine)
      : embed(params / "embedding", {.vocab = c.at("vocab"), .dim = c.at("embedding")}),
        lstm(params / "lstm", {.input = c.at("embedding"),
                               .hidden = c.at("hidden"),
                               .layers = c.at("layers"),
                               .engine = engine}),
        out(params / "decoder", {.in = c.at("hidden"), .out = c.at("vocab")}) {}
  ParameterSet params;
  Embedding embed;
  Lstm lstm;
  Dense out;
};

struct Classifier {
  Classifier(const Json& c, Engine engine)
      : lstm(params / "lstm", {.input = c.at("features"), .hidden = c.at("hidden"), .engine = engine}),
        out(params / "dense", {.in = c.at("hidden"), .out = 1}) {}
  Var operator()(const Tensor& x) const {  // [steps, batch, features] -> [batch]
    const Var y = lstm(x, lstm.zero_state(x.dim(1))).y;
    return reshape(out(row(y, x.dim(0) - 1)), {x.dim(1)});
  }
  ParameterSet params;
  Lstm lstm;
  Dense out;
};

constexpr Engine engines[] = {Engine::fused, Engine::composed};

}  // namespace

// --- trainings of 50 steps -----------------------------------------------------------------------

namespace {

// Relative errors: in double of every element; in float, where 50 steps carry rounding along (to 2e-5 as
// measured), elements below 0.1 count as 0.1.
constexpr bool in_double = sizeof(real) == 8;
constexpr double bound = in_double ? 1e-9 : 2e-4;
constexpr double small = in_double ? 0 : 0.1;

// The optimizer of a recorded run, by PyTorch's names.
std::unique_ptr<Optimizer> make_optimizer(ParameterSet& params, const Json& o) {
  const std::string kind = o.at("kind");
  const double rate = o.at("lr"), decay = o.value("weight_decay", 0.0);
  if (kind == "SGD") {
    const SgdConfig config{.learning_rate = rate,
                           .momentum = o.value("momentum", 0.0),
                           .nesterov = o.value("nesterov", false),
                           .weight_decay = decay};
    return std::make_unique<Sgd>(params, config);
  }
  if (kind == "Adam")
    return std::make_unique<Adam>(params, AdamConfig{.learning_rate = rate, .weight_decay = decay});
  if (kind == "AdamW")
    return std::make_unique<AdamW>(params, AdamWConfig{.learning_rate = rate, .weight_decay = decay});
  REQUIRE(kind == "ASGD");
  REQUIRE(o.at("lambd") == 0);
  // PyTorch's average leaves out the first step after t0; a mean of all is in the file beside it.
  return std::make_unique<Asgd>(
      params, AsgdConfig{.learning_rate = rate, .average_after = o.at("t0").get<int64_t>()});
}

// Trains a model and compares the loss and the norm of each step, and the parameters in the end.
Worst train(const std::string& name, const Json& run, ParameterSet& params,
            std::function<Var(int)> loss_of_step) {
  // PyTorch decays all parameters unless told otherwise, we leave out biases unless told otherwise.
  if (name.find("biases_free") == std::string::npos)
    for (const auto& p : params.all()) p->decay = true;
  const auto optimizer = make_optimizer(params, run.at("optimizer"));
  const double clip = run.at("clip").is_null() ? INFINITY : run.at("clip").get<double>();
  Worst worst;
  for (int step = 0; step < 50; ++step) {
    Tape tape;
    const Var loss = loss_of_step(step);
    tape.backward(loss);
    const double norm = optimizer->step({.max_norm = clip});
    worst(relative(loss.item(), run.at("losses").at(step)), fmt::format("{}: loss of step {}", name, step));
    worst(relative(norm, run.at("norms").at(step)), fmt::format("{}: norm of step {}", name, step));
  }
  for (const auto& p : params.all())
    worst(relative(p->leaf_value(), run.at("final").at(p->name), small), name + ": " + p->name);
  if (run.contains("mean")) {
    REQUIRE(optimizer->averages());
    AveragedWeights guard(*optimizer);
    for (const auto& p : params.all())
      worst(relative(p->leaf_value(), run.at("mean").at(p->name), small), name + ": average of " + p->name);
  }
  return worst;
}

}  // namespace

TEST_CASE("a language model, 50 steps with each optimizer") {
  const Json& file = reference("lm.json");
  const IdTensor inputs = ids_of(file.at("inputs")), targets = ids_of(file.at("targets"));
  const int batch = file.at("config").at("batch");
  Worst worst;
  for (const Engine engine : engines) {
    for (const auto& [name, run] : file.at("runs").items()) {
      CAPTURE(name);
      LanguageModel model(file.at("config"), engine);
      load(model.params, file.at("initial"));
      RecurrentState state = model.lstm.zero_state(batch);
      const bool sum_over_steps = run.at("reduction") == "sum-over-steps";
      REQUIRE((sum_over_steps || run.at("reduction") == "mean"));

      const Worst of_run = train(std::string(name_of(engine)) + " " + name, run, model.params, [&](int step) {
        const auto [y, next] = model.lstm(model.embed(inputs[step]), state);
        state = next;
        const CrossEntropyOptions options{.reduction = sum_over_steps ? Reduction::sum : Reduction::mean};
        // Each engine with a loss of its own kind: fused with the decoder in chunks, or of logits.
        const Var loss = engine == Engine::fused
                             ? softmax_cross_entropy(model.out, y, targets[step],
                                                     {.reduction = options.reduction, .chunk_rows = 5})
                             : softmax_cross_entropy(model.out(y), targets[step], options);
        return sum_over_steps ? loss * (1 / static_cast<real>(batch)) : loss;
      });
      CHECK_MESSAGE(of_run.error < bound, of_run.text());
      worst(of_run);
      const double h = relative(state.h, run.at("final_h"), small),
                   c = relative(state.c, run.at("final_c"), small);
      CHECK(h < bound);
      CHECK(c < bound);
      worst(h, name + ": final h");
      worst(c, name + ": final c");
    }
  }
  MESSAGE(worst.text());
}

TEST_CASE("a binary classifier, 50 steps with each optimizer") {
  const Json& file = reference("classifier.json");
  const Tensor x = tensor_of(file.at("x")), labels = tensor_of(file.at("labels"));
  Worst worst;
  for (const Engine engine : engines) {
    for (const auto& [name, run] : file.at("runs").items()) {
      CAPTURE(name);
      Classifier model(file.at("config"), engine);
      load(model.params, file.at("initial"));
      const real pos_weight = run.at("pos_weight");
      const Worst of_run = train(std::string(name_of(engine)) + " " + name, run, model.params, [&](int step) {
        const int i = step % x.dim(0);
        return binary_cross_entropy(model(x[i]), labels[i], {.pos_weight = pos_weight});
      });
      CHECK_MESSAGE(of_run.error < bound, of_run.text());
      worst(of_run);
    }
  }
  MESSAGE(worst.text());
}

TEST_CASE("torch.optim.ASGD's own average") {
  // It leaves out the weights after step t0 + 1, and its weights 1/n are rounded to float32.
  const Json& file = reference("classifier.json");
  const Json& run = file.at("runs").at("asgd");
  const Tensor x = tensor_of(file.at("x")), labels = tensor_of(file.at("labels"));
  Classifier model(file.at("config"), Engine::fused);
  load(model.params, file.at("initial"));
  Asgd asgd(model.params, {.learning_rate = run.at("optimizer").at("lr"), .average_after = 1});
  for (int step = 0; step < 50; ++step) {
    Tape tape;
    tape.backward(binary_cross_entropy(model(x[step % x.dim(0)]), labels[step % x.dim(0)]));
    asgd.step({.max_norm = run.at("clip")});
  }
  AveragedWeights guard(asgd);
  for (const auto& p : model.params.all()) {
    CHECK(relative(p->leaf_value(), run.at("mean_from_second").at(p->name), small) < bound);
    CHECK(relative(p->leaf_value(), run.at("average").at(p->name), 0.1) < 1e-6);
  }
}

// --- a single step in both precisions ------------------------------------------------------------

// PyTorch computed the same step in float32 and in float64, from the same numbers. The distance between the two shows
// rounding in this computation when exp and tanh are right to 1 unit of the last place. Ours are right to 3, and one
// sample of rounding may be half as large as another, so ours in float32 may be 6 times as far from the float64
// values. Distances are of a tensor as a whole, and count at least half a unit of the last place of its largest
// element.
TEST_CASE("a single step of a language model: values and gradients") {
  const Json& file = reference("lm_float32.json");
  const Json &single = file.at("float32"), &exact = file.at("float64");
  Worst worst;
  const auto check = [&](const std::string& what, std::span<const real> ours,
                         const std::vector<double>& single_values, const std::vector<double>& exact_values) {
    REQUIRE(ours.size() == exact_values.size());
    double largest = 0, rounding = 0, distance = 0;
    for (size_t i = 0; i < ours.size(); ++i) {
      largest = std::max(largest, std::abs(exact_values[i]));
      rounding = std::max(rounding, std::abs(single_values[i] - exact_values[i]));
      const double d = std::abs(static_cast<double>(ours[i]) - exact_values[i]);
      if (!(d <= distance) && !std::isnan(distance)) distance = d;
    }
    const double bound = in_double ? 1e-13 * largest : 6 * std::max(rounding, largest * 0x1p-24);
    CHECK_MESSAGE(distance <= bound, what, ": ", distance, " from the float64 values, bound ", bound);
    worst(distance / bound, what);
  };
  const auto check_tensor = [&](const std::string& what, const Tensor& ours, const Json& s, const Json& d) {
    REQUIRE(ours.shape() == shape_of(d));
    check(what, ours.span(), s.at("data"), d.at("data"));
  };

  for (const Engine engine : engines) {
    LanguageModel model(file.at("config"), engine);
    load(model.params, file.at("initial"));
    RecurrentState state = model.lstm.zero_state(file.at("config").at("batch"));
    state.h.copy_from(tensor_of(file.at("h0")));
    state.c.copy_from(tensor_of(file.at("c0")));

    Tape tape;
    const auto [y, next] = model.lstm(model.embed(ids_of(file.at("inputs"))), state);
    const Var loss = softmax_cross_entropy(model.out, y, ids_of(file.at("targets")));
    const Tensor logits = model.out(y).value();
    tape.backward(loss);
    check_tensor("h", next.h.value(), single.at("h"), exact.at("h"));
    check_tensor("c", next.c.value(), single.at("c"), exact.at("c"));
    check_tensor("logits", logits, single.at("logits"), exact.at("logits"));
    const real found = loss.item(), norm = static_cast<real>(grad_norm(model.params));
    check("loss", {&found, 1}, {single.at("loss").get<double>()}, {exact.at("loss").get<double>()});
    check("norm", {&norm, 1}, {single.at("norm").get<double>()}, {exact.at("norm").get<double>()});
    for (const auto& p : model.params.all())
      check_tensor("gradient of " + p->name, p->node.gradient.value(p->shape),
                   single.at("gradients").at(p->name), exact.at("gradients").at(p->name));
  }
  MESSAGE(fmt::format("at worst {:.2g} of the bound, {}", worst.error, worst.where));
}

TEST_CASE("Adam's first step is the learning rate, in float too") {
  // 1 - 0.999 in float is off by 5e-5 of itself: its correction must be of the same number.
  ParameterSet params;
  Parameter& p = params.add("p", {67}, Init::constant(0));
  Adam adam(params, {.learning_rate = 0.125});
  p.leaf_value();
  p.node.gradient.into(p.shape).tensor.fill(2);
  adam.step();
  for (const real value : p.leaf_value().to_host())
    CHECK(value == doctest::Approx(-0.125).epsilon(in_double ? 1e-8 : 4e-7));
}
