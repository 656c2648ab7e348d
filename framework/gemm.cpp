#include "framework/gemm.h"

#ifndef UNROLL_DOUBLE
#include <oneapi/dnnl/dnnl.h>
#endif

namespace unroll::inline UNROLL_REAL {

#ifdef UNROLL_DOUBLE

// The reference: c[i, j] = Σ_k a[i, k] b[k, j], k in order.
static void product(const Matrix& a, const Matrix& b, int64_t m, int64_t n, int64_t k, double beta, double* c) {
  const double *x = a.tensor.data(), *y = b.tensor.data();
  const int64_t a_row = a.transposed ? 1 : k, a_col = a.transposed ? m : 1;
  const int64_t b_row = b.transposed ? 1 : n, b_col = b.transposed ? k : 1;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = beta == 0 ? 0 : c[i * n + j];
      for (int64_t l = 0; l < k; ++l) sum += x[i * a_row + l * a_col] * y[l * b_row + j * b_col];
      c[i * n + j] = sum;
    }
}

#else

static void product(const Matrix& a, const Matrix& b, int64_t m, int64_t n, int64_t k, float beta, float* c) {
  const auto letter = [](const Matrix& matrix) { return matrix.transposed ? 'T' : 'N'; };
  const auto status = dnnl_sgemm(letter(a), letter(b), m, n, k, 1, a.tensor.data(), a.tensor.cols(), b.tensor.data(),
                                 b.tensor.cols(), beta, c, n);
  require(status == dnnl_success, "gemm: oneDNN failed with status {} for [{}, {}] times [{}, {}]",
          static_cast<int>(status), m, k, k, n);
}

#endif

void gemm(const Matrix& a, const Matrix& b, const Into& c) {
  const int64_t m = a.rows(), k = a.cols(), n = b.cols();
  require(b.rows() == k && c.tensor.rows() == m && c.tensor.cols() == n,
          "gemm: [{}, {}] times [{}, {}] does not give [{}, {}]", m, k, b.rows(), n, c.tensor.rows(), c.tensor.cols());
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (!c.add) c.tensor.fill(0);
    return;
  }
  product(a, b, m, n, k, c.add ? 1 : 0, c.tensor.data());
}

}  // namespace unroll::inline UNROLL_REAL
