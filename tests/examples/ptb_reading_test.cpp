// Commands of ptb that read a model or a recipe and train nothing: evaluate, explain, generate.
#include "data/text/grammar.h"
#include "data/text/vocabulary.h"
#include "framework/kernels/kernels.h"
#include "tests/environment.h"
#include "tests/examples/ptb.h"
#include "tests/support.h"
#include "training/files/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

// --- training ----------------------------------------------------------------------------------------------

TEST_CASE("--json: one object with every key, and all else goes to standard error") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const ProgramRun run =
      ptb({"train", "tiny.toml", "--json", "--seed", "3", "--set", "training.epochs=2"}, folder.path());
  REQUIRE(run.code == 0);
  const auto lines = lines_of(run.out);
  REQUIRE(lines.size() == 1);
  const auto json = nlohmann::json::parse(lines[0]);
  CHECK(json["recipe"] == "tiny");
  CHECK(json["engine"] == "fused");
  CHECK(json["precision"] == "fp32");
  CHECK(json["seed"] == 3);
  CHECK(json["epochs"] == 2);
  CHECK(json["tokens"] == 2 * 2000 * 10);  // streams of 2,000 predictions
  CHECK(json["seconds"].get<double>() > 0);
  CHECK(json["words_per_second"].get<double>() == doctest::Approx(40000 / json["seconds"].get<double>()));
  CHECK(json["parameters"].get<int>() > 1000);
  const double source = json["source_valid_perplexity"], valid = json["valid_perplexity"];
  CHECK(source > 5);
  CHECK(valid > source);
  CHECK(json["train_perplexity"].get<double>() > source);
  CHECK(json["test_perplexity"].get<double>() > json["source_test_perplexity"].get<double>());
  CHECK(json["peak_memory"].get<int64_t>() > 1 << 20);
  CHECK((json["unknown_valid_tokens"] == 0 && json["unknown_test_tokens"] == 0 && json.size() == 19));
  CHECK(run.err.find("epoch 2/2") != std::string::npos);
}

TEST_CASE("evaluate gives what training reported, from the file alone") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto json = ptb_json({"train", "tiny.toml", "--out", "model"}, folder.path());
  fs::rename(folder / "model/last.safetensors", folder / "moved.safetensors");
  fs::remove(folder / "tiny.toml");
  fs::remove_all(folder / "model");
  const auto test = ptb_json({"evaluate", "moved.safetensors"}, folder.path());
  CHECK(test["test_perplexity"] == json["test_perplexity"]);
  CHECK(test["source_test_perplexity"] == json["source_test_perplexity"]);
  CHECK(test["valid_perplexity"].is_null());
  CHECK(test["train_perplexity"].is_null());
  CHECK(test["epochs"].is_null());
  CHECK(test["tokens"].get<int>() >= 500);
  CHECK(test["parameters"] == json["parameters"]);
  CHECK(test["recipe"] == "tiny");
  const auto valid = ptb_json({"evaluate", "moved.safetensors", "--split", "valid"}, folder.path());
  CHECK(valid["valid_perplexity"] == json["valid_perplexity"]);
  CHECK(valid["test_perplexity"].is_null());
  CHECK(valid["source_valid_perplexity"] == json["source_valid_perplexity"]);
  CHECK((valid["source_test_perplexity"].is_null() && test["source_valid_perplexity"].is_null()));
  CHECK(ptb_json({"evaluate", "moved.safetensors", "--split", "train"}, folder.path())["tokens"].get<int>() >=
        20000);

  // More streams score the same tokens, each stream from an empty state.
  const auto streams = ptb_json({"evaluate", "moved.safetensors", "--batch", "7"}, folder.path());
  CHECK(streams["tokens"] == test["tokens"]);
  CHECK(streams["test_perplexity"] != test["test_perplexity"]);
  CHECK(streams["test_perplexity"].get<double>() ==
        doctest::Approx(test["test_perplexity"].get<double>()).epsilon(0.1));
}

