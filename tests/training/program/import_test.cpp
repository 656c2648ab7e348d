// ptb import: what it makes of PyTorch's tensors, and what it refuses. More: ptb_import_test.cpp.
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "tests/program.h"
#include "tests/torch_files.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

// A program, and a model of two layers of 4 as somebody may have called its modules.
struct Subject {
  std::string program;
  int input;                         // of the first layer
  TensorsByName dense;               // the other tensors
  Words words;                       // what the shapes do not say
  std::string output, their_output;  // a matrix that must be there, ours and theirs
  void (*write_data)(const Folder&);
};

const fs::path fixture = fs::absolute("tests/fixtures/language_model");

Tensor numbers(const Shape& shape, const char* name) {
  RandomStream random(7, name);
  return random_tensor(shape, random);
}

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = {
      {"ptb",
       6,
       {{"embed.weight", numbers({17, 6}, "embed")},
        {"fc.weight", numbers({17, 4}, "fc")},
        {"fc.bias", numbers({17}, "fc.bias")}},
       {"--vocabulary", fixture / "vocabulary.txt", "--set", "data.corpus=text"},
       "embedding.weight",
       "embed.weight",
       [](const Folder&) {}}};
  return all;
}

// Its tensors with recurrent layers of so many gates.
TensorsByName torch_model(const Subject& subject, int gates = 4) {
  TensorsByName tensors = subject.dense;
  for (int layer = 0; layer < 2; ++layer) {
    const int rows = 4 * gates, input = layer == 0 ? subject.input : 4;
    const auto add = [&](const char* kind, const Shape& shape) {
      const std::string name = fmt::format("rnn.{}_l{}", kind, layer);
      tensors[name] = numbers(shape, name.c_str());
    };
    add("weight_ih", {rows, input}), add("weight_hh", {rows, 4}), add("bias_ih", {rows}),
        add("bias_hh", {rows});
  }
  return tensors;
}

ProgramRun import_run(const Subject& subject, const Words& words, const Folder& folder) {
  return run_program(program_named(subject.program), Words{"import"} + words + subject.words, folder.path());
}

// The tensors that a file of these becomes.
TensorsByName imported(const Subject& subject, const TensorsByName& theirs, const Folder& folder,
                       const Words& more = {}) {
  write_tensors(folder / "theirs.safetensors", theirs);
  fs::remove(folder / "ours.safetensors");
  const ProgramRun run =
      import_run(subject, Words{"theirs.safetensors", "--out", "ours.safetensors"} + more, folder);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  for (const auto& [name, tensor] : theirs)
    if (name.ends_with("weight_hh_l1")) CHECK_MESSAGE(run.out.find(name) != std::string::npos, run.out);
  return tensors_of(folder / "ours.safetensors");
}

}  // namespace

TEST_CASE("weights are taken as they are, two biases are summed, and those that are missing are zeros") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.program);
    const Folder folder;
    subject.write_data(folder);
    TensorsByName theirs = torch_model(subject), ours = imported(subject, theirs, folder);
    CHECK(same_bits(ours.at("lstm.weight_ih_l1"), theirs.at("rnn.weight_ih_l1")));
    CHECK(same_bits(ours.at(subject.output), theirs.at(subject.their_output)));
    const Tensor first = theirs.at("rnn.bias_ih_l1"), second = theirs.at("rnn.bias_hh_l1");
    for (int i = 0; i < 16; ++i) {
      CHECK(ours.at("lstm.bias_ih_l1").data()[i] == first.data()[i] + second.data()[i]);
      CHECK(ours.at("lstm.bias_hh_l1").data()[i] == 0);
    }
    std::erase_if(theirs, [](const auto& pair) { return pair.first.find("bias") != std::string::npos; });
    ours = imported(subject, theirs, folder);
    CHECK(same_bits(ours.at("lstm.bias_ih_l1"), Tensor::zeros({16})));
    CHECK(same_bits(ours.at("lstm.weight_ih_l1"), theirs.at("rnn.weight_ih_l1")));
  }
}

