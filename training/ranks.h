// Tells processes of a training about each other, but for gradients. Each process has the model, the optimizer and the loop.
// Rank 0 alone prints, writes, and does what cannot be shared. All ranks learn the results.
//
// Every rank calls the same functions in the same order. agree() and its like also tell all ranks whether one of them was asked
// to end, and whether it is time to save. One process alone answers itself.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "framework/clock.h"
#include "framework/processes/processes.h"
#include "framework/tensor.h"
#include "training/checkpoint.h"
#include "training/shared_score.h"

namespace unroll {

class Ranks {
 public:
  bool alone() const { return process_count() == 1; }
  bool first() const { return is_first_process(); }  // it prints and writes

  // It is time to save `minutes` after the last save by rank 0's clock, but never if `minutes` is 0.
  void begin(double minutes) {
    asked_ = {};
    minutes_ = minutes;
    saved();
  }
  void saved() { last_save_ = clock_seconds(); }                                   // just now
  bool save_is_due() const { return alone() ? last_save_is_old() : asked_.save; }  // as begin() says

  // Gathers what each rank gives, by rank.
  std::vector<std::string> agree(const std::string& mine);
  // Rank 0's, in all ranks.
  bool agree_on(bool of_first) { return alone() ? of_first : agree(of_first ? "yes" : "").front() == "yes"; }
  // Throws Interrupted if this process, or another when they last agreed, has a signal to end.
  void stop_if_asked() const;

  // Calls `call` in rank 0. If it throws Interrupted among several processes, they learn it when they agree next.
  void call_in_first(const std::function<void()>& call) const;
  // `alone` scores in one process, and in rank 0 if the score has no parts. An empty `alone`: the sum over all parts.
  double score(const SharedScore& shared, const std::function<double()>& alone);
  // read(file) of a file that only rank 0 has to find. The others read it from its bytes.
  Differences read(const std::filesystem::path& path,
                   const std::function<Differences(const SafetensorsFile&)>& read) const;
  // Brings the streams of each rank's shards to rank 0: dimension 1 of `carried`.
  void bring_to_first(std::span<const NamedTensor> carried, int shards) const;

 private:
  struct Asked {  // to end, to save
    int signal = 0, rank = 0;
    bool save = false;
  };
  bool last_save_is_old() const { return minutes_ > 0 && clock_seconds() - last_save_ >= 60 * minutes_; }
  Asked asked_;  // when the ranks agreed last
  double minutes_ = 0, last_save_ = 0;
};

}  // namespace unroll
