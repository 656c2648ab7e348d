// Windows of a text: for training, for evaluation, of drawn lengths.
#include "data/windows.h"

#include <cmath>
#include <cstdlib>
#include <numeric>

#include <unistd.h>

#include "data/text/corpus.h"
#include "data/text/ngram.h"
#include "data/text/vocabulary.h"
#include "tests/data_files.h"
#include "tests/folder.h"
#include "tests/support.h"
#include "training/files/vocabulary_file.h"

using namespace unroll;

namespace {

std::vector<int32_t> counting(int n) {
  std::vector<int32_t> tokens(static_cast<std::size_t>(n));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

}  // namespace

// --- windows -----------------------------------------------------------------------------------------------

TEST_CASE("training windows hold contiguous streams side by side, targets one further") {
  const std::vector<int32_t> tokens = counting(10);
  BpttWindows windows(tokens, {.batch = 2, .steps = 3});
  REQUIRE(windows.count() == 2);
  CHECK(windows.targets() == 8);
  const auto [input, target] = windows.at(0);
  CHECK(input.shape() == Shape{3, 2});
  CHECK(input.to_host() == std::vector<int32_t>{0, 4, 1, 5, 2, 6});
  CHECK(target.to_host() == std::vector<int32_t>{1, 5, 2, 6, 3, 7});
  const auto [last_input, last_target] = windows.at(1);
  CHECK(last_input.shape() == Shape{1, 2});
  CHECK(last_input.to_host() == std::vector<int32_t>{3, 7});
  CHECK(last_target.to_host() == std::vector<int32_t>{4, 8});
}

TEST_CASE("training predicts each token once, but for the first and what the division leaves") {
  for (int n : {2, 3, 10, 41, 100}) {
    for (int batch : {1, 2, 3, 7, 40}) {
      for (int steps : {1, 2, 5, 200}) {
        if (n - 1 < batch) continue;
        CAPTURE(n);
        CAPTURE(batch);
        CAPTURE(steps);
        const std::vector<int32_t> tokens = counting(n);
        BpttWindows windows(tokens, {.batch = batch, .steps = steps});
        std::vector<int> predicted(static_cast<std::size_t>(n), 0);
        int64_t seen_windows = 0;
        for (const auto& [input, target] : windows) {
          ++seen_windows;
          CHECK(input.dim(0) <= steps);
          CHECK(input.dim(1) == batch);
          for (int64_t i = 0; i < target.size(); ++i) {
            CHECK(target.data()[i] == input.data()[i] + 1);
            ++predicted[static_cast<std::size_t>(target.data()[i])];
          }
        }
        const int length = (n - 1) / batch;
        CHECK(seen_windows == windows.count());
        CHECK(windows.count() == (length + steps - 1) / steps);
        CHECK(windows.targets() == length * batch);
        for (int token = 0; token < n; ++token)
          CHECK(predicted[static_cast<std::size_t>(token)] ==
                (token >= 1 && token <= length * batch ? 1 : 0));
      }
    }
  }
}

TEST_CASE("a stream goes on in the next window where it stopped") {
  const std::vector<int32_t> tokens = counting(100);
  BpttWindows windows(tokens, {.batch = 3, .steps = 7});
  std::vector<int32_t> expected_next = {0, 33, 66};
  for (const auto& [input, target] : windows) {
    for (int stream = 0; stream < 3; ++stream) {
      CHECK(input.data()[stream] == expected_next[static_cast<std::size_t>(stream)]);
      expected_next[static_cast<std::size_t>(stream)] = target[target.dim(0) - 1].data()[stream];
    }
  }
}

TEST_CASE("evaluation scores every token exactly once, the first after <eos>") {
  constexpr int32_t eos = 777;
  for (int n : {1, 2, 3, 10, 41, 100}) {
    for (int batch : {1, 2, 3, 7, 40}) {
      for (int steps : {1, 2, 5, 200}) {
        if (n < batch) continue;
        CAPTURE(n);
        CAPTURE(batch);
        CAPTURE(steps);
        const std::vector<int32_t> tokens = counting(n);
        BpttWindows windows = evaluation_windows(tokens, eos, {.batch = batch, .steps = steps});
        std::vector<int> scored(static_cast<std::size_t>(n), 0);
        int64_t ignored = 0;
        for (const auto& [input, target] : windows) {
          for (int64_t i = 0; i < target.size(); ++i) {
            const int32_t t = target.data()[i];
            if (t == ignored_target) {
              ++ignored;
              CHECK(input.data()[i] == eos);
              continue;
            }
            ++scored[static_cast<std::size_t>(t)];
            CHECK(input.data()[i] == (t == 0 ? eos : t - 1));
          }
        }
        CHECK(windows.targets() == n);
        CHECK(ignored < batch);
        CHECK(scored == std::vector<int>(static_cast<std::size_t>(n), 1));
      }
    }
  }
}

TEST_CASE("windows of lengths that are drawn predict each token once, by seed and epoch alone") {
  const std::vector<int32_t> tokens = counting(5000);
  BpttWindows windows(tokens, {.batch = 3, .steps = 20});
  const auto lengths = [&](uint64_t seed, int epoch) {
    windows.cut([&](int64_t k) { return variable_steps(20, seed, epoch, k); });
    std::vector<int> result, predicted(tokens.size(), 0);
    std::vector<int32_t> next = {0, 1666, 3332};
    for (const auto& [input, target] : windows) {
      result.push_back(input.dim(0));
      for (int stream = 0; stream < 3; ++stream) {
        CHECK(input.data()[stream] == next[static_cast<std::size_t>(stream)]);
        next[static_cast<std::size_t>(stream)] = target[target.dim(0) - 1].data()[stream];
      }
      for (const int32_t token : target.span()) ++predicted[static_cast<std::size_t>(token)];
    }
    CHECK(std::ssize(result) == windows.count());
    CHECK(windows.targets() == 4998);
    CHECK(std::ranges::count(predicted, 1) == 4998);
    CHECK(std::ranges::count(predicted, 0) == 2);
    return result;
  };
  const std::vector<int> first = lengths(1, 1), second = lengths(1, 2);
  CHECK(first != second);
  CHECK(lengths(2, 1) != first);
  CHECK(lengths(1, 1) == first);
  CHECK(*std::max_element(first.begin(), first.end()) > 20);
  CHECK(*std::min_element(first.begin(), first.end() - 1) >= 5);

  BpttWindows other(tokens, {.batch = 3, .steps = 20});
  const int64_t in_use = memory_statistics().in_use;
  other.cut([](int64_t) { return 1'000'000'000; });  // takes no more memory than there is text
  CHECK(other.count() == 1);
  CHECK(memory_statistics().in_use - in_use < 100'000);
  CHECK(lacks(error_of([&] { other.cut([](int64_t k) { return k == 2 ? 0 : 7; }); }),
              {"window 2", "0 steps"}) == "");
}

TEST_CASE("a partial shuffle turns each stream around at a place of its own, by seed and epoch alone") {
  const std::vector<int32_t> tokens = counting(302);
  BpttWindows windows(tokens, {.batch = 3, .steps = 7});
  const auto streams = [&](uint64_t seed, int epoch) {
    windows.shuffle(seed, epoch);
    std::vector<std::vector<int32_t>> result(3);
    for (const auto& [input, target] : windows)
      for (int step = 0; step < target.dim(0); ++step)
        for (int stream = 0; stream < 3; ++stream) {
          CHECK(input[step].data()[stream] + 1 == target[step].data()[stream]);  // the token before it
          result[static_cast<std::size_t>(stream)].push_back(target[step].data()[stream]);
        }
    return result;
  };
  const auto first = streams(1, 1), second = streams(1, 2);
  for (int stream = 0; stream < 3; ++stream) {
    std::vector<int32_t> in_order = first[static_cast<std::size_t>(stream)];
    REQUIRE(in_order.size() == 100);
    const int32_t begin = stream * 100 + 1;
    CHECK(in_order.front() > begin);
    std::ranges::rotate(in_order, std::ranges::find(in_order, begin));
    for (int32_t k = 0; k < 100; ++k) CHECK(in_order[static_cast<std::size_t>(k)] == begin + k);
  }
  CHECK(first[0].front() + 100 != first[1].front());  // a place of its own
  CHECK((second != first));
  CHECK((streams(2, 1) != first));
  CHECK((streams(1, 1) == first));
  // A part of the streams has what it has in the whole window.
  const std::vector<int32_t> whole = windows.at(3).target.to_host();
  CHECK(windows.at(3, 1, 2).target.to_host() ==
        std::vector<int32_t>{whole[1], whole[4], whole[7], whole[10], whole[13], whole[16], whole[19]});
  CHECK_THROWS_AS(evaluation_windows(tokens, 0, {.batch = 1, .steps = 3}).shuffle(1, 1), Error);
}

TEST_CASE("drawn lengths are normal around bptt, one in twenty around half of it") {
  constexpr int n = 20'000, bptt = 70;
  int halves = 0;
  double sum = 0, squares = 0;
  for (int k = 0; k < n; ++k) {
    const int steps = variable_steps(bptt, 7, 1, k);
    // 52.5 lies 3.5 deviations from either centre: one in 4300 is on the wrong side.
    if (steps < 52) {
      ++halves;
      continue;
    }
    sum += steps, squares += static_cast<double>(steps) * steps;
  }
  // Five deviations of a count, and those of a mean and of a variance, of n · 0.95 numbers.
  CHECK(std::abs(halves - 0.05 * n) < 5 * std::sqrt(n * 0.05 * 0.95));
  const double count = n - halves, mean = sum / count, variance = squares / count - mean * mean;
  CHECK(std::abs(mean + 0.5 - bptt) < 5 * 5 / std::sqrt(count));  // 0.5: rounded down
  CHECK(std::abs(variance - 1 / 12. - 25) < 5 * 25 * std::sqrt(2 / count));
  for (int k = 0; k < 2000; ++k) CHECK(variable_steps(6, 1, 1, k) >= 5);
}

TEST_CASE("a window can be taken at random, and again, from the same memory") {
  const std::vector<int32_t> tokens = counting(60);
  BpttWindows windows(tokens, {.batch = 4, .steps = 5});
  std::vector<std::vector<int32_t>> in_order;
  for (const auto& [input, target] : windows) in_order.push_back(target.to_host());
  const int32_t* memory = windows.at(0).input.data();
  const int64_t calls = memory_statistics().system_calls;
  for (int64_t k = windows.count() - 1; k >= 0; --k) {
    const Window window = windows.at(k);
    CHECK(window.target.to_host() == in_order[static_cast<std::size_t>(k)]);
    CHECK(window.input.data() == memory);
  }
  CHECK(memory_statistics().system_calls == calls);
}

TEST_CASE("windows that cannot be cut are refused") {
  const std::vector<int32_t> tokens = counting(5);
  CHECK(lacks(input_error_of([&] { BpttWindows(tokens, {.batch = 5}); }), {"5 tokens", "batch of 5"}) == "");
  CHECK_NOTHROW(BpttWindows(tokens, {.batch = 4}));
  CHECK(lacks(input_error_of([&] { evaluation_windows(tokens, 0, {.batch = 6}); }),
              {"5 tokens", "batch of 6"}) == "");
  CHECK(lacks(input_error_of([&] { BpttWindows(tokens, {.batch = 0}); }), {"batch", "0"}) == "");
  CHECK(lacks(input_error_of([&] { BpttWindows(tokens, {.batch = 1, .steps = -3}); }), {"steps", "-3"}) ==
        "");
  CHECK(lacks(input_error_of([&] { BpttWindows(std::span<const int32_t>(), {.batch = 1}); }), {"0 tokens"}) ==
        "");
  const std::vector<int64_t> documents = {0, 5};
  CHECK(lacks(error_of([&] { evaluation_windows(tokens, 0, {.batch = 1, .documents = documents}); }),
              {"behind the 5 tokens"}) == "");
  BpttWindows windows(tokens, {.batch = 1, .steps = 2});
  CHECK(lacks(error_of([&] { windows.at(2); }), {"no window 2", "there are 2"}) == "");
  CHECK(lacks(error_of([&] { windows.at(-1); }), {"no window -1"}) == "");
}
