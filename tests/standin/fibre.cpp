#include "tests/standin/fibre.h"

#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/standin.h"

// Functions of the sanitizers, if the program has them.
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

// Above a page that nobody may touch.
unroll::Stack new_stack() {
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

}  // namespace

Fibre::Fibre(void (*entry)()) : entry_(entry) {
  const unroll::Stack stack = new_stack();
  bottom_ = stack.begin, bytes_ = stack.bytes;
  machine_ = unroll::first_place(stack, begin);
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
