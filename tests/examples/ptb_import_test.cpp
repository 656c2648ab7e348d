// Models from PyTorch and back: `ptb import`, vocabularies in files, and perplexities that PyTorch recorded
// (tests/reference/make_language_model.py, check_checkpoint.py). Promises of every import: import_test.cpp.
#include <functional>

#include <fmt/format.h>

#include "tests/examples/ptb.h"
#include "tests/torch_files.h"
#include "training/files/vocabulary_file.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

const fs::path fixture = fs::absolute("tests/fixtures/language_model");
const Words as_text = {"--vocabulary", fixture / "vocabulary.txt", "--set", "data.corpus=text"};

nlohmann::json evaluate(const std::string& file, const fs::path& folder) {
  return nlohmann::json::parse(ptb_out({"evaluate", file, "--data", fixture, "--json"}, folder));
}

}  // namespace

TEST_CASE(
    "a model of PyTorch has PyTorch's perplexity here, and the file is the one that PyTorch took back") {
  const Folder folder;
  const Words import = Words{"import", fixture / "torch.safetensors", "--out", "m.safetensors"} + as_text;
  const std::string said = ptb_out(import, folder.path());
  for (const char* part : {"rnn.weight_hh_l1", "encoder.weight", "17 words", "2 LSTM layers of 8"})
    CHECK(said.find(part) != std::string::npos);

  const auto recorded = nlohmann::json::parse(read_text(fixture / "perplexity.json"));
  const auto scored = evaluate("m.safetensors", folder.path());
  CHECK(scored["tokens"] == recorded["tokens"]);
  // Four digits: the sums here and there round in another order.
  CHECK(scored["test_perplexity"].get<double>() ==
        doctest::Approx(recorded["float64"].get<double>()).epsilon(5e-5));
  CHECK(same_tensors(tensors_of(folder / "m.safetensors"), tensors_of(fixture / "unroll.safetensors")));
  // Our tensors are PyTorch's too, and the words in the file's metadata are enough.
  through_torch(folder / "m.safetensors", folder / "back.safetensors");
  ptb_out({"import", "back.safetensors", "--out", "again.safetensors"}, folder.path());
  CHECK(same_tensors(tensors_of(folder / "again.safetensors"), tensors_of(folder / "m.safetensors")));
  CHECK(ptb_out({"generate", "m.safetensors", "--words", "5"}, folder.path()).size() > 10);
}

TEST_CASE("so have a GRU of PyTorch, a plain network, an LSTM with projection, and one under a mixture of softmaxes") {
  const Folder folder;
  for (const std::string name : {"gru", "projected", "rnn", "mixture"}) {
    CAPTURE(name);
    const std::string out = name + ".safetensors";
    const Words unsaid = name == "rnn" ? Words{"--set", "model.nonlinearity=relu"} : Words{};
    const Words import =
        Words{"import", fixture / name / "torch.safetensors", "--out", out} + as_text + unsaid;
    const std::string said = ptb_out(import, folder.path());
    CHECK(said.find(name == "gru"       ? "2 GRU layers of 8, decoder"
                    : name == "rnn"     ? "2 RNN layers of 8 (nonlinearity), decoder"
                    : name == "mixture" ? "2 LSTM layers of 8, a mixture of 3 softmaxes, decoder"
                                        : "2 LSTM layers of 8 (projection), decoder") != std::string::npos);
    CHECK(said.find("no shape says") == std::string::npos);
    const auto recorded = nlohmann::json::parse(read_text(fixture / name / "perplexity.json"));
    const auto scored = evaluate(out, folder.path());
    CHECK(scored["tokens"] == recorded["tokens"]);
    CHECK(scored["test_perplexity"].get<double>() ==
          doctest::Approx(recorded["float64"].get<double>()).epsilon(5e-5));
    through_torch(folder / out, folder / ("back-" + out));
    ptb_out(Words{"import", "back-" + out, "--out", "again-" + out} + unsaid, folder.path());
    CHECK(same_tensors(tensors_of(folder / ("again-" + out)), tensors_of(folder / out)));
    CHECK(ptb_out({"generate", out, "--words", "5"}, folder.path()).size() > 10);
  }
  // The import adds the GRU's second bias to the first for the gates alone: the candidate's is multiplied by r.
  TensorsByName theirs = tensors_of(fixture / "gru/torch.safetensors"),
                ours = tensors_of(folder / "gru.safetensors");
  const Tensor first = theirs["rnn.bias_ih_l1"], second = theirs["rnn.bias_hh_l1"];
  for (int i = 0; i < 24; ++i) {
    const real sum = first.data()[i] + second.data()[i];
    CHECK(ours["gru.bias_ih_l1"].data()[i] == (i < 16 ? sum : first.data()[i]));
    CHECK(ours["gru.bias_hh_l1"].data()[i] == (i < 16 ? 0 : second.data()[i]));
  }
}

