#include "training/steps/shard_sums.h"

#include <utility>

#include "framework/clock.h"
#include "framework/kernels/kernels.h"
#include "framework/processes/processes.h"

namespace unroll {

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

// A part of the slab, in the sum over all shards.
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

void GradientSums::completed(const Var& x) {
  const auto found = bucket_of_.find(x.leaf());
  if (found == bucket_of_.end()) return;  // no parameter, or one of another set
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
  if (!std::exchange(exchanges_, false)) return;
  courier_->drop(abandon_exchange);
}

int64_t GradientSums::bytes() const {
  int64_t numbers = 0;
  for (const Part& part : waiting_) numbers += part.sum.size();
  for (const Tensor& tensor : spare_) numbers += tensor.size();
  return numbers * static_cast<int64_t>(sizeof(real)) + exchange_.bytes();
}

}  // namespace unroll
