// The same numbers as PyTorch: trainings of 50 steps, a single step and single operations, against values
// that tests/reference/make_reference.py recorded. The suite parity is compiled in double, parity_float in
// float.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "framework/loss.h"
#include "framework/ops.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/gru.h"
#include "layers/lstm.h"
#include "optim/optimizer.h"
#include "tests/support.h"

using namespace unroll;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// --- reading -------------------------------------------------------------------------------------

// A file of the reference folder: in UNROLL_TEST_DATA, else above the working directory.
const Json& reference(const std::string& name) {
  static std::map<std::string, Json> files;
  const auto found = files.find(name);
  if (found != files.end()) return found->second;
  fs::path folder;
  if (const char* given = std::getenv("UNROLL_TEST_DATA")) folder = given;
  for (fs::path at = fs::current_path(); folder.empty() && at != at.root_path(); at = at.parent_path())
    if (fs::exists(at / "tests/reference" / name)) folder = at / "tests/reference";
  std::ifstream file(folder / name);
  REQUIRE_MESSAGE(file, "no ", name, " in tests/reference; UNROLL_TEST_DATA may name the folder");
  return files[name] = Json::parse(file);
}

Shape shape_of(const Json& json) {
  Shape shape;
  for (int extent : json.at("shape")) shape.append(extent);
  return shape;
}
Tensor tensor_of(const Json& json) {
  std::vector<real> values;
  for (double v : json.at("data")) values.push_back(static_cast<real>(v));
  return Tensor::from(shape_of(json), values);
}
IdTensor ids_of(const Json& json) {
  return IdTensor::from(shape_of(json), json.at("data").get<std::vector<int32_t>>());
}

void load(ParameterSet& params, const Json& json) {
  REQUIRE(params.all().size() == json.size());
  for (const auto& p : params.all()) {
    REQUIRE(shape_of(json.at(p->name)) == p->shape);
    p->leaf_value().copy_from(tensor_of(json.at(p->name)));
  }
}

// --- comparing -----------------------------------------------------------------------------------

double relative(double value, double expected, double floor = 0) {
  const double distance = std::abs(value - expected);
  if (distance < 1e-40) return 0;  // some versions of PyTorch round losses of that size to zero
  return distance / std::max(std::abs(expected), floor);  // NaN stays NaN, which is below no bound
}
// The largest relative error of an element; for elements below `floor`, relative to that.
double relative(const Tensor& values, const Json& expected, double floor = 0) {
  REQUIRE(values.shape() == shape_of(expected));
  double worst = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double error = relative(values.data()[i], expected.at("data").at(i).get<double>(), floor);
    if (!(error <= worst) && !std::isnan(worst)) worst = error;
  }
  return worst;
}

// The largest error of a test, with what had it.
struct Worst {
  double error = 0;
  std::string where = "nothing";
  void operator()(double e, const std::string& what) {
    if (!(e <= error) && !std::isnan(error)) error = e, where = what;
  }
  void operator()(const Worst& other) { (*this)(other.error, other.where); }
  std::string text() const { return fmt::format("worst relative error {:.2g}, {}", error, where); }
};

// --- the models ----------------------------------------------------------------------------------

struct LanguageModel {
  LanguageModel(const Json& c, LstmEngine engine)
      : embed(params / "embedding", {.vocab = c.at("vocab"), .dim = c.at("embedding")}),
        lstm(params / "lstm", {.input = c.at("embedding"),
                               .hidden = c.at("hidden"),
                               .layers = c.at("layers"),
                               .engine = engine}),
        out(params / "decoder", {.in = c.at("hidden"), .out = c.at("vocab")}) {}
  ParameterSet params;
  Embedding embed;
  Lstm lstm;
  Dense out;
};

struct Classifier {
  Classifier(const Json& c, LstmEngine engine)
      : lstm(params / "lstm", {.input = c.at("features"), .hidden = c.at("hidden"), .engine = engine}),
        out(params / "dense", {.in = c.at("hidden"), .out = 1}) {}
  Var operator()(const Tensor& x) const {  // [steps, batch, features] -> [batch]
    const Var y = lstm(x, lstm.zero_state(x.dim(1))).y;
    return reshape(out(row(y, x.dim(0) - 1)), {x.dim(1)});
  }
  ParameterSet params;
  Lstm lstm;
  Dense out;
};

