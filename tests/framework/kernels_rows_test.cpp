// Kernels on rows and on one dimension of a block, against plain loops in double.
#include "tests/framework/kernel_checks.h"

using namespace unroll;

TEST_CASE("sums of rows") {
  Numbers numbers("rows");
  for (const auto& [rows, cols] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {31, 1}, {3, 33}, {7, 300}, {33, 31}, {20, 1000}, {300, 700}}) {
    const Reals x = numbers.reals(rows * cols), b = numbers.reals(cols);
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      Reals sums(b.size()), more(b);
      k.sum_rows(x.data(), rows, cols, sums.data(), false);
      k.sum_rows(x.data(), rows, cols, more.data(), true);
      const auto expected = [&](int64_t c) {
        double sum = 0;
        for (int64_t r = 0; r < rows; ++r) sum += static_cast<double>(x[static_cast<size_t>(r * cols + c)]);
        return sum;
      };
      check_close(sums, expected, std::sqrt(static_cast<double>(rows)) * 4);
      check_close(more, expected, std::sqrt(static_cast<double>(rows)) * 4, &b);
    });
  }
}

TEST_CASE("a sum of millions of rows is as good as those of its blocks") {
  // 256 additions of four rows to a block's sum and 4,096 blocks: (256 + 4096 + 3) eps / 2 at most. One sum of all rows would
  // have a million additions, and be 1 % off.
  constexpr int64_t rows = int64_t{1} << 22;
  const Reals x(static_cast<size_t>(rows), real(0.1));
  const double expected = static_cast<double>(rows) * static_cast<double>(real(0.1));
  each_variant([&](const Kernels& k) {
    Reals sum(1);
    k.sum_rows(x.data(), rows, 1, sum.data(), false);
    CHECK(std::abs(static_cast<double>(sum[0]) / expected - 1) <
          4355 * static_cast<double>(std::numeric_limits<real>::epsilon()) / 2);
  });
}

TEST_CASE("softmax and its gradient, also for extreme rows") {
  Numbers numbers("softmax");
  for (const auto& [rows, cols] : matrices) {
    Reals x = numbers.reals(rows * cols, -5, 5);
    x[0] = 3000, x.back() = -infinity;
    if (cols == 1) x[0] = x.back() = 0;
    const Reals dy = numbers.reals(rows * cols), before = numbers.reals(rows * cols);
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      CAPTURE(rows);
      CAPTURE(cols);
      Reals y(x.size()), dx(x.size()), sum(before);
      k.softmax(x.data(), rows, cols, y.data());
      k.softmax_gradient(y.data(), dy.data(), rows, cols, dx.data(), false);
      k.softmax_gradient(y.data(), dy.data(), rows, cols, sum.data(), true);
      std::vector<double> want(x.size()), slope(x.size());
      for (int64_t r = 0; r < rows; ++r) {
        const size_t at = static_cast<size_t>(r * cols), n = static_cast<size_t>(cols);
        const double largest = static_cast<double>(*std::max_element(&x[at], &x[at] + n));
        double total = 0, dot = 0;
        for (size_t c = at; c < at + n; ++c) total += want[c] = std::exp(static_cast<double>(x[c]) - largest);
        for (size_t c = at; c < at + n; ++c) dot += (want[c] /= total) * static_cast<double>(dy[c]);
        for (size_t c = at; c < at + n; ++c) slope[c] = want[c] * (static_cast<double>(dy[c]) - dot);
      }
      check_close(y, [&](int64_t i) { return want[static_cast<size_t>(i)]; });
      check_close(
          dx, [&](int64_t i) { return slope[static_cast<size_t>(i)]; }, 2);
      check_close(
          sum, [&](int64_t i) { return slope[static_cast<size_t>(i)]; }, 2, &before);
    });
  }
  each_variant([](const Kernels& k) {  // one NaN spoils its row and no other
    Reals x(80, 1), y(80);
    x[5] = not_a_number;
    k.softmax(x.data(), 2, 40, y.data());
    CHECK(std::all_of(y.begin(), y.begin() + 40, [](real v) { return std::isnan(v); }));
    CHECK(std::none_of(y.begin() + 40, y.end(), [](real v) { return std::isnan(v); }));
  });
}

