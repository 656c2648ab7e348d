// `ptb` with model.architecture = "transformer": from the recipe to the file and back, and what it refuses by name.
#include <fmt/format.h>

#include "tests/examples/ptb.h"
#include "tests/run_outcome.h"
#include "tests/support.h"
#include "tests/torch_files.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  REQUIRE(at != text.npos);
  return text.replace(at, what.size(), with);
}

// The tiny recipe, of a transformer that is tied, drops and remembers less than a window.
std::string small() {
  return replaced(tiny, "hidden = 16\n",
                  "architecture = \"transformer\"\nheads = 2\nmemory = 7\nfeed_forward = 20\n"
                  "tied = true\nattention_dropout = 0.1\nembedding_dropout = 0.1\n");
}

// A folder with that recipe and a model of it, made once for the tests that only read it.
const Folder& transformed() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("small.toml", small());
    folder.write("tiny.toml", tiny);
    const ProgramRun run = ptb({"train", "small.toml", "--out", "model"}, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    folder.write("out.txt", run.out);
    return true;
  }();
  (void)done;
  return folder;
}
const std::string model = "model/last.safetensors";

void check_has(const std::string& text, const Words& parts) {
  for (const std::string& part : parts)
    CHECK_MESSAGE(text.find(part) != text.npos, part, " is not in ", text);
}

void check_refused(const Words& words, const Words& parts) {
  const ProgramRun run = ptb(words, transformed().path());
  const std::string command = fmt::format("ptb {}\n  -> {}", fmt::join(words, " "), run.err);
  CHECK_MESSAGE(run.code == 2, command);
  CHECK_MESSAGE(std::ranges::count(run.err, '\n') == 1, command);
  const std::string missing = lacks(run.err.substr(0, run.err.size() - 1), parts);
  CHECK_MESSAGE(missing.empty(), command, missing);
}

}  // namespace

TEST_CASE("in shards each stream keeps its own memory from window to window: the loss is that of the whole") {
  const Folder folder;
  folder.write("small.toml", small());
  const auto loss_in = [&](int shards) {  // steps that change nothing
    Words words = {"train", "small.toml", "--quiet", "--out", fmt::format("run-{}", shards)};
    for (const char* set : {"optimizer.learning_rate=1e-12", "model.init=0.5", "model.dropout=0",
                            "model.attention_dropout=0", "model.embedding_dropout=0"})
      words = words + Words{"--set", set};
    return ptb_json(words + Words{"--set", fmt::format("training.shards={}", shards)},
                    folder.path())["train_perplexity"]
        .get<double>();
  };
  // Sums in another order: a few roundings of 2^-24 of a loss of 6.
  CHECK(loss_in(2) == doctest::Approx(loss_in(1)).epsilon(1e-6));
}

TEST_CASE("a transformer trains, is scored and writes") {
  const Folder& folder = transformed();
  const std::string out = read_text(folder / "out.txt");
  check_has(out, {"Transformer, 2 layers of 12, 2 heads, 20 units, memory 7",
                  "engine  none: no recurrent layers", "generate model/"});
  CHECK(read_text(folder / "model/report.html").find("ptb look") == std::string::npos);
  const auto scored = ptb_json({"evaluate", model}, folder.path());
  CHECK(scored["test_perplexity"].get<double>() < 150);
  CHECK(scored["engine"] == "none");
  check_has(out, {fmt::format("perplexity {:.2f}", scored["test_perplexity"].get<double>())});
  // The text is what the model says of the words so far, however they are given.
  const Words greedy = {"generate", model, "--top-k", "1", "--words"};
  const std::string whole = ptb_out(greedy + Words{"40"}, folder.path());
  CHECK(whole == ptb_out(greedy + Words{"40"}, folder.path()));
  std::string begin = whole.substr(0, whole.find(' ', 30));
  CHECK(ptb_out(greedy + Words{"30", "--prompt", begin}, folder.path())
            .starts_with(whole.substr(0, begin.size() + 20)));
  const std::string explained = ptb_out({"explain", "small.toml"}, folder.path());
  check_has(explained, {"transformer.layers.1.self_attn.in_proj_weight", "[36, 12]", "queries, keys, values",
                        "each step with 7 and itself", "memory of the attention"});
}