constexpr LstmEngine engines[] = {LstmEngine::fused, LstmEngine::composed};

}  // namespace

// --- trainings of 50 steps -----------------------------------------------------------------------

namespace {

// Relative errors: in double of every element; in float, where 50 steps carry rounding along (to 2e-5 as
// measured), elements below 0.1 count as 0.1.
constexpr bool in_double = sizeof(real) == 8;
constexpr double bound = in_double ? 1e-9 : 2e-4;
constexpr double small = in_double ? 0 : 0.1;

// The optimizer of a recorded run, by PyTorch's names.
std::unique_ptr<Optimizer> make_optimizer(ParameterSet& params, const Json& o) {
  const std::string kind = o.at("kind");
  const double rate = o.at("lr"), decay = o.value("weight_decay", 0.0);
  if (kind == "SGD") {
    const SgdConfig config{.learning_rate = rate,
                           .momentum = o.value("momentum", 0.0),
                           .nesterov = o.value("nesterov", false),
                           .weight_decay = decay};
    return std::make_unique<Sgd>(params, config);
  }
  if (kind == "Adam")
    return std::make_unique<Adam>(params, AdamConfig{.learning_rate = rate, .weight_decay = decay});
  if (kind == "AdamW")
    return std::make_unique<AdamW>(params, AdamWConfig{.learning_rate = rate, .weight_decay = decay});
  REQUIRE(kind == "ASGD");
  REQUIRE(o.at("lambd") == 0);
  // PyTorch's average leaves out the first step after t0; a mean of all is in the file beside it.
  return std::make_unique<Asgd>(
      params, AsgdConfig{.learning_rate = rate, .average_after = o.at("t0").get<int64_t>()});
}

// Trains a model and compares the loss and the norm of each step, and the parameters in the end.
Worst train(const std::string& name, const Json& run, ParameterSet& params,
            std::function<Var(int)> loss_of_step) {
  // PyTorch decays all parameters unless told otherwise, we leave out biases unless told otherwise.
  if (name.find("biases_free") == std::string::npos)
    for (const auto& p : params.all()) p->decay = true;
  const auto optimizer = make_optimizer(params, run.at("optimizer"));
  const double clip = run.at("clip").is_null() ? INFINITY : run.at("clip").get<double>();
  Worst worst;
  for (int step = 0; step < 50; ++step) {
    Tape tape;
    const Var loss = loss_of_step(step);
    tape.backward(loss);
    const double norm = optimizer->step({.max_norm = clip});
    worst(relative(loss.item(), run.at("losses").at(step)), fmt::format("{}: loss of step {}", name, step));
    worst(relative(norm, run.at("norms").at(step)), fmt::format("{}: norm of step {}", name, step));
  }
  for (const auto& p : params.all())
    worst(relative(p->value, run.at("final").at(p->name), small), name + ": " + p->name);
  if (run.contains("mean")) {
    REQUIRE(optimizer->averages());
    AveragedWeights guard(*optimizer);
    for (const auto& p : params.all())
      worst(relative(p->value, run.at("mean").at(p->name), small), name + ": average of " + p->name);
  }
  return worst;
}

}  // namespace

