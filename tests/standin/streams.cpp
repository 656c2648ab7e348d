#include "tests/standin/streams.h"

#include <algorithm>

#include "tests/standin/kernel_threads.h"
#include "tests/standin/standin.h"

namespace standin {

namespace {

// The work that streams were asked for and have not done.
class Order {
 public:
  void add(cudaStream_t stream) {
    if (std::ranges::none_of(queues_, [&](const Queue& q) { return q.stream == stream; }))
      queues_.push_back({stream, {}});
  }
  bool has(const void* stream) const {
    return std::ranges::any_of(queues_, [&](const Queue& q) { return q.stream == stream; });
  }
  void ask(cudaStream_t stream, Asked asked) {
    if (asked.kind == Asked::Kind::mark) pending_.insert(asked.mark);
    of(stream).push_back(std::move(asked));
  }
  bool empty() const {
    return std::ranges::all_of(queues_, [](const Queue& q) { return q.asked.empty(); });
  }
  bool is_first(cudaStream_t stream) const { return queues_.front().stream == stream; }
  bool waits(cudaStream_t stream) { return !of(stream).empty(); }
  bool is_pending(uint64_t mark) const { return pending_.contains(mark); }

  // One piece of a stream's, drawn among those that nothing keeps waiting. False: there is none.
  bool step() {
    std::vector<std::deque<Asked>*> ready;
    for (Queue& q : queues_)
      if (!q.asked.empty() &&
          !(q.asked.front().kind == Asked::Kind::wait && pending_.contains(q.asked.front().mark)))
        ready.push_back(&q.asked);
    if (ready.empty()) return false;
    std::deque<Asked>& chosen = *ready[random_bits() % ready.size()];
    const Asked asked = std::move(chosen.front());
    chosen.pop_front();
    if (asked.kind == Asked::Kind::mark) pending_.erase(asked.mark);
    if (asked.work) asked.work();
    return true;
  }
  template <class F>
  void step_until(F done) {
    while (!done())
      if (!step()) stop("streams wait for each other for ever");
  }

 private:
  struct Queue {
    cudaStream_t stream;
    std::deque<Asked> asked;
  };
  std::deque<Asked>& of(cudaStream_t stream) {
    return std::ranges::find(queues_, stream, &Queue::stream)->asked;
  }
  std::vector<Queue> queues_;  // in the order in which streams were made
  std::set<uint64_t> pending_;
};

Order order;
uint64_t marks = 0;
std::map<const void*, uint64_t> last_mark;  // of an event

struct Capture {
  std::unique_ptr<Graph> graph;
  std::set<cudaStream_t> streams;
  uint64_t first_mark;
};
std::unique_ptr<Capture> capture;

void ask(cudaStream_t stream, Asked asked) {
  if (is_captured(stream)) return void(capture->graph->emplace_back(stream, std::move(asked)));
  static bool now_and_then = false;  // else as late as may be
  const bool idle = order.empty();
  if (idle && order.is_first(stream)) {
    if (asked.work) asked.work();
    return;
  }
  if (idle) now_and_then = random_bits() % 4 == 0;
  order.ask(stream, std::move(asked));
  while (now_and_then && random_bits() % 4 == 0 && order.step()) {}
}

}  // namespace

void add_stream(cudaStream_t stream) { order.add(stream); }
bool is_stream(const void* stream) { return order.has(stream); }
bool is_first_stream(cudaStream_t stream) { return order.is_first(stream); }

void in_stream_order(cudaStream_t stream, std::function<void()> work) {
  ask(stream, {.work = std::move(work)});
}
bool capturing() { return capture != nullptr; }

void record_event(const void* event, cudaStream_t stream) {
  last_mark[event] = ++marks;
  ask(stream, {.kind = Asked::Kind::mark, .mark = marks});
}
void wait_event(const void* event, cudaStream_t stream) {
  const auto found = last_mark.find(event);
  if (found == last_mark.end()) return;  // as CUDA does
  const bool of_capture =
      capture && found->second >= capture->first_mark &&
      std::ranges::any_of(*capture->graph, [&](const auto& asked) {
        return asked.second.kind == Asked::Kind::mark && asked.second.mark == found->second;
      });
  if (of_capture)
    capture->streams.insert(stream);
  else if (is_captured(stream))
    stop("cudaStreamWaitEvent: a captured stream waits for an event from outside of the capture");
  ask(stream, {.kind = Asked::Kind::wait, .mark = found->second});
}
void forget_event(const void* event) { last_mark.erase(event); }

void finish(cudaStream_t stream) {
  if (order.has(stream)) order.step_until([&] { return !order.waits(stream); });
}
void finish_event(const void* event) {
  if (const auto found = last_mark.find(event); found != last_mark.end())
    order.step_until([&] { return !order.is_pending(found->second); });
}
void finish_all() {
  order.step_until([] { return order.empty(); });
}

void begin_capture(cudaStream_t stream) {
  capture = std::make_unique<Capture>(Capture{std::make_unique<Graph>(), {stream}, marks + 1});
}
bool is_captured(cudaStream_t stream) { return capture && capture->streams.contains(stream); }

std::unique_ptr<Graph> end_capture(cudaStream_t stream) {
  const std::unique_ptr<Capture> ended = std::move(capture);
  const Graph& graph = *ended->graph;
  for (const cudaStream_t joined : ended->streams) {
    if (joined == stream) continue;
    const auto last =
        std::find_if(graph.rbegin(), graph.rend(), [&](const auto& asked) { return asked.first == joined; });
    const bool waited_for = last != graph.rend() && last->second.kind == Asked::Kind::mark &&
                            std::ranges::any_of(graph, [&](const auto& asked) {
                              return asked.first == stream && asked.second.kind == Asked::Kind::wait &&
                                     asked.second.mark == last->second.mark;
                            });
    if (!waited_for) return nullptr;
  }
  return std::move(ended->graph);
}

void play(const Graph& graph) {
  finish_all();
  Order played;
  for (const auto& [stream, asked] : graph) played.add(stream), played.ask(stream, asked);
  played.step_until([&] { return played.empty(); });
}

}  // namespace standin
