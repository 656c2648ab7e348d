#include "training/steps/gradient_exchange.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "framework/clock.h"
#include "framework/device.h"
#include "framework/kernels/kernels.h"
#include "framework/processes/processes.h"

namespace unroll {

std::vector<GradientBucket> gradient_buckets(const ParameterSet& params, std::size_t bytes) {
  std::vector<GradientBucket> buckets;
  const auto& all = params.all();
  int64_t end = params.values().size();
  for (std::size_t i = all.size(); i > 0;) {
    GradientBucket& bucket = buckets.emplace_back();
    do {
      Parameter& parameter = *all[--i];
      bucket.parameters.push_back(&parameter);
      bucket.begin = i == 0 ? 0 : parameter.offset;
    } while (i > 0 &&
             (all[i]->joined || static_cast<std::size_t>(end - bucket.begin) * sizeof(real) < bytes));
    bucket.size = end - bucket.begin;
    end = bucket.begin;
  }
  return buckets;
}

std::size_t bytes_of_bucket() {
  const char* const set = std::getenv("UNROLL_BUCKET_BYTES");
  if (!set) return std::size_t{1} << 20;
  const std::string_view text = set;
  std::size_t bytes = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  require_input(stop == text.data() + text.size() && error == std::errc() && bytes > 0,
                "UNROLL_BUCKET_BYTES is '{}' in the environment: a number of bytes above 0", text);
  return bytes;
}

std::vector<int64_t> sizes_of(const std::vector<GradientBucket>& buckets) {
  std::vector<int64_t> sizes;
  for (const GradientBucket& bucket : buckets) sizes.push_back(bucket.size);
  return sizes;
}

// The piece of a bucket that one process sums: whole lines of the cache; the last pieces are shorter or empty.
struct GradientPiece {
  int64_t begin, size;
};

namespace {

GradientPiece piece_of(int rank, int processes, int64_t numbers) {
  constexpr int64_t line = 64;
  const int64_t each = (numbers + processes * line - 1) / (processes * line) * line;
  const int64_t begin = std::min(rank * each, numbers);
  return {begin, std::min(each, numbers - begin)};
}

}  // namespace

// The memory of blocks while they are exchanged.
struct GradientExchange::OfHost {
  std::vector<std::vector<real>>& received;
  real* at(std::size_t k, int64_t size) {
    if (k == received.size()) received.emplace_back();
    received[k].resize(static_cast<std::size_t>(size));
    return received[k].data();
  }
  // y += x, in the bits of the kernel, which works on the device's memory.
  static void add(const real* x, real* y, int64_t n) {
    constexpr int64_t some =
        1 << 15;  // which a kernel does on this thread alone: others may compute meanwhile
    if (!on_gpu())
      for (int64_t i = 0; i < n; i += some) kernels().affine(x + i, 1, 0, y + i, std::min(some, n - i), true);
    else
      for (int64_t i = 0; i < n; ++i) y[i] += x[i] + real{0};  // of -0 too
  }
  static void copy(const real* from, real* to, int64_t n) { std::copy_n(from, n, to); }
  static void exchange(std::span<const SentBlock> sent, std::span<const ReceivedBlock> blocks) {
    exchange_blocks(sent, blocks);
  }
};
struct GradientExchange::OfGpu {
  std::vector<Tensor>& received;
  real* at(std::size_t k, int64_t size) {
    if (k == received.size()) received.emplace_back();
    if (!received[k].defined() || received[k].size() != size) received[k] = Tensor({static_cast<int>(size)});
    return received[k].data();
  }
  static void add(const real* x, real* y, int64_t n) { kernels().affine(x, 1, 0, y, n, true); }
  static void copy(const real* from, real* to, int64_t n) {
    copy_on_device(to, from, static_cast<std::size_t>(n) * sizeof(real));
  }
  static void exchange(std::span<const SentBlock> sent, std::span<const ReceivedBlock> blocks) {
    exchange_gpu_blocks(sent, blocks);
  }
};

using Parts = std::vector<std::pair<ShardRange, real*>>;
// Sums parts of the tree over a range. The sum takes the memory of the first.
template <class Memory>
static real* sum_of_parts(const Parts& parts, const ShardRange& range, int64_t size) {
  for (const auto& [of, values] : parts)
    if (of == range) return values;
  const int middle = range.begin + shards_of_left_half(range.end - range.begin);
  real* const left = sum_of_parts<Memory>(parts, {range.begin, middle}, size);
  Memory::add(sum_of_parts<Memory>(parts, {middle, range.end}, size), left, size);
  return left;
}

template <class Memory>
int64_t GradientExchange::sum_in(Memory& received, std::span<real* const> own, int64_t numbers) {
  const int rank = process_rank(), processes = process_count();
  const auto piece = [&](int of) { return piece_of(of, processes, numbers); };
  real* const result = own.back();
  const GradientPiece mine = piece(rank);
  int64_t bytes_sent = 0;
  std::vector<SentBlock> to_send;
  std::vector<ReceivedBlock> to_receive;
  const auto bytes = [](real* begin, int64_t size) {
    return std::as_writable_bytes(std::span(begin, static_cast<std::size_t>(size)));
  };
  const auto send = [&](int to, real* begin, int64_t size) {
    if (size > 0) to_send.push_back({to, bytes(begin, size)});
  };
  const auto receive = [&](int from, real* begin, int64_t size) {
    if (size > 0) to_receive.push_back({from, bytes(begin, size)});
  };
  const auto exchange = [&] {
    for (const SentBlock& block : to_send) bytes_sent += std::ssize(block.data);
    received.exchange(to_send, to_receive);
    to_send.clear(), to_receive.clear();
    count_bytes();
  };

  Parts parts;  // of all processes: this one's piece
  std::size_t used = 0;
  for (int other = 0; other < processes; ++other) {
    std::size_t k = 0;
    for (const ShardRange& range : parts_of(shards_of_rank(other, processes, shards_), shards_)) {
      if (other == rank) {
        parts.emplace_back(range, own[k++] + mine.begin);
        continue;
      }
      real* const buffer = mine.size > 0 ? received.at(used++, mine.size) : nullptr;
      parts.emplace_back(range, buffer);
      receive(other, buffer, mine.size);
    }
  }
  for (int step = 1; step < processes; ++step) {  // not all to the same one at first
    const int other = (rank + step) % processes;
    const GradientPiece theirs = piece(other);
    for (real* const part : own) send(other, part + theirs.begin, theirs.size);
  }
  exchange();

  if (mine.size > 0)
    if (const real* const whole = sum_of_parts<Memory>(parts, {0, shards_}, mine.size);
        whole != result + mine.begin)
      received.copy(whole, result + mine.begin, mine.size);

  for (int step = 1; step < processes; ++step) {
    const int to = (rank + step) % processes, from = (rank + processes - step) % processes;
    send(to, result + mine.begin, mine.size);
    const GradientPiece theirs = piece(from);
    receive(from, result + theirs.begin, theirs.size);
  }
  exchange();
  return bytes_sent;
}

int64_t GradientExchange::sum(std::span<real* const> own, int64_t numbers) {
  if (!gpu_engine().empty()) {  // they are joined
    OfGpu gpu{received_on_gpu_};
    return sum_in(gpu, own, numbers);
  }
  OfHost host{received_};
  if (!on_gpu()) return sum_in(host, own, numbers);
  const std::size_t bytes = static_cast<std::size_t>(numbers) * sizeof(real);
  on_host_.resize(own.size());
  std::vector<real*> copies;
  for (std::size_t k = 0; k < own.size(); ++k) {
    on_host_[k].resize(static_cast<std::size_t>(numbers));
    copy_to_host(on_host_[k].data(), own[k], bytes);
    copies.push_back(on_host_[k].data());
  }
  const int64_t sent = sum_in(host, copies, numbers);
  copy_to_device(own.back(), copies.back(), bytes);
  return sent;
}

void GradientExchange::count_bytes() {
  int64_t numbers = 0;
  for (const auto* buffers : {&received_, &on_host_})
    for (const auto& buffer : *buffers) numbers += std::ssize(buffer);
  for (const Tensor& tensor : received_on_gpu_) numbers += tensor.size();
  bytes_.store(numbers * static_cast<int64_t>(sizeof(real)), std::memory_order_relaxed);
}

std::vector<int64_t> exchanged_bytes(std::span<const int64_t> buckets, int processes, int shards) {
  std::vector<int64_t> sent(static_cast<std::size_t>(processes));
  for (int rank = 0; rank < processes; ++rank)
    for (const int64_t numbers : buckets) {
      const int64_t own = piece_of(rank, processes, numbers).size,
                    parts = std::ssize(parts_of(shards_of_rank(rank, processes, shards), shards));
      sent[static_cast<std::size_t>(rank)] +=
          (parts * (numbers - own) + (processes - 1) * own) * static_cast<int64_t>(sizeof(real));
    }
  return sent;
}

double seconds_of_exchange(std::span<const int64_t> buckets, int shards) {
  join_gpus();
  // Zeros, which any sum leaves so: one slab is all parts.
  Tensor slab = Tensor::zeros({static_cast<int>(std::ranges::max(buckets))});
  const std::vector<real*> own(
      parts_of(shards_of_rank(process_rank(), process_count(), shards), shards).size(), slab.data());
  GradientExchange exchange(shards);
  double begin = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {  // the first one connects the processes
    synchronize();
    begin = clock_seconds();
    for (const int64_t numbers : buckets) exchange.sum(own, numbers);
    synchronize();
  }
  return clock_seconds() - begin;
}

bool exchanges_beside_backward() {
  const char* const set = std::getenv("UNROLL_OVERLAP");
  const std::string_view asked = set ? set : "on";
  require_input(asked == "on" || asked == "off", "UNROLL_OVERLAP is '{}' in the environment: on or off",
                asked);
  return asked == "on" && !on_gpu() && can_exchange_beside();
}

std::string exchanged_over() {
  const std::string why = join_gpus();
  if (!on_gpu()) return process_engine();
  return why.empty() ? gpu_engine()
                     : fmt::format("{}, through the host's memory ({})", process_engine(), why);
}

}  // namespace unroll
