#include "layers/inspection.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "framework/loss.h"
#include "framework/ops.h"

namespace unroll {

namespace {

void check(const TokenModel& model, const TokenText& text) {
  require(!text.input.empty() && text.input.size() == text.target.size(),
          "inspection: {} words read and {} predicted; there must be as many, and one at least",
          text.input.size(), text.target.size());
  require(text.resets.empty() || text.resets.size() == text.input.size(),
          "inspection: {} resets for {} steps", text.resets.size(), text.input.size());
  require(!model.recurrent.config().bidirectional,
          "inspection: a bidirectional layer reads the steps to come too, and so predicts nothing");
}

// The first `steps` of these, side by side `batch` times: [steps, batch]. Undefined if there are none.
IdTensor repeated(const std::vector<int32_t>& ids, int steps, int batch) {
  if (ids.empty()) return {};
  IdTensor result({steps, batch});
  for (int t = 0; t < steps; ++t)
    for (int b = 0; b < batch; ++b) result.data()[int64_t{t} * batch + b] = ids[static_cast<size_t>(t)];
  return result;
}

// No parameter collects a gradient while it lives.
class Frozen {
 public:
  explicit Frozen(const ParameterSet& params) {
    for (const auto& p : params.all())
      if (!p->frozen) p->frozen = true, frozen_.push_back(p);
  }
  ~Frozen() {
    for (Parameter* p : frozen_) p->frozen = false;
  }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  std::vector<Parameter*> frozen_;
};

// [steps, units] of what has [1, units] in each step.
Tensor over_time(const Vars& steps) {
  const Tensor all = stack(steps).value();
  return all.reshape({all.dim(0), all.dim(2)});
}

// Row r of the batch is row first + r of `to` [all, steps]: the norm of its gradient at each step.
void write_norms(const Vars& steps, int first, const Tensor& to) {
  const auto norms = to.on_host(Access::change);
  for (int t = 0; t < static_cast<int>(steps.size()); ++t) {
    const Tensor gradient = steps[static_cast<size_t>(t)].grad();  // [rows, units]
    const auto values = gradient.on_host();
    const int rows = gradient.dim(0), units = gradient.dim(1);
    for (int r = 0; r < rows; ++r) {
      double sum = 0;
      for (int j = 0; j < units; ++j) {
        const double v = values[int64_t{r} * units + j];
        sum += v * v;
      }
      norms[int64_t{first + r} * to.dim(1) + t] = static_cast<real>(std::sqrt(sum));
    }
  }
}

}  // namespace

std::vector<LayerValues> layer_values(std::span<const CellTrace> cells) {
  std::vector<LayerValues> result;
  for (const CellTrace& cell : cells) {
    LayerValues& layer = result.emplace_back();
    layer.h = over_time(cell.h);
    if (!cell.c.empty()) layer.c = over_time(cell.c);
    for (size_t g = 0; !cell.gates.empty() && g < cell.gates[0].size(); ++g) {
      Vars of_gate;
      for (const Vars& step : cell.gates) of_gate.push_back(step[g]);
      layer.gates.push_back(over_time(of_gate));
    }
  }
  return result;
}

TextInspection inspect(const TokenModel& model, const TokenText& text) {
  check(model, text);
  const NoTape guard;
  const int steps = text.steps();
  const RecurrentTrace trace =
      model.recurrent.trace(model.embedding(repeated(text.input, steps, 1)), model.recurrent.zero_state(1),
                            {}, repeated(text.resets, steps, 1));
  TextInspection result;
  const Tensor y = trace.y.value();
  result.log_p = log_softmax(model.decoder(Var(y.reshape({steps, y.dim(2)})))).value();
  result.gate_names.assign(trace.gate_names.begin(), trace.gate_names.end());
  result.layers = layer_values(trace.cells);
  return result;
}

GradientReach gradient_reach(const TokenModel& model, const TokenText& text, int at_once) {
  check(model, text);
  require(at_once >= 1, "inspection: {} targets at once", at_once);
  const int all = text.steps(), layers = model.recurrent.config().layers;
  GradientReach result{.embedding = Tensor::zeros({all, all}), .h = {}, .c = {}};
  for (int k = 0; k < layers; ++k) {
    result.h.push_back(Tensor::zeros({all, all}));
    if (model.recurrent.cell().has_c) result.c.push_back(Tensor::zeros({all, all}));
  }
  const Frozen frozen(model.params);
  for (int first = 0; first < all; first += at_once) {
    const int rows = std::min(at_once, all - first), steps = first + rows;
    Tape tape({.dropout = false, .keep_gradients = true});
    const Tensor read = model.embedding(repeated(text.input, steps, rows)).value();  // [steps, rows, dim]
    Vars by_step;
    for (int t = 0; t < steps; ++t) by_step.push_back(tape.watch(read[t]));
    const RecurrentTrace trace = model.recurrent.trace(stack(by_step), model.recurrent.zero_state(rows), {},
                                                       repeated(text.resets, steps, rows));
    Vars predicted;  // row r of step first + r
    IdTensor target({rows});
    for (int r = 0; r < rows; ++r) {
      predicted.push_back(slice(row(trace.y, first + r), 0, r, r + 1));
      target.data()[r] = text.target[static_cast<size_t>(first + r)];
    }
    tape.backward(
        softmax_cross_entropy(model.decoder, concat(predicted, 0), target, {.reduction = Reduction::sum}));
    write_norms(by_step, first, result.embedding);
    for (size_t k = 0; k < trace.cells.size(); ++k) {
      write_norms(trace.cells[k].h, first, result.h[k]);
      if (!trace.cells[k].c.empty()) write_norms(trace.cells[k].c, first, result.c[k]);
    }
  }
  return result;
}

std::vector<TapeGraph> step_graphs(const TokenModel& model, const TokenText& text) {
  check(model, text);
  std::vector<TapeGraph> result;
  RecurrentState state = model.recurrent.zero_state(1);
  for (int t = 0; t < text.steps(); ++t) {
    const auto at = static_cast<size_t>(t);
    if (!text.resets.empty() && text.resets[at]) state.reset();
    Tape tape({.dropout = false, .observer = &result.emplace_back()});
    const RecurrentTrace trace = model.recurrent.trace(
        model.embedding(IdTensor::from({1, 1}, std::vector<int32_t>{text.input[at]})), state);
    const IdTensor target = IdTensor::from({1}, std::vector<int32_t>{text.target[at]});
    tape.backward(softmax_cross_entropy(model.decoder(row(trace.y, 0)), target));
    state = trace.state;
    model.params.spend_gradients();
  }
  return result;
}

OutputReach output_reach(const ParameterSet& params, const SequenceModel& model, const Tensor& x,
                         std::span<const int> outputs, int at_once) {
  require(x.shape().rank() == 2 && !outputs.empty() && at_once >= 1,
          "inspection: {} outputs, {} at once, of x {}, which must be [steps, features]", outputs.size(),
          at_once, x.shape());
  const int steps = x.dim(0), features = x.dim(1), all = static_cast<int>(outputs.size());
  OutputReach result{.input = Tensor({all, steps * features}), .h = {}, .c = {}};
  const auto gradients = result.input.on_host(Access::overwrite);
  const Frozen frozen(params);
  for (int first = 0; first < all; first += at_once) {
    const int rows = std::min(at_once, all - first);
    Tape tape({.dropout = false, .keep_gradients = true});
    const Var read =
        tape.watch(broadcast_to(x.reshape({steps, 1, features}), {steps, rows, features}).value());
    const SequenceOutput out = model(read);
    IdTensor chosen({rows});
    for (int r = 0; r < rows; ++r) chosen.data()[r] = outputs[static_cast<size_t>(first + r)];
    tape.backward(sum(gather(out.y, chosen)));
    const Tensor gradient = read.grad();
    const auto values = gradient.on_host();
    for (int r = 0; r < rows; ++r)
      for (int t = 0; t < steps; ++t)
        std::copy_n(values.data() + (int64_t{t} * rows + r) * features, features,
                    gradients.data() + (int64_t{first + r} * steps + t) * features);
    for (size_t k = 0; k < out.cells.size(); ++k) {
      const CellTrace& cell = out.cells[k];
      for (const auto& [states, norms] : {std::pair{&cell.h, &result.h}, {&cell.c, &result.c}}) {
        if (states->empty()) continue;
        if (norms->size() <= k) norms->push_back(Tensor::zeros({all, static_cast<int>(states->size())}));
        write_norms(*states, first, (*norms)[k]);
      }
    }
  }
  return result;
}

namespace {

// The best `count` of all units of all layers. score(column of the unit's values) is their UnitTells.
template <class Score>
std::vector<UnitTells> best_of(const std::vector<Tensor>& values, std::span<const size_t> cases, int count,
                               Score score) {
  std::vector<UnitTells> all;
  std::vector<double> column(cases.size());
  for (size_t k = 0; k < values.size(); ++k) {
    const auto numbers = values[k].on_host();
    const int units = values[k].dim(1);
    for (int j = 0; j < units; ++j) {
      for (size_t i = 0; i < cases.size(); ++i)
        column[i] = numbers[static_cast<int64_t>(cases[i]) * units + j];
      UnitTells tells = score(column);
      tells.layer = static_cast<int>(k), tells.unit = j;
      all.push_back(tells);
    }
  }
  const auto kept = std::min<size_t>(all.size(), static_cast<size_t>(count));
  std::ranges::stable_sort(all, std::greater(), &UnitTells::share);
  all.resize(kept);
  return all;
}

void check_cases(const std::vector<Tensor>& values, size_t cases) {
  for (const Tensor& of_layer : values)
    require(of_layer.rank() == 2 && of_layer.dim(0) == static_cast<int>(cases),
            "inspection: {} labels for values {}", cases, of_layer.shape());
}

}  // namespace

std::vector<UnitTells> units_that_tell(const std::vector<Tensor>& values, std::span<const int> labels,
                                       int count) {
  check_cases(values, labels.size());
  std::vector<size_t> cases;
  double of_class[2] = {0, 0};
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels[i] == 0 || labels[i] == 1) cases.push_back(i), ++of_class[labels[i]];
  if (of_class[0] == 0 || of_class[1] == 0) return {};
  std::vector<size_t> order(cases.size());
  return best_of(values, cases, count, [&](const std::vector<double>& column) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t i) { return column[i]; });
    UnitTells best;
    double below[2] = {0, 0};  // cases of each class below the threshold
    for (size_t n = 0; n + 1 < order.size(); ++n) {
      ++below[labels[cases[order[n]]]];
      const double low = column[order[n]], high = column[order[n + 1]];
      if (!(low < high)) continue;
      // The unit predicts 0 below and 1 above the threshold; the mirrored rule has share 1 - share.
      const double share = (below[0] / of_class[0] + 1 - below[1] / of_class[1]) / 2;
      if (std::max(share, 1 - share) > best.share)
        best = {
            .share = std::max(share, 1 - share), .threshold = (low + high) / 2, .above_is_1 = share >= 0.5};
    }
    return best;
  });
}

