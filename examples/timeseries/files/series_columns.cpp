// See series_columns.h.
#include "examples/timeseries/files/series_columns.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "data/lower_case.h"
#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {

std::string SeriesColumns::called(int column) const {
  return fmt::format("column {} ('{}')", column + skipped + 1, one_line(names[column]));
}

namespace {

struct Row {
  std::vector<std::string> cells = {};
  std::vector<bool> quoted = {};
  int64_t line = 0;
};
Row row_of(const CsvReader& c) { return {{c.cells().begin(), c.cells().end()}, c.quoted(), c.line()}; }

// The form of the whole numbers in a column, judged by all rows from the reader's on; months too, if most cells are
// 03.2017 and one begins with 0, or more than 12 are each a month from the one before. Reads ahead only if the first cell may be a year or more.
TimeForm form_of_column(CsvReader csv, std::size_t place, std::string_view name) {
  bool padded = false;
  const bool dotted = dotted_month(cell_of(csv, place)).has_value();
  const auto number = [&]() -> std::optional<int64_t> {
    const std::string_view cell = without_mark(cell_of(csv, place));  // 2024*
    const auto time = dotted ? dotted_month(cell) : parse_time(cell);
    if (!time || (!dotted && time->form != TimeForm::number)) return std::nullopt;
    padded = padded || cell[0] == '0';
    return dotted ? month_day(time->count).month : time->count;
  };
  if (number().value_or(0) < least_dated) return TimeForm::number;
  csv.keep(place + 1);
  std::vector<int64_t> numbers;
  std::size_t rows = 0;
  each_row(csv, [&] {
    if (const auto found = number()) numbers.push_back(*found);
    ++rows;
  });
  if (!dotted) return form_of_numbers(numbers, name, rows);
  const auto apart = [](int64_t a, int64_t b) { return std::abs(a - b) != 1; };
  const bool in_turn = numbers.size() > 12 && std::ranges::adjacent_find(numbers, apart) == numbers.end();
  return 2 * numbers.size() > rows && (padded || in_turn) ? TimeForm::month : TimeForm::number;
}

// Whether names are 0, 1, 2, ... or 1, 2, 3, ..., as programs name columns without names.
bool count_up(const std::vector<std::string>& names) {
  int number = names.front() == "0" ? 0 : 1;
  return std::ranges::all_of(names, [&](const auto& name) { return name == std::to_string(number++); });
}

// The columns as they are understood, part by part. The reader stands at the first row below the header.
class HeaderReader {
 public:
  HeaderReader(const CsvReader& csv, const SeriesOptions& options, Row header, Row first)
      : csv_(csv), options_(options), header_(std::move(header)), first_(std::move(first)) {}

  SeriesColumns read() {
    read_names();
    require_separated();
    find_rows();
    if (!options_.id.empty()) columns_.id = find(options_.id);
    settle_times();
    choose();
    return std::move(columns_);
  }

 private:
  const std::string& origin() const { return csv_.origin(); }
  std::string name(int column) const { return one_line(columns_.names[column]); }

