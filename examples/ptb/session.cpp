#include "session.h"

#include "data/ngram.h"
#include "framework/threads.h"
#include "run_start.h"
#include "saved_model.h"
#include "training/run_folder.h"
#include "training/signals.h"
#include "training_setup.h"

namespace ptb {

namespace fs = std::filesystem;

std::string with_commas(int64_t number) {
  const std::string text = std::to_string(number);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && (text.size() - i) % 3 == 0) result += ',';
    result += text[i];
  }
  return result;
}

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

void Session::introduce() const {
  const Corpus& corpus = text_.corpus;
  const auto& m = recipe_.model;
  say("recipe  {}: {}\n", recipe_.name, describe(recipe_, options_.data));
  say("text    {} / {} / {} tokens to train on, to validate, to test; {} {}\n",
      with_commas(std::ssize(corpus.train)), with_commas(std::ssize(corpus.valid)),
      with_commas(std::ssize(corpus.test)), with_commas(corpus.vocabulary.size()),
      recipe_.data.level == Level::word ? "words" : "characters");
  say("model   embedding {}, {} LSTM layer{} of {}, dropout {:g}: {} parameters\n", m.embedding, m.layers,
      m.layers == 1 ? "" : "s", m.hidden, m.dropout, with_commas(model_.params.count()));
  say("engine  {}\n", model_.lstm.choice().text());
  say("        {}, {} thread{}, seed {}\n", recipe_.training.precision, threads(), threads() == 1 ? "" : "s",
      recipe_.training.seed);
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
                         .folder = folder};
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

  const SignalGuard guard;
  try {
    trainer.run(task);
    report(trainer, folder);
  } catch (const Error&) {
    if (fs::exists(folder / "last.safetensors")) say("\nnext    ./run ptb resume {}\n", folder.string());
    throw;
  }
}

// Scores the weights that are kept, as they are in the file, and says what came out.
void Session::report(const Trainer& trainer, const fs::path& folder) {
  const bool best = recipe_.training.keep == Keep::best;
  const double valid = best ? *trainer.state().best : *trainer.state().valid;
  const fs::path file = folder / (best ? "best.safetensors" : "last.safetensors");
  load_weights(file, model_);
  const Score test = score_split(Split::test);
  say("\n");
  if (trainer.out_of_patience())
    say("ended   {} epochs without a better valid score\n", recipe_.training.patience);
  if (trainer.state().skipped > 0) say("skipped {} steps that were not finite\n", trainer.state().skipped);
  if (best) say("weights of epoch {}, the best on the valid split\n", trainer.state().best_epoch);
  say_score(Split::valid, valid, std::ssize(text_.corpus.valid), text_.source_valid);
  say_score(Split::test, test.perplexity(), test.tokens, text_.source_test);
  const Trainer::Times& times = trainer.times();
  if (times.count > 0)
    say("speed   {} {}/s, {} of training, {:.2f} s of saving and logging\n", format_number(times.rate()),
        trainer_options().unit, format_duration(times.training), times.saving + times.logging);
  say("model   {}\nnext    ./run ptb generate {}\n", file.string(), file.string());

  result_.valid_perplexity = valid;
  result_.test_perplexity = test.perplexity();
  print_json(trainer, trainer.state().epoch);
}

// A perplexity, and what it is to be held against: what made the text, and what counting words gives.
void Session::say_score(Split split, double perplexity, int64_t tokens, std::optional<double> source) const {
  const Corpus& corpus = text_.corpus;
  say("{:<8}perplexity {:.2f}, {} of {} tokens scored\n", unroll::name(split), perplexity,
      with_commas(tokens), with_commas(std::ssize(corpus.split(split))));
  if (source)
    say("        the source's own is {:.2f}: {:.1f} % above the best possible\n", *source,
        100 * (perplexity / *source - 1));
  if (recipe_.data.level != Level::word) return;
  const auto counted = [&](int order) {
    return NgramModel(order, corpus.train, corpus.vocabulary.size(), corpus.vocabulary.eos())
        .perplexity(corpus.split(split));
  };
  say("        by counting: unigram {:.2f}, trigram {:.2f}\n", counted(1), counted(3));
}

void Session::print_json(const Trainer& trainer, int epochs) {
  result_.epochs = epochs;
  result_.tokens = trainer.count();
  result_.seconds = trainer.times().training;
  result_.words_per_second = trainer.times().rate();
  result_.seconds_saving = trainer.times().saving;
  result_.seconds_logging = trainer.times().logging;
  if (trainer.state().epoch > 0) result_.train_perplexity = trainer.state().train;
  if (options_.json) result_.print_json();
}

}  // namespace ptb