std::vector<UnitTells> units_that_follow(const std::vector<Tensor>& values, std::span<const double> numbers,
                                         int count) {
  check_cases(values, numbers.size());
  std::vector<size_t> cases;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (std::isfinite(numbers[i])) cases.push_back(i);
  const auto n = static_cast<double>(cases.size());
  double mean = 0, spread = 0;
  for (const size_t i : cases) mean += numbers[i];
  mean /= n;
  for (const size_t i : cases) spread += (numbers[i] - mean) * (numbers[i] - mean);
  if (!(spread > 0)) return {};
  return best_of(values, cases, count, [&](const std::vector<double>& column) {
    const double mean_of_unit = std::accumulate(column.begin(), column.end(), 0.0) / n;
    double both = 0, of_unit = 0;
    for (size_t i = 0; i < column.size(); ++i) {
      const double d = column[i] - mean_of_unit;
      both += d * (numbers[cases[i]] - mean), of_unit += d * d;
    }
    const double correlation = of_unit > 0 ? both / std::sqrt(of_unit * spread) : 0;
    return UnitTells{.share = std::abs(correlation), .above_is_1 = correlation > 0};
  });
}

Agreement measure_agreement(const TokenModel& model, std::span<const AgreementCase> cases, int at_once) {
  require(!cases.empty() && at_once >= 1, "agreement: {} cases, {} at once", cases.size(), at_once);
  const NoTape guard;
  const int layers = model.recurrent.config().layers, all = static_cast<int>(cases.size());
  const int vocab = model.decoder.config.out;
  const bool of_c = model.recurrent.cell().has_c;
  Agreement result;
  for (int first = 0; first < all; first += at_once) {
    const int rows = std::min(at_once, all - first);
    size_t steps = 0;
    for (int r = 0; r < rows; ++r)
      steps = std::max(steps, cases[static_cast<size_t>(first + r)].before.size());
    IdTensor input({static_cast<int>(steps), rows}), lengths({rows});
    std::ranges::fill(input.span(), 0);
    for (int r = 0; r < rows; ++r) {
      const AgreementCase& one = cases[static_cast<size_t>(first + r)];
      const std::vector<int32_t>& before = one.before;
      require(!before.empty(), "agreement: case {} has no words before the verb", first + r);
      for (const int32_t word : {one.right, one.wrong})
        require(word >= 0 && word < vocab, "agreement: case {} has the word {}, which is not in 0 … {}",
                first + r, word, vocab - 1);
      for (size_t t = 0; t < before.size(); ++t) input.data()[static_cast<int64_t>(t) * rows + r] = before[t];
      lengths.data()[r] = static_cast<int32_t>(before.size());
    }
    const auto out =
        model.recurrent(model.embedding(input), model.recurrent.zero_state(rows), {.steps = lengths});
    Vars last;
    for (int r = 0; r < rows; ++r) last.push_back(slice(row(out.y, lengths.data()[r] - 1), 0, r, r + 1));
    const Tensor log_p = log_softmax(model.decoder(concat(last, 0))).value();
    for (int r = 0; r < rows; ++r) {
      const AgreementCase& one = cases[static_cast<size_t>(first + r)];
      const auto of_row = log_p[r].to_host();
      const double apart = static_cast<double>(of_row[static_cast<size_t>(one.wrong)]) -
                           static_cast<double>(of_row[static_cast<size_t>(one.right)]);
      result.p_right.push_back(1 / (1 + std::exp(apart)));
    }
    const Tensor state = of_c ? out.state.c.value() : out.state.h.value();
    for (int k = 0; k < layers; ++k) {
      if (first == 0) result.states.emplace_back(Shape{all, state.dim(2)});
      result.states[static_cast<size_t>(k)].slice(first, first + rows).copy_from(state[k]);
    }
  }
  return result;
}

Interval interval_of_share(int64_t hits, int64_t cases) {
  const double n = static_cast<double>(cases), p = static_cast<double>(hits) / n, z = 1.959963984540054;
  const double middle = p + z * z / (2 * n), half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  const double scale = 1 + z * z / n;
  // Rounding would carry the ends of 0 of n and of n of n past the share itself, or past 0 and 1.
  return {std::clamp((middle - half) / scale, 0.0, p), std::clamp((middle + half) / scale, p, 1.0)};
}

}  // namespace unroll
