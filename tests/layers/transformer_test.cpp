// The Transformer: PyTorch's numbers, gradients by central differences, what a step sees, windows of any size, errors.
#include "layers/transformer.h"

#include <functional>

#include "tests/reference.h"
#ifdef UNROLL_DOUBLE
#include "framework/gradcheck.h"
#endif

using namespace unroll;

namespace {

constexpr double near = sizeof(real) == 8 ? 1e-13 : 1e-5;
constexpr TransformerConfig tiny{.dim = 4, .heads = 2, .layers = 2, .feed_forward = 6, .memory = 3};

struct Read {
  Tensor y;
  RecurrentState state;
};
// x in windows of `size` steps, from a state of zeros.
Read read(const Transformer& net, const Tensor& x, int size, const IdTensor& resets = {}) {
  RecurrentState state = net.zero_state(x.dim(1));
  Vars parts;
  for (int t = 0; t < x.dim(0); t += size) {
    const int end = std::min(t + size, x.dim(0));
    const auto [y, next] = net(x.slice(t, end), state, resets.defined() ? resets.slice(t, end) : IdTensor());
    parts.push_back(y.value());
    state = next;
  }
  return {concat(parts, 0).value(), state};
}

IdTensor resets_at(int steps, int batch, const std::vector<std::pair<int, int>>& where) {
  IdTensor resets({steps, batch});
  std::ranges::fill(resets.span(), 0);
  for (const auto& [step, row] : where) resets.data()[int64_t{step} * batch + row] = 1;
  return resets;
}

}  // namespace

TEST_CASE("without a last norm, and with last products of zero, y is x") {
  ParameterSet params;
  TransformerConfig config = tiny;
  config.last_norm = false;
  const Transformer net(params / "net", config);
  CHECK(params.find("net.norm.weight") == nullptr);
  for (const auto& p : params.all())
    if (p->name.find("out_proj") != std::string::npos || p->name.find("linear2") != std::string::npos)
      p->leaf_value().fill(0);
  const Tensor x = Tensor::full({5, 2, 4}, real(0.25));
  CHECK(same_bits(read(net, x, 2).y, x));
  params.find("net.layers.1.linear2.bias")->leaf_value().fill(real(0.5));
  CHECK(read(net, x, 5).y.on_host()[7] == real(0.75));
}

TEST_CASE("layers give PyTorch's values and gradients, where rows begin anew and where none does") {
  const Json& file = reference("transformer.json");
  Worst worst;
  for (const auto& [name, c] : file.at("cases").items()) {
    ParameterSet params;
    const Transformer net(params / "net", {.dim = file.at("dim"),
                                           .heads = file.at("heads"),
                                           .layers = file.at("layers"),
                                           .feed_forward = file.at("units"),
                                           .memory = file.at("memory")});
    const auto own = [](const auto& p) { return p->name.substr(4); };
    REQUIRE(params.all().size() == c.at("parameters").size());
    for (const auto& p : params.all()) p->leaf_value().copy_from(tensor_of(c.at("parameters").at(own(p))));
    const Tensor flags = tensor_of(c.at("resets")), x = tensor_of(c.at("x"));
    IdTensor resets(flags.shape());
    for (int64_t i = 0; i < flags.size(); ++i) resets.data()[i] = flags.on_host()[i] != 0;
    Tape tape;
    const Var in = tape.watch(x);
    const Var y = net(in, net.zero_state(x.dim(1)), name == "plain" ? IdTensor() : resets).y;
    tape.backward(sum(y * Var(tensor_of(c.at("dy")))));
    // Sums of some thirty numbers of order 1 in another order: elements below 0.01 count as that.
    worst(relative(y.value(), c.at("y"), 1e-2), name + " y");
    worst(relative(in.grad(), c.at("dx"), 1e-2), name + " dx");
    for (const auto& p : params.all())
      worst(relative(p->node.gradient.value(p->shape), c.at("gradients").at(own(p)), 1e-2),
            fmt::format("{} gradient of {}", name, own(p)));
    for (const int size : {1, 3, 5})
      worst(relative(read(net, x, size, name == "plain" ? IdTensor() : resets).y, c.at("y"), 1e-2),
            fmt::format("{} y in windows of {}", name, size));
  }
  CHECK_MESSAGE(worst.error < (sizeof(real) == 8 ? 1e-10 : 1e-3), worst.text());
}

