// Attention: gradients by central differences, sums spelled out in operations, one step against many, errors by their words.
#include "layers/attention.h"

#include <array>
#include <limits>

#include "optim/optimizer.h"
#include "tests/support.h"
#ifdef UNROLL_DOUBLE
#include "framework/gradcheck.h"
#endif

using namespace unroll;

namespace {

constexpr double near = sizeof(real) == 8 ? 1e-13 : 3e-6;
const real no_number = std::numeric_limits<real>::quiet_NaN();

// Attention with all weights at once, by operations whose gradients are known.
Var spelled_out(const Var& q, const Var& k, const Var& v, int heads, const Tensor& seen, real scale,
                bool biases) {
  const auto apart = [=](const Var& x) {
    return permute(reshape(x, {x.dim(0), x.dim(1), heads, -1}), {1, 2, 0, 3});
  };
  Var scores = matmul(apart(q), transpose(apart(k), 2, 3)) * scale;  // [batch, heads, steps, past]
  if (biases) {
    const int steps = q.dim(0), past = k.dim(0);
    std::vector<real> bias;
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < steps; ++i)
        for (int j = 0; j < past; ++j)
          bias.push_back(static_cast<real>(-std::exp2(-8.0 * (h + 1) / heads) * (past - steps + i - j)));
    scores += Var(tensor({heads, steps, past}, bias));
  }
  if (seen.defined()) scores = where(seen, scores, real(-1e30));
  Var weights = softmax(scores);
  if (seen.defined()) weights = weights * seen;
  const Var y = permute(matmul(weights, apart(v)), {2, 0, 1, 3});
  return reshape(y, {y.dim(0), y.dim(1), -1});
}

// 1 where a query sees a key: [batch, 1, steps, past].
Tensor sight(const AttentionOptions& o, int batch, int steps, int past) {
  Tensor seen({batch, 1, steps, past});
  const auto s = seen.on_host(Access::overwrite);
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < steps; ++i)
      for (int j = 0; j < past; ++j)
        s[(int64_t{b} * steps + i) * past + j] =
            j >= (o.begins.defined() ? o.begins(b) : 0) && j < (o.ends.defined() ? o.ends(b) : past) &&
            (!o.causal || j <= past - steps + i) && (o.window == 0 || j >= past - steps + i - o.window) &&
            (!o.firsts.defined() ||
             static_cast<real>(j) >= (o.firsts.rank() == 2 ? o.firsts(i, b) : o.firsts(b)));
  return seen;
}

struct Sizes {
  int steps, past, batch, heads, width, of_value;
};
const std::vector<Sizes> sizes = {
    {1, 1, 1, 1, 1, 1}, {3, 5, 2, 2, 3, 2}, {5, 3, 2, 1, 2, 4}, {3, 9, 2, 2, 3, 2}, {40, 40, 2, 2, 4, 4}};

std::vector<AttentionOptions> all_options(const Sizes& s) {
  std::vector<AttentionOptions> all;
  IdTensor begins({s.batch}), ends({s.batch});
  for (int b = 0; b < s.batch; ++b)
    begins.span()[b] = b % 2, ends.span()[b] = b % 2 ? s.past : std::max(0, s.past - 2);
  for (const bool causal : {false, true})
    for (const bool ragged : {false, true}) {
      AttentionOptions o{.heads = s.heads, .causal = causal, .block_rows = ragged ? 2 : 0};
      if (ragged) o.begins = begins, o.ends = ends;
      all.push_back(o);
    }
  all.push_back({.heads = s.heads, .begins = begins});
  all.push_back({.heads = s.heads, .ends = ends});  // of one row some keys, or all, are seen by no query
  // A window and biases of distances, by themselves and with first keys of each row, or of each query too.
  Tensor of_row({s.batch}), of_query({s.steps, s.batch});
  {
    const auto row = of_row.on_host(Access::overwrite), query = of_query.on_host(Access::overwrite);
    for (int b = 0; b < s.batch; ++b) row[b] = static_cast<real>(b + 1);
    for (int i = 0; i < s.steps * s.batch; ++i) query[i] = static_cast<real>(i * 5 % 3);
  }
  for (const Tensor& firsts : {Tensor(), of_row, of_query})
    for (const int rows : {0, 2}) {
      if (on_gpu() && rows == 0) continue;  // a launch for each part of each row
      all.push_back({.heads = s.heads,
                     .causal = true,
                     .window = 2,
                     .firsts = firsts,
                     .linear_biases = true,
                     .block_rows = rows});
    }
  return all;
}

}  // namespace

