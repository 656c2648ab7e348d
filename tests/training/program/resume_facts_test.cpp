// "resume", of every program that trains, where the data, the recipe or the schedule are not as they were: a model keeps its
// facts, scores are of today's data, and the learning rate does not jump without a word.
#include <cmath>
#include <numbers>

#include <nlohmann/json.hpp>

#include "tests/run_outcome.h"
#include "tests/torch_files.h"
#include "tests/training/program/trained_programs.h"

using namespace unroll;
using Json = nlohmann::json;

namespace {

Json json_of(const Subject& subject, const Words& words, const Folder& folder) {
  const ProgramRun done = run(subject, words + Words{"--json"}, folder);
  REQUIRE_MESSAGE(done.code == 0, done.err);
  return Json::parse(lines_of(done.out).back());
}

// The records of that kind in the run's log.
std::vector<Json> records(const Folder& folder, const std::string& kind) {
  std::vector<Json> found;
  for (const std::string& line : lines_of(read_text(folder / "whole/log.jsonl")))
    if (Json record = Json::parse(line); record["kind"] == kind) found.push_back(record);
  return found;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const Subject &ptb = subjects[0], &timeseries = subjects[1];

// The rows of write_series, and 240 more at another level, on days that follow.
std::string grown_series() {
  std::string csv = read_text(trained(timeseries) / "series.csv");
  for (int i = 240; i < 480; ++i)
    csv += fmt::format("2020-01-{:02} {:02}:00,{:.4f},{:.4f}\n", 1 + i / 24, i % 24,
                       40 + 3 * std::sin(i * 0.26), 0.5);
  return csv;
}

}  // namespace

// The right numbers are those of `evaluate`, which has the model's scaling from its file and scores today's rows; the loss of
// such a model is the mean squared error of scaled values. A mean of float32 numbers is within 1e-6 of the same in double.
TEST_CASE(
    "a series that has grown: today's rows are scored, with the scaling that the model was trained with") {
  for (const std::string keep : {"best", "last"}) {
    const Copy folder(timeseries);
    folder.write("series.csv", grown_series());
    const Json resumed = json_of(
        timeseries, Words{"resume", "whole", "--set", "training.keep=" + keep} + timeseries.data, folder);
    const std::string file = fmt::format("whole/{}.safetensors", keep);
    const auto evaluate = [&](const std::string& split) {
      return json_of(timeseries, {"evaluate", file, "--csv", "series.csv", "--split", split},
                     folder)["scores"][split];
    };
    CHECK(resumed["scores"]["test"] == evaluate("test"));
    CHECK(resumed["scores"]["test"]["the model"]["rmse"].get<double>() >
          10);  // it has never seen such a level
    CHECK(resumed["valid_loss"].get<double>() ==
          doctest::Approx(evaluate("valid")["the model"]["scaled_mse"].get<double>()).epsilon(1e-5));
    // The facts in both files are those of the training.
    for (const char* name : {"best.safetensors", "last.safetensors"}) {
      const Metadata then = SafetensorsFile(trained(timeseries) / "whole" / name).metadata(),
                     now = SafetensorsFile(folder / "whole" / name).metadata();
      for (const char* key : {"channels", "time"}) CHECK(then.at(key) == now.at(key));
    }
    CHECK(same_tensors(tensors_of(trained(timeseries) / "whole/last.safetensors"),
                       tensors_of(folder / "whole/last.safetensors")));
  }
}

TEST_CASE("scores of other data are said to be, and leave the log's and the report's best") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const bool text = subject.program == "ptb";
    if (text)
      folder.write("text/valid.txt", "a cat sat on the dog\nthe dog sat\na mat\n");
    else
      folder.write("series.csv", grown_series());
    const std::string score = text ? "valid_perplexity" : "valid_loss";
    // Three epochs fell on the old data, so the last was the best; of those two alone one can be the best now.
    const auto valid_of = [&](const std::string& name) {
      const Words words = Words{"evaluate", name} + subject.data + Words{"--split", "valid"};
      const Json found = json_of(subject, words, folder);
      return text ? found[score].get<double>()
                  : found["scores"]["valid"]["the model"]["scaled_mse"].get<double>();
    };
    const double best = std::min(valid_of("whole/best.safetensors"), valid_of("whole/last.safetensors"));
    const Words resume =
        Words{"resume", "whole"} + subject.data;  // of a copy, not those that the run was begun with
    const ProgramRun resumed = run(subject, resume, folder);
    CHECK_MESSAGE(resumed.code == 0, resumed.err);
    CHECK_MESSAGE(says(resumed.out, "valid scores are measured anew: the best is "), resumed.out);
    const auto anew = records(folder, "anew");
    REQUIRE(anew.size() == 1);
    CHECK(anew[0][score].get<double>() == doctest::Approx(best).epsilon(1e-5));
    const std::string page = read_text(folder / "whole/report.html");
    CHECK(says(page, "Validation scores up to epoch 3 do not compare with later ones"));
    // A second resumption with the same words has nothing to measure anew.
    const ProgramRun again = run(subject, resume, folder);
    CHECK(!says(again.out, "measured anew"));
    CHECK(records(folder, "anew").size() == 1);
  }
}

