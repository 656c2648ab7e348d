#include "framework/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "framework/kernels/kernels.h"
#include "framework/ops.h"
#include "framework/threads.h"

namespace unroll {

namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == impossible ? a : a + std::log1p(std::exp(b - a));
}

// One row of the batch: its steps, and its labels with blanks before, between and behind them.
struct Row {
  int steps = 0;
  std::span<const int32_t> labels;
  int32_t blank = 0;
  int places() const { return 2 * static_cast<int>(labels.size()) + 1; }
  int32_t at(int place) const { return place % 2 ? labels[static_cast<size_t>(place / 2)] : blank; }
  // Whether a path may come to a place from two before: past a blank between labels that differ.
  bool may_skip_to(int place) const { return place % 2 && place > 1 && at(place) != at(place - 2); }
};

// log p [steps, classes] -> -log of the probability of the labels; posterior [steps, classes] that a step stands for a class,
// given the labels, if it is not null and the labels are possible.
//   alpha[t, s] = log Σ of the paths that have said the labels up to place s with step t;  beta[t, s] = of those from there on,
//   which is alpha of the steps and places backwards
double align(const Row& row, const std::vector<double>& log_p, int classes, double* posterior) {
  const int places = row.places();
  if (row.steps == 0) return places == 1 ? 0 : std::numeric_limits<double>::infinity();
  const int last = row.steps - 1, end = places - 1;
  const auto p = [&](int t, int s) { return log_p[static_cast<size_t>(t) * classes + row.at(s)]; };
  const auto at = [&](int t, int s) { return static_cast<size_t>(t) * places + s; };
  const auto paths = [&](bool backwards) {
    std::vector<double> sums(static_cast<size_t>(row.steps) * places, impossible);
    const auto in = [&](int t, int s) -> double& {
      return sums[backwards ? at(last - t, end - s) : at(t, s)];
    };
    const auto here = [&](int t, int s) { return backwards ? p(last - t, end - s) : p(t, s); };
    for (int s = 0; s < std::min(2, places); ++s) in(0, s) = here(0, s);
    for (int t = 1; t < row.steps; ++t)
      for (int s = 0; s < places; ++s) {
        double sum = in(t - 1, s);
        if (s > 0) sum = log_sum(sum, in(t - 1, s - 1));
        if (s > 1 && row.may_skip_to(backwards ? end - s + 2 : s)) sum = log_sum(sum, in(t - 1, s - 2));
        in(t, s) = sum + here(t, s);
      }
    return sums;
  };
  const std::vector<double> alpha = paths(false);
  double total = alpha[at(last, end)];
  if (places > 1) total = log_sum(total, alpha[at(last, end - 1)]);
  if (!posterior || total == impossible) return -total;
  const std::vector<double> beta = paths(true);
  for (int t = 0; t < row.steps; ++t)
    for (int s = 0; s < places; ++s)
      posterior[static_cast<size_t>(t) * classes + row.at(s)] +=
          std::exp(alpha[at(t, s)] + beta[at(t, s)] - p(t, s) - total);
  return -total;
}

void require_lengths(const char* what, const IdTensor& lengths, int batch, int most) {
  if (!lengths.defined()) return;
  require(lengths.shape() == Shape{batch}, "ctc_loss: {} lengths {} must be [batch], [{}]", what,
          lengths.shape(), batch);
  for (const int32_t length : lengths.span())
    require(length >= 0 && length <= most, "ctc_loss: a row of {} {}s; there are 0 to {}", length, what,
            most);
}

int length_of(const IdTensor& lengths, int row, int all) {
  return lengths.defined() ? lengths.data()[row] : all;
}

void require_labels(const IdTensor& labels, const IdTensor& lengths, const Var& logits, int32_t blank) {
  for (int b = 0; b < labels.dim(0); ++b)
    for (int k = 0; k < length_of(lengths, b, labels.dim(1)); ++k) {
      const int32_t label = labels(b, k);
      require(label >= 0 && label < logits.dim(2) && label != blank,
              "ctc_loss: label {} of row {} is not in 0 … {} of logits {}, or is the blank ({})", label, b,
              logits.dim(2) - 1, logits.shape(), blank);
    }
}

// to [classes] = log softmax of from
void log_softmax(const real* from, int classes, double* to) {
  const double largest = static_cast<double>(*std::max_element(from, from + classes));
  double sum = 0;
  for (int c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(from[c]) - largest);
  for (int c = 0; c < classes; ++c) to[c] = static_cast<double>(from[c]) - largest - std::log(sum);
}

// [batch]: each row's share in the mean, 1 / (batch · its labels), as PyTorch's.
Tensor shares_of_rows(const IdTensor& label_lengths, int batch, int most) {
  const Tensor shares({batch});
  const auto share = shares.on_host(Access::overwrite);
  for (int b = 0; b < batch; ++b)
    share[b] = real(1) / static_cast<real>(std::max(1, length_of(label_lengths, b, most))) /
               static_cast<real>(batch);
  return shares;
}

}  // namespace

