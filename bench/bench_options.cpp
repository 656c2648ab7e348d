// The cost of a recurrent layer's options: one window forward and backward, compared with a layer without the option.
//
//   bench_options --hidden 200 --threads N --seconds S [--only "layer norm"] [--device cuda [--graph]]
//
// A case takes turns with its plain counterpart, window by window, for S seconds. Prints one line of JSON
// with the milliseconds of every window; pytorch_options.py prints the same under the same names, and
// run_options.py makes the table of both.
//
// On a GPU the plain counterpart is computed by cuDNN, which is what the option takes away. A turn is ten windows, so that
// waiting for the last one costs little. With --graph a window is a CUDA graph, as with training.graph.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>

#include "framework/graph.h"
#include "unroll.h"

using namespace unroll;
namespace po = boost::program_options;

namespace {

constexpr int steps = 35, batch = 20, vocab = 10000;

using Forward = std::function<Var(const Var& x)>;  // x [steps, batch, hidden] -> y
using Build = std::function<Forward(const Scope& params)>;

bool as_graph = false;  // --graph
Engine plain_engine() { return on_gpu() ? Engine::cudnn : Engine::fused; }

struct Case {
  std::string name, against;
  Build option, plain;
};

Build lstm(RecurrentConfig config, Lengths lengths = {}, Engine engine = Engine::fused) {
  config.engine = engine;
  return [=](const Scope& params) -> Forward {
    return [=, layers = Lstm(params / "lstm", config)](const Var& x) {
      return layers(x, layers.zero_state(batch), lengths).y;
    };
  };
}
Build behind_locked_dropout(const Build& layers) {
  return [=](const Scope& params) -> Forward {
    return [drop = Dropout(params / "dropout", {.rate = 0.4f, .locked = true}),
            rest = layers(params)](const Var& x) { return rest(drop(x)); };
  };
}
Build of_words(float dropout, int hidden, const IdTensor& words, const Build& layers) {
  return [=](const Scope& params) -> Forward {
    const Embedding embed(params / "embedding", {.vocab = vocab, .dim = hidden, .dropout = dropout});
    const auto on_device = std::make_shared<DeviceIds>(words);  // which a graph works on
    on_device->renew();
    return [=, rest = layers(params)](const Var&) { return rest(embed(words)); };
  };
}
Build side_by_side(const Build& left, const Build& right) {
  return [=](const Scope& params) -> Forward {
    return [a = left(params / "left"), b = right(params / "right")](const Var& x) {
      return concat({a(x), b(x)}, 2);
    };
  };
}

std::vector<Case> cases_of(int n) {  // n: input and hidden
  const Build plain = lstm({.input = n, .hidden = n}, {}, plain_engine());
  const Build weight_drop = lstm({.input = n, .hidden = n, .weight_drop = 0.5f});
  const Build gru = [=](const Scope& params) -> Forward {
    return [layers = Gru(params / "gru", {.input = n, .hidden = n, .engine = Engine::fused})](const Var& x) {
      return layers(x, layers.zero_state(batch)).y;
    };
  };
  const Build fused = lstm({.input = n, .hidden = n});
  RandomStream random(1, "cases");
  IdTensor words({steps, batch}), lengths({batch});
  for (int32_t& word : words.span()) word = static_cast<int32_t>(random.below(vocab));
  for (int32_t& length : lengths.span()) length = static_cast<int32_t>(1 + random.below(steps));
  std::vector<Case> cases = {
      {"locked dropout", "plain", behind_locked_dropout(plain), plain},
      {"recurrent dropout", "plain", lstm({.input = n, .hidden = n, .recurrent_dropout = 0.3f}), plain},
      {"weight drop", "plain", weight_drop, plain},
      {"word dropout", "no word dropout", of_words(0.1f, n, words, plain), of_words(0, n, words, plain)},
      {"zoneout", "plain", lstm({.input = n, .hidden = n, .zoneout_h = 0.05f, .zoneout_c = 0.5f}), plain},
      {"layer norm", "plain", lstm({.input = n, .hidden = n, .layer_norm = true}), plain},
      {"peepholes", "plain", lstm({.input = n, .hidden = n, .peepholes = true}), plain},
      {"projection", "plain", lstm({.input = n, .hidden = n, .projection = n / 2}), plain},
      {"other functions", "plain",
       lstm({.input = n,
             .hidden = n,
             .gate_activation = Unary::hard_sigmoid,
             .cell_activation = Unary::softsign}),
       plain},
      {"mogrifier", "plain", lstm({.input = n, .hidden = n, .mogrifier = 5, .mogrifier_rank = 64}), plain},
      {"lengths", "plain", lstm({.input = n, .hidden = n}, {lengths}), plain},
      {"residual", "two layers", lstm({.input = n, .hidden = n, .layers = 2, .residual = true}),
       lstm({.input = n, .hidden = n, .layers = 2}, {}, plain_engine())},
      {"bidirectional", "two side by side", lstm({.input = n, .hidden = n, .bidirectional = true}),
       side_by_side(plain, plain)},
      {"forget bias", "plain", lstm({.input = n, .hidden = n, .forget_bias = 1}), plain},
      {"gru", "plain", gru, plain},
      {"awd-lstm", "plain", behind_locked_dropout(weight_drop), plain},
  };
  if (on_gpu()) cases.insert(cases.begin(), {"fused", "cudnn", fused, plain});
  if (on_gpu() && precision() != Precision::fp32) {  // which tensor cores do not multiply
    const auto by = [&](RecurrentAlgorithm algorithm) {
      return lstm({.input = n, .hidden = n, .algorithm = algorithm});
    };
    cases.push_back({"persistent kernel", "step by step", by(RecurrentAlgorithm::automatic),
                     by(RecurrentAlgorithm::standard)});
    cases.push_back({"step by step", "cudnn", by(RecurrentAlgorithm::standard), plain});
  }
  return cases;
}

class Net {
 public:
  explicit Net(const Build& build) : forward_(build(params_ / "net")) {}

