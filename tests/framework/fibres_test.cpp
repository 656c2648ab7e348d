// The stand-in's threads of kernels: that each runs once, in another order each time, with barriers and shared memory as on a GPU,
// and that it finds the mistakes that a GPU would make something of. Each case is a process of its own. Under ThreadSanitizer
// races are found in whichever order the threads ran.
#include "tests/framework/fibres.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace unroll::cuda {
namespace {

constexpr int size = 256;  // of a block

// Writes down who comes: at first, and after a barrier.
__global__ void note_order(real* count, real* order) {
  const auto self = static_cast<real>(blockIdx.x * blockDim.x + threadIdx.x);
  order[static_cast<int>((*count)++)] = self;
  __syncthreads();
  order[static_cast<int>((*count)++)] = self;
}

// y[t] = Σ over the block of t, as Team does it.
template <Fault fault>
__global__ void sum_block(real* y) {
  UNROLL_SHARED(numbers, real[size]);
  const int t = static_cast<int>(threadIdx.x);
  if (fault != Fault::never_written || t != 100) numbers[t] = static_cast<real>(t);
  for (int half = size / 2; half > 0; half /= 2) {
    if (fault != Fault::no_barrier || half != 32) __syncthreads();
    if (t < half) numbers[t] += numbers[t + half];
  }
  __syncthreads();
  y[blockIdx.x * size + threadIdx.x] = numbers[0];
}

// y[t] = x[t + 1], where thread t wrote x[t]
template <Fault fault>
__global__ void pass_on(real* x, real* y) {
  x[threadIdx.x] = static_cast<real>(threadIdx.x);
  if (fault == Fault::none) __syncthreads();
  y[threadIdx.x] = x[(threadIdx.x + 1) % size];
}

__global__ void fill(real* y, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 1;
}
__global__ void write_one_place(real* y) { y[0] = static_cast<real>(blockIdx.x); }

__global__ void vote(real* y, unsigned who, unsigned when) {
  for (unsigned i = 0; i < 3; ++i)
    y[3 * threadIdx.x + i] = static_cast<real>(__syncthreads_or(threadIdx.x == who && i == when ? 2 : 0));
}

template <std::size_t bytes>
__global__ void take_shared_memory() {
  UNROLL_SHARED(first, char[bytes]);
  UNROLL_SHARED(second, char[1024]);
  first[threadIdx.x] = second[threadIdx.x] = 1;
}

// The sums of three blocks, so often; the first that is wrong is told.
template <Fault fault>
std::string sums(int launches = 20) {
  for (int i = 0; i < launches; ++i) {
    Tensor y({3, size});
    launch(sum_block<fault>, 3, size, y.data());
    for (const real v : y.to_host())
      if (v != size * (size - 1) / 2) return fmt::format("{}", v);
  }
  return "right";
}
template <Fault fault>
std::string passed_on(int launches = 20) {
  for (int i = 0; i < launches; ++i) {
    Tensor x = Tensor::zeros({size}), y({size});
    launch(pass_on<fault>, 1, size, x.data(), y.data());
    const std::vector<real> values = y.to_host();
    for (int t = 0; t < size; ++t)
      if (values[static_cast<size_t>(t)] != static_cast<real>((t + 1) % size)) return "wrong";
  }
  return "right";
}
std::vector<real> order(unsigned blocks, unsigned threads) {
  Tensor count = Tensor::zeros({1}), result({static_cast<int>(2 * blocks * threads)});
  launch(note_order, blocks, threads, count.data(), result.data());
  return result.to_host();
}
std::string text_of(const std::vector<real>& numbers) { return fmt::format("{}", fmt::join(numbers, " ")); }

}  // namespace
}  // namespace unroll::cuda

using namespace unroll;
using namespace unroll::cuda;

TEST_CASE("each thread of each block runs once, in every shape") {
  for (const auto& [grid, block] :
       {std::pair(dim3(1), dim3(1)), std::pair(dim3(1), dim3(1024)), std::pair(dim3(1000), dim3(3)),
        std::pair(dim3(3, 5, 2), dim3(7, 4, 3)), std::pair(dim3(2, 300), dim3(32, 16))}) {
    const std::string counts = on_gpu_in_child([&] {
      const int threads = static_cast<int>(grid.x * grid.y * grid.z * block.x * block.y * block.z);
      Tensor count = Tensor::zeros({threads});
      launch(count_threads, grid, block, count.data());
      const std::vector<real> all = count.to_host();
      return std::to_string(std::ranges::count(all, 1) == threads);
    });
    CHECK(counts == "1");
  }
}

TEST_CASE("blocks and threads come in orders of their own, which a seed chooses") {
  if (races_are_watched) return;  // to count is a race
  const auto order_of = [](const char* seed) {
    return on_gpu_in_child([=] { return setenv("UNROLL_STANDIN_SEED", seed, 1), text_of(order(5, 40)); });
  };
  CHECK(order_of("2") == order_of("2"));
  CHECK(order_of("2") != order_of("3"));
  CHECK(on_gpu_in_child([] {
          const std::vector<real> first = order(5, 40), second = order(5, 40);
          std::string result = first == second ? "the same twice " : "";
          for (int block = 0; block < 5;
               ++block) {  // whole blocks, each thread once before the barrier and once after it
            const auto begin = first.begin() + 80 * block;
            std::vector<real> before(begin, begin + 40), after(begin + 40, begin + 80);
            if (before == after) result += "the same after a barrier ";
            std::ranges::sort(before), std::ranges::sort(after);
            if (before != after || std::ranges::adjacent_find(before) != before.end() ||
                before.back() - before.front() != 39)
              result += "not each once ";
          }
          return result;
        }) == "");
}

