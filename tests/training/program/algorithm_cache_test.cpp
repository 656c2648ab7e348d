// Which of cuDNN's algorithms a run takes: measured once on a machine, known from then on, over the stand-in.
#include "training/files/algorithm_cache.h"

#include <fstream>

#include "tests/environment.h"
#include "tests/program.h"
#include "tests/standin/cudnn.h"
#include "tests/standin/standin.h"
#include "tests/support.h"
#include "training/files/atomic_file.h"
#include "training/program/run/choose_algorithm.h"

using namespace unroll;
using standin::cudnn;

namespace {

// A machine's clock by which each run of an algorithm takes what it is told: four algorithms, three runs each.
struct Clock {
  std::vector<double> seconds = {2, 1, 3, 4};  // standard, persistent, persistent_small, persistent_dynamic
  int readings = 0;
  double time = 0;
  std::function<double()> function() {
    return [this] {
      if (readings % 2 == 1) time += seconds.at(static_cast<size_t>(readings / 6) % seconds.size());
      ++readings;
      return time;
    };
  }
};
constexpr int readings_of_one = 4 * 3 * 2;

const RecurrentConfig small{.input = 3, .hidden = 5, .layers = 2};
LayerUse use_of(const RecurrentConfig& config, int steps = 4, int batch = 3, CellKind cell = CellKind::lstm) {
  return {.cell = cell, .config = config, .steps = steps, .batch = batch};
}

// What is chosen with a file, and how often the clock was read for it.
struct Chosen : ChosenAlgorithm {
  int readings;
};
Chosen choose(const std::filesystem::path& file, const std::vector<LayerUse>& layers, Clock clock = {},
              bool deterministic = false, bool keep = true) {
  const ChosenAlgorithm chosen =
      choose_algorithm(layers, deterministic, {.file = file, .keep = keep}, clock.function());
  return {chosen, clock.readings};
}

}  // namespace

TEST_CASE("an algorithm is measured once, and known to the next run, whatever its clock would say") {
  const Folder folder;
  const auto file = folder / "deep/unroll/algorithms.json";
  const Chosen first = choose(file, {use_of(small)});
  CHECK(first.algorithm == CudnnAlgorithm::persistent);
  CHECK(first.readings == readings_of_one);
  CHECK(first.text == "persistent, the fastest of 4, measured now, kept in " + file.string());
  CHECK(first.complaint == "");
  const Chosen second = choose(file, {use_of(small)}, {.seconds = {1, 2, 2, 2}});
  CHECK(second.algorithm == CudnnAlgorithm::persistent);
  CHECK(second.readings == 0);
  CHECK(second.text == "persistent, the fastest of 4, known from before: " + file.string());
  CHECK(second.complaint == "");
}

TEST_CASE("what the times depend on is measured anew where it is another, and both are kept") {
  const Folder folder;
  const auto file = folder / "algorithms.json";
  const auto measures = [&](const LayerUse& use) {
    const int readings = choose(file, {use}).readings;
    CHECK(choose(file, {use}).readings == 0);
    return readings > 0;
  };
  CHECK(measures(use_of(small)));
  const auto changed = [](auto change) {
    RecurrentConfig config = small;
    change(config);
    return use_of(config);
  };
  CHECK(measures(use_of(small, 5)));
  CHECK(measures(use_of(small, 4, 2)));
  CHECK(measures(changed([](RecurrentConfig& c) { c.input = 4; })));
  CHECK(measures(changed([](RecurrentConfig& c) { c.hidden = 6; })));
  CHECK(measures(changed([](RecurrentConfig& c) { c.layers = 1; })));
  CHECK(measures(changed([](RecurrentConfig& c) { c.bidirectional = true; })));
  CHECK(measures(changed([](RecurrentConfig& c) { c.projection = 2; })));
  // A call for each layer; in one direction `fused` would be faster.
  CHECK(measures(changed([](RecurrentConfig& c) { c.dropout = 0.5f, c.bidirectional = true; })));
  CHECK(!measures(changed([](RecurrentConfig& c) { c.dropout = 0.2f, c.bidirectional = true; })));
  CHECK(!measures(changed([](RecurrentConfig& c) { c.forget_bias = 1; })));
  CHECK(measures(use_of({.input = 3, .hidden = 5, .layers = 2}, 4, 3, CellKind::gru)));
  cudnn().version += 1;
  CHECK(measures(use_of(small)));
  cudnn().version -= 1;
  set_precision(Precision::bf16);  // in tf32 it is not cuDNN that serves
  CHECK(measures(use_of(small)));
  set_precision(Precision::fp32);
  // Another GPU, driver and CUDA, as its owner's file has them.
  for (const auto& [ours, another] :
       {std::pair{"\"stand-in\"", "\"another\""}, std::pair{"\"capability\":90", "\"capability\":80"},
        std::pair{"\"driver\":1", "\"driver\":2"}, std::pair{"\"cuda\":1", "\"cuda\":2"}}) {
    std::string text = read_text(file);
    for (size_t at = 0; (at = text.find(ours, at)) != std::string::npos; at += std::strlen(another))
      text.replace(at, std::strlen(ours), another);
    folder.write("another.json", text);
    INFO(another);
    CHECK(choose(folder / "another.json", {use_of(small)}).readings == readings_of_one);
    CHECK(choose(folder / "another.json", {use_of(small)}).readings == 0);
    CHECK(lines_of(read_text(folder / "another.json")).size() == lines_of(text).size() + 1);
  }
  CHECK(choose(file, {use_of(small)}).readings == 0);
}

