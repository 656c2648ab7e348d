// training.init_from, of every program that trains: a run begins with the weights of another model's file, which must fit, and
// says so.
#include <nlohmann/json.hpp>

#include "tests/run_outcome.h"
#include "tests/torch_files.h"
#include "tests/training/program/trained_programs.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

const Subject &ptb = subjects[0], &timeseries = subjects[1];

Words set(const Words& assignments) {
  Words words;
  for (const std::string& assignment : assignments) words = words + Words{"--set", assignment};
  return words;
}
// A training of the tiny recipe that begins with the weights of the whole run, or of another file.
Words begin_with(const Subject& subject, const std::string& out, const Words& assignments = {},
                 const std::string& file = "whole/best.safetensors") {
  return train_tiny(subject) + Words{out} + set({"training.init_from=" + file}) + set(assignments);
}
void require_trained(const Subject& subject, const Words& words, const Folder& folder) {
  const ProgramRun done = run(subject, words, folder);
  REQUIRE_MESSAGE(done.code == 0, done.err);
}
// The model's own, without what training keeps beside it.
TensorsByName weights_in(const fs::path& path) {
  TensorsByName tensors = tensors_of(path);
  std::erase_if(tensors, [](const auto& named) { return named.first.starts_with("training/"); });
  return tensors;
}
std::string fact(const Folder& folder, const std::string& out, const std::string& key) {
  return SafetensorsFile(folder / out / "last.safetensors").metadata().at(key);
}

// Steps so small that float32 does not see them.
const Words standing_still = {"optimizer.learning_rate=1e-30", "training.epochs=1"};

}  // namespace

// Plain gradient descent without dropout has nothing but weights. So an epoch that begins with the weights of the
// first is the second. Texts: the state begins with the epoch. Series: one window, as the order of several is the
// epoch's.
TEST_CASE("an epoch from another run's weights has the bits of that run's next epoch") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder folder;
    write_inputs(subject, folder);
    const Words plain = Words{"optimizer.kind=sgd", "optimizer.learning_rate=0.5", "model.dropout=0"} +
                        (subject.program == "ptb" ? Words{} : Words{"data.stride=1000"});
    const auto train = [&](const char* out, int epochs, const Words& more) {
      require_trained(subject,
                      train_tiny(subject) + Words{out} + set(plain) +
                          set({fmt::format("training.epochs={}", epochs)}) + set(more),
                      folder);
      return weights_in(folder / out / "last.safetensors");
    };
    const TensorsByName one = train("one", 1, {}), two = train("two", 2, {});
    CHECK(
        same_tensors(train("next", 1, {"training.init_from=one/last.safetensors", "training.seed=7"}), two));
    CHECK(!same_tensors(one, two));
  }
}

TEST_CASE("weights are those of the file, averaged ones too, and the run's files say where they are from") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    require_trained(
        subject,
        train_tiny(subject) + Words{"mean"} +
            set({"optimizer.kind=asgd", "optimizer.average_from=1", "optimizer.learning_rate=0.3"}),
        folder);
    const TensorsByName mean = tensors_of(folder / "mean/last.safetensors");
    CHECK(std::ranges::any_of(
        mean, [](const auto& named) { return named.first.starts_with("training/weights/"); }));
    int number = 0;
    for (const std::string file : {"whole/best.safetensors", "mean/last.safetensors"}) {
      const std::string out = fmt::format("from-{}", ++number), whole = fs::absolute(folder / file).string();
      const ProgramRun done =
          run(subject, begin_with(subject, out, standing_still, file) + Words{"--json"}, folder);
      REQUIRE_MESSAGE(done.code == 0, done.err);
      CHECK(same_tensors(weights_in(folder / out / "last.safetensors"), weights_in(folder / file)));
      CHECK(nlohmann::json::parse(lines_of(done.out).back()).at("init_from") == whole);
      const auto start = nlohmann::json::parse(read_text(folder / out / "start.json"));
      CHECK(start.at("init_from") == whole);
      CHECK(read_text(folder / out / "report.html").find("with the weights of " + whole) !=
            std::string::npos);
      CHECK(read_text(folder / out / "recipe.toml").find(file) != std::string::npos);
    }
    CHECK(!nlohmann::json::parse(read_text(folder / "mean/start.json")).contains("init_from"));
    // A dry run begins with these weights, too.
    const ProgramRun dry = run(subject, begin_with(subject, "dry") + Words{"--dry-run"}, folder);
    CHECK_MESSAGE(dry.code == 0, dry.err);
    CHECK(dry.out.find("begins  with the weights of ") != std::string::npos);
    const ProgramRun explained =
        run(subject,
            Words{"explain", "tiny.toml"} + subject.data + set({"training.init_from=whole/best.safetensors"}),
            folder);
    CHECK(explained.out.find("begins with the weights of whole/best.safetensors") != std::string::npos);
  }
}

