#include "training/shard_sums.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>

#include "framework/clock.h"
#include "framework/device.h"
#include "framework/kernels/kernels.h"
#include "framework/processes/processes.h"

namespace unroll {

bool shards_share_products(int shards) {
  const char* const set = std::getenv("UNROLL_SHARE_PRODUCTS");
  const std::string asked = set ? set : "on";
  require_input(asked == "on" || asked == "off",
                "UNROLL_SHARE_PRODUCTS is '{}' in the environment: on or off", asked);
  return asked == "on" && shards > 1 && shards <= most_side_by_side && process_count() == 1 && !on_gpu();
}

GradientSums::GradientSums(ParameterSet& params, int shards)
    : params_(params),
      shards_(shards),
      mine_(shards_of_rank(process_rank(), process_count(), shards)),
      next_(mine_.begin),
      exchange_(shards),
      buckets_(gradient_buckets(params, process_count() > 1 ? bytes_of_bucket() : SIZE_MAX)),
      overlaps_(exchanges_beside_backward()) {
  if (process_count() > 1) join_gpus();  // if they can
}

void GradientSums::begin() {
  take_turn(0);
  for (Side& side : sides_)
    for (Gradient& gradient : side.gradients) gradient.spend();
  while (!waiting_.empty()) release_last();
  next_ = mine_.begin;
}

bool GradientSums::joins_last(const ShardRange& range) const {
  return !waiting_.empty() && is_summed_alone({waiting_.back().range.begin, range.end}, shards_);
}

void GradientSums::release_last() {
  spare_.push_back(std::move(waiting_.back().sum));
  waiting_.pop_back();
}

void GradientSums::add_shard() {
  params_.complete_gradients();
  ShardRange range{next_, next_ + 1};
  if (++next_ == mine_.end) {  // what it joins is added to the slab itself
    params_.reduce_gradients([&](std::span<real> slab) {
      for (; joins_last(range); release_last()) {
        range.begin = waiting_.back().range.begin;
        kernels().affine(std::as_const(waiting_.back().sum).data(), 1, 0, slab.data(), std::ssize(slab),
                         true);
      }
    });
    return;
  }
  const Tensor& slab = params_.contributed_gradients();
  const auto add_to_last = [&](const Tensor& sum) {
    kernels().affine(sum.data(), 1, 0, waiting_.back().sum.data(), sum.size(), true);
    waiting_.back().range.end = range.end;
  };
  if (joins_last(range)) {
    add_to_last(slab);
    for (;;) {
      Part part = std::move(waiting_.back());
      waiting_.pop_back();
      range = part.range;
      if (!joins_last(range)) {
        waiting_.push_back(std::move(part));
        break;
      }
      add_to_last(part.sum);
      spare_.push_back(std::move(part.sum));
    }
  } else {
    if (spare_.empty()) spare_.emplace_back(slab.shape());
    spare_.back().copy_from(slab);
    waiting_.push_back({range, std::move(spare_.back())});
    spare_.pop_back();
  }
  params_.spend_gradients();
}

// --- side by side --------------------------------------------------------------------------------------------

void GradientSums::make_sides() {
  const Tensor& slab = params_.contributed_gradients();
  while (std::ssize(sides_) + 1 < shards_) {
    Side side{Tensor(slab.shape()).telling(nullptr), {}};
    side.slab.fill(0);  // between parameters it stays so
    for (const auto& parameter : params_.all()) {
      const int begin = static_cast<int>(parameter->offset);
      side.gradients.emplace_back().bind(
          side.slab.slice(begin, begin + static_cast<int>(parameter->size())).reshape(parameter->shape),
          nullptr);
    }
    sides_.push_back(std::move(side));
  }
}

void GradientSums::exchange_with(Side& side) {
  size_t k = 0;
  for (const auto& parameter : params_.all()) std::swap(parameter->node.gradient, side.gradients[k++]);
}

void GradientSums::take_turn(int shard) {
  if (shard == turn_) return;
  make_sides();
  if (turn_ > 0) exchange_with(sides_[static_cast<size_t>(turn_ - 1)]);
  turn_ = shard;
  if (turn_ > 0) exchange_with(sides_[static_cast<size_t>(turn_ - 1)]);
}

// Of a parameter that each shard has contributed to some rows of (an embedding), rows that any has: the others are zero in all shards
// and in the sum. They become rows of the first shard's gradient. In order; none if it is to be summed whole.
std::vector<int32_t> GradientSums::rows_to_add(size_t parameter) {
  Parameter& p = *params_.all()[parameter];
  bool some = p.node.gradient.only_some_rows();
  for (const Side& side : sides_) some = some && side.gradients[parameter].only_some_rows();
  if (!some) return {};
  for (const Side& side : sides_) p.node.gradient.into_rows(p.shape, side.gradients[parameter].rows());
  const std::span<const int32_t> all = p.node.gradient.rows();
  std::vector<int32_t> rows(all.begin(), all.end());
  std::ranges::sort(rows);
  return rows;
}

// Some numbers of all slabs after others, so that what is read of one stays near until the tree's sum of them is written. The sum
// is written to the first slab alone: in the others rows that nothing contributed to have to stay 0.
void GradientSums::add_all() {
  for (int shard = 0; shard < shards_; ++shard) {
    take_turn(shard);
    params_.complete_gradients();
  }
  take_turn(0);
  constexpr int64_t some = 1 << 17;
  const auto count = static_cast<size_t>(shards_);
  std::vector<Tensor> copies(count);  // of those that others are added to
  std::vector<size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  sum_of_shards(std::span(numbers), [&](size_t to, size_t) {
    if (to > 0 && !copies[to].defined()) copies[to] = Tensor({static_cast<int>(some)});
  });
  real* const slab = const_cast<real*>(params_.contributed_gradients().data());
  std::vector<real*> parts(count);
  const auto add = [&](int64_t first, int64_t end) {
    for (int64_t begin = first; begin < end; begin += some) {
      const int64_t size = std::min(some, end - begin);
      parts[0] = slab + begin;
      for (size_t k = 1; k < count; ++k) {
        parts[k] = sides_[k - 1].slab.data() + begin;
        if (!copies[k].defined()) continue;
        kernels().copy_blocks(parts[k], size, copies[k].data(), size, 1, size, false);
        parts[k] = copies[k].data();
      }
      sum_of_shards(std::span(parts),
                    [&](real* to, real* from) { kernels().affine(from, 1, 0, to, size, true); });
    }
  };
  int64_t summed = 0;  // numbers, from the slab's first on, that are done or need not be
  for (size_t i = 0; i < params_.all().size(); ++i) {
    Parameter& parameter = *params_.all()[i];
    const std::vector<int32_t> rows = rows_to_add(i);
    if (rows.empty()) {
      parameter.contribute_all();
      continue;
    }
    add(summed, parameter.offset);  // all before it
    const int64_t width = parameter.size() / parameter.shape[0];
    for (size_t k = 0; k < rows.size();) {  // rows that lie together are added together
      const size_t first = k++;
      while (k < rows.size() && rows[k] == rows[k - 1] + 1) ++k;
      add(parameter.offset + rows[first] * width, parameter.offset + (rows[k - 1] + 1) * width);
    }
    summed = parameter.offset + parameter.size();
  }
  add(summed, params_.contributed_gradients().size());
  for (Side& side : sides_)
    for (Gradient& gradient : side.gradients) gradient.spend();
  next_ = mine_.end;
}

void GradientSums::finish() {
  require(next_ == mine_.end, "shards: {} of {} were computed", next_ - mine_.begin, mine_.end - mine_.begin);
  if (process_count() == 1) return;
  const double began = clock_seconds();
  if (exchanges_) {
    courier_->wait();
    exchanges_ = false;
    while (waiting_.size() > own_parts_) release_last();  // they are added
    params_.reduce_gradients([](std::span<real>) {});     // all have contributed
  } else {
    own_parts_ = waiting_.size();
    params_.reduce_gradients([&](std::span<real> slab) {
      slab_ = slab.data();
      for (const GradientBucket& bucket : buckets_) exchange(bucket);
    });
  }
  exchanged_.seconds += clock_seconds() - began;
}

// Of the sum over all shards, this part of the slab.
void GradientSums::exchange(const GradientBucket& bucket) {
  require(parts_of(mine_, shards_).size() == own_parts_ + 1, "shards: {} parts of a sum, of {}",
          own_parts_ + 1, parts_of(mine_, shards_).size());
  std::vector<real*> own;
  for (std::size_t k = 0; k < own_parts_; ++k)
    own.push_back(const_cast<real*>(std::as_const(waiting_[k].sum).data()) + bucket.begin);
  own.push_back(slab_ + bucket.begin);
  exchanged_.bytes += exchange_.sum(own, bucket.size);
}

// --- beside a backward ---------------------------------------------------------------------------------------

void GradientSums::begin_last_backward() {
  require(next_ + 1 == mine_.end, "shards: {} is not the last", next_);
  ShardRange range{next_, next_ + 1};
  own_parts_ = waiting_.size();
  while (own_parts_ > 0 && is_summed_alone({waiting_[own_parts_ - 1].range.begin, range.end}, shards_))
    range.begin = waiting_[--own_parts_].range.begin;
  slab_ = const_cast<real*>(params_.contributed_gradients().data());
  if (!courier_) {
    courier_ = std::make_unique<Courier>([this](std::size_t k) { exchange(buckets_[k]); });
    for (std::size_t k = 0; k < buckets_.size(); ++k)
      for (const Parameter* const parameter : buckets_[k].parameters) bucket_of_.emplace(parameter, k);
  }
  left_in_bucket_.clear();
  for (const GradientBucket& bucket : buckets_) left_in_bucket_.push_back(bucket.parameters.size());
  next_bucket_ = 0;
  courier_->begin();
  exchanges_ = true;
}

void GradientSums::complete(const Leaf& parameter) {
  const auto found = bucket_of_.find(&parameter);
  if (found == bucket_of_.end()) return;  // of another set
  --left_in_bucket_[found->second];
  for (; next_bucket_ < buckets_.size() && left_in_bucket_[next_bucket_] == 0; ++next_bucket_) {
    settle(buckets_[next_bucket_]);
    courier_->push();
  }
}

void GradientSums::end_last_backward() {
  for (; next_bucket_ < buckets_.size(); ++next_bucket_) {  // with what the backward did not come to
    settle(buckets_[next_bucket_]);
    courier_->push();
  }
  ++next_;
}

// Its gradient of the last shard is complete: what else of the tree this process has whole is added, as add_shard() does.
void GradientSums::settle(const GradientBucket& bucket) {
  for (Parameter* const parameter : bucket.parameters) parameter->contribute_all();
  for (std::size_t k = waiting_.size(); k-- > own_parts_;)
    kernels().affine(std::as_const(waiting_[k].sum).data() + bucket.begin, 1, 0, slab_ + bucket.begin,
                     bucket.size, true);
}

void GradientSums::give_up() {
  take_turn(0);
  if (!std::exchange(exchanges_, false)) return;
  courier_->drop(abandon_exchange);
}

int64_t GradientSums::bytes() const {
  int64_t numbers = 0;
  for (const Part& part : waiting_) numbers += part.sum.size();
  for (const Tensor& tensor : spare_) numbers += tensor.size();
  for (const Side& side : sides_) numbers += side.slab.size();
  return numbers * static_cast<int64_t>(sizeof(real)) + exchange_.bytes();
}

}  // namespace unroll
