// The choice of an engine: each of cuDNN's criteria flipped alone, on a machine that has everything else.
#include "tests/layers/choice.h"

#include <algorithm>
#include <functional>

#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "tests/environment.h"
#include "tests/support.h"

using namespace unroll;
using Fits = EngineReason::Fits;

namespace {

// A change of one criterion, and the reason that the choice then gives.
struct Flip {
  std::string criterion, value, because;
  std::function<void(RecurrentConfig&)> config = {};
  std::function<void(EngineFacts&)> facts = {};
  std::function<void(WindowFacts&)> windows = {};
};

// Checks a refusal of an LSTM or a GRU.
template <class Choose>
void check_refusal(const Choose& choose, RecurrentConfig config, EngineFacts facts, WindowFacts windows,
                   const std::string& name, const std::string& criterion, const std::string& value,
                   const std::string& because) {
  CAPTURE(criterion);
  const EngineChoice choice = choose(config, facts, windows);
  CHECK(choice.engine == Engine::fused);
  CHECK(choice.text == name + ": fused, because " + because);
  CHECK(row(choice, criterion).fits == Fits::no);
  CHECK(row(choice, criterion).value == value);
  CHECK(row(choice, criterion).because == because);
  CHECK(std::ranges::count(choice.reasons, Fits::no, &EngineReason::fits) == 1);
  config.engine = Engine::cudnn;
  CHECK(input_error_of([&] { choose(config, facts, windows); }) ==
        "engine 'cudnn' cannot serve: " + because + "; 'fused' and 'composed' can");
  config.engine = Engine::composed;
  CHECK(choose(config, facts, windows).text == name + ": composed, because it was asked for");
}

}  // namespace

TEST_CASE("cudnn is taken where every criterion fits, and the line says what runs") {
  const EngineChoice choice = Lstm::choose(plain, h100, window);
  CHECK(choice.engine == Engine::cudnn);
  CHECK(choice.text == "lstm: cudnn, 2 x 1500");
  CHECK(std::ranges::none_of(choice.reasons, [](const EngineReason& r) { return r.fits == Fits::no; }));
  const EngineChoice gru = Gru::choose({.input = 3, .hidden = 5}, h100);
  CHECK(gru.engine == Engine::cudnn);
  CHECK(gru.text == "gru: cudnn, 1 x 5");
  RecurrentConfig forced = plain;
  forced.engine = Engine::cudnn;
  CHECK(Lstm::choose(forced, h100).text == "lstm: cudnn, 2 x 1500, because it was asked for");
}

TEST_CASE("fused is taken where it is known to be faster than cuDNN, which would serve") {
  EngineFacts facts = h100;
  facts.processors = 132, facts.code = 90, facts.shared_memory = 227 << 10;
  const auto line = [&](const RecurrentConfig& config, Precision p) {
    facts.precision = p;
    return Lstm::choose(config, facts, window).text;
  };
  const std::string persistent =
      "lstm: fused, because its persistent kernel, for up to 64 rows, is faster than cuDNN; persistent";
  const RecurrentConfig small{.input = 200, .hidden = 200, .layers = 2};
  CHECK(line(plain, Precision::bf16) == persistent);
  CHECK(line(small, Precision::tf32) == persistent + ", both layers at once");
  // In one call cuDNN's small layers overlap.
  CHECK(line(small, Precision::bf16) == "lstm: cudnn, 2 x 200");
  RecurrentConfig changed = small;
  changed.layers = 1;
  CHECK(line(changed, Precision::bf16) == persistent);
  changed.layers = 2, changed.dropout = 0.5f;
  CHECK(line(changed, Precision::bf16) == persistent + ", both layers at once");
  // Tensor cores have no float32, and no layer so wide in tf32: there layers go side by side, which was faster than a call of cuDNN's for each.
  const std::string side_by_side =
      "lstm: fused, because its layers go side by side, and cuDNN was slower with a call for each";
  CHECK(line(changed, Precision::fp32) == side_by_side);
  changed.layers = 1, changed.dropout = 0;
  CHECK(line(changed, Precision::fp32) == "lstm: cudnn, 1 x 200");
  changed = plain, changed.dropout = 0.65f;
  CHECK(line(changed, Precision::tf32).starts_with(side_by_side + "; persistent: no, weights of 12 units"));
  CHECK(line(plain, Precision::tf32) == "lstm: cudnn, 2 x 1500");
  CHECK(Gru::choose(changed, facts, window)
            .text.starts_with("gru" + side_by_side.substr(4) + "; persistent: no, weights of 12 units"));
  // A GRU's persistent kernel was timed nowhere: without times here cuDNN is taken.
  facts.precision = Precision::bf16;
  CHECK(Gru::choose(plain, facts, window).text == "gru: cudnn, 2 x 1500");
  facts.times = EngineTimes{.cudnn = 1.5, .fused = 1.25};
  CHECK(Gru::choose(plain, facts, window).text ==
        "gru: fused, because a window took 1.25 ms here, and 1.5 in cudnn; persistent");
  facts.times = {};
  // A layer chooses before it has seen a window, so what is known of windows changes nothing.
  facts.precision = Precision::bf16;
  for (const WindowFacts& windows : {WindowFacts{}, WindowFacts{.steps = 2, .batch = 100}})
    CHECK(Lstm::choose(plain, facts, windows).engine == Engine::fused);
  CHECK(Lstm::choose(plain, facts, {.steps = 35, .batch = 100})
            .text.ends_with("persistent: no, batch 100 is above 64"));
  // Step by step there is no kernel that is faster than cuDNN.
  changed = plain, changed.algorithm = RecurrentAlgorithm::standard;
  CHECK(line(changed, Precision::bf16) == "lstm: cudnn, 2 x 1500");
}

