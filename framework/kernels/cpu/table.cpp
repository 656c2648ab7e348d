// The table of one instruction set.
#include <type_traits>

#include "framework/kernels/cpu/launch.h"

namespace unroll::cpu::inline UNROLL_ISA {

#define UNROLL_DECLARED(name) std::remove_pointer_t<decltype(Kernels::name)> name;
UNROLL_EACH_KERNEL(UNROLL_DECLARED)
void fill_gemm(Kernels& k) noexcept;

const Kernels& table() {
  static const Kernels kernels = []() noexcept {
    Kernels k{};
    k.name = UNROLL_NAME(UNROLL_ISA);
#define UNROLL_FILLED(name) k.name = name;
    UNROLL_EACH_KERNEL(UNROLL_FILLED)
    fill_gemm(k);
    return k;
  }();
  return kernels;
}

}  // namespace unroll::cpu::inline UNROLL_ISA
