// The CPU's kernels, in every instruction set of this machine: the tables, random masks, the optimizers'
// passes.
#include <array>
#include <cstddef>
#include <cstdlib>

#include "framework/check.h"
#include "tests/framework/kernel_checks.h"
#include "tests/support.h"

using namespace unroll;

TEST_CASE("every back end fills the whole table") {
  each_variant([](const Kernels& k) {
    const char* const* entries = reinterpret_cast<const char* const*>(&k);  // all entries are pointers
    for (size_t i = offsetof(Kernels, fill) / sizeof(void*); i < sizeof(Kernels) / sizeof(void*); ++i) {
      CAPTURE(i);
      CHECK(entries[i] != nullptr);
    }
    CHECK(k.name);
    // Products of other precisions exist on some processors only.
    CHECK((k.fp32.gemm && k.fp32.pack && k.fp32.packed_bytes));
  });
  CHECK(std::string(cpu::variants().front().name) == "baseline");
}

TEST_CASE("an instruction set is chosen by name, and an unknown one is refused in one line") {
  for (const cpu::Variant& variant : cpu::variants()) {
    if (variant.runs_here) {
      CHECK(std::string(cpu::choose(variant.name).name) == variant.name);
      CHECK(cpu::choose(nullptr).name != nullptr);
    } else {
      CHECK_THROWS_AS(cpu::choose(variant.name), InputError);
    }
  }
  if constexpr (is_float) CHECK(&host_kernels() == &cpu::choose(std::getenv("UNROLL_ISA")));
  try {
    cpu::choose("sse9");
    FAIL("accepted");
  } catch (const InputError& error) {
    const std::string text = error.what();
    CHECK(text.find("UNROLL_ISA=sse9") == 0);
    CHECK(text.find("baseline") != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  }
}

// --- random numbers ------------------------------------------------------------------------------

TEST_CASE("Philox 4x32-10 gives the known answers of its authors") {
  using Four = std::array<uint32_t, 4>;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) ==
        Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("dropout keeps what RandomKey says, in place, added and locked over time") {
  Numbers numbers("dropout");
  const RandomKey key{.seed = 0x123456789abcdef, .place = place_of("lstm/dropout", 3), .step = 41};
  struct Size {
    int64_t n, period;
  };
  for (const auto& [n, period] : std::vector<Size>{{1, 1},
                                                   {31, 31},
                                                   {33, 33},
                                                   {1000, 1000},
                                                   {1000, 40},
                                                   {999, 333},
                                                   {35 * 66, 66},
                                                   {20000, 4000},
                                                   {parallel_size, parallel_size}}) {
    for (real rate : {real(0), real(0.5), real(0.3), real(0.999)}) {
      const Reals x = numbers.reals(n), before = numbers.reals(n);
      each_variant([&, n = n, period = period](const Kernels& k) {
        CAPTURE(n);
        CAPTURE(period);
        Reals y(x), sum(before);
        k.dropout(y.data(), rate, key, period, y.data(), n, false);
        k.dropout(x.data(), rate, key, period, sum.data(), n, true);
        const auto expected = [&](int64_t i) {
          const bool kept = static_cast<real>(key.uniform(static_cast<uint64_t>(i % period))) >= rate;
          return kept ? static_cast<double>(x[static_cast<size_t>(i)]) / (1 - static_cast<double>(rate))
                      : 0.0;
        };
        int64_t differences = 0;
        for (int64_t i = 0; i < n; ++i) differences += (expected(i) == 0) != (y[static_cast<size_t>(i)] == 0);
        CHECK(differences == 0);
        check_close(y, expected);
        check_close(sum, expected, 1 / (1 - static_cast<double>(rate)), &before);
      });
    }
  }
}

TEST_CASE(
    "a state is handed on: exactly where a share is 0 or 1, and as 0 where a row begins anew, whatever it holds") {
  Numbers numbers("hand_on");
  for (const auto& [rows, cols] : matrices) {
    const int64_t n = rows * cols;
    Reals computed = numbers.reals(n), mask = numbers.reals(n), kept(static_cast<size_t>(rows), 1);
    const Reals before = numbers.reals(n);
    Reals u = numbers.reals(n, 0, 1);
    for (int64_t i = 0; i < n; ++i)
      if (i % 3 > 0) u[static_cast<size_t>(i)] = static_cast<real>(i % 3 - 1);
    kept[static_cast<size_t>(rows - 1)] = 0;
    computed[static_cast<size_t>(n - 1)] = not_a_number;
    const auto share = [&](int64_t i) { return double{u[static_cast<size_t>(i)]}; };
    const auto state_of = [&](int64_t i) {
      const size_t j = static_cast<size_t>(i);
      return share(i) * double{computed[j]} + (1 - share(i)) * double{before[j]};
    };
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      Reals state(computed), met(before), entering(before);
      k.hand_on({.share = u.data(),
                 .kept = kept.data(),
                 .mask = mask.data(),
                 .before = met.data(),
                 .met = met.data(),
                 .entering = entering.data()},
                state.data(), rows, cols, state.data());  // all in place
      int64_t wrong = 0;
      for (int64_t i = 0; i < n - 1; ++i) {
        const size_t j = static_cast<size_t>(i);
        const bool anew = i / cols == rows - 1;
        wrong += i % 3 == 1   ? state[j] != before[j]
                 : i % 3 == 2 ? state[j] != computed[j]
                              : std::abs(double{state[j]} - state_of(i)) > rounding;
        wrong += met[j] != (anew ? 0 : state[j]);
        wrong += std::abs(double{entering[j]} - double{met[j]} * double{mask[j]}) > rounding;
      }
      CHECK(wrong == 0);
      CHECK(met.back() == 0);
      CHECK(entering.back() == 0);
    });
  }
}

