// Dynamic evaluation: the rule by hand, its statistics, and small language models as PyTorch adapted them.
#include "data/windows.h"
#include "optim/dynamic_evaluation.h"
#include "tests/optim_helpers.h"
#include "tests/reference.h"

using namespace unroll;
using doctest::Approx;

namespace {

constexpr bool in_double = sizeof(real) == 8;

Tensor slab_of(ParameterSet& params, const std::vector<real>& first, const std::vector<real>& second) {
  Tensor slab = Tensor::zeros(params.values().shape());
  const auto elements = slab.on_host(Access::change);
  for (size_t i = 0; i < first.size(); ++i)
    elements[params.all()[0]->offset + static_cast<int64_t>(i)] = first[i];
  for (size_t i = 0; i < second.size(); ++i)
    elements[params.all()[1]->offset + static_cast<int64_t>(i)] = second[i];
  return slab;
}

}  // namespace

// --- by hand -------------------------------------------------------------------------------------

TEST_CASE("the rule by hand: back towards the beginning, then along the gradient over R + epsilon") {
  Pair m;
  // Means 1 and 3: r = 2. Shares of the way back with λ = ½: R/4, at most 1: ¼, ¼ and ¼, 1 and 1 (of 5/4).
  const Tensor rms = slab_of(m.params, {1, 1}, {1, 3, 5});
  DynamicEvaluation update(m.params, rms, {.learning_rate = 0.5, .decay = 0.5, .epsilon = 1});
  CHECK(update.typical() == 2);
  give(m.a, {2, 0});
  give(m.b, {4, 0, 6});
  update.step();
  CHECK(weights(m.a) == std::vector<real>{real(1 - 0.5), 1});
  CHECK(weights(m.b) == std::vector<real>{-3, -2, real(-2.5)});
  give(m.a, {0, -2});  // b is drawn back alone
  update.step();
  CHECK(weights(m.a) == std::vector<real>{real(0.5 + 0.25 * 0.5), 1.5});
  CHECK(weights(m.b) == std::vector<real>{real(-3 + 0.25), -2, -2});
  update.restore();
  CHECK(weights(m.a) == std::vector<real>{1, 1});
  CHECK(weights(m.b) == std::vector<real>{-2, -2, -2});
}

TEST_CASE("weights without a gradient, as those of training alone, do not count in the typical size") {
  Pair m;
  const DynamicEvaluation update(m.params, slab_of(m.params, {0, 0}, {1, 3, 5}), {});
  CHECK(update.typical() == 3);
}

TEST_CASE("a parameter's own rate multiplies what its gradient does, of rows too, and not the way back") {
  ParameterSet params;
  Parameter& a = params.add("a", {2}, Init::constant(1));
  Parameter& table = params.add("table", {3, 1}, Init::constant(0));
  a.rate = 0.5, table.rate = 2;
  const Tensor rms = slab_of(params, {1, 1}, {1, 1, 1});
  // Along the gradient: rate · 0.5 · g / (R + epsilon); a quarter of the way back before.
  DynamicEvaluation update(params, rms, {.learning_rate = 0.5, .decay = 0.25, .epsilon = 1});
  give(a, {2, 0});
  give_row(table, 1, {2});
  update.step();
  CHECK(weights(a) == std::vector<real>{real(1 - 0.25), 1});
  CHECK(weights(table) == std::vector<real>{0, -1, 0});
  give(a, {0, 4});
  give_row(table, 2, {4});
  update.step();
  CHECK(weights(a) == std::vector<real>{real(1 - 0.25 * 0.75), 0.5});
  CHECK(weights(table) == std::vector<real>{0, real(-0.75), -2});
  give(table, {0, 4, 0});  // the whole table
  update.step();
  CHECK(weights(table) == std::vector<real>{0, real(-0.75 * 0.75 - 2), real(-1.5)});
}

TEST_CASE("without decay and with R = 1 - epsilon it is plain gradient descent") {
  Pair m, plain;
  const Tensor rms = slab_of(m.params, {0.75, 0.75}, {0.75, 0.75, 0.75});
  DynamicEvaluation update(m.params, rms, {.learning_rate = 0.5, .decay = 0, .epsilon = 0.25});
  Sgd sgd(plain.params, {.learning_rate = 0.5});
  for (const real g : {real(1), real(-3), real(0.5)}) {
    for (Pair* pair : {&m, &plain}) give(pair->a, {g, 2}), give(pair->b, {g, g, 0});
    update.step(), sgd.step();
    CHECK(weights(m.a) == weights(plain.a));
    CHECK(weights(m.b) == weights(plain.b));
  }
}

