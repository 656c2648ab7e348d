// Kernels along the middle dimension of a block, against plain loops in double; and those that move blocks.
#include "tests/framework/kernel_checks.h"

using namespace unroll;

namespace {

struct Sizes {
  int64_t outer, n, inner;
  int64_t all() const { return outer * n * inner; }
  int64_t at(int64_t o, int64_t i, int64_t k) const { return (o * n + i) * inner + k; }
};
const std::vector<Sizes> blocks = {{1, 1, 1},   {3, 33, 1}, {1, 1000, 1}, {2, 5, 7},
                                   {1, 40, 33}, {4, 1, 9},  {300, 520, 1}};

double number(const Reals& x, int64_t i) { return static_cast<double>(x[static_cast<size_t>(i)]); }

}  // namespace

TEST_CASE("sums of exponentials, and their gradients") {
  Numbers numbers("log_sum_exp");
  for (const Sizes s : blocks) {
    const Reals x = numbers.reals(s.all(), -6, 6), dy = numbers.reals(s.outer * s.inner),
                before = numbers.reals(s.all());
    std::vector<double> sums(dy.size());
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t k = 0; k < s.inner; ++k) {
        double& sum = sums[static_cast<size_t>(o * s.inner + k)];
        for (int64_t i = 0; i < s.n; ++i) sum += std::exp(number(x, s.at(o, i, k)));
        sum = std::log(sum);
      }
    each_variant([&](const Kernels& kernels) {
      CAPTURE(s.n);
      CAPTURE(s.inner);
      Reals y(dy.size()), dx(x.size()), more(before);
      kernels.log_sum_exp(x.data(), s.outer, s.n, s.inner, y.data());
      check_close(y, [&](int64_t i) { return sums[static_cast<size_t>(i)]; });
      kernels.log_sum_exp_gradient(x.data(), y.data(), dy.data(), s.outer, s.n, s.inner, dx.data(), false);
      kernels.log_sum_exp_gradient(x.data(), y.data(), dy.data(), s.outer, s.n, s.inner, more.data(), true);
      const auto slope = [&](int64_t i) {
        const int64_t k = i / (s.n * s.inner) * s.inner + i % s.inner;
        return number(dy, k) * std::exp(number(x, i) - sums[static_cast<size_t>(k)]);
      };
      check_close(dx, slope, 2);
      check_close(more, slope, 2, &before);
    });
  }
}

TEST_CASE("running sums, forwards and backwards") {
  Numbers numbers("cumulate");
  for (const Sizes s : blocks) {
    const Reals x = numbers.reals(s.all()), before = numbers.reals(s.all());
    for (const bool backwards : {false, true}) {
      std::vector<double> sums(x.size());
      for (int64_t o = 0; o < s.outer; ++o)
        for (int64_t k = 0; k < s.inner; ++k) {
          double sum = 0;
          for (int64_t i = 0; i < s.n; ++i) {
            const int64_t at = s.at(o, backwards ? s.n - 1 - i : i, k);
            sums[static_cast<size_t>(at)] = sum += number(x, at);
          }
        }
      each_variant([&](const Kernels& kernels) {
        Reals y(x.size()), more(before);
        kernels.cumulate(x.data(), s.outer, s.n, s.inner, backwards, y.data(), false);
        kernels.cumulate(x.data(), s.outer, s.n, s.inner, backwards, more.data(), true);
        const auto sum = [&](int64_t i) { return sums[static_cast<size_t>(i)]; };
        check_close(y, sum);
        check_close(more, sum, 2, &before);
      });
    }
  }
}

