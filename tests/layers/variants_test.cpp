// The LSTM's options: gradients, rows of different lengths, and what each does in the cell and between layers. (Masks:
// masks_test.cpp.)
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "framework/gradcheck.h"
#include "framework/ops.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/rnn.h"
#include "layers/stepper.h"
#include "tests/layers/lstm_cases.h"

using namespace unroll;

namespace {

constexpr Engine engines[] = {Engine::fused, Engine::composed};

std::vector<Var> all_of(const Lstm::Output& out) { return {out.y, out.state.h, out.state.c}; }

void check_gradients(const LstmCase& c, bool dropout, int seeds, int elements = 0) {
  ParameterSet params(17);
  const Lstm lstm(params / "lstm", c.config);
  params.initialize(Init::uniform(-0.6f, 0.6f));  // gains and shifts too
  const Lengths lengths = c.lengths();
  CHECK(gradcheck(c.name(), params, c.shapes(),
                  [&](auto& v) {
                    return all_of(lstm(v[0], {v[1], v[2]}, lengths));
                  },
                  {.seeds = seeds, .elements = elements, .dropout = dropout, .twice = !dropout}));
}

// y of layers with weights of one seed, in training or not.
template <class Layer>
std::vector<real> y_of(const RecurrentConfig& config, bool training) {
  ParameterSet params(17);
  const Layer layer(params / "layer", config);
  params.initialize(Init::uniform(-0.6f, 0.6f));
  RandomStream random(5, "x");
  const Tensor x = random_tensor({4, 3, config.input}, random, -2, 2);
  std::optional<Tape> tape;
  if (training) tape.emplace();
  return values(layer(x, layer.zero_state(3)).y);
}

template <class Layer>
void check_that_options_act() {
  for (const Engine engine : engines)
    for (const RecurrentConfig& config :
         options_alone(Layer::facts, {.input = 3, .hidden = 4, .layers = 2, .engine = engine}))
      for (const RecurrentOption& option : recurrent_options) {
        if (!is_set(option, config)) continue;
        CAPTURE(option.name);
        RecurrentConfig without = config;
        unset(option, without);
        if (fault_in(Layer::facts, without)) continue;  // another needs it
        CHECK(y_of<Layer>(config, true) != y_of<Layer>(without, true));
        CHECK((y_of<Layer>(config, false) == y_of<Layer>(without, false)) ==
              (option.acts == RecurrentOption::Acts::in_training));
      }
}

}  // namespace

TEST_CASE("each option changes what a layer computes, and those of training nothing else") {
  check_that_options_act<Lstm>();
  check_that_options_act<Gru>();
  check_that_options_act<Rnn>();
}

// --- gradients ---------------------------------------------------------------------------------------------

TEST_CASE("each option alone is differentiated, with its masks and without") {
  for (Engine engine : engines)
    for (const LstmCase& c : lstm_options_alone(3, 3, 2, 3, 3))
      for (bool dropout : {true, false}) check_gradients(c.with(engine), dropout, 1);
}

TEST_CASE("options together are differentiated") {
  RandomStream random(3, "cases");
  for (int i = 0; i < 200; ++i)
    check_gradients(random_lstm_case(random, 3).with(engines[i % 2]), random.below(4) > 0, 1, 6);
}

// --- lengths -----------------------------------------------------------------------------------------------

