// Parity with PyTorch's autograd inside a model (tests/reference/make_inspection.py): every number that `ptb look`
// and `timeseries look` show. Compiled in double and in float.
#include "layers/inspection.h"

#include <cmath>
#include <functional>
#include <memory>

#include "tests/reference.h"
#include "tests/support.h"

using namespace unroll;

namespace {

constexpr bool in_double = sizeof(real) == 8;
// Relative to the largest number of a panel. In float: 11 steps of two layers, sums of at most 11 terms.
constexpr double bound = in_double ? 1e-9 : 1e-4;

const Json& recorded() { return reference("inspection.json"); }

struct Model {
  explicit Model(const std::string& kind, Engine engine = Engine::automatic)
      : embedding(params / "embedding", {.vocab = recorded().at("vocab"), .dim = recorded().at("width")}),
        recurrent(make(params, kind, engine)),
        decoder(kind == "tied" ? Dense(params / "decoder", dense(recurrent), embedding.weight)
                               : Dense(params / "decoder", dense(recurrent))) {
    load(params, recorded().at("models").at(kind).at("parameters"));
  }
  static DenseConfig dense(const RecurrentLayer& layer) {
    return {.in = layer.config().output(), .out = recorded().at("vocab")};
  }
  static RecurrentLayer make(ParameterSet& params, const std::string& kind, Engine engine) {
    const CellKind cell = kind == "gru" ? CellKind::gru : kind == "rnn" ? CellKind::rnn : CellKind::lstm;
    RecurrentConfig config{.input = recorded().at("width"),
                           .hidden = recorded().at("width"),
                           .layers = recorded().at("layers"),
                           .engine = engine};
    if (kind == "projected") config.projection = recorded().at("projection");
    return {params / facts_of(cell).name, cell, config};
  }
  TokenModel parts() { return {params, embedding, recurrent, decoder}; }
  ParameterSet params;
  Embedding embedding;
  RecurrentLayer recurrent;
  Dense decoder;
};

TokenText text_of() {
  return {.input = recorded().at("input").get<std::vector<int32_t>>(),
          .target = recorded().at("target").get<std::vector<int32_t>>()};
}

double largest(const Json& numbers) {
  double result = 0;
  for (const Json& row : numbers)
    for (const double v : row) result = std::max(result, std::abs(v));
  return result;
}
// Relative to the largest of them all.
double off(const Tensor& values, const Json& rows) {
  double worst = 0;
  const auto ours = values.to_host();
  REQUIRE(values.dim(0) == static_cast<int>(rows.size()));
  for (size_t t = 0; t < rows.size(); ++t)
    for (size_t s = 0; s < rows[t].size(); ++s)
      worst = std::max(worst,
                       std::abs(ours[t * static_cast<size_t>(values.dim(1)) + s] - rows[t][s].get<double>()));
  return worst / largest(rows);
}
double off(const Tensor& values, const Json& expected, bool) {
  return distance(values, tensor_of(expected)) /
         std::max(1.0, distance(tensor_of(expected), Tensor::zeros(values.shape())));
}

}  // namespace

TEST_CASE("probabilities, gates and states are PyTorch's: LSTM, GRU, plain, projected, tied") {
  for (const auto& [kind, expected] : recorded().at("models").items())
    for (const Engine engine : {Engine::fused, Engine::composed}) {
      CAPTURE(kind);
      Model model(kind, engine);
      const TextInspection seen = inspect(model.parts(), text_of());
      CHECK(off(seen.log_p, expected.at("log_p"), true) < bound);
      CHECK(seen.gate_names == expected.at("gate_names").get<std::vector<std::string>>());
      REQUIRE(seen.layers.size() == expected.at("layers").size());
      for (size_t k = 0; k < seen.layers.size(); ++k) {
        const Json& layer = expected.at("layers")[k];
        CHECK(off(seen.layers[k].h, layer.at("h"), true) < bound);
        CHECK(seen.layers[k].c.defined() == layer.contains("c"));
        if (layer.contains("c")) CHECK(off(seen.layers[k].c, layer.at("c"), true) < bound);
        REQUIRE(seen.layers[k].gates.size() == layer.at("gates").size());
        for (size_t g = 0; g < layer.at("gates").size(); ++g)
          CHECK(off(seen.layers[k].gates[g], layer.at("gates")[g], true) < bound);
      }
    }
}

