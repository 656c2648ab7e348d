// A dense, row-major block of numbers. Copying a tensor shares its memory; a view of a row is a tensor too.
//
// Real numbers are in the memory of the device that computes (device.h), where the host may be unable to reach them:
// data() is for kernels, on_host() for everyone else. Tokens are in the host's memory; kernels get a copy, KernelIds.
//
// data() and span() of a const tensor, and of views of one, are read-only. A non-const tensor's count as a write, as
// do fill(), copy_from() and on_host(Access): a backward pass that reads what was written since its operation throws
// Error (tape.h).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/device.h"
#include "framework/memory.h"
#include "framework/real.h"
#include "framework/shape.h"

namespace unroll {

// A kernel's work, for tensor.h's own use.
void fill_on_device(real* y, real value, int64_t n);
// Throws Error: a backward pass was to read what was written since its operation was recorded.
[[noreturn]] void throw_written(const Shape& shape, const WriteTime& written);

// A tensor's elements where code on the host can reach them: the tensor itself if that is possible, else a copy. It goes
// back when this ends, unless the elements are const. Holds the tensor's memory.
template <class T>
class OnHost {
 public:
  OnHost(Memory memory, T* elements, int64_t size, bool elsewhere, bool read)
      : memory_(std::move(memory)), data_(elements), size_(size) {
    if (!elsewhere) return;
    original_ = elements;
    copy_ = Memory(bytes(), Place::host);
    data_ = static_cast<T*>(copy_.data());
    if (read) copy_to_host(const_cast<std::remove_const_t<T>*>(data_), original_, bytes());
  }
  ~OnHost() noexcept(false) {
    if constexpr (!std::is_const_v<T>)
      if (original_) copy_to_device(original_, data_, bytes());
  }
  OnHost& operator=(OnHost&&) = delete;

  int64_t size() const { return size_; }               // how many elements
  T& operator[](int64_t i) const { return data_[i]; }  // element i, row-major; not checked
  // Functions that point into this exist for a tensor with a name, not for a temporary.
  T* data() const& { return data_; }
  T* data() const&& = delete;
  operator std::span<T>() const& { return {data_, static_cast<std::size_t>(size_)}; }
  operator std::span<const T>() const& requires(!std::is_const_v<T>) { return std::span<T>(*this); }
  operator std::span<T>() const&& = delete;
  operator std::span<const T>() const&& requires(!std::is_const_v<T>) = delete;

  // Not pointers, which would make any OnHost a span: reversed twice they are as good to go through.
  using Iterator = std::reverse_iterator<std::reverse_iterator<T*>>;
  Iterator begin() const& { return Iterator(std::reverse_iterator(data_)); }  // over all elements
  Iterator begin() const&& = delete;
  Iterator end() const { return Iterator(std::reverse_iterator(data_ + size_)); }  // behind the last

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
  Memory memory_;
  T* data_;
  int64_t size_;
  T* original_ = nullptr;  // on the device
  Memory copy_;
};
enum class Access : uint8_t { overwrite, change };  // overwrite: every element, and none is read before

template <class T>
class BasicTensor {
  // Whether the elements may be where the host cannot reach them.
  static constexpr bool travels = std::is_same_v<T, real>;
  static bool elsewhere() { return travels && on_gpu(); }

 public:
  BasicTensor() = default;  // no memory; defined() is false
  // Memory from the pool, contents undefined.
  explicit BasicTensor(const Shape& shape)
      : memory_(static_cast<std::size_t>(shape.size()) * sizeof(T), travels ? Place::device : Place::host),
        written_(memory_.write_time()),
        data_(static_cast<T*>(memory_.data())),
        shape_(shape) {}

  static BasicTensor full(const Shape& shape, T value) {  // all elements are `value`
    BasicTensor result(shape);
    result.fill(value);
    return result;
  }
  static BasicTensor zeros(const Shape& shape) { return full(shape, T{0}); }  // all elements are 0
  static BasicTensor from(const Shape& shape, std::initializer_list<T> values) {
    return from(shape, std::span(values.begin(), values.size()));
  }
  static BasicTensor from(const Shape& shape, std::span<const T> values) {  // copied, row-major
    require(static_cast<int64_t>(values.size()) == shape.size(), "tensor: {} values for shape {}",
            values.size(), shape);
    BasicTensor result(shape);
    if (elsewhere())
      copy_to_device(result.data_, values.data(), values.size_bytes());
    else
      std::copy(values.begin(), values.end(), result.data_);
    return result;
  }

