#include "training/memory_advice.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace unroll {

namespace {

// "3 x linear [700, 2600], 20.8 MiB": results of operations, with equal ones grouped.
std::vector<std::string> largest_entries(const Tape& tape, size_t most) {
  struct Alike {
    int times = 0;
    int64_t numbers = 0;
  };
  std::map<std::string, Alike> by_text;
  for (const Tape::Entry& entry : tape.entries()) {
    Alike& alike = by_text[entry.text];
    ++alike.times, alike.numbers += entry.numbers;
  }
  std::vector<std::pair<double, std::string>> entries;
  for (const auto& [text, alike] : by_text) {
    const double mib = static_cast<double>(alike.numbers) * sizeof(real) / (1 << 20);
    const std::string times = alike.times > 1 ? fmt::format("{} x ", alike.times) : "";
    entries.emplace_back(mib, fmt::format("{}{}, {:.1f} MiB", times, text, mib));
  }
  std::ranges::sort(entries, std::greater<>());
  std::vector<std::string> result;
  for (size_t i = 0; i < std::min(most, entries.size()); ++i) result.push_back(entries[i].second);
  return result;
}

}  // namespace

std::string memory_advice(const MemoryRefused& refusal, const Tape& tape, int64_t kept,
                          const WindowSizes& sizes) {
  std::string text = refusal.what();
  const std::vector<std::string> largest = largest_entries(tape, 3);
  if (!largest.empty()) text += fmt::format("; largest on the tape: {}", fmt::join(largest, "; "));
  const double needed = static_cast<double>(refusal.in_use + refusal.asked - kept),
               room = static_cast<double>(refusal.room - kept);
  const bool of_windows =
      needed > static_cast<double>(kept);  // more than the weights and all that is as large
  std::vector<std::string> keys;
  for (const auto& [key, size] : sizes) {
    // If the system does not say how much memory there is, only name the keys.
    if (refusal.room == 0 && of_windows && size > 1) keys.push_back(fmt::format("{} = {}", key, size));
    if (refusal.room == 0 || needed <= 0) continue;
    if (const auto most = static_cast<int>(std::min(1.0, room / needed) * size); most >= 1 && most < size)
      keys.push_back(fmt::format("{} = {} in place of {}", key, most, size));
  }
  if (keys.empty()) return text + less_for_weights;
  return text + (refusal.room == 0 ? fmt::format("; less than {} needs less", fmt::join(keys, ", or "))
                                   : fmt::format("; what can fit at most: {}", fmt::join(keys, ", or ")));
}

}  // namespace unroll
