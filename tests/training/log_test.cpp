// The log of a run: its lines, going on after a kill, and going back to a checkpoint.
#include "training/report/log.h"

#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "framework/check.h"
#include "tests/program.h"
#include "tests/support.h"

using namespace unroll;

namespace {

const LogNames words{.unit = "words", .perplexity = true};

LogRecord interval(int64_t step, int epoch = 1) {
  return {.step = step,
          .epoch = epoch,
          .count = 100 * step,
          .loss = 1.0 / static_cast<double>(step),
          .learning_rate = 0.1,
          .gradient_norm = 2.5,
          .seconds = 3,
          .rate = 7};
}
LogRecord epoch(int number, int64_t step, bool best = true) {
  return {.kind = LogRecord::Kind::epoch,
          .step = step,
          .epoch = number,
          .count = 100 * step,
          .loss = 0.5,
          .learning_rate = 0.1,
          .valid = 8.25,
          .best = best,
          .seconds = 3,
          .rate = 7};
}

// "interval 3", "epoch 1" or "anew 1" of each line.
std::vector<std::string> lines_in(const std::filesystem::path& log) {
  std::vector<std::string> result;
  for (const LogRecord& record : read_log(log, words))
    result.push_back(record.kind == LogRecord::Kind::epoch  ? fmt::format("epoch {}", record.epoch)
                     : record.kind == LogRecord::Kind::anew ? fmt::format("anew {}", record.epoch)
                                                            : fmt::format("interval {}", record.step));
  return result;
}
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a record is a line whose keys stand in a fixed order, what depends on the clock in the last") {
  const Folder folder;
  {
    RunLog log(folder.path(), words);
    log.write(interval(4));
    log.write(epoch(1, 5));
  }
  const auto lines = lines_of(read_text(folder / "log.jsonl"));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] ==
        R"({"kind":"interval","step":4,"epoch":1,"words":400,"loss":0.25,"perplexity":1.2840254166877414,)"
        R"("learning_rate":0.1,"gradient_norm":2.5,"time":{"seconds":3.0,"words_per_second":7.0}})");
  CHECK(
      lines[1] ==
      R"({"kind":"epoch","step":5,"epoch":1,"words":500,"loss":0.5,"perplexity":1.6487212707001282,)"
      R"("learning_rate":0.1,"valid_perplexity":8.25,"best":true,"time":{"seconds":3.0,"words_per_second":7.0}})");
}

TEST_CASE("where the schedule moves the momentum it stands beside the learning rate") {
  const Folder folder;
  LogRecord first = interval(4), last = epoch(1, 5);
  first.momentum = 0.875, last.momentum = 0.75;
  {
    RunLog log(folder.path(), words);
    log.write(first);
    log.write(last);
  }
  const std::string text = read_text(folder / "log.jsonl");
  CHECK(text.find(R"("learning_rate":0.1,"momentum":0.875,"gradient_norm":2.5)") != std::string::npos);
  CHECK(text.find(R"("learning_rate":0.1,"momentum":0.75,"valid_perplexity":8.25)") != std::string::npos);
  const auto records = read_log(folder / "log.jsonl", words);
  CHECK(records[0].momentum == 0.875);
  CHECK(records[1].momentum == 0.75);
}

TEST_CASE("in fp16 a record has the loss's scale, and how many steps were left out") {
  const Folder folder;
  LogRecord first = interval(4), last = epoch(1, 5);
  first.loss_scale = last.loss_scale = 0x1p24, first.skipped = 0, last.skipped = 3;
  {
    RunLog log(folder.path(), words);
    log.write(first);
    log.write(last);
  }
  const auto lines = lines_of(read_text(folder / "log.jsonl"));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].ends_with(R"("gradient_norm":2.5,"loss_scale":16777216.0,"skipped_steps":0,)"
                           R"("time":{"seconds":3.0,"words_per_second":7.0}})"));
  CHECK(lines[1].find(R"("best":true,"loss_scale":16777216.0,"skipped_steps":3,"time")") !=
        std::string::npos);
  const auto records = read_log(folder / "log.jsonl", words);
  CHECK(records[0].loss_scale == 0x1p24);
  CHECK(records[0].skipped == 0);
  CHECK(records[1].skipped == 3);
  folder.write("log.jsonl", lines[0].substr(0, lines[0].find("\"skipped")) +
                                R"("time":{"seconds":3.0,"words_per_second":7.0}})"
                                "\n");
  CHECK(lacks(input_error_of([&] { read_log(folder / "log.jsonl", words); }),
              {"log.jsonl:1", "skipped_steps"}) == "");
}

TEST_CASE("records read back as they were written, and figures may have other names") {
  const Folder folder;
  const LogNames names{.unit = "values"};
  LogRecord written = interval(3);
  written.loss = 0.1 + 0.2;  // has no short decimal form
  written.gradient_norm = std::nan("");
  RunLog log(folder.path(), names);
  log.write(written);
  log.write(epoch(1, 3, false));
  const auto records = read_log(folder / "log.jsonl", names);
  REQUIRE(records.size() == 2);
  CHECK(records[0].kind == LogRecord::Kind::interval);
  CHECK(records[0].step == 3);
  CHECK(records[0].epoch == 1);
  CHECK(records[0].count == 300);
  CHECK(records[0].loss == written.loss);
  CHECK(records[0].learning_rate == 0.1);
  CHECK(std::isnan(*records[0].gradient_norm));
  CHECK(!records[0].valid);
  CHECK(records[0].seconds == 3);
  CHECK(records[0].rate == 7);
  CHECK(records[1].kind == LogRecord::Kind::epoch);
  CHECK(*records[1].valid == 8.25);
  CHECK(!records[1].best);
  CHECK(read_text(folder / "log.jsonl").find("perplexity") == std::string::npos);
  CHECK(read_text(folder / "log.jsonl").find("\"valid_loss\":8.25") != std::string::npos);
  CHECK(lacks(error_of([&] { read_log(folder / "log.jsonl", words); }), {"log.jsonl:1: ", "'words'"}) == "");
}