TEST_CASE("another way to score is scored anew too") {
  const Copy folder(ptb);
  const Json one = json_of(
      ptb, {"evaluate", "whole/best.safetensors", "--data", "text", "--split", "valid", "--batch", "1"},
      folder);
  const ProgramRun resumed =
      run(ptb,
          {"resume", "whole", "--set", "data.eval_batch=1", "--set", "training.keep=last", "--set",
           "training.epochs=3", "--set", "training.log_every=7"},
          folder);  // one key that rescores among others that do not
  CHECK(says(resumed.out, "measured anew"));
  const auto anew = records(folder, "anew");
  REQUIRE(anew.size() == 1);
  CHECK(anew[0]["valid_perplexity"].get<double>() ==
        doctest::Approx(one["valid_perplexity"].get<double>()).epsilon(1e-5));
}

TEST_CASE("a file whose columns stand in another order goes on in the same bits") {
  const Words more = {"resume", "whole", "--set", "training.epochs=4"};
  const Copy other(timeseries);
  std::string turned;
  for (const std::string& line : lines_of(read_text(other / "series.csv"))) {
    const size_t first = line.find(','), second = line.rfind(',');
    turned += line.substr(0, first) + line.substr(second) + line.substr(first, second - first) + "\n";
  }
  other.write("series.csv", turned);
  REQUIRE(run(timeseries, more + Words{"--csv", "series.csv"}, other).code == 0);
  const Copy straight(timeseries);
  REQUIRE(run(timeseries, more, straight).code == 0);
  CHECK(outcome(other / "whole") == outcome(straight / "whole"));
}

TEST_CASE("a file that lacks a column of the model is refused with both lists") {
  const Copy folder(timeseries);
  folder.write("other.csv", "date,load\n2020-01-01,1\n2020-01-02,2\n");
  const auto before = folder.listing();
  const ProgramRun refused = run(timeseries, {"resume", "whole", "--csv", "other.csv"}, folder);
  CHECK(refused.code == 2);
  CHECK(refused.err ==
        "timeseries: other.csv: its columns are date, load; the model of whole/last.safetensors was trained "
        "on load, wind\n");
  CHECK(folder.listing() == before);
}

