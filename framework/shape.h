// The extents of a tensor: up to four dimensions, the last one contiguous in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "framework/check.h"

namespace unroll {

class Shape {
 public:
  static constexpr int max_rank = 4;

  Shape() = default;  // a single number
  Shape(std::initializer_list<int> extents) {
    require(extents.size() <= max_rank, "shape: {} dimensions, at most {} are possible", extents.size(),
            max_rank);
    for (int extent : extents) append(extent);
  }

  int rank() const { return rank_; }
  // Extent of dimension i; negative i counts from the last, [-1].
  int operator[](int i) const {
    const int k = i < 0 ? i + rank_ : i;
    if (k < 0 || k >= rank_) [[unlikely]]
      throw Error(fmt::format("shape: no dimension {} in {}", i, text()));
    return extents_[k];
  }
  int64_t size() const {
    for (int i = 0; i < rank_; ++i)
      if (extents_[i] == 0) return 0;
    int64_t product = 1;
    bool fits = true;
    for (int i = 0; i < rank_; ++i) fits &= !__builtin_mul_overflow(product, int64_t{extents_[i]}, &product);
    if (!fits || product > INT64_MAX / 16) [[unlikely]]  // their bytes are counted too
      throw Error(fmt::format("shape: {} has too many elements", text()));
    return product;
  }

  void append(int extent) {
    require(rank_ < max_rank, "shape: more than {} dimensions", max_rank);
    require(extent >= 0, "shape: negative extent {}", extent);
    extents_[rank_++] = extent;
  }
  // A copy with dimension i replaced.
  Shape with(int i, int extent) const {
    (void)(*this)[i];
    require(extent >= 0, "shape: negative extent {}", extent);
    Shape result = *this;
    result.extents_[i < 0 ? i + rank_ : i] = extent;
    return result;
  }
  // A copy without the first dimension.
  Shape row() const {
    Shape result;
    for (int i = 1; i < rank_; ++i) result.append(extents_[i]);
    return result;
  }
  // A copy with one more dimension in front.
  Shape stacked(int count) const {
    Shape result{count};
    for (int i = 0; i < rank_; ++i) result.append(extents_[i]);
    return result;
  }

  bool operator==(const Shape&) const = default;
  std::string text() const {  // "[20, 35, 200]"
    std::string result = "[";
    for (int i = 0; i < rank_; ++i) result += (i ? ", " : "") + std::to_string(extents_[i]);
    return result + "]";
  }

 private:
  std::array<int, max_rank> extents_{};
  int rank_ = 0;
};

}  // namespace unroll

template <>
struct fmt::formatter<unroll::Shape> {
  constexpr auto parse(fmt::format_parse_context& context) const { return context.begin(); }  // no options
  auto format(const unroll::Shape& shape, fmt::format_context& context) const {
    return std::ranges::copy(shape.text(), context.out()).out;  // of fmt this needs <fmt/core.h> alone
  }
};
