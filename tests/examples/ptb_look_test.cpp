// ptb look, as a user meets it: the page of every kind of model has the right numbers, hostile words stay words, and what
// cannot be shown is refused. tests/browser/look_test.py has a browser read the page.
#include <cmath>
#include <set>

#include "data/text/grammar.h"
#include "tests/examples/ptb.h"
#include "tests/look_page.h"
#include "tests/support.h"
#include "tests/torch_files.h"

using namespace unroll;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

double perplexity_of(const Json& model) {
  double bits = 0;
  for (const double b : model.at("bits")) bits += b;
  return std::exp2(bits / static_cast<double>(model.at("bits").size()));
}

Json page_of(const Words& words, const Folder& folder, const std::string& out = "look.html") {
  fs::remove(folder / out);
  ptb_out(Words{"look"} + words + Words{"--out", out}, folder.path());
  const auto models = models_in(read_text(folder / out));
  REQUIRE(!models.empty());
  return models[0];
}

}  // namespace

TEST_CASE(
    "look: models of PyTorch's, each kind of cell: the text's perplexity is what PyTorch had, and the panels fit each other") {
  const Folder folder;
  const fs::path fixture = fs::absolute("tests/fixtures/language_model");
  for (const std::string kind : {"", "gru", "rnn", "projected"}) {
    CAPTURE(kind);
    const fs::path from = kind.empty() ? fixture : fixture / kind;
    const std::string file = (kind.empty() ? "lstm" : kind) + ".safetensors";
    ptb_out(Words{"import", (from / "torch.safetensors").string(), "--vocabulary",
                  (fixture / "vocabulary.txt").string(), "--set", "data.corpus=text", "--out", file} +
                (kind == "rnn" ? Words{"--set", "model.nonlinearity=relu"} : Words{}),
            folder.path());
    const Json model = page_of({file, "--text", read_text(fixture / "test.txt")}, folder);
    const double expected = Json::parse(read_text(from / "perplexity.json"))["float64"];
    CHECK(perplexity_of(model) == doctest::Approx(expected).epsilon(1e-4));
    CHECK(model["written"][8] == "the");
    CHECK((model["written"][9] == "zebra" && model["target"][9] == "<unk>"));
    CHECK(model["target"].back() == "<eos>");

    const size_t steps = model["target"].size();
    const auto embedding = decoded<float>(model["reach"]["embedding"]["data"]);
    REQUIRE(embedding.size() == steps * (steps + 1) / 2);
    double largest = 0;
    for (const float v : embedding) largest = std::max(largest, static_cast<double>(v));
    for (size_t t = 0; t < steps; ++t) {
      // Two ways to the same number: a tape of all steps, and one of the last.
      const double own = model["tape"]["norms"][t]["gradients"][0];
      CHECK(std::abs(embedding[t * (t + 1) / 2 + t] - own) < 1e-4 * largest);
      const double nats = model["tape"]["norms"][t]["values"].back();
      CHECK(nats == doctest::Approx(model["bits"][t].get<double>() * std::log(2.0)).epsilon(2e-4));
    }
    for (const Json& layer : model["layers"]) {
      if (kind != "rnn") check_steps(layer, model["cell"], steps);
      if (kind == "projected") CHECK(values_of(layer, "h").units == 5);
      if (kind == "rnn") CHECK(layer["values"].size() == 1);
      CHECK(std::set<int>(layer["order"].begin(), layer["order"].end()).size() ==
            layer["units"].get<size_t>());
    }
    CHECK_FALSE(model.contains("source"));
    CHECK_FALSE(model.contains("agreement"));
  }
}

