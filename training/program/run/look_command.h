// What the commands `look` of both programs share: the models of a page, and writing it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "training/program/cli/command.h"

namespace unroll {

struct LookCommand {
  std::string against, out = "look.html";

  // A model of the page: its file, and what the page calls it.
  struct Model {
    std::string path, title;
  };

  // Declares the model's file, --out and --against, which is another model "on the same text".
  void add_to(Command& command, const std::string& on_the_same);
  // That of the command, and the one beside it if there is one.
  std::vector<Model> models(const Command& command) const;
  // Writes the page of models whose numbers these are, and says where it is; `begin` is when the work began.
  void write(const std::string& title, std::span<const std::string> numbers, double begin) const;
};

}  // namespace unroll
