// Files that somebody made to break a program: text that is nested without end, numbers at the end of their range, files that
// are too long, and in a run's folder links, pipes and folders in place of files. Exit code 2, one line, and nothing changed.
#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>

#include "data/text_file.h"
#include "tests/training/program/model_metadata.h"
#include "tests/training/program/trained_programs.h"
#include "training/files/json/json.h"
#include "training/files/run_files.h"
#include "training/files/vocabulary_file.h"
#include "training/program/recipe/toml_values.h"
#include "training/report/log.h"
#include "training/run_folder.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

// "a.a.a = 1", "[a.a.a]", "a = [[[]]]", "a = {a={a=1}}": as deep as `depth` says, where the last is one deeper with its key.
std::vector<std::string> nested_toml(int depth) {
  return {repeated("a.", depth - 1) + "a = 1\n", "[" + repeated("a.", depth - 1) + "a]\n",
          "a = " + repeated("[", depth) + repeated("]", depth) + "\n",
          "a = " + repeated("{a=", depth) + "1" + repeated("}", depth) + "\n"};
}

std::string nested_lists(int depth) { return repeated("[", depth) + repeated("]", depth); }

void check_refused(const Subject& subject, const Words& words, const Folder& folder, const Words& parts) {
  const ProgramRun refused = run(subject, words, folder);
  const std::string command = fmt::format("{} {}", subject.program, fmt::join(words, " ")).substr(0, 200);
  CHECK_MESSAGE(refused.code == 2, command, refused.err);
  const auto lines = lines_of(refused.err);
  REQUIRE_MESSAGE(lines.size() == 1, command, refused.err);
  CHECK_MESSAGE(lacks(lines[0], parts) == "", command);
}

}  // namespace

TEST_CASE("TOML is read to its bound in depth and in length, and one beyond is a line that names the file") {
  for (const std::string& text : nested_toml(deepest_toml))
    CHECK(parse_toml("\n" + text, "x.toml").size() == 1);
  for (const std::string& text : nested_toml(deepest_toml + 1))
    CHECK(lacks(input_error_of([&] { parse_toml("\n" + text, "x.toml"); }), {"x.toml:2: ", "32 deep"}) == "");
  CHECK(parse_toml_value(nested_lists(deepest_toml - 1)));  // in braces of our own
  CHECK(!parse_toml_value(nested_lists(deepest_toml + 1)));
  // Brackets in strings and comments add no depth, however these end.
  const std::string deep = repeated("[", 100) + repeated("{a.", 100);
  for (const std::string& quoted :
       {"\"" + deep + "\\\"" + deep + "\"", "'" + deep + "'", "\"\"\"" + deep + "\"\"\"\"\"",
        "'''\n" + deep + "'''''", "1 # " + deep, "\"\\\\\" # " + deep})
    CHECK(parse_toml("a = " + quoted + "\nb.c = 2\n", "x.toml").size() == 2);
  // But what follows them is.
  for (const std::string before : {"\"\\\\\"", "'\\'", "\"\"\"x\"\"\"\"\"", "''''''"})
    CHECK(input_error_of([&] {
            parse_toml("a = " + before + "\nb = " + repeated("[", 33), "x.toml");
          }).find("x.toml:2: ") == 0);

  const std::string comment = "# " + std::string(most_bytes_of_recipe - 2, 'x');
  CHECK(parse_toml(comment, "x.toml").empty());
  CHECK(input_error_of([&] { parse_toml(comment + "x", "x.toml"); }) ==
        "x.toml: more than a megabyte: not a recipe");
}

