#include "bench/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "framework/device.h"
#include "framework/kernels/kernels.h"
#include "framework/memory.h"

// The measure that PyTorch's side of the comparison takes too (torch.matmul in pytorch_lm.py).
static double product_gflops() {
  constexpr int size = 8192, runs = 10;
  using namespace unroll;
  // No zeros: how fast a GPU is depends on how many bits change.
  const auto numbers = [] {
    Tensor t({size, size});
    const auto all = t.on_host(Access::overwrite);
    for (int64_t i = 0; i < t.size(); ++i) all[i] = static_cast<real>(i % 1009) / 1009 - real(0.5);
    return t;
  };
  const Tensor a = numbers(), b = numbers(), c({size, size});
  double best = 0;
  for (int i = 0; i <= runs; ++i) {
    synchronize();
    const auto start = std::chrono::steady_clock::now();
    gemm(a, b, {c, false});
    synchronize();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (i > 0) best = std::max(best, 2.0 * size * size * size / seconds / 1e9);
  }
  return best;
}

// Work of `threads` threads together per second, measured over `seconds`. work(thread) returns how much it has done.
template <class Work>
static double rate_of(int threads, double seconds, Work work) {
  std::vector<double> rates(static_cast<size_t>(threads));
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&rate = rates[static_cast<size_t>(i)], seconds, work, i]() mutable {
      using Clock = std::chrono::steady_clock;
      const auto start = Clock::now();
      double done = 0, passed = 0;
      while (passed < seconds)
        done += work(i), passed = std::chrono::duration<double>(Clock::now() - start).count();
      rate = done / passed;
    });
  for (std::thread& thread : all) thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

double memory_gbytes(int threads) {
  // Eight places at once: a processor fetches ahead in each.
  constexpr size_t width = 16 / sizeof(uint64_t), streams = 8,
                   run = (size_t{1} << 17) / 16;  // 1 MiB together
  using Vector [[gnu::vector_size(16)]] = uint64_t;
  const size_t pieces = 1024 / static_cast<size_t>(threads), part = pieces * streams * run;
  const unroll::Memory memory(part * static_cast<size_t>(threads) * sizeof(Vector));
  Vector* const all = static_cast<Vector*>(memory.data());
  std::fill(all, all + part * static_cast<size_t>(threads), Vector{});
  std::atomic<uint64_t> seen = 0;  // so that a compiler cannot leave the reading out
  return rate_of(threads, 0.5,
                 [&, next = size_t{0}](int thread) mutable {
                   const Vector* const from = all + static_cast<size_t>(thread) * part + next * streams * run;
                   Vector sums[streams] = {};
                   for (size_t i = 0; i < run; ++i)
                     for (size_t s = 0; s < streams; ++s) sums[s] += from[s * run + i];
                   for (const Vector& sum : sums)
                     for (size_t i = 0; i < width; ++i) seen += sum[i];
                   next = (next + 1) % pieces;
                   return static_cast<double>(streams * run * sizeof(Vector));
                 }) /
         1e9;
}

#ifdef __x86_64__
namespace {

constexpr int iterations = 20000;

// Sums that do not wait for each other, in assembler, so that surely nothing but registers is touched. The registers'
// values do not matter: numbers of any kind take the same time, once the factors are 0.
#define ADD_8(f, r0, r1, r2, r3, r4, r5, r6, r7) f(r0) f(r1) f(r2) f(r3) f(r4) f(r5) f(r6) f(r7)
#define WIDE(r) "vfmadd231ps %%zmm0, %%zmm0, %%zmm" #r "\n\t"
#define PAIRS(r) "vdpbf16ps %%zmm0, %%zmm0, %%zmm" #r "\n\t"
#define NARROW(r) "vfmadd231ps %%ymm0, %%ymm0, %%ymm" #r "\n\t"

// 24 sums of 16 numbers each.
#define ADD_24(f)                                                                                        \
  asm volatile("vpxor %%xmm0, %%xmm0, %%xmm0\n\t" ADD_8(f, 1, 2, 3, 4, 5, 6, 7, 8)                       \
                   ADD_8(f, 9, 10, 11, 12, 13, 14, 15, 16) ADD_8(f, 17, 18, 19, 20, 21, 22, 23, 24)::    \
                       : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                         "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

// Each returns the operations done.
double avx512_loop() {
  for (int i = 0; i < iterations; ++i) ADD_24(WIDE);
  return 24.0 * 2 * 16 * iterations;
}
double avx512_bf16_loop() {
  for (int i = 0; i < iterations; ++i) ADD_24(PAIRS);
  return 24.0 * 2 * 32 * iterations;
}
double avx2_loop() {
  for (int i = 0; i < iterations; ++i)
    asm volatile("vpxor %%xmm0, %%xmm0, %%xmm0\n\t" ADD_8(NARROW, 1, 2, 3, 4, 5, 6, 7, 8)
                     ADD_8(NARROW, 9, 10, 11, 12, 13, 14, 15, 1)::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                           "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  return 16.0 * 2 * 8 * iterations;
}
// Four tiles of sums, two of each factor, as in the kernel of products.
double amx_loop() {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } configuration;
  asm volatile("ldtilecfg %0" ::"m"(configuration));
  for (int i = 0; i < iterations; ++i)
    asm volatile(
        "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\ttdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t"
        "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\ttdpbf16ps %%tmm7, %%tmm5, %%tmm3" ::);
  asm volatile("tilerelease" ::);
  return 4.0 * 2 * 16 * 16 * 32 * iterations;
}

using Loop = double (*)();
Loop loop_for(unroll::Precision precision) {
  if (precision == unroll::Precision::bf16) {
    const std::string_view chosen = unroll::kernels().name;
    if (chosen == "amx") return amx_loop;  // whose kernels asked for leave to use the tiles
    return chosen == "avx512_bf16" ? avx512_bf16_loop : nullptr;
  }
  if (__builtin_cpu_supports("avx512f")) return avx512_loop;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2_loop : nullptr;
}

}  // namespace

double peak_gflops(unroll::Precision precision, int threads) {
  if (unroll::on_gpu()) return product_gflops();
  const Loop loop = loop_for(precision);
  if (!loop) return 0;
  return rate_of(threads, 1, [loop](int) { return loop(); }) / 1e9;
}

#else

double peak_gflops(unroll::Precision, int) { return unroll::on_gpu() ? product_gflops() : 0; }

#endif
