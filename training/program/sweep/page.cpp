#include "training/program/sweep/page.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "training/files/atomic_file.h"
#include "training/report/course.h"
#include "training/report/page.h"
#include "training/report/progress.h"

namespace unroll {

namespace fs = std::filesystem;

namespace {

// Of a trial, the validation scores by epoch; from 1 on, not finite where there is none.
using Scores = std::vector<double>;

Scores scores_of(const fs::path& run) {
  if (!has_own_file(run / "report.json") || !has_own_file(run / log_file)) return {};
  Scores scores;
  for (const LogRecord& record : read_course(run, read_run_description(run).names).epochs) {
    constexpr int most_epochs = 1'000'000;  // of a recipe; a damaged log may have any number
    scores.resize(static_cast<std::size_t>(std::clamp(record.epoch, 1, most_epochs)), std::nan(""));
    scores.back() = record.valid.value_or(std::nan(""));
  }
  return scores;
}

ChartSeries series_of(std::string name, const Scores& scores) {
  ChartSeries series{
      .name = std::move(name), .points = scores.size() < 40, .x = Scores(scores.size()), .y = scores};
  std::iota(series.x.begin(), series.x.end(), 1.0);
  return series;
}

// Mean and deviation (n - 1) by epoch, as far as all trials have come that have begun.
struct Together {
  Scores mean, low, high;
};
Together together(const std::vector<Scores>& all) {
  Together result;
  std::size_t epochs = all.empty() ? 0 : all[0].size();
  for (const Scores& scores : all) epochs = std::min(epochs, scores.size());
  const auto count = static_cast<double>(all.size());
  for (std::size_t e = 0; e < epochs; ++e) {
    double sum = 0, squares = 0;
    for (const Scores& scores : all) sum += scores[e];
    const double mean = sum / count;
    for (const Scores& scores : all) squares += (scores[e] - mean) * (scores[e] - mean);
    const double spread = all.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
    result.mean.push_back(mean), result.low.push_back(mean - spread), result.high.push_back(mean + spread);
  }
  return result;
}

// Its trials that have begun.
struct Begun {
  std::vector<Scores> curves;
  std::vector<std::size_t> trials;
};

class Page {
 public:
  Page(const fs::path& folder, const SweepPlan& plan, const TrialResults& results)
      : folder_(folder), plan_(plan), results_(results), configurations_(configurations_of(plan, results)) {
    std::vector<double> scores;
    for (const Configuration& c : configurations_) {
      Begun& begun = begun_.emplace_back();
      for (const std::size_t i : c.trials)
        if (Scores curve = scores_of(folder / plan.trials[i].folder / run_name); !curve.empty()) {
          std::ranges::copy_if(curve, std::back_inserter(scores), [](double y) { return std::isfinite(y); });
          begun.curves.push_back(std::move(curve)), begun.trials.push_back(i);
        }
    }
    // Where the first epochs lie far above all others, they would take the room from them: a tenth at most is cut off.
    std::ranges::sort(scores);
    if (!scores.empty())
      if (const double most = scores[scores.size() - 1 - scores.size() / 10]; scores.back() > 1.25 * most)
        top_ = most;
  }

  std::string html() const {
    std::string body =
        fmt::format("<header>\n<h1>{}</h1>\n<p class=\"soft\">{}</p>\n", html_escaped(title()),
                    html_escaped(fmt::format("{}; {} trials", plan_.summary(), plan_.trials.size())));
    body += tiles_html(figures()) + "</header>\n" + table() + means();
    for (std::size_t c = 0; c < configurations_.size(); ++c) body += curves_of(c);
    body +=
        "<footer>Written by unroll. Beside this page: <code>table.csv</code>, <code>trials.csv</code> and "
        "<code>table.json</code> have the figures.</footer>";
    return page_html(title(), body);
  }

 private:
  std::string title() const { return "Sweep of " + plan_.recipe; }

  std::vector<RunDescription::Figure> figures() const {
    int done = 0, failed = 0;
    double seconds = 0;
    for (const auto& result : results_)
      if (result) ++(result->failed() ? failed : done), seconds += result->seconds;
    std::vector<RunDescription::Figure> figures;
    if (const auto best = best_of(configurations_)) {
      const Configuration& c = configurations_[*best];
      figures.push_back({fmt::format("lowest validation {}", name_of_score(results_)), format_score(*c.mean),
                         (c.spread ? fmt::format("± {}, ", format_score(*c.spread, 3)) : "") + name_of(c)});
    }
    figures.push_back({"trials", fmt::format("{} of {}", done, plan_.trials.size()),
                       failed > 0 ? fmt::format("{} failed", failed) : "done"});
    figures.push_back({"training time", format_duration(seconds), "of all trials together"});
    return figures;
  }

