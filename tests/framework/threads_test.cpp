// The pool of threads: every piece once, whoever asks, and however many ask at once.
#include "framework/threads.h"

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support.h"

using namespace unroll;

namespace {

void run(int pieces, const std::function<void(int)>& task) {
  run_pieces(
      pieces,
      [](const void* context, int piece) { (*static_cast<const std::function<void(int)>*>(context))(piece); },
      &task);
}

// How often each piece was done.
std::vector<int> counts(int pieces) {
  std::vector<std::atomic<int>> done(static_cast<size_t>(pieces));
  run(pieces, [&](int piece) { ++done[static_cast<size_t>(piece)]; });
  return {done.begin(), done.end()};
}

}  // namespace

TEST_CASE("every piece is done once before the call returns") {
  for (int count : {1, 2, 3, 7, most_threads}) {
    const Threads guard(count);
    for (int pieces = 1; pieces <= 32; ++pieces)
      for (int again = 0; again < 20; ++again) {
        CAPTURE(count);
        CAPTURE(pieces);
        CHECK(counts(pieces) == std::vector<int>(static_cast<size_t>(pieces), 1));
      }
  }
}

TEST_CASE("what the pieces wrote is seen after the call") {
  const Threads guard(4);
  std::vector<int> numbers(32);
  for (int round = 1; round <= 20000; ++round) {
    run(32, [&](int piece) { numbers[static_cast<size_t>(piece)] += piece; });
    if (numbers[31] != 31 * round) FAIL("round ", round, ": ", numbers[31]);
  }
}

TEST_CASE("several threads may ask at once, and a task may ask too") {
  const Threads guard(3);
  std::atomic<int> total = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round)
        run(6, [&](int) { run(2, [&](int piece) { total += piece; }); });
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(total == 4 * 500 * 6);
}

TEST_CASE("what a piece throws comes out of the call, after the other pieces, and the pool goes on") {
  for (const int count : {1, 2, 4}) {
    CAPTURE(count);
    const Threads guard(count);
    for (int thrown = 0; thrown < 8; ++thrown) {
      std::atomic<int> done = 0;
      const std::string error = error_of([&] {
        run(8, [&](int piece) {
          if (piece == thrown) throw Error("piece");
          ++done;
        });
      });
      CHECK(error == "piece");
      CHECK(done == (count == 1 ? thrown : 7));
      std::array<int, 8> seen = {};
      run(8, [&](int piece) { seen[static_cast<size_t>(piece)] = threads(); });
      CHECK(seen == std::array{1, 1, 1, 1, 1, 1, 1, 1});  // alone, the caller has the pool
    }
  }
}

TEST_CASE("what a piece asks for has one thread, and what follows it has all again") {
  const Threads guard(3);
  std::array<int, 8> seen = {};
  run(8, [&](int piece) { seen[static_cast<size_t>(piece)] = threads(); });
  CHECK(seen == std::array{1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(threads() == 3);
}

TEST_CASE("a thread is the least that there can be, and there are no more than pieces") {
  CHECK(lacks(error_of([] { set_threads(most_threads + 1); }), {"threads: 33 given", "32"}) == "");
  CHECK(lacks(error_of([] { set_threads(0); }), {"threads: 0 given"}) == "");
}
