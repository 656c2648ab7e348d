#include "training/files/algorithm_cache.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "training/files/cudnn/algorithm_file.h"

namespace unroll {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

// Everything that the times depend on.
Json key_of(const LayerUse& use) {
  const RecurrentConfig& c = use.config;
  const EngineFacts facts = engine_facts();
  Json key{{"gpu", facts.gpu},
           {"capability", facts.capability},
           {"driver", facts.driver},
           {"cuda", facts.toolkit},
           {"cudnn", facts.cudnn},
           {"precision", name_of(facts.precision)},
           {"cell", facts_of(use.cell).name},
           {"input", c.input},
           {"hidden", c.hidden},
           {"layers", c.layers},
           {"directions", c.directions()},
           {"steps", use.steps},
           {"batch", use.batch}};
  if (use.cell == CellKind::lstm) key["width"] = c.width(), key["last"] = c.last_hidden;
  if (use.as_graph) key["graph"] = true;
  key["call for each layer"] = acts_between_layers(c);  // rather than one for all
  return key;
}

// What a step takes, of the algorithms that serve everywhere.
void add_call(std::vector<MeasuredAlgorithm>& step, const std::vector<MeasuredAlgorithm>& call,
              double calls) {
  if (step.empty()) step.resize(call.size());
  for (size_t i = 0; i < call.size(); ++i) {
    step[i].algorithm = call[i].algorithm;
    step[i].seconds += calls * call[i].seconds;
    if (step[i].why_not.empty()) step[i].why_not = call[i].why_not;
  }
}

void complain(ChosenAlgorithm& chosen, const std::string& text) {
  chosen.complaint += (chosen.complaint.empty() ? "" : "; ") + text;
}

}  // namespace

fs::path algorithm_cache_file() {
  const auto folder = [](const char* variable) {
    const char* value = std::getenv(variable);
    const fs::path path = value ? value : "";
    return path.is_absolute() ? path : fs::path();
  };
  fs::path cache = folder("XDG_CACHE_HOME");
  if (cache.empty() && !folder("HOME").empty()) cache = folder("HOME") / ".cache";
  return cache.empty() ? cache : cache / "unroll" / "cudnn-algorithms.json";
}

ChosenAlgorithm choose_algorithm(const std::vector<LayerUse>& layers, bool deterministic,
                                 const AlgorithmCache& cache, const std::function<double()>& now) {
  ChosenAlgorithm chosen{CudnnAlgorithm::automatic};
  std::vector<const LayerUse*> open;
  for (const LayerUse& use : layers) {
    const auto known = algorithm_without_measuring(use.cell, use.config, use.steps, use.batch, deterministic);
    if (!known)
      open.push_back(&use);
    else
      chosen.algorithm = *known;
  }
  if (open.empty()) return chosen;

  AlgorithmFile before = cache.file.empty() ? AlgorithmFile{} : read_algorithm_file(cache.file);
  chosen.complaint = before.complaint;
  std::vector<MeasuredAlgorithm> step;
  std::vector<Json> to_keep;
  bool measured_now = false;
  for (const LayerUse* use : open) {
    const Json key = key_of(*use);
    auto measured = find_measured(before.entries, key);
    if (!measured) {
      measured = measure_algorithms(use->cell, use->config, use->steps, use->batch, now, use->as_graph);
      measured_now = true;
      before.entries.push_back(measured_entry(key, *measured));
      const auto passing = std::ranges::find(*measured, false, &MeasuredAlgorithm::lasting);
      if (passing == measured->end())
        to_keep.push_back(before.entries.back());
      else
        complain(chosen, fmt::format("what was measured is not kept: {}: {}", name_of(passing->algorithm),
                                     passing->why_not));
    }
    add_call(step, *measured, use->calls);
  }
  chosen.algorithm = fastest(step);
  const auto serving = std::ranges::count(step, std::string(), &MeasuredAlgorithm::why_not);
  chosen.text = fmt::format("{}, the fastest of {}, ", name_of(chosen.algorithm), serving);
  if (!measured_now) {
    chosen.text += "known from before: " + cache.file.string();
    return chosen;
  }
  chosen.text += "measured now";
  if (to_keep.empty()) return chosen;
  if (cache.file.empty()) {
    complain(chosen, "what was measured is not kept: neither XDG_CACHE_HOME nor HOME names a folder");
  } else if (cache.keep) {
    try {
      Json entries =
          read_algorithm_file(cache.file).entries;  // with what others have measured in the meantime
      for (const Json& entry : to_keep)
        if (!find_measured(entries, entry.at("of"))) entries.push_back(entry);
      write_algorithm_file(cache.file, entries);
      chosen.text += ", kept in " + cache.file.string();
    } catch (const Error& error) {
      complain(chosen, fmt::format("what was measured is not kept: {}", error.what()));
    }
  }
  return chosen;
}

}  // namespace unroll