TEST_CASE("elements by their numbers, and their gradients, which add up in order") {
  Numbers numbers("take_middle");
  for (const Sizes s : blocks) {
    for (const bool shared : {false, true}) {
      const int64_t count = s.n / 2 + 3, taken = s.outer * count * s.inner;
      const Reals x = numbers.reals(s.all()), dy = numbers.reals(taken), before = numbers.reals(s.all());
      const Ids ids = numbers.ids(shared ? count : taken, static_cast<uint32_t>(s.n));
      const auto place = [&](int64_t i) {
        const int64_t o = i / (count * s.inner), j = i / s.inner % count, k = i % s.inner;
        return s.at(o, ids[static_cast<size_t>(shared ? j : i)], k);
      };
      std::vector<double> sums(before.begin(), before.end());
      for (int64_t i = 0; i < taken; ++i) sums[static_cast<size_t>(place(i))] += number(dy, i);
      each_variant([&](const Kernels& kernels) {
        Reals y(dy.size()), dx(before);
        kernels.take_middle(x.data(), ids.data(), shared, s.outer, s.n, s.inner, count, y.data());
        check_close(
            y, [&](int64_t i) { return number(x, place(i)); }, 0x1p-100);
        kernels.add_to_middle(dy.data(), ids.data(), shared, s.outer, s.n, s.inner, count, dx.data());
        check_close(
            dx, [&](int64_t i) { return sums[static_cast<size_t>(i)]; }, 8);
      });
    }
  }
}

TEST_CASE("the places of the largest of each row, in order") {
  Numbers numbers("largest");
  for (const auto& [rows, cols] : matrices) {
    Reals x = numbers.reals(rows * cols);
    for (real& v : x) v = std::round(v * 20);  // many alike
    if (cols > 5) x[3] = not_a_number;
    for (const int64_t count : {int64_t{1}, std::min<int64_t>(cols, 7), cols}) {
      each_variant([&, rows = rows, cols = cols](const Kernels& kernels) {
        Ids where(static_cast<size_t>(rows * count), -1);
        kernels.largest(x.data(), rows, cols, count, where.data());
        for (int64_t r = 0; r < rows; ++r) {
          std::vector<int32_t> order(static_cast<size_t>(cols));
          for (int32_t c = 0; c < cols; ++c) order[static_cast<size_t>(c)] = c;
          const auto value = [&](int32_t c) {
            const double v = number(x, r * cols + c);
            return std::isnan(v) ? std::numeric_limits<double>::infinity() : v;
          };
          std::stable_sort(order.begin(), order.end(),
                           [&](int32_t a, int32_t b) { return value(a) > value(b); });
          CHECK(std::equal(order.begin(), order.begin() + count, where.begin() + r * count));
        }
      });
    }
  }
}

TEST_CASE("a softmax over what each row sees, with as much more for each column as is asked for") {
  Numbers numbers("softmax_within");
  struct Case {
    int64_t end, step, begin;
    double slope;
    bool firsts;
  };
  for (const auto& [rows, cols] : matrices) {
    for (const Case& c :
         {Case{cols, 0, -cols, 0, false}, Case{1, 1, -cols, 0, false}, Case{-2, 1, -rows - 5, 0.5, false},
          Case{cols - 1, 1, cols - 4, 0.25, false}, Case{0, 0, -cols, 0, false},
          Case{cols - 1, 1, -cols, 0, true}, Case{1, 1, -2, 0.125, true}}) {
      Reals x = numbers.reals(rows * cols, -30, 30);
      const int64_t origin = 3, apart = 2;
      Reals firsts(static_cast<size_t>(rows * apart));
      for (int64_t r = 0; r < rows; ++r)
        firsts[static_cast<size_t>(r * apart)] = static_cast<real>(r % 3 + 2);
      const auto sees = [&, cols = cols](int64_t r, int64_t at) {
        return at >= c.begin + r * c.step && at < std::min(cols, c.end + r * c.step) &&
               (!c.firsts || at >= r % 3 + 2 - origin);
      };
      std::vector<double> expected(x.size());
      for (int64_t r = 0; r < rows; ++r) {
        const auto weight = [&, cols = cols](int64_t at) {
          return std::exp(number(x, r * cols + at) / 4 + c.slope * static_cast<double>(at));
        };
        double sum = 0;
        for (int64_t at = 0; at < cols; ++at)
          if (sees(r, at)) sum += weight(at);
        for (int64_t at = 0; at < cols; ++at) {
          const auto place = static_cast<size_t>(r * cols + at);
          if (sees(r, at))
            expected[place] = weight(at) / sum;
          else
            x[place] = not_a_number;  // takes no part
        }
      }
      each_variant([&, rows = rows, cols = cols](const Kernels& kernels) {
        Reals y(x);
        const Reals on_device(firsts);
        const SeenColumns seen{c.end, c.step, c.begin, c.firsts ? on_device.data() : nullptr, apart, origin};
        kernels.softmax_within(y.data(), rows, cols, seen, real(0.25), static_cast<real>(c.slope));
        check_close(y, [&](int64_t i) { return expected[static_cast<size_t>(i)]; });
      });
    }
  }
}

