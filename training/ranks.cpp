#include "training/ranks.h"

#include <fmt/format.h>

#include "data/text_file.h"
#include "framework/signals.h"
#include "training/steps/shard_tree.h"

namespace unroll {

std::vector<std::string> Ranks::agree(const std::string& mine) {
  std::vector<std::string> all =
      gather_from_ranks(pack(Asked{.signal = signal_received(), .save = last_save_is_old()}) + mine);
  asked_ = {};
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const auto asked = unpack<Asked>(all[rank]);
    if (rank == 0) asked_.save = asked.save;
    if (asked_.signal == 0 && asked.signal != 0)
      asked_.signal = asked.signal, asked_.rank = static_cast<int>(rank);
  }
  return all;
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
      mine = '1' + (first() ? pack(alone_score()) : "");
  } catch (const Interrupted&) {}
  std::vector<std::string> all = agree(mine);
  for (std::string& of_rank : all) {
    if (of_rank.empty()) stop_if_asked();
    unpack<char>(of_rank);
  }
  return shared.parts > 0 ? shared.score(sum_of_ranks(shared.parts, all)) : unpack<double>(all.front());
}

Differences Ranks::read(const std::filesystem::path& path,
                        const std::function<Differences(const SafetensorsFile&)>& read) const {
  std::string bytes;
  if (!alone()) bytes = from_first_rank(first() ? read_own_file(path, most_bytes_of_text) : std::string());
  return read(first() ? SafetensorsFile(path, Links::refused) : SafetensorsFile(path.string(), bytes));
}

void Ranks::bring_to_first(std::span<const NamedTensor> carried, int shards) const {
  if (alone()) return;
  for (const NamedTensor& named : carried) {
    const Tensor& all = named.tensor;
    if (all.size() == 0) continue;
    const int layers = all.dim(0), streams = all.dim(1);
    const int64_t each = all.size() / layers / streams;
    // move(begin, numbers) for each layer's streams of a rank.
    const auto each_layer = [&](int rank, auto&& move) {
      const ShardRange range = shards_of_rank(rank, process_count(), shards);
      const int begin = Shard{range.begin, shards}.begin(streams),
                end = Shard{range.end - 1, shards}.end(streams);
      for (int layer = 0; layer < layers; ++layer)
        move((int64_t{layer} * streams + begin) * each, static_cast<size_t>((end - begin) * each));
    };
    std::string mine;
    if (!first()) {
      const auto from = all.on_host();
      each_layer(process_rank(), [&](int64_t at, size_t numbers) {
        mine.append(reinterpret_cast<const char*>(from.data() + at), numbers * sizeof(real));
      });
    }
    const std::vector<std::string> by_rank = gather_from_ranks(mine);
    if (!first()) continue;
    const auto to = all.on_host(Access::change);
    for (int rank = 1; rank < process_count(); ++rank) {
      const char* block = by_rank[static_cast<size_t>(rank)].data();
      each_layer(rank, [&](int64_t at, size_t numbers) {
        std::memcpy(to.data() + at, block, numbers * sizeof(real));
        block += numbers * sizeof(real);
      });
    }
  }
}

}  // namespace unroll
