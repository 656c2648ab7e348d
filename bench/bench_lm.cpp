// Speed and cost of the PTB language models on random tokens.
//
//   bench_lm --model small|medium|large --threads N --seconds S [--task train|step] [--engine cudnn|fused|composed]
//            [--precision tf32|bf16] [--device cpu|cuda] [--graph] [--peak] [--profile]
//   bench_lm --device cuda --facts
//
// `train`: whole steps, from the embedding to the update. `step`: inference, one token after the other, batch 1.
//
// Prints one line of JSON: words per second (median, smallest and largest of the repetitions), seconds from the start
// of the process to the beginning and to the end of the first step, and memory.
// With --peak: also the machine's peak, measured before and after, and the share that the steps' products reached.
// In inference also how fast memory is read, and the share of that.
// With --profile: also each operation's share of some more steps.
// On a GPU the peak is that of a large product, and the memory is the device's.
// With --graph a step is a CUDA graph, as with training.graph (training/steps/ahead_of_gpu.h).
// With --facts it measures nothing. It prints what the device is and which engines serve in which precision, or why the
// device cannot compute.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>

#include "bench/peak.h"
#include "bench/process.h"
#include "framework/device.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/updates.h"
#include "framework/memory.h"
#include "framework/profile.h"
#include "training/steps/ahead_of_gpu.h"
#include "unroll.h"

using namespace unroll;
namespace po = boost::program_options;

