// The kernels of the LSTM's cell and of the losses, against plain loops in double.
#include <cstring>

#include "tests/framework/kernel_checks.h"

using namespace unroll;

TEST_CASE("the LSTM cell and its gradient") {
  Numbers numbers("lstm_cell");
  for (const auto& [batch, hidden] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 31}, {2, 33}, {20, 200}, {5, 1000}, {40, 1000}}) {
    const Reals gates = numbers.reals(batch * hidden * 4, -4, 4), c_prev = numbers.reals(batch * hidden);
    const Reals dh = numbers.reals(batch * hidden), dc = numbers.reals(batch * hidden);
    each_variant([&, batch = batch, hidden = hidden](const Kernels& k) {
      CAPTURE(batch);
      CAPTURE(hidden);
      Reals a(gates), c(c_prev.size()), h(c_prev.size()), dc_prev(dc);
      const LstmStep step{.batch = batch,
                          .hidden = hidden,
                          .gates = a.data(),
                          .c_prev = c_prev.data(),
                          .c = c.data(),
                          .h = h.data()};
      k.lstm_cell(step);
      struct Unit {
        double i, f, g, o, c, h, c_prev, dh, dc;
      };
      const auto unit = [&](int64_t at) {
        const auto gate = [&](int64_t q) {
          return static_cast<double>(
              gates[static_cast<size_t>((at / hidden * 4 + q) * hidden + at % hidden)]);
        };
        const size_t j = static_cast<size_t>(at);
        Unit u{sigmoid(gate(0)),
               sigmoid(gate(1)),
               std::tanh(gate(2)),
               sigmoid(gate(3)),
               0,
               0,
               static_cast<double>(c_prev[j]),
               static_cast<double>(dh[j]),
               static_cast<double>(dc[j])};
        u.c = u.f * u.c_prev + u.i * u.g;
        u.h = u.o * std::tanh(u.c);
        u.dc += u.dh * u.o * (1 - std::pow(std::tanh(u.c), 2));
        return u;
      };
      const auto of_gate = [&](int64_t at, auto part) {
        const int64_t row = at / (4 * hidden), q = at / hidden % 4;
        return part(unit(row * hidden + at % hidden), q);
      };
      check_close(c, [&](int64_t at) { return unit(at).c; });
      check_close(h, [&](int64_t at) { return unit(at).h; });
      check_close(a, [&](int64_t at) {
        return of_gate(at, [](const Unit& u, int64_t q) {
          return q == 0 ? u.i : q == 1 ? u.f : q == 2 ? u.g : u.o;
        });
      });
      k.lstm_cell_gradient(step, dh.data(), dc.data(), dc_prev.data());
      check_close(
          dc_prev, [&](int64_t at) { return unit(at).dc * unit(at).f; }, 4);
      check_close(
          a,
          [&](int64_t at) {
            return of_gate(at, [](const Unit& u, int64_t q) {
              return q == 0   ? u.dc * u.g * u.i * (1 - u.i)
                     : q == 1 ? u.dc * u.c_prev * u.f * (1 - u.f)
                     : q == 2 ? u.dc * u.i * (1 - u.g * u.g)
                              : u.dh * std::tanh(u.c) * u.o * (1 - u.o);
            });
          },
          4);
    });
  }
}

