// How a session goes on from the checkpoint of an earlier one.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "data/text_file.h"
#include "examples/common/invocation.h"
#include "examples/common/session.h"
#include "training/atomic_file.h"

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

// A run whose latest checkpoint is lost is not begun again over what is left of it. One that was killed before it had
// a checkpoint is; and between the two files of its first epoch, best.safetensors is what the other was to become.
void make_up_for_missing(const fs::path& last, const LogNames& names, const std::string& program) {
  const fs::path folder = last.parent_path(), best = folder / "best.safetensors", log = folder / "log.jsonl";
  std::error_code error;
  const bool has_best = fs::exists(best, error);
  int64_t epochs = 0;
  if (fs::exists(log, error))
    epochs = std::ranges::count(read_log(log, names), LogRecord::Kind::epoch, &LogRecord::kind);
  if (epochs <= 1 && !has_best) return;
  if (epochs == 1) {
    (void)SafetensorsFile(best);  // throws if it is damaged
    return write_file_atomically(last, read_file(best));
  }
  const std::string complete = epochs > 0 ? fmt::format("a log of {} epochs", epochs) : "";
  const std::string there = !has_best    ? complete
                            : epochs > 0 ? "best.safetensors and " + complete
                                         : "best.safetensors";
  throw InputError(fmt::format(
      "{}: is missing, and the run is not begun again over {}; {}'{} train {}' begins in another folder",
      last.string(), there,
      has_best ? fmt::format("'cp {} {}' lets it go on from the best epoch, ", shell_word(best.string()),
                             shell_word(last.string()))
               : "",
      invocation(program), shell_word((folder / "recipe.toml").string())));
}

}  // namespace

void Session::resume(Trainer& trainer, const fs::path& folder) const {
  const fs::path path = folder / "last.safetensors";
  std::error_code error;
  if (!fs::exists(path, error)) make_up_for_missing(path, trainee_.description.names, options_.program);
  if (!fs::exists(path, error)) {
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
