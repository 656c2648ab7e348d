// Reads a series from a CSV file. See series.h.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "data/csv.h"
#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/row_times.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/series_rows.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

NumberMarks marks_of(const SeriesOptions& options) { return {options.decimal, options.thousands}; }

// The advice for a column in which this cell is no number. For a model's file there is mostly none.
std::string advice(const SeriesText& file, int column, std::string_view cell, bool has_numbers) {
  const auto& [text, csv, columns, options] = file;
  const char other = other_mark(options.decimal);
  const auto with_other = written_number(cell, {other}),
             grouped = written_number(cell, {options.decimal, other});
  if ((with_other || grouped) && !options.model.empty())
    return fmt::format("; the model of {} reads numbers with '{}' before their decimals{}", options.model,
                       options.decimal, with_other ? "" : ", and no other mark");
  if (with_other || grouped) {
    const std::string decimal = toml_line("data.decimal", {&other, 1}),
                      thousands = toml_line("data.thousands", {&other, 1});
    if (with_other && grouped)
      return fmt::format("; {} reads it as {}, {} as {}", decimal, with_other->value, thousands,
                         grouped->value);
    return fmt::format("; {} reads numbers that are written so", with_other ? decimal : thousands);
  }
  const bool is_bound = cell.find_first_of("<>~") == 0;
  const std::string mended = has_numbers || is_bound ? how_to_mend(cell, marks_of(options), has_numbers) : "";
  if (!mended.empty()) return ": " + mended;
  if (has_numbers) return "; the cells above it are numbers: leave it empty if its value is missing";
  if (column > 0 && is_duration(cell)) return "; a length of time is written as one number, such as minutes";
  const bool is_date = reads_as_date(cell);
  if (!is_date && looks_like_a_date(cell))
    return fmt::format("; if it is a time, these forms are read: {}", forms_of_time);
  if (is_date && columns.time < 0 && options.model.empty())
    return fmt::format("; {} makes it the time", toml_line("data.time", columns.names[column]));
  std::vector<std::string> others;
  for (const int other : columns.chosen) {
    const bool is_label = columns.label >= 0 && other == columns.chosen[columns.label];
    if (!is_label && (written_number(file.cell(other), marks_of(options)) || says_missing(file.cell(other))))
      others.push_back(columns.names[other]);
  }
  if (!options.channels.empty() || others.empty()) return "";
  return fmt::format("; a column of {} is left out by naming the channels: data.channels = {}",
                     is_date ? "dates" : "text", toml_list(others));
}

// A channel's numbers so far: their unit, a note about the first that is not plain.
struct WrittenChannel {
  std::optional<std::string_view> unit;
  std::string note;
};

double read_value(const SeriesText& file, int channel, std::string_view cell, WrittenChannel& written) {
  const auto& [text, csv, columns, options] = file;
  const int column = columns.chosen[channel];
  if (says_missing(cell)) {
    if (channel == columns.label) file.refuse(column, "a label is missing");
    if (options.missing != Missing::error) return std::nan("");
    file.refuse(column, "a value is missing{}{}", cell.empty() ? "" : fmt::format(" ('{}')", one_line(cell)),
                options.model.empty()
                    ? "; data.missing = \"previous\", \"mask\", \"interpolate\" or \"zero\" fills it in"
                    : "");
  }
  const auto parsed = written_number(cell, marks_of(options));
  if (!parsed) {
    require_one_series(file);
    const std::string told = advice(file, column, cell, written.unit.has_value()),
                      shown = one_line(with_plain_blanks(cell)),
                      message = file.about(column, "'{}' is not a number{}", shown, told);
    require_no_marks(
        file.csv, file.columns.called(column), file.columns.place(column),
        [marks = marks_of(options)](std::string_view bare) {
          return written_number(bare, marks).has_value();
        },
        message);
    if (options.mend) require_one_unit(file, column, message), require_no_limits(file, column, message);
    if (written.unit && told.starts_with(';')) refuse_words(file, column, message);
    throw InputError(message);
  }
  const double value = parsed->value;
  if (!written.unit) written.unit = parsed->unit;
  if (*written.unit != parsed->unit)
    file.refuse(column, "'{}' has {}, and the numbers above it have {}: write all with one unit, or without",
                one_line(cell), parsed->unit.empty() ? "no unit" : parsed->unit,
                written.unit->empty() ? "none" : *written.unit);
  if (written.note.empty() && !parse_number(cell, options.decimal))
    written.note = fmt::format("{}: numbers are read without their marks, '{}' in line {} as {}",
                               columns.called(column), one_line(with_plain_blanks(cell)), csv.line(), value);
  if (!std::isfinite(value)) file.refuse(column, "'{}' is no finite number", one_line(cell));
  if (channel == columns.label && value != 0 && value != 1)
    file.refuse(column, "a label is 0 or 1, not '{}'", one_line(cell));
  return value;
}

