// The neural cache against its definition, a step at a time.
#include "layers/neural_cache.h"

#include <cmath>
#include <limits>

#include "tests/support.h"

using namespace unroll;

namespace {

struct Text {
  Tensor h;  // [steps, width]
  std::vector<int32_t> words;
  std::vector<double> nats;

  Text(int steps, int width, int vocab, double largest) : h({steps, width}) {
    RandomStream random(5, "text");
    h = random_tensor({steps, width}, random, -largest, largest);
    for (int t = 0; t < steps; ++t) {
      words.push_back(static_cast<int32_t>(random.below(static_cast<uint32_t>(vocab))));
      nats.push_back(8 * random.uniform());
    }
  }
  int steps() const { return h.dim(0); }
};

// -log p of word t, as the formula says it.
double reference(const Text& text, const NeuralCacheConfig& c, int t) {
  const auto at = [](int i) { return static_cast<size_t>(i); };
  const int first = std::max(0, t - c.window);
  std::vector<double> exponent;
  for (int i = first; i < t; ++i) {
    double product = 0;
    for (int j = 0; j < text.h.dim(1); ++j) product += text.h[t].data()[j] * text.h[i].data()[j];
    exponent.push_back(c.theta * product);
  }
  const double of_model = std::exp(-text.nats[at(t)]);
  if (exponent.empty()) return -std::log(of_model);
  const double largest = *std::ranges::max_element(exponent);
  double all = 0, of_word = 0;
  for (int i = first; i < t; ++i) {
    const double weight = std::exp(exponent[at(i - first)] - largest);
    all += weight;
    if (text.words[at(i)] == text.words[at(t)]) of_word += weight;
  }
  return -std::log((1 - c.lambda) * of_model + c.lambda * of_word / all);
}

// The losses under the cache, the text given `together` steps at a time.
std::vector<double> mixed(const Text& text, const NeuralCacheConfig& config, int together) {
  NeuralCache cache(config);
  std::vector<double> nats = text.nats;
  for (int begin = 0; begin < text.steps(); begin += together) {
    const int end = std::min(text.steps(), begin + together);
    const auto part = [&](auto& all) {
      return std::span(all).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    };
    cache.mix(text.h.slice(begin, end), part(text.words), part(nats));
  }
  return nats;
}

}  // namespace

TEST_CASE("the mixture is what the formula says, whatever the window and however the text comes") {
  const Text text(170, 3, 12, 1);
  for (const NeuralCacheConfig& config :
       {NeuralCacheConfig{.window = 20, .theta = 0.7, .lambda = 0.3},
        {.window = 1, .theta = 1, .lambda = 0.1},
        {.window = 64, .theta = 0, .lambda = 0.5},    // all steps alike: words counted
        {.window = 5000, .theta = 3, .lambda = 0.9},  // longer than the text
        {}})
    for (const int together : {1, 7, 64, 65, 1000}) {
      const std::vector<double> nats = mixed(text, config, together);
      for (int t = 0; t < text.steps(); ++t) {
        CAPTURE(config.window);
        CAPTURE(together);
        CAPTURE(t);
        // An exponent is at most 9. Product and shift round it by six units of that, exp by eight more of its
        // own; a probability is a quotient of such weights, here and there; what is left is a few units of a
        // loss of 8.
        CHECK(std::abs(nats[static_cast<size_t>(t)] - reference(text, config, t)) <=
              (2 * 2 * (6 * 9 + 8) + 5 * 8) * std::numeric_limits<double>::epsilon() / 2);
      }
    }
}

TEST_CASE("without a share the cache changes no bit") {
  const Text text(90, 3, 5, 1);
  CHECK(mixed(text, {.window = 30, .lambda = 0}, 40) == text.nats);
}

