// See split.h.
#include "examples/timeseries/series/split.h"

#include <algorithm>

#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

int64_t rows_of(const Part& part) {
  int64_t rows = 0;
  for (const Span& span : part) rows += span.end - span.begin;
  return rows;
}

int64_t share_of(int64_t rows, double share) {
  return static_cast<int64_t>(static_cast<double>(rows) * share * (1 + 1e-12));
}

Part from_rows(const Part& part, const Series& series, std::span<const int64_t> rows) {
  Part result;
  for (Span span : part) {
    span.begin = std::max(span.begin, rows[series.member_of(span.begin)]);
    if (span.begin < span.end) result.push_back(span);
  }
  return result;
}

Part within(const Part& part, int64_t begin, int64_t end) {
  Part result;
  auto span = std::partition_point(part.begin(), part.end(), [&](const Span& s) { return s.end <= begin; });
  for (; span != part.end() && span->begin < end; ++span)
    result.push_back({std::max(span->begin, begin), std::min(span->end, end), span->history});
  return result;
}

int64_t longest_span(const Part& part) {
  int64_t longest = 0;
  for (const Span& span : part) longest = std::max(longest, span.end - span.begin);
  return longest;
}

SeriesSplit split_at_rows(int64_t rows, int64_t train_end, int64_t valid_end, int64_t test_end) {
  if (test_end == 0) test_end = rows;
  require_input(
      0 < train_end && train_end <= valid_end && valid_end < test_end && test_end <= rows,
      "the parts would end with rows {}, {} and {}, of {} rows: each needs some, but for validation",
      train_end, valid_end, test_end, rows);
  SeriesSplit split;
  split.train = {{0, train_end, 0}};
  if (valid_end > train_end) split.valid = {{train_end, valid_end, 0}};
  split.test = {{valid_end, test_end, 0}};
  return split;
}

// The time as a count in the series' form. A coarser time stands for its first moment.
static int64_t count_in(const Series& series, std::string_view text) {
  const TimeForm form = series.times.form;
  const auto time = parse_time(text, form, series.date_order);
  require_input(time.has_value(), "'{}' is not a time, as '{}' is", one_line(text), series.times.text(0));
  require_input(
      time->form == form || (form != TimeForm::number && time->form != TimeForm::number && time->form < form),
      "'{}' is not written as the series' times are: '{}'", one_line(text), series.times.text(0));
  return series.times.count_of(in_form(*time, form));
}

SeriesSplit split_by_fraction(int64_t rows, double train, double valid) {
  require_input(train > 0 && valid >= 0 && train + valid < 1,
                "{} for training and {} for validation are no parts of a whole that leave something to test",
                train, valid);
  return split_at_rows(rows, share_of(rows, train), share_of(rows, train + valid));
}

SeriesSplit split_by_time(const Series& series, std::string_view valid_from, std::string_view test_from) {
  const std::vector<int64_t>& at = series.times.at;
  const auto first_row = [&](std::string_view text) {
    return std::lower_bound(at.begin(), at.end(), count_in(series, text)) - at.begin();
  };
  return split_at_rows(series.rows(), first_row(valid_from), first_row(test_from));
}

SeriesSplit split_each(const Series& series, const std::function<SeriesSplit(int member)>& split_one,
                       std::vector<int>& left_out) {
  SeriesSplit all;
  std::string why;
  for (int member = 0; member < series.count(); ++member) {
    try {
      const SeriesSplit one = split_one(member);
      const int64_t begin = series.begin_of(member);
      const auto append = [&](Part& to, const Part& from) {
        for (const Span& span : from)
          to.push_back({begin + span.begin, begin + span.end, begin + span.history});
      };
      append(all.train, one.train), append(all.valid, one.valid), append(all.test, one.test);
    } catch (const InputError& error) {
      if (left_out.empty()) why = error.what();
      left_out.push_back(member);
    }
  }
  if (static_cast<int>(left_out.size()) == series.count()) throw InputError(why);
  return all;
}

std::vector<SeriesSplit> rolling_origin(int64_t rows, int folds, int64_t test_rows, int64_t valid_rows) {
  require_input(folds >= 1 && test_rows >= 1 && valid_rows >= 0,
                "rolling origin: {} folds of {} test rows and {} validation rows are none", folds, test_rows,
                valid_rows);
  const double least = double(folds) * double(test_rows) + double(valid_rows) + 1;  // does not overflow
  require_input(double(rows) >= least,
                "rolling origin: {} folds of {} test rows and {} validation rows need {} rows, not {}", folds,
                test_rows, valid_rows, least, rows);
  std::vector<SeriesSplit> result;
  for (int64_t fold = 0; fold < folds; ++fold) {
    const int64_t test = rows - (folds - fold) * test_rows;
    result.push_back(split_at_rows(rows, test - valid_rows, test, test + test_rows));
  }
  return result;
}

std::vector<SeriesSplit> contiguous_blocks(int64_t rows, int folds) {
  require_input(folds >= 3 && rows >= folds,
                "blocks: {} rows in {} blocks; it takes at least 3, and a row in each", rows, folds);
  std::vector<SeriesSplit> result;
  for (int fold = 0; fold < folds; ++fold) {
    SeriesSplit split;
    for (int block = 0; block < folds; ++block) {
      const Span span{rows * block / folds, rows * (block + 1) / folds, 0};
      if (block == fold) {
        split.test = {span};
      } else if (block == (fold + folds - 1) % folds) {
        split.valid = {span};
      } else if (!split.train.empty() && split.train.back().end == span.begin) {
        split.train.back().end = span.end;
      } else {
        split.train.push_back({span.begin, span.end, span.begin});
      }
    }
    result.push_back(split);
  }
  return result;
}

}  // namespace unroll
