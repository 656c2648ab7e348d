#include "training/report/run_description.h"

#include <algorithm>
#include <cmath>

#include "data/text_file.h"
#include "framework/check.h"
#include "training/files/atomic_file.h"
#include "training/files/json/json.h"
#include "training/files/run_files.h"
#include "training/report/progress.h"

namespace unroll {

using Json = nlohmann::ordered_json;
using Figure = RunDescription::Figure;
using Level = RunDescription::Level;
using Table = RunDescription::Table;

static void to_json(Json& json, const Figure& f) {
  json = {{"name", f.name}, {"value", f.value}, {"note", f.note}};
}
static void from_json(const Json& json, Figure& f) {
  f = {.name = json.at("name"), .value = json.at("value"), .note = json.at("note")};
}
// null stands for a number that is not finite.
static double number(const Json& json, double otherwise = std::nan("")) {
  return json.is_null() ? otherwise : json.get<double>();
}
static std::vector<double> numbers(const Json& json) {
  std::vector<double> values;
  for (const Json& value : json) values.push_back(number(value));
  return values;
}

static void to_json(Json& json, const Level& l) { json = {{"name", l.name}, {"score", l.score}}; }
static void from_json(const Json& json, Level& l) {
  l = {.name = json.at("name"), .score = number(json.at("score"))};
}
static void to_json(Json& json, const Table& t) {
  json = {{"title", t.title}, {"note", t.note}, {"columns", t.columns}, {"rows", t.rows}};
}
static void from_json(const Json& json, Table& t) {
  t = {.title = json.at("title"),
       .note = json.at("note"),
       .columns = json.at("columns"),
       .rows = json.at("rows")};
}

static void to_json(Json& json, const ChartSeries& s) {
  json = {{"name", s.name}, {"points", s.points}, {"x", s.x}, {"y", s.y}};
}
static void from_json(const Json& json, ChartSeries& s) {
  s = {.name = json.at("name"),
       .points = json.at("points"),
       .x = numbers(json.at("x")),
       .y = numbers(json.at("y"))};
}
static void to_json(Json& json, const Chart& c) {
  json = {{"title", c.title},
          {"description", c.description},
          {"x_name", c.x_name},
          {"y_name", c.y_name},
          {"right_name", c.right_name},
          {"top", c.top},
          {"logarithmic", c.logarithmic},
          {"x_from", c.x_from},
          {"from_zero", c.from_zero},
          {"x_texts", c.x_texts},
          {"series", c.series},
          {"band", Json()},
          {"levels", Json::array()},
          {"mark", Json()}};
  for (const Chart::Level& level : c.levels) json["levels"].push_back({{"name", level.name}, {"y", level.y}});
  if (c.mark) json["mark"] = {{"text", c.mark->text}, {"x", c.mark->x}, {"y", c.mark->y}};
  if (c.band)
    json["band"] = {{"name", c.band->name}, {"x", c.band->x}, {"low", c.band->low}, {"high", c.band->high}};
}
static void from_json(const Json& json, Chart& c) {
  c = {.title = json.at("title"),
       .description = json.at("description"),
       .x_name = json.at("x_name"),
       .y_name = json.at("y_name"),
       .right_name = json.value("right_name", ""),  // older files lack it, and the others with a default
       .top = number(json.value("top", Json()), std::numeric_limits<double>::infinity()),
       .logarithmic = json.value("logarithmic", false),
       .x_from = number(json.value("x_from", Json(0.0)), 0),
       .from_zero = json.at("from_zero"),
       .x_texts = json.at("x_texts"),
       .series = json.at("series")};
  if (const Json& band = json.at("band"); !band.is_null())
    c.band = {.name = band.at("name"),
              .x = numbers(band.at("x")),
              .low = numbers(band.at("low")),
              .high = numbers(band.at("high"))};
  for (const Json& level : json.value("levels", Json::array()))
    c.levels.push_back({.name = level.at("name"), .y = number(level.at("y"))});
  if (const Json mark = json.value("mark", Json()); !mark.is_null())
    c.mark = {.text = mark.at("text"), .x = number(mark.at("x")), .y = number(mark.at("y"))};
}

static void check_chart(const Chart& chart) {
  for (const ChartSeries& s : chart.series)
    require(s.x.size() == s.y.size(), "'{}' of '{}' has {} x for {} y", s.name, chart.title, s.x.size(),
            s.y.size());
  if (chart.band)
    require(chart.band->low.size() == chart.band->x.size() && chart.band->high.size() == chart.band->x.size(),
            "the band of '{}' has {} x for {} and {} y", chart.title, chart.band->x.size(),
            chart.band->low.size(), chart.band->high.size());
}

void write_run_description(const std::filesystem::path& folder, const RunDescription& d) {
  const Json json{
      {"title", d.title},  {"summary", d.summary}, {"unit", d.names.unit}, {"perplexity", d.names.perplexity},
      {"facts", d.facts},  {"results", d.results}, {"levels", d.levels},   {"tables", d.tables},
      {"charts", d.charts}};
  write_file_atomically(folder / "report.json", json_text(json, 1) + '\n');
}

RunDescription read_run_description(const std::filesystem::path& folder) {
  std::error_code error;
  require_input(std::filesystem::is_directory(folder, error), "{}: there is no such folder", folder.string());
  const std::string path = (folder / "report.json").string();
  require_input(has_own_file(path), "{}: is missing; ptb and timeseries write it as a run begins, a program of your own calls write_run_description", path);
  const Json json = parse_json(read_own_file(path, most_bytes_of_description));
  require_input(!json.is_discarded(), "{}: no description of a run: the file is damaged", path);
  try {
    RunDescription d{.title = json.at("title"),
                     .summary = json.at("summary"),
                     .names = {.unit = json.at("unit"), .perplexity = json.at("perplexity")},
                     .facts = json.at("facts"),
                     .results = json.at("results"),
                     .levels = json.at("levels"),
                     .tables = json.at("tables"),
                     .charts = json.value("charts", std::vector<Chart>{})};
    for (const Table& table : d.tables)
      for (const auto& row : table.rows)
        require(row.size() == table.columns.size(), "a row of '{}' has {} cells for {} columns", table.title,
                row.size(), table.columns.size());
    for (const Chart& chart : d.charts) check_chart(chart);
    return d;
  } catch (const Error& error) {
    throw InputError(fmt::format("{}: no description of a run: {}", path, error.what()));
  } catch (const Json::exception&) {
    throw InputError(
        fmt::format("{}: no description of a run: something is missing in it, or of another kind", path));
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
