// The program `ptb` as a user meets it: what it prints and writes.
#include <algorithm>

#include "data/text/vocabulary.h"
#include "framework/kernels/kernels.h"
#include "tests/environment.h"
#include "tests/examples/ptb.h"
#include "tests/look_page.h"
#include "tests/support.h"
#include "training/files/safetensors.h"
#include "training/report/run_description.h"

using namespace unroll;
namespace fs = std::filesystem;

// --- training ----------------------------------------------------------------------------------------------

TEST_CASE("a run writes its model, recipe and log into a folder of its own, and never into another's") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const std::string out = ptb_out({"train", "tiny.toml"}, folder.path());
  for (const std::string part :
       {"runs/tiny-1", "parameters", "fused", "fp32", "seed 1", "epoch 1/1", "valid", "test",
        " tokens scored", "source", "unigram", "trigram", "generate runs/tiny-1/last.safetensors"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, part);
  CHECK(out.find('\r') == std::string::npos);  // no terminal: plain lines
  CHECK(out.find('\033') == std::string::npos);
  const auto first = folder.listing();
  for (const std::string file : {"runs/tiny-1/last.safetensors", "runs/tiny-1/best.safetensors",
                                 "runs/tiny-1/recipe.toml", "runs/tiny-1/log.jsonl"})
    CHECK_MESSAGE(fs::exists(folder / file), file);

  CHECK(ptb_out({"train", "tiny.toml", "--seed", "2"}, folder.path()).find("runs/tiny-2") !=
        std::string::npos);
  const auto second = folder.listing();
  CHECK(std::ranges::includes(second, first));  // the first run is as it was, to its times
  // A run can be trained again from the recipe that it wrote.
  ptb_out({"train", "runs/tiny-1/recipe.toml", "--out", "again"}, folder.path());
  CHECK(read_text(folder / "again/last.safetensors").size() > 1000);
}

TEST_CASE("the bits of a training do not depend on the number of threads") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto trained_on = [&](const std::string& threads) {
    ptb_out({"train", "tiny.toml", "--threads", threads, "--out", threads, "--set", "model.hidden=130"},
            folder.path());
    return read_text(folder / threads / "last.safetensors");
  };
  CHECK(trained_on("1") == trained_on("3"));
}

TEST_CASE(
    "bf16 is refused by a processor that has none, unless it is to emulate it, and goes on where it was") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto train = [&](const std::string& precision, const std::string& out, const Words& more = {}) {
    return Words{"train", "tiny.toml",         "--set", "training.precision=" + precision,
                 "--set", "training.epochs=2", "--out", out} +
           more;
  };
  {
    const EnvironmentVariable isa("UNROLL_ISA", "baseline");
    const ProgramRun run = ptb(train("bf16", "none"), folder.path());
    CHECK(run.code == 2);
    CHECK(lacks(lines_of(run.err)[0],
                {"precision bf16", "AMX, AVX512-BF16 or Arm's BF16", "UNROLL_ISA=emulated_bf16", "baseline"}) == "");
    CHECK(!fs::exists(folder / "none"));
    CHECK(ptb_json(train("auto", "auto"), folder.path())["precision"] == "fp32");
  }
  const EnvironmentVariable isa("UNROLL_ISA", "emulated_bf16");
  const auto in_float = ptb_json(train("fp32", "fp32"), folder.path()),
             rounded = ptb_json(train("bf16", "whole"), folder.path());
  CHECK(rounded["precision"] == "bf16");
  CHECK(ptb_json(train("auto", "chosen"), folder.path())["precision"] == "bf16");
  CHECK(rounded["test_perplexity"] != in_float["test_perplexity"]);
  ptb_out(train("bf16", "part", {"--set", "training.epochs=1"}), folder.path());
  const auto resumed = ptb_json({"resume", "part", "--set", "training.epochs=2"}, folder.path());
  CHECK(resumed["test_perplexity"] == rounded["test_perplexity"]);
}

TEST_CASE("a model scores and writes here, whichever engine trained it") {
  const Folder folder;
  const SafetensorsFile file(trained() / "model/last.safetensors");
  std::vector<NamedTensor> tensors;
  for (const auto& entry : file.entries()) tensors.push_back({entry.name, file.load(entry.name)});
  Metadata metadata = file.metadata();
  std::string& recipe = metadata["recipe"];
  const std::string key = "engine = \"auto\"";
  REQUIRE(recipe.find(key) != std::string::npos);
  recipe.replace(recipe.find(key), key.size(), "engine = \"cudnn\"");
  write_safetensors(folder / "of-a-gpu.safetensors", tensors, metadata);
  const auto written = [&](const fs::path& model) {
    return ptb_out({"generate", model.string()}, folder.path());
  };
  CHECK(written("of-a-gpu.safetensors") == written(trained() / "model/last.safetensors"));
  CHECK(ptb({"evaluate", "of-a-gpu.safetensors"}, folder.path()).code == 0);
}

