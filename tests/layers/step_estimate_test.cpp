// The estimate of a step on a GPU: its launches against those that the stand-in counts, and its parts against what they are
// derived from.
#include "layers/step_estimate.h"

#include "framework/kernels/lstm_window.h"
#include "layers/dense.h"
#include "layers/dropout.h"
#include "layers/embedding.h"
#include "layers/recurrent/persistent.h"
#include "layers/recurrent/recurrent_layer.h"
#include "layers/recurrent/wavefront.h"
#include "optim/optimizer.h"
#include "tests/layers/lstm_cases.h"
#include "tests/standin/standin.h"
#include "tests/with_precision.h"

using namespace unroll;

namespace {

StepSizes sizes_of(CellKind cell, const RecurrentConfig& layers, int steps, Precision p, float dropout) {
  return {.cell = facts_of(cell),
          .layers = layers,
          .steps = steps,
          .batch = 2,
          .vocab = 50,
          .input_dropout = dropout,
          .output_dropout = dropout,
          .parameters = 1000,
          .precision = p};
}

// Kernels and products of a step, which is the third: what is made at first use is no part of it.
int64_t counted(const StepSizes& s) {
  const WithPrecision precision(s.precision);
  ParameterSet params;
  const Embedding embed(params / "embedding", {.vocab = s.vocab, .dim = s.layers.input});
  const Dropout in(params / "in", {.rate = s.input_dropout}), out(params / "out", {.rate = s.output_dropout});
  const RecurrentLayer layer(params / "layer", s.cell.kind, s.layers);
  const Dense decoder(params / "decoder", {.in = s.layers.output(), .out = s.vocab});
  Sgd sgd(params, {.learning_rate = 0.1f});
  RecurrentState state = layer.zero_state(s.batch);
  const IdTensor tokens =
      ids({s.steps, s.batch}, std::vector<int32_t>(static_cast<size_t>(s.steps * s.batch), 3));
  int64_t before = 0;
  for (int i = 0; i < 3; ++i) {
    before = standin::control().launches;
    Tape tape;
    auto [y, next] = layer(in(embed(tokens)), state);
    tape.backward(softmax_cross_entropy(decoder, out(y), tokens) * static_cast<real>(s.steps));
    sgd.order_step({.max_norm = 10});
    sgd.enqueue_step();
    sgd.finish_step();
    state = next;
  }
  return standin::control().launches - before;
}

EngineFacts facts_in(Precision p) {
  const WithPrecision precision(p);
  return engine_facts();
}

void check(Engine engine, CellKind cell, RecurrentConfig layers, float dropout = 0) {
  layers.engine = engine;
  for (const Precision p : {Precision::fp32, Precision::bf16}) {
    const StepSizes few = sizes_of(cell, layers, 6, p, dropout), more = sizes_of(cell, layers, 9, p, dropout);
    CAPTURE(describe_layers(few.cell, layers));
    CAPTURE(name_of(engine));
    CAPTURE(std::string(name_of(p)));
    const int64_t of_few = counted(few), of_more = counted(more);
    // What each step launches is a fact of the loops; what a window launches once may be a few off.
    const bool kernel = engine == Engine::fused &&
                        persistent_plan(few.cell, layers, facts_in(p), {.steps = 6, .batch = few.batch});
    std::optional<Wavefront> wave;  // of two chunks
    if (engine == Engine::fused)
      wave = wavefront(few.cell, layers, facts_in(p), {.steps = 6, .batch = few.batch});
    const auto said = [&](const StepSizes& s) {
      return launches_of_step(engine, s, kernel, wave ? wave->chunks : 1).ours;
    };
    CHECK(of_more - of_few == said(more) - said(few));
    // A product and a kernel, each way, whatever the options. A projection is a product more each way, and a kernel for h on
    // either side of it, where an option acts on h between two steps; a mogrifier's rounds are products and kernels of their own.
    const int64_t of_step = (of_more - of_few) / (3 * layers.layers * layers.directions());
    const bool projects = layers.projection && (layers.recurrent_dropout > 0 || layers.zoneout_h > 0);
    if (engine == Engine::fused && !layers.mogrifier) CHECK(of_step <= (projects ? 4 + 2 + 2 : 4));
    CHECK(std::abs(of_few - said(few)) <= std::max<int64_t>(4, of_few / 20));
  }
}

const StepSizes large{.cell = facts_of(CellKind::lstm),
                      .layers = {.input = 1500, .hidden = 1500, .layers = 2, .dropout = 0.65f},
                      .steps = 35,
                      .batch = 20,
                      .vocab = 10'000,
                      .parameters = 66'034'000};
const StepSizes small{.cell = facts_of(CellKind::lstm),
                      .layers = {.input = 200, .hidden = 200, .layers = 2},
                      .steps = 20,
                      .batch = 20,
                      .vocab = 10'000,
                      .parameters = 4'653'200};

}  // namespace