TEST_CASE("how far back gradients reach is what PyTorch's autograd says, however many targets go together") {
  for (const auto& [kind, expected] : recorded().at("models").items())
    for (const int at_once : {16, 4, 1}) {
      CAPTURE(kind);
      CAPTURE(at_once);
      Model model(kind);
      const GradientReach reach = gradient_reach(model.parts(), text_of(), at_once);
      const Json& numbers = expected.at("reach");
      CHECK(off(reach.embedding, numbers.at("embedding")) < bound);
      for (size_t k = 0; k < reach.h.size(); ++k) CHECK(off(reach.h[k], numbers.at("h")[k]) < bound);
      CHECK(reach.c.size() == (numbers.contains("c") ? reach.h.size() : 0));
      for (size_t k = 0; k < reach.c.size(); ++k) CHECK(off(reach.c[k], numbers.at("c")[k]) < bound);
      for (const auto& p : model.params.all()) CHECK_FALSE(p->frozen);
      CHECK_FALSE(model.params.all()[0]->node.gradient.written());
    }
}

TEST_CASE(
    "the tape of a step: its loss is that step's, and its gradient at the embedding that of the panel") {
  Model model("lstm");
  const TokenText text = text_of();
  const std::vector<TapeGraph> graphs = step_graphs(model.parts(), text);
  const TextInspection seen = inspect(model.parts(), text);
  const GradientReach reach = gradient_reach(model.parts(), text);
  REQUIRE(graphs.size() == text.input.size());
  for (size_t t = 0; t < graphs.size(); ++t) {
    const auto& operations = graphs[t].operations;
    CHECK(operations.back().name == std::string("softmax_cross_entropy"));
    const double nats =
        -seen.log_p
             .to_host()[t * static_cast<size_t>(seen.log_p.dim(1)) + static_cast<size_t>(text.target[t])];
    CHECK(std::abs(operations.back().results[0].norm - nats) < bound);
    CHECK(operations.front().name == std::string("embedding"));
    const double at_embedding = reach.embedding.to_host()[t * text.input.size() + t];
    CHECK(std::abs(operations.front().results[0].gradient_norm.value() - at_embedding) < bound);
    CHECK(graphs[t].parameters.size() == model.params.all().size());
    for (const auto& p : graphs[t].parameters) CHECK(p.value.gradient_norm.has_value());
  }
}

TEST_CASE("where a document begins, nothing before it counts") {
  Model model("lstm");
  TokenText text = text_of();
  text.resets.assign(text.input.size(), 0);
  text.resets[5] = 1;
  const GradientReach reach = gradient_reach(model.parts(), text);
  const TextInspection whole = inspect(model.parts(), text);
  const TokenText rest = {.input = {text.input.begin() + 5, text.input.end()},
                          .target = {text.target.begin() + 5, text.target.end()}};
  const TextInspection own = inspect(model.parts(), rest);
  CHECK(distance(whole.log_p.slice(5, text.steps()), own.log_p) < bound);
  for (int t = 5; t < text.steps(); ++t)
    for (int s = 0; s < 5; ++s) CHECK(reach.embedding[t].to_host()[static_cast<size_t>(s)] == 0);
  const auto graphs = step_graphs(model.parts(), text);
  const double nats = -own.log_p[0].to_host()[static_cast<size_t>(rest.target[0])];
  CHECK(std::abs(graphs[5].operations.back().results[0].norm - nats) < bound);
}

TEST_CASE(
    "agreement: the share of the right form is PyTorch's, and each case has the state before its verb") {
  std::vector<AgreementCase> cases;
  for (const Json& prefix : recorded().at("prefixes"))
    cases.push_back(
        {.before = prefix[0].get<std::vector<int32_t>>(), .right = prefix[1], .wrong = prefix[2]});
  for (const auto& [kind, expected] : recorded().at("models").items())
    for (const int at_once : {64, 2}) {
      CAPTURE(kind);
      Model model(kind);
      const Agreement found = measure_agreement(model.parts(), cases, at_once);
      for (size_t i = 0; i < cases.size(); ++i) {
        CHECK(std::abs(found.p_right[i] - expected.at("agreement")[i].get<double>()) < bound);
        TokenText text{.input = cases[i].before, .target = cases[i].before};
        const TextInspection seen = inspect(model.parts(), text);
        for (size_t k = 0; k < found.states.size(); ++k) {
          const Tensor& of_text = seen.layers[k].c.defined() ? seen.layers[k].c : seen.layers[k].h;
          CHECK(distance(found.states[k][static_cast<int>(i)], of_text[text.steps() - 1]) < bound);
        }
      }
    }
}

