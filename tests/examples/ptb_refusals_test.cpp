// Refusals of the program `ptb` and their words: bad input, failures while running, too little memory.
#include <fmt/format.h>

#include "tests/examples/ptb.h"
#include "tests/support.h"
#include "tests/torch_files.h"
#include "training/files/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

TEST_CASE("bad input: exit code 2, one line in the user's words, nothing written") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("key.toml", "[model]\nhidden = 3\nhiden = 4\n");
  folder.write("section.toml", "[modle]\nhidden = 3\n");
  folder.write("type.toml", "[model]\n\nhidden = \"wide\"\n");
  folder.write("negative.toml", "[model]\nhidden = -3\n");
  folder.write("huge.toml", "[model]\nhidden = 99999999999\n");
  folder.write("syntax.toml", "[model]\nhidden = = 3\n");
  folder.write("words.toml", tiny + "\n[schedule]\nkind = \"linear\"\n");
  folder.write("text.toml", "[data]\ncorpus = \"text\"\n");
  folder.write("vain.toml", "[data]\ncorpus = \"text\"\nbatch = 2\ntest_tokens = 500\n");
  write_text(folder, "empty");
  folder.write("empty/valid.txt", "");
  write_text(folder, "blank");
  folder.write("blank/train.txt", " \n\n");
  write_text(folder, "lacking");
  fs::remove(folder / "lacking/test.txt");
  write_text(folder, "binary");
  folder.write("binary/train.txt", std::string("the cat\nsat \xff\xfe on\n"));
  folder.write("treebank/ptb.train.txt", "the cat\n");
  write_text(folder, "zero");
  folder.write("zero/train.txt", std::string("the cat\nsat\0on\n", 15));
  write_text(folder, "short");
  folder.write("short/train.txt", "a b c\n");
  folder.write("short/valid.txt", "a\n");
  folder.write("short/test.txt", "a\n");
  folder.write("full/old.txt", "keep me");
  const std::string model = read_text(trained() / "model/last.safetensors");
  folder.write("whole.safetensors", model);
  folder.write("cut.safetensors", model.substr(0, model.size() - 100));
  folder.write("header.safetensors", model.substr(0, 40));
  folder.write("none.safetensors", "");
  folder.write("text.safetensors", "these are not weights at all, and never were");
  write_safetensors(folder / "foreign.safetensors", {{"w", tensor({2}, {1, 2})}});
  const SafetensorsFile whole(folder / "whole.safetensors");
  const auto rewritten = [&](const std::string& name, const std::string& key, const std::string& value,
                             const std::string& without = {}) {
    std::vector<NamedTensor> tensors;
    for (const auto& entry : whole.entries())
      if (entry.name != without) tensors.push_back({entry.name, whole.load(entry.name)});
    Metadata metadata = whole.metadata();
    if (!key.empty()) metadata[key] = value;
    write_safetensors(folder / name, tensors, metadata);
  };
  rewritten("lacks.safetensors", "", "", "decoder.bias");
  rewritten("shape.safetensors", "recipe", "[model]\nhidden = 17\nembedding = 12\n");
  rewritten("deep.safetensors", "recipe", "[model]\nlayers = 2000000000\n");
  rewritten("recipe.safetensors", "recipe", "[model]\nhidden = \n");
  rewritten("vocabulary.safetensors", "vocabulary", "{\"a\": 1}");
  rewritten("twice.safetensors", "vocabulary", R"(["a", "a"])");
  rewritten("nobody.safetensors", "vocabulary", "[]");

  struct Case {
    Words words, parts;
  };
  const Words train = {"train", "tiny.toml"},
              text = {"train", "tiny.toml", "--set", "data.corpus=text", "--data"};
  const std::vector<Case> cases = {
      // the command line
      {{"trian"}, {"'trian'", "'train'"}},
      {{"train"}, {"RECIPE"}},
      {train + Words{"--sed", "1"}, {"'--sed'", "'--se"}},
      {train + Words{"--seed", "many"}, {"train: --seed 'many': a whole number from 0 up is expected"}},
      {train + Words{"--seed=-1"}, {"train: --seed '-1': a whole number from 0 up is expected"}},
      {train + Words{"--threads", "0"}, {"train: --threads 0: from 1 to 32 can share the work"}},
      {train + Words{"--threads=-2"}, {"threads", "-2"}},
      {train + Words{"--device", "gpu"}, {"device 'gpu' is none of auto, cpu, cuda"}},
      {train + Words{"other.toml"}, {"other.toml"}},
      {train + Words{"--set", "model.hidden"}, {"--set", "model.hidden"}},
      {train + Words{"--set", "model.hiden=3"}, {"--set", "model.hiden", "model.hidden"}},
      {train + Words{"--set", "model.hidden=wide"}, {"--set", "model.hidden", "whole number"}},
      {train + Words{"--set", "model.hidden=0"}, {"--set", "model.hidden", "1"}},
      {train + Words{"--engine", "cudnn"}, {"cudnn", "NVIDIA"}},
      {train + Words{"--engine", "fussed"}, {"--engine", "fussed", "fused"}},
      {train + Words{"--out", "full"}, {"full", "overwritten"}},
      {train + Words{"--out", "tiny.toml"}, {"tiny.toml", "file"}},
      {train + Words{"--out", "tiny.toml/x"}, {"tiny.toml/x"}},
      {train + Words{"--out", ""}, {"--out"}},
      {train + Words{"--out", "caf\xe9"}, {"caf", "not UTF-8"}},
      {train + Words{"a\nb"}, {"'a?b' is too much"}},
      {train + Words{"--out", "--quiet"},
       {"train: --out needs DIR, and --quiet is an option", "--out=--quiet"}},
      {train + Words{"--data", "--seed=2"}, {"train: --data needs DIR, and --seed=2 is an option"}},
      {train + Words{"--quiet", "--out"}, {"--out"}},
      {{"generate", "whole.safetensors", "--prompt", "--words", "5"},
       {"--prompt needs TEXT, and --words is"}},
      {{"evaluate", "whole.safetensors", "--tune", "qick"},
       {"one CHECKPOINT is expected, 'qick' is too much; --tune before it takes full or quick; did you mean 'quick'?"}},
      {{"evaluate", "--tune", "qick", "whole.safetensors"}, {"'qick' is too much; --tune"}},
      {{"evaluate", "--tune", "quick", "whole.safetensors", "b"},
       {"CHECKPOINT is expected, 'b' is too much"}},
      {{"evaluate", "whole.safetensors", "--dynamic", "sgd", "rate=1e-4"},
       {"'rate=1e-4' is too much; --dynamic before it takes rms or sgd or KEY=VALUE,KEY=VALUE"}},
      {{"evaluate", "whole.safetensors", "--dynamic", "rate", "1e-4"},
       {"'rate' is too much; --dynamic before it"}},
      {{"evaluate", "whole.safetensors", "--dynamic", "Rate=1e-4"},
       {"--dynamic Rate=1e-4", "did you mean 'rate'?"}},
      {train + Words{"--data", "empty"}, {"--data", "empty"}},
      {train + Words{"--dry-run", "--overfit-one-batch"}, {"--dry-run", "--overfit-one-batch"}},
      {{"evaluate", "whole.safetensors", "--split", "dev"}, {"dev", "valid"}},
      {{"evaluate", "whole.safetensors", "--batch", "0"}, {"--batch"}},
      {{"generate", "whole.safetensors", "--temperature", "0"}, {"--temperature 0 must be a number above 0"}},
      {{"generate", "whole.safetensors", "--temperature", "inf"}, {"--temperature inf must be"}},
      {{"evaluate", "whole.safetensors", "--batch", "100000000000"},
       {"evaluate: --batch 100000000000 is too large: 2147483647 is the most"}},
      {{"evaluate", "whole.safetensors", "--batch=-100000000000"}, {"too small: -2147483648 is the least"}},
      {train + Words{"--seed", "100000000000000000000"}, {"too large: 18446744073709551615 is the most"}},
      {{"generate", "whole.safetensors", "--temperature", "1e999"}, {"beyond the range of such numbers"}},
      {{"generate", "whole.safetensors", "--words=-1"}, {"--words"}},
      {{"generate", "whole.safetensors", "--top-k=-1"}, {"--top-k"}},
      {{"generate", "whole.safetensors", "--words", "1e3"}, {"--words '1e3': a whole number is expected"}},
      {{"generate", "whole.safetensors", "--temperature", "hot"},
       {"--temperature 'hot': a number is expected"}},
      {{"generate", "whole.safetensors", "--prompt", "the xylophone"}, {"--prompt", "xylophone"}},
      // recipes
      {{"train", "dmo"}, {"dmo", "demo"}},
      {{"explain", "tiny.toml", "--set", "model.hidden=30000", "--set", "model.layers=3"},
       {"parameters are more than can be trained"}},
      {train + Words{"--set", "model.hidden=30000", "--set", "model.layers=3"},
       {"parameters are more than can be trained"}},
      {{"train", "airline"}, {"recipe 'airline' is one of timeseries, not of ptb"}},
      {{"train", "text.txt"},
       {"train: text.txt is a text, not a recipe", "train ptb-small --data DIR --set data.corpus=text'",
        "train.txt, valid.txt and test.txt"}},
      {{"train", "short"},
       {"train: short is a text", "train ptb-small --data short --set data.corpus=text'"}},
      {{"train", "sales.csv"}, {"sales.csv is a series, not a recipe: 'timeseries' is the program for it"}},
      {{"generate", "tiny.toml"}, {"generate: tiny.toml is a recipe, not a model", "train tiny.toml'"}},
      {{"resume", "whole.safetensors"}, {"is a model, not a run's folder"}},
      {{"train", "nowhere.toml"}, {"nowhere.toml"}},
      {{"train", "key.toml"}, {"key.toml:3", "model.hiden", "model.hidden"}},
      {{"train", "section.toml"}, {"section.toml:1", "modle", "model"}},
      {{"train", "type.toml"}, {"type.toml:3", "model.hidden", "whole number"}},
      {{"train", "negative.toml"}, {"negative.toml:2", "model.hidden"}},
      {{"train", "huge.toml"}, {"huge.toml:2", "model.hidden"}},
      {{"train", "syntax.toml"}, {"syntax.toml:2"}},
      {{"train", "words.toml"}, {"words.toml:", "schedule.kind", "linear", "cosine"}},
      {train + Words{"--set", "model.tied=true"}, {"model.tied", "16", "12"}},
      {train + Words{"--set", "model.last_hidden=16"}, {"model.last_hidden", "model.hidden (16)"}},
      {train + Words{"--set", "model.last_hidden=8", "--set", "model.layers=1"},
       {"model.last_hidden", "layers"}},
      {train + Words{"--set", "model.last_hidden=8", "--set", "model.tied=true"},
       {"model.tied", "model.last_hidden (8)", "12"}},
      {train + Words{"--set", "model.input_dropout=-0.5"}, {"model.input_dropout", "[0, 1)", "-1"}},
      {train + Words{"--set", "optimizer.kind=sgd", "--set", "optimizer.nesterov=true"},
       {"optimizer.nesterov", "momentum"}},
      {train + Words{"--set", "optimizer.kind=adam", "--set", "optimizer.momentum=0.9"},
       {"optimizer.momentum", "sgd", "nothing reads it"}},
      {train + Words{"--set", "optimizer.kind=sgd", "--set", "optimizer.beta2=0.99"},
       {"optimizer.beta2", "adam"}},
      {train + Words{"--set", "schedule.kind=plateau", "--set", "schedule.after=1"},
       {"schedule.after", "step"}},
      {train + Words{"--set", "schedule.kind=constant", "--set", "schedule.minimum=0.1"},
       {"schedule.minimum", "cosine"}},
      {train + Words{"--set", "schedule.kind=constant", "--set", "schedule.warmup=99"},
       {"schedule.warmup", "training.epochs"}},
      {train + Words{"--set", "schedule.kind=one_cycle", "--set", "optimizer.kind=asgd"},
       {"schedule.kind", "one_cycle", "asgd", "adamw"}},
      {train + Words{"--set", "schedule.kind=one_cycle", "--set", "schedule.phases=[1, 2]"},
       {"schedule.phases", "four lengths", "there are 2"}},
      {train + Words{"--set", "schedule.kind=one_cycle", "--set", "schedule.phases=[1, 0, 1, 1]"},
       {"schedule.phases", "above 0"}},
      {train + Words{"--set", "schedule.kind=one_cycle", "--set", "schedule.final_divisor=5"},
       {"schedule.final_divisor", "schedule.start_divisor (10)"}},
      {train + Words{"--set", "schedule.kind=one_cycle", "--set", "schedule.momentum_low=0.99"},
       {"schedule.momentum_low", "schedule.momentum_high (0.95)"}},
      {train + Words{"--set", "schedule.kind=one_cycle", "--set", "schedule.momentum_high=0.999999999"},
       {"schedule.momentum_high", "rounds to that"}},
      {train + Words{"--set", "schedule.kind=one_cycle", "--set", "schedule.momentum_high=0", "--set",
                     "schedule.momentum_low=0", "--set", "optimizer.kind=sgd", "--set",
                     "optimizer.nesterov=true"},
       {"optimizer.nesterov", "schedule.momentum_high above 0"}},
      {train + Words{"--set", "schedule.kind=one_cycle", "--set", "optimizer.beta1=0.8"},
       {"optimizer.beta1", "a schedule.kind other than \"one_cycle\"", "nothing reads it"}},
      {train + Words{"--set", "schedule.kind=one_cycle", "--set", "optimizer.kind=sgd", "--set",
                     "optimizer.momentum=0.8"},
       {"optimizer.momentum", "other than \"one_cycle\""}},
      {train + Words{"--set", "schedule.kind=one_cycle", "--set", "schedule.warmup=1"},
       {"schedule.warmup", "other than \"one_cycle\""}},
      {train + Words{"--set", "schedule.kind=constant", "--set", "schedule.phases=[1, 1, 1, 1]"},
       {"schedule.phases", "schedule.kind = \"one_cycle\"", "nothing reads it"}},
      {train + Words{"--set", "optimizer.kind=asgd", "--set", "optimizer.average_from=50"},
       {"optimizer.average_from", "training.epochs"}},
      {train + Words{"--set", "optimizer.kind=asgd", "--set", "optimizer.average_from=1", "--set",
                     "optimizer.non_monotone=4"},
       {"optimizer.non_monotone", "optimizer.average_from = 0", "nothing reads it"}},
      {train + Words{"--set", "data.corpus=text", "--set", "data.seed=3"},
       {"data.seed", "data.corpus = \"grammar\"", "nothing reads it"}},
      {train + Words{"--set", "training.sample_words=7"},
       {"training.sample_words", "training.sample_every_epochs above 0", "nothing reads it"}},
      {train + Words{"--set", "model.layers=1", "--set", "model.hidden_dropout=0.2"},
       {"model.hidden_dropout", "model.layers above 1", "nothing reads it"}},
      {train + Words{"--set", "model.input_dropout=0.1", "--set", "model.hidden_dropout=0.1", "--set",
                     "model.output_dropout=0.1", "--set", "model.layers=2", "--set", "model.dropout=0.5"},
       {"model.dropout", "model.input_dropout", "nothing reads it"}},
      {{"train", "vain.toml"}, {"vain.toml:4", "data.test_tokens", "data.corpus = \"grammar\""}},
      {{"explain", "tiny.toml", "--set", "data.train_tokens=100_000_000_000"},
       {"data.train_tokens", "in [1, 100000000]"}},
      {train + Words{"--set", "data.test_tokens=100_000_001"}, {"data.test_tokens", "in [1, 100000000]"}},
      {train + Words{"--set", "data.level=char"}, {"data.level", "word"}},
      {train + Words{"--set", "training.precision=fp8"}, {"training.precision", "fp32"}},
      {train + Words{"--device", "cpu", "--set", "training.graph=true"},
       {"training.graph", "the device is cpu"}},
      // text
      {{"train", "ptb-small"}, {"data/ptb", "data/get-ptb.sh", "--data"}},
      {{"train", "ptb-small", "--data", "nowhere"}, {"nowhere", "data/get-ptb.sh"}},
      {{"train", "text.toml"}, {"--data"}},
      {text + Words{"nowhere"}, {"nowhere"}},
      {text + Words{"empty"}, {"empty/valid.txt", "empty"}},
      {text + Words{"blank"}, {"blank/train.txt"}},
      {text + Words{"lacking"}, {"lacking/test.txt"}},
      {text + Words{"binary"}, {"binary/train.txt:2", "this is not UTF-8 text (byte 0xff)"}},
      {text + Words{"zero"}, {"zero/train.txt:2: a NUL byte", "UTF-16"}},
      {text + Words{"short"}, {"data.batch = 10", "4 tokens"}},
      {{"explain", "tiny.toml", "--set", "data.corpus=text", "--data", "short"},
       {"data.batch = 10", "4 tokens"}},
      {{"train", "ptb-small", "--data", "lacking"},
       {"lacking/ptb.train.txt: there is no such file", "train.txt, which data.corpus = \"text\" reads"}},
      {{"import", "foreign.safetensors", "--data", "lacking", "--out", "x"}, {"foreign.safetensors"}},
      {text + Words{"treebank"},
       {"treebank/train.txt: there is no such file", "ptb.train.txt, which data.corpus = \"ptb\" reads"}},
      {train + Words{"--set", "data.batch=2000000000"}, {"data.batch = 2000000000", "tokens to train on"}},
      // weights
      {{"evaluate", "gone.safetensors"}, {"gone.safetensors"}},
      {{"evaluate", "full"}, {"full"}},
      {{"evaluate", "cut.safetensors"}, {"cut.safetensors"}},
      {{"evaluate", "header.safetensors"}, {"header.safetensors"}},
      {{"evaluate", "none.safetensors"}, {"none.safetensors"}},
      {{"generate", "text.safetensors"}, {"text.safetensors"}},
      {{"generate", "foreign.safetensors"}, {"foreign.safetensors", "recipe"}},
      {{"evaluate", "lacks.safetensors"}, {"lacks.safetensors", "decoder.bias"}},
      {{"evaluate", "shape.safetensors"}, {"shape.safetensors", "[64, 12]", "[68, 12]"}},
      {{"evaluate", "deep.safetensors"}, {"deep.safetensors", "model.layers", "100"}},
      {{"evaluate", "recipe.safetensors"}, {"recipe.safetensors", ":2"}},
      {{"evaluate", "vocabulary.safetensors"}, {"vocabulary.safetensors", "JSON"}},
      {{"evaluate", "twice.safetensors"}, {"twice.safetensors", "'a'"}},
      {{"evaluate", "nobody.safetensors"}, {"nobody.safetensors", "vocabulary"}},
      {{"export", "whole.safetensors"}, {"export: --to says the form: onnx"}},
      {{"export", "whole.safetensors", "--to", "pdf"}, {"--to", "'pdf'", "onnx"}},
      {{"export", "whole.safetensors", "--to", "onnx", "--out", "full/old.txt"}, {"full/old.txt"}},
      {{"export", "cut.safetensors", "--to", "onnx"}, {"cut.safetensors"}},
  };
  const auto before = folder.listing();
  for (const Case& one : cases) {
    const ProgramRun run = ptb(one.words, folder.path());
    const std::string line = run.err.substr(0, run.err.find('\n'));
    const std::string command = fmt::format("ptb {}\n  -> {}", fmt::join(one.words, " "), run.err);
    CHECK_MESSAGE(run.code == 2, command);
    CHECK_MESSAGE(line.starts_with("ptb: "), command);
    CHECK_MESSAGE(line + "\n" == run.err, command);
    CHECK_MESSAGE(run.out.empty(), command);
    const std::string missing = lacks(line, one.parts);
    CHECK_MESSAGE(missing.empty(), command, missing);
  }
  CHECK(folder.listing() == before);
}