TEST_CASE(
    "look: the grammar's demo has the source's own probabilities, agreement, and units by what they tell") {
  const Folder& folder = trained();
  const std::string text = "the dog that the men near the trucks wash often chases the cats .";
  const Json model = page_of({"model/last.safetensors", "--text", text}, folder);
  REQUIRE(model["source"].size() == model["target"].size());
  double bits = 0;
  for (const Json& step : model["source"]) bits += step["bits"].get<double>();
  // The probability of the sentence, which another algorithm computes (tests/data/grammar_structure_test.cpp compares them).
  CHECK(bits > 20);
  CHECK(bits < 80);
  for (size_t t = 0; t < model["target"].size(); ++t) {
    double sum = 0, last = 1;
    for (const Json& next : model["next"][t]) {
      CHECK(next[1].get<double>() <= last);
      last = next[1], sum += last;
    }
    CHECK(sum <= 1 + 1e-4);
    const int rank = model["rank"][t];
    if (rank <= 6) CHECK(model["next"][t][static_cast<size_t>(rank - 1)][0] == model["target"][t]);
  }
  REQUIRE(model["agreement"]["by_attractors"].size() == 4);
  const Json wrong = page_of({"model/last.safetensors", "--text", "dog the runs .\nthe dog runs ."}, folder);
  CHECK(wrong["source"][0]["bits"].is_null());
  CHECK(wrong["source"][1]["next"].empty());
  CHECK(wrong["source"][6]["bits"].get<double>() > 0);  // the next sentence is the grammar's again
}

TEST_CASE("look: two models on one text, of other cells and other kinds of models") {
  const Folder& folder = trained();
  const std::vector<Words> kinds = {{"model.cell=gru"},
                                    {"model.cell=rnn"},
                                    {"model.tied=true", "model.embedding=16"},
                                    {"model.projection=5", "training.keep_every_epochs=1"}};
  int number = 0;
  for (const Words& options : kinds) {
    Words words = {"train", "tiny.toml", "--out", fmt::format("kind-{}", ++number)};
    for (const std::string& option : options) words = words + Words{"--set", option};
    ptb_out(words, folder.path());
  }
  for (int n = 1; n <= number; ++n) {
    CAPTURE(n);
    const std::string file = fmt::format("kind-{}/{}.safetensors", n, n == 4 ? "epoch-1" : "last");
    fs::remove(folder / "pair.html");
    ptb_out({"look", "model/last.safetensors", "--against", file, "--text", "every man sleeps .", "--out",
             "pair.html"},
            folder.path());
    const auto models = models_in(read_text(folder / "pair.html"));
    REQUIRE(models.size() == 2);
    CHECK(models[0]["title"] == "model/last");
    CHECK(models[1]["title"] == fmt::format("kind-{}/{}", n, n == 4 ? "epoch-1" : "last"));
    CHECK(models[0]["written"] == models[1]["written"]);
    CHECK(models[1]["reach"].contains("c") == (n > 2));
  }
  // Two runs of one name, in two folders.
  fs::create_directories(folder / "other/model");
  fs::copy(folder / "model/last.safetensors", folder / "other/model/last.safetensors");
  ptb_out({"look", "model/last.safetensors", "--against", "other/model/last.safetensors", "--text",
           "every man .", "--out", "namesakes.html"},
          folder.path());
  const auto models = models_in(read_text(folder / "namesakes.html"));
  CHECK(models.at(0)["title"] == "model/last.safetensors");
  CHECK(models.at(1)["title"] == "other/model/last.safetensors");
}

TEST_CASE("look: characters, and words that would be markup or turn the page around, stay what they are") {
  const Folder folder;
  const std::vector<std::string> hostile = {
      "</script>",   "<script>alert(1)</script>", "\"quoted\"",     "a&amp;b", "'", "<!--", "]]>", "שלום",
      "\u202eright", std::string(300, 'x'),       "tab\x01\x1b[31m"};
  std::string text;
  for (const std::string& word : hostile) text += word + " ";
  std::string train, line = text + "<unk> \n";
  for (int i = 0; i < 40; ++i) train += line;
  for (const char* split : {"train", "valid", "test"}) folder.write(fmt::format("text/{}.txt", split), train);
  folder.write("tiny.toml", tiny);
  for (const bool letters : {false, true}) {
    const std::string run = letters ? "letters" : "words";
    ptb_out({"train", "tiny.toml", "--out", run, "--data", "text", "--set", "data.corpus=text", "--set",
             letters ? "data.level=char" : "data.level=word"},
            folder.path());
    const std::string said = letters ? "tab \"</script>\" & שלום" : text;
    ptb_out({"look", run + "/last.safetensors", "--text", said, "--out", run + ".html"}, folder.path());
    const std::string page = read_text(folder / (run + ".html"));
    const auto models = models_in(page);
    REQUIRE(models.size() == 1);
    if (!letters)
      for (size_t i = 0; i < hostile.size(); ++i) CHECK(models[0]["written"][i] == hostile[i]);
    else
      CHECK(models[0]["written"][3] == " ");
    // Two scripts: the numbers and the page's own.
    size_t scripts = 0;
    for (size_t at = page.find("<script"); at != page.npos; at = page.find("<script", at + 1)) ++scripts;
    CHECK(scripts == 2);
    CHECK(page.find("http://") == page.find("http://www.w3.org/2000/svg"));
    CHECK(page.find("https://") == page.npos);
  }
}

