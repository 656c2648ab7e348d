// data.reset = "document", as a user meets it: training and scores beside those that are spelled out, documents scored one by
// one, runs that go on, prompts, and what is refused.
#include <cmath>
#include <csignal>

#include "tests/examples/documents.h"
#include "tests/examples/ptb.h"
#include "tests/look_page.h"
#include "tests/run_outcome.h"
#include "tests/support.h"
#include "unroll.h"

using namespace documents_by_hand;
using namespace unroll;

namespace {

const Documents train_text = draw(110, 1), valid_text = draw(1300, 2), test_text = draw(60, 3);

std::string recipe(const std::string& reset) {
  return fmt::format(
      "[model]\nembedding = {}\nhidden = {}\nlayers = 2\ninit = 1.0\n[data]\ncorpus = \"text\"\nreset = \"{}\"\n"
      "batch = {}\nbptt = {}\n[training]\nepochs = {}\nclip = {}\nseed = 5\nreduction = \"mean\"\n"
      "temporal_activation_regularization = 1.0\n[optimizer]\nkind = \"sgd\"\nlearning_rate = 0.5\n",
      width, hidden, reset, batch, bptt, epochs, most_norm);
}

Words training(const std::string& name) {
  return {"train", "documents.toml", "--data", "text", "--threads", "1", "--out", name};
}

// The text, recipes and one trained model, for all tests that only read them.
const Folder& documents() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("text/train.txt", text_of(train_text));
    folder.write("text/valid.txt", text_of(valid_text));
    folder.write("text/test.txt", text_of(test_text));
    folder.write("documents.toml", recipe("document"));
    folder.write("none.toml", recipe("none"));
    const ProgramRun run = ptb(training("run"), folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    folder.write("said", run.out);
    return true;
  }();
  (void)done;
  return folder;
}

