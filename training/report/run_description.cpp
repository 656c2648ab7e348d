#include "training/report/run_description.h"

#include <algorithm>
#include <cmath>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "training/files/atomic_file.h"
#include "training/files/json/json.h"
#include "training/files/run_files.h"
#include "training/report/progress.h"

namespace unroll {

using Figure = RunDescription::Figure;
using Level = RunDescription::Level;
using Table = RunDescription::Table;

// --- the file's fields -------------------------------------------------------------------------------------

static void each_field(Figure& figure, auto f) {
  f("name", figure.name, "value", figure.value, "note", figure.note);
}

static void each_field(Level& level, auto f) { f("name", level.name, "score", level.score); }

static void each_field(Table& table, auto f) {
  f("title", table.title, "note", table.note, "columns", table.columns, "rows", table.rows);
}

static void each_field(ChartSeries& series, auto f) {
  f("name", series.name, "points", series.points, "x", series.x, "y", series.y);
}

static void each_field(Chart::Band& band, auto f) {
  f("name", band.name, "x", band.x, "low", band.low, "high", band.high);
}

static void each_field(Chart::Level& level, auto f) { f("name", level.name, "y", level.y); }

static void each_field(Chart::Mark& mark, auto f) { f("text", mark.text, "x", mark.x, "y", mark.y); }

// Older files lack what may be missing.
static void each_field(Chart& chart, auto f) {
  f("title", chart.title, "description", chart.description, "x_name", chart.x_name, "y_name", chart.y_name);
  f.may_lack("right_name", chart.right_name, "top", chart.top, "logarithmic", chart.logarithmic, "x_from",
             chart.x_from);
  f("from_zero", chart.from_zero, "x_texts", chart.x_texts, "series", chart.series, "band", chart.band);
  f.may_lack("levels", chart.levels, "mark", chart.mark);
}

static void each_field(RunDescription& run, auto f) {
  f("title", run.title, "summary", run.summary, "unit", run.names.unit, "perplexity", run.names.perplexity,
    "facts", run.facts, "results", run.results, "levels", run.levels, "tables", run.tables);
  f.may_lack("charts", run.charts);
}

static void check_chart(Chart& chart) {
  // null stands for a number that is not finite
  if (std::isnan(chart.top)) chart.top = std::numeric_limits<double>::infinity();
  if (std::isnan(chart.x_from)) chart.x_from = 0;
  for (const ChartSeries& s : chart.series)
    require(s.x.size() == s.y.size(), "'{}' of '{}' has {} x for {} y", s.name, chart.title, s.x.size(),
            s.y.size());
  if (chart.band)
    require(chart.band->low.size() == chart.band->x.size() && chart.band->high.size() == chart.band->x.size(),
            "the band of '{}' has {} x for {} and {} y", chart.title, chart.band->x.size(),
            chart.band->low.size(), chart.band->high.size());
}

void write_run_description(const std::filesystem::path& folder, const RunDescription& d) {
  write_file_atomically(folder / "report.json", json_text(json_of(d), 1) + '\n');
}

RunDescription read_run_description(const std::filesystem::path& folder) {
  std::error_code error;
  require_input(std::filesystem::is_directory(folder, error), "{}: there is no such folder", folder.string());
  const std::string path = (folder / "report.json").string();
  require_input(has_own_file(path), "{}: is missing; ptb and timeseries write it as a run begins, a program of your own calls write_run_description", path);
  const auto json = parse_json(read_own_file(path, most_bytes_of_description));
  require_input(!json.is_discarded(), "{}: no description of a run: the file is damaged", path);
  try {
    RunDescription d;
    read_json(json, d, true);
    for (const Table& table : d.tables)
      for (const auto& row : table.rows)
        require(row.size() == table.columns.size(), "a row of '{}' has {} cells for {} columns", table.title,
                row.size(), table.columns.size());
    for (Chart& chart : d.charts) check_chart(chart);
    return d;
  } catch (const Error& error) {
    throw InputError(fmt::format("{}: no description of a run: {}", path, error.what()));
  }
}

Table parameter_table(const ParameterSet& params) {
  Table table{.title = "Parameters", .note = {}, .columns = {"name", "shape", "numbers"}};
  for (const auto& p : params.all()) table.rows.push_back({p->name, p->shape.text(), with_commas(p->size())});
  table.note = fmt::format("Together {} numbers, {}B in float32.", with_commas(params.count()),
                           format_number(4.0 * static_cast<double>(params.count())));
  return table;
}

// Each option's share (layers/recurrent/engines/fused/options.h) of the recurrent layers' time.
static std::string options_note(const std::vector<Profile::Row>& rows) {
  const auto is_option = [](const Profile::Row& row) { return row.name.starts_with("recurrent: "); };
  double layers = 0;
  for (const Profile::Row& row : rows)
    if (is_option(row) || row.name.ends_with("_layer_fused")) layers += row.seconds();
  std::string text;
  for (const Profile::Row& row : rows)
    if (is_option(row))
      text += fmt::format("{} {} {:.1f} %", text.empty() ? "" : ",", row.name.substr(11),
                          100 * row.seconds() / layers);
  if (text.empty()) return "";
  return fmt::format(" Of the recurrent layers' {} s together, as far as it can be told apart:{}.",
                     format_number(layers), text);
}

Table profile_table(const Profile& profile) {
  const auto number = [](double value) { return value > 0 ? format_number(value) : ""; };
  const std::vector<Profile::Row> rows = profile.rows();
  double total = 0;
  for (const Profile::Row& row : rows) total += row.seconds();
  Table table{
      .title = "Time per operation",
      .note =
          "Products: matrix products' share of the time, but for those within cuDNN. Held: results and "
          "what the gradient needs, from forward to backward, a tape's worth.",
      .columns = {"operation", "calls", "forward, s", "backward, s", "share", "products", "GFLOP/s",
                  "held, bytes"}};
  table.note += options_note(rows);
  const auto percent = [](double part, double all) { return fmt::format("{:.1f} %", 100 * part / all); };
  for (const Profile::Row& row : rows)
    table.rows.push_back({row.name, row.calls > 0 ? with_commas(row.calls) : "", number(row.forward),
                          number(row.backward), percent(row.seconds(), total),
                          row.products > 0 ? percent(row.products, row.seconds()) : "",
                          number(1e-9 * static_cast<double>(row.flops) / row.seconds()),
                          number(static_cast<double>(row.held) / static_cast<double>(profile.tapes()))});
  return table;
}

std::vector<bool> Table::numeric() const {
  const auto number = [](const std::string& cell) {
    return cell.empty() || (cell.find_first_of("0123456789") != cell.npos &&
                            cell.find_first_not_of("0123456789.,:+-%eEkMGT ") == cell.npos);
  };
  std::vector<bool> result(columns.size(), !rows.empty());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) result[c] = result[c] && number(row[c]);
  return result;
}

