// The tape: what is recorded and when, what backward does, and what its errors say.
#include "framework/tape.h"

#include <cmath>
#include <optional>
#include <thread>

#include <pthread.h>

#include "framework/loss.h"
#include "framework/ops.h"
#include "framework/parameters.h"
#include "tests/support.h"

using namespace unroll;

TEST_CASE("a tape records what depends on a variable, while it is alive") {
  const Var constant = tensor({2}, {1, 2});
  CHECK(Tape::recording() == nullptr);
  ParameterSet params;
  const Var w = params.add("w", {2}, Init::constant(3)).var();
  CHECK_FALSE((w * constant).wants_grad());  // no tape
  {
    Tape tape;
    CHECK(Tape::recording() == &tape);
    CHECK(tape.size() == 0);
    CHECK_FALSE((constant * constant).wants_grad());
    CHECK(tape.size() == 0);
    CHECK((w * constant).wants_grad());
    CHECK(tape.size() == 1);
    CHECK_FALSE(constant.wants_grad());
  }
  CHECK(Tape::recording() == nullptr);
  CHECK_FALSE((w * constant).wants_grad());
}

TEST_CASE("NoTape suspends a tape, and nests") {
  Tape tape;
  const Var x = tape.watch(tensor({2}, {1, 2}));
  {
    NoTape guard;
    CHECK(Tape::recording() == nullptr);
    CHECK_FALSE((x * x).wants_grad());
    {
      NoTape inner;
      CHECK(Tape::recording() == nullptr);
    }
    CHECK(Tape::recording() == nullptr);
  }
  CHECK(Tape::recording() == &tape);
  const Var y = sum(x * x);
  tape.backward(y);
  CHECK(x.grad().to_host() == std::vector<real>{2, 4});
}

TEST_CASE("NoTape without a tape does no harm, and a tape cannot begin under it") {
  NoTape guard;
  CHECK(values(Var(tensor({1}, {2})) + 1) == std::vector<real>{3});
  CHECK(lacks(error_of([] { Tape tape; }), {"tape", "NoTape"}) == "");
}

TEST_CASE("a second live tape on a thread is an error, and the first stays usable") {
  Tape tape;
  CHECK(lacks(error_of([] { Tape second; }), {"another tape is alive"}) == "");
  CHECK(Tape::recording() == &tape);
  const Var x = tape.watch(tensor({1}, {3}));
  tape.backward(sum(x * x));
  CHECK(x.grad().item() == 6);
}

TEST_CASE("two threads record on tapes of their own") {
  Tape tape;
  const Var x = tape.watch(tensor({1}, {3}));
  const Var y = sum(x * x);
  double other = 0;
  std::thread([&] {
    Tape own;
    const Var z = own.watch(tensor({1}, {5}));
    own.backward(sum(z * z));
    other = z.grad().item();
  }).join();
  tape.backward(y);
  CHECK(x.grad().item() == 6);
  CHECK(other == 10);
}

TEST_CASE("a variable of a tape that is gone is an error that says so and what to do") {
  Var x, y;
  {
    Tape tape;
    x = tape.watch(tensor({2}, {1, 2}));
    y = x * x;
  }
  const auto says = [](auto f, const std::string& op) {
    CHECK(lacks(error_of(f), {op, "tape", "gone"}) == "");
  };
  says([&] { y + y; }, "add");
  says([&] { y.grad(); }, "grad");
  CHECK(values(y) == std::vector<real>{1, 4});  // the value can be read
  Tape tape;
  says([&] { y * 2; }, "scale");
  says([&] { matmul(reshape(x, {1, 2}), Var(Tensor::zeros({2, 1}))); }, "reshape");
  says([&] { softmax_cross_entropy(y, ids({}, {0})); }, "softmax_cross_entropy");
  CHECK(lacks(error_of([&] { y * 2; }), {".value()"}) == "");
  CHECK(values(Var(y.value()) * 2) == std::vector<real>{2, 8});
  CHECK(tape.size() == 0);
  CHECK_FALSE(error_of([&] { tape.backward(sum(Var(y.value()))); }).empty());
}

