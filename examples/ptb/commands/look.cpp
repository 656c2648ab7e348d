// ptb look: a page that shows what a model does while it reads a text.
#include <fmt/format.h>

#include "examples/ptb/commands/commands.h"
#include "examples/ptb/export/live_text.h"
#include "examples/ptb/look/look_json.h"
#include "examples/ptb/look/look_numbers.h"
#include "framework/clock.h"
#include "training/files/atomic_file.h"
#include "training/program/run/look_command.h"
#include "training/program/run/machine.h"

namespace ptb {

void look(Command& command) {
  std::string text;
  LookCommand page;
  LiveOption live;
  Machine machine;
  command.describe(
      "Makes a page that shows what a model does while it reads a text: how much each word surprises it, what its units hold, "
      "how far back gradients reach, what each prediction rests on, and the tape of each step. It is one HTML file "
      "that loads nothing.");
  page.add_to(command, "text");
  command.option("text", text, "TEXT", "what the model is to read, 400 words or characters at most")
      .otherwise("");
  live.add_to(command);
  machine.add_to(command);
  command.example("look runs/demo-1/last.safetensors --text \"the dog near the men sleeps .\"",
                  "then open look.html");
  command.example("look last.safetensors --against epoch-1.safetensors --text \"every man .\"",
                  "what four epochs changed (training.keep_every_epochs = 1)");
  command.example("look last.safetensors --live --text \"every man .\"", "a page that runs the model");
  if (!command.parse()) return;
  require_input(command.given("text"), "look: --text \"…\" is missing, which the model is to read");
  machine.set_up(command);
  const double begin = clock_seconds();
  const std::vector<LookCommand::Model> models = page.models(command);
  std::vector<SavedModel> saved;
  std::vector<LookedText> looked;
  for (const auto& [path, title] : models) {
    saved.push_back(load_model(path));
    require_input(saved.back().recipe.data.level == saved[0].recipe.data.level,
                  "look: {} reads {}, and {} does not: their steps are not the same", models[0].path,
                  saved[0].recipe.data.level == Level::word ? "words" : "characters", path);
    looked.push_back(read_for_look(saved.back(), text, path));
    require_input(
        looked.back().written == looked[0].written,
        "look: to one of {} and {} a blank line ends a document (data.reset), to the other it is a line: "
        "their steps are not the same",
        models[0].path, path);
  }
  require_new("look", page.out);
  std::vector<std::string> numbers;
  if (live.is_on(page)) numbers.push_back(live_json(saved[0], live, models[0].path));
  for (size_t i = 0; i < models.size(); ++i) {
    look_inside(saved[i], text, models[i].path, looked[i]);
    numbers.push_back(look_json(saved[i], looked[i], models[i].title, models[i].path));
  }
  page.write(models[0].title, numbers, begin);
}

}  // namespace ptb
