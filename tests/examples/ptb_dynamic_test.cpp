// evaluate --dynamic and --temperature, as a user meets them: beside a loop that is spelled out, with every kind of model, and
// what is refused.
#include <cmath>
#include <csignal>

#include <fmt/format.h>

#include "tests/examples/ptb.h"
#include "tests/support.h"
#include "unroll.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

const Words data_of_text = {"--data", "text"};

// A folder with a text, and models of it, each trained once: `options` are of --set.
const Folder& with_text() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("tiny.toml", tiny + "\n[schedule]\nkind = \"constant\"\n");
    folder.write("text/train.txt", lines_thrice(1, 150, 3));
    folder.write("text/valid.txt", lines_thrice(2, 20, 3));
    folder.write("text/test.txt", lines_thrice(3, 30, 3));
    return true;
  }();
  (void)done;
  return folder;
}
std::string model_of(const std::string& name, const Words& options = {}) {
  const std::string file = name + "/last.safetensors";
  if (fs::exists(with_text() / file)) return file;
  Words words = Words{"train", "tiny.toml", "--out", name, "--set", "data.corpus=text"} + data_of_text;
  for (const std::string& option : options) words = words + Words{"--set", option};
  ptb_out(words, with_text().path());
  return file;
}
nlohmann::json evaluate(const std::string& file, const Words& more) {
  return ptb_json(Words{"evaluate", file} + data_of_text + more, with_text().path());
}

// The tiny model, and the text as it sees it.
struct Spelled {
  Spelled(const fs::path& file, const fs::path& text) {
    const SafetensorsFile saved(file);
    load_state_dict(saved, params);
    const auto vocabulary = nlohmann::json::parse(saved.metadata().at("vocabulary")).get<Words>();
    const auto id = [&](const std::string& word) {
      return static_cast<int32_t>(std::ranges::find(vocabulary, word) - vocabulary.begin());
    };
    eos = id("<eos>");
    for (const auto& [name, ids] : {std::pair{"train.txt", &train}, {"test.txt", &test}})
      for (const std::string& line : lines_of(read_text(text / name))) {
        std::istringstream stream(line);
        for (std::string word; stream >> word;) ids->push_back(id(word));
        ids->push_back(eos);
      }
  }
  static int vocab_of(const fs::path& file) {
    const SafetensorsFile saved(file);
    return static_cast<int>(saved.entry("decoder.bias").shape[0]);
  }

  // R, a slab: 100 streams, windows of 5.
  std::vector<double> statistics() {
    BpttWindows windows(train, {.batch = 100, .steps = 5});
    std::vector<double> sum(static_cast<size_t>(params.values().size()));
    RecurrentState state = lstm.zero_state(100);
    for (const auto& [input, target] : windows) {
      Tape tape({.dropout = false});
      const auto [y, next] = lstm(embed(input), state);
      tape.backward(softmax_cross_entropy(decoder, y, target));
      const auto g = gradients();
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += g[i] * g[i];
      state = next;
    }
    for (double& s : sum) s = std::sqrt(s / static_cast<double>(windows.count()));
    return sum;
  }
  std::vector<double> gradients() {
    const auto g = params.gradients().to_host();
    params.spend_gradients();
    return {g.begin(), g.end()};
  }
  // change(w, g, k) is element k of the new weights.
  template <class Change>
  void score(int segment, double temperature, NeuralCache* cache, Change change) {
    RecurrentState state = lstm.zero_state(1);
    plain = mixture = 0;
    int32_t before = eos;
    for (size_t begin = 0; begin < test.size(); begin += static_cast<size_t>(segment)) {
      const auto part =
          std::span(test).subspan(begin, std::min(static_cast<size_t>(segment), test.size() - begin));
      const int steps = static_cast<int>(part.size());
      IdTensor input({steps, 1}), target({steps, 1});
      for (int t = 0; t < steps; ++t) {
        input.data()[t] = t == 0 ? before : part[static_cast<size_t>(t) - 1];
        target.data()[t] = part[static_cast<size_t>(t)];
      }
      before = part.back();
      Tape tape({.dropout = false});
      const auto [y, next] = lstm(embed(input), state);
      const Var logits = decoder(y);
      std::vector<double> nats;
      const auto x = logits.value().to_host();
      const int64_t vocab = logits.dim(-1);
      for (int t = 0; t < steps; ++t) {
        double sum = 0;
        for (int64_t k = 0; k < vocab; ++k)
          sum += std::exp(double{x[static_cast<size_t>(t * vocab + k)]} / temperature);
        nats.push_back(std::log(sum) -
                       double{x[static_cast<size_t>(t * vocab + part[static_cast<size_t>(t)])]} /
                           temperature);
      }
      for (const double loss : nats) plain += loss;
      if (cache) cache->mix(y.value().reshape({steps, y.dim(-1)}), part, nats);
      for (const double loss : nats) mixture += loss;
      tape.backward(softmax_cross_entropy(logits, target));
      const auto g = gradients();
      {
        const Tensor values = params.changed_values();
        const auto w = values.on_host(Access::change);
        for (size_t k = 0; k < g.size(); ++k) w[k] = static_cast<real>(change(double{w[k]}, g[k], k));
      }
      state = next;
    }
    const auto tokens = static_cast<double>(test.size());
    plain = std::exp(plain / tokens), mixture = std::exp(mixture / tokens);
  }