namespace {

struct Shapes {
  int hidden, steps, batch;
  float dropout, clip;
};
Shapes shapes_of(const std::string& name) {
  if (name == "small") return {200, 20, 20, 0, 5};
  if (name == "medium") return {650, 35, 20, 0.5f, 5};
  if (name == "large") return {1500, 35, 20, 0.65f, 10};
  throw InputError(fmt::format("--model {} is none of small, medium, large", name));
}

RecurrentConfig layers_of(const Shapes& s, Engine engine) {
  return {.input = s.hidden, .hidden = s.hidden, .layers = 2, .dropout = s.dropout, .engine = engine};
}

struct Model {
  Model(int vocab, const Shapes& s, const RecurrentConfig& layers)
      : embed(params / "embedding", {.vocab = vocab, .dim = s.hidden}),
        dropout_in(params / "dropout_in", {.rate = s.dropout}),
        lstm(params / "lstm", layers),
        dropout_out(params / "dropout_out", {.rate = s.dropout}),
        out(params / "decoder", {.in = s.hidden, .out = vocab}) {}
  ParameterSet params;
  Embedding embed;
  Dropout dropout_in;
  Lstm lstm;
  Dropout dropout_out;
  Dense out;
};

constexpr int window_count = 16;

std::vector<IdTensor> random_windows(const Shapes& s, int vocab) {
  RandomStream random(1, "tokens");
  std::vector<IdTensor> windows;
  for (int k = 0; k < window_count; ++k) {
    windows.emplace_back(Shape{s.steps, s.batch});
    for (int32_t& id : windows.back().span()) id = static_cast<int32_t>(random.below(vocab));
  }
  return windows;
}

// Each call does `count` steps, and goes on where the last one ended.
using Steps = std::function<void(int count)>;

Steps training(Model& model, const Shapes& s, int vocab) {
  return [&model, s, windows = random_windows(s, vocab),
          sgd = std::make_shared<Sgd>(model.params, SgdConfig{.learning_rate = 0.1f}),
          state = model.lstm.zero_state(s.batch), next_window = size_t{0}](int count) mutable {
    for (int i = 0; i < count; ++i) {
      const IdTensor& input = windows[next_window];
      next_window = (next_window + 1) % windows.size();
      Tape tape;
      auto [y, next] = model.lstm(model.dropout_in(model.embed(input)), state);
      const Var loss = softmax_cross_entropy(model.out, model.dropout_out(y), windows[next_window]) *
                       static_cast<real>(s.steps);
      tape.backward(loss);
      const Profile::Part part("optimizer step");
      if (on_gpu()) {  // which does not wait, as the trainer does not (training/steps/ahead_of_gpu.h), nor PyTorch
        sgd->order_step({.max_norm = s.clip});
        sgd->enqueue_step();
        sgd->finish_step();
      } else {
        sgd->step({.max_norm = s.clip});
      }
      state = next;
    }
  };
}

// As the trainer has a GPU work with training.graph: from the second on a window is one call.
Steps training_as_graph(Model& model, const Shapes& s, int vocab) {
  struct Run {
    Run(Model& model, const Shapes& s, int vocab)
        : model(model),
          s(s),
          tokens(random_tokens(s, vocab)),
          windows(tokens, {.batch = s.batch, .steps = s.steps}),
          state(model.lstm.zero_state(s.batch)),
          sgd(model.params, {.learning_rate = 0.1f}),
          ahead(sgd, carried(), true) {}

    static std::vector<int32_t> random_tokens(const Shapes& s, int vocab) {
      RandomStream random(1, "tokens");
      std::vector<int32_t> result(static_cast<size_t>(window_count * s.steps * s.batch + 1));
      for (int32_t& id : result) id = static_cast<int32_t>(random.below(vocab));
      return result;
    }
    std::vector<NamedTensor> carried() const { return {{"h", state.h}, {"c", state.c}}; }

    RunAhead::WindowFacts ask_for(const Window& window, const std::function<void()>& order) {
      Tape tape;
      auto [y, next] = model.lstm(model.dropout_in(model.embed(window.input)), state);
      const Var loss =
          softmax_cross_entropy(model.out, model.dropout_out(y), window.target) * static_cast<real>(s.steps);
      tape.backward(loss);
      const Profile::Part part("optimizer step");
      if (!recording_graph()) order();
      sgd.enqueue_step();
      state = next;
      return {.count = window.target.size()};
    }
    void step() {
      ahead.begin_step({}, 0);
      const Window window = windows.at(next_window);
      next_window = (next_window + 1) % windows.count();
      const auto order = [&] { sgd.order_step({.max_norm = s.clip}); };
      const std::string why_not = ahead.ask(
          {.of_task = windows.kind_of(window), .last = true, .signature = sgd.step_signature()},
          [&](const RunAhead::WindowFacts&) { order(); }, [&] { return ask_for(window, order); });
      if (!why_not.empty()) throw Error("a step cannot be a graph: " + why_not);
      sgd.finish_step();
      if (ahead.is_far() && ahead.look().failed) throw Error("a step was not finite");
    }

    Model& model;
    Shapes s;
    std::vector<int32_t> tokens;
    BpttWindows windows;
    RecurrentState state;
    Sgd sgd;
    RunAhead ahead;
    int64_t next_window = 0;
  };
  return [run = std::make_shared<Run>(model, s, vocab)](int count) {
    for (int i = 0; i < count; ++i) run->step();
  };
}

Steps stepping(Model& model, const Shapes& s, int vocab) {
  return [tokens = random_windows(s, vocab).front(),
          step = std::make_shared<TokenStepper>(model.embed, model.lstm, model.out),
          position = int64_t{0}](int count) mutable {
    for (int i = 0; i < count; ++i, ++position) (*step)(tokens.data()[position % tokens.size()]);
  };
}

double seconds_of(const Steps& steps, int count) {
  const auto start = std::chrono::steady_clock::now();
  steps(count);
  synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Each operation's share of the time, how much of that is products, and their arithmetic.
nlohmann::ordered_json operations_of(const Steps& steps, int count) {
  const Profile profile;
  steps(count);
  const std::vector<Profile::Row> rows = profile.rows();
  double all = 0;
  for (const Profile::Row& row : rows) all += row.seconds();
  nlohmann::ordered_json result = nlohmann::ordered_json::array();
  for (const Profile::Row& row : rows) {
    result.push_back({{"operation", row.name},
                      {"share", row.seconds() / all},
                      {"products", row.products > 0 ? row.products / row.seconds() : 0},
                      {"gflops", row.flops > 0 ? static_cast<double>(row.flops) / 1e9 / row.seconds() : 0}});
  }
  return result;
}

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// The device's facts, for whoever wants to measure all of it; or why it cannot compute.
nlohmann::ordered_json facts_of(const std::string& name) {
  nlohmann::ordered_json facts{{"device", name}};
  std::string why = name == "cpu" ? "" : why_no_gpu();
  try {
    if (why.empty()) set_up({.device = name});
  } catch (const InputError& refusal) { why = refusal.what(); }
  if (!why.empty()) {
    facts["why_not"] = why;
    return facts;
  }
  if (on_gpu()) {
    const EngineFacts engine = engine_facts();
    facts["gpu"] = engine.gpu, facts["capability"] = engine.capability, facts["driver"] = engine.driver;
    facts["cuda"] = engine.toolkit, facts["cudnn"] = engine.cudnn;
  }
  facts["computes"] = nlohmann::json::array();
  // On a GPU `composed` launches a kernel for each of its operations: a reference, and no way to train.
  std::vector<Engine> engines{Engine::cudnn, Engine::fused};
  if (!on_gpu()) engines = {Engine::fused, Engine::composed};
  for (const char* precision : {"fp32", "tf32", "bf16", "fp16"})
    for (const Engine engine : engines) try {
        set_precision(precision_named(precision));
        Lstm::choose(layers_of(shapes_of("small"), engine));
        facts["computes"].push_back({{"engine", name_of(engine)}, {"precision", precision}});
      } catch (const InputError&) {  // the device has no such numbers, or the engine does not serve with them
      }
  return facts;
}

void run(const po::variables_map& options) {
  const std::string name = options["model"].as<std::string>(), task = options["task"].as<std::string>();
  const Shapes s = shapes_of(name);
  if (task != "train" && task != "step")
    throw InputError(fmt::format("--task {} is none of train, step", task));
  const bool trains = task == "train", graph = options.count("graph") > 0;
  const int vocab = 10000;
  set_up({.device = options["device"].as<std::string>(),
          .threads = options["threads"].as<int>(),
          .precision = options["precision"].as<std::string>()});
  require_input(!graph || (trains && on_gpu()), "--graph: only training on a GPU can be a graph");

  const int64_t baseline = resident_memory();
  const RecurrentConfig layers = layers_of(s, engine_named(options["engine"].as<std::string>()));
  reset_peak_memory();
  Model model(vocab, s, layers);
  model.params.initialize(Init::uniform(-0.05f, 0.05f));
  const Steps steps = graph    ? training_as_graph(model, s, vocab)
                      : trains ? training(model, s, vocab)
                               : stepping(model, s, vocab);
  model.params.values();  // drawn now
  synchronize();
  const double start_up = seconds_since_start();
  steps(1);
  synchronize();
  const double first_step = seconds_since_start();

  const auto peak = [&] { return options.count("peak") ? peak_gflops(precision(), threads()) : 0; };
  const double peak_before =
      on_gpu() ? 0 : peak();                      // on a GPU its matrices would count as the model's memory
  const double guess = seconds_of(steps, 3) / 3;  // warm-up, too
  const int count = std::max(1, static_cast<int>(options["seconds"].as<double>() / 5 / guess));
  const int words = trains ? s.steps * s.batch : 1;  // of a step
  std::vector<double> rates;
  const int64_t flops_before = products_done.flops;
  for (int repetition = 0; repetition < 5; ++repetition)
    rates.push_back(count * words / seconds_of(steps, count));
  std::sort(rates.begin(), rates.end());
  const double flops_per_word =
      static_cast<double>(products_done.flops - flops_before) / (5.0 * count * words);

  const int64_t parameters = model.params.values().size() * int64_t{sizeof(real)};
  const int64_t gradients = trains ? parameters : 0;
  nlohmann::ordered_json line = {
      {"task", task},
      {"model", name},
      {"threads", threads()},
      {"engine", name_of(model.lstm.choice().engine)},
      {"precision", name_of(precision())},
      {"device", name_of(device())},
      {"kernels", kernels().name},
      {"words_per_second", rates[2]},
      {"smallest", rates[0]},
      {"largest", rates[4]},
      {"ms_per_step", 1000 * words / rates[2]},
      {"gflops", rates[2] * flops_per_word / 1e9},
      {"start_up_seconds", start_up},
      {"first_step_seconds", first_step},
  };
  if (on_gpu()) {
    line["gpu"] = device_facts().name;
    line["tensors_mib"] = mebibytes(memory_statistics().peak);
    line["device_mib"] = mebibytes(device_facts().memory - device_facts().free);
    line["graph"] = graph;
  } else {
    line["baseline_mib"] = mebibytes(baseline);
    line["parameters_mib"] = mebibytes(parameters);
    line["gradients_mib"] = mebibytes(gradients);
    line["beyond_mib"] = mebibytes(peak_memory_of_process() - baseline - parameters - gradients);
  }
  if (options.count("peak")) {
    const double machine = std::max(peak_before, peak()), gflops = rates[2] * flops_per_word / 1e9;
    line["flops_per_word"] = flops_per_word;
    if (machine > 0) line["peak_gflops"] = machine, line["share_of_peak"] = gflops / machine;
  }
  if (options.count("peak") && !trains && !on_gpu() && precision() == Precision::fp32) {
    // Measured after the process's own memory was read, since this takes a gigabyte. A token reads one row of the
    // embedding.
    const double memory = memory_gbytes(threads());
    const int64_t weights = model.params.count() - int64_t{vocab - 1} * s.hidden;
    line["bytes_per_word"] = weights * int64_t{sizeof(real)};
    line["memory_gb_per_second"] = memory;
    line["share_of_memory"] = rates[2] * static_cast<double>(weights) * sizeof(real) / 1e9 / memory;
  }
  if (options.count("profile")) {
    double products = 0;
    for (const auto& row : line["operations"] = operations_of(steps, count))
      products += row["share"].get<double>() * row["products"].get<double>();
    line["share_of_products"] = products;
  }
  fmt::print("{}\n", line.dump());
}

}  // namespace

int main(int argc, char** argv) try {
  po::options_description description("options");
  description.add_options()("task", po::value<std::string>()->default_value("train"))(
      "model", po::value<std::string>()->default_value("small"))(
      "threads", po::value<int>()->default_value(2))("seconds", po::value<double>()->default_value(10))(
      "engine", po::value<std::string>()->default_value("auto"))(
      "precision", po::value<std::string>()->default_value("fp32"))(
      "device", po::value<std::string>()->default_value("cpu"))("graph", "a step as a CUDA graph")(
      "facts", "say what the device has")("peak", "measure the machine's peak, too")(
      "profile", "measure each operation, too");
  po::variables_map options;
  po::store(po::parse_command_line(argc, argv, description), options);
  if (options.count("facts"))
    fmt::print("{}\n", facts_of(options["device"].as<std::string>()).dump());
  else
    run(options);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_lm: {}\n", error.what());
  return 2;
}