TEST_CASE("log softmax and its gradient") {
  Numbers numbers("log_softmax");
  for (const auto& [rows, cols] : matrices) {
    Reals x = numbers.reals(rows * cols, -5, 5);
    if (cols > 1) x[0] = 3000, x.back() = -infinity;
    const Reals dy = numbers.reals(rows * cols), before = numbers.reals(rows * cols);
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      CAPTURE(rows);
      CAPTURE(cols);
      Reals y(x.size()), dx(x.size()), sum(before);
      k.log_softmax(x.data(), rows, cols, y.data());
      k.log_softmax_gradient(y.data(), dy.data(), rows, cols, dx.data(), false);
      k.log_softmax_gradient(y.data(), dy.data(), rows, cols, sum.data(), true);
      std::vector<double> want(x.size()), slope(x.size());
      for (int64_t r = 0; r < rows; ++r) {
        const size_t at = static_cast<size_t>(r * cols), n = static_cast<size_t>(cols);
        const double largest = static_cast<double>(*std::max_element(&x[at], &x[at] + n));
        double total = 0, upstream = 0;
        for (size_t c = at; c < at + n; ++c) total += std::exp(static_cast<double>(x[c]) - largest);
        for (size_t c = at; c < at + n; ++c) upstream += static_cast<double>(dy[c]);
        for (size_t c = at; c < at + n; ++c) {
          want[c] = static_cast<double>(x[c]) - largest - std::log(total);
          slope[c] = static_cast<double>(dy[c]) - std::exp(want[c]) * upstream;
        }
      }
      if (cols > 1) {
        CHECK(y.back() == -infinity);
        y.back() = 0, want.back() = 0;
      }
      check_close(
          y, [&](int64_t i) { return want[static_cast<size_t>(i)]; }, 5);
      check_close(
          dx, [&](int64_t i) { return slope[static_cast<size_t>(i)]; }, 20);
      check_close(
          sum, [&](int64_t i) { return slope[static_cast<size_t>(i)]; }, 20, &before);
    });
  }
}

TEST_CASE("layer norm and its gradients") {
  Numbers numbers("layer_norm");
  for (const auto& [rows, cols] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {3, 33}, {7, 300}, {33, 31}, {20, 1000}}) {
    const Reals x = numbers.reals(rows * cols, 9, 12), dy = numbers.reals(rows * cols),
                before = numbers.reals(rows * cols);
    const Reals gain = numbers.reals(cols), bias = numbers.reals(cols);
    const real eps = real(1e-5);
    const auto at = [](const Reals& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); };
    std::vector<double> mean(static_cast<size_t>(rows)), rstd(mean.size()), a(mean.size()), b(mean.size());
    for (int64_t r = 0; r < rows; ++r) {
      const size_t i = static_cast<size_t>(r);
      for (int64_t c = 0; c < cols; ++c) mean[i] += at(x, r * cols + c) / static_cast<double>(cols);
      for (int64_t c = 0; c < cols; ++c)
        rstd[i] += std::pow(at(x, r * cols + c) - mean[i], 2) / static_cast<double>(cols);
      rstd[i] = 1 / std::sqrt(rstd[i] + static_cast<double>(eps));
      for (int64_t c = 0; c < cols; ++c) {
        const double g = at(dy, r * cols + c) * at(gain, c) / static_cast<double>(cols);
        a[i] += g;
        b[i] += g * (at(x, r * cols + c) - mean[i]) * rstd[i];
      }
    }
    const auto normal = [&](int64_t i) {
      const size_t r = static_cast<size_t>(i / cols);
      return (at(x, i) - mean[r]) * rstd[r];
    };
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      CAPTURE(rows);
      CAPTURE(cols);
      Reals y(x.size()), m(mean.size()), s(mean.size()), dx(x.size()), sum(before), dgain(gain), dbias(bias);
      k.layer_norm(x.data(), gain.data(), bias.data(), eps, rows, cols, y.data(), false, m.data(), s.data());
      check_close(
          y, [&](int64_t i) { return normal(i) * at(gain, i % cols) + at(bias, i % cols); }, 40);
      Reals added(before);
      k.layer_norm(x.data(), gain.data(), nullptr, eps, rows, cols, added.data(), true, m.data(), s.data());
      check_close(
          added, [&](int64_t i) { return normal(i) * at(gain, i % cols); }, 40, &before);
      k.layer_norm_gradient(x.data(), gain.data(), m.data(), s.data(), dy.data(), rows, cols, dx.data(),
                            false, nullptr, nullptr);
      k.layer_norm_gradient(x.data(), gain.data(), m.data(), s.data(), dy.data(), rows, cols, sum.data(),
                            true, dgain.data(), dbias.data());
      const auto slope = [&](int64_t i) {
        const size_t r = static_cast<size_t>(i / cols);
        return rstd[r] * (at(dy, i) * at(gain, i % cols) - a[r] - normal(i) * b[r]);
      };
      check_close(dx, slope, 40);
      check_close(sum, slope, 40, &before);
      Reals in_place(x), of_gain(gain);
      k.layer_norm_gradient(in_place.data(), gain.data(), m.data(), s.data(), dy.data(), rows, cols,
                            in_place.data(), false, of_gain.data(), nullptr);
      CHECK(in_place == dx);
      CHECK(of_gain == dgain);
      check_close(
          dgain,
          [&](int64_t c) {
            double total = 0;
            for (int64_t r = 0; r < rows; ++r) total += at(dy, r * cols + c) * normal(r * cols + c);
            return total;
          },
          40, &gain);
      check_close(
          dbias,
          [&](int64_t c) {
            double total = 0;
            for (int64_t r = 0; r < rows; ++r) total += at(dy, r * cols + c);
            return total;
          },
          40, &bias);
    });
  }
}