std::vector<Epoch> epochs_of(const std::filesystem::path& run) {
  std::vector<Epoch> found;
  for (const std::string& line : lines_of(read_text(run / "log.jsonl")))
    if (const auto record = nlohmann::json::parse(line); record["kind"] == "epoch")
      found.push_back({record["loss"], record["valid_perplexity"]});
  return found;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE(
    "training and validation are those of a loop in which every document begins anew, by both engines") {
  const Folder& folder = documents();
  ptb_out(training("composed") + Words{"--engine", "composed"}, folder.path());
  // Only rounding differs, by 2^-24 a number: some 10 operations deep, in 32 steps one after the other, that is 2e-5
  // at most.
  constexpr double tolerance = 2e-5;
  const std::vector<Epoch> by_hand = train(train_text, valid_text);
  for (const char* run : {"run", "composed"}) {
    const std::vector<Epoch> found = epochs_of(folder / run);
    REQUIRE(found.size() == epochs);
    for (size_t k = 0; k < epochs; ++k) {
      CAPTURE(run);
      CAPTURE(k);
      CHECK(std::abs(found[k].loss - by_hand[k].loss) < tolerance * by_hand[k].loss);
      CHECK(std::abs(found[k].valid - by_hand[k].valid) < tolerance * by_hand[k].valid);
    }
  }
  for (const Mistake mistake : {Mistake::no_resets, Mistake::gradients})
    CHECK(std::abs(train(train_text, valid_text, mistake)[1].loss - by_hand[1].loss) >
          20 * tolerance * by_hand[1].loss);
}

TEST_CASE("a run says how many documents there are, and which text is one alone") {
  const Folder& folder = documents();
  const std::string said = read_text(folder / "said");
  CHECK_MESSAGE(has(said, fmt::format("{} / {} / {} documents", train_text.begins.size(),
                                      valid_text.begins.size(), test_text.begins.size())),
                said);
  CHECK(!has(said, "no blank line"));
  folder.write("one/train.txt", text_of(train_text));
  folder.write("one/valid.txt", text_of(valid_text));
  folder.write("one/test.txt", text_of(test_text.ids));
  const std::string line =
      "data.reset = \"document\": no blank line divides the test text, which is one document";
  const std::string out = ptb_out({"train", "documents.toml", "--data", "one", "--dry-run"}, folder.path());
  CHECK_MESSAGE(has(out, line), out);
  CHECK(!has(out, "divides the train text"));
  CHECK(has(ptb_out({"evaluate", "run/last.safetensors", "--data", "one"}, folder.path()), line));
  // A text with blank lines is none of these, though data.limit leaves one of its documents.
  const std::string cut = ptb_out({"train", "documents.toml", "--data", "text", "--set", "data.batch=2",
                                   "--set", fmt::format("data.limit={}", train_text.begins[1]), "--dry-run"},
                                  folder.path());
  CHECK_MESSAGE((has(cut, "tokens to train on") && !has(cut, "no blank line")), cut);
  // As many tokens as a window has are scored for a try, though a document goes on behind them.
  CHECK(has(ptb_out({"train", "documents.toml", "--data", "text", "--dry-run"}, folder.path()),
            fmt::format("of {} tokens of the valid split", batch * bptt)));
  // One that begins with the first token left out is none.
  for (const int64_t border : {train_text.begins[3], valid_text.begins[3], test_text.begins[3]})
    for (const int64_t limit : {border - 1, border, border + 1}) {
      const auto within = [&](const auto& text) {
        return std::ranges::count_if(text.begins, [&](int64_t begin) { return begin < limit; });
      };
      CHECK(has(
          ptb_out({"train", "documents.toml", "--data", "text", "--set", fmt::format("data.limit={}", limit),
                   "--dry-run"},
                  folder.path()),
          fmt::format("{} / {} / {} documents", within(train_text), within(valid_text), within(test_text))));
    }
}

TEST_CASE("a text is scored as each of its documents alone, with a cache too") {
  const Folder& folder = documents();
  const Words cache = {"--cache", "window=5,theta=0.3,lambda=0.2"};
  const auto evaluate = [&](const std::string& data, const Words& more = {}) {
    return ptb_json(Words{"evaluate", "run/last.safetensors", "--data", data} + more, folder.path());
  };
  double nats = 0, cached = 0;
  for (const auto& document : test_text.each()) {
    folder.write("alone/test.txt", text_of(document));
    const auto n = static_cast<double>(document.size());
    const auto json = evaluate("alone", cache);
    nats += n * std::log(json["test_perplexity"].get<double>());
    cached += n * std::log(json["cache"]["perplexity"].get<double>());
  }
  const auto n = static_cast<double>(test_text.ids.size());
  const double rounding = 1e-5;  // of losses in float, and of products of other sizes
  CHECK(evaluate("text")["test_perplexity"].get<double>() ==
        doctest::Approx(std::exp(nats / n)).epsilon(rounding));
  const auto with_cache = evaluate("text", cache);
  CHECK(with_cache["test_perplexity"].get<double>() == doctest::Approx(std::exp(nats / n)).epsilon(rounding));
  CHECK(with_cache["cache"]["perplexity"].get<double>() ==
        doctest::Approx(std::exp(cached / n)).epsilon(rounding));
  // While it learns as well, here next to nothing.
  CHECK(evaluate("text", cache + Words{"--dynamic", "rate=1e-12"})["dynamic"]["perplexity_with_cache"]
            .get<double>() == doctest::Approx(std::exp(cached / n)).epsilon(rounding));
  CHECK(
      has(ptb_out({"evaluate", "run/last.safetensors", "--data", "text"}, folder.path()),
          fmt::format("{0} tokens of {0} in {1} documents", test_text.ids.size(), test_text.begins.size())));
  // Without blank lines the state goes on, which is another score; and cut into streams every token is still scored once.
  folder.write("whole/test.txt", text_of(test_text.ids));
  CHECK(evaluate("whole")["test_perplexity"].get<double>() !=
        doctest::Approx(std::exp(nats / n)).epsilon(100 * rounding));
  CHECK(has(ptb_out({"evaluate", "run/last.safetensors", "--data", "text", "--batch", "4"}, folder.path()),
            fmt::format("{} tokens", test_text.ids.size())));
}

TEST_CASE("statistics for dynamic evaluation begin each document anew") {
  const Folder& folder = documents();
  folder.write("long/train.txt", text_of(valid_text));  // more tokens than statistics have streams
  folder.write("long/test.txt", text_of(test_text));
  const auto statistics = [&](const char* file) {
    std::filesystem::copy_file(folder / "run/last.safetensors", folder / file);
    ptb_out({"evaluate", file, "--data", "long", "--dynamic", "rate=1e-3"}, folder.path());
    const SafetensorsFile made(folder /
                               std::filesystem::path(file).replace_extension("statistics.safetensors"));
    std::vector<std::vector<real>> numbers;
    for (const auto& entry : made.entries()) numbers.push_back(made.load(entry.name).to_host());
    return std::pair(numbers, made.metadata().at("text"));
  };
  const auto anew = statistics("anew.safetensors");
  folder.write("long/train.txt", text_of(valid_text.ids));  // the same words without borders
  const auto on = statistics("on.safetensors");
  CHECK((anew.first != on.first));
  CHECK(anew.second != on.second);  // the text that they are of
}

// Streams have whole documents, also where there are more streams than documents, or a training scores.
TEST_CASE("a text has one score, in however many streams its documents are read") {
  const Folder& folder = documents();
  const auto count = static_cast<int>(test_text.begins.size());
  const auto evaluate = [&](int streams, const Words& more = {}) {
    return ptb_json(
        Words{"evaluate", "run/last.safetensors", "--data", "text", "--batch", std::to_string(streams)} +
            more,
        folder.path());
  };
  const double rounding = 1e-5;
  const auto alone = evaluate(1, {"--temperature", "1.3"});
  for (const int streams : {2, 3, count, 4 * count}) {
    CAPTURE(streams);
    const auto found = evaluate(streams, {"--temperature", "1.3"});
    CHECK(found["tokens"] == alone["tokens"]);
    CHECK(found["test_perplexity"].get<double>() ==
          doctest::Approx(alone["test_perplexity"].get<double>()).epsilon(rounding));
    CHECK(found["temperature"]["perplexity"].get<double>() ==
          doctest::Approx(alone["temperature"]["perplexity"].get<double>()).epsilon(rounding));
    CHECK(evaluate(streams)["test_perplexity"].get<double>() ==
          doctest::Approx(alone["test_perplexity"].get<double>()).epsilon(rounding));
  }
  ptb_out(training("streams") + Words{"--set", "data.eval_batch=4", "--set", "training.shards=2"},
          folder.path());
  const std::vector<Epoch> one = epochs_of(folder / "run"), four = epochs_of(folder / "streams");
  REQUIRE(four.size() == one.size());
  for (size_t k = 0; k < one.size(); ++k) CHECK(four[k].valid == doctest::Approx(one[k].valid).epsilon(2e-5));
}

TEST_CASE("characters have documents too") {
  const Folder& folder = documents();
  ptb_out({"train", "documents.toml", "--data", "text", "--set", "data.level=char", "--set",
           "training.epochs=1", "--out", "characters"},
          folder.path());
  const auto evaluate = [&](const std::string& data) {
    return ptb_json({"evaluate", "characters/last.safetensors", "--data", data},
                    folder.path())["test_perplexity"]
        .get<double>();
  };
  double nats = 0, characters = 0;
  for (const auto& document : test_text.each()) {
    const std::string text = text_of(document);
    folder.write("alone/test.txt", text);
    nats += static_cast<double>(text.size()) * std::log(evaluate("alone"));
    characters += static_cast<double>(text.size());  // a newline is an <eos>
  }
  CHECK(evaluate("text") == doctest::Approx(std::exp(nats / characters)).epsilon(1e-5));
}

TEST_CASE(
    "a run that was interrupted goes on in the same bits; with other borders it says so, with another reset not at all") {
  const Folder& folder = documents();
  const Words more = {"--set", "training.epochs=60",     "--set", "training.accumulate=2",
                      "--set", "data.variable_bptt=true"};
  REQUIRE(ptb(training("whole-run") + more, folder.path()).code == 0);
  const auto begun = [&] { return std::filesystem::exists(folder / "parts/best.safetensors"); };
  const ProgramRun stopped =
      run_program(program_named("ptb"), training("parts") + more, folder.path(), {}, {SIGTERM, begun});
  REQUIRE(stopped.code == 143);
  const ProgramRun resumed = ptb({"resume", "parts", "--threads", "1"}, folder.path());
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(outcome(folder / "parts") == outcome(folder / "whole-run"));
  CHECK(!has(resumed.out + resumed.err, "another"));

  const ProgramRun refused = ptb({"resume", "run", "--set", "data.reset=none"}, folder.path());
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "data.reset"));
  // Now the same tokens, divided elsewhere.
  Documents moved = train_text;
  moved.begins.erase(moved.begins.begin() + 1);
  folder.write("moved/train.txt", text_of(moved));
  folder.write("moved/valid.txt", text_of(valid_text));
  folder.write("moved/test.txt", text_of(test_text));
  const ProgramRun other =
      ptb({"resume", "run", "--data", "moved", "--set", "training.epochs=5"}, folder.path());
  CHECK(other.code == 0);
  CHECK_MESSAGE(has(other.out + other.err, "the text to train on is another"), other.out);
  CHECK(!has(other.out + other.err, "the text to validate on is another"));
}

