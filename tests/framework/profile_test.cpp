// The counts of a profile, and the operations to which they belong.
#include "framework/profile.h"

#include <chrono>
#include <thread>

#include "framework/ops.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "tests/support.h"

using namespace unroll;

namespace {

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// y = x, slowly.
Var slow(const Var& x, int forward_ms, int backward_ms) {
  sleep_ms(forward_ms);
  return record("slow", x.value().clone(), inputs(x), [=](const Var& y) {
    sleep_ms(backward_ms);
    const Into dx = x.gradient();
    dx.tensor.copy_from(y.grad());
  });
}

const Profile::Row& row(const std::vector<Profile::Row>& rows, const std::string& name) {
  for (const Profile::Row& r : rows)
    if (r.name == name) return r;
  FAIL("there is no row ", name);
  return rows[0];
}

}  // namespace

TEST_CASE("calls are counted, forward and backward time belong to the operation that took it") {
  Profile profile;
  for (int i = 0; i < 3; ++i) {
    Tape tape;
    const Var x = tape.watch(Tensor::full({4}, 1));
    tape.backward(sum(slow(slow(x, 10, 20), 10, 20)));
  }
  {
    Tape tape;
    slow(tape.watch(Tensor::full({4}, 1)), 10, 20);  // not played back
  }
  const auto rows = profile.rows();
  CHECK(profile.tapes() == 4);
  CHECK(row(rows, "slow").calls == 7);
  CHECK(row(rows, "slow").forward >= 0.070);  // a sleep is never shorter than asked for
  CHECK(row(rows, "slow").backward >= 0.120);
  CHECK(row(rows, "sum").calls == 3);
  CHECK(row(rows, "watch").calls == 4);
  CHECK(rows.front().name == "slow");
  CHECK(rows.back().name == "everything else");
  for (size_t i = 1; i + 1 < rows.size(); ++i) CHECK(rows[i].seconds() <= rows[i - 1].seconds());
}

TEST_CASE("what a tape does not see is measured as a part, or is everything else") {
  Profile profile;
  {
    const Profile::Part part("update");
    sleep_ms(20);
  }
  sleep_ms(30);
  const auto rows = profile.rows();
  CHECK(row(rows, "update").calls == 1);
  CHECK(row(rows, "update").forward >= 0.020);
  CHECK(row(rows, "update").backward == 0);
  CHECK(row(rows, "everything else").forward >= 0.030);
}

TEST_CASE("arithmetic of products: 2 m n k forward, twice that backward") {
  Profile profile;
  Tape tape;
  const Var a = tape.watch(Tensor::full({3, 5}, 1)), b = tape.watch(Tensor::full({5, 7}, 1));
  tape.backward(sum(matmul(a, b)));
  const auto rows = profile.rows();
  CHECK(row(rows, "matmul").flops == 3 * 2 * 3 * 5 * 7);
  CHECK(row(rows, "sum").flops == 0);
}

TEST_CASE("time in products is part of the operation's, and of no other's") {
  Profile profile;
  Tape tape;
  const Var x = tape.watch(Tensor::full({64, 64}, 1));
  tape.backward(sum(slow(matmul(x, x), 10, 10)));
  const auto rows = profile.rows();
  const Profile::Row& product = row(rows, "matmul");
  CHECK((product.products > 0) == !on_gpu());
  CHECK(product.products <= product.seconds());
  for (const Profile::Row& other : rows)
    if (other.name != "matmul") CHECK(other.products == 0);
}

TEST_CASE("memory is counted where it waits for the backward: results, and what a closure keeps") {
  Profile profile;
  constexpr int64_t bytes = 1024 * sizeof(real);  // a size of the pool's own
  Tape tape;
  const Var x = tape.watch(Tensor::full({1024}, 1));
  const Tensor kept = Tensor::full({1024}, 2);
  const auto keeping = [&] {
    const Tensor temporary = Tensor::full({1024}, 3);  // is gone before the backward
    const Tensor own = kept.clone();
    return record("keeping", x.value().clone(), inputs(x),
                  [x, own](const Var& y) { x.gradient().tensor.copy_from(y.grad()); });
  };
  const Var loss = sum(keeping());
  tape.backward(loss);
  CHECK(row(profile.rows(), "keeping").held == 2 * bytes);
}

