// Work that a GPU does side by side. All else happens in the order in which it is asked for; a lane has an order of its own.
//
//   Lanes lanes;
//   {
//     const Lanes::In lower(lanes, 1);     // until its end work goes to lane 1, after all that was asked for before the lanes
//     …
//     done = lanes.mark();
//   }
//   {
//     const Lanes::In upper(lanes, 2);
//     lanes.await(done);                   // work from here on begins when lane 1 has come to `done`
//     …
//   }
//
// Memory that is given back meanwhile is handed out again when all lanes have come to their ends: one may still read
// it when the host is done with it. Numbers go neither to the host nor from it within a lane, nor does the host wait
// there. A graph that is recorded has the lanes in it.
#pragma once

#include <array>

namespace unroll {

class Lanes {
 public:
  static constexpr int count = 4;  // numbered from 1

  Lanes();  // throws Error where there are others, and on a CPU
  // Work that is asked for from then on waits for all lanes.
  ~Lanes();
  Lanes& operator=(Lanes&&) = delete;
  static bool any();     // are alive
  static bool in_one();  // that work is asked of

  // While it lives, work that is asked for goes to this lane.
  class In {
   public:
    In(Lanes& lanes, int lane);
    ~In();
    In& operator=(In&&) = delete;
  };

  // All that the lane in use was asked for so far.
  int mark();
  void await(int mark);

 private:
  std::array<bool, count + 1> used_ = {};
  int marks_ = 0;
};

}  // namespace unroll
