// The tape, parameters, and what observes them.
#include "docs/reference/examples/examples.h"
#include "framework/profile.h"

namespace {

//! [Var]
// y = x³, and dx = 3x² dy.
Var cube(const Var& x) {
  std::vector<real> in = x.value().to_host(), value = in;
  for (real& v : value) v = v * v * v;
  return record("cube", Tensor::from(x.shape(), value), inputs(x),
                [=](const Var& y) {  // "cube": an OperationName
                  std::vector<real> dx = y.grad().to_host();
                  for (size_t i = 0; i < dx.size(); ++i) dx[i] *= 3 * in[i] * in[i];
                  contribute(Tensor::from(x.shape(), dx), x);
                });
}

void differentiate() {
  Tape tape;
  const Var x = tape.watch(Tensor::from({2}, {1, 2}));  // a Var whose gradient can be read
  tape.backward(sum(cube(x)));
  check(x.grad()(0) == 3 && x.grad()(1) == 12);
}
//! [Var]

void options() {
  //! [Tape]
  const Var x = Tensor::from({2}, {1, 2});  // a constant
  const Var outside = x * x;                // no tape is alive: inference, nothing is recorded
  check(Tape::recording() == nullptr);
  {
    Tape tape(TapeOptions{.dropout = false, .keep_gradients = true});
    const Var w = tape.watch(Tensor::from({2}, {3, 4}));
    const Var y = w * x;
    {
      const NoTape evaluation;  // suspends the recording
      check(Tape::recording() == nullptr);
    }
    tape.backward(sum(y));
    check(w.grad()(1) == 2);
    check(y.grad()(1) == 1);  // of an intermediate result: keep_gradients
  }
  //! [Tape]
}

void weights() {
  //! [ParameterSet]
  ParameterSet params(7);  // the seed of first values and masks
  const Scope encoder = params / "encoder";
  Parameter& weight = encoder.add("weight", {2, 3}, Init::xavier());
  Parameter& bias = encoder.add("bias", {2}, Init::constant(0));
  bias.decay = 0;  // no weight decay
  params.at("encoder.weight").init =
      Init::own([](const Shape&, std::span<real> values, RandomStream& random) {
        for (real& v : values) v = static_cast<real>(random.normal());
      });
  weight.frozen = true;
  check(params.count() == 8 && weight.name == "encoder.weight");
  check(params.under("encoder").size() == 2);
  //! [ParameterSet]
}

struct Listed : TapeObserver {
  std::string names;
  void recorded(const OperationName& op, std::span<const Var* const>, std::span<const Var>) override {
    names += std::string(op.name) + " ";
  }
};

void observe() {
  //! [TapeObserver]
  Listed listed;  // a TapeObserver of one's own
  {
    Tape tape({.observer = &listed});
    const Var x = tape.watch(Tensor::from({1}, {2}));
    tape.backward(sum(tanh(x)));
  }
  check(listed.names == "watch tanh reshape sum ");
  //! [TapeObserver]

  //! [TapeGraph]
  TapeGraph graph;
  {
    Tape tape({.observer = &graph});
    const Var x = tape.watch(Tensor::from({1}, {2}));
    tape.backward(sum(tanh(x)));
  }
  check(graph.operations[1].name == "tanh" && graph.operations[1].results[0].shape == Shape{1});
  check(graph.dot().starts_with("digraph"));
  //! [TapeGraph]
}

void measure() {
  //! [Profile]
  ParameterSet params;
  const Dense dense(params / "dense", {.in = 8, .out = 8});
  const ProductCount before = products_done;
  const Profile profile;  // outlives the tapes that it measures
  {
    Tape tape;
    tape.backward(sum(dense(Tensor::zeros({4, 8}))));
  }
  const Profile::Row longest = profile.rows().front();
  check(longest.seconds() >= 0);
  check(products_done.flops > before.flops);  // ProductCount: of this thread
  params.spend_gradients();
  //! [Profile]
}

}  // namespace

void tape() { differentiate(), options(), weights(), observe(), measure(); }
