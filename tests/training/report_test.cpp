// The report that explains a run: its curves, what it says, and that nothing in a run can break it.
#include "training/report/report.h"

#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "tests/program.h"
#include "tests/support.h"
#include "tests/training/drawn.h"
#include "training/report/chart.h"
#include "training/report/page.h"
#include "training/report/run_description.h"

using namespace unroll;

namespace {

// A run's folder with two epochs of three intervals each.
struct Run {
  Folder folder;
  RunDescription description{.title = "small",
                             .summary = "a model of 12 numbers",
                             .names = {.unit = "words", .perplexity = true},
                             .facts = {{"seed", "7"}},
                             .results = {{"test perplexity", "9.50", "100 words"}},
                             .levels = {{"the source's own", 9.25}},
                             .tables = {{"Parameters", "Together 12.", {"name", "numbers"}, {{"w", "12"}}}}};
  explicit Run(bool with_log = true) {
    folder.write("recipe.toml", "[model]\nhidden = 3\n");
    RunLog log(folder.path(), description.names);
    if (!with_log) return;
    for (int step = 10; step <= 60; step += 10) {
      log.write({.step = step,
                 .epoch = step > 30 ? 2 : 1,
                 .count = 5 * step,
                 .loss = 3.0 - 0.01 * step,
                 .learning_rate = 0.5,
                 .gradient_norm = 1.5,
                 .seconds = 0.5 * step,
                 .rate = 10});
      if (step % 30 == 0)
        log.write({.kind = LogRecord::Kind::epoch,
                   .step = step,
                   .epoch = step / 30,
                   .count = 5 * step,
                   .loss = 2.5,
                   .learning_rate = 0.5,
                   .valid = step == 30 ? 9.75 : 10.5,
                   .best = step == 30,
                   .seconds = 0.5 * step,
                   .rate = 10});
    }
  }
  std::string page() const {
    write_run_description(folder.path(), description);
    write_report(folder.path());
    return read_text(folder / "report.html");
  }
};

// The text between the tags of a piece of a page, from `begin` to `end`: "a|b|c".
std::string texts_between(const std::string& page, const std::string& begin, const std::string& end) {
  const size_t from = page.find(begin);
  REQUIRE_MESSAGE(from != page.npos, begin);
  const std::string piece = page.substr(from, page.find(end, from) - from);
  std::string texts;
  const std::regex text(">([^<>\n]+)<");
  for (std::sregex_iterator it(piece.begin(), piece.end(), text), none; it != none; ++it)
    texts += (texts.empty() ? "" : "|") + (*it)[1].str();
  return texts;
}

}  // namespace

TEST_CASE("no two drawings of a page share an id") {
  Run run;
  const Chart chart{
      .title = "a", .x_name = "step", .y_name = "loss", .series = {{.name = "a", .x = {0, 1}, .y = {1, 2}}}};
  run.description.charts = {chart, chart, chart};
  const std::string page = run.page();
  std::set<std::string> ids;
  int count_of_ids = 0;
  for (size_t at = 0; (at = page.find(" id=\"", at)) != page.npos; ++count_of_ids) {
    at += 5;
    CHECK_MESSAGE(ids.insert(page.substr(at, page.find('"', at) - at)).second, page.substr(at, 20));
  }
  CHECK(count_of_ids > 10);
}

