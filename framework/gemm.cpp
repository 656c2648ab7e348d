#include "framework/gemm.h"

#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "framework/threads.h"

namespace unroll {

static Precision current_precision = Precision::fp32;

const char* name_of(Precision precision) {
  constexpr const char* names[] = {"fp32", "tf32", "bf16", "fp16"};
  return names[static_cast<size_t>(precision)];
}

static const Products& products(Precision precision) {
  constexpr Products Kernels::*of[] = {&Kernels::fp32, &Kernels::tf32, &Kernels::bf16, &Kernels::fp16};
  return kernels().*of[static_cast<size_t>(precision)];
}

Precision precision_named(const std::string& name) {
  if (name == "auto") return kernels().bf16.gemm ? Precision::bf16 : Precision::fp32;
  for (Precision precision : all_precisions)
    if (name == name_of(precision)) return precision;
  throw InputError(fmt::format("precision '{}' is none of fp32, tf32, bf16, fp16, auto", name));
}

void set_precision(Precision precision) {
  const bool half = precision == Precision::fp16;  // which tensor cores took first
  require_input(products(precision).gemm,
                "precision {}: this needs {} (this one's kernels: {}); fp32 and auto run anywhere",
                name_of(precision),
                on_gpu() ? (half ? "a GPU of compute capability 7.0" : "a GPU of compute capability 8.0")
                : half   ? "an NVIDIA GPU of compute capability 7.0"
                : precision == Precision::tf32
                    ? "an NVIDIA GPU of compute capability 8.0"
                    : "a processor with AMX, AVX512-BF16 or Arm's BF16, or UNROLL_ISA=emulated_bf16, as slow as fp32",
                kernels().name);
  current_precision = precision;
}
Precision precision() { return current_precision; }

// The device may have been chosen after the precision.
static const Products& available(Precision precision) {
  const Products& result = products(precision);
  require(result.gemm, "precision {} was set before the device, which cannot compute in it ({})",
          name_of(precision), kernels().name);
  return result;
}

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

// c = a b, and a bias for every row, where there is one, or what c holds.
template <class B>
static void product(const Matrix& a, const B& b, const Tensor* bias, const Into& into) {
  Tensor& c = into.tensor;
  const int64_t m = a.rows(), k = a.cols(), n = b.cols();
  require(!bias || bias->size() == n, "gemm: a bias {} for {} columns", bias ? bias->shape() : Shape(), n);
  require(b.rows() == k && c.rows() == m && c.cols() == n,
          "gemm: [{}, {}] times [{}, {}] does not give [{}, {}]", m, k, b.rows(), n, c.rows(), c.cols());
  constexpr bool is_packed = std::is_same_v<B, PackedMatrix>;
  Precision precision = current_precision;
  bool is_rounded = a.rounded;
  if constexpr (is_packed)
    precision = b.precision();
  else
    is_rounded = is_rounded || b.rounded;
  const Products& p = available(precision);
  require(p.round || !is_rounded,
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
  void* const scratch = scratch_for(threads(), p.scratch_bytes);
  if constexpr (is_packed)
    p.gemm_packed(operand(a), b.data(), m, n, k, c.data(), n, addend, scratch, threads());
  else
    p.gemm(operand(a), operand(b), m, n, k, c.data(), n, addend, scratch, threads());
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
  const Products& p = available(current_precision);
  const Profile::Product measured(2 * m * n * k);
  p.gemm(a, b, m, n, k, c, c_row, add ? Addend{c, c_row} : Addend{}, scratch_for(threads(), p.scratch_bytes),
         threads());
}

bool RoundedTensor::is_of_use() { return available(current_precision).round; }
RoundedTensor::RoundedTensor(const Shape& shape) {
  if (!is_of_use()) return;
  memory_ = Memory(static_cast<std::size_t>(2 * shape.size()));
  row_ = shape.rank() > 0 ? 2 * shape.row().size() : 0;
  half_ = current_precision == Precision::fp16;
}
RoundedTensor::RoundedTensor(const Tensor& x) : RoundedTensor(x.shape()) { overwrite(x); }
bool RoundedTensor::is_current() const {
  return memory_.data() && is_of_use() && half_ == (current_precision == Precision::fp16);
}
RoundedTensor RoundedTensor::part(int64_t first, const Shape& shape) const {
  RoundedTensor result = *this;
  result.first_ += 2 * first;
  result.row_ = shape.rank() > 0 ? 2 * shape.row().size() : 0;
  return result;
}
void RoundedTensor::overwrite(const Tensor& x) const {
  if (memory_.data()) available(current_precision).round(x.data(), copy().data, x.size());
}
RoundedCopy RoundedTensor::copy(int i) const {
  auto* first = static_cast<char*>(memory_.data());
  return {first ? first + first_ + i * row_ : nullptr, half_};
}
Matrix RoundedTensor::operand(const Tensor& floats) const { return {floats, false, copy(0).data}; }
Matrix RoundedTensor::operand(const Tensor& floats, int i) const { return {floats[i], false, copy(i).data}; }

PackedMatrix::PackedMatrix(const Matrix& b)
    : rows_(b.rows()),
      cols_(b.cols()),
      precision_(current_precision),
      memory_(static_cast<std::size_t>(packed_bytes(b.rows(), b.cols()))) {
  const Profile::Product measured(0);
  available(current_precision).pack(operand(b), b.rows(), b.cols(), memory_.data());
}
int64_t packed_bytes(int64_t rows, int64_t cols) {
  return available(current_precision).packed_bytes(rows, cols);
}

}  // namespace unroll