TEST_CASE("every key of a recipe is documented") {
  const std::string documentation = read_text("docs/recipes.md");
  REQUIRE(!documentation.empty());
  std::string section;
  for (const std::string& line : lines_of(read_text(trained() / "model/recipe.toml"))) {
    if (line.starts_with("["))
      section = documentation.substr(std::min(documentation.find("## " + line), documentation.size()));
    if (const size_t end = line.find(" = "); end != std::string::npos)
      CHECK_MESSAGE(section.substr(0, section.find("\n## ", 3)).find("| `" + line.substr(0, end) + "` |") !=
                        std::string::npos,
                    line);
  }
}

TEST_CASE("same seed and threads: the same bits; another seed: others; both engines: the same to rounding") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto weights = [&](const std::string& name, const Words& more) {
    ptb_out(Words{"train", "tiny.toml", "--threads", "1", "--out", name} + more, folder.path());
    return SafetensorsFile(folder / name / "last.safetensors").load("decoder.weight");
  };
  const Tensor first = weights("a", {});
  CHECK(same_bits(first, weights("b", {})));
  CHECK(!same_bits(first, weights("c", {"--seed", "2"})));
  CHECK(distance(first, weights("d", {"--engine", "composed"})) < 1e-2);
}

TEST_CASE("every optimizer and schedule can be asked for") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const Words sets[] = {
      {"optimizer.kind=sgd", "optimizer.learning_rate=1", "schedule.kind=step", "schedule.after=1"},
      {"optimizer.kind=sgd", "optimizer.learning_rate=0.1", "optimizer.momentum=0.9",
       "optimizer.nesterov=true"},
      {"optimizer.kind=adamw", "optimizer.weight_decay=0.01", "schedule.kind=cosine", "schedule.warmup=0.5"},
      {"optimizer.kind=sgd", "optimizer.learning_rate=0.2", "schedule.kind=one_cycle"},
      {"optimizer.kind=rmsprop", "optimizer.learning_rate=0.005", "optimizer.momentum=0.5"},
      {"optimizer.kind=lion", "optimizer.learning_rate=0.003", "optimizer.average_decay=0.5",
       "training.keep=best"},
      {"optimizer.kind=asgd", "optimizer.learning_rate=1", "optimizer.average_from=2"},
      {"optimizer.kind=adam", "schedule.kind=plateau", "schedule.factor=0.25", "training.accumulate=3"},
      {"training.reduction=sum-over-steps", "training.clip=0", "training.keep=best", "model.forget_bias=1"},
  };
  for (const Words& set : sets) {
    Words words = {"train", "tiny.toml", "--set", "training.epochs=2"};
    for (const std::string& assignment : set) words = words + Words{"--set", assignment};
    CHECK_MESSAGE(ptb_json(words, folder.path())["test_perplexity"].get<double>() < 150, set[0]);
  }
}

TEST_CASE("each way to drop something changes a training") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto train = [&](const Words& set) {
    Words words = {"train", "tiny.toml", "--set", "training.epochs=1", "--set", "model.dropout=0.2"};
    for (const std::string& assignment : set) words = words + Words{"--set", assignment};
    return ptb_json(words, folder.path())["test_perplexity"].get<double>();
  };
  std::vector<double> found = {train({})};
  for (const char* key :
       {"locked_dropout=true", "embedding_dropout=0.2", "recurrent_dropout=0.2", "weight_drop=0.2",
        "zoneout_h=0.2", "zoneout_c=0.2", "input_dropout=0.1", "hidden_dropout=0.1", "output_dropout=0.1"}) {
    CAPTURE(key);
    found.push_back(train({std::string("model.") + key}));
    CHECK(found.back() < 150);
    CHECK(std::ranges::count(found, found.back()) == 1);
  }
  const std::string said = ptb_out({"train", "tiny.toml", "--dry-run", "--set", "model.input_dropout=0.1",
                                    "--set", "model.hidden_dropout=0.2", "--set", "model.output_dropout=0.3"},
                                   folder.path());
  CHECK_MESSAGE(said.find("2 LSTM layers of 16, dropout 0.1 / 0.2 / 0.3: ") != said.npos, said);
  const ProgramRun refused =
      ptb({"train", "tiny.toml", "--set", "model.dropout=0", "--set", "model.locked_dropout=true"},
          folder.path());
  CHECK(refused.code == 2);
  CHECK(lacks(refused.err.substr(0, refused.err.size() - 1),
              {"model.locked_dropout", "needs model.dropout above 0"}) == "");
}