TEST_CASE("backward plays once; a second time is an error") {
  Tape tape;
  const Var x = tape.watch(tensor({2}, {1, 2}));
  const Var loss = sum(x * x);
  tape.backward(loss);
  CHECK(lacks(error_of([&] { tape.backward(loss); }), {"backward", "already", "second derivatives"}) == "");
  CHECK(x.grad().to_host() == std::vector<real>{2, 4});
}

TEST_CASE(
    "a gradient in a loss is an error that says there are no second derivatives, and its clone a constant") {
  ParameterSet params;
  Parameter& w = params.add("w", {2}, Init::constant(3));
  Tensor of_variable;
  {
    Tape tape;
    const Var x = tape.watch(tensor({2}, {1, 2}));
    tape.backward(sum(x * x * w.var()));
    of_variable = x.grad();
    CHECK(values(sum(Var(of_variable) * w.var())) == std::vector<real>{54});  // looked at when all is over
  }
  const Tensor of_parameter = w.var().grad(), of_all = params.gradients(), part = of_all.slice(0, 2);
  CHECK(values(Var(of_parameter) * 2) == std::vector<real>{2, 8});  // nothing records
  Tape tape;
  for (const Tensor& gradient : {of_variable, of_parameter, part})
    CHECK(lacks(error_of([&] { mul(w.var(), gradient); }), {"mul", "[2]", "second derivatives", "clone()"}) ==
          "");
  CHECK(lacks(error_of([&] { sum(Var(of_all)); }), {"sum", "second derivatives"}) ==
        "");  // of constants alone too
  params.spend_gradients();
  tape.backward(sum(w.var() * of_parameter.clone()));
  CHECK(w.var().grad().to_host() == std::vector<real>{1, 4});
}

TEST_CASE("backward wants a single number that depends on something") {
  {
    Tape tape;
    const Var x = tape.watch(tensor({2}, {1, 2}));
    CHECK(lacks(error_of([&] { tape.backward(x * x); }), {"backward", "single number", "[2]"}) == "");
    CHECK(lacks(error_of([&] { tape.backward(Var(Tensor::full({}, 3))); }), {"backward", "depend"}) == "");
    tape.backward(sum(x * x));  // an error before did not use the tape up
    CHECK(x.grad().to_host() == std::vector<real>{2, 4});
  }
  Tape tape;
  const Var x = tape.watch(tensor({1, 1}, {3}));
  tape.backward(x * x);  // one element of any rank
  CHECK(x.grad().item() == 6);
}

TEST_CASE("constants collect no gradient, and asking them is an error") {
  Tape tape;
  const Var x = tape.watch(tensor({2}, {1, 2})), c = tensor({2}, {3, 4});
  tape.backward(sum(x * c));
  CHECK(x.grad().to_host() == std::vector<real>{3, 4});
  CHECK_FALSE(c.has_grad());
  CHECK(lacks(error_of([&] { c.grad(); }), {"constant"}) == "");
}

TEST_CASE("a variable that the loss does not depend on has the gradient zero") {
  Tape tape;
  const Var x = tape.watch(tensor({2}, {1, 2})), unused = tape.watch(tensor({3}, {1, 2, 3}));
  const Var branch = unused * unused;  // recorded, but not on the way to the loss
  tape.backward(sum(x * x));
  CHECK_FALSE(unused.has_grad());
  CHECK(unused.grad().to_host() == std::vector<real>{0, 0, 0});
}

TEST_CASE("every path to the loss contributes, the first overwriting whatever the memory held") {
  for (int round = 0; round < 3; ++round) {  // later rounds get the memory of the earlier ones
    Tape tape;
    const Var x = tape.watch(tensor({2}, {1, 2}));
    const Var a = x * x, b = exp(x), c = a * b + a;
    tape.backward(sum(c + x));
    for (int i = 0; i < 2; ++i) {
      const double v = i + 1;
      CHECK(x.grad().data()[i] == doctest::Approx((2 * v + v * v) * std::exp(v) + 2 * v + 1).epsilon(1e-14));
    }
  }
}

TEST_CASE("gradients of parameters add up over several tapes until they are spent") {
  ParameterSet params;
  Parameter& p = params.add("w", {2}, Init::constant(3));
  for (int window = 1; window <= 3; ++window) {
    Tape tape;
    tape.backward(sum(p.var() * p.var()));
    CHECK(p.var().grad().to_host() == std::vector<real>{6.0 * window, 6.0 * window});
  }
  params.spend_gradients();
  CHECK_FALSE(p.var().has_grad());
  Tape tape;
  tape.backward(sum(p.var() * 2));
  CHECK(p.var().grad().to_host() == std::vector<real>{2, 2});
}