TEST_CASE("look: what is refused, in one line, and nothing is written") {
  const Folder& folder = trained();
  folder.write("there.html", "mine");
  fs::remove(folder / "look.html");
  std::string long_text;
  for (int i = 0; i < 401; ++i) long_text += "the ";
  const struct {
    Words words;
    std::vector<std::string> parts;
  } cases[] = {
      {{"look", "model/last.safetensors"}, {"--text"}},
      {{"look", "model/last.safetensors", "--text", " "}, {"--text has no words"}},
      {{"look", "model/last.safetensors", "--text", long_text}, {"401 words", "400 at most"}},
      {{"look", "model/last.safetensors", "--text", "zebra"},
       {"model/last.safetensors: --text:1:", "zebra", "vocabulary"}},
      {{"look", "model/last.safetensors", "--text", "the dog", "--out", "there.html"},
       {"there.html is there already", "(--out FILE names another)"}},
      {{"look", "nowhere.safetensors", "--text", "the dog"}, {"nowhere.safetensors"}},
      // Faults that prevent the page are reported before a file that stands in its place.
      {{"look", "nowhere.safetensors", "--text", "the dog", "--out", "there.html"}, {"no such file"}},
      {{"look", "model/last.safetensors", "--text", "zebra", "--out", "there.html"}, {"zebra"}},
      {{"look", "model/last.safetensors", "--text", "the dog", "--against", "nowhere.safetensors"},
       {"nowhere.safetensors"}},
  };
  for (const auto& one : cases) {
    const ProgramRun run = ptb(one.words, folder.path());
    CHECK(run.code == 2);
    CHECK(lines_of(run.err).size() == 1);
    CHECK_MESSAGE(lacks(lines_of(run.err).at(0), one.parts) == "", run.err);
  }
  CHECK(read_text(folder / "there.html") == "mine");
  CHECK_FALSE(fs::exists(folder / "look.html"));
}

TEST_CASE(
    "look: blank lines, which one of two models takes for ends of documents, are refused; other texts are not") {
  const Folder folder;
  const fs::path fixture = fs::absolute("tests/fixtures/language_model");
  for (const std::string reset : {"none", "document"})
    ptb_out({"import", (fixture / "torch.safetensors").string(), "--vocabulary",
             (fixture / "vocabulary.txt").string(), "--set", "data.corpus=text", "--set",
             "data.reset=" + reset, "--out", reset + ".safetensors"},
            folder.path());
  const auto look = [&](const std::string& text) {
    return ptb({"look", "none.safetensors", "--against", "document.safetensors", "--text", text},
               folder.path());
  };
  const ProgramRun refused = look("the cat\n\nthe dog");
  CHECK(refused.code == 2);
  CHECK_MESSAGE(
      lacks(lines_of(refused.err).at(0), {"none.safetensors", "document.safetensors", "blank line"}) == "",
      refused.err);
  CHECK_FALSE(fs::exists(folder / "look.html"));
  CHECK(look("the cat\nthe dog").code == 0);
}

