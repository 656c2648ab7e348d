// A model's weights in files, in float and in double: nothing is lost on the way back, and each precision reads the
// other's files.
#include "training/files/state_dict.h"

#include <cmath>
#include <fstream>
#include <limits>

#include "layers/dense.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "tests/folder.h"
#include "tests/support.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

struct Model {
  ParameterSet params;
  Lstm lstm{params / "lstm", {.input = 3, .hidden = 4, .layers = 2}};
  Gru gru{params / "gru", {.input = 4, .hidden = 2}};
  Dense out{params / "out", {.in = 2, .out = 5}};

  explicit Model(uint64_t seed) {
    RandomStream random(seed, "weights");
    for (const auto& p : params.all()) p->leaf_value().copy_from(random_tensor(p->shape, random));
  }
};

// A file with one tensor "w" of doubles, as Python's package writes it.
void write_doubles(const fs::path& path, const std::vector<double>& numbers) {
  const std::string header = fmt::format(R"({{"w":{{"dtype":"F64","shape":[{}],"data_offsets":[0,{}]}}}})",
                                         numbers.size(), numbers.size() * sizeof(double));
  const uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  file.write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof(double)));
}

}  // namespace

TEST_CASE("a model's weights come back bit for bit, in the file's own type") {
  const Folder folder;
  const Model written(1);
  Model read(2);
  write_safetensors(folder / "m.safetensors", state_dict(written.params));
  const SafetensorsFile file(folder / "m.safetensors");
  for (const auto& entry : file.entries()) CHECK(entry.type == (sizeof(real) == 8 ? "F64" : "F32"));
  CHECK(file.entry("lstm.weight_hh_l1").shape == std::vector<int64_t>{16, 4});
  CHECK(load_state_dict(file, read.params).empty());
  REQUIRE(read.params.all().size() == written.params.all().size());
  for (std::size_t i = 0; i < read.params.all().size(); ++i)
    CHECK(same_bits(read.params.all()[i]->leaf_value(), written.params.all()[i]->leaf_value()));
}

TEST_CASE("a bias is two in a file only where its name ends in a layer's number") {
  const Folder folder;
  ParameterSet written(1), read(2);
  std::vector<std::string> names;
  for (const char* name : {"bias_logits", "bias_l", "bias_l2_norm", "bias_hn_last", "bias_l_reverse",
                           "bias_l10_reverse", "bias_l0"})
    for (ParameterSet* set : {&written, &read})
      (*set / "head").add(name, {3}, Init::constant(set == &written ? real(2) : real(0)));
  for (const NamedTensor& t : state_dict(written)) names.push_back(t.name);
  CHECK(names == std::vector<std::string>{"head.bias_logits", "head.bias_l", "head.bias_l2_norm",
                                          "head.bias_hn_last", "head.bias_l_reverse",
                                          "head.bias_ih_l10_reverse", "head.bias_hh_l10_reverse",
                                          "head.bias_ih_l0", "head.bias_hh_l0"});
  write_safetensors(folder / "m.safetensors", state_dict(written));
  CHECK(load_state_dict(SafetensorsFile(folder / "m.safetensors"), read).empty());
  CHECK(same_bits(read.values(), written.values()));
}

TEST_CASE("PyTorch's two biases are summed in the model's precision") {
  const Folder folder;
  const Model from(1);
  std::vector<NamedTensor> tensors = state_dict(from.params);
  for (NamedTensor& t : tensors)
    if (t.name == "lstm.bias_hh_l0")
      t.tensor = tensor({16}, std::vector<real>(16, static_cast<real>(0x1p-40)));
  write_safetensors(folder / "m.safetensors", tensors);
  Model read(2);
  load_state_dict(SafetensorsFile(folder / "m.safetensors"), read.params);
  const auto sum = read.params.find("lstm.bias_l0")->leaf_value().to_host();
  const auto first = from.params.find("lstm.bias_l0")->leaf_value().to_host();
  for (std::size_t i = 0; i < sum.size(); ++i) CHECK(sum[i] == first[i] + static_cast<real>(0x1p-40));
  // 2^-40 is below half a unit of a float's last place here, and far above a double's.
  if (sizeof(real) == 8) CHECK(sum != first);
}

TEST_CASE("a file in double is read exactly in double, and rounded to nearest in float") {
  const Folder folder;
  const std::vector<double> numbers = {0.1, -0.0, 1 + 0x1p-24 + 0x1p-40, 0x1p-149, 3e38};
  write_doubles(folder / "d.safetensors", numbers);
  const SafetensorsFile file(folder / "d.safetensors");
  const std::vector<real> read = file.load("w").to_host();
  if (sizeof(real) == 8) {
    for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(static_cast<double>(read[i]) == numbers[i]);
  } else {
    CHECK(read == std::vector<real>{static_cast<real>(0.1f), 0, static_cast<real>(1 + 0x1p-23),
                                    static_cast<real>(0x1p-149), static_cast<real>(3e38f)});
  }
  CHECK(std::signbit(read[1]));
}

TEST_CASE("a number that is too large for float is refused there, by the tensor's name") {
  const Folder folder;
  write_doubles(folder / "d.safetensors", {1, 1e300});
  const SafetensorsFile file(folder / "d.safetensors");
  const std::string refusal = input_error_of([&] { load_finite_into(file, "w", Tensor({2})); });
  if (sizeof(real) == 8)
    CHECK(refusal == "");
  else
    CHECK(lacks(refusal, {"d.safetensors: 'w' [2]", "too large for float"}) == "");
}
