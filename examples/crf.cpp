// A conditional random field: finds tags that follow rules among themselves as a row, not one by one.
// It teaches a layer on top of emissions, its loss, and Viterbi's path beside each step's likeliest tag.
//
// The tags mark names in text: outside, begin, inside; "inside" follows only "begin" or "inside". In seven of ten steps
// the model sees the tag itself, else a random one.
#include <cstdio>

#include "unroll.h"

using namespace unroll;

constexpr int tags = 3, steps = 20, batch = 32;  // 0 outside, 1 begin, 2 inside

struct Rows {
  explicit Rows(RandomStream& random) : seen({steps, batch}), tag({steps, batch}) {
    for (int b = 0; b < batch; ++b) {
      int32_t last = 0;
      for (int t = 0; t < steps; ++t) {
        const bool on = random.uniform() < 0.8;
        last = last == 0 ? (random.uniform() < 0.3 ? 1 : 0) : on ? 2 : 0;
        tag[t].data()[b] = last;
        seen[t].data()[b] = random.uniform() < 0.7 ? last : static_cast<int32_t>(random.below(tags));
      }
    }
  }
  IdTensor seen, tag;
};

struct Tagger {
  ParameterSet params;
  Embedding emissions{params / "emissions", {.vocab = tags, .dim = tags}};  // of each thing seen, by itself
  Crf crf{params / "crf", {.tags = tags}};
};

double share(const IdTensor& found, const IdTensor& right) {
  int same = 0;
  for (int64_t k = 0; k < found.size(); ++k) same += found.data()[k] == right.data()[k];
  return static_cast<double>(same) / static_cast<double>(found.size());
}

int main() {
  Tagger alone, in_a_row;
  Adam of_alone(alone.params, {.learning_rate = 0.05}), of_row(in_a_row.params, {.learning_rate = 0.05});
  RandomStream random(1, "names");
  for (int step = 0; step < 100; ++step) {
    const Rows rows(random);
    {
      Tape tape;
      tape.backward(softmax_cross_entropy(alone.emissions(rows.seen), rows.tag));
      of_alone.step();
    }
    Tape tape;
    const Var loss = in_a_row.crf.loss(in_a_row.emissions(rows.seen), rows.tag);
    tape.backward(loss);
    of_row.step();
    if (step % 25 == 24)
      std::printf("step %3d  loss of a row %.3f\n", step + 1, static_cast<double>(loss.item()));
  }

  const Rows rows(random);
  const double each = share(argmax(alone.emissions(rows.seen)), rows.tag);
  const double path = share(in_a_row.crf.decode(in_a_row.emissions(rows.seen)).tags, rows.tag);
  std::printf("right tags: %.1f %% one by one, %.1f %% by the best path\n", 100 * each, 100 * path);
  return path > each + 0.03 ? 0 : 1;
}
