// The loss that is fused with its decoder's product against the one that is not, and its gradients, which lie in the
// parameters' own memory before they count.
#include <cmath>
#include <thread>

#include "framework/gradcheck.h"
#include "framework/ops.h"
#include "framework/parameters.h"
#include "tests/framework/decoder.h"

using namespace unroll;

namespace {

// Two ways to sum the same numbers, none longer than `terms`: apart by at most 2·terms·eps of the largest sum
// of moduli.
void check_equal(const Gradients& a, const Gradients& b, int terms, double magnitude) {
  const double bound = 2 * terms * eps * magnitude;
  CHECK(std::abs(a.loss - b.loss) <= bound);
  CHECK(distance(a.x, b.x) <= bound);
  CHECK(distance(a.w, b.w) <= bound);
  CHECK(distance(a.b, b.b) <= bound);
}

// A decoder whose weights are in a set of parameters.
struct DecoderParameters {
  explicit DecoderParameters(const Decoder& d)
      : decoder(d), plain_(gradients_of(d, [&](auto& x, auto& w, auto& b) {
          return softmax_cross_entropy(linear(x, w, b), d.target);
        })) {
    w.leaf_value().copy_from(d.w), b.leaf_value().copy_from(d.b);
  }
  Var fused() {
    return softmax_cross_entropy(decoder.x, w.var(), b.var(), decoder.target, {.chunk_rows = 3});
  }
  // That the gradients are `factor` times those of linear and the plain loss.
  void check(double factor) {
    const double bound = 2 * (7 + 4 + 6) * eps * 7 * 5 * std::abs(factor);
    const Tensor of_w = scale(plain_.w, factor).value(), of_b = scale(plain_.b, factor).value();
    CHECK(distance(w.node.gradient.value(w.shape), of_w) <= bound);
    CHECK(distance(b.node.gradient.value(b.shape), of_b) <= bound);
  }
  Decoder decoder;
  ParameterSet params;
  Parameter& w = params.add("w", decoder.w.shape(), Init::uniform(-1, 1));
  Parameter& b = params.add("b", decoder.b.shape(), Init::uniform(-1, 1));

 private:
  Gradients plain_;
};

}  // namespace

TEST_CASE("the fused loss is differentiated with respect to x, w and b for chunks of any size") {
  struct Case {
    Shape x;
    int classes;
  };
  for (const auto& [s, classes] :
       {Case{{1, 1}, 1}, Case{{5, 3}, 7}, Case{{2, 3, 4}, 5}, Case{{7, 1}, 2}, Case{{4}, 3}}) {
    Shape rows;
    for (int i = 0; i + 1 < s.rank(); ++i) rows.append(s[i]);
    const Targets t(rows, classes, 9, -1);
    const int n = static_cast<int>(rows.size());
    for (int chunk : {1, 3, n, n + 1, 0})
      for (Reduction reduction : {Reduction::mean, Reduction::sum}) {
        const CrossEntropyOptions options{.reduction = reduction, .weights = t.weights, .chunk_rows = chunk};
        CHECK(gradcheck("fused softmax_cross_entropy", {s, {classes, s[-1]}, {classes}},
                        [&](auto& v) { return softmax_cross_entropy(v[0], v[1], v[2], t.ids, options); },
                        {.seeds = 2, .magnitude = 4}));
      }
  }
}

TEST_CASE("the fused loss equals the plain one on the logits of linear, in value and gradients") {
  constexpr int rows = 11, in = 5, classes = 13;
  const Decoder d(rows, in, classes);
  const Targets t({rows}, classes, 3, -1);
  for (Reduction reduction : {Reduction::mean, Reduction::sum}) {
    CrossEntropyOptions options{.reduction = reduction, .weights = t.weights};
    const Gradients plain = gradients_of(
        d, [&](auto& x, auto& w, auto& b) { return softmax_cross_entropy(linear(x, w, b), t.ids, options); });
    for (int chunk : {0, 1, 3, rows - 1, rows, rows + 1}) {
      options.chunk_rows = chunk;
      const Gradients fused =
          gradients_of(d, [&](auto&... v) { return softmax_cross_entropy(v..., t.ids, options); });
      // Sums over rows and classes; logits below in + 1, times weights below 1.5.
      check_equal(fused, plain, rows + classes + in, 1.5 * rows * (in + 1));
    }
  }
}