// Checks a row number in a first column without a name: it must ascend, as no column of values does that would be lost.
void check_row_number(const CsvReader& csv, std::optional<int64_t>& before) {
  const std::string_view cell = csv.cells().front();
  const auto number = parse_time(cell);
  const bool is_whole = number && number->form == TimeForm::number;
  if (!is_whole || (before && number->count <= *before)) {
    throw InputError(fmt::format(
        "{}:{}: the first column has no name, and '{}' is no row number{}", csv.origin(), csv.line(),
        one_line(cell),
        is_whole                  ? fmt::format(": it comes after {}", *before)
        : looks_like_a_date(cell) ? fmt::format("; if it is a time, these forms are read: {}", forms_of_time)
                                  : ""));
  }
  before = number->count;
}

// The kind of times that a channel's whole numbers may be: "years", "months". "": none.
std::string times_in_channel(const Series& series, int channel) {
  std::vector<int64_t> numbers;
  bool ascends = true;
  for (int64_t row = 0; row < series.rows(); ++row) {
    const double value = series.at(row, channel);
    if (!(std::abs(value) <= static_cast<double>(largest_number)) || value != std::floor(value)) {
      if (std::isnan(value)) continue;  // missing
      return "";
    }
    if (numbers.empty() && value < static_cast<double>(least_dated)) return "";
    ascends = ascends && (numbers.empty() || static_cast<int64_t>(value) > numbers.back());
    numbers.push_back(static_cast<int64_t>(value));
  }
  const auto rows = static_cast<std::size_t>(series.rows());
  const std::string& name = series.channels[channel];
  const TimeForm form = ascends ? form_of_numbers(numbers, name, rows) : TimeForm::number;
  return form != TimeForm::number ? times_called(form) : "";
}

// Throws InputError if a column may be the time, and the options name neither the time nor the channels.
void require_no_times(const Series& series, const SeriesColumns& columns, const NumberOrder& first,
                      const SeriesOptions& options) {
  if ((!options.channels.empty() && !options.channels_guessed) || options.times_alone) return;
  std::vector<std::string> others = series.channels;
  if (columns.label >= 0) others.erase(others.begin() + columns.label);
  const auto refuse = [&](int channel, const std::string& what, bool may_be_time) {
    const std::string& name = series.channels[channel];
    std::erase(others, name);
    throw InputError(fmt::format(
        "{}: {} holds {}: {}data.channels = {} leaves it out; to read it as a channel, name it there too",
        series.origin, columns.called(columns.chosen[channel]), what,
        may_be_time ? toml_line("data.time", name) + " makes it the time, " : "", toml_list(others)));
  };
  if (others.size() < 2) return;
  for (int channel = 0; channel < series.width(); ++channel) {
    if (channel == columns.label) continue;
    if (const std::string times = times_in_channel(series, channel); !times.empty())
      refuse(channel, times, true);
    const bool is_first = columns.chosen[channel] == 0 && columns.skipped == 0;
    if (is_first && !first.described().empty()) refuse(channel, first.described(), first.is_whole());
  }
}

// Groups the rows of a file with several series by their series while they are read.
class SeriesMembers {
 public:
  struct Rows {  // of one series: how many, and the last one
    int64_t count = 0, last = -1;
  };
  // Adds a row of the series `name`, and gives the rows before it. Rows of one series mostly stand together, which needs
  // no look-up.
  Rows add_row(std::string_view name) {
    if (names_.empty() || names_[now_] != name) {
      const auto [place, is_new] = places_.emplace(std::string(name), names_.size());
      now_ = place->second;
      if (is_new) names_.emplace_back(name), rows_.emplace_back();
    }
    of_row_.push_back(static_cast<uint32_t>(now_));
    return std::exchange(rows_[now_], {rows_[now_].count + 1, std::ssize(of_row_) - 1});
  }
  // Names the series' members and groups each one's rows, in their order.
  void settle(Series& series) const {
    std::vector<int64_t> next;  // place of each series' next row
    for (std::size_t k = 0; k < names_.size(); ++k) {
      next.push_back(k == 0 ? 0 : series.members.back().end);
      series.members.push_back({names_[k], next.back(), next.back() + rows_[k].count});
    }
    if (std::is_sorted(of_row_.begin(), of_row_.end())) return;
    std::vector<int64_t> from(of_row_.size());
    for (std::size_t row = 0; row < of_row_.size(); ++row)
      from[static_cast<std::size_t>(next[of_row_[row]]++)] = static_cast<int64_t>(row);
    series.take_rows(from);
  }

