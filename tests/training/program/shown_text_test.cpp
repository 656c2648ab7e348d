// Text that is not ours (names, words, paths) where it is shown: on terminals, in messages, in JSON, on pages. Nothing of it acts
// on a terminal, and bytes that are not UTF-8 are in nobody's way.
#include <fmt/format.h>
#include <pty.h>

#include "framework/one_line.h"
#include "tests/training/program/trained_programs.h"
#include "training/files/json/json.h"
#include "training/files/vocabulary_file.h"
#include "training/program/recipe/toml_values.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::string utf8(unsigned code) {
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
  return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

// Every code point that acts on a terminal or on the order of reading.
std::vector<unsigned> acting() {
  std::vector<unsigned> codes = {0x7F, 0x61C, 0x200E, 0x200F};
  for (const auto& [first, last] : {std::pair{0x01, 0x1F}, {0x80, 0x9F}, {0x2028, 0x202E}, {0x2066, 0x2069}})
    for (int code = first; code <= last; ++code) codes.push_back(static_cast<unsigned>(code));
  return codes;
}

// The place of such a character in a text that may have lines; "" if there is none. A terminal's own lines end with
// "\r\n".
std::string acts(const std::string& text) {
  for (const unsigned code : acting())
    if (code != '\n' && code != '\r' && has(text, utf8(code)))
      return fmt::format("U+{:04X} in {}", code, printable(text, "\n"));
  return is_utf8(text) ? "" : "not UTF-8: " + printable(text, "\n");
}

// The text that a terminal shows, from both streams.
std::string on_terminal(const std::string& program, const Words& words, const fs::path& folder) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  REQUIRE(child >= 0);
  if (child == 0) {
    std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    setenv("TERM", "dumb", 1);  // the bar of progress draws with escapes of its own
    if (chdir(folder.c_str()) == 0) execv(program.c_str(), arguments.data());
    _exit(127);
  }
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(terminal, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(terminal);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return text;
}

// Escapes that colour, name the window, turn the direction and ring, and a C1 control.
const std::string hostile = "\x1b[31m\x1b]0;x\x07\u202e\u009b";

}  // namespace

TEST_CASE("what acts on a terminal is not printable; other text is") {
  for (const unsigned code : acting()) {
    CAPTURE(code);
    CHECK(printable("a" + utf8(code) + "b") == "a?b");
    CHECK(one_line(utf8(code)) == "?");
  }
  for (int byte = 0x80; byte <= 0xFF; ++byte)  // alone, a byte of C1 in Latin 1, or of nothing
    CHECK(printable(std::string("a") + static_cast<char>(byte)) == "a?");
  CHECK(printable(std::string(1, '\0')) == "?");
  for (const unsigned code : {0x20u, 0x7Eu, 0xA1u, 0xE9u, 0x61Bu, 0x61Du, 0x1FFFu, 0x200Cu, 0x200Du, 0x2010u,
                              0x2027u, 0x2030u, 0x205Eu, 0x2065u, 0x206Au, 0x20ACu, 0xFEFEu, 0xFFFDu})
    CHECK(printable(utf8(code)) == utf8(code));
  // Nor is what nobody tells from a blank, or from nothing. A model's text keeps it.
  for (const unsigned code : {0xA0u, 0xADu, 0x2000u, 0x200Bu, 0x202Fu, 0x205Fu, 0x2064u, 0xFEFFu}) {
    CHECK(printable("a" + utf8(code) + "b") == "a?b");
    CHECK(json_text(nlohmann::json(utf8(code))) == '"' + utf8(code) + '"');
  }
  CHECK(printable("a\U0001D11Eb") == "a\U0001D11Eb");
  CHECK(printable("a\tb\nc\x1b", "\n\t") == "a\tb\nc?");
}

TEST_CASE("a text is cut between code points") {
  const std::string text = "aé€\U0001D11E";  // of 1, 2, 3 and 4 bytes
  const size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  for (size_t most = 0; most <= text.size(); ++most) CHECK(beginning(text, most).size() == ends[most]);
  CHECK(beginning("\x80\x80\x80\x80\x80", 3).size() == 3);  // no code point to cut
  CHECK(one_line(text, 4) == "aé...");
  CHECK(one_line(std::string(59, 'a') + "é") == std::string(59, 'a') + "...");
  CHECK(one_line(std::string(58, 'a') + "é") == std::string(58, 'a') + "é");
}