TEST_CASE("a mixture of softmaxes is known by its prior and latent, here and back") {
  const Folder folder;
  RandomStream random(5, "weights");
  // The names of Yang et al.'s program, whose latent is a sequence of a layer and a tanh.
  TensorsByName theirs = {{"encoder.weight", random_tensor({17, 6}, random)},
                          {"rnn.weight_ih_l0", random_tensor({32, 6}, random)},
                          {"rnn.weight_hh_l0", random_tensor({32, 8}, random)},
                          {"prior.weight", random_tensor({3, 8}, random)},
                          {"latent.0.weight", random_tensor({18, 8}, random)},
                          {"latent.0.bias", random_tensor({18}, random)},
                          {"decoder.bias", random_tensor({17}, random)}};
  const auto import = [&](const std::string& out, const TensorsByName& tensors) {
    write_tensors(folder / "a.safetensors", tensors);
    return ptb(Words{"import", "a.safetensors", "--rename", "latent.0=latent", "--out", out} + as_text, folder.path());
  };
  const ProgramRun done = import("m.safetensors", theirs);
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK_MESSAGE(done.out.find("a mixture of 3 softmaxes, decoder tied") != done.out.npos, done.out);
  const TensorsByName ours = tensors_of(folder / "m.safetensors");
  CHECK(same_bits(ours.at("mixture.latent.weight"), theirs["latent.0.weight"]));
  CHECK(same_bits(ours.at("mixture.prior.weight"), theirs["prior.weight"]));
  through_torch(folder / "m.safetensors", folder / "back.safetensors");
  ptb_out({"import", "back.safetensors", "--out", "again.safetensors"}, folder.path());
  CHECK(same_tensors(tensors_of(folder / "again.safetensors"), ours));
  // Errors name the tensors that do not fit.
  const auto refused = [&](const TensorsByName& tensors, const std::vector<std::string>& parts) {
    const ProgramRun run = import("new.safetensors", tensors);
    CHECK_MESSAGE(run.code == 2, run.err);
    CHECK(lacks(run.err.substr(0, run.err.find('\n')), parts) == "");
  };
  TensorsByName changed = theirs;
  changed["prior.weight"] = Tensor::zeros({4, 8});
  refused(changed, {"'latent.0.weight' [18, 8]", "'prior.weight' [4, 8]", "[24, 8]"});
  changed = theirs;
  changed.erase("prior.weight");
  refused(changed, {"'mixture.prior.weight'", "--rename"});
}

TEST_CASE("the function of a plain network stands in no shape: it is said which one was taken") {
  const Folder folder;
  const std::string said = ptb_out(
      Words{"import", fixture / "rnn/torch.safetensors", "--out", "m.safetensors"} + as_text, folder.path());
  CHECK(said.find("nonlinearity tanh, as nn.RNN has it unasked: no shape says; the other is "
                  "--set model.nonlinearity=relu\n") != std::string::npos);
}

