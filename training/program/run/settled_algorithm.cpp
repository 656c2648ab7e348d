#include "training/program/run/settled_algorithm.h"

#include <cstdio>

#include <fmt/format.h>

#include "training/program/cli/voice.h"

namespace unroll {

std::string settle_algorithm(const std::string& program, CudnnAlgorithm& key,
                             const std::vector<LayerUse>& layers, const TrainingSection& training,
                             bool keep) {
  if (layers.empty()) return {};
  const SettledAlgorithm settled =
      settle_algorithm(layers, training.deterministic, {.file = algorithm_cache_file(), .keep = keep});
  if (!settled.complaint.empty()) show(stderr, "{}: {}\n", program, settled.complaint);
  key = settled.algorithm;
  return settled.text.empty() ? "" : "algorithm " + settled.text;
}

}  // namespace unroll