TEST_CASE("what a barrier shares is right, in every order") {
  CHECK(on_gpu_in_child([] { return sums<Fault::none>(); }) == "right");
  CHECK(on_gpu_in_child([] { return passed_on<Fault::none>(); }) == "right");
  CHECK(on_gpu_in_child([] {
          Tensor y({size, 3});
          launch(vote, 1, size, y.data(), 77u, 1u);
          const std::vector<real> votes = y.to_host();
          std::string result;
          for (int i = 0; i < 3; ++i) {
            int agree = 0;
            for (int t = 0; t < size; ++t) agree += votes[static_cast<size_t>(3 * t + i)] != 0;
            result += fmt::format("{} ", agree);
          }
          return result;
        }) == fmt::format("0 {} 0 ", size));
}

TEST_CASE("a barrier that is left out, and a read before another thread's write, are found") {
  if (races_are_watched) {  // whatever was computed
    for (const std::string& said : {on_gpu_in_child([] { return sums<Fault::no_barrier>(1); }),
                                    on_gpu_in_child([] { return passed_on<Fault::no_barrier>(1); })})
      CHECK(said.find("ThreadSanitizer: data race") != std::string::npos);
    CHECK(on_gpu_in_child([] {
            Tensor y({1});
            return launch(write_one_place, 2, 1, y.data()), std::string();
          }).find("ThreadSanitizer: data race") != std::string::npos);
  } else {
    CHECK(on_gpu_in_child([] { return sums<Fault::no_barrier>(); }) != "right");
    CHECK(on_gpu_in_child([] { return passed_on<Fault::no_barrier>(); }) == "wrong");
  }
}

TEST_CASE("shared memory that nobody wrote is NaN, in every block") {
  CHECK(lacks(on_gpu_in_child([] { return sums<Fault::never_written>(1); }), {"nan"}) == "");
}

TEST_CASE("barriers that not all threads of a block come to are found") {
  CHECK(lacks(refusal(leave_early, 1, 64, 7u),
              {"signal 6", "a kernel, void (unsigned int): 7 of a block's 64 threads have ended",
               "the barrier ", "fibres.h:"}) == "");
  CHECK(refusal(leave_early, 1, 64, 64u) == "launched");
  CHECK(lacks(refusal(go_separate_ways, 1, 64, 7u),
              {"signal 6", "a kernel, void (unsigned int): threads of a block wait at different barriers",
               "fibres.h:"}) == "");
  CHECK(refusal(go_separate_ways, 1, 64, 0u) == "launched");
}

TEST_CASE("a launch that is one element or block off is found") {
  constexpr int n = 5 * size + 1;
  CHECK(on_gpu_in_child([&] {
          Tensor y = Tensor::full({n}, NAN);
          launch(fill, n / size, size, y.data(), n);
          const std::vector<real> all = y.to_host();
          return std::to_string(std::ranges::count_if(all, [](real v) { return std::isnan(v); }));
        }) == "1");
  CHECK(lacks(on_gpu_in_child([&] {
                void* y = nullptr;
                gpu::check(cudaMalloc(&y, n * sizeof(real)), "cudaMalloc");
                launch(fill, n / size + 1, size, static_cast<real*>(y), n + 1);
                synchronize();
                return std::string("fine");
              }),
              {"signal 6", "beyond the end"}) == "");
}

TEST_CASE("launches beyond a GPU's limits are refused by the kernel's name") {
  const auto fills = [](dim3 grid, dim3 block) { return refusal(fill, grid, block, nullptr, 0); };
  CHECK(fills(dim3(1, 65'535), 1) == "launched");
  CHECK(lacks(fills(dim3(1, 65'536), 1),
              {"signal 6",
               "a kernel, void (float*, long): a grid of 1 x 65536 x 1 is none that a GPU takes"}) == "");
  CHECK(lacks(fills(0, 256), {"signal 6", "a grid of 0 x 1 x 1"}) == "");
  CHECK(fills(1, dim3(32, 16, 2)) == "launched");
  CHECK(lacks(fills(1, dim3(32, 16, 3)), {"signal 6", "a block of 32 x 16 x 3"}) == "");
  CHECK(lacks(fills(1, 1025), {"signal 6", "a block of 1025 x 1 x 1"}) == "");
  CHECK(lacks(fills(1, dim3(1, 1, 65)), {"signal 6", "a block of 1 x 1 x 65"}) == "");
  CHECK(refusal(take_shared_memory<47 * 1024>, 1, 1) == "launched");
  CHECK(lacks(refusal(take_shared_memory<47 * 1024 + 1>, 1, 1),
              {"signal 6", "more than 49152 bytes of shared memory in a block"}) == "");
}
