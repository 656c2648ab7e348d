// Parity with PyTorch, values and gradients, in double: operations, losses and attention beyond those of recurrent
// layers (tests/reference/make_operations.py).
#include <algorithm>
#include <functional>
#include <map>

#include "framework/attention.h"
#include "framework/ctc_loss.h"
#include "framework/loss.h"
#include "framework/ops.h"
#include "layers/attention.h"
#include "layers/crf.h"
#include "optim/optimizer.h"
#include "tests/reference.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Inputs = RecordedInputs;
using Function = RecordedFunction;

Worst worst;

void check(const Json& c, const std::string& name, const Function& f) { compare(c, name, f, worst); }

void check_all(const Json& cases, const std::map<std::string, Function>& functions) {
  for (const auto& [name, f] : functions) check(cases.at(name), name, f);
}

Lengths lengths_of(const Json& c) {
  const std::vector<int32_t> lengths = c.at("lengths");
  return {IdTensor::from({static_cast<int>(lengths.size())}, lengths)};
}

Function of_x(Var (*f)(const Var&)) {
  return [f](const Json&, const Inputs& in) { return f(in.at("x")); };
}

}  // namespace

TEST_CASE("functions of elements, sums and running sums") {
  check_all(reference("operations.json").at("elements"),
            {{"erf", of_x(erf)},
             {"gelu", of_x(gelu)},
             {"gelu_tanh", of_x(gelu_tanh)},
             {"silu", of_x(silu)},
             {"sin", of_x(sin)},
             {"cos", of_x(cos)},
             {"pow", [](auto&, auto& in) { return pow(in.at("x"), in.at("e")); }},
             {"pow_cube", [](auto&, auto& in) { return pow(in.at("x"), 3); }},
             {"clamp", [](auto&, auto& in) { return clamp(in.at("x"), -0.5, 1); }},
             {"logsumexp_last", [](auto&, auto& in) { return logsumexp(in.at("x")); }},
             {"logsumexp_middle", [](auto&, auto& in) { return logsumexp(in.at("x"), 1); }},
             {"cumsum_first", [](auto&, auto& in) { return cumsum(in.at("x"), 0); }},
             {"cumsum_middle", [](auto&, auto& in) { return cumsum(in.at("x"), 1); }}});
  CHECK_MESSAGE(worst.error < 1e-12, worst.text());
}

TEST_CASE("choices, places and products of repeated matrices") {
  check_all(
      reference("operations.json").at("choices"),
      {{"gather", [](auto& c, auto& in) { return gather(in.at("x"), 1, ids_of(c.at("ids"))); }},
       {"index_select", [](auto& c, auto& in) { return index_select(in.at("x"), 1, ids_of(c.at("ids"))); }},
       {"where",
        [](auto& c, auto& in) { return where(tensor_of(c.at("condition")), in.at("a"), in.at("b")); }},
       {"masked_fill",
        [](auto& c, auto& in) { return masked_fill(in.at("x"), tensor_of(c.at("condition")), 2.5); }},
       {"topk",
        [](auto& c, auto& in) {
          const auto [values, indices] = topk(in.at("x"), 3, 1);
          CHECK(indices.to_host() == ids_of(c.at("indices")).to_host());
          CHECK(argmax(in.at("x"), 1).to_host() == ids_of(c.at("argmax")).to_host());
          return values;
        }},
       {"matmul", [](auto&, auto& in) { return matmul(in.at("a"), in.at("b")); }},
       {"matmul_left", [](auto&, auto& in) { return matmul(in.at("a"), in.at("b")); }},
       {"permute",
        [](auto&, auto& in) {
          return permute(in.at("x"), {3, 0, 2, 1});
        }},
       {"permute_six",
        [](auto&, auto& in) {
          return permute(in.at("x"), {5, 1, 0, 4, 2, 3});
        }},
       {"pad", [](auto&, auto& in) { return pad(in.at("x"), 1, 2, 1, 1.5); }}});
  CHECK_MESSAGE(worst.error < 1e-12, worst.text());
}

TEST_CASE("losses") {
  const auto smoothed = [](Reduction reduction) {
    return [=](const Json& c, const Inputs& in) {
      return softmax_cross_entropy(in.at("x"), ids_of(c.at("targets")),
                                   {.reduction = reduction, .label_smoothing = 0.2});
    };
  };
  const auto ctc = [](Reduction reduction) {
    return [=](const Json& c, const Inputs& in) {
      return ctc_loss(in.at("x"), ids_of(c.at("labels")), ids_of(c.at("steps")), ids_of(c.at("lengths")),
                      {.reduction = reduction, .zero_infinity = true});
    };
  };
  check_all(
      reference("operations.json").at("losses"),
      {{"smoothed_mean", smoothed(Reduction::mean)},
       {"smoothed_sum", smoothed(Reduction::sum)},
       {"smoothed_none", smoothed(Reduction::none)},
       {"huber", [](auto& c, auto& in) { return huber_loss(in.at("x"), tensor_of(c.at("target")), 0.7); }},
       {"kl",
        [](auto& c, auto& in) { return kl_divergence(log_softmax(in.at("x")), tensor_of(c.at("target"))); }},
       {"ctc_mean", ctc(Reduction::mean)},
       {"ctc_sum", ctc(Reduction::sum)},
       {"ctc_none", ctc(Reduction::none)}});
  CHECK_MESSAGE(worst.error < 1e-11, worst.text());
}