TEST_CASE("layer norm gives every number of a row its digits, wherever one lies far from the others") {
  constexpr int64_t n = 16384;
  Reals x = Numbers("outlier").reals(n, -1, 1);
  const Reals gain(x.size(), real(1));
  for (const size_t place : {size_t{0}, size_t{1}, x.size() - 1}) {
    const real replaced = std::exchange(x[place], real(1000));
    double mean = 0, squares = 0;
    for (const real v : x) mean += static_cast<double>(v) / n;
    for (const real v : x) squares += std::pow(static_cast<double>(v) - mean, 2);
    const double rstd = 1 / std::sqrt(squares / n + 1e-5);
    each_variant([&](const Kernels& k) {
      CAPTURE(place);
      Reals y(x.size()), of_mean(1), of_rstd(1);
      k.layer_norm(x.data(), gain.data(), nullptr, real(1e-5), 1, n, y.data(), false, of_mean.data(),
                   of_rstd.data());
      double worst = 0;  // of the others, which are ±rstd at most
      for (size_t i = 0; i < x.size(); ++i)
        if (i != place)
          worst = std::max(worst,
                           std::abs(static_cast<double>(y[i]) - (static_cast<double>(x[i]) - mean) * rstd));
      CHECK(worst <= rounding * rstd);
    });
    x[place] = replaced;
  }
}

TEST_CASE("sums and maxima over a middle dimension") {
  Numbers numbers("middle");
  struct Block {
    int64_t outer, n, inner;
  };
  for (const auto& [outer, n, inner] : std::vector<Block>{{1, 1, 1},
                                                          {1, 1000, 1},
                                                          {33, 31, 1},
                                                          {1, 31, 33},
                                                          {3, 7, 5},
                                                          {2, 33, 300},
                                                          {5, 1, 31},
                                                          {1, parallel_size, 1},
                                                          {4, 9, 5000}}) {
    const int64_t size = outer * n * inner, results = outer * inner;
    Reals x = numbers.reals(size);
    if (n > 2) x[static_cast<size_t>(inner)] = x[static_cast<size_t>(2 * inner)] = 7;  // equals
    const Reals dy = numbers.reals(results), before = numbers.reals(size);
    each_variant([&, outer = outer, n = n, inner = inner](const Kernels& k) {
      CAPTURE(outer);
      CAPTURE(n);
      CAPTURE(inner);
      const auto index = [&](int64_t i, int64_t j) {
        return static_cast<size_t>((i / inner * n + j) * inner + i % inner);
      };
      const auto result_of = [&](int64_t i) {
        return static_cast<size_t>(i / (n * inner) * inner + i % inner);
      };
      Reals y(dy.size()), dx(x.size()), sum(before);
      const real scale = real(0.25);
      k.sum_middle(x.data(), outer, n, inner, scale, y.data());
      check_close(
          y,
          [&](int64_t i) {
            double total = 0;
            for (int64_t j = 0; j < n; ++j) total += static_cast<double>(x[index(i, j)]);
            return 0.25 * total;
          },
          10);
      k.sum_middle_gradient(dy.data(), outer, n, inner, scale, dx.data(), false);
      k.sum_middle_gradient(dy.data(), outer, n, inner, scale, sum.data(), true);
      const auto spread = [&](int64_t i) { return 0.25 * static_cast<double>(dy[result_of(i)]); };
      check_close(dx, spread);
      check_close(sum, spread, 2, &before);

      Ids where(dy.size(), -1);
      k.max_middle(x.data(), outer, n, inner, y.data(), where.data());
      int64_t wrong = 0;
      Reals want(x.size());
      for (int64_t i = 0; i < results; ++i) {
        int64_t best = 0;
        for (int64_t j = 1; j < n; ++j) {
          if (x[index(i, j)] > x[index(i, best)]) best = j;
        }
        const size_t at = static_cast<size_t>(i);
        wrong += where[at] != best || y[at] != x[index(i, best)];
        want[index(i, best)] = dy[at];
      }
      CHECK(wrong == 0);
      k.max_middle_gradient(dy.data(), where.data(), outer, n, inner, dx.data());
      CHECK(dx == want);
    });
  }
  each_variant([](const Kernels& k) {  // NaN is the largest, the first one counts
    for (int64_t inner : {int64_t{1}, int64_t{3}}) {
      Reals x(static_cast<size_t>(20 * inner), 1), y(3);
      for (int64_t i : {7, 9}) x[static_cast<size_t>(i * inner)] = not_a_number;
      x[static_cast<size_t>(12 * inner)] = infinity;
      Ids where(3);
      k.max_middle(x.data(), 1, 20, inner, y.data(), where.data());
      CHECK(std::isnan(y[0]));
      CHECK(where[0] == 7);
    }
    Reals x(40, -infinity), y(1);
    Ids where(1, -1);
    k.max_middle(x.data(), 1, 40, 1, y.data(), where.data());
    CHECK(where[0] == 0);
  });
}