TEST_CASE("blocks of queries give what all weights at once give, and so do their gradients") {
  RandomStream random(1, "attention");
  for (const Sizes& s : sizes) {
    if (on_gpu() && s.steps > 10) continue;  // a launch for each part of each row
    const Tensor q = random_tensor({s.steps, s.batch, s.heads * s.width}, random),
                 k = random_tensor({s.past, s.batch, s.heads * s.width}, random),
                 v = random_tensor({s.past, s.batch, s.heads * s.of_value}, random),
                 dy = random_tensor({s.steps, s.batch, s.heads * s.of_value}, random);
    for (const AttentionOptions& o : all_options(s)) {
      CAPTURE(s.steps);
      CAPTURE(o.causal);
      const auto run = [&](const std::function<Var(const Vars&)>& f) {
        {  // The pool gives this memory out again: a gradient that nobody contributes to is 0 all the same.
          std::vector<Tensor> used;
          for (int i = 0; i < 30; ++i) used.push_back(Tensor::full((i % 2 ? k : v).shape(), no_number));
        }
        Tape tape;
        const Vars in = {tape.watch(q), tape.watch(k), tape.watch(v)};
        const Var y = f(in);
        tape.backward(sum(y * dy));
        return std::vector<Tensor>{y.value().clone(), in[0].grad(), in[1].grad(), in[2].grad()};
      };
      const real scale = 1 / std::sqrt(static_cast<real>(s.width));
      const auto ours =
          run([&](const Vars& in) { return scaled_dot_product_attention(in[0], in[1], in[2], o); });
      const auto theirs = run([&](const Vars& in) {
        return spelled_out(in[0], in[1], in[2], s.heads, sight(o, s.batch, s.steps, s.past), scale,
                           o.linear_biases);
      });
      for (size_t i = 0; i < ours.size(); ++i) CHECK(distance(ours[i], theirs[i]) < 10 * near);
      // The weights by themselves: those that a value of ones would sum to 1 or 0 with.
      const Tensor weights = attention_weights(q, k, o);
      CHECK(weights.shape() == Shape{s.batch, s.heads, s.steps, s.past});
      CHECK(distance((weights > 0),
                     broadcast_to(sight(o, s.batch, s.steps, s.past), weights.shape()).value()) == 0);
    }
  }
}

TEST_CASE("what no query sees may hold anything") {
  RandomStream random(2, "padding");
  for (const auto padding : {Padding::after, Padding::before}) {
    ParameterSet params;
    const MultiHeadAttention many(params / "many", {.dim = 4, .heads = 2});
    const AdditiveAttention add(params / "add", {.query = 4, .keys = 4, .hidden = 3});
    const MultiplicativeAttention product(params / "product", {.query = 4, .keys = 4});
    const Tensor good = random_tensor({5, 3, 4}, random), query = random_tensor({2, 3, 4}, random);
    const Lengths lengths{ids({3}, {5, 3, 0}), padding};
    const Tensor bad = good.clone();
    {
      const auto x = bad.on_host(Access::change);
      for (int b = 1; b < 3; ++b)
        for (int t = 0; t < 5; ++t)
          if (steps_of_row(lengths, 5, 3, b).has(t) == false)
            for (int k = 0; k < 4; ++k) x[(int64_t{t} * 3 + b) * 4 + k] = no_number;
    }
    const auto run = [&](const Tensor& memory) {
      Tape tape;
      const Var x = tape.watch(memory);
      const auto [context, weights] = add(query, add.remember(x, lengths));
      const Var y =
          many(query, x, {.lengths = lengths}) + context + product(query, product.remember(x, lengths));
      CHECK(weights.shape() == Shape{2, 5, 3});
      tape.backward(sum(y * y));
      std::vector<std::vector<real>> all = {values(y), x.grad().to_host()};
      for (const auto& p : params.all()) all.push_back(p->node.gradient.value(p->shape).to_host());
      params.spend_gradients();
      return all;
    };
    CHECK((run(good) == run(bad)));
    const auto [context, weights] = add(query, add.remember(good, lengths));
    CHECK(values(slice(context, 1, 2)) == std::vector<real>(8, 0));  // the row of no steps
    for (int t = 0; t < 2; ++t)
      for (int k = 0; k < 5; ++k) CHECK(values(weights)[static_cast<size_t>((t * 5 + k) * 3 + 2)] == 0);
  }
}