TEST_CASE("a state's gradient goes back through what handed it on, each option alone and all together") {
  Numbers numbers("hand_on_gradient");
  for (const auto& [rows, cols] : matrices) {
    const int64_t n = rows * cols;
    const Reals d = numbers.reals(n), mask = numbers.reals(n), dy = numbers.reals(n),
                direct = numbers.reals(n), u = numbers.reals(n, 0, 1), rest = numbers.reals(n);
    Reals kept(static_cast<size_t>(rows), 1);
    kept[0] = 0;
    for (int options = 0; options < 64;
         options = options < 32 ? std::max(1, 2 * options) : options + 31) {  // 1, 2, 4, …, 63
      each_variant([&, rows = rows, cols = cols](const Kernels& k) {
        CAPTURE(options);
        Reals of_computed(d), waits(rest);
        HandOn on;
        if (options & 1) on.share = u.data(), on.rest_of_before = waits.data();
        if (options & 2) on.kept = kept.data();
        if (options & 4) on.mask = mask.data();
        if (options & 8) on.dy = dy.data();
        if (options & 16) on.direct = direct.data();
        if (options & 32) on.rest = waits.data();
        k.hand_on_gradient(on, of_computed.data(), rows, cols, of_computed.data());
        const auto of_state = [&, cols = cols](int64_t i) {
          const size_t j = static_cast<size_t>(i);
          double sum = double{d[j]} * (options & 4 ? double{mask[j]} : 1) +
                       (options & 16 ? double{direct[j]} : 0) + (options & 32 ? double{rest[j]} : 0);
          if (options & 2 && i / cols == 0) sum = 0;
          return sum + (options & 8 ? double{dy[j]} : 0);
        };
        const auto share = [&](int64_t i) { return options & 1 ? double{u[static_cast<size_t>(i)]} : 1.0; };
        check_close(
            of_computed, [&](int64_t i) { return share(i) * of_state(i); }, 4);
        if (options & 1)
          check_close(
              waits, [&](int64_t i) { return (1 - share(i)) * of_state(i); }, 4);
      });
    }
  }
}

TEST_CASE("keep_rows lets rows through or leaves zeros, whatever they hold, in place and added") {
  Numbers numbers("keep_rows");
  for (const auto& [rows, cols] : matrices) {
    const Reals x = numbers.reals(rows * cols), before = numbers.reals(rows * cols);
    Reals kept(static_cast<size_t>(rows), 1), holed(x);
    for (int64_t r = 0; r < rows; r += 2) {
      kept[static_cast<size_t>(r)] = 0;
      std::fill_n(holed.begin() + r * cols, cols, r % 4 ? not_a_number : infinity);
    }
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      Reals y(holed), sum(before);
      k.keep_rows(y.data(), kept.data(), rows, cols, y.data(), false);
      k.keep_rows(holed.data(), kept.data(), rows, cols, sum.data(), true);
      int64_t wrong = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const bool stays = kept[i / static_cast<size_t>(cols)] != 0;
        wrong += y[i] != (stays ? x[i] : 0);
        wrong += sum[i] != (stays ? before[i] + x[i] : before[i]);
      }
      CHECK(wrong == 0);
    });
  }
}

// --- updates -------------------------------------------------------------------------------------