TEST_CASE(
    "cache, dynamic evaluation and tuning take a transformer, whose text may have documents and letters") {
  const Folder folder;
  folder.write("small.toml",
               replaced(small(), "\"grammar\"", "\"text\"\nreset = \"document\"\nlevel = \"char\""));
  for (const char* split : {"train", "valid", "test"})
    folder.write(fmt::format("text/{}.txt", split), lines_thrice(*split, 60, 5));
  // Keys of the grammar, which a text has not.
  std::string recipe = read_text(folder / "small.toml");
  for (const char* key : {"train_tokens = 20_000\n", "valid_tokens = 400\n", "test_tokens = 500\n"})
    recipe = replaced(recipe, key, "");
  folder.write("small.toml", recipe);
  const auto trained = ptb_json({"train", "small.toml", "--data", "text", "--out", "run"}, folder.path());
  const Words evaluate = {"evaluate", "run/last.safetensors", "--data", "text", "--batch", "1"};
  const auto plain = ptb_json(evaluate, folder.path());
  CHECK(plain["test_perplexity"] == trained["test_perplexity"]);
  const auto all =
      ptb_json(evaluate + Words{"--cache", "window=50", "--dynamic", "sgd,rate=0.01", "--temperature", "1.1"},
               folder.path());
  CHECK(all["test_perplexity"].get<double>() ==
        doctest::Approx(plain["test_perplexity"].get<double>()).epsilon(1e-5));
  CHECK(all["dynamic"]["perplexity"] != all["temperature"]["perplexity"]);
  CHECK(all["cache"]["perplexity"] != all["temperature"]["perplexity"]);
  // With a rate of 0 the segments of five are read like the windows of a thousand.
  const auto still = ptb_json(evaluate + Words{"--dynamic", "sgd,rate=0"}, folder.path());
  CHECK(still["dynamic"]["perplexity"].get<double>() ==
        doctest::Approx(plain["test_perplexity"].get<double>()).epsilon(1e-5));
  CHECK(
      ptb_out({"generate", "run/last.safetensors", "--words", "20", "--prompt", "w1 w2\n\nw3"}, folder.path())
          .starts_with("w1 w2"));
}

TEST_CASE("a transformer that is interrupted goes on in the same bits, in shards too") {
  const Folder& folder = transformed();
  for (const Words& options :
       {Words{}, Words{"--set", "training.shards=2", "--set", "model.locked_dropout=true"}}) {
    const std::string name = options.empty() ? "plain" : "shards";
    const Words train = Words{"train",
                              "small.toml",
                              "--quiet",
                              "--set",
                              "training.epochs=2",
                              "--set",
                              "training.save_every_steps=30"} +
                        options;
    ptb_out(train + Words{"--out", name + "-whole"}, folder.path());
    const ProgramRun killed =
        run_program(program_named("ptb"), train + Words{"--out", name}, folder.path(), "",
                    {SIGKILL, [&] { return fs::exists(folder / name / "last.safetensors"); }});
    (void)killed;
    ptb_out({"resume", name, "--quiet"}, folder.path());
    CHECK(read_text(folder / name / "last.safetensors") ==
          read_text(folder / (name + "-whole") / "last.safetensors"));
  }
}

TEST_CASE("keys of the other architecture, and what a transformer has not, are refused by name") {
  const Words train = {"train", "small.toml", "--dry-run", "--set"};
  const Words of_recurrent = {"model.architecture = \"recurrent\" or", "here nothing reads it"};
  for (const char* key :
       {"model.hidden=20", "model.cell=gru", "model.weight_drop=0.1", "model.last_hidden=12",
        "model.residual=true", "model.engine=fused", "model.mogrifier=2"})
    check_refused(train + Words{key}, of_recurrent);
  for (const char* key :
       {"model.heads=2", "model.memory=5", "model.feed_forward=30", "model.attention_dropout=0.1"})
    check_refused({"train", "tiny.toml", "--dry-run", "--set", key},
                  {"model.architecture = \"transformer\"", "here nothing reads it"});
  check_refused(train + Words{"model.heads=5"}, {"model.heads", "(5)", "divide model.embedding (12)"});
  check_refused(train + Words{"model.architecture=perceptron"},
                {"recurrent, transformer, recurrent-attention"});
  check_refused(train + Words{"model.memory=0"}, {"model.memory"});
  check_refused({"resume", "model", "--set", "model.memory=9", "--set", "training.epochs=2"},
                {"'model.memory' is 7", "cannot go on with 9"});
  check_refused({"look", model, "--text", "the dog"}, {model, "transformer", "model.architecture"});
  check_refused({"evaluate", model, "--agreement"}, {model, "--agreement", "transformer"});
  write_tensors(transformed() / "theirs.safetensors", tensors_of(transformed() / model));
  check_refused({"import", "theirs.safetensors", "--recipe", "small.toml", "--out", "x.safetensors"},
                {"theirs.safetensors", "self_attn.in_proj_weight", "transformer"});
  CHECK(!fs::exists(transformed() / "x.safetensors"));
}