TEST_CASE("a decoder that contradicts model.tied in its file's recipe is refused by all who read the file") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const Words train = {"train", "tiny.toml", "--set", "model.embedding=16", "--out"};
  ptb_out(train + Words{"tied", "--set", "model.tied=true"}, folder.path());
  ptb_out(train + Words{"untied"}, folder.path());
  const auto changed = [&](const std::string& run, const std::string& was, const std::string& is,
                           real difference) {
    const fs::path path = folder / run / "last.safetensors";
    TensorsByName tensors = tensors_of(path);
    Metadata metadata = SafetensorsFile(path).metadata();
    std::string& recipe = metadata["recipe"];
    recipe.replace(recipe.find(was), was.size(), is);
    if (run == "tied") tensors["decoder.weight"] = tensors["embedding.weight"].clone();
    tensors["decoder.weight"].data()[7] += difference;
    write_tensors(path, tensors, metadata);
  };
  const auto refused = [&](const Words& words, const std::string& message) {
    const ProgramRun run = ptb(words, folder.path());
    CHECK_MESSAGE(run.code == 2, run.err);
    CHECK_MESSAGE(run.err.find(message) != std::string::npos, run.err);
  };
  const std::string yes = "tied = true", no = "tied = false";
  const std::string
      differs =
          "last.safetensors: 'decoder.weight' is not 'embedding.weight', and the recipe in it has "
          "model.tied = true",
      repeats =
          "last.safetensors: 'decoder.weight' repeats 'embedding.weight', and the recipe in it has "
          "model.tied = false";
  changed("tied", yes, yes, 0);
  CHECK(ptb({"evaluate", "tied/last.safetensors"}, folder.path()).code == 0);
  changed("tied", yes, yes, 0.5f);
  changed("untied", no, yes, 0);
  for (const char* command : {"evaluate", "generate"}) {
    refused({command, "tied/last.safetensors"}, differs);
    refused({command, "untied/last.safetensors"}, differs);
  }
  refused({"resume", "tied", "--set", "training.epochs=2"}, differs);
  changed("tied", yes, no, 0);
  refused({"evaluate", "tied/last.safetensors"}, repeats);
}

