// How a session goes on from the checkpoint of an earlier one.
#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "run_start.h"
#include "saved_model.h"
#include "session.h"

namespace ptb {

namespace fs = std::filesystem;

namespace {

// Keys that decide how long and how safely is trained, and no number.
constexpr std::array harmless = {"training.epochs", "training.patience", "training.keep",
                                 "training.save_every_steps", "training.save_every_minutes", "training.log_every",
                                 "training.sample_every_epochs", "training.sample_words"};
// Keys whose effect on what was trained so far cannot be taken back.
constexpr std::array fixed = {"model.tied", "optimizer.kind", "optimizer.average_from"};

bool one_of(const auto& keys, const std::string& key) { return std::ranges::find(keys, key) != keys.end(); }

uint64_t fingerprint(std::span<const int32_t> tokens) {
  return place_of({reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes()});
}

}  // namespace

// Of a checkpoint: what resuming it compares.
Metadata Session::metadata() const {
  Metadata metadata = model_metadata(recipe_, text_.corpus.vocabulary);
  metadata["engine"] = name_of(model_.lstm.choice().engine);
  metadata["text"] = fmt::format("{:016x}", fingerprint(text_.corpus.train));
  return metadata;
}

void Session::resume(Trainer& trainer, const TrainingTask& task, const fs::path& folder) const {
  const fs::path path = folder / "last.safetensors";
  if (!fs::exists(path)) {
    trainer.resume(task);
    say("resumed from the beginning: there was no checkpoint yet\n");
    return;
  }
  const SafetensorsFile file(path);
  const Metadata now = metadata();
  Metadata then = file.metadata();  // what is missing is empty
  require_input(then["vocabulary"] == now.at("vocabulary"), "{}: its vocabulary is not that of {}",
                path.string(), describe(recipe_, options_.data));
  Recipe before = load_recipe({recipe_.name, path.string() + ": recipe", then["recipe"]});
  std::vector<std::string> notes;
  bool differs = false;
  for (const auto& [key, was, is] : differing_keys(before, recipe_)) {
    require_input(!one_of(fixed, key), "{}: '{}' is {} in it; a run cannot go on with {}", path.string(), key,
                  was, is);
    notes.push_back(fmt::format("{} = {}, was {}", key, is, was));
    differs |=
        !one_of(harmless, key) || (key == "training.epochs" && recipe_.schedule.kind == ScheduleKind::cosine);
  }
  Differences others = *trainer.resume(task);
  if (then["engine"] != now.at("engine"))
    others.push_back(fmt::format("engine {} then, {} now", then["engine"], now.at("engine")));
  if (then["text"] != now.at("text")) others.push_back("the text to train on is another");
  notes.insert(notes.end(), others.begin(), others.end());

  say("resumed after step {}, {} of {} epochs complete\n", optimizer_->parameters().step(),
      trainer.state().epoch, recipe_.training.epochs);
  for (const std::string& note : notes) say("        {}\n", note);
  if (differs || !others.empty())
    say("        the bits will differ from those of a run without that change\n");
  if (trainer.finished()) say("        nothing is left to train\n");
}

}  // namespace ptb
