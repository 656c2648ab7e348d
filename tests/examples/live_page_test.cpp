// ptb look --live: the page has the model's weights, rounded to nearest, and the program's numbers on it are of these. Models that the page
// cannot run are refused. tests/browser/live_test.py has a browser run the model of a page.
#include <cmath>

#include "tests/examples/ptb.h"
#include "tests/look_page.h"
#include "tests/support.h"
#include "training/files/safetensors.h"

using namespace unroll;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::vector<Json> page_of(const Words& words, const Folder& folder) {
  fs::remove(folder / "look.html");
  ptb_out(Words{"look", "--text", "every man sleeps ."} + words, folder.path());
  return models_in(read_text(folder / "look.html"));
}

// The matrices of a page [in][out] against a file's weights [out, in].
template <class Number>
void check_matrices(const Json& live, const SafetensorsFile& file) {
  int matrices = 0;
  for (const Json& array : live.at("arrays")) {
    if (!array.contains("scale")) continue;
    ++matrices;
    const auto numbers = decoded<Number>(array["data"]);
    const auto scale = decoded<float>(array["scale"]);
    const auto weights = file.load(array["name"].get<std::string>()).to_host();
    const size_t out = array["out"], in = numbers.size() / out;
    REQUIRE(weights.size() == in * out);
    REQUIRE(scale.size() == out);
    for (size_t k = 0; k < out; ++k) {
      constexpr double all = std::numeric_limits<Number>::max();
      double most = 0;
      for (size_t i = 0; i < in; ++i) {
        const double number = numbers[i * out + k], weight = weights[k * in + i];
        most = std::max(most, std::abs(number));
        // To nearest: off by half a step, and by float's rounding of the quotient, at most 2^-23 of the largest weight.
        CHECK(std::abs(number * scale[k] - weight) <= scale[k] * (0.5 + all * 0x1p-23));
      }
      CHECK(most == all);  // the whole range is in use
    }
  }
  CHECK(matrices == 6);  // embedding and decoder, and two of each layer
}

}  // namespace

TEST_CASE(
    "look --live: the weights to nearest in 16 or 8 bits; the page's numbers are those of the rounded weights") {
  const Folder& folder = trained();
  const std::string path = "model/last.safetensors";
  const SafetensorsFile file(folder / path);
  const auto plain = page_of({path}, folder), wide = page_of({path, "--live"}, folder),
             narrow = page_of({path, "--live", "8"}, folder);
  REQUIRE(plain.size() == 1);
  REQUIRE(wide.size() == 2);
  REQUIRE(wide[0]["kind"] == "live");
  CHECK(wide[0]["words"].size() == 304);
  check_matrices<int16_t>(wide[0], file);
  check_matrices<int8_t>(narrow[0], file);
  double of_wide = 0, of_narrow = 0;
  for (size_t t = 0; t < plain[0]["bits"].size(); ++t) {
    const double bits = plain[0]["bits"][t];
    of_wide = std::max(of_wide, std::abs(wide[1]["bits"][t].get<double>() - bits));
    of_narrow = std::max(of_narrow, std::abs(narrow[1]["bits"][t].get<double>() - bits));
  }
  CHECK(of_wide < 0.01);
  CHECK(of_narrow > of_wide);
  CHECK(of_narrow < 0.5);
}

TEST_CASE("look --live: what the page cannot run is refused in one line, by name, and nothing is written") {
  const Folder& folder = trained();
  const auto train = [&](const std::string& out, const Words& options) {
    Words words = {"train", "tiny.toml", "--out", out};
    for (const std::string& option : options) words = words + Words{"--set", option};
    ptb_out(words, folder.path());
  };
  train("large", {"model.hidden=400"});
  train("normed", {"model.layer_norm=true"});
  const fs::path fixture = fs::absolute("tests/fixtures/language_model");
  ptb_out({"import", (fixture / "torch.safetensors").string(), "--vocabulary",
           (fixture / "vocabulary.txt").string(), "--set", "data.corpus=text", "--set", "data.reset=document",
           "--out", "document.safetensors"},
          folder.path());
  fs::remove(folder / "look.html");
  const struct {
    Words words;
    std::vector<std::string> parts;
  } cases[] = {
      {{"large/last.safetensors", "--live"}, {"large/last.safetensors", "weights", "2,000,000 at most"}},
      {{"normed/last.safetensors", "--live"}, {"normed/last.safetensors", "model.layer_norm"}},
      {{"document.safetensors", "--live"}, {"document.safetensors", "data.reset"}},
      {{"model/last.safetensors", "--live", "--against", "normed/last.safetensors"},
       {"--live", "--against normed/last.safetensors"}},
      {{"model/last.safetensors", "--live=4"}, {"--live", "'4'", "16, 8"}},
  };
  for (const auto& one : cases) {
    const ProgramRun run = ptb(Words{"look", "--text", "the cat"} + one.words, folder.path());
    CHECK(run.code == 2);
    CHECK(lines_of(run.err).size() == 1);
    CHECK_MESSAGE(lacks(lines_of(run.err).at(0), one.parts) == "", run.err);
  }
  CHECK_FALSE(fs::exists(folder / "look.html"));
}