TEST_CASE("rows that trained and are to be validated or tested now are warned of") {
  const Copy folder(timeseries);
  // 168 of 240 rows trained, the last of them at 23:00 of the seventh day. All of the first 120 rows have trained.
  const ProgramRun resumed = run(timeseries, {"resume", "whole", "--set", "data.train=0.5"}, folder);
  CHECK(resumed.code == 0);
  CHECK_MESSAGE(
      says(
          resumed.out,
          "24 of the 24 rows of valid lie where the model trained, 2020-01-01 00:00:00 to 2020-01-07 23:00:00:"),
      resumed.out);
  CHECK(says(resumed.out, "24 of the 96 rows of test lie where the model trained"));
  CHECK(says(resumed.out, "data.train = 0.5, was 0.7"));
  CHECK(says(resumed.out, "measured anew"));
  CHECK(SafetensorsFile(folder / "whole/last.safetensors").metadata().at("trained_to") ==
        "2020-01-07 23:00:00");
}

// Some loads are missing: filled in with the one before, each is another value than on the line.
TEST_CASE(
    "today's recipe says how the series is read, and scores of what is read otherwise are measured anew") {
  const Folder folder;
  write_inputs(timeseries, folder);
  std::string holes;
  for (const std::string& line : lines_of(read_text(folder / "series.csv"))) {
    const size_t first = line.find(','), second = line.rfind(',');
    const bool missing = line.ends_with("3") && holes.size() > 200;
    holes += line.substr(0, first + 1) + (missing ? "" : line.substr(first + 1, second - first - 1)) +
             line.substr(second) + "\n";
  }
  folder.write("series.csv", holes);
  REQUIRE(run(timeseries, train_tiny(timeseries) + Words{"whole", "--set", "data.missing=previous"}, folder)
              .code == 0);
  const ProgramRun resumed = run(
      timeseries, Words{"resume", "whole", "--set", "data.missing=interpolate"} + timeseries.data, folder);
  CHECK_MESSAGE(resumed.code == 0, resumed.err);
  for (const char* part :
       {"missing values filled in (interpolated)", "the series is another",
        "data.missing = \"interpolate\", was \"previous\"", "valid scores are measured anew: the best is "})
    CHECK_MESSAGE(says(resumed.out, part), resumed.out);
  const auto anew = records(folder, "anew");
  REQUIRE(anew.size() == 1);
  const Json scores =
      json_of(timeseries, {"evaluate", "whole/best.safetensors", "--csv", "series.csv", "--split", "valid"},
              folder)["scores"]["valid"]["the model"];
  CHECK(anew[0]["valid_loss"].get<double>() ==
        doctest::Approx(scores["scaled_mse"].get<double>()).epsilon(1e-5));

  // Another separator leaves the series the same.
  std::ranges::replace(holes, ',', ';');
  folder.write("series.csv", holes);
  const ProgramRun again =
      run(timeseries, Words{"resume", "whole", "--set", "data.separator=;"} + timeseries.data, folder);
  CHECK_MESSAGE(again.code == 0, again.err);
  CHECK_MESSAGE(says(again.out, "data.separator = \";\", was \",\""), again.out);
  for (const char* part : {"the series is another", "measured anew", "bits will differ"})
    CHECK_MESSAGE(!says(again.out, part), again.out);
}

