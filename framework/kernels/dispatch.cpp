// Which kernels this process uses.
#include <cstdlib>
#include <string>
#include <string_view>

#include "framework/check.h"
#include "framework/kernels/cpu/variants.h"

namespace unroll::inline UNROLL_REAL {
namespace cpu {

inline namespace baseline {
const Kernels& table();
}
#if defined(__x86_64__) && !defined(UNROLL_DOUBLE)
#define UNROLL_X86_VARIANTS
inline namespace avx2 {
const Kernels& table();
}
inline namespace avx512 {
const Kernels& table();
}
#endif

std::span<const Variant> variants() {
#ifdef UNROLL_X86_VARIANTS
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  static const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                                 __builtin_cpu_supports("avx512vl");
  static const Variant all[] = {{"baseline", true, baseline::table},
                                {"avx2", has_avx2, avx2::table},
                                {"avx512", has_avx512, avx512::table}};
#else
  static const Variant all[] = {{"baseline", true, baseline::table}};
#endif
  return all;
}

const Kernels& choose(const char* name) {
  const Variant* best = nullptr;
  std::string known;
  for (const Variant& variant : variants()) {
    if (name && std::string_view(name) == variant.name) {
      require_input(variant.runs_here, "UNROLL_ISA={}: this machine lacks it", name);
      return variant.table();
    }
    if (variant.runs_here) {
      best = &variant;
      known += (known.empty() ? "" : ", ") + std::string(variant.name);
    }
  }
  require_input(!name, "UNROLL_ISA={}: unknown, this machine has {}", name ? name : "", known);
  return best->table();
}

}  // namespace cpu

const Kernels& kernels() {
#ifdef UNROLL_DOUBLE
  static const Kernels& chosen = cpu::choose(nullptr);  // for tests only: there is but one
#else
  static const Kernels& chosen = cpu::choose(std::getenv("UNROLL_ISA"));
#endif
  return chosen;
}

}  // namespace unroll::inline UNROLL_REAL
