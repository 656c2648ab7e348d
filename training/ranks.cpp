#include "training/ranks.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/text_file.h"
#include "framework/clock.h"
#include "framework/signals.h"
#include "training/shard.h"
#include "training/shard_tree.h"

namespace unroll {

void Ranks::begin(double minutes) {
  asked_ = {};
  minutes_ = minutes;
  saved();
}

void Ranks::saved() { last_save_ = clock_seconds(); }

bool Ranks::last_save_is_old() const { return minutes_ > 0 && clock_seconds() - last_save_ >= 60 * minutes_; }

bool Ranks::save_is_due() const { return alone() ? last_save_is_old() : asked_.save; }

std::vector<std::string> Ranks::agree(const std::string& mine) {
  std::vector<std::string> all =
      gather_from_ranks(bytes_of(Asked{.signal = signal_received(), .save = last_save_is_old()}) + mine);
  asked_ = {};
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const auto asked = take<Asked>(all[rank]);
    if (rank == 0) asked_.save = asked.save;
    if (asked_.signal == 0 && asked.signal != 0)
      asked_.signal = asked.signal, asked_.rank = static_cast<int>(rank);
  }
  return all;
}

bool Ranks::agree_on(bool of_first) {
  return alone() ? of_first : agree(of_first ? "yes" : "").front() == "yes";
}

void Ranks::stop_if_asked() const {
  if (alone()) return stop_if_signalled();
  if (asked_.signal != 0)
    throw Interrupted(asked_.signal, asked_.rank == 0 ? "" : fmt::format("rank {}: ", asked_.rank));
}

void Ranks::call_in_first(const std::function<void()>& call) const {
  if (!first()) return;
  try {
    call();
  } catch (const Interrupted&) {
    if (alone()) throw;
  }
}

double Ranks::score(const SharedScore& shared, const std::function<double()>& alone_score) {
  if (alone()) return alone_score ? alone_score() : shared.score(sum_of_parts(shared));
  std::string mine;  // with a byte that says that it is complete
  try {
    if (shared.parts > 0)
      mine = '1' + sums_of_rank(shared);
    else
      mine = '1' + (first() ? bytes_of(alone_score()) : "");
  } catch (const Interrupted&) {}
  std::vector<std::string> all = agree(mine);
  for (std::string& of_rank : all) {
    if (of_rank.empty()) stop_if_asked();
    take<char>(of_rank);
  }
  return shared.parts > 0 ? shared.score(sum_of_ranks(shared.parts, all)) : take<double>(all.front());
}

Differences Ranks::read(const std::filesystem::path& path,
                        const std::function<Differences(const std::filesystem::path&, Links)>& read) const {
  if (alone()) return read(path, Links::refused);
  std::string bytes = from_first_rank(first() ? read_own_file(path, most_bytes_of_text) : std::string());
  if (first()) return read(path, Links::refused);
  const Descriptor file(memfd_create("checkpoint", MFD_CLOEXEC));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written =
        retried([&] { return ::write(file.number(), bytes.data() + done, bytes.size() - done); });
    if (written < 0) throw_system_error(errno, "a checkpoint in memory");
    done += static_cast<size_t>(written);
  }
  bytes = {};
  return read(fmt::format("/proc/self/fd/{}", file.number()), Links::followed);
}

void Ranks::bring_to_first(std::span<const NamedTensor> carried, int shards) const {
  if (alone()) return;
  for (const NamedTensor& named : carried) {
    const Tensor& all = named.tensor;
    const int layers = all.dim(0), streams = all.dim(1);
    if (all.size() == 0) continue;
    const int64_t each = all.size() / layers / streams;
    const auto rows_of = [&](int rank) {
      const ShardRange range = shards_of_rank(rank, process_count(), shards);
      return std::pair{Shard{range.begin, shards}.begin(streams), Shard{range.end - 1, shards}.end(streams)};
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