TEST_CASE("a padded batch gives row by row the bits that the rows give alone, whatever the padding holds") {
  constexpr int steps = 5, input = 3, hidden = 4, layers = 2;
  const std::vector<int32_t> lengths = {5, 1, 3, 0, 4};
  const int batch = static_cast<int>(lengths.size());
  const real nan = std::numeric_limits<real>::quiet_NaN();
  for (Engine engine : engines)
    for (Padding padding : {Padding::after, Padding::before})
      for (float zoneout : {0.f, 0.3f}) {
        ParameterSet params(8);
        const Lstm lstm(params / "lstm", {.input = input,
                                          .hidden = hidden,
                                          .layers = layers,
                                          .zoneout_h = zoneout,
                                          .zoneout_c = zoneout / 2,
                                          .engine = engine});
        RandomStream random(9, "x");
        const Tensor x = random_tensor({steps, batch, input}, random);
        const Tensor h = random_tensor({layers, batch, hidden}, random),
                     c = random_tensor({layers, batch, hidden}, random);
        const Tensor of_y = random_tensor({steps, batch, hidden}, random),
                     of_h = random_tensor({layers, batch, hidden}, random),
                     of_c = random_tensor({layers, batch, hidden}, random);
        const auto first = [&](int b) { return padding == Padding::before ? steps - lengths[b] : 0; };
        const auto is_real = [&](int t, int b) { return t >= first(b) && t < first(b) + lengths[b]; };
        for (int t = 0; t < steps; ++t)
          for (int b = 0; b < batch; ++b)
            if (!is_real(t, b))
              x[t][b].fill(nan), of_y[t][b].fill(nan);  // also what the loss makes of the padding

        struct Result {
          Tensor y, h, c, dx, dh, dc, gradients;
        };
        // rows begin … end-1 of dimension 1
        const auto rows = [](const Tensor& whole, int begin, int end) {
          return slice(whole, 1, begin, end).value().clone();
        };
        const auto run = [&](const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& of_y,
                             const Tensor& of_h, const Tensor& of_c, const Lengths& of_rows) {
          params.spend_gradients();
          Tape tape({.dropout = false});
          const Var vx = tape.watch(x), vh = tape.watch(h), vc = tape.watch(c);
          const auto out = lstm(vx, {vh, vc}, of_rows);
          tape.backward(sum(out.y * Var(of_y)) + sum(out.state.h * Var(of_h)) + sum(out.state.c * Var(of_c)));
          params.complete_gradients();
          return Result{out.y.value(), out.state.h.value(), out.state.c.value(),       vx.grad(),
                        vh.grad(),     vc.grad(),           params.gradients().clone()};
        };
        const Result all = run(x, h, c, of_y, of_h, of_c, {ids({batch}, lengths), padding});
        Tensor sum_of_rows = Tensor::zeros(params.gradients().shape());
        for (int b = 0; b < batch; ++b) {
          const auto part = [&](const Tensor& whole) {  // the row's real steps
            return rows(whole.slice(first(b), first(b) + lengths[b]), b, b + 1);
          };
          for (int t = 0; t < steps; ++t)
            if (!is_real(t, b)) {
              CHECK(zeros(all.y[t][b]) == hidden);
              CHECK(zeros(all.dx[t][b]) == input);
            }
          if (lengths[b] == 0) {
            CHECK(same_bits(rows(all.h, b, b + 1), rows(h, b, b + 1)));
            CHECK(same_bits(rows(all.dc, b, b + 1), rows(of_c, b, b + 1)));
            continue;
          }
          const Result one = run(part(x), rows(h, b, b + 1), rows(c, b, b + 1), part(of_y),
                                 rows(of_h, b, b + 1), rows(of_c, b, b + 1), {});
          CHECK(same_bits(part(all.y), one.y));
          CHECK(same_bits(rows(all.h, b, b + 1), one.h));
          CHECK(same_bits(rows(all.c, b, b + 1), one.c));
          CHECK(same_bits(part(all.dx), one.dx));
          CHECK(same_bits(rows(all.dh, b, b + 1), one.dh));
          CHECK(same_bits(rows(all.dc, b, b + 1), one.dc));
          for (int64_t i = 0; i < sum_of_rows.size(); ++i) sum_of_rows.data()[i] += one.gradients.data()[i];
        }
        // sums of at most 25 numbers of order 1, in another order
        CHECK(distance(all.gradients, sum_of_rows) < 2 * 25 * std::numeric_limits<real>::epsilon() * 10);
      }
}

// --- what makes no sense -----------------------------------------------------------------------------------

