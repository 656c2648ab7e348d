// How long parts of a model take that bench_lm does not measure by themselves.
//
//   bench_parts PART --width N [--precision bf16] [--threads N] [--seconds S]
//
//   attention   self-attention of several heads, causal, 128 steps, batch 16: forward and backward
//   block       a block of a causal Transformer around it: two normalisations, attention, and a layer of 4·width with gelu
//   own_cell    a cell from outside (a minimal gated unit) in Recurrent<Cell>, 35 steps, batch 20: forward and backward
//   lstm        an LSTM with peepholes, 35 steps, batch 20: a squared error of the last output, its gradients, an update of SGD
//   lstm_every  the same with a squared error of all outputs
//   step        a step of a Stepper through an LSTM of so many units and inputs, batch 1
//   optimizer   an update of --kind over 20 million numbers, in turns with a copy that moves as many bytes
//
// Prints one line of JSON with the milliseconds of each pass. pytorch_parts.py and onnxruntime_step.py print the same, and so does mlpack_lstm.cpp;
// run_parts.py has them take turns.
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>

#include "unroll.h"

using namespace unroll;
namespace po = boost::program_options;

namespace {

using Json = nlohmann::ordered_json;
using Pass = std::function<void()>;

double milliseconds(const Pass& pass) {
  const auto start = std::chrono::steady_clock::now();
  pass();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// For so many seconds, after two passes that take memory: the milliseconds of each.
std::vector<double> times_of(const Pass& pass, double seconds) {
  std::vector<double> result;
  constexpr int at_least = 5;
  for (int i = 0; i < 2; ++i) pass();
  for (double spent = 0; spent < 1000 * seconds || std::ssize(result) < at_least; spent += result.back())
    result.push_back(milliseconds(pass));
  return result;
}

Tensor random_input(const Shape& shape) {
  RandomStream random(1, "x");
  Tensor x(shape);
  for (real& v : x.on_host(Access::overwrite)) v = static_cast<real>(2 * random.uniform() - 1);
  return x;
}

// Forward, the sum's gradient for the parameters and for x.
Pass forward_and_backward(const std::shared_ptr<ParameterSet>& params, const Tensor& x,
                          const std::function<Var(const Var&)>& layer) {
  return [=] {
    Tape tape;
    tape.backward(sum(layer(tape.watch(x))));
    params->spend_gradients();
  };
}

int heads_of(int width) { return std::max(1, width / 64); }

Pass attention(int width) {
  const auto params = std::make_shared<ParameterSet>();
  const MultiHeadAttention attend(*params / "attend", {.dim = width, .heads = heads_of(width)});
  return forward_and_backward(params, random_input({128, 16, width}),
                              [=](const Var& x) { return attend(x, {.causal = true}); });
}

Pass block(int width) {
  const auto params = std::make_shared<ParameterSet>();
  const LayerNorm before(*params / "before", {.dim = width}), between(*params / "between", {.dim = width});
  const MultiHeadAttention attend(*params / "attend", {.dim = width, .heads = heads_of(width)});
  const Dense wide(*params / "wide", {.in = width, .out = 4 * width}),
      narrow(*params / "narrow", {.in = 4 * width, .out = width});
  return forward_and_backward(params, random_input({128, 16, width}), [=](const Var& x) {
    const Var seen = x + attend(before(x), {.causal = true});
    return seen + narrow(gelu(wide(between(seen))));
  });
}

// The minimal gated unit (Zhou et al. 2016), as in CONTRIBUTING.md.
struct MinimalGatedUnit {
  static constexpr const char* name = "mgu";
  static constexpr bool has_c = false;

  explicit MinimalGatedUnit(const LayerScope& scope)
      : weight_ih(scope.add("weight_ih", {2 * scope.hidden, scope.input}).var()),
        weight_hh(scope.add("weight_hh", {2 * scope.hidden, scope.hidden}).var()),
        bias(scope.add("bias", {2 * scope.hidden}).var()) {}

  RecurrentVars step(const Var& x, const Var& h_in, const RecurrentVars& before) const {
    const Vars a = chunk(linear(x, weight_ih, bias), 2, 1), q = chunk(linear(h_in, weight_hh), 2, 1);
    const Var f = sigmoid(a[0] + q[0]), n = tanh(a[1] + f * q[1]);
    return {before.h + f * (n - before.h), {}};
  }

  Var weight_ih, weight_hh, bias;
};

Pass own_cell(int width) {
  const auto params = std::make_shared<ParameterSet>();
  const Recurrent<MinimalGatedUnit> layer(*params / "cell", {.input = width, .hidden = width});
  return forward_and_backward(params, random_input({35, 20, width}),
                              [=](const Var& x) { return layer(x, layer.zero_state(20)).y; });
}

// As mlpack_lstm.cpp has it.
Pass peephole_lstm(int width, bool last) {
  const auto params = std::make_shared<ParameterSet>();
  const Lstm layer(*params / "lstm", {.input = width, .hidden = width, .peepholes = true});
  const auto sgd = std::make_shared<Sgd>(*params, SgdConfig{.learning_rate = 0.01});
  const Tensor x = random_input({35, 20, width}), target = random_input({35, 20, width});
  return [=] {
    Tape tape;
    const Var y = layer(x, layer.zero_state(20)).y;
    tape.backward(last ? mean_squared_error(y[-1], target[-1]) : mean_squared_error(y, target));
    sgd->step({.max_norm = 0});
    (void)params;
  };
}

// A thousand steps, as one takes less than a clock tells well; the times are divided.
constexpr int steps_at_once = 1000;
Pass step(int width) {
  const auto params = std::make_shared<ParameterSet>();
  const Lstm layer(*params / "lstm", {.input = width, .hidden = width});
  const auto stepper = std::make_shared<Stepper>(layer);
  const Tensor x = random_input({1, width});
  return [=] {
    for (int i = 0; i < steps_at_once; ++i) (*stepper)(x);
    (void)params;
  };
}

// An update and a copy of memory that reads and writes as many bytes, both by all threads.
struct Update {
  std::function<std::unique_ptr<Optimizer>(ParameterSet&)> make;
  int numbers_moved;  // for each weight, read or written
};
const std::vector<std::pair<std::string, Update>>& updates() {
  static const std::vector<std::pair<std::string, Update>> all = {
      {"sgd", {[](auto& p) { return std::make_unique<Sgd>(p, SgdConfig{.momentum = 0.9}); }, 5}},
      {"adam", {[](auto& p) { return std::make_unique<Adam>(p, AdamConfig{}); }, 7}},
      {"adamw", {[](auto& p) { return std::make_unique<AdamW>(p, AdamWConfig{}); }, 7}},
      {"rmsprop", {[](auto& p) { return std::make_unique<Rmsprop>(p, RmspropConfig{}); }, 5}},
      {"lion", {[](auto& p) { return std::make_unique<Lion>(p, LionConfig{}); }, 5}},
  };
  return all;
}

Json optimizer(const std::string& kind, int numbers, double seconds) {
  const auto found = std::ranges::find(updates(), kind, [](auto& u) { return u.first; });
  if (found == updates().end()) throw InputError(fmt::format("--kind: there is no optimizer '{}'", kind));
  const Update& update = found->second;
  ParameterSet params;
  params.add("weights", {numbers}, Init::uniform(-1, 1));
  const auto optimizer = update.make(params);
  // Half of the numbers moved are read, half are written.
  const size_t bytes =
      static_cast<size_t>(numbers) * sizeof(real) * static_cast<size_t>(update.numbers_moved) / 2;
  struct Copy {
    std::vector<char> from, to;
    size_t piece;
  } copy{std::vector<char>(bytes, 1), std::vector<char>(bytes), bytes / static_cast<size_t>(threads())};
  std::vector<double> of_update, of_copy;
  for (double spent = 0; spent < 1000 * seconds || std::ssize(of_update) < 7;
       spent += of_update.back() + of_copy.back()) {
    Tensor gradients = params.gradients();
    gradients.fill(real(0.01));
    of_update.push_back(milliseconds([&] { optimizer->step({.max_norm = 0}); }));
    of_copy.push_back(milliseconds([&] {
      run_pieces(
          threads(),
          [](const void* context, int k) {
            const Copy& c = *static_cast<const Copy*>(context);
            std::memcpy(const_cast<char*>(c.to.data()) + c.piece * static_cast<size_t>(k),
                        c.from.data() + c.piece * static_cast<size_t>(k), c.piece);
          },
          &copy);
    }));
  }
  of_update.erase(of_update.begin(), of_update.begin() + 2),
      of_copy.erase(of_copy.begin(), of_copy.begin() + 2);
  return {{"kind", kind},
          {"megabytes", static_cast<double>(2 * bytes) / 1e6},
          {"ms", of_update},
          {"copy_ms", of_copy}};
}

void run(const po::variables_map& options) {
  const std::string part = options["part"].as<std::string>(),
                    precision = options["precision"].as<std::string>();
  const int width = options["width"].as<int>();
  const double seconds = options["seconds"].as<double>();
  set_up({.threads = options["threads"].as<int>(), .precision = precision});
  Json line = {{"part", part}, {"precision", precision}, {"threads", threads()}};
  if (part == "optimizer") {
    line.update(optimizer(options["kind"].as<std::string>(), options["numbers"].as<int>(), seconds));
  } else {
    const std::vector<std::pair<std::string, Pass (*)(int)>> parts = {
        {"attention", attention},
        {"block", block},
        {"own_cell", own_cell},
        {"step", step},
        {"lstm", [](int units) { return peephole_lstm(units, true); }},
        {"lstm_every", [](int units) { return peephole_lstm(units, false); }}};
    const auto found = std::ranges::find(parts, part, [](auto& p) { return p.first; });
    if (found == parts.end()) throw InputError(fmt::format("there is no part '{}'", part));
    std::vector<double> times = times_of(found->second(width), seconds);
    if (part == "step")
      for (double& ms : times) ms /= steps_at_once;
    line["width"] = width, line["ms"] = times;
  }
  fmt::print("{}\n", line.dump());
}

}  // namespace

int main(int argc, char** argv) try {
  po::options_description description("options");
  description.add_options()("part", po::value<std::string>()->required())(
      "width", po::value<int>()->default_value(256))("precision",
                                                     po::value<std::string>()->default_value("fp32"))(
      "threads", po::value<int>()->default_value(2))("seconds", po::value<double>()->default_value(2))(
      "kind", po::value<std::string>()->default_value("adamw"))(
      "numbers", po::value<int>()->default_value(20'000'000), "weights that the optimizer updates");
  po::positional_options_description words;
  words.add("part", 1);
  po::variables_map options;
  po::store(po::command_line_parser(argc, argv).options(description).positional(words).run(), options);
  po::notify(options);
  run(options);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_parts: {}\n", error.what());
  return 2;
}