// A plain network that counts. Unit k of its layer is relu(own[k] · h + the word's feature k).
using Rows = std::vector<std::vector<real>>;
void write_counter(const Folder& folder, const std::string& name, const Words& words, const Rows& features,
                   const std::vector<real>& own, const std::vector<real>& bias, const Words& options) {
  const int count = static_cast<int>(words.size()), width = static_cast<int>(own.size());
  Tensor table({count, width}), to = Tensor::zeros({width, width}), on = Tensor::zeros({width, width});
  for (int w = 0; w < count; ++w)
    for (int k = 0; k < width; ++k)
      table.data()[w * width + k] = features[static_cast<size_t>(w)][static_cast<size_t>(k)];
  for (int k = 0; k < width; ++k)
    to.data()[k * (width + 1)] = 1, on.data()[k * (width + 1)] = own[static_cast<size_t>(k)];
  write_tensors(folder / "torch.safetensors", {{"embedding.weight", table},
                                               {"rnn.weight_ih_l0", to},
                                               {"rnn.weight_hh_l0", on},
                                               {"decoder.weight", Tensor::zeros({count, width})},
                                               {"decoder.bias", tensor({count}, bias)}});
  folder.write("words.json", Json(words).dump());
  ptb_out(Words{"import", "torch.safetensors", "--vocabulary", "words.json", "--set",
                "model.nonlinearity=relu", "--out", name} +
              options,
          folder.path());
}
constexpr real never = -1000;  // sets a count to 0, or makes a word unlikely

