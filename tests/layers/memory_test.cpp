// Memory and reproducibility of training: what a step asks of the system, where its tensors lie, and its bits.
#include "framework/memory.h"

#include <memory>
#include <thread>

#include "framework/loss.h"
#include "framework/threads.h"
#include "layers/dense.h"
#include "layers/dropout.h"
#include "layers/embedding.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "layers/stepper.h"
#include "optim/optimizer.h"
#include "tests/layers/counted_memory.h"
#include "tests/support.h"

using namespace unroll;

namespace {

struct Size {
  int vocab, width, batch, steps;
};
constexpr Size small{50, 16, 4, 6};
constexpr Size large{1000, 96, 20, 20};  // several threads, several chunks of the loss

enum class Kind { sgd, momentum, adam, asgd };

std::unique_ptr<Optimizer> optimizer(Kind kind, ParameterSet& params) {
  switch (kind) {
    case Kind::sgd:
      return std::make_unique<Sgd>(params, SgdConfig{.learning_rate = 0.5});
    case Kind::momentum:
      return std::make_unique<Sgd>(params, SgdConfig{.learning_rate = 0.1, .momentum = 0.9});
    case Kind::adam:
      return std::make_unique<Adam>(params, AdamConfig{.learning_rate = 1e-2, .weight_decay = 1e-4});
    case Kind::asgd:
      return std::make_unique<Asgd>(params, AsgdConfig{.learning_rate = 0.5});
  }
  return nullptr;
}

// A language model and everything that training it needs, fed with random words.
struct Training {
  Training(const Size& size, Kind kind, Engine engine = Engine::automatic, uint64_t seed = 7)
      : params(seed),
        embed(params / "embed", {.vocab = size.vocab, .dim = size.width}),
        drop(params / "drop", {.rate = 0.2f}),
        lstm(params / "lstm",
             {.input = size.width, .hidden = size.width, .layers = 2, .dropout = 0.3f, .engine = engine}),
        out(params / "out", {.in = size.width, .out = size.vocab}),
        optimizer(::optimizer(kind, params)),
        state(lstm.zero_state(size.batch)),
        chunk_rows(size.batch * size.steps / 3) {
    RandomStream random(seed, "words");
    for (int i = 0; i < 12; ++i)
      words.push_back(random_ids({size.steps + 1, size.batch}, random, static_cast<uint32_t>(size.vocab)));
  }

  // One step; where its tensors lay.
  std::array<const void*, 9> step() {
    const IdTensor& window = words[count++ % words.size()];
    const int steps = window.dim(0) - 1;
    Tape tape;
    const Var x = embed(window.slice(0, steps)), dropped = drop(x);
    const auto [y, next] = lstm(dropped, state);
    const Var top = drop(y);
    const Var loss = softmax_cross_entropy(out, top, window.slice(1, steps + 1), {.chunk_rows = chunk_rows});
    last_loss = loss.item();
    const std::array<const void*, 9> addresses = {
        x.value().data(),      dropped.value().data(), y.value().data(),
        next.h.value().data(), next.c.value().data(),  top.value().data(),
        loss.value().data(),   state.h.data(),         params.gradients().data()};
    tape.backward(loss * static_cast<real>(steps));
    optimizer->step({.max_norm = 5});
    state = next;
    return addresses;
  }

  ParameterSet params;
  Embedding embed;
  Dropout drop;
  Lstm lstm;
  Dense out;
  std::unique_ptr<Optimizer> optimizer;
  RecurrentState state;
  int chunk_rows;
  std::vector<IdTensor> words;
  size_t count = 0;
  real last_loss = 0;
};

}  // namespace

TEST_CASE("the counters count") {
  const auto counted = [](auto f) {
    Count count;
    f();
    return count.result();
  };
  CHECK(counted([] {}) == "");
  int* volatile number = nullptr;
  CHECK(counted([&] { number = new int(3); }) == "system 1, pool 0");
  CHECK(counted([&] { delete number; }) == "");
#ifdef COUNT_C_ALLOCATIONS
  void* volatile memory = nullptr;
  CHECK(counted([&] { memory = std::malloc(10); }) == "system 1, pool 0");
  std::free(memory);
  std::thread([&] { CHECK(counted([&] { memory = std::calloc(3, 5); }) == "system 1, pool 0"); }).join();
  std::free(memory);
#endif
  const auto odd = [] { Tensor({3, 12345}); };  // no other test needs this size
  CHECK(lacks(counted(odd), {"pool 1"}) == "");
  CHECK(counted(odd) == "");
}

