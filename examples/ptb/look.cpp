// ptb look: a page that shows what a model does while it reads a text.
#include <filesystem>

#include <fmt/format.h>

#include "commands.h"
#include "framework/clock.h"
#include "look_json.h"
#include "look_numbers.h"
#include "options.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/run/machine.h"
#include "training/report/look_page.h"

namespace ptb {

// "demo-1/last" of runs/demo-1/last.safetensors
static std::string title_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path().filename();
  return (folder / path.stem()).string();
}

void look(Command& command) {
  std::string text, against, out = "look.html";
  Machine machine;
  command.describe(
      "Makes a page that shows what a model does while it reads a text: how much each word surprises it, what its units hold, "
      "how far back gradients reach, what each prediction rests on, and the tape of each step. It is one HTML file "
      "that loads nothing.");
  add_checkpoint(command);
  command.option("text", text, "TEXT", "what the model is to read, 400 words or characters at most")
      .otherwise("");
  command.option("out", out, "FILE", "the page");
  command.option("against", against, "FILE", "another model's file, to be shown beside it on the same text")
      .otherwise("");
  machine.add_to(command);
  command.example("look runs/demo-1/last.safetensors --text \"the dog near the men sleeps .\"",
                  "then open look.html");
  command.example("look last.safetensors --against epoch-1.safetensors --text \"every man .\"",
                  "what four epochs changed (training.keep_every_epochs = 1)");
  if (!command.parse()) return;
  require_input(command.given("text"), "look: --text \"…\" is missing, which the model is to read");
  require_new("look", out);
  machine.set_up(command);

  const double begin = clock_seconds();
  std::vector<std::string> models, written;
  Level level{};
  const std::string& first = command.positional();
  const bool alike =
      command.given("against") && title_of(first) == title_of(against);  // runs of one name in two folders
  const auto title = [&](const std::string& path) { return alike ? path : title_of(path); };
  for (const std::string& path :
       command.given("against") ? std::vector{first, against} : std::vector{first}) {
    SavedModel saved = load_model(path);
    if (models.empty()) level = saved.recipe.data.level;
    require_input(saved.recipe.data.level == level,
                  "look: {} reads {}, and {} does not: their steps are not the same", first,
                  level == Level::word ? "words" : "characters", path);
    const LookedText look = look_at(saved, text, path);
    if (models.empty()) written = look.written;
    require_input(
        look.written == written,
        "look: to one of {} and {} a blank line ends a document (data.reset), to the other it is a line: "
        "their steps are not the same",
        first, path);
    models.push_back(look_json(saved, look, title(path), path));
  }
  const std::string page = look_page(title(first) + ": a look inside", models);
  write_new_file(out, page);
  show("{}  {:.2f} MB, made in {:.1f} s; open it in a browser\n", shown(std::filesystem::path(out)),
       static_cast<double>(page.size()) / 1e6, clock_seconds() - begin);
}

}  // namespace ptb
