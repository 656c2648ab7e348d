// Operations along one dimension: sums, means, the largest, running sums, and elements by their numbers.
#include <algorithm>
#include <climits>
#include <cmath>

#include "framework/kernels/kernels.h"
#include "framework/ops.h"

namespace unroll {

namespace {
// x as [outer, n, inner] around one dimension. Throws Error if there is none of that number, or, if there must be `some`
// elements along it, if it is empty.
struct Around {
  int axis;
  int64_t outer, n, inner;
  Around(const char* name, const Var& x, int number, bool some = false)
      : axis(x.shape().axis(name, number)),
        outer(x.shape().size(0, axis)),
        n(x.dim(axis)),
        inner(x.shape().size(axis + 1, x.shape().rank())) {
    require(n > 0 || !some, "{}: dimension {} of x {} is empty", name, number, x.shape());
  }
  // The shape of what has one element in place of x's along the dimension, which is removed, or kept.
  Shape reduced(const Var& x, bool keep = false) const {
    return keep ? x.shape().with(axis, 1) : x.shape().without(axis);
  }
};

Var flat(const char* name, const Var& x) {
  recorded(name, inputs(x));  // else what is wrong with x would be told of the reshape
  require(x.value().size() <= INT_MAX, "{}: x {} has more than {} elements", name, x.shape(), INT_MAX);
  return reshape(x, {static_cast<int>(x.value().size())});
}
}  // namespace

// y = factor Σ x over one dimension        dx = factor dy, repeated
static Var scaled_sum(const char* name, const Var& x, const Around& a, bool keep, real factor) {
  Tensor y(a.reduced(x, keep));
  kernels().sum_middle(x.value().data(), a.outer, a.n, a.inner, factor, y.data());
  return record(name, y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    kernels().sum_middle_gradient(y.grad().data(), a.outer, a.n, a.inner, factor, dx.tensor.data(), dx.add);
  });
}
Var sum(const Var& x, int axis, bool keep) { return scaled_sum("sum", x, Around("sum", x, axis), keep, 1); }
Var mean(const Var& x, int axis, bool keep) {
  const Around a("mean", x, axis, true);
  return scaled_sum("mean", x, a, keep, real(1) / static_cast<real>(a.n));
}
Var sum(const Var& x) { return sum(flat("sum", x), 0); }
Var mean(const Var& x) { return mean(flat("mean", x), 0); }

// y = max x over one dimension        dx = dy at the first of the largest, else 0
Var max(const Var& x, int axis, bool keep) {
  const Around a("max", x, axis, true);
  Tensor y(a.reduced(x, keep));
  const Memory indices(static_cast<size_t>(y.size()) * sizeof(int32_t));
  const auto where = [indices] { return static_cast<int32_t*>(indices.data()); };
  kernels().max_middle(x.value().data(), a.outer, a.n, a.inner, y.data(), where());
  return record("max", y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    Tensor all = dx.add ? Tensor(x.shape()) : dx.tensor;  // the kernel overwrites all of it
    kernels().max_middle_gradient(y.grad().data(), where(), a.outer, a.n, a.inner, all.data());
    if (dx.add) kernels().affine(all.data(), 1, 0, dx.tensor.data(), all.size(), true);
  });
}
Var max(const Var& x) { return max(flat("max", x), 0); }

// y = log Σ exp x over one dimension        dx = dy exp(x - y)
Var logsumexp(const Var& x, int axis, bool keep) {
  const Around a("logsumexp", x, axis, true);
  Tensor y(a.reduced(x, keep));
  kernels().log_sum_exp(x.value().data(), a.outer, a.n, a.inner, y.data());
  return record("logsumexp", y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    kernels().log_sum_exp_gradient(x.value().data(), y.value().data(), y.grad().data(), a.outer, a.n, a.inner,
                                   dx.tensor.data(), dx.add);
  });
}

