// Which of cuDNN's algorithms a model trains with, where its recipe leaves that open: measured when training
// begins, and known from then on.
//
// Measurements are kept in one file of the user's, by GPU, versions of driver and libraries, precision, and
// every size of the layers and their windows. It is a cache: without it, or where it is damaged, training
// measures anew.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "layers/recurrent/engines/cudnn_algorithm.h"

namespace unroll {

// A model's recurrent layers as training calls them: `calls` times in a step, on windows of these sizes.
struct LayerUse {
  CellKind cell = CellKind::lstm;
  RecurrentConfig config = {};
  int steps = 0, batch = 0;
  double calls = 1;
  bool as_graph = false;  // a step is played, not launched piece by piece
};

struct AlgorithmCache {
  std::filesystem::path file;  // "": there is no place for one
  bool keep = true;            // what is measured now; else the file is only read
};
// $XDG_CACHE_HOME/unroll/cudnn-algorithms.json, else below $HOME/.cache. A relative XDG_CACHE_HOME is none, as its
// specification has it ("XDG Base Directory Specification" 0.8).
std::filesystem::path algorithm_cache_file();

struct ChosenAlgorithm {
  CudnnAlgorithm algorithm;
  // "persistent, the fastest of 3, measured now, kept in …"; empty: there was nothing to measure
  std::string text = {};
  std::string complaint = {};  // of the file, or of what cannot be kept, one line; empty: all is well
};
// For all of these layers, which take their algorithm from one key. The fastest of those that serve every layer, by
// the time of a step; `now` is a clock in seconds, none: the machine's. Nothing that is wrong with the file is an
// error. Throws as measure_algorithms().
ChosenAlgorithm choose_algorithm(const std::vector<LayerUse>& layers, bool deterministic,
                                 const AlgorithmCache& cache, const std::function<double()>& now = {});

}  // namespace unroll
