// The engine `cudnn` agrees with `fused` and `composed`, forward and backward: configurations, lengths, directions, projection,
// precisions, eager and as a graph. Over the stand-in and on a GPU.
#include "layers/recurrent/engines/cudnn.h"
#include "tests/layers/cudnn_window.h"

using namespace unroll;

namespace {

Case random_case(RandomStream& random) {
  const auto size = [&](uint32_t most) { return static_cast<int>(1 + random.below(most)); };
  const auto chance = [&] { return random.below(2) == 0; };
  Case c{.lstm = chance(),
         .config = {.input = size(6), .hidden = size(6), .layers = size(3)},
         .steps = size(5),
         .batch = size(3)};
  c.config.bidirectional = chance();
  if (c.config.layers > 1) {
    if (chance()) c.config.dropout = 0.4f, c.config.locked_dropout = chance();
    c.config.residual = random.below(4) == 0;
  }
  if (c.lstm && c.config.hidden > 1 && random.below(3) == 0) {
    if (chance() || c.config.layers == 1 || c.config.residual)
      c.config.projection = c.config.hidden - 1;
    else
      c.config.last_hidden = c.config.hidden - 1;
  }
  if (chance())
    for (int b = 0; b < c.batch; ++b)
      c.lengths.push_back(static_cast<int>(1 + random.below(static_cast<uint32_t>(c.steps))));
  return c;
}

// check(case, windows) of what can be felt: states, lengths, directions, dropout between layers, several windows.
template <class Check>
void each_felt(bool lstm, Check check) {
  Case c = two_layers;
  c.lstm = lstm;
  check(c, 1);
  check(c, 3);
  c.config.bidirectional = true, c.lengths = {4, 1, 2};
  check(c, 1);
  c.config.dropout = 0.3f;
  check(c, 2);
}

// In the precision of the process before, which is fp32.
void check_engines_agree(const Case& c, bool sensitive, int windows = 1) {
  WindowCase w = c.window();
  w.windows = windows;
  check_agreement(w, {Window(w, Engine::cudnn).run(), Window(w, Engine::fused).run()}, c.config.input,
                  c.config.hidden, sensitive);
}

// In the others, which round the numbers.
void check_rounded(const Case& c, bool sensitive, int windows = 1) {
  WindowCase w = c.window();
  w.windows = windows;
  for (const Precision p : all_precisions) {
    if (p == Precision::fp32 || !has_16_bits) continue;
    std::vector<Results> results;
    for (const Engine engine : {Engine::cudnn, Engine::fused, Engine::composed}) {
      const WithPrecision rounded(p);
      results.push_back(Window(w, engine).run());
    }
    CAPTURE(name_of(p));
    check_agreement(w, results, roundings_of(p), sensitive);
  }
}

}  // namespace

TEST_CASE("cudnn, fused and composed agree to rounding, forward and backward, on 200 configurations") {
  RandomStream random(5, "cases");
  for (int i = 0; i < 200; ++i) check_engines_agree(random_case(random), false);
}

TEST_CASE("a plain network, tanh and relu, agrees by every engine, also where numbers are rounded") {
  for (const Unary nonlinearity : plain_functions) {
    Case c = two_layers;
    c.lstm = false, c.other = CellKind::rnn, c.config.nonlinearity = nonlinearity;
    check_engines_agree(c, true);
    check_engines_agree(c, true, 3);
    check_rounded(c, false);
    c.config.bidirectional = true, c.lengths = {4, 1, 2};
    check_engines_agree(c, true);
    c.config.dropout = 0.3f;
    check_engines_agree(c, true, 2);
  }
}

TEST_CASE(
    "they agree where it can be felt: states, lengths, directions, odd sizes, batch 1, several windows") {
  for (const bool lstm : {true, false}) {
    each_felt(lstm, [](const Case& c, int windows) { check_engines_agree(c, true, windows); });
    check_engines_agree({.lstm = lstm, .config = {.input = 7, .hidden = 9}, .steps = 6, .batch = 1}, true);
  }
}

TEST_CASE("a row without a step keeps its state, and has no gradient but through it") {
  for (const bool lstm : {true, false}) {
    Case c = two_layers;
    c.lstm = lstm, c.lengths = {4, 0, 3};
    check_engines_agree(c, true);
    c.config.bidirectional = true;
    check_engines_agree(c, true, 2);
  }
}

TEST_CASE(
    "in tf32 and 16 bits the engines agree with fp32 to the roundings of the numbers, forward and backward") {
  for (const bool lstm : {true, false})
    each_felt(lstm, [](const Case& c, int windows) { check_rounded(c, true, windows); });
  Case projected = two_layers;
  projected.config.projection = 2;
  check_rounded(projected, true);
  RandomStream random(6, "cases");
  for (int i = 0; i < 60; ++i) check_rounded(random_case(random), false);
}

TEST_CASE("every cell agrees in every precision, at once and as a graph") {
  for (const Precision p : all_precisions)
    for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::rnn})
      for (const bool bidirectional : {false, true}) {
        if (p != Precision::fp32 && !has_16_bits) continue;
        Case c{.lstm = cell == CellKind::lstm,
               .other = cell,
               .config = {.input = 16, .hidden = 32, .layers = 2}};
        c.config.bidirectional = bidirectional;
        const WindowCase w = c.window();
        CAPTURE(name_of(p));
        std::vector<Results> results;
        {
          const WithPrecision rounded(p);
          results = {Window(w, Engine::cudnn).run(), played(w, Engine::cudnn)};
        }
        check_agreement(w, results,
                        p == Precision::fp32
                            ? roundings_of_sums(c.config.input, c.config.hidden, c.steps * c.batch)
                            : roundings_of(p),
                        true);
      }
}