TEST_CASE("options that make no sense are errors that say why") {
  ParameterSet params;
  const auto build = [&](const RecurrentConfig& config) {
    return error_of([&] { Lstm(params / "lstm", config); });
  };
  CHECK(lacks(build({.input = 2, .hidden = 3, .layers = 2, .locked_dropout = true}),
              {"locked_dropout", "dropout 0"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .dropout = 0.5f, .locked_dropout = true}),
              {"dropout needs layers above 1"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .recurrent_dropout = 1}), {"recurrent_dropout 1"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .weight_drop = -0.5f}), {"weight_drop -0.5"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .zoneout_h = 1.5f}), {"zoneout_h 1.5"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .zoneout_c = 1}), {"zoneout_c 1"}) == "");
  CHECK(params.all().empty());
  CHECK(lacks(build({.input = 2, .hidden = 3, .projection = 3}), {"projection (3)", "hidden (3)"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .residual = true}), {"residual", "layers above 1"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .last_hidden = 2}), {"last_hidden", "layers above 1"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .layers = 2, .last_hidden = 3}),
              {"last_hidden (3)", "hidden (3)"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .layers = 2, .projection = 1, .last_hidden = 2}),
              {"last_hidden", "projection"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .layers = 2, .last_hidden = 2, .residual = true}),
              {"last_hidden", "residual"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .gate_activation = Unary::tanh}),
              {"gate_activation", "hard_sigmoid"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .cell_activation = Unary::exp}),
              {"cell_activation", "softsign"}) == "");
  CHECK(params.all().empty());
  const Lstm lstm(params / "lstm", {.input = 2, .hidden = 3});
  const auto call = [&](const IdTensor& lengths) {
    return error_of([&] { lstm(Var(Tensor::zeros({4, 2, 2})), lstm.zero_state(2), {lengths}); });
  };
  CHECK(call(ids({2}, {4, 0})) == "");
  CHECK(lacks(call(ids({3}, {1, 1, 1})), {"lengths [3]", "[2]"}) == "");
  CHECK(lacks(call(ids({2}, {1, 5})), {"length 5", "row 1", "4"}) == "");
  CHECK(lacks(call(ids({2}, {-1, 4})), {"length -1", "row 0"}) == "");
}

// --- the cell and the layers -------------------------------------------------------------------------------

TEST_CASE("what an option adds has a name, a shape and first values of its own") {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3,
                                    .hidden = 4,
                                    .projection = 2,
                                    .layer_norm = true,
                                    .peepholes = true,
                                    .bidirectional = true});
  std::vector<std::string> found;
  for (const auto& p : params.all())
    found.push_back(p->name.substr(5) + " " + p->shape.text() + (p->decay ? "" : " no decay"));
  std::vector<std::string> expected;
  for (const std::string suffix : {"_l0", "_l0_reverse"})
    for (const auto& [name, shape] : {std::pair{"weight_ih", " [16, 3]"},
                                      {"weight_hh", " [16, 2]"},
                                      {"bias", " [16] no decay"},
                                      {"weight_hr", " [2, 4]"},
                                      {"peepholes", " [3, 4]"},
                                      {"norm_ih", " [16] no decay"},
                                      {"norm_hh", " [16] no decay"},
                                      {"norm_c", " [4] no decay"},
                                      {"norm_c_bias", " [4] no decay"}})
      expected.push_back(name + suffix + shape);
  CHECK(found == expected);
  for (const char* gain : {"norm_ih_l0", "norm_hh_l0", "norm_c_l0"})
    for (const real v : params.find(std::string("lstm.") + gain)->leaf_value().span()) CHECK(v == 1);
}