TEST_CASE("a language model, 50 steps with each optimizer") {
  const Json& file = reference("lm.json");
  const IdTensor inputs = ids_of(file.at("inputs")), targets = ids_of(file.at("targets"));
  const int batch = file.at("config").at("batch");
  Worst worst;
  for (const LstmEngine engine : engines) {
    for (const auto& [name, run] : file.at("runs").items()) {
      CAPTURE(name);
      LanguageModel model(file.at("config"), engine);
      load(model.params, file.at("initial"));
      LstmState state = model.lstm.zero_state(batch);
      const bool sum_over_steps = run.at("reduction") == "sum-over-steps";
      REQUIRE((sum_over_steps || run.at("reduction") == "mean"));

      const Worst of_run = train(std::string(name_of(engine)) + " " + name, run, model.params, [&](int step) {
        const auto [y, next] = model.lstm(model.embed(inputs[step]), state);
        state = next;
        const CrossEntropyOptions options{.reduction = sum_over_steps ? Reduction::sum : Reduction::mean};
        // Each engine with a loss of its own kind: fused with the decoder in chunks, or of logits.
        const Var loss = engine == LstmEngine::fused
                             ? softmax_cross_entropy(model.out, y, targets[step],
                                                     {.reduction = options.reduction, .chunk_rows = 5})
                             : softmax_cross_entropy(model.out(y), targets[step], options);
        return sum_over_steps ? loss * (1 / static_cast<real>(batch)) : loss;
      });
      CHECK_MESSAGE(of_run.error < bound, of_run.text());
      worst(of_run);
      const double h = relative(state.h, run.at("final_h"), small),
                   c = relative(state.c, run.at("final_c"), small);
      CHECK(h < bound);
      CHECK(c < bound);
      worst(h, name + ": final h");
      worst(c, name + ": final c");
    }
  }
  MESSAGE(worst.text());
}

TEST_CASE("a binary classifier, 50 steps with each optimizer") {
  const Json& file = reference("classifier.json");
  const Tensor x = tensor_of(file.at("x")), labels = tensor_of(file.at("labels"));
  Worst worst;
  for (const LstmEngine engine : engines) {
    for (const auto& [name, run] : file.at("runs").items()) {
      CAPTURE(name);
      Classifier model(file.at("config"), engine);
      load(model.params, file.at("initial"));
      const real pos_weight = run.at("pos_weight");
      const Worst of_run = train(std::string(name_of(engine)) + " " + name, run, model.params, [&](int step) {
        const int i = step % x.dim(0);
        return binary_cross_entropy(model(x[i]), labels[i], {.pos_weight = pos_weight});
      });
      CHECK_MESSAGE(of_run.error < bound, of_run.text());
      worst(of_run);
    }
  }
  MESSAGE(worst.text());
}

TEST_CASE("torch.optim.ASGD's own average") {
  // It leaves out the weights after step t0 + 1, and its weights 1/n are rounded to float32.
  const Json& file = reference("classifier.json");
  const Json& run = file.at("runs").at("asgd");
  const Tensor x = tensor_of(file.at("x")), labels = tensor_of(file.at("labels"));
  Classifier model(file.at("config"), LstmEngine::fused);
  load(model.params, file.at("initial"));
  Asgd asgd(model.params, {.learning_rate = run.at("optimizer").at("lr"), .average_after = 1});
  for (int step = 0; step < 50; ++step) {
    Tape tape;
    tape.backward(binary_cross_entropy(model(x[step % x.dim(0)]), labels[step % x.dim(0)]));
    asgd.step({.max_norm = run.at("clip")});
  }
  AveragedWeights guard(asgd);
  for (const auto& p : model.params.all()) {
    CHECK(relative(p->value, run.at("mean_from_second").at(p->name), small) < bound);
    CHECK(relative(p->value, run.at("average").at(p->name), 0.1) < 1e-6);
  }
}

#ifdef UNROLL_DOUBLE

// --- single operations ---------------------------------------------------------------------------

