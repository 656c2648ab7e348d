// `ptb` with recurrent layers that are not the plain LSTM: from the recipe to the file and back.
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "tests/examples/ptb.h"
#include "tests/support.h"
#include "tests/torch_files.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

Words set(const Words& assignments) {
  Words words;
  for (const std::string& assignment : assignments) words = words + Words{"--set", "model." + assignment};
  return words;
}

// One line, exit code 2, all parts.
void check_refused(const Words& words, const Folder& folder, const Words& parts) {
  const ProgramRun run = ptb(words, folder.path());
  const std::string command = fmt::format("ptb {}\n  -> {}", fmt::join(words, " "), run.err);
  CHECK_MESSAGE(run.code == 2, command);
  const std::string missing = lacks(run.err.substr(0, run.err.size() - 1), parts);
  CHECK_MESSAGE(missing.empty(), command, missing);
}

const Words everything_of_lstm = {"projection=12",
                                  "layer_norm=true",
                                  "peepholes=true",
                                  "gate_activation=hard_sigmoid",
                                  "cell_activation=softsign",
                                  "mogrifier=3",
                                  "mogrifier_rank=4",
                                  "residual=true",
                                  "recurrent_dropout=0.1",
                                  "weight_drop=0.1",
                                  "zoneout_h=0.1",
                                  "zoneout_c=0.1",
                                  "locked_dropout=true",
                                  "tied=true"};
const Words everything_of_gru = {"cell=gru",      "recurrent_dropout=0.1", "weight_drop=0.1", "zoneout_h=0.1",
                                 "residual=true", "locked_dropout=true",   "mogrifier=2"};

}  // namespace

TEST_CASE("each option can be asked for, changes the model, and its file is evaluated and lets write") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  std::vector<double> found;
  for (const Words& options :
       {Words{}, Words{"cell=gru"}, Words{"cell=rnn"}, Words{"cell=rnn", "nonlinearity=relu"},
        Words{"layer_norm=true"}, Words{"peepholes=true"}, Words{"projection=8"},
        Words{"gate_activation=hard_sigmoid"}, Words{"cell_activation=relu", "layer_norm=true"},
        Words{"cell_activation=hard_tanh"}, Words{"cell_activation=softsign"}, Words{"residual=true"},
        Words{"mogrifier=4"}, Words{"mogrifier=4", "mogrifier_rank=5"}, everything_of_lstm, everything_of_gru,
        everything_of_gru + Words{"engine=composed"}}) {
    CAPTURE(options);
    const std::string out = fmt::format("run{}", found.size()), file = out + "/last.safetensors";
    const auto trained = ptb_json(Words{"train", "tiny.toml", "--out", out} + set(options), folder.path());
    found.push_back(trained["test_perplexity"].get<double>());
    CHECK(found.back() < 150);
    if (options.size() > 0 && options.back() == "engine=composed")  // may round as the fused one does
      CHECK(found.back() == doctest::Approx(found[found.size() - 2]).epsilon(0.01));
    else
      CHECK(std::ranges::count(found, found.back()) == 1);
    CHECK(ptb_json({"evaluate", file}, folder.path())["test_perplexity"] == trained["test_perplexity"]);
    const std::string written = ptb_out({"generate", file, "--words", "30"}, folder.path());
    CHECK(written.size() > 30);
    CHECK(written == ptb_out({"generate", file, "--words", "30"}, folder.path()));
  }
}

TEST_CASE("a killed training goes on in the same bits, and the cell cannot change under it") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  for (const Words& options : {everything_of_lstm, everything_of_gru}) {
    const std::string name = options[0].substr(0, 4);
    const Words train = Words{"train", "tiny.toml", "--quiet"} + set(options);
    ptb_out(train + Words{"--out", name + "-whole", "--set", "training.epochs=2"}, folder.path());
    ptb_out(train + Words{"--out", name}, folder.path());
    ptb_out({"resume", name, "--quiet", "--set", "training.epochs=2"}, folder.path());
    CHECK(read_text(folder / name / "last.safetensors") ==
          read_text(folder / (name + "-whole") / "last.safetensors"));
  }
  check_refused({"resume", "cell", "--set", "model.cell=lstm", "--set", "training.epochs=3"}, folder,
                {"'model.cell' is \"gru\"", "\"lstm\""});
  check_refused({"resume", "proj", "--set", "model.peepholes=false", "--set", "training.epochs=3"}, folder,
                {"'model.peepholes' is true", "cannot go on with false"});
}