#ifdef UNROLL_DOUBLE
TEST_CASE(
    "it is differentiated with respect to what it reads and to its weights, a state before it or none") {
  RandomStream random(2, "state");
  ParameterSet params;
  TransformerConfig config = tiny;
  config.dropout = 0.2f, config.attention_dropout = 0.3f;
  const Transformer net(params / "net", config);
  params.initialize(Init::uniform(-0.5f, 0.5f));
  const RecurrentState before = read(net, random_tensor({2, 2, 4}, random), 2).state;
  const IdTensor resets = resets_at(3, 2, {{1, 1}});
  for (const bool drops : {false, true})
    CHECK(gradcheck("transformer", params, {{3, 2, 4}},
                    [&](auto& v) {
                      return std::vector<Var>{net(v[0], before).y, net(v[0], net.zero_state(2)).y,
                                              net(v[0], before, resets).y};
                    },
                    {.seeds = 1, .dropout = drops, .twice = !drops}));
}
#endif

TEST_CASE("windows of any size give the same outputs and the same state") {
  RandomStream random(3, "windows");
  ParameterSet params;
  const Transformer net(params / "net", tiny);
  const Tensor x = random_tensor({11, 2, 4}, random);
  for (const IdTensor& resets : {IdTensor(), resets_at(11, 2, {{0, 0}, {4, 1}, {5, 0}, {6, 0}})}) {
    const Read whole = read(net, x, 11, resets);
    for (const int size : {1, 2, 3, 4, 7}) {
      const Read parts = read(net, x, size, resets);
      CHECK(distance(parts.y, whole.y) < near);
      CHECK(distance(parts.state.h, whole.state.h) < near);
      CHECK(distance(parts.state.c, whole.state.c) == 0);
    }
  }
  CHECK(values(Var(read(net, x, 4, resets_at(11, 2, {{9, 1}})).state.c)) == std::vector<real>{3, 2});
}

TEST_CASE(
    "a step sees itself, `memory` steps before it in each layer, and nothing after it or before its row began") {
  RandomStream random(4, "sight");
  ParameterSet params;
  const Transformer net(params / "net", tiny);
  const Tensor x = random_tensor({12, 2, 4}, random), other = x.clone();
  other[3].slice(0, 1).fill(real(0.7));
  for (const int size : {12, 5}) {
    const Tensor a = read(net, x, size).y, b = read(net, other, size).y;
    for (int t = 0; t < 12; ++t) {
      const bool reached = t >= 3 && t <= 3 + tiny.layers * tiny.memory;
      CHECK((distance(a[t].slice(0, 1), b[t].slice(0, 1)) > 1e-9) == reached);
      CHECK(distance(a[t].slice(1, 2), b[t].slice(1, 2)) == 0);
    }
    // After a reset a row says what it would say as the first.
    const Tensor anew = read(net, x, size, resets_at(12, 2, {{5, 0}})).y;
    CHECK(distance(anew.slice(5, 12), read(net, x.slice(5, 12), size).y) > 1e-3);  // row 1 went on
    const auto first_row = [](const Tensor& y) { return slice(y, 1, 0, 1).value(); };
    CHECK(distance(first_row(anew.slice(5, 12)), first_row(read(net, x.slice(5, 12), size).y)) < near);
    CHECK(distance(anew.slice(0, 5), a.slice(0, 5)) == 0);
  }
}