TEST_CASE("what no algorithm can compute is kept as that") {
  const Folder folder;
  RecurrentConfig projected = small;
  projected.projection = 2;
  const Chosen first = choose(folder / "algorithms.json", {use_of(projected)});
  CHECK(first.algorithm == CudnnAlgorithm::standard);
  CHECK(first.readings == readings_of_one / 4);
  const Chosen second = choose(folder / "algorithms.json", {use_of(projected)});
  CHECK(second.algorithm == CudnnAlgorithm::standard);
  CHECK(second.readings == 0);
  CHECK(lacks(second.text, {"standard, the fastest of 1, known from before"}) == "");
}

TEST_CASE("an algorithm that there is no memory for is left out, which is said and not kept") {
  const Folder folder;
  const auto file = folder / "algorithms.json";
  cudnn().persistent_bytes = 2 * standin::control().memory;
  const Chosen first = choose(file, {use_of(small), use_of(small)});
  CHECK(first.algorithm == CudnnAlgorithm::standard);
  CHECK(first.readings == readings_of_one / 4);
  CHECK(first.text == "standard, the fastest of 1, measured now");
  CHECK(lacks(first.complaint, {"what was measured is not kept: persistent: ", "out of memory"}) == "");
  CHECK(first.complaint.find('\n') == std::string::npos);
  CHECK(folder.listing().empty());
  cudnn().persistent_bytes = 0;
  const Chosen second = choose(file, {use_of(small)});
  CHECK(second.algorithm == CudnnAlgorithm::persistent);
  CHECK(second.readings == readings_of_one);
}

TEST_CASE("a damaged file is said in one line, measured anew, and whole again") {
  const Folder folder;
  const auto file = folder / "algorithms.json";
  choose(file, {use_of(small)});
  const std::string whole = read_text(file);
  const auto with = [&](const std::string& old, const std::string& other) {
    const size_t at = whole.find(old);
    REQUIRE(at != std::string::npos);
    return std::string(whole).replace(at, old.size(), other);
  };
  for (const std::string& text :
       {std::string(), std::string("no JSON"), std::string("[]"), std::string("{\"version\": 1}"),
        whole.substr(0, whole.size() / 2), with("\"version\": 1", "\"version\": 2"),
        with("\"standard\"", "\"another\""), with("\"standard\":2.0", "\"standard\":-2.0"),
        with("\"standard\":2.0", "\"standard\":\"2.0\""), with("\"standard\":2.0,", ""),
        with("\"cannot\"", "\"cant\""), with("{\"of\":{", "{\"off\":{"),
        with("\"cannot\":{}", "\"cannot\":{\"standard\":\"no\"}"),
        with(",\"persistent_dynamic\":4.0},\"cannot\":{}", "},\"cannot\":{\"persistent_dynamic\":\"\"}"),
        std::string("\"\0\xff\"", 4)}) {
    folder.write("algorithms.json", text);
    INFO(text);
    const Chosen chosen = choose(file, {use_of(small)});
    CHECK(chosen.algorithm == CudnnAlgorithm::persistent);
    CHECK(chosen.complaint == file.string() + ": damaged: measuring anew");
    CHECK(lacks(chosen.text, {"measured now, kept in"}) == "");
    CHECK(read_text(file) == whole);
  }
}