TEST_CASE("the file has PyTorch's names where it has the cell, and says for which modules it is") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto file = [&](const std::string& name, const Words& options) {
    ptb_out(Words{"train", "tiny.toml", "--quiet", "--out", name} + set(options), folder.path());
    return SafetensorsFile(folder / name / "last.safetensors");
  };
  const auto shape = [](const SafetensorsFile& f, const std::string& name) {
    const auto* entry = f.find(name);
    return entry ? entry->shape_text() : "none";
  };
  const SafetensorsFile gru = file("gru", {"cell=gru"});
  const std::string vocab = std::to_string(gru.entry("embedding.weight").shape[0]);
  CHECK(shape(gru, "gru.weight_ih_l0") == "[48, 12]");
  CHECK(shape(gru, "gru.weight_hh_l1") == "[48, 16]");
  CHECK(shape(gru, "gru.bias_ih_l1") == "[48]");
  CHECK(shape(gru, "gru.bias_hh_l1") == "[48]");
  CHECK(gru.find("gru.bias_hn_l1") == nullptr);
  const Tensor second = gru.load("gru.bias_hh_l1");  // zeros for r and z, the bias inside the reset for n
  CHECK(same_bits(second.slice(0, 32), Tensor::zeros({32})));
  CHECK(std::ranges::none_of(second.slice(32, 48).span(), [](real v) { return v == 0; }));
  CHECK(gru.metadata().at("pytorch") == "embedding = nn.Embedding(" + vocab +
                                            ", 12); gru = nn.GRU(12, 16, 2); " + "decoder = nn.Linear(16, " +
                                            vocab + ")");

  const SafetensorsFile plain = file("plain", {"cell=rnn", "nonlinearity=relu"});
  CHECK(shape(plain, "rnn.weight_ih_l0") == "[16, 12]");
  CHECK(shape(plain, "rnn.bias_hh_l1") == "[16]");
  CHECK(lacks(plain.metadata().at("pytorch"), {"rnn = nn.RNN(12, 16, 2, nonlinearity='relu')"}) == "");
  // Shapes do not say which function it is.
  through_torch(folder / "plain/last.safetensors", folder / "plain.safetensors");
  ptb_out({"import", "plain.safetensors", "--recipe", "tiny.toml", "--set", "model.nonlinearity=relu",
           "--out", "back.safetensors"},
          folder.path());
  CHECK(ptb_json({"evaluate", "back.safetensors"}, folder.path())["test_perplexity"] ==
        ptb_json({"evaluate", "plain/last.safetensors"}, folder.path())["test_perplexity"]);

  const SafetensorsFile projected = file("projected", {"projection=8", "weight_drop=0.1"});
  CHECK(shape(projected, "lstm.weight_hr_l0") == "[8, 16]");
  CHECK(shape(projected, "lstm.weight_hh_l0") == "[64, 8]");
  CHECK(shape(projected, "decoder.weight") == "[" + vocab + ", 8]");
  CHECK(projected.metadata().at("pytorch").find("nn.LSTM(12, 16, 2, proj_size=8)") != std::string::npos);

  const SafetensorsFile other = file("other", {"residual=true", "zoneout_h=0.1"});
  CHECK(other.metadata().at("pytorch") == "none: nn.LSTM does not know zoneout_h, residual");
}