TEST_CASE("what fails while running: exit code 1 and one line") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const ProgramRun diverged = ptb({"train", "tiny.toml", "--json", "--set", "optimizer.kind=sgd", "--set",
                                   "optimizer.learning_rate=1e30", "--set", "training.clip=0"},
                                  folder.path());
  CHECK(diverged.code == 1);
  CHECK(diverged.out.empty());
  CHECK(lines_of(diverged.err).back().starts_with("ptb: training has diverged"));

  const ProgramRun full = ptb({"explain", "ptb-small"}, folder.path(), "/dev/full");
  CHECK(full.code == 1);
  CHECK(lines_of(full.err).size() == 1);
  const ProgramRun help =
      ptb({"--help"}, folder.path(), "/dev/full");  // of a few lines, which wait until the end
  CHECK(help.code == 1);
  CHECK(lacks(help.err.substr(0, help.err.size() - 1), {"the output could not be written"}) == "");
  const ProgramRun dry = ptb({"train", "tiny.toml", "--dry-run"}, folder.path(), "/dev/full");
  CHECK(dry.code == 1);
  CHECK(dry.err == "ptb: the output could not be written\n");
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("too little memory: exit code 3 and one line") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const std::string command = "ulimit -v 3000000; exec " + program_named("ptb") +
                              " train tiny.toml --threads 1 --set model.hidden=10000 --set model.layers=2";
  const ProgramRun run = run_program("/bin/sh", {"-c", command}, folder.path());
  CHECK_MESSAGE(run.code == 3, run.err);
  CHECK(lines_of(run.err).size() == 1);
  CHECK(run.err.starts_with("ptb: "));
}
#endif