TEST_CASE("intermediate gradients are given back after use unless the tape keeps them") {
  for (bool keep : {false, true}) {
    Tape tape({.keep_gradients = keep});
    const Var x = tape.watch(tensor({2}, {1, 2}));
    const Var y = x * x;
    tape.backward(sum(y * 3));
    CHECK(x.grad().to_host() == std::vector<real>{6, 12});
    if (keep)
      CHECK(y.grad().to_host() == std::vector<real>{3, 3});
    else
      CHECK(lacks(error_of([&] { y.grad(); }), {"grad", "mul", "keep_gradients"}) == "");
  }
}

TEST_CASE("memory is given back as the gradient descends") {
  const Shape large{1000, 100};
  const int64_t bytes = large.size() * static_cast<int64_t>(sizeof(real));
  const int64_t before = memory_statistics().in_use;
  Tape tape;
  const Var x = tape.watch(Tensor::full(large, 0.5));
  Var y = x;
  for (int i = 0; i < 20; ++i) y = tanh(y);
  const Var loss = sum(y);
  y = Var();
  const int64_t recorded = memory_statistics().in_use;
  CHECK(recorded - before >= 21 * bytes);
  reset_peak_memory();
  tape.backward(loss);
  // At any time the values that are left, and the gradients of two neighbours; classes of the pool round up
  // by a fifth.
  CHECK(memory_statistics().peak - recorded <= 3 * bytes + 3 * bytes / 4);
  CHECK(memory_statistics().in_use - before <= 3 * bytes + 3 * bytes / 4);  // x, its gradient
}

TEST_CASE("of an operation with two outputs either may be left unused") {
  const Tensor gates = tensor({1, 4}, {0.5, -1, 2, 0.25}), c_prev = tensor({1, 1}, {0.3});
  const auto gradients = [&](double of_h, double of_c) {
    Tape tape;
    const Var a = tape.watch(gates), b = tape.watch(c_prev);
    const auto [h, c] = lstm_cell(a, b);
    tape.backward(of_c == 0 ? sum(h) * of_h : of_h == 0 ? sum(c) * of_c : sum(h) * of_h + sum(c) * of_c);
    auto all = a.grad().to_host();
    all.push_back(b.grad().item());
    return all;
  };
  const auto h = gradients(1, 0), c = gradients(0, 1), both = gradients(1, 1);
  for (size_t i = 0; i < both.size(); ++i) CHECK(both[i] == doctest::Approx(h[i] + c[i]).epsilon(1e-13));
  CHECK(c[3] == 0);  // the output gate does not touch c
  CHECK(h[3] != 0);
}

TEST_CASE("the tape prints one line per operation in recording order") {
  Tape tape;
  CHECK(tape.text() == "");
  const Var x = tape.watch(tensor({2, 4}, std::vector<real>(8, 1)));
  const auto [h, c] = lstm_cell(x, Var(Tensor::zeros({2, 1})));
  const Var y = tanh(matmul(c, Var(Tensor::zeros({1, 3}))));
  CHECK(tape.text() == "watch [2, 4]\nlstm_cell [2, 1] [2, 1]\nmatmul [2, 3]\ntanh [2, 3]\n");
  CHECK(tape.size() == 4);
  tape.backward(sum(y));
  CHECK(tape.text() ==
        "watch [2, 4]\nlstm_cell [2, 1] [2, 1]\nmatmul [2, 3]\ntanh [2, 3]\nreshape [6]\nsum []\n");
}

TEST_CASE("an operation of one's own is recorded like the built-in ones") {
  const auto cube = [](const Var& x) {  // y = x³, dx = 3x² dy
    Tensor y = x.value().clone();
    for (real& v : y.span()) v = v * v * v;
    return record("cube", y, inputs(x), [=](const Var& out) {
      const Into dx = x.gradient();
      for (int64_t i = 0; i < dx.tensor.size(); ++i) {
        const real v = x.value().data()[i], d = 3 * v * v * out.grad().data()[i];
        dx.tensor.data()[i] = dx.add ? dx.tensor.data()[i] + d : d;
      }
    });
  };
  Tape tape;
  const Var x = tape.watch(tensor({2}, {2, -1}));
  const Var y = cube(x);
  tape.backward(sum(y + cube(x)));
  CHECK(values(y) == std::vector<real>{8, -1});
  CHECK(x.grad().to_host() == std::vector<real>{24, 6});
}