 private:
  std::vector<std::string> names_;
  std::vector<Rows> rows_;  // by name
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<uint32_t> of_row_;  // series by row
  std::size_t now_ = 0;
};

// Reads a series row by row.
class SeriesReader {
 public:
  SeriesReader(std::string_view text, const std::string& origin, const SeriesOptions& options)
      : csv_(text, origin, options.separator),
        columns_(read_columns(csv_, options)),
        options_(options),
        file_{text, csv_, columns_, options},
        written_(columns_.chosen.size()) {
    const auto& names = columns_.names;
    series_.origin = origin;
    series_.label = columns_.label;
    series_.date_order = columns_.order;
    series_.notes = columns_.notes;
    if (columns_.time >= 0) series_.time_name = names[columns_.time];
    for (const int column : columns_.chosen) series_.channels.push_back(names[column]);
    if (columns_.id >= 0) series_.id_name = names[columns_.id];
    // Reserves room for all rows: a growing vector would need twice as much.
    const auto most_rows = static_cast<std::size_t>(csv_.lines());
    series_.values.reserve(most_rows * columns_.chosen.size());
    series_.times.at.reserve(most_rows), series_.lines.reserve(most_rows);
  }

  Series read() {
    do {
      check_cells();
      if (columns_.skipped > 0) check_row_number(csv_, row_number_);
      if (!is_selected()) continue;
      read_time();
      series_.lines.push_back(csv_.line());
      read_values();
    } while (csv_.next());
    check_rows();
    settle();
    return std::move(series_);
  }

 private:
  void check_cells() const {
    const std::size_t width = columns_.width(), count = csv_.count();
    if (count == width || (columns_.has_empty_end && count == width + 1))
      return;  // not require_input(): formats only on failure
    const bool may_be_split = count > width && csv_.separator() == ',' && series_.rows() == 0;
    const std::string message = fmt::format(
        "{}:{}: column {} is {}; the row has {} cell{}, the header {}{}", csv_.origin(), csv_.line(),
        std::min(count, width) + 1, count < width ? "missing" : "one too many", count, plural(count), width,
        may_be_split ? std::string("; ") + split_by_decimal_commas : "");
    if (series_.rows() == 0) throw InputError(message);
    refuse_row(file_, message);
  }

  // Whether the row has options.only's word. Notes other words.
  bool is_selected() {
    if (columns_.only < 0 || file_.cell(columns_.only) == columns_.only_word) return true;
    const std::string_view word = file_.cell(columns_.only);
    if (others_.size() < 100 && std::find(others_.begin(), others_.end(), word) == others_.end())
      others_.emplace_back(word);
    return false;
  }

  void read_time() {
    std::vector<int64_t>& at = series_.times.at;
    SeriesMembers::Rows before{.count = series_.rows(), .last = series_.rows() - 1};
    if (columns_.id >= 0) {
      if (says_missing(file_.cell(columns_.id)))
        refuse_row(file_, file_.about(columns_.id, "a row does not name its series (data.id)"));
      before = members_.add_row(file_.cell(columns_.id));
    } else if (columns_.time < 0 && first_.is_ordered()) {
      first_.add(parse_number(csv_.cells().front(), options_.decimal));
    }
    if (columns_.time < 0) return at.push_back(before.count);
    times_.read(file_, series_.times, before.last < 0 ? nullptr : &at[before.last]);
  }

  void read_values() {
    const int width = series_.width();
    const std::size_t before = series_.values.size();
    series_.values.resize(before + columns_.chosen.size());
    double* to = series_.values.data() + before;
    for (int channel = 0; channel < width; ++channel) {
      const std::string_view cell = file_.cell(columns_.chosen[channel]);
      WrittenChannel& how = written_[channel];
      if (channel != columns_.label && (!how.unit || how.unit->empty()))
        if (const auto plain = plain_decimal(cell, options_.decimal)) {
          how.unit.emplace();
          *to++ = *plain;
          continue;
        }
      const double value = read_value(file_, channel, cell, how);
      is_missing_ = is_missing_ || std::isnan(value);
      if (std::isnan(value) && !cell.empty() && cell != "NaN" && ++missing_words_ == 1)
        missing_word_ = fmt::format("'{}' in line {}", one_line(cell), csv_.line());
      *to++ = value;
    }
  }

