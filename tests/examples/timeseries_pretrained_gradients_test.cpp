// The gradients of the pretrained forecaster's network, in double.
#include "examples/timeseries/pretrained/network.cpp"
#include "examples/timeseries/pretrained/window.cpp"
#include "framework/gradcheck.h"
#include "tests/support.h"

using namespace timeseries;

TEST_CASE("gradients of the pretrained forecaster's network") {
  for (const CellKind cell : {CellKind::lstm, CellKind::gru}) {
    PretrainedNetwork network(cell, {.hidden = 3, .layers = 2, .residual = true}, 7);
    ForecastBatch batch(2, 1, 2);
    RandomStream random(1, "series");
    for (int place = 0; place < 2; ++place) {
      std::vector<double> x;
      for (int i = 0; i < 12 + place; ++i) x.push_back(static_cast<float>(random.normal()));
      REQUIRE(batch.put(place, x, 4));
    }
    const auto result = gradcheck("pretrained network", network.params, {},
                                  [&](const std::vector<Var>&) {
                                    const Vars quantiles = network(batch);
                                    return Outputs(std::vector<Var>(quantiles.begin(), quantiles.end()));
                                  },
                                  {.elements = 6});
    CHECK_MESSAGE(result, result);
  }
}
