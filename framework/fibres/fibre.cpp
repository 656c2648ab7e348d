#include "framework/fibres/fibre.h"

#include <mutex>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "framework/check.h"
#include "framework/fibres/stack_switch.h"

// Of the sanitizers, where the program has them. To the address sanitizer a fibre is another stack, to ThreadSanitizer another thread.
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t bytes);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, std::size_t* bytes);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}

namespace unroll {

namespace {

// As much as a thread has. The system gives memory for what is touched.
constexpr std::size_t stack_bytes = std::size_t{8} << 20;

// Stacks, each above a page that nobody may touch. They are not given back: the sanitizers remember what they were.
struct Stacks {
  std::mutex mutex;
  std::vector<Stack> free;

  static Stacks& instance() {
    static Stacks* stacks = new Stacks;  // never destroyed
    return *stacks;
  }
  Stack take() {
    const std::lock_guard lock(mutex);
    if (!free.empty()) {
      const Stack stack = free.back();
      free.pop_back();
      return stack;
    }
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const memory = mmap(nullptr, page + stack_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0)
      throw OutOfMemory("shards: the system has no memory for the stack of one more");
    return {static_cast<char*>(memory) + page, stack_bytes};
  }
  void give_back(const Stack& stack) {
    const std::lock_guard lock(mutex);
    free.push_back(stack);
  }
};

}  // namespace

struct Fibre::Machine {
  std::function<void()> work;
  Stack stack = {};
  void *own = nullptr, *thread = nullptr;  // where each is to go on
  void *own_fake_stack = nullptr, *thread_fake_stack = nullptr;
  const void* thread_bottom = nullptr;
  std::size_t thread_bytes = 0;
  void *own_tsan = nullptr, *thread_tsan = nullptr;

  static inline thread_local Machine* running = nullptr;

  static void loop() {
    Machine& self = *running;
    self.arrive();
    for (;;) {
      self.work();
      self.work = nullptr;
      self.leave();
    }
  }
  void enter() {
    if (__sanitizer_start_switch_fiber)
      __sanitizer_start_switch_fiber(&thread_fake_stack, stack.begin, stack.bytes);
    if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(own_tsan, 0);
    switch_stack(&thread, own);
    if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(thread_fake_stack, nullptr, nullptr);
  }
  void leave() {
    if (__sanitizer_start_switch_fiber)
      __sanitizer_start_switch_fiber(&own_fake_stack, thread_bottom, thread_bytes);
    if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(thread_tsan, 0);
    switch_stack(&own, thread);
    arrive();
  }
  void arrive() {
    if (__sanitizer_finish_switch_fiber)
      __sanitizer_finish_switch_fiber(own_fake_stack, &thread_bottom, &thread_bytes);
  }
};

Fibre::Fibre() : machine_(std::make_unique<Machine>()) {
  Machine& m = *machine_;
  m.stack = Stacks::instance().take();
  m.own = first_place(m.stack, Machine::loop);
  if (__tsan_create_fiber) m.own_tsan = __tsan_create_fiber(0);
}
Fibre::~Fibre() {
  if (__tsan_destroy_fiber) __tsan_destroy_fiber(machine_->own_tsan);
  Stacks::instance().give_back(machine_->stack);
}

void Fibre::begin(std::function<void()> work) { machine_->work = std::move(work); }
bool Fibre::has_work() const { return machine_->work != nullptr; }

void Fibre::go_on() {
  require(has_work() && !Machine::running, "fibre: it has no work, or another one runs");
  Machine::running = machine_.get();
  if (__tsan_get_current_fiber) machine_->thread_tsan = __tsan_get_current_fiber();
  machine_->enter();
  Machine::running = nullptr;
}
void Fibre::give_way() { Machine::running->leave(); }

}  // namespace unroll
