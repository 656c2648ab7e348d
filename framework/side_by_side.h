// Computations side by side: those of a batch's shards, say, which meet the same weights. They take turns on one thread, each on a
// stack and with a tape of its own. Where all of them need a product with one matrix, it is packed and read once, for the rows of
// all.
//
//   SideBySide shards(4, [&](int k) { … });              // called where a turn of number k begins
//   shards.run([&](int k) { Tape tape; …; tape.backward(loss); });
//
// A turn ends where a product may be shared. When all computations wait for one, or are at their ends, the products that have the
// same matrix on the right are computed as one, and the others by themselves. Shared are those of which gemm.h promises that an
// element has the same bits as alone: with a packed matrix; and on others those of at least `least_rows` rows and a k below
// `most_inner`.
//
// A computation has to bear that others go on meanwhile: what it keeps from one product to the next lies in no place that it shares
// with them, and it holds no lock there.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "framework/gemm.h"

namespace unroll {

class SideBySide {
 public:
  static constexpr int64_t least_rows = 64, most_inner = 4096;

  // Throws Error on a GPU, whose products have bits by their sizes.
  explicit SideBySide(int count, std::function<void(int)> begin_turn = {});
  ~SideBySide();
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;

  // work(k) for k = 0 … count-1. If one throws, the others are given up where they wait, and what the first by number has thrown
  // goes on from here when all are at their ends. Throws Error where the thread has a Profile, or is in the middle of a run.
  void run(const std::function<void(int)>& work);
  int64_t shared() const { return shared_; }  // products and packings that it saved so far

  // --- for products ------------------------------------------------------------------------------------

  // A piece of work that several may need at once; it lies on the stack of the computation that waits for it.
  class Work {
   public:
    virtual ~Work() = default;
    virtual bool is_like(const Work& other) const = 0;
    virtual void do_all(std::span<Work* const> alike) = 0;  // itself is the first of them

   protected:
    // Lets `f` see memory as the computation does that waits for `work` (WriteTime::bound).
    template <class F>
    static void as(const Work& work, F f) {
      const struct Bound {
        ~Bound() { WriteTime::bound = before; }
        uint64_t before;
      } restored{std::exchange(WriteTime::bound, work.bound_)};
      f();
    }

   private:
    friend class SideBySide;
    uint64_t bound_ = WriteTime::no_bound;
    std::exception_ptr failed_ = {};
  };
  static SideBySide* running() { return running_; }  // whose turn this is on this thread; nullptr: nobody's
  void wait_for(Work& work);

 private:
  struct Computation;
  void turn(Computation& computation);
  void do_what_is_waited_for();

  static inline constinit thread_local SideBySide* running_ = nullptr;
  const std::function<void(int)> begin_turn_;
  std::vector<std::unique_ptr<Computation>> computations_;
  Computation* present_ = nullptr;
  bool given_up_ = false;
  int64_t shared_ = 0;
};

}  // namespace unroll