// 240 more rows of the same wave. 336 of the 480 train.
TEST_CASE("up to where a model was trained goes with its weights, not with the file that it meets") {
  const Copy folder(timeseries);
  std::string grown = read_text(folder / "series.csv");
  for (int i = 240; i < 480; ++i)
    grown +=
        fmt::format("2020-01-{:02} {:02}:00,{:.4f},{:.4f}\n", 1 + i / 24, i % 24, std::sin(i * 0.26), 0.5);
  folder.write("grown.csv", grown);
  const auto fact = [&](const char* name, const char* key) {
    return SafetensorsFile(folder / "whole" / name).metadata().at(key);
  };
  const auto warned = [&](const char* name) {
    const ProgramRun done =
        run(timeseries,
            {"evaluate", fmt::format("whole/{}", name), "--csv", "series.csv", "--split", "valid"}, folder);
    return says(done.out, "24 of the 24 rows of valid lie where the model trained");
  };
  const std::string end = "2020-01-07 23:00:00", range = fact("last.safetensors", "trained_range");
  const Words resume = {"resume", "whole", "--csv", "grown.csv"};
  const ProgramRun scored = run(timeseries, resume, folder);
  CHECK_MESSAGE(says(scored.out, "measured anew"), scored.out);
  CHECK_MESSAGE(says(scored.out, "nothing is left to train"), scored.out);
  for (const char* name : {"best.safetensors", "last.safetensors"}) {
    CHECK(fact(name, "trained_to") == end);
    CHECK(fact(name, "trained_range") == range);
    CHECK(!warned(name));
  }
  // An epoch that makes the weights worse trains the last ones; the best stay what they were.
  const std::string best = read_text(folder / "whole/best.safetensors");
  const Json trained =
      json_of(timeseries, resume + Words{"--set", "training.epochs=4", "--set", "optimizer.learning_rate=10"},
              folder);
  CHECK(read_text(folder / "whole/best.safetensors") == best);
  CHECK(fact("last.safetensors", "trained_to") == "2020-01-14 23:00:00");
  CHECK(fact("last.safetensors", "trained_from") == "2020-01-01 00:00:00");
  CHECK(warned("last.safetensors"));
  CHECK(!warned("best.safetensors"));
  // The run's scores are those of the weights that it keeps, the share that their interval holds too.
  CHECK(trained["scores"] ==
        json_of(timeseries, {"evaluate", "whole/best.safetensors", "--csv", "grown.csv"}, folder)["scores"]);
}

TEST_CASE("what was trained so far has the value of a key in it: refused by the key's name") {
  const std::vector<std::pair<const Subject*, Words>> refused = {
      {&ptb,
       {"model.embedding=9",
        "model.hidden=9",
        "model.last_hidden=4",
        "model.layers=1",
        "model.cell=gru",
        "model.projection=4",
        "model.layer_norm=true",
        "model.peepholes=true",
        "model.mogrifier=2",
        "model.gate_activation=hard_sigmoid",
        "model.cell_activation=relu",
        "model.residual=true",
        "model.zoneout_h=0.1",
        "model.zoneout_c=0.1",
        "model.tied=true",
        "model.init=0.2",
        "model.init_scheme=pytorch",
        "model.forget_bias=1",
        "data.level=char",
        "data.batch=5",
        "optimizer.kind=sgd"}},
      {&timeseries,
       {"model.architecture=segment-rnn", "model.cell=gru", "model.hidden=9", "model.layers=1",
        "model.shared_channels=true", "model.normalization=last", "model.forget_bias=2", "model.segment=2",
        "model.highway=3", "data.channels=[\"wind\", \"load\"]", "data.targets=[\"load\"]",
        "data.calendar=[\"day\"]", "data.label=wind", "data.window=13", "data.horizon=4", "scaling.kind=none",
        "training.loss=quantile", "optimizer.kind=sgd"}}};
  for (const auto& [subject, assignments] : refused) {
    const Copy folder(*subject);
    const auto before = folder.listing();
    for (const std::string& assignment : assignments) {
      const ProgramRun one = run(*subject, {"resume", "whole", "--set", assignment}, folder);
      const std::string key = assignment.substr(0, assignment.find('='));
      CHECK_MESSAGE(one.code == 2, assignment);
      CHECK_MESSAGE(lines_of(one.err).size() == 1, assignment, one.err);
      CHECK_MESSAGE(
          one.err.starts_with(fmt::format("{}: whole/last.safetensors: '{}' is ", subject->program, key)),
          one.err);
    }
    CHECK(folder.listing() == before);
  }
}

// --- the learning rate -------------------------------------------------------------------------------------

namespace {

// The rates of the last epoch and of the next step, as "resume" says them.
std::string course(double from, double to) {
  return fmt::format("the learning rate goes on from {:.3g} to {:.3g}", from, to);
}

}  // namespace

