// A program's command line: which words are values, and the pages of --help, the manual page and the completion, all from one
// table.
#include <regex>
#include <set>

#include <fmt/format.h>

#include "tests/program.h"
#include "training/program/cli/command.h"
#include "training/program/recipe/recipe_reader.h"

namespace {

std::string ptb(const std::vector<std::string>& words) {
  const Folder folder;
  const ProgramRun run = run_program(program_named("ptb"), words, folder.path());
  CHECK_MESSAGE(run.code == 0, run.err);
  CHECK(run.err.empty());
  return run.out;
}

// The commands, as the program's page lists them.
std::vector<std::string> commands() {
  std::vector<std::string> names;
  bool listed = false;
  for (const std::string& line : lines_of(ptb({"--help"}))) {
    if (line.empty()) listed = false;
    if (listed && line.starts_with("  ") && line[2] != ' ')
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    if (line == "Commands:") listed = true;
  }
  return names;
}

// "--seed", … as a command's page lists them.
std::set<std::string> options_of(const std::string& page) {
  std::set<std::string> options;
  static const std::regex option("\n  (--[a-z-]+)");
  for (std::sregex_iterator at(page.begin(), page.end(), option), end; at != end; ++at)
    options.insert((*at)[1]);
  return options;
}

// Words that bash would offer for the last of these, after sourcing the script in a folder that has a few files.
std::set<std::string> completed(const std::string& words) {
  static const std::string script = ptb({"help", "--completion", "bash"});
  const Folder folder;
  folder.write("script", script);
  for (const char* file : {"mine.toml", "notes.txt", "runs/demo-1/last.safetensors", "weights.safetensors"})
    folder.write(file, "");
  const std::string body = "set -eu; source ./script; COMP_WORDS=(" + words +
                           "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _ptb; ((${#COMPREPLY[@]})) || exit 0; "
                           "printf '%s\\n' \"${COMPREPLY[@]}\"";
  const ProgramRun run = run_program("/bin/bash", {"--norc", "-c", body}, folder.path());
  CHECK_MESSAGE(run.code == 0, words, run.err);
  CHECK(run.err.empty());
  const auto lines = lines_of(run.out);
  return {lines.begin(), lines.end()};
}

using Offered = std::set<std::string>;

}  // namespace

TEST_CASE("a value may begin with dashes, and one that may be left out takes no file for it") {
  const auto read = [](std::vector<std::string> words) {
    unroll::Command command("ptb", {"score", ""}, std::move(words), "");
    std::string text, mode;
    bool quiet = false;
    command.word("[FILE]", "");
    command.option("text", text, "TEXT", "");
    command.option("quiet", quiet, "");
    command.option("mode", mode, "MODE", "").may_stand_alone("implied", {"bare"});
    CHECK(command.parse());
    return fmt::format("{}|{}|{}|{}", command.positional(), text, mode, quiet ? "quiet" : "");
  };
  CHECK(read({"--text", "-- he said", "f", "--quiet"}) == "f|-- he said||quiet");
  CHECK(read({"--text", "--quieter", "f"}) == "f|--quieter||");
  CHECK(read({"--text=--quiet"}) == "|--quiet||");
  CHECK(read({"--text", "-- mode", "--mode", "bare", "f"}) == "f|-- mode|bare|");
  CHECK(read({"--mode", "f"}) == "f||implied|");
  CHECK(read({"--mode", "--text", "t"}) == "|t|implied|");
  CHECK(read({"--mode", "Rate=1", "--quiet"}) == "||Rate=1|quiet");
  CHECK(read({"--mode", "runs/a=1/best"}) == "runs/a=1/best||implied|");
  CHECK(read({"--", "--mode"}) == "--mode|||");
}

TEST_CASE("pages of help fit on a terminal and have every part") {
  CHECK(commands().size() >= 5);
  CHECK(ptb({"--help"}) == ptb({"help"}));
  for (const std::string& name : unroll::bundled_recipes("ptb"))
    CHECK(ptb({"--help"}).find(name) != std::string::npos);
  for (const std::string& command : commands()) {
    CAPTURE(command);
    const std::string page = ptb({command, "--help"});
    CHECK(page == ptb({"help", command}));
    CHECK(page.starts_with("usage: ptb " + command));
    for (const std::string& line : lines_of(page)) CHECK_MESSAGE(line.size() <= 80, line);
    CHECK(page.find("Exit codes:\n  0 ") != std::string::npos);
    CHECK(page.find("Examples:\n  ptb " + command) != std::string::npos);
    CHECK(options_of(page).empty() == (page.find(" [OPTION]...") == std::string::npos));
  }
  const std::string page = ptb({"evaluate", "--help"});
  CHECK(page.find("--split valid|test|train\n") != std::string::npos);
  CHECK(page.find("(default: test)") != std::string::npos);
  CHECK(ptb({"generate", "-h"}).find("(default: 100)") != std::string::npos);
}