TEST_CASE(
    "launches are as the stand-in counts them: by engine and cell, in 32 and 16 bits, for one layer and several") {
  for (const Engine engine : {Engine::cudnn, Engine::fused, Engine::composed})
    for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::rnn}) {
      for (const int layers : {1, 3}) check(engine, cell, {.input = 8, .hidden = 8, .layers = layers});
      check(engine, cell, {.input = 8, .hidden = 8, .layers = 3, .dropout = 0.5f}, 0.5f);
      check(engine, cell, {.input = 8, .hidden = 8, .layers = 2, .residual = true});
      check(engine, cell, {.input = 8, .hidden = 8, .layers = 2, .bidirectional = true});
    }
}

TEST_CASE("options together launch no more, with a projection and without") {
  for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::rnn}) {
    const bool lstm = cell == CellKind::lstm;
    RecurrentConfig layers{.input = 8,
                           .hidden = 8,
                           .recurrent_dropout = 0.5f,
                           .zoneout_h = 0.5f,
                           .layer_norm = lstm,
                           .peepholes = lstm};
    if (lstm) layers.zoneout_c = 0.5f;
    check(Engine::fused, cell, layers);
    if (!lstm) continue;
    layers.projection = 4;
    check(Engine::fused, cell, layers);
    layers.layer_norm = false;
    check(Engine::fused, cell, layers);
    layers.recurrent_dropout = layers.zoneout_h = 0, layers.layers = 2;  // folded
    for (const bool norm : {false, true}) layers.layer_norm = norm, check(Engine::fused, cell, layers);
  }
}

TEST_CASE("each option's launches are those of its row in the table") {
  for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::rnn})
    for (const RecurrentConfig& layers :
         options_alone(facts_of(cell), {.input = 8, .hidden = 8, .layers = 2})) {
      for (const Engine engine : {Engine::fused, Engine::composed}) check(engine, cell, layers);
      RecurrentConfig by_steps = layers;  // where the persistent kernel would do it, too
      by_steps.algorithm = CudnnAlgorithm::standard;
      if (cell == CellKind::lstm) check(Engine::fused, cell, by_steps);
    }
}

TEST_CASE("of ptb-large on an H100 the parts are the arithmetic, and the bytes, that they are derived from") {
  const GpuRates gpu = known_gpu("h100");
  const StepEstimate fused = estimate_step(Engine::fused, large, gpu);
  // 2·700 rows times (3·6000·1500 + 6000·1500 of two layers, 3·1500·10,000 of the decoder), at 80 % of 67 TFLOP/s.
  CHECK(fused.products == doctest::Approx(2 * 700.0 * (2 * 4 * 9e6 + 45e6) / (0.8 * 67e12)));
  // 140 products whose sums have 1500 elements, which takes longer than to read 36 MB at 80 % of 3.35 TB/s.
  // Two layers side by side by 7 chunks take 8 turns of 14.
  CHECK(fused.chunks == 7);
  CHECK(fused.recurrent == doctest::Approx(8 / 14.0 * 140 * (2e-6 + 1500 * 33e-9)));
  CHECK(fused.limit(true) == "recurrent products, step by step");
  // If sums took no time, the weights would be read: more than half of the cache holds.
  const StepAssumptions reading{.element = 0, .element_fp32 = 0};
  CHECK(estimate_step(Engine::fused, large, gpu, reading).recurrent ==
        doctest::Approx(140 * 36e6 / (0.8 * 3.35e12)));
  StepSizes rounded = large;
  rounded.precision = Precision::bf16, rounded.layers.algorithm = CudnnAlgorithm::standard;  // step by step
  const StepEstimate in_bf16 = estimate_step(Engine::fused, rounded, gpu);
  CHECK(in_bf16.products == doctest::Approx(fused.products * 67 / 989.5));
  CHECK(in_bf16.recurrent == doctest::Approx(8 / 14.0 * 140 * (2e-6 + 1500 * 14e-9)));
  // 18 MB fit half of the cache, which is read twice as fast.
  CHECK(estimate_step(Engine::fused, rounded, gpu, reading).recurrent ==
        doctest::Approx(140 * 36e6 / (0.8 * 3.35e12) / 4));
  CHECK(in_bf16.passes > fused.passes);
}