TEST_CASE("a string for a recipe reads back as it was, and can be printed") {
  std::string every = "Å\"x\\, 'y'\t" + hostile + std::string(100, 'z');
  for (const unsigned code : acting())
    if (code != 0) every += utf8(code);
  const std::string written = toml_string(every);
  CHECK(printable(written) == written);
  const auto value = parse_toml_value(written);
  REQUIRE(value);
  REQUIRE(value->as<std::string>());
  CHECK(*value->as<std::string>() == every);
}

TEST_CASE("JSON reads back as it was, and can be printed") {
  std::string all;
  for (const unsigned code : acting()) all += utf8(code);
  const nlohmann::json json = {{"name" + all, {all, "aé€\U0001D11E\\\"", 1.5}}};
  for (const int indent : {-1, 2}) {
    const std::string text = json_text(json, indent);
    CHECK(acts(text) == "");
    CHECK(nlohmann::json::parse(text) == json);
  }
  CHECK(json_text(nlohmann::json("a\xff")) == "\"a\xef\xbf\xbd\"");
  CHECK(json_text(nlohmann::json("é\u202e")) == "\"é\\u202e\"");
  // In its place there would be another word, or the same twice.
  CHECK(lacks(input_error_of([] {
                vocabulary_metadata(Vocabulary({"a", "b\xff"}));
              }),
              {"'b?'", "UTF-8"}) == "");
}

TEST_CASE("a folder whose name is not UTF-8, and names cut by length, are in no program's way") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder parent;
    const std::string name = "caf\xe9" + hostile;
    write_inputs(subject, parent);
    fs::create_directory(parent / name);
    for (const char* input : {"text", "series.csv"})
      if (fs::exists(parent / input)) fs::rename(parent / input, parent / name / input);
    // The recipe's name has the last byte that a message shows of it in the middle of a letter.
    const std::string recipe = std::string(59, 'r') + "é.toml";
    fs::rename(parent / "tiny.toml", parent / name / recipe);
    const auto in_it = [&](const Words& words) {
      const ProgramRun run = run_program(program_named(subject.program), words, parent / name);
      CHECK_MESSAGE(run.code == 0, run.err);
      CHECK(acts(run.out) == "");
      CHECK(acts(run.err) == "");
      return run.out;
    };
    in_it(Words{"train", recipe} + subject.data + Words{"--threads", "1", "--out", "run"});
    in_it({"report", "run"});
    CHECK(acts(read_text(parent / name / "run/report.html")) == "");
    CHECK(acts(read_text(parent / name / "run/report.json")) == "");
    in_it({"resume", "run", "--set",
           "training.epochs=4"});  // which reads the data again, by the path that the run has kept
    const auto json = nlohmann::json::parse(
        in_it(Words{"evaluate", "run/last.safetensors"} + subject.data + Words{"--json"}));
    CHECK(json["recipe"] == one_line(recipe.substr(0, recipe.size() - 5)));
    in_it(Words{"resume", "run", "--json"});
    in_it(Words{"train", recipe} + subject.data + Words{"--dry-run"});
  }
}

TEST_CASE("no word of a model's vocabulary acts on a terminal, and a pipe gets the words") {
  const Subject& subject = subjects[0];
  REQUIRE(subject.program == "ptb");
  const std::string ptb = program_named("ptb");
  const Folder folder;
  write_inputs(subject, folder);
  for (const char* split : {"train", "valid", "test"}) {
    std::string text;
    for (int i = 0; i < 90; ++i) text += "a " + hostile + " b" + hostile + "\n";
    folder.write(fmt::format("text/{}.txt", split), text);
  }
  const Words train = train_tiny(subject) + Words{"run", "--set", "training.sample_every_epochs=1"};
  const std::string trained = on_terminal(ptb, train, folder.path());
  CHECK_MESSAGE(has(trained, "        | "), trained);  // a sample
  CHECK(acts(trained) == "");
  CHECK(acts(read_text(folder / "run/report.html")) == "");

  const Words generate = {"generate", "run/last.safetensors", "--words", "40"};
  const ProgramRun piped = run_program(ptb, generate, folder.path());
  CHECK(has(piped.out, "b" + hostile));
  std::string shown = printable(piped.out, "\n"), terminal;
  for (const char c : on_terminal(ptb, generate, folder.path()))
    if (c != '\r') terminal += c;
  CHECK(terminal == shown);

  folder.write("text/test.txt", "a c" + hostile + "\n");  // which the vocabulary lacks, as it does an <unk>
  for (const Words& words : {Words{"evaluate", "run/last.safetensors"} + subject.data,
                             Words{"generate", "run/last.safetensors", "--prompt", "c" + hostile}}) {
    const std::string refused = on_terminal(ptb, words, folder.path());
    CHECK(has(refused, "'c?[31m"));
    CHECK(acts(refused) == "");
  }
}

