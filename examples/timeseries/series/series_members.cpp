// See series_members.h.
#include "examples/timeseries/series/series_members.h"

#include <algorithm>
#include <utility>

#include "framework/check.h"

namespace unroll {

void SeriesMembers::next_row(std::string_view name) {
  if (names_.empty() || names_[now_] != name) {
    const auto [place, is_new] = places_.emplace(std::string(name), names_.size());
    now_ = place->second;
    if (is_new) {
      require_input(names_.size() < std::numeric_limits<uint32_t>::max(), "too many series in one file");
      names_.emplace_back(name), counts_.push_back(0), times_.push_back(0), has_time_.push_back(0);
    }
  }
  ++counts_[now_];
  of_row_.push_back(static_cast<uint32_t>(now_));
}

void SeriesMembers::settle(Series& series) const {
  require(static_cast<int64_t>(of_row_.size()) == series.rows(), "series: {} rows of {} with a name",
          of_row_.size(), series.rows());
  std::vector<int64_t> next;
  series.members.reserve(names_.size());
  for (std::size_t k = 0; k < names_.size(); ++k) {
    const int64_t begin = k == 0 ? 0 : series.members.back().end;
    series.members.push_back({names_[k], begin, begin + counts_[k]});
    next.push_back(begin);
  }
  if (std::is_sorted(of_row_.begin(), of_row_.end())) return;
  std::vector<int64_t> from(of_row_.size());
  for (std::size_t row = 0; row < of_row_.size(); ++row)
    from[static_cast<std::size_t>(next[of_row_[row]]++)] = static_cast<int64_t>(row);
  series.take_rows(from);
}

}  // namespace unroll