TEST_CASE(
    "by the estimate, what cuDNN does not know costs large no more than 1.1 of cuDNN's own step, and small 1.4; but its layer norm 1.8") {
  const GpuRates gpu = known_gpu("h100");
  for (const Precision p : {Precision::fp32, Precision::tf32, Precision::bf16})
    for (const StepSizes& recipe : {large, small})
      for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::rnn}) {
        StepSizes plain = recipe;
        plain.precision = p, plain.cell = facts_of(cell);
        const double of_cudnn = estimate_step(Engine::cudnn, plain, gpu).seconds(true);
        const double most = recipe.layers.dropout > 0 ? 1.1 : 1.4;
        for (const RecurrentConfig& layers : options_alone(plain.cell, plain.layers)) {
          const auto set = options_set(layers);
          if (layers.mogrifier || set.empty()) continue;
          const bool norm_of_small = layers.layer_norm && recipe.layers.hidden == small.layers.hidden;
          // What cuDNN does not know, and a projection, which it knows.
          if (set[0]->cudnn != RecurrentOption::Cudnn::no && !layers.projection) continue;
          CAPTURE(describe_layers(plain.cell, layers));
          CAPTURE(std::string(name_of(p)));
          StepSizes sizes = plain;
          sizes.layers = layers;
          CHECK(estimate_step(Engine::fused, sizes, gpu).seconds(true) <=
                (norm_of_small ? 1.8 : most) * of_cudnn);
        }
      }
}

TEST_CASE("the persistent kernel's steps are a barrier, a cell, and what a block reads and multiplies") {
  StepSizes rounded = large;
  rounded.precision = Precision::bf16;
  const StepEstimate e = estimate_step(Engine::fused, rounded, known_gpu("h100"));
  CHECK(e.persistent);
  // A block reads 24 rows, in 47 pieces of 64 bytes forward and 188 back, and multiplies them with 48 and 12 of its lines; once, its
  // 12 units' weights.
  const double forward = 3.6e-6 + 3 * 47 * (7.3e-9 + 6 * 1.3e-9),
               back = 3.6e-6 + 3 * 188 * (7.3e-9 + 2 * 1.3e-9);
  CHECK(e.recurrent == doctest::Approx(2 * (35 * (forward + back) + 2 * 12 * 6000 * 4 / 10e9)));
  rounded.layers.algorithm = CudnnAlgorithm::standard;
  CHECK(estimate_step(Engine::fused, rounded, known_gpu("h100")).recurrent > 1.5 * e.recurrent);
  CHECK_FALSE(estimate_step(Engine::fused, large, known_gpu("h100")).persistent);
}

TEST_CASE("a small model is limited by the host's launches, unless it is a graph") {
  const StepEstimate fused = estimate_step(Engine::fused, small, known_gpu("h100"));
  CHECK(fused.limit(false) == "launches by the host");
  CHECK(fused.seconds(false) == fused.host);
  CHECK(fused.seconds(true) < fused.host);
  CHECK(fused.limit(true) != "launches by the host");
}

TEST_CASE("cuDNN's layers overlap in one call, and not where something acts between them") {
  StepSizes one_call = large;
  one_call.layers.dropout = 0, one_call.layers.hidden = one_call.layers.input = 100;
  StepSizes two_calls = one_call;
  two_calls.layers.dropout = 0.5f;
  const GpuRates gpu = known_gpu("a100");
  CHECK(estimate_step(Engine::cudnn, one_call, gpu).recurrent ==
        doctest::Approx(estimate_step(Engine::cudnn, two_calls, gpu).recurrent * 36 / 70));
}

TEST_CASE("no estimate is made for numbers that a GPU has not, nor for a GPU that nobody knows") {
  StepSizes rounded = large;
  rounded.precision = Precision::tf32;
  CHECK(lacks(input_error_of([&] { estimate_step(Engine::fused, rounded, known_gpu("t4")); }),
              {"T4", "tf32"}) == "");
  CHECK(lacks(input_error_of([] { known_gpu("h9000"); }), {"h9000", "a100", "h100-pcie"}) == "");
}

TEST_CASE("the rates of the GPU at hand follow from its clocks: the stand-in's are an H100's") {
  const GpuRates at_hand = rates_of(device_facts()), published = known_gpu("h100");
  CHECK(at_hand.capability == published.capability);
  CHECK(at_hand.memory == doctest::Approx(published.memory).epsilon(0.01));
  CHECK(at_hand.cache == published.cache);
  CHECK(at_hand.fp32 == doctest::Approx(published.fp32).epsilon(0.01));
  // Tensor cores are published at a lower clock, 1.83 GHz.
  CHECK(at_hand.bits16 == doctest::Approx(published.bits16 * 1.98 / 1.83).epsilon(0.01));
  CHECK(at_hand.tf32 == at_hand.bits16 / 2);
}