TEST_CASE("the fused loss is right with a factor above it") {
  const Decoder d(7, 4, 6);
  const auto loss = [&](auto&... v) { return softmax_cross_entropy(v..., d.target, {.chunk_rows = 3}); };
  const Gradients one = gradients_of(d, loss);
  const Gradients three = gradients_of(d, [&](auto&... v) { return loss(v...) * 3; });
  const Gradients minus = gradients_of(d, [&](auto&... v) { return -loss(v...); });
  for (const auto& [factor, scaled] : {std::pair{3.0, three}, std::pair{-1.0, minus}}) {
    CHECK(scaled.loss == factor * one.loss);
    const std::pair<Tensor, Tensor> pairs[] = {{one.x, scaled.x}, {one.w, scaled.w}, {one.b, scaled.b}};
    for (const auto& [a, b] : pairs)
      for (int64_t i = 0; i < a.size(); ++i) CHECK(b.on_host()[i] == factor * a.on_host()[i]);
  }
}

TEST_CASE(
    "so it is in one chunk with weights that are much larger than x, and adds to what was contributed") {
  const Decoder d(2, 4, 13);
  for (const real factor : {1, 3, -5}) {
    const auto both = [&](auto loss) {
      return gradients_of(
          d, [&](auto& x, auto& w, auto& b) { return sum(w * w) * 0.1 + loss(x, w, b) * factor; });
    };
    const Gradients fused = both([&](auto&... v) { return softmax_cross_entropy(v..., d.target); });
    const Gradients plain = both([&](auto&... v) { return softmax_cross_entropy(linear(v...), d.target); });
    check_equal(fused, plain, 2 + 13 + 4 + 2, (2 * (4 + 1) + 1) * std::abs(double{factor}));
  }
}

TEST_CASE("two fused losses add up, alone, with a factor each, and beside a penalty on the same weights") {
  const Decoder d(7, 4, 6);
  RandomStream random(4, "second targets");
  const IdTensor other = random_ids({7}, random, 6);
  const auto loss = [&](const IdTensor& target, auto&... v) {
    return softmax_cross_entropy(v..., target, {.chunk_rows = 2});
  };
  const Gradients fused = gradients_of(d, [&](auto& x, auto& w, auto& b) {
    return loss(d.target, x, w, b) * 0.5 + loss(other, x, w, b) * 2 + sum(w * w) * 0.1 + sum(x * x);
  });
  const Gradients plain = gradients_of(d, [&](auto& x, auto& w, auto& b) {
    const Var logits = linear(x, w, b);
    return softmax_cross_entropy(logits, d.target) * 0.5 + softmax_cross_entropy(logits, other) * 2 +
           sum(w * w) * 0.1 + sum(x * x);
  });
  check_equal(fused, plain, 7 + 4 + 6, 7 * 5 + 28);
}

TEST_CASE("a fused loss whose backward is never called contributes nothing, and the next one is right") {
  DecoderParameters p(Decoder(7, 4, 6));
  for (const bool read : {false, true}) {
    {
      Tape tape;
      p.fused();
      p.fused() * 3;
    }
    CHECK_FALSE(p.w.node.gradient.written());
    CHECK_FALSE(p.b.node.gradient.written());
    if (read) {  // as zeros
      p.params.complete_gradients();
      for (const double g : p.params.gradients().on_host()) CHECK(g == 0);
    }
    Tape tape;
    tape.backward(p.fused());
    p.check(1);
    p.params.spend_gradients();
  }
}

TEST_CASE("gradients of a fused loss add up over tapes, with a factor each") {
  DecoderParameters p(Decoder(7, 4, 6));
  for (const double factor : {1.0, 0.5, 2.0}) {
    Tape tape;
    tape.backward(p.fused() * factor);
  }
  p.check(3.5);
}

