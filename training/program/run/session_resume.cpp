// Resumes a session from the checkpoint of an earlier one.
#include <fmt/format.h>

#include "layers/recurrent/engine_trial.h"
#include "training/program/cli/invocation.h"
#include "training/program/run/session.h"

namespace unroll {

namespace fs = std::filesystem;

std::optional<SafetensorsFile> checkpoint_to_resume(const fs::path& folder) {
  for (const char* name : {last_checkpoint, best_checkpoint})
    if (has_own_file(folder / name)) {
      std::optional<SafetensorsFile> file(std::in_place, folder / name, Links::refused);
      check_checkpoint_version(*file);
      keep_engine(Metadata(file->metadata())["engine"]);
      return file;
    }
  return {};
}

void refuse_fixed_keys(const std::string& path, const std::vector<DifferingKey>& keys) {
  for (const DifferingKey& key : keys)
    require_input(key.on_resume != OnResume::fixed, "{}: '{}' is {} in it; a run cannot go on with {}", path,
                  key.path, key.before, key.after);
}

// The part of a resumption that all ranks take part in. Rank 0 does the rest alone.
void Session::resume_as_rank_0_does(Trainer& trainer) const {
  if (!trainer.resume(run_.task)) return take_first_weights();
  if (asked_of_first_rank([] { return false; })) trainer.score_anew(run_.task);
}

void Session::print_damaged_log(const Trainer& trainer) const {
  for (const std::string& line : trainer.damaged_log()) console_.print("warning {}\n", line);
}

void Session::resume(Trainer& trainer, const fs::path& folder) const {
  const fs::path path = folder / last_checkpoint;
  const auto advice = [&](bool has_best) {
    return fmt::format("{}'{} train {}{}' begins in another folder",
                       has_best ? fmt::format("'cp {} {}' lets it go on from the best epoch, ",
                                              shell_path(folder / best_checkpoint), shell_path(path))
                                : "",
                       invocation(options_.program), shell_path(folder / "recipe.toml"),
                       options_.data.empty()
                           ? ""
                           : fmt::format(" --{} {}", options_.data_option, shell_path(options_.data)));
  };
  if (!has_last_checkpoint(folder, run_.description.names, advice)) {
    trainer.resume(run_.task);
    take_first_weights();
    print_damaged_log(trainer);
    console_.info("resumed from the beginning: there was no checkpoint yet\n");
    return;
  }
  const SafetensorsFile file(path, Links::refused);
  Metadata then = file.metadata();  // missing keys are empty
  const DataDifferences of_data = run_.data_differences(then, path.string());
  const std::vector<DifferingKey> keys =
      run_.differing_keys({run_.recipe_name, path.string() + ": recipe", then["recipe"]});
  refuse_fixed_keys(path.string(), keys);
  std::vector<std::string> notes, of_windows;
  bool differs = false, rescores = of_data.scores;
  for (const DifferingKey& key : keys) {
    notes.push_back(fmt::format("{} = {}, was {}", key.path, key.after, key.before));
    if (key.cuts_windows) of_windows.push_back(notes.back());
    rescores |= key.on_resume == OnResume::rescores;
    differs |= key.on_resume != OnResume::harmless;
  }
  Differences others = *trainer.resume(run_.task);
  print_damaged_log(trainer);
  require_input(trainer.state().epoch <= run_.sections.training.epochs,
                "{}: {} epochs are complete, more than training.epochs = {}", path.string(),
                trainer.state().epoch, run_.sections.training.epochs);
  require_input(trainer.state().window == 0 || of_windows.empty(),
                "{}: it stands in the middle of an epoch, whose other windows cannot be cut with {}",
                path.string(), fmt::join(of_windows, "; "));
  const std::string& engine = run_.metadata.at("engine");
  if (then["engine"] != engine)
    others.push_back(fmt::format("engine {} then, {} now", then["engine"], engine));
  others.insert(others.end(), of_data.notes.begin(), of_data.notes.end());
  notes.insert(notes.end(), others.begin(), others.end());

  console_.info("resumed after step {}, {} of {} epochs complete\n", optimizer_->parameters().step(),
                trainer.state().epoch, run_.sections.training.epochs);
  for (const std::string& note : notes) console_.info("        {}\n", note);
  if (differs || !others.empty())
    console_.info("        the bits will differ from those of a run without that change\n");
  if (asked_of_first_rank([&] { return rescores; })) score_anew(trainer);
  if (trainer.finished()) console_.info("        nothing is left to train\n");
}

// Today's data alone decide which weights are the best.
void Session::score_anew(Trainer& trainer) const {
  const TrainerState before = trainer.state();
  trainer.score_anew(run_.task);
  const TrainerState& now = trainer.state();
  if (!before.best && !now.best) return;
  const auto score_of = [](const TrainerState& state) {
    return fmt::format("{} of epoch {}", format_score(*state.best), state.best_epoch);
  };
  std::string line =
      now.best ? fmt::format("valid scores are measured anew: the best is {}", score_of(now))
      : run_.task.validates()
          ? fmt::format(
                "valid scores so far do not count, and there is no {} to score: the next epoch is the best",
                best_checkpoint)
          : "valid scores so far do not count: there is nothing to validate on now";
  if (before.best) line += fmt::format("{} {}", now.best ? ", was" : "; the best was", score_of(before));
  console_.info("        {}\n", line);
}

}  // namespace unroll
