#include "training/steps/gradient_buckets.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "framework/check.h"

namespace unroll {

std::vector<GradientBucket> gradient_buckets(const ParameterSet& params, std::size_t bytes) {
  std::vector<GradientBucket> buckets;
  const auto& all = params.all();
  int64_t end = params.values().size();
  for (std::size_t i = all.size(); i > 0;) {
    GradientBucket& bucket = buckets.emplace_back();
    do {
      Parameter& parameter = *all[--i];
      bucket.parameters.push_back(&parameter);
      bucket.begin = i == 0 ? 0 : parameter.offset;
    } while (i > 0 &&
             (all[i]->joined || static_cast<std::size_t>(end - bucket.begin) * sizeof(real) < bytes));
    bucket.size = end - bucket.begin;
    end = bucket.begin;
  }
  return buckets;
}

std::size_t bytes_of_bucket() {
  const char* const text = std::getenv("UNROLL_BUCKET_BYTES");
  if (!text) return std::size_t{1} << 20;
  std::size_t bytes = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, bytes);
  require_input(stop == end && error == std::errc() && bytes > 0,
                "UNROLL_BUCKET_BYTES is '{}' in the environment: a number of bytes above 0", text);
  return bytes;
}

std::vector<int64_t> sizes_of(const std::vector<GradientBucket>& buckets) {
  std::vector<int64_t> sizes;
  for (const GradientBucket& bucket : buckets) sizes.push_back(bucket.size);
  return sizes;
}

}  // namespace unroll
