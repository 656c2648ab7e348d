// A trainer's steps in shards, and what its processes tell each other.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/text_file.h"
#include "framework/processes/processes.h"
#include "framework/signals.h"
#include "training/trainer.h"

namespace unroll {

namespace {

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
// From the beginning of a text, which loses it.
template <class T>
T take(std::string& text) {
  T value;
  require(text.size() >= sizeof value, "processes: the ranks do not run the same program");
  std::memcpy(&value, text.data(), sizeof value);
  text.erase(0, sizeof value);
  return value;
}

}  // namespace

// The step's gradient, losses and counts, from those of its shards; then the optimizer. Of the windows of a step, one shard has
// all computed before the next begins, so its gradients are summed once.
void Trainer::train_shards(const TrainingTask& task, Step& step) {
  ShardsOfStep shards;
  const std::string why = compute_shards(task, step, shards);
  if (!shards.told) tell_facts(step, why, shards);
  if (!shards.diverged.empty()) throw Diverged(shards.diverged);
  sums_->finish();
  const ShardFacts all = sum_of_shards(std::span(shards.facts), [](ShardFacts& a, const ShardFacts& b) {
    a.total += b.total, a.count += b.count;  // the first shard is never empty, so the factor is its
  });
  step.total = all.total, step.rate_factor = all.rate_factor, step.count = all.count;
  update(task, step);
}

void Trainer::tell_facts(const Step& step, const std::string& why, ShardsOfStep& shards) {
  shards.computed.resize(static_cast<size_t>(sums_->mine().end - sums_->mine().begin), step);
  std::string mine;
  for (const Step& shard : shards.computed)
    mine += bytes_of(ShardFacts{shard.total, shard.rate_factor, shard.count});
  for (std::string& of_rank : agree(mine + why)) {
    for (size_t k = 0; k < shards.computed.size(); ++k) shards.facts.push_back(take<ShardFacts>(of_rank));
    if (shards.diverged.empty()) shards.diverged = of_rank;
  }
  shards.told = true;
}

// Those of this process. Returns why the first that diverged has; "" if all are well.
std::string Trainer::compute_shards(const TrainingTask& task, Step& step, ShardsOfStep& shards) {
  sums_->begin();
  bool added = false;  // the last shard's, as its backward went
  for (int number = sums_->mine().begin; number < sums_->mine().end; ++number) {
    Step& shard = shards.computed.emplace_back(step);
    shard.shard = {number, options_.shards};
    BeginBackward last_backward;
    if (number + 1 == sums_->mine().end && sums_->overlaps())
      last_backward = [&](const RunAhead::WindowFacts& facts) {
        order(shard, facts);
        tell_facts(step, "", shards);
        if (!shards.diverged.empty()) throw Diverged(shards.diverged);
        sums_->begin_last_backward();
        added = true;
      };
    if (std::string why = compute_shard(task, shard, last_backward); !why.empty()) return why;
    if (!added) sums_->add_shard();
  }
  if (added) sums_->end_last_backward();
  return "";
}

// Its windows. Returns why it has diverged, or "".
std::string Trainer::compute_shard(const TrainingTask& task, Step& shard,
                                   const BeginBackward& begin_last_backward) {
  for (; shard.window < shard.end; ++shard.window) {
    // Alone; else all end between two steps.
    if (process_count() == 1 && shard.part() > 0 && shard.can_begin_again) stop_if_signalled();
    RunAhead::WindowFacts facts;
    try {
      if (!compute_window(task, shard, facts, shard.is_last() ? begin_last_backward : BeginBackward()))
        continue;
    } catch (const Diverged& reason) { return reason.what(); }
    order(shard, facts);
  }
  return "";
}

std::pair<int64_t, std::string> Trainer::trace_shards(const TrainingTask& task, const Step& step) {
  std::pair<int64_t, std::string> found{step.end - 1, ""};
  for (int number = sums_->mine().begin; number < sums_->mine().end && found.second.empty(); ++number) {
    Step shard = step;
    shard.shard = {number, options_.shards};
    found = trace_here(task, shard);
  }
  for (std::string& of_rank : agree(bytes_of(found.first) + found.second)) {
    const auto window = take<int64_t>(of_rank);
    if (!of_rank.empty()) return {window, of_rank};
  }
  return {step.end - 1, ""};
}

// --- between processes -------------------------------------------------------------------------------------

// What each rank gives, by rank; and with it whether one of them is to end, or rank 0 finds that it is time to save.
std::vector<std::string> Trainer::agree(const std::string& mine) {
  std::vector<std::string> all =
      gather_from_ranks(bytes_of(Asked{.signal = signal_received(), .save = is_last_save_old()}) + mine);
  asked_ = {};
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const auto asked = take<Asked>(all[rank]);
    if (rank == 0) asked_.save = asked.save;
    if (asked_.signal == 0 && asked.signal != 0)
      asked_.signal = asked.signal, asked_.rank = static_cast<int>(rank);
  }
  return all;
}

