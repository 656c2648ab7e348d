// Parameters: the slabs, first values, and what becomes of gradients from step to step.
#include "framework/parameters.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "framework/loss.h"
#include "framework/ops.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "optim/optimizer.h"
#include "tests/support.h"

using namespace unroll;

namespace {

// The slab's elements that belong to no parameter.
std::vector<real> padding_of(const ParameterSet& params, const Tensor& slab) {
  std::vector<bool> owned(slab.size());
  for (const auto& p : params.all())
    for (int64_t i = 0; i < p->size(); ++i) owned[p->offset + i] = true;
  std::vector<real> result;
  for (int64_t i = 0; i < slab.size(); ++i)
    if (!owned[i]) result.push_back(slab.data()[i]);
  return result;
}

bool all_zero(std::span<const real> values) {
  return std::all_of(values.begin(), values.end(), [](real v) { return v == 0; });
}

double norm(const Tensor& x) {
  double sum = 0;
  for (const real v : x.span()) sum += v * v;
  return std::sqrt(sum);
}

}  // namespace

// --- slabs -------------------------------------------------------------------------------------------------

TEST_CASE("segments of the slabs are aligned to 256 bytes, in order, apart, and padded with zeros") {
  ParameterSet params;
  for (const Shape& s : {Shape{1}, Shape{3, 5}, Shape{32}, Shape{33}, Shape{}, Shape{64, 2}})
    params.add(fmt::format("p{}", params.all().size()), s, Init::uniform(1, 2));
  const Tensor values = params.values(), gradients = params.gradients();
  CHECK(values.size() == gradients.size());
  int64_t end = 0;
  for (const auto& p : params.all()) {
    CHECK(p->offset >= end);
    CHECK(p->offset * sizeof(real) % 256 == 0);
    CHECK(p->leaf_value().data() == values.data() + p->offset);
    CHECK(p->leaf_value().shape() == p->shape);
    end = p->offset + p->size();
  }
  CHECK(values.size() >= end);
  CHECK(params.count() == 1 + 15 + 32 + 33 + 1 + 128);
  CHECK(all_zero(padding_of(params, values)));
  CHECK(all_zero(padding_of(params, gradients)));
  CHECK(static_cast<int64_t>(padding_of(params, values).size()) == values.size() - params.count());

  Tape tape;
  Var total = Tensor::full({}, 0);
  for (const auto& p : params.all()) total = total + sum(p->var() * p->var());
  tape.backward(total);
  CHECK(all_zero(padding_of(params, gradients)));
  for (const auto& p : params.all())
    for (int64_t i = 0; i < p->size(); ++i)
      CHECK(gradients.data()[p->offset + i] == 2 * values.data()[p->offset + i]);
}

TEST_CASE("parameters that are joined lie one behind the other, in the order that was asked for") {
  ParameterSet params;
  const Scope scope = params / "lstm";
  std::vector<Var> vars;
  for (const auto& [name, size] : {std::pair{"a", 3}, {"b", 5}, {"c", 7}, {"d", 2}, {"e", 1}})
    vars.push_back(scope.add(name, {size}, Init::uniform(1, 2)).var());
  scope.join(std::vector{vars[1], vars[4], vars[0]});
  const Tensor values = params.values();
  std::string order;
  for (const auto& p : params.all()) order += p->name.back();
  CHECK(order == "beacd");
  const auto at = [&](const char* name) { return params.find(name)->offset; };
  CHECK(at("lstm.b") == 0);
  CHECK(at("lstm.e") == 5);
  CHECK(at("lstm.a") == 6);
  CHECK(at("lstm.c") * sizeof(real) == 256);  // the others are aligned as ever
  CHECK(at("lstm.d") * sizeof(real) == 512);
  CHECK(params.find("lstm.e")->leaf_value().data() == values.data() + 5);
  CHECK(all_zero(padding_of(params, values)));
  CHECK(error_of([&] { scope.join(vars); }) == "parameters: they are joined after their first use");

  ParameterSet others;
  const Var stranger = others.add("x", {1}, {}).var();
  ParameterSet more;
  const Var one = more.add("y", {1}, {}).var();
  CHECK(lacks(error_of([&] { (more / "s").join(std::vector{one, stranger}); }), {"none of this set"}) == "");
}

TEST_CASE("a frozen one among joined parameters stays as it is, and the norm does not count it") {
  ParameterSet params;
  std::vector<Var> vars;
  for (const char* name : {"a", "b", "c"}) vars.push_back(params.add(name, {3}, Init::constant(1)).var());
  (params / "all").join(vars);
  params.find("b")->frozen = true;
  Tape tape;
  tape.backward(sum(vars[0]) + sum(vars[1]) + sum(vars[2]));
  CHECK(grad_norm(params) == doctest::Approx(std::sqrt(6.0)));
}