TEST_CASE("examples on the pages are command lines that the program takes") {
  for (const std::string& command : commands()) {
    const std::string page = ptb({"help", command});
    const std::set<std::string> options = options_of(page);
    static const std::regex example("\n  ptb [a-z]+ ([^\n]*)"), option(" (--[a-z-]+)");
    for (std::sregex_iterator at(page.begin(), page.end(), example), end; at != end; ++at) {
      const std::string line = " " + (*at)[1].str();
      for (std::sregex_iterator word(line.begin(), line.end(), option); word != end; ++word)
        CHECK_MESSAGE(options.contains((*word)[1]), line);
    }
  }
}

TEST_CASE("the version is the project's") {
  const std::string build = read_text("meson.build");
  const size_t at = build.find("version: '") + 10;
  CHECK(ptb({"--version"}) == "ptb " + build.substr(at, build.find('\'', at) - at) + "\n");
}

TEST_CASE("the manual page has every command and option") {
  const std::string page = ptb({"help", "--man"});
  for (const std::string& command : commands()) {
    CHECK_MESSAGE(page.find("\n.SS ptb " + command) != std::string::npos, command);
    for (std::string option : options_of(ptb({command, "--help"}))) {
      option = std::regex_replace(option, std::regex("-"), "\\-");
      CHECK_MESSAGE(page.find("\n.B " + option) != std::string::npos, option);
    }
  }
  for (const char* section :
       {"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "FILES", "EXIT STATUS", "EXAMPLES"})
    CHECK_MESSAGE(page.find(fmt::format("\n.SH {}\n", section)) != std::string::npos, section);
  // Outside of the requests at the beginning of a line no minus may become a hyphen.
  for (const std::string& line : lines_of(page))
    if (!line.starts_with(".TH") && !line.starts_with(".\\\""))
      CHECK_MESSAGE(!std::regex_search(line, std::regex("(^|[^\\\\])-")), line);
}

TEST_CASE("help refuses what it cannot explain") {
  const Folder folder;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"help", "trian"},
                                             {"help", "train", "--man"},
                                             {"help", "--completion", "zsh"},
                                             {"help", "a", "b"}}) {
    const ProgramRun run = run_program(program_named("ptb"), words, folder.path());
    CHECK(run.code == 2);
    CHECK(lines_of(run.err).size() == 1);
  }
}

TEST_CASE("completion: commands and options") {
  const auto names = commands();
  Offered first(names.begin(), names.end());
  first.insert({"--help", "--version"});
  CHECK(completed("ptb ''") == first);
  CHECK(completed("ptb ev") == Offered{"evaluate"});
  CHECK(completed("./build/examples/ptb/ptb gen") == Offered{"generate"});
  for (const std::string& command : names) {
    Offered options = options_of(ptb({command, "--help"}));
    options.insert("--help");
    CHECK(completed("ptb " + command + " -") == options);
  }
  CHECK(completed("ptb train demo --see") == Offered{"--seed"});
  CHECK(completed("ptb help ev") == Offered{"evaluate"});
}

TEST_CASE("completion: values of options") {
  CHECK(completed("ptb train --engine f") == Offered{"fused"});
  CHECK(completed("ptb train --engine = f") == Offered{"fused"});  // --engine=f, as bash splits it
  CHECK(completed("ptb train --engine =") == Offered{"auto", "composed", "cudnn", "fused"});
  CHECK(completed("ptb evaluate --split ''") == Offered{"test", "train", "valid"});
  CHECK(completed("ptb train --data ''") == Offered{"runs"});
  CHECK(completed("ptb train --seed ''").empty());
  CHECK(completed("ptb train --json m") == Offered{"mine.toml"});  // --json takes no value
  CHECK(completed("ptb help --completion ''") == Offered{"bash"});
}

TEST_CASE("completion: recipes and models") {
  Offered recipes{"mine.toml", "runs"};
  for (const std::string& name : unroll::bundled_recipes("ptb")) recipes.insert(name);
  CHECK(completed("ptb train ''") == recipes);
  CHECK(completed("ptb explain ptb-s") == Offered{"ptb-small"});
  CHECK(completed("ptb evaluate ''") == Offered{"runs", "weights.safetensors"});
  CHECK(completed("ptb generate runs/demo-1/") == Offered{"runs/demo-1/last.safetensors"});
}

TEST_CASE("completion: keys of recipes and their words") {
  CHECK(completed("ptb train demo --set model.h") ==
        Offered{"model.heads=", "model.hidden=", "model.hidden_dropout="});
  CHECK(completed("ptb explain --set schedule.mi") == Offered{"schedule.minimum="});
  CHECK(completed("ptb train demo --set optimizer.kind =") == Offered{"adam", "adamw", "asgd", "lion", "rmsprop", "sgd"});
  CHECK(completed("ptb train demo --set optimizer.kind = ada") == Offered{"adam", "adamw"});
  CHECK(completed("ptb train demo --set model.hidden = 3").empty());
}
