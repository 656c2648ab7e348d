// Memory and reproducibility of training: what a step asks of the system, where its tensors lie, and its bits.
//
// Three counters, over all threads: operator new; the C library's allocation functions and mmap, whoever calls them
// (libraries' scratchpads too); and the pool's own. The second is off under the address sanitizer, which replaces
// these functions itself.
#include "framework/memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "framework/gemm.h"
#include "framework/loss.h"
#include "layers/dense.h"
#include "layers/dropout.h"
#include "layers/embedding.h"
#include "layers/lstm.h"
#include "optim/optimizer.h"
#include "tests/support.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define COUNT_C_ALLOCATIONS
#endif

namespace {

std::atomic<int64_t> calls_of_new{0}, calls_of_the_c_library{0};

void* counted_new(std::size_t bytes, std::size_t alignment) {
  ++calls_of_new;
  bytes = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return counted_new(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted_new(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#ifdef COUNT_C_ALLOCATIONS
// glibc's own functions under their other names.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  ++calls_of_the_c_library;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  ++calls_of_the_c_library;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  ++calls_of_the_c_library;
  return __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  ++calls_of_the_c_library;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept { return memalign(alignment, bytes); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  *memory = memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  ++calls_of_the_c_library;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
}
#endif

using namespace unroll;

namespace {

struct Calls {
  int64_t of_new, of_the_c_library, of_the_pool;
  bool operator==(const Calls&) const = default;
};
Calls calls() { return {calls_of_new, calls_of_the_c_library, memory_statistics().system_calls}; }

struct Size {
  int vocab, width, batch, steps;
};
constexpr Size small{50, 16, 4, 6};
constexpr Size large{1000, 96, 20, 20};  // several threads, several chunks of the loss

enum class Kind { sgd, momentum, adam, asgd };

std::unique_ptr<Optimizer> optimizer(Kind kind, ParameterSet& params) {
  switch (kind) {
    case Kind::sgd: return std::make_unique<Sgd>(params, SgdConfig{.learning_rate = 0.5});
    case Kind::momentum: return std::make_unique<Sgd>(params, SgdConfig{.learning_rate = 0.1, .momentum = 0.9});
    case Kind::adam: return std::make_unique<Adam>(params, AdamConfig{.learning_rate = 1e-2, .weight_decay = 1e-4});
    case Kind::asgd: return std::make_unique<Asgd>(params, AsgdConfig{.learning_rate = 0.5});
  }
  return nullptr;
}

// A language model and everything that training it needs, fed with random words.
struct Training {
  Training(const Size& size, Kind kind, LstmEngine engine = LstmEngine::automatic, uint64_t seed = 7)
      : params(seed),
        embed(params / "embed", {.vocab = size.vocab, .dim = size.width}),
        drop(params / "drop", {.rate = 0.2f}),
        lstm(params / "lstm", {.input = size.width, .hidden = size.width, .layers = 2, .dropout = 0.3f, .engine = engine}),
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
        x.value().data(),      dropped.value().data(), y.value().data(),    next.h.value().data(), next.c.value().data(),
        top.value().data(),    loss.value().data(),    state.h.data(),      params.gradients().data()};
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
  LstmState state;
  int chunk_rows;
  std::vector<IdTensor> words;
  size_t count = 0;
  real last_loss = 0;
};

struct Threads {
  explicit Threads(int count) : before(threads()) { set_threads(count); }
  ~Threads() { set_threads(before); }
  int before;
};

}  // namespace

TEST_CASE("the counters count") {
  const Calls before = calls();
  delete new int(3);
  CHECK(calls_of_new == before.of_new + 1);
#ifdef COUNT_C_ALLOCATIONS
  const int64_t c = calls_of_the_c_library;
  void* volatile memory = std::malloc(10);
  std::free(memory);
  CHECK(calls_of_the_c_library == c + 1);
#endif
  const int64_t pool = memory_statistics().system_calls;
  {
    const Tensor odd({3, 1234567});  // no test needs this size
    CHECK(memory_statistics().system_calls == pool + 1);
  }
  {
    const Tensor again({3, 1234567});
    CHECK(memory_statistics().system_calls == pool + 1);
  }
}

TEST_CASE("after the third step a training step asks the system for no memory") {
  for (int thread_count : {1, 2})
    for (const Size& size : {small, large})
      for (LstmEngine engine : {LstmEngine::fused, LstmEngine::composed})
        for (Kind kind : {Kind::sgd, Kind::momentum, Kind::adam, Kind::asgd}) {
          if (engine == LstmEngine::composed && kind != Kind::adam) continue;
          const Threads guard(thread_count);
          Training training(size, kind, engine);
          for (int i = 0; i < 3; ++i) training.step();
          for (int i = 4; i <= 9; ++i) {
            const Calls before = calls();
            training.step();
            const Calls after = calls();
            CAPTURE(thread_count);
            CAPTURE(size.vocab);
            CAPTURE(name_of(engine));
            CAPTURE(training.optimizer->name());
            CAPTURE(i);
            CHECK(after.of_new == before.of_new);
            CHECK(after.of_the_c_library == before.of_the_c_library);
            CHECK(after.of_the_pool == before.of_the_pool);
          }
          CHECK(training.last_loss > 0);
        }
}

TEST_CASE("the tensors of a step lie where those of the last step lay") {
  for (const Size& size : {small, large})
    for (LstmEngine engine : {LstmEngine::fused, LstmEngine::composed}) {
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
  const Calls before = calls();
  for (int i = 0; i < 6; ++i) training.step();
  const Calls after = calls();
  CHECK(after == before);
}

TEST_CASE("evaluation asks for no memory after its first windows, alone and in the middle of training") {
  Training training(small, Kind::adam);
  const auto evaluate = [&] {
    NoTape guard;
    const auto [y, next] = training.lstm(training.embed(training.words[0]), training.state);
    return softmax_cross_entropy(training.out, y, training.words[0]).item();
  };
  for (int i = 0; i < 3; ++i) evaluate(), training.step();
  const Calls before = calls();
  for (int i = 0; i < 3; ++i) evaluate(), evaluate(), training.step();
  const Calls after = calls();
  CHECK(after == before);
}

TEST_CASE("two trainings with the same seed and thread count end in the same bits") {
  for (int thread_count : {1, 2})
    for (const Size& size : {small, large})
      for (Kind kind : {Kind::sgd, Kind::adam}) {
        const Threads guard(thread_count);
        Training first(size, kind), second(size, kind), other(size, kind, LstmEngine::automatic, 8);
        for (int i = 0; i < 6; ++i) first.step();
        for (int i = 0; i < 6; ++i) second.step(), other.step();  // the second in company
        CHECK(first.last_loss == second.last_loss);
        CHECK(same_bits(first.params.values(), second.params.values()));
        CHECK(same_bits(first.state.c, second.state.c));
        CHECK_FALSE(same_bits(first.params.values(), other.params.values()));
      }
}
