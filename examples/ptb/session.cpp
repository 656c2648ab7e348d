#include "session.h"

#include "framework/threads.h"
#include "run_start.h"
#include "saved_model.h"
#include "training/run_folder.h"
#include "training/signals.h"
#include "training_setup.h"

namespace ptb {

namespace fs = std::filesystem;

Session::Session(TrainOptions options)
    : options_(std::move(options)),
      recipe_(options_.recipe),
      out_(options_.json ? stderr : stdout),
      text_(load_text(recipe_, options_.data)),
      model_(recipe_, text_.corpus.vocabulary.size()),
      windows_(text_.corpus.train, {.batch = recipe_.data.batch, .steps = recipe_.data.bptt}),
      state_(model_.lstm.zero_state(recipe_.data.batch)),
      optimizer_(make_optimizer(recipe_, model_.params, windows_.count())),
      result_(recipe_, model_) {
  result_.source_valid_perplexity = text_.source_valid;
  result_.source_test_perplexity = text_.source_test;
}

std::vector<RunDescription::Figure> Session::facts() const {
  const Corpus& corpus = text_.corpus;
  const auto& m = recipe_.model;
  return {{"recipe", fmt::format("{}: {}", recipe_.name, describe(recipe_, options_.data))},
          {"text",
           fmt::format("{} / {} / {} tokens", with_commas(std::ssize(corpus.train)),
                       with_commas(std::ssize(corpus.valid)), with_commas(std::ssize(corpus.test))),
           fmt::format("to train on, to validate, to test; {} {}", with_commas(corpus.vocabulary.size()),
                       recipe_.data.level == Level::word ? "words" : "characters")},
          {"model", fmt::format("embedding {}, {} LSTM layer{} of {}, dropout {:g}: {} parameters",
                                m.embedding, m.layers, m.layers == 1 ? "" : "s", m.hidden, m.dropout,
                                with_commas(model_.params.count()))},
          {"engine", model_.lstm.choice().text()},
          {"", fmt::format("{}, {} thread{}, seed {}", recipe_.training.precision, threads(),
                           threads() == 1 ? "" : "s", recipe_.training.seed)}};
}

void Session::introduce() const {
  for (const auto& [name, value, note] : facts())
    say("{:<8}{}{}{}\n", name, value, note.empty() ? "" : " ", note);
}

TrainingTask Session::task() {
  const bool sum = recipe_.training.reduction == Reduction::sum_over_steps;
  return {.windows = windows_.count(),
          .begin_epoch = [this](int) { state_.reset(); },
          .loss =
              [this, sum](int64_t k) {
                const auto [input, target] = windows_.at(k);
                auto [loss, next] = model_(input, target, state_);
                next_ = next;
                WindowLoss result = mean_loss(loss, target.size());
                if (sum) result.objective = loss * static_cast<real>(target.dim(0));
                return result;
              },
          .carry = [this] { state_ = next_; }};
}

TrainerOptions Session::trainer_options(const fs::path& folder) const {
  const bool triggered = recipe_.optimizer.kind == OptimizerKind::asgd && recipe_.optimizer.average_from == 0;
  TrainerOptions options{.epochs = recipe_.training.epochs,
                         .clip = recipe_.training.clip,
                         .accumulate = recipe_.training.accumulate,
                         .schedule = make_schedule(recipe_, windows_.count()),
                         .non_monotone = triggered ? recipe_.optimizer.non_monotone : 0,
                         .patience = recipe_.training.patience,
                         .perplexity = true,
                         .unit = recipe_.data.level == Level::word ? "words" : "characters",
                         .progress = {.stream = out_},
                         .folder = folder,
                         .log_every = recipe_.training.log_every};
  if (options_.quiet) options.progress.mode = ProgressOptions::Mode::silent;
  if (folder.empty()) return options;
  options.on_divergence = recipe_.training.on_divergence;
  options.checkpoints = {.every_steps = recipe_.training.save_every_steps,
                         .every_minutes = recipe_.training.save_every_minutes,
                         .metadata = metadata(),
                         .also = tied_weights(model_)};
  return options;
}

Score Session::score_split(Split split) const {
  return score(model_, text_.corpus.split(split), text_.corpus.vocabulary.eos(), recipe_.data.eval_batch);
}

void Session::run() {
  const fs::path folder = options_.resume ? options_.out : create_run_folder(options_.out, recipe_.name);
  const RunFolderLock lock(folder);
  introduce();
  say("folder  {}\n", folder.string());
  const RunStart start{recipe_.name, options_.data, threads()};
  if (!options_.resume) write_run_start(folder, start, resolved(recipe_));
  Trainer trainer(*optimizer_, trainer_options(folder));
  TrainingTask task = this->task();
  task.validate = [this] { return score_split(Split::valid).perplexity(); };
  task.carried = {{"h", state_.h}, {"c", state_.c}};
  if (options_.resume) {
    resume(trainer, task, folder);
    write_run_start(folder, start,
                    resolved(recipe_));  // with what was changed, now that it is known to be possible
  }
  say("\n");
  description_ = describe_run(folder);
  write_run_description(folder, description_);
  task.after_epoch = [&](const EpochReport& epoch) {
    sample(epoch.epoch);
    write_page(folder);
  };

  const SignalGuard guard;
  try {
    train(trainer, task);
    report(trainer, folder);
  } catch (const Error&) {
    if (fs::exists(folder / "last.safetensors")) say("\nnext    ./run ptb resume {}\n", folder.string());
    throw;
  }
}

void Session::print_json(const Trainer& trainer, int epochs) {
  result_.epochs = epochs;
  result_.tokens = trainer.count();
  result_.seconds = trainer.times().training;
  result_.words_per_second = trainer.times().rate();
  result_.seconds_saving = trainer.times().saving;
  result_.seconds_logging = trainer.times().logging + seconds_of_pages_;
  if (trainer.state().epoch > 0) result_.train_perplexity = trainer.state().train;
  if (options_.json) result_.print_json();
}

}  // namespace ptb
