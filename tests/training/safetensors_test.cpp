// Weights in files: what is written and read back, files of Python's safetensors package, damaged and foreign
// files, and writing that fails or is killed half-way.
#include "training/files/safetensors.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/random.h"
#include "tests/folder.h"
#include "tests/support.h"
#include "training/files/atomic_file.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

fs::path fixture(const std::string& name) { return project_root() / "tests/fixtures" / name; }

void put(const fs::path& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string with_header(std::string_view header, std::size_t data_bytes) {
  const uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes.append(header).append(data_bytes, '\0');
}

// The message of the InputError of opening a file and loading all of it; "" if there is none.
std::string refusal(const fs::path& path) {
  try {
    const SafetensorsFile file(path);
    for (const auto& entry : file.entries()) file.load(entry.name);
  } catch (const InputError& error) { return error.what(); }
  return "";
}

std::vector<real> eighths(int first, int count) {
  std::vector<real> result;
  for (int i = 0; i < count; ++i) result.push_back(static_cast<real>(first + i) / 8);
  return result;
}

}  // namespace

TEST_CASE("safetensors: what is written is read back, bit for bit") {
  const Folder folder;
  const fs::path path = folder / "model.safetensors";
  RandomStream random(1, "weights");
  const std::vector<Shape> shapes = {{}, {1}, {3}, {2, 3}, {0, 5}, {1, 2, 3}, {2, 1, 2, 5}, {70, 130}};
  std::vector<NamedTensor> tensors;
  for (const Shape& shape : shapes)
    tensors.push_back({"t" + std::to_string(tensors.size()), random_tensor(shape, random)});
  tensors[2].tensor.data()[0] = std::numeric_limits<real>::quiet_NaN();
  tensors[2].tensor.data()[1] = -std::numeric_limits<real>::infinity();
  tensors[3].tensor.data()[0] = std::numeric_limits<real>::denorm_min();
  const Metadata metadata = {
      {"recipe", "[model]\nhidden = 3\n"}, {"vocabulary", "[\"größer\",\"\\\"\"]"}, {"", ""}};
  write_safetensors(path, tensors, metadata);

  const SafetensorsFile file(path);
  CHECK(file.metadata() == metadata);
  REQUIRE(file.entries().size() == tensors.size());
  for (const NamedTensor& named : tensors) {
    CAPTURE(named.name);
    const Tensor read = file.load(named.name);
    CHECK(read.shape() == named.tensor.shape());
    CHECK(std::memcmp(read.data(), named.tensor.data(),
                      static_cast<std::size_t>(read.size()) * sizeof(real)) == 0);
    const Tensor target(named.tensor.shape());
    file.load_into(named.name, target);
    CHECK(std::memcmp(target.data(), read.data(), static_cast<std::size_t>(read.size()) * sizeof(real)) == 0);
  }
  uint64_t header;
  std::memcpy(&header, read_text(path).data(), sizeof header);
  CHECK(header % 8 == 0);
  CHECK(folder.listing().size() == 1);

  write_safetensors(path, {});  // neither tensors nor metadata
  CHECK(SafetensorsFile(path).entries().empty());
}

TEST_CASE("safetensors: a view of a larger tensor is written alone") {
  const Folder folder;
  const Tensor table = tensor({3, 2}, {1, 2, 3, 4, 5, 6});
  write_safetensors(folder / "x", {{"row", table[1]}});
  CHECK(SafetensorsFile(folder / "x").load("row").to_host() == std::vector<real>{3, 4});
}