  std::vector<int32_t> train, test;
  int32_t eos = 0;
  double plain = 0, mixture = 0;  // perplexities
  ParameterSet params{};
  Embedding embed{params / "embedding", {.vocab = vocab, .dim = 12}};
  Lstm lstm{params / "lstm", {.input = 12, .hidden = 16, .layers = 2}};
  Dense decoder{params / "decoder", {.in = 16, .out = vocab}};
  inline static int vocab = 0;
};

// Exit code 2, and all parts in the last line; how far the work was may stand before it.
void check_refused(const Words& words, const Folder& folder, const Words& parts) {
  const ProgramRun run = ptb(words, folder.path());
  const std::string command = fmt::format("ptb {}\n  -> {}", fmt::join(words, " "), run.err);
  CHECK_MESSAGE(run.code == 2, command);
  const auto lines = lines_of(run.err);
  const std::string missing = lines.empty() ? "an error" : lacks(lines.back(), parts);
  CHECK_MESSAGE(missing.empty(), command, missing);
}

// Ours rounds otherwise than the loop: some 1e-6 of each loss, and what is learned from it.
constexpr double rounding = 2e-5;

}  // namespace

TEST_CASE("evaluate --dynamic, with temperature and cache, is the loop that is spelled out") {
  const std::string file = model_of("plain");
  const fs::path path = with_text() / file;
  Spelled::vocab = Spelled::vocab_of(path);
  Spelled statistics(path, with_text() / "text");
  const auto rms = statistics.statistics();
  double typical = 0;
  for (const auto& p : statistics.params.all()) {
    double sum = 0;
    for (int64_t k = p->offset; k < p->offset + p->size(); ++k) sum += rms[static_cast<size_t>(k)];
    typical += sum / static_cast<double>(p->size());
  }
  typical /= static_cast<double>(statistics.params.all().size());
  for (const int segment : {5, 8}) {
    CAPTURE(segment);
    Spelled loop(path, with_text() / "text");
    const auto start = loop.params.values().to_host();
    NeuralCache cache({.window = 30, .theta = 0.5, .lambda = 0.2});
    const double longer = segment / 5.0, rate = 1e-3 * longer, decay = 0.01 * longer, epsilon = 1e-4;
    loop.score(segment, 1.2, &cache, [&](double w, double g, size_t k) {
      return w + std::min(decay * rms[k] / typical, 1.0) * (double{start[k]} - w) -
             rate * g / (rms[k] + epsilon);
    });
    const auto json =
        evaluate(file, {"--dynamic", fmt::format("rate=1e-3,decay=0.01,epsilon=1e-4,segment={}", segment),
                        "--temperature", "1.2", "--cache", "window=30,theta=0.5,lambda=0.2"});
    const auto& dynamic = json["dynamic"];
    CHECK(dynamic["perplexity"].get<double>() == doctest::Approx(loop.plain).epsilon(rounding));
    CHECK(dynamic["perplexity_with_cache"].get<double>() == doctest::Approx(loop.mixture).epsilon(rounding));
    CHECK(dynamic["rule"] == "rms");
    CHECK(dynamic["rate"] == 1e-3);
    CHECK(dynamic["decay"] == 0.01);
    CHECK(dynamic["epsilon"] == 1e-4);
    CHECK(dynamic["segment"] == segment);
    CHECK(dynamic["seconds"].get<double>() > 0);
    // It learns, and the static scores stand beside it.
    CHECK(dynamic["perplexity"].get<double>() < 0.95 * json["test_perplexity"].get<double>());
    Spelled fixed(path, with_text() / "text");
    NeuralCache of_fixed({.window = 30, .theta = 0.5, .lambda = 0.2});
    fixed.score(segment, 1.2, &of_fixed, [](double w, double, size_t) { return w; });
    CHECK(json["temperature"]["temperature"] == 1.2);
    CHECK(json["temperature"]["perplexity"].get<double>() == doctest::Approx(fixed.plain).epsilon(rounding));
    CHECK(json["cache"]["perplexity"].get<double>() == doctest::Approx(fixed.mixture).epsilon(rounding));
  }
  Spelled sgd(path, with_text() / "text");
  sgd.score(5, 1, nullptr, [](double w, double g, size_t) { return w - 0.3 * g; });
  const auto json = evaluate(file, {"--dynamic", "sgd,rate=0.3"});
  CHECK(json["dynamic"]["perplexity"].get<double>() == doctest::Approx(sgd.plain).epsilon(rounding));
  CHECK(json["dynamic"]["rule"] == "sgd");
  CHECK_FALSE(json["dynamic"].contains("decay"));
  CHECK_FALSE(json.contains("temperature"));
}

