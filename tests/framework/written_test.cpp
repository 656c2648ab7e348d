// Writing between an operation and its backward pass: an error if the backward reads what was written, and no error
// otherwise.
#include <functional>
#include <string>

#include "framework/attention.h"
#include "framework/ctc_loss.h"
#include "framework/loss.h"
#include "framework/ops.h"
#include "layers/dense.h"
#include "layers/recurrent/lstm.h"
#include "optim/optimizer.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Write = std::function<void(Tensor&)>;
using Function = std::function<Var(const Var& watched, const Tensor& given)>;

// The error of backward if `given` is written after the forward pass; "" if none.
std::string error_after(const Write& write, const Shape& shape, Tensor given, const Function& f) {
  return error_of([&] {
    Tape tape;
    const Var watched = tape.watch(Tensor::full(shape, 2));
    const Var loss = sum(f(watched, given));
    write(given);
    tape.backward(loss);
  });
}
void fill_9(Tensor& t) { t.fill(9); }

}  // namespace

TEST_CASE("every way to write counts, and through any tensor of the same memory") {
  const Function product = [](const Var& x, const Tensor& given) { return x * given; };  // dx = given
  const std::pair<const char*, Write> writes[] = {
      {"fill", fill_9},
      {"copy_from", [](Tensor& t) { t.copy_from(Tensor::full(t.shape(), 9)); }},
      {"on_host, overwritten", [](Tensor& t) { t.on_host(Access::overwrite)[0] = 9; }},
      {"on_host, changed", [](Tensor& t) { t.on_host(Access::change)[0] = 9; }},
      {"data", [](Tensor& t) { (void)t.data(); }},
      {"a row", [](Tensor& t) { t[1].fill(9); }},
      {"rows", [](Tensor& t) { t.slice(0, 1).fill(9); }},
      {"another shape", [](Tensor& t) { t.reshape({6}).fill(9); }},
      {"a copy", [](Tensor& t) { Tensor(t).fill(9); }},
  };
  for (const auto& [name, write] : writes) {
    INFO(name);
    CHECK(lacks(error_after(write, {2, 3}, Tensor::full({2, 3}, 3), product), {"mul", "[2, 3]", "clone()"}) ==
          "");
  }
  if (!on_gpu())
    CHECK(error_after([](Tensor& t) { t.span()[0] = 9; }, {2}, Tensor::full({2}, 3), product) != "");
  const Write reads[] = {[](Tensor& t) { (void)t.to_host(); }, [](Tensor& t) { (void)t.on_host()[0]; },
                         [](Tensor& t) { (void)std::as_const(t).data(); },
                         [](Tensor& t) { (void)t[0].item(); }};
  for (const Write& read : reads) CHECK(error_after(read, {2}, Tensor::full({2}, 3), product) == "");
}

TEST_CASE("the slope of a function is that of the x that it had, or the backward says that x was written") {
  const auto slope = [](Unary f, double written) {
    Tape tape;
    Tensor given = Tensor::full({2}, real(0.5));
    const Var x = tape.watch(given), y = sum(unary(f, x));
    if (written > 0) given.fill(static_cast<real>(written));
    tape.backward(y);
    return x.grad().to_host();
  };
  int accused = 0;
  for (size_t f = 0; f < std::size(unary_names); ++f) {
    INFO(unary_names[f]);
    std::vector<real> after;
    const std::string error = error_of([&] { after = slope(Unary(f), 0.25); });
    if (error.empty())
      CHECK(after == slope(Unary(f), 0));
    else
      CHECK(lacks(error, {unary_names[f], "written"}) == "");
    accused += error.empty() ? 0 : 1;
  }
  CHECK(accused > 0);  // log, for one: else nothing was written
}