TEST_CASE("what is frozen stays, and has no part in r") {
  Pair m;
  m.a.frozen = true;
  const Tensor rms = slab_of(m.params, {100, 100}, {1, 1, 4});
  DynamicEvaluation update(m.params, rms, {.learning_rate = 1, .decay = 1, .epsilon = 1});
  CHECK(update.typical() == 2);
  give(m.b, {2, 2, 2});
  update.step();
  CHECK(weights(m.a) == std::vector<real>{1, 1});
  const auto moved = weights(m.b);  // by 2 / (R + 1)
  CHECK((moved[0] == -3 && moved[1] == -3));
  CHECK(moved[2] == doctest::Approx(-2.4).epsilon(1e-6));
}

TEST_CASE("statistics by hand: the root of the mean over windows, of rows too") {
  ParameterSet params;
  Parameter& table = params.add("table", {3, 2}, Init::constant(0));
  Parameter& bias = params.add("bias", {2}, Init::constant(0));
  GradientStatistics statistics(params);
  CHECK(lacks(error_of([&] { statistics.add(); }), {"nothing was contributed"}) == "");
  CHECK(lacks(error_of([&] { (void)statistics.root_mean_square(); }), {"no window"}) == "");
  give_row(table, 1, {3, 0});
  give(bias, {2, -4});
  statistics.add();
  give_row(table, 1, {-1, 2});
  give_row(table, 2, {0, 4});
  statistics.add();
  for (int i = 0; i < 2; ++i) give(bias, {0, 0}), statistics.add();
  CHECK(statistics.windows() == 4);
  const auto r = statistics.root_mean_square().to_host();
  const auto of_table = std::vector<real>(r.begin() + table.offset, r.begin() + table.offset + 6);
  const real ten = static_cast<real>(std::sqrt(real(2.5)));  // √((9 + 1) / 4)
  CHECK(of_table == std::vector<real>{0, 0, ten, 1, 0, 2});
  CHECK(r[static_cast<size_t>(bias.offset)] == 1);
  CHECK(r[static_cast<size_t>(bias.offset) + 1] == 2);
}

TEST_CASE("settings out of their range, and statistics that are none") {
  Pair m;
  const Tensor good = slab_of(m.params, {1, 1}, {1, 1, 1});
  const auto refused = [&](const Tensor& rms, const DynamicEvaluationConfig& config,
                           const std::vector<std::string>& parts) {
    CHECK(lacks(input_error_of([&] { DynamicEvaluation(m.params, rms, config); }), parts) == "");
  };
  refused(good, {.learning_rate = -1}, {"rate -1"});
  refused(good, {.learning_rate = std::nan("")}, {"rate nan"});
  refused(good, {.decay = infinity}, {"decay inf"});
  refused(good, {.epsilon = 0}, {"epsilon 0"});
  refused(slab_of(m.params, {0, 0}, {0, 0, 0}), {}, {"no weight has a gradient"});
  refused(slab_of(m.params, {0, 1}, {0, -1, 0}), {}, {"'b'", "-1"});
  refused(slab_of(m.params, {0, 1}, {0, 0, static_cast<real>(std::nan(""))}), {}, {"'b'", "nan"});
  CHECK(lacks(error_of([&] { DynamicEvaluation(m.params, Tensor({3})); }), {"[3]"}) == "");
}

// --- rows of an embedding ------------------------------------------------------------------------

TEST_CASE(
    "rows without a gradient are drawn back all the same: to the bits of whole gradients, on any threads") {
  const auto adapted = [](bool whole, int threads) {
    const Threads guard(threads);
    Model model;
    RandomStream random(5, "rows");
    const Tensor rms = random_tensor(model.params.values().shape(), random, 0.5, 1);
    DynamicEvaluation update(model.params, rms, {.learning_rate = 0.5, .decay = 0.1, .epsilon = 0.01});
    for (int i = 0; i < 12; ++i) {
      const RandomWindow window(random);
      model.contribute(window.input, window.target);
      // A window in the middle in which the whole table has a gradient.
      if (whole || i == 6) model.params.reduce_gradients([](std::span<real>) {});
      if (!whole && i != 6 && !on_gpu()) CHECK(model.embed.weight.node()->gradient.only_some_rows());
      update.step();
    }
    return model.params.values().clone();
  };
  const Tensor expected = adapted(true, 1);
  for (const int threads : {1, 2, 3}) CHECK(same_bits(adapted(false, threads), expected));
}

// --- as PyTorch has it ---------------------------------------------------------------------------

namespace {

struct ReferenceModel {
  explicit ReferenceModel(const Json& settings, bool tied)
      : embedding(params / "embedding", {.vocab = settings.at("vocab"), .dim = settings.at("width")}),
        lstm(
            params / "lstm",
            {.input = settings.at("width"), .hidden = settings.at("width"), .layers = settings.at("layers")}),
        decoder(tied ? Dense(params / "decoder", dense(settings), embedding.weight)
                     : Dense(params / "decoder", dense(settings))) {}
  static DenseConfig dense(const Json& s) { return {.in = s.at("width"), .out = s.at("vocab")}; }