TEST_CASE(
    "dropout, engine and what else leaves shapes alone may differ; what changes the model's function is noted") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const ProgramRun done =
        run(subject,
            begin_with(
                subject, "other",
                standing_still + Words{"model.dropout=0.5", "model.engine=composed", "model.residual=true"}),
            folder);
    CHECK_MESSAGE(done.code == 0, done.err);
    CHECK_MESSAGE(
        done.out.find("model.residual = true; the weights were trained with false") != std::string::npos,
        done.out);
    CHECK(done.out.find("model.dropout =") == std::string::npos);
    CHECK(same_tensors(weights_in(folder / "other/last.safetensors"),
                       weights_in(folder / "whole/best.safetensors")));
  }
  // One matrix that is both may become two, which then begin alike.
  const Copy folder(ptb);
  require_trained(ptb, train_tiny(ptb) + Words{"tied"} + set({"model.tied=true"}), folder);
  require_trained(ptb, begin_with(ptb, "untied", standing_still, "tied/last.safetensors"), folder);
  const TensorsByName untied = weights_in(folder / "untied/last.safetensors");
  CHECK(same_bits(untied.at("decoder.weight"), untied.at("embedding.weight")));
}

TEST_CASE("a model that was imported from PyTorch is one to begin with") {
  const fs::path fixture = project_root() / "tests/fixtures/language_model",
                 file = fixture / "unroll.safetensors";
  const Folder folder;
  std::string text;  // with the words in the order of their ids
  for (const std::string& word : lines_of(read_text(fixture / "vocabulary.txt")))
    text += word == "<eos>" ? "\n" : word + " ";
  for (int k = 0; k < 4; ++k) text += "\n" + text;
  folder.write("tiny.toml", ptb.recipe);
  for (const char* split : {"train", "valid", "test"}) folder.write(fmt::format("text/{}.txt", split), text);
  require_trained(
      ptb,
      begin_with(ptb, "tuned", standing_still + Words{"model.embedding=6", "model.hidden=8"}, file.string()),
      folder);
  CHECK(same_tensors(weights_in(folder / "tuned/last.safetensors"), weights_in(file)));
}

TEST_CASE("a model that does not fit is refused in one line, and nothing is written") {
  const auto refused = [](const Subject& subject, const Folder& folder, const Words& words,
                          const std::vector<std::string>& parts) {
    const auto before = folder.listing();
    const ProgramRun one = run(subject, words, folder);
    CHECK_MESSAGE(one.code == 2, parts.front());
    CHECK_MESSAGE(lines_of(one.err).size() == 1, one.err);
    CHECK(lacks(one.err.substr(0, one.err.size() - 1), parts) == "");
    CHECK(folder.listing() == before);
  };
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const bool of_text = subject.program == "ptb";
    const Subject& other = of_text ? timeseries : ptb;
    const Copy folder(subject);
    const std::string width = of_text ? "8" : "6", file = "whole/best.safetensors";
    fs::copy_file(trained(other) / "whole/best.safetensors", folder / "foreign.safetensors");
    folder.write("cut.safetensors", read_text(folder / file).substr(0, 900));
    TensorsByName spoiled = tensors_of(folder / file);
    const std::string name = spoiled.begin()->first;
    std::vector<real> numbers(static_cast<size_t>(spoiled.begin()->second.size()), 0);
    numbers.back() = std::numeric_limits<real>::quiet_NaN();
    spoiled.begin()->second = Tensor::from(spoiled.begin()->second.shape(), numbers);
    write_tensors(folder / "spoiled.safetensors", spoiled, SafetensorsFile(folder / file).metadata());
    for (const std::string words : {"none.safetensors", "runs/none/best.safetensors"})
      refused(subject, folder, begin_with(subject, "x", {}, words),
              {words + ": there is no such file", "training.init_from"});
    refused(subject, folder, begin_with(subject, "x", {}, "foreign.safetensors"),
            {fmt::format("a model of 'unroll {}', not of 'unroll {}'", other.program, subject.program)});
    refused(subject, folder, begin_with(subject, "x", {}, "cut.safetensors"), {"cut.safetensors"});
    refused(subject, folder, begin_with(subject, "x", {}, "spoiled.safetensors"), {name, "not finite"});
    refused(subject, folder, begin_with(subject, "x", {"model.hidden=9"}),
            {"weight_ih_l0' is [", " in it, [36, ", "in the model"});
    refused(subject, folder, begin_with(subject, "x", {"model.layers=1"}),
            {"weight_ih_l1' [", "is in it and not in the model"});
    refused(subject, folder, begin_with(subject, "x", {"model.layers=3"}),
            {"there is no '", "weight_ih_l2'"});
    refused(subject, folder, begin_with(subject, "x", {"model.cell=gru"}),
            {"there is no '", "weight_ih_l0'"});
  }

  const Copy text(ptb);
  const std::string trained_text = read_text(text / "text/train.txt");
  refused(ptb, text, begin_with(ptb, "x", {"model.tied=true"}),
          {"'decoder.weight' is not 'embedding.weight' in it", "model.tied = true"});
  // the, cat, sat, on, a, mat, <eos>, dog, in the order of the text, which begins with a line of the rarer kind.
  const auto vocabulary_refused = [&](const std::string& change, const std::string& said) {
    for (const char* split : {"train", "valid", "test"})
      text.write(fmt::format("text/{}.txt", split), change);
    refused(ptb, text, begin_with(ptb, "x"), {"its vocabulary is not that of the text in text: " + said});
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = trained_text;
    for (size_t at = changed.find(from); at != changed.npos; at = changed.find(from, at + to.size()))
      changed.replace(at, from.size(), to);
    return changed;
  };
  vocabulary_refused(replaced("dog", "cow"), "word 2 is 'dog' in it, 'cow' there");
  vocabulary_refused(replaced("mat", "dog"), "it has 8 words, and 7 are there");
  vocabulary_refused(trained_text + "a bird\n", "it has 8 words, and 9 are there");

  const Copy series(timeseries);
  for (const auto& [assignment, key] : {std::pair{"data.targets=[\"load\"]", "data.targets"},
                                        {"data.calendar=[\"weekday\"]", "data.calendar"},
                                        {"data.channels=[\"load\"]", "data.channels"},
                                        {"scaling.kind=minmax", "scaling.kind"},
                                        {"training.loss=quantile", "training.loss"},
                                        {"data.label=wind", "data.label"}})
    refused(timeseries, series, begin_with(timeseries, "x", {assignment}),
            {fmt::format("whole/best.safetensors: '{}' is ", key), "its weights mean nothing with"});
  series.write("series.csv", "date,load\n2020-01-01,1\n2020-01-02,2\n");
  refused(timeseries, series, begin_with(timeseries, "x"),
          {"its columns are date, load", "was trained on load, wind"});
  refused(
      timeseries, Copy(timeseries),
      Words{"backtest", "tiny.toml"} + timeseries.data + set({"training.init_from=whole/best.safetensors"}),
      {"backtest: training.init_from", "each fold begins anew"});
}