TEST_CASE("a profile measures its own lifetime on its own thread; there is one at a time") {
  CHECK(Profile::active() == nullptr);
  const Profile::Part of_nothing("update");
  {
    Profile profile;
    CHECK(Profile::active() == &profile);
    CHECK(error_of([] { Profile second; }) != "");
    CHECK(Profile::active() == &profile);
    std::thread([] {
      CHECK(Profile::active() == nullptr);
      Tape tape;
      tape.backward(sum(tape.watch(Tensor::full({4}, 1))));
    }).join();
    CHECK(profile.tapes() == 0);
  }
  CHECK(Profile::active() == nullptr);
  Tape tape;
  tape.backward(sum(tape.watch(Tensor::full({4}, 1))));
}

TEST_CASE(
    "a share of an operation is taken out of its row, forward and backward; inside a part it is the part's") {
  Profile profile;
  const auto shared = [](const Var& x) {
    sleep_ms(10);
    {
      const Profile::Within share("share");
      sleep_ms(40);
    }
    return record("shared", x.value().clone(), inputs(x), [=](const Var& y) {
      const Profile::Within share("share");
      sleep_ms(30);
      x.gradient().tensor.copy_from(y.grad());
    });
  };
  const auto begin = std::chrono::steady_clock::now();
  {
    Tape tape;
    tape.backward(sum(shared(tape.watch(Tensor::full({4}, 1)))));
  }
  {
    const Profile::Part part("part");
    const Profile::Within share("share");
    sleep_ms(20);
  }
  const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto rows = profile.rows();
  CHECK(row(rows, "share").calls == 1);
  CHECK(row(rows, "share").forward >= 0.040);
  CHECK(row(rows, "share").backward >= 0.030);
  CHECK(row(rows, "shared").forward >= 0.010);
  CHECK(row(rows, "part").forward >= 0.020);
  // No time is in two rows: whatever they are together is no more than what passed.
  double together = 0;
  for (const Profile::Row& r : rows)
    if (r.name != "everything else") together += r.seconds();
  CHECK(together <= all);
}

TEST_CASE("arithmetic within an operation belongs to the share") {
  Profile profile;
  Tape tape;
  const Var a = tape.watch(Tensor::full({3, 5}, 1)), b = tape.watch(Tensor::full({5, 7}, 1));
  const auto inside = [&] {
    const Profile::Within share("share");
    products_done.flops += 1000;
  };
  inside();
  tape.backward(sum(matmul(a, b)));
  CHECK(row(profile.rows(), "share").flops == 1000);
  CHECK(row(profile.rows(), "matmul").flops == 3 * 2 * 3 * 5 * 7);
}

TEST_CASE("options of the recurrent layers have rows of their own, and only those that are on") {
  const auto names = [](const auto& layer, const auto& state) {
    Profile profile;
    {
      Tape tape;
      const auto out = layer(tape.watch(Tensor::full({3, 2, 4}, 0.5)), state);
      tape.backward(sum(out.y));
    }
    std::vector<std::string> result;
    for (const Profile::Row& r : profile.rows())
      if (r.name.starts_with("recurrent: ")) result.push_back(r.name.substr(11));
    std::ranges::sort(result);
    return result;
  };
  using Names = std::vector<std::string>;
  ParameterSet params;
  const Lstm plain(params / "plain", {.input = 4, .hidden = 4}),
      full(params / "full", {.input = 4,
                             .hidden = 4,
                             .recurrent_dropout = 0.5f,
                             .weight_drop = 0.5f,
                             .zoneout_h = 0.5f,
                             .projection = 2,
                             .layer_norm = true,
                             .peepholes = true,
                             .mogrifier = 2});
  const Gru gru(params / "gru", {.input = 4, .hidden = 4, .weight_drop = 0.5f, .zoneout_h = 0.1f});
  CHECK(names(plain, plain.zero_state(2)) == Names{});
  CHECK(names(full, full.zero_state(2)) ==
        Names{"cell with layer_norm and peepholes and recurrent_dropout and zoneout and lengths", "mogrifier",
              "projection", "recurrent_dropout", "weight_drop",
              "zoneout and lengths"});  // the last ones: masks
  CHECK(names(gru, gru.zero_state(2)) ==
        Names{"cell with zoneout and lengths", "weight_drop", "zoneout and lengths"});
}

