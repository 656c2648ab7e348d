// SegRNN beside PyTorch (tests/reference/make_segment_rnn.py): its forecast, and one step of gradient descent, which shows the
// gradients of all its weights.
#include "tests/examples/timeseries.h"
#include "tests/reference.h"
#include "tests/torch_files.h"

using namespace unroll;

namespace {

const std::string recipe = R"([model]
architecture = "segment-rnn"
cell = "gru"
hidden = 8
normalization = "last"
segment = 3

[data]
window = 12
horizon = 6
batch = 100
split = "rows"
train_rows = 42
valid_rows = 9
test_rows = 9

[scaling]
kind = "none"

[training]
epochs = 1
clip = 0
keep = "last"

[optimizer]
kind = "sgd"
learning_rate = 0.5
)";

// A folder with recipe, series, and a model's file with PyTorch's weights.
struct WithWeights {
  Folder folder;
  WithWeights() {
    const Json& torch = reference("segment_rnn.json");
    folder.write("mine.toml", recipe);
    std::string csv = "a,b\n";
    for (const auto& row : torch.at("series"))
      csv += fmt::format("{},{}\n", row[0].get<double>(), row[1].get<double>());
    folder.write("two.csv", csv);
    TensorsByName tensors;
    for (const auto& [name, tensor] : torch.at("initial").items()) tensors[name] = tensor_of(tensor);
    (void)timeseries_out({"train", "mine.toml", "--csv", "two.csv", "--out", "first"}, folder.path());
    const SafetensorsFile first(folder / "first/last.safetensors");
    write_tensors(folder / "ours.safetensors", tensors, first.metadata());
  }
};

}  // namespace

TEST_CASE("a segment RNN forecasts as PyTorch does") {
  const WithWeights torch_model;
  const auto lines = lines_of(
      timeseries_out({"forecast", "ours.safetensors", "--csv", "two.csv"}, torch_model.folder.path()));
  REQUIRE(lines.size() == 7);
  for (size_t step = 0; step < 6; ++step)
    for (size_t channel = 0; channel < 2; ++channel) {
      std::istringstream cells(lines[step + 1]);
      std::string cell;
      // time, then of each channel its forecast, and the interval's ends
      for (size_t k = 0; k <= 1 + 3 * channel; ++k) std::getline(cells, cell, ',');
      const double expected = reference("segment_rnn.json").at("forecast")[step][channel];
      CHECK(std::abs(std::stod(cell) - expected) < 1e-5);  // six digits of numbers near 1
    }
  const std::string modules =
      SafetensorsFile(torch_model.folder / "ours.safetensors").metadata().at("pytorch");
  CHECK_MESSAGE(modules.find("position = nn.Embedding(2, 4)") != std::string::npos, modules);
  CHECK_MESSAGE(modules.find("segment = nn.Linear(3, 8)") != std::string::npos, modules);
}

TEST_CASE("one step of gradient descent moves its weights as PyTorch moves them") {
  const WithWeights torch_model;
  (void)timeseries_out({"train", "mine.toml", "--csv", "two.csv", "--set",
                        "training.init_from=ours.safetensors", "--out", "run"},
                       torch_model.folder.path());
  const Json& torch = reference("segment_rnn.json");
  const SafetensorsFile trained(torch_model.folder / "run/last.safetensors");
  for (const auto& [name, tensor] : torch.at("final").items()) {
    const Tensor theirs = tensor_of(tensor), first = tensor_of(torch.at("initial").at(name)),
                 ours = trained.load(name);
    REQUIRE(ours.shape() == theirs.shape());
    double moved = 0, apart = 0;
    for (int64_t i = 0; i < ours.size(); ++i) {
      moved = std::max(moved, std::abs(static_cast<double>(theirs.data()[i]) - first.data()[i]));
      apart = std::max(apart, std::abs(static_cast<double>(theirs.data()[i]) - ours.data()[i]));
    }
    // Sums of some hundred products in float32: 1e-6 of numbers near 1.
    CHECK_MESSAGE(apart < 2e-6 + 1e-5 * moved, name, ": ", apart, " apart, moved by ", moved);
    CHECK(moved > 1e-5);
  }
}

TEST_CASE("a page shows it, and what does not fit is refused") {
  const WithWeights torch_model;
  const auto fault = [&](const Words& assignments) {
    const ProgramRun run = started(Words{"train", "mine.toml", "--csv", "two.csv"} + set(assignments),
                                   torch_model.folder.path());
    CHECK(run.code == 2);
    return run.err;
  };
  CHECK(fault({"data.horizon=5"}).find("'model.segment' = 3 does not divide the horizon's 5 rows") !=
        std::string::npos);
  CHECK(fault({"model.hidden=7"}).find("'model.hidden' must be even") != std::string::npos);
  CHECK(fault({"model.shared_channels=true"}).find("model.shared_channels") != std::string::npos);
  CHECK(
      timeseries_out({"look", "ours.safetensors", "--csv", "two.csv", "--target", "b", "--out", "look.html"},
                     torch_model.folder.path())
          .find("look.html") != std::string::npos);
}