TEST_CASE("JSON is read to its bound in depth; whole numbers to theirs") {
  CHECK(parse_json(nested_lists(deepest_json)).is_array());
  CHECK(parse_json(nested_lists(deepest_json + 1)).is_discarded());
  CHECK(parse_json("[\"" + repeated("[\\\"", 100) + "\", [\"\\\\\"]]").size() == 2);  // in strings it is none
  // 2^53 is the last whole number of which a double knows every one below.
  CHECK(count_in<int64_t>(parse_json("9007199254740992")) == int64_t{1} << 53);
  CHECK(count_in<int>(parse_json("1000000000")) == 1'000'000'000);
  for (const char* wrong :
       {"9007199254740993", "18446744073709551615", "-1", "1.0", "1e300", "true", "null", "\"1\""})
    CHECK(error_of([&] { count_in<int64_t>(parse_json(wrong)); }) ==
          "not a whole number from 0 to 9007199254740992");
  CHECK(error_of([&] { count_in<int>(parse_json("1000000001")); }) ==
        "not a whole number from 0 to 1000000000");
}

TEST_CASE("a file is read to its bound in length, from a disk and from a pipe") {
  const Folder folder;
  const std::string path = folder.write("text", "12345678");
  CHECK(read_file(path, 8) == "12345678");
  CHECK(read_own_file(path, 8) == "12345678");
  CHECK(lacks(input_error_of([&] { read_file(path, 7); }), {path, "longer than the 7 bytes"}) == "");
  CHECK(lacks(input_error_of([&] { read_own_file(path, 7); }), {path, "longer than the 7 bytes"}) == "");
  // The file's own bound: one of 16 GiB and a byte, of which no block is on the disk.
  fs::resize_file(path, most_bytes_of_text + 1);
  CHECK(lacks(input_error_of([&] { read_file(path); }), {path, "longer than the 17179869184 bytes"}) == "");
  // The first block of zeros ends it: nobody waits for the others, nor has room for them.
  fs::resize_file(path, most_bytes_of_text);
  CHECK(lacks(input_error_of([&] { read_file(path); }), {path + ":1: a NUL byte stands there"}) == "");
  for (const bool short_enough : {true, false}) {
    const std::string script = fmt::format("exec {} explain <(printf '#%{}s')", program_named("ptb"),
                                           short_enough ? most_bytes_of_recipe - 1 : most_bytes_of_recipe);
    const ProgramRun run = run_program("/bin/bash", {"-c", script}, folder.path());
    CHECK(run.code == (short_enough ? 0 : 2));
    if (!short_enough) CHECK(lacks(lines_of(run.err).at(0), {"longer than the 1048576 bytes"}) == "");
  }
}

TEST_CASE(
    "text that is nested deeper than any of ours ends no program: recipes, a value, a model's, a run's") {
  constexpr int depth = 20'000;  // at which a parser that calls itself has used its stack
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    for (const std::string& text : nested_toml(depth)) {
      folder.write("deep.toml", text);
      check_refused(subject, {"explain", "deep.toml"}, folder, {"deep.toml:1: ", "32 deep"});
    }
    const std::string deep_value = repeated("[", 20'000) + repeated("]", 20'000);
    check_refused(subject, {"explain", "tiny.toml", "--set", "model.hidden=" + deep_value}, folder,
                  {"--set model.hidden=[["});
    const std::string deep_key = repeated("a.", depth) + "a = 1\n";
    check_refused(subject, {"explain", "tiny.toml", "--set", repeated("a.", depth) + "a=1"}, folder,
                  {"--set a.a."});

    const std::string good = read_text(folder / "whole/last.safetensors");
    const auto with_metadata = [&](const std::string& key, const std::string& text) {
      folder.write("whole/last.safetensors", good);
      change_metadata(folder / "whole/last.safetensors", [&](Metadata& metadata) { metadata[key] = text; });
    };
    const Words evaluate = Words{"evaluate", "whole/last.safetensors"} + subject.data,
                resume = {"resume", "whole", "--set", "training.epochs=4"};
    with_metadata("recipe", deep_key);
    check_refused(subject, evaluate, folder, {"whole/last.safetensors: recipe:1: ", "32 deep"});
    check_refused(subject, resume, folder, {"whole/last.safetensors: recipe:1: ", "32 deep"});
    const std::string words = subject.program == "ptb" ? "vocabulary" : "channels";
    with_metadata(words, nested_lists(depth));
    check_refused(subject, evaluate, folder, {"whole/last.safetensors: the " + words + " in its metadata"});
    with_metadata("training", nested_lists(depth));
    check_refused(subject, resume, folder, {"whole/last.safetensors: its training state is damaged"});
    folder.write("whole/last.safetensors", good);

    const auto with_file = [&](const std::string& name, const std::string& text, const Words& command,
                               const Words& parts) {
      const std::string before = read_text(folder / "whole" / name);
      folder.write("whole/" + name, text);
      check_refused(subject, command, folder, parts);
      folder.write("whole/" + name, before);
    };
    with_file("recipe.toml", deep_key, resume, {"whole/recipe.toml:1: ", "32 deep"});
    with_file("start.json", nested_lists(depth), resume, {"whole/start.json: damaged"});
    with_file("report.json", nested_lists(depth), {"report", "whole"},
              {"whole/report.json: no description of a run"});
    with_file("start.json", std::string(most_bytes_of_start + 1, ' '), resume,
              {"whole/start.json: longer than the 1048576 bytes"});
    with_file("report.json", std::string(most_bytes_of_description + 1, ' '), {"report", "whole"},
              {"whole/report.json: longer than the 33554432 bytes"});
    std::string header = nested_lists(depth);
    header = "{\"a\":" + header + "}";
    const uint64_t length = header.size();
    folder.write("deep.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + header);
    check_refused(subject, Words{"evaluate", "deep.safetensors"} + subject.data, folder,
                  {"deep.safetensors: damaged header: 'a' holds a list"});
  }
  const Folder folder;
  for (const std::string& text :
       {nested_lists(depth), "[\"a\", " + nested_lists(depth) + "]", std::string("{}")})
    CHECK(lacks(input_error_of([&] { load_vocabulary(folder.write("words.json", text)); }),
                {"words.json is not a JSON array of words"}) == "");
}

TEST_CASE("a log's line that is nested deeply is a damaged one") {
  const Folder folder;
  const std::string path = folder.write("log.jsonl", nested_lists(20'000) + "\n");
  CHECK(input_error_of([&] { read_log(path); }) == path + ":1: no record of a log: the line is damaged");
  fs::resize_file(path, most_bytes_of_log + 1);
  CHECK(lacks(input_error_of([&] { read_log(path); }), {"log.jsonl: longer than the 1073741824 bytes"}) ==
        "");
}

TEST_CASE("numbers of a training state that would overflow are refused by name, and the largest are read") {
  const Subject& subject = subjects[0];
  const Copy folder(subject);
  const fs::path last = folder / "whole/last.safetensors";
  const std::string good = read_text(last);
  const auto check = [&](const std::string& section, const std::string& field, int64_t most) {
    folder.write("whole/last.safetensors", good);
    for (const int64_t value : {most + 1, std::numeric_limits<int64_t>::max(), int64_t{-1}}) {
      change_metadata(last, [&](Metadata& metadata) {
        auto training = nlohmann::ordered_json::parse(metadata["training"]);
        (section == "state" ? training["state"] : training["optimizer"]["counters"])[field] = value;
        metadata["training"] = training.dump();
      });
      check_refused(subject, {"resume", "whole", "--set", "training.epochs=4"}, folder,
                    {"whole/last.safetensors: its training state is damaged: '" + field + "'"});
    }
  };
  // Sums of a few of 2^53 fit into 64 bits, and a count of epochs that is one more than 10^9 into 32.
  for (const char* field : {"window", "windows", "count", "interval_count", "all_count", "skipped"})
    check("state", field, int64_t{1} << 53);
  for (const char* field : {"epoch", "best_epoch", "skipped_in_a_row"}) check("state", field, 1'000'000'000);
  check("counters", "steps", int64_t{1} << 53);

  // At the bound it is read, and training goes on: of "skipped" nothing else depends on it.
  folder.write("whole/last.safetensors", good);
  change_metadata(last, [&](Metadata& metadata) {
    auto training = nlohmann::ordered_json::parse(metadata["training"]);
    training["state"]["skipped"] = int64_t{1} << 53;
    training["state"]["all_count"] = int64_t{1} << 53;
    metadata["training"] = training.dump();
  });
  const ProgramRun resumed = run(subject, {"resume", "whole", "--set", "training.epochs=4"}, folder);
  CHECK_MESSAGE(resumed.code == 0, resumed.err);
}

TEST_CASE("nothing in a run's folder is followed out of it, and what is no file is no run's") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const std::string precious = "precious notes without a final newline";
    folder.write("notes.txt", precious);
    fs::rename(folder / "whole", folder / "kept");
    const auto try_with = [&](const std::string& name, const std::string& kind, const std::string& command) {
      fs::remove_all(folder / "whole");
      fs::copy(folder / "kept", folder / "whole");
      fs::remove(folder / "whole" / name);
      if (kind == "a link") fs::create_symlink("../notes.txt", folder / "whole" / name);
      if (kind == "a folder") fs::create_directory(folder / "whole" / name);
      if (kind == "a pipe") REQUIRE(mkfifo((folder / "whole" / name).c_str(), 0600) == 0);
      Words words = {command, "whole"};
      if (command == "resume") words = words + Words{"--set", "training.epochs=4"};
      check_refused(subject, words, folder, {fmt::format("whole/{}: {}, not a file", name, kind)});
      CHECK(read_text(folder / "notes.txt") == precious);
    };
    for (const std::string name :
         {"log.jsonl", "last.safetensors", "best.safetensors", "recipe.toml", "start.json", "report.json",
          "report.html", "run.lock", "log.jsonl.unroll-partial", "last.safetensors.unroll-partial"})
      try_with(name, "a link", "resume");
    for (const std::string name : {"log.jsonl", "last.safetensors", "report.html"}) {
      try_with(name, "a folder", "resume");
      try_with(name, "a pipe", "resume");
    }
    try_with("log.jsonl", "a link", "report");
    try_with("report.html", "a link", "report");
    try_with("report.json", "a pipe", "report");

    // A hard link cannot be told from the file itself; but nothing is cut in place, and what is no log is kept.
    fs::remove_all(folder / "whole");
    fs::copy(folder / "kept", folder / "whole");
    fs::remove(folder / "whole/log.jsonl");
    fs::create_hard_link(folder / "notes.txt", folder / "whole/log.jsonl");
    // Nor does a new file of events appear behind a link.
    fs::create_symlink("../events", folder / "whole/events.out.tfevents.0002");
    fs::create_directory_symlink("whole", folder / "by_another_name");  // the folder itself may be a link
    const ProgramRun resumed =
        run(subject, {"resume", "by_another_name", "--set", "training.epochs=4"}, folder);
    CHECK_MESSAGE(resumed.code == 0, resumed.err);
    CHECK(read_text(folder / "notes.txt") == precious);
    CHECK(read_text(folder / "whole/log.jsonl.damaged") == precious);
    CHECK(!fs::exists(folder / "events"));
    CHECK(fs::exists(folder / "whole/events.out.tfevents.0003"));
  }
}

TEST_CASE("a damaged line in the log stops nothing: it is said, and the log as it was is kept") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    auto lines = lines_of(read_text(folder / "whole/log.jsonl"));
    REQUIRE(lines.size() >= 3);
    lines[1] = lines[1].substr(0, lines[1].size() / 2);
    std::string damaged;
    for (const std::string& line : lines) damaged += line + "\n";
    folder.write("whole/log.jsonl", damaged);

    const ProgramRun report = run(subject, {"report", "whole"}, folder);
    CHECK(report.code == 0);
    CHECK(lacks(lines_of(report.err).at(0), {"warning: whole/log.jsonl:2: no record of a log"}) == "");
    CHECK(read_text(folder / "whole/log.jsonl") == damaged);

    const ProgramRun resumed =
        run(subject, {"resume", "whole", "--quiet", "--set", "training.epochs=4"}, folder);
    CHECK_MESSAGE(resumed.code == 0, resumed.err);
    CHECK(lacks(lines_of(resumed.out).at(0), {"whole/log.jsonl:2: no record of a log",
                                              "kept as it was in whole/log.jsonl.damaged"}) == "");
    CHECK(read_text(folder / "whole/log.jsonl.damaged") == damaged);
    const auto after = lines_of(read_text(folder / "whole/log.jsonl"));
    REQUIRE(after.size() >= lines.size());  // one less, and what epoch 4 adds
    CHECK(after[0] == lines[0]);
    CHECK(after[1] == lines[2]);
  }
}

TEST_CASE("more than a torn record after the log's last line is kept too") {
  const Folder folder;
  RunLog(folder.path()).write({.step = 1, .epoch = 1, .count = 1, .valid = {}});
  const std::string whole = read_text(folder / "log.jsonl"), zeros(100, '\0');  // after a power cut
  folder.write("log.jsonl", whole + zeros);
  const RunLog log(folder.path());
  CHECK(log.damaged().size() == 1);
  CHECK(read_text(folder / "log.jsonl") == whole);
  CHECK(read_text(folder / "log.jsonl.damaged") == whole + zeros);
}