TEST_CASE("a program's own charts stand in the report, with their interval and the names of x") {
  Run run;
  Chart chart{.title = "Forecast <of> load",
              .description = "two rows",
              .x_name = "time",
              .y_name = "load",
              .from_zero = false,
              .x_texts = {"mon", "tue", "wed"},
              .series = {{.name = "truth", .x = {0, 1, 2}, .y = {100, std::nan(""), 102}},
                         {.name = "forecast", .x = {1, 2}, .y = {101, 103}}}};
  chart.band = {.name = "80 %", .x = {1, 2}, .low = {100, 101}, .high = {102, 105}};
  run.description.charts = {chart};
  const std::string page = run.page();
  for (const char* part :
       {"Forecast &lt;of&gt; load", "class=\"band s1\"", ">tue</text>", "<li class=\"of-band\">80 %</li>"})
    CHECK_MESSAGE(has(page, part), part);
  // Read back it is the same, a missing value too.
  const RunDescription again = read_run_description(run.folder.path());
  REQUIRE(again.charts.size() == 1);
  CHECK(chart_svg(again.charts[0], 600, 300, "a") == chart_svg(chart, 600, 300, "a"));
  CHECK(std::isnan(again.charts[0].series[0].y[1]));
  Chart full = chart;
  full.right_name = "log", full.top = 104, full.logarithmic = true;
  full.levels = {{"naive", 101.5}};
  full.mark = {.text = "best", .x = 1, .y = 101};
  run.description.charts = {full};
  run.description.levels = {{"unknown", std::nan("")}};
  write_run_description(run.folder.path(), run.description);
  CHECK(chart_svg(read_run_description(run.folder.path()).charts[0], 600, 300, "a") ==
        chart_svg(full, 600, 300, "a"));
  run.description.charts = {chart}, run.description.levels = {};

  // The y axis begins near the values, where it may: the lowest lies in the lower part of the picture, far
  // from 0.
  const auto low = points_of(chart_svg(chart, 600, 300, "a"))[0].second;
  CHECK(low > 200);
  chart.from_zero = true;
  CHECK(points_of(chart_svg(chart, 600, 300, "a"))[0].second < 60);

  const std::string file = chart_file(chart, 800, 400), text = chart_text(chart, 40, 8);
  CHECK(file.starts_with("<svg xmlns"));
  CHECK(count(file, "<svg") == count(file, "</svg>"));
  for (const char* part : {"o truth", "* forecast", ". 80 %", "mon", "wed", "105 |"})
    CHECK_MESSAGE(has(text, part), text);
  for (const std::string& line : lines_of(text)) CHECK(line.size() <= 40);

  chart.band->high[1] = std::nan("");  // a model that has diverged
  CHECK(has(chart_text(chart, 40, 8), "o truth"));

  run.description.charts[0].band->low.pop_back();
  write_run_description(run.folder.path(), run.description);
  CHECK(has(error_of([&] { read_run_description(run.folder.path()); }), "the band of 'Forecast <of> load'"));
}

TEST_CASE("the report has the figures, the best epoch, the tables and the recipe") {
  const std::string page = Run().page();
  for (const char* part :
       {"<h1>small</h1>", "a model of 12 numbers", "best 9.7500, epoch 1", "the source&#39;s own 9.25",
        "test perplexity", ">9.50<", "<td class=\"number\">12</td>", "Together 12.", "hidden = 3",
        "loss (nats)", "Gradient norm", "words/s"})
    CHECK_MESSAGE(has(page, part), std::string(part));
  CHECK(count(page, "<tr class=\"best\">") == 1);
  CHECK(has(page, "<tr class=\"best\"><td class=\"number\">1</td>"));
  CHECK(!has(page, "not at its end"));
}