// y[i] = x[0] + … + x[i]        dx[i] = dy[i] + … + dy[n-1]
Var cumsum(const Var& x, int axis) {
  const Around a("cumsum", x, axis);
  Tensor y(x.shape());
  kernels().cumulate(x.value().data(), a.outer, a.n, a.inner, false, y.data(), false);
  return record("cumsum", y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    kernels().cumulate(y.grad().data(), a.outer, a.n, a.inner, true, dx.tensor.data(), dx.add);
  });
}

IdTensor argmax(const Var& x, int axis) {
  const Around a("argmax", x, axis, true);
  Tensor largest(a.reduced(x));
  IdTensor result(largest.shape());
  const size_t bytes = static_cast<size_t>(result.size()) * sizeof(int32_t);
  const Memory indices(bytes);
  kernels().max_middle(x.value().data(), a.outer, a.n, a.inner, largest.data(),
                       static_cast<int32_t*>(indices.data()));
  copy_to_host(result.data(), indices.data(), bytes);
  return result;
}

// i with probability exp(x_i / temperature) / Σ exp(x_j / temperature): the first where the sum up to it passes u Σ, u in [0, 1)
IdTensor draw_from_softmax(const Var& logits, double temperature, RandomStream& random) {
  const char* const name = "draw_from_softmax";
  const Around a(name, logits, -1, true);
  require(temperature > 0 && std::isfinite(temperature),
          "{}: temperature {} is not a number above 0; logits are {}: argmax takes the largest", name,
          temperature, logits.shape());
  IdTensor result(a.reduced(logits));
  const auto all = logits.value().on_host();
  const int64_t n = a.n;
  for (int64_t r = 0; r < result.size(); ++r) {
    double largest = -INFINITY, total = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(all[r * n + i]);
      require(x < INFINITY, "{}: logit {} of row {} of logits {} is {}", name, i, r, logits.shape(), x);
      largest = std::max(largest, x);
    }
    require(largest > -INFINITY, "{}: row {} of logits {} has -inf alone: there is nothing to draw", name, r,
            logits.shape());
    const auto weight = [&](int64_t i) {
      return std::exp((static_cast<double>(all[r * n + i]) - largest) / temperature);
    };
    for (int64_t i = 0; i < n; ++i) total += weight(i);
    double left = random.uniform() * total;
    int64_t drawn = -1;
    for (int64_t i = 0; i < n; ++i) {
      const double w = weight(i);
      if (w == 0) continue;
      drawn = i;  // the last of them, where rounding leaves some
      if ((left -= w) < 0) break;
    }
    result.data()[r] = static_cast<int32_t>(drawn);
  }
  return result;
}

// --- elements by their numbers --------------------------------------------------------------------------------------------

static void require_ids(const char* name, const IdTensor& ids, const Var& x, int axis) {
  require(ids.defined(), "{}: the ids are empty: nothing was assigned to them", name);
  const int n = x.dim(axis);
  for (const int32_t id : ids.span())
    require(id >= 0 && id < n, "{}: id {} is not in 0 … {}: dimension {} of x {}", name, id, n - 1, axis,
            x.shape());
}

// y[o, j, k] = x[o, ids[j], k], ids for each of y or `shared`        dx[o, ids[j], k] += dy[o, j, k]
static Var taken(const char* name, const Var& x, int axis, const IdTensor& ids, bool shared,
                 const Shape& shape) {
  require_ids(name, ids, x, axis);
  const Around a(name, x, axis);
  const int64_t count = shared ? ids.size() : a.outer * a.inner > 0 ? ids.size() / (a.outer * a.inner) : 0;
  // A loop may fill the caller's ids anew before the backward.
  const KernelIds for_kernels(on_gpu() || !recorded(name, inputs(x)) ? ids : ids.clone());
  Tensor y(shape);
  kernels().take_middle(x.value().data(), for_kernels.data(), shared, a.outer, a.n, a.inner, count, y.data());
  return record(name, y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    if (!dx.add) dx.tensor.fill(0);
    kernels().add_to_middle(y.grad().data(), for_kernels.data(), shared, a.outer, a.n, a.inner, count,
                            dx.tensor.data());
  });
}