TEST_CASE("an LSTM may have an attention over its own past behind it") {
  const Folder& folder = transformed();
  folder.write("both.toml",
               replaced(replaced(small(), "\"transformer\"", "\"recurrent-attention\"\nhidden = 12"),
                        "heads = 2", "heads = 1"));
  const Words train = {"train", "both.toml", "--set", "training.shards=2"};
  const std::string out = ptb_out(train + Words{"--out", "both"}, folder.path());
  check_has(out,
            {"2 LSTM layers of 12, then Transformer, 1 layer of 12, 1 head, 20 units, memory 7", "fused"});
  const std::string file = "both/last.safetensors";
  // Training begins with the recurrent layers.
  ptb_out({"train", "both.toml", "--quiet", "--set", "optimizer.learning_rate=1e-30", "--out", "both-first"},
          folder.path());
  const auto first = tensors_of(folder / "both-first/last.safetensors");
  CHECK(!first.contains("transformer.norm.weight"));
  for (const char* name : {"self_attn.out_proj.weight", "linear2.weight"})
    for (const real number : first.at(std::string("transformer.layers.0.") + name).on_host())
      CHECK(std::abs(number) < 1e-20);
  const auto scored = ptb_json({"evaluate", file}, folder.path());
  check_has(out, {fmt::format("perplexity {:.2f}", scored["test_perplexity"].get<double>())});
  CHECK(ptb_out({"generate", file, "--words", "20"}, folder.path()).size() > 20);
  check_has(ptb_out({"explain", "both.toml", "--set", "model.dropout=0"}, folder.path()),
            {"lstm.weight_ih_l1", "transformer.layers.0.norm1.weight", "recurrent", "queries, keys, values"});
  ptb_out(train + Words{"--quiet", "--out", "both-whole", "--set", "training.epochs=2"}, folder.path());
  ptb_out({"resume", "both", "--quiet", "--set", "training.epochs=2"}, folder.path());
  CHECK(read_text(folder / "both/last.safetensors") == read_text(folder / "both-whole/last.safetensors"));
  check_refused({"train", "both.toml", "--set", "model.heads=5"}, {"model.heads", "(5)", "output (12)"});
  check_refused({"train", "small.toml", "--set", "model.attention_layers=2"}, {"\"recurrent-attention\""});
  check_refused({"look", file, "--text", "the dog"}, {file, "transformer"});
}

TEST_CASE("one window is learnt by heart") {
  CHECK(!ptb_out({"train", "small.toml", "--overfit-one-batch", "--set", "model.attention_dropout=0.95"},
                 transformed().path())
             .empty());
  // With a layer and a memory of one token, two tokens are seen: after "we go", eight times in this window, no such model can
  // tell what comes. 8 log 2 / 32 = 0.173. A recurrent model can.
  const Folder folder;
  folder.write("small.toml", small());
  folder.write("tiny.toml", tiny);
  std::string text;
  for (int k = 0; k < 100; ++k) text += "we go out\nwe go home\n";
  for (const char* split : {"train", "valid", "test"}) folder.write(fmt::format("text/{}.txt", split), text);
  const auto least = [&](const char* recipe, const Words& more) {
    const ProgramRun run =
        ptb(Words{"train", recipe, "--data", "text", "--overfit-one-batch", "--set", "data.corpus=text",
                  "--set", "data.batch=2", "--set", "data.bptt=16", "--set", "model.layers=1"} +
                more,
            folder.path());
    CHECK_MESSAGE(run.code == 0, run.err);
    return run.out.substr(run.out.find("no loss can be below"), 26);
  };
  CHECK(least("small.toml", {"--set", "model.memory=1"}) == "no loss can be below 0.173");
  CHECK(least("small.toml", {"--set", "model.memory=15"}) == "no loss can be below 0.000");
  CHECK(least("tiny.toml", {}) == "no loss can be below 0.000");
}