  // PyTorch lists a tied weight once or twice: ours has one.
  void take(Json weights) {
    if (!params.find("decoder.weight")) weights.erase("decoder.weight");
    load(params, weights);
  }
  GradientStatistics statistics(const std::vector<int32_t>& text, const Json& settings) {
    BpttWindows windows(text, {.batch = settings.at("streams"), .steps = settings.at("steps")});
    GradientStatistics result(params);
    RecurrentState state = lstm.zero_state(windows.batch());
    for (const auto& [input, target] : windows) {
      Tape tape({.dropout = false});
      const auto [y, next] = lstm(embedding(input), state);
      tape.backward(softmax_cross_entropy(decoder, y, target));
      result.add();
      state = next;
    }
    return result;
  }
  // The loss of every token.
  std::vector<double> nats(const std::vector<int32_t>& text, int segment, Optimizer& optimizer) {
    std::vector<double> result;
    RecurrentState state = lstm.zero_state(1);
    BpttWindows windows = evaluation_windows(text, 0, {.batch = 1, .steps = segment});
    learn_while_scoring(windows.count(), optimizer, [&](int64_t k) {
      const auto [input, target] = windows.at(k);
      const auto [y, next] = lstm(embedding(input), state);
      const Var logits = decoder(y);
      append_losses(logits.value(), target, result);
      state = next;
      return softmax_cross_entropy(logits, target);
    });
    return result;
  }
  // The mistake: learns from a segment before it is scored.
  std::vector<double> leaking_nats(const std::vector<int32_t>& text, int segment, Optimizer& optimizer) {
    std::vector<double> result;
    RecurrentState state = lstm.zero_state(1);
    BpttWindows windows = evaluation_windows(text, 0, {.batch = 1, .steps = segment});
    for (const auto& [input, target] : windows) {
      {
        Tape tape;
        tape.backward(softmax_cross_entropy(decoder, lstm(embedding(input), state).y, target));
      }
      optimizer.step();
      const auto [y, next] = lstm(embedding(input), state);
      append_losses(decoder(y).value(), target, result);
      state = next;
    }
    return result;
  }
  static void append_losses(const Tensor& logits, const IdTensor& target, std::vector<double>& nats) {
    const double plain[] = {1};
    const Tensor losses = softmax_cross_entropies(logits, target.reshape({target.dim(0)}), plain);
    for (const real loss : losses.on_host()) nats.push_back(static_cast<double>(loss));
  }

  ParameterSet params;
  Embedding embedding;
  Lstm lstm;
  Dense decoder;
};

std::vector<int32_t> words_of(const Json& json) { return json.get<std::vector<int32_t>>(); }

DynamicEvaluationConfig config_of(const Json& s) {
  return {.learning_rate = s.at("rate"), .decay = s.at("decay"), .epsilon = s.at("epsilon")};
}

Tensor part_of(const Tensor& slab, const Parameter& p) {
  const int begin = static_cast<int>(p.offset);
  return Tensor(slab).slice(begin, begin + static_cast<int>(p.size())).reshape(p.shape);
}

}  // namespace

// In float each number is off by what its sums round: PyTorch's own float32 is as far from its float64, and ours may sum in
// another order, so that the largest of these distances, times 8, is the bound. In double 1e-9 is what is asked for.
TEST_CASE(
    "200 segments, scored and learned from, as PyTorch does: losses, statistics and weights, tied and untied") {
  const Json& file = reference("dynamic.json");
  const Json& settings = file.at("settings");
  for (const bool tied : {false, true}) {
    CAPTURE(tied);
    const Json& run = file.at("runs").at(tied ? "rms_tied" : "rms_untied");
    ReferenceModel model(settings, tied);
    model.take(run.at("initial"));
    const GradientStatistics statistics = model.statistics(words_of(file.at("train")), settings);
    CHECK(statistics.windows() == 9);
    const Tensor rms = statistics.root_mean_square();
    const auto& expected = run.at("nats");
    double apart = 0, rms_apart = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      apart = std::max(apart, relative(run.at("nats_float32")[i], expected[i]));
    for (const auto& p : model.params.all())
      for (int64_t i = 0; i < p->size(); ++i)
        rms_apart = std::max(rms_apart, relative(run.at("rms_float32").at(p->name).at("data")[i],
                                                 run.at("rms").at(p->name).at("data")[i], 1e-6));
    const double bound = in_double ? 1e-9 : 8 * apart, rms_bound = in_double ? 1e-9 : 8 * rms_apart;
    Worst of_rms;
    for (const auto& p : model.params.all())
      of_rms(relative(part_of(rms, *p), run.at("rms").at(p->name), in_double ? 0 : 1e-6), p->name);
    CHECK_MESSAGE(of_rms.error <= rms_bound, of_rms.text());

    DynamicEvaluation update(model.params, rms, config_of(settings));
    CHECK(relative(update.typical(), run.at("typical")) <= rms_bound);
    const auto text = words_of(file.at("test"));
    const int segment = settings.at("segment");
    const auto nats = model.nats(text, segment, update);
    REQUIRE(nats.size() == expected.size());
    Worst worst;
    for (size_t i = 0; i < nats.size(); ++i)
      worst(relative(nats[i], expected[i]), fmt::format("token {}", i));
    CHECK_MESSAGE(worst.error <= bound, worst.text());
    CHECK(worst.error >= 0);

    // The weights after the first segment: what is scored last learns nothing, so the text has one more.
    update.restore();
    model.nats({text.begin(), text.begin() + 2 * segment}, segment, update);
    Worst of_weights;
    for (const auto& p : model.params.all())
      of_weights(relative(p->leaf_value(), run.at("weights").at("1").at(p->name), 1e-3), p->name);
    CHECK_MESSAGE(of_weights.error <= (in_double ? 1e-9 : 1e-3), of_weights.text());
  }
}

