// What a language model's decoder may be asked beside the next token: adversarial softmax, past decode
// regularization; and a mixture of softmaxes around it.
#include <array>
#include <cmath>
#include <limits>

#include "framework/gradcheck.h"
#include "layers/adversarial_softmax.h"
#include "layers/mixture_softmax.h"
#include "layers/past_decoder.h"
#include "tests/reference.h"
#include "tests/support.h"

using namespace unroll;

static Dense decoder_of(ParameterSet& params, const RecordedInputs& in) {
  Dense layer(params / "decoder", {.in = 3, .out = 7});
  layer.weight = in.at("weight"), layer.bias = in.at("bias");
  return layer;
}

TEST_CASE("adversarial softmax moves the target's row against what the decoder reads: PyTorch's values") {
  Worst worst;
  compare(
      reference("layers.json").at("adversarial_softmax").at(0), "adversarial softmax",
      [&](const Json& c, const RecordedInputs& in) {
        ParameterSet params;
        const Dense decoder = decoder_of(params, in);
        const IdTensor target = ids_of(c.at("target"));
        CrossEntropyOptions options;
        options.margins = adversarial_margins(decoder, in.at("x"), target, c.at("alpha").get<real>());
        return softmax_cross_entropy(decoder, in.at("x"), target, options);
      },
      worst);
  CHECK_MESSAGE(worst.error < 1e-10, worst.text());  // the root of ‖y‖² + 1e-12
}

TEST_CASE(
    "an adversarial margin is alpha times both lengths, and 0 where they point apart or nothing is scored") {
  ParameterSet params;
  Dense decoder(params / "decoder", {.in = 2, .out = 3});
  decoder.weight = Var(tensor({3, 2}, {3, 4, -3, 0, 0, 1}));
  const Tensor y = tensor({4, 2}, {6, 8, 6, 8, 6, 8, 6, 8});
  const Tensor margins = adversarial_margins(decoder, y, ids({4}, {0, 1, 2, -1}), real(0.1)).value();
  CHECK(values(margins)[0] == doctest::Approx(0.1 * 5 * 10));
  CHECK(values(margins)[1] == 0);
  CHECK(values(margins)[2] == doctest::Approx(0.1 * 1 * 10));
  CHECK_THROWS_AS(adversarial_margins(decoder, y, ids({4}, {0, 1, 2, 0}), -1), Error);
  // The length of zeros has no slope: it is 0, and no NaN.
  Tape tape;
  const Var zeros = tape.watch(Tensor::zeros({1, 2}));
  tape.backward(sum(adversarial_margins(decoder, zeros, ids({1}, {0}), real(0.1))));
  CHECK(values(zeros.grad()) == std::vector<real>{0, 0});
}

TEST_CASE("a past decoder tells what was read from what is predicted: PyTorch's values") {
  Worst worst;
  for (const Json& recorded : reference("layers.json").at("past_decoder"))
    compare(
        recorded, "past decoder",
        [&](const Json& c, const RecordedInputs& in) {
          ParameterSet params;
          const Dense decoder = decoder_of(params, in);
          PastDecoder past(params / "past", {.in = 3, .classes = 7, .share = c.at("share").get<float>()});
          past.hidden.weight = in.at("hidden"), past.hidden.bias = in.at("hidden_bias");
          past.bias = in.at("own_bias");
          const IdTensor read = ids_of(c.at("read"));
          return past(decoder, in.at("x"), read, read).past;
        },
        worst);
  CHECK_MESSAGE(worst.error < 1e-12, worst.text());
}