Var gather(const Var& x, const IdTensor& ids) {
  require(x.shape().rank() >= 1 && ids.shape() == x.shape().without(-1),
          "gather: ids {} must have the shape of x {} without its last dimension", ids.shape(), x.shape());
  return taken("gather", x, -1, ids, false, ids.shape());
}

Var gather(const Var& x, int axis, const IdTensor& ids) {
  (void)x.shape().axis("gather", axis);
  require(ids.rank() == x.shape().rank() && ids.shape().with(axis, 0) == x.shape().with(axis, 0),
          "gather: ids {} must have the extents of x {} in all dimensions but {}", ids.shape(), x.shape(),
          axis);
  return taken("gather", x, axis, ids, false, ids.shape());
}

Var index_select(const Var& x, int axis, const IdTensor& ids) {
  (void)x.shape().axis("index_select", axis);
  require(ids.rank() == 1, "index_select: ids {} must be [n], to choose in dimension {} of x {}", ids.shape(),
          axis, x.shape());
  return taken("index_select", x, axis, ids, true, x.shape().with(axis, ids.dim(0)));
}

// y[k] = table[ids[k]]        dtable[ids[k]] += dy[k]
Var embedding(const Var& table, const IdTensor& ids) {
  require(table.shape().rank() == 2 && ids.rank() < Shape::max_rank,
          "embedding: table {} must be [vocab, dim] and ids {} have less than {} dimensions", table.shape(),
          ids.shape(), Shape::max_rank);
  require_ids("embedding", ids, table, 0);
  Shape shape = ids.shape();
  shape.append(table.dim(1));
  Tensor y(shape);
  // A loop may fill the caller's tokens anew before the backward. A GPU's are looked up by where they lie (DeviceIds).
  const IdTensor kept = recorded("embedding", inputs(table)) ? ids.clone() : ids;
  const KernelIds for_kernels(on_gpu() ? ids : kept);
  kernels().take_rows(table.value().data(), for_kernels.data(), kept.size(), table.dim(1), y.data());
  return record("embedding", y, inputs(table), [=](const Var& y) {
    if (auto* const rows = table.row_sums(kept.size()))
      return kernels().sums_of_rows(y.grad().data(), for_kernels.data(), kept.size(), table.dim(1),
                                    rows->sums.data(), rows->ids());
    const Into d = table.gradient_rows(kept.span());
    kernels().add_to_rows(y.grad().data(), for_kernels.data(), kept.size(), table.dim(1), d.tensor.data());
  });
}

TopK topk(const Var& x, int count, int axis) {
  const int last = x.shape().rank() - 1, k = x.shape().axis("topk", axis);
  require(count >= 0 && count <= x.dim(k), "topk: {} of the {} in dimension {} of x {}", count, x.dim(k),
          axis, x.shape());
  if (k != last) {
    const auto [values, indices] = topk(transpose(x, k, last), count, last);
    const Around a("topk", x, k);
    const int inner = static_cast<int>(a.inner), between = x.dim(last);
    IdTensor turned(x.shape().with(k, count));
    // [outer, last, …, count], with the axis and the last dimension exchanged
    const int64_t middle = between > 0 ? inner / between : 0;
    for (int64_t at = 0; at < turned.size(); ++at) {
      const int64_t l = at % between, m = at / between % middle, c = at / inner % count,
                    o = at / (inner * count);
      turned.data()[at] = indices.data()[((o * between + l) * middle + m) * count + c];
    }
    return {transpose(values, k, last), turned};
  }
  IdTensor indices(x.shape().with(last, count));
  const size_t bytes = static_cast<size_t>(indices.size()) * sizeof(int32_t);
  const Memory where(bytes);
  kernels().largest(x.value().data(), x.value().rows(), x.value().cols(), count,
                    static_cast<int32_t*>(where.data()));
  copy_to_host(indices.data(), where.data(), bytes);
  return {taken("topk", x, last, indices, false, indices.shape()), indices};
}

}  // namespace unroll