TEST_CASE("what makes no sense together is refused by the names of the keys") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto refused = [&](const Words& options, const Words& parts) {
    check_refused(Words{"train", "tiny.toml"} + set(options), folder, parts);
  };
  for (const char* option :
       {"projection=8", "layer_norm=true", "peepholes=true", "gate_activation=hard_sigmoid",
        "cell_activation=relu", "zoneout_c=0.1", "forget_bias=1"}) {
    const std::string key = "model." + std::string(option).substr(0, std::string(option).find('='));
    refused({"cell=gru", option}, {"--set", "'" + key + "'", "LSTM", "GRU"});
  }
  refused({"projection=16"}, {"model.projection", "16", "model.hidden"});
  refused({"last_hidden=8", "projection=9"}, {"model.last_hidden", "model.projection"});
  refused({"last_hidden=8", "residual=true"}, {"model.last_hidden", "model.residual"});
  refused({"cell=gru", "last_hidden=8"}, {"model.last_hidden", "GRU"});
  refused({"layers=1", "residual=true"}, {"model.residual", "model.layers above 1"});
  refused({"projection=8", "tied=true"}, {"model.tied", "model.projection (8)", "model.embedding (12)"});
  refused({"mogrifier_rank=4"}, {"model.mogrifier_rank", "model.mogrifier is 0"});
  refused({"mogrifier=2", "mogrifier_rank=16"}, {"'model.mogrifier_rank' (16)", "model.hidden (16)"});
  refused({"mogrifier=-1"}, {"'model.mogrifier'", "in [0, 100], got -1"});
  refused({"cell=mgu"}, {"model.cell", "lstm, gru, rnn"});
  refused({"gate_activation=tanh"}, {"model.gate_activation", "sigmoid, hard_sigmoid"});
  refused({"cell_activation=sine"}, {"model.cell_activation", "tanh, relu, hard_tanh, softsign"});
}

TEST_CASE("explain says what each option costs that is switched on, and nothing where none is") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto explain = [&](const Words& options) {
    return ptb_out(Words{"explain", "tiny.toml"} + set(options), folder.path());
  };
  CHECK(explain({"dropout=0", "cell=gru"}).find("  none: the plain GRU\n") != std::string::npos);

  // Two layers of 16 in windows of 10 x 10.
  const std::string out =
      explain({"dropout=0.2", "locked_dropout=true", "weight_drop=0.5", "layer_norm=true", "peepholes=true"});
  const auto line = [&](const std::string& option) {
    for (const std::string& text : lines_of(out.substr(out.find("Options of the"))))
      if (text.starts_with("  " + option + " ")) return text;
    return std::string();
  };
  CHECK(lacks(line("weight_drop"), {"0.5"}) == "");
  CHECK(lacks(line("layer_norm"), {"true"}) == "");
  CHECK(lacks(line("dropout"), {"0.2, locked"}) == "");
  CHECK(out.find("the plain LSTM being 1") != std::string::npos);
  CHECK(out.find("windows of 10 x 10") != std::string::npos);
  const auto held = [&](const std::string& option) {  // the last but two words before what the option does
    std::istringstream words(line(option));
    std::string name, figure;
    words >> name;
    while (words >> figure && figure.back() != 'B') {}
    return figure;
  };
  // 100 tokens of 2·16 units: nine numbers of each are kept, in blocks that waste a fifth at most.
  const double norm = std::stod(held("layer_norm"));
  CHECK(held("layer_norm").ends_with("kB"));
  CHECK(norm >= 100 * 2 * 16 * 9 * 4 / 1000.0);
  CHECK(std::stod(held("together")) >= norm);
  const std::string memory = out.substr(out.find("options of the layers"));
  CHECK(lacks(lines_of(memory)[0], {held("together")}) == "");

  // Two layers are measured; of four as much again is held.
  const std::string four = explain({"dropout=0", "layers=4", "layer_norm=true"});
  CHECK(four.find("2 layers, windows of 10 x 10") != four.npos);
  CHECK(std::stod(four.substr(four.find("true", four.find("\n  layer_norm")) + 4)) ==
        doctest::Approx(2 * norm).epsilon(0.01));

  const std::string projected = explain({"dropout=0", "projection=8"});
  CHECK(lacks(lines_of(projected.substr(projected.find("Products")))[3], {"projection", " 512 "}) == "");

  // Three times 4·(28 + 32) elements of matrices.
  const std::string mogrified = explain({"dropout=0", "mogrifier=3", "mogrifier_rank=4"});
  const auto row = [](const std::string& text, const char* table, size_t k) {
    return lines_of(text.substr(text.find(table)))[k];
  };
  CHECK(lacks(row(mogrified, "Options of the", 2), {"mogrifier", "3, rank 4"}) == "");
  CHECK(lacks(row(mogrified, "Products", 1), {"inputs of the layers", "a product for each step"}) == "");
  CHECK(lacks(row(mogrified, "Products", 3), {"mogrifier", " 1.44k "}) == "");
}