TEST_CASE("a past decoder is differentiated to its parameters, the decoder's and what it reads") {
  const IdTensor read = ids({3, 2}, {1, 0, 2, 3, 1, 1}), target = ids({3, 2}, {2, -1, 3, 1, 0, 2});
  for (const float share : {1.0f, 0.4f}) {
    ParameterSet params;
    const Dense decoder(params / "decoder", {.in = 3, .out = 4});
    const PastDecoder past(params / "past", {.in = 3, .classes = 4, .share = share});
    CHECK(gradcheck("past decoder", params, {{3, 2, 3}, {3, 2}}, [&](auto& v) {
      const auto losses = past(decoder, v[0], read, target, v[1]);
      return std::vector<Var>{losses.next, losses.past};
    }));
  }
  ParameterSet params;
  const Dense decoder(params / "decoder", {.in = 3, .out = 4});
  const PastDecoder past(params / "past", {.in = 3, .classes = 4});
  // A share of steps is rounded up: of 3 to 2 and to 1.
  RandomStream random({.seed = 5});
  const Tensor y = random_tensor({3, 2, 3}, random);
  PastDecoder some = past;
  some.config.share = 0.4f;
  const auto told = [&](const PastDecoder& by, int first) {
    return by(decoder, y.slice(first, 3), read.slice(first, 3), target.slice(first, 3)).past.item();
  };
  CHECK(told(some, 0) == told(past, 1));
  some.config.share = 0.3f;
  CHECK(told(some, 0) == told(past, 2));
  // The loss of the next token is that without a past decoder, with targets that are not scored and margins too.
  const Tensor margins = random_tensor({3, 2}, random);
  for (const std::optional<Var>& given : {std::optional<Var>(), std::optional<Var>(margins)})
    for (const float share : {0.3f, 0.4f, 1.0f}) {
      some.config.share = share;
      CHECK(some(decoder, y, read, target, given).next.item() ==
            doctest::Approx(softmax_cross_entropy(decoder, y, target, {.margins = given}).item())
                .epsilon(1e-12));
    }
  CHECK(some(decoder, y, read, ids({3, 2}, {-1, -1, -1, -1, -1, -1})).next.item() == 0);
  CHECK_THROWS_WITH_AS(past(decoder, Tensor::zeros({3, 1, 3}), read, target),
                       doctest::Contains("y [3, 1, 3] must be [3, 2, 3]"), Error);
  CHECK_THROWS_WITH_AS(past(decoder, y, read, target.slice(1, 3)), doctest::Contains("targets [2, 2]"),
                       Error);
  CHECK_THROWS_AS(PastDecoder(params / "other", {.in = 3, .classes = 4, .share = 0}), Error);
}

TEST_CASE("what stands where nothing is scored reaches no loss and no gradient, NaN neither") {
  ParameterSet params;
  const Dense decoder(params / "decoder", {.in = 3, .out = 4});
  const PastDecoder past(params / "past", {.in = 3, .classes = 4, .share = 0.7f});
  const MixtureSoftmax mixture(params / "mixture", {.in = 3, .width = 3, .components = 2});
  const IdTensor read = ids({3, 1}, {1, 0, 2}), target = ids({3, 1}, {3, -1, 1});
  RandomStream random({.seed = 5});
  const Tensor y = random_tensor({3, 1, 3}, random);
  const auto loss = [&](int which, const Var& y) {
    if (which == 0) return mixture.loss(decoder, y, target);
    const Var margins = adversarial_margins(decoder, y, target, real(0.1));
    if (which == 1) return softmax_cross_entropy(decoder, y, target, {.margins = margins});
    const auto losses = past(decoder, y, read, target, margins);
    return losses.next + losses.past;
  };
  for (const int which : {0, 1, 2}) {
    CAPTURE(which);
    const auto with = [&](real there) {
      Tensor given = y.clone();
      given[1].fill(there);
      Tape tape;
      const Var seen = tape.watch(given);
      const Var value = loss(which, seen);
      tape.backward(value);
      std::vector<real> found = values(seen.grad());
      found.push_back(value.item());
      const auto of_weights = params.contributed_gradients().to_host();
      found.insert(found.end(), of_weights.begin(), of_weights.end());
      params.spend_gradients();
      return found;
    };
    CHECK(with(std::numeric_limits<real>::quiet_NaN()) == with(0));
  }
}

