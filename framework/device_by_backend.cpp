#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>

#include "framework/graph.h"
#include "framework/kernels/backend.h"
#include "framework/lanes.h"
#include "framework/one_line.h"
#include "framework/tensor.h"

namespace unroll {

namespace detail {
bool on_gpu = false, recording = false;
}

namespace {

Device current;

// Asked once: a driver is there or not.
const std::string& missing() {
  static const std::string why = cuda_backend() ? cuda_backend()->missing() : "this build has no CUDA";
  return why;
}

// Why each GPU that was tried cannot serve; empty if it can. To try one takes hold of it, so it is done once, and
// only for a GPU that may be used.
std::map<int, std::string>& tried() {
  static std::map<int, std::string> refusals;
  return refusals;
}
const std::string& refusal(int index) {
  const auto known = tried().find(index);
  return known != tried().end() ? known->second : tried()[index] = cuda_backend()->refusal(index);
}

void require_gpu(int index) {
  require_input(missing().empty(), "device cuda: {}", missing());
  const int count = cuda_backend()->count();
  require_input(index < count, "device cuda:{}: this machine has {} GPU{}, the last is cuda:{}", index, count,
                plural(count), count - 1);
  require_input(refusal(index).empty(), "device cuda:{}: {}", index, refusal(index));
}

// The first that serves, after so many.
Device any_device(int passed) {
  if (!missing().empty()) return {};
  const int count = cuda_backend()->count();
  for (int k = 0; k < count; ++k)
    if (const int index = (passed + k) % count; refusal(index).empty()) return {.gpu = true, .index = index};
  return {};
}

}  // namespace

std::string name_of(Device device) { return device.gpu ? fmt::format("cuda:{}", device.index) : "cpu"; }

Device device_named(std::string_view name, int process) {
  if (name == "cpu") return {};
  if (name == "auto") return any_device(process);
  constexpr std::string_view cuda = "cuda", numbered = "cuda:";
  int index = 0;
  const char* const end = name.data() + name.size();
  const auto number = [&] {
    const auto [stop, error] = std::from_chars(name.data() + numbered.size(), end, index);
    return stop == end && error == std::errc() && index >= 0;
  };
  const bool known = name == cuda || (name.starts_with(numbered) && number());
  require_input(known, "device '{}' is none of auto, cpu, cuda, cuda:0, cuda:1, …", name);
  if (name == cuda && missing().empty()) index = process % std::max(1, cuda_backend()->count());
  require_gpu(index);
  return {.gpu = true, .index = index};
}

void set_device(Device device) {
  if (device == current) return;
  require(device.gpu || device.index == 0, "set_device: {} has no number, got {}", name_of(device),
          device.index);
  require(device_memory_is_untouched(), "set_device: there are tensors on {} already", name_of(current));
  require(!current.gpu, "set_device: this process computes on {}", name_of(current));
  require_gpu(device.index);
  cuda_backend()->open(device.index);
  current = device;
  detail::on_gpu = true;
}

Device device() { return current; }
std::string why_no_gpu() {
  std::string why = missing();
  for (const auto& [index, refusal] : tried()) {
    if (refusal.empty()) return "";
    why += (why.empty() ? "" : "; ") + refusal;
  }
  return why;
}

DeviceFacts device_facts() {
  require(on_gpu(), "device_facts: this process computes on the CPU");
  return cuda_backend()->facts();
}

static void require_no_recording(const char* what) {
  if (recording_graph()) throw NeedsHost(fmt::format("a step that is recorded as a graph cannot {}", what));
  require(!Lanes::in_one(), "a lane of the device cannot {}", what);
}

void copy_to_host(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (!on_gpu()) return void(std::memcpy(to, from, bytes));
  require_no_recording("read numbers on the host");
  cuda_backend()->to_host(to, from, bytes);
}
void copy_to_device(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (!on_gpu()) return void(std::memcpy(to, from, bytes));
  require_no_recording("bring numbers from the host");
  cuda_backend()->to_device(to, from, bytes);
}
void copy_on_device(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (!on_gpu()) return void(std::memcpy(to, from, bytes));
  cuda_backend()->copy(to, from, bytes);
}
void clear_on_device(void* to, std::size_t bytes) {
  if (bytes == 0) return;
  if (!on_gpu()) return void(std::memset(to, 0, bytes));
  cuda_backend()->clear(to, bytes);
}
void* allocate_on_gpu(std::size_t bytes) { return cuda_backend()->allocate(bytes); }
void release_on_gpu(void* memory) { cuda_backend()->release(memory); }
void synchronize() {
  require_no_recording("wait for the device");
  if (on_gpu()) cuda_backend()->synchronize();
}

// --- graphs (graph.h) ----------------------------------------------------------------------------------------------

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
void Graph::play() const { cuda_backend()->play(graph_.get()); }
void Graph::Forget::operator()(void* graph) const { cuda_backend()->forget(graph); }

// --- copies of tokens (tensor.h) -----------------------------------------------------------------------------------

static std::mutex copies_guard;
static std::vector<const void*>& copies() {
  static auto* all = new std::vector<const void*>;
  return *all;
}

// Is listed as long as it lives.
struct DeviceIds::Copy {
  IdTensor ids;
  Memory memory;
  explicit Copy(const IdTensor& tokens)
      : ids(tokens.telling(nullptr)), memory(static_cast<std::size_t>(tokens.size()) * sizeof(int32_t)) {
    const std::lock_guard lock(copies_guard);
    copies().push_back(this);
  }
  ~Copy() {
    const std::lock_guard lock(copies_guard);
    std::erase(copies(), this);
  }
  Copy& operator=(Copy&&) = delete;
};

DeviceIds::DeviceIds(const IdTensor& ids) {
  if (on_gpu() && ids.size() > 0) copy_ = std::make_shared<const Copy>(ids);
}

void DeviceIds::renew() const {
  if (!copy_) return;
  const std::span tokens = copy_->ids.span();
  copy_to_device(copy_->memory.data(), tokens.data(), tokens.size_bytes());
}

const int32_t* DeviceIds::copy_of(const IdTensor& ids) {
  const std::lock_guard lock(copies_guard);
  for (const void* listed : copies()) {
    const Copy& copy = *static_cast<const Copy*>(listed);
    const std::ptrdiff_t begin = ids.data() - copy.ids.data();
    if (begin >= 0 && begin + ids.size() <= copy.ids.size())
      return static_cast<const int32_t*>(copy.memory.data()) + begin;
  }
  return nullptr;
}

}  // namespace unroll