TEST_CASE("--profile has rows for the options of the recurrent layers, and their shares") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  for (const Words& options : {Words{"weight_drop=0.5"}, Words{"weight_drop=0.5", "cell=gru"}}) {
    const std::string out =
        ptb_out(Words{"train", "tiny.toml", "--dry-run", "--profile"} + set(options), folder.path());
    CHECK(out.find("\nrecurrent: weight_drop ") != std::string::npos);
    CHECK(out.find("Of the recurrent layers' ") != std::string::npos);
  }
  CHECK(ptb_out({"train", "tiny.toml", "--dry-run", "--profile"}, folder.path()).find("recurrent: ") ==
        std::string::npos);
}

TEST_CASE("evaluate --cache: beside the model's own perplexity that of its mixture with a neural cache") {
  const Folder folder;
  folder.write("tiny.toml", tiny + "\n[schedule]\nkind = \"constant\"\n");
  const std::string file = "run/last.safetensors";
  // Words that no grammar tells beforehand, each line said three times over.
  RandomStream random(3, "words");
  std::string text;
  for (int i = 0; i < 60; ++i) {
    std::string line;
    for (int word = 0; word < 6; ++word) line += fmt::format(" w{}", random.below(40));
    for (int again = 0; again < 3; ++again) text += line + "\n";
  }
  for (const char* split : {"train", "valid", "test"}) folder.write(fmt::format("text/{}.txt", split), text);
  const Words data = {"--data", "text"};
  ptb_out(Words{"train", "tiny.toml", "--out", "run", "--set", "data.corpus=text"} + data, folder.path());
  const auto evaluate = [&](const Words& more) {
    return ptb_json(Words{"evaluate", file} + data + more, folder.path());
  };
  const auto plain = evaluate({}), none = evaluate({"--cache", "lambda=0"}),
             cache = evaluate({"--cache", "window=50,theta=0.5,lambda=0.2"}),
             defaults = evaluate({"--cache", "window=500"}),
             longer = evaluate({"--cache", "window=1000000,theta=0.5,lambda=0.2"});
  CHECK_FALSE(plain.contains("cache"));
  CHECK(none["cache"]["perplexity"] == none["test_perplexity"]);
  // Means of single precision there, of double here.
  CHECK(none["test_perplexity"].get<double>() ==
        doctest::Approx(plain["test_perplexity"].get<double>()).epsilon(1e-5));
  CHECK(cache["test_perplexity"] == none["test_perplexity"]);
  CHECK(cache["tokens"] == plain["tokens"]);
  CHECK(cache["cache"]["window"] == 50);
  CHECK(cache["cache"]["theta"] == 0.5);
  CHECK(cache["cache"]["lambda"] == 0.2);
  CHECK(cache["cache"]["perplexity"].get<double>() < 0.9 * cache["test_perplexity"].get<double>());
  CHECK(longer["cache"]["perplexity"] != cache["cache"]["perplexity"]);
  CHECK(defaults["cache"]["theta"] == 1);
  CHECK(defaults["cache"]["lambda"] == 0.1);
  CHECK(evaluate({"--cache"})["cache"] == defaults["cache"]);
  const std::string said = ptb_out(Words{"evaluate", file, "--cache", "theta=2"} + data, folder.path());
  CHECK(said.find("with the cache of the last 500 steps, theta 2, lambda 0.1") != std::string::npos);

  const auto refused = [&](const Words& more, const Words& parts) {
    check_refused(Words{"evaluate", file} + data + more, folder, parts);
  };
  refused({"--cache", "window=0"}, {"window 0"});
  refused({"--cache", "window=1.5"}, {"window=1.5", "'1.5'"});
  refused({"--cache", "theta=-1"}, {"theta -1"});
  refused({"--cache", "theta=much"}, {"theta=much"});
  refused({"--cache", "lambda=1"}, {"lambda 1", "[0, 1)"});
  refused({"--cache", "windov=3"}, {"windov=3", "did you mean 'window'?"});
  refused({"--cache="}, {"--cache"});
  refused({"--cache=500"}, {"--cache 500", "window=N"});
  refused({"--cache", "500"}, {"'500' is too much", "--cache before it"});
  refused({"--cache", "window=5,window=6"}, {"'window'", "twice"});
  refused({"--cache", "theta=1", "--batch", "2"}, {"--cache", "--batch 1", "streams"});
}

