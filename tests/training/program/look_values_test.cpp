// Units that the page of look offers, since they tell a property, and the words about them.
#include "training/program/look/look_values.h"

#include "tests/support.h"

using namespace unroll;

TEST_CASE("a unit that falls while a number rises is offered with a correlation below 0") {
  const Tensor states = Tensor::from({4, 2}, {4, 0, 3, 1, 2, 0, 1, 1});
  const std::vector<UnitProperty> properties = {{.what = "the hour", .numbers = {1, 2, 3, 4}},
                                                {.what = "the hour left", .numbers = {4, 3, 2, 1}}};
  const auto offered = units_to_offer({states}, properties, "of 4 rows");
  REQUIRE(offered.size() == 2);
  CHECK((offered[0].unit == 0 && offered[0].told == "r -1.00"));
  CHECK(offered[0].how == "correlation -1.00, of 4 rows");
  CHECK(offered[1].told == "r 1.00");
}

TEST_CASE("a unit is offered from a correlation of a half on, or from three quarters of the cases") {
  const auto offered = [](const Tensor& state, const UnitProperty& property) {
    return units_to_offer({state}, std::vector{property}, "").size() == 1;
  };
  const Tensor state = Tensor::from({4, 1}, {1, 2, 3, 4});
  CHECK(offered(state, {.what = "", .numbers = {2, 1, 4, 3}}));        // 0.6
  CHECK_FALSE(offered(state, {.what = "", .numbers = {1, 4, 1, 4}}));  // 0.45
  CHECK(offered(state, {.what = "", .classes = {0, 1, 0, 1}}));
  const Tensor long_state = Tensor::from({6, 1}, {1, 2, 3, 4, 5, 6});
  CHECK_FALSE(offered(long_state, {.what = "", .classes = {0, 1, 1, 0, 0, 1}}));  // two thirds
}