TEST_CASE("sums over slabs do not depend on the number of threads") {
  Numbers numbers("sums");
  for (int64_t n : {int64_t{1}, int64_t{31}, int64_t{1000}, parallel_size}) {
    const Reals x = numbers.reals(n);
    double squares = 0;
    for (real v : x) squares += static_cast<double>(v) * static_cast<double>(v);
    each_variant([&](const Kernels& k) {
      CHECK(k.sum_of_squares(x.data(), n) == doctest::Approx(squares).epsilon(1e-12));
    });
  }
  const Reals x = numbers.reals(parallel_size);
  const Threads guard(1);
  each_variant([&](const Kernels& k) {
    set_threads(1);
    const double squares = k.sum_of_squares(x.data(), parallel_size);
    Reals sums(501), same(501);
    k.sum_rows(x.data(), 299, 501, sums.data(), false);
    for (int count : {2, 3}) {
      set_threads(count);
      CHECK(k.sum_of_squares(x.data(), parallel_size) == squares);
      k.sum_rows(x.data(), 299, 501, same.data(), false);
      CHECK(same == sums);
    }
  });
  const Reals large(100, std::numeric_limits<real>::max() / 4);
  each_variant([&](const Kernels& k) {
    if (is_float) CHECK(std::isfinite(k.sum_of_squares(large.data(), 100)));
    const Reals spoiled = {1, not_a_number, 2};
    CHECK(std::isnan(k.sum_of_squares(spoiled.data(), 3)));
  });
}

using Steps = KernelVector<StepValues>;

