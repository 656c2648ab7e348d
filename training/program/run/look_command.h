// Shared by the commands `look` of both programs: the models on a page, and writing it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "training/program/cli/command.h"

namespace unroll {

struct LookCommand {
  std::string against, out = "look.html";

  // A model on the page: its file and its title.
  struct Model {
    std::string path, title;
  };

  // Declares the model's file, --out and --against, which names another model "on the same text".
  void add_to(Command& command, const std::string& on_the_same);
  // The command's model, and the one to compare it with if there is one.
  std::vector<Model> models(const Command& command) const;
  // Writes the page with these models' numbers, and prints where it is. `begin`: when the work began.
  void write(const std::string& title, std::span<const std::string> numbers, double begin) const;
};

}  // namespace unroll
