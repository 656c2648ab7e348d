#include "framework/gradient.h"

#include <algorithm>
#include <mutex>

#include "framework/kernels/kernels.h"

namespace unroll {

void Gradient::ensure(const Shape& shape) {
  if (tensor_.defined()) return;
  const Tensor tensor(shape);
  bind(tensor, tensor.memory().write_time());
}

void Gradient::bind(const Tensor& tensor, WriteTime* written) {
  tensor_ = tensor.telling(nullptr), shown_written_ = written, stale_rows_ = shown_ = false;
  if (std::exchange(state_, State::empty) == State::sums) sums_ = {};
  if (written) written->mark_gradient();
}

bool Gradient::changed() const {
  if (!shown_written_ || shown_written_->last() == 0) return false;
  require(shown_ || state_ == State::all,
          "gradient: {} was written through a tensor that was taken before the last step; take grad() or "
          "gradients() again after each step, or use reduce_gradients()",
          tensor_.shape());
  return true;
}

void Gradient::settle() {
  if (!changed()) return;
  shown_written_->forget();
  state_ = State::all, stale_rows_ = false;
}

Tensor Gradient::shown(const Shape& shape) {
  value(shape);
  shown_ = true;
  return tensor_.telling(shown_written_);
}

void Gradient::contribute_all(const Shape& shape) {
  value(shape);
  state_ = State::all, stale_rows_ = false;
}

void Gradient::make_ready(const Shape& shape) {
  ensure(shape);
  settle();
  end_reservation();
}

Into Gradient::into(const Shape& shape) {
  make_ready(shape);
  spread();
  const bool add = written();
  state_ = State::all;
  return {tensor_, add};
}

Into Gradient::into_rows(const Shape& shape, std::span<const int32_t> ids) {
  make_ready(shape);
  if (on_gpu()) {  // where one pass over all of them costs less than a call for each
    spread();
    const bool add = written();
    state_ = State::all;
    if (!add) tensor_.fill(0);
    return add_to(tensor_);
  }
  if (state_ == State::empty) {
    if (stale_rows_) {
      for (int32_t row : rows_) tensor_[row].fill(0), is_row_[row] = 0;
    } else {
      tensor_.fill(0);
      is_row_.assign(static_cast<size_t>(shape[0]), 0);
      rows_.reserve(static_cast<size_t>(shape[0]));
    }
    rows_.clear();
    state_ = State::rows;
  }
  if (state_ == State::rows)
    for (int32_t row : ids)
      if (!is_row_[row]) is_row_[row] = 1, rows_.push_back(row);
  return {tensor_, true};
}

Gradient::RowSums* Gradient::row_sums(const Shape& shape, int64_t n) {
  ensure(shape);
  settle();
  if (!on_gpu() || written() || !reserved_.expired() || 2 * n > shape[0]) return nullptr;
  state_ = State::sums;
  // Written by one backward, and read by the next that contributes: no write to be warned of.
  sums_ = {Tensor(shape.with(0, static_cast<int>(n))).telling(nullptr),
           Memory(static_cast<std::size_t>(n) * sizeof(int32_t))};
  return &sums_;
}

void Gradient::spread() {
  if (state_ != State::sums) return;
  tensor_.fill(0);
  const Tensor& sums = sums_.sums;
  const int64_t n = sums.dim(0);
  kernels().add_to_rows(sums.data(), sums_.ids(), n, sums.size() / std::max<int64_t>(n, 1), tensor_.data());
  state_ = State::all, sums_ = {};
}

std::shared_ptr<Tensor> Gradient::reserve(const Shape& shape) {
  const PoolAllocator<Tensor> pool;
  static std::mutex forward_passes;  // those of several threads may share parameters
  const std::lock_guard lock(forward_passes);
  if (written() || !reserved_.expired()) return std::allocate_shared<Tensor>(pool, shape);
  ensure(shape);
  stale_rows_ = shown_ = false;
  std::shared_ptr<Tensor> tensor = std::allocate_shared<Tensor>(pool, tensor_);
  reserved_ = tensor;
  return tensor;
}

bool Gradient::commit(const std::shared_ptr<Tensor>& reserved) {
  if (reserved_.lock() != reserved) return false;
  settle();
  reserved_.reset();
  state_ = State::all;
  return true;
}

void Gradient::end_reservation() {
  if (const std::shared_ptr<Tensor> reserved = reserved_.lock()) *reserved = reserved->clone();
  reserved_.reset();
}

const Tensor& Gradient::value(const Shape& shape) {
  make_ready(shape);
  spread();
  if (!written()) {
    if (stale_rows_)
      for (int32_t row : rows_) tensor_[row].fill(0);
    else
      tensor_.fill(0);
  }
  return tensor_;
}

void Gradient::spend() {
  const bool changed = shown_written_ && shown_written_->last() != 0;  // in whatever rows
  stale_rows_ = !changed && (state_ == State::rows || (state_ == State::empty && stale_rows_));
  if (changed) shown_written_->forget();
  state_ = State::empty;
  shown_ = false;
  sums_ = {};
}

void Gradient::release() { bind({}, nullptr); }

}  // namespace unroll
