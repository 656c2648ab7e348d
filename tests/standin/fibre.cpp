#include "tests/standin/fibre.h"

#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

#ifndef __x86_64__
#include <ucontext.h>
#endif

#include "tests/standin/standin.h"

// Of the sanitizers, where the program has them.
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t bytes);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, std::size_t* bytes);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_acquire(void* place);
[[gnu::weak]] void __tsan_release(void* place);
}

namespace standin {

const bool races_are_watched = __tsan_create_fiber != nullptr;
const bool stacks_are_watched = races_are_watched || __sanitizer_start_switch_fiber != nullptr;

namespace {

Fibre* left = nullptr;  // who ran before

struct Stack {  // above a page that nobody may touch
  char* begin;
  std::size_t bytes;
};
Stack new_stack() {
  constexpr std::size_t bytes = 256 << 10;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, page + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) stop("the system has no memory for a thread of a kernel");
  char* const stack = static_cast<char*>(memory) + page;
  if (mprotect(stack, bytes, PROT_READ | PROT_WRITE))
    stop("the stack of a kernel's thread cannot be protected");
  // Stacks that all ended at a page's end would meet in a few lines of the cache.
  static std::size_t count = 0;
  return {stack, bytes - count++ % 61 * 64};
}

#ifdef __x86_64__

asm(R"(
.text
.globl unroll_standin_switch
.type unroll_standin_switch, @function
unroll_standin_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size unroll_standin_switch, .-unroll_standin_switch
)");

void* new_machine(const Stack& stack, void (*begin)()) {
  void** top = reinterpret_cast<void**>(stack.begin + stack.bytes);
  *--top = nullptr;                         // no caller
  *--top = reinterpret_cast<void*>(begin);  // where the switch returns to; the stack is then as after a call
  for (int i = 0; i < 6; ++i) *--top = nullptr;  // the registers
  return top;
}

#else

// Elsewhere the C library's, which asks the system at each switch.
extern "C" void unroll_standin_switch(void** from, void* to) {
  if (!*from) *from = new ucontext_t;
  swapcontext(static_cast<ucontext_t*>(*from), static_cast<ucontext_t*>(to));
}
void* new_machine(const Stack& stack, void (*begin)()) {
  auto* machine = new ucontext_t;
  getcontext(machine);
  machine->uc_stack.ss_sp = stack.begin;
  machine->uc_stack.ss_size = stack.bytes;
  makecontext(machine, begin, 0);
  return machine;
}

#endif

}  // namespace

Fibre::Fibre(void (*entry)()) : entry_(entry) {
  const Stack stack = new_stack();
  bottom_ = stack.begin, bytes_ = stack.bytes;
  machine_ = new_machine(stack, begin);
  if (races_are_watched) thread_ = __tsan_create_fiber(0);
}
Fibre::Fibre() {
  if (races_are_watched) thread_ = __tsan_get_current_fiber();
  current_ = this;
}

void Fibre::begin() {
  if (stacks_are_watched) current_->arrive();
  current_->entry_();
  std::abort();
}
void Fibre::leave(Fibre& from) {
  left = &from;
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(&from.fake_stack_, bottom_, bytes_);
  if (races_are_watched) __tsan_switch_to_fiber(thread_, 1);  // which orders nothing
}
void Fibre::arrive() {
  if (__sanitizer_finish_switch_fiber)
    __sanitizer_finish_switch_fiber(fake_stack_, &left->bottom_, &left->bytes_);
}

void order_before(void* place) {
  if (races_are_watched) __tsan_release(place);
}
void order_after(void* place) {
  if (races_are_watched) __tsan_acquire(place);
}

}  // namespace standin
