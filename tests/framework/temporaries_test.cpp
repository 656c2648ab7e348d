// An accessor of a temporary gives something that lives on, or does not compile.
#include <type_traits>
#include <utility>

#include "unroll.h"
#include "tests/support.h"

using namespace unroll;

namespace {

struct Model {
  ParameterSet params;
  Dense dense{params / "dense", {.in = 4, .out = 4}};
  Var operator()(const Tensor& x) const { return dense(x); }
};

template <class T>
constexpr bool lives_on = !std::is_reference_v<T> && !std::is_pointer_v<T>;

// Accessors of a variable and of a tensor give values, or objects that hold the memory.
static_assert(lives_on<decltype(std::declval<Var>().value())>);
static_assert(lives_on<decltype(std::declval<const Var>().value())>);
static_assert(lives_on<decltype(std::declval<Var>().shape())>);
static_assert(lives_on<decltype(std::declval<Var>().grad())>);
static_assert(lives_on<decltype(std::declval<Tensor>().shape())>);
static_assert(std::is_same_v<decltype(std::declval<Var>().value().span()), OnHost<const real>>);
static_assert(std::is_same_v<decltype(std::declval<Tensor>().span()), OnHost<real>>);
static_assert(std::is_reference_v<decltype(std::declval<const Var&>().value())>);  // no copy for what stays

template <class T>
concept GivesData = requires {
  std::declval<T>().data();
};
template <class T>
concept GivesBegin = requires {
  std::declval<T>().begin();
};
static_assert(!GivesData<OnHost<real>> && GivesData<OnHost<real>&>);
static_assert(!GivesBegin<OnHost<real>> && GivesBegin<OnHost<real>&>);

static_assert(std::is_convertible_v<OnHost<real>&, std::span<const real>>);
static_assert(!std::is_constructible_v<std::span<const real>, OnHost<real>>);
static_assert(!std::is_constructible_v<std::span<const real>, OnHost<const real>>);
static_assert(std::random_access_iterator<OnHost<const real>::Iterator>);

template <class T>
concept GivesSlabs = requires {
  std::declval<T>().values();
};
static_assert(!GivesSlabs<ParameterSet> && GivesSlabs<ParameterSet&> && GivesSlabs<const ParameterSet&>);

}  // namespace

TEST_CASE("a reference to the value of what a model returns keeps its numbers") {
  Model model;
  for (const auto& p : model.params.all()) p->leaf_value().fill(1);
  // A row of four ones times four ones, and the bias: 5; of four times -5: -19.
  const auto& first = model(Tensor::full({1, 4}, 1)).value();
  const auto& shape = model(Tensor::full({1, 4}, 1)).shape();
  const auto& second = model(Tensor::full({1, 4}, -5)).value();
  CHECK(first.to_host() == std::vector<real>(4, 5));
  CHECK(second.to_host() == std::vector<real>(4, -19));
  CHECK(shape == Shape{1, 4});
}

TEST_CASE("loops over the elements of a temporary see its numbers") {
  Model model;
  for (const auto& p : model.params.all()) p->leaf_value().fill(1);
  const auto taken_again = [] {
    return Tensor::full({1, 4}, 77);
  };  // the memory of what has ended, where that is free
  int seen = 0;
  for (const real v : model(Tensor::full({1, 4}, 1)).value().span()) {
    const Tensor other = taken_again();
    CHECK(v == 5);
    ++seen;
  }
  for (const real v : model(Tensor::full({1, 4}, 1)).value().on_host()) {
    const Tensor other = taken_again();
    CHECK(v == 5);
    ++seen;
  }
  const auto elements = model(Tensor::full({1, 4}, 1)).value()[0].span();
  const Tensor other = taken_again();
  CHECK(elements[3] == 5);
  CHECK(seen == 8);
  Tensor rows({2, 3});
  for (real& v : rows[1].span()) v = 3;  // a view of what stays is written as before
  CHECK(rows[1].to_host() == std::vector<real>(3, 3));
}