TEST_CASE("what needs one stream reads one, whatever the recipe's data.eval_batch, and the score says so") {
  const std::string file = model_of("streams", {"data.eval_batch=4"});
  const double in_four = evaluate(file, {})["test_perplexity"];
  for (const auto& [name, settings] : {std::pair{"cache", "window=20"}, {"dynamic", "sgd,rate=0.1"}}) {
    const Words way = {std::string("--") + name, settings};
    const auto implied = evaluate(file, way), asked = evaluate(file, way + Words{"--batch", "1"});
    CHECK(implied["test_perplexity"] == asked["test_perplexity"]);
    CHECK(implied["test_perplexity"] != in_four);
    CHECK(implied[name]["perplexity"] == asked[name]["perplexity"]);
    const auto says = [&](const Words& more) {
      const std::string out = ptb_out(Words{"evaluate", file} + data_of_text + way + more, with_text().path());
      return lines_of(out).at(0).ends_with(", in one stream");
    };
    CHECK(says({}));
    CHECK_FALSE(says({"--batch", "1"}));
  }
  CHECK(evaluate(file, {"--tune", "quick"}).contains("tune"));
}

TEST_CASE("what is measured beside dynamic evaluation is of the trained model") {
  const Words asked = {"evaluate", "model/last.safetensors", "--batch", "1", "--agreement"};
  const auto alone = ptb_json(asked, trained().path());
  const Folder elsewhere;
  const Words sgd = {"sgd,rate=0.5"}, rms = {"rate=0.001", "--statistics", (elsewhere / "statistics").string()};
  for (const Words& learns : {sgd, rms}) {
    const auto beside = ptb_json(asked + Words{"--dynamic"} + learns, trained().path());
    CHECK(beside["agreement"] == alone["agreement"]);
    CHECK(beside["dynamic"]["perplexity"] != beside["test_perplexity"]);
  }
}