TEST_CASE(
    "gradients that are read, forgotten or completed between a fused loss and its backward change nothing") {
  DecoderParameters p(Decoder(7, 4, 6));
  for (int what = 0; what < 3; ++what) {
    Tape tape;
    const Var loss = p.fused();
    if (what == 0)
      for (const double g : p.w.var().grad().on_host()) CHECK(g == 0);
    if (what == 1) p.params.spend_gradients();
    if (what == 2) p.params.complete_gradients();
    tape.backward(loss);
    p.check(1);
    p.params.spend_gradients();
  }
}

TEST_CASE("two threads' fused losses over one model do not meet where nobody trains") {
  DecoderParameters p(Decoder(7, 4, 6));
  Tape tape;
  const Var loss = p.fused();
  std::thread other([&] {
    Tape tape;
    p.fused();
  });
  other.join();
  tape.backward(loss);
  p.check(1);
}

TEST_CASE(
    "a table of words that also decodes has zeros where no word was, after a loss that was never played") {
  ParameterSet params;
  Parameter& table = params.add("table", {6, 4}, Init::uniform(-1, 1));
  const Decoder d(7, 4, 6);
  const auto look_up = [&] {
    Tape tape;
    tape.backward(sum(embedding(table.var(), ids({2}, {1, 4}))));
  };
  look_up();  // its gradient remembers which rows may differ from zero
  params.spend_gradients();
  {
    Tape tape;
    softmax_cross_entropy(d.x, table.var(), d.b, d.target);
  }
  look_up();
  params.complete_gradients();
  const auto g = table.node.gradient.value(table.shape).to_host();
  for (int row = 0; row < 6; ++row)
    for (int k = 0; k < 4; ++k) CHECK(g[static_cast<size_t>(4 * row + k)] == (row == 1 || row == 4 ? 1 : 0));
}

TEST_CASE("the gradient of a decoder's weights takes no memory but the parameters' own") {
  const Decoder d(7, 4, 60'000);  // 240,000 weights, and 420,000 logits
  DecoderParameters p(d);
  constexpr int64_t weights = 60'000 * 4 * sizeof(real);
  Tape tape;
  const int64_t before = memory_statistics().in_use;
  reset_peak_memory();
  tape.backward(softmax_cross_entropy(d.x, p.w.var(), p.b.var(), d.target, {.chunk_rows = 1}));
  CHECK(memory_statistics().peak - before < weights);
}

TEST_CASE("the fused loss has the same value without a tape, and leaves constants without a gradient") {
  const Decoder d(7, 4, 6);
  const double bare = softmax_cross_entropy(d.x, d.w, d.b, d.target).item();
  const Gradients all = gradients_of(d, [&](auto&... v) { return softmax_cross_entropy(v..., d.target); });
  CHECK(bare == all.loss);
  Tape tape;
  const Var w = tape.watch(d.w);
  tape.backward(softmax_cross_entropy(d.x, w, d.b, d.target));
  CHECK(same_bits(w.grad(), all.w));
}

TEST_CASE("the fused loss is exact at logits of a thousand") {
  const Tensor x = tensor({2, 1}, {1, -1}), w = tensor({3, 1}, {1e3, -1e3, 0}), b = Tensor::zeros({3});
  const Gradients g = [&] {
    Tape tape;
    const Var vx = tape.watch(x), vw = tape.watch(w), vb = tape.watch(b);
    const Var loss = softmax_cross_entropy(vx, vw, vb, ids({2}, {0, 0}), {.reduction = Reduction::sum});
    tape.backward(loss);
    return Gradients{loss.item(), vx.grad().clone(), vw.grad().clone(), vb.grad().clone()};
  }();
  CHECK(g.loss == 2000);
  CHECK(g.x.to_host() == std::vector<real>{0, -2000});
  CHECK(g.w.to_host() == std::vector<real>{1, -1, 0});
  CHECK(g.b.to_host() == std::vector<real>{-1, 1, 0});
}