TEST_CASE("a small awd-lstm: trained, scored, read and explained; each of its parts changes the training") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const Words awd = {"model.hidden=20",
                     "model.last_hidden=12",
                     "model.layers=3",
                     "model.tied=true",
                     "model.locked_dropout=true",
                     "model.weight_drop=0.2",
                     "data.bptt=20",
                     "data.variable_bptt=true",
                     "training.activation_regularization=2",
                     "training.temporal_activation_regularization=1",
                     "training.clip=0.25",
                     "optimizer.kind=asgd",
                     "optimizer.learning_rate=10",
                     "optimizer.weight_decay=1.2e-6",
                     "optimizer.average_from=2",
                     "training.epochs=2"};
  Words train = {"train", "tiny.toml"};
  for (const std::string& assignment : awd) train = train + Words{"--set", assignment};
  const auto whole = ptb_json(train + Words{"--out", "awd"}, folder.path());
  const double perplexity = whole["test_perplexity"];
  CHECK(perplexity < 150);
  const Words model = {"awd/last.safetensors"};
  ptb_out(Words{"look", "--text", "the dog"} + model, folder.path());
  CHECK(models_in(read_text(folder / "look.html")).at(0)["summary"] ==
        fmt::format(
            "LSTM, 3 layers of 20, the last of 12, embedding and decoder tied; 304 words; {} parameters",
            with_commas(whole["parameters"].get<int64_t>())));
  const Tensor weights = SafetensorsFile(folder / model[0]).load("lstm.weight_hh_l2");
  for (const std::string part :
       {"data.variable_bptt=false", "training.activation_regularization=0",
        "training.temporal_activation_regularization=0", "optimizer.average_from=1"}) {
    CAPTURE(part);
    const auto without = ptb_json(train + Words{"--out", part, "--set", part}, folder.path());
    CHECK(!same_bits(SafetensorsFile(folder / part / "last.safetensors").load("lstm.weight_hh_l2"), weights));
    CHECK(without["tokens"] == whole["tokens"]);  // whatever the windows
  }
  CHECK(ptb_json(Words{"evaluate"} + model, folder.path())["test_perplexity"] == perplexity);
  CHECK(lines_of(ptb_out(Words{"generate"} + model, folder.path())).size() > 2);
  const SafetensorsFile file(folder / model[0]);
  CHECK(file.find("lstm.weight_ih_l2")->shape_text() == "[48, 20]");
  CHECK(file.find("lstm.weight_hh_l2")->shape_text() == "[48, 12]");
  // 2·4·(12·20 + 20·20 + 20·12) for inputs, 2·4·(20·20 + 20·20 + 12·12) for the recurrence
  Words explain = train;
  explain[0] = "explain";
  const std::string explained = ptb_out(explain, folder.path());
  for (const char* part : {"7.04k", "7.55k", "lengths that are drawn"})
    CHECK_MESSAGE(explained.find(part) != std::string::npos, explained);
  CHECK(ptb_out(train + Words{"--dry-run"}, folder.path()).find("one step") != std::string::npos);
  CHECK(ptb_out(train + Words{"--overfit-one-batch"}, folder.path()).find("learnt by heart") !=
        std::string::npos);
}