  void read_names() {
    Row& header = header_;
    name_last_column();
    const bool one_short =
        csv_.count() == static_cast<int64_t>(header.cells.size()) + 1 && !first_.cells.empty();
    require_input(!one_short || !first_.cells.back().empty() || first_.quoted.back(),
                  "{}:{}: the row ends with a separator and the header does not: the row has {} cells, the "
                  "header {}",
                  origin(), csv_.line(), first_.cells.size(), header.cells.size());
    if (one_short && options_.channels.empty() && options_.model.empty())
      require_no_split_numbers(csv_, header.cells.size());
    const bool may_be_empty = !one_short && header.cells.size() > 1;
    columns_.has_empty_end =
        may_be_empty && header.cells.back().empty() && is_empty_column(csv_, header.cells.size() - 1);
    if (columns_.has_empty_end) header.cells.pop_back(), header.quoted.pop_back();
    const bool begun_empty = !one_short && header.cells.size() > 1 && header.cells.front().empty();
    if (begun_empty) header.cells.erase(header.cells.begin()), header.quoted.erase(header.quoted.begin());
    const bool unnamed = one_short || begun_empty;
    if (!unnamed || !count_up(header.cells)) require_names(unnamed ? 1 : 0);
    if (options_.mend) require_no_marked_times(csv_, header.cells);
    require_upright(csv_, header.cells, options_, columns_.has_empty_end);
    columns_.names = std::move(header.cells);
    if (unnamed) name_first_column();
    for (std::size_t i = 0; i < columns_.names.size(); ++i) {
      const std::size_t place = i + 1 + static_cast<std::size_t>(columns_.skipped);
      if (columns_.names[i].empty() && is_empty_column(csv_, place - 1)) refuse_empty_column(csv_, place);
      if (columns_.names[i].empty())
        refuse_name(csv_, place, "has no name: name it, or delete it if it is empty",
                    fmt::format("column {}", place));
      const auto [same, is_new] = columns_.places.emplace(columns_.names[i], static_cast<int>(i));
      if (!is_new)
        refuse_name(csv_, place,
                    fmt::format("is named '{}', as column {} is", one_line(columns_.names[i]),
                                same->second + 1 + columns_.skipped),
                    fmt::format("{} ({})", columns_.names[i], place));
    }
  }

  // Names a last column without a name, if lines below the header that were left out have labels in the first column, as it has.
  void name_last_column() {
    const std::size_t width = header_.cells.size();
    const std::string name = fmt::format("column {}", width + 1);
    if (!options_.mend || width < 2 || first_.cells.size() != width + 1 || first_.line <= header_.line + 1 ||
        !reads_as_date(first_.cells[0]) || written_number(first_.cells[width], {}))
      return;
    columns_.notes.push_back("the last column has no name, and is called '" + name + "'");
    header_.cells.push_back(name), header_.quoted.push_back(false);
  }

  // Throws InputError if the header may be a row of values, which would be lost. Names are those that the options
  // name, and numbers in quotes above a number without. The first `unnamed` cells of the row below have no name.
  void require_names(std::size_t unnamed) const {
    std::unordered_set<std::string> named(options_.channels.begin(), options_.channels.end());
    named.insert(options_.known.begin(), options_.known.end());
    named.insert({options_.time, options_.label, options_.id});
    const auto is_quoted_alone = [&](std::size_t i) {
      const std::size_t under = i + unnamed;
      return header_.quoted[i] && !says_missing(header_.cells[i]) && under < first_.cells.size() &&
             !first_.quoted[under] && !says_missing(first_.cells[under]);
    };
    for (std::size_t i = 0; i < header_.cells.size(); ++i)
      if (!reads_as_value(header_.cells[i], options_.decimal) || named.contains(header_.cells[i]) ||
          is_quoted_alone(i))
        return;
    throw InputError(fmt::format(
        "{}:1: the first line must name the columns; '{}' is a value, as are all in it{}", origin(),
        one_line(header_.cells[0]),
        options_.model.empty() ? "; if they are names, naming one in data.channels says so" : ""));
  }

  // Names a first column without a name "time" if it holds dates; else it numbers the rows.
  void name_first_column() {
    if (!first_.cells.empty()) columns_.form = form_of_column(csv_, 0, "");
    const bool is_time =
        !first_.cells.empty() && (reads_as_date(first_.cells[0]) || columns_.form != TimeForm::number);
    if (!is_time && options_.mend && !first_.cells.empty() && !numbers_rows(csv_))
      refuse_name(csv_, 1, "has no name: name it", "column 1");
    if (!is_time) {
      columns_.skipped = 1;
      columns_.notes.push_back("the first column has no name: row numbers, left out");
      return;
    }
    const char* called = times_called(columns_.form == TimeForm::number ? TimeForm::date : columns_.form);
    require_input(std::ranges::find(columns_.names, "time") == columns_.names.end(),
                  "{}:1: the first column holds {} and has no name; it cannot be called 'time', since "
                  "another is",
                  origin(), called);
    columns_.names.insert(columns_.names.begin(), "time");
    columns_.notes.push_back(
        fmt::format("the first column has no name: it holds {}, and is called 'time'", called));
  }