std::string table_text(const Table& original, int columns) {
  Table table = original;
  for (std::string& name : table.columns) name = printable(name);
  for (auto& row : table.rows)
    for (std::string& cell : row) cell = printable(cell);
  std::vector<std::size_t> widths;
  for (const std::string& name : table.columns) widths.push_back(name.size());
  for (const auto& row : table.rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  const std::vector<bool> numeric = table.numeric();
  constexpr std::size_t between = 3;  // blanks
  const auto room = static_cast<std::size_t>(std::max(columns, 1));
  for (std::size_t begin = 0, end = 0; end < widths.size(); begin = end) {
    std::size_t width = begin > 0 ? widths[0] + between : 0;
    for (end = begin; end < widths.size() && (end == begin || width + widths[end] <= room); ++end)
      width += widths[end] + between;
    if (begin == 0 && end == 1 && widths.size() > 1) ++end;  // a name never stands alone
    const auto add_line = [&](const std::vector<std::string>& cells) {
      std::string line;
      const auto add = [&](std::size_t c) {
        line += numeric[c] ? fmt::format("{:>{}}", cells[c], widths[c])
                           : fmt::format("{:<{}}", cells[c], widths[c]);
        line.append(between, ' ');
      };
      if (begin > 0) add(0);
      for (std::size_t c = begin; c < end; ++c) add(c);
      text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    };
    if (begin > 0) text += '\n';
    add_line(table.columns);
    for (const auto& row : table.rows) add_line(row);
  }
  return table.note.empty() ? text : text + table.note + '\n';
}

std::string with_commas(int64_t number) {
  const std::string text = std::to_string(number);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && (text.size() - i) % 3 == 0) result += ',';
    result += text[i];
  }
  return result;
}

}  // namespace unroll
