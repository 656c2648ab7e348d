// The extents of a tensor: up to six dimensions, the last one contiguous in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "framework/check.h"

namespace unroll {

class Shape {
 public:
  static constexpr int max_rank = 6;  // the most dimensions

  Shape() = default;  // a single number
  Shape(std::initializer_list<int> extents) {
    require(extents.size() <= max_rank, "shape: {} dimensions, at most {} are possible", extents.size(),
            max_rank);
    for (int extent : extents) append(extent);
  }

  int rank() const { return rank_; }  // how many dimensions there are
  // Extent of dimension i; negative i counts from the last, [-1].
  int operator[](int i) const {
    const int k = i < 0 ? i + rank_ : i;
    if (k < 0 || k >= rank_) [[unlikely]]
      throw Error(fmt::format("shape: no dimension {} in {}", i, text()));
    return extents_[k];
  }
  int64_t size() const {  // how many elements; throws Error if they cannot be counted
    for (int i = 0; i < rank_; ++i)
      if (extents_[i] == 0) return 0;
    int64_t product = 1;
    bool fits = true;
    for (int i = 0; i < rank_; ++i) fits &= !__builtin_mul_overflow(product, int64_t{extents_[i]}, &product);
    if (!fits || product > INT64_MAX / 16) [[unlikely]]  // their bytes are counted too
      throw Error(fmt::format("shape: {} has too many elements", text()));
    return product;
  }

  // How many elements dimensions begin … end-1 have together.
  int64_t size(int begin, int end) const {
    int64_t product = 1;
    for (int i = begin; i < end; ++i) product *= extents_[i];
    return product;
  }
  void append(int extent) {  // one more dimension, the last
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
  // The shape of two operands together, each repeated where its extent, counted from the last, is 1 or missing.
  // Nothing if they do not fit.
  static std::optional<Shape> together(const Shape& a, const Shape& b) {
    const Shape &longer = a.rank_ >= b.rank_ ? a : b, &shorter = a.rank_ >= b.rank_ ? b : a;
    Shape result = longer;
    for (int i = 1; i <= shorter.rank_; ++i) {
      const int one = longer[-i], other = shorter[-i];
      if (one != other && one != 1 && other != 1) return {};
      if (one == 1) result = result.with(-i, other);
    }
    return result;
  }
  // The shape that a tensor `of` so many elements takes. One extent may be -1: it becomes what is left. Throws Error.
  static Shape completed(std::initializer_list<int> extents, const Shape& of) {
    Shape result;
    int open = -1;
    for (const int extent : extents) {
      if (extent < 0 && (extent < -1 || open >= 0)) [[unlikely]]
        throw Error(fmt::format("reshape: an extent {} for {}: only one may be -1", extent, of.text()));
      if (extent == -1) open = result.rank_;
      result.append(extent == -1 ? 1 : extent);
    }
    if (open < 0) return result;
    const int64_t known = result.size(), all = of.size();
    if (known == 0 || all % known != 0 || all / known > INT32_MAX) [[unlikely]] {
      result.extents_[open] = -1;
      throw Error(fmt::format("reshape: in {} {} number for -1 gives the {} elements of {}", result.text(),
                              known == 0 && all == 0 ? "any" : "no", all, of.text()));
    }
    return result.with(open, static_cast<int>(all / known));
  }
  // The place of the element with these indices, row-major; negative ones count from the last. Throws Error.
  int64_t place_of(std::initializer_list<int64_t> indices) const {
    bool fits = static_cast<int>(indices.size()) == rank_;
    int64_t place = 0;
    for (int i = 0; fits && i < rank_; ++i) {
      const int64_t given = indices.begin()[i], index = given < 0 ? given + extents_[i] : given;
      fits = index >= 0 && index < extents_[i];
      place = place * extents_[i] + index;
    }
    if (!fits) [[unlikely]] {
      std::string list;
      for (const int64_t index : indices) list += (list.empty() ? "" : ", ") + std::to_string(index);
      throw Error(fmt::format("tensor: no element ({}) in {}", list, text()));
    }
    return place;
  }
  // Dimension i, counted from the first; negative i counts from the last. Throws Error that begins with `user`.
  int axis(const char* user, int i) const {
    if (i < -rank_ || i >= rank_) [[unlikely]]
      throw Error(fmt::format("{}: no dimension {} in x {}", user, i, text()));
    return i < 0 ? i + rank_ : i;
  }
  // A copy without dimension i.
  Shape without(int i) const {
    Shape result;
    for (int k = 0; k < rank_; ++k)
      if (k != (i < 0 ? i + rank_ : i)) result.append(extents_[k]);
    return result;
  }
  Shape row() const { return without(0); }  // of x[i]
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
  int extents_[max_rank] = {};
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