TEST_CASE(
    "text of one's own: words, characters, tied weights; unknown words become <unk> where there is one") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  write_text(folder, "text");
  const Words train = {"train", "tiny.toml",        "--data", "text",
                       "--set", "data.corpus=text", "--set",  "training.epochs=6"};
  const auto words = ptb_json(train + Words{"--out", "words"}, folder.path());
  CHECK(words["test_perplexity"].get<double>() < 2);
  CHECK(!words.contains("source_test_perplexity"));
  CHECK(ptb_json({"evaluate", "words/last.safetensors", "--data", "text"},
                 folder.path())["test_perplexity"] == words["test_perplexity"]);

  const auto characters = ptb_json(train + Words{"--out", "characters", "--set", "data.level=char", "--set",
                                                 "model.dropout=0", "--set", "training.epochs=20"},
                                   folder.path());
  CHECK(characters["test_perplexity"].get<double>() < 1.6);
  CHECK(characters["tokens"].get<int>() > words["tokens"].get<int>());
  const std::string written = ptb_out({"generate", "characters/last.safetensors", "--prompt", " the c",
                                       "--words", "15", "--temperature", "0.1"},
                                      folder.path());
  CHECK(written.starts_with(" the cat sat on a mat"));

  const auto tied = ptb_json(
      train + Words{"--out", "tied", "--set", "model.tied=true", "--set", "model.hidden=12"}, folder.path());
  CHECK(tied["parameters"].get<int>() < words["parameters"].get<int>());
  CHECK(ptb_json({"evaluate", "tied/last.safetensors", "--data", "text"}, folder.path())["test_perplexity"] ==
        tied["test_perplexity"]);
  const SafetensorsFile file(folder / "tied/last.safetensors");
  CHECK(same_bits(file.load("embedding.weight"), file.load("decoder.weight")));

  folder.write("text/test.txt", "the dog sat\n");
  const ProgramRun unknown = ptb({"evaluate", "words/last.safetensors", "--data", "text"}, folder.path());
  CHECK(unknown.code == 2);
  CHECK(lacks(unknown.err.substr(0, unknown.err.size() - 1), {"test.txt:1", "'dog'"}) == "");
}

TEST_CASE("resuming says which text is another one") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  write_text(folder, "text");
  ptb_out({"train", "tiny.toml", "--data", "text", "--set", "data.corpus=text", "--set", "training.epochs=1",
           "--out", "run"},
          folder.path());
  const auto resumed = [&](const char* epochs) {
    return ptb_out({"resume", "run", "--set", std::string("training.epochs=") + epochs}, folder.path());
  };
  const std::string same = resumed("2");
  CHECK_MESSAGE(same.find("is another") == std::string::npos, same);
  folder.write("text/valid.txt", read_text(folder / "text/valid.txt") + " the cat sat on a mat\n");
  const std::string other = resumed("3");
  CHECK_MESSAGE(other.find("the text to validate on is another") != std::string::npos, other);
  CHECK_MESSAGE(other.find("the text to train on") == std::string::npos, other);
}

TEST_CASE("--dry-run and --overfit-one-batch write nothing") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto before = folder.listing();
  const std::string dry = ptb_out({"train", "tiny.toml", "--dry-run"}, folder.path());
  CHECK(dry.find("nothing was written") != std::string::npos);
  const auto json = ptb_json({"train", "tiny.toml", "--dry-run"}, folder.path());
  CHECK(json["tokens"] == 100);
  CHECK(json["test_perplexity"].is_null());
  for (const Words& waits : {Words{"--set", "training.patience=2"},
                             Words{"--set", "optimizer.kind=asgd", "--set", "optimizer.average_from=0"}}) {
    CHECK(ptb_out(Words{"train", "tiny.toml", "--dry-run"} + waits, folder.path()).find("one step") !=
          std::string::npos);
  }
  const Words overfit = {"train", "tiny.toml", "--overfit-one-batch"};
  CHECK(ptb_out(overfit, folder.path()).find("learnt by heart in") != std::string::npos);
  // Whatever would hide a part of the window, or add to what is minimized, is left out.
  for (const Words& hidden :
       {Words{"model.softmax=mixture", "model.components=2", "model.component_dropout=0.9",
              "model.embedding_dropout=0.9", "model.input_dropout=0.9", "model.output_dropout=0.9",
              "model.hidden_dropout=0.9"},
        Words{"training.adversarial_softmax=9", "training.past_decode=9"}}) {
    Words words = overfit;
    for (const std::string& assignment : hidden) words = words + Words{"--set", assignment};
    const ProgramRun run = ptb(words, folder.path());
    CHECK_MESSAGE(run.code == 0, hidden[0], run.err);
  }
  // The window that it names is the one that it learns, where an epoch would cut its windows.
  const std::string cut = ptb_out(
      overfit + Words{"--set", "data.variable_bptt=true", "--set", "data.partial_shuffle=true"}, folder.path());
  const auto number_behind = [&](const std::string& words) {
    return std::stoll(cut.substr(cut.find(words) + words.size()));
  };
  const auto learnt = ptb_json(
      overfit + Words{"--set", "data.variable_bptt=true", "--set", "data.partial_shuffle=true"}, folder.path());
  CHECK(learnt["tokens"] == number_behind("one window of ") * number_behind("learnt by heart in "));
  const ProgramRun hopeless = ptb(overfit + Words{"--set", "optimizer.learning_rate=1e-9"}, folder.path());
  CHECK(hopeless.code == 1);
  CHECK(hopeless.err.find("not learnt by heart") != std::string::npos);
  CHECK(folder.listing() == before);
}
