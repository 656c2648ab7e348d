#include "export/real_time_step.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "export/step_kernels.h"

namespace unroll {

namespace {

using Run = void (*)(const int* sizes, const float* numbers, void* const* places);

// Calls a kernel with sizes, numbers and places in the order of its parameters.
template <auto kernel, class... P>
void spread(void (*)(P...), const int* sizes, const float* numbers, void* const* places) {
  const auto next = [&]<class T>(std::type_identity<T>) -> T {
    if constexpr (std::is_same_v<T, int>)
      return *sizes++;
    else if constexpr (std::is_same_v<T, float>)
      return *numbers++;
    else
      return static_cast<T>(*places++);
  };
  std::apply(kernel, std::tuple<P...>{next(std::type_identity<P>())...});  // braces: from left to right
}
template <auto kernel>
void run_kernel(const int* sizes, const float* numbers, void* const* places) {
  spread<kernel>(kernel, sizes, numbers, places);
}

constexpr std::pair<std::string_view, Run> kernels_by_name[] = {
    {"zero", run_kernel<unroll_zero>},
    {"copy", run_kernel<unroll_copy>},
    {"move", run_kernel<unroll_move>},
    {"add_apart", run_kernel<unroll_add_apart>},
    {"add", run_kernel<unroll_add>},
    {"subtract", run_kernel<unroll_subtract>},
    {"multiply", run_kernel<unroll_multiply>},
    {"multiply_add", run_kernel<unroll_multiply_add>},
    {"scale", run_kernel<unroll_scale>},
    {"one_minus", run_kernel<unroll_one_minus>},
    {"mix", run_kernel<unroll_mix>},
    {"carry", run_kernel<unroll_carry>},
    {"clip", run_kernel<unroll_clip>},
    {"product", run_kernel<unroll_product>},
    {"product_8bit", run_kernel<unroll_product_8bit>},
    {"column", run_kernel<unroll_column>},
    {"column_8bit", run_kernel<unroll_column_8bit>},
    {"sigmoid", run_kernel<unroll_sigmoid>},
    {"tanh", run_kernel<unroll_tanh>},
    {"relu", run_kernel<unroll_relu>},
    {"hard_sigmoid", run_kernel<unroll_hard_sigmoid>},
    {"hard_tanh", run_kernel<unroll_hard_tanh>},
    {"softsign", run_kernel<unroll_softsign>},
    {"gelu", run_kernel<unroll_gelu>},
    {"softplus", run_kernel<unroll_softplus>},
    {"norm", run_kernel<unroll_norm>},
    {"softmax", run_kernel<unroll_softmax>},
    {"add_share", run_kernel<unroll_add_share>},
    {"log", run_kernel<unroll_log>},
    {"scaled", run_kernel<unroll_scaled>},
    {"in_units", run_kernel<unroll_in_units>},
    {"standardize", run_kernel<unroll_standardize>},
    {"sort", run_kernel<unroll_sort>},
    {"remember", run_kernel<unroll_remember>},
    {"advance", run_kernel<unroll_advance>},
    {"attend", run_kernel<unroll_attend>},
};

Run find_kernel(std::string_view name) {
  for (const auto& [known, run] : kernels_by_name)
    if (known == name) return run;
  throw Error(fmt::format("step: no kernel is called {}", name));
}

}  // namespace

// An array in memory: numbers of float, or bytes and their scales.
struct RealTimeStep::Bound {
  char* begin = nullptr;
  int width = 0;  // bytes of a number
  float* scale = nullptr;
};

RealTimeStep::RealTimeStep(const StepPlan& plan, StepWeightsIn weights) {
  using Kind = StepArray::Kind;
  const bool small = weights == StepWeightsIn::eight_bits;
  const auto floats_of = [&](const StepArray& array) {
    return static_cast<size_t>(small && array.kind == Kind::matrix ? array.out : array.size);
  };
  size_t floats = 0, doubles = 0;
  for (const StepArray& array : plan.arrays) (array.is_64() ? doubles : floats) += floats_of(array);
  memory_.resize(floats), memory64_.resize(doubles);
  eight_bits_.resize(small ? static_cast<size_t>(plan.numbers(Kind::matrix)) : 0);
  state_size_ = static_cast<size_t>(plan.numbers(Kind::state));

  std::vector<Bound> bound(plan.arrays.size());
  float *next_state = memory_.data(), *next = next_state + state_size_;
  double* next64 = memory64_.data();
  int8_t* next_byte = eight_bits_.data();
  for (size_t k = 0; k < bound.size(); ++k) {
    const StepArray& array = plan.arrays[k];
    if (array.is_64()) {
      bound[k] = {reinterpret_cast<char*>(next64), sizeof(double), nullptr};
      std::ranges::copy(array.values64, next64);
      if (array.kind != Kind::constant64) given64_.push_back({array.name, {next64, floats_of(array)}});
      next64 += floats_of(array);
      continue;
    }
    float*& place = array.kind == Kind::state ? next_state : next;
    if (small && array.kind == Kind::matrix) {
      const WholeNumbers<int8_t> in_bytes = in_whole_numbers<int8_t>(array);
      bound[k] = {reinterpret_cast<char*>(next_byte), 1, place};
      std::ranges::copy(in_bytes.scale, place);
      next_byte = std::ranges::copy(in_bytes.numbers, next_byte).out;
    } else {
      bound[k] = {reinterpret_cast<char*>(place), sizeof(float), nullptr};
      std::ranges::copy(array.values, place);
    }
    if (array.kind == Kind::input || array.kind == Kind::output)
      given_.push_back({array.name, {place, floats_of(array)}});
    place += floats_of(array);
  }
  int depth = 0;
  for (const StepCall& call : plan.calls) {
    depth -= call.kernel == "end";
    calls_.push_back(bind(call, bound, depth > 0));
    depth += call.kernel == "loop";
    require(depth >= 0 && depth <= 2, "step: loops stand in each other {} deep", depth);
  }
  require(depth == 0, "step: a loop without an end");
}

RealTimeStep::Call RealTimeStep::bind(const StepCall& call, std::span<const Bound> arrays, bool in_loop) {
  Call result{.sizes = call.sizes, .numbers = call.numbers};
  if (const auto at = std::ranges::find(call.sizes, token_size); at != call.sizes.end())
    result.token_at = static_cast<int>(at - call.sizes.begin());
  if (call.kernel == "loop" || call.kernel == "end") return result;
  bool small = false;
  for (const StepPlace& place : call.places) {
    const Bound& array = arrays[static_cast<size_t>(place.array)];
    const auto add = [&](char* begin, std::ptrdiff_t outer, std::ptrdiff_t inner) {
      result.places.push_back(begin);
      if (in_loop) result.begins.push_back(begin), result.by_turn.push_back({outer, inner});
    };
    add(array.begin + array.width * std::ptrdiff_t{place.at}, array.width * std::ptrdiff_t{place.by_turn[0]},
        array.width * std::ptrdiff_t{place.by_turn[1]});
    if (array.scale) add(reinterpret_cast<char*>(array.scale), 0, 0);
    small |= array.scale != nullptr;
  }
  result.run = find_kernel(small ? std::string(call.kernel) + "_8bit" : std::string(call.kernel));
  return result;
}

void RealTimeStep::operator()(int token) noexcept {
  struct Loop {
    size_t first = 0;  // call within it
    int turn = 0, turns = 0;
  } loops[3];
  int depth = 0;
  for (size_t at = 0; at < calls_.size(); ++at) {
    Call& call = calls_[at];
    if (call.token_at >= 0) call.sizes[static_cast<size_t>(call.token_at)] = token;
    if (call.run) {
      for (size_t k = 0; k < call.begins.size(); ++k)
        call.places[k] =
            call.begins[k] + call.by_turn[k][0] * loops[0].turn + call.by_turn[k][1] * loops[1].turn;
      call.run(call.sizes.data(), call.numbers.data(), call.places.data());
    } else if (!call.sizes.empty() && call.sizes[0] > 0) {
      loops[depth++] = {at, 0, call.sizes[0]};
    } else if (!call.sizes.empty()) {  // no turn: on behind its end
      for (int open = 1; open > 0;)
        if (const Call& next = calls_[++at]; !next.run) open += next.sizes.empty() ? -1 : 1;
    } else if (++loops[depth - 1].turn < loops[depth - 1].turns) {
      at = loops[depth - 1].first;
    } else {
      loops[--depth].turn = 0;
    }
  }
}

template <class Number>
std::span<Number> RealTimeStep::find(const std::vector<Named<Number>>& given, std::string_view name) {
  const auto found = std::ranges::find(given, name, &Named<Number>::name);
  require(found != given.end(), "step: no input and no output of {} bits is called {}", 8 * sizeof(Number),
          name);
  return found->numbers;
}
template std::span<float> RealTimeStep::find(const std::vector<Named<float>>&, std::string_view);
template std::span<double> RealTimeStep::find(const std::vector<Named<double>>&, std::string_view);

void RealTimeStep::reset() noexcept { std::ranges::fill(state(), 0.0f); }

}  // namespace unroll