// loss_b = -log Σ over alignments of Π_t p[t, b, class]        dlogits = softmax(logits) - posterior of each class, by row
Var ctc_loss(const Var& logits, const IdTensor& labels, const IdTensor& step_lengths,
             const IdTensor& label_lengths, const CtcOptions& options) {
  require(
      logits.shape().rank() == 3 && labels.defined() && labels.rank() == 2 && labels.dim(0) == logits.dim(1),
      "ctc_loss: logits {} must be [steps, batch, classes], and labels {} [batch, most]", logits.shape(),
      labels.shape());
  const int steps = logits.dim(0), batch = logits.dim(1), classes = logits.dim(2), most = labels.dim(1);
  require(options.blank >= 0 && options.blank < classes,
          "ctc_loss: the blank {} is not in 0 … {} of logits {}", options.blank, classes - 1, logits.shape());
  require_lengths("step", step_lengths, batch, steps);
  require_lengths("label", label_lengths, batch, most);
  require_labels(labels, label_lengths, logits, options.blank);

  const bool gradient = recorded("ctc_loss", inputs(logits));
  const Tensor losses({batch}),
      slopes(gradient ? logits.shape() : Shape{0});  // of each loss, d loss_b / d logits[:, b]
  {
    const auto x = logits.value().on_host();
    const auto loss = losses.on_host(Access::overwrite), slope = slopes.on_host(Access::overwrite);
    const auto of_row = [&](int b) {
      const Row row{length_of(step_lengths, b, steps),
                    labels.span().subspan(static_cast<size_t>(b) * most,
                                          static_cast<size_t>(length_of(label_lengths, b, most))),
                    options.blank};
      const auto at = [&](int t) { return (static_cast<int64_t>(t) * batch + b) * classes; };
      std::vector<double> log_p(static_cast<size_t>(row.steps) * classes);
      for (int t = 0; t < row.steps; ++t)
        log_softmax(&x[at(t)], classes, &log_p[static_cast<size_t>(t) * classes]);
      std::vector<double> posterior(gradient ? log_p.size() : 0);
      double nats = align(row, log_p, classes, gradient ? posterior.data() : nullptr);
      const bool fits = std::isfinite(nats), zeroed = !fits && options.zero_infinity && nats > 0;
      if (zeroed) nats = 0;
      loss[b] = static_cast<real>(nats);
      if (!gradient) return;
      for (int t = 0; t < steps; ++t)
        for (int c = 0; c < classes; ++c) {
          const size_t k = static_cast<size_t>(t) * classes + c;
          slope[at(t) + c] = zeroed           ? 0
                             : !fits          ? std::numeric_limits<real>::quiet_NaN()
                             : t >= row.steps ? 0
                                              : static_cast<real>(std::exp(log_p[k]) - posterior[k]);
        }
    };
    const int pieces = std::min(batch, +most_threads);
    run_pieces(pieces, [&](int piece) {
      for (int b = piece; b < batch; b += pieces) of_row(b);
    });
  }

  const Var each = record("ctc_loss", losses, inputs(logits), [=](const Var& y) {
    const Into dx = logits.gradient();
    Tensor factors({steps, batch});  // dy [batch], at each step
    kernels().sum_middle_gradient(y.grad().data(), 1, steps, batch, 1, factors.data(), false);
    const Tensor all = slopes.reshape({steps * batch, classes});
    const Var d = mul(all, factors.reshape({steps * batch, 1}));
    kernels().affine(d.value().data(), 1, 0, dx.tensor.data(), dx.tensor.size(), dx.add);
  });
  if (options.reduction == Reduction::none) return each;
  if (options.reduction == Reduction::sum) return sum(each);
  require(batch > 0, "ctc_loss: the mean over no rows, logits {}", logits.shape());
  return sum(each * shares_of_rows(label_lengths, batch, most));
}

std::vector<std::vector<int32_t>> ctc_best_path(const Var& logits, const IdTensor& step_lengths,
                                                int32_t blank) {
  require(logits.shape().rank() == 3, "ctc_best_path: logits {} must be [steps, batch, classes]",
          logits.shape());
  const int steps = logits.dim(0), batch = logits.dim(1);
  require_lengths("step", step_lengths, batch, steps);
  const IdTensor likeliest = argmax(logits);
  std::vector<std::vector<int32_t>> result(static_cast<size_t>(batch));
  for (int b = 0; b < batch; ++b) {
    int32_t before = blank;
    for (int t = 0; t < length_of(step_lengths, b, steps); ++t) {
      const int32_t said = likeliest(t, b);
      if (said != before && said != blank) result[static_cast<size_t>(b)].push_back(said);
      before = said;
    }
  }
  return result;
}

}  // namespace unroll