TEST_CASE("a decoder without weights, or with the embedding's, is tied") {
  const Folder folder;
  RandomStream random(4, "weights");
  TensorsByName theirs = {{"module.embed.weight", random_tensor({17, 8}, random)},
                          {"module.lstm.weight_ih_l0", random_tensor({32, 8}, random)},
                          {"module.lstm.weight_hh_l0", random_tensor({32, 8}, random)},
                          {"module.fc.bias", random_tensor({17}, random)}};
  const auto tied = [&](const std::string& name) {
    write_tensors(folder / "a.safetensors", theirs);
    ptb_out(Words{"import", "a.safetensors", "--out", name} + as_text, folder.path());
    const TensorsByName ours = tensors_of(folder / name);
    CHECK(same_bits(ours.at("embedding.weight"), theirs["module.embed.weight"]));
    const std::string recipe = SafetensorsFile(folder / name).metadata().at("recipe");
    evaluate(name, folder.path());
    return recipe.find("tied = true") != std::string::npos &&
           same_bits(ours.at("decoder.weight"), ours.at("embedding.weight"));
  };
  CHECK(tied("without.safetensors"));
  theirs["module.fc.weight"] = theirs["module.embed.weight"].clone();
  CHECK(tied("same.safetensors"));
  theirs["module.fc.weight"].data()[135] += 1;
  CHECK_FALSE(tied("other.safetensors"));
}

TEST_CASE("the words come from a list, an array, the text or the file itself, the rest from a recipe") {
  const Folder folder;
  const Vocabulary words = load_vocabulary(fixture / "vocabulary.txt");
  CHECK(words.words()[4] == Vocabulary::end_of_sentence);
  folder.write("words.json", vocabulary_metadata(words));
  // <unk> is in no line of the fixture's text
  folder.write("text/train.txt", read_text(fixture / "train.txt") + "<unk>");
  for (const char* split : {"valid", "test"}) folder.write(fmt::format("text/{}.txt", split), "the cat\n");
  folder.write("text.toml", "[model]\nhidden = 99\ndropout = 0.25\n[data]\ncorpus = \"text\"\n");
  write_tensors(folder / "named.safetensors", tensors_of(fixture / "torch.safetensors"),
                {{"vocabulary", vocabulary_metadata(words)}});
  const std::string file = fixture / "torch.safetensors";
  const Words recipe = {"--recipe", "text.toml", "--set", "data.bptt=7", "--out"};
  ptb_out(Words{"import", file, "--vocabulary", "words.json"} + recipe + Words{"a.safetensors"},
          folder.path());
  const std::string said =
      ptb_out(Words{"import", file, "--data", "text"} + recipe + Words{"b.safetensors"}, folder.path());
  CHECK(said.find("as they first appear") != std::string::npos);
  CHECK(said.find("evaluate b.safetensors --data text\n") != std::string::npos);
  // Without a text there is none to be scored.
  CHECK(ptb_out(Words{"import", "named.safetensors"} + recipe + Words{"c.safetensors"}, folder.path())
            .find(" generate c.safetensors\n") != std::string::npos);
  CHECK(read_text(folder / "a.safetensors") == read_text(folder / "b.safetensors"));
  CHECK(read_text(folder / "a.safetensors") == read_text(folder / "c.safetensors"));
  // The Penn Treebank, where it lies at its place; the grammar, which makes its own.
  const auto next = [&](const Words& more, const std::string& out) {
    const std::string all = ptb_out(Words{"import"} + more + Words{"--out", out}, folder.path());
    return lines_of(all.substr(all.find("next    "))).at(0);
  };
  const Words named = {file, "--vocabulary", "words.json"};
  CHECK(next(named, "d.safetensors").ends_with(" generate d.safetensors"));
  folder.write("data/ptb/ptb.test.txt", "the cat\n");
  CHECK(next(named, "my model.safetensors").ends_with(" evaluate 'my model.safetensors'"));
  through_torch(trained() / "model/last.safetensors", folder / "grammar.safetensors");
  CHECK(next({"grammar.safetensors", "--set", "data.corpus=grammar"}, "e.safetensors")
            .ends_with(" evaluate e.safetensors"));
  const std::string resolved = SafetensorsFile(folder / "a.safetensors").metadata().at("recipe");
  for (const char* part : {"hidden = 8\n", "dropout = 0.25\n", "bptt = 7\n", "corpus = \"text\"\n"})
    CHECK_MESSAGE(resolved.find(part) != std::string::npos, part, resolved);
}