TEST_CASE("a GRU keeps the part of its second bias that stands apart") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.program);
    const Folder folder;
    subject.write_data(folder);
    const TensorsByName theirs = torch_model(subject, 3), ours = imported(subject, theirs, folder);
    const Tensor first = theirs.at("rnn.bias_ih_l1"), second = theirs.at("rnn.bias_hh_l1");
    for (int i = 0; i < 12; ++i) {
      const real sum = first.data()[i] + second.data()[i];
      CHECK(ours.at("gru.bias_ih_l1").data()[i] == (i < 8 ? sum : first.data()[i]));
      CHECK(ours.at("gru.bias_hh_l1").data()[i] == (i < 8 ? 0 : second.data()[i]));
    }
  }
}

TEST_CASE("what import wrote it reads again from PyTorch, and the file says which modules it is for") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.program);
    const Folder folder;
    subject.write_data(folder);
    const TensorsByName ours = imported(subject, torch_model(subject), folder);
    const std::string modules = SafetensorsFile(folder / "ours.safetensors").metadata().at("pytorch");
    CHECK_MESSAGE(modules.find(fmt::format("lstm = nn.LSTM({}, 4, 2)", subject.input)) != std::string::npos,
                  modules);
    through_torch(folder / "ours.safetensors", folder / "back.safetensors");
    const ProgramRun again = import_run(subject, {"back.safetensors", "--out", "again.safetensors"}, folder);
    CHECK_MESSAGE(again.code == 0, again.err);
    CHECK(same_tensors(tensors_of(folder / "again.safetensors"), ours));
  }
}

TEST_CASE("tensors and modules are given other names or left out") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.program);
    const Folder folder;
    subject.write_data(folder);
    TensorsByName theirs = torch_model(subject);
    const TensorsByName plain = imported(subject, theirs, folder);
    Words renames = {"--rename", "words=" + subject.output, "--rename", "scores=", "--rename", "rnns.0=lstm"};
    for (const char* kind : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}) {
      for (const char* layer : {"0", "1"})  // a list of modules, one for each layer
        rename_tensor(theirs, fmt::format("rnn.{}_l{}", kind, layer),
                      fmt::format("rnns.{}.{}_l0", layer, kind));
      renames = renames + Words{"--rename", fmt::format("rnns.1.{0}_l0=lstm.{0}_l1", kind)};
    }
    rename_tensor(theirs, subject.their_output, "words");
    theirs["scores.0.weight"] = theirs["scores.1.weight"] = Tensor::zeros({3});
    theirs["training/h"] = Tensor::zeros({2});  // of a checkpoint of ours
    CHECK(same_tensors(imported(subject, theirs, folder, renames), plain));
  }
}

