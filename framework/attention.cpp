#include "framework/attention.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/gemm.h"
#include "framework/hash.h"
#include "framework/kernels/kernels.h"
#include "framework/ops.h"
#include "framework/threads.h"

namespace unroll {

namespace {

// The part of a tensor [steps, batch, heads·width] that is one head's of one row: a matrix [steps, width] at strides.
struct Part {
  int64_t offset, row, width;
  Part(const Shape& shape, int heads, int b, int h)
      : offset(int64_t{b} * shape[2] + int64_t{h} * (shape[2] / heads)),
        row(int64_t{shape[1]} * shape[2]),
        width(shape[2] / heads) {}
  auto at(auto* of_tensor, int64_t step) const { return of_tensor + offset + step * row; }
  Operand rows(const real* of_tensor, int64_t step) const { return {at(of_tensor, step), row, 1}; }
  Operand turned(const real* of_tensor, int64_t step) const { return {at(of_tensor, step), 1, row}; }
};

// A block of queries of one head of one row, and the keys that they see.
struct Block {
  int b, h;
  int64_t begin, rows;      // of the queries
  int64_t first_key, keys;  // that any of them sees
  SeenColumns seen;         // in rows of scores
  int64_t scores() const { return rows * keys; }
};

class Plan {
 public:
  Plan(const Shape& q, const Shape& k, const AttentionOptions& o)
      : options_(o), steps_(q[0]), past_(k[0]), batch_(q[1]) {
    const int64_t at_once = on_gpu() ? int64_t{1} << 24 : int64_t{1} << 16;  // numbers
    // With a window the most keys of a block are rows and window together: twice the window at most.
    const int64_t of_row = o.window > 0 ? std::min(past_, 2 * int64_t{o.window}) : past_;
    rows_ = o.block_rows > 0 ? o.block_rows : std::max<int64_t>(16, at_once / std::max<int64_t>(of_row, 1));
    if (o.block_rows == 0 && of_row < past_) rows_ = std::min<int64_t>(rows_, std::max(16, o.window));
    rows_ = std::clamp<int64_t>(rows_, 1, std::max<int64_t>(steps_, 1));
  }
  int units() const { return batch_ * options_.heads; }
  // Whether each query is in a block, and each key in the only one.
  bool meets_all_queries() const {
    const bool some = past_ > 0 && (!options_.causal || past_ >= steps_);
    return some && !options_.begins.defined() && !options_.ends.defined();
  }
  bool meets_all_keys() const {
    return meets_all_queries() && steps_ > 0 && rows_ >= steps_ && options_.window == 0;
  }
  int64_t largest_block() const {
    return rows_ * (options_.window > 0 ? std::min(past_, rows_ + options_.window) : past_);
  }

  // use(block) for all blocks of unit 0 … units()-1 that see any key.
  template <class Use>
  void each_block(int unit, Use use) const {
    const int b = unit / options_.heads;
    const auto& o = options_;
    const int64_t from = o.begins.defined() ? o.begins.data()[b] : 0,
                  end = o.ends.defined() ? o.ends.data()[b] : past_;
    for (int64_t r = 0; r < steps_; r += rows_) {
      const int64_t rows = std::min(rows_, steps_ - r), before = past_ - steps_ + r;  // keys, causally
      const int64_t begin = o.window > 0 ? std::max(from, before - o.window) : from;
      const int64_t keys = (o.causal ? std::min(end, before + rows) : end) - begin;
      if (keys <= 0) continue;
      SeenColumns seen{.end = keys};
      if (o.causal) seen.end = before + 1 - begin, seen.step = 1;
      if (o.window > 0) seen.begin = before - o.window - begin;
      if (o.firsts.defined()) {
        seen.apart = o.firsts.rank() == 2 ? batch_ : 0, seen.origin = begin;
        seen.firsts = std::as_const(o.firsts).data() + r * seen.apart + b;
      }
      use(Block{b, unit % o.heads, r, rows, begin, keys, seen});
    }
  }
  // work(unit) for all units: on a CPU each by a thread, if that pays.
  template <class Work>
  void each_unit(Work work) const {
    const int64_t scores = int64_t{units()} * steps_ * past_;
    if (on_gpu() || scores < 16384 || units() == 1) {
      for (int unit = 0; unit < units(); ++unit) work(unit);
      return;
    }
    const int pieces = std::min(units(), most_threads);
    run_pieces(pieces, [&](int piece) {
      for (int unit = units() * piece / pieces; unit < units() * (piece + 1) / pieces; ++unit) work(unit);
    });
  }

