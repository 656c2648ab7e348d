// The LSTM's engines against each other, in double and in float: same parameters, same masks, same results.
#include <array>

#include "tests/layers/lstm_window.h"

using namespace unroll;

namespace {

using Case = LstmCase;

void compare(const Case& c, bool at_random = false) {
  const WindowCase w = window_of(c);
  check_agreement(w, {Window(w, Engine::fused).run()}, c.config.input, c.config.hidden, !at_random);
}

}  // namespace

TEST_CASE("fused and composed agree to rounding, forward and backward") {
  for (const auto& [input, hidden, layers, steps, batch] : {std::array{1, 1, 1, 1, 1},
                                                            {3, 5, 1, 1, 2},
                                                            {3, 5, 1, 7, 3},
                                                            {2, 7, 2, 4, 1},
                                                            {5, 3, 3, 6, 2},
                                                            {16, 33, 2, 10, 4},
                                                            {65, 40, 1, 12, 20}})
    compare({.config = {.input = input, .hidden = hidden, .layers = layers}, .steps = steps, .batch = batch});
}

TEST_CASE("fused and composed agree to rounding with each option, the masks being the same bits") {
  for (const auto& [input, hidden, layers, steps, batch] :
       {std::array{3, 5, 2, 5, 3}, {5, 3, 3, 6, 2}, {16, 33, 2, 10, 4}})
    for (const Case& c : lstm_options_alone(input, hidden, layers, steps, batch)) compare(c);
}

TEST_CASE("fused and composed agree to rounding with options together") {
  RandomStream random(6, "cases");
  for (int i = 0; i < 200; ++i) compare(random_lstm_case(random, 6), true);
}

TEST_CASE("an engine gives the same bits twice") {
  for (Engine engine : {Engine::fused, Engine::composed}) {
    const Case c{
        .config = {.input = 16, .hidden = 33, .layers = 2, .dropout = 0.5f}, .steps = 10, .batch = 4};
    const Results first = Window(window_of(c), engine).run(), second = Window(window_of(c), engine).run();
    for (size_t i = 0; i < first.size(); ++i) CHECK(same_bits(first[i].second, second[i].second));
  }
}