TEST_CASE(
    "a file that cannot be read or written is said in one line, and training goes on with what was measured") {
  const Folder folder;
  const std::string in_the_way = folder.write("in-the-way", "");
  const Chosen no_folder =
      choose(std::filesystem::path(in_the_way) / "unroll/algorithms.json", {use_of(small)});
  CHECK(no_folder.algorithm == CudnnAlgorithm::persistent);
  CHECK(no_folder.text == "persistent, the fastest of 4, measured now");
  CHECK(lacks(no_folder.complaint, {"what was measured is not kept", in_the_way}) == "");

  std::filesystem::create_directory(folder / "a-folder");
  const Chosen a_folder = choose(folder / "a-folder", {use_of(small)});
  CHECK(a_folder.algorithm == CudnnAlgorithm::persistent);
  CHECK(lacks(a_folder.complaint,
              {"a-folder: cannot be read: measuring anew", "what was measured is not kept"}) == "");

  // A process that is writing the file now is no obstacle: this one writes under a name of its own.
  const AtomicFile another(folder / "algorithms.json");
  const Chosen beside = choose(folder / "algorithms.json", {use_of(small)});
  CHECK(beside.algorithm == CudnnAlgorithm::persistent);
  CHECK(beside.complaint == "");
  CHECK(std::filesystem::exists(folder / "algorithms.json"));

  const Chosen nowhere = choose({}, {use_of(small)});
  CHECK(nowhere.algorithm == CudnnAlgorithm::persistent);
  CHECK(lacks(nowhere.complaint, {"not kept", "XDG_CACHE_HOME", "HOME"}) == "");
}

TEST_CASE("where nothing is to be kept, or to be measured, no file is written") {
  const Folder folder;
  const auto file = folder / "algorithms.json";
  CHECK(choose(file, {use_of(small)}, {}, false, false).text == "persistent, the fastest of 4, measured now");
  CHECK(choose(file, {use_of(small)}, {}, true).algorithm == CudnnAlgorithm::standard);
  RecurrentConfig named = small, elsewhere = small;
  named.algorithm = CudnnAlgorithm::persistent_dynamic, elsewhere.engine = Engine::fused;
  CHECK(choose(file, {use_of(named)}).algorithm == CudnnAlgorithm::persistent_dynamic);
  CHECK(choose(file, {use_of(elsewhere)}).algorithm == CudnnAlgorithm::automatic);
  CHECK(choose(file, {use_of(elsewhere)}).text == "");
  CHECK(choose(file, {}).algorithm == CudnnAlgorithm::automatic);
  CHECK(folder.listing().empty());
  choose(file, {use_of(small)});
  CHECK(choose(file, {use_of(small)}, {}, false, false).readings == 0);  // it is read
}

TEST_CASE("of several layers the algorithm is that of the fastest step, among those that serve all") {
  const Folder folder;
  const LayerUse encoder = use_of(small, 24);
  LayerUse decoder = use_of(RecurrentConfig{.input = 1, .hidden = 5, .layers = 2}, 1);
  decoder.calls = 3;
  // The encoder's times, then the decoder's: 2 + 3 * 1, 1 + 3 * 2, 3 + 3 * 0.5, 4 + 3 * 4.
  const Clock clock{.seconds = {2, 1, 3, 4, 1, 2, 0.5, 4}};
  CHECK(choose(folder / "a.json", {encoder, decoder}, clock).algorithm == CudnnAlgorithm::persistent_small);
  CHECK(choose(folder / "a.json", {encoder}).algorithm ==
        CudnnAlgorithm::persistent);  // each is known by itself
  decoder.calls = 1;
  const Chosen once = choose(folder / "a.json", {encoder, decoder});
  CHECK(once.algorithm == CudnnAlgorithm::standard);  // 3 as persistent, and the first
  CHECK(once.readings == 0);

  RecurrentConfig projected = small;
  projected.projection = 2;  // which the standard one alone computes
  const Chosen both = choose(folder / "a.json", {encoder, use_of(projected, 1)}, {.seconds = {9}});
  CHECK(both.algorithm == CudnnAlgorithm::standard);
  CHECK(both.readings == readings_of_one / 4);  // the encoder is known
  CHECK(lacks(both.text, {"standard, the fastest of 1, measured now"}) == "");
}

TEST_CASE("the file is in the user's folder for such") {
  const auto file_with = [](const char* cache, const char* home) {
    const EnvironmentVariable first("XDG_CACHE_HOME", cache), second("HOME", home);
    return algorithm_cache_file().string();
  };
  CHECK(file_with("/cache", "/home/a") == "/cache/unroll/cudnn-algorithms.json");
  CHECK(file_with(nullptr, "/home/a") == "/home/a/.cache/unroll/cudnn-algorithms.json");
  CHECK(file_with("", "/home/a") == "/home/a/.cache/unroll/cudnn-algorithms.json");
  CHECK(file_with("relative", "/home/a") == "/home/a/.cache/unroll/cudnn-algorithms.json");
  CHECK(file_with(nullptr, nullptr) == "");
}