TEST_CASE("peepholes, projection and functions of a cell enter where the equations say") {
  const auto hard = [](double v) { return std::clamp(v / 6 + 0.5, 0., 1.); };
  const auto soft = [](double v) { return v / (1 + std::abs(v)); };
  for (Engine engine : engines) {
    ParameterSet params(3);
    const Lstm lstm(params / "lstm", {.input = 1,
                                      .hidden = 2,
                                      .projection = 1,
                                      .peepholes = true,
                                      .gate_activation = Unary::hard_sigmoid,
                                      .cell_activation = Unary::softsign,
                                      .engine = engine});
    const auto value = [&](const char* name) {
      return params.find(std::string("lstm.") + name + "_l0")->leaf_value().data();
    };
    const real *ih = value("weight_ih"), *hh = value("weight_hh"), *b = value("bias"),
               *hr = value("weight_hr"), *p = value("peepholes");
    const double x = 1.5, h = -0.5, before[] = {0.25, -0.75};
    const auto out = lstm(tensor({1, 1, 1}, {1.5}),
                          {Var(tensor({1, 1, 1}, {-0.5})), Var(tensor({1, 1, 2}, {0.25, -0.75}))});
    double y = 0;
    for (int j = 0; j < 2; ++j) {
      const auto sum = [&](int gate) {
        return ih[2 * gate + j] * x + hh[2 * gate + j] * h + b[2 * gate + j];
      };
      const double c =
          hard(sum(1) + p[2 + j] * before[j]) * before[j] + hard(sum(0) + p[j] * before[j]) * soft(sum(2));
      CHECK(values(out.state.c)[j] == doctest::Approx(c).epsilon(1e-14));
      y += hr[j] * hard(sum(3) + p[4 + j] * c) * soft(c);
    }
    CHECK(values(out.y)[0] == doctest::Approx(y).epsilon(1e-14));
  }
}

TEST_CASE("layer norm in the cell does not see a shift or a scale of its products") {
  for (Engine engine : engines) {
    ParameterSet params(3);
    const Lstm lstm(params / "lstm", {.input = 2, .hidden = 3, .layer_norm = true, .engine = engine});
    RandomStream random(1, "x");
    const Tensor x = random_tensor({4, 2, 2}, random);
    const auto scaled = [&](real factor) {
      for (const char* name : {"lstm.weight_ih_l0", "lstm.weight_hh_l0"})
        for (real& v : params.find(name)->leaf_value().on_host(Access::change)) v *= factor;
      return lstm(x, lstm.zero_state(2)).y.value();
    };
    // of products of variance v, eps takes the part eps/2v: variances are above 1 after the first scaling
    const Tensor y = scaled(1024), same = scaled(1024);
    CHECK(distance(y, same) < 1e-4);
    CHECK(distance(scaled(real(1) / 1024 / 1024 / 1024), same) > 1e-2);  // where eps is not small, it counts
  }
}

TEST_CASE(
    "with any option the directions of a layer are two layers of one, the second on the steps backwards") {
  std::vector<RecurrentConfig> configs = options_alone(Lstm::facts, {.input = 2, .hidden = 4});
  configs.push_back({.input = 2, .hidden = 4});
  std::erase_if(configs, [](const RecurrentConfig& config) { return config.bidirectional; });
  size_t compared = 0;
  for (Engine engine : engines)
    for (RecurrentConfig config : configs)
      for (bool padded : {false, true}) {
        config.engine = engine;
        RecurrentConfig of_both = config;
        of_both.bidirectional = true;
        if (fault_in(Lstm::facts, of_both)) continue;  // the option is of one direction
        ++compared;
        ParameterSet params(3), one(3);
        const Lstm both(params / "lstm", of_both), single(one / "lstm", config);
        const int width = config.width();
        RandomStream random(1, "x");
        const Tensor x = random_tensor({5, 2, 2}, random), h = random_tensor({2, 2, width}, random),
                     c = random_tensor({2, 2, 4}, random);
        const Lengths lengths = padded ? Lengths{ids({2}, {3, 5})} : Lengths{};
        const auto out = both(x, {h, c}, lengths);
        for (int d : {0, 1}) {
          for (const auto& p : one.all())
            p->leaf_value().copy_from(params.find(p->name + (d ? "_reverse" : ""))->leaf_value());
          const auto alone = single(d ? flip(x) : Var(x), {h.slice(d, d + 1), c.slice(d, d + 1)},
                                    d ? lengths.backwards() : lengths);
          CHECK(same_bits(slice(out.y, 2, width * d, width * d + width).value(),
                          (d ? flip(alone.y) : alone.y).value()));
          CHECK(same_bits(out.state.h.value()[d], alone.state.h.value()[0]));
          CHECK(same_bits(out.state.c.value()[d], alone.state.c.value()[0]));
        }
      }
  CHECK(compared > 2 * std::size(engines) * (configs.size() - 3));
}