TEST_CASE("200 segments of plain gradient descent, as PyTorch does") {
  const Json& file = reference("dynamic.json");
  for (const bool tied : {false, true}) {
    CAPTURE(tied);
    const Json& run = file.at("runs").at(tied ? "sgd_tied" : "sgd_untied");
    ReferenceModel model(file.at("settings"), tied);
    model.take(run.at("initial"));
    Sgd sgd(model.params, {.learning_rate = file.at("settings").at("sgd_rate")});
    auto text = words_of(file.at("test"));
    text.push_back(0);  // so that the last segment is learned from
    const auto nats = model.nats(text, file.at("settings").at("segment"), sgd);
    Worst worst;
    double apart = 0;
    for (size_t i = 0; i < run.at("nats").size(); ++i) {
      worst(relative(nats[i], run.at("nats")[i]), fmt::format("token {}", i));
      apart = std::max(apart, relative(run.at("nats_float32")[i], run.at("nats")[i]));
    }
    CHECK_MESSAGE(worst.error <= (in_double ? 1e-9 : 8 * apart), worst.text());
    Worst of_weights;
    for (const auto& p : model.params.all())
      of_weights(relative(p->leaf_value(), run.at("weights").at("200").at(p->name), 1e-3), p->name);
    CHECK_MESSAGE(of_weights.error <= (in_double ? 1e-9 : 1e-3), of_weights.text());
  }
}

TEST_CASE("statistics made twice are the same bits, on any number of threads") {
  const Json& file = reference("dynamic.json");
  const auto made = [&](int threads) {
    const Threads guard(threads);
    ReferenceModel model(file.at("settings"), false);
    model.take(file.at("runs").at("rms_untied").at("initial"));
    return model.statistics(words_of(file.at("train")), file.at("settings")).root_mean_square();
  };
  const Tensor once = made(1);
  for (const int threads : {1, 2, 3}) CHECK(same_bits(made(threads), once));
}

TEST_CASE("each token is scored before anything learns from it, and one who learns first is found out") {
  const Json& file = reference("dynamic.json");
  const Json& settings = file.at("settings");
  const int segment = settings.at("segment"), vocab = settings.at("vocab");
  const auto text = words_of(file.at("test"));
  // Another word at `place` changes no score before it.
  const auto is_blind = [&](const auto& score) {
    for (const int place : {segment, segment + 2, 4 * segment - 1}) {
      std::vector<int32_t> other(text.begin(), text.begin() + 6 * segment);
      const auto before = score(other);
      other[static_cast<size_t>(place)] = (other[static_cast<size_t>(place)] + 1) % vocab;
      const auto after = score(other);
      REQUIRE(before.size() == other.size());
      if (!std::equal(before.begin(), before.begin() + place, after.begin())) return false;
      CHECK(before.back() != after.back());
    }
    return true;
  };
  ReferenceModel model(settings, false);
  model.take(file.at("runs").at("rms_untied").at("initial"));
  const Tensor rms = model.statistics(words_of(file.at("train")), settings).root_mean_square();
  DynamicEvaluation update(model.params, rms, config_of(settings));
  const auto scorer = [&](auto member) {
    return [&, member](const std::vector<int32_t>& words) {
      update.restore();
      return (model.*member)(words, segment, update);
    };
  };
  CHECK(is_blind(scorer(&ReferenceModel::nats)));
  CHECK_FALSE(is_blind(scorer(&ReferenceModel::leaking_nats)));
}