TEST_CASE("rows of a state go on by themselves, and the order of what was read matters") {
  RandomStream random(5, "rows");
  ParameterSet params;
  const Transformer net(params / "net", tiny);
  const Tensor x = random_tensor({4, 3, 4}, random), more = random_tensor({2, 3, 4}, random);
  const RecurrentState state = read(net, x, 4).state;
  const Tensor all = net(more, state).y.value();
  const Tensor some = net(slice(more, 1, 1, 3), state.rows(1, 3)).y.value();
  CHECK(distance(some, slice(all, 1, 1, 3).value()) < near);
  CHECK(distance(net(more, read(net, flip(x).value(), 4).state).y.value(), all) > 1e-3);
}

TEST_CASE("masks of dropout are the same at all steps if they are locked, and off without a tape") {
  RandomStream random(6, "dropout");
  ParameterSet params;
  const Transformer net(params / "net", {.dim = 4, .dropout = 0.5f, .locked_dropout = true});
  const Tensor step = random_tensor({1, 2, 4}, random), x = concat({step, step, step}, 0).value();
  const auto y_of = [&] { return net(x, net.zero_state(2)).y.value(); };
  CHECK(distance(y_of(), y_of()) == 0);
  Tape tape;
  // Equal steps see equal steps: they differ only by their masks.
  const Tensor y = y_of();
  CHECK(distance(y[0], y[2]) < near);
  CHECK(distance(y.slice(0, 3), read(net, x, 3).y) > 1e-3);  // another call, other masks
}

// Products whose results are known: y - x is what dropout has left of them.
TEST_CASE("what attention gives, the units, and what they give are dropped, each by itself") {
  ParameterSet params;
  const TransformerConfig config{.dim = 8,
                                 .heads = 2,
                                 .layers = 1,
                                 .feed_forward = 16,
                                 .memory = 3,
                                 .dropout = 0.5f,
                                 .last_norm = false};
  const Transformer net(params / "net", config);
  const auto fill = [&](const std::string& name, real value) {
    params.find("net.layers.0." + name)->leaf_value().fill(value);
  };
  const Tensor x = Tensor::zeros({6, 2, 8});
  const auto added = [&] {
    Tape tape;
    return values(net(x, net.zero_state(2)).y);
  };
  const auto distinct = [](std::vector<real> of) {
    std::ranges::sort(of);
    of.erase(std::ranges::unique(of).begin(), of.end());
    return of;
  };
  for (const char* name : {"self_attn.out_proj.weight", "linear1.weight", "linear2.weight", "linear2.bias"})
    fill(name, 0);
  fill("self_attn.out_proj.bias", 1);
  CHECK(distinct(added()) == std::vector<real>{0, 2});
  fill("self_attn.out_proj.bias", 0), fill("linear2.bias", 1);
  CHECK(distinct(added()) == std::vector<real>{0, 2});
  // Some of 16 units of gelu(1) are left, twice as large, and their sum is 0 or twice as large.
  fill("linear2.bias", 0), fill("linear1.bias", 1), fill("linear2.weight", 1);
  const real unit = gelu(Var(Tensor::full({1}, 1))).item();
  const std::vector<real> sums = distinct(added());
  CHECK(sums.size() > 3);  // 0, and other counts of units
  for (const real sum : sums) {
    const double units = static_cast<double>(sum / (4 * unit));
    CHECK(units == doctest::Approx(std::round(units)).epsilon(1e-5));
  }
}

TEST_CASE("what does not fit is told with both shapes") {
  ParameterSet params;
  const auto error_with = [&](const TransformerConfig& c) {
    return error_of([&] { Transformer(params / "bad", c); });
  };
  CHECK(lacks(error_with({.dim = 5, .heads = 2}), {"transformer", "dim 5", "2 heads"}) == "");
  CHECK(lacks(error_with({.dim = 4, .memory = 0}), {"memory 0"}) == "");
  CHECK(lacks(error_with({.dim = 4, .dropout = 1}), {"dropout 1", "[0, 1)"}) == "");
  const Transformer net(params / "net", tiny);
  const auto error = [&](const Shape& x, const RecurrentVars& state, const IdTensor& resets = {}) {
    return error_of([&] { net(Tensor(x), state, resets); });
  };
  CHECK(lacks(error({3, 2, 5}, net.zero_state(2)), {"[3, 2, 5]", "4"}) == "");
  CHECK(lacks(error({3, 2, 4}, net.zero_state(3)), {"[12, 3, 4]", "[12, 2, 4]", "[3, 2, 4]"}) == "");
  CHECK(lacks(error({3, 2, 4}, {}), {"zero_state"}) == "");
  CHECK(lacks(error({3, 2, 4}, net.zero_state(2), IdTensor({2, 2})), {"resets [2, 2]", "[3, 2]"}) == "");
  CHECK(describe_transformer(tiny) == "Transformer, 2 layers of 4, 2 heads, 6 units, memory 3");
}

