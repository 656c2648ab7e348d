// Losses, and what training may add to them.
#include "docs/reference/examples/examples.h"

namespace {

void of_classes() {
  //! [CrossEntropyOptions]
  const Var logits = Tensor::zeros({2, 4});              // [targets, classes]
  const IdTensor target = IdTensor::from({2}, {3, -1});  // -1: not scored
  check(near(softmax_cross_entropy(logits, target).item(),
             std::log(4)));  // nats, the mean over targets that are scored
  const CrossEntropyOptions each{.reduction = Reduction::none, .label_smoothing = real(0.1)};
  check(softmax_cross_entropy(logits, target, each).value()(1) == 0);
  //! [CrossEntropyOptions]

  //! [BinaryCrossEntropyOptions]
  const BinaryCrossEntropyOptions rare{.pos_weight = 3};  // ones count three times
  const Var loss = binary_cross_entropy(Tensor::zeros({1}), Tensor::from({1}, {1}), rare);
  check(near(loss.item(), 3 * std::log(2)));
  //! [BinaryCrossEntropyOptions]
}

void of_numbers() {
  //! [ElementLossOptions]
  const Tensor target = Tensor::from({2}, {1, 5});
  const ElementLossOptions first{.weights = Tensor::from({2}, {1, 0})};  // the second is not scored
  check(near(mean_squared_error(Tensor::zeros({2}), target, first).item(), 1));
  check(near(huber_loss(Tensor::zeros({2}), target, 1, {.reduction = Reduction::sum}).item(), 0.5 + 4.5));
  //! [ElementLossOptions]
}

void of_rows() {
  //! [CtcOptions]
  const Var steps = Tensor::zeros({3, 1, 2});           // [steps, batch, classes], all equally likely
  const IdTensor labels = IdTensor::from({1, 1}, {1});  // [batch, most]
  const CtcOptions options{.blank = 0};
  const Var loss = ctc_loss(steps, labels, {}, {}, options);  // -log of the share of paths that say "1"
  check(near(loss.item(), -std::log(6.0 / 8)));
  //! [CtcOptions]

  //! [Crf]
  ParameterSet params;
  const Crf crf(params / "crf", CrfConfig{.tags = 3});
  const Tensor emissions = Tensor::from({2, 1, 3}, {9, 0, 0, 0, 0, 9});  // [steps, batch, tags]
  const Crf::Path best = crf.decode(emissions);
  check(best.tags(0, 0) == 0 && best.tags(1, 0) == 2);
  check(crf.loss(emissions, best.tags).item() < 0.1);
  //! [Crf]
}

void of_many_classes() {
  //! [ClassSampler]
  ParameterSet params;
  const Dense out(params / "out", {.in = 4, .out = 1000});
  const Scope place = params / "sampler";
  const ClassSampler sampler = ClassSampler::log_uniform(1000);
  const SampledClasses drawn = sampler.draw(20, place.next_key());
  const Tensor y = Tensor::zeros({2, 4});
  const IdTensor target = IdTensor::from({2}, {1, 2});
  check(std::isfinite(sampled_softmax_cross_entropy(out, y, target, drawn).item()));  // for training
  check(std::isfinite(softmax_cross_entropy(out, y, target).item()));                 // for scores
  //! [ClassSampler]
}

void of_language_models() {
  const Tensor y = Tensor::full({2, 1, 4}, real(0.5));  // [steps, batch, width]
  const IdTensor read = IdTensor::from({2, 1}, {0, 1}), target = IdTensor::from({2, 1}, {1, 2});
  //! [MixtureSoftmax]
  ParameterSet params;
  const MixtureSoftmax mixture(params / "mixture",
                               MixtureSoftmaxConfig{.in = 4, .width = 6, .components = 3});
  const Dense wide(params / "wide", {.in = 6, .out = 5});
  check(near(mean(mixture.log_probabilities(wide, y)).item(), -std::log(5), 0.5));
  check(near(mixture.loss(wide, y, target).item(), std::log(5), 0.5));
  //! [MixtureSoftmax]

  //! [PastDecoder]
  ParameterSet more;
  const Dense decoder(more / "decoder", {.in = 4, .out = 5});
  const PastDecoder past(more / "past", PastDecoderConfig{.in = 4, .classes = 5});
  const auto [loss, told] = past(decoder, y, read, target);
  const Var objective = loss + scale(told, real(0.001));
  check(objective.item() > loss.item());
  //! [PastDecoder]
}

}  // namespace

void losses() { of_classes(), of_numbers(), of_rows(), of_many_classes(), of_language_models(); }