  // Checks what only all rows tell.
  void check_rows() {
    require_input(series_.rows() > 0, "{}: no row has '{}' in column '{}' (data.only){}", series_.origin,
                  one_line(columns_.only_word),
                  columns_.only < 0 ? "" : one_line(columns_.names[columns_.only]),
                  which_was_meant(columns_.only_word, others_));
    const auto has_note = [](const WrittenChannel& channel) { return !channel.note.empty(); };
    if (const auto noted = std::ranges::count_if(written_, has_note); noted > 0)
      series_.notes.push_back(std::ranges::find_if(written_, has_note)->note +
                              (noted == 1 ? "" : fmt::format("; so in {} columns", noted)));
    if (missing_words_ > 0)
      series_.notes.push_back(fmt::format("{} cell{} read as missing, as {}", missing_words_,
                                          missing_words_ == 1 ? " is" : "s are", missing_word_));
    const bool has_no_times = columns_.time < 0 && columns_.id < 0;
    const bool is_open = options_.channels.empty() || options_.channels_guessed || options_.mend;
    if (columns_.time < 0 && is_open) require_time_in_one_column(file_);
    require_input(columns_.unread_time.empty(), "{}", columns_.unread_time);
    if (has_no_times && options_.mend) require_no_empty_rows(file_);
    if (has_no_times) require_no_totals(file_), require_no_times(series_, columns_, first_, options_);
    if (has_no_times && (options_.mend || options_.channels_guessed)) require_no_sums(series_);
    if (options_.mend) require_no_stand_ins(file_, series_);
  }

  void settle() {
    if (columns_.id >= 0) members_.settle(series_);
    if (times_.go_back()) turn_around(series_);
    if (is_missing_ && options_.missing != Missing::zero) cut_rows_of_others(series_);
    if (is_missing_ && options_.mend && series_.members.empty() && columns_.time >= 0)
      require_no_idle_weekday(series_);
    try {
      settle_step(series_, options_);
    } catch (const InputError& fault) {
      if (options_.mend && series_.members.empty()) refuse_rows_without_values(fault.what());
      throw;
    }
    if (options_.mend && series_.members.empty() && columns_.time >= 0) require_no_events(file_, series_);
    if (const auto& offsets = series_.times.offsets; !offsets.empty())
      series_.notes.push_back(fmt::format("the times have offsets from UTC: rows beyond the last keep its {}",
                                          offset_text(offsets.back())));
    cut_open_end(series_, options_);
    if (is_missing_ || options_.gaps == Gaps::fill) fill_in(series_, options_);
    if (options_.missing != Missing::zero) note_zeros_at_end(series_);
  }

  // Loggers write rows of something else than values. Such rows at the end are to be forecast.
  void refuse_rows_without_values(const std::string& message) const {
    std::set<int64_t> lines, since;  // since the last row with a value
    for (int64_t row = 0; row < series_.rows(); ++row) {
      bool is_empty = true;
      for (int channel = 0; channel < series_.width(); ++channel)
        is_empty = is_empty && std::isnan(series_.at(row, channel));
      if (is_empty)
        since.insert(series_.lines[row]);
      else
        lines.merge(since), since.clear();
    }
    if (lines.empty() && std::ssize(since) < series_.rows()) lines.swap(since);
    if (!lines.empty())
      refuse_lines(message, std::move(lines), "without a value, where others are not a step apart");
  }

  CsvReader csv_;
  const SeriesColumns columns_;
  const SeriesOptions& options_;
  const SeriesText file_;
  Series series_;
  SeriesMembers members_;
  RowTimes times_;
  NumberOrder first_;  // of the first column
  std::optional<int64_t> row_number_;
  std::vector<std::string> others_;  // words found instead of options.only's
  std::vector<WrittenChannel> written_;
  bool is_missing_ = false;
  int64_t missing_words_ = 0;  // cells such as N/A, but NaN, which programs write
  std::string missing_word_;   // the first of these, and its line
};

}  // namespace

Series parse_series(std::string_view text, const std::string& origin, const SeriesOptions& options) {
  return SeriesReader(text, origin, options).read();
}

Series load_series(const std::filesystem::path& path, const SeriesOptions& options) {
  std::vector<std::string> done;
  Series series = read_mended(
      read_series_file(path), name_of_series_file(path), options.mend, done,
      [&](const std::string& text) { return parse_series(text, name_of_series_file(path), options); });
  series.notes.insert(series.notes.begin(), done.begin(), done.end());
  return series;
}

}  // namespace unroll