TEST_CASE("which unit tells a class, and which follows a number") {
  const Tensor first = tensor({6, 2}, {1, 5, 2, 5, 3, 5, 4, 5, 5, 5, 6, 5});
  const Tensor second = tensor({6, 1}, {9, 8, 7, -1, -2, -3});
  const std::vector<int> labels = {1, 1, 1, 0, 0, 0};
  const auto told = units_that_tell({first, second}, labels, 5);
  REQUIRE(told.size() == 3);
  CHECK((told[0].layer == 0 && told[0].unit == 0 && told[0].share == 1));  // of equals, the first
  CHECK((told[0].threshold == doctest::Approx(3.5) && !told[0].above_is_1));
  CHECK((told[1].layer == 1 && told[1].share == 1 && told[1].above_is_1 &&
         told[1].threshold == doctest::Approx(3)));
  CHECK(told[2].share == 0);  // always the same: there is no threshold
  // The classes have 4 and 2 cases and count half each: units of the first layer are right in 3 of 4 and 2 of 2.
  const auto uneven = units_that_tell({first}, std::vector<int>{0, 0, 1, 0, 1, 1}, 1);
  CHECK(uneven[0].share == doctest::Approx((1 + 2.0 / 3) / 2));
  CHECK(units_that_tell({first}, std::vector<int>{1, 1, 1, -1, -1, -1}, 1).empty());
  CHECK(units_that_tell({first}, std::vector<int>{1, 1, -1, 0, -1, -1}, 1)[0].threshold ==
        doctest::Approx(3));

  const auto followed =
      units_that_follow({first, second}, std::vector<double>{2, 4, 6, std::nan(""), 10, 12}, 2);
  REQUIRE(followed.size() == 2);
  CHECK(followed[0].share == doctest::Approx(1));
  CHECK((followed[0].above_is_1 && followed[1].layer == 1 && !followed[1].above_is_1));
  CHECK(units_that_follow({first}, std::vector<double>(6, 1), 2).empty());
  CHECK(lacks(error_of([&] { (void)units_that_tell({first}, std::vector<int>{1}, 1); }),
              {"1 labels", "[6, 2]"}) == "");
}

// By hand: p = 0.5, n = 10, z² = 3.8415: middle (0.5 + 0.19207) / 1.38415, half 1.96 sqrt(0.025 + 0.0096036) / 1.38415.
TEST_CASE("Wilson's interval of a share") {
  const Interval half = interval_of_share(5, 10), all = interval_of_share(200, 200);
  CHECK(half.low == doctest::Approx(0.23659).epsilon(1e-4));
  CHECK(half.high == doctest::Approx(0.76341).epsilon(1e-4));
  CHECK(all.low == doctest::Approx(0.98115).epsilon(1e-4));
  CHECK(all.high == 1);
  for (const int n : {3, 10, 11, 14, 200})  // rounding leads past the share, or past 0 or 1, with some
    for (const int hits : {0, n}) {
      const Interval at_end = interval_of_share(hits, n);
      CHECK((at_end.low >= 0 && at_end.low <= double(hits) / n && at_end.high >= double(hits) / n &&
             at_end.high <= 1));
    }
}

TEST_CASE(
    "gradients of single outputs at every number read, and their norms at the states, are PyTorch's") {
  const std::vector<int> outputs = recorded().at("outputs");
  for (const auto& [kind, expected] : recorded().at("models").items())
    for (const int at_once : {16, 2, 1}) {
      CAPTURE(kind);
      CAPTURE(at_once);
      Model model(kind);
      const std::vector<int32_t> read = text_of().input;
      const Tensor x = model.embedding(IdTensor::from({static_cast<int>(read.size())}, read)).value();
      std::vector<std::vector<real>> y;  // of each call
      const SequenceModel forward = [&](const Var& rows) -> SequenceOutput {
        const RecurrentTrace trace = model.recurrent.trace(rows, model.recurrent.zero_state(rows.dim(1)));
        const Var last = model.decoder(row(trace.y, rows.dim(0) - 1));
        y.push_back(last.value()[0].to_host());
        return {last, trace.cells};
      };
      const OutputReach reach = output_reach(model.params, forward, x, outputs, at_once);
      const Json& numbers = expected.at("outputs");
      CHECK(y.size() == (outputs.size() + static_cast<size_t>(at_once) - 1) / static_cast<size_t>(at_once));
      for (size_t i = 0; i < outputs.size(); ++i)
        CHECK(std::abs(y[0][static_cast<size_t>(outputs[i])] - numbers.at("y")[i].get<double>()) < bound);
      CHECK(off(reach.input, numbers.at("input")) < bound);
      REQUIRE(reach.h.size() == numbers.at("h").size());
      for (size_t k = 0; k < reach.h.size(); ++k) CHECK(off(reach.h[k], numbers.at("h")[k]) < bound);
      CHECK(reach.c.size() == (numbers.contains("c") ? reach.h.size() : 0));
      for (size_t k = 0; k < reach.c.size(); ++k) CHECK(off(reach.c[k], numbers.at("c")[k]) < bound);
      for (const auto& p : model.params.all()) CHECK_FALSE(p->frozen);
    }
}

