// Attention: an encoder and a decoder that learn to write a row of digits backwards, and show where they look.
//
// All that a decoder knows of a row is the encoder's last state, and what was read first is hard to find in it. So at
// each of its steps it also asks the encoder's outputs which of them it needs (Luong, Pham and Manning 2015):
//   weights = softmax over t of query · key_t        context = Σ_t weights_t key_t
// For all steps of all rows at once these are two products of batches of matrices.
#include <algorithm>
#include <cstdio>

#include "unroll.h"

using namespace unroll;

constexpr int digits = 10, begin_of_row = digits, longest = 12, batch = 64;

// Rows of different lengths, one below the other in time: [longest, batch], with begin_of_row where there is nothing.
struct Rows {
  explicit Rows(RandomStream& random)
      : input({longest, batch}), said({longest, batch}), target({longest, batch}) {
    input.fill(begin_of_row), said.fill(begin_of_row), target.fill(-1);  // -1 is not scored
    lengths.steps = IdTensor({batch});
    for (int i = 0; i < batch; ++i) {
      const int length = 4 + static_cast<int>(random.below(longest - 3));
      lengths.steps.data()[i] = length;
      for (int t = 0; t < length; ++t) {
        const auto digit = static_cast<int32_t>(random.below(digits));
        input[t].data()[i] = digit;
        target[length - 1 - t].data()[i] = digit;
        if (t > 0) said[length - t].data()[i] = digit;  // by the decoder, a step before
      }
    }
  }
  IdTensor input, said, target;
  Lengths lengths;
};

struct Reverser {
  explicit Reverser(int width)
      : embed(params / "embed", {.vocab = digits + 1, .dim = width}),
        encoder(params / "encoder", {.input = width, .hidden = width}),
        decoder(params / "decoder", {.input = width, .hidden = width}),
        out(params / "out", {.in = 2 * width, .out = digits}) {}

  struct Output {
    Var logits;   // [longest, batch, digits]
    Var weights;  // [batch, longest, longest]: by row, where the decoder's step looks at the encoder's
  };
  Output operator()(const Rows& rows) const {
    const auto [keys, read] = encoder(embed(rows.input), encoder.zero_state(batch), rows.lengths);
    const auto [queries, end] = decoder(embed(rows.said), read);

    const Var of_row = transpose(keys, 0, 1);  // [batch, longest, width]
    // Padding is out of sight: [batch, 1, longest], 0 or far below any score, the same for each step of the decoder.
    const Var sight = (Var(real_steps(rows.lengths, longest, batch)) - 1) * real(1e9);
    const Var weights = softmax(matmul(transpose(queries, 0, 1), transpose(of_row, 1, 2)) +
                                reshape(transpose(sight), {batch, 1, longest}));
    const Var context = transpose(matmul(weights, of_row), 0, 1);  // [longest, batch, width]
    return {out(concat({queries, context}, 2)), weights};
  }

  ParameterSet params;
  Embedding embed;
  Lstm encoder, decoder;
  Dense out;
};

// The share of digits that are likeliest where they should be.
double share_right(const Tensor& logits, const IdTensor& target) {
  const std::vector<real> scores = logits.to_host();
  int64_t right = 0, scored = 0;
  for (int64_t k = 0; k < target.size(); ++k) {
    if (target.data()[k] < 0) continue;
    const auto first = scores.begin() + k * digits;
    right += std::max_element(first, first + digits) - first == target.data()[k], ++scored;
  }
  return static_cast<double>(right) / static_cast<double>(scored);
}

int main() {
  Reverser model(64);
  Adam adam(model.params, {.learning_rate = 5e-3});
  RandomStream random(1, "rows of digits");
  for (int step = 1; step <= 300; ++step) {
    const Rows rows(random);
    Tape tape;
    const Var loss = softmax_cross_entropy(model(rows).logits, rows.target);
    tape.backward(loss);
    adam.step({.max_norm = 1});
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, static_cast<double>(loss.item()));
  }

  const Rows rows(random);
  const auto [logits, weights] = model(rows);
  const double right = share_right(logits.value(), rows.target);
  std::printf(
      "\n%.1f %% of the digits of new rows are right, given those before. Where the first row looks:\n\n      ",
      100 * right);
  const int length = rows.lengths.steps.data()[0];
  for (int t = 0; t < length; ++t) std::printf(" %d", rows.input[t].data()[0]);
  std::printf("\n");
  const std::vector<real> looks = weights.value()[0].to_host();  // [longest, longest]
  for (int t = 0; t < length; ++t) {
    std::printf("    %d ", rows.target[t].data()[0]);
    for (int k = 0; k < length; ++k)
      std::printf(" %c", " .:+#"[static_cast<int>(real(4.99) * looks[static_cast<size_t>(t * longest + k)])]);
    std::printf("\n");
  }
  return right > 0.95 ? 0 : 1;
}
