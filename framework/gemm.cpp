#include "framework/gemm.h"

#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "framework/threads.h"

namespace unroll {

// --- operands in 16 bits (matrix.h) --------------------------------------------------------------------------------

bool RoundedTensor::is_of_use() { return products_in().round; }
RoundedTensor::RoundedTensor(const Shape& shape) {
  if (!is_of_use()) return;
  memory_ = Memory(static_cast<std::size_t>(2 * shape.size()));
  row_ = shape.rank() > 0 ? 2 * shape.row().size() : 0;
  half_ = precision() == Precision::fp16;
}
RoundedTensor::RoundedTensor(const Tensor& x) : RoundedTensor(x.shape()) { overwrite(x); }
bool RoundedTensor::is_current() const {
  return memory_.data() && is_of_use() && half_ == (precision() == Precision::fp16);
}
RoundedTensor RoundedTensor::part(int64_t first, const Shape& shape) const {
  RoundedTensor result = *this;
  result.first_ += 2 * first;
  result.row_ = shape.rank() > 0 ? 2 * shape.row().size() : 0;
  return result;
}
void RoundedTensor::overwrite(const Tensor& x) const {
  if (memory_.data()) products_in().round(x.data(), copy().data, x.size());
}
RoundedCopy RoundedTensor::copy(int i) const {
  auto* first = static_cast<char*>(memory_.data());
  return {first ? first + first_ + i * row_ : nullptr, half_};
}
Matrix RoundedTensor::operand(const Tensor& floats) const { return {floats, false, copy(0).data}; }
Matrix RoundedTensor::operand(const Tensor& floats, int i) const { return {floats[i], false, copy(i).data}; }

// --- products ------------------------------------------------------------------------------------------------------

static Operand operand(const Matrix& matrix) {
  const int64_t row = matrix.tensor.cols();
  return {matrix.tensor.data(), matrix.transposed ? 1 : row, matrix.transposed ? row : 1, matrix.rounded};
}

// Kept by each thread that multiplies: a step of inference takes nothing even from the pool.
static void* scratch_for(int threads, int64_t bytes) {
  thread_local Memory memory;
  thread_local int64_t enough_for = 0;
  if (threads * bytes > enough_for) {
    // May be refused: then what there was is still enough for what it was.
    memory = Memory(static_cast<std::size_t>(threads * bytes));
    enough_for = threads * bytes;
  }
  return memory.data();
}

namespace {
// The right factor of a product.
struct Right {
  Right(const Matrix& b) : operand(unroll::operand(b)), rows(b.rows()), cols(b.cols()) {}
  Right(const PackedMatrix& b)
      : operand{.data = nullptr, .row = 0, .col = 0, .packed = b.data()},
        rows(b.rows()),
        cols(b.cols()),
        precision(b.precision()) {}
  Operand operand;
  int64_t rows, cols;
  Precision precision = unroll::precision();
};
}  // namespace

// c = a b, and a bias for every row, where there is one, or what c holds.
static void product(const Matrix& a, const Right& b, const Tensor* bias, const Into& into) {
  Tensor& c = into.tensor;
  const int64_t m = a.rows(), k = a.cols(), n = b.cols;
  require(!bias || bias->size() == n, "gemm: a bias {} for {} columns", bias ? bias->shape() : Shape(), n);
  require(b.rows == k && c.rows() == m && c.cols() == n,
          "gemm: [{}, {}] times [{}, {}] does not give [{}, {}]", m, k, b.rows, n, c.rows(), c.cols());
  const Products& p = products_in(b.precision);
  require(p.round || (!a.rounded && !b.operand.rounded),
          "gemm: an operand was rounded for a precision that is no more the process's");
  if (m == 0 || n == 0) return;
  if (k == 0) {  // nothing to sum
    if (!into.add) c.fill(0);
    const Tensor rows = c.reshape({static_cast<int>(m), static_cast<int>(n)});
    for (int i = 0; bias && i < m; ++i) rows[i].copy_from(*bias);
    return;
  }
  const Profile::Product measured(2 * m * n * k);
  const Addend addend = bias ? Addend{bias->data(), 0} : into.add ? Addend{c.data(), n} : Addend{};
  p.gemm(operand(a), b.operand, m, n, k, c.data(), n, addend, scratch_for(threads(), p.scratch_bytes),
         threads());
}

void gemm(const Matrix& a, const Matrix& b, const Into& c) { product(a, b, nullptr, c); }
void gemm(const Matrix& a, const PackedMatrix& b, const Into& c) { product(a, b, nullptr, c); }
void gemm(const Matrix& a, const Matrix& b, const Tensor& bias, Tensor c) {
  product(a, b, &bias, overwrite(c));
}
void gemm(const Matrix& a, const PackedMatrix& b, const Tensor& bias, Tensor c) {
  product(a, b, &bias, overwrite(c));
}

void gemm(const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
          bool add) {
  if (m == 0 || n == 0 || k == 0) return;
  const Products& p = products_in();
  const Profile::Product measured(2 * m * n * k);
  p.gemm(a, b, m, n, k, c, c_row, add ? Addend{c, c_row} : Addend{}, scratch_for(threads(), p.scratch_bytes),
         threads());
}

PackedMatrix::PackedMatrix(const Matrix& b)
    : rows_(b.rows()),
      cols_(b.cols()),
      precision_(unroll::precision()),
      memory_(static_cast<std::size_t>(packed_bytes(b.rows(), b.cols()))) {
  const Profile::Product measured(0);
  products_in().pack(operand(b), b.rows(), b.cols(), memory_.data());
}
int64_t packed_bytes(int64_t rows, int64_t cols) { return products_in().packed_bytes(rows, cols); }

}  // namespace unroll
