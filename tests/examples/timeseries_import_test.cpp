// "timeseries import" beyond what every import promises (import_test.cpp): what the tensors of each architecture
// mean, shown by weights that make forecasts known by hand.
#include "tests/examples/timeseries.h"
#include "tests/torch_files.h"

using namespace unroll;

namespace {

// The numbers of a forecast, row by row, without the times.
std::vector<double> forecast(const Words& words, const Folder& folder) {
  const auto lines = lines_of(timeseries_out(Words{"forecast"} + words, folder.path()));
  std::vector<double> values;
  for (size_t k = 1; k < lines.size(); ++k) {
    const auto row = lines[k].substr(lines[k].find(',') + 1);
    std::istringstream cells(row);
    for (std::string cell; std::getline(cells, cell, ',');) values.push_back(std::stod(cell));
  }
  return values;
}

void import_into(const std::string& out, const TensorsByName& tensors, const Words& words,
                 const Folder& folder) {
  write_tensors(folder / "theirs.safetensors", tensors);
  timeseries_out(Words{"import", "theirs.safetensors", "--out", out} + words, folder.path());
}

// A recurrent layer of `hidden` units over `input` columns under a module's name, any weights.
TensorsByName recurrent(const std::string& module, int gates, int input, int hidden) {
  TensorsByName tensors;
  const auto add = [&](const char* leaf, const Shape& shape) {
    RandomStream random(5, leaf);
    tensors[module + "." + leaf] = random_tensor(shape, random);
  };
  const int rows = gates * hidden;
  add("weight_ih_l0", {rows, input}), add("weight_hh_l0", {rows, hidden});
  add("bias_ih_l0", {rows}), add("bias_hh_l0", {rows});
  return tensors;
}

Tensor of_values(const Shape& shape, const std::vector<double>& values) {
  Tensor tensor(shape);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.data()[i] = static_cast<real>(values[static_cast<size_t>(i)]);
  return tensor;
}

// `width` columns of so many rows in all: value k stands in row k / width.
std::string table(int count, int width) {
  RandomStream random(3, "table");
  std::string csv;
  for (int c = 0; c < width; ++c) csv += fmt::format("{}c{}", c ? "," : "", c);
  for (int i = 0; i < count; ++i) csv += fmt::format("{}{:.5f}", i % width ? "," : "\n", random.uniform());
  return csv + "\n";
}

// The last numbers without their intervals: of 3 for each channel the first.
std::vector<double> values_alone(const std::vector<double>& all) {
  std::vector<double> values;
  for (size_t k = 0; k < all.size(); k += 3) values.push_back(all[k]);
  return values;
}

}  // namespace

TEST_CASE("the rows of a head are the steps, in each of them the channels") {
  const Folder folder;
  folder.write("two.csv", table(400, 2));
  for (const int gates : {4, 3}) {
    TensorsByName tensors = recurrent("encoder", gates, 2, 5);
    tensors["decoder.weight"] = Tensor::zeros({6, 5});
    tensors["decoder.bias"] = of_values({6}, {10, 20, 11, 21, 12, 22});
    const std::string out = fmt::format("{}.safetensors", gates);
    import_into(out, tensors,
                Words{"--csv", "two.csv"} + set({"data.window=8", "data.horizon=3", "scaling.kind=none"}),
                folder);
    CHECK(values_alone(forecast({out, "--csv", "two.csv", "--steps", "3"}, folder)) ==
          std::vector<double>{10, 20, 11, 21, 12, 22});
  }
}

TEST_CASE("weighted sums read a window oldest first; their scaling and last value come from the series") {
  const Folder folder;
  folder.write("a.csv", table(200, 1));
  const auto lines = lines_of(read_text(folder / "a.csv"));
  const double last = std::stod(lines.back()), before = std::stod(lines[lines.size() - 3]);
  // Step 1 is the value two rows before the last one, step 2 the last one.
  const TensorsByName tensors = {{"Linear.weight", of_values({2, 4}, {0, 1, 0, 0, 0, 0, 0, 0})},
                                 {"Linear.bias", Tensor::zeros({2})}};
  import_into("m.safetensors", tensors,
              Words{"--csv", "a.csv"} + set({"data.window=4", "data.horizon=2", "model.architecture=linear",
                                             "model.normalization=last"}),
              folder);
  const auto found = values_alone(forecast({"m.safetensors", "--csv", "a.csv", "--steps", "2"}, folder));
  REQUIRE(found.size() == 2);
  CHECK(found[0] == doctest::Approx(before).epsilon(1e-5));
  CHECK(found[1] == doctest::Approx(last).epsilon(1e-5));
}

TEST_CASE("DLinear's two modules go by its authors' names") {
  const Folder folder;
  folder.write("a.csv", table(200, 1));
  // The trend's weights and the rest's are the same: together the value itself, here the last one.
  const Tensor weight = of_values({1, 4}, {0, 0, 0, 1});
  const TensorsByName tensors = {{"Linear_Seasonal.weight", weight},
                                 {"Linear_Seasonal.bias", of_values({1}, {1})},
                                 {"Linear_Trend.weight", weight.clone()},
                                 {"Linear_Trend.bias", of_values({1}, {2})}};
  import_into("m.safetensors", tensors,
              Words{"--csv", "a.csv"} + set({"data.window=4", "model.architecture=dlinear",
                                             "scaling.kind=none", "model.moving_average=3"}),
              folder);
  const double last = std::stod(lines_of(read_text(folder / "a.csv")).back());
  CHECK(forecast({"m.safetensors", "--csv", "a.csv"}, folder)[0] == doctest::Approx(last + 3).epsilon(1e-5));
}