TEST_CASE("safetensors: a file of Python's package, PyTorch's names") {
  const SafetensorsFile file(fixture("lstm.safetensors"));
  CHECK(file.metadata() == Metadata{{"format", "pt"}, {"note", "größer \"als\"\n1"}});
  CHECK(file.entries().size() == 11);
  // In the order of the state_dict, every number an eighth more than the one before.
  const std::vector<std::pair<std::string, Shape>> state = {
      {"embedding.weight", {3, 2}},  {"lstm.weight_ih_l0", {4, 2}}, {"lstm.weight_hh_l0", {4, 1}},
      {"lstm.bias_ih_l0", {4}},      {"lstm.bias_hh_l0", {4}},      {"lstm.weight_ih_l1", {4, 1}},
      {"lstm.weight_hh_l1", {4, 1}}, {"lstm.bias_ih_l1", {4}},      {"lstm.bias_hh_l1", {4}},
      {"decoder.weight", {3, 1}},    {"decoder.bias", {3}}};
  int first = 0;
  for (const auto& [name, shape] : state) {
    CAPTURE(name);
    const Tensor read = file.load(name);
    CHECK(read.shape() == shape);
    CHECK(read.to_host() == eighths(first, static_cast<int>(shape.size())));
    first += static_cast<int>(shape.size());
  }
}

TEST_CASE("safetensors: numbers of other types are converted, or refused by name") {
  const SafetensorsFile file(fixture("types.safetensors"));
  const std::vector<real> numbers = {0, -0.0f, 1, -2.5f, 0.0999755859375f, 65504, 0x1p-24f, -0x1p-14f};
  for (const char* name : {"f64", "f32", "f16"}) {
    CAPTURE(name);
    const std::vector<real> read = file.load(name).to_host();
    CHECK(read == numbers);
    CHECK(std::signbit(read[1]));
  }
  CHECK(file.load("f32").shape() == Shape{2, 4});
  CHECK(file.load("f16").shape() == Shape{2, 2, 2});
  CHECK(file.load("bf16").to_host() ==
        std::vector<real>{0, 0, 1, -2.5f, 0.10009765625f, 65536, 0x1p-24f, -0x1p-14f});
  CHECK(file.load("scalar").shape() == Shape{});
  CHECK(file.load("scalar").item() == real(0.75));
  CHECK(file.load("empty").shape() == Shape{0, 4});
  CHECK(lacks(error_of([&] { file.load("i64"); }), {"types.safetensors: ", "'i64' holds I64"}) == "");
  CHECK(lacks(error_of([&] { file.load("f33"); }), {"types.safetensors: ", "no tensor 'f33'"}) == "");
  CHECK(lacks(error_of([&] { file.load_into("f32", Tensor({4, 2})); }), {"'f32' is [2, 4]", "[4, 2]"}) == "");
}