TEST_CASE("a padded row says what it says alone, whichever side its padding is on") {
  RandomStream random(7, "alone");
  ParameterSet params;
  const MultiHeadAttention many(params / "many", {.dim = 4, .heads = 2});
  const AdditiveAttention add(params / "add", {.query = 4, .keys = 4, .hidden = 3});
  const MultiplicativeAttention product(params / "product", {.query = 4, .keys = 4});
  params.initialize(Init::uniform(-1, 1));  // biases too: a projected zero is none
  const Tensor x = random_tensor({5, 2, 4}, random), query = random_tensor({2, 2, 4}, random);
  const auto of_row_1 = [](const Var& y) { return slice(y, 1, 1, 2).value(); };
  for (const auto padding : {Padding::after, Padding::before}) {
    const Lengths lengths{ids({2}, {5, 3}), padding};
    const int begin = padding == Padding::before ? 2 : 0;
    const Tensor row = of_row_1(slice(x, 0, begin, begin + 3)), asks = of_row_1(query);
    CHECK(distance(of_row_1(many(query, x, {.lengths = lengths})), many(asks, row).value()) < near);
    CHECK(distance(slice(of_row_1(many(x, {.lengths = lengths})), 0, begin, begin + 3).value(),
                   many(row).value()) < near);
    CHECK(distance(of_row_1(add(query, add.remember(x, lengths)).context),
                   add(asks, add.remember(row)).context.value()) < near);
    CHECK(distance(of_row_1(product(query, product.remember(x, lengths))),
                   product(asks, product.remember(row)).value()) < near);
    // And after the other kind of padding this would not hold: the row's own steps are others.
    const Lengths other{lengths.steps, padding == Padding::before ? Padding::after : Padding::before};
    CHECK(distance(of_row_1(many(query, x, {.lengths = other})), many(asks, row).value()) > 1e-3);
  }
}

TEST_CASE("each head, each row and each block of queries has a mask of dropout of its own") {
  // Equal weights, values of 1: an output is how many keys its mask left.
  constexpr int past = 64;
  const AttentionOptions o{.heads = 2, .dropout = real(0.5), .key = {.place = 7}, .block_rows = 2};
  const Tape tape;
  const Tensor y = scaled_dot_product_attention(Tensor::zeros({4, 2, 2}), Tensor::zeros({past, 2, 2}),
                                                Tensor::full({past, 2, 2}, 1), o)
                       .value();
  std::vector<std::vector<real>> kept;
  for (const int block : {0, 2})
    for (int b = 0; b < 2; ++b)
      for (int h = 0; h < 2; ++h) kept.push_back({y(block, b, h), y(block + 1, b, h)});
  for (size_t i = 0; i < kept.size(); ++i)
    for (size_t j = 0; j < i; ++j) CHECK(kept[i] != kept[j]);
}

