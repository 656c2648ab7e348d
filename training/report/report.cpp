#include "training/report/report.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "training/files/atomic_file.h"
#include "training/files/json/json.h"
#include "training/files/run_files.h"
#include "training/report/log.h"
#include "training/report/page.h"
#include "training/report/progress.h"
#include "training/report/run_description.h"

namespace unroll {

namespace {

using Figure = RunDescription::Figure;
using Table = RunDescription::Table;

// --- curves ------------------------------------------------------------------------------------------------

// More points than a line can show.
constexpr std::size_t most_points = 600;

template <class F>
ChartSeries series_of(std::string name, const std::vector<LogRecord>& records, F&& value) {
  ChartSeries series{.name = std::move(name)};
  for (const LogRecord& record : records) {
    series.x.push_back(static_cast<double>(record.step));
    series.y.push_back(value(record));
  }
  return thinned(std::move(series), most_points);
}

auto or_nan(std::optional<double> LogRecord::*figure) {
  return [figure](const LogRecord& record) { return (record.*figure).value_or(std::nan("")); };
}

// Cuts off the first steps of a training, which lie far above all others and would take their room.
double top_of(const Chart& chart) {
  std::vector<double> training = chart.series[0].y;
  std::erase_if(training, [](double y) { return !std::isfinite(y); });
  if (training.empty()) return std::numeric_limits<double>::infinity();
  const auto at = training.begin() + static_cast<std::ptrdiff_t>(0.95 * static_cast<double>(training.size()));
  std::ranges::nth_element(training, at);
  double top = *at;
  for (const double y : chart.series[1].y)
    if (y > top) top = y;
  for (const Chart::Level& level : chart.levels) top = std::max(top, level.y);
  return top > std::ranges::min(training) ? top : std::numeric_limits<double>::infinity();
}

Chart score_chart(const RunDescription& run, const Course& course) {
  const bool perplexity = run.names.perplexity;
  Chart chart{.title = perplexity ? "Perplexity" : "Loss",
              .x_name = "step",
              .y_name = run.names.score(),
              .right_name = perplexity ? "loss (nats)" : "",
              .logarithmic = true};
  // Without logged intervals, the epochs' means serve.
  chart.series.push_back(series_of("training", course.intervals.empty() ? course.epochs : course.intervals,
                                   [&](const LogRecord& r) { return run.names.shown(r.loss); }));
  chart.series.push_back(series_of("validation", course.epochs, or_nan(&LogRecord::valid)));
  chart.series[1].points = true;
  for (const RunDescription::Level& level : run.levels)
    chart.levels.push_back({fmt::format("{} {}", level.name,
                                        level.score < 1 ? fmt::format("{:.4g}", level.score)
                                                        : fmt::format("{:.2f}", level.score)),
                            level.score});
  chart.top = top_of(chart);
  if (!course.epochs.empty()) {
    const LogRecord& first = course.epochs.front();
    chart.description = fmt::format("By step of training. Training loss of epoch 1: {:.4g}", first.loss);
  }
  if (const LogRecord* best = course.best()) {
    chart.mark = {fmt::format("best {}, epoch {}", format_score(*best->valid), best->epoch),
                  static_cast<double>(best->step), *best->valid};
    chart.description += fmt::format("; best validation score: {}, after epoch {} of {}.",
                                     format_score(*best->valid), best->epoch, course.epochs.back().epoch);
  }
  return chart;
}

std::vector<Chart> small_charts(const RunDescription& run, const Course& course) {
  const auto chart = [&](std::string title, std::string unit, auto value) {
    return Chart{.title = title,
                 .description = "By step of training.",
                 .x_name = "step",
                 .y_name = std::move(unit),
                 .series = {series_of(title, course.intervals, value)}};
  };
  std::vector<Chart> charts{chart("Learning rate", "", [](const LogRecord& r) { return r.learning_rate; }),
                            chart("Momentum", "of adam: beta1", or_nan(&LogRecord::momentum)),
                            chart("Gradient norm", "before clipping", or_nan(&LogRecord::gradient_norm)),
                            chart("Loss scale", "by step, in fp16", or_nan(&LogRecord::loss_scale)),
                            chart("Speed", run.names.unit + "/s", [](const LogRecord& r) { return r.rate; })};
  for (const std::string& name : course.metrics()) {
    Chart own = chart(name, "after each epoch", [](const LogRecord&) { return std::nan(""); });
    own.series = {series_of(name, course.epochs, [&](const LogRecord& r) { return metric_of(r, name); })};
    own.series[0].points = true;
    charts.push_back(own);
  }
  std::erase_if(charts, [](const Chart& c) {
    return std::ranges::none_of(c.series[0].y, [](double y) { return std::isfinite(y); });
  });
  return charts;
}

std::string curves(const RunDescription& run, const Course& course) {
  if (course.intervals.empty() && course.epochs.empty())
    return section_html("Curves", "<p class=\"soft\">Nothing is in the log yet.</p>\n");
  const Chart main = score_chart(run, course);
  std::string caption = "Training is scored as it goes, with dropout and with weights that still change.";
  if (run.names.perplexity)
    caption +=
        " The scale is logarithmic: on the right stands the loss, of which perplexity is the exponential.";
  const std::vector<double>& training = main.series[0].y;
  if (!training.empty() && training[0] > 1.2 * main.top)
    caption += fmt::format(" The curve comes down from {}, above the frame.", format_number(training[0]));
  std::string html = chart_html(main, 400, "score", caption);
  html += "<div class=\"small-charts\">\n";
  int number = 0;
  for (const Chart& chart : small_charts(run, course))
    html += figure_html("<h3>" + html_escaped(chart.title) + "</h3>\n" +
                            chart_svg(chart, 320, 190, fmt::format("small-{}", ++number)),
                        chart, "");
  return section_html("Curves", html + "</div>\n");
}

// The program's own charts.
std::string further_charts(const RunDescription& run) {
  std::string html;
  int number = 0;
  for (const Chart& chart : run.charts)
    html += section_html(chart.title,
                         chart_html(chart, 360, fmt::format("chart-{}", ++number), chart.description));
  return html;
}

// --- words and tables --------------------------------------------------------------------------------------

std::string facts(const std::vector<Figure>& figures) {
  if (figures.empty()) return "";
  std::string html = "<dl class=\"facts\">\n";
  for (const Figure& f : figures)
    html += fmt::format("<dt>{}</dt><dd>{}{}</dd>\n", html_escaped(f.name), html_escaped(f.value),
                        f.note.empty() ? "" : " <span class=\"soft\">" + html_escaped(f.note) + "</span>");
  return section_html("The run", html + "</dl>\n");
}

std::string epoch_section(const RunDescription& run, const Course& course) {
  if (course.epochs.empty()) return "";
  const std::string score = std::string(" ") + run.names.score();
  const std::vector<std::string> metrics = course.metrics();
  Table table{.title = "Epochs",
              .note = {},
              .columns = {"epoch", "step", "learning rate", "training" + score, "validation" + score}};
  table.columns.insert(table.columns.end(), metrics.begin(), metrics.end());
  table.columns.insert(table.columns.end(), {run.names.unit + "/s", "training time"});
  const LogRecord* const best_epoch = course.best();
  std::size_t best = course.epochs.size();
  for (const LogRecord& r : course.epochs) {
    if (&r == best_epoch) best = table.rows.size();
    auto& row = table.rows.emplace_back(std::vector<std::string>{
        std::to_string(r.epoch), with_commas(r.step), fmt::format("{:.4g}", r.learning_rate),
        format_score(run.names.shown(r.loss)), r.valid ? format_score(*r.valid) : ""});
    for (const std::string& name : metrics) {
      const double value = metric_of(r, name);
      row.push_back(std::isfinite(value) ? fmt::format("{:.4g}", value) : "");
    }
    row.insert(row.end(), {format_number(r.rate), format_duration(r.seconds)});
  }
  std::string html = table_html(table, best);
  if (course.scored_otherwise > 0)
    html += fmt::format(
        "<p class=\"soft\">Validation scores up to epoch {} do not compare with later ones, since the data or the way of "
        "scoring changed. They are left out; the best weights were scored anew.</p>\n",
        course.scored_otherwise);
  // Fold a long table, which would push everything else far down.
  if (table.rows.size() > 30)
    html = fmt::format("<details><summary>{} epochs</summary>\n{}</details>\n", table.rows.size(), html);
  return section_html(table.title, html);
}

// At most 12 samples: the first, the last, and some between.
std::string sample_section(const std::vector<Sample>& samples) {
  constexpr std::size_t most_samples = 12;
  const std::size_t all = samples.size(), count = std::min(all, most_samples);
  if (all == 0) return "";
  std::string html =
      "<p class=\"soft\">After each of these epochs the model wrote a little by "
      "itself. Each time the same random numbers choose among what it takes for likely.</p>\n"
      "<dl class=\"facts samples\">\n";
  for (std::size_t i = 0; i < count; ++i) {
    const Sample& sample = samples[count == 1 ? 0 : i * (all - 1) / (count - 1)];
    html += fmt::format("<dt>epoch {}</dt><dd>{}</dd>\n", sample.epoch, html_escaped(sample.text));
  }
  return section_html("What it wrote", html + "</dl>\n");
}

std::string recipe_section(const std::filesystem::path& folder) {
  if (!has_own_file(folder / "recipe.toml")) return "";
  const std::string text = read_own_file(folder / "recipe.toml", most_bytes_of_recipe);
  return section_html("Recipe",
                      "<p class=\"soft\">With every default spelled out; the file <code>recipe.toml</code> "
                      "repeats the run.</p>\n<pre tabindex=\"0\" aria-label=\"recipe.toml\">" +
                          html_escaped(text) + "</pre>\n");
}

// Figures from the log.
std::vector<Figure> figures_of(const RunDescription& run, const Course& course) {
  std::vector<Figure> figures;
  if (const LogRecord* best = course.best())
    figures.push_back({"validation, best", format_score(*best->valid),
                       fmt::format("{}, after epoch {}", run.names.score(), best->epoch)});
  figures.insert(figures.end(), run.results.begin(), run.results.end());
  const std::vector<LogRecord>& records = course.epochs.empty() ? course.intervals : course.epochs;
  if (records.empty()) return figures;
  const LogRecord& last = records.back();
  figures.push_back({"training time", format_duration(last.seconds),
                     fmt::format("{} step{}", with_commas(last.step), plural(last.step))});
  if (last.seconds > 0)
    figures.push_back({run.names.unit + "/s", format_number(static_cast<double>(last.count) / last.seconds),
                       fmt::format("{} in training", format_number(static_cast<double>(last.count)))});
  return figures;
}

}  // namespace

std::vector<std::string> write_report(const std::filesystem::path& folder) {
  if (!has_own_file(folder / "report.json"))
    (void)read_run_description(folder);  // throws, saying what is missing
  // Open the report before reading anything: the last to write is then the last to have read.
  AtomicFile file(folder / "report.html");
  const RunDescription run = read_run_description(folder);
  Course course = read_course(folder, run.names);
  const std::vector<Sample> samples = read_samples(folder, &course.damaged);
  std::string body = "<header>\n<h1>" + html_escaped(run.title) + "</h1>\n<p class=\"soft\">" +
                     html_escaped(run.summary) + "</p>\n";
  if (run.results.empty())
    body += fmt::format("<p class=\"state\">{} epoch{} complete; not at its end</p>\n", course.epochs.size(),
                        plural(course.epochs.size()));
  body += tiles_html(figures_of(run, course)) + "</header>\n" + further_charts(run) + curves(run, course) +
          epoch_section(run, course) + sample_section(samples) + facts(run.facts);
  for (const Table& table : run.tables) body += section_html(table);
  body += recipe_section(folder);
  body +=
      "<footer>Written by unroll. Beside this page: <code>log.jsonl</code> has the figures, "
      "<code>tensorboard --logdir</code> reads this folder too.</footer>";
  file.write(page_html(run.title, body));
  file.commit();
  return course.damaged;
}

Chart score_chart(const std::filesystem::path& folder) {
  const RunDescription run = read_run_description(folder);
  const Course course = read_course(folder, run.names);
  require_input(!course.intervals.empty() || !course.epochs.empty(), "{}: nothing is in the log yet",
                (folder / log_file).string());
  Chart chart = score_chart(run, course);
  chart.title = fmt::format("{}: {} while it trains", run.title, chart.y_name);
  return chart;
}

// --- samples ---------------------------------------------------------------------------------------------------

std::vector<Sample> read_samples(const std::filesystem::path& folder, std::vector<std::string>* damaged) {
  const std::filesystem::path path = folder / samples_file;
  std::vector<Sample> samples;
  if (!has_own_file(path)) return samples;
  std::istringstream lines(read_own_file(path, most_bytes_of_samples));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto json = parse_json(line);
    try {
      samples.push_back({json.at("epoch"), json.at("text")});
    } catch (const nlohmann::json::exception&) {
      if (damaged) damaged->push_back(fmt::format("{}:{}: no sample", path.string(), number));
    }
  }
  return samples;
}

void add_sample(const std::filesystem::path& folder, const Sample& sample) {
  std::vector<Sample> samples = read_samples(folder);
  std::erase_if(samples, [&](const Sample& before) { return before.epoch >= sample.epoch; });
  const std::string_view kept = beginning(sample.text, 600);
  samples.push_back({sample.epoch, std::string(kept) + (kept.size() < sample.text.size() ? "…" : "")});
  std::string text;
  for (const Sample& one : samples)
    text += json_text(nlohmann::ordered_json{{"epoch", one.epoch}, {"text", one.text}}) + '\n';
  write_file_atomically(folder / samples_file, text);
}

}  // namespace unroll
