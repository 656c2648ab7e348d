// Goes from one stack of a thread to another, and back: what a fibre is made of (fibre.h; in tests the threads of a kernel).
#pragma once

#include <cstddef>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace unroll {

struct Stack {
  char* begin;
  std::size_t bytes;
};

#ifdef __x86_64__

// Keeps on the stack what a call must keep, leaves in *from what to come back with, and goes on at `to`.
[[gnu::naked, gnu::noinline]] inline void switch_stack(void** /*from*/, void* /*to*/) {
  asm(R"(
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
)");
}

// Prepares `stack` for the first switch to it, which goes on in `begin`. Requires: `begin` does not return.
inline void* first_place(const Stack& stack, void (*begin)()) {
  void** top = reinterpret_cast<void**>(stack.begin + stack.bytes);
  *--top = nullptr;                         // no caller
  *--top = reinterpret_cast<void*>(begin);  // where the switch returns to; the stack is then as after a call
  for (int i = 0; i < 6; ++i) *--top = nullptr;  // the registers
  return top;
}

#else

// Elsewhere the C library's, which asks the system at each switch.
inline void switch_stack(void** from, void* to) {
  if (!*from) *from = new ucontext_t;
  swapcontext(static_cast<ucontext_t*>(*from), static_cast<ucontext_t*>(to));
}
inline void* first_place(const Stack& stack, void (*begin)()) {
  auto* place = new ucontext_t;
  getcontext(place);
  place->uc_stack.ss_sp = stack.begin;
  place->uc_stack.ss_size = stack.bytes;
  makecontext(place, begin, 0);
  return place;
}

#endif

}  // namespace unroll
