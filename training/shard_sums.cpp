#include "training/shard_sums.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "framework/clock.h"
#include "framework/device.h"
#include "framework/kernels/kernels.h"
#include "framework/processes/processes.h"

namespace unroll {

int shards_of_left_half(int n) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n - 1))); }

bool is_summed_alone(const ShardRange& range, int shards) {
  ShardRange within{0, shards};
  while (within.end - within.begin > 1 && within != range) {
    const int middle = within.begin + shards_of_left_half(within.end - within.begin);
    (range.end <= middle ? within.end : within.begin) = middle;
  }
  return within == range;
}

std::vector<ShardRange> parts_of(const ShardRange& range, int shards) {
  std::vector<ShardRange> parts;
  for (int begin = range.begin; begin < range.end;) {
    int end = range.end;
    while (!is_summed_alone({begin, end}, shards)) --end;
    parts.push_back({begin, end});
    begin = end;
  }
  return parts;
}

ShardRange shards_of_rank(int rank, int processes, int shards) {
  require(shards % processes == 0, "shards: {} processes cannot share {}", processes, shards);
  const int each = shards / processes;
  return {rank * each, (rank + 1) * each};
}

std::vector<int> processes_for(int shards) {
  std::vector<int> counts;
  for (int count = 1; count <= shards; ++count)
    if (shards % count == 0) counts.push_back(count);
  return counts;
}

namespace {

// Each process sums a piece of the slab: whole lines of the cache, the last pieces shorter or empty.
struct Piece {
  int64_t begin, size;
};
Piece piece_of(int rank, int processes, int64_t numbers) {
  constexpr int64_t line = 64;
  const int64_t each = (numbers + processes * line - 1) / (processes * line) * line;
  const int64_t begin = std::min(rank * each, numbers);
  return {begin, std::min(each, numbers - begin)};
}

// y += x, on the host.
void add(const real* x, real* y, int64_t n) {
  if (!on_gpu()) return kernels().affine(x, 1, 0, y, n, true);
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

// Each process gives every other the piece that this one sums, of all its parts of the tree; sums its own piece; and gives
// the sum to all. `own`: this process's parts, so many numbers each; the last becomes the whole sum. `received` holds what
// others sent, from call to call. Returns the bytes that it sent.
int64_t exchange_parts(std::span<real* const> own, int64_t numbers, int shards,
                       std::vector<std::vector<real>>& received) {
  const int rank = process_rank(), processes = process_count();
  const auto piece = [&](int of) { return piece_of(of, processes, numbers); };
  const auto bytes = [](real* begin, int64_t size) {
    return std::as_writable_bytes(std::span(begin, static_cast<std::size_t>(size)));
  };
  real* const result = own.back();
  const Piece mine = piece(rank);
  int64_t bytes_sent = 0;
  std::vector<SentBlock> to_send;
  std::vector<ReceivedBlock> to_receive;
  const auto exchange = [&] {
    for (const SentBlock& block : to_send) bytes_sent += std::ssize(block.data);
    exchange_blocks(to_send, to_receive);
    to_send.clear(), to_receive.clear();
  };

  std::vector<std::pair<ShardRange, real*>> parts;  // of all processes: this one's piece
  std::size_t used = 0;
  for (int other = 0; other < processes; ++other) {
    std::size_t k = 0;
    for (const ShardRange& range : parts_of(shards_of_rank(other, processes, shards), shards)) {
      if (other == rank) {
        parts.emplace_back(range, own[k++] + mine.begin);
        continue;
      }
      if (used == received.size()) received.emplace_back(static_cast<std::size_t>(mine.size));
      real* const buffer = received[used++].data();
      parts.emplace_back(range, buffer);
      to_receive.push_back({other, bytes(buffer, mine.size)});
    }
  }
  for (int step = 1; step < processes; ++step) {  // not all to the same one at first
    const int other = (rank + step) % processes;
    const Piece theirs = piece(other);
    for (real* const part : own) to_send.push_back({other, bytes(part + theirs.begin, theirs.size)});
  }
  exchange();

  const auto sum = [&](const auto& self, const ShardRange& range) -> real* {
    for (const auto& [of, values] : parts)
      if (of == range) return values;
    const int middle = range.begin + shards_of_left_half(range.end - range.begin);
    real* const left = self(self, {range.begin, middle});
    add(self(self, {middle, range.end}), left, mine.size);
    return left;
  };
  if (const real* const whole = sum(sum, {0, shards}); whole != result + mine.begin)
    std::copy_n(whole, mine.size, result + mine.begin);

  for (int step = 1; step < processes; ++step) {
    const int to = (rank + step) % processes, from = (rank + processes - step) % processes;
    to_send.push_back({to, bytes(result + mine.begin, mine.size)});
    const Piece theirs = piece(from);
    to_receive.push_back({from, bytes(result + theirs.begin, theirs.size)});
  }
  exchange();
  return bytes_sent;
}

}  // namespace

std::vector<int64_t> exchanged_bytes(int64_t numbers, int processes, int shards) {
  std::vector<int64_t> sent;
  for (int rank = 0; rank < processes; ++rank) {
    const int64_t own = piece_of(rank, processes, numbers).size,
                  parts = std::ssize(parts_of(shards_of_rank(rank, processes, shards), shards));
    sent.push_back((parts * (numbers - own) + (processes - 1) * own) * static_cast<int64_t>(sizeof(real)));
  }
  return sent;
}

double seconds_of_exchange(int64_t numbers, int shards) {
  // Zeros, which any sum leaves so: one slab is all parts.
  std::vector<real> slab(static_cast<std::size_t>(numbers));
  const std::vector<real*> own(
      parts_of(shards_of_rank(process_rank(), process_count(), shards), shards).size(), slab.data());
  std::vector<std::vector<real>> received;
  double begin = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {  // the first one connects the processes
    begin = clock_seconds();
    exchange_parts(own, numbers, shards, received);
  }
  return clock_seconds() - begin;
}

GradientSums::GradientSums(ParameterSet& params, int shards)
    : params_(params),
      shards_(shards),
      mine_(shards_of_rank(process_rank(), process_count(), shards)),
      next_(mine_.begin) {}

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
  if (process_count() > 1) params_.reduce_gradients([&](std::span<real> slab) { exchange(slab); });
}

