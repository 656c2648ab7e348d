// Builds without CUDA: there is no device but the CPU.
#include "framework/check.h"
#include "framework/kernels/backend.h"
#include "framework/kernels/few_rows.h"
#include "framework/kernels/recurrent_window.h"

namespace unroll {

const Backend* cuda_backend() { return nullptr; }

const PersistentKernels<LstmWindow>* persistent_lstm() { return nullptr; }
const PersistentKernels<LstmWindow>* persistent_lstm_norm() { return nullptr; }
const PersistentKernels<LstmPair>* persistent_lstm_pair() { return nullptr; }
const PersistentKernels<GruWindow>* persistent_gru() { return nullptr; }
int persistent_code() { return 0; }

const FewRowsProducts* few_rows_products() { return nullptr; }

const Kernels& cuda::table() { throw Error("this build has no CUDA"); }

}  // namespace unroll