  // A single column whose name and first cell contain another separator was meant to be several.
  void require_separated() const {
    if (columns_.names.size() != 1 || first_.cells.empty()) return;
    const auto text = [](char c) { return c == '\t' ? "\\t" : std::string(1, c); };
    const std::string &name = columns_.names[0], &cell = first_.cells[0];
    for (const char other : {',', ';', '\t'})
      require_input(
          other == options_.separator || name.find(other) == name.npos || cell.find(other) == cell.npos,
          "{}:1: one column, '{}'; {}", origin(), one_line(name),
          options_.model.empty()
              ? toml_line("data.separator", {&other, 1}) + " makes several of it"
              : fmt::format("the model of {} reads files with '{}' between the cells, not '{}'",
                            options_.model, text(options_.separator), text(other)));
  }

  // Finds the column and the word of options.only.
  void find_rows() {
    const std::string& only = options_.only;
    if (only.empty()) return;
    // A name may contain '='. The first one behind a column's name counts, else the first one.
    std::size_t equals = only.find('=');
    while (equals != only.npos && !columns_.places.contains(only.substr(0, equals)))
      equals = only.find('=', equals + 1);
    if (equals == only.npos) equals = std::min(only.find('='), only.size());
    const std::string name = only.substr(0, equals);
    require_input(equals < only.size(), "{}: write column=word", toml_line("data.only", only));
    const auto found = columns_.places.find(name);
    require_input(found != columns_.places.end(), "{}: there is no column '{}' for {}{}", origin(),
                  one_line(name), toml_line("data.only", only), which_was_meant(name, columns_.names));
    columns_.only = found->second;
    columns_.only_word = only.substr(equals + 1);
  }

  int find(const std::string& name) const {
    if (const auto found = columns_.places.find(name); found != columns_.places.end()) return found->second;
    if (options_.mend) require_no_table_below(csv_, name);
    if (options_.mend && name == options_.id) require_joined_id(csv_, columns_.names, columns_.skipped, name);
    const bool is_of_model = !options_.model.empty() && name != options_.time && name != options_.id;
    require_input(!is_of_model, "{}: its columns are {}; the model of {} was trained on {}", origin(),
                  one_line(fmt::format("{}", fmt::join(columns_.names, ", "))), options_.model,
                  one_line(fmt::format("{}", fmt::join(options_.channels, ", "))));
    throw InputError(fmt::format("{}: there is no column '{}'{}{}", origin(), one_line(name),
                                 name == options_.id ? " that names the series (data.id)" : "",
                                 which_was_meant(name, columns_.names)));
  }

  // The column of times, and how its cells are read.
  void settle_times() {
    const int timed = options_.time.empty() ? 0 : find(options_.time);
    const bool is_first = columns_.skipped == 0 && (options_.mend || options_.channels.empty());
    if (is_first || !options_.time.empty())  // a recipe that names channels alone reads no times there
      require_no_intervals(csv_, columns_.place(timed), columns_.called(timed));
    const auto usual = columns_.places.find(options_.usual_time);
    if (!options_.time.empty())
      columns_.time = find(options_.time);
    else if (usual != columns_.places.end())
      columns_.time = usual->second;
    else
      find_times();
    if (columns_.time < 0) return;
    if (!columns_.time_found)
      columns_.form = form_of_column(csv_, columns_.place(columns_.time), columns_.names[columns_.time]);
    // A model that was trained on numbers reads them so.
    if (options_.step && options_.step->unit == TimeStep::Unit::number) {
      const auto time = parse_time(cell_of(csv_, columns_.place(columns_.time)));
      if (time && time->form == TimeForm::number) columns_.form = TimeForm::number;
    }
    columns_.order = order_of_dates(csv_, columns_, options_);
    require_input(columns_.id != columns_.time,
                  "{}: column '{}' cannot both name the series and hold the times", origin(),
                  one_line(options_.id));
  }