TEST_CASE("each figure of a report stands at its name, and each of an epoch in its column") {
  Run run(false);
  RunLog log(run.folder.path(), run.description.names);
  const auto epoch = [&](int number, double valid, bool best, std::vector<Scalar> metrics) {
    const double part = 0.25 * number;
    log.write({.kind = LogRecord::Kind::epoch,
               .step = 1'200 * number,
               .epoch = number,
               .count = 4'000 * number,
               .loss = std::log(100.0) - part,
               .learning_rate = 0.01 / number,
               .valid = valid,
               .best = best,
               .metrics = std::move(metrics),
               .seconds = 40.0 * number,
               .rate = 90.0 + number});
  };
  epoch(1, 9, true, {{"f1", 0.5}});
  epoch(2, 8.5, true, {{"f1", 0.75}, {"recall", 0.125}});
  epoch(3, 8.75, false, {{"recall", 0.25}, {"f1", 0.625}});
  std::string page = run.page();
  // 12,000 words in 120 s. exp(-0.25) of 100 is 77.88, exp(-0.5) 60.65 and exp(-0.75) 47.24.
  CHECK(texts_between(page, "<dl class=\"figures\"", "</dl>") ==
        "validation, best|8.5000|perplexity, after epoch 2|test perplexity|9.50|100 words|training time|2:00|3,600 steps|"
        "words/s|100|12.0k in training");
  CHECK(texts_between(page, "<h2>Epochs</h2>", "</table>") ==
        "Epochs|epoch|step|learning rate|training perplexity|validation perplexity|f1|recall|words/s|training time|"
        "1|1,200|0.01|77.88|9.0000|0.5|91.0|0:40|"
        "2|2,400|0.005|60.65|8.5000|0.75|0.125|92.0|1:20|"
        "3|3,600|0.003333|47.24|8.7500|0.625|0.25|93.0|2:00");
  CHECK(has(page, "<td class=\"number\">0.5</td><td class=\"number\"></td><td class=\"number\">91.0</td>"));
  CHECK(has(page, "<desc id=\"score-d\">By step of training. Training loss of epoch 1: 4.355; best validation score: 8.5000, "
                  "after epoch 2 of 3.</desc>"));
  CHECK(has(page, "{\"x\":\"step\",\"texts\":[],\"series\":[{\"name\":\"recall\",\"x\":[1200,2400,3600],"
                  "\"y\":[null,0.125,0.25]}]}"));
  CHECK(texts_between(page, "<ul class=\"legend\">", "</ul>") == "training|validation");

  // Scores of another kind are left out.
  log.write({.kind = LogRecord::Kind::anew, .step = 3'600, .epoch = 2, .valid = 7.5, .best = true});
  epoch(4, 7.75, false, {});
  page = run.page();
  CHECK(has(page, "Validation scores up to epoch 3 do not compare with later ones"));
  CHECK(has(texts_between(page, "<h2>Epochs</h2>", "</table>"),
            "|60.65|7.5000|0.75|0.125|92.0|1:20|3|3,600|0.003333|47.24|0.625|"));
  CHECK(has(page, "validation, best</dt><dd class=\"value\">7.5000</dd><dd>perplexity, after epoch 2<"));
  CHECK(!has(page, "<summary>"));
  for (int number = 5; number <= 31; ++number) epoch(number, 8, false, {});
  CHECK(has(run.page(), "<details><summary>31 epochs</summary>"));
}

TEST_CASE("of a curve that comes down from far above only its beginning is cut, and a level below 1 has its digits") {
  Run run(false);
  run.description.levels = {{"naive", 0.1234567}};
  RunLog log(run.folder.path(), run.description.names);
  for (int k = 1; k <= 100; ++k)  // perplexities 8,000, 4,000, 2,000, then 100, 99, …
    log.write({.step = k, .epoch = 1, .loss = std::log(k < 4 ? 16'000.0 / (1 << k) : 104.0 - k), .rate = 10});
  const std::string page = run.page();
  CHECK(has(page, " The curve comes down from 8.00k, above the frame."));
  CHECK(has(page, ">naive 0.1235</text>"));
  int above = 0;
  for (const auto& [x, y] : points_of(page)) above += y < 26;  // the frame's top
  CHECK(above >= 3);
  CHECK(above <= 5);
  CHECK(!has(Run().page(), "above the frame"));
}

TEST_CASE("the report needs no network, and works without a script") {
  const std::string page = Run().page();
  for (const char* part : {"http", "src=", "<link", "@import", "fetch("})
    CHECK_MESSAGE(!has(page, part), std::string(part));
  CHECK(count(page, "url(") == count(page, "url(#"));
  CHECK(has(page, "prefers-color-scheme: dark"));
  CHECK(count(page, "<svg") == 5);  // the first one twice: for a narrow screen, too
  CHECK(count(page, "<svg") == count(page, "aria-labelledby"));
  CHECK(count(page, "<svg") == count(page, "<desc"));
}

TEST_CASE("nothing that a run is called or contains becomes markup") {
  const std::string evil = "</script></pre><script>alert('\"&\")</script>";
  Run run;
  run.description.title = run.description.summary = evil + "[[body]][[title]]";
  run.description.facts = {{evil, evil, evil}};
  run.description.results = {{evil, evil, evil}};
  run.description.levels = {{evil, 9}};
  run.description.tables = {{evil, evil, {evil, "%"}, {{evil, "12 \" onclick=%"}}}};
  run.folder.write("recipe.toml", "# " + evil + "\n");
  const std::string page = run.page();
  CHECK(!has(page, "<script>alert"));
  CHECK(!has(page, "onclick=%\""));
  CHECK(count(page, "<script") == 1 + 4);  // the page's own, and the data of four figures
  CHECK(count(page, "</script>") == 5);
  CHECK(count(page, "</pre>") == 1);
  CHECK(count(page, "[[body]][[title]]") == 3);  // as text: the page's title, its heading and the summary
}

TEST_CASE("the scale of the loss, in fp16, and a momentum that the schedule moves have curves") {
  Run run(false);
  RunLog log(run.folder.path(), run.description.names);
  LogRecord record{.step = 1, .epoch = 1, .count = 5, .loss = 0.25, .learning_rate = 1, .momentum = 0.8};
  record.loss_scale = 65'536;
  log.write(record);
  record.step = 2, record.loss_scale = 32'768, record.momentum = 0.7;
  log.write(record);
  const std::string page = run.page();
  CHECK(has(page, "Loss scale"));
  CHECK(has(page, "Momentum"));
}

TEST_CASE("samples stand by their epochs; of many, some; of a long one, its beginning") {
  Run run;
  for (int epoch = 1; epoch <= 40; ++epoch)
    add_sample(run.folder.path(),
               {epoch, fmt::format("<b>sample</b> {}{}", epoch,
                                   epoch == 40 ? std::string(581, 'y') + "éé and more" : "")});
  const std::string page = run.page();
  CHECK(has(page, "<h2>What it wrote</h2>"));
  CHECK(count(page, "<dt>epoch ") == 12);
  int before = 1;  // those between lie evenly, 39 epochs in 11 parts
  for (int epoch = 2; epoch <= 40; ++epoch)
    if (has(page, fmt::format("<dt>epoch {}</dt>", epoch))) {
      CHECK(std::abs(epoch - before - 39.0 / 11) < 1);
      before = epoch;
    }
  for (const char* part :
       {"<dt>epoch 1</dt><dd>&lt;b&gt;sample&lt;/b&gt; 1</dd>", "<dt>epoch 40</dt>", "yyyé…</dd>"})
    CHECK_MESSAGE(has(page, part), part);
  CHECK_FALSE(has(Run().page(), "What it wrote"));
}

TEST_CASE("samples of epochs that are made anew are replaced, and a damaged line stops nothing") {
  const Run run;
  const auto& folder = run.folder.path();
  CHECK(read_samples(folder).empty());
  for (const int epoch : {1, 2, 3}) add_sample(folder, {epoch, "first\nof \"" + std::to_string(epoch)});
  add_sample(folder, {2, "again"});  // by a run that went back: 3 is not there any more
  const auto samples = read_samples(folder);
  REQUIRE(samples.size() == 2);
  CHECK((samples[0].epoch == 1 && samples[0].text == "first\nof \"1" && samples[1].text == "again"));
  run.folder.write("samples.jsonl", read_text(folder / "samples.jsonl") + "{\"epoch\":\"x\"}\nno JSON\n");
  write_run_description(folder, run.description);
  const auto told = write_report(folder);
  REQUIRE(told.size() == 2);
  CHECK(has(told[0], "samples.jsonl:3: no sample"));
  CHECK(has(read_text(folder / "report.html"), "again"));
}

TEST_CASE("a perplexity is not taken for granted") {
  Run run(false);
  run.description.names = {.unit = "values"};
  RunLog log(run.folder.path(), run.description.names);
  log.write({.step = 1, .epoch = 1, .count = 5, .loss = 0.25, .learning_rate = 1, .seconds = 1, .rate = 5});
  log.write({.kind = LogRecord::Kind::epoch,
             .step = 1,
             .epoch = 1,
             .count = 5,
             .loss = 0.25,
             .learning_rate = 1,
             .seconds = 1,
             .rate = 5});
  run.description.results = {};
  const std::string page = run.page();
  CHECK(!has(page, "erplexity"));
  CHECK(!has(page, "Gradient norm"));  // not in this log
  CHECK(!has(page, "Loss scale"));     // which is fp16's
  CHECK(!has(page, "Momentum"));       // which one cycle moves
  CHECK(has(page, "1 epoch complete; not at its end"));
  CHECK(has(page, "values/s"));
}

TEST_CASE("the report is made from the folder alone, and a run that has just begun has one") {
  const Run run;
  const std::string page = run.page();
  std::filesystem::remove(run.folder / "report.html");
  write_report(run.folder.path());
  CHECK(read_text(run.folder / "report.html") == page);
  CHECK(has(Run(false).page(), "Nothing is in the log yet"));
}

TEST_CASE("a folder that is no run's, or damaged, is an error that names the file; the old report stays") {
  const Folder empty;
  CHECK(lacks(error_of([&] { write_report(empty.path()); }), {"report.json: is missing"}) == "");
  const Run run;
  const std::string page = run.page();
  for (const char* damaged : {"{\"title\": 3}", "{\"title\""}) {
    run.folder.write("report.json", damaged);
    const std::string error = error_of([&] { write_report(run.folder.path()); });
    CHECK(lacks(error, {"report.json: no description of a run"}) == "");
    CHECK(!has(error, "exception"));
  }
  CHECK(read_text(run.folder / "report.html") == page);
}

TEST_CASE("a report is made from what can be read of a log, and the other lines are told") {
  const Run run;
  (void)run.page();
  run.folder.write("log.jsonl", read_text(run.folder / "log.jsonl") + "{}\n");
  const std::vector<std::string> damaged = write_report(run.folder.path());
  REQUIRE(damaged.size() == 1);
  CHECK(lacks(damaged[0], {"log.jsonl:", "no record of a log: 'kind' is missing"}) == "");
}

TEST_CASE("a description reads back as it was written; bytes that are no UTF-8 are replaced") {
  Run run;
  run.description.facts.push_back({"path", "a\xff"});
  write_run_description(run.folder.path(), run.description);
  const RunDescription read = read_run_description(run.folder.path());
  CHECK(read.title == "small");
  CHECK(read.names.unit == "words");
  CHECK(read.names.perplexity);
  CHECK(read.facts[1].value == "a\xef\xbf\xbd");
  CHECK(read.results[0].note == "100 words");
  CHECK(read.levels[0].score == 9.25);
  CHECK((read.tables[0].rows == run.description.tables[0].rows));
  run.description.tables[0].rows[0].pop_back();
  write_run_description(run.folder.path(), run.description);
  CHECK(lacks(error_of([&] { read_run_description(run.folder.path()); }),
              {"report.json: ", "1 cells for 2 columns"}) == "");
}
