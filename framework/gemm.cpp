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
  const Kernels& k = kernels();
  switch (precision) {
    case Precision::fp32:
      return k.fp32;
    case Precision::tf32:
      return k.tf32;
    case Precision::bf16:
      return k.bf16;
    case Precision::fp16:
      return k.fp16;
  }
  throw Error("a precision that is none");
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
                    : "a processor with AMX or AVX512-BF16, or UNROLL_ISA=emulated_bf16, as slow as fp32",
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

template <class B>
static void check_sizes(const Matrix& a, const B& b, const Tensor& c) {
  require(b.rows() == a.cols() && c.rows() == a.rows() && c.cols() == b.cols(),
          "gemm: [{}, {}] times [{}, {}] does not give [{}, {}]", a.rows(), a.cols(), b.rows(), b.cols(),
          c.rows(), c.cols());
}

// Checks the sizes, and calls product(scratch, threads) unless c is all there is to look after.
template <class B, class Product>
static void checked(const Matrix& a, const B& b, const Into& c, const Products& products, Product product) {
  bool is_rounded = a.rounded;
  if constexpr (std::is_same_v<B, Matrix>) is_rounded = is_rounded || b.rounded;
  check_sizes(a, b, c.tensor);
  const int64_t m = a.rows(), k = a.cols(), n = b.cols();
  require(products.round || !is_rounded,
          "gemm: an operand was rounded for a precision that is no more the process's");
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (!c.add) c.tensor.fill(0);
    return;
  }
  const Profile::Product measured;
  products_done.flops += 2 * m * n * k;
  product(scratch_for(threads(), products.scratch_bytes), threads());
}

static Addend addend(const Tensor& bias, const Into& c) {
  if (bias.defined()) return {bias.data(), 0};
  return c.add ? Addend{c.tensor.data(), c.tensor.cols()} : Addend{};
}

template <class B>
static void check_bias(const Tensor& bias, const B& b) {
  require(bias.size() == b.cols(), "gemm: a bias {} for {} columns", bias.shape(), b.cols());
}
// The result of a product with nothing to sum, k = 0: the bias in every row.
static void bias_alone(const Tensor& bias, const Tensor& c) {
  const int rows = static_cast<int>(c.rows());
  const Tensor each = c.reshape({rows, static_cast<int>(c.cols())});
  for (int i = 0; i < rows; ++i) each[i].copy_from(bias);
}

static void product(const Matrix& a, const Matrix& b, const Tensor& bias, const Into& c) {
  const Products& p = available(current_precision);
  checked(a, b, c, p, [&](void* scratch, int threads) {
    p.gemm(operand(a), operand(b), a.rows(), b.cols(), a.cols(), c.tensor.data(), c.tensor.cols(),
           addend(bias, c), scratch, threads);
  });
  if (bias.defined() && a.cols() == 0) bias_alone(bias, c.tensor);
}
static void product(const Matrix& a, const PackedMatrix& b, const Tensor& bias, const Into& c) {
  const Products& p = available(b.precision());
  checked(a, b, c, p, [&](void* scratch, int threads) {
    p.gemm_packed(operand(a), b.data(), a.rows(), b.cols(), a.cols(), c.tensor.data(), c.tensor.cols(),
                  addend(bias, c), scratch, threads);
  });
  if (bias.defined() && a.cols() == 0) bias_alone(bias, c.tensor);
}

static const Tensor no_bias;
void gemm(const Matrix& a, const Matrix& b, const Into& c) { product(a, b, no_bias, c); }
void gemm(const Matrix& a, const PackedMatrix& b, const Into& c) { product(a, b, no_bias, c); }
void gemm(const Matrix& a, const Matrix& b, const Tensor& bias, Tensor c) {
  check_bias(bias, b);
  product(a, b, bias, overwrite(c));
}
void gemm(const Matrix& a, const PackedMatrix& b, const Tensor& bias, Tensor c) {
  check_bias(bias, b);
  product(a, b, bias, overwrite(c));
}

void gemm(const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
          bool add) {
  if (m == 0 || n == 0 || k == 0) return;
  const Products& p = available(current_precision);
  const Profile::Product measured;
  products_done.flops += 2 * m * n * k;
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
RoundedCopy RoundedTensor::copy() const { return copy(0); }
RoundedCopy RoundedTensor::copy(int i) const {
  auto* first = static_cast<char*>(memory_.data());
  return {first ? first + first_ + i * row_ : nullptr, half_};
}
Matrix RoundedTensor::operand(const Tensor& floats) const { return {floats, false, copy().data}; }
Matrix RoundedTensor::operand(const Tensor& floats, int i) const { return {floats[i], false, copy(i).data}; }

PackedMatrix::PackedMatrix(const Matrix& b)
    : rows_(b.rows()),
      cols_(b.cols()),
      precision_(current_precision),
      memory_(static_cast<std::size_t>(packed_bytes(b.rows(), b.cols()))) {
  const Profile::Product measured;
  available(current_precision).pack(operand(b), b.rows(), b.cols(), memory_.data());
}
int64_t packed_bytes(int64_t rows, int64_t cols) {
  return available(current_precision).packed_bytes(rows, cols);
}

}  // namespace unroll