  // Per window.
  double milliseconds(const Tensor& x) {
    const int windows = on_gpu() ? 10 : 1;
    synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < windows; ++i) {
      if (graph_)
        graph_->play();
      else
        window(x);
    }
    synchronize();
    const auto stop = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(stop - start).count() / windows;
  }
  // After a first window, whose memory and measurements no recording may ask for. False: a window needs the host.
  bool record(const Tensor& x) try {
    graph_.emplace(reinterpret_cast<const uint32_t*>(step_.data()), params_.step(), [&] { window(x); });
    return true;
  } catch (const NeedsHost&) { return false; }
  void forget_recording() { graph_.reset(); }

 private:
  void window(const Tensor& x) {
    Tape tape;
    tape.backward(sum(forward_(tape.watch(x))));
    params_.spend_gradients();
  }

  ParameterSet params_;
  Forward forward_;
  Tensor step_ = Tensor::zeros({1});  // whose bits are step 0's: the masks are those of one step
  std::optional<Graph> graph_;
};

nlohmann::ordered_json times_of(const Case& c, const Tensor& x, double seconds) {
  Net plain(c.plain), option(c.option);
  for (int i = 0; i < 2; ++i) plain.milliseconds(x), option.milliseconds(x);  // memory, slabs, caches
  const bool graph = as_graph && plain.record(x) && option.record(x);
  if (!graph) plain.forget_recording();
  std::vector<double> of_plain, of_option;
  const int at_least = 5;
  for (double spent = 0; spent < 1000 * seconds || std::ssize(of_option) < at_least;
       spent += of_plain.back() + of_option.back()) {
    of_plain.push_back(plain.milliseconds(x));
    of_option.push_back(option.milliseconds(x));
  }
  return {{"against", c.against}, {"graph", graph}, {"plain_ms", of_plain}, {"option_ms", of_option}};
}

void run(const po::variables_map& options) {
  const int hidden = options["hidden"].as<int>();
  set_up({.device = options["device"].as<std::string>(),
          .threads = options["threads"].as<int>(),
          .precision = options["precision"].as<std::string>()});
  as_graph = options.count("graph") > 0;
  require_input(!as_graph || on_gpu(), "--graph: only a GPU's window can be a graph");
  RandomStream random(1, "x");
  const Tensor x({steps, batch, hidden});
  for (real& v : x.on_host(Access::overwrite)) v = static_cast<real>(2 * random.uniform() - 1);

  nlohmann::ordered_json cases;
  for (const Case& c : cases_of(hidden))
    if (!options.count("only") || options["only"].as<std::string>() == c.name)
      cases[c.name] = times_of(c, x, options["seconds"].as<double>());
  if (cases.empty())
    throw InputError(fmt::format("there is no case '{}'", options["only"].as<std::string>()));
  const nlohmann::ordered_json line = {
      {"engine", "fused"},    {"hidden", hidden},
      {"graph", as_graph},    {"precision", options["precision"].as<std::string>()},
      {"steps", steps},       {"batch", batch},
      {"threads", threads()}, {"cases", cases}};
  fmt::print("{}\n", line.dump());
}

}  // namespace

int main(int argc, char** argv) try {
  po::options_description description("options");
  description.add_options()("hidden", po::value<int>()->default_value(200))(
      "threads", po::value<int>()->default_value(2))("seconds", po::value<double>()->default_value(2))(
      "only", po::value<std::string>())("device", po::value<std::string>()->default_value("cpu"))(
      "precision", po::value<std::string>()->default_value("fp32"))("graph", "a window as a CUDA graph");
  po::variables_map options;
  po::store(po::parse_command_line(argc, argv, description), options);
  run(options);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_options: {}\n", error.what());
  return 2;
}
