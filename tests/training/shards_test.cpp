// Steps in shards: how a batch is cut, the tree of their sums, and trainings in one process.
#include <array>
#include <atomic>
#include <map>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "framework/kernels/kernels.h"
#include "tests/folder.h"
#include "tests/support.h"
#include "tests/training/line_training.h"
#include "training/shared_score.h"
#include "training/steps/courier.h"
#include "training/steps/gradient_exchange.h"
#include "training/steps/shard_sums.h"
#include "training/trainer.h"
#include "unroll.h"

using namespace unroll;

namespace {

// "((0 + 1) + 2)"
std::string tree(int begin, int end) {
  std::vector<std::string> names;
  for (int i = begin; i < end; ++i) names.push_back(std::to_string(i));
  return sum_of_shards(std::span(names),
                       [](std::string& a, const std::string& b) { a = "(" + a + " + " + b + ")"; });
}

// Words in `batch` streams; nothing is dropped unless `dropout` says so.
struct Words {
  explicit Words(int batch, float dropout = 0)
      : batch(batch),
        lstm(params / "lstm", {.input = 4, .hidden = 5, .dropout = 0}),
        drop(params / "drop", {.rate = dropout}),
        decoder(params / "decoder", {.in = 5, .out = 6}),
        windows(text, {.batch = batch, .steps = 3}),
        state(lstm.zero_state(batch)) {}

  TrainingTask task() {
    return {.windows = windows.count(),
            .begin_epoch = [this](int) { state.reset(); },
            .loss = [this](int64_t k) { return loss(windows.at(k), state); },
            .shard_loss = [this](int64_t k, const Shard& shard) -> WindowLoss {
              begin = shard.begin(batch);
              const int end = shard.end(batch);
              shards_seen[shard.number] += end - begin;
              if (begin == end) return {};
              WindowLoss result = loss(windows.at(k, begin, end), state.rows(begin, end));
              result.share = static_cast<double>(end - begin) / batch;
              return result;
            },
            .carry = [this] { state.set_rows(begin, next); },
            .carried = {{"h", state.h}, {"c", state.c}}};
  }
  WindowLoss loss(const Window& window, const RecurrentVars& before) {
    const auto out = lstm(drop(embed(window.input)), before);
    next = out.state;
    Var mean = softmax_cross_entropy(decoder, out.y, window.target);
    if (breaks && begin > 0) mean = mean * std::numeric_limits<real>::infinity();
    return mean_loss(mean, window.target.size());
  }

  std::vector<int32_t> text = [] {
    std::vector<int32_t> words;
    RandomStream random(3, "words");
    for (int i = 0; i < 120; ++i) words.push_back(static_cast<int32_t>(random.below(6)));
    return words;
  }();
  int batch, begin = 0;
  bool breaks = false;
  std::map<int, int> shards_seen;
  ParameterSet params{5};
  Embedding embed{params / "embed", {.vocab = 6, .dim = 4}};
  Lstm lstm;
  Dropout drop;
  Dense decoder;
  BpttWindows windows;
  RecurrentState state;
  RecurrentVars next;
};

std::vector<real> trained(Words& words, int shards, TrainerOptions options = {}) {
  Sgd sgd(words.params, {.learning_rate = 0.5});
  options.shards = shards, options.progress = silent;
  Trainer(sgd, options).run(words.task());
  return bits(words.params);
}

}  // namespace

TEST_CASE("a batch is cut as evenly as it can be, the first shards one larger") {
  for (const int of : {1, 2, 3, 4, 7})
    for (int rows = 0; rows <= 15; ++rows) {
      int end = 0, before = rows;
      for (int number = 0; number < of; ++number) {
        const Shard shard{number, of};
        REQUIRE(shard.begin(rows) == end);
        end = shard.end(rows);
        const int size = end - shard.begin(rows);
        CHECK(size <= before);
        CHECK((size == rows / of || size == rows / of + 1));
        before = size;
      }
      CHECK(end == rows);
    }
}

