// Cuts the slab of gradients into buckets, at the beginnings of parameters and from its end, since a backward finishes the last
// layers first. Processes exchange bucket by bucket in this order: some are on their way while others are still computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/parameters.h"

namespace unroll {

struct GradientBucket {
  int64_t begin = 0, size = 0;  // numbers of the slab
  std::vector<Parameter*> parameters = {};
};

// Each has at least so many bytes, but for the last. It depends on the parameters and that number alone.
std::vector<GradientBucket> gradient_buckets(const ParameterSet& params, std::size_t bytes);

// 1 MiB, or UNROLL_BUCKET_BYTES in the environment, which must be the same for all processes. Throws InputError.
std::size_t bytes_of_bucket();

std::vector<int64_t> sizes_of(const std::vector<GradientBucket>& buckets);  // numbers

}  // namespace unroll
