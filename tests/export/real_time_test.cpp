// Steps in real time: the layers' values over hundreds of steps, and no memory asked for.
#include "data/windows.h"
#include "export/real_time_step.h"
#include "export/step_file.h"
#include "framework/loss.h"
#include "optim/optimizer.h"
#include "tests/export/step_models.h"
#include "tests/folder.h"
#include "tests/layers/counted_memory.h"
#include "training/files/state_dict.h"

using namespace unroll;

TEST_CASE("a step gives the layers' values, whatever the options") {
  constexpr int steps = 300;
  for (const StepModel& model : step_models()) {
    CAPTURE(model.name);
    const StepInputs inputs = step_inputs(model, steps);
    const Tensor expected = model.whole(inputs.x, inputs.tokens);
    RealTimeStep step(model.plan);
    const Tensor y = by_steps(model, step, inputs, steps);
    CHECK(distance(y, expected) <= tolerance(expected));
    CHECK(largest(expected) > 0.01);
    step.reset();
    CHECK(same_bits(by_steps(model, step, inputs, steps), y));
  }
}

TEST_CASE("the two biases of a GRU in PyTorch's file are added but for the new state's") {
  ParameterSet params;
  const RecurrentLayer gru(params / "gru", CellKind::gru, {.input = 2, .hidden = 3});
  params.at("gru.bias_l0")
      .var()
      .value()
      .copy_from(Tensor::from({9}, {.1f, -.2f, .3f, -.4f, .5f, -.6f, .7f, -.8f, .9f}));
  params.at("gru.bias_hn_l0").var().value().copy_from(Tensor::from({3}, {.25f, -.5f, .75f}));
  const StepPlan whole = step_of(params, 2, gru);
  // Half of what the gates r and z have is written as the second bias.
  std::vector<NamedTensor> tensors = state_dict(params);
  const auto of = [&](const char* name) {
    return std::ranges::find(tensors, name, &NamedTensor::name)->tensor;
  };
  Tensor first = of("gru.bias_ih_l0").clone(), second = of("gru.bias_hh_l0").clone();
  for (int i = 0; i < 6; ++i) {
    const real half = first.data()[i] / 2;
    first.on_host(Access::change)[i] -= half, second.on_host(Access::change)[i] += half;
  }
  for (NamedTensor& tensor : tensors)
    if (tensor.name == "gru.bias_ih_l0")
      tensor.tensor = first;
    else if (tensor.name == "gru.bias_hh_l0")
      tensor.tensor = second;
  const Folder folder;
  write_safetensors(folder / "gru.safetensors", tensors);
  const SafetensorsFile file(folder / "gru.safetensors");
  StepBuilder step(weights_in(file));
  step.output("y", step.recurrent("gru", CellKind::gru, {.input = 2, .hidden = 3}, step.input("x", 2)));
  RealTimeStep of_file(step.plan()), of_layer(whole);
  for (int t = 0; t < 5; ++t) {
    for (RealTimeStep* each : {&of_file, &of_layer})
      (*each)["x"][0] = 0.3f * static_cast<float>(t), (*each)["x"][1] = -1, (*each)();
    for (size_t i = 0; i < 3; ++i) CHECK(of_file["y"][i] == doctest::Approx(of_layer["y"][i]).epsilon(1e-6));
  }
}

TEST_CASE("a layer that stands in a step twice has a result for each; its state has one use") {
  ParameterSet params;
  const Dense dense(params / "dense", {.in = 3, .out = 3, .activation = Activation::relu});
  const LayerNorm norm(params / "norm", {.dim = 3});
  const RecurrentLayer lstm(params / "lstm", CellKind::lstm, {.input = 3, .hidden = 3});
  params.initialize(Init::uniform(-0.5f, 0.5f));
  StepBuilder step(weights_of(params));
  const StepVector x = step.input("x", 3);
  const StepVector once = append(step, norm, append(step, dense, x)),
                   twice = append(step, norm, append(step, dense, once));
  step.call("subtract", twice, {once});
  step.output("y", twice);
  const Var given = Tensor::from({1, 3}, {0.5f, -0.25f, 0.75f});
  const Var first = norm(dense(given));
  const Tensor expected = (norm(dense(first)) - first).value();
  RealTimeStep made(step.plan());
  std::ranges::copy(given.value().to_host(), made["x"].begin());
  made();
  for (size_t k = 0; k < 3; ++k) CHECK(std::abs(made["y"][k] - expected.to_host()[k]) <= tolerance(expected));
  // The weights stand in the plan once.
  CHECK(step.plan().numbers(StepArray::Kind::matrix) == 9);

  append(step, lstm, x);
  CHECK(lacks(error_of([&] { append(step, lstm, once); }), {"lstm.h_l0", "a state of its own"}) == "");
  CHECK(lacks(error_of([&] { step.output("y", x); }), {"y"}) == "");
  const RecurrentConfig config{.input = 3, .hidden = 3};
  step.recurrent("lstm", CellKind::lstm, config, once,
                 step.recurrent_state("another", CellKind::lstm, config));
  CHECK(step.plan().numbers(StepArray::Kind::state) == 2 * 2 * 3);
}