TEST_CASE("no time is in two rows, and what comes before a tape or its backward is everything else") {
  const auto begin = std::chrono::steady_clock::now();
  Profile profile;
  constexpr int64_t other = 1000;
  const auto elsewhere = [] { sleep_ms(20), products_done.flops += other; };
  for (int i = 0; i < 2; ++i) {
    elsewhere();
    Tape tape;
    const Var a = tape.watch(Tensor::full({3, 5}, 1)), b = tape.watch(Tensor::full({5, 7}, 1));
    const Var loss = sum(slow(matmul(a, b), 0, 20));
    elsewhere();
    tape.backward(loss);
  }
  const auto rows = profile.rows();
  double all = 0;
  for (const Profile::Row& r : rows) {
    all += r.seconds();
    CHECK(r.flops == (r.name == "matmul" ? 2 * 3 * 2 * 3 * 5 * 7 : 0));
  }
  CHECK(all <= std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  CHECK(row(rows, "everything else").forward >= 0.080);
}

TEST_CASE("time of products within an operation belongs to the share alone") {
  Profile profile;
  Tape tape;
  const Var x = tape.watch(Tensor::full({4}, 1));
  {
    const Profile::Within share("share");
    products_done.seconds += 1000;
  }
  products_done.seconds += 10;
  tape.backward(sum(slow(x, 0, 0)));
  CHECK(row(profile.rows(), "share").products == doctest::Approx(1000));
  CHECK(row(profile.rows(), "slow").products == doctest::Approx(10));
}

TEST_CASE("what waited for the backward is counted over all tapes") {
  Profile profile;
  constexpr int64_t bytes = 1024 * sizeof(real);
  for (int i = 0; i < 3; ++i) {
    Tape tape;
    const Var loss = sum(slow(tape.watch(Tensor::full({1024}, 1)), 0, 0));
    tape.backward(loss);
  }
  CHECK(row(profile.rows(), "slow").held == 3 * bytes);
}

TEST_CASE("resets have rows of their own, beside those of other options") {
  const auto names = [](const RecurrentConfig& config) {
    ParameterSet params;
    const Lstm lstm(params / "lstm", config);
    Profile profile;
    {
      Tape tape;
      const auto out = lstm(tape.watch(Tensor::full({3, 2, 4}, 0.5)), lstm.zero_state(2), {},
                            ids({3, 2}, {0, 0, 0, 1, 0, 0}));
      tape.backward(sum(out.y));
    }
    std::vector<std::string> result;
    for (const Profile::Row& r : profile.rows())
      if (r.name.starts_with("recurrent: ")) result.push_back(r.name.substr(11));
    std::ranges::sort(result);
    return result;
  };
  using Names = std::vector<std::string>;
  CHECK(names({.input = 4, .hidden = 4, .engine = Engine::fused}) == Names{"cell with resets", "resets"});
  CHECK(names({.input = 4, .hidden = 4, .recurrent_dropout = 0.5f, .engine = Engine::fused}) ==
        Names{"cell with recurrent_dropout and resets", "recurrent_dropout", "resets"});
}