// The programs themselves, over the stand-in. What they measure by the machine's clock may come out either way.
TEST_CASE(
    "a run says whether its algorithm was measured or is known, writes it down, and is resumed with it") {
  const Folder folder;
  const EnvironmentVariable cache("XDG_CACHE_HOME", folder.path().c_str());
  const auto file = folder / "unroll/cudnn-algorithms.json";
  for (const std::string name : {"timeseries", "ptb"}) {
    INFO(name);
    std::filesystem::remove(file);
    Words recipe = {"airline", "--set", "model.hidden=8"};
    if (name == "ptb")
      recipe = {"demo",
                "--set",
                "model.hidden=8",
                "--set",
                "model.embedding=8",
                "--set",
                "model.layers=1",
                "--set",
                "data.train_tokens=20000",
                "--set",
                "data.valid_tokens=500",
                "--set",
                "data.test_tokens=500"};
    const auto out_of = [&](const Words& words) {
      return output_of(run_program(program_named(name), words, folder.path()));
    };
    const auto train = [&](const Words& more) {
      return out_of(Words{"train"} + recipe + Words{"--set", "training.epochs=1", "--device", "cuda"} + more);
    };
    const auto says = [](const std::string& out, const std::string& part) {
      return out.find(part) != std::string::npos;
    };
    CHECK(says(train({"--dry-run"}), "measured now"));
    CHECK(!std::filesystem::exists(file));
    const std::string first = train({"--out", name + "-1"});
    CHECK_MESSAGE(says(first, "measured now, kept in " + file.string()), first);
    const std::string second = train({"--out", name + "-2"});
    CHECK_MESSAGE(says(second, "known from before: " + file.string()), second);

    const auto algorithm_in = [&](const std::string& run) {
      for (const std::string& line : lines_of(read_text(folder / run / "recipe.toml")))
        if (line.starts_with("algorithm = ")) return line;
      return std::string("no line");
    };
    CHECK(algorithm_in(name + "-1") != "algorithm = \"auto\"");
    CHECK(algorithm_in(name + "-1") == algorithm_in(name + "-2"));
    const std::string before = algorithm_in(name + "-1"),
                      checkpoint = read_text(folder / (name + "-1") / "last.safetensors");
    const std::string quoted = "algorithm = \\\"" + before.substr(13, before.size() - 14) + "\\\"";
    CHECK_MESSAGE(says(checkpoint, quoted), quoted);
    std::filesystem::remove(file);
    const std::string resumed = out_of({"resume", name + "-1", "--set", "training.epochs=2"});
    CHECK(!says(resumed, "measured now"));
    CHECK(algorithm_in(name + "-1") == before);
    CHECK(!std::filesystem::exists(file));
  }
}

TEST_CASE("what was timed as a graph is another measurement than what was launched piece by piece") {
  const Folder folder;
  const auto file = folder / "algorithms.json";
  LayerUse played = use_of(small);
  played.as_graph = true;
  CHECK(choose(file, {use_of(small)}).readings == readings_of_one);
  CHECK(choose(file, {played}).readings == readings_of_one);
  CHECK(choose(file, {played}).readings == 0);
  CHECK(choose(file, {use_of(small)}).readings == 0);
}

TEST_CASE("a run is resumed with the engine that it was trained with, in every precision") {
  const Folder folder;
  const EnvironmentVariable cache("XDG_CACHE_HOME", folder.path().c_str());
  for (const std::string precision : {"fp32", "tf32", "bf16"}) {
    const auto engine_of = [&](const Words& words) {
      const std::string out = output_of(run_program(program_named("timeseries"), words, folder.path()));
      for (const std::string& line : lines_of(out))
        if (line.starts_with("engine ")) return line;
      return "no line in: " + out;
    };
    const std::string trained =
        engine_of({"train", "airline", "--set", "model.hidden=8", "--set", "training.epochs=1", "--set",
                   "training.precision=" + precision, "--device", "cuda", "--out", precision});
    const std::string resumed = engine_of({"resume", precision, "--set", "training.epochs=2"});
    CHECK(trained == resumed);
    CHECK_MESSAGE(trained.starts_with("engine  lstm: "), trained);
  }
}

TEST_CASE("a damaged cache is said on the standard error of a run that goes on") {
  const Folder folder;
  const EnvironmentVariable cache("XDG_CACHE_HOME", folder.path().c_str());
  const std::string file = folder.write("unroll/cudnn-algorithms.json", "damaged");
  const ProgramRun run = run_program(
      program_named("timeseries"),
      {"train", "airline", "--dry-run", "--device", "cuda", "--set", "model.hidden=8"}, folder.path());
  CHECK(run.code == 0);
  CHECK(run.err == "timeseries: " + file + ": damaged: measuring anew\n");
  CHECK(read_text(file) == "damaged");  // a dry run writes nothing
}
