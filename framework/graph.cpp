#include "framework/graph.h"

#include "framework/kernels/backend.h"
#include "framework/memory.h"

namespace unroll {

void Graph::begin(const uint32_t* step, uint32_t now) {
  require(on_gpu(), "graph: a GPU records, and the device is {}", name_of(device()));
  require(!recording_graph(), "graph: another one is being recorded");
  make_room_for_recording();
  cuda_backend()->begin_recording(step, now);
  detail::recording = true;
}

void* Graph::end(bool keep) {
  detail::recording = false;
  return cuda_backend()->end_recording(keep);
}

Graph::~Graph() {
  if (graph_) cuda_backend()->forget(graph_);
}

void Graph::play() const { cuda_backend()->play(graph_); }

}  // namespace unroll
