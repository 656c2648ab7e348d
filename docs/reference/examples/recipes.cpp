// A program's options in TOML.
#include "docs/reference/examples/examples.h"
#include "training/program/recipe/recipe_file.h"
#include "training/program/recipe/recipe_reader.h"
#include "training/program/recipe/recipe_sections.h"

namespace {

enum class Cell { lstm, gru };

void read() {
  //! [RecipeReader]
  int hidden = 100;
  Cell cell = Cell::lstm;
  RecipeReader reader;
  reader.section("model", "The network.");
  RecipeKey& key = reader.key("hidden", hidden, "units of each layer").at_least(1).fixed();
  reader.choice("cell", cell, {{"lstm", Cell::lstm}, {"gru", Cell::gru}}, "kind of cell");  // a RecipeChoice
  check(key.path() == "model.hidden" && key.range() == "at least 1");

  reader.read(RecipeFile{.name = "mine", .origin = "mine.toml", .text = "[model]\nhidden = 20\n"});
  const Override typed{.assignment = "model.cell=gru"};
  reader.set(typed.assignment);
  check(hidden == 20 && cell == Cell::gru);
  try {
    reader.set("model.hiden=3");
    check(false);
  } catch (const InputError& error) {  // "… unknown key 'model.hiden'; did you mean 'model.hidden'?"
    check(std::string(error.what()).find("'model.hidden'") != std::string::npos);
  }
  //! [RecipeReader]

  //! [UnreadKeys]
  UnreadKeys unread;
  unread.add_unless(cell == Cell::lstm, "model.cell = \"lstm\"", {"model.peepholes"});
  const UnreadKey& first = unread.keys.front();  // refused if the user sets it
  check(first.path == "model.peepholes");
  //! [UnreadKeys]

  //! [RecipeComplaint]
  try {
    key.assignment(TomlValue{.value = int64_t{0}});
    check(false);
  } catch (const RecipeComplaint& complaint) {  // the reader adds file and line
    check(complaint.text == "must be at least 1, got 0");
  }
  //! [RecipeComplaint]

  //! [DifferingKey]
  int before_hidden = 30;
  RecipeReader before;
  before.section("model");
  before.key("hidden", before_hidden, "units of each layer").at_least(1).fixed();
  Cell before_cell = Cell::gru;
  before.choice("cell", before_cell, {{"lstm", Cell::lstm}, {"gru", Cell::gru}}, "kind of cell").fixed();
  for (const DifferingKey& differs : differing_keys(before, reader))
    check(differs.path == "model.hidden" && differs.on_resume == OnResume::fixed);  // a run cannot go on so
  //! [DifferingKey]
}

void sections() {
  //! [TrainingSections]
  const TrainingSection training{.epochs = 4};
  const OptimizerSection optimizer{.kind = OptimizerKind::adam, .learning_rate = 1e-3};
  const ScheduleSection schedule{.kind = ScheduleKind::cosine};
  const TrainingSections all{training, optimizer, schedule};
  ParameterSet params;
  params.add("w", {1}, Init::constant(1));
  const EpochWindows windows(10);  // as many in each epoch
  check(make_optimizer(all, params, windows)->name() == "adam");
  check(steps_of_epochs(all, windows, 4) == 40);
  //! [TrainingSections]
}

}  // namespace

void recipes() { read(), sections(); }
