// The log of a run, its charts and its report.
#include "docs/reference/examples/examples.h"
#include "training/report/report.h"
#include "training/report/run_description.h"

namespace {

void a_run() {
  //! [RunLog]
  const Folder folder;
  const LogNames names{.unit = "words", .perplexity = true};
  RunLog log(folder.path(), names);
  log.write(LogRecord{.kind = LogRecord::Kind::epoch,
                      .step = 10,
                      .epoch = 1,
                      .count = 200,
                      .loss = 2.5,
                      .valid = 9.0,
                      .best = true});
  const Course course = read_course(folder.path(), names);
  check(course.epochs.size() == 1 && course.best()->valid == 9.0);
  //! [RunLog]

  //! [RunDescription]
  const RunDescription description{
      .title = "mine",
      .summary = "words, one after the other",
      .names = names,
      .tables = {
          {.title = "results", .note = "", .columns = {"split", "perplexity"}, .rows = {{"valid", "9.0"}}}}};
  write_run_description(folder.path(), description);
  add_sample(folder.path(), Sample{.epoch = 1, .text = "the cat sat"});
  write_report(folder.path());  // report.html
  check(std::filesystem::exists(folder / "report.html"));
  //! [RunDescription]

  //! [EventFile]
  EventFile events(folder.path(), 0);  // for TensorBoard
  const Scalar scalars[] = {{"train/loss", 2.5}};
  events.write(10, scalars, 1.0);  // at step 10, one second after 1970
  //! [EventFile]
}

void pictures() {
  //! [Chart]
  const Chart chart{.title = "A forecast",
                    .x_name = "month",
                    .y_name = "passengers",
                    .series = {ChartSeries{.name = "forecast", .x = {1, 2}, .y = {10, 12}}},
                    .band = ChartBand{.name = "80 %", .x = {1, 2}, .low = {9, 10}, .high = {11, 14}},
                    .mark = ChartMark{.text = "now", .x = 1, .y = 10}};
  check(chart_svg(chart, 560, 340, "forecast").starts_with("<svg"));
  const DrawnRange range = range_of_y(chart, true);
  check(range.low == 9 && range.high == 14);
  //! [Chart]

  //! [Progress]
  Progress progress("epoch 1/3", 100, ProgressOptions{.mode = ProgressOptions::Mode::silent});
  for (int done = 1; done <= 100; ++done)
    progress.update(done, {ProgressValue{.name = "loss", .value = 4.8}});
  check(format_number(11'700) == "11.7k" && format_duration(62) == "1:02");
  //! [Progress]
}

}  // namespace

void reports() { a_run(), pictures(); }
