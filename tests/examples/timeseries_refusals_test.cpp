// Refusals of the program `timeseries`, and their words.
#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

TEST_CASE("bad input: exit code 2, one line in the user's words, nothing written") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(600));
  folder.write("other.csv", "a,b\n1,2\n3,4\n");
  folder.write("ragged.csv", "load,noise\n1,2\n3\n");
  folder.write("short.csv", "load,noise\n1,2\n3,4\n5,6\n7,8\n9,10\n");
  folder.write("text.csv", "load,noise\n1,2\n3,much\n");
  folder.write("empty.csv", "");
  folder.write("label.csv", "load,state\n1,0\n2,3\n");
  folder.write("full/old.txt", "keep me");
  const std::string whole = read_text(trained() / model);
  folder.write("whole.safetensors", whole);
  folder.write("cut.safetensors", whole.substr(0, whole.size() - 100));
  write_safetensors(folder / "foreign.safetensors", {{"w", tensor({2}, {1, 2})}});
  const SafetensorsFile file(folder / "whole.safetensors");
  const auto rewritten = [&](const std::string& name, const std::string& key, const std::string& value) {
    std::vector<NamedTensor> tensors;
    for (const auto& entry : file.entries()) tensors.push_back({entry.name, file.load(entry.name)});
    Metadata metadata = file.metadata();
    metadata[key] = value;
    write_safetensors(folder / name, tensors, metadata);
  };
  folder.write("bare.csv", "load\n1\n3\n5\n7\n9\n");
  folder.write("labels.csv", "state\n0\n1\n0\n1\n0\n1\n0\n1\n0\n1\n");
  folder.write("semicolons.csv", "date;load\n2020-01-01;1\n");
  rewritten("ptb.safetensors", "program", "unroll ptb");
  rewritten("channels.safetensors", "channels", "[]");
  rewritten("scale.safetensors", "channels", R"({"names":["load","noise"],"shift":[0,0],"scale":[1,0]})");
  rewritten("end.safetensors", "trained_to", "soon");
  rewritten("range.safetensors", "trained_range", R"({"least":[0,1],"most":[0,0]})");
  rewritten("detector.safetensors", "recipe",
            "[model]\nhidden = 8\n[data]\nwindow = 12\nlabel = \"noise\"\n[training]\nkeep = \"last\"\n");
  rewritten("shape.safetensors", "recipe", "[model]\nhidden = 9\n[data]\nwindow = 12\nhorizon = 3\n");

  struct Case {
    Words words, parts;
  };
  const Words train = {"train", "tiny.toml", "--csv", "wave.csv"};
  const auto with = [&](const Words& assignments) { return train + set(assignments); };
  const std::vector<Case> cases = {
      {{"trian"}, {"'trian'", "'train'"}},
      {{"train"}, {"RECIPE"}},
      {{"train", "demo"}, {"recipe 'demo' is one of ptb, not of timeseries"}},
      {{"train", "airlin"}, {"'airlin'", "did you mean 'airline'?"}},
      {{"help", "trian"}, {"did you mean 'train'?"}},
      {{"report", "nowhere"}, {"nowhere: there is no such folder"}},
      {train + Words{"--seed=-1"}, {"train: --seed '-1': a whole number from 0 up is expected"}},
      {train + Words{"--threads", "33"}, {"train: --threads 33: from 1 to 32 can share the work"}},
      {train + Words{"--log-every", "0"}, {"--log-every 0: 'training.log_every'", "at least 1"}},
      {{"backtest", "tiny.toml", "--csv", "wave.csv", "--folds", "few"}, {"--folds 'few': a whole number"}},
      {{"generate", "--count", "0"}, {"generate: --count 0: 1 to 1,000,000"}},
      {{"generate", "--rows", "2"}, {"generate: --rows 2: 3 to 100,000"}},
      {{"generate", "--out", "wave.csv"}, {"wave.csv"}},
      {{"train", "tiny.toml", "--csv", "semicolons.csv"}, {"semicolons.csv:1", "separator = \";\""}},
      {{"evaluate", "ptb.safetensors"},
       {"ptb.safetensors: a model of 'unroll ptb', not of 'unroll timeseries'"}},
      {{"train", "tiny.toml"}, {"tiny", "--csv"}},
      {{"train", "tiny.toml", "--csv", "nowhere.csv"}, {"nowhere.csv"}},
      {{"train", "tiny.toml", "--csv", "ragged.csv"}, {"ragged.csv:3"}},
      {{"train", "tiny.toml", "--csv", "text.csv"}, {"text.csv:3", "much"}},
      {{"train", "tiny.toml", "--csv", "empty.csv"}, {"empty.csv"}},
      {{"train", "tiny.toml", "--csv", "short.csv"}, {"short.csv", "rows"}},
      {{"train", "tiny.toml", "--csv", "label.csv", "--set", "data.label=state"}, {"label.csv:3", "state"}},
      {{"train", "tiny.toml", "--set", "data.file=sunspot"}, {"sunspot", "airline, sunspots"}},
      {{"train", "etth1"}, {"data/series/ETTh1.csv", "data/get-series.sh", "--csv"}},
      {with({"data.channels=[\"laod\"]"}), {"laod", "load"}},
      {with({"data.targets=[\"temperature\"]"}), {"temperature"}},
      {with({"data.label=state"}), {"state"}},
      {with({"data.calendar=[\"hours\"]"}), {"hours", "hour"}},
      {with({"data.horizon=0"}), {"data.horizon", "1"}},
      {with({"data.windw=3"}), {"data.windw", "data.window"}},
      {with({"data.window=500"}), {"rows", "503"}},
      {with({"data.train=1.5"}), {"data.train", "1"}},
      {with({"data.split=rows"}), {"data.split", "data.train_rows"}},
      {with({"data.split=rows", "data.train_rows=9000", "data.valid_rows=10"}),
       {"wave.csv: data.train_rows = 9000, data.valid_rows = 10", "9000 rows to train on", "of 600"}},
      {with({"data.split=rows", "data.train_rows=900"}),
       {"wave.csv: data.train_rows = 900, data.valid_rows = 0", "900 rows to train on", "of 600"}},
      {with({"data.split=rows", "data.train_rows=500"}),
       {"data.valid_rows = 0, data.test_rows = 0 leaves no rows to validate", "training.keep = \"last\""}},
      {with({"data.valid=0.0001"}), {"data.valid = 0.0001 leaves no rows to validate"}},
      {with({"data.split=time"}), {"data.split", "data.valid_from"}},
      {with({"data.split=time", "data.valid_from=2020-01-20", "data.test_from=2020-01-20",
             "training.keep=last", "training.patience=3"}),
       {"'training.patience' needs rows that validate"}},
      {with({"data.bounds=[5.0, 1.0]"}), {"'data.bounds' must be two numbers that ascend, or none"}},
      {with({"data.bounds=[5.0]"}), {"'data.bounds' must be two numbers that ascend, or none"}},
      {with({"data.second_period=24"}), {"'data.second_period' = 24 must be more than data.period = 24"}},
      {with({"data.split=time", "data.valid_from=soon", "data.test_from=2020-01-20"}),
       {"wave.csv: data.valid_from = \"soon\"", "'soon' is not a time, as '2020-"}},
      {with({"data.separator=a"}), {"one of \",\", \";\", \"\\t\""}},
      {with({"data.period=5000000000000000000"}), {"--set data.period", "1000000"}},
      {with({"data.autoregression=300"}), {"'data.autoregression' is no key any more: it was a baseline"}},
      {with({"data.channels=[\"noise\"]", "data.label=noise"}), {"data.channels", "'noise'", "data.label"}},
      {with({"data.targets=[\"load\", \"noise\", \"load\"]"}), {"data.targets", "'load'", "twice"}},
      {with({"data.label=noise", "data.test_files=[\"wave.csv\", \"wave.csv\"]", "data.train=0.8",
             "data.valid=0.2"}),
       {"data.test_files", "'wave.csv'", "twice"}},
      {{"backtest", "tiny.toml", "--csv", "wave.csv", "--test-rows", "2"},
       {"--test-rows 2", "data.horizon = 3"}},
      {with({"data.calendar=[\"trend\"]"}), {"'data.calendar' element 1 = \"trend\" is gone", "c1369e57"}},
      {with({"data.split=shuffled"}), {"'data.split' = \"shuffled\" is gone", "c1369e57"}},
      {with({"optimizer.beta2=0.9999999999"}), {"optimizer.beta2", "rounds to"}},
      {{"train", "tiny.toml", "--csv", "labels.csv", "--set", "data.label=state"},
       {"labels.csv", "no column to detect 'state' from"}},
      {with({"data.valid=0"}),
       {"wave.csv: data.train = 0.7, data.valid = 0 leaves no rows to validate",
        "set training.keep = \"last\""}},
      {with({"data.drop_last_pairs=2"}), {"'data.drop_last_pairs' is no key any more"}},
      {with({"training.loss=quantile", "training.quantiles=[0.9, 0.5]"}), {"training.quantiles", "ascend"}},
      {with({"training.loss=quantile", "training.quantiles=[0.1, 0.9]"}), {"training.quantiles", "0.5"}},
      {with({"model.architecture=linear", "data.calendar=[\"hour\"]"}), {"data.calendar", "linear"}},
      {with({"data.channels=[\"noise\"]", "data.targets=[\"load\"]", "model.normalization=last"}),
       {"data.targets", "data.channels"}},
      {with({"data.test_files=[\"wave.csv\"]"}), {"data.test_files", "data.label"}},
      {with({"data.channels=[\"noise\"]", "data.targets=[\"load\"]", "model.highway=6"}),
       {"data.targets", "data.channels"}},
      {with({"model.segment=5"}), {"model.segment", "12 rows", "data.window"}},
      {with({"model.segment=2", "model.architecture=linear"}), {"model.segment", "direct"}},
      {with({"model.highway=13"}), {"model.highway", "12 rows", "data.window"}},
      {with({"model.highway=6", "model.architecture=linear"}), {"model.highway", "direct"}},
      {with({"data.valid=0", "training.keep=last", "data.score=valid"}), {"data.score", "validate"}},
      {with({"data.valid=0", "training.keep=last", "optimizer.kind=asgd"}),
       {"optimizer.average_from", "validate"}},
      {with({"data.valid=0.0001", "training.keep=last", "data.score=valid"}),
       {"wave.csv: data.train = 0.7, data.valid = 0.0001 leaves no rows to validate",
        "data.score = \"valid\""}},
      {with({"data.valid=0.0001", "training.keep=last", "training.patience=3"}),
       {"data.valid = 0.0001 leaves no rows to validate", "training.patience"}},
      {with({"data.valid=0.0001", "training.keep=last", "schedule.kind=plateau"}),
       {"data.valid = 0.0001 leaves no rows to validate", "schedule.kind = \"plateau\""}},
      {with({"data.valid=0.0001", "training.keep=last", "optimizer.kind=asgd"}),
       {"data.valid = 0.0001 leaves no rows to validate", "optimizer.average_from = 0"}},
      {with({"data.label=noise", "model.shared_channels=true"}), {"model.shared_channels", "data.label"}},
      {train + Words{"--out", "full"}, {"full", "overwritten"}},
      {{"evaluate", "gone.safetensors"}, {"gone.safetensors"}},
      {{"evaluate", "cut.safetensors", "--csv", "wave.csv"}, {"cut.safetensors"}},
      {{"evaluate", "foreign.safetensors"}, {"foreign.safetensors", "recipe_name"}},
      {{"evaluate", "channels.safetensors", "--csv", "wave.csv"}, {"channels.safetensors", "JSON"}},
      {{"evaluate", "scale.safetensors", "--csv", "wave.csv"}, {"scale.safetensors", "scale", "0"}},
      {{"forecast", "range.safetensors", "--csv", "wave.csv"},
       {"range.safetensors: 'trained_range' in its metadata is not the least and the most of 2 channels"}},
      {{"evaluate", "end.safetensors", "--csv", "wave.csv"}, {"end.safetensors", "'soon'", "no time"}},
      {{"evaluate", "shape.safetensors", "--csv", "wave.csv"}, {"shape.safetensors", "[32, 2]", "[36, 2]"}},
      {{"detect", "whole.safetensors", "--csv", "wave.csv"}, {"whole.safetensors", "timeseries forecast"}},
      {{"detect", "whole.safetensors"}, {"--csv"}},
      {{"backtest", "tiny.toml", "--csv", "wave.csv", "--folds", "1"}, {"--folds"}},
      {{"backtest", "tiny.toml", "--csv", "wave.csv", "--set", "training.on_divergence=rollback"},
       {"backtest: training.on_divergence", "skip"}},
      {{"backtest", "tiny.toml", "--csv", "wave.csv", "--test-rows", "500"}, {"rows"}},
      {{"backtest", "tiny.toml", "--csv", "wave.csv", "--test-rows", "7", "--set", "data.label=noise"},
       {"backtest: --test-rows is for forecasts", "--folds"}},
      {{"train", "etth1-nlinear", "--csv", "wave.csv", "--engine", "fused"},
       {"--engine fused: 'model.engine' is for model.architecture = \"direct\" or \"segment-rnn\""}},
      {{"forecast", "whole.safetensors", "--csv", "other.csv"},
       {"other.csv: its columns are a, b; the model of whole.safetensors was trained on load, noise"}},
      {{"evaluate", "whole.safetensors", "--csv", "other.csv"},
       {"other.csv: its columns are a, b; the model of whole.safetensors was trained on load, noise"}},
      {{"evaluate", "whole.safetensors", "--csv", "label.csv"},
       {"its columns are load, state; the model of"}},
      {{"detect", "detector.safetensors", "--csv", "other.csv"},
       {"other.csv: its columns are a, b; the model of detector.safetensors was trained on load"}},
      {{"forecast", "whole.safetensors", "--csv", "semicolons.csv"},
       {"semicolons.csv:1",
        "the model of whole.safetensors reads files with ',' between the cells, not ';'"}},
      {{"forecast", "whole.safetensors", "--csv", "short.csv"},
       {"short.csv: it has 5 rows; the model of whole.safetensors reads the last 12 to forecast"}},
      {{"forecast", "whole.safetensors", "--csv", "short.csv", "--steps", "40"},
       {"short.csv: it has 5 rows; the model of whole.safetensors reads the last 12 to forecast"}},
      {{"detect", "detector.safetensors", "--csv", "bare.csv"},
       {"bare.csv: it has 5 rows; the model of detector.safetensors reads 12 for each probability"}},
      {{"forecast", "whole.safetensors", "--csv", "wave.csv", "--steps", "0"}, {"--steps"}},
      {{"forecast", "whole.safetensors", "--csv", "wave.csv", "--target", "lod", "--ascii"}, {"lod", "load"}},
      {{"forecast", "whole.safetensors", "--csv", "wave.csv", "--target", "load"},
       {"--target is for a picture: --plot or --ascii"}},
      {{"forecast", "whole.safetensors", "--csv", "wave.csv", "--out", "wave.csv"},
       {"wave.csv", "overwritten"}},
      {{"forecast", "whole.safetensors", "--csv", "wave.csv", "--out", "next", "--plot", "full/../next"},
       {"--plot full/../next", "--out next", "one file"}},
  };
  const auto before = folder.listing();
  for (const Case& one : cases) {
    const ProgramRun run = started(one.words, folder.path());
    const std::string line = run.err.substr(0, run.err.find('\n'));
    const std::string command = fmt::format("timeseries {}\n  -> {}", fmt::join(one.words, " "), run.err);
    CHECK_MESSAGE(run.code == 2, command);
    CHECK_MESSAGE(line.starts_with("timeseries: "), command);
    CHECK_MESSAGE(line + "\n" == run.err, command);
    CHECK_MESSAGE(run.out.empty(), command);
    const std::string missing = lacks(line, one.parts);
    CHECK_MESSAGE(missing.empty(), command, missing);
  }
  CHECK(folder.listing() == before);
}

TEST_CASE("a model without rows that validate cannot be scored on them") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(200));
  (void)timeseries_out(Words{"train", "tiny.toml", "--csv", "wave.csv", "--out", "run"} +
                           set({"data.valid=0", "training.keep=last", "training.epochs=1"}),
                       folder.path());
  const ProgramRun run =
      started({"evaluate", "run/last.safetensors", "--csv", "wave.csv", "--split", "valid"}, folder.path());
  CHECK(run.code == 2);
  CHECK(run.err == "timeseries: there are no rows that validate\n");
}