TEST_CASE("a large block that is free serves what is a little smaller, and nothing else does") {
  constexpr std::size_t mib = std::size_t{1} << 20;
  const auto calls = [] { return memory_statistics().system_calls; };
  const auto place = [](std::size_t bytes) { return Memory(bytes, Place::host).data(); };
  const void* const large = place(37 * mib);  // of a class of 40 MiB
  const int64_t before = calls();
  CHECK(place(33 * mib) == large);
  CHECK(place(27 * mib) == large);  // whose class, of 28 MiB, is the next but one below
  CHECK(calls() == before);
  CHECK(place(23 * mib) != large);
  {
    const Memory taken(30 * mib, Place::host);
    CHECK(taken.data() == large);
    const int64_t in_use = memory_statistics().in_use;
    CHECK(place(37 * mib) != large);
    CHECK(memory_statistics().in_use == in_use);
  }
  CHECK(place(37 * mib) == large);
}

TEST_CASE("after the third step a training step asks the system for no memory") {
  for (int thread_count : {1, 2})
    for (const Size& size : {small, large})
      for (Engine engine : {Engine::fused, Engine::composed})
        for (Kind kind : {Kind::sgd, Kind::momentum, Kind::adam, Kind::asgd}) {
          if (engine == Engine::composed && kind != Kind::adam) continue;
          const Threads guard(thread_count);
          Training training(size, kind, engine);
          for (int i = 0; i < 3; ++i) training.step();
          for (int i = 4; i <= 10; ++i) {
            Count count;
            training.step();
            const std::string asked_for = count.result();
            CAPTURE(thread_count);
            CAPTURE(size.vocab);
            CAPTURE(name_of(engine));
            CAPTURE(training.optimizer->name());
            CAPTURE(i);
            CHECK(asked_for == "");
          }
        }
}

TEST_CASE("the tensors of a step lie where those of the last step lay") {
  for (const Size& size : {small, large})
    for (Engine engine : {Engine::fused, Engine::composed}) {
      Training training(size, Kind::adam, engine);
      for (int i = 0; i < 2; ++i) training.step();
      const auto third = training.step();
      for (int i = 4; i <= 9; ++i) {
        CAPTURE(i);
        CAPTURE(size.vocab);
        CAPTURE(name_of(engine));
        CHECK(training.step() == third);
      }
    }
}

TEST_CASE("a window of another length in between costs no memory when it comes again") {
  Training training(small, Kind::adam);
  const IdTensor shorter = training.words[1].slice(0, 4);
  for (size_t i = 1; i < training.words.size(); i += 2) training.words[i] = shorter;
  for (int i = 0; i < 6; ++i) training.step();
  Count count;
  for (int i = 0; i < 6; ++i) training.step();
  CHECK(count.result() == "");
}

TEST_CASE("evaluation asks for no memory after its first windows, alone and in the middle of training") {
  Training training(small, Kind::adam);
  const auto evaluate = [&] {
    NoTape guard;
    const auto [y, next] = training.lstm(training.embed(training.words[0]), training.state);
    return softmax_cross_entropy(training.out, y, training.words[0]).item();
  };
  for (int i = 0; i < 3; ++i) evaluate(), training.step();
  Count count;
  for (int i = 0; i < 3; ++i) evaluate(), evaluate(), training.step();
  CHECK(count.result() == "");
}

TEST_CASE("a step of inference asks neither the system nor the pool for memory") {
  for (int thread_count : {1, 2})
    for (const Size& size : {small, large}) {
      const Threads guard(thread_count);
      Training training(size, Kind::sgd);
      TokenStepper step(training.embed, training.lstm, training.out);
      step(0);  // a library may take what it keeps
      const int64_t in_use = memory_statistics().in_use;
      reset_peak_memory();
      Count count;
      for (int32_t token = 0; token < 20; ++token) step(token);
      step.layers.reset();
      CHECK(count.result() == "");
      CHECK(memory_statistics().peak == in_use);
    }
}