TEST_CASE("safetensors: all halves are converted as their bits say") {
  const Folder folder;
  std::string bytes =
      with_header(R"({"h":{"dtype":"F16","shape":[65536],"data_offsets":[0,131072]}})", 131072);
  for (unsigned i = 0; i < 65536; ++i) {
    bytes[bytes.size() - 131072 + 2 * i] = static_cast<char>(i & 255);
    bytes[bytes.size() - 131072 + 2 * i + 1] = static_cast<char>(i >> 8);
  }
  put(folder / "halves", bytes);
  const std::vector<real> read = SafetensorsFile(folder / "halves").load("h").to_host();
  int wrong = 0;
  for (unsigned i = 0; i < 65536; ++i) {
    const unsigned exponent = (i >> 10) & 31, fraction = i & 1023;
    const double sign = i >> 15 ? -1 : 1;
    if (exponent == 31) {
      wrong += fraction ? !std::isnan(read[i]) : read[i] != sign * std::numeric_limits<double>::infinity();
    } else {
      const double value =
          exponent ? std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25) : std::ldexp(fraction, -24);
      wrong += read[i] != sign * value || std::signbit(read[i]) != (i >> 15 != 0);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("safetensors: numbers are rounded to the nearest half, of two as near to the even one") {
  const auto half = [](int i) {  // by bits
    const int exponent = i >> 10, fraction = i & 1023;
    return static_cast<float>(exponent ? std::ldexp(1024 + fraction, exponent - 25)
                                       : std::ldexp(fraction, -24));
  };
  std::vector<real> numbers, rounded;
  for (int i = 0; i < 0x7bff; ++i) {
    const float middle = (half(i) + half(i + 1)) / 2, sign = i % 3 ? 1 : -1;
    for (const auto& [number, near] : {std::pair{half(i), i},
                                       {middle, i % 2 ? i + 1 : i},
                                       {std::nextafter(middle, 0.0f), i},
                                       {std::nextafter(middle, 1e9f), i + 1}})
      numbers.push_back(sign * number), rounded.push_back(sign * half(near));
  }
  for (const float large :
       {65504.0f, std::nextafter(65520.0f, 0.0f)})  // the largest, and what is rounded to it
    numbers.push_back(large), rounded.push_back(65504);
  const Folder folder;
  const Tensor x = tensor({static_cast<int>(numbers.size())}, numbers);
  write_safetensors(folder / "halves", {{"x", x}, {"y", tensor({1}, {2})}}, {{"a", "b"}}, StoredAs::half);
  const SafetensorsFile file(folder / "halves");
  CHECK(file.entry("x").type == "F16");
  CHECK(file.load("x").to_host() == rounded);
  CHECK(file.load("y").item() == 2);
  for (const real large : {real(65520), real(-1e30f), std::numeric_limits<real>::quiet_NaN()})
    CHECK(lacks(error_of([&] {
                  write_safetensors(folder / "n", {{"w", tensor({1}, {large})}}, {}, StoredAs::half);
                }),
                {"n: 'w' has ", ", and F16 ends at 65504"}) == "");

  const std::string bytes = read_text(folder / "halves");
  const SafetensorsFile in_memory("mine", bytes);
  CHECK(in_memory.metadata() == file.metadata());
  CHECK(in_memory.load("x").to_host() == rounded);
  CHECK(lacks(error_of([&] { SafetensorsFile("mine", std::string_view(bytes).substr(0, bytes.size() - 1)); }),
              {"mine: cut off or damaged"}) == "");
  CHECK(error_of([] { SafetensorsFile("mine", std::string_view()); }) == "mine: the file is empty");
}

TEST_CASE("safetensors: what is no such file is refused in one line with its name") {
  const Folder folder;
  const auto check = [&](std::string_view bytes, const std::vector<std::string>& parts) {
    put(folder / "w.safetensors", bytes);
    std::vector<std::string> all = {(folder / "w.safetensors").string() + ": "};
    all.insert(all.end(), parts.begin(), parts.end());
    CHECK(lacks(refusal(folder / "w.safetensors"), all) == "");
  };
  CHECK(lacks(refusal(folder / "none"), {"none: there is no such file"}) == "");
  CHECK(lacks(refusal(folder.path()), {": a folder, not a file"}) == "");
  check("", {"the file is empty"});
  check("abc", {"not a safetensors file"});
  check(std::string(5000, 'x'), {"not a safetensors file"});
  check(std::string("PK\x03\x04", 4) + std::string(100, '\0'),
        {"torch.save()", "safetensors.torch.save_file()"});
  check("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.", {"torch.save()"});
  check("[model]\nhidden = 200\n", {"not a safetensors file"});
  check(with_header(R"({"a":)", 0), {"damaged header", "not JSON at byte"});
  check(with_header(R"({"a":{}} x)", 0), {"damaged header"});
  check(with_header("{\"a\xff\":{}}", 0), {"damaged header", "not JSON"});
  check(with_header("{" + std::string(50000, '['), 0), {"damaged header"});
  check(with_header(R"({"a":)" + std::string(50000, '['), 0), {"damaged header"});
  check(with_header(R"({"a":{"b":)" + std::string(50000, '{'), 0), {"unknown field 'b'"});
}

TEST_CASE("safetensors: a header that contradicts itself or the file is refused") {
  const Folder folder;
  const auto check = [&](std::string_view header, std::size_t bytes, const std::vector<std::string>& parts) {
    CAPTURE(header);
    put(folder / "w", with_header(header, bytes));
    CHECK(lacks(refusal(folder / "w"), parts) == "");
  };
  check(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8, {});
  check(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7,
        {"cut off", "'a' lies at bytes 0 to 8 of 7"});
  check(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9, {"1 bytes at the end"});
  check(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, {"'a' [3] of F32 has 8 bytes"});
  check(R"({"a":{"dtype":"F64","shape":[2],"data_offsets":[0,8]}})", 8, {"'a' [2] of F64 has 8 bytes"});
  check(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, {"'a' lies at bytes 8 to 0"});
  check(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, {"4 bytes before tensor 'a'"});
  check(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,18446744073709551615]}})", 8,
        {"'a' lies at"});
  check(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0,
        {"'a' [4611686018427387904, 4]"});
  check(R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0,
        {"'a' [4611686018427387904]"});
  check(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,0]}})", 0,
        {"'a' has an impossible shape"});
  check(R"({"a":{"dtype":"F32","shape":[3000000000,0],"data_offsets":[0,0]}})", 0,
        {"'a' [3000000000, 0] is too large"});
  check(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4, {"'a' has 7 dimensions"});
  check(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, {"a negative number"});
  check(R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, {"a fraction"});
  check(R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4, {"a number"});
  check(R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", 4, {"a number"});
  check(R"({"a":{"dtype":"Q7","shape":[1],"data_offsets":[0,4]}})", 4, {"'a' holds Q7"});
  check(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 8, {"more than two offsets"});
  check(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, {"'a' lacks"});
  check(R"({"a":{"dtype":"F32","shape":[1]}})", 4, {"'a' lacks"});
  check(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, {"'a' lacks"});
  check(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, {"'dtype' twice"});
  check(R"({"a":7})", 0, {"'a' holds a number"});
  check(R"({"a":null})", 0, {"'a' holds null"});
  check(R"({"__metadata__":{"a":1}})", 0, {"'__metadata__' holds a number"});
  check(R"({"__metadata__":{"a":["b"]}})", 0, {"'__metadata__' holds a list"});
  check(R"({"__metadata__":{"a":"b","a":"b"}})", 0, {"metadata 'a' stands in it twice"});
  check(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      8, {"'a' stands in it twice"});
  check(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
      12, {"'b' overlaps"});
  check("{\"a\\nb\":7}", 0, {"'a?b' is no name of a tensor"});
  check(R"({")" + std::string(1001, 'a') + R"(":7})", 0, {"aaa...' is no name of a tensor"});
}

