// Operations refuse what does not fit, and leave the tape as it was.
#include <functional>

#include "framework/gradcheck.h"
#include "framework/loss.h"
#include "framework/ops.h"
#include "tests/support.h"

using namespace unroll;

// --- errors ------------------------------------------------------------------------------------------------

TEST_CASE("a shape that does not fit is an error that names the operation and both shapes") {
  const auto x = [](const Shape& shape) { return Var(Tensor::zeros(shape)); };
  const auto id = [](const Shape& shape) { return IdTensor::zeros(shape); };
  const auto message = [](auto f, const std::vector<std::string>& parts) {
    CHECK(lacks(error_of(f), parts) == "");
  };

  message([&] { matmul(x({3, 4}), x({5, 6})); }, {"matmul", "[3, 4]", "[5, 6]"});
  message([&] { matmul(x({3}), x({3, 2})); }, {"matmul", "[3]", "two dimensions"});
  message([&] { matmul(x({2, 3, 5}), x({5, 2, 3})); }, {"matmul", "[2, 3, 5]", "[5, 2, 3]", "agree"});
  message([&] { matmul(x({4, 5}), x({2, 6, 3})); }, {"matmul", "[4, 5]", "[2, 6, 3]"});
  message([&] { broadcast_to(x({2, 3}), {2, 4}); }, {"broadcast_to", "[2, 3]", "[2, 4]"});
  message([&] { broadcast_to(x({2, 3}), {3}); }, {"broadcast_to", "[2, 3]", "[3]"});
  message([&] { transpose(x({2, 3}), 0, 2); }, {"transpose", "2", "[2, 3]"});
  message([&] { maximum(x({3, 4}), x({3})); }, {"maximum", "[3, 4]", "[3]"});
  message([&] { linear(x({3, 4}), x({6, 5}), x({6})); }, {"linear", "[3, 4]", "[6, 5]"});
  message([&] { linear(x({3, 4}), x({6, 4}), x({5})); }, {"linear", "[5]", "[6, 4]"});
  message([&] { linear(x({3, 4}), x({6, 5})); }, {"linear", "[3, 4]", "[6, 5]"});
  message([&] { linear(x({}), x({6, 5})); }, {"linear", "[]", "[6, 5]"});
  message([&] { add(Var(), x({3})); }, {"variable is empty"});
  message([&] { tanh(Var()); }, {"variable is empty"});
  const auto empty = [] { return Var(); };  // a temporary, and one with a name
  message([&] { (void)empty().shape(); }, {"variable is empty"});
  message([&] { (void)empty().dim(0); }, {"variable is empty"});
  const Var named = empty();
  message([&] { (void)named.shape(); }, {"variable is empty"});
  message([&] { embedding(x({3, 4}), IdTensor()); }, {"embedding", "ids are empty"});
  message([&] { add(x({3, 4}), x({3})); }, {"add", "[3, 4]", "[3]"});
  message([&] { sub(x({3, 4}), x({2, 4})); }, {"sub", "[3, 4]", "[2, 4]"});
  message([&] { mul(x({2, 3, 4}), x({2, 4})); }, {"mul", "[2, 3, 4]", "[2, 4]"});
  message([&] { div(x({5}), x({4})); }, {"div", "[5]", "[4]"});
  message([&] { sum(x({3, 4}), 2); }, {"sum", "2", "[3, 4]"});
  message([&] { mean(x({3, 4}), -3); }, {"mean", "-3", "[3, 4]"});
  message([&] { max(x({3, 4}), 5); }, {"max", "5", "[3, 4]"});
  message([&] { mean(x({3, 0}), 1); }, {"mean", "[3, 0]"});
  message([&] { max(x({3, 0}), 1); }, {"max", "[3, 0]"});
  message([&] { max(x({0})); }, {"max", "[0]"});
  message([&] { layer_norm(x({3, 4}), x({5}), x({4})); }, {"layer_norm", "[3, 4]", "[5]"});
  message([&] { layer_norm(x({3, 4}), x({4}), x({1})); }, {"layer_norm", "[3, 4]", "[1]"});
  message([&] { reshape(x({3, 4}), {5, 2}); }, {"reshape", "[3, 4]", "[5, 2]"});
  message([&] { transpose(x({2, 3, 4})); }, {"transpose", "[2, 3, 4]"});
  message([&] { concat({x({3, 4}), x({2, 5})}, 0); }, {"concat", "[3, 4]", "[2, 5]"});
  message([&] { concat({x({3, 4}), x({3})}, 0); }, {"concat", "[3, 4]", "[3]"});
  message([&] { concat({x({3, 4})}, 2); }, {"concat", "2", "[3, 4]"});
  message([&] { concat({}, 0); }, {"concat"});
  message([&] { stack({x({3, 4}), x({4, 3})}); }, {"stack", "[3, 4]", "[4, 3]"});
  message([&] { stack({}); }, {"stack"});
  message([&] { stack({x({1, 2, 3, 4, 5, 6})}); }, {"stack", "[1, 2, 3, 4, 5, 6]"});
  message([&] { slice(x({3, 4}), 1, 2, 5); }, {"slice", "2", "5", "[3, 4]"});
  message([&] { slice(x({3, 4}), 1, 3, 2); }, {"slice", "[3, 4]"});
  message([&] { slice(x({3, 4}), 2, 0, 1); }, {"slice", "[3, 4]"});
  message([&] { row(x({3, 4}), 3); }, {"row", "3", "[3, 4]"});
  message([&] { row(x({3, 4}), -4); }, {"row", "-4", "[3, 4]"});
  message([&] { gather(x({3, 4}), id({4})); }, {"gather", "[3, 4]", "[4]"});
  message([&] { gather(x({2, 3, 4}), id({3, 2})); }, {"gather", "[2, 3, 4]", "[3, 2]"});
  message([&] { gather(x({1, 4}), ids({1}, {4})); }, {"gather", "4", "[1, 4]"});
  message([&] { embedding(x({4}), id({3})); }, {"embedding", "[4]", "[3]"});
  message([&] { embedding(x({4, 2}), ids({2}, {1, 4})); }, {"embedding", "4", "[4, 2]"});
  message([&] { embedding(x({4, 2}), ids({2}, {-1, 0})); }, {"embedding", "-1", "[4, 2]"});
  message(
      [&] {
        embedding(x({4, 2}), id({1, 1, 1, 1, 1, 1}));
      },
      {"embedding", "[4, 2]", "[1, 1, 1, 1, 1, 1]"});
  message([&] { dropout(x({3, 4}), 1, {}); }, {"dropout", "1", "[3, 4]"});
  message([&] { dropout(x({3, 4}), -0.5, {}); }, {"dropout", "-0.5", "[3, 4]"});
  message([&] { lstm_cell(x({3, 8}), x({3, 3})); }, {"lstm_cell", "[3, 8]", "[3, 3]"});
  message([&] { lstm_cell(x({3, 9}), x({3, 2})); }, {"lstm_cell", "[3, 9]", "[3, 2]"});
}