TEST_CASE("evaluate counts the words that the model does not know, but no <unk> of the text") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  write_text(folder, "text");
  folder.write("text/train.txt", sentences(200) + "<unk>\n");
  ptb_out({"train", "tiny.toml", "--data", "text", "--set", "data.corpus=text", "--out", "words"},
          folder.path());
  const auto evaluate = [&](const std::string& text, const Words& more = {}) {
    folder.write("text/test.txt", text);
    return Words{"evaluate", "words/last.safetensors", "--data", "text"} + more;
  };
  const Words strange = evaluate("the dog sat\non <unk> xylophone\n");
  CHECK(ptb_out(strange, folder.path()).find("2 of 8 tokens, 25.0 %, are not in the model's vocabulary") !=
        std::string::npos);
  CHECK(ptb_json(strange, folder.path())["unknown_tokens"] == 2);
  const auto written = [&](const char* prompt) {
    return ptb({"generate", "words/last.safetensors", "--words", "3", "--prompt", prompt}, folder.path());
  };
  CHECK(written("the dog and the xylophone").err.find("3 words are not in") != std::string::npos);
  CHECK(written("the cat <unk>").err == "");
  const Words known = evaluate("the cat sat\non <unk>\n");
  CHECK(ptb_out(known, folder.path()).find("vocabulary") == std::string::npos);
  CHECK(ptb_json(known, folder.path())["unknown_tokens"] == 0);
}

TEST_CASE("evaluate: each split of the grammar stands beside its own source") {
  const Corpus text = generate_grammar_corpus(1, {.train = 20'000, .valid = 400, .test = 500}).corpus;
  for (const Split split : {Split::train, Split::valid, Split::test}) {
    const std::string split_name(name(split));
    const Words evaluate = {"evaluate", "model/last.safetensors", "--split", split_name};
    const double source = Grammar::built_in().perplexity(text.split(split), text.vocabulary),
                 ours = ptb_json(evaluate, trained().path())[split_name + "_perplexity"];
    const std::string said = ptb_out(evaluate, trained().path());
    CHECK_MESSAGE(
        lacks(lines_of(said)[0], {fmt::format("the source itself {:.4f}: {:.1f} % above the best possible",
                                              source, 100 * (ours / source - 1))}) == "",
        said);
  }
}

// --- explaining and writing --------------------------------------------------------------------------------

TEST_CASE("explain: parameters, work, memory and engine, without the text and without writing") {
  const Folder folder;
  const std::string out = ptb_out({"explain", "ptb-small"}, folder.path());
  for (const std::string part : {"lstm.weight_hh_l1", "[800, 200]", "4651600", "FLOP per token", "5.28M",
                                 "Traffic", "Memory", "Engine: lstm: fused", "0.5 0.25"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, part);
  const bool on_tiles =
      out.find("by the kernels for amx; of large ones each number is the sum of three") != std::string::npos;
  CHECK(on_tiles == (kernels().split_fp32.gemm != nullptr));
  const auto explained =
      [&](const std::string& recipe) {  // what dropout costs would be measured, and take its time
        return ptb_out({"explain", recipe, "--set", "model.dropout=0"}, folder.path());
      };
  CHECK(explained("ptb-medium").find("19775200") != std::string::npos);
  CHECK(explained("ptb-large").find("66022000") != std::string::npos);
  CHECK(ptb_out({"explain", "demo", "--engine", "composed"}, folder.path())
            .find("Engine: lstm: composed, because it was asked for") != std::string::npos);
  CHECK(folder.listing().empty());
}

TEST_CASE("explain: the learning rate of each epoch, as the schedule divides the run") {
  const Folder folder;
  const std::string out = ptb_out({"explain", "ptb-small", "--set", "schedule.kind=cosine", "--set",
                                   "training.epochs=6", "--set", "model.dropout=0"},
                                  folder.path());
  // Half a cosine: (1 + cos(pi k / 6)) / 2.
  CHECK_MESSAGE(out.find("learning rate as epochs begin: 1 0.933 0.75 0.5 0.25 0.067\n") != std::string::npos,
                out);
}

TEST_CASE("generate: sentences on lines of their own, the same for the same seed") {
  const std::string model = (trained() / "model/last.safetensors").string();
  const auto generate = [&](const Words& more) {
    return ptb_out(Words{"generate", model} + more, trained().path());
  };
  const std::string once = generate({"--words", "60"});
  CHECK(once == generate({"--words", "60"}));
  CHECK(once != generate({"--words", "60", "--seed", "2"}));
  CHECK(once.find("<eos>") == std::string::npos);
  CHECK(once.ends_with("\n"));
  CHECK(lines_of(once).size() > 2);
  // The likeliest word each time, whatever the seed.
  CHECK(generate({"--top-k", "1"}) == generate({"--top-k", "1", "--seed", "9"}));
  CHECK(generate({"--prompt", "the dog", "--words", "5"}).starts_with("the dog "));
  CHECK(generate({"--words", "0"}) == "\n");
}
