// Streams of the stand-in: the work of one stream happens in its order, and that of two in any order that events
// allow.
//
// Work of the stream that was made first happens at once while nothing waits. Work of another stream waits: as late
// as it may, or now and then one piece of it, drawn at random, happens before. So code that reads too early, or
// writes what another stream still reads, does so here under some seed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <cuda_runtime_api.h>

namespace standin {

// One thing that is asked of a stream. `mark` is that of an event's record, by number; a wait is for one.
struct Asked {
  enum class Kind : uint8_t { work, mark, wait } kind = Kind::work;
  std::function<void()> work = {};
  uint64_t mark = 0;
};

// A captured graph: what each stream was asked for, in the order in which the host asked.
using Graph = std::vector<std::pair<cudaStream_t, Asked>>;

void add_stream(cudaStream_t stream);
bool is_stream(const void* stream);
bool is_first_stream(cudaStream_t stream);  // the one that was made first

void record_event(const void* event, cudaStream_t stream);
void wait_event(const void* event, cudaStream_t stream);
void forget_event(const void* event);

// The host waits: for all that the stream was asked for, for an event's last record, for all streams.
void finish(cudaStream_t stream);
void finish_event(const void* event);
void finish_all();

void begin_capture(cudaStream_t stream);
bool is_captured(cudaStream_t stream);
// Returns the captured graph, or null if a stream that joined the capture was not waited for in the end.
std::unique_ptr<Graph> end_capture(cudaStream_t stream);
void play(const Graph& graph);

}  // namespace standin
