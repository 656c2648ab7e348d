#include "layers/crf.h"

#include <algorithm>

namespace unroll {

Crf::Crf(Scope scope, const CrfConfig& c) : config(c) {
  require(c.tags > 0, "crf: tags {} must be positive", c.tags);
  const Init around = Init::uniform(-0.1f, 0.1f);
  transitions = scope.add("transitions", {c.tags, c.tags}, around).var();
  start = scope.add("start", {c.tags}, around).var();
  end = scope.add("end", {c.tags}, around).var();
}

void Crf::check(const char* what, const Var& emissions) const {
  require(emissions.shape().rank() == 3 && emissions.dim(2) == config.tags && emissions.dim(0) > 0,
          "crf: {} of emissions {} must be [steps, batch, {}], with a step at least", what, emissions.shape(),
          config.tags);
}

namespace {

// Marks with 1 the real steps of each row, its first, its last, and those that follow another: [steps, batch].
struct Places {
  Places(const Lengths& lengths, int steps, int batch)
      : real(lengths.steps.defined() ? real_steps(lengths, steps, batch) : Tensor::full({steps, batch}, 1)),
        first({steps, batch}),
        last({steps, batch}),
        follows({steps, batch}) {
    const auto is_real = real.on_host();
    const auto begins = first.on_host(Access::overwrite), ends = last.on_host(Access::overwrite),
               goes_on = follows.on_host(Access::overwrite);
    for (int64_t k = 0; k < is_real.size(); ++k) {
      const bool here = is_real[k] != 0, before = k >= batch && is_real[k - batch] != 0,
                 after = k + batch < is_real.size() && is_real[k + batch] != 0;
      begins[k] = here && !before, goes_on[k] = here && before, ends[k] = here && !after;
    }
  }
  Tensor real, first, last, follows;  // [steps, batch]
};

Tensor column(const Tensor& of_rows) { return of_rows.reshape({-1, 1}); }

}  // namespace

// loss = log Σ_y exp score(y) - score(tags)
//   alpha[t, j] = x[t, j] + log Σ_i exp(alpha[t-1, i] + transitions[i, j])
Var Crf::loss(const Var& emissions, const IdTensor& tags, const Lengths& lengths, Reduction reduction) const {
  check("the loss", emissions);
  const int steps = emissions.dim(0), batch = emissions.dim(1), n = config.tags;
  require(tags.defined() && tags.shape() == Shape{steps, batch},
          "crf: tags {} must be [steps, batch] of emissions {}", tags.shape(), emissions.shape());
  const Places at(lengths, steps, batch);
  const Var x = mask_rows(emissions, at.real);            // hides the values in padding
  IdTensor chosen = tags.clone(), moves({steps, batch});  // in transitions, taken as a row
  {
    const auto is_real = at.real.on_host(), goes_on = at.follows.on_host();
    for (int64_t k = 0; k < tags.size(); ++k) {
      int32_t& tag = chosen.data()[k];
      if (is_real[k] == 0) tag = 0;
      require(tag >= 0 && tag < n, "crf: tag {} is not in 0 … {} of emissions {}", tag, n - 1,
              emissions.shape());
      moves.data()[k] = goes_on[k] != 0 ? chosen.data()[k - batch] * n + tag : 0;
    }
  }
  const auto of_table = [&](const Var& table, const IdTensor& ids, const Tensor& where_it_counts) {
    return sum(embedding(reshape(table, {-1, 1}), ids) * where_it_counts.reshape({steps, batch, 1}),
               0);  // [batch, 1]
  };
  const Var right = sum(gather(x, chosen) * at.real, 0) +
                    reshape(of_table(transitions, moves, at.follows) + of_table(start, chosen, at.first) +
                                of_table(end, chosen, at.last),
                            {batch});

  const Var from_tag = transpose(transitions);  // [to, from]
  Var alpha = Tensor::zeros({batch, n});
  for (int t = 0; t < steps; ++t) {
    const Var here = row(x, t);
    const Var first = start + here;
    const auto on = [&] { return here + logsumexp(reshape(alpha, {batch, 1, n}) + from_tag); };
    alpha = where(column(at.first[t]), first, t > 0 ? where(column(at.follows[t]), on(), alpha) : alpha);
  }
  const Tensor some = sum(Var(at.first), 0).value();  // [batch]: 0 for a row without steps
  const Var each = where(some, logsumexp(alpha + end) - right, 0);
  if (reduction == Reduction::none) return each;
  return reduction == Reduction::sum ? sum(each) : mean(each);
}

Crf::Path Crf::decode(const Var& emissions, const Lengths& lengths) const {
  check("the path", emissions);
  const int steps = emissions.dim(0), batch = emissions.dim(1), n = config.tags;
  const Places at(lengths, steps, batch);
  const auto x = emissions.value().on_host(), move = transitions.value().on_host(),
             begin = start.value().on_host(), finish = end.value().on_host(), is_real = at.real.on_host(),
             is_first = at.first.on_host();
  Path path{IdTensor({steps, batch}), Tensor({batch})};
  path.tags.fill(-1);
  const auto scores = path.scores.on_host(Access::overwrite);
  std::vector<real> best(static_cast<size_t>(n)), next(best);
  std::vector<int32_t> from(static_cast<size_t>(steps) * n);
  for (int b = 0; b < batch; ++b) {
    int last = -1;
    for (int t = 0; t < steps; ++t) {
      const int64_t k = int64_t{t} * batch + b;
      if (is_real[k] == 0) continue;
      for (int j = 0; j < n; ++j) {
        int32_t& source = from[static_cast<size_t>(t) * n + j];
        source = 0;
        real score = begin[j];
        if (is_first[k] == 0) {
          for (int32_t i = 1; i < n; ++i)
            if (best[i] + move[int64_t{i} * n + j] > best[source] + move[int64_t{source} * n + j]) source = i;
          score = best[source] + move[int64_t{source} * n + j];
        }
        next[j] = score + x[k * n + j];
      }
      std::swap(best, next);
      last = t;
    }
    scores[b] = 0;
    if (last < 0) continue;
    for (int j = 0; j < n; ++j) best[j] += finish[j];
    auto tag = static_cast<int32_t>(std::ranges::max_element(best) - best.begin());
    scores[b] = best[tag];
    for (int t = last; t >= 0; --t) {
      const int64_t k = int64_t{t} * batch + b;
      if (is_real[k] == 0) break;
      path.tags.data()[k] = tag;
      tag = from[static_cast<size_t>(t) * n + tag];
    }
  }
  return path;
}

}  // namespace unroll
