// A score that processes share. It is a sum over parts; a process computes some of them, and they are added in the order of the
// parts. The parts do not depend on the number of processes, so neither do the bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/check.h"

namespace unroll {

template <class T>
std::string pack(const T& value) {  // its bytes
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
// Takes a value off the beginning of a text. Throws Error if the text is shorter.
template <class T>
T unpack(std::string_view& text) {
  T value;
  require(text.size() >= sizeof value,
          "processes: the ranks do not run the same program, or do not score the same parts");
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return value;
}
template <class T>
T unpack(std::string& text) {
  std::string_view rest = text;
  const T value = unpack<T>(rest);
  text.erase(0, sizeof value);
  return value;
}

struct ScoreSum {
  double total = 0;                  // of the losses or errors
  int64_t count = 0;                 // of what they are of
  std::vector<double> further = {};  // sums of the score's own, of each part as many
};

// A score in parts, for the processes of a training.
struct SharedScore {
  int64_t parts = 0;                                  // how many there are
  std::function<ScoreSum(int64_t part)> sum = {};     // part: 0 … parts-1
  std::function<double(const ScoreSum&)> score = {};  // of the sum over all parts
};

// By this process alone.
ScoreSum sum_of_parts(const SharedScore& shared);

// The sums of this process's parts: its rank, and every process_count()-th from there.
std::string sums_of_rank(const SharedScore& shared);
// The sum over all parts, from what each rank has found.
ScoreSum sum_of_ranks(int64_t parts, std::span<const std::string> by_rank);

// Over all parts, shared by the processes; called by all. Throws OtherRankFailed where one of them fails meanwhile.
ScoreSum shared_sum(const SharedScore& shared);

}  // namespace unroll