 private:
  AttentionOptions options_;
  int64_t steps_, past_;
  int batch_;
  int64_t rows_;
};

// Linear bias: how much each key's score gains over that of the key before it. 0 without linear biases.
real slope_of(const AttentionOptions& o, int head) {
  return o.linear_biases ? std::exp2(real(-8) * static_cast<real>(head + 1) / static_cast<real>(o.heads)) : 0;
}

// p = softmax(scale · q kᵀ + biases) of a block, in `scores`
void put_weights(const Block& block, const Part& of_q, const Part& of_k, const real* q, const real* k,
                 const AttentionOptions& o, real* scores) {
  gemm(of_q.rows(q, block.begin), of_k.turned(k, block.first_key), block.rows, block.keys, of_q.width, scores,
       block.keys, false);
  kernels().softmax_within(scores, block.rows, block.keys, block.seen, o.scale, slope_of(o, block.h));
}

RandomKey key_of(const AttentionOptions& o, const Block& block) {
  RandomKey key = o.key;
  for (const int64_t part : {int64_t{block.b}, int64_t{block.h}, block.begin})
    key.place = hash_with(key.place, static_cast<uint64_t>(part));
  return key;
}

void require_ends(const char* name, const char* what, const IdTensor& ends, int batch, int past) {
  if (!ends.defined()) return;
  require(ends.shape() == Shape{batch}, "{}: {} {} must be [batch], [{}]", name, what, ends.shape(), batch);
  for (const int32_t end : ends.span())
    require(end >= 0 && end <= past, "{}: {} {} is not in 0 … {}, the steps of the keys", name, what, end,
            past);
}

// The options with a scale, once queries and keys are known to fit.
AttentionOptions checked(const char* name, const Shape& q, const Shape& k, AttentionOptions o) {
  require(
      q.rank() == 3 && k.rank() == 3 && q[1] == k[1] && q[2] == k[2],
      "{}: queries {} [steps, batch, width] and keys {} [past, batch, width] must agree in batch and width",
      name, q, k);
  require(o.heads > 0 && q[2] % o.heads == 0, "{}: {} heads do not divide the width of queries {}", name,
          o.heads, q);
  require(o.dropout >= 0 && o.dropout < 1, "{}: dropout {} is not in [0, 1); queries are {}", name, o.dropout,
          q);
  require(std::isfinite(o.scale), "{}: scale {} is not a number; queries are {}", name, o.scale, q);
  require(o.window >= 0, "{}: window {} is negative; queries are {}", name, o.window, q);
  require(o.causal || (o.window == 0 && !o.linear_biases),
          "{}: a window and linear biases are for causal attention; queries are {}", name, q);
  require(!o.firsts.defined() || o.firsts.shape() == Shape{q[1]} || o.firsts.shape() == Shape({q[0], q[1]}),
          "{}: firsts {} must be [batch], [{}], or [steps, batch], [{}, {}]", name, o.firsts.shape(), q[1],
          q[0], q[1]);
  require_ends(name, "begins", o.begins, q[1], k[0]);
  require_ends(name, "ends", o.ends, q[1], k[0]);
  if (o.scale == 0) o.scale = 1 / std::sqrt(static_cast<real>(std::max(1, q[2] / o.heads)));
  if (o.begins.defined())
    o.begins = o.begins.clone();  // a loop may fill the caller's anew before the backward
  if (o.ends.defined()) o.ends = o.ends.clone();
  return o;
}

}  // namespace

// By head and row, with s = scale · q kᵀ, p = softmax(s), m the mask of dropout:  y = (m∘p) v
//   dp = m∘(dy vᵀ)      ds = p ∘ (dp - Σ_j dp∘p)      dq = scale · ds k      dk = scale · dsᵀ q      dv = (m∘p)ᵀ dy
Var scaled_dot_product_attention(const Var& queries, const Var& keys, const Var& values,
                                 const AttentionOptions& given) {
  const char* const name = "scaled_dot_product_attention";
  if (queries.shape().rank() == 2) {
    const Var y = scaled_dot_product_attention(reshape(queries, {1, queries.dim(0), queries.dim(1)}), keys,
                                               values, given);
    return reshape(y, {y.dim(1), y.dim(2)});
  }
  const AttentionOptions o = checked(name, queries.shape(), keys.shape(), given);
  require(values.shape().rank() == 3 && values.dim(0) == keys.dim(0) && values.dim(1) == keys.dim(1),
          "{}: values {} must have the steps and the batch of keys {}", name, values.shape(), keys.shape());
  require(values.dim(2) % o.heads == 0, "{}: {} heads do not divide the width of values {}", name, o.heads,
          values.shape());
  const bool drops = o.dropout > 0 && dropout_is_on();
  const Plan plan(queries.shape(), keys.shape(), o);
  const Tensor q = queries.value(), k = keys.value(), v = values.value();
  const Shape shape = q.shape().with(2, v.dim(2));
  const Tensor y = plan.meets_all_queries() ? Tensor(shape) : Tensor::zeros(shape);
  const auto part_of = [heads = o.heads](const Tensor& x, const Block& at) {
    return Part(x.shape(), heads, at.b, at.h);
  };
  {
    const real *const of_q = q.data(), *const of_k = k.data(), *const of_v = v.data();
    real* const of_y = Tensor(y).data();
    plan.each_unit([&](int unit) {
      const Memory scores(static_cast<size_t>(plan.largest_block()) * sizeof(real));
      real* const p = static_cast<real*>(scores.data());
      plan.each_block(unit, [&](const Block& at) {
        put_weights(at, part_of(q, at), part_of(k, at), of_q, of_k, o, p);
        if (drops) kernels().dropout(p, o.dropout, key_of(o, at), at.scores(), p, at.scores(), false);
        const Part in_v = part_of(v, at), in_y = part_of(y, at);
        gemm({p, at.keys, 1}, in_v.rows(of_v, at.first_key), at.rows, in_v.width, at.keys,
             in_y.at(of_y, at.begin), in_y.row, false);
      });
    });
  }
  return record(name, y, inputs(queries, keys, values), [=](const Var& out) {
    // A gradient is overwritten if the blocks of queries meet all of it exactly once. Otherwise they add, to what is
    // there or to zeros.
    struct Place {
      real* data = nullptr;
      bool add = true;
    };
    const bool apart = queries.node() != keys.node() && queries.node() != values.node() &&
                       keys.node() != values.node();  // the same variable would be met twice
    const auto place = [apart](const Var& x, bool once) -> Place {
      if (!x.wants_grad()) return {};
      const Into dx = x.gradient();
      if (dx.add || (once && apart)) return {dx.tensor.data(), dx.add};
      dx.tensor.fill(0);
      return {dx.tensor.data(), true};
    };
    const Place to_q = place(queries, plan.meets_all_queries()), to_k = place(keys, plan.meets_all_keys()),
                to_v = place(values, plan.meets_all_keys());
    real *const dq = to_q.data, *const dk = to_k.data, *const dv = to_v.data;
    const real *const of_q = queries.value().data(), *const of_k = keys.value().data(),
                      *const of_v = values.value().data(), *const dy = out.grad().data();
    plan.each_unit([&](int unit) {
      const Memory blocks(3 * static_cast<size_t>(plan.largest_block()) * sizeof(real));
      real *const p = static_cast<real*>(blocks.data()), *const dropped = p + plan.largest_block(),
                  *const d = dropped + plan.largest_block();
      plan.each_block(unit, [&](const Block& at) {
        const Part in_q = part_of(q, at), in_k = part_of(k, at), in_v = part_of(v, at), in_y = part_of(y, at);
        const RandomKey key = key_of(o, at);
        const int64_t n = at.scores();
        put_weights(at, in_q, in_k, of_q, of_k, o, p);
        if (dv) {
          if (drops) kernels().dropout(p, o.dropout, key, n, dropped, n, false);
          gemm({drops ? dropped : p, 1, at.keys}, in_y.rows(dy, at.begin), at.keys, in_v.width, at.rows,
               in_v.at(dv, at.first_key), in_v.row, to_v.add);
        }
        if (!dq && !dk) return;
        gemm(in_y.rows(dy, at.begin), in_v.turned(of_v, at.first_key), at.rows, at.keys, in_v.width, d,
             at.keys, false);
        if (drops) kernels().dropout(d, o.dropout, key, n, d, n, false);
        kernels().softmax_gradient(p, d, at.rows, at.keys, d, false);
        kernels().affine(d, o.scale, 0, d, n, false);
        if (dq)
          gemm({d, at.keys, 1}, in_k.rows(of_k, at.first_key), at.rows, in_q.width, at.keys,
               in_q.at(dq, at.begin), in_q.row, to_q.add);
        if (dk)
          gemm({d, 1, at.keys}, in_q.rows(of_q, at.begin), at.keys, in_k.width, at.rows,
               in_k.at(dk, at.first_key), in_k.row, to_k.add);
      });
    });
  });
}

Tensor attention_weights(const Var& queries, const Var& keys, const AttentionOptions& given) {
  if (queries.shape().rank() == 2)
    return attention_weights(queries.value().reshape({1, queries.dim(0), queries.dim(1)}), keys, given);
  const AttentionOptions o = checked("attention_weights", queries.shape(), keys.shape(), given);
  const Plan plan(queries.shape(), keys.shape(), o);
  const Tensor q = queries.value(), k = keys.value();
  const int steps = q.dim(0), past = k.dim(0);
  const Tensor weights = Tensor::zeros({q.dim(1), o.heads, steps, past});
  const Memory scores(static_cast<size_t>(plan.largest_block()) * sizeof(real));
  real* const p = static_cast<real*>(scores.data());
  real* const all = Tensor(weights).data();
  for (int unit = 0; unit < plan.units(); ++unit)
    plan.each_block(unit, [&](const Block& at) {
      const Part of_q(q.shape(), o.heads, at.b, at.h), of_k(k.shape(), o.heads, at.b, at.h);
      put_weights(at, of_q, of_k, q.data(), k.data(), o, p);
      real* const to = all + (int64_t{unit} * steps + at.begin) * past + at.first_key;
      kernels().copy_blocks(p, at.keys, to, past, at.rows, at.keys, false);
    });
  return weights;
}

}  // namespace unroll