TEST_CASE("a prompt's blank line begins a document, and the text of before is forgotten") {
  const Folder& folder = documents();
  const auto generate = [&](const std::string& model, const std::string& prompt) {
    return ptb_out(
        {"generate", model + "/last.safetensors", "--words", "12", "--seed", "3", "--prompt", prompt},
        folder.path());
  };
  std::string transformer = recipe("document");
  transformer.replace(transformer.find("hidden = 7"), 10,
                      "architecture = \"transformer\"\nheads = 2\nmemory = 9");
  transformer.erase(transformer.find("temporal_activation_regularization"), 41);
  folder.write("transformer.toml", transformer);
  ptb_out({"train", "transformer.toml", "--data", "text", "--threads", "1", "--out", "transformer"},
          folder.path());
  ptb_out(training("mixture") + Words{"--set", "model.softmax=mixture", "--set", "model.components=2"},
          folder.path());
  for (const std::string model : {"run", "transformer", "mixture"}) {
    CAPTURE(model);
    const std::string alone = generate(model, "the dog"), anew = generate(model, "");
    CHECK(alone.starts_with("the dog"));
    CHECK(generate(model, "mat on\ncat\n\nthe dog") == "mat on\ncat\n\n" + alone);
    CHECK(generate(model, "mat on cat\n \n\n\nsat\n\nthe dog") == "mat on cat\n\nsat\n\n" + alone);
    CHECK(generate(model, "mat on\n\n") == "mat on\n\n" + anew);
    CHECK(generate(model, "\n\n") == anew);
  }
  CHECK(generate("run", "mat on\nthe dog") != "mat on\n" + generate("run", "the dog"));
  // Otherwise the blank line is an <eos>, and the state goes on.
  ptb_out({"train", "none.toml", "--data", "text", "--threads", "1", "--out", "none"}, folder.path());
  CHECK(generate("none", "mat on\n\nthe dog") != "mat on\n\n" + generate("none", "the dog"));
}

