// The file of a model's gradient statistics: written, read back, and refused when it is damaged or another model's.
#include "training/files/gradient_statistics.h"

#include "framework/random.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "optim/dynamic_evaluation.h"
#include "tests/folder.h"
#include "tests/support.h"

using namespace unroll;

namespace {

struct Model {
  explicit Model(uint64_t seed = 1) : params(seed) { params.initialize(Init::uniform(-0.1f, 0.1f)); }
  ParameterSet params;
  Embedding embedding{params / "embedding", {.vocab = 3, .dim = 2}};
  Dense out{params / "out", {.in = 2, .out = 3}};
};

Tensor statistics_of(Model& model) {
  GradientStatistics statistics(model.params);
  for (int k = 0; k < 3; ++k) {
    Tape tape;
    tape.backward(softmax_cross_entropy(model.out, model.embedding(ids({2}, {0, k})), ids({2}, {k, 1})));
    statistics.add();
  }
  return statistics.root_mean_square();
}

std::string refusal(const std::string& path, const Model& model) {
  return input_error_of([&] { read_gradient_statistics(path, model.params); });
}

}  // namespace

TEST_CASE("statistics are read back, bit for bit, with what the program says of them") {
  const Folder folder;
  Model model;
  const Tensor rms = statistics_of(model);
  write_gradient_statistics(folder / "s", model.params, rms, {{"windows", "3"}});
  const StoredStatistics stored = read_gradient_statistics(folder / "s", model.params);
  CHECK(same_bits(stored.root_mean_square, rms));
  CHECK(stored.metadata == Metadata{{"windows", "3"}});
  const std::string first = read_text(folder / "s");
  write_gradient_statistics(folder / "s", model.params, rms, {{"windows", "3"}});
  CHECK(read_text(folder / "s") == first);
  CHECK(first.size() < 2000);
}

TEST_CASE("statistics of a model with another weight, name or shape are refused") {
  const Folder folder;
  Model model;
  const std::string path = (folder / "s").string();
  write_gradient_statistics(path, model.params, statistics_of(model), {});
  const std::string expected = "statistics of another model";
  CHECK(lacks(refusal(path, Model(2)), {path, expected}) == "");
  Model other;
  const real before = other.params.at("out.bias").leaf_value().on_host()[2];
  {
    const Tensor bias = other.params.at("out.bias").leaf_value();
    bias.on_host(Access::change)[2] = std::nextafter(before, real(1));
  }
  CHECK(lacks(refusal(path, other), {path, expected}) == "");
  other.params.at("out.bias").leaf_value().on_host(Access::change)[2] = before;
  CHECK(refusal(path, other).empty());
  struct {
    ParameterSet params;
    Dense out{params / "out", {.in = 3, .out = 2}};
  } another;
  CHECK(lacks(input_error_of([&] { read_gradient_statistics(path, another.params); }), {path, expected}) ==
        "");
  write_safetensors(path, {{"w", tensor({2}, {1, 2})}});
  CHECK(lacks(refusal(path, model), {path, "no statistics"}) == "");
}

TEST_CASE("every file that is cut off, and every one with another bit, is refused in one line") {
  const Folder folder;
  Model model;
  write_gradient_statistics(folder / "s", model.params, statistics_of(model), {{"windows", "3"}});
  const std::string whole = read_text(folder / "s");
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string path = folder.write("cut", whole.substr(0, size));
    REQUIRE_MESSAGE(lacks(refusal(path, model), {path}) == "", "of ", size, " bytes");
  }
  for (size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      const std::string path = folder.write("flipped", bytes);
      REQUIRE_MESSAGE(lacks(refusal(path, model), {path}) == "", "bit ", bit, " of byte ", at, ": ",
                      whole.substr(at > 40 ? at - 40 : 0, 80));
    }
  CHECK(lacks(refusal(folder.write("longer", whole + '\0'), model), {"longer"}) == "");
}