TEST_CASE("so does a step of a GRU") {
  ParameterSet params;
  const Gru gru(params / "gru", {.input = 16, .hidden = 16, .layers = 2});
  Stepper step(gru, 3);
  const Tensor x = Tensor::full({3, 16}, 0.5f);
  step(x);
  const int64_t in_use = memory_statistics().in_use;
  reset_peak_memory();
  Count count;
  for (int i = 0; i < 20; ++i) step(x);
  CHECK(count.result() == "");
  CHECK(memory_statistics().peak == in_use);
}

// Every option of the layers at once, in one LSTM and one GRU.
TEST_CASE("after the third step a training step with all options asks the system for no memory") {
  for (int thread_count : {1, 2})
    for (Engine engine : {Engine::fused, Engine::composed})
      for (const Size& size : {small, large}) {
        if (engine == Engine::composed && size.vocab == large.vocab) continue;
        const Threads guard(thread_count);
        ParameterSet params;
        const int width = size.width;
        const Embedding embed(params / "embed", {.vocab = size.vocab, .dim = width, .dropout = 0.1f});
        const Lstm lstm(params / "lstm", {.input = width,
                                          .hidden = 2 * width,
                                          .layers = 2,
                                          .dropout = 0.3f,
                                          .locked_dropout = true,
                                          .recurrent_dropout = 0.2f,
                                          .weight_drop = 0.5f,
                                          .zoneout_h = 0.1f,
                                          .zoneout_c = 0.2f,
                                          .projection = width,
                                          .layer_norm = true,
                                          .peepholes = true,
                                          .gate_activation = Unary::hard_sigmoid,
                                          .cell_activation = Unary::softsign,
                                          .mogrifier = 5,
                                          .mogrifier_rank = 4,
                                          .residual = true,
                                          .bidirectional = true,
                                          .forget_bias = 1,
                                          .engine = engine});
        const Gru gru(params / "gru", {.input = 2 * width,
                                       .hidden = width,
                                       .layers = 2,
                                       .dropout = 0.3f,
                                       .recurrent_dropout = 0.2f,
                                       .weight_drop = 0.5f,
                                       .zoneout_h = 0.1f,
                                       .mogrifier = 4,
                                       .residual = true,
                                       .bidirectional = true,
                                       .engine = engine});
        const Dense out(params / "out", {.in = 2 * width, .out = size.vocab});
        Sgd sgd(params, {.learning_rate = 0.1});
        RecurrentState state = lstm.zero_state(size.batch);
        RecurrentState gru_state = gru.zero_state(size.batch);
        RandomStream random(7, "words");
        const IdTensor words =
                           random_ids({size.steps, size.batch}, random, static_cast<uint32_t>(size.vocab)),
                       steps = random_ids({size.batch}, random, static_cast<uint32_t>(size.steps + 1));
        const Lengths lengths{steps, Padding::before};
        const auto step = [&] {
          Tape tape;
          const auto [y, next] = lstm(embed(words), state, lengths);
          const auto [z, last] = gru(y, gru_state, lengths);
          const Var loss = softmax_cross_entropy(out, z, words);
          tape.backward(loss);
          sgd.step({.max_norm = 1});
          state = next;
          gru_state = last;
        };
        for (int i = 0; i < 3; ++i) step();
        for (int i = 4; i <= 8; ++i) {
          Count count;
          step();
          const std::string asked_for = count.result();
          CAPTURE(thread_count);
          CAPTURE(name_of(engine));
          CAPTURE(size.vocab);
          CAPTURE(i);
          CHECK(asked_for == "");
        }
      }
}

TEST_CASE("two trainings with the same seed and thread count end in the same bits") {
  for (int thread_count : {1, 2})
    for (const Size& size : {small, large})
      for (Kind kind : {Kind::sgd, Kind::adam}) {
        const Threads guard(thread_count);
        Training first(size, kind), second(size, kind), other(size, kind, Engine::automatic, 8);
        for (int i = 0; i < 6; ++i) first.step();
        for (int i = 0; i < 6; ++i) second.step(), other.step();  // the second in company
        CHECK(first.last_loss == second.last_loss);
        CHECK(same_bits(first.params.values(), second.params.values()));
        CHECK(same_bits(first.state.c, second.state.c));
        CHECK_FALSE(same_bits(first.params.values(), other.params.values()));
      }
}

TEST_CASE("the peak of the process is at least what it touched at once") {
  const std::vector<char> touched(std::size_t{64} << 20, 1);
  CHECK(peak_memory_of_process() >= std::ssize(touched));
}