TEST_CASE("what a backward reads must be as it was, whether a variable or a constant that it keeps") {
  const auto accused = [](const char* op, const Shape& watched, const Shape& given, const Function& f) {
    INFO(op);
    CHECK(lacks(error_after(fill_9, watched, Tensor::full(given, real(0.5)), f), {op, "written"}) == "");
  };
  accused("mul", {2}, {2}, [](const Var& x, const Tensor& t) { return x * t; });
  accused("div", {2}, {2}, [](const Var& x, const Tensor& t) { return x / t; });
  accused("div", {2}, {2}, [](const Var& x, const Tensor& t) { return t / x; });
  accused("maximum", {2}, {2}, [](const Var& x, const Tensor& t) { return maximum(x, t); });
  accused("matmul", {2, 3}, {3, 2}, [](const Var& x, const Tensor& t) { return matmul(x, t); });
  accused("matmul", {4, 2, 3}, {4, 3, 2}, [](const Var& x, const Tensor& t) { return matmul(x, t); });
  accused("linear", {5, 3}, {2, 3}, [](const Var& w, const Tensor& t) { return linear(t, w); });
  accused("linear", {2, 3}, {5, 3}, [](const Var& x, const Tensor& t) { return linear(x, t); });
  accused("layer_norm", {2, 3}, {3},
          [](const Var& x, const Tensor& t) { return layer_norm(x, t, Tensor::zeros({3})); });
  accused("pow", {2}, {2}, [](const Var& x, const Tensor& t) { return pow(x, t); });
  accused("pow", {2}, {2}, [](const Var& x, const Tensor& t) { return pow(t, x); });
  accused("where", {2}, {2}, [](const Var& x, const Tensor& t) { return where(t, x, 0); });
  accused("logsumexp", {2}, {2}, [](const Var& x, const Tensor& t) {
    const Var y = logsumexp(x);
    x.value().fill(t.on_host()[0]);  // its own input
    return y * sum(Var(t));
  });
  accused("scaled_dot_product_attention", {2, 1, 3}, {2, 1, 3},
          [](const Var& x, const Tensor& t) { return scaled_dot_product_attention(x, t, x); });
  accused("mask_rows", {2, 3}, {2}, [](const Var& x, const Tensor& t) { return mask_rows(x, t); });
  accused("lstm_cell", {1, 8}, {1, 2}, [](const Var& x, const Tensor& t) { return lstm_cell(x, t).h; });
  accused("binary_cross_entropy", {2}, {2},
          [](const Var& x, const Tensor& t) { return binary_cross_entropy(x, t); });
  accused("mul", {2}, {2}, [](const Var& x, const Tensor& weights) {
    return mean_squared_error(x, Tensor::zeros({2}), {.weights = weights});
  });
  // A result, where the slope is taken from it: exp' = exp.
  CHECK(lacks(error_of([] {
                Tape tape;
                const Var y = exp(tape.watch(Tensor::full({2}, 1)));
                y.value().fill(9);
                tape.backward(sum(y));
              }),
              {"exp", "[2]"}) == "");
}

TEST_CASE("what no backward reads may be written") {
  const auto fine = [](const Shape& shape, const Shape& given, const Function& f) {
    CHECK(error_after(fill_9, shape, Tensor::full(given, real(0.5)), f) == "");
  };
  fine({2}, {2}, [](const Var& x, const Tensor& t) { return x + t; });
  fine({2}, {2}, [](const Var& x, const Tensor& t) { return t - x; });
  fine({2, 3}, {3}, [](const Var& x, const Tensor& bias) { return x + bias; });
  fine({2}, {2}, [](const Var& x, const Tensor& t) { return concat({x, t}, 0); });
  fine({2}, {2}, [](const Var& x, const Tensor& target) { return mean_squared_error(x, target); });
  fine({3}, {2, 4}, [](const Var& b, const Tensor& x) { return linear(x, Tensor::full({3, 4}, 1), b); });
  // The input of what takes its slope from its value: tanh' = 1 - tanh².
  Tape tape;
  Tensor input = Tensor::full({2}, 0);
  const Var x = tape.watch(input), loss = sum(tanh(x) * 3);
  input.fill(9);
  tape.backward(loss);
  CHECK(x.grad().to_host() == std::vector<real>{3, 3});  // tanh'(0) = 1
}

TEST_CASE("a parameter is named, and those beside it in the slab are not accused") {
  ParameterSet params;
  Parameter& a = params.add("layer.a", {2}, Init::constant(3));
  Parameter& b = params.add("layer.b", {2}, Init::constant(5));
  const auto error = [&](const std::function<void()>& write, const Parameter& used) {
    params.spend_gradients();
    return error_of([&] {
      Tape tape;
      const Var x = tape.watch(Tensor::full({2}, 2));
      const Var loss = sum(x * (&used == &a ? a : b).var());
      write();
      tape.backward(loss);
      CHECK(x.grad().to_host() == std::vector<real>(2, &used == &a ? 3 : 5));
    });
  };
  const auto write_a = [&] { a.leaf_value().fill(3); };
  CHECK(lacks(error(write_a, a), {"mul", "'layer.a' [2]", "optimizer's step"}) == "");
  CHECK(error(write_a, b) == "");
  CHECK(lacks(error([&] { params.values().fill(5); }, b), {"'layer.b'"}) == "");  // all of them at once
  CHECK(lacks(error([&] { params.initialize(Init::constant(5)); }, b), {"'layer.b'"}) == "");
  a.leaf_value().fill(3);
  CHECK(error([] {}, a) == "");
}

TEST_CASE("a step between forward and backward is an error, but not to what is frozen") {
  ParameterSet params;
  Parameter& free = params.add("free", {2}, Init::constant(3));
  Parameter& frozen = params.add("frozen", {2}, Init::constant(5));
  frozen.frozen = true;
  Sgd sgd(params, {.learning_rate = 1});
  for (const bool of_frozen : {true, false}) {
    std::string error = error_of([&] {
      Tape tape;
      const Var x = tape.watch(Tensor::full({2}, 2));
      const Var loss = sum(x * (of_frozen ? frozen : free).var());
      params.reduce_gradients([](auto) {});
      sgd.step();
      tape.backward(loss);
      if (of_frozen) CHECK(x.grad().to_host() == std::vector<real>{5, 5});
    });
    CHECK((of_frozen ? error.empty() : lacks(error, {"'free'"}) == ""));
  }
}

