// The file that the program `ptb` leaves of a model: its names, its first values, and another's with two biases.
#include <algorithm>
#include <cmath>

#include "tests/examples/ptb.h"
#include "tests/support.h"
#include "training/files/safetensors.h"
#include "training/report/progress.h"

using namespace unroll;
namespace fs = std::filesystem;

TEST_CASE("the file has the names that PyTorch would use, the second bias as zeros, recipe and vocabulary") {
  const SafetensorsFile file(trained() / "model/last.safetensors");
  const auto shape = [&](const std::string& name) {
    const auto* entry = file.find(name);
    return entry ? entry->type + " " + entry->shape_text() : "none";
  };
  const auto words = nlohmann::json::parse(file.metadata().at("vocabulary"));
  const std::string vocab = std::to_string(words.size());
  CHECK(shape("embedding.weight") == "F32 [" + vocab + ", 12]");
  CHECK(shape("lstm.weight_ih_l0") == "F32 [64, 12]");
  CHECK(shape("lstm.weight_hh_l0") == "F32 [64, 16]");
  CHECK(shape("lstm.bias_ih_l0") == "F32 [64]");
  CHECK(shape("lstm.bias_hh_l0") == "F32 [64]");
  CHECK(shape("lstm.weight_ih_l1") == "F32 [64, 16]");
  CHECK(shape("lstm.bias_hh_l1") == "F32 [64]");
  CHECK(shape("decoder.weight") == "F32 [" + vocab + ", 16]");
  CHECK(shape("decoder.bias") == "F32 [" + vocab + "]");
  CHECK(std::ranges::count_if(file.entries(),
                              [](const auto& entry) { return !entry.name.starts_with("training/"); }) == 11);
  for (const real v : file.load("lstm.bias_hh_l1").span()) CHECK(v == 0);
  CHECK(file.metadata().at("recipe").find("hidden = 16") != std::string::npos);
  CHECK(std::ranges::find(words, "<eos>") != words.end());
}

TEST_CASE("weights of training alone stand in the file, and one may go on without them") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const Words train = {"train", "tiny.toml", "--set", "training.epochs=1", "--out"};
  ptb_out(train + Words{"told", "--set", "training.past_decode=0.1"}, folder.path());
  const SafetensorsFile file(folder / "told/last.safetensors");
  const std::string modules = file.metadata().at("pytorch");
  for (const auto& entry : file.entries())
    if (entry.name.starts_with("past_decoder.")) {
      const size_t end = std::string("past_decoder.").size();
      CHECK(modules.find(entry.name.substr(0, entry.name.find('.', end))) != std::string::npos);
    }
  CHECK(file.find("past_decoder.hidden.weight"));
  ptb_out(train + Words{"without", "--set", "training.init_from=told/last.safetensors"}, folder.path());
  // Their cost: two products of the decoder's size and one of their own, and four numbers for each word of the vocabulary.
  const std::string explained = ptb_out(
      {"explain", "tiny.toml", "--set", "training.past_decode=0.1", "--set", "training.past_decode_share=1"},
      folder.path());
  const auto vocab = static_cast<double>(file.find("decoder.bias")->shape[0]);
  CHECK(explained.find(format_number(2 * 2 * 16 * vocab + 2 * 16 * 16) + "   two products") !=
        std::string::npos);
  CHECK(explained.find(format_number(4 * 10 * 10 * vocab * 4) + "B   logits and p") != std::string::npos);
  const SafetensorsFile without(folder / "without/last.safetensors");
  CHECK(!without.find("past_decoder.hidden.weight"));
}

TEST_CASE("export writes beside the model unless told where, and replaces nothing") {
  const Folder folder;
  std::filesystem::copy(trained() / "model/last.safetensors", folder / "m.safetensors");
  const Words words{"export", "m.safetensors", "--to", "onnx"};
  CHECK(ptb_out(words, folder.path()) == "m.onnx: written\n");
  CHECK(ptb_out(words + Words{"--out", "other"}, folder.path()) == "other: written\n");
  CHECK(read_text(folder / "m.onnx") == read_text(folder / "other"));
  CHECK(ptb(words, folder.path()).code == 2);
}

TEST_CASE("init_scheme: what each says is where the first values lie") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  // Steps too small to be seen leave the first values in the file.
  const auto first_values = [&](const std::string& scheme) {
    const Words sets = {"--set", "model.init=0.05",
                        "--set", "optimizer.kind=sgd",
                        "--set", "optimizer.learning_rate=1e-30",
                        "--set", "model.init_scheme=" + scheme};
    ptb_out(Words{"train", "tiny.toml", "--out", scheme} + sets, folder.path());
    return SafetensorsFile(folder / (scheme + "/last.safetensors"));
  };
  const SafetensorsFile pytorch = first_values("pytorch"), uniform = first_values("uniform");
  const auto largest = [](const SafetensorsFile& file, const std::string& name) {
    double result = 0;
    for (const real v : file.load(name).span()) result = std::max(result, std::abs(double{v}));
    return result;
  };
  // The largest of n values uniform in ±b is below 0.8·b with probability 0.8ⁿ; the smallest tensor has 64.
  const auto check = [&](const SafetensorsFile& file, const std::string& name, double bound) {
    CAPTURE(name);
    CHECK(largest(file, name) <= bound * (1 + 1e-6));
    CHECK(largest(file, name) > 0.8 * bound);
  };
  for (const std::string layer : {"weight_ih_l0", "weight_hh_l1", "bias_ih_l1"}) {
    check(pytorch, "lstm." + layer, 1 / std::sqrt(16.0));
    check(uniform, "lstm." + layer, 0.05);
  }
  for (const std::string name : {"embedding.weight", "decoder.weight"}) {
    check(pytorch, name, 0.05);
    check(uniform, name, 0.05);
  }
  CHECK(largest(pytorch, "decoder.bias") < 1e-20);
  CHECK(largest(uniform, "decoder.bias") > 0.02);
}

TEST_CASE("a file with two biases is read as their sum") {
  const Folder folder;
  const fs::path path = trained() / "model/last.safetensors";
  const SafetensorsFile file(path);
  std::vector<NamedTensor> tensors;
  for (const auto& entry : file.entries()) tensors.push_back({entry.name, file.load(entry.name)});
  for (auto& [name, tensor] : tensors) {
    const bool first = name.find("bias_ih") != std::string::npos,
               second = name.find("bias_hh") != std::string::npos;
    for (real& v : tensor.span()) v += first ? -0.25f : second ? 0.25f : 0.0f;
  }
  write_safetensors(folder / "two.safetensors", tensors, file.metadata());
  const auto one = ptb_json({"evaluate", path.string()}, folder.path());
  const auto two = ptb_json({"evaluate", "two.safetensors"}, folder.path());
  CHECK(two["test_perplexity"].get<double>() ==
        doctest::Approx(one["test_perplexity"].get<double>()).epsilon(1e-5));
}
