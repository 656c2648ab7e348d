#include "training/program/run/choose_algorithm.h"

#include <cstdio>

#include <fmt/format.h>

#include "training/program/cli/console.h"

namespace unroll {

std::string choose_algorithm(const std::string& program, CudnnAlgorithm& key,
                             const std::vector<LayerUse>& layers, const TrainingSection& training,
                             bool keep) {
  if (layers.empty()) return {};
  const ChosenAlgorithm chosen =
      choose_algorithm(layers, training.deterministic, {.file = algorithm_cache_file(), .keep = keep});
  if (!chosen.complaint.empty()) show(stderr, "{}: {}\n", program, chosen.complaint);
  key = chosen.algorithm;
  return chosen.text.empty() ? "" : "algorithm " + chosen.text;
}

}  // namespace unroll