TEST_CASE("an operation of one's own is checked like ours, however its closure holds what it reads") {
  const auto times = [](const Var& x, const Tensor& factors) {  // dx = factors dy
    Tensor y = mul(x, factors).value().clone();
    return record("times", y, inputs(x),
                  [=](const Var& y) { contribute(mul(y.grad(), factors).value(), x); });
  };
  CHECK(lacks(error_after(fill_9, {2}, Tensor::full({2}, 3), times), {"times", "[2]"}) == "");
}

TEST_CASE("no operation writes what it reads") {
  const Tensor given = Tensor::full({2, 2}, real(0.5)), row = given[0];
  const IdTensor targets = ids({2}, {0, 1}), first = ids({2}, {0, -1});
  Tape tape;
  const Var x = tape.watch(Tensor::full({2, 2}, 2)), g = Var(given), r = Var(row);
  Vars early, late;  // what reads `given` again in the backward, and all else that reads it
  for (const Var& y : {x * g, x / g, matmul(x, g), pow(x, g), pow(g, x)}) early.push_back(sum(y));
  const auto steps = [](const Var& v) { return reshape(v, {2, 1, 2}); };
  early.push_back(sum(scaled_dot_product_attention(steps(x), steps(g), steps(g))));
  for (int f = 0; f < static_cast<int>(std::size(unary_names)); ++f)
    late.push_back(sum(unary(static_cast<Unary>(f), g) * x));
  for (const Var& y : {x + g,
                       x - g,
                       x * g,
                       x / g,
                       g / x,
                       maximum(x, g),
                       minimum(x, g),
                       x * r,
                       x + r,
                       softmax(g) * x,
                       log_softmax(g, 0) * x,
                       layer_norm(x, r, r),
                       reshape(g, {4}) * reshape(x, {4}),
                       transpose(g) * x,
                       broadcast_to(g, {3, 2, 2}) * x,
                       broadcast_to(r, {2, 2}) * x,
                       flip(g) * x,
                       concat({g, x}, 1),
                       stack({g, x}),
                       mask_rows(x, row),
                       embedding(g, targets) * x,
                       linear(x, g, r),
                       linear(g, x),
                       matmul(g, x),
                       max(g, 0) * x,
                       logsumexp(g, 0) * x,
                       cumsum(g, 1) * x,
                       where(given, x, g),
                       masked_fill(g, given, 3) * x,
                       clamp(g, 0, 1) * x,
                       permute(g, {1, 0}) * x,
                       pad(slice(g, 0, 1), 0, 1, 0) * x,
                       index_select(g, 0, targets) * x,
                       gather(g, 1, ids({2, 2}, {0, 0, 1, 1})) * x,
                       topk(g, 2).values * x,
                       sum(g, 0) * x,
                       mean(g, 1) * x})
    late.push_back(sum(y));
  for (const Var& y :
       {gather(x, targets), gather(g, targets) * x, unroll::row(g, 0) * x, slice(g, 0, 0, 1) * x})
    late.push_back(sum(y));
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    late.push_back(sum(softmax_cross_entropy(x, g, r, first, {.reduction = reduction, .weights = row})));
    late.push_back(sum(softmax_cross_entropy(g * x, first, {.reduction = reduction, .class_weights = row})));
    late.push_back(sum(mean_squared_error(x, given, {.reduction = reduction, .weights = given})));
    late.push_back(sum(binary_cross_entropy(x, given, {.reduction = reduction, .weights = given})));
    late.push_back(sum(gaussian_loss(x, g, given, {.reduction = reduction, .weights = given})));
    late.push_back(sum(huber_loss(x, given, 1, {.reduction = reduction, .weights = given})));
    late.push_back(sum(kl_divergence(log_softmax(x), given, {.reduction = reduction, .weights = row})));
    late.push_back(sum(ctc_loss(steps(x * g), ids({1, 1}, {1}), {}, {}, {.reduction = reduction})));
  }
  tape.backward(sum(stack(early)) + sum(stack(late)));
}

TEST_CASE("windows whose buffers are filled again, and a carried state, are no error") {
  ParameterSet params;
  Lstm lstm(params / "lstm", {.input = 3, .hidden = 4});
  Dense out(params / "out", {.in = 4, .out = 2});
  Sgd sgd(params, {.learning_rate = real(0.1)});
  RecurrentState state = lstm.zero_state(2);
  Tensor x = Tensor::zeros({5, 2, 3}), target = Tensor::zeros({5, 2, 2});
  for (int window = 0; window < 3; ++window) {
    x.fill(real(window)), target.fill(real(-window));
    Tape tape;
    auto [y, next] = lstm(x, state);
    const Var loss = mean_squared_error(out(y), target);
    state = next;  // before the backward, too
    tape.backward(loss);
    sgd.step({.max_norm = 1});
  }
  // The layer reads its input again, for the gradient of weight_ih.
  CHECK(lacks(error_of([&] {
                Tape tape;
                const Var loss = sum(lstm(x, state).y);
                x.fill(9);
                tape.backward(loss);
              }),
              {"lstm", "[5, 2, 3]"}) == "");
}