TEST_CASE("look: of a network that counts the page offers the units, by what was read up to each word") {
  const Folder folder;
  struct Offer {
    std::string what, told;
    int unit;
  };
  const auto check_offered = [&](const Words& words, const std::string& from,
                                 const std::vector<Offer>& expected) {
    const Json offered = page_of(words, folder)["offered"];
    REQUIRE_MESSAGE(offered.size() == expected.size(), offered.dump());
    for (size_t k = 0; k < expected.size(); ++k) {
      CHECK(offered[k]["what"] == expected[k].what);
      CHECK_MESSAGE(offered[k]["told"] == expected[k].told, offered[k].dump());
      CHECK((offered[k]["layer"] == 0 && offered[k]["unit"] == expected[k].unit));
      CHECK(offered[k]["how"].get<std::string>().ends_with(from));
    }
  };
  // A capital was read; between quotes, which the model itself never writes; words since the line began; letters of the last one.
  const std::string said = "The cat sät `` a Dog ''\nÄ cat `` sät\nthe Dog sät on a cat\n";
  write_counter(folder, "words.safetensors",
                {"<eos>", "The", "the", "cat", "sät", "a", "Ä", "Dog", "on", "``", "''"},
                Rows{{0, never, never, 0},
                     {1, 0, 1, 3},
                     {0, 0, 1, 3},
                     {0, 0, 1, 3},
                     {0, 0, 1, 3},
                     {0, 0, 1, 1},
                     {1, 0, 1, 1},
                     {1, 0, 1, 3},
                     {0, 0, 1, 2},
                     {0, 1, 1, 2},
                     {0, never, 1, 2}},
                {0, 1, 1, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, never, never}, {"--set", "data.corpus=text"});
  check_offered({"words.safetensors", "--text", said}, "words: the text, and what the model writes by itself",
                {{"a word with a capital was just read", "100.0 %", 0},
                 {"inside quotes", "100.0 %", 1},
                 {"position in the sentence", "r 1.00", 2},
                 {"letters of the word just read", "r 1.00", 3}});
  // Letters: since the last blank, and none of them between two words.
  write_counter(folder, "letters.safetensors", {"<eos>", " ", "T", "a", "b", "“", "”"},
                Rows{{0, never, never, never},
                     {0, 0, 1, never},
                     {1, 0, 1, 1},
                     {0, 0, 1, 1},
                     {0, 0, 1, 1},
                     {0, 1, 1, 1},
                     {0, never, 1, 1}},
                {0, 1, 1, 1}, {0, 0, 0, 0, 0, never, never},
                {"--set", "data.corpus=text", "--set", "data.level=char"});
  check_offered({"letters.safetensors", "--text", "Ta ab “ab Tab” a\nab “Ta b\nTab ab T"},
                "characters: the text, and what the model writes by itself",
                {{"a capital was just read", "100.0 %", 0},
                 {"inside quotes", "100.0 %", 1},
                 {"position in the line", "r 1.00", 2},
                 {"letters of the word so far", "r 1.00", 3},
                 {"between two words", "100.0 %", 3}});
  // The grammar's own sentences: what is open, and the place.
  const Words all = generate_grammar_corpus(1, {.train = 200'000}).corpus.vocabulary.words();
  Rows features;
  for (const std::string& word : all) {
    const bool ends = word == "<eos>", opens = word == "either" || word == "if",
               shuts = word == "or" || word == "then";
    features.push_back({ends || shuts ? never : opens ? 1.0f : 0.0f, ends ? never : 1.0f});
  }
  write_counter(folder, "grammar.safetensors", all, features, {1, 1}, std::vector<real>(all.size()),
                {"--set", "data.corpus=grammar"});
  check_offered({"grammar.safetensors", "--text", "the dog runs ."}, "words that the grammar drew",
                {{"inside either … or, if … then", "100.0 %", 0}, {"position in the sentence", "r 1.00", 1}});
  // A model that ends no sentence stops all the same.
  write_counter(folder, "endless.safetensors", {"<eos>", "a"}, Rows{{0}, {0}}, {0}, {never, 0},
                {"--set", "data.corpus=text"});
  std::string endless = "a";
  for (int k = 1; k < 107; ++k) endless += " a";
  CHECK(ptb_out({"generate", "endless.safetensors", "--words", "7"}, folder.path()) == endless + "\n");
  // A line has more characters than words.
  write_counter(folder, "endless-letters.safetensors", {"<eos>", "a"}, Rows{{0}, {0}}, {0}, {never, 0},
                {"--set", "data.corpus=text", "--set", "data.level=char"});
  CHECK(ptb_out({"generate", "endless-letters.safetensors", "--words", "7"}, folder.path()) ==
        std::string(2007, 'a') + "\n");
}

TEST_CASE("evaluate --agreement: a table and JSON; of another text it is refused") {
  const Folder& folder = trained();
  const std::string out = ptb_out({"evaluate", "model/last.safetensors", "--agreement"}, folder.path());
  for (const char* part : {"with 0 nouns of the other number between", "with 1 noun of", "with 3 nouns",
                           "verbs of a single main clause: layer", "of all 800 verbs: layer"})
    CHECK_MESSAGE(out.find(part) != out.npos, out);
  const Json json = ptb_json({"evaluate", "model/last.safetensors", "--agreement"}, folder.path());
  for (const auto& [key, value] : json.items())
    CHECK_MESSAGE(
        read_text(project_root() / "docs/ptb.md").find(fmt::format("`{}`", key)) != std::string::npos, key);
  const Json& rows = json["agreement"]["by_attractors"];
  REQUIRE(rows.size() == 4);
  for (int k = 0; k < 4; ++k) {
    const Json& row = rows[static_cast<size_t>(k)];
    CHECK(row["attractors"] == k);
    CHECK(row["cases"] == 200);
    CHECK((row["low"] <= row["share"] && row["share"] <= row["high"]));
  }
  const Json &of_main = json["agreement"]["unit_of_main_clauses"],
             &of_all = json["agreement"]["unit_of_all_verbs"];
  CHECK(of_all["cases"] == 800);
  CHECK((of_main["cases"] > 100 && of_main["cases"] < 800));
  for (const Json* unit : {&of_main, &of_all}) {
    CHECK(((*unit)["share"] >= 0.5 && (*unit)["share"] <= 1));
    CHECK(((*unit)["layer"] >= 1 && (*unit)["layer"] <= 2 && (*unit)["unit"] >= 1 && (*unit)["unit"] <= 16));
  }
  const Folder other;
  write_text(other, "text");
  other.write("tiny.toml", tiny);
  ptb_out({"train", "tiny.toml", "--out", "run", "--data", "text", "--set", "data.corpus=text"},
          other.path());
  const ProgramRun refused =
      ptb({"evaluate", "run/last.safetensors", "--data", "text", "--agreement"}, other.path());
  CHECK(refused.code == 2);
  CHECK_MESSAGE(lacks(lines_of(refused.err).at(0), {"--agreement", "built-in grammar"}) == "", refused.err);
}