// A loss with margins is the loss of logits whose targets' have them taken off, whatever else is asked.
TEST_CASE("margins are taken from the targets' logits, and get gradients") {
  const IdTensor target = ids({2, 3}, {1, -1, 0, 2, 2, 1});
  const Tensor weights = tensor({2, 3}, {1, 2, 0.5, 0, 3, 1});
  for (const Reduction reduction : {Reduction::mean, Reduction::sum})
    for (const bool weighted : {false, true})
      for (const real smoothing : {real(0), real(0.1)})
        for (const int chunk : {0, 2}) {
          ParameterSet params;
          const Dense decoder(params / "decoder", {.in = 2, .out = 4});
          const auto options = [&](const Var& margins) {
            return CrossEntropyOptions{.reduction = reduction,
                                       .weights = weighted ? weights : Tensor(),
                                       .label_smoothing = smoothing,
                                       .margins = margins,
                                       .chunk_rows = chunk};
          };
          CHECK(gradcheck("margins", params, {{2, 3, 2}, {2, 3}}, [&](auto& v) {
            return std::vector<Var>{softmax_cross_entropy(decoder, v[0], target, options(v[1])),
                                    softmax_cross_entropy(decoder(v[0]), target, options(v[1]))};
          }));
          RandomStream random({.seed = 5});
          const Tensor x = random_tensor({2, 3, 2}, random),
                       margins = tensor({2, 3}, {0.5, 7, 0.25, 1, 2, -1});
          Tensor logits = decoder(x).value().clone();
          {
            const auto all = logits.on_host(Access::change);
            for (int r = 0; r < 6; ++r)
              if (const int32_t t = target.data()[r]; t >= 0) all[r * 4 + t] -= margins.on_host()[r];
          }
          const double expected = softmax_cross_entropy(Var(logits), target,
                                                        [&] {
                                                          auto plain = options(Var());
                                                          plain.margins.reset();
                                                          return plain;
                                                        }())
                                      .item();
          CHECK(softmax_cross_entropy(decoder, x, target, options(margins)).item() ==
                doctest::Approx(expected).epsilon(1e-12));
          CHECK(softmax_cross_entropy(decoder(x), target, options(margins)).item() ==
                doctest::Approx(expected).epsilon(1e-12));
        }
  CHECK_THROWS_WITH_AS(
      softmax_cross_entropy(Tensor::zeros({2, 4}), ids({2}, {0, 1}), {.margins = Var(Tensor::zeros({3}))}),
      doctest::Contains("margins [3] must have the shape of the targets [2]"), Error);
}

TEST_CASE("a mixture of softmaxes is the weighted mean of their probabilities: PyTorch's values") {
  Worst worst;
  compare(
      reference("layers.json").at("mixture_softmax").at(0), "mixture of softmaxes",
      [&](const Json& c, const RecordedInputs& in) {
        ParameterSet params;
        Dense decoder(params / "decoder", {.in = 4, .out = 7});
        decoder.weight = in.at("weight"), decoder.bias = in.at("bias");
        MixtureSoftmax mixture(params / "mixture", {.in = 5, .width = 4, .components = 3});
        mixture.prior.weight = in.at("prior"), mixture.latent.weight = in.at("latent");
        mixture.latent.bias = in.at("latent_bias");
        return mixture.loss(decoder, in.at("x"), ids_of(c.at("target")));
      },
      worst);
  CHECK_MESSAGE(worst.error < 1e-12, worst.text());
}

