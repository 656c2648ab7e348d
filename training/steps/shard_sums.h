// Sums of gradients over the shards of a step, in the tree's order (shard_tree.h).
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "framework/parameters.h"
#include "training/steps/courier.h"
#include "training/steps/gradient_exchange.h"
#include "training/steps/shard_tree.h"

namespace unroll {

// It takes a slab for each part of the tree that waits for its other half, at most log2(shards) at a time, and keeps them.
class GradientSums : public TapeObserver {
 public:
  GradientSums(ParameterSet& params, int shards);
  const ShardRange& mine() const& { return mine_; }  // the shards of this process
  ShardRange mine() const&& { return mine_; }
  // Before the first shard of a step. A step before that was given up is forgotten.
  void begin();
  // The next of this process's shards has its gradient in the parameters: it is taken into the sums. But for the last, the
  // parameters' gradients are spent.
  void add_shard();
  // After the last one: the parameters' gradient becomes the sum over all shards, of all processes.
  void finish();

  // Whether the last shard's gradient is exchanged while its backward runs. Then it is not added by add_shard(), but as these are
  // called, before, in and after the last backward that contributes to it.
  bool overlaps() const { return overlaps_; }
  void begin_last_backward();             // before it
  void completed(const Var& x) override;  // of the last backward's tape
  void end_last_backward();               // after it
  // An error has ended the step, perhaps in the middle of an exchange: that is given up, and with it all others.
  void give_up();
  int64_t bytes() const;  // that it has taken
  // Gradients, by this process since it began.
  using Exchanged = ExchangedGradients;
  const Exchanged& exchanged() const& { return exchanged_; }  // so far
  Exchanged exchanged() const&& { return exchanged_; }

 private:
  struct Part {
    ShardRange range;
    Tensor sum;
  };
  bool joins_last(const ShardRange& range) const;
  void release_last();
  void settle(const GradientBucket& bucket);
  void exchange(const GradientBucket& bucket);

  ParameterSet& params_;
  const int shards_;
  const ShardRange mine_;
  int next_;                   // shard
  std::vector<Part> waiting_;  // for its other half
  std::vector<Tensor> spare_;
  GradientExchange exchange_;
  Exchanged exchanged_;
  const std::vector<GradientBucket> buckets_;
  const bool overlaps_;
  // While buckets are exchanged: the slab, and how many of the parts that wait stay this process's own; the others are added
  // to the last shard's gradient.
  real* slab_ = nullptr;
  std::size_t own_parts_ = 0;
  std::unordered_map<const Leaf*, std::size_t> bucket_of_;  // with an overlap
  std::vector<std::size_t> left_in_bucket_;                 // parameters that are not complete
  std::size_t next_bucket_ = 0;
  bool exchanges_ = false;  // beside a backward
  std::unique_ptr<Courier> courier_;
};

}  // namespace unroll