TEST_CASE("explain: the memory of a training, by hand") {
  const Folder folder;
  const auto memory = [&](const Words& sets) {  // the column of figures, by what they are of
    Words words = {"explain", "ptb-small", "--engine", "fused"};
    for (const std::string& set : sets) words = words + Words{"--set", set};
    const std::string out = ptb_out(words, folder.path());
    std::map<std::string, std::string> figures;
    for (const std::string& line : lines_of(out.substr(out.find("\nMemory") + 1)))
      if (line.size() > 39) figures.try_emplace(line.substr(2, line.find("  ", 2) - 2), line.substr(30, 9));
    for (auto& [name, figure] : figures) figure.erase(0, figure.find_first_not_of(' '));
    return figures;
  };
  // 4,651,600 weights of 4 bytes; 20 streams of 20 steps are 400 rows.
  const auto of = memory({});
  CHECK(of.at("weights") == "18.6M");
  CHECK(of.at("gradients") == "18.6M");
  CHECK(of.at("optimizer") == "0");
  CHECK(of.at("a window's values") == "4.16M");     // 400 (200 + 2 layers of 6 * 200) * 4
  CHECK(of.at("a window's gradients") == "1.92M");  // 400 * 6 * 200 * 4
  CHECK(of.at("logits") == "24.4M");  // 400 rows of 10,000, their inputs, 10,000 (200 + 1) of the decoder
  CHECK(memory({"optimizer.momentum=0.9"})["optimizer"] == "18.6M");
  CHECK(memory({"optimizer.kind=adam"})["optimizer"] == "37.2M");
  CHECK(memory({"model.cell=gru"})["a window's values"] == "4.80M");  // seven numbers for a unit
}

TEST_CASE(
    "explain: the windows of an epoch are those of the tokens that are used, with the treebank's files or without") {
  const Folder folder;
  const auto windows = [&](const Words& sets) {
    Words words = {"explain", "ptb-small"};
    for (const std::string& set : sets) words = words + Words{"--set", set};
    const std::string out = ptb_out(words, folder.path());
    const size_t end = out.find(" windows an epoch");
    REQUIRE(end != out.npos);
    return out.substr(out.rfind(' ', end - 1) + 1, end - out.rfind(' ', end - 1) - 1);
  };
  CHECK(windows({}) == "2324");                 // 929,589 tokens: 20 streams of 46,479 steps, 20 to a window
  CHECK(windows({"data.limit=8001"}) == "20");  // 400 steps
  CHECK(windows({"data.limit=8021"}) == "21");  // 401
  CHECK(windows({"data.limit=1000000"}) == "2324");
}