TEST_CASE("another process goes on where the last one stopped, and drops the line that it tore") {
  const Folder folder;
  RunLog(folder.path(), words).write(interval(1));
  const std::string whole = read_text(folder / "log.jsonl");
  folder.write("log.jsonl", whole + whole.substr(0, 40));
  CHECK(lines_in(folder / "log.jsonl") == Lines{"interval 1"});
  RunLog(folder.path(), words).write(interval(2));
  CHECK(lines_in(folder / "log.jsonl") == Lines{"interval 1", "interval 2"});
  folder.write("log.jsonl", "{\"kind\":");  // the first line, torn
  RunLog(folder.path(), words).write(interval(1));
  CHECK(read_text(folder / "log.jsonl") == whole);
}

TEST_CASE("going back to a checkpoint drops what it has not seen: intervals by step, epochs by number") {
  const Folder folder;
  RunLog log(folder.path(), words);
  for (const LogRecord& record : {interval(2), interval(4, 2), epoch(1, 5), interval(6, 2), epoch(2, 7)})
    log.write(record);
  log.cut_after(6, 1);
  CHECK(lines_in(folder / "log.jsonl") == Lines{"interval 2", "interval 4", "epoch 1", "interval 6"});
  log.cut_after(5, 0);  // the checkpoint stands at an epoch's last step, before it was validated
  CHECK(lines_in(folder / "log.jsonl") == Lines{"interval 2", "interval 4"});
  log.write(epoch(1, 5));
  CHECK(lines_in(folder / "log.jsonl") == Lines{"interval 2", "interval 4", "epoch 1"});
  log.write({.kind = LogRecord::Kind::anew, .step = 5, .epoch = 1, .valid = 9, .best = true});
  log.cut_after(5, 1);  // which has seen that scores were measured anew
  CHECK(lines_in(folder / "log.jsonl") == Lines{"interval 2", "interval 4", "epoch 1", "anew 1"});
  log.cut_after(0, 0);
  CHECK(read_text(folder / "log.jsonl").empty());
}

TEST_CASE("a run that is cut and repeated leaves the bytes of one that was not") {
  const Folder once, twice;
  RunLog(once.path(), words).write(interval(1));
  RunLog(once.path(), words).write(interval(2));
  RunLog(twice.path(), words).write(interval(1));
  RunLog(twice.path(), words).write(interval(2));
  RunLog log(twice.path(), words);
  log.cut_after(1, 0);
  log.write(interval(2));
  CHECK(read_text(once / "log.jsonl") == read_text(twice / "log.jsonl"));
}

TEST_CASE("a line in the middle that is no record is named, and kept in a copy of the log as it was") {
  const Folder folder;
  RunLog log(folder.path(), words);
  log.write(interval(1));
  const std::string text = read_text(folder / "log.jsonl");
  const std::vector<std::string> wrong = {text + "{\"step\": 2}\n" + text, text + "what?\n" + text};
  const std::vector<std::string> copies = {"log.jsonl.damaged", "log.jsonl.damaged-2"};
  for (size_t i = 0; i < wrong.size(); ++i) {
    folder.write("log.jsonl", wrong[i]);
    CHECK(lacks(error_of([&] { read_log(folder / "log.jsonl", words); }), {"log.jsonl:2: "}) == "");
    std::vector<std::string> damaged;
    CHECK(read_log(folder / "log.jsonl", words, &damaged).size() == 2);
    CHECK(damaged.size() == 1);
    log.cut_after(1, 0);
    REQUIRE(log.damaged().size() == i + 1);
    CHECK(lacks(log.damaged()[i], {"log.jsonl:2: no record of a log", copies[i]}) == "");
    CHECK(log.damaged()[i].find("exception") == std::string::npos);
    CHECK(read_text(folder / copies[i]) == wrong[i]);
    CHECK(read_text(folder / "log.jsonl") == text + text);
  }
  folder.write("log.jsonl", "what?\n");
  CHECK(error_of([&] { read_log(folder / "log.jsonl", words); }) ==
        (folder / "log.jsonl").string() + ":1: no record of a log: the line is damaged");
  folder.write("log.jsonl", R"({"kind":"day","step":1})"
                            "\n");
  CHECK(lacks(error_of([&] { read_log(folder / "log.jsonl", words); }), {"log.jsonl:1: ", "'day'"}) == "");
}

TEST_CASE("what cannot be written is an error that names the file, and leaves whole lines") {
  const Folder folder;
  CHECK(lacks(error_of([&] { RunLog(folder / "missing", words); }),
              {"missing/log.jsonl: cannot be written"}) == "");
  RunLog log(folder.path(), words);
  log.write(interval(1));
  const std::string before = read_text(folder / "log.jsonl");
  // A limit on the size of files stands for a full disk: the next line fits by half.
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = old;
  limit.rlim_cur = before.size() + 20;
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string message = error_of([&] { log.write(interval(2)); });
  setrlimit(RLIMIT_FSIZE, &old);
  CHECK(lacks(message, {"log.jsonl: cannot be written: File too large", "is whole"}) == "");
  CHECK(read_text(folder / "log.jsonl") == before);
  log.write(interval(2));
  CHECK(lines_in(folder / "log.jsonl") == Lines{"interval 1", "interval 2"});
}
