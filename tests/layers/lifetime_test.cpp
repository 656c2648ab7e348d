// Models that are moved, replaced, or end before what uses their parameters.
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "layers/dropout.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "layers/stepper.h"
#include "tests/support.h"
#include "training/files/state_dict.h"
#include "unroll.h"

using namespace unroll;

namespace {

struct Model {
  explicit Model(int n) : out(params / "out", {.in = n, .out = n}) {}
  Var loss(int n) const { return sum(out(Var(Tensor::full({2, n}, real(0.5))))); }
  ParameterSet params;
  Dense out;
};

void train(const Model& model, int n, Optimizer& optimizer) {
  Tape tape;
  tape.backward(model.loss(n));
  optimizer.step({.max_norm = 1});
}

using Maker = std::unique_ptr<Optimizer> (*)(ParameterSet&);
constexpr Maker makers[] = {
    [](ParameterSet& p) -> std::unique_ptr<Optimizer> { return std::make_unique<Sgd>(p, SgdConfig{}); },
    [](ParameterSet& p) -> std::unique_ptr<Optimizer> { return std::make_unique<Adam>(p, AdamConfig{}); },
    [](ParameterSet& p) -> std::unique_ptr<Optimizer> { return std::make_unique<AdamW>(p, AdamWConfig{}); },
    [](ParameterSet& p) -> std::unique_ptr<Optimizer> {
      return std::make_unique<Rmsprop>(p, RmspropConfig{});
    },
    [](ParameterSet& p) -> std::unique_ptr<Optimizer> { return std::make_unique<Lion>(p, LionConfig{}); },
    [](ParameterSet& p) -> std::unique_ptr<Optimizer> { return std::make_unique<Asgd>(p, AsgdConfig{}); }};

const std::vector<std::string> gone = {"'out.weight'", "is gone", "replaced"};
std::vector<std::string> gone_for(std::string_view user) {
  std::vector<std::string> parts = gone;
  parts.emplace_back(user);
  return parts;
}

}  // namespace

TEST_CASE("an optimizer whose model was replaced says so, and names itself and a parameter") {
  for (const Maker make : makers) {
    Model model(4);
    const auto optimizer = make(model.params);
    train(model, 4, *optimizer);
    model = Model(6);
    CHECK(lacks(error_of([&] { train(model, 6, *optimizer); }), gone_for(optimizer->name())) == "");
    CHECK(lacks(error_of([&] { optimizer->parameters(); }), gone_for(optimizer->name())) == "");
    CHECK(lacks(error_of([&] { optimizer->order_step({}); }), gone_for(optimizer->name())) == "");
    CHECK(lacks(error_of([&] { optimizer->order_window(); }), gone_for(optimizer->name())) == "");
    const auto of_new = make(model.params);
    model.params.spend_gradients();
    train(model, 6, *of_new);
  }
}

// A moved model computes the same bits as one that stays where it is.
TEST_CASE("a model may be moved under its optimizer") {
  for (const Maker make : makers) {
    Model still(4);
    const auto of_still = make(still.params);
    std::vector<Model> models;
    models.emplace_back(4);
    const auto of_first = make(models[0].params);
    for (int step = 0; step < 4; ++step) {
      train(still, 4, *of_still);
      train(models[0], 4, *of_first);
      models.emplace_back(3);  // sooner or later the first one lies elsewhere
    }
    CHECK(same_bits(still.params.values(), models[0].params.values()));
    std::swap(models[0], models[1]);
    train(still, 4, *of_still);
    train(models[1], 4, *of_first);
    CHECK(same_bits(still.params.values(), models[1].params.values()));
    CHECK(models[1].params.step() == 5);
    CHECK(of_first->parameters().step() == 5);
  }
}

