// Files of tensors as PyTorch's users write them, for the suites about `import`.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support.h"
#include "training/files/safetensors.h"

using TensorsByName = std::map<std::string, unroll::Tensor>;

inline TensorsByName tensors_of(const std::filesystem::path& path) {
  const unroll::SafetensorsFile file(path);
  TensorsByName result;
  for (const auto& entry : file.entries()) result[entry.name] = file.load(entry.name);
  return result;
}

inline void write_tensors(const std::filesystem::path& path, const TensorsByName& tensors,
                          const unroll::Metadata& metadata = {}) {
  std::vector<unroll::NamedTensor> list;
  for (const auto& [name, tensor] : tensors) list.push_back({name, tensor});
  unroll::write_safetensors(path, list, metadata);
}

// The tensors of one of our models as PyTorch writes them again: no metadata but the words, if there are any.
inline void through_torch(const std::filesystem::path& ours, const std::filesystem::path& theirs) {
  const unroll::Metadata all = unroll::SafetensorsFile(ours).metadata();
  unroll::Metadata kept;
  if (const auto words = all.find("vocabulary"); words != all.end()) kept.insert(*words);
  write_tensors(theirs, tensors_of(ours), kept);
}

inline bool same_tensors(const TensorsByName& a, const TensorsByName& b) {
  return std::ranges::equal(
      a, b, [](const auto& x, const auto& y) { return x.first == y.first && same_bits(x.second, y.second); });
}

inline void rename_tensor(TensorsByName& tensors, const std::string& from, const std::string& to) {
  auto moved = tensors.extract(from);
  REQUIRE(!moved.empty());
  moved.key() = to;
  tensors.insert(std::move(moved));
}
