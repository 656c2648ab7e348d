// Shared by the commands "export": writes a trained model in a form that runs without this program.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "framework/setup.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/cli/options.h"

namespace unroll {

// A form. A program has a table of them, by the kind of its models.
template <class Model>
struct ExportTarget {
  const char *word, *ending, *says;  // "onnx", ".onnx", and a few words for --help
  // Writes the file. Throws InputError if the model has no such form, naming what has none.
  void (*write)(const std::filesystem::path& out, const Model& model);
};

// Declares the command's word and options, reads them, and writes what they ask for. load(path): the model of a file.
template <class Model, class Load>
void export_command(Command& command, std::span<const ExportTarget<Model>> targets, Load load) {
  std::string to, out, meanings;
  std::vector<std::string> words;
  for (const ExportTarget<Model>& target : targets) {
    words.emplace_back(target.word);
    meanings += fmt::format("{}{}: {}", meanings.empty() ? "" : "; ", target.word, target.says);
  }
  add_checkpoint(command);
  command.option("to", to, "FORM", meanings).one_of(words).otherwise("must be given");
  command.option("out", out, "FILE", "the new file").otherwise("CHECKPOINT with another ending");
  command.example(fmt::format("export {}/last.safetensors --to {} --out model{}", command.first_run(),
                              targets[0].word, targets[0].ending),
                  targets[0].says);
  if (!command.parse()) return;
  require_input(command.given("to"), "export: --to says the form: {}", fmt::join(words, " or "));
  const auto* target = &targets[0];
  while (target->word != to) ++target;
  const std::filesystem::path model = command.positional();
  if (out.empty()) out = std::filesystem::path(model).replace_extension(target->ending).string();
  require_new("export", out);
  set_up({.threads = 1});
  target->write(out, load(model));
  show("{}: written\n", shown(out));
}

}  // namespace unroll