  bool defined() const { return data_ != nullptr; }  // it has memory
  const Shape& shape() const& { return shape_; }     // its extents
  Shape shape() const&& { return shape_; }
  int rank() const { return shape_.rank(); }      // how many dimensions
  int dim(int i) const { return shape_[i]; }      // dim(-1) is the last
  int64_t size() const { return shape_.size(); }  // how many elements
  // The tensor as a matrix [rows, cols]: the last dimension, and all before it. A single number is [1, 1].
  int64_t cols() const { return shape_.rank() ? shape_[-1] : 1; }
  int64_t rows() const { return shape_.size(0, shape_.rank() - 1); }

  // For kernels; nullptr if there is no memory, where all that follows throws Error.
  const T* data() const {
    check_read();
    return data_;
  }
  T* data() {
    note_write();
    return data_;
  }
  // The elements themselves. Throws Error where they are out of the host's reach. The span of a temporary holds the memory.
  std::span<const T> span() const& { return {elements_on_host(data()), static_cast<std::size_t>(size())}; }
  std::span<T> span() & { return {elements_on_host(data()), static_cast<std::size_t>(size())}; }
  OnHost<const T> span() const&& { return {memory_, elements_on_host(data()), size(), false, true}; }
  OnHost<T> span() && { return {memory_, elements_on_host(data()), size(), false, true}; }
  // For the host to read, or to write.
  OnHost<const T> on_host() const {
    require_defined();
    return {memory_, data(), size(), elsewhere(), true};
  }
  OnHost<T> on_host(Access access) const {
    require_defined();
    note_write();
    return {memory_, data_, size(), elsewhere(), access == Access::change};
  }

  // The element at these indices, one for each dimension: x(t, b, -1). From a GPU it is copied, so read many by on_host().
  template <std::integral... I>
  T operator()(I... indices) const {
    require_defined();
    return element(shape_.place_of({static_cast<int64_t>(indices)...}));
  }

  // View of row i of the first dimension; -1 is the last.
  const BasicTensor operator[](int i) const {
    const int k = i < 0 ? i + dim(0) : i;
    require(k >= 0 && k < dim(0), "tensor: no row {} in shape {}", i, shape_);
    const Shape row = shape_.row();
    return view(k * row.size(), row);
  }
  BasicTensor operator[](int i) { return std::as_const(*this)[i]; }
  // View of rows begin … end-1 of the first dimension.
  const BasicTensor slice(int begin, int end) const {
    require(0 <= begin && begin <= end && end <= dim(0), "tensor: no rows {} to {} in shape {}", begin, end,
            shape_);
    return view(begin * shape_.row().size(), shape_.with(0, end - begin));
  }
  BasicTensor slice(int begin, int end) { return std::as_const(*this).slice(begin, end); }
  // These elements, in this memory, under another shape. In a list of extents one may be -1: what is left for it.
  const BasicTensor reshape(std::initializer_list<int> extents) const {
    return reshape(Shape::completed(extents, shape_));
  }
  BasicTensor reshape(std::initializer_list<int> extents) { return std::as_const(*this).reshape(extents); }
  const BasicTensor reshape(const Shape& shape) const {
    require_defined();
    require(shape.size() == size(), "reshape: {} has {} elements, {} has {}", shape_, size(), shape,
            shape.size());
    return view(0, shape);
  }
  BasicTensor reshape(const Shape& shape) { return std::as_const(*this).reshape(shape); }

