// Training speed of the PTB language models on random tokens: whole steps, from the embedding to the update.
//
//   bench_lm --model small|medium|large --threads N --seconds S [--engine fused|composed] [--precision bf16] [--peak]
//
// Prints one line of JSON: words per second as median, smallest and largest of the repetitions; with --peak also the
// machine's, measured before and after, and the share of it that the steps' products reached.
#include <boost/program_options.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "bench/peak.h"
#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "framework/unroll.h"

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

struct Model {
  Model(int vocab, const Shapes& s, LstmEngine engine)
      : embed(params / "embedding", {.vocab = vocab, .dim = s.hidden}),
        dropout_in(params / "dropout_in", {.rate = s.dropout}),
        lstm(params / "lstm",
             {.input = s.hidden, .hidden = s.hidden, .layers = 2, .dropout = s.dropout, .engine = engine}),
        dropout_out(params / "dropout_out", {.rate = s.dropout}),
        out(params / "decoder", {.in = s.hidden, .out = vocab}) {}
  ParameterSet params;
  Embedding embed;
  Dropout dropout_in;
  Lstm lstm;
  Dropout dropout_out;
  Dense out;
};

double seconds_of_steps(Model& model, Sgd& sgd, const Shapes& s, LstmState& state, const std::vector<IdTensor>& tokens,
                        int count) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const IdTensor &input = tokens[i % tokens.size()], &target = tokens[(i + 1) % tokens.size()];
    Tape tape;
    auto [y, next] = model.lstm(model.dropout_in(model.embed(input)), state);
    const Var loss = softmax_cross_entropy(model.out, model.dropout_out(y), target) * static_cast<real>(s.steps);
    tape.backward(loss);
    sgd.step({.max_norm = s.clip});
    state = next;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run(const po::variables_map& options) {
  const std::string name = options["model"].as<std::string>();
  const Shapes s = shapes_of(name);
  const int vocab = 10000;
  set_threads(options["threads"].as<int>());
  set_precision(precision_named(options["precision"].as<std::string>()));
  const auto peak = [&] { return options.count("peak") ? peak_gflops(precision(), threads()) : 0; };
  const double peak_before = peak();

  Model model(vocab, s, lstm_engine_named(options["engine"].as<std::string>()));
  model.params.initialize(Init::uniform(-0.05f, 0.05f));
  Sgd sgd(model.params, {.learning_rate = 0.1f});
  LstmState state = model.lstm.zero_state(s.batch);

  RandomStream random(1, "tokens");
  std::vector<IdTensor> tokens;
  for (int k = 0; k < 16; ++k) {
    tokens.emplace_back(Shape{s.steps, s.batch});
    for (int32_t& id : tokens.back().span()) id = static_cast<int32_t>(random.below(vocab));
  }

  const double first = seconds_of_steps(model, sgd, s, state, tokens, 3);  // warm-up, and a guess
  const int count = std::max(1, static_cast<int>(options["seconds"].as<double>() / 5 / (first / 3)));
  std::vector<double> rates;
  const int64_t flops_before = product_flops;
  for (int repetition = 0; repetition < 5; ++repetition)
    rates.push_back(count * s.steps * s.batch / seconds_of_steps(model, sgd, s, state, tokens, count));
  std::sort(rates.begin(), rates.end());
  const double flops_per_word =
      static_cast<double>(product_flops - flops_before) / (5.0 * count * s.steps * s.batch);
  nlohmann::ordered_json line = {
      {"model", name},
      {"threads", threads()},
      {"engine", name_of(model.lstm.choice().engine)},
      {"precision", name_of(precision())},
      {"kernels", kernels().name},
      {"words_per_second", rates[2]},
      {"smallest", rates[0]},
      {"largest", rates[4]},
      {"ms_per_step", 1000 * s.steps * s.batch / rates[2]},
      {"gflops", rates[2] * flops_per_word / 1e9},
  };
  if (options.count("peak")) {
    const double machine = std::max(peak_before, peak());
    line["peak_gflops"] = machine;
    line["share_of_peak"] = machine > 0 ? rates[2] * flops_per_word / 1e9 / machine : 0;
  }
  fmt::print("{}\n", line.dump());
}

}  // namespace

int main(int argc, char** argv) try {
  po::options_description description("options");
  description.add_options()("model", po::value<std::string>()->default_value("small"))(
      "threads", po::value<int>()->default_value(2))("seconds", po::value<double>()->default_value(10))(
      "engine", po::value<std::string>()->default_value("auto"))(
      "precision", po::value<std::string>()->default_value("fp32"))("peak", "measure the machine's peak, too");
  po::variables_map options;
  po::store(po::parse_command_line(argc, argv, description), options);
  run(options);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_lm: {}\n", error.what());
  return 2;
}