TEST_CASE("each criterion alone changes the engine, and is the reason given") {
  const std::vector<Flip> flips = {
      {.criterion = "device",
       .value = "cpu",
       .because = "cudnn needs an NVIDIA GPU, and the device is cpu",
       .facts = [](EngineFacts& f) { f.gpu = "", f.no_gpu = "the device is cpu"; }},
      {.criterion = "compute capability",
       .value = "7.0",
       .because = "the libraries for CUDA 13.0 begin at compute capability 7.5",
       .facts = [](EngineFacts& f) { f.capability = 70; }},
      {.criterion = "driver",
       .value = "CUDA 12.8",
       .because = "the driver runs CUDA 12.8 at most, and this build is for CUDA 13.0",
       .facts = [](EngineFacts& f) { f.driver = 12'080; }},
      {.criterion = "cudnn",
       .value = "none",
       .because = "libcudnn.so.9 is not to be found",
       .facts = [](EngineFacts& f) { f.cudnn = 0, f.no_cudnn = "libcudnn.so.9 is not to be found"; }},
      {.criterion = "cudnn",
       .value = "7.6.5",
       .because = "cuDNN 7.6.5 has another interface: 8.0 is the oldest that serves",
       .facts = [](EngineFacts& f) { f.cudnn = 7'605; }},
      {.criterion = "numbers",
       .value = "tf32",
       .because = "tf32 needs a GPU of compute capability 8.0",
       .facts = [](EngineFacts& f) { f.precision = Precision::tf32, f.capability = 75; }},
      {.criterion = "numbers",
       .value = "bf16",
       .because = "bf16 needs a GPU of compute capability 8.0",
       .facts = [](EngineFacts& f) { f.precision = Precision::bf16, f.capability = 75; }},
      {.criterion = "numbers",
       .value = "fp16",
       .because = "fp16 needs a GPU of compute capability 7.0",
       .facts = [](EngineFacts& f) { f.precision = Precision::fp16, f.capability = 61, f.toolkit = 12'090; }},
      {.criterion = "recurrent_dropout",
       .value = "0.25",
       .because = "cudnn does not compute recurrent_dropout = 0.25",
       .config = [](RecurrentConfig& c) { c.recurrent_dropout = 0.25f; }},
      {.criterion = "weight_drop",
       .value = "0.5",
       .because = "cudnn does not compute weight_drop = 0.5",
       .config = [](RecurrentConfig& c) { c.weight_drop = 0.5f; }},
      {.criterion = "zoneout_h",
       .value = "0.1",
       .because = "cudnn does not compute zoneout_h = 0.1",
       .config = [](RecurrentConfig& c) { c.zoneout_h = 0.1f; }},
      {.criterion = "zoneout_c",
       .value = "0.3",
       .because = "cudnn does not compute zoneout_c = 0.3",
       .config = [](RecurrentConfig& c) { c.zoneout_c = 0.3f; }},
      {.criterion = "resets",
       .value = "inside a window",
       .because = "cuDNN has no reset inside a window",
       .config = [](RecurrentConfig& c) { c.resets = true; }},
      {.criterion = "resets",
       .value = "inside a window",
       .because =
           "cuDNN has no reset inside a window, and resets = true in the layer's configuration would have chosen "
           "another engine",
       .windows = [](WindowFacts& w) { w.resets = true; }},
      {.criterion = "layer_norm",
       .value = "true",
       .because = "cudnn does not compute layer_norm = true",
       .config = [](RecurrentConfig& c) { c.layer_norm = true; }},
      {.criterion = "peepholes",
       .value = "true",
       .because = "cudnn does not compute peepholes = true",
       .config = [](RecurrentConfig& c) { c.peepholes = true; }},
      {.criterion = "mogrifier",
       .value = "5",
       .because = "cudnn does not compute mogrifier = 5",
       .config = [](RecurrentConfig& c) { c.mogrifier = 5, c.mogrifier_rank = 64; }},
      {.criterion = "gate_activation",
       .value = "hard_sigmoid",
       .because = "cudnn does not compute gate_activation = hard_sigmoid",
       .config = [](RecurrentConfig& c) { c.gate_activation = Unary::hard_sigmoid; }},
      {.criterion = "cell_activation",
       .value = "softsign",
       .because = "cudnn does not compute cell_activation = softsign",
       .config = [](RecurrentConfig& c) { c.cell_activation = Unary::softsign; }},
      {.criterion = "steps",
       .value = "65536",
       .because = "steps 65536 are more than cuDNN's 65535",
       .windows = [](WindowFacts& w) { w.steps = 65'536; }},
      {.criterion = "lengths",
       .value = "padded before",
       .because = "cuDNN knows no rows that are padded before their steps",
       .windows = [](WindowFacts& w) { w.lengths = WindowFacts::Lengths::padded_before; }},
      {.criterion = "lengths",
       .value = "padded after",
       .because = "cuDNN 8.5.0 computes rows of different lengths wrongly; 8.9 is right",
       .facts = [](EngineFacts& f) { f.cudnn = 8'500; },
       .windows = [](WindowFacts& w) { w.lengths = WindowFacts::Lengths::padded_after; }},
  };
  for (const Flip& flip : flips) {
    RecurrentConfig config = plain;
    EngineFacts facts = h100;
    WindowFacts windows = window;
    if (flip.config) flip.config(config);
    if (flip.facts) flip.facts(facts);
    if (flip.windows) flip.windows(windows);
    const auto choose = [](const RecurrentConfig& c, const EngineFacts& f, const WindowFacts& w) {
      return Lstm::choose(c, f, w);
    };
    check_refusal(choose, config, facts, windows, "lstm", flip.criterion, flip.value, flip.because);
  }
}

TEST_CASE("a GRU's options alone change its engine") {
  const std::vector<std::pair<std::string, std::function<void(RecurrentConfig&)>>> flips = {
      {"recurrent_dropout", [](RecurrentConfig& c) { c.recurrent_dropout = 0.25f; }},
      {"weight_drop", [](RecurrentConfig& c) { c.weight_drop = 0.25f; }},
      {"zoneout_h", [](RecurrentConfig& c) { c.zoneout_h = 0.25f; }}};
  for (const auto& [name, flip] : flips) {
    RecurrentConfig config{.input = 3, .hidden = 4};
    flip(config);
    const auto choose = [](const RecurrentConfig& c, const EngineFacts& f, const WindowFacts& w) {
      return Gru::choose(c, f, w);
    };
    check_refusal(choose, config, h100, window, "gru", name, "0.25",
                  "cudnn does not compute " + name + " = 0.25");
  }
}

TEST_CASE("what fits, fits: versions and sizes at their limits") {
  const auto fits = [](const EngineFacts& facts, const WindowFacts& windows) {
    return Lstm::choose(plain, facts, windows).engine == Engine::cudnn;
  };
  EngineFacts old = h100;
  old.driver = 12'000, old.toolkit = 12'090, old.capability = 50;  // a minor version newer than the driver's
  CHECK(fits(old, window));
  old.capability = 45;
  CHECK_FALSE(fits(old, window));
  for (const auto& [cudnn, right] : {std::pair{8'000, true},
                                     {8'099, true},
                                     {8'100, false},
                                     {8'899, false},
                                     {8'900, true},
                                     {91'900, true}}) {
    EngineFacts facts = h100;
    facts.cudnn = cudnn;
    CHECK(fits(facts, {.steps = 65'535, .batch = 20}));
    CHECK(fits(facts, {.lengths = WindowFacts::Lengths::padded_after}) == right);
  }
}

TEST_CASE("what acts between layers, or beside the cell, is served, and the table says what it costs") {
  RecurrentConfig config = plain;
  config.dropout = 0.65f, config.locked_dropout = true, config.residual = true;
  const EngineChoice choice = Lstm::choose(config, h100, window);
  CHECK(choice.engine == Engine::cudnn);
  for (const char* name : {"dropout", "residual"}) {
    CHECK(row(choice, name).fits == Fits::at_a_cost);
    CHECK(row(choice, name).verdict == "a call for each layer instead of one for all");
  }
  config = plain;
  config.projection = 200, config.bidirectional = true;
  CHECK(row(Lstm::choose(config, h100), "projection").fits == Fits::yes);
  config = plain;
  config.last_hidden = 400;
  CHECK(row(Lstm::choose(config, h100), "last_hidden").fits == Fits::at_a_cost);
}

TEST_CASE("the line and the table say whether cuDNN's layers go side by side") {
  RecurrentConfig config = plain;
  config.dropout = 0.65f, config.engine = Engine::cudnn;
  const EngineChoice choice = Lstm::choose(config, h100, window);
  CHECK(choice.text == "lstm: cudnn, 2 x 1500, side by side by chunks of steps, because it was asked for");
  CHECK(row(choice, "layers side by side").verdict == "on 2 streams, by 3 chunks of 35 steps");
  CHECK(row(Lstm::choose(config, h100), "layers side by side").verdict == "on 2 streams, by chunks");
  config.bidirectional = true;
  const EngineChoice both = Lstm::choose(config, h100, window);
  CHECK(both.text == "lstm: cudnn, 2 x 1500, because it was asked for");
  CHECK(row(both, "layers side by side").fits == Fits::at_a_cost);
  config = plain, config.engine = Engine::cudnn;  // one call
  for (const EngineReason& reason : Lstm::choose(config, h100, window).reasons)
    CHECK(reason.criterion != "layers side by side");
}

TEST_CASE("everything in the way is named at once, the machine first") {
  const RecurrentConfig config{
      .input = 2, .hidden = 3, .recurrent_dropout = 0.5f, .peepholes = true, .engine = Engine::cudnn};
  CHECK(lacks(input_error_of([&] { Lstm::choose(config); }),
              {"NVIDIA GPU", "recurrent_dropout = 0.5", "peepholes = true", "'fused'"}) == "");
  ParameterSet params;
  CHECK_THROWS_AS(Lstm(params / "lstm", config), InputError);
  CHECK_THROWS_AS(Gru(params / "gru", {.input = 2, .hidden = 3, .engine = Engine::cudnn}), InputError);
}

TEST_CASE("a layer takes the engine of its choice") {
  for (const Engine engine : {Engine::fused, Engine::composed}) {
    ParameterSet params;
    CHECK(Lstm(params / "lstm", {.input = 2, .hidden = 3, .engine = engine}).choice().engine == engine);
    CHECK(Gru(params / "gru", {.input = 2, .hidden = 3, .engine = engine}).choice().engine == engine);
  }
  ParameterSet params;
  CHECK(Lstm(params / "lstm", {.input = 2, .hidden = 3}).choice().engine == Engine::fused);
}

TEST_CASE("engines have names, and an unknown one is an error that lists them") {
  for (Engine engine : {Engine::automatic, Engine::cudnn, Engine::fused, Engine::composed})
    CHECK(engine_named(name_of(engine)) == engine);
  CHECK(name_of(Engine::automatic) == "auto");
  CHECK(lacks(input_error_of([] { engine_named("fuse"); }), {"fuse", "auto", "cudnn", "fused", "composed"}) ==
        "");
}

TEST_CASE("the persistent kernel is taken where the weights fit the GPU, and else its reason is said") {
  // Processors and KiB of shared memory of a block: H100, A100, RTX 3090, RTX 4090, RTX 5090 (CUDA C++ Programming Guide).
  struct Gpu {
    int capability, processors, shared;
    int bf16, tf32, batch = 20;  // units of the widest layer that fits, and for which batch
  };
  const auto facts_of = [](const Gpu& gpu, Precision p) {
    EngineFacts facts = h100;
    facts.capability = facts.code = gpu.capability, facts.processors = gpu.processors;
    facts.shared_memory = int64_t{gpu.shared} << 10, facts.precision = p;
    return facts;
  };
  const RecurrentConfig dropping{.input = 1500, .hidden = 1500, .recurrent_dropout = 0.5f};
  const auto line = [&](const Gpu& gpu, Precision p, int hidden, WindowFacts windows = window) {
    RecurrentConfig config = dropping;
    config.hidden = hidden;
    const std::string text = Lstm::choose(config, facts_of(gpu, p), windows).text, all = "= 0.5; ";
    return text.substr(text.find(all) + all.size());
  };
  const Gpu here{90, 132, 227, 0, 0};
  CHECK(line(here, Precision::bf16, 1500) == "persistent");
  CHECK(line(here, Precision::fp16, 1500) == "persistent");
  CHECK(line(here, Precision::bf16, 200) == "persistent");
  CHECK(
      line(here, Precision::tf32, 1500) ==
      "persistent: no, weights of 12 units in tf32 take 384 KiB of shared memory, and each of 132 processors has "
      "227");
  for (const Gpu& gpu :  // docs/design/gpu.md has these
       {Gpu{90, 132, 227, 1600, 1056, 24}, Gpu{80, 108, 163, 1232, 864, 24}, Gpu{86, 82, 99, 720, 656, 24},
        Gpu{89, 128, 99, 1024, 672, 24}, Gpu{120, 170, 99, 1344, 680, 24}, Gpu{90, 132, 227, 1584, 1056, 64},
        Gpu{80, 108, 163, 1208, 864, 64}, Gpu{86, 82, 99, 696, 624, 64}, Gpu{89, 128, 99, 1024, 624, 64},
        Gpu{120, 170, 99, 1248, 680, 64}})
    for (const Precision p : {Precision::bf16, Precision::tf32}) {
      const int most = p == Precision::bf16 ? gpu.bf16 : gpu.tf32;
      CAPTURE(gpu.batch);
      CAPTURE(gpu.capability);
      CAPTURE(name_of(p));
      const WindowFacts of_batch{.steps = 35, .batch = gpu.batch};
      CHECK(line(gpu, p, most, of_batch) == "persistent");
      CHECK(lacks(line(gpu, p, most + 1, of_batch), {"persistent: no, weights of "}) == "");
    }
  CHECK(line(here, Precision::bf16, 2113) ==
        "persistent: no, 2113 units are more than 16 for each of 132 processors");
  CHECK(line(here, Precision::bf16, 1500, {.steps = 35, .batch = 64}) == "persistent");
  CHECK(line(here, Precision::bf16, 1500, {.steps = 35, .batch = 65}) ==
        "persistent: no, batch 65 is above 64");
  CHECK(line(here, Precision::bf16, 1500, {.steps = 2, .batch = 20}) ==
        "persistent: no, a window of 2 steps is shorter than 3");
  EngineFacts old = facts_of(here, Precision::bf16);
  old.code = 75;
  CHECK(lacks(Lstm::choose(dropping, old, window).text,
              {"this build has code for compute capability 7.5", "-Dgpu_arch=90"}) == "");
  // Options that make more of a step; other numbers and other cells have no line.
  for (const auto& [name, set] : std::vector<std::pair<std::string, std::function<void(RecurrentConfig&)>>>{
           {"projection", [](RecurrentConfig& c) { c.projection = 100; }},
           {"mogrifier", [](RecurrentConfig& c) { c.mogrifier = 5; }}}) {
    RecurrentConfig config = dropping;
    set(config);
    const EngineChoice choice = Lstm::choose(config, facts_of(here, Precision::bf16), window);
    const std::string why = "with " + name + " a step is more than a product and a pass";
    CHECK(choice.text.ends_with("; persistent: no, " + why));
    CHECK(row(choice, "persistent kernel").verdict == why);
  }
  const EngineChoice in_fp32 = Lstm::choose(dropping, facts_of(here, Precision::fp32), window);
  CHECK(in_fp32.text == "lstm: fused, because cudnn does not compute recurrent_dropout = 0.5");
  CHECK(row(in_fp32, "persistent kernel").verdict == "tensor cores multiply tf32, bf16 and fp16");
  const EngineChoice taken = Lstm::choose(dropping, facts_of(here, Precision::bf16), window);
  CHECK(row(taken, "persistent kernel").verdict == "125 blocks of 12 units, 197 KiB of shared memory each");
  // A GRU has three gates.
  const EngineChoice gru = Gru::choose(dropping, facts_of(here, Precision::bf16), window);
  CHECK(gru.text.ends_with("; persistent"));
  CHECK(row(gru, "persistent kernel").verdict == "125 blocks of 12 units, 150 KiB of shared memory each");
  // Layer norm takes sums of its own, and its rows at once.
  RecurrentConfig norm = dropping;
  norm.layer_norm = true;
  CHECK(row(Lstm::choose(norm, facts_of(here, Precision::bf16), window), "persistent kernel").verdict ==
        "125 blocks of 12 units, 202 KiB of shared memory each");
  CHECK(Lstm::choose(norm, facts_of(here, Precision::bf16), {.steps = 35, .batch = 33})
            .text.ends_with("; persistent: no, batch 33 is above 32, with layer_norm"));
}
