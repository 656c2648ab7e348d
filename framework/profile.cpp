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
  lap();
  take_flops();
}

void Profile::before_release() {
  backward_ = lap();
  in_use_ = memory_statistics().in_use;
}

void Profile::finished(std::string_view op) {
  Row& measured = row(op);
  measured.backward += backward_;
  measured.flops += take_flops();
  measured.held += in_use_ - memory_statistics().in_use;
  lap();
}

Profile::Part::Part(std::string_view name) : name_(name), profile_(active()), begin_(Clock::now()) {}

Profile::Part::~Part() {
  if (!profile_) return;
  Row& measured = profile_->row(name_);
  ++measured.calls;
  measured.forward += std::chrono::duration<double>(Clock::now() - begin_).count();
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