TEST_CASE("rows are taken by number and added back in order") {
  Numbers numbers("indices");
  for (int64_t cols : {1, 31, 33, 1000}) {
    for (int64_t n : {1, 33, 200}) {
      const Reals table = numbers.reals(50 * cols), dy = numbers.reals(n * cols);
      const Ids ids = numbers.ids(n, 50);
      each_variant([&](const Kernels& k) {
        Reals y(dy.size()), sum(table), want(table);
        k.take_rows(table.data(), ids.data(), n, cols, y.data());
        k.add_to_rows(dy.data(), ids.data(), n, cols, sum.data());
        int64_t wrong = 0;
        for (int64_t i = 0; i < n * cols; ++i) {
          const size_t from = static_cast<size_t>(ids[static_cast<size_t>(i / cols)] * cols + i % cols);
          wrong += y[static_cast<size_t>(i)] != table[from];
          want[from] += dy[static_cast<size_t>(i)];
        }
        CHECK(wrong == 0);
        CHECK(sum == want);
      });
    }
  }
}

TEST_CASE(
    "rows that are added beside a table have the bits of those added to zeros in it, and update its rows alike") {
  Numbers numbers("sums of rows");
  for (int64_t cols : {1, 4, 33, 300}) {
    for (int64_t n : {1, 33, 200}) {
      const Reals dy = numbers.reals(n * cols), weights = numbers.reals(50 * cols);
      const Ids ids = numbers.ids(n, 50);
      StepValues values;
      values.orders.learning_rate = 0.5;
      each_variant([&](const Kernels& k) {
        Reals sums(dy.size(), not_a_number), whole(weights.size(), 0), spread(whole), p(weights),
            padded(static_cast<size_t>(cols), 9);
        padded.insert(padded.end(), weights.begin(), weights.end());
        real* const of_rows = padded.data() + cols;
        Ids firsts(ids.size());
        KernelVector<StepValues> step(1, values);
        k.add_to_rows(dy.data(), ids.data(), n, cols, whole.data());
        k.sums_of_rows(dy.data(), ids.data(), n, cols, sums.data(), firsts.data());
        for (size_t i = 0; i < firsts.size(); ++i) {
          const bool again =
              std::count(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i), ids[i]) > 0;
          CHECK(firsts[i] == (again ? -1 : ids[i]));
        }
        k.add_to_rows(sums.data(), firsts.data(), n, cols, spread.data());
        CHECK(spread == whole);
        k.update_weights({.weight_decay = 0.5f}, step.data(), p.data(), whole.data(), nullptr, nullptr,
                         50 * cols);
        k.update_weights({.weight_decay = 0.5f, .rows = firsts.data(), .cols = cols}, step.data(), of_rows,
                         sums.data(), nullptr, nullptr, n * cols);
        for (int64_t i = 0; i < 50 * cols; ++i) {
          const auto at = static_cast<size_t>(i);
          const bool read = std::ranges::count(ids, static_cast<int32_t>(i / cols)) > 0;
          if (of_rows[i] != (read ? p[at] : weights[at])) FAIL("weight ", i);
        }
        CHECK(std::count(padded.begin(), padded.begin() + cols, real(9)) == cols);  // no row -1
      });
    }
  }
}

// Each block of 4096 rounds at most 4096 times, by at most half an epsilon of the sum so far; added one by one, three million
// numbers were off by a thousandth.
TEST_CASE("a long row is summed as a short one") {
  const int64_t n = 3'000'000;
  const Reals x(static_cast<size_t>(2 * n), real(0.1));
  each_variant([&](const Kernels& k) {
    Reals sums(2);
    k.sum_middle(x.data(), 2, n, 1, 1, sums.data());
    const double bound = 4097 * static_cast<double>(std::numeric_limits<real>::epsilon()) / 2;
    for (const real sum : sums)
      CHECK(std::abs(static_cast<double>(sum) / (static_cast<double>(x[0]) * double(n)) - 1) <= bound);
  });
}