TEST_CASE("what cannot be imported is refused in one line that says why, and nothing is written") {
  struct Case {
    std::string what;
    std::function<void(TensorsByName&)> change;
    Words words, parts;
  };
  const auto with = [](const std::string& name, const Shape& shape) {
    return [=](TensorsByName& t) { t[name] = Tensor::zeros(shape); };
  };
  const auto without = [](const std::string& name) {
    return [=](TensorsByName& t) { REQUIRE(t.erase(name) == 1); };
  };
  const auto nothing = [](TensorsByName&) {};
  const std::vector<Case> cases = {
      {"mixed", with("rnn.weight_hh_l1", {12, 4}), {}, {"'rnn.weight_hh_l1' [12, 4]", "four", "LSTM"}},
      {"plain", with("rnn.weight_hh_l1", {4, 4}), {}, {"'rnn.weight_hh_l1' [4, 4]", "times as many rows"}},
      {"five", with("rnn.weight_hh_l1", {20, 4}), {}, {"'rnn.weight_hh_l1' [20, 4]", "four times"}},
      {"wider", with("rnn.weight_hh_l1", {20, 5}), {}, {"[20, 5]", "'rnn.weight_hh_l0' [16, 4]", "[16, 4]"}},
      {"reverse", with("rnn.weight_ih_l0_reverse", {16, 2}), {}, {"weight_ih_l0_reverse'", "bidirectional"}},
      {"two", with("other.weight_hh_l0", {16, 4}), {}, {"'other'", "'rnn'", "--rename"}},
      {"bias", with("rnn.bias_hh_l1", {17}), {}, {"'rnn.bias_hh_l1' [17]", "[16]"}},
      {"output", with("fc.weight", {9, 4}), {}, {"'fc.weight' [9, 4]"}},
      {"unknown",
       with("norm.weight", {4}),
       {},
       {"'norm.weight' [4]", "--rename 'norm.weight=", "leaves it out"}},
      {"near", with("lstn.weight_ih_l", {4}), {}, {"'lstn.weight_ih_l'", "=lstm.weight_ih_l0'"}},
      {"both", with("head.bias", {3}), {}, {"'fc.bias'", "'head.bias'", "--rename"}},
      {"gap", with("rnn.weight_hh_l3", {16, 4}), {}, {"'lstm.weight_hh_l2'"}},
      {"half", without("rnn.bias_hh_l1"), {}, {"lstm.bias_hh_l1", "missing"}},
      {"none",
       [](TensorsByName& t) { std::erase_if(t, [](const auto& p) { return p.first.starts_with("rnn"); }); },
       {},
       {"'lstm.weight_hh_l0'", "fc.bias"}},
      {"nan",
       [](TensorsByName& t) { t["rnn.bias_hh_l1"].data()[3] = std::nanf(""); },
       {},
       {"'rnn.bias_hh_l1'", "not finite"}},
      {"good", nothing, {"--rename", "rnn"}, {"--rename rnn", "THEIRS=OURS"}},
      {"good", nothing, {"--rename", "rnnn=lstm"}, {"'rnnn'", "did you mean 'rnn'?"}},
      {"good", nothing, {"--set", "model.hidden=9"}, {"model.hidden", "shapes"}},
      {"good", nothing, {"--set", "model.layers=1"}, {"model.layers", "shapes"}},
      {"good", nothing, {"--set", "model.cell=gru"}, {"model.cell", "shapes"}},
      {"good", nothing, {"--set", "model.hiden=9"}, {"--set", "model.hidden"}},
      {"good", nothing, {"--recipe", "nothing.toml"}, {"nothing.toml"}},
  };
  for (const Subject& subject : subjects()) {
    const Folder folder;
    subject.write_data(folder);
    folder.write("there.safetensors", "precious");
    folder.write("pickle.pt", std::string("PK\x03\x04", 4) + "and so on, as torch.save() writes it");
    for (const Case& one : cases) {
      TensorsByName tensors = torch_model(subject);
      one.change(tensors);
      write_tensors(folder / (one.what + ".safetensors"), tensors);
    }
    TensorsByName lacking = torch_model(subject);
    lacking.erase(subject.their_output);
    write_tensors(folder / "lacking.safetensors", lacking);

    const auto before = folder.listing();
    const auto refused = [&](const Words& words, const Words& parts) {
      const ProgramRun run = import_run(subject, words, folder);
      const std::string command =
          fmt::format("{} import {}\n  -> {}", subject.program, fmt::join(words, " "), run.err);
      CHECK_MESSAGE(run.code == 2, command);
      CHECK_MESSAGE(lines_of(run.err).size() == 1, command);
      CHECK_MESSAGE(run.out.empty(), command);
      const std::string missing = lacks(run.err.substr(0, run.err.find('\n')), parts);
      CHECK_MESSAGE(missing.empty(), command, missing);
    };
    const Words out = {"--out", "new.safetensors"};
    for (const Case& one : cases) {
      const std::string file = one.what + ".safetensors";
      refused(Words{file} + out + one.words, one.words.empty() ? one.parts + Words{file} : one.parts);
    }
    refused(Words{"lacking.safetensors"} + out, {fmt::format("'{}'", subject.output), "--rename"});
    refused(Words{"gone.safetensors"} + out, {"gone.safetensors"});
    refused(Words{"pickle.pt"} + out, {"pickle.pt", "torch.save", "save_file"});
    refused({"good.safetensors"}, {"--out"});
    refused({"good.safetensors", "--out", "there.safetensors"}, {"there.safetensors", "overwritten"});
    CHECK(folder.listing() == before);
  }
}