#ifdef UNROLL_TEST_DEVICE
TEST_CASE("what enters products is written in 16 bits, too, rounded as products round it") {
  Numbers numbers("rounded");
  const int64_t batch = 3, hidden = 11, n = batch * hidden;
  const Kernels& k = kernels();
  const Reals one = numbers.reals(n), two = numbers.reals(n), gain = numbers.reals(4 * hidden);
  for (const bool half : {false, true}) {
    const Products& products = half ? k.fp16 : k.bf16;
    KernelVector<uint16_t> copy(static_cast<size_t>(4 * n)), want(copy);
    const RoundedCopy rounded{copy.data(), half};
    const auto check = [&](const char* what, const Reals& written) {
      INFO(std::string(what));
      products.round(written.data(), want.data(), static_cast<int64_t>(written.size()));
      CHECK(std::memcmp(copy.data(), want.data(), 2 * written.size()) == 0);
      std::ranges::fill(copy, uint16_t{0x7fff});
    };
    Reals state(one), entering(one);
    k.hand_on({.mask = two.data(), .entering = entering.data(), .rounded = rounded}, one.data(), batch,
              hidden, state.data());
    check("h times its mask", entering);
    k.hand_on_gradient({.mask = two.data(), .rounded = rounded}, one.data(), batch, hidden, state.data());
    check("d of h", state);
    const auto gates = [&](int64_t count) { return numbers.reals(count * n, 0, 1); };
    for (const int kind : {0, 1, 2}) {  // all gates, three, and h's product normalised
      Reals a = gates(kind == 1 ? 3 : 4), c(one), product = gates(4), mean = numbers.reals(batch), rstd(mean),
            dgain = gates(4);
      LstmStep step{.batch = batch,
                    .hidden = hidden,
                    .gates = a.data(),
                    .c_prev = two.data(),
                    .c = c.data(),
                    .h = state.data(),
                    .coupled = kind == 1};
      if (kind == 2) step.norm_h = {gain.data(), product.data(), mean.data(), rstd.data(), dgain.data()};
      step.rounded_gates = rounded;
      k.lstm_cell_gradient(step, two.data(), one.data(), entering.data());
      check("an LSTM's gates", kind == 2 ? product : a);
    }
    Reals a = gates(3), q = gates(3), sums(one);
    k.gru_cell_gradient({.batch = batch,
                         .hidden = hidden,
                         .gates = a.data(),
                         .sums = q.data(),
                         .bias_hn = nullptr,
                         .h_prev = two.data(),
                         .h = nullptr,
                         .rounded_sums = rounded},
                        one.data(), entering.data());
    check("a GRU's sums", q);
    k.rnn_cell_gradient({.batch = batch,
                         .hidden = hidden,
                         .f = Unary::tanh,
                         .sums = sums.data(),
                         .h = nullptr,
                         .rounded_sums = rounded},
                        two.data());
    check("a plain network's sums", sums);
  }
}
#endif

// --- losses --------------------------------------------------------------------------------------

TEST_CASE("cross-entropy, its gradient, weights, ignored and extreme rows") {
  Numbers numbers("cross_entropy");
  for (const auto& [rows, cols] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {5, 31}, {6, 33}, {9, 1000}, {40, 10000}}) {
    Reals x = numbers.reals(rows * cols, -6, 6);
    x[0] = 5000, x[1] = -infinity;
    Ids target = numbers.ids(rows, static_cast<uint32_t>(cols));
    target[0] = 0;
    if (rows > 2) target[2] = -1;
    const Reals weights = numbers.reals(rows, 0, 2);
    for (bool weighted : {false, true}) {
      each_variant([&, rows = rows, cols = cols](const Kernels& k) {
        CAPTURE(rows);
        CAPTURE(cols);
        Reals same(x), dx(x), loss(static_cast<size_t>(rows)), again(loss);
        const real* w = weighted ? weights.data() : nullptr;
        k.cross_entropy(same.data(), target.data(), w, -1, rows, cols, loss.data(), false, 3, 0, nullptr, {});
        CHECK(std::memcmp(same.data(), x.data(), x.size() * sizeof(real)) == 0);
        k.cross_entropy(dx.data(), target.data(), w, -1, rows, cols, again.data(), true, 3, 0, nullptr, {});
        std::vector<double> want(x.size()), losses(loss.size());
        for (int64_t r = 0; r < rows; ++r) {
          const size_t at = static_cast<size_t>(r * cols), n = static_cast<size_t>(cols),
                       row = static_cast<size_t>(r);
          if (target[row] == -1) continue;
          const double largest = static_cast<double>(*std::max_element(&x[at], &x[at] + n));
          const double weight = weighted ? static_cast<double>(weights[row]) : 1;
          double total = 0;
          for (size_t c = at; c < at + n; ++c)
            total += want[c] = std::exp(static_cast<double>(x[c]) - largest);
          for (size_t c = at; c < at + n; ++c) want[c] *= weight * 3 / total;
          const size_t chosen = at + static_cast<size_t>(target[row]);
          want[chosen] -= weight * 3;
          losses[row] = weight * (std::log(total) + largest - static_cast<double>(x[chosen]));
        }
        check_close(loss, [&](int64_t r) { return losses[static_cast<size_t>(r)]; });
        CHECK(loss == again);
        check_close(dx, [&](int64_t i) { return want[static_cast<size_t>(i)]; });
      });
    }
  }
  each_variant([](const Kernels& k) {
    Reals x(100, 1), loss(1);
    x[70] = not_a_number;
    const Ids target(1, 3);
    k.cross_entropy(x.data(), target.data(), nullptr, -1, 1, 100, loss.data(), false, 1, 0, nullptr, {});
    CHECK(std::isnan(loss[0]));
  });
}