TEST_CASE("in a long row as much more for each column leaves the largest weights all their digits") {
  constexpr int64_t n = 20001;
  const Reals x = Numbers("long row").reals(n, -1, 1);
  const auto weight = [&](int64_t c) { return std::exp(number(x, c) + static_cast<double>(c - n) / 8); };
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += weight(c);
  each_variant([&](const Kernels& kernels) {
    Reals y(x);
    kernels.softmax_within(y.data(), 1, n, {.end = n}, real(1), real(0.125));
    check_close(y, [&](int64_t c) { return weight(c) / sum; });
  });
}

TEST_CASE("transposes of the middle of four dimensions") {
  Numbers numbers("transposes");
  for (const auto& [outer, rows, cols, inner] : {std::array<int64_t, 4>{1, 1, 1, 1},
                                                 {3, 2, 5, 1},
                                                 {2, 40, 33, 1},
                                                 {5, 3, 4, 7},
                                                 {1, 35, 20, 64},
                                                 {2, 0, 3, 4}}) {
    const int64_t n = outer * rows * cols * inner;
    const Reals x = numbers.reals(n), before = numbers.reals(n);
    each_variant([&, outer = outer, rows = rows, cols = cols, inner = inner](const Kernels& k) {
      CAPTURE(n);
      Reals y(x.size()), sum(before);
      k.transpose(x.data(), outer, rows, cols, inner, y.data(), false);
      k.transpose(x.data(), outer, rows, cols, inner, sum.data(), true);
      const auto turned = [&](int64_t at) {
        const int64_t i = at % inner, r = at / inner % rows, c = at / inner / rows % cols,
                      o = at / inner / rows / cols;
        return static_cast<double>(x[static_cast<size_t>(((o * rows + r) * cols + c) * inner + i)]);
      };
      check_close(y, turned, 0);
      check_close(sum, turned, 2, &before);
    });
  }
}

TEST_CASE("affine, copies of blocks and transposes") {
  Numbers numbers("copies");
  for (const auto& [rows, cols] : matrices) {
    const int64_t n = rows * cols;
    const Reals x = numbers.reals(n), before = numbers.reals(n);
    each_variant([&, rows = rows, cols = cols](const Kernels& k) {
      CAPTURE(rows);
      CAPTURE(cols);
      Reals y(x.size()), sum(before);
      k.affine(x.data(), 3, -1, y.data(), n, false);
      k.affine(x.data(), 3, -1, sum.data(), n, true);
      const auto line = [&](int64_t i) { return 3 * static_cast<double>(x[static_cast<size_t>(i)]) - 1; };
      check_close(y, line);
      check_close(sum, line, 7, &before);

      sum = before;
      k.transpose(x.data(), 1, rows, cols, 1, y.data(), false);
      k.transpose(x.data(), 1, rows, cols, 1, sum.data(), true);
      const auto turned = [&](int64_t i) {
        return static_cast<double>(x[static_cast<size_t>(i % rows * cols + i / rows)]);
      };
      check_close(y, turned, 0);
      check_close(sum, turned, 2, &before);

      // Every row into a wider matrix, and back out of it with a sum.
      const int64_t wide = cols + 5;
      Reals wider(static_cast<size_t>(rows * wide), 9);
      k.copy_blocks(x.data(), cols, wider.data() + 2, wide, rows, cols, false);
      int64_t wrong = 0;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < wide; ++c) {
          const bool inside = c >= 2 && c < cols + 2;
          wrong += wider[static_cast<size_t>(r * wide + c)] !=
                   (inside ? x[static_cast<size_t>(r * cols + c - 2)] : 9);
        }
      }
      CHECK(wrong == 0);
      sum = before;
      k.copy_blocks(wider.data() + 2, wide, sum.data(), cols, rows, cols, true);
      check_close(
          sum, [&](int64_t i) { return static_cast<double>(x[static_cast<size_t>(i)]); }, 2, &before);
    });
  }
}