TEST_CASE("one step after the other says what all steps at once say") {
  RandomStream random(3, "steps");
  ParameterSet params;
  const MultiHeadAttention attend(params / "attend", {.dim = 6, .heads = 3});
  const AdditiveAttention add(params / "add", {.query = 6, .keys = 6, .hidden = 5});
  const MultiplicativeAttention product(params / "product", {.query = 6, .keys = 6});
  const Tensor x = random_tensor({7, 2, 6}, random);
  const Tensor all = attend(x, {.causal = true}).value();
  AttentionCache cache = attend.cache(7, 2);
  for (int t = 0; t < 7; ++t) CHECK(distance(attend.step(x[t], cache).value(), all[t]) < near);
  CHECK(lacks(error_of([&] { attend.step(x[0], cache); }), {"cache", "full", "7"}) == "");
  // Steps are differentiated on one tape as on a tape each.
  ParameterSet own;
  const MultiHeadAttention decoder(own / "attend", {.dim = 6, .heads = 3});
  const auto trained = [&](AttentionCache& of, int begin, int end) {
    Tape tape;
    Var loss = Tensor::zeros({1});
    for (int t = begin; t < end; ++t) loss += sum(decoder.step(x[t], of));
    tape.backward(sum(loss));
  };
  AttentionCache together = decoder.cache(2, 2), apart = decoder.cache(2, 2);
  trained(together, 0, 2);
  const Tensor gradients = own.contributed_gradients().clone();
  own.spend_gradients(), trained(apart, 0, 1), trained(apart, 1, 2);
  CHECK(distance(gradients, own.contributed_gradients()) < near);

  const auto to_add = add.remember(x), to_multiply = product.remember(x);
  const Tensor added = add(x, to_add).context.value(), multiplied = product(x, to_multiply).value();
  for (int t = 0; t < 7; ++t) {
    CHECK(distance(add(x[t], to_add).context.value(), added[t]) < near);
    CHECK(distance(product(x[t], to_multiply).value(), multiplied[t]) < near);
  }
  CHECK(product.weights(x[2], to_multiply).shape() == Shape{2, 1, 1, 7});
  // The weights that are shown give the context that is used, and padding none.
  const auto padded = product.remember(x, {ids({2}, {3, 7}), Padding::after});
  const Tensor shown = product.weights(x[2], padded);
  const Tensor context = product(x[2], padded).value();
  for (int b = 0; b < 2; ++b) {
    for (int i = 0; i < 6; ++i) {
      double sum = 0;
      for (int t = 0; t < 7; ++t) sum += static_cast<double>(shown(b, 0, 0, t) * x(t, b, i));
      CHECK(static_cast<double>(context(b, i)) == doctest::Approx(sum).epsilon(1e-5));
    }
    CHECK((shown(b, 0, 0, 5) == 0) == (b == 0));
  }
}

TEST_CASE("dropout of weights is the same in the backward, and off without a tape") {
  RandomStream random(4, "dropout");
  const Tensor q = random_tensor({6, 2, 4}, random), k = random_tensor({9, 2, 4}, random);
  const Tensor ones = Tensor::full({9, 2, 2}, 1);
  const AttentionOptions o{.heads = 2, .dropout = real(0.5), .key = {.place = 7}, .block_rows = 4};
  CHECK(distance(scaled_dot_product_attention(q, k, ones, o).value(), Tensor::full({6, 2, 2}, 1)) < near);
  Tape tape;
  const Var v = tape.watch(ones);
  const Var y = scaled_dot_product_attention(q, k, v, o);
  int64_t differing = 0;
  for (const real w : values(y)) differing += std::abs(w - 1) > 1e-3;
  CHECK(differing > 12);
  // dv = Σ (m∘p), and y = (m∘p)·1: their sums agree.
  const real all = sum(y).item();
  tape.backward(sum(y));
  CHECK(sum(Var(v.grad())).item() == doctest::Approx(all).epsilon(1e-5));
}