TEST_CASE("the tree depends on the number of shards alone") {
  CHECK(tree(0, 6) == "(((0 + 1) + (2 + 3)) + (4 + 5))");
  CHECK(tree(0, 5) == "(((0 + 1) + (2 + 3)) + 4)");
  // The part that a process sums by itself is a part of the tree: one part for powers of two, the fewest for others.
  for (int shards = 1; shards <= 12; ++shards)
    for (const int processes : processes_for(shards)) {
      int next = 0;
      for (int rank = 0; rank < processes; ++rank) {
        const auto parts = parts_of(shards_of_rank(rank, processes, shards), shards);
        if ((shards & (shards - 1)) == 0) CHECK(parts.size() == 1);
        for (const ShardRange& part : parts) {
          REQUIRE(part.begin == next);
          next = part.end;
          CHECK(tree(0, shards).find(tree(part.begin, part.end)) != std::string::npos);
        }
      }
      CHECK(next == shards);
    }
  CHECK(parts_of(shards_of_rank(0, 2, 6), 6).size() == 2);  // (0 + 1) and 2
  CHECK(processes_for(6) == std::vector{1, 2, 3, 6});
}

TEST_CASE("processes give each other as much as in a ring") {
  constexpr int64_t size = 64 * 12 * 100;
  constexpr std::array numbers{size};
  for (const int processes : {2, 4}) {
    const auto sent = exchanged_bytes(numbers, processes, 4);
    for (const int64_t bytes : sent)
      CHECK(bytes == 2 * (processes - 1) * size / processes * static_cast<int64_t>(sizeof(real)));
  }
  // Two processes have two parts each of six shards: the first half of the exchange has twice as much.
  CHECK(exchanged_bytes(numbers, 2, 6).front() == 3 * size / 2 * static_cast<int64_t>(sizeof(real)));
  CHECK(exchanged_bytes(numbers, 1, 6).front() == 0);
}

TEST_CASE("the gradient of shards is that of the whole window") {
  // 40 steps of rate 0.5 on gradients below 1, each off by a few units in the last place (2^-24) of numbers below 1.
  constexpr double tolerance = 40 * 0.5 * 64 * 0x1p-24;
  for (const int batch : {10, 12, 3}) {
    CAPTURE(batch);
    Words whole(batch), cut(batch);
    const auto expected = trained(whole, 1, {.clip = 0.7, .accumulate = 2}),
               found = trained(cut, 4, {.clip = 0.7, .accumulate = 2});
    REQUIRE(expected.size() == found.size());
    for (size_t i = 0; i < expected.size(); ++i)
      CHECK(std::abs(double{expected[i]} - double{found[i]}) <= tolerance);
    CHECK(cut.shards_seen.size() == 4);
    CHECK(cut.shards_seen[3] == (batch == 3 ? 0 : batch / 4 * static_cast<int>(cut.windows.count())));
    if (batch < 8) continue;
    Words small(batch);  // where halves of halves wait for each other
    const auto of_eight = trained(small, 8, {.clip = 0.7, .accumulate = 2});
    for (size_t i = 0; i < expected.size(); ++i)
      CHECK(std::abs(double{expected[i]} - double{of_eight[i]}) <= tolerance);
  }
}

TEST_CASE("losses and counts are those of the whole window") {
  Words whole(10), cut(10);
  Sgd one(whole.params, {.learning_rate = 1e-6}), four(cut.params, {.learning_rate = 1e-6});
  Trainer a(one, {.progress = silent}), b(four, {.shards = 4, .progress = silent});
  a.run(whole.task()), b.run(cut.task());
  CHECK(a.count() == b.count());
  CHECK(a.epochs().back().train == doctest::Approx(b.epochs().back().train).epsilon(1e-5));
}

TEST_CASE("every shard has masks of its own, which its number alone decides") {
  // Streams of equal words, so that but for the masks all shards have one gradient, and the loss of each is the same.
  std::map<int, std::vector<double>> losses;
  for (const int shards : {2, 4}) {
    Words words(4, 0.5f);
    words.text.assign(words.text.size(), 2);
    TrainingTask task = words.task();
    task.windows = 1;
    task.shard_loss = [&, of_words = task.shard_loss](int64_t k, const Shard& shard) {
      const WindowLoss loss = of_words(k, shard);
      losses[shards].push_back(double{loss.mean.item()});
      return loss;
    };
    Sgd sgd(words.params, {.learning_rate = 0.1});
    Trainer(sgd, {.shards = shards, .progress = silent}).run(task);
  }
  REQUIRE(losses[4].size() == 4);
  for (size_t i = 0; i < 4; ++i)
    for (size_t k = 0; k < i; ++k) CHECK(losses[4][i] != losses[4][k]);
}