void GradientSums::exchange(std::span<real> slab) {
  const double began = clock_seconds();
  require(parts_of(mine_, shards_).size() == waiting_.size() + 1, "shards: {} parts of a sum, of {}",
          waiting_.size() + 1, parts_of(mine_, shards_).size());
  std::vector<real*> own;  // on the host
  for (const Part& part : waiting_) own.push_back(const_cast<real*>(std::as_const(part.sum).data()));
  own.push_back(slab.data());
  if (on_gpu()) {
    on_host_.resize(own.size());
    for (std::size_t k = 0; k < own.size(); ++k) {
      on_host_[k].resize(slab.size());
      copy_to_host(on_host_[k].data(), own[k], slab.size_bytes());
      own[k] = on_host_[k].data();
    }
  }
  exchanged_.bytes += exchange_parts(own, std::ssize(slab), shards_, received_);
  if (on_gpu()) copy_to_device(slab.data(), own.back(), slab.size_bytes());
  exchanged_.seconds += clock_seconds() - began;
}

int64_t GradientSums::bytes() const {
  int64_t numbers = 0;
  for (const Part& part : waiting_) numbers += part.sum.size();
  for (const Tensor& tensor : spare_) numbers += tensor.size();
  for (const auto* buffers : {&received_, &on_host_})
    for (const auto& buffer : *buffers) numbers += std::ssize(buffer);
  return numbers * static_cast<int64_t>(sizeof(real));
}

}  // namespace unroll