TEST_CASE(
    "a Transformer of one layer and one head is described so, and has four times its width in units unasked") {
  ParameterSet params;
  const Transformer net(params / "net", {.dim = 4});
  CHECK(params.at("net.layers.0.linear1.weight").shape == Shape{16, 4});
  CHECK(describe_transformer(net.config()) == "Transformer, 1 layer of 4, 1 head, 16 units, memory 64");
}

TEST_CASE("queries, keys and values of a memory have their own weights, each with its part of the bias") {
  RandomStream random(8, "key_dim");
  for (const int width : {4, 3}) {
    ParameterSet params;
    const MultiHeadAttention look(params / "a", {.dim = 4, .heads = 2, .key_dim = width});
    params.initialize(Init::uniform(-1, 1));
    const Tensor queries = random_tensor({2, 3, 4}, random), memory = random_tensor({5, 3, width}, random);
    const auto projected = [&](const Tensor& x, int which, const char* name) {
      const int begin = 4 * which, end = begin + 4;
      const Var weight =
          width == 4 ? slice(params.at("a.in_proj_weight").var(), 0, begin, end) : params.at(name).var();
      return linear(x, weight, slice(params.at("a.in_proj_bias").var(), 0, begin, end));
    };
    const Var heads = scaled_dot_product_attention(projected(queries, 0, "a.q_proj_weight"),
                                                   projected(memory, 1, "a.k_proj_weight"),
                                                   projected(memory, 2, "a.v_proj_weight"), {.heads = 2});
    CHECK(distance(look(queries, memory).value(), look.out(heads).value()) < 10 * near);
  }
}

TEST_CASE("a second call of an attention layer on one tape drops other weights; biases are not decayed") {
  ParameterSet params;
  const MultiHeadAttention attend(params / "a", {.dim = 4, .heads = 2, .dropout = 0.5f});
  RandomStream random(9, "calls");
  const Tensor x = random_tensor({6, 2, 4}, random);
  const Tape tape;
  CHECK(distance(attend(x).value(), attend(x).value()) > 1e-3);
  for (const Parameter* p : params) CHECK(p->decay == (p->shape.rank() > 1 ? 1 : 0));
}

TEST_CASE("layers of attention refuse rates, caches and pasts that make no sense") {
  ParameterSet params;
  CHECK(lacks(error_of([&] { MultiHeadAttention(params / "a", {.dim = 4, .dropout = 1}); }), {"dropout 1"}) ==
        "");
  CHECK(lacks(error_of([&] { MultiHeadAttention(params / "b", {.dim = 4, .key_dim = -1}); }),
              {"key_dim -1"}) == "");
  const MultiHeadAttention many(params / "many", {.dim = 4});
  CHECK(lacks(error_of([&] { (void)many.cache(0, 2); }), {"0 steps", "2 rows"}) == "");
  AttentionCache cache = many.cache(3, 2);
  CHECK(lacks(error_of([&] { many.step(Tensor({3, 4}), cache); }), {"[3, 4]", "[3, 2, 4]"}) == "");
  CHECK(cache.count == 0);
  AttentionPast past{Tensor({2, 2, 4}), Tensor({2, 2, 4})};
  CHECK(lacks(error_of([&] {
                many(Tensor({3, 2, 4}), past, {.lengths = {ids({2}, {3, 1})}});
              }),
              {"lengths", "past", "[3, 2, 4]"}) == "");
}