TEST_CASE("a row of a cross-entropy that is not scored, or has the weight 0, may hold anything") {
  constexpr int64_t rows = 5, cols = 33;
  Numbers numbers("cross_entropy left out");
  const Reals usual = numbers.reals(rows * cols, -6, 6), weights = {1, 0, real(0.5), real(-0.0), 2};
  const Ids target = {3, 1, -1, 30, 32};
  const Reals share = {1, 0, 0, 0, 1};
  each_variant([&](const Kernels& k) {
    const auto run = [&](Reals& x, Reals& loss) {
      Reals scored(rows, 7);
      k.cross_entropy(x.data(), target.data(), weights.data(), -1, rows, cols, loss.data(), true, 3, 0,
                      scored.data(), {});
      CHECK(scored == share);
    };
    Reals dx = usual, loss(rows, 7);
    run(dx, loss);
    for (const real poison : {not_a_number, infinity, -infinity}) {
      Reals x = usual, losses(rows, 7);
      std::fill(x.begin() + cols, x.begin() + 4 * cols, poison);
      run(x, losses);
      CHECK(x == dx);
      CHECK(losses == loss);
    }
    for (int64_t i = cols; i < 4 * cols; ++i) CHECK(dx[static_cast<size_t>(i)] == 0);
    CHECK((loss[0] > 0 && loss[1] == 0 && loss[2] == 0 && loss[3] == 0 && loss[4] > 0));
  });
}

TEST_CASE("binary cross-entropy and its gradient") {
  Numbers numbers("binary_cross_entropy");
  for (int64_t n : odd_sizes) {
    Reals x = numbers.reals(n, -9, 9);
    x[0] = 200;
    if (n > 1) x[1] = -200;
    const Reals t = numbers.reals(n, 0, 1), dy = numbers.reals(n), before = numbers.reals(n);
    const auto at = [](const Reals& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); };
    each_variant([&](const Kernels& k) {
      Reals y(x.size()), dx(x.size()), sum(before);
      k.binary_cross_entropy(x.data(), t.data(), 3, y.data(), n);
      k.binary_cross_entropy_gradient(x.data(), t.data(), 3, dy.data(), dx.data(), n, false);
      k.binary_cross_entropy_gradient(x.data(), t.data(), 3, dy.data(), sum.data(), n, true);
      check_close(y, [&](int64_t i) {
        return 3 * at(t, i) * softplus(-at(x, i)) + (1 - at(t, i)) * softplus(at(x, i));
      });
      const auto slope = [&](int64_t i) {
        return at(dy, i) * ((1 - at(t, i)) * sigmoid(at(x, i)) - 3 * at(t, i) * sigmoid(-at(x, i)));
      };
      check_close(dx, slope, 4);
      check_close(sum, slope, 4, &before);
    });
  }
}
