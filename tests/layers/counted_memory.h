// Counts what a program that includes this asks the system for. While a Count lives, over all threads:
//   system   calls of operator new, of the C library's allocation functions and of mmap, whoever makes them;
//   pool     what the pool behind tensors had to ask for.
// Under the address sanitizer, which replaces the C library's functions itself, only operator new and the pool count.
// Only one file of a program may include it: it defines these functions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "framework/memory.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define COUNT_C_ALLOCATIONS
#endif

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> calls{0};

void count_call() {
  if (counting) ++calls;
}

}  // namespace

#ifdef COUNT_C_ALLOCATIONS
// glibc's own functions under their other names.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

static void* counted(void* memory) {
  count_call();
  return memory;
}

extern "C" {
void* malloc(std::size_t bytes) noexcept { return counted(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) noexcept { return counted(__libc_calloc(count, bytes)); }
void* realloc(void* memory, std::size_t bytes) noexcept { return counted(__libc_realloc(memory, bytes)); }
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return counted(__libc_memalign(alignment, bytes));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  *memory = counted(__libc_memalign(alignment, bytes));
  return *memory ? 0 : ENOMEM;
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  count_call();
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
}
#else
static void* __libc_memalign(std::size_t alignment, std::size_t bytes) {
  return std::aligned_alloc(alignment, bytes);
}
#endif

static void* new_memory(std::size_t bytes, std::size_t alignment) {
  count_call();
  bytes = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  if (void* memory = __libc_memalign(alignment, bytes)) return memory;
  throw std::bad_alloc();
}
// Never inlined, so that GCC does not see free() meet another's operator new.
#define NOT_INLINE [[gnu::noinline]]
NOT_INLINE void* operator new(std::size_t bytes) { return new_memory(bytes, alignof(std::max_align_t)); }
NOT_INLINE void* operator new[](std::size_t bytes) { return new_memory(bytes, alignof(std::max_align_t)); }
NOT_INLINE void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return new_memory(bytes, static_cast<std::size_t>(alignment));
}
NOT_INLINE void operator delete(void* memory) noexcept { std::free(memory); }
NOT_INLINE void operator delete[](void* memory) noexcept { std::free(memory); }
NOT_INLINE void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
NOT_INLINE void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
NOT_INLINE void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
NOT_INLINE void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace unroll {

// Counts from its construction to result().
struct Count {
  Count() : pool(memory_statistics().system_calls) {
    calls = 0;
    counting = true;
  }
  ~Count() { counting = false; }
  // "" or what was asked for
  std::string result() {
    counting = false;
    const int64_t of_pool = memory_statistics().system_calls - pool;
    return calls == 0 && of_pool == 0 ? "" : fmt::format("system {}, pool {}", calls.load(), of_pool);
  }
  int64_t pool;
};

}  // namespace unroll
