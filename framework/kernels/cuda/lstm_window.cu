// An LSTM's persistent kernels, of one layer or of two (persistent_layer.h).
#include "framework/kernels/cuda/lstm_units.h"

namespace unroll {

#ifdef UNROLL_DOUBLE  // sums are in float
const PersistentKernels<LstmWindow>* persistent_lstm() { return nullptr; }
const PersistentKernels<LstmPair>* persistent_lstm_pair() { return nullptr; }
int persistent_code() { return 0; }
#else

const PersistentKernels<LstmWindow>* persistent_lstm() { return cuda::persistent_kernels<cuda::LstmUnits>(); }

template <class W>
static constexpr WindowKernels<LstmPair> pair_kernels = {cuda::run_pair<W, cuda::LstmUnits, true>,
                                                         cuda::run_pair<W, cuda::LstmUnits, false>};
const PersistentKernels<LstmPair>* persistent_lstm_pair() {
  static constexpr PersistentKernels<LstmPair> kernels = {
      pair_kernels<cuda::Tf32Words>, pair_kernels<cuda::Bf16Words>, pair_kernels<cuda::Fp16Words>};
  return &kernels;
}

int persistent_code() {
  cudaFuncAttributes code{};
  const auto* kernel =
      reinterpret_cast<const void*>(cuda::persistent_forward<cuda::Bf16Words, cuda::LstmUnits>);
  gpu::use_device();
  gpu::check(cudaFuncGetAttributes(&code, kernel), "cudaFuncGetAttributes");
  return code.ptxVersion;
}

#endif

}  // namespace unroll