namespace {

using Inputs = std::map<std::string, Var>;

// What a loss gives for each row (or element) of x alone, [rows].
Var row_by_row(const Var& x, const std::function<Var(const Var& row, int r)>& loss) {
  Vars parts;
  for (int r = 0; r < x.dim(0); ++r) parts.push_back(reshape(loss(slice(x, 0, r, r + 1), r), {1}));
  return concat(parts, 0);
}

// Cross-entropy of logits, or of a product that gives the same logits, two rows at a time.
Var cross_entropy(const Var& x, const IdTensor& target, CrossEntropyOptions options, bool fused) {
  if (!fused) return softmax_cross_entropy(x, target, options);
  options.chunk_rows = 2;
  const int n = x.dim(-1);
  Tensor identity = Tensor::zeros({n, n});
  for (int i = 0; i < n; ++i) identity[i].data()[i] = 1;
  return softmax_cross_entropy(x, Var(identity), Var(Tensor::zeros({n})), target, options);
}

// y by our operations, from the inputs and settings of a recorded case.
Var compute(const std::string& name, const Json& c, const Inputs& in, bool fused) {
  const auto is = [&](const char* start) { return name.rfind(start, 0) == 0; };
  const Var& x = in.at("x");
  if (is("layer_norm")) return layer_norm(x, in.at("weight"), in.at("bias"), c.at("eps"));
  if (is("softmax")) return softmax(x);
  if (is("log_softmax")) return log_softmax(x);
  if (is("sigmoid")) return sigmoid(x);
  if (is("tanh")) return tanh(x);
  if (is("max_last")) return max(x, 1);
  if (is("max_first")) return max(x, 0);
  if (is("mse_mean")) return mean_squared_error(x, in.at("target").value());
  if (is("bce_logits")) {
    const Tensor labels = tensor_of(c.at("labels"));
    const BinaryCrossEntropyOptions options{.pos_weight = c.value("pos_weight", real(1))};
    return row_by_row(
        x, [&](const Var& e, int i) { return binary_cross_entropy(e, labels.slice(i, i + 1), options); });
  }
  REQUIRE(is("cross_entropy"));
  const IdTensor target = ids_of(c.at("targets"));
  if (is("cross_entropy_rows") || is("cross_entropy_extreme")) {
    return row_by_row(
        x, [&](const Var& row, int r) { return cross_entropy(row, target.slice(r, r + 1), {}, fused); });
  }
  CrossEntropyOptions options{.reduction = name.ends_with("_sum") ? Reduction::sum : Reduction::mean,
                              .ignore_index = c.value("ignore_index", -1)};
  if (c.contains("row_weights")) options.weights = tensor_of(c.at("row_weights"));
  if (c.contains("class_weights")) {
    options.weights = Tensor(target.shape());
    for (int64_t r = 0; r < target.size(); ++r)
      options.weights.data()[r] = c.at("class_weights").at("data").at(target.data()[r]);
  }
  return cross_entropy(x, target, options, fused);
}

}  // namespace

TEST_CASE("operations: values and gradients") {
  Worst worst;
  int cases = 0;
  for (const auto& [name, c] : reference("ops.json").items()) {
    if (name == "torch" || name == "lstm") continue;
    CAPTURE(name);
    ++cases;
    // Sums of terms that cancel have an absolute error. Where each element stands alone all of its digits
    // count.
    const double floor = name.find("extreme") == std::string::npos ? 1e-3 : 0;
    // Values 3000 times larger than their deviations: so is the rounding.
    const double bound = name == "layer_norm_nearly_constant" ? 3e-11 : 1e-12;
    Worst of_case;
    for (const bool fused : {false, true}) {
      if (fused && name.rfind("cross_entropy", 0) != 0) continue;
      Tape tape;
      Inputs in;
      for (const char* input : {"x", "weight", "bias", "target"})
        if (c.contains(input)) in[input] = tape.watch(tensor_of(c.at(input)));
      const Var y = compute(name, c, in, fused);
      of_case(relative(y.value(), c.at("y"), floor), name + ": y");
      tape.backward(sum(y * Var(tensor_of(c.at("dy")))));
      for (const auto& [input, var] : in) {
        if (input == "target") continue;  // a tensor with us: it has no gradient
        of_case(relative(var.grad(), c.at("d" + input), floor), name + ": d" + input);
      }
    }
    CHECK_MESSAGE(of_case.error < bound, of_case.text());
    worst(of_case);
  }
  CHECK(cases == 20);
  MESSAGE(worst.text());
}