TEST_CASE("look: each of several documents is read as if it were alone") {
  const Folder& folder = documents();
  const auto bits_of = [&](const std::string& text) {
    std::filesystem::remove(folder / "look.html");
    ptb_out({"look", "run/last.safetensors", "--text", text, "--out", "look.html"}, folder.path());
    return models_in(read_text(folder / "look.html")).at(0)["bits"].get<std::vector<double>>();
  };
  std::vector<double> alone;
  for (const char* text : {"mat on", "the dog sat", "cat", "on the mat"})
    for (const double bits : bits_of(text)) alone.push_back(bits);
  const std::vector<double> together = bits_of("mat on\n\nthe dog sat\n\ncat\n\non the mat");
  REQUIRE(together.size() == alone.size());
  for (size_t k = 0; k < alone.size(); ++k) CHECK(together[k] == doctest::Approx(alone[k]).epsilon(1e-4));
  CHECK(bits_of("mat on\nthe dog sat").back() !=
        doctest::Approx(bits_of("the dog sat").back()).epsilon(1e-4));
}

TEST_CASE("one window with documents is learnt by heart, and explain says which engine takes resets") {
  const Folder& folder = documents();
  const std::string learnt =
      ptb_out({"train", "documents.toml", "--data", "text", "--overfit-one-batch", "--set", "model.hidden=30",
               "--set", "training.temporal_activation_regularization=0"},
              folder.path());
  CHECK(!learnt.empty());
  // Documents that begin alike: after "we go" no model can tell what comes.
  const Folder alike;
  std::string text;
  for (int k = 0; k < 100; ++k) text += "we go out\n\nwe go home\n\n";
  for (const char* split : {"train", "valid", "test"}) alike.write(fmt::format("text/{}.txt", split), text);
  alike.write("documents.toml", recipe("document"));
  const ProgramRun run =
      ptb({"train", "documents.toml", "--data", "text", "--overfit-one-batch", "--threads", "1", "--set",
           "data.batch=2", "--set", "data.bptt=16", "--set", "training.temporal_activation_regularization=0",
           "--set", "optimizer.kind=adam", "--set", "optimizer.learning_rate=0.03"},
          alike.path());
  CHECK_MESSAGE(run.code == 0, run.err);
  CHECK_MESSAGE(has(run.out, "learnt by heart"), run.out);
  const std::string explained = ptb_out({"explain", "documents.toml", "--data", "text"}, folder.path());
  CHECK_MESSAGE(has(explained, "inside a window"), explained);
  CHECK(!has(ptb_out({"explain", "none.toml", "--data", "text"}, folder.path()), "inside a window"));
}

TEST_CASE("what has no documents, or cannot begin anew, is refused by name") {
  const Folder& folder = documents();
  const auto refused = [&](const Words& words, const std::vector<std::string>& parts) {
    const ProgramRun run = ptb(words + Words{"--dry-run"}, folder.path());
    CHECK(run.code == 2);
    CHECK(lacks(run.err.substr(0, run.err.size() - 1), parts) == "");
  };
  const Words text = {"train", "documents.toml", "--data", "text"};
  refused({"train", "demo", "--set", "data.reset=document"}, {"data.reset", "grammar"});
  refused(text + Words{"--set", "training.graph=true"}, {"training.graph", "data.reset"});
  refused(text + Words{"--engine", "cudnn"}, {"cudnn", "cuDNN has no reset inside a window"});
  refused(text + Words{"--set", "data.reset=paragraph"}, {"data.reset", "none, document"});
}