TEST_CASE("segments of a window are rows of a wider series") {
  const Folder folder;
  folder.write("narrow.csv", table(480, 1));
  folder.write("wide.csv", table(480, 2));
  TensorsByName tensors = recurrent("rnn", 4, 2, 5);
  RandomStream random(6, "head");
  tensors["head.weight"] = random_tensor({2, 5}, random);
  tensors["head.bias"] = random_tensor({2}, random);
  const Words plain = {"scaling.kind=none"};
  import_into("narrow.safetensors", tensors,
              Words{"--csv", "narrow.csv"} +
                  set(plain + Words{"data.window=12", "data.horizon=2", "model.segment=2"}),
              folder);
  import_into("wide.safetensors", tensors, Words{"--csv", "wide.csv"} + set(plain + Words{"data.window=6"}),
              folder);
  const auto narrow = forecast({"narrow.safetensors", "--csv", "narrow.csv", "--steps", "2"}, folder),
             wide = forecast({"wide.safetensors", "--csv", "wide.csv"}, folder);
  CHECK(values_alone(narrow) == values_alone(wide));
}

TEST_CASE("an encoder and a decoder are two recurrent modules") {
  const Folder folder;
  folder.write("a.csv", table(200, 1));
  TensorsByName tensors = recurrent("encoder", 4, 1, 3);
  tensors.merge(recurrent("decoder", 4, 1, 3));
  tensors["fc.weight"] = Tensor::zeros({1, 3});
  tensors["fc.bias"] = of_values({1}, {4});
  const Words words = Words{"--csv", "a.csv"} + set({"data.window=4", "data.horizon=2", "scaling.kind=none",
                                                     "model.architecture=encoder-decoder"});
  import_into("m.safetensors", tensors, words, folder);
  CHECK(values_alone(forecast({"m.safetensors", "--csv", "a.csv", "--steps", "2"}, folder)) ==
        std::vector<double>{4, 4});
  const std::string modules = SafetensorsFile(folder / "m.safetensors").metadata().at("pytorch");
  CHECK(modules == "lstm = nn.LSTM(1, 3, 1); decoder = nn.LSTM(1, 3, 1); head = nn.Linear(3, 1)");
}

TEST_CASE("a trained model goes out and in again without losing a bit") {
  const Folder& folder = trained();
  timeseries_out({"import", model, "--recipe", "tiny.toml", "--csv", "wave.csv", "--out", "in.safetensors"},
                 folder.path());
  const auto score = [&](const std::string& file) {
    return timeseries_json({"evaluate", file, "--csv", "wave.csv"}, folder.path())["scores"]["test"];
  };
  CHECK(score("in.safetensors") == score(model));
}

TEST_CASE("what the recipe makes and the shapes deny is refused with both") {
  const Folder folder;
  folder.write("two.csv", table(400, 2));
  TensorsByName tensors = recurrent("rnn", 4, 2, 5);
  tensors["fc.weight"] = Tensor::zeros({6, 5});
  tensors["fc.bias"] = Tensor::zeros({6});
  write_tensors(folder / "a.safetensors", tensors);
  tensors["highway.weight"] = Tensor::zeros({3, 4});
  write_tensors(folder / "highway.safetensors", tensors);
  tensors = recurrent("rnn", 4, 2, 5);
  tensors["rnn.weight_hh_l0"] = Tensor::zeros({20, 3});
  tensors["rnn.weight_hr_l0"] = Tensor::zeros({3, 5});
  write_tensors(folder / "projected.safetensors", tensors);
  struct Case {
    std::string file;
    Words assignments, parts;
  };
  for (const Case& one : std::vector<Case>{
           {"a", {"data.horizon=4"}, {"'fc.weight' [6, 5]", "'head.weight'", "[8, 5]"}},
           {"a", {"data.horizon=3", "data.channels=[\"c0\"]"}, {"'rnn.weight_ih_l0' [20, 2]", "[20, 1]"}},
           {"a", {"data.horizon=3", "model.segment=2"}, {"'rnn.weight_ih_l0' [20, 2]", "[20, 4]"}},
           {"a", {"data.horizon=3", "model.highway=4"}, {"'highway.weight' [3, 4]", "--rename"}},
           {"a", {"model.architecture=linear"}, {"'rnn.", "NAME"}},
           {"highway", {"data.horizon=3"}, {"'highway.weight' [3, 4]", "the model does not have"}},
           {"projected", {"model.layer_norm=true"}, {"layer_norm", "no module of PyTorch"}}}) {
    const ProgramRun run =
        started(Words{"import", one.file + ".safetensors", "--csv", "two.csv", "--out", "new.safetensors"} +
                    set(one.assignments),
                folder.path());
    CHECK_MESSAGE(run.code == 2, run.err);
    const std::string missing = lacks(run.err.substr(0, run.err.find('\n')), one.parts);
    CHECK_MESSAGE(missing.empty(), missing);
  }
}