TEST_CASE("a loop of no turn is left out, with those within") {
  StepBuilder step([](const StepWeight&) { return std::vector<float>(); });
  step.read_token("turns", 0, 4);
  const StepVector y = step.state("sum", 2), one = step.constant("one", {1});
  step.loop(token_size);
  step.call("add_share", y.part(0, 1), {one, one});
  step.loop(token_size);
  step.call("add_share", y.part(1, 2), {one, one});
  step.end_loop();
  step.end_loop();
  step.output("y", y);
  RealTimeStep made(step.plan());
  for (const int turns : {0, 2, 0, 3}) {
    made.reset();
    made(turns);
    CHECK(made["y"][0] == turns);
    CHECK(made["y"][1] == turns * turns);
  }
}

TEST_CASE("after construction no step asks for memory") {
  for (const StepModel& model : step_models()) {
    CAPTURE(model.name);
    RealTimeStep step(model.plan);
    const StepInputs inputs = step_inputs(model, 1);
    if (model.inputs > 0) std::ranges::copy(inputs.x.to_host(), step["x"].begin());
    const int token = model.vocab > 0 ? inputs.tokens.data()[0] : 0;
    Count count;
    for (int t = 0; t < 10000; ++t) step(token);
    step.reset();
    CHECK(count.result() == "");
  }
}

TEST_CASE("a state is kept and put back; names and kernels that do not exist are refused") {
  const StepModel model = recurrent_model(CellKind::lstm, {.input = 2, .hidden = 3, .layers = 2});
  RealTimeStep step(model.plan), other(model.plan);
  CHECK(step.state().size() == 2 * 2 * 3);
  for (int t = 0; t < 3; ++t) step();
  std::ranges::copy(step.state(), other.state().begin());
  step(), other();
  CHECK(std::ranges::equal(step["y"], other["y"]));
  CHECK(lacks(error_of([&] { step["z"]; }), {"z"}) == "");
  StepPlan plan = model.plan;
  plan.calls[0].kernel = "cosine";
  CHECK(lacks(error_of([&] { RealTimeStep{plan}; }), {"cosine"}) == "");
}

namespace {

// Words of which each is followed by one of four: the least perplexity is 4.
std::vector<int32_t> chain(int64_t count, const char* seed) {
  RandomStream random(1, seed);
  std::vector<int32_t> words{0};
  while (std::ssize(words) < count)
    words.push_back(static_cast<int32_t>((static_cast<uint32_t>(words.back()) * 7 + random.below(4)) % 50));
  return words;
}

double perplexity(const StepPlan& plan, StepWeightsIn weights, const std::vector<int32_t>& words) {
  RealTimeStep step(plan, weights);
  double nats = 0;
  for (size_t t = 0; t + 1 < words.size(); ++t) {
    step(words[t]);
    double sum = 0;
    for (const float logit : step["y"]) sum += std::exp(static_cast<double>(logit));
    nats += std::log(sum) - static_cast<double>(step["y"][static_cast<size_t>(words[t + 1])]);
  }
  return std::exp(nats / static_cast<double>(words.size() - 1));
}

}  // namespace

TEST_CASE("8 bits a weight cost a trained model less than 1 % of its perplexity") {
  constexpr int vocab = 50, width = 32;
  ParameterSet params;
  const Embedding embed(params / "embed", {.vocab = vocab, .dim = width});
  const Lstm lstm(params / "lstm", {.input = width, .hidden = width});
  const Dense out(params / "out", {.in = width, .out = vocab}, embed.weight);
  Adam adam(params, {.learning_rate = 1e-2});
  const std::vector<int32_t> words = chain(20000, "train");
  RecurrentState state = lstm.zero_state(10);
  for (const auto& [input, target] : BpttWindows(words, {.batch = 10, .steps = 20})) {
    Tape tape;
    const auto [y, next] = lstm(embed(input), state);
    tape.backward(softmax_cross_entropy(out, y, target));
    adam.step({.max_norm = 5});
    state = next;
  }
  const StepPlan plan = step_of(params, embed, RecurrentLayer(lstm), out);
  const std::vector<int32_t> others = chain(3000, "test");
  const double exact = perplexity(plan, StepWeightsIn::float32, others),
               small = perplexity(plan, StepWeightsIn::eight_bits, others);
  CHECK(exact < 6);
  CHECK(exact != small);
  CHECK(std::abs(small / exact - 1) < 0.01);
}
