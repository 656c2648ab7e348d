#include "framework/profile.h"

#include <algorithm>

#include "framework/check.h"
#include "framework/memory.h"

namespace unroll {

static thread_local Profile* profile_of_thread = nullptr;

Profile::Profile() {
  require(!profile_of_thread, "profile: another one is alive on this thread");
  profile_of_thread = this;
}
Profile::~Profile() { profile_of_thread = nullptr; }

Profile* Profile::active() { return profile_of_thread; }

Profile::Row& Profile::row(std::string_view name) {
  const auto found = rows_.find(name);
  if (found != rows_.end()) return found->second;
  return rows_.emplace(name, Row{.name = std::string(name)}).first->second;
}

double Profile::lap() {
  const Clock::time_point now = Clock::now();
  return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
}

int64_t Profile::take_flops() { return product_flops - std::exchange(flops_, product_flops); }

void Profile::begin_tape() {
  ++tapes_;
  lap();
  take_flops();
}

void Profile::recorded(std::string_view op) {
  Row& measured = row(op);
  ++measured.calls;
  measured.forward += lap();
  measured.flops += take_flops();
}

void Profile::before_backward() {
  playing_ = true;
  lap();
  take_flops();
}

void Profile::before_release() {
  backward_ = lap();
  playing_ = false;
  in_use_ = memory_statistics().in_use;
}

void Profile::finished(std::string_view op) {
  Row& measured = row(op);
  measured.backward += backward_;
  measured.flops += take_flops();
  measured.held += in_use_ - memory_statistics().in_use;
  lap();
}

Profile::Part::Part(std::string_view name) : name_(name), profile_(active()), begin_(Clock::now()) {
  if (profile_) ++profile_->parts_;
}

Profile::Part::~Part() {
  if (!profile_) return;
  --profile_->parts_;
  Row& measured = profile_->row(name_);
  ++measured.calls;
  measured.forward += std::chrono::duration<double>(Clock::now() - begin_).count();
}

Profile::Within::Within(std::string_view name) : name_(name), profile_(active()) {
  if (profile_ && (profile_->parts_ > 0 || name.empty())) profile_ = nullptr;
  if (!profile_) return;
  begin_ = Clock::now();
  flops_ = product_flops;
}

Profile::Within::~Within() {
  if (!profile_) return;
  const Clock::duration time = Clock::now() - begin_;
  const int64_t flops = product_flops - flops_;
  profile_->last_ += time;  // the operation's lap does not have it
  profile_->flops_ += flops;
  Row& measured = profile_->row(name_);
  (profile_->playing_ ? measured.backward : measured.forward) += std::chrono::duration<double>(time).count();
  measured.calls += !profile_->playing_;
  measured.flops += flops;
}

std::vector<Profile::Row> Profile::rows() const {
  std::vector<Row> result;
  double rest = std::chrono::duration<double>(Clock::now() - begin_).count();
  for (const auto& [name, row] : rows_) {
    result.push_back(row);
    rest -= row.seconds();
  }
  std::ranges::sort(result, std::greater(), &Row::seconds);
  result.push_back({.name = "everything else", .forward = rest});
  return result;
}

}  // namespace unroll