TEST_CASE("a shard that diverges leaves the whole step out, and what was carried is put back") {
  Words words(10);
  const auto before = bits(words.params);
  words.breaks = true;
  Sgd sgd(words.params, {.learning_rate = 0.5});
  Trainer trainer(sgd, {.shards = 4, .on_divergence = OnDivergence::skip, .progress = silent});
  TrainingTask task = words.task();
  task.windows = 2;
  trainer.run(task);
  CHECK(trainer.state().skipped == 2);
  CHECK(bits(words.params) == before);
  for (const real h : words.state.h.to_host()) CHECK(h == 0);
  Trainer stops(sgd, {.shards = 4, .progress = silent});
  CHECK_THROWS_WITH_AS(stops.run(task), doctest::Contains("the loss is"), Diverged);
}

TEST_CASE("sums of a step that was left out are in no later one") {
  const auto weights_after = [](const std::vector<int64_t>& windows, int64_t broken) {
    Words words(10);
    TrainingTask task = words.task();
    task.windows = std::ssize(windows);
    task.shard_loss = [&, loss = task.shard_loss](int64_t k, const Shard& shard) {
      words.breaks = windows[static_cast<size_t>(k)] == broken;
      return loss(windows[static_cast<size_t>(k)], shard);
    };
    Sgd sgd(words.params, {.learning_rate = 0.5});
    Trainer(sgd, {.shards = 4, .on_divergence = OnDivergence::skip, .progress = silent}).run(task);
    return bits(words.params);
  };
  CHECK(weights_after({0, 1, 2}, 1) == weights_after({0, 2}, 1));
}

TEST_CASE("what is not finite is traced in each shard") {
  for (const int bad : {0, 1, 3}) {
    Words words(10);
    TrainingTask task = words.task();
    task.shard_loss = [&, loss = task.shard_loss](int64_t k, const Shard& shard) {
      WindowLoss of_shard = loss(k, shard);
      if (shard.number == bad) of_shard.objective = of_shard.objective + sqrt(of_shard.objective * 0);
      return of_shard;
    };
    Sgd sgd(words.params, {.learning_rate = 0.5});
    CHECK_THROWS_WITH_AS(Trainer(sgd, {.shards = 4, .progress = silent}).run(task),
                         doctest::Contains("first not finite: scale [] after 'decoder.weight'"), Diverged);
  }
}

TEST_CASE("a run in shards goes on in the same bits") {
  const auto train = [](Words& words, const Folder& folder, int epochs) {
    Adam adam(words.params, {.learning_rate = 0.02});
    Trainer trainer(adam, {.epochs = epochs, .shards = 4, .progress = silent, .folder = folder.path()});
    const TrainingTask task = words.task();
    trainer.resume(task);
    trainer.run(task);
  };
  const Folder whole, parts;
  Words once(10, 0.3f), first(10, 0.3f), second(10, 0.3f);
  train(once, whole, 3);
  train(first, parts, 1), train(second, parts, 3);
  CHECK(read_text(whole / last_checkpoint) == read_text(parts / last_checkpoint));
}

TEST_CASE("what cannot be cut is refused") {
  Words words(4);
  Sgd sgd(words.params, {});
  CHECK_THROWS_WITH_AS(Trainer(sgd, {.shards = 0}), doctest::Contains("shards 0"), Error);
  TrainingTask task = words.task();
  task.shard_loss = {};
  CHECK_THROWS_WITH_AS(Trainer(sgd, {.shards = 2, .progress = silent}).run(task),
                       doctest::Contains("shard_loss"), Error);
  task = words.task();
  task.carried.clear();
  CHECK_THROWS_WITH_AS(Trainer(sgd, {.shards = 2, .progress = silent}).run(task),
                       doctest::Contains("carried"), Error);
}

TEST_CASE("a window's streams and a batch's windows in parts") {
  Words words(10);
  const Window all = words.windows.at(2);
  const std::vector<int32_t> input = all.input.to_host(), target = all.target.to_host();
  const Window some = words.windows.at(2, 3, 7);
  REQUIRE(some.input.shape() == Shape{3, 4});
  for (int step = 0; step < 3; ++step)
    for (int stream = 0; stream < 4; ++stream) {
      CHECK(some.input.span()[static_cast<size_t>(step * 4 + stream)] ==
            input[static_cast<size_t>(step * 10 + stream + 3)]);
      CHECK(some.target.span()[static_cast<size_t>(step * 4 + stream)] ==
            target[static_cast<size_t>(step * 10 + stream + 3)]);
    }
  CHECK_THROWS_WITH_AS(words.windows.at(2, 7, 7), doctest::Contains("no streams 7 to 7"), Error);
  CHECK_THROWS_WITH_AS(words.state.rows(2, 11), doctest::Contains("no rows 2 to 11"), Error);
}

