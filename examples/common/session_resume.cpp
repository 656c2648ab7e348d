// How a session goes on from the checkpoint of an earlier one.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "examples/common/invocation.h"
#include "examples/common/session.h"

namespace unroll {

namespace fs = std::filesystem;

namespace {

// Keys that decide how long and how safely is trained, and no number; and the engine, of which it counts what it became.
constexpr std::array harmless = {"training.epochs",
                                 "training.patience",
                                 "training.keep",
                                 "training.on_divergence",
                                 "training.save_every_steps",
                                 "training.save_every_minutes",
                                 "training.log_every",
                                 "model.engine"};
// Keys whose effect on what was trained so far cannot be taken back.
constexpr std::array fixed = {"optimizer.kind", "optimizer.average_from"};

bool one_of(const auto& keys, const std::string& key) { return std::ranges::find(keys, key) != keys.end(); }

}  // namespace

void Session::resume(Trainer& trainer, const fs::path& folder) const {
  const fs::path path = folder / last_checkpoint;
  const auto advice = [&](bool has_best) {
    return fmt::format(
        "{}'{} train {}' begins in another folder",
        has_best ? fmt::format("'cp {} {}' lets it go on from the best epoch, ",
                               shell_word((folder / best_checkpoint).string()), shell_word(path.string()))
                 : "",
        invocation(options_.program), shell_word((folder / "recipe.toml").string()));
  };
  if (!has_last_checkpoint(folder, trainee_.description.names, advice)) {
    trainer.resume(trainee_.task);
    voice_.say("resumed from the beginning: there was no checkpoint yet\n");
    return;
  }
  const SafetensorsFile file(path);
  Metadata then = file.metadata();  // what is missing is empty
  const Differences of_data = trainee_.data_differences(then, path.string());
  std::vector<std::string> notes, of_windows;
  bool differs = false;
  for (const auto& [key, was, is] :
       trainee_.differing_keys({trainee_.recipe_name, path.string() + ": recipe", then["recipe"]})) {
    require_input(!one_of(fixed, key) && !one_of(trainee_.fixed_keys, key),
                  "{}: '{}' is {} in it; a run cannot go on with {}", path.string(), key, was, is);
    notes.push_back(fmt::format("{} = {}, was {}", key, is, was));
    if (one_of(trainee_.window_keys, key)) of_windows.push_back(notes.back());
    const bool of_no_number = one_of(harmless, key) || one_of(trainee_.harmless_keys, key);
    differs |= !of_no_number ||
               (key == "training.epochs" && trainee_.sections.schedule.kind == ScheduleKind::cosine);
  }
  Differences others = *trainer.resume(trainee_.task);
  require_input(trainer.state().epoch <= trainee_.sections.training.epochs,
                "{}: {} epochs are complete, more than training.epochs = {}", path.string(),
                trainer.state().epoch, trainee_.sections.training.epochs);
  require_input(trainer.state().window == 0 || of_windows.empty(),
                "{}: it stands in the middle of an epoch, whose other windows cannot be cut with {}",
                path.string(), fmt::join(of_windows, "; "));
  const std::string& engine = trainee_.metadata.at("engine");
  if (then["engine"] != engine)
    others.push_back(fmt::format("engine {} then, {} now", then["engine"], engine));
  others.insert(others.end(), of_data.begin(), of_data.end());
  notes.insert(notes.end(), others.begin(), others.end());

  voice_.say("resumed after step {}, {} of {} epochs complete\n", optimizer_->parameters().step(),
             trainer.state().epoch, trainee_.sections.training.epochs);
  for (const std::string& note : notes) voice_.say("        {}\n", note);
  if (differs || !others.empty())
    voice_.say("        the bits will differ from those of a run without that change\n");
  if (trainer.finished()) voice_.say("        nothing is left to train\n");
}

}  // namespace unroll
