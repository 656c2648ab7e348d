// A program made of commands: what its main() hands everything to.
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
    // Whether processes that mpirun started together share its work. Else rank 0 does it alone, and the others wait.
    bool shared = false;
  };
  std::string name;
  std::string purpose;      // "trains language models"
  std::string description;  // a paragraph or two; paragraphs are separated by an empty line
  std::vector<Listed> commands;
  std::vector<std::string> without_arguments;  // what it does then: {"train", "demo"}
  // Declares the keys of its recipes, for the completion.
  std::function<std::vector<Entry>()> recipe_keys;
};

// Carries out what the arguments ask for. Commands "help" and options --help, --version come with every
// program. Returns the exit code; an error has been printed then, as one line.
int run(const Program& program, int argc, char** argv);

// Codes and what they mean: docs/exit-codes.md.
std::span<const Entry> exit_codes();

// All commands, "help" too, with what they declare.
std::vector<Command> declared_commands(const Program& program);

// The keys of a recipe as the completion wants them: paths, and the accepted words with blanks between them.
std::vector<Entry> listed_keys(const RecipeReader& reader);

}  // namespace unroll
