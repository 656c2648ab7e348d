#include "framework/profile.h"

#include <algorithm>

#include "framework/check.h"
#include "framework/device.h"
#include "framework/memory.h"

namespace unroll {

static thread_local Profile* profile_of_thread = nullptr;

Profile::Clock::time_point Profile::now() noexcept {
  if (on_gpu() && !recording_graph()) {
    try {
      synchronize();
    } catch (const Error&) {  // who asks for something next will say it
    }
  }
  return Clock::now();
}

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
  const Clock::time_point at = now();
  return std::chrono::duration<double>(at - std::exchange(last_, at)).count();
}

void Profile::add_products(Row& to) {
  to.flops += products_done.flops - products_.flops;
  to.products += products_done.seconds - products_.seconds;
  products_ = products_done;
}

void Profile::begin_tape() {
  ++tapes_;
  lap();
  products_ = products_done;
}

void Profile::recorded(std::string_view op) {
  Row& measured = row(op);
  ++measured.calls;
  measured.forward += lap();
  add_products(measured);
}

void Profile::before_backward() {
  playing_ = true;
  lap();
  products_ = products_done;
}

void Profile::before_release() {
  backward_ = lap();
  playing_ = false;
  in_use_ = memory_statistics().in_use;
}

void Profile::finished(std::string_view op) {
  Row& measured = row(op);
  measured.backward += backward_;
  add_products(measured);
  measured.held += in_use_ - memory_statistics().in_use;
  lap();
}

Profile::Part::Part(std::string_view name) : name_(name), profile_(active()) {
  if (!profile_) return;
  ++profile_->parts_;
  begin_ = now();
}

Profile::Part::~Part() {
  if (!profile_) return;
  --profile_->parts_;
  Row& measured = profile_->row(name_);
  ++measured.calls;
  measured.forward += std::chrono::duration<double>(now() - begin_).count();
}

Profile::Within::Within(std::string_view name) : name_(name), profile_(active()) {
  if (profile_ && (profile_->parts_ > 0 || name.empty())) profile_ = nullptr;
  if (!profile_) return;
  begin_ = now();
  before_ = products_done;
}

Profile::Within::~Within() {
  if (!profile_) return;
  const Clock::duration time = now() - begin_;
  const int64_t flops = products_done.flops - before_.flops;
  const double products = products_done.seconds - before_.seconds;
  profile_->last_ += time;  // the operation's lap does not have it
  profile_->products_.flops += flops, profile_->products_.seconds += products;
  Row& measured = profile_->row(name_);
  (profile_->playing_ ? measured.backward : measured.forward) += std::chrono::duration<double>(time).count();
  measured.calls += !profile_->playing_;
  measured.flops += flops, measured.products += products;
}

Profile::Product::Product(int64_t flops) : measures_(active()) {
  products_done.flops += flops;
  if (measures_) begin_ = now();
}

Profile::Product::~Product() {
  if (measures_) products_done.seconds += std::chrono::duration<double>(now() - begin_).count();
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
