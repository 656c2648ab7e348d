// Numbers that are not finite in a model's file: every command that reads it says so in a line that names the tensor.
#include <filesystem>
#include <limits>

#include <nlohmann/json.hpp>

#include "tests/torch_files.h"
#include "tests/training/program/model_metadata.h"
#include "tests/training/program/trained_programs.h"

using namespace unroll;

namespace {

const Subject &ptb = subjects[0], &timeseries = subjects[1];

// A file of the trained run with one number changed, the last of a tensor; or all of them.
void change(const Folder& folder, const std::string& from, const std::string& to, const std::string& tensor,
            float number, bool all = false) {
  TensorsByName tensors = tensors_of(folder / from);
  REQUIRE(tensors.contains(tensor));
  {
    const auto values = tensors.at(tensor).on_host(Access::change);
    for (real& value : values)
      if (all || &value == &values.data()[values.size() - 1]) value = number;
  }
  write_tensors(folder / to, tensors, SafetensorsFile(folder / from).metadata());
}

void refused(const Subject& subject, const Words& words, const Folder& folder, const std::string& error) {
  const ProgramRun one = run(subject, words, folder);
  CHECK_MESSAGE(one.code == 2, fmt::format("{}", fmt::join(words, " ")));
  CHECK(one.out == "");
  CHECK(one.err == fmt::format("{}: {}\n", subject.program, error));
}

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("a model with weights that are not finite is read by no command") {
  for (const float number : {not_a_number, infinity, -infinity}) {
    const Copy text(ptb), series(timeseries);
    change(text, "whole/best.safetensors", "bad.safetensors", "decoder.bias", number);
    const std::string error = ": 'decoder.bias' [8] has numbers that are not finite";
    for (const Words& words :
         {Words{"evaluate", "bad.safetensors", "--data", "text"}, Words{"generate", "bad.safetensors"}})
      refused(ptb, words, text, "bad.safetensors" + error);
    through_torch(text / "bad.safetensors", text / "theirs.safetensors");
    refused(ptb,
            {"import", "theirs.safetensors", "--out", "out.safetensors", "--data", "text", "--recipe",
             "tiny.toml", "--set", "data.corpus=text"},
            text, "theirs.safetensors" + error);
    CHECK(!std::filesystem::exists(text / "out.safetensors"));

    change(series, "whole/best.safetensors", "bad.safetensors", "head.weight", number);
    for (const Words& words : {Words{"evaluate", "bad.safetensors", "--csv", "series.csv"},
                               Words{"forecast", "bad.safetensors", "--csv", "series.csv"}})
      refused(timeseries, words, series,
              "bad.safetensors: 'head.weight' [6, 6] has numbers that are not finite");
  }
}

TEST_CASE("nor is a detector") {
  const Folder folder;
  folder.write("tiny.toml", timeseries.recipe);
  std::string csv = "value,state\n";
  for (int i = 0; i < 200; ++i) csv += fmt::format("{},{}\n", i % 7, i % 2);
  folder.write("series.csv", csv);
  REQUIRE(
      run(timeseries,
          train_tiny(timeseries) + Words{"whole", "--set", "data.label=state", "--set", "data.calendar=[]"},
          folder)
          .code == 0);
  change(folder, "whole/best.safetensors", "bad.safetensors", "head.bias", not_a_number);
  refused(timeseries, {"detect", "bad.safetensors", "--csv", "series.csv"}, folder,
          "bad.safetensors: 'head.bias' [1] has numbers that are not finite");
}

TEST_CASE("a run does not go on from weights, or from what its optimizer keeps, that are not finite") {
  for (const Subject& subject : subjects) {
    const Copy folder(subject);
    const SafetensorsFile file(trained(subject) / "whole/last.safetensors");
    for (const auto& entry : file.entries()) {
      const bool tried = entry.name.starts_with("training/") || entry.name.ends_with("bias");
      if (!tried) continue;
      CAPTURE(entry.name);
      std::filesystem::copy_file(trained(subject) / "whole/last.safetensors",
                                 folder / "whole/last.safetensors",
                                 std::filesystem::copy_options::overwrite_existing);
      change(folder, "whole/last.safetensors", "whole/last.safetensors", entry.name, not_a_number);
      const ProgramRun one = run(subject, {"resume", "whole", "--set", "training.epochs=4"}, folder);
      CHECK(one.code == 2);
      CHECK(one.err == fmt::format("{}: whole/last.safetensors: '{}' {} has numbers that are not finite\n",
                                   subject.program, entry.name, entry.shape_text()));
    }
  }
}

TEST_CASE("a run that went back to a checkpoint says so at its end, with few words too") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const Words resume = {"resume", "whole", "--quiet"};
    CHECK(run(subject, resume, folder).out.find("diverged") == std::string::npos);
    change_metadata(folder / "whole/last.safetensors", [](Metadata& metadata) {
      auto training = nlohmann::ordered_json::parse(metadata["training"]);
      training["state"]["rate_factor"] = 0.25;
      metadata["training"] = training.dump();
    });
    const ProgramRun resumed = run(subject, resume, folder);
    CHECK_MESSAGE(
        resumed.out.find("diverged and went back to a checkpoint, at 0.25 of the learning rate\n") !=
            std::string::npos,
        resumed.out);
  }
}

// 3e38 is a float still, and the sum of two such is not: of 12 values, scaled to a deviation of 1, that are half of a wave.
TEST_CASE("weights that are finite and too large to compute with are no model either") {
  const std::string too_large = "too large to compute with";
  const Copy text(ptb);
  change(text, "whole/best.safetensors", "bad.safetensors", "decoder.weight", 3e38f, true);
  refused(ptb, {"evaluate", "bad.safetensors", "--data", "text"}, text,
          "bad.safetensors: the perplexity of the test split is nan: the model's weights are " + too_large);
  refused(ptb, {"generate", "bad.safetensors"}, text,
          "the scores of the next word are not finite: the model's weights are " + too_large);

  const Folder series;
  write_inputs(timeseries, series);
  REQUIRE(run(timeseries,
              train_tiny(timeseries) +
                  Words{"whole", "--set", "model.architecture=linear", "--set", "data.calendar=[]"},
              series)
              .code == 0);
  change(series, "whole/best.safetensors", "bad.safetensors", "linear.weight", 3e38f, true);
  const ProgramRun one = run(timeseries, {"evaluate", "bad.safetensors", "--csv", "series.csv"}, series);
  CHECK_MESSAGE(one.code == 2, one.out);
  CHECK(lacks(lines_of(one.err).at(0),
              {"series.csv: the model's values from ", "on are not finite", too_large}) == "");
}