TEST_CASE("a model of one of our programs is no import: its recipe would be lost") {
  const Folder folder;
  const std::string ours = trained() / "model/last.safetensors";
  write_tensors(folder / "other.safetensors", tensors_of(ours), {{"program", "unroll timeseries"}});
  for (const auto& [file, program] : {std::pair{ours, "ptb"}, {"other.safetensors", "timeseries"}}) {
    const ProgramRun run = ptb({"import", file, "--out", "x.safetensors"}, folder.path());
    CHECK(run.code == 2);
    CHECK(run.err == fmt::format("ptb: {}: a model of 'unroll {}' already, which needs no import: {} evaluate reads "
                                 "it as it is\n",
                                 file, program, program));
    CHECK(!fs::exists(folder / "x.safetensors"));
  }
}

TEST_CASE("what cannot be imported is refused in one line that says why, and nothing is written") {
  const Folder folder;
  folder.write("there.safetensors", "precious");
  folder.write("short.txt", "the\ncat\n<eos>\n");
  folder.write("gap.txt", "the\n\n<eos>\n");
  folder.write("twice.txt", "the\ncat\nthe\n");
  folder.write("binary.txt", "the\n\xff\n");
  folder.write("zero.txt", std::string("the\nc\0t\n", 8));
  folder.write("empty.txt", "");
  folder.write("object.json", R"({"the": 0})");
  folder.write("pickle.pt", std::string("PK\x03\x04", 4) + "and so on, as torch.save() writes it");
  std::string counted, whole = read_text(fixture / "vocabulary.txt");
  for (const std::string& word : lines_of(whole)) counted += word + " 17\n";
  folder.write("counted.txt", counted);
  std::string other = whole;
  folder.write("no-eos.txt", other.replace(other.find("<eos>"), 5, "</s>"));

  // A file of the fixture's tensors after a change.
  const auto changed = [&](const std::string& name, const std::function<void(TensorsByName&)>& change) {
    TensorsByName tensors = tensors_of(fixture / "torch.safetensors");
    change(tensors);
    write_tensors(folder / (name + ".safetensors"), tensors);
  };
  const auto with = [&](const std::string& name, const std::string& tensor, const Shape& shape) {
    changed(name, [&](TensorsByName& t) { t[tensor] = Tensor::zeros(shape); });
  };
  const auto without = [&](const std::string& name, const std::string& tensor) {
    changed(name, [&](TensorsByName& t) { REQUIRE(t.erase(tensor) == 1); });
  };
  with("gru", "rnn.weight_hh_l0", {24, 8});
  with("projected", "rnn.weight_hr_l0", {4, 8});
  with("input", "rnn.weight_ih_l0", {32, 7});
  with("decoder", "decoder.weight", {17, 9});
  with("vector", "encoder.weight", {17});
  with("extra", "norm.weight", {8});
  with("both", "fc.weight", {17, 8});
  without("no-embedding", "encoder.weight");
  without("no-decoder", "decoder.weight");
  changed("no-lstm", [](TensorsByName& t) {
    std::erase_if(t, [](const auto& pair) { return pair.first.starts_with("rnn"); });
  });
  changed("good", [](TensorsByName&) {});

  struct Case {
    Words words;
    std::vector<std::string> parts;
  };
  const auto file = [](const std::string& name) { return Words{name + ".safetensors"} + as_text; };
  const auto good = [](const Words& more) { return Words{"good.safetensors"} + more; };
  const auto words = [&](const std::string& name) { return good({"--vocabulary", name}); };
  const std::vector<Case> cases = {
      {file("gru"), {"gru.safetensors", "'rnn.weight_ih_l0' [32, 6]", "[24, 6]"}},
      {file("projected"), {"'rnn.weight_hr_l0' [4, 8]", "'rnn.weight_hh_l0' [32, 8]", "projection"}},
      {file("input"), {"'rnn.weight_ih_l0' [32, 7]", "'encoder.weight' [17, 6]", "[32, 6]"}},
      {file("decoder"), {"'decoder.weight' [17, 9]", "'encoder.weight' [17, 6]", "[17, 8]"}},
      {file("vector"), {"'encoder.weight' [17]", "matrix"}},
      {file("extra"), {"'norm.weight' [8]", "--rename 'norm.weight=", "leaves it out"}},
      {file("both"), {"'decoder.weight'", "'fc.weight'", "--rename"}},
      {file("no-embedding"), {"'embedding.weight'", "rnn.weight_ih_l0", "--rename"}},
      {file("no-decoder"), {"'decoder.weight'", "'encoder.weight' [17, 6]", "8"}},
      {file("no-lstm"), {"'lstm.weight_hh_l0'", "decoder.bias"}},
      {file("good") + Words{"--set", "model.layer_norm=true"}, {"layer_norm", "PyTorch"}},
      {file("good") + Words{"--set", "model.residual=true", "--set", "model.zoneout_h=0.1"},
       {"residual", "zoneout_h", "PyTorch"}},
      {file("good") + Words{"--set", "data.bppt=9"}, {"--set", "data.bptt"}},
      {file("good") + Words{"--recipe", "dmo"}, {"dmo", "demo"}},
      {file("good") + Words{"--recipe", "demo", "--data", "x"}, {"--vocabulary", "--data"}},
      {good({"--recipe", "demo"}), {"built-in grammar", "17 rows"}},
      {good({}), {"--vocabulary", "--data"}},
      {good({"--data", "nowhere"}), {"nowhere"}},
      {words("short.txt"), {"short.txt has 3 words", "good.safetensors has 17 rows"}},
      {words("gap.txt"), {"gap.txt:2", "empty line"}},
      {words("twice.txt"), {"twice.txt:3", "'the'", "line 1"}},
      {words("counted.txt"), {"counted.txt: word 1 is 'the 17'", "no word of a text has a blank in it"}},
      {file("good") + Words{"--set", "data.level=char"},
       {"vocabulary.txt: word 1 is 'the'", "data.level = \"char\" has characters"}},
      {words("binary.txt"), {"binary.txt:2", "UTF-8"}},
      {words("zero.txt"), {"zero.txt:2: a NUL byte"}},
      {words("empty.txt"), {"empty.txt", "empty"}},
      {words("object.json"), {"object.json", "JSON array"}},
      {words("no-eos.txt"), {"no-eos.txt", "<eos>"}},
      {words("nowhere.txt"), {"nowhere.txt", "there is no such file"}},
      {words("."), {"folder"}},
  };
  const auto before = folder.listing();
  const auto refused = [&](const Words& all, const std::vector<std::string>& parts) {
    const ProgramRun run = run_program(program_named("ptb"), all, folder.path());
    const std::string command = fmt::format("ptb {}\n  -> {}", fmt::join(all, " "), run.err);
    CHECK_MESSAGE(run.code == 2, command);
    CHECK_MESSAGE(lines_of(run.err).size() == 1, command);
    CHECK_MESSAGE(run.out.empty(), command);
    const std::string missing = lacks(run.err.substr(0, run.err.find('\n')), parts);
    CHECK_MESSAGE(missing.empty(), command, missing);
  };
  for (const Case& one : cases) refused(Words{"import", "--out", "new.safetensors"} + one.words, one.parts);
  CHECK(folder.listing() == before);
}
