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
