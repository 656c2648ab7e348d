#include "tests/standin/memory.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/standin.h"

namespace standin {

namespace {

constexpr unsigned char pattern = 0xa5;
constexpr std::size_t alignment = 256;

struct Block {
  char* pages;         // those that hold data
  std::size_t length;  // of the pages
  std::size_t bytes;   // asked for
};

std::map<const char*, Block>& blocks() {  // by the address of the data
  static auto* all = new std::map<const char*, Block>;
  return *all;
}
int open = 0;        // OpenMemory that live
bool closed = true;  // to the host

std::size_t page() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// A protection key opens and closes all blocks at once and costs nothing; where the processor has none, or the system
// gives none, every block is protected by itself. That would take most of a suite's time, so after the first hundred times
// only one in 1024 is carried out: a host that reaches for device memory again and again is found all the same.
int key() {
  static const int allocated = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  return allocated;
}
void protect(const Block& block) {
  const int rights = closed && key() < 0 ? PROT_NONE : PROT_READ | PROT_WRITE;
  const int failed = key() >= 0 ? pkey_mprotect(block.pages, block.length, rights, key())
                                : mprotect(block.pages, block.length, rights);
  if (failed) stop("the stand-in's memory cannot be protected");
}
void set_closed(bool is) {
  closed = is;
  if (key() >= 0)
    pkey_set(key(), closed ? PKEY_DISABLE_ACCESS : 0);
  else
    for (const auto& [data, block] : blocks()) protect(block);
}
bool is_time_to_close() {
  static int64_t times = 0;
  return key() >= 0 || ++times <= 100 || times % 1024 == 0;
}

bool is_intact(const char* data, const Block& block) {
  const auto* end = reinterpret_cast<const unsigned char*>(block.pages + block.length);
  for (const auto* byte = reinterpret_cast<const unsigned char*>(data) + block.bytes; byte < end; ++byte)
    if (*byte != pattern) return false;
  return true;
}

}  // namespace

OpenMemory::OpenMemory() {
  if (open++ == 0 && closed) set_closed(false);
}
OpenMemory::~OpenMemory() {
  if (--open == 0 && is_time_to_close()) set_closed(true);
}

bool owns(const void* memory, std::size_t bytes) {
  const char* begin = static_cast<const char*>(memory);
  auto next = blocks().upper_bound(begin);
  if (next == blocks().begin()) return false;
  const auto& [data, block] = *--next;
  return begin + bytes <= data + block.bytes;
}

void stop(const std::string& what) {
  std::fprintf(stderr, "stand-in: %s\n", what.c_str());
  std::fflush(stderr);
  std::abort();
}

void* take_memory(std::size_t bytes) {
  const std::size_t aligned = (bytes + alignment - 1) / alignment * alignment;
  const std::size_t length = (aligned + page() - 1) / page() * page();
  void* whole = mmap(nullptr, length + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED) stop("the system has no memory");
  const Block block{static_cast<char*>(whole) + page(), length, bytes};
  char* data = block.pages + length - aligned;
  const OpenMemory opened;
  protect(block);
  std::memset(data, 0xff, bytes);  // NaN in all of CUDA's types
  std::memset(data + bytes, pattern, aligned - bytes);
  blocks()[data] = block;
  return data;
}

bool give_memory(void* memory) {
  const auto found = blocks().find(static_cast<const char*>(memory));
  if (found == blocks().end()) return false;
  const OpenMemory opened;
  if (!is_intact(found->first, found->second))
    stop("something was written beyond the end of a block of device memory");
  munmap(found->second.pages - page(), found->second.length + 2 * page());
  blocks().erase(found);
  return true;
}

std::size_t size_of(const void* memory) {
  const auto found = blocks().find(static_cast<const char*>(memory));
  return found == blocks().end() ? 0 : found->second.bytes;
}

bool memory_is_intact() {
  const OpenMemory opened;
  for (const auto& [data, block] : blocks())
    if (!is_intact(data, block)) return false;
  return true;
}

Control::Moved& count_moved(const std::string& name, std::size_t read, std::size_t written) {
  Control::Moved& all = control().moved[name];
  ++all.launches, all.read += static_cast<int64_t>(read), all.written += static_cast<int64_t>(written);
  return all;
}

}  // namespace standin