TEST_CASE("no name in a CSV file, a recipe or a path acts on a terminal") {
  const Subject& subject = subjects[1];
  REQUIRE(subject.program == "timeseries");
  const std::string timeseries = program_named("timeseries");
  const Folder folder;
  write_inputs(subject, folder);
  const std::string csv = read_text(folder / "series.csv");
  const std::string turning = "\u202e\u009b";  // control characters of ASCII are refused in a column's name
  folder.write("series.csv", "date,load" + turning + ",wind" + turning + csv.substr(csv.find('\n')));
  const std::string run = "run" + hostile, recipe = "tiny" + hostile + ".toml";
  fs::rename(folder / "tiny.toml", folder / recipe);
  std::string next;
  for (const Words& words :
       {Words{"explain", recipe, "--csv", "series.csv"},
        Words{"train", recipe, "--csv", "series.csv", "--out", run, "--threads", "1"},
        Words{"train", recipe, "--csv", "none" + hostile},
        Words{"train", recipe, "--csv", "series.csv", "--set", "data.targets=[\"x" + hostile + "\"]"},
        Words{"resume", run}, Words{"report", run},
        Words{"evaluate", run + "/best.safetensors", "--csv", "series.csv"},
        Words{"forecast", run + "/best.safetensors", "--csv", "series.csv", "--ascii"},
        Words{"forecast", run + "/none" + hostile}}) {
    CAPTURE(words[0]);
    const std::string shown = on_terminal(timeseries, words, folder.path());
    CHECK(shown != "");
    CHECK_MESSAGE(acts(shown) == "", shown);
    if (words[0] == "resume") next = shown.substr(shown.find("next "));
  }
  for (const char* file : {"report.html", "report.json", "start.json"})
    CHECK(acts(read_text(folder / fs::path(run) / file)) == "");
  const ProgramRun forecast =
      run_program(timeseries, {"forecast", run + "/best.safetensors", "--csv", "series.csv"}, folder.path());
  CHECK_MESSAGE(has(forecast.out, "load" + turning), forecast.err);
  // The command to type next can be typed: a shell reads the name of the file out of it.
  CHECK(has(next, "$'run\\x1b[31m\\x1b]0;x\\x07\\xe2\\x80\\xae\\xc2\\x9b/best.safetensors'"));
}

TEST_CASE("an error's message is one line, whoever makes it") {
  CHECK(std::string(Error("a\x1b[31m\nb\u00a0c").what()) == "a?[31m?b?c");
  CHECK(input_error_of([] { throw InputError("a\rb"); }) == "a?b");
}

TEST_CASE("a path is one line and no option, in what is shown and in what is to be typed next") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder folder;
    write_inputs(subject, folder);
    const auto out = [&](const Words& words) {
      const ProgramRun done = run(subject, words, folder);
      CHECK_MESSAGE(done.code == 0, done.err);
      return done.out;
    };
    const std::string of_lines = out(train_tiny(subject) + Words{"two\nlines"});
    for (const char* line : {"folder  two?lines\n", "model   two?lines/", "report  two?lines/report.html\n"})
      CHECK_MESSAGE(has(of_lines, line), of_lines);
    CHECK(out({"report", "two\nlines"}) == "two?lines/report.html\n");
    CHECK(has(of_lines.substr(of_lines.find("next ")), " $'two\\x0alines/"));

    const std::string name = "-dash\u00a0\\n\\'$x\"`*~";
    fs::rename(folder / "two\nlines", folder / name);
    const std::string resumed = out({"resume", "--", name}), next = resumed.substr(resumed.find("next "));
    CHECK_MESSAGE(has(next, " $'./-dash\\xc2\\xa0"), resumed);
    // A shell reads the path out of it.
    const size_t word = next.find("$'");
    const std::string typed = "printf %s " + next.substr(word, next.find_first_of(" \n", word) - word);
    CHECK(run_program("/bin/bash", {"-c", typed}, folder.path()).out.starts_with("./" + name + "/"));
  }
}