TEST_CASE("variables, layers and steppers whose model has ended say so, and name their parameter") {
  struct Language {
    ParameterSet params;
    Embedding embed{params / "embed", {.vocab = 5, .dim = 3, .dropout = 0.5f}};
    Lstm lstm{params / "lstm",
              {.input = 3, .hidden = 3, .layers = 2, .dropout = 0.5f, .recurrent_dropout = 0.5f}};
    Gru gru{params / "gru", {.input = 3, .hidden = 3}};
    Dense out{params / "out", {.in = 3, .out = 5}};
    Dropout dropout{params / "dropout", {.rate = 0.5f}};
  };
  std::optional<Language> model(std::in_place);
  const Language copies{ParameterSet(), model->embed, model->lstm, model->gru, model->out, model->dropout};
  const Var weight = model->out.weight;
  Stepper step(model->gru);
  TokenStepper tokens(model->embed, model->lstm, model->out);
  const IdTensor words = ids({2, 1}, {1, 2});
  const Tensor x = Tensor::zeros({2, 1, 3});
  std::optional<Tape> tape(std::in_place);
  const Var loss = sum(model->out(model->lstm(model->embed(words), model->lstm.zero_state(1)).y));
  model.reset();
  const auto says = [](const auto& use, const char* parameter) {
    CHECK(lacks(error_of(use), {parameter, "'embed.weight' is gone"}) == "");
  };
  says([&] { tape->backward(loss); }, "'out.weight'");
  tape.reset();
  const Tape another;
  says([&] { (void)weight.value(); }, "'out.weight'");
  says([&] { (void)weight.grad(); }, "'out.weight'");
  says([&] { copies.out(Var(x)); }, "'out.weight'");
  says([&] { copies.embed(words); }, "'embed.weight'");
  says([&] { copies.lstm(Var(x), copies.lstm.zero_state(1)); }, "lstm");
  says([&] { copies.gru(Var(x), copies.gru.zero_state(1)); }, "'gru.");
  says([&] { copies.dropout(Var(x)); }, "dropout");
  says([&] { step(Tensor::zeros({1, 3})); }, "'gru.");
  says([&] { tokens(1); }, "'embed.weight'");
}

TEST_CASE("a set whose parameters were moved to another says so") {
  Model model(4);
  const Model other = std::move(model);
  const auto says = [](const auto& use) {
    CHECK(lacks(error_of(use), {"ParameterSet is empty", "moved"}) == "");
  };
  says([&] { model.params.values(); });
  says([&] { model.params.at("out.weight"); });
  says([&] { state_dict(model.params); });
  says([&] { load_state_dict([](const std::string&, const Tensor&) {}, model.params); });
  says([&] { Adam(model.params, {}); });
  says([&] { Dense(model.params / "more", {.in = 1, .out = 1}); });
  CHECK(lacks(error_of([&] { model.out(Var(Tensor::zeros({1, 4}))); }), {"empty"}) == "");
  CHECK(state_dict(other.params).size() == 2);
}

TEST_CASE("averages end quietly where their model was replaced") {
  Model model(4);
  Asgd asgd(model.params, {});
  train(model, 4, asgd);
  {
    const AveragedWeights averaged(asgd);
    model = Model(4);
  }
  CHECK(lacks(error_of([&] { train(model, 4, asgd); }), {"asgd"}) == "");
}

// The member that the layers register in begins to live after them. Whatever lies in its place: bytes of any kind, or what
// an earlier model left there.
TEST_CASE("layers that are declared before their set are refused, and the layer is named") {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
  struct LayersFirst {
    Dense out{params / "out", {.in = 2, .out = 2}};
    ParameterSet params;
  };
#pragma GCC diagnostic pop
  struct SetFirst {
    Dense before;  // so that the set of both lies in one place
    ParameterSet params;
    explicit SetFirst(ParameterSet& other) : before(other / "before", {.in = 2, .out = 2}) {}
  };
  static_assert(sizeof(LayersFirst) == sizeof(SetFirst));
  alignas(LayersFirst) static unsigned char place[sizeof(LayersFirst)];
  const auto refused = [&] {
    CHECK(lacks(error_of([&] { new (place) LayersFirst; }), {"'out'", "ParameterSet", "declare it before"}) ==
          "");
  };
  for (const int byte : {0, 1, 0x7f, 0xff}) {
    std::memset(place, byte, sizeof place);
    refused();
  }
  ParameterSet params;
  SetFirst* const earlier = new (place) SetFirst(params);
  earlier->~SetFirst();
  refused();
}