TEST_CASE("a key of its own width, no bias, and memory that does not grow with the square of the steps") {
  ParameterSet params;
  RandomStream random(5, "widths");
  const MultiHeadAttention look(params / "look", {.dim = 4, .heads = 2, .key_dim = 3, .bias = false});
  CHECK(params.find("look.q_proj_weight")->shape == Shape{4, 4});
  CHECK(params.find("look.k_proj_weight")->shape == Shape{4, 3});
  CHECK(params.find("look.in_proj_bias") == nullptr);
  CHECK(look(random_tensor({2, 3, 4}, random), random_tensor({5, 3, 3}, random)).shape() == Shape{2, 3, 4});
  CHECK(look(random_tensor({3, 4}, random), random_tensor({5, 3, 3}, random)).shape() == Shape{3, 4});

  const auto peak_of = [&](int steps) {
    const Tensor x = random_tensor({steps, 1, 4}, random);
    Tape tape;
    const Var watched = tape.watch(x);
    reset_peak_memory();
    const int64_t before = memory_statistics().in_use;
    tape.backward(sum(scaled_dot_product_attention(watched, watched, watched, {.causal = true})));
    return memory_statistics().peak - before;
  };
  if (!on_gpu()) CHECK(peak_of(2048) < int64_t{2048} * 2048 * static_cast<int64_t>(sizeof(real)) / 4);
}

#ifdef UNROLL_DOUBLE
TEST_CASE("attention is differentiated with respect to all that it is given, and to its weights") {
  for (const Sizes& s : sizes) {
    if (s.steps > 10) continue;
    for (const AttentionOptions& o : all_options(s))
      CHECK(gradcheck("attention",
                      {{s.steps, s.batch, s.heads * s.width},
                       {s.past, s.batch, s.heads * s.width},
                       {s.past, s.batch, s.heads * s.of_value}},
                      [&](auto& v) { return scaled_dot_product_attention(v[0], v[1], v[2], o); },
                      {.seeds = 1}));
  }
  CHECK(gradcheck("attention with dropout", {{3, 2, 4}, {5, 2, 4}, {5, 2, 2}},
                  [](auto& v) {
                    return scaled_dot_product_attention(
                        v[0], v[1], v[2], {.heads = 2, .dropout = 0.4, .key = {.place = 3}, .block_rows = 2});
                  },
                  {.dropout = true}));
  // One variable in several places, and one that has a gradient from elsewhere, before and after.
  for (const bool causal : {false, true})
    for (const int block_rows : {0, 2}) {
      const AttentionOptions o{.heads = 2, .causal = causal, .block_rows = block_rows};
      CHECK(gradcheck("attention to itself", {{3, 2, 4}, {3, 2, 4}}, [&](auto& v) {
        const Var before = v[0] * v[1];
        return std::vector<Var>{scaled_dot_product_attention(v[0], v[0], v[0], o),
                                scaled_dot_product_attention(v[0], v[1], v[1], o) + before,
                                scaled_dot_product_attention(v[1], v[0], v[1], o) * v[0]};
      }));
      // Twice in one, and nowhere else.
      for (const auto& [q, k, of_v] : {std::array{0, 1, 1}, {0, 0, 1}, {0, 1, 0}})
        CHECK(gradcheck("attention with two alike", {{3, 2, 4}, {3, 2, 4}},
                        [&](auto& v) { return scaled_dot_product_attention(v[q], v[k], v[of_v], o); }));
    }
  const Lengths lengths{ids({2}, {3, 2})};
  ParameterSet params;
  const MultiHeadAttention many(params / "many", {.dim = 4, .heads = 2}),
      other(params / "other", {.dim = 4, .key_dim = 3});
  const AdditiveAttention add(params / "add", {.query = 2, .keys = 3, .hidden = 4});
  const MultiplicativeAttention product(params / "product", {.query = 2, .keys = 3});
  params.initialize(Init::uniform(-1, 1));
  CHECK(gradcheck("layers", params, {{3, 2, 4}, {3, 2, 3}, {2, 2, 2}}, [&](auto& v) {
    return std::vector<Var>{many(v[0], {.causal = true}), many(v[0], {.lengths = lengths}), other(v[0], v[1]),
                            add(v[2], add.remember(v[1], lengths)).context,
                            product(v[2], product.remember(v[1], lengths))};
  }));
}
#endif