  // Finds the column of times if no option names it: the first column, else the only one, that holds dates and is
  // read for nothing else. Whole numbers that are months or years count only in the first column.
  void find_times() {
    const int skipped = columns_.skipped;
    const auto count =
        static_cast<int>(std::min(std::ssize(columns_.names), std::ssize(first_.cells) - skipped));
    const auto cell = [&](int i) -> const std::string& { return first_.cells[columns_.place(i)]; };
    const auto is_asked_for = [&](int i) {
      const std::string& name = columns_.names[i];
      return name == options_.label || i == columns_.id ||
             std::ranges::find(options_.channels, name) != options_.channels.end();
    };
    const auto form = [&](int i) { return form_of_column(csv_, columns_.place(i), columns_.names[i]); };
    std::vector<int> dated;
    for (int i = 0; i < count; ++i)
      if ((reads_as_date(cell(i)) ||
           (lower_case(columns_.names[i]) == "time_period" && form(i) == TimeForm::year)) &&
          i != columns_.id && (i == 0 || !is_asked_for(i)))
        dated.push_back(i);
    if (dated.size() > 1) {  // a last update never changes
      const auto changes = [&](int i) { return !is_constant_column(csv_, columns_.place(i)); };
      if (std::ranges::any_of(dated, changes)) std::erase_if(dated, std::not_fn(changes));
    }
    if (!dated.empty()) return take_times(dated, form(dated[0]), dated[0] == 0);

    if (columns_.form != TimeForm::number) return take_times({0}, columns_.form, true);  // without a name
    TimeForm found = TimeForm::number;
    for (int i = 0; i < count; ++i) {
      if (is_asked_for(i)) continue;
      const bool dotted = dotted_month(cell(i)).has_value();
      constexpr double least_date = 150'001;  // a week; the first column may hold years, too
      if (i > 0 && !dotted && !(parse_number(cell(i)).value_or(0) >= least_date)) continue;
      const TimeForm of = form(i);
      if (i > 0 && of == TimeForm::date_time && !names_a_moment(columns_.names[i])) continue;
      if (i == 0 && of != TimeForm::number) return take_times({0}, of, false);
      if (of < TimeForm::month) continue;
      if (dated.empty()) found = of;
      dated.push_back(i);
    }
    if (!dated.empty()) return take_times(dated, found, false);
    if (options_.mend) require_no_years_behind(count);

    for (int i = 0; i < count; ++i) {
      if (options_.mend && written_number(without_mark(cell(i)), {}) == std::nullopt)
        require_no_marks(csv_, columns_.called(i), columns_.place(i), reads_as_date,
                         fmt::format("{}:{}: '{}' is not a time", origin(), csv_.line(), one_line(cell(i))));
      const bool may_be = (looks_like_a_date(cell(i)) &&
                           !with_unit(cell(i), {options_.decimal, other_mark(options_.decimal)})) ||
                          (i == 0 && cell(i).find_first_of("0123456789") != std::string::npos);
      if (!may_be || written_number(cell(i), {options_.decimal, other_mark(options_.decimal)}) ||
          is_asked_for(i))
        continue;
      const std::string forms = fmt::format("write it in one of these forms: {}", forms_of_time);
      if (options_.needs_times && looks_like_a_year(cell(i)))
        columns_.unread_time = fmt::format(
            "{}:{}: {}: '{}' looks like a time, but is not read as one: {}; or number the rows: --set 'data.time=\"\"'",
            origin(), csv_.line(), columns_.called(i), one_line(cell(i)), forms);
      return columns_.notes.push_back(
          fmt::format("{} may hold times, but '{}' in line {} is not read as one: rows are numbered; {}",
                      columns_.called(i), one_line(cell(i)), csv_.line(), forms));
    }
  }

  // Throws MendableFile: a column behind the first is called year, and holds years.
  void require_no_years_behind(int count) const {
    for (int i = 1; i < count; ++i)
      if (const std::string& called = columns_.names[i];
          lower_case(called) == "year" && std::ranges::count(options_.channels, called) == 0 &&
          form_of_column(csv_, columns_.place(i), called) == TimeForm::year)
        throw MendableFile(fmt::format("{}: {} holds years", origin(), columns_.called(i)), "time", called);
  }