TEST_CASE("an LSTM of two layers with state in and out: values and gradients") {
  const Json& c = reference("ops.json").at("lstm");
  Worst worst;
  for (const LstmEngine engine : engines) {
    ParameterSet params;
    Lstm lstm(params / "lstm", {.input = 3, .hidden = 4, .layers = 2, .engine = engine});
    const auto recorded = [](const Parameter& p, const Json& json) { return json.at(p.name.substr(5)); };
    for (const auto& p : params.all()) p->leaf_value().copy_from(tensor_of(recorded(*p, c.at("parameters"))));
    Tape tape;
    const Var x = tape.watch(tensor_of(c.at("x")));
    const LstmVars start{tape.watch(tensor_of(c.at("h0"))), tape.watch(tensor_of(c.at("c0")))};
    const auto [y, state] = lstm(x, start);
    worst(relative(y.value(), c.at("y")), "y");
    worst(relative(state.h.value(), c.at("hn")), "h");
    worst(relative(state.c.value(), c.at("cn")), "c");
    tape.backward(sum(y * Var(tensor_of(c.at("dy")))) + sum(state.h * Var(tensor_of(c.at("dhn")))) +
                  sum(state.c * Var(tensor_of(c.at("dcn")))));
    worst(relative(x.grad(), c.at("dx")), "dx");
    worst(relative(start.h.grad(), c.at("dh0")), "dh0");
    worst(relative(start.c.grad(), c.at("dc0")), "dc0");
    for (const auto& p : params.all())
      worst(relative(p->node.gradient.value(p->shape), recorded(*p, c.at("gradients"))),
            "gradient of " + p->name);
  }
  CHECK_MESSAGE(worst.error < 1e-11, worst.text());
  MESSAGE(worst.text());
}

namespace {

// Compares a layer with what PyTorch's packed sequences gave; `states` are h0 and, of an LSTM, c0.
template <class Layer, class Call>
void check_recurrent(const Json& c, Worst& worst, ParameterSet& params, const Layer& layer, Call call) {
  const Lengths lengths{
      IdTensor::from({3}, reference("recurrent.json").at("lengths").get<std::vector<int32_t>>())};
  for (const auto& p : params.all())
    p->leaf_value().copy_from(tensor_of(c.at("parameters").at(p->name.substr(6))));
  Tape tape;
  const Var x = tape.watch(tensor_of(c.at("x")));
  std::vector<std::string> names = {"h"};
  if (c.contains("c0")) names.push_back("c");
  Vars states;
  for (const std::string& name : names) states.push_back(tape.watch(tensor_of(c.at(name + "0"))));
  const auto [y, last] = call(layer, x, states, lengths);
  worst(relative(y.value(), c.at("y"), 1e-2), "y");
  Var loss = sum(y * Var(tensor_of(c.at("dy"))));
  for (size_t i = 0; i < names.size(); ++i) {
    worst(relative(last[i].value(), c.at(names[i] + "n")), names[i]);
    loss = loss + sum(last[i] * Var(tensor_of(c.at("d" + names[i] + "n"))));
  }
  tape.backward(loss);
  worst(relative(x.grad(), c.at("dx"), 1e-2), "dx");
  for (size_t i = 0; i < names.size(); ++i)
    worst(relative(states[i].grad(), c.at("d" + names[i] + "0")), "d" + names[i]);
  for (const auto& p : params.all())
    worst(relative(p->node.gradient.value(p->shape), c.at("gradients").at(p->name.substr(6)), 1e-2),
          "gradient of " + p->name);
}

}  // namespace

TEST_CASE("a GRU and an LSTM with projection, in two directions over rows of different lengths") {
  const Json& all = reference("recurrent.json");
  Worst worst;
  for (const LstmEngine engine : engines) {
    ParameterSet of_gru, of_lstm;
    const Gru gru(of_gru / "layer",
                  {.input = 2, .hidden = 3, .layers = 2, .bidirectional = true, .engine = engine});
    check_recurrent(all.at("gru"), worst, of_gru, gru,
                    [](const Gru& layer, const Var& x, const Vars& states, const Lengths& lengths) {
                      const auto out = layer(x, states[0], lengths);
                      return std::pair{out.y, std::vector{out.h}};
                    });
    const Lstm lstm(
        of_lstm / "layer",
        {.input = 2, .hidden = 3, .layers = 2, .projection = 2, .bidirectional = true, .engine = engine});
    check_recurrent(all.at("lstm"), worst, of_lstm, lstm,
                    [](const Lstm& layer, const Var& x, const Vars& states, const Lengths& lengths) {
                      const auto out = layer(x, {states[0], states[1]}, lengths);
                      return std::pair{out.y, std::vector{out.state.h, out.state.c}};
                    });
  }
  CHECK_MESSAGE(worst.error < 1e-11, worst.text());
  MESSAGE(worst.text());
}