TEST_CASE(
    "killed, and the file gone, a run goes on in the bits of one that was not; begun again it needs the file") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const auto gone = [&] { fs::rename(folder / "whole/best.safetensors", folder / "away"); };
    const auto back = [&] { fs::rename(folder / "away", folder / "whole/best.safetensors"); };
    require_trained(subject, begin_with(subject, "untouched"), folder);
    const ProgramRun killed =
        run_program(program_named(subject.program), begin_with(subject, "killed"), folder.path(), {},
                    {SIGKILL, [&] { return fs::exists(folder / "killed/last.safetensors"); }});
    CHECK(killed.code == 128 + SIGKILL);
    gone();
    const ProgramRun resumed = run(subject, {"resume", "killed"}, folder);
    CHECK_MESSAGE(resumed.code == 0, resumed.err);
    CHECK(resumed.out.find("begins  with the weights of ") != std::string::npos);
    CHECK(outcome(folder / "killed") == outcome(folder / "untouched"));

    // As if killed before the first checkpoint: resumed from elsewhere, since the path is kept whole.
    for (const char* name : {"last.safetensors", "best.safetensors", "log.jsonl"})
      fs::remove(folder / "killed" / name);
    const ProgramRun without = run(subject, {"resume", "killed"}, folder);
    CHECK(without.code == 2);
    CHECK(without.err.find("whole/best.safetensors") != std::string::npos);
    back();
    fs::create_directory(folder / "elsewhere");
    const ProgramRun again =
        run_program(program_named(subject.program), {"resume", "../killed"}, folder / "elsewhere");
    CHECK_MESSAGE(again.code == 0, again.err);
    CHECK(again.out.find("resumed from the beginning") != std::string::npos);
    CHECK(outcome(folder / "killed") == outcome(folder / "untouched"));

    // The checkpoint records the file of its first weights.
    const ProgramRun other =
        run(subject, Words{"resume", "killed"} + set({"training.init_from=whole/last.safetensors"}), folder);
    CHECK(other.code == 2);
    CHECK(lacks(other.err.substr(0, other.err.size() - 1),
                {"'training.init_from' is \"whole/best.safetensors\" in it", "cannot go on with"}) == "");
  }
}

// A model keeps its facts: its channels and their scaling, and which rows it has seen.
TEST_CASE("a series is scaled as the model's was, and rows that trained it are remembered") {
  const Copy folder(timeseries);
  std::string later = "date,load,wind\n";
  for (int i = 0; i < 240; ++i)
    later += fmt::format("2021-01-{:02} {:02}:00,{:.4f},{:.4f}\n", 1 + i / 24, i % 24,
                         40 + std::sin(i * 0.26), 0.5 + 0.1 * std::cos(i * 0.5));
  folder.write("series.csv", later);
  require_trained(timeseries, begin_with(timeseries, "tuned", standing_still), folder);
  CHECK(fact(folder, "tuned", "channels") == fact(folder, "whole", "channels"));
  CHECK(fact(folder, "tuned", "trained_from") == fact(folder, "whole", "trained_from"));
  CHECK(fact(folder, "tuned", "trained_to") == "2021-01-07 23:00:00");
  CHECK(same_tensors(weights_in(folder / "tuned/last.safetensors"),
                     weights_in(folder / "whole/best.safetensors")));
}
