// The stand-in's threads of kernels that are launched together: blocks that wait for each other, the lanes of a warp, and what is
// made of them, the grid's barrier and the tensor cores' products. Each case is a process of its own. Under ThreadSanitizer races
// are found in whichever order the threads ran.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "framework/kernels/cuda/barrier.h"
#include "framework/kernels/cuda/fast.h"
#include "framework/kernels/cuda/fragments.h"
#include "tests/framework/fibres.h"
#include "tests/standin/standin.h"

namespace unroll::cuda {
namespace {

constexpr unsigned neighbours = 3, of_neighbour = 40;  // blocks, and their threads

enum class BarrierFault { none, no_wait, no_block, one_short, relaxed };
// As GridBarrier, with a mistake.
template <BarrierFault fault>
void wait_wrongly(unsigned* come, unsigned goal) {
  if (fault == BarrierFault::no_wait) return;
  if (fault != BarrierFault::no_block) __syncthreads();
  if (threadIdx.x == 0) {
    if (fault == BarrierFault::relaxed)
      __atomic_fetch_add(come, 1, __ATOMIC_RELAXED);
    else
      add_release(come, 1);
    while (load_acquire(come) < goal - (fault == BarrierFault::one_short ? 1 : 0)) {}
  }
  __syncthreads();
}
// Blocks are counted in one number, or have a number each.
enum class Counted { together, by_block };
// Each step a block takes what its neighbour had, and adds one: after `steps` steps all have begun + steps. x: two of a block, in turn.
template <BarrierFault fault, Counted counted = Counted::together>
__global__ void pass_round(int steps, real* x, real* y, unsigned* come) {
  GridBarrier barrier(come, counted == Counted::by_block);
  const unsigned size = blockDim.x, place = blockIdx.x * size + threadIdx.x, all = gridDim.x * size;
  x[place] = static_cast<real>(place);
  for (int t = 0; t < steps; ++t) {
    if (fault == BarrierFault::none)
      barrier.wait();
    else
      wait_wrongly<fault>(come, static_cast<unsigned>(t + 1) * gridDim.x);
    x[static_cast<unsigned>((t + 1) % 2) * all + place] =
        x[static_cast<unsigned>(t % 2) * all + (place + size) % all] + 1;
  }
  y[place] = x[static_cast<unsigned>(steps % 2) * all + place];
}
__global__ void wait_in_vain(unsigned* come) {
  if (blockIdx.x > 0) GridBarrier(come).wait();
}
// After they have said that they came, blocks read what others wrote before, or change what others read until they wait.
template <Fault fault>
__global__ void use_between(real* x, real* y, unsigned* come) {
  GridBarrier barrier(come, true);
  const unsigned place = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  x[place] = static_cast<real>(place);
  barrier.arrive();
  if (fault == Fault::none) barrier.await();
  y[place] = x[(place + blockDim.x) % all];
  if (fault != Fault::none) barrier.await();
}
// The others wait for block 0, which never comes: it goes on for far longer than they look.
__global__ void never_come(unsigned* numbers) {
  if (blockIdx.x > 0) return GridBarrier(numbers, false, 1000).wait();
  while (load_acquire(numbers + 1) < 50'000) add_release(numbers + 1, 1);
}
__global__ void sum_warp(real* y) {
  const real mine = static_cast<real>(threadIdx.x);
  const real* const all = static_cast<const real*>(exchange_in_warp(&mine, sizeof mine));
  for (int lane = 0; lane < warp_lanes; ++lane) y[threadIdx.x] += all[lane];
}
__global__ void part_in_warp(unsigned how_many) {
  if (threadIdx.x < how_many)
    __syncthreads();
  else
    __syncwarp();
}
// All lanes read the number that lane 0 wrote.
template <Fault fault>
__global__ void tell_warp(real* y) {
  UNROLL_SHARED(number, real);
  if (threadIdx.x == 0) number = 5;
  if (fault == Fault::none) __syncwarp();
  y[threadIdx.x] = number;
}
__global__ void use_dynamic(int last, real* y) {
  UNROLL_DYNAMIC_SHARED(memory);
  real* const numbers = reinterpret_cast<real*>(memory);
  *y = numbers[0];
  numbers[last] = 1;
}

enum class LayoutFault { none, rows_exchanged, k_exchanged, column_off };
// D = A B as the PTX ISA lays fragments out: a [16, k], b [k, 8], d [16, 8].
template <class W, LayoutFault fault>
__global__ void multiply_fragments(const real* a, const real* b, real* d) {
  constexpr int v = W::of_word, depth = 8 * v;
  const int lane = static_cast<int>(threadIdx.x), group = lane >> 2, in_group = lane % 4;
  typename W::Number of_a[4 * v], of_b[2 * v];
  for (int i = 0; i < 4 * v; ++i) {
    const bool first_rows = i / v % 2 == 0, first_half = i < 2 * v;
    const int row = fault == LayoutFault::rows_exchanged ? (first_half ? group : group + 8)
                                                         : (first_rows ? group : group + 8);
    const int col =
        in_group * v + i % v + (fault == LayoutFault::rows_exchanged ? !first_rows : !first_half) * 4 * v;
    of_a[i] = W::rounded(static_cast<float>(a[row * depth + col]));
  }
  for (int i = 0; i < 2 * v; ++i) {
    const bool first = fault == LayoutFault::k_exchanged ? i >= v : i < v;
    of_b[i] = W::rounded(static_cast<float>(b[(in_group * v + i % v + (first ? 0 : 4 * v)) * 8 + group]));
  }
  uint32_t words_of_a[4], words_of_b[2];
  std::memcpy(words_of_a, of_a, sizeof words_of_a), std::memcpy(words_of_b, of_b, sizeof words_of_b);
  float sums[4] = {};
  multiply_add<W>(sums, words_of_a, words_of_b);
  for (int i = 0; i < 4; ++i) {
    const int col = in_group * 2 + (i & 1);
    d[(i < 2 ? group : group + 8) * 8 + (fault == LayoutFault::column_off ? col ^ 1 : col)] = sums[i];
  }
}
// Like the above for a chunk, whose lines lie one behind the other: a [16, chunk], b [8, chunk], d [16, 8].
template <class W>
__global__ void multiply_lines(const typename W::Number* a, const typename W::Number* b, real* d) {
  const int lane = static_cast<int>(threadIdx.x), g = lane / 4, q = lane % 4;
  const auto words = [&](const typename W::Number* x, int line) {
    return load_16_bytes(x + line * chunk_numbers<W> + 4 * q * W::of_word);
  };
  float sums[1][4] = {};
  multiply_add_chunk<W>(sums, ChunkWords::of(words(a, g), words(a, g + 8)), {words(b, g)});
  for (int r = 0; r < 4; ++r) d[(g + 8 * (r / 2)) * 8 + 2 * q + r % 2] = sums[0][r];
}

// How far D is from a plain product of the same numbers, and how large sums of their magnitudes are.
template <class W, LayoutFault fault = LayoutFault::none>
std::string fragments(bool of_chunk = false) {
  using Number = typename W::Number;
  const int depth = of_chunk ? chunk_numbers<W> : 8 * W::of_word;
  RandomStream random(3, "fragments");
  const Tensor a = random_tensor({16, depth}, random), b = random_tensor({depth, 8}, random);
  Tensor lines({24 * depth}), d({16, 8});
  const std::vector<real> x = a.to_host(), y = b.to_host();
  const auto rounded = [](real v) { return static_cast<float>(W::rounded(static_cast<float>(v))); };
  if (of_chunk) {
    auto* const numbers = reinterpret_cast<Number*>(lines.data());
    const standin::OpenMemory opened;
    for (int i = 0; i < 16 * depth; ++i) numbers[i] = W::rounded(x[static_cast<size_t>(i)]);
    for (int i = 0; i < 8 * depth; ++i)
      numbers[16 * depth + i] = W::rounded(y[static_cast<size_t>(i % depth * 8 + i / depth)]);
    launch_together(multiply_lines<W>, 1, 32, 0, numbers, numbers + 16 * depth, d.data());
  } else
    launch_together(multiply_fragments<W, fault>, 1, 32, 0, a.data(), b.data(), d.data());
  const std::vector<real> z = d.to_host();
  for (int row = 0; row < 16; ++row)
    for (int col = 0; col < 8; ++col) {
      double sum = 0, size = 0;
      for (int k = 0; k < depth; ++k) {
        const double term = static_cast<double>(rounded(x[static_cast<size_t>(row * depth + k)])) *
                            rounded(y[static_cast<size_t>(k * 8 + col)]);
        sum += term, size += std::abs(term);
      }
      if (!(std::abs(z[static_cast<size_t>(row * 8 + col)] - sum) <= depth * 0x1p-23 * size)) return "wrong";
    }
  return "right";
}

template <BarrierFault fault, Counted counted = Counted::together>
std::string passed_round(int launches = 10) {
  constexpr int steps = 5, size = neighbours * of_neighbour;
  for (int i = 0; i < launches; ++i) {
    Tensor x({2, size}), y({size}), come = Tensor::zeros({neighbours});
    launch_together(pass_round<fault, counted>, neighbours, of_neighbour, 0, steps, x.data(), y.data(),
                    reinterpret_cast<unsigned*>(come.data()));
    const std::vector<real> values = y.to_host();
    for (int k = 0; k < size; ++k)
      if (values[static_cast<size_t>(k)] !=
          static_cast<real>((k + steps * static_cast<int>(of_neighbour)) % size + steps))
        return "wrong";
  }
  return "right";
}
template <class... Parameters>
std::string refusal_together(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t bytes,
                             const std::type_identity_t<Parameters>&... arguments) {
  return on_gpu_in_child(
      [&] { return launch_together(kernel, grid, block, bytes, arguments...), std::string("launched"); });
}
// A word of the device's that is 0.
unsigned* zero() {
  void* word = nullptr;
  gpu::check(cudaMalloc(&word, 2 * sizeof(unsigned)), "cudaMalloc");
  clear_on_device(word, 2 * sizeof(unsigned));
  return static_cast<unsigned*>(word);
}

}  // namespace
}  // namespace unroll::cuda

using namespace unroll;
using namespace unroll::cuda;

TEST_CASE("blocks that are launched together may wait for each other, in every order") {
  for (const char* seed : {"1", "2", "3", "4", "5"})
    CHECK(on_gpu_in_child([=] {
            setenv("UNROLL_STANDIN_SEED", seed, 1);
            const std::string by_block = passed_round<BarrierFault::none, Counted::by_block>(2);
            return by_block == "right" ? passed_round<BarrierFault::none>(2) : by_block;
          }) == "right");
  for (const auto& [grid, block] : {std::pair(dim3(1), dim3(1)), std::pair(dim3(3, 5, 2), dim3(7, 4, 3))})
    CHECK(on_gpu_in_child([&] {
            const int threads = static_cast<int>(grid.x * grid.y * grid.z * block.x * block.y * block.z);
            Tensor count = Tensor::zeros({threads});
            launch_together(count_threads, grid, block, 0, count.data());
            const std::vector<real> all = count.to_host();
            return std::to_string(std::ranges::count(all, 1) == threads);
          }) == "1");
}

TEST_CASE("a mistake in a grid's barrier is found") {
  const auto found = [](const std::string& said) {
    return races_are_watched ? said.find("ThreadSanitizer: data race") != std::string::npos : said == "wrong";
  };
  const int launches = races_are_watched ? 1 : 10;
  CHECK(found(on_gpu_in_child([=] { return passed_round<BarrierFault::no_wait>(launches); })));
  CHECK(found(on_gpu_in_child([=] { return passed_round<BarrierFault::no_block>(launches); })));
  CHECK(found(on_gpu_in_child([=] { return passed_round<BarrierFault::one_short>(launches); })));
  const auto between = [=](void (*kernel)(real*, real*, unsigned*)) {
    return on_gpu_in_child([=] {
      for (int i = 0; i < launches; ++i) {
        constexpr int size = neighbours * of_neighbour;
        Tensor x({size}), y({size}), come = Tensor::zeros({neighbours});
        x.fill(-1);  // not what the last launch wrote, which would be right
        launch_together(kernel, neighbours, of_neighbour, 0, x.data(), y.data(),
                        reinterpret_cast<unsigned*>(come.data()));
        const std::vector<real> values = y.to_host();
        for (int k = 0; k < size; ++k)
          if (values[static_cast<size_t>(k)] !=
              static_cast<real>((k + static_cast<int>(of_neighbour)) % size))
            return "wrong";
      }
      return "right";
    });
  };
  CHECK(between(use_between<Fault::none>) == "right");
  CHECK(found(between(use_between<Fault::no_barrier>)));
  if (races_are_watched)  // which the host's processor does in order
    CHECK(found(on_gpu_in_child([] { return passed_round<BarrierFault::relaxed>(1); })));
}

TEST_CASE("threads that wait for ever are found, and what they wait for") {
  CHECK(lacks(on_gpu_in_child(
                  [] { return launch_together(wait_in_vain, 3, 40, 0, zero()), std::string("launched"); }),
              {"signal 6", "a kernel, void (unsigned int*): threads wait for ever: 78 at the barrier ",
               "barrier.h:", "2 for a number that nobody changes any more; 40 of 120 have ended"}) == "");
  CHECK(lacks(on_gpu_in_child(
                  [] { return launch_together(never_come, 2, 1, 0, zero()), std::string("launched"); }),
              {"signal 6", "ended with an error"}) == "");
  CHECK(lacks(on_gpu_in_child([] { return launch(wait_in_vain, 3, 40, zero()), std::string("launched"); }),
              {"signal 6", "not all blocks run"}) == "");
  CHECK(lacks(refusal_together(part_in_warp, 1, 64, 0, 7u),
              {"signal 6", "threads wait for ever: ", "25 at __syncwarp ", "7 at the barrier ",
               "fibres_together_test.cpp:"}) == "");
  CHECK(refusal_together(part_in_warp, 1, 64, 0, 0u) == "launched");
  CHECK(lacks(refusal_together(leave_early, 2, 64, 0, 7u),
              {"signal 6", "7 of a block's 64 threads have ended", "fibres.h:"}) == "");
  CHECK(lacks(refusal_together(go_separate_ways, 1, 64, 0, 7u),
              {"signal 6", "threads of a block wait at different places"}) == "");
}

TEST_CASE("the lanes of a warp exchange numbers, and its barrier orders them") {
  CHECK(on_gpu_in_child([] {
          Tensor y = Tensor::zeros({64});
          launch_together(sum_warp, 1, 64, 0, y.data());
          const std::vector<real> sums = y.to_host();
          return fmt::format("{} {}", std::ranges::count(sums, 31 * 32 / 2),
                             std::ranges::count(sums, 32 * 95 / 2));
        }) == "32 32");
  CHECK(lacks(refusal(sum_warp, 1, 32, nullptr), {"signal 6", "launched together"}) == "");
  const auto told = [](void (*kernel)(real*)) {
    return on_gpu_in_child([=] {
      for (int i = 0; i < 10; ++i) {
        Tensor y({32});
        launch_together(kernel, 1, 32, 0, y.data());
        const std::vector<real> heard = y.to_host();
        if (std::ranges::count(heard, 5) != 32) return "wrong";
      }
      return "right";
    });
  };
  CHECK(told(tell_warp<Fault::none>) == "right");
  const std::string said = told(tell_warp<Fault::no_barrier>);
  CHECK(said != "right");
}

TEST_CASE("dynamic shared memory is NaN at first, and nothing is behind its end") {
  const auto use = [](int last) {
    return on_gpu_in_child([=] {
      Tensor y({1});
      launch_together(use_dynamic, 2, 1, 4096, last, y.data());
      return fmt::format("{}", std::abs(y.to_host()[0]));
    });
  };
  if (!races_are_watched) CHECK(use(1023) == "nan");  // both blocks write y
  CHECK(lacks(use(1024), {"signal 11"}) == "");
}

TEST_CASE("blocks that do not fit the GPU at once are refused") {
  const auto on_two = [](unsigned blocks) {
    return on_gpu_in_child([=] {
      standin::control().processors = 2;
      return launch_together(leave_early, blocks, 1024, 0, 1024u), std::string("launched");
    });
  };
  CHECK(on_two(4) == "launched");
  CHECK(lacks(on_two(5), {"signal 6", "5 blocks that wait for each other, where 4 fit the GPU at once"}) ==
        "");
  CHECK(refusal_together(leave_early, 132, 32, 227 << 10, 32u) == "launched");
  CHECK(lacks(refusal_together(leave_early, 133, 32, 227 << 10, 32u), {"signal 6", "where 132 fit"}) == "");
  CHECK(lacks(refusal_together(leave_early, 1, 32, (227 << 10) + 1, 32u),
              {"signal 6", "232449 bytes of shared memory, where 232448 are the most"}) == "");
}

TEST_CASE("a recorded launch of blocks together plays again") {
  CHECK(on_gpu_in_child([] {
          Tensor count = Tensor::zeros({60});
          gpu::begin_recording({});
          launch_together(count_threads, 3, 20, 0, count.data());
          const cudaGraphExec_t graph = gpu::end_recording(true);
          for (int i = 0; i < 3; ++i) gpu::check(cudaGraphLaunch(graph, gpu::stream()), "cudaGraphLaunch");
          const std::vector<real> all = count.to_host();
          return std::to_string(std::ranges::count(all, 3));
        }) == "60");
}

// fast.h says where the bounds come from. The stand-in's instructions are as far off as the manual allows.
TEST_CASE("functions of a cell without slow division are as exact as is said") {
  struct Bound {
    const char* name;
    float (*value)(float);
    double (*exact)(double);
    double relative, absolute;
  };
  const Bound bounds[] = {
      {"sigmoid", Fast<Sigmoid>::value, [](double x) { return 1 / (1 + std::exp(-x)); }, 0x1p-16, 0x1p-126},
      {"tanh", Fast<Tanh>::value, [](double x) { return std::tanh(x); }, 0x1p-20, 0},
      {"softsign", Fast<Softsign>::value, [](double x) { return x / (1 + std::abs(x)); }, 0x1p-21, 0},
      {"hard_sigmoid", Fast<HardSigmoid>::value, [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); },
       0, 0x1p-22}};
  for (const Bound& f : bounds) {
    CAPTURE(f.name);
    int worse = 0;
    double worst = 0;
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += 1009)
      for (const float x : {__builtin_bit_cast(float, bits), -__builtin_bit_cast(float, bits)}) {
        const double exact = f.exact(x), off = std::abs(static_cast<double>(f.value(x)) - exact);
        if (!(off <= f.relative * std::abs(exact) + f.absolute)) ++worse;
        if (std::abs(exact) > 0x1p-120) worst = std::max(worst, off / std::abs(exact));
      }
    CHECK(worse == 0);
    if (f.relative > 0) CHECK(worst > f.relative / 32);  // or the bound would say little
    CHECK(std::isnan(f.value(std::nanf(""))));
  }
  CHECK(Fast<Tanh>::value(0.f) == 0);
  CHECK(Fast<Sigmoid>::value(-200.f) < 0x1p-120f);
}

TEST_CASE("a warp multiplies as the PTX ISA lays its fragments out") {
  const auto said = [](std::string (*work)(bool), bool of_chunk) {
    return on_gpu_in_child([=] { return work(of_chunk); });
  };
  CHECK(said(fragments<Bf16Words>, false) == "right");
  CHECK(said(fragments<Fp16Words>, false) == "right");
  CHECK(said(fragments<Tf32Words>, false) == "right");
  CHECK(said(fragments<Bf16Words>, true) == "right");
  CHECK(said(fragments<Fp16Words>, true) == "right");
  CHECK(said(fragments<Tf32Words>, true) == "right");
  CHECK(said(fragments<Bf16Words, LayoutFault::rows_exchanged>, false) == "wrong");
  CHECK(said(fragments<Tf32Words, LayoutFault::rows_exchanged>, false) == "wrong");
  CHECK(said(fragments<Bf16Words, LayoutFault::k_exchanged>, false) == "wrong");
  CHECK(said(fragments<Fp16Words, LayoutFault::column_off>, false) == "wrong");
}
