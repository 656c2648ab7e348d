// The gradient of one value, and the place that it has on a tape.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/tensor.h"

namespace unroll {

class RoundedTensor;

// A gradient: a tensor, and a mark whether anything was written yet. Backwards contribute to it. The
// first contribution overwrites, later ones add, and nothing is filled with zeros first.
class Gradient {
 public:
  // The whole gradient, for one contribution. Marks it as written.
  Into into(const Shape& shape);
  // For contributions to some rows only (an embedding): rows `ids` are ready to be added to, every other row
  // holds what was contributed before, or zero. shape [rows, …].
  Into into_rows(const Shape& shape, std::span<const int32_t> ids);

  // On a GPU a table of which few rows are read has their sums beside its memory, until anyone asks for the whole: passes over
  // its memory would cost more than all else. sums [n, …], and firsts [n] in the device's memory (Kernels::sums_of_rows).
  struct RowSums {
    Tensor sums;
    Memory firsts;
    int32_t* ids() const { return static_cast<int32_t*>(firsts.data()); }  // firsts, as numbers
  };
  // Room for the sums of n rows, which count as contributed from now on; null where into_rows() is to be used.
  RowSums* row_sums(const Shape& shape, int64_t n);
  const RowSums* row_sums() const { return state_ == State::sums ? &sums_ : nullptr; }
  // Puts the sums where the other gradients are.
  void spread();

  // A fused loss computes gradients in the forward pass, before the factor from above is known. This reserves the gradient's
  // memory for it. If that is taken, or something else is contributed meanwhile, the tensor has memory of its own.
  std::shared_ptr<Tensor> reserve(const Shape& shape);
  // True if the tensor still has the gradient's memory. Then it is the gradient from now on, marked as written.
  bool commit(const std::shared_ptr<Tensor>& reserved);

  bool written() const { return state_ != State::empty || changed(); }
  // Rows that may differ from zero, if that is known to be fewer than all; in order of first contribution.
  bool only_some_rows() const { return state_ == State::rows && !changed(); }
  std::span<const int32_t> rows() const& { return rows_; }  // see only_some_rows()
  std::span<const int32_t> rows() const&& = delete;

  // Zeros where nothing was written.
  const Tensor& value(const Shape& shape);
  // For a program: its writes there count as contributed.
  Tensor shown(const Shape& shape);
  // The whole of it counts as contributed from now on.
  void contribute_all(const Shape& shape);
  // Forgets what was contributed; the memory stays.
  void spend();

  // Uses this memory from now on (a segment of a slab). Its contents do not matter.
  void bind(const Tensor& tensor, WriteTime* written);
  void release();  // takes no memory any more

 private:
  enum class State : uint8_t { empty, rows, sums, all };
  void ensure(const Shape& shape);
  void make_ready(const Shape& shape);
  void end_reservation();  // before others write: who reserved the memory keeps a copy
  bool changed() const;    // by a program. Throws Error if that had no way to know what it changed
  void settle();           // that counts as contributed
  Tensor tensor_;          // tells nobody when it is written
  WriteTime* shown_written_ = nullptr;  // when a program did so
  bool shown_ = false;                  // it was complete when it was shown, and is since
  std::weak_ptr<Tensor> reserved_;
  State state_ = State::empty;
  bool stale_rows_ = false;      // while empty: only rows_ may differ from zero
  std::vector<int32_t> rows_;    // contributed rows, each once
  std::vector<uint8_t> is_row_;  // by row: stands in rows_
  RowSums sums_;
};

// A value's place on a tape. Parameters own theirs; a tape owns those of its operations' results.
struct Node {
  Gradient gradient;      // of that value
  const char* op = "";    // the operation whose result it is
  bool released = false;  // the gradient was given back after use
};

// A parameter's value is found through this, so that it may be placed in a slab late.
struct Leaf {
  virtual const Tensor& leaf_value() = 0;            // throws Error if the set that held it is gone
  virtual RoundedTensor leaf_rounded() const = 0;    // matrix.h
  virtual const std::string& leaf_name() const = 0;  // "lstm.weight_ih_l0"
  virtual bool leaf_frozen() const = 0;              // it collects no gradient

 protected:
  ~Leaf() = default;
};

}  // namespace unroll