  void fill(T value) const {  // all elements become `value`
    require_defined();
    note_write();
    if constexpr (travels)
      if (on_gpu()) [[unlikely]]
        return fill_on_device(data_, value, size());
    std::fill_n(data_, size(), value);
  }
  void copy_from(const BasicTensor& source) const {  // throws Error unless shapes are equal
    require_defined(), source.require_defined();
    require(source.shape() == shape_, "copy: shape {} into shape {}", source.shape(), shape_);
    if (data_ == source.data_) return;
    source.check_read(), note_write();
    if (elsewhere()) [[unlikely]]
      return copy_on_device(data_, source.data_, bytes());
    std::copy_n(source.data_, size(), data_);
  }
  BasicTensor clone() const {  // a copy with memory of its own
    require_defined();
    BasicTensor result(shape_);
    result.copy_from(*this);
    return result;
  }
  std::vector<T> to_host() const {  // a copy of all elements, row-major
    require_defined(), check_read();
    if (!elsewhere()) return std::vector<T>(data_, data_ + size());
    std::vector<T> result(static_cast<std::size_t>(size()));
    copy_to_host(result.data(), data_, bytes());
    return result;
  }
  T item() const {  // the only element
    require_defined();
    require(size() == 1, "item: shape {} has {} elements, not one", shape_, size());
    return element(0);
  }

  // This memory, with `written` told of writes; nullptr tells nobody. It must live as long as the memory.
  BasicTensor telling(WriteTime* written) const { return {memory_, written, data_, shape_}; }
  const Memory& memory() const& { return memory_; }
  // Whether grad() or gradients() gave this tensor; false for its clone().
  bool is_gradient() const { return written_ && written_->of_gradient(); }

 private:
  BasicTensor(Memory memory, WriteTime* written, T* data, const Shape& shape)
      : memory_(std::move(memory)), written_(written), data_(data), shape_(shape) {}
  T element(int64_t place) const {
    check_read();
    if (!elsewhere()) return data_[place];
    T result;
    copy_to_host(&result, data_ + place, sizeof result);
    return result;
  }
  BasicTensor view(int64_t begin, const Shape& shape) const {
    return {memory_, written_, data_ + begin, shape};
  }
  void check_read() const {
    if (written_ && written_->is_newer()) [[unlikely]]
      throw_written(shape_, *written_);
  }
  void note_write() const {
    if (written_) written_->set();
  }
  template <class U>
  U* elements_on_host(U* elements) const {
    require_defined();
    require(!elsewhere(), "span: the elements of {} are on {}; on_host() and to_host() copy them", shape_,
            name_of(device()));
    return elements;
  }
  void require_defined() const { require(defined(), "tensor: it is empty: nothing was assigned to it"); }
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * sizeof(T); }
  Memory memory_;
  WriteTime* written_ = nullptr;  // of the memory, or of the parameter that it is part of
  T* data_ = nullptr;
  Shape shape_;
};

using Tensor = BasicTensor<real>;       // numbers: float, or double in the library of that precision
using IdTensor = BasicTensor<int32_t>;  // tokens, class numbers

// Has tokens a copy in the device's memory, which stays in its place: for data that is renewed in place, and for what a
// graph reads. It holds nothing before the first renew(). On a CPU it does nothing.
class DeviceIds {
 public:
  DeviceIds() = default;
  explicit DeviceIds(const IdTensor& ids);

  void renew() const;  // the copy is as the tokens are now
  // The copy of these tokens, which may be a part of those that have one; nullptr if they have none.
  static const int32_t* copy_of(const IdTensor& ids);

 private:
  struct Copy;
  std::shared_ptr<const Copy> copy_;  // null: they need none
};

// Tokens as kernels see them: the copy that they have, as it was renewed last, or one that is made now.
class KernelIds {
 public:
  explicit KernelIds(const IdTensor& ids) : ids_(ids), data_(ids.data()) {
    if (!on_gpu()) return;
    if (const int32_t* const there = DeviceIds::copy_of(ids)) {
      data_ = there;
      return;
    }
    const std::size_t bytes = static_cast<std::size_t>(ids.size()) * sizeof(int32_t);
    copy_ = Memory(bytes);
    data_ = static_cast<int32_t*>(copy_.data());
    copy_to_device(copy_.data(), ids.data(), bytes);
  }
  const int32_t* data() const { return data_; }  // on the device that computes

 private:
  IdTensor ids_;
  Memory copy_;
  const int32_t* data_;
};

// The place for a kernel's result: it overwrites, or is added.
struct Into {
  mutable Tensor tensor;  // a place to write, whoever holds it
  bool add = false;       // it is added
};
inline Into overwrite(const Tensor& tensor) { return {tensor, false}; }  // the result replaces it
inline Into add_to(const Tensor& tensor) { return {tensor, true}; }      // the result is added to it

}  // namespace unroll