TEST_CASE("a last layer of its own width is an Lstm behind the others") {
  for (Engine engine : engines) {
    ParameterSet params(3), apart(3);
    const Lstm whole(params / "lstm",
                     {.input = 2, .hidden = 5, .layers = 3, .last_hidden = 3, .engine = engine});
    const Lstm wide(apart / "wide", {.input = 2, .hidden = 5, .layers = 2, .engine = engine}),
        last(apart / "last", {.input = 5, .hidden = 3, .engine = engine});
    for (const auto& p : params.all()) {
      const std::string name = p->name.substr(5);
      const bool is_last = name.ends_with("_l2");
      Parameter* theirs =
          apart.find(is_last ? "last." + name.substr(0, name.size() - 1) + "0" : "wide." + name);
      REQUIRE_MESSAGE(theirs, name);
      theirs->leaf_value().copy_from(p->leaf_value());
    }
    // The elements that the narrow layer has no use for may hold anything, and come out as zeros.
    RandomStream random(1, "x");
    const Tensor x = random_tensor({4, 2, 2}, random), h = random_tensor({3, 2, 5}, random),
                 c = random_tensor({3, 2, 5}, random);
    const auto narrow = [](const Var& state) { return slice(state, 2, 0, 3); };
    const auto out = whole(x, {h, c});
    const auto below = wide(x, {h.slice(0, 2), c.slice(0, 2)});
    const auto above = last(below.y, {narrow(h.slice(2, 3)), narrow(c.slice(2, 3))});
    CHECK(same_bits(out.y.value(), above.y.value()));
    const auto check_state = [&](const Var& state, const Var& wide_state, const Var& last_state) {
      CHECK(same_bits(state.value().slice(0, 2), wide_state.value()));
      CHECK(same_bits(narrow(slice(state, 0, 2, 3)).value(), last_state.value()));
      CHECK(zeros(slice(slice(state, 0, 2, 3), 2, 3, 5).value()) == 4);
    };
    check_state(out.state.h, below.state.h, above.state.h);
    check_state(out.state.c, below.state.c, above.state.c);
    // One by one too, where only the last layer's part of the state is carried.
    Stepper step(whole, 2);
    step.set_state({h, c});
    for (int t = 0; t < 4; ++t) CHECK(distance(step(x[t]), out.y.value()[t]) < 1e-14);
  }
}

TEST_CASE("coupled gates are three, i being 1 - f, and a clipped state stays within its limit") {
  const auto s = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (Engine engine : engines) {
    ParameterSet params(3);
    const Lstm lstm(params / "lstm", {.input = 1,
                                      .hidden = 1,
                                      .peepholes = true,
                                      .cell_clip = 0.05f,
                                      .coupled_gates = true,
                                      .engine = engine});
    params.initialize(Init::uniform(-2, 2));
    const auto value = [&](const char* name) {
      return params.find(std::string("lstm.") + name + "_l0")->leaf_value().to_host();
    };
    const auto ih = value("weight_ih"), hh = value("weight_hh"), b = value("bias"), p = value("peepholes");
    CHECK(ih.size() == 3);  // f g o
    CHECK(p.size() == 2);   // f o
    double h = -0.5, c = 0.1;
    int clipped = 0;
    const auto out = lstm(tensor({3, 1, 1}, {1.5, -1, 3}), {tensor({1, 1, 1}, {h}), tensor({1, 1, 1}, {c})});
    for (int t = 0; t < 3; ++t) {
      const double x = t == 0 ? 1.5 : t == 1 ? -1 : 3;
      const auto sum = [&](size_t k) { return ih[k] * x + hh[k] * h + b[k]; };
      const double f = s(sum(0) + p[0] * c), g = std::tanh(sum(1)), free = f * c + (1 - f) * g;
      clipped += std::abs(free) > 0.05f;
      c = std::clamp(free, -double(0.05f), double(0.05f));
      h = s(sum(2) + p[1] * c) * std::tanh(c);
      CHECK(values(out.y)[t] == doctest::Approx(h).epsilon(1e-14));
    }
    CHECK(clipped > 0);
    CHECK(values(out.state.c)[0] == doctest::Approx(c).epsilon(1e-14));
  }
}