// --- a chain so long that recursion would run over the end of the stack ------------------------------------

namespace {

constexpr int long_chain = 200000;
constexpr size_t small_stack = size_t{256}
                               << 10;  // 200,000 frames of the smallest kind (16 bytes) need 12 times that

template <class F>
void on_a_small_stack(F body) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, small_stack) == 0);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<F*>(argument))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, &body) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("200,000 chained operations run backward within a stack of 256 KiB") {
  double gradient = 0, value = 0;
  int64_t size = 0;
  on_a_small_stack([&] {
    Tape tape;
    const Var x = tape.watch(tensor({1}, {1}));
    Var y = x;
    for (int i = 0; i < long_chain; ++i) y = i % 2 ? scale(y, 0.5) : scale(y, 2);
    size = tape.size();
    value = y.item();
    tape.backward(sum(y));
    gradient = x.grad().item();
  });
  CHECK(size == long_chain + 1);
  CHECK(value == 1);
  CHECK(gradient == 1);
}

TEST_CASE("200,000 chained operations are forgotten within a stack of 256 KiB when nobody plays them") {
  bool done = false;
  on_a_small_stack([&] {
    {
      Tape tape;
      Var y = tape.watch(tensor({1}, {0.5}));
      for (int i = 0; i < long_chain; ++i) y = y + 1;
    }
    Tape next;  // the thread's memory serves the next tape
    const Var x = next.watch(tensor({1}, {3}));
    next.backward(sum(x * x));
    done = x.grad().item() == 6;
  });
  CHECK(done);
}

TEST_CASE("200,000 operations that branch and join run backward within a stack of 256 KiB") {
  double gradient = 0;
  on_a_small_stack([&] {
    Tape tape;
    const Var x = tape.watch(tensor({1}, {1}));
    Var y = x;
    for (int i = 0; i < long_chain / 4; ++i) y = scale(tanh(y) + tanh(y), 0.5);
    tape.backward(sum(y));
    gradient = x.grad().item();
  });
  // y' = 1 - tanh²: the product of these slopes along the orbit y ← tanh y
  double y = 1, product = 1;
  for (int i = 0; i < long_chain / 4; ++i) {
    y = std::tanh(y);
    product *= 1 - y * y;
  }
  // four roundings in each of the steps
  CHECK(gradient == doctest::Approx(product).epsilon(4 * long_chain / 4 * 2.3e-16));
}

TEST_CASE("a tape tells of each parameter when nothing more is contributed to it") {
  ParameterSet params;
  Parameter &a = params.add("a", {2}, Init::constant(3)), &b = params.add("b", {2}, Init::constant(4)),
            &last = params.add("last", {2}, Init::constant(5)),
            &frozen = params.add("frozen", {2}, Init::constant(6));
  params.add("unused", {2}, Init::constant(7));
  frozen.frozen = true;
  const auto loss = [&] { return sum(a.var() * b.var() * a.var() * frozen.var() * last.var()); };
  struct : TapeObserver {
    std::vector<std::string> told;
    std::vector<std::vector<real>> gradients;
    void completed(const Var& x) override {
      if (!x.leaf()) return;
      told.push_back(x.leaf()->leaf_name());
      gradients.push_back(x.node()->gradient.value(x.shape()).to_host());
    }
  } observer;
  const auto& [told, gradients] = observer;
  {
    Tape tape({.check_inputs = true, .observer = &observer});
    tape.backward(loss());
    CHECK(told == std::vector<std::string>{"last", "frozen", "a", "b"});
  }
  for (size_t i = 0; i < told.size(); ++i)  // as they are in the end
    CHECK(gradients[i] == params.at(told[i]).var().grad().to_host());
  CHECK(gradients[0] == std::vector<real>(2, 3 * 4 * 3 * 6));
}