TEST_CASE("a text that repeats itself becomes likely, in the limit of a sharp cache as likely as λ allows") {
  constexpr int period = 10;
  Text text(5 * period, period, 1000, 1);
  for (int t = 0; t < text.steps(); ++t) {
    text.words[static_cast<size_t>(t)] = t % period;
    text.nats[static_cast<size_t>(t)] = std::log(1000.0);  // the model knows nothing
    text.h[t].fill(0);
    text.h[t].data()[t % period] = 1;  // and has a state of its own for each place
  }
  const std::vector<double> nats = mixed(text, {.window = 2 * period, .theta = 60, .lambda = 0.4}, 13);
  for (int t = 0; t < text.steps(); ++t) {
    const double p = t == 0 ? 0.001 : t < period ? 0.6 * 0.001 : 0.6 * 0.001 + 0.4;
    CHECK(std::exp(-nats[static_cast<size_t>(t)]) == doctest::Approx(p).epsilon(1e-12));  // e^-60 is left out
  }
}

TEST_CASE("exponents beyond what a number can hold do no harm") {
  const Text text(40, 3, 4, 100);
  const NeuralCacheConfig config{.window = 10, .theta = 1e3, .lambda = 0.2};  // up to e^30,000,000
  const std::vector<double> nats = mixed(text, config, 9);
  for (int t = 0; t < text.steps(); ++t) {
    CHECK(std::isfinite(nats[static_cast<size_t>(t)]));
    // The exponents, some 1e7, are known to 1e-8.
    CHECK(nats[static_cast<size_t>(t)] == doctest::Approx(reference(text, config, t)).epsilon(1e-6));
  }
}

TEST_CASE("memory is for the window, not for the text") {
  const auto peak = [](int steps) {
    const Text text(steps, 8, 5, 1);
    const int64_t before = memory_statistics().in_use;
    reset_peak_memory();
    mixed(text, {.window = 50}, 100);
    return memory_statistics().peak - before;
  };
  CHECK(peak(5000) == peak(1000));
}

TEST_CASE("what makes no sense is refused by the name of the field") {
  CHECK(lacks(error_of([] { NeuralCache({.window = 0}); }), {"cache: window 0", "at least 1"}) == "");
  CHECK(lacks(error_of([] { NeuralCache({.theta = -1}); }), {"cache: theta -1"}) == "");
  CHECK(lacks(error_of([] { NeuralCache({.theta = INFINITY}); }), {"cache: theta inf"}) == "");
  CHECK(lacks(error_of([] { NeuralCache({.theta = NAN}); }), {"cache: theta nan"}) == "");
  if (sizeof(real) == 4)  // as a float it is infinite
    CHECK(lacks(error_of([] { NeuralCache({.theta = 1e39}); }), {"cache: theta 1e+39"}) == "");
  CHECK(lacks(error_of([] { NeuralCache({.lambda = 1}); }), {"cache: lambda 1", "[0, 1)"}) == "");
  CHECK(lacks(error_of([] { NeuralCache({.lambda = -0.1}); }), {"cache: lambda -0.1"}) == "");
  NeuralCache cache({});
  std::vector<int32_t> words = {1, 2};
  std::vector<double> nats = {1, 2};
  CHECK(lacks(error_of([&] { cache.mix(Tensor::zeros({3, 4}), words, nats); }), {"2 words", "[3, 4]"}) == "");
  cache.mix(Tensor::zeros({2, 4}), words, nats);
  CHECK(lacks(error_of([&] { cache.mix(Tensor::zeros({2, 5}), words, nats); }), {"[2, 5]", "4"}) == "");
}

TEST_CASE("after forget() the cache reads another text as if it were the first") {
  const Text before(60, 3, 5, 1), text(90, 3, 5, 1);
  const NeuralCacheConfig config{.window = 40, .theta = 0.7, .lambda = 0.3};
  NeuralCache cache(config);
  std::vector<double> spent = before.nats, nats = text.nats;
  cache.mix(before.h, before.words, spent);
  cache.forget();
  cache.mix(text.h, text.words, nats);
  CHECK(nats == mixed(text, config, text.steps()));
  CHECK(nats[0] == text.nats[0]);
}
