// First values of parameters, and the random numbers that they come from.
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <thread>

#include "framework/loss.h"
#include "framework/ops.h"
#include "framework/parameters.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "optim/optimizer.h"
#include "tests/support.h"

using namespace unroll;

namespace {

std::map<std::string, std::vector<real>> by_name(const ParameterSet& params) {
  params.values();
  std::map<std::string, std::vector<real>> result;
  for (const auto& p : params.all()) result[p->name] = p->leaf_value().to_host();
  return result;
}

}  // namespace

// --- first values ------------------------------------------------------------------------------------------

TEST_CASE("first values depend on the seed and the path, not on the order of registration") {
  const auto build = [](uint64_t seed, bool reversed) {
    ParameterSet params(seed);
    const auto a = [&] { params.add("a", {40}, Init::uniform(-1, 1)); };
    const auto b = [&] { params.add("b", {40}, Init::normal(0, 1)); };
    if (reversed)
      b(), a();
    else
      a(), b();
    return by_name(params);
  };
  CHECK(build(1, false) == build(1, true));
  CHECK(build(1, false) == build(1, false));
  CHECK(build(1, false)["a"] != build(2, false)["a"]);
  CHECK(build(1, false)["b"] != build(2, false)["b"]);
  ParameterSet params;
  params.add("a", {40}, Init::uniform(-1, 1));
  params.add("b", {40}, Init::uniform(-1, 1));
  CHECK(by_name(params)["a"] != by_name(params)["b"]);
}

TEST_CASE("each first value comes from the random numbers of its own place, on any number of threads") {
  for (const int size : {1, 3, 70001})
    for (const int count : {1, 3}) {
      const Threads guard(count);
      ParameterSet params(5);
      const Var u_of = params.add("u", {size}, Init::uniform(-2, 1)).var();
      const Var n_of = params.add("n", {size}, Init::normal(2, 3)).var();
      const std::vector<real> uniform = u_of.value().to_host(), normal = n_of.value().to_host();
      const RandomKey u{.seed = 5, .place = place_of("u")}, n{.seed = 5, .place = place_of("n")};
      int wrong = 0;
      for (int i = 0; i < size; ++i) {
        wrong += uniform[static_cast<size_t>(i)] != -2 + 3 * u.uniform(static_cast<uint64_t>(i));
        const float radius = std::sqrt(-2 * std::log(1 - n.uniform(2 * static_cast<uint64_t>(i))));
        const float angle = 2 * std::numbers::pi_v<float> * n.uniform(2 * static_cast<uint64_t>(i) + 1);
        wrong += normal[static_cast<size_t>(i)] != 2 + 3 * radius * std::cos(angle);
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("first values have the distribution that was asked for") {
  constexpr int n = 20000;
  ParameterSet params;
  const Var uniform = params.add("u", {n}, Init::uniform(-0.5, 1.5)).var();
  const Var normal = params.add("n", {n}, Init::normal(2, 3)).var();
  const Var constant = params.add("c", {n}, Init::constant(0.25)).var();
  const auto moments = [](const Var& x) {
    double mean = 0, square = 0;
    for (const real v : x.value().span()) mean += v / n, square += v * v / n;
    return std::pair(mean, std::sqrt(square - mean * mean));
  };
  // five standard deviations of the estimates: σ/√n of the mean, σ/√(2n) of σ (less for the uniform)
  const double spread = 5 / std::sqrt(double{n});
  const auto [mu, su] = moments(uniform);
  CHECK(std::abs(mu - 0.5) < spread * 2 / std::sqrt(12.0));
  CHECK(std::abs(su - 2 / std::sqrt(12.0)) < spread * 2 / std::sqrt(12.0));
  const auto [least, most] = std::ranges::minmax_element(uniform.value().span());
  CHECK(*least >= -0.5);
  CHECK(*most <= 1.5);
  const auto [mn, sn] = moments(normal);
  CHECK(std::abs(mn - 2) < spread * 3);
  CHECK(std::abs(sn - 3) < spread * 3);
  CHECK(std::ranges::all_of(normal.value().span(), [](real v) { return std::isfinite(v); }));
  CHECK(std::ranges::all_of(constant.value().span(), [](real v) { return v == 0.25; }));
}

TEST_CASE("initialize draws all values anew, before and after first use alike") {
  const auto build = [](bool used_before) {
    ParameterSet params(7);
    Parameter& p = params.add("a", {50}, Init::constant(9));
    if (used_before) params.values();
    params.initialize(Init::uniform(-0.1f, 0.1f));
    return p.var().value().to_host();
  };
  CHECK(build(false) == build(true));
  for (double v : build(true)) CHECK(std::abs(v) <= 0.1f);
}

TEST_CASE("an offset of some elements stays whatever the distribution") {
  ParameterSet params(7);
  Parameter& with = params.add("with", {6}, Init::uniform(-0.1f, 0.1f));
  with.init.offset = {1, 2, 4};
  const auto check = [&] {
    const auto v = with.var().value().to_host();
    for (int i = 0; i < 6; ++i) CHECK(std::abs(v[i] - (i >= 2 && i < 4)) <= 0.11);
  };
  check();
  params.initialize(Init::uniform(-0.05f, 0.05f));
  check();
}

// --- random numbers ----------------------------------------------------------------------------------------

TEST_CASE("first values that cannot be drawn are drawn by nobody: the next use says so again") {
  ParameterSet params;
  Parameter& first = params.add("first", {3}, Init::constant(1));
  params.add("gain", {4}, Init::centered_at(1, 5));
  for (int use = 0; use < 2; ++use)
    CHECK(lacks(error_of([&] { first.leaf_value(); }), {"offset", "0 to 5", "[4]"}) == "");
}

TEST_CASE("philox gives the published numbers") {
  // Known answers of Random123's philox4x32-10.
  CHECK(philox({0, 0, 0, 0}, {0, 0}) ==
        std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) ==
        std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a place's keys count its calls on a tape, and start anew with the next") {
  ParameterSet params(3);
  const Scope here = params / "here", there = params / "there";
  std::vector<uint64_t> first, second;
  for (auto* places : {&first, &second}) {
    Tape tape;
    for (int i = 0; i < 3; ++i) places->push_back(here.next_key().place);
    places->push_back(there.next_key().place);
  }
  CHECK(first == second);
  for (size_t i = 0; i < first.size(); ++i)
    for (size_t k = 0; k < i; ++k) CHECK(first[i] != first[k]);
  params.set_step(5);
  CHECK(here.next_key().step == 5);
  CHECK(here.next_key().seed == 3);
}

// --- gradients from step to step ---------------------------------------------------------------------------

TEST_CASE("threads that use a model for the first time together see the same first values") {
  for (int round = 0; round < 20; ++round) {
    ParameterSet params(7);
    Parameter& p = params.add("w", {400, 300}, Init::uniform(-1, 1));
    std::vector<std::vector<real>> seen(4);
    std::vector<std::thread> threads;
    for (auto& values : seen) threads.emplace_back([&] { values = p.leaf_value().to_host(); });
    for (std::thread& thread : threads) thread.join();
    CHECK(seen[0][5] != 0);
    for (const auto& values : seen) CHECK(values == seen[0]);
  }
}
