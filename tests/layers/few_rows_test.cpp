// Products of few rows on a GPU with the passes behind them: exact sums of every shape, numbers rounded as products round them, and
// layers that agree with `composed` where a line is longer than a slab and rows are more than a block takes at once.
#include "framework/kernels/few_rows.h"

#include "tests/layers/lstm_window.h"
#ifdef UNROLL_STANDIN
#include "tests/standin/standin.h"
#endif

using namespace unroll;

namespace {

struct Named {
  const char* name;
  const FewRowsKernels& kernels;
};
std::vector<Named> all_kernels() {
  const FewRowsProducts& p = *few_rows_products();
  return {{"fp32", p.fp32}, {"tf32", p.tf32}, {"bf16", p.bf16}, {"fp16", p.fp16}};
}

// Sixteenths from -1 to 1: exact in every precision, and so are the sums of some hundred products.
Tensor sixteenths(const Shape& shape, RandomStream& random) {
  Tensor x = random_tensor(shape, random);
  for (real& v : x.on_host(Access::change)) v = std::clamp(std::round(v * 16), real{-16}, real{16}) / 16;
  return x;
}
// As `pack` leaves them.
Memory packed(const FewRowsKernels& k, const Matrix& lines) {
  Memory memory(static_cast<size_t>(k.packed_bytes(lines.rows(), lines.cols())));
  const int64_t row = lines.tensor.cols();
  k.pack({lines.tensor.data(), lines.transposed ? 1 : row, lines.transposed ? row : 1}, lines.rows(),
         lines.cols(), memory.data());
  return memory;
}

// y = x aᵀ + z bᵀ + bias, with y in two parts, split | the others; the second is added to what there is.
void check_put(const FewRowsKernels& k, int rows, int split, int width, int depth, int other) {
  RandomStream random(7, "few rows");
  const Tensor x = sixteenths({rows, depth}, random), a = sixteenths({depth, width}, random),
               z = sixteenths({rows, other}, random), b = sixteenths({width, other}, random),
               bias = sixteenths({split}, random), before = sixteenths({rows, width - split}, random);
  Tensor first({rows, split}), second({rows, width - split});
  second.fill(1);
  const Memory of_x = packed(k, transposed(a)), of_z = packed(k, b);
  k.put({.rows = rows,
         .width = width,
         .terms = {{x.data(), of_x.data(), depth}, {z.data(), of_z.data(), other}}},
        split, {.y = first.data(), .bias = bias.data()},
        {.y = second.data(), .add = true, .before = before.data()});
  const auto hx = x.to_host(), ha = a.to_host(), hz = z.to_host(), hb = b.to_host(), hbias = bias.to_host(),
             hbefore = before.to_host(), hfirst = first.to_host(), hsecond = second.to_host();
  const auto at = [](const auto& m, int i, int cols, int j) {
    return double{m[static_cast<size_t>(i * cols + j)]};
  };
  int wrong = 0;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < width; ++c) {
      double sum = 0;
      for (int i = 0; i < depth; ++i) sum += at(hx, r, depth, i) * at(ha, i, width, c);
      for (int i = 0; i < other; ++i) sum += at(hz, r, other, i) * at(hb, c, other, i);
      const double found = c < split ? at(hfirst, r, split, c) : at(hsecond, r, width - split, c - split);
      wrong += found != (c < split ? sum + double{hbias[static_cast<size_t>(c)]}
                                   : sum + at(hbefore, r, width - split, c - split) + 1);
    }
  CAPTURE(rows);
  CAPTURE(width);
  CAPTURE(depth);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("sums are exact where numbers are, for any rows, lines and depth, on many processors and on one") {
  for (const auto& [name, kernels] : all_kernels()) {
    CAPTURE(std::string(name));
    const auto check_all = [&, &k = kernels] {
      check_put(k, 1, 1, 2, 1, 1), check_put(k, 7, 5, 19, 300, 3), check_put(k, 20, 16, 40, 9, 31);
      check_put(k, 33, 2, 5, 17, 270), check_put(k, 64, 3, 34, 12, 5);
    };
    check_all();
#ifdef UNROLL_STANDIN
    const int processors = std::exchange(standin::control().processors, 1);  // blocks of 16 lines
    check_all();
    standin::control().processors = processors;
#endif
  }
}

TEST_CASE("both factors are rounded as a product's operands") {
  const std::pair<const char*, real> expected[] = {
      {"fp32", 1 + 0x1p-11f}, {"tf32", 1 + 0x1p-10f}, {"bf16", 1}, {"fp16", 1}};
  // Half of the last bit of 11: to even, or in tf32 away from zero.
  const Tensor one = Tensor({1, 1}), other = Tensor({1, 1});
  one.fill(1), other.fill(1 + 0x1p-11f);
  size_t i = 0;
  for (const auto& [name, k] : all_kernels()) {
    CAPTURE(std::string(name));
    for (const bool of_x : {true, false}) {
      Tensor y({1, 1});
      const Memory lines = packed(k, of_x ? one : other);
      k.put({.rows = 1, .width = 1, .terms = {{(of_x ? other : one).data(), lines.data(), 1}}}, 1,
            {.y = y.data()}, {});
      CHECK(y.to_host()[0] == expected[i].second);
    }
    ++i;
  }
}

TEST_CASE(
    "layers of more rows than a block takes at once, and lines longer than a slab, agree with composed") {
  LstmCase c{.config = {.input = 263, .hidden = 11}, .steps = 4, .batch = 27};
  c.config.algorithm = RecurrentAlgorithm::standard;
  for (const int rank : {0, 5})
    for (const int rounds : {0, 1, 4, 5}) {
      if (rank && !rounds) continue;
      c.config.mogrifier = rounds, c.config.mogrifier_rank = rank;
      for (const Precision p : {Precision::fp32, Precision::bf16}) {
        if (p == Precision::bf16 && rounds % 2 == 0) continue;
        const WithPrecision rounded(p);
        const Results few = Window(window_of(c), Engine::fused).run();
        if (p == Precision::fp32)
          check_agreement(window_of(c), {few}, c.config.input, c.config.hidden, false);
        else
          check_agreement(window_of(c), {few}, roundings_of(p), false);
      }
    }
}

namespace {
// A window of another cell than an LSTM's.
WindowCase window_of_h(CellKind cell, const RecurrentConfig& config) {
  return {.name = "h",
          .layer =
              [=](ParameterSet& params, Engine engine) {
                RecurrentConfig c = config;
                c.engine = engine, c.algorithm = RecurrentAlgorithm::standard;
                return RecurrentLayer(params / "layer", cell, c);
              },
          .steps = 6,
          .batch = 27};
}
}  // namespace

TEST_CASE("so do a GRU and a plain network, with a mogrifier and without, side by side too") {
  for (const CellKind cell : {CellKind::gru, CellKind::rnn})
    for (const int rounds : {0, 1, 4}) {
      const WindowCase c = window_of_h(
          cell,
          {.input = 261, .hidden = 9, .layers = 2, .mogrifier = rounds, .mogrifier_rank = rounds ? 3 : 0});
      for (const Precision p : {Precision::fp32, Precision::tf32}) {
        const WithPrecision precision(p);
        const Results few = Window(c, Engine::fused).run();
        if (p == Precision::fp32)
          check_agreement(c, {few}, 261, 9, false);
        else
          check_agreement(c, {few}, roundings_of(p), false);
        const Results again = Window(c, Engine::fused).run();
        for (size_t i = 0; i < few.size(); ++i) CHECK(same_bits(few[i].second, again[i].second));
      }
    }
}

TEST_CASE("layer norm and coupled gates agree in few rows, and in more than the kernels take") {
  LstmCase c{.config = {.input = 3, .hidden = 5}, .steps = 4};
  c.config.algorithm = RecurrentAlgorithm::standard;
  static_assert(9 <= FewRows::most_rows && FewRows::most_rows < 65);
  for (const int batch : {9, 65})
    for (const int rounds : {0, 3})
      for (const bool norm : {false, true})
        for (const bool coupled : {false, true}) {
          c.batch = batch, c.config.mogrifier = rounds, c.config.layer_norm = norm,
          c.config.coupled_gates = coupled;
          CAPTURE(c.name());
          check_agreement(window_of(c), {Window(window_of(c), Engine::fused).run()}, 5, 5, false);
          const WithPrecision rounded(Precision::bf16);
          check_agreement(window_of(c), {Window(window_of(c), Engine::fused).run()},
                          roundings_of(Precision::bf16), false);
        }
}

TEST_CASE("threads in five orders, and a graph, give the same bits") {
  LstmCase c{.config = {.input = 3, .hidden = 21, .layers = 2}, .steps = 7, .batch = 3};
  c.config.algorithm = RecurrentAlgorithm::standard;
  c.config.zoneout_h = 0.3f, c.config.recurrent_dropout = 0.3f, c.config.mogrifier = 3;
  for (const bool norm : {false, true})
    for (const Precision p : all_precisions) {
      c.config.layer_norm = norm;
      const WithPrecision rounded(p);
      check_five_orders(window_of(c));
    }
}