TEST_CASE("buckets cut the slab from its end, where parameters begin") {
  ParameterSet params;
  const int big = 64 * 100;  // numbers
  for (const char* name : {"a", "b", "c", "d", "e"})
    params.add(name, {name[0] == 'c' ? 3 * big : big}, Init::constant(0));
  for (const int64_t bytes : {int64_t{1}, int64_t{sizeof(real)} * 2 * big, int64_t{1} << 30}) {
    CAPTURE(bytes);
    const auto buckets = gradient_buckets(params, static_cast<size_t>(bytes));
    int64_t end = params.values().size();
    size_t parameters = 0;
    for (const GradientBucket& bucket : buckets) {
      CHECK(bucket.begin + bucket.size == end);
      end = bucket.begin;
      parameters += bucket.parameters.size();
      CHECK((end == 0 || bucket.size * static_cast<int64_t>(sizeof(real)) >= bytes));
    }
    CHECK(end == 0);
    CHECK(parameters == 5);
    CHECK(buckets.size() == (bytes == 1 ? 5 : bytes == 1 << 30 ? 1 : 3));  // e and d; c; b and a
    CHECK(buckets.front().parameters.front()->name == "e");
  }
}

TEST_CASE("sums over parts are added in the order of the parts, whoever has found them") {
  // Which in another order differ.
  const std::vector<double> totals = {1e16, 1, -1e16, 1, 3};
  const SharedScore shared{
      .parts = 5, .sum = [&](int64_t part) -> ScoreSum {
        return {totals[static_cast<size_t>(part)], part, {1, totals[static_cast<size_t>(part)]}};
      }};
  const ScoreSum alone = sum_of_parts(shared);
  CHECK(alone.total == 4);
  CHECK(alone.count == 10);
  CHECK(alone.further == std::vector<double>{5, 4});
  CHECK(shared_sum(shared).total == alone.total);
  for (const size_t ranks : {1, 2, 3, 7}) {
    std::vector<std::string> by_rank(ranks);
    for (size_t part = 0; part < totals.size(); ++part) {
      const SharedScore of_part{.parts = 1,
                                .sum = [&](int64_t) { return shared.sum(static_cast<int64_t>(part)); }};
      by_rank[part % ranks] += sums_of_rank(of_part);
    }
    CHECK(sum_of_ranks(5, by_rank).total == alone.total);
    CHECK(sum_of_ranks(5, by_rank).count == 10);
    CHECK(sum_of_ranks(5, by_rank).further == alone.further);
    for (const std::string whole = by_rank[0]; !by_rank[0].empty();) {  // cut off anywhere
      by_rank[0] = whole.substr(0, by_rank[0].size() - 1);
      CHECK_THROWS_WITH_AS(sum_of_ranks(5, by_rank), doctest::Contains("do not score the same parts"), Error);
    }
  }
  const SharedScore uneven{.parts = 2, .sum = [](int64_t part) -> ScoreSum {
                             return {0, 1, std::vector<double>(static_cast<size_t>(part + 1))};
                           }};
  CHECK_THROWS_WITH_AS(sum_of_parts(uneven), doctest::Contains("1 further sums, another 2"), Error);
}

TEST_CASE("a courier does its pieces in order, and hands over what they throw") {
  std::vector<size_t> done;
  std::atomic<bool> begun = false, to_end = false;
  Courier courier([&](size_t piece) {
    if (piece == 3) throw Error("the fourth");
    done.push_back(piece);
  });
  for (int k = 0; k < 3; ++k) courier.push();
  courier.wait();
  CHECK(done == std::vector<size_t>{0, 1, 2});
  courier.push();
  CHECK_THROWS_WITH_AS(courier.wait(), "the fourth", Error);
  courier.drop([] { FAIL("nothing goes on"); });
  courier.begin();
  done.clear();
  for (int k = 0; k < 3; ++k) courier.push();
  courier.wait();
  CHECK(done == std::vector<size_t>{0, 1, 2});

  done.clear();
  Courier waits([&](size_t piece) {
    done.push_back(piece);
    begun = true;
    while (!to_end) std::this_thread::yield();
    throw Error("given up");
  });
  for (int k = 0; k < 3; ++k) waits.push();
  while (!begun) std::this_thread::yield();
  waits.drop([&] { to_end = true; });
  waits.wait();
  CHECK(done == std::vector<size_t>{0});
}