TEST_CASE("what cannot be looked at is refused") {
  Model model("lstm");
  const TokenModel parts = model.parts();
  CHECK(lacks(error_of([&] { (void)inspect(parts, {}); }), {"0 words"}) == "");
  CHECK(lacks(error_of([&] {
                (void)gradient_reach(parts, {.input = {1, 2}, .target = {1}});
              }),
              {"2 words", "1 predicted"}) == "");
  CHECK(lacks(error_of([&] {
                (void)step_graphs(parts, {.input = {1}, .target = {1}, .resets = {0, 1}});
              }),
              {"2 resets"}) == "");
  CHECK(lacks(error_of([&] { (void)measure_agreement(parts, {}); }), {"0 cases"}) == "");
  CHECK(lacks(error_of([&] { (void)output_reach(model.params, {}, Tensor::zeros({3, 2}), {}); }),
              {"0 outputs", "[3, 2]"}) == "");
}

TEST_CASE("a look leaves a frozen parameter frozen") {
  Model model("lstm");
  Parameter& frozen = *model.params.all()[1];
  frozen.frozen = true;
  (void)gradient_reach(model.parts(), text_of());
  const SequenceModel forward = [&](const Var& rows) -> SequenceOutput {
    return {model.decoder(row(model.recurrent(rows, model.recurrent.zero_state(rows.dim(1))).y, 0))};
  };
  const int width = model.embedding.config.dim;
  (void)output_reach(model.params, forward, Tensor::full({1, width}, 1), std::vector<int>{0, 1});
  for (const Parameter* p : model.params.all()) CHECK(p->frozen == (p == &frozen));
}

TEST_CASE("the parameters' gradients in the tape of a step are those of that step alone") {
  Model model("gru");
  const auto graphs = step_graphs(model.parts(), {.input = {3, 3}, .target = {1, 1}, .resets = {0, 1}});
  REQUIRE(graphs.size() == 2);
  for (size_t p = 0; p < graphs[0].parameters.size(); ++p)
    CHECK(graphs[1].parameters[p].value.gradient_norm == graphs[0].parameters[p].value.gradient_norm);
}

TEST_CASE("units that tell or follow equally well keep their order, many too") {
  Tensor twins({2, 40});
  for (int j = 0; j < 40; ++j) twins[0].data()[j] = 0, twins[1].data()[j] = j % 2 ? 1 : -1;
  const std::vector<Tensor> layers = {twins, twins};
  const auto told = units_that_tell(layers, std::vector<int>{0, 1}, 70),
             followed = units_that_follow(layers, std::vector<double>{3, 5}, 70);
  REQUIRE(told.size() == 70);
  REQUIRE(followed.size() == 70);
  for (const auto* found : {&told, &followed})
    for (int k = 0; k < 70; ++k) {
      const UnitTells& unit = (*found)[static_cast<size_t>(k)];
      CHECK((unit.layer == k / 40 && unit.unit == k % 40 && unit.share == doctest::Approx(1)));
      CHECK(unit.above_is_1 == (k % 2 == 1));
    }
}

TEST_CASE("layers that read both ways, and a verb without words before it, are refused") {
  Model model("lstm");
  ParameterSet params;
  const int width = model.embedding.config.dim;
  const RecurrentLayer both(params / "both", CellKind::gru,
                            {.input = width, .hidden = width, .bidirectional = true});
  const Dense decoder(params / "decoder", {.in = 2 * width, .out = model.decoder.config.out});
  const TokenModel parts{params, model.embedding, both, decoder};
  const TokenText text = text_of();
  for (const std::function<void()>& look : std::initializer_list<std::function<void()>>{
           [&] { (void)inspect(parts, text); }, [&] { (void)gradient_reach(parts, text); },
           [&] { (void)step_graphs(parts, text); }})
    CHECK(lacks(error_of(look), {"bidirectional"}) == "");
  const std::vector<AgreementCase> cases = {{.before = {0, 1}, .right = 2, .wrong = 3},
                                            {.before = {}, .right = 2, .wrong = 3}};
  for (const int at_once : {1, 2})
    CHECK(error_of([&] { (void)measure_agreement(model.parts(), cases, at_once); }) ==
          "agreement: case 1 has no words before the verb");
  const int vocab = model.decoder.config.out;
  for (const int word : {-1, vocab}) {
    const std::string refusal =
        fmt::format("agreement: case 0 has the word {}, which is not in 0 … {}", word, vocab - 1);
    const AgreementCase right{.before = {0}, .right = word, .wrong = 1}, wrong{{0}, 1, word};
    for (const AgreementCase* one : {&right, &wrong})
      CHECK(error_of([&] { (void)measure_agreement(model.parts(), std::span(one, 1)); }) == refusal);
  }
}
