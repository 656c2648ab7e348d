// `ptb` with model.softmax = "mixture": from the recipe to the file and back, and what it refuses by name; and with the other
// additions to what training asks of a decoder.
#include <fmt/format.h>

#include "tests/examples/ptb.h"
#include "tests/run_outcome.h"
#include "tests/support.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

// The tiny recipe with a mixture of three, whose last layer is wider than the embedding that the decoder shares.
const Words mixture = {"--set", "model.softmax=mixture", "--set", "model.components=3",
                       "--set", "model.tied=true",       "--set", "model.component_dropout=0.1"};

const Folder& mixed() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("tiny.toml", tiny);
    const ProgramRun run = ptb(Words{"train", "tiny.toml", "--out", "model"} + mixture, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    return true;
  }();
  (void)done;
  return folder;
}
const std::string model = "model/last.safetensors";

}  // namespace

TEST_CASE("a mixture of softmaxes trains, is scored in every way, and writes") {
  const Folder& folder = mixed();
  // 12 wide embeddings, 16 units.
  const std::string modules = SafetensorsFile(folder / model).metadata().at("pytorch");
  CHECK_MESSAGE(modules.find("mixture.prior = nn.Linear(16, 3, bias=False); mixture.latent = nn.Linear(16, 36); "
                             "decoder = nn.Linear(12, ") != modules.npos,
                modules);
  const auto scored = ptb_json({"evaluate", model}, folder.path());
  CHECK(scored["test_perplexity"].get<double>() < 150);
  const Words one_stream = {"evaluate", model, "--batch", "1"};
  const auto plain = ptb_json(one_stream, folder.path());
  const auto all = ptb_json(
      one_stream + Words{"--cache", "window=50", "--dynamic", "sgd,rate=0.01", "--temperature", "1.1"},
      folder.path());
  CHECK(all["test_perplexity"].get<double>() ==
        doctest::Approx(plain["test_perplexity"].get<double>()).epsilon(1e-5));
  CHECK(all["dynamic"]["perplexity"] != all["temperature"]["perplexity"]);
  CHECK(all["cache"]["perplexity"] != all["temperature"]["perplexity"]);
  // Recorded, a segment at a time, and unrecorded: the same model.
  const auto still = ptb_json(one_stream + Words{"--dynamic", "sgd,rate=0"}, folder.path());
  CHECK(still["dynamic"]["perplexity"].get<double>() ==
        doctest::Approx(plain["test_perplexity"].get<double>()).epsilon(1e-5));
  const Words greedy = {"generate", model, "--top-k", "1", "--words", "20"};
  CHECK(ptb_out(greedy, folder.path()) == ptb_out(greedy, folder.path()));
  const std::string explained = ptb_out(Words{"explain", "tiny.toml"} + mixture, folder.path());
  CHECK_MESSAGE(explained.find("vectors of the mixture") != explained.npos, explained);
  CHECK_MESSAGE(explained.find("mixture.latent.weight") != explained.npos, explained);
  // Three vectors of the embedding's width for each of the rows before one is: the decoder reads them all, and they are kept.
  const auto line_of = [](const std::string& text, const char* begin) {
    for (const std::string& line : lines_of(text))
      if (line.find(begin) != line.npos) return line;
    return std::string();
  };
  const std::string single = ptb_out({"explain", "tiny.toml"}, folder.path());
  for (const char* part : {"a window's values", "logits  "}) CHECK(line_of(explained, part) != line_of(single, part));
}

TEST_CASE("a training with each addition that is killed goes on in the same bits, in shards too") {
  const Folder& folder = mixed();
  const Words others = {
      "--set", "data.partial_shuffle=true",      "--set", "training.past_decode=0.1",
      "--set", "training.past_decode_share=0.5", "--set", "training.adversarial_softmax=0.01"};
  for (const auto& [name, options] : {std::pair{"mixture", mixture},
                                      {"mixture-in-shards", mixture + Words{"--set", "training.shards=2"}},
                                      {"others", others},
                                      {"others-in-shards", others + Words{"--set", "training.shards=2"}}}) {
    CAPTURE(name);
    const Words train = Words{"train", "tiny.toml",        "--quiet", "--set", "training.save_every_steps=30",
                              "--set", "training.epochs=2"} +
                        options;
    const std::string whole = fmt::format("{}-whole", name);
    ptb_out(train + Words{"--out", whole}, folder.path());
    run_program(program_named("ptb"), train + Words{"--out", name}, folder.path(), "",
                {SIGKILL, [&] { return fs::exists(folder / name / "last.safetensors"); }});
    ptb_out({"resume", name, "--quiet"}, folder.path());
    CHECK(read_text(folder / name / "last.safetensors") == read_text(folder / whole / "last.safetensors"));
  }
}

TEST_CASE("what a mixture of softmaxes has not is refused by name") {
  const Folder& folder = mixed();
  const auto check_refused = [&](const Words& words, const Words& parts) {
    const ProgramRun run = ptb(words, folder.path());
    CHECK_MESSAGE(run.code == 2, run.err);
    CHECK_MESSAGE(std::ranges::count(run.err, '\n') == 1, run.err);
    CHECK(lacks(run.err.substr(0, run.err.size() - 1), parts) == "");
  };
  check_refused({"look", model, "--text", "the dog"}, {"mixture of softmaxes", "model.softmax"});
  check_refused({"evaluate", model, "--agreement"}, {"--agreement", "model.softmax"});
  for (const char* key : {"past_decode", "adversarial_softmax"})
    check_refused(Words{"train", "tiny.toml", "--set", fmt::format("training.{}=0.01", key)} + mixture,
                  {fmt::format("training.{}", key), "model.softmax = \"single\""});
  check_refused(Words{"train", "tiny.toml", "--set", "training.graph=true"} + mixture,
                {"training.graph", "must be false", "model.softmax"});
}