TEST_CASE("a learning rate that jumps says from where to where") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy constant(subject);
    const auto steps = records(constant, "epoch").back()["step"].get<double>();
    const auto resumed = [&](const Folder& folder, const Words& words) {
      const ProgramRun one =
          run(subject, Words{"resume", "whole", "--set", "training.epochs=6"} + words, folder);
      CHECK_MESSAGE(one.code == 0, one.err);
      return one.out;
    };
    const auto changed = [&](const Words& words) { return resumed(Copy(subject), words); };
    // The run had 3 epochs at 0.01; now there are 3 more.
    CHECK(!says(changed({}), "the learning rate goes on"));
    CHECK(says(changed({"--set", "optimizer.learning_rate=0.002"}), course(0.01, 0.002)));
    // The fourth epoch is the third one after the first.
    CHECK(
        says(changed({"--set", "schedule.kind=step", "--set", "schedule.after=1"}), course(0.01, 0.01 / 8)));
    CHECK(!says(changed({"--set", "schedule.kind=plateau"}), "the learning rate goes on"));
    // Half of six epochs' cosine is behind.
    CHECK(
        says(changed({"--set", "schedule.kind=cosine"}), course(0.01, 0.005) + ", then down to 0 by step "));
    // The warm-up of four epochs goes on to its last quarter.
    CHECK(says(changed({"--set", "schedule.warmup=4"}),
               course(0.01, 0.01 * (steps + 1) / (4 * steps / 3 + 1))));

    // A cosine that was at its end rises to half of twice its length.
    const Folder folder;
    write_inputs(subject, folder);
    const Words cosine = {"--set", "schedule.kind=cosine"};
    REQUIRE(run(subject, train_tiny(subject) + Words{"whole"} + cosine, folder).code == 0);
    const double last = 0.01 / 2 * (1 + std::cos(std::numbers::pi * (steps - 1) / steps));
    const std::string again = run(subject, {"resume", "whole"}, folder).out;
    CHECK(!says(again, "the learning rate goes on"));
    const std::string out = resumed(folder, {});
    CHECK_MESSAGE(says(out, course(last, 0.005) + fmt::format(", then down to 0 by step {}", 2 * steps)),
                  out);
    CHECK(says(out, "the bits will differ"));
    // A cycle whose half is behind is in its third phase, on its way from a tenth of the rate to a hundredth.
    const double into = 12 * steps / (2 * steps - 1) - 6;
    CHECK(says(
        changed({"--set", "schedule.kind=one_cycle"}),
        course(0.01, 1e-3 - 9e-4 * into / 5) + fmt::format(", then down to 1e-05 by step {}", 2 * steps)));
    // A step schedule falls as it would have.
    const Folder falling;
    write_inputs(subject, falling);
    REQUIRE(
        run(subject,
            train_tiny(subject) + Words{"whole", "--set", "schedule.kind=step", "--set", "schedule.after=1"},
            falling)
            .code == 0);
    CHECK(!says(resumed(falling, {}), "the learning rate goes on"));
  }
}

TEST_CASE("a checkpoint of an earlier version tells of a learning rate that rises") {
  const Folder folder;
  write_inputs(ptb, folder);
  REQUIRE(run(ptb, train_tiny(ptb) + Words{"whole", "--set", "schedule.kind=cosine"}, folder).code == 0);
  const std::string path = folder / "whole/last.safetensors";
  Metadata metadata = SafetensorsFile(path).metadata();
  Json training = Json::parse(metadata["training"]);
  REQUIRE(training["state"]["schedule"].erase("next_rate") == 1);
  metadata["training"] = training.dump();
  write_tensors(path, tensors_of(path), metadata);
  CHECK(!says(run(ptb, {"resume", "whole"}, folder).out, "the learning rate goes on"));
  CHECK(says(run(ptb, {"resume", "whole", "--set", "training.epochs=6"}, folder).out,
             " to 0.005, then down to 0"));
}