TEST_CASE("a mixture of softmaxes is differentiated, and its losses are those of its log probabilities") {
  ParameterSet params;
  const Dense decoder(params / "decoder", {.in = 2, .out = 5});
  const MixtureSoftmax mixture(params / "mixture", {.in = 3, .width = 2, .components = 3});
  const IdTensor target = ids({2, 2}, {4, -1, 0, 2});
  CHECK(gradcheck("mixture of softmaxes", params, {{2, 2, 3}}, [&](auto& v) {
    return std::vector<Var>{mixture.loss(decoder, v[0], target), mixture.log_probabilities(decoder, v[0])};
  }));
  RandomStream random({.seed = 5});
  const Tensor y = random_tensor({2, 2, 3}, random);
  const Tensor log_p = mixture.log_probabilities(decoder, y).value();
  CHECK(log_p.shape() == Shape{2, 2, 5});
  const std::vector<real> all = values(log_p);
  for (int row = 0; row < 4; ++row) {
    double sum = 0;
    for (int k = 0; k < 5; ++k) sum += std::exp(static_cast<double>(all[static_cast<size_t>(row * 5 + k)]));
    CHECK(sum == doctest::Approx(1).epsilon(1e-12));
  }
  const double temperatures[] = {1, 2};
  const Tensor losses = mixture.losses(decoder, y, target, temperatures);
  CHECK(losses.shape() == Shape{2, 4});
  const auto nats = losses.to_host();
  double mean = 0;
  for (const int row : {0, 2, 3}) {
    const int32_t t = target.data()[row];
    const double expected = -static_cast<double>(all[static_cast<size_t>(row * 5 + t)]);
    CHECK(nats[static_cast<size_t>(row)] == doctest::Approx(expected).epsilon(1e-12));
    mean += expected / 3;
    double sum = 0;  // of p^(1/2)
    for (int k = 0; k < 5; ++k)
      sum += std::exp(static_cast<double>(all[static_cast<size_t>(row * 5 + k)]) / 2);
    CHECK(nats[static_cast<size_t>(4 + row)] == doctest::Approx(std::log(sum) + expected / 2).epsilon(1e-12));
  }
  CHECK(nats[1] == 0);
  CHECK(mixture.loss(decoder, y, target).item() == doctest::Approx(mean).epsilon(1e-12));
  // More rows than have their logits in memory at a time.
  const Tensor many = random_tensor({70, 3}, random);
  IdTensor targets({70});
  for (int r = 0; r < 70; ++r) targets.data()[r] = r % 5;
  const auto of_many = mixture.losses(decoder, many, targets, std::array{1.0}).to_host();
  const auto log_p_of_many = values(mixture.log_probabilities(decoder, many));
  for (size_t r = 0; r < 70; ++r)
    CHECK(of_many[r] == doctest::Approx(-static_cast<double>(log_p_of_many[r * 5 + r % 5])).epsilon(1e-12));
  // One component is a softmax of a tanh layer.
  ParameterSet others;
  const MixtureSoftmax one(others / "one", {.in = 3, .width = 2, .components = 1});
  CHECK(one.loss(decoder, y, target).item() ==
        doctest::Approx(softmax_cross_entropy(decoder, one.latent(y), target).item()).epsilon(1e-12));
  CHECK(mixture.loss(decoder, y, ids({2, 2}, {-1, -1, -1, -1})).item() == 0);
  CHECK_THROWS_AS(MixtureSoftmax(others / "none", {.in = 3, .width = 2, .components = 0}), Error);
}

TEST_CASE("a mixture drops the same elements at all steps of a call, on a tape alone") {
  ParameterSet params;
  const Dense decoder(params / "decoder", {.in = 8, .out = 5});
  const MixtureSoftmax mixture(params / "mixture", {.in = 3, .width = 8, .components = 2, .dropout = 0.5f});
  MixtureSoftmax whole = mixture;
  whole.latent_dropout.config.rate = 0;
  const Tensor y = Tensor::full({3, 1, 3}, 1);  // equal steps
  const IdTensor target = ids({3, 1}, {4, 0, 2});
  const auto log_p = [&](const MixtureSoftmax& by) { return by.log_probabilities(decoder, y).value(); };
  const Tensor plain = log_p(whole);
  CHECK(same_bits(log_p(mixture), plain));
  CHECK(mixture.loss(decoder, y, target).item() == whole.loss(decoder, y, target).item());
  {
    const Tape tape;
    const Tensor dropped = log_p(mixture), again = log_p(mixture);
    CHECK(distance(dropped, plain) > 1e-3);
    CHECK(distance(dropped, again) > 1e-3);
    for (int t = 1; t < 3; ++t) CHECK(same_bits(dropped[t], dropped[0]));
  }
  real loss = 0, mean = 0;
  {
    const Tape tape;
    loss = mixture.loss(decoder, y, target).item();
  }
  {
    const Tape tape;  // of the same masks
    const Tensor dropped = log_p(mixture);
    for (int t = 0; t < 3; ++t) mean -= dropped(t, 0, target(t, 0)) / 3;
  }
  CHECK(loss == doctest::Approx(mean).epsilon(1e-12));
  CHECK(gradcheck("mixture with dropout", params, {{3, 1, 3}},
                  [&](auto& v) { return mixture.loss(decoder, v[0], target); },
                  {.dropout = true, .twice = false}));
}