TEST_CASE("a step decides on its norm, its clipping and whether it happens") {
  Numbers numbers("steps");
  const Reals x = numbers.reals(1000), three = {3}, infinite = {std::numeric_limits<real>::infinity()};
  double squares = 0;
  for (real v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  each_variant([&](const Kernels& k) {
    Steps step{
        {.orders = {.factor = 0.5, .max_norm = 2, .step = 7}, .outcome = {.total = 10, .interval_total = 1}}};
    StepOutcome& outcome = step[0].outcome;
    const auto decide = [&](const Reals& mean, const Reals& objective, double largest,
                            const Reals& gradient) {
      k.add_loss(three.data(), three.data(), 4, 100, step.data());
      k.add_loss(mean.data(), objective.data(), 2, largest, step.data());
      k.add_squares(x.data(), 600, step.data());
      k.add_squares(gradient.data() + 600, 400, step.data());
      k.decide_step(step.data());
    };
    const double norm = 0.5 * std::sqrt(squares);
    for (double max_norm : {2.0, std::numeric_limits<double>::infinity(), 0.0}) {
      outcome = {.total = 10, .interval_total = 1};
      step[0].orders.max_norm = max_norm;
      decide(three, three, 100, x);
      CHECK(outcome.norm == doctest::Approx(norm).epsilon(1e-12));
      CHECK(outcome.scale == doctest::Approx(max_norm == 2.0 ? 0.5 * 2 / (norm + 1e-6) : 0.5).epsilon(1e-12));
      CHECK(outcome.go == 1);
      CHECK(outcome.total == 28);
      CHECK(outcome.interval_total == 19);
      CHECK(outcome.loss == 0);
      CHECK(outcome.squares == 0);
    }
    Reals spoiled(x);
    spoiled[700] = not_a_number;
    const auto fails = [&](const Reals& mean, const Reals& objective, double largest, const Reals& gradient) {
      outcome = {.total = 10};
      step[0].orders.step = 7;
      decide(mean, objective, largest, gradient);
      CHECK(outcome.failed == 1);
      step[0].orders.step = 8;  // which is well itself
      decide(three, three, 100, x);
      CHECK(outcome.go == 0);
      CHECK(outcome.failed_step == 7);
      CHECK(outcome.total == 10);
      Reals p = {1}, m = {1}, v = {1};
      const Reals g = {1};
      step[0].orders.momentum = 0.5;
      k.update_weights({}, step.data(), p.data(), g.data(), v.data(), nullptr, 1);
      k.update_weights({}, step.data(), p.data(), g.data(), nullptr, nullptr, 1);
      k.update_weights({.rule = UpdateRule::adam, .beta2 = real(0.5)}, step.data(), p.data(), g.data(),
                       m.data(), v.data(), 1);
      k.average(step.data(), p.data(), m.data(), 1);
      k.dynamic({.decay = 1, .epsilon = 1}, step.data(), p.data(), g.data(), three.data(), v.data(), 1);
      k.keep(step.data(), three.data(), m.data(), 1);
      CHECK(p[0] == 1);
      CHECK(m[0] == 1);
      CHECK(v[0] == 1);
    };
    fails(infinite, three, 100, x);
    fails(three, infinite, 100, x);
    fails(three, three, 2, x);
    fails(three, three, 100, spoiled);
    outcome = {};
    Reals kept = {1};
    k.keep(step.data(), three.data(), kept.data(), 1);
    CHECK(kept[0] == 3);
  });
}

TEST_CASE("optimizers' updates follow PyTorch's definitions") {
  Numbers numbers("updates");
  for (int64_t n : {int64_t{1}, int64_t{31}, int64_t{33}, int64_t{1000}, parallel_size}) {
    const Reals p = numbers.reals(n), g = numbers.reals(n), first = numbers.reals(n),
                second = numbers.reals(n, 0, 1);
    const auto at = [](const Reals& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); };
    each_variant([&](const Kernels& k) {
      CAPTURE(n);
      for (int variant = 0; variant < 8; ++variant) {
        const WeightUpdate u{.weight_decay = real(0.25), .nesterov = (variant & 2) != 0};
        const bool begins = (variant & 4) != 0;
        const Steps step{
            {.orders = {.learning_rate = 0.1, .momentum = variant & 1 ? 0.9 : 0, .first = begins},
             .outcome = {.scale = 0.5}}};
        Reals q(p), v(first);
        k.update_weights(u, step.data(), q.data(), g.data(), v.data(), nullptr, n);
        const auto direction = [&](int64_t i) { return 0.5 * at(g, i) + 0.25 * at(p, i); };
        const double momentum = static_cast<double>(static_cast<real>(step[0].orders.momentum)), rate = 0.1;
        const auto velocity = [&](int64_t i) {
          return begins ? direction(i) : momentum * at(first, i) + direction(i);
        };
        check_close(v, velocity, 2);
        check_close(
            q,
            [&](int64_t i) {
              return at(p, i) - rate * (u.nesterov ? direction(i) + momentum * velocity(i) : velocity(i));
            },
            2);
        Reals plain(p);
        k.update_weights(u, step.data(), plain.data(), g.data(), nullptr, nullptr, n);
        check_close(
            plain, [&](int64_t i) { return at(p, i) - rate * direction(i); }, 2);
      }
      for (bool decoupled : {false, true}) {
        const WeightUpdate u{.rule = UpdateRule::adam,
                             .weight_decay = real(0.25),
                             .decoupled = decoupled,
                             .beta2 = real(0.875),
                             .eps = real(1e-8)};
        const Steps step{{.orders = {.learning_rate = 0.01,
                                     .momentum = 0.75,
                                     .correction1 = 0.4375,
                                     .correction2 = 0.234375},
                          .outcome = {.scale = 0.5}}};
        Reals q(p), m(first), v(second);
        k.update_weights(u, step.data(), q.data(), g.data(), m.data(), v.data(), n);
        const auto direction = [&](int64_t i) { return 0.5 * at(g, i) + (decoupled ? 0 : 0.25 * at(p, i)); };
        const auto mean = [&](int64_t i) { return 0.75 * at(first, i) + 0.25 * direction(i); };
        const auto square = [&](int64_t i) {
          return 0.875 * at(second, i) + 0.125 * direction(i) * direction(i);
        };
        check_close(m, mean, 2);
        check_close(v, square, 2);
        const double rate = 0.01;
        check_close(
            q,
            [&](int64_t i) {
              const double decayed = at(p, i) * (decoupled ? 1 - rate * 0.25 : 1);
              return decayed - rate * (mean(i) / 0.4375) / (std::sqrt(square(i) / 0.234375) + 1e-8);
            },
            2);
      }
      for (const bool with_gradient : {true, false}) {
        const DynamicUpdate u{.decay = real(0.75), .epsilon = real(0.25), .rate = 0.5};
        const Steps step{{.orders = {.learning_rate = 0.01}, .outcome = {.scale = 2}}};
        Reals rms(second), q(p);
        for (real& r : rms) r *= 2;  // up to 2: the share of the way back would be up to 1.5
        k.dynamic(u, step.data(), q.data(), with_gradient ? g.data() : nullptr, first.data(), rms.data(), n);
        check_close(
            q,
            [&](int64_t i) {
              const double back = std::min(1.0, 0.75 * at(rms, i)) * (at(first, i) - at(p, i));
              return at(p, i) + back - (with_gradient ? 0.01 * at(g, i) / (at(rms, i) + 0.25) : 0);
            },
            4);
      }
      Reals sum(first);
      k.add_square(g.data(), sum.data(), n);
      check_close(
          sum, [&](int64_t i) { return at(first, i) + at(g, i) * at(g, i); }, 4);
      Reals mean(first);
      const Steps step{{.orders = {.average_weight = 0.25}, .outcome = {}}};
      k.average(step.data(), p.data(), mean.data(), n);
      check_close(
          mean, [&](int64_t i) { return at(first, i) + 0.25 * (at(p, i) - at(first, i)); }, 2);
    });
  }
}