void Trainer::agree() {
  if (process_count() == 1) return;
  stopped_ = agree(stopped_ ? "stopped" : "").front() == "stopped";
}

void Trainer::stop_if_asked() const {
  if (process_count() == 1) return stop_if_signalled();
  if (asked_.signal != 0)
    throw Interrupted(asked_.signal, asked_.rank == 0 ? "" : fmt::format("rank {}: ", asked_.rank));
}

void Trainer::call_after_epoch(const TrainingTask& task) {
  const AveragedWeights averaged(optimizer_);
  try {
    task.after_epoch(epochs_.back());
  } catch (const Interrupted&) {
    if (process_count() == 1) throw;  // else all are told next
  }
}

double Trainer::validated(const TrainingTask& task) {
  return shared_score(task.shared_validation, task.validate);
}

// `alone` is asked where processes cannot share it, and where there is one; none: that is the sum over all parts.
double Trainer::shared_score(const SharedScore& shared, const std::function<double()>& alone) {
  if (process_count() == 1) return alone ? alone() : shared.score(sum_of_parts(shared));
  std::string mine;  // with a byte that says that it is complete
  try {
    if (shared.parts > 0)
      mine = '1' + sums_of_rank(shared);
    else
      mine = '1' + (is_first_process() ? bytes_of(alone()) : "");
  } catch (const Interrupted&) {}
  std::vector<std::string> all = agree(mine);
  for (std::string& of_rank : all) {
    if (of_rank.empty()) stop_if_asked();
    take<char>(of_rank);
  }
  return shared.parts > 0 ? shared.score(sum_of_ranks(shared.parts, all)) : take<double>(all.front());
}

// A checkpoint that rank 0 alone has to find. The others get its bytes, and read them as a file in memory.
Differences Trainer::read_for_all(const TrainingTask& task, const std::filesystem::path& path) {
  std::string bytes =
      from_first_rank(is_first_process() ? read_own_file(path, most_bytes_of_text) : std::string());
  if (is_first_process()) return read(task, path, Links::refused);
  const Descriptor file(memfd_create("checkpoint", MFD_CLOEXEC));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written =
        retried([&] { return ::write(file.number(), bytes.data() + done, bytes.size() - done); });
    if (written < 0) throw_system_error(errno, "a checkpoint in memory");
    done += static_cast<size_t>(written);
  }
  bytes = {};
  return read(task, fmt::format("/proc/self/fd/{}", file.number()), Links::followed);
}

// Each rank has the streams of its shards.
void Trainer::bring_carried(const TrainingTask& task) const {
  if (process_count() == 1) return;
  for (const NamedTensor& named : task.carried) {
    const Tensor& all = named.tensor;
    const int layers = all.dim(0), streams = all.dim(1);
    if (all.size() == 0) continue;
    const int64_t each = all.size() / layers / streams;
    const auto rows_of = [&](int rank) {
      const ShardRange range = shards_of_rank(rank, process_count(), options_.shards);
      return std::pair{Shard{range.begin, options_.shards}.begin(streams),
                       Shard{range.end - 1, options_.shards}.end(streams)};
    };
    const auto block_of = [&](int rank) {
      const auto [begin, end] = rows_of(rank);
      return std::vector<real>(static_cast<size_t>(layers * (end - begin) * each));
    };
    // move(layer's rows in the tensor, its part of the block)
    const auto each_layer = [&](int rank, std::vector<real>& block, auto&& move) {
      const auto [begin, end] = rows_of(rank);
      const int64_t size = (end - begin) * each;
      for (int layer = 0; layer < layers; ++layer)
        move((int64_t{layer} * streams + begin) * each, block.data() + layer * size, size);
    };
    const auto bytes = [](std::vector<real>& block) { return std::as_writable_bytes(std::span(block)); };
    if (!is_first_process()) {
      std::vector<real> block = block_of(process_rank());
      const auto from = all.on_host();
      each_layer(process_rank(), block,
                 [&](int64_t at, real* to, int64_t size) { std::copy_n(from.data() + at, size, to); });
      const SentBlock sent{0, bytes(block)};
      exchange_blocks({&sent, 1}, {});
      continue;
    }
    std::vector<std::vector<real>> blocks;
    std::vector<ReceivedBlock> received;
    for (int rank = 1; rank < process_count(); ++rank) blocks.push_back(block_of(rank));
    for (int rank = 1; rank < process_count(); ++rank)
      received.push_back({rank, bytes(blocks[static_cast<size_t>(rank - 1)])});
    exchange_blocks({}, received);
    const auto to = all.on_host(Access::change);
    for (int rank = 1; rank < process_count(); ++rank)
      each_layer(
          rank, blocks[static_cast<size_t>(rank - 1)],
          [&](int64_t at, const real* from, int64_t size) { std::copy_n(from, size, to.data() + at); });
  }
}

}  // namespace unroll
