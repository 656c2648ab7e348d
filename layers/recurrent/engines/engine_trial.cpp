#include "layers/recurrent/engine_trial.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "framework/device.h"
#include "framework/tape.h"
#include "layers/recurrent/options.h"

namespace unroll {

namespace {

double milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::map<std::string, EngineTimes> trials;  // by layer
std::optional<Engine> begun_with;

std::string name_of_layer(const EngineFacts& facts, const CellFacts& cell, const RecurrentConfig& c) {
  return fmt::format("{} {} {} {} {} {}", describe_layers(cell, c), c.input, c.dropout,
                     name_of(facts.precision), name_of(c.algorithm), c.bidirectional);
}

// Both would serve, and no rule says which is faster here.
bool is_open(const EngineFacts& facts, const CellFacts& cell, RecurrentConfig config) {
  if (facts.gpu.empty() || !cell.is_ours() || config.engine != Engine::automatic ||
      has_figures(facts, cell, config))
    return false;
  const EngineChoice choice = choose_engine(cell, config, facts);
  return std::ranges::none_of(choice.reasons,
                              [](const EngineReason& r) { return r.fits == EngineReason::Fits::no; });
}

// Not while a tape of this thread's is alive, suspended or not.
bool may_record() {
  try {
    const Tape tape;
    return true;
  } catch (const Error&) { return false; }
}

// Times a few windows, when all that is made at first use is there. Takes the shorter of two rounds, since another process may have
// the GPU.
EngineTimes time_engines(const MakeEngineWindow& make) {
  constexpr int at_first = 3, rounds = 2, windows = 4;
  const EngineWindow of_cudnn = make(Engine::cudnn), of_fused = make(Engine::fused);
  for (int i = 0; i < at_first; ++i) of_cudnn(), of_fused();
  const auto time = [&](const EngineWindow& window, double& shortest) {
    synchronize();
    const double begin = detail::clock_of_trials();
    for (int i = 0; i < windows; ++i) window();
    synchronize();
    shortest = std::min(shortest, (detail::clock_of_trials() - begin) / windows);
  };
  EngineTimes times{.cudnn = std::numeric_limits<double>::infinity(),
                    .fused = std::numeric_limits<double>::infinity()};
  for (int i = 0; i < rounds; ++i) time(of_cudnn, times.cudnn), time(of_fused, times.fused);
  return times;
}

}  // namespace

double (*detail::clock_of_trials)() = milliseconds;
void detail::forget_trials() { trials.clear(), begun_with.reset(); }

void keep_engine(const std::string& name) {
  for (const Engine engine : {Engine::cudnn, Engine::fused})
    if (name == name_of(engine)) begun_with = engine;
}

EngineFacts with_known_trial(EngineFacts facts, const CellFacts& cell, const RecurrentConfig& config) {
  if (!is_open(facts, cell, config)) return facts;
  facts.begun_with = begun_with;
  if (const auto found = trials.find(name_of_layer(facts, cell, config)); found != trials.end())
    facts.times = found->second;
  return facts;
}

EngineFacts with_trial(EngineFacts facts, const CellFacts& cell, const RecurrentConfig& config,
                       const MakeEngineWindow& make) {
  facts = with_known_trial(std::move(facts), cell, config);
  if (facts.begun_with || facts.times || !is_open(facts, cell, config)) return facts;
  if (facts.processes > 1 || !may_record()) return facts;
  try {
    facts.times = trials[name_of_layer(facts, cell, config)] = time_engines(make);
  } catch (const OutOfMemory&) { trials.erase(name_of_layer(facts, cell, config)); }
  return facts;
}

}  // namespace unroll