TEST_CASE("a frozen parameter collects no gradient, and what depends on frozen ones alone is not recorded") {
  ParameterSet params;
  Parameter& a = params.add("body.a", {3}, Init::constant(1));
  Parameter& b = params.add("head.b", {3}, Init::constant(2));
  for (Parameter* p : params.under("body")) p->frozen = true;
  Tape tape;
  const Var body = tanh(a.var() * a.var());
  CHECK(tape.size() == 0);
  tape.backward(sum(body * b.var()));
  CHECK_FALSE(a.node.gradient.written());
  CHECK(b.node.gradient.value({3}).to_host() == std::vector<real>(3, std::tanh(1.0)));
  for (Parameter* p : params) p->frozen = true;
  CHECK((a.frozen && b.frozen));
  for (Parameter* p : params.under("")) p->frozen = false;
  CHECK_FALSE((a.frozen || b.frozen));
}

TEST_CASE("parameters are found by name or by what they are under") {
  ParameterSet params;
  for (const char* name : {"encoder.weight", "encoder.rnn.bias", "encoder2.weight", "head"})
    params.add(name, {1}, {});
  CHECK(&params.at("head") == params.find("head"));
  CHECK(lacks(error_of([&] { params.at("encoder.weigth"); }),
              {"'encoder.weigth'", "did you mean 'encoder.weight'"}) == "");
  CHECK(params.under("encoder").size() == 2);
  CHECK(params.under("").size() == 4);
  CHECK(params.under("encoder.rnn").size() == 1);
  CHECK(params.under("head").size() == 1);
  CHECK(lacks(error_of([&] { params.under("encod"); }), {"'encod'", "'encoder.weight'"}) == "");
}

TEST_CASE("an empty set has empty slabs") {
  const ParameterSet params;
  CHECK(params.values().size() == 0);
  CHECK(params.count() == 0);
  CHECK(params.find("w") == nullptr);
}

TEST_CASE("a set can be moved before and after first use, and its variables stay good") {
  const auto use = [](const Var& w) {
    Tape tape;
    tape.backward(sum(w * w));
    return w.grad().to_host();
  };
  ParameterSet first;
  const Var w = (first / "layer").add("w", {2}, Init::constant(3)).var();
  ParameterSet second = std::move(first);
  CHECK(use(w) == std::vector<real>{6, 6});
  second.spend_gradients();
  ParameterSet third;
  third = std::move(second);
  CHECK(use(w) == std::vector<real>{6, 6});
  CHECK(w.value().data() == third.values().data());
  CHECK(third.find("layer.w") != nullptr);
}

TEST_CASE("a parameter added after first use is an error that names it") {
  ParameterSet params;
  const Var w = params.add("w", {2}, Init::constant(3)).var();
  (void)w.value();
  CHECK(lacks(error_of([&] { params.add("late", {1}, Init::constant(0)); }),
              {"late", "after the first use"}) == "");
  CHECK(lacks(error_of([&] { params.set_seed(2); }), {"seed"}) == "");
}

TEST_CASE("a name taken twice is an error that names it") {
  ParameterSet params;
  params.add("layer.w", {2}, Init::constant(3));
  CHECK(lacks(error_of([&] { (params / "layer").add("w", {2}, Init::constant(0)); }), {"layer.w"}) == "");
  CHECK(params.all().size() == 1);
}

TEST_CASE("paths are joined with dots and found by name") {
  ParameterSet params;
  Parameter& w = (params / "encoder" / "lstm").add("weight_ih_l0", {2, 3}, Init::constant(0));
  CHECK(w.name == "encoder.lstm.weight_ih_l0");
  CHECK(params.find("encoder.lstm.weight_ih_l0") == &w);
  CHECK(params.find("encoder.lstm") == nullptr);
}

// --- gradients from step to step ---------------------------------------------------------------------------

TEST_CASE("a parameter unused in one step contributes nothing to that step's norm") {
  ParameterSet params;
  Parameter& used = params.add("used", {3}, Init::constant(1));
  Parameter& sometimes = params.add("sometimes", {70}, Init::constant(2));
  {
    Tape tape;
    tape.backward(sum(used.var() * 3) + sum(sometimes.var() * sometimes.var()));
    params.complete_gradients();
    CHECK(norm(params.gradients()) == doctest::Approx(std::sqrt(3 * 9 + 70 * 16.0)));
    params.spend_gradients();
  }
  {
    Tape tape;
    tape.backward(sum(used.var() * 4));
    params.complete_gradients();
    CHECK(norm(params.gradients()) == doctest::Approx(std::sqrt(3 * 16.0)));
    CHECK(all_zero(sometimes.node.gradient.value(sometimes.shape).span()));
    params.spend_gradients();
  }
  {  // and it adds to nothing stale when it is used again
    Tape tape;
    tape.backward(sum(sometimes.var() * 5));
    params.complete_gradients();
    CHECK(norm(params.gradients()) == doctest::Approx(std::sqrt(70 * 25.0)));
  }
}

