// A program made of commands. Its main() only calls run().
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "training/program/cli/command.h"
#include "training/program/recipe/recipe_reader.h"

namespace unroll {

struct Program {
  struct Listed {
    std::string name, purpose;
    std::function<void(Command&)> run;
    // If true, processes started together by mpirun share the work. Else rank 0 does it alone, and the others wait.
    bool shared = false;
  };
  std::string name;
  std::string purpose;      // "trains language models"
  std::string description;  // a paragraph or two; paragraphs are separated by an empty line
  std::vector<Listed> commands;
  std::vector<std::string> without_arguments;  // the command to run then: {"train", "demo"}
  // Declares the keys of the program's recipes, for the completion.
  std::function<std::vector<Entry>()> recipe_keys;
};

// Runs the command that the arguments name. Every program has the command "help" and the options --help and --version.
// Returns the exit code; an error has then been printed as one line.
int run(const Program& program, int argc, char** argv);

// The exit codes and their meanings: docs/exit-codes.md.
std::span<const Entry> exit_codes();

// All commands, "help" included, with their declarations.
std::vector<Command> declared_commands(const Program& program);

// The keys of a recipe for the completion: paths, and the accepted words separated by blanks.
std::vector<Entry> listed_keys(const RecipeReader& reader);

}  // namespace unroll