TEST_CASE(
    "every kind of model: without a rate the static score, with one a better one; its file stays as it is") {
  const std::vector<std::pair<std::string, Words>> models = {
      {"plain", {}},
      {"tied", {"model.tied=true", "model.embedding=16"}},
      {"gru", {"model.cell=gru"}},
      {"options",
       {"model.layer_norm=true", "model.zoneout_h=0.1", "model.zoneout_c=0.1", "model.weight_drop=0.3",
        "model.residual=true", "model.embedding=16"}},
      {"projected", {"model.projection=8", "model.coupled_gates=true"}},
      {"letters", {"data.level=char"}},
      {"documents", {"data.reset=document"}}};
  for (const auto& [name, options] : models) {
    CAPTURE(name);
    const std::string file = model_of(name, options);
    const std::string before = read_text(with_text() / file);
    const auto still = evaluate(file, {"--dynamic", "rate=0"}),
               moved = evaluate(file, {"--dynamic", "rate=3e-4"});
    const double fixed = still["test_perplexity"];
    CHECK(still["dynamic"]["perplexity"].get<double>() == doctest::Approx(fixed).epsilon(1e-5));
    CHECK(moved["dynamic"]["perplexity"].get<double>() < 0.99 * fixed);
    CHECK(moved["test_perplexity"] == fixed);
    CHECK(moved["tokens"] == still["tokens"]);
    CHECK(read_text(with_text() / file) == before);
  }
}

TEST_CASE("temperature alone: of a model that is scored in several streams too") {
  const std::string file = model_of("plain");
  const auto plain = evaluate(file, {}), one = evaluate(file, {"--temperature", "1"}),
             cold = evaluate(file, {"--temperature", "0.2"}), hot = evaluate(file, {"--temperature", "1000"}),
             side = evaluate(file, {"--temperature", "1.3", "--batch", "3"});
  CHECK_FALSE(plain.contains("temperature"));
  CHECK(one["temperature"]["perplexity"] == one["test_perplexity"]);
  CHECK(one["test_perplexity"] == plain["test_perplexity"]);
  // All words alike: their number.
  Spelled::vocab = Spelled::vocab_of(with_text() / file);
  CHECK(hot["temperature"]["perplexity"].get<double>() == doctest::Approx(Spelled::vocab).epsilon(0.01));
  CHECK(cold["temperature"]["perplexity"].get<double>() > 2 * plain["test_perplexity"].get<double>());
  CHECK(side["temperature"]["perplexity"] != side["test_perplexity"]);
  CHECK(side["tokens"] == plain["tokens"]);
  const std::string said =
      ptb_out(Words{"evaluate", file, "--temperature", "1.3"} + data_of_text, with_text().path());
  CHECK(said.find("with the softmax at temperature 1.3\n") != std::string::npos);
}

TEST_CASE("statistics are made once, beside the model or where --statistics says, and to the same bytes") {
  const Folder folder;
  fs::copy(with_text() / "text", folder / "text");
  fs::copy(with_text() / model_of("plain"), folder / "model.safetensors");
  const auto run = [&](const Words& more) {
    return ptb(Words{"evaluate", "model.safetensors"} + data_of_text + more, folder.path());
  };
  const ProgramRun first = run({"--dynamic"});
  CHECK(first.code == 0);
  const std::string beside = "model.statistics.safetensors";
  CHECK_MESSAGE(first.out.find(beside) != std::string::npos, first.out);
  CHECK(first.out.find("kept for the next time") != std::string::npos);
  CHECK(first.err.find("made once") != std::string::npos);
  CHECK(first.out.find("dynamic: rate 5e-05, decay 0.002, epsilon 2e-05, segments of 5") !=
        std::string::npos);
  const std::string made = read_text(folder / beside);
  const ProgramRun second = run({"--dynamic", "rate=5e-5"});  // the training text is not needed any more
  CHECK(second.out.find("made before") != std::string::npos);
  const auto score = [](const std::string& out) {
    const size_t at = out.find("dynamic: ");
    return out.substr(out.rfind("perplexity", at), at - out.rfind("perplexity", at));
  };
  CHECK(score(second.out) == score(first.out));
  CHECK(read_text(folder / beside) == made);
  CHECK(run({"--dynamic", "--statistics", "elsewhere"}).code == 0);
  CHECK(read_text(folder / "elsewhere") == made);
  CHECK(run({"--dynamic", "sgd,rate=0.1"}).out.find("statistics") == std::string::npos);
}