TEST_CASE(
    "safetensors: cut off anywhere, or with any byte changed, a file is refused or read, and nothing else") {
  const Folder folder;
  for (const char* name : {"lstm.safetensors", "types.safetensors"}) {
    const std::string whole = read_text(fixture(name));
    uint64_t of_header = 0;
    std::memcpy(&of_header, whole.data(), sizeof of_header);
    int accepted = 0, otherwise = 0;  // otherwise: for another reason than the one that holds
    for (std::size_t length = 0; length < whole.size(); ++length) {
      put(folder / "w", whole.substr(0, length));
      const std::string message = refusal(folder / "w");
      accepted += message.empty() || message.find('\n') != std::string::npos;
      const std::string why =
          length == 0   ? "the file is empty"
          : length < 10 ? "not a safetensors file"
          : length < 8 + of_header
              ? fmt::format("cut off: its header takes {} bytes, there are {}", of_header, length - 8)
              : "cut off";
      otherwise += message.find(why) == std::string::npos;
    }
    CHECK(accepted == 0);
    CHECK(otherwise == 0);
    reset_peak_memory();
    const int64_t before = memory_statistics().peak;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const char change : {'\0', '\x01', '\x7f', '\xff', '9', '"', '[', ']', '{', ' '}) {
        std::string bytes = whole;
        bytes[at] = change;
        put(folder / "w", bytes);
        CHECK(refusal(folder / "w").find('\n') == std::string::npos);  // and no other exception, no crash
      }
    }
    CHECK(memory_statistics().peak - before < 1 << 16);
  }
}

TEST_CASE("safetensors: a pipe is refused, not waited for") {
  const Folder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(lacks(error_of([&] { SafetensorsFile(folder / "pipe"); }), {"pipe: a pipe, not a file"}) == "");
}
