// A model's file with other metadata: what somebody may have made of it.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "training/files/safetensors.h"

namespace unroll {

inline void change_metadata(const std::filesystem::path& path, const std::function<void(Metadata&)>& change) {
  std::vector<NamedTensor> tensors;
  Metadata metadata;
  {
    const SafetensorsFile file(path);
    for (const auto& entry : file.entries()) tensors.push_back({entry.name, file.load(entry.name)});
    metadata = file.metadata();
  }
  change(metadata);
  write_safetensors(path, tensors, metadata);
}

}  // namespace unroll
