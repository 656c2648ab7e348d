#include "training/program/cli/misplaced.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/one_line.h"
#include "training/checkpoint.h"
#include "training/program/cli/invocation.h"
#include "training/program/recipe/recipe_file.h"

namespace unroll {

namespace {

namespace fs = std::filesystem;

enum class Kind : uint8_t { unknown, series, text, recipe, model, run };

bool is_bundled(const std::string& word, const std::string& program) {
  return std::ranges::count(bundled_recipes(program), word) > 0;
}

// A missing file's kind is read from its name.
Kind kind_of(const std::string& word, const std::string& program) {
  std::error_code error;
  const fs::path path = word;
  if (fs::is_directory(path, error)) {
    for (const char* file : {"recipe.toml", last_checkpoint, best_checkpoint})
      if (fs::exists(path / file, error)) return Kind::run;
    for (const char* file : {"train.txt", "ptb.train.txt"})
      if (fs::exists(path / file, error)) return Kind::text;
    return Kind::unknown;
  }
  const std::string ending = path.extension().string();
  if (ending == ".csv" || ending == ".tsv") return Kind::series;
  if (ending == ".txt") return Kind::text;
  if (ending == ".toml" || is_bundled(word, program)) return Kind::recipe;
  return ending == ".safetensors" ? Kind::model : Kind::unknown;
}

// A word of another kind than the command takes. Each function throws InputError: what the word is, and what to type.
struct Misplaced {
  const Command& command;
  bool wants_recipe, wants_model, wants_run;
  std::string word = command.positional(), name = command.name(), quoted = shell_path(word);
  std::error_code error = {};

  [[noreturn]] void refuse(const char* what, const std::string& advice) const {
    throw InputError(fmt::format("{}: {} is {}, not {}: {}", name, one_line(word), what,
                                 wants_recipe  ? "a recipe"
                                 : wants_model ? "a model"
                                               : "a run's folder",
                                 advice));
  }
  std::string typed(const std::string& words) const {
    return fmt::format("'{} {}'", invocation(command.program()), words);
  }

  [[noreturn]] void refuse_data(bool is_series) {
    const char* what = is_series ? "a series" : "a text";
    if (wants_run)
      refuse(what, fmt::format("{} is what 'train' leaves", typed(name + " " + command.first_run())));
    if (is_series != (command.program() == "timeseries"))
      refuse(what, fmt::format("'{}' is the program for it", is_series ? "timeseries" : "ptb"));
    const std::string option = is_series ? " --csv " + quoted : " --data DIR";
    const std::string a_model = command.first_run() + "/" + last_checkpoint;
    if (wants_model)
      refuse(what, fmt::format("{} reads it, with the file of a model that 'train' has left",
                               typed(name + " " + a_model + (is_series ? option : ""))));
    if (is_series)
      refuse(what, fmt::format("{} reads it; mine.toml is a recipe of yours, and may be empty at first",
                               typed(name + " mine.toml" + option)));
    const bool is_folder = fs::is_directory(word, error);
    refuse(what, fmt::format("{} reads it{}",
                             typed(fmt::format("{} ptb-small --data {} --set data.corpus=text", name,
                                               is_folder ? quoted : "DIR")),
                             is_folder ? "" : "; DIR has train.txt, valid.txt and test.txt in it"));
  }

  [[noreturn]] void refuse_model() {
    const fs::path folder = fs::path(word).parent_path(), recipe = folder / "recipe.toml";
    const bool in_run = fs::exists(recipe, error);
    if (wants_run)
      refuse("a model", in_run ? typed(name + " " + shell_path(folder)) + " takes the folder"
                               : "it does not lie in the folder of a run");
    refuse("a model", in_run ? fmt::format("the recipe beside it is {}", shell_path(recipe))
                             : fmt::format("{} scores it", typed("evaluate " + quoted)));
  }

  [[noreturn]] void refuse_run() {
    if (wants_recipe)
      refuse("a run's folder",
             fmt::format("{} goes on with the run; its recipe is {}", typed("resume " + quoted),
                         shell_path(fs::path(word) / "recipe.toml")));
    for (const char* file : {best_checkpoint, last_checkpoint})
      if (const fs::path model = fs::path(word) / file; fs::exists(model, error))
        refuse("a run's folder", typed(name + " " + shell_path(model)));
    refuse("a run's folder", "there is no model in it yet");
  }
};

}  // namespace

void check_kind_of_word(const Command& command) {
  const std::string &word = command.positional(), &takes = command.takes().what;
  Misplaced found{command, takes == "RECIPE", takes == "CHECKPOINT", takes == "DIR"};
  if (word.empty() || (!found.wants_recipe && !found.wants_model && !found.wants_run)) return;
  const Kind kind = kind_of(word, command.program());
  const bool as_wanted = kind == (found.wants_recipe  ? Kind::recipe
                                  : found.wants_model ? Kind::model
                                                      : Kind::run);
  if (kind == Kind::unknown || as_wanted || (kind == Kind::series && command.takes_series())) return;
  if (kind == Kind::series || kind == Kind::text) found.refuse_data(kind == Kind::series);
  if (kind == Kind::model) found.refuse_model();
  if (kind == Kind::run) found.refuse_run();
  found.refuse("a recipe", fmt::format("{} {}", found.typed("train " + found.quoted),
                                       found.wants_run ? "begins a run with it" : "makes a model of it"));
}

}  // namespace unroll