  std::string table() const {
    return section_html(table_of(plan_, results_),
                        best_of(configurations_).value_or(static_cast<std::size_t>(-1)));
  }

  Chart chart(std::string title) const {
    const bool perplexity = std::string_view(name_of_score(results_)) == "perplexity";
    return {.title = std::move(title),
            .description = "Validation score by epoch.",
            .x_name = "epoch",
            .y_name = name_of_score(results_),
            .top = top_,
            .logarithmic = perplexity,
            .from_zero = false};
  }

  std::string name_of(const Configuration& c) const {
    return plan_.name_of_values(plan_.trials[c.trials[0]]);
  }

  // Of as many configurations as can be told apart, those with the lowest means.
  std::string means() const {
    std::vector<std::size_t> order;
    for (std::size_t c = 0; c < configurations_.size(); ++c)
      if (!begun_[c].curves.empty()) order.push_back(c);
    if (configurations_.size() < 2 || order.empty()) return "";
    const auto mean = [&](std::size_t c) { return configurations_[c].mean.value_or(HUGE_VAL); };
    std::ranges::stable_sort(order, std::less{}, mean);
    const bool all = order.size() <= series_styles;
    if (!all) order.resize(series_styles);
    std::ranges::sort(order);  // as in the table
    Chart means = chart("Means over the seeds");
    for (const std::size_t c : order)
      means.series.push_back(series_of(name_of(configurations_[c]), together(begun_[c].curves).mean));
    return "<section>\n<h2>Means</h2>\n" +
           chart_html(
               means, 400, "means",
               fmt::format(
                   "The validation {} after each epoch{}.{}", name_of_score(results_),
                   plan_.seeds.size() > 1 ? ", mean over the seeds" : "",
                   all ? "" : fmt::format(" The {} configurations with the lowest means.", order.size()))) +
           "</section>\n";
  }

  std::string curves_of(std::size_t number) const {
    const Configuration& c = configurations_[number];
    std::string html = fmt::format("<section>\n<h2>{}</h2>\n", html_escaped(name_of(c)));
    const Begun& begun = begun_[number];
    if (!begun.curves.empty()) {
      Chart curves = chart(name_of(c));
      for (std::size_t k = 0; k < begun.curves.size(); ++k)
        curves.series.push_back(series_of(name_of_seed(begun.trials[k]), begun.curves[k]));
      if (begun.curves.size() >= series_styles)  // more than can be told apart, and the mean beside them
        for (std::size_t k = 0; k < begun.curves.size(); ++k)
          curves.series[k].name = "each seed", curves.series[k].as_before = k > 0;
      if (begun.curves.size() > 1) {
        const Together all = together(begun.curves);
        curves.series.push_back(series_of("mean", all.mean));
        if (std::ranges::all_of(all.mean, [](double y) { return std::isfinite(y); }) && !all.mean.empty())
          curves.band = {.name = "spread", .x = curves.series.back().x, .low = all.low, .high = all.high};
      }
      html += chart_html(curves, 300, fmt::format("curves-{}", number + 1), "");
    }
    html += "<p class=\"soft\">";
    for (const std::size_t i : c.trials) {
      const std::string& trial = plan_.trials[i].folder;
      const std::string report = fmt::format("{}/{}/report.html", trial, run_name);
      html += has_own_file(folder_ / report) ? fmt::format("<a href=\"{}\">{}</a>", report, trial) : trial;
      html += html_escaped(
          fmt::format(", {}: {}", name_of_seed(i), results_[i] ? in_words(*results_[i]) : "not at its end"));
      html += i == c.trials.back() ? "" : "<br>\n";
    }
    return html + "</p>\n</section>\n";
  }

  std::string name_of_seed(std::size_t trial) const {
    const auto& seed = plan_.trials[trial].seed;
    return seed ? fmt::format("seed {}", *seed) : "the recipe's seed";
  }

  const fs::path& folder_;
  const SweepPlan& plan_;
  const TrialResults& results_;
  std::vector<Configuration> configurations_;
  std::vector<Begun> begun_;
  double top_ = std::numeric_limits<double>::infinity();
};

}  // namespace

void write_sweep_page(const fs::path& folder, const SweepPlan& plan, const TrialResults& results) {
  write_file_atomically(folder / sweep_page, Page(folder, plan, results).html());
}

}  // namespace unroll