TEST_CASE("a conditional random field, whose rows of tags were counted one by one") {
  const Json& c = reference("operations.json").at("losses").at("crf");
  check(c, "crf", [](const Json& c, const Inputs& in) {
    ParameterSet params;
    Crf crf(params / "crf", {.tags = 3});
    crf.transitions = in.at("transitions"), crf.start = in.at("start"), crf.end = in.at("end");
    const Lengths lengths = lengths_of(c);
    const auto [tags, scores] = crf.decode(in.at("x"), lengths);
    for (int b = 0; b < tags.dim(1); ++b)
      for (int t = 0; t < tags.dim(0); ++t)
        CHECK(tags(t, b) == (t < lengths.steps(b) ? c.at("paths").at(b).at(t).get<int>() : -1));
    return crf.loss(in.at("x"), ids_of(c.at("tags")), lengths, Reduction::none);
  });
  CHECK_MESSAGE(worst.error < 1e-11, worst.text());
}

TEST_CASE("attention, in one block of queries and in several") {
  const Json& cases = reference("operations.json").at("attention");
  for (const int block : {0, 1, 2}) {
    const auto dot = [=](bool causal) {
      return [=](const Json& c, const Inputs& in) {
        AttentionOptions options{.heads = c.at("heads"), .causal = causal, .block_rows = block};
        if (c.contains("lengths")) options.ends = lengths_of(c).steps;
        return scaled_dot_product_attention(in.at("q"), in.at("k"), in.at("v"), options);
      };
    };
    check_all(cases, {{"dot", dot(false)}, {"dot_lengths", dot(false)}, {"dot_causal", dot(true)}});
  }
  check(cases.at("additive"), "additive", [](const Json& c, const Inputs& in) {
    ParameterSet params;
    AdditiveAttention look(params / "look", {.query = 3, .keys = 2, .hidden = 4});
    look.of_query.weight = in.at("query_weight"), look.of_key.weight = in.at("key_weight");
    look.of_key.bias = in.at("key_bias"), look.v = in.at("v");
    return look(in.at("query"), look.remember(in.at("keys"), lengths_of(c))).context;
  });
  CHECK_MESSAGE(worst.error < 1e-11, worst.text());
}

TEST_CASE("attention of several heads, by the weights of torch.nn.MultiheadAttention") {
  const Json& c = reference("operations.json").at("attention").at("multi_head");
  ParameterSet params;
  const MultiHeadAttention layer(params / "layer", {.dim = 4, .heads = 2});
  REQUIRE(params.all().size() == c.at("weights").size());
  for (const auto& p : params.all())
    p->leaf_value().copy_from(tensor_of(c.at("weights").at(p->name.substr(6))));
  check(c, "multi_head", [&](const Json& c, const Inputs& in) {
    const Lengths lengths = lengths_of(c);
    const Var& x = in.at("x");
    return mask_rows(layer(x, {.lengths = lengths}), real_steps(lengths, x.dim(0), x.dim(1)));
  });
  for (const auto& p : params.all())
    worst(relative(p->node.gradient.value(p->shape), c.at("gradients").at(p->name.substr(6)), 1e-3), p->name);
  CHECK_MESSAGE(worst.error < 1e-11, worst.text());
}

TEST_CASE("RMSprop") {
  for (const Json& run : reference("operations.json").at("rmsprop")) {
    const Json& o = run.at("options");
    ParameterSet params;
    Parameter& w = params.add("w", {3}, Init::constant(0));
    w.leaf_value().copy_from(tensor({3}, {1, -2, 0.5}));
    Rmsprop rmsprop(params, {.learning_rate = o.at("lr"),
                             .alpha = o.value("alpha", 0.99),
                             .eps = o.value("eps", 1e-8),
                             .momentum = o.value("momentum", 0.0),
                             .weight_decay = o.value("weight_decay", 0.0)});
    const std::vector<real> curvature = run.at("curvature");
    for (const std::vector<real> after : run.at("path")) {
      Tape tape;
      tape.backward(sum(w.var() * w.var() * tensor({3}, curvature)) * 0.5);
      rmsprop.step();
      CHECK(distance(w.leaf_value(), tensor({3}, after)) < 1e-12);
    }
  }
}
