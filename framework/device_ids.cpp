#include <mutex>

#include "framework/tensor.h"

namespace unroll {

namespace {

struct Copy {
  const int32_t *begin, *end;  // of the tokens
  const int32_t* on_device;
};
std::mutex guard;
std::vector<Copy>& copies() {
  static auto* all = new std::vector<Copy>;
  return *all;
}

}  // namespace

DeviceIds::DeviceIds(const IdTensor& ids) {
  if (!on_gpu() || ids.size() == 0) return;
  ids_ = ids;
  copy_ = Memory(static_cast<std::size_t>(ids.size()) * sizeof(int32_t));
  const std::lock_guard lock(guard);
  copies().push_back({ids.data(), ids.data() + ids.size(), static_cast<const int32_t*>(copy_.data())});
}

DeviceIds::~DeviceIds() {
  if (!ids_.defined()) return;
  const std::lock_guard lock(guard);
  std::erase_if(copies(), [&](const Copy& copy) { return copy.on_device == copy_.data(); });
}

void DeviceIds::renew() const {
  if (ids_.defined())
    copy_to_device(copy_.data(), ids_.data(), static_cast<std::size_t>(ids_.size()) * sizeof(int32_t));
}

const int32_t* DeviceIds::copy_of(const IdTensor& ids) {
  const std::lock_guard lock(guard);
  for (const Copy& copy : copies())
    if (copy.begin <= ids.data() && ids.data() + ids.size() <= copy.end)
      return copy.on_device + (ids.data() - copy.begin);
  return nullptr;
}

}  // namespace unroll