TEST_CASE("what does not fit is told with both shapes") {
  const Var q = Tensor({3, 2, 4}), k = Tensor({5, 2, 4}), v = Tensor({5, 2, 6});
  const auto error = [&](const Var& a, const Var& b, const Var& c, const AttentionOptions& o = {}) {
    return error_of([&] { scaled_dot_product_attention(a, b, c, o); });
  };
  CHECK(lacks(error(q, Tensor({5, 3, 4}), v), {"scaled_dot_product_attention", "[3, 2, 4]", "[5, 3, 4]"}) ==
        "");
  CHECK(lacks(error(q, Tensor({5, 2, 3}), v), {"[3, 2, 4]", "[5, 2, 3]"}) == "");
  CHECK(lacks(error(q, k, Tensor({4, 2, 6})), {"[4, 2, 6]", "[5, 2, 4]"}) == "");
  CHECK(lacks(error(q, k, v, {.heads = 3}), {"3 heads", "[3, 2, 4]"}) == "");
  CHECK(lacks(error(q, k, Tensor({5, 2, 7}), {.heads = 2}), {"2 heads", "[5, 2, 7]"}) == "");
  CHECK(lacks(error(q, k, v, {.ends = ids({3}, {1, 1, 1})}), {"ends", "[3]", "[2]"}) == "");
  CHECK(lacks(error(q, k, v, {.ends = ids({2}, {1, 6})}), {"ends 6", "0 … 5"}) == "");
  CHECK(lacks(error(q, k, v, {.dropout = 1}), {"dropout 1", "[3, 2, 4]"}) == "");
  CHECK(lacks(error(q, k, v, {.window = 2}), {"window", "causal", "[3, 2, 4]"}) == "");
  CHECK(lacks(error(q, k, v, {.causal = true, .window = -1}), {"window -1"}) == "");
  CHECK(lacks(error(q, k, v, {.firsts = Tensor({3})}), {"firsts [3]", "[2]", "[3, 2]"}) == "");
  ParameterSet params;
  CHECK(lacks(error_of([&] { MultiHeadAttention(params / "a", {.dim = 5, .heads = 2}); }),
              {"dim 5", "2 heads"}) == "");
  const MultiHeadAttention many(params / "many", {.dim = 4}),
      other(params / "other", {.dim = 4, .key_dim = 3});
  CHECK(lacks(error_of([&] {
                many(Var(Tensor({3, 2, 5})));
              }),
              {"multi_head_attention", "[3, 2, 5]", "4"}) == "");
  CHECK(lacks(error_of([&] { many(q, Var(Tensor({5, 2, 3}))); }), {"[3, 2, 4]", "[5, 2, 3]"}) == "");
  CHECK(lacks(error_of([&] { other(q); }), {"key_dim 3", "dim 4", "[3, 2, 4]"}) == "");
  const AdditiveAttention add(params / "add", {.query = 4, .keys = 4, .hidden = 2});
  CHECK(lacks(error_of([&] { add.remember(Tensor({5, 4})); }), {"additive_attention", "[5, 4]"}) == "");
  CHECK(lacks(error_of([&] { add(Tensor({3, 4}), add.remember(k)); }), {"[3, 4]", "[5, 2, 4]"}) == "");
  CHECK(lacks(error_of([&] { add.remember(k, {ids({3}, {1, 1, 1})}); }), {"lengths [3]"}) == "");
  AttentionPast past{Tensor({2, 3, 4}), Tensor({2, 3, 4})};
  CHECK(lacks(error_of([&] { many(q, past, {.causal = true}); }),
              {"[2, 3, 4]", "[past, 2, 4]", "[3, 2, 4]"}) == "");
}

TEST_CASE("additive attention of several steps has the weights of each in its place") {
  RandomStream random(10, "weights");
  ParameterSet params;
  const AdditiveAttention add(params / "add", {.query = 3, .keys = 2, .hidden = 5});
  const auto memory = add.remember(random_tensor({4, 2, 2}, random));
  const Tensor query = random_tensor({3, 2, 3}, random), all = add(query, memory).weights.value();
  CHECK(distance(all[0], all[1]) > 1e-4);
  for (int t = 0; t < 3; ++t) CHECK(distance(all[t], add(query[t], memory).weights.value()) < near);
}
