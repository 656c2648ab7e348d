// One step at a time; what a model expects and rests on; learning from the text that is scored.
#include "docs/reference/examples/examples.h"
#include "export/real_time_step.h"
#include "export/step_of.h"
#include "layers/inspection.h"

namespace {

struct Model {
  ParameterSet params{};
  Embedding embedding{params / "embed", {.vocab = 5, .dim = 3}};
  RecurrentLayer recurrent{params / "lstm", CellKind::lstm, {.input = 3, .hidden = 4}};
  Dense decoder{params / "out", {.in = 4, .out = 5}};
};

void steps(const Model& model) {
  //! [Stepper]
  Stepper step(model.recurrent);  // as many as there are threads may share the weights
  const Tensor y =
      step(Tensor::zeros({1, 3}));  // [batch, input] -> [batch, hidden], valid until the next step
  check(y.shape() == Shape{1, 4});
  const RecurrentTrace seen = step.trace(Tensor::zeros({1, 3}));  // with the gates
  check(std::string(seen.gate_names[1]) == "f");
  step.reset();
  //! [Stepper]

  //! [TokenStepper]
  TokenStepper words(model.embedding, model.recurrent, model.decoder);
  const std::span<const real> logits = words(3);  // after word 3
  check(logits.size() == 5);
  //! [TokenStepper]
}

void look(Model& model) {
  //! [TextInspection]
  const TokenModel net{model.params, model.embedding, model.recurrent, model.decoder};
  const TokenText text{.input = {0, 1, 2}, .target = {1, 2, 3}};
  const TextInspection seen = inspect(net, text);
  const LayerValues& lstm = seen.layers[0];
  check(seen.log_p.shape() == Shape{3, 5} && lstm.gates.size() == 4 && lstm.c.shape() == Shape{3, 4});
  const GradientReach reach = gradient_reach(net, text);
  check(reach.c[0](0, 2) == 0);  // |∂L_0 / ∂c_2|: the past does not depend on the future
  //! [TextInspection]

  //! [Agreement]
  const AgreementCase cases[] = {{.before = {0, 1}, .right = 3, .wrong = 4},
                                 {.before = {0, 2}, .right = 4, .wrong = 3, .plural = true}};
  const Agreement found = measure_agreement(net, cases);
  check(near(found.p_right[0] + found.p_right[1], 1, 0.5));
  const int labels[] = {0, 1};
  const std::vector<UnitTells> best =
      units_that_tell(found.states, labels, 1);  // which unit knows the number
  check(best.size() == 1 && best[0].share >= 0.5);
  const Interval share = interval_of_share(8, 10);
  check(share.low < 0.8 && share.high > 0.8);
  //! [Agreement]

  //! [OutputReach]
  const SequenceModel mean_of_steps = [&](const Var& x) -> SequenceOutput { return {.y = mean(x, 0)}; };
  const int outputs[] = {0};
  const OutputReach rests = output_reach(model.params, mean_of_steps, Tensor::zeros({4, 2}), outputs);
  check(near(rests.input(0, 0), 0.25) && rests.input(0, 1) == 0);  // [outputs, steps * features]
  //! [OutputReach]
}

void learn(Model& model) {
  const IdTensor read = IdTensor::from({2, 1}, {0, 1}), target = IdTensor::from({2, 1}, {1, 2});
  const auto loss = [&] {
    const auto [y, state] = model.recurrent(model.embedding(read), model.recurrent.zero_state(1));
    return softmax_cross_entropy(model.decoder, y, target);
  };
  //! [DynamicEvaluation]
  GradientStatistics statistics(model.params);  // over the training text
  {
    Tape tape({.dropout = false});
    tape.backward(loss());
    statistics.add();
  }
  const DynamicEvaluationConfig config{.learning_rate = 0.1};
  DynamicEvaluation update(model.params, statistics.root_mean_square(), config);
  std::vector<double> nats;
  learn_while_scoring(3, update, [&](int64_t) {
    const Var of_segment = loss();
    nats.push_back(of_segment.item());
    return of_segment;
  });
  check(nats[2] < nats[0]);
  update.restore();
  //! [DynamicEvaluation]

  //! [NeuralCache]
  NeuralCache cache(NeuralCacheConfig{.window = 100, .theta = 1, .lambda = 0.1});
  const int32_t words[] = {2, 2};
  double of_words[] = {3, 3};                           // -log p of the model, in nats
  cache.mix(Tensor::full({2, 4}, 1), words, of_words);  // the states before the words [steps, width]
  check(of_words[0] == 3 && of_words[1] < 3);           // the second time it is in the cache
  //! [NeuralCache]
}

}  // namespace

void inference() {
  Model model;
  steps(model), look(model), learn(model);
}