TEST_CASE("an operation that throws leaves the tape as it was") {
  Tape tape;
  const Var x = tape.watch(Tensor::zeros({3, 4}));
  const int64_t before = tape.size();
  CHECK_THROWS_AS(matmul(x, x), Error);
  CHECK_THROWS_AS(add(x, Var(Tensor::zeros({3}))), Error);
  CHECK(tape.size() == before);
}

TEST_CASE(
    "a number may stand left of a variable, or divide it; vectors of variables are joined as Vars are") {
  ParameterSet params;
  const Var x = params.add("x", {2}, Init::constant(4)).var();
  Tape tape;
  const Var y = (1 - x) + (3 + x) + x / 2 + 8 / x;
  CHECK(y.value().to_host() == std::vector<real>{8, 8});
  tape.backward(sum(y));
  CHECK(x.grad().to_host() == std::vector<real>{0, 0});  // -1 + 1 + 1/2 - 8/16
  const std::vector<Var> both = {x, x};
  CHECK(concat(both, 0).shape() == Shape{4});
  CHECK(stack(both).shape() == Shape({2, 2}));
  CHECK(Tensor::from({2}, {1, 2}).to_host() == std::vector<real>{1, 2});
}

TEST_CASE("a gradient of another size, a rate that is none and a size beyond an int are refused") {
  ParameterSet params;
  const Var x = params.add("x", {2}, Init::constant(4)).var();
  CHECK(lacks(error_of([&] { contribute(Tensor::zeros({4096}), x); }), {"contribute", "[4096]", "[2]"}) ==
        "");
  CHECK(lacks(error_of([] { dropout_mask({3}, 2, {}); }), {"dropout", "rate 2"}) == "");
  const Var wide(Tensor(Shape{2000000000, 0}));
  CHECK(lacks(error_of([&] { concat({wide, wide}, 0); }), {"concat", "4000000000"}) == "");
  ParameterSet other;
  CHECK(lacks(error_of([&] {
                Tape tape;
                tape.backward(other.add("y", {}, {}).var());
              }),
              {"the parameter 'y' itself"}) == "");
}

TEST_CASE("what is empty is said, not read") {
  const Tensor none;
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { none.item(); }, [&] { none.fill(0); }, [&] { none.to_host(); }, [&] { none.clone(); },
           [&] { none.span(); }, [&] { none.reshape({1}); }, [&] { Var().item(); },
           [&] { reshape(Var(), {1}); }})
    CHECK(error_of(use).find("empty: nothing was assigned to it") != std::string::npos);
  const Var x(Tensor::zeros({3}));
  CHECK(lacks(error_of([&] { gather(x, IdTensor()); }), {"gather", "empty"}) == "");
  CHECK(lacks(error_of([&] { mask_rows(x, none); }), {"mask_rows", "empty"}) == "");
  CHECK(lacks(error_of([&] { binary_cross_entropy(Var(Tensor::zeros({})), none); }), {"binary", "empty"}) ==
        "");
}
