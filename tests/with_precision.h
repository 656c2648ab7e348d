// Products in another precision, for a while.
#pragma once

#include "framework/gemm.h"

namespace unroll {

class WithPrecision {
 public:
  explicit WithPrecision(Precision p) : before_(precision()) { set_precision(p); }
  ~WithPrecision() { set_precision(before_); }
  WithPrecision(const WithPrecision&) = delete;
  WithPrecision& operator=(const WithPrecision&) = delete;

 private:
  Precision before_;
};

}  // namespace unroll