  // Takes the first of the columns that hold times. `is_sure`: no other could be meant.
  void take_times(const std::vector<int>& dated, TimeForm form, bool is_sure) {
    const int first = dated[0];
    // A model without times may read a file that has some.
    if (first != 0 && !options_.model.empty()) return;
    if (first != 0 && dated.size() > 1)
      throw MendableFile(
          fmt::format("{}: columns '{}' and '{}' hold dates: {} makes one the time", origin(), name(first),
                      name(dated[1]), toml_line("data.time", columns_.names[first])),
          "time", columns_.names[first]);
    columns_.time = first, columns_.form = form, columns_.time_found = true;
    if (!is_sure)
      columns_.notes.push_back(fmt::format("{} holds {}, and is taken as the time (data.time)",
                                           columns_.called(first),
                                           times_called(form == TimeForm::number ? TimeForm::date : form)));
  }

  // Chooses the columns to read.
  void choose() {
    std::vector<int>& chosen = columns_.chosen;
    std::vector<bool> is_chosen(columns_.names.size());
    const int label = options_.label.empty() ? -1 : find(options_.label);
    require_input(label < 0 || label != columns_.time,
                  "{}: column '{}' cannot be both the times and the label", origin(),
                  one_line(options_.label));
    for (const std::string& name : options_.channels) {
      const int column = find(name);
      require_input(column != columns_.time, "{}: column '{}' holds the times, not a channel", origin(),
                    one_line(name));
      require_input(column != columns_.id, "{}: column '{}' names the series (data.id), and is no channel",
                    origin(), one_line(name));
      require_input(!is_chosen[column], "{}: channel '{}' is asked for twice", origin(), one_line(name));
      is_chosen[column] = true;
      chosen.push_back(column);
    }
    if (options_.channels.empty() && !options_.times_alone)
      for (int i = 0; i < static_cast<int>(columns_.names.size()); ++i)
        if (i != columns_.time && i != columns_.only && i != columns_.id) chosen.push_back(i);
    if (label >= 0) {
      const auto found = std::ranges::find(chosen, label);
      columns_.label = static_cast<int>(found - chosen.begin());
      if (found == chosen.end()) chosen.push_back(label);
    }
    require_input(!chosen.empty() || options_.times_alone, "{}: there is no column of values", origin());
    for (const int column : chosen)  // names appear in tables, files and pictures
      require_input(
          std::ranges::none_of(columns_.names[column], [](unsigned char c) { return c < 32 || c == 127; }),
          "{}:1: column {}: the end of a line, or another control character, in the name '{}'", origin(),
          columns_.place(column) + 1, name(column));
  }

  const CsvReader& csv_;
  const SeriesOptions& options_;
  Row header_;
  const Row first_;  // below it; without cells if there is none
  SeriesColumns columns_;
};

}  // namespace

SeriesColumns read_columns(CsvReader& csv, const SeriesOptions& options) {
  csv.next();
  require_input(csv.count() <= static_cast<int64_t>(CsvReader::most_columns),
                "{}:1: {} columns; at most {} are read", csv.origin(), csv.count(), CsvReader::most_columns);
  require_no_empty_begin(csv);
  if (options.mend) require_no_blanks(csv);
  Row header = row_of(csv), first;
  CsvReader below = csv;
  const bool has_rows = below.next();
  if (has_rows) require_names_first(below, header.cells, options);
  csv.keep(header.cells.size() + 1);  // one cell more than the header: a column without a name
  if (csv.next()) first = row_of(csv);
  if (has_rows && options.mend) require_no_total_first(csv);
  SeriesColumns columns = HeaderReader(csv, options, std::move(header), std::move(first)).read();
  require_input(has_rows, "{}: there are no rows below the header", csv.origin());
  return columns;
}

}  // namespace unroll
