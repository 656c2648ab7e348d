// Which kernels this process uses.
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#ifdef __x86_64__
#include <cpuid.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#include <cstdlib>
#include <string>
#include <string_view>

#include "framework/check.h"
#include "framework/device.h"
#include "framework/kernels/backend.h"
#include "framework/kernels/cpu/variants.h"

namespace unroll {
namespace cpu {

#define UNROLL_TABLE_OF(isa) \
  inline namespace isa {     \
  const Kernels& table();    \
  }
UNROLL_TABLE_OF(baseline)
#if defined(__x86_64__) && !defined(UNROLL_DOUBLE)
#define UNROLL_X86_VARIANTS
UNROLL_TABLE_OF(avx2)
UNROLL_TABLE_OF(avx512)
UNROLL_TABLE_OF(avx512_bf16)
UNROLL_TABLE_OF(amx)

// CPUID, leaf 7: bits 22 (AMX-BF16) and 24 (AMX-TILE) of EDX, which __builtin_cpu_supports does not know in every compiler.
static bool has_tiles() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned both = 1U << 22 | 1U << 24;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & both) == both;
}

// AMX's registers are so large that the system wants to be asked before it saves a process's.
static bool may_use_tiles() {
#ifdef __linux__
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}
#endif

#if defined(__aarch64__) && !defined(UNROLL_DOUBLE)
#define UNROLL_ARM_VARIANTS
UNROLL_TABLE_OF(neon_bf16)

static bool has_bfmmla() {
#ifdef __linux__
  constexpr unsigned long bf16 = 1UL << 14;  // HWCAP2_BF16
  return getauxval(AT_HWCAP2) & bf16;
#else
  return false;
#endif
}
#endif

std::span<const Variant> variants() {
#ifdef UNROLL_X86_VARIANTS
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  static const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                                 __builtin_cpu_supports("avx512vl");
  static const bool has_bf16 = has_avx512 && __builtin_cpu_supports("avx512bf16");
  static const bool has_amx = has_bf16 && has_tiles() && may_use_tiles();
  static const Variant all[] = {{"baseline", true, baseline::table},
                                {"avx2", has_avx2, avx2::table},
                                {"avx512", has_avx512, avx512::table},
                                {"avx512_bf16", has_bf16, avx512_bf16::table},
                                {"amx", has_amx, amx::table}};
#elif defined(UNROLL_ARM_VARIANTS)
  static const Variant all[] = {{"baseline", true, baseline::table},
                                {"neon_bf16", has_bfmmla(), neon_bf16::table}};
#else
  static const Variant all[] = {{"baseline", true, baseline::table}};
#endif
  return all;
}

static const Kernels& fastest(bool with_bf16) {
  const Kernels* result = nullptr;
  for (const Variant& variant : variants())
    if (variant.runs_here && (with_bf16 || !variant.table().bf16.gemm)) result = &variant.table();
  return *result;
}

static const Kernels& emulated_bf16() {
  static const Kernels kernels = [] {
    Kernels k = fastest(false);
    k.name = "emulated_bf16";
    k.bf16 = k.emulated_bf16;
    return k;
  }();
  return kernels;
}

const Kernels& choose(const char* name) {
  if (!name || !*name) return fastest(true);  // an empty variable is none
  if (std::string_view(name) == "emulated_bf16") return emulated_bf16();
  std::string known;
  for (const Variant& variant : variants()) {
    if (std::string_view(name) == variant.name) {
      require_input(variant.runs_here, "UNROLL_ISA={}: this machine lacks it", name);
      return variant.table();
    }
    if (variant.runs_here) known += variant.name + std::string(", ");
  }
  throw InputError(fmt::format("UNROLL_ISA={}: unknown, this machine has {}emulated_bf16", name, known));
}

}  // namespace cpu

const Kernels& host_kernels() {
#ifdef UNROLL_DOUBLE
  static const Kernels& chosen = cpu::choose(nullptr);  // for tests only: there is but one
#else
  static const Kernels& chosen = cpu::choose(std::getenv("UNROLL_ISA"));
#endif
  return chosen;
}

const Kernels& kernels() { return on_gpu() ? cuda::table() : host_kernels(); }

void fill_on_device(real* y, real value, int64_t n) { kernels().fill(y, value, n); }

}  // namespace unroll