TEST_CASE("completing gradients twice, or before any were made, gives zeros and no more") {
  ParameterSet params;
  Parameter& p = params.add("p", {5}, Init::constant(1));
  params.gradients();  // takes memory
  p.node.gradient.value(p.shape).fill(9);
  params.complete_gradients();
  CHECK(norm(params.gradients()) == 0);
  {
    Tape tape;
    tape.backward(sum(p.var() * 2));
  }
  params.complete_gradients();
  params.complete_gradients();
  CHECK(norm(params.gradients()) == doctest::Approx(std::sqrt(20.0)));
  params.spend_gradients();
  params.complete_gradients();
  params.complete_gradients();
  CHECK(norm(params.gradients()) == 0);
}

TEST_CASE("an embedding's gradient holds the rows of this step and no others") {
  ParameterSet params;
  const Embedding embed(params / "embed", {.vocab = 6, .dim = 2});
  Gradient& gradient = params.find("embed.weight")->node.gradient;
  const auto step = [&](const std::vector<int32_t>& tokens, real factor) {
    Tape tape;
    tape.backward(sum(embed(ids({static_cast<int>(tokens.size())}, tokens))) * factor);
    params.complete_gradients();
    std::vector<real> first_column;
    for (int r = 0; r < 6; ++r) {
      first_column.push_back(gradient.value({6, 2}).data()[2 * r]);
      CHECK(gradient.value({6, 2}).data()[2 * r + 1] == first_column.back());
    }
    return first_column;
  };
  CHECK(step({1, 4, 1}, 1) == std::vector<real>{0, 2, 0, 0, 1, 0});
  CHECK(gradient.only_some_rows());
  CHECK(std::vector<int32_t>(gradient.rows().begin(), gradient.rows().end()) == std::vector<int32_t>{1, 4});
  params.spend_gradients();
  CHECK(step({4, 5}, 10) == std::vector<real>{0, 0, 0, 0, 10, 10});
  CHECK(step({0, 5}, 1) == std::vector<real>{1, 0, 0, 0, 10, 11});  // not spent: a second window adds
  params.spend_gradients();
  params.complete_gradients();  // a step without the embedding
  CHECK(norm(params.gradients()) == 0);
  params.spend_gradients();
  CHECK(step({2}, 3) == std::vector<real>{0, 0, 3, 0, 0, 0});
  params.spend_gradients();
  {  // a step that contributes to all rows, then one that does not
    Tape tape;
    tape.backward(sum(embed.weight * 7));
  }
  params.spend_gradients();
  CHECK(step({3}, 1) == std::vector<real>{0, 0, 0, 1, 0, 0});
}

TEST_CASE("a table that serves as embedding and as decoder collects the gradients of both") {
  for (bool fused : {false, true}) {
    ParameterSet params;
    const Embedding embed(params / "embed", {.vocab = 5, .dim = 3});
    const Dense out(params / "out", {.in = 3, .out = 5}, embed.weight);
    CHECK(params.all().size() == 2);  // the table and the decoder's bias
    const IdTensor input = ids({4}, {1, 3, 1, 0}), target = ids({4}, {2, 2, 0, 4});
    const auto loss_of = [&](const Var& table, const Var& bias) {
      const Var x = tanh(embedding(table, input));
      return fused ? softmax_cross_entropy(x, table, bias, target)
                   : softmax_cross_entropy(linear(x, table, bias), target);
    };
    // the reference: two tables that are variables of their own
    Tensor expected;
    {
      Tape tape;
      const Var a = tape.watch(embed.weight.value()), b = tape.watch(embed.weight.value());
      tape.backward(
          softmax_cross_entropy(linear(tanh(embedding(a, input)), b, Var(out.bias.value())), target));
      expected = a.grad().clone();
      for (int64_t i = 0; i < expected.size(); ++i) expected.data()[i] += b.grad().data()[i];
    }
    for (int step = 0; step < 3; ++step) {  // rows, then all; rows that went stale; once more
      Tape tape;
      tape.backward(loss_of(embed.weight, out.bias));
      CHECK(distance(embed.weight.grad(), expected) < 1e-15);
      params.spend_gradients();
    }
    {  // after a step that used the table as an embedding only
      Tape tape;
      tape.backward(sum(embed(ids({1}, {2}))));
      CHECK(embed.weight.grad().to_host() == std::vector<real>{0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0});
    }
    params.spend_gradients();
    Tape tape;
    tape.backward(loss_of(embed.weight, out.bias));
    CHECK(distance(embed.weight.grad(), expected) < 1e-15);
  }
}

TEST_CASE("more numbers than a model may have are refused before any memory is taken") {
  ParameterSet params;
  params.add("table", {1 << 16, 1 << 15}, Init::constant(0));
  const int64_t before = memory_statistics().in_use;
  CHECK(lacks(input_error_of([&] { params.check_count(); }), {"2147483648 parameters", "2147483647"}) == "");
  CHECK(memory_statistics().in_use == before);
  ParameterSet few;
  few.add("table", {3, 4}, Init::constant(0));
  few.check_count();
  few.add("another", {2}, Init::constant(0));  // it was no use
  CHECK(few.count() == 14);
}