TEST_CASE("interrupted while it makes statistics, it leaves none") {
  const Folder folder;
  fs::copy(with_text() / "text", folder / "text");
  fs::copy(with_text() / model_of("plain"), folder / "model.safetensors");
  folder.write("text/train.txt", lines_thrice(5, 20'000, 3));
  folder.write("out", "");
  const auto before = folder.listing();
  // The static score is printed before statistics are made.
  const ProgramRun run = run_program(
      program_named("ptb"), Words{"evaluate", "model.safetensors", "--dynamic"} + data_of_text, folder.path(),
      (folder / "out").string(), {SIGINT, [&] { return !read_text(folder / "out").empty(); }});
  CHECK_MESSAGE(run.code == 130, run.err);
  auto after = folder.listing();
  std::erase_if(after, [](const std::string& line) { return line.starts_with("out "); });
  auto expected = before;
  std::erase_if(expected, [](const std::string& line) { return line.starts_with("out "); });
  CHECK(after == expected);
}

TEST_CASE("what --dynamic, --statistics and --temperature refuse, in one line") {
  const std::string file = model_of("plain");
  const auto refused = [&](const Words& more, const Words& parts) {
    check_refused(Words{"evaluate", file} + data_of_text + more, with_text(), parts);
  };
  refused({"--dynamic", "rate=much"}, {"--dynamic rate=much", "'much'"});
  refused({"--dynamic", "rat=1"}, {"--dynamic rat=1", "did you mean 'rate'?"});
  refused({"--dynamic", "rate=1,rate=2"}, {"'rate'", "twice"});
  refused({"--dynamic", "rate=-1"}, {"--dynamic", "rate -1"});
  refused({"--dynamic", "decay=-1"}, {"--dynamic", "decay -1"});
  refused({"--dynamic", "epsilon=0"}, {"--dynamic", "epsilon 0"});
  refused({"--dynamic", "segment=0"}, {"--dynamic", "segment 0"});
  refused({"--dynamic", "segment=100001"}, {"--dynamic", "segment 100001", "from 1 to 100000"});
  refused({"--dynamic", "segment=2.5"}, {"segment=2.5"});
  refused({"--dynamic", "sgd"}, {"sgd needs a rate"});
  refused({"--dynamic", "sgd,rate=1,decay=1"}, {"neither decay nor epsilon"});
  refused({"--dynamic", "--batch", "2"}, {"--dynamic", "--batch 1", "not 2"});
  refused({"--dynamic", "sgd,rate=1e30"}, {"--dynamic", "rate 1e+30 is too large"});
  refused({"--statistics", "s"}, {"--statistics", "--dynamic"});
  refused({"--statistics", "s", "--dynamic", "sgd,rate=1"}, {"--statistics", "rms"});
  refused({"--temperature", "0"}, {"--temperature 0"});
  refused({"--temperature", "-1"}, {"--temperature -1"});
  refused({"--temperature", "nan"}, {"--temperature"});
  refused({"--dynamic", "--statistics", "nowhere/s"}, {"nowhere/s"});
  // A model's own word may follow, where nothing that looks like settings does.
  CHECK(ptb(Words{"evaluate", "--dynamic", file} + data_of_text, with_text().path()).code == 0);

  const Folder folder;
  fs::copy(with_text() / "text", folder / "text");
  fs::copy(with_text() / file, folder / "one.safetensors");
  fs::copy(with_text() / model_of("gru", {"model.cell=gru"}), folder / "other.safetensors");
  ptb_out(Words{"evaluate", "one.safetensors", "--dynamic"} + data_of_text, folder.path());
  check_refused(
      Words{"evaluate", "other.safetensors", "--dynamic", "--statistics", "one.statistics.safetensors"} +
          data_of_text,
      folder, {"one.statistics.safetensors", "another model"});
  // Before anything is scored.
  const auto refused_at_once = [&](const Words& parts) {
    const Words words = Words{"evaluate", "one.safetensors", "--dynamic"} + data_of_text;
    check_refused(words, folder, parts);
    CHECK(ptb(words, folder.path()).out == "");
  };
  std::string bytes = read_text(folder / "one.statistics.safetensors");
  bytes[bytes.size() - 3] ^= 1;
  folder.write("one.statistics.safetensors", bytes);
  refused_at_once({"one.statistics.safetensors", "damaged", "checksum"});
  fs::remove(folder / "one.statistics.safetensors");
  folder.write("text/train.txt", "w1 w2\n");
  refused_at_once({"3 tokens", "too few", "100 streams"});
  fs::remove(folder / "text/train.txt");
  refused_at_once({"train.txt"});
}
