#include "framework/side_by_side.h"

#include <exception>
#include <utility>

#include "framework/device.h"
#include "framework/fibres/fibre.h"
#include "framework/profile.h"
#include "framework/tape_state.h"

namespace unroll {

namespace {
struct GivenUp {};  // thrown where a computation waits, of which another one has failed
}  // namespace

struct SideBySide::Computation {
  explicit Computation(int k) : number(k) {}
  int number;
  Fibre fibre = {};
  TapeState tape = {};
  Work* waits_for = nullptr;
  std::exception_ptr failed = {};
};

SideBySide::SideBySide(int count, std::function<void(int)> begin_turn) : begin_turn_(std::move(begin_turn)) {
  require(!on_gpu(), "side by side: products are shared on a CPU, and the device is {}", name_of(device()));
  for (int k = 0; k < count; ++k) computations_.push_back(std::make_unique<Computation>(k));
}
SideBySide::~SideBySide() = default;

void SideBySide::run(const std::function<void(int)>& work) {
  require(!running_ && !present_, "side by side: within a computation there are no others");
  require(!Profile::active(), "side by side: a Profile measures one computation after the other");
  given_up_ = false;
  for (const auto& computation : computations_) {
    Computation& mine = *computation;
    mine.failed = {}, mine.waits_for = nullptr;
    mine.fibre.begin([&] {
      try {
        if (!given_up_) work(mine.number);
      } catch (const GivenUp&) {
      } catch (...) {
        mine.failed = std::current_exception();
        given_up_ = true;
      }
    });
  }
  for (bool any = true; any;) {
    any = false;
    for (const auto& computation : computations_)
      if (computation->fibre.has_work()) turn(*computation), any = true;
    do_what_is_waited_for();
  }
  for (const auto& computation : computations_)
    if (computation->failed) std::rethrow_exception(std::exchange(computation->failed, {}));
}

void SideBySide::turn(Computation& computation) {
  if (begin_turn_) begin_turn_(computation.number);
  running_ = this, present_ = &computation;
  computation.tape.exchange();
  computation.fibre.go_on();
  computation.tape.exchange();
  running_ = nullptr, present_ = nullptr;
}

void SideBySide::wait_for(Work& work) {
  if (!given_up_) {
    work.bound_ = WriteTime::bound;
    present_->waits_for = &work;
    Fibre::give_way();
  }
  if (given_up_) throw GivenUp();
  if (work.failed_) std::rethrow_exception(std::exchange(work.failed_, {}));
}

void SideBySide::do_what_is_waited_for() {
  std::vector<Work*> alike;
  for (auto first = computations_.begin(); first != computations_.end(); ++first) {
    Work* const work = (*first)->waits_for;
    if (!work || given_up_) continue;
    alike.clear();
    for (auto other = first; other != computations_.end(); ++other)
      if (Work* const its = (*other)->waits_for; its && (its == work || work->is_like(*its)))
        alike.push_back(its), (*other)->waits_for = nullptr;
    shared_ += std::ssize(alike) - 1;
    try {
      work->do_all(alike);
    } catch (...) {
      for (Work* const its : alike) its->failed_ = std::current_exception();
    }
  }
  for (const auto& computation : computations_) computation->waits_for = nullptr;
}

}  // namespace unroll