#endif  // UNROLL_DOUBLE

// --- a single step in both precisions ------------------------------------------------------------

// PyTorch computed the same step in float32 and in float64, from the same numbers. How far the two lie apart
// is what rounding does in this computation where exp and tanh are right to 1 unit of the last place. Ours
// are right to 3, and one sample of rounding may be half as large as another, so ours in float32 may be 6
// times as far from the float64 values: taken for a tensor as a whole, and counting at least half a unit of
// the last place of its largest element.
TEST_CASE("a single step of a language model: values and gradients") {
  const Json& file = reference("lm_float32.json");
  const Json &single = file.at("float32"), &exact = file.at("float64");
  Worst worst;
  const auto check = [&](const std::string& what, std::span<const real> ours,
                         const std::vector<double>& single_values, const std::vector<double>& exact_values) {
    REQUIRE(ours.size() == exact_values.size());
    double largest = 0, rounding = 0, distance = 0;
    for (size_t i = 0; i < ours.size(); ++i) {
      largest = std::max(largest, std::abs(exact_values[i]));
      rounding = std::max(rounding, std::abs(single_values[i] - exact_values[i]));
      const double d = std::abs(static_cast<double>(ours[i]) - exact_values[i]);
      if (!(d <= distance) && !std::isnan(distance)) distance = d;
    }
    const double bound = in_double ? 1e-13 * largest : 6 * std::max(rounding, largest * 0x1p-24);
    CHECK_MESSAGE(distance <= bound, what, ": ", distance, " from the float64 values, bound ", bound);
    worst(distance / bound, what);
  };
  const auto check_tensor = [&](const std::string& what, const Tensor& ours, const Json& s, const Json& d) {
    REQUIRE(ours.shape() == shape_of(d));
    check(what, ours.span(), s.at("data"), d.at("data"));
  };

  for (const LstmEngine engine : engines) {
    LanguageModel model(file.at("config"), engine);
    load(model.params, file.at("initial"));
    LstmState state = model.lstm.zero_state(file.at("config").at("batch"));
    state.h.copy_from(tensor_of(file.at("h0")));
    state.c.copy_from(tensor_of(file.at("c0")));

    Tape tape;
    const auto [y, next] = model.lstm(model.embed(ids_of(file.at("inputs"))), state);
    const Var loss = softmax_cross_entropy(model.out, y, ids_of(file.at("targets")));
    const Tensor logits = model.out(y).value();
    tape.backward(loss);
    check_tensor("h", next.h.value(), single.at("h"), exact.at("h"));
    check_tensor("c", next.c.value(), single.at("c"), exact.at("c"));
    check_tensor("logits", logits, single.at("logits"), exact.at("logits"));
    const real found = loss.item(), norm = static_cast<real>(grad_norm(model.params));
    check("loss", {&found, 1}, {single.at("loss").get<double>()}, {exact.at("loss").get<double>()});
    check("norm", {&norm, 1}, {single.at("norm").get<double>()}, {exact.at("norm").get<double>()});
    for (const auto& p : model.params.all())
      check_tensor("gradient of " + p->name, p->node.gradient.value(p->shape),
                   single.at("gradients").at(p->name), exact.at("gradients").at(p->name));
  }
  MESSAGE(fmt::format("at worst {:.2g} of the bound, {}", worst.error, worst.where));
}

TEST_CASE("Adam's first step is the learning rate, in float too") {
  // 1 - 0.999 in float is off by 5e-5 of itself: its correction must be of the same number.
  ParameterSet params;
  Parameter& p = params.add("p", {1}, Init::constant(0));
  Adam adam(params, {.learning_rate = 0.125});
  p.leaf_value();
  p.node.gradient.into(p.shape).tensor.fill(2);
  adam.step();
  CHECK(p.value.item() == doctest::Approx(-0.125).epsilon(in_double ? 1e-8 : 4e-7));
}
