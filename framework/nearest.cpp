// See nearest.h.
#include "framework/nearest.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "framework/one_line.h"

namespace unroll {
namespace {

// Edit distance with swaps of neighbours counted as one (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

std::string initials(std::string_view name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (i == 0 || name[i - 1] == '_') result += name[i];
  return result;
}

}  // namespace

std::optional<std::size_t> nearness(std::string_view word, std::string_view candidate) {
  if (word.empty() || word.size() > 64) return std::nullopt;
  const std::string_view shorter = word.size() < candidate.size() ? word : candidate;
  const std::string_view longer = word.size() < candidate.size() ? candidate : word;
  if (shorter.size() >= 3 && longer.starts_with(shorter) && shorter != longer) return 1;
  if (word.size() > 1 && word == initials(candidate)) return 1;
  const std::size_t distance = edit_distance(word, candidate);
  if (distance <= std::max<std::size_t>(1, shorter.size() / 3)) return distance;
  return std::nullopt;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::pair<std::size_t, std::size_t> least = {SIZE_MAX, SIZE_MAX};  // the shortest change decides between equals
  for (const std::string& candidate : candidates) {
    const auto distance = nearness(word, candidate);
    if (!distance) continue;
    const std::pair now(*distance, edit_distance(word, candidate));
    if (now < least) least = now, best = candidate;
  }
  return best;
}

std::string did_you_mean(const std::string& what) {
  return what.empty() ? "" : fmt::format("; did you mean '{}'?", one_line(what));
}

std::string which_was_meant(std::string_view word, const std::vector<std::string>& candidates) {
  if (const std::string meant = nearest(word, candidates); !meant.empty()) return did_you_mean(meant);
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, candidates.size()); ++i)
    text += fmt::format("{}'{}'", i ? ", " : "", one_line(candidates[i]));
  if (text.empty()) return "";
  return fmt::format("; there {} {}{}", candidates.size() == 1 ? "is" : "are", text,
                     candidates.size() > most ? fmt::format(" and {} others", candidates.size() - most) : "");
}

}  // namespace unroll
