// ptb train: from a recipe to a model in a folder of its own.
#include <fmt/format.h>

#include <map>

#include "commands.h"
#include "data/ngram.h"
#include "data/windows.h"
#include "framework/gemm.h"
#include "framework/memory.h"
#include "result.h"
#include "saved_model.h"
#include "text.h"
#include "training/atomic_file.h"
#include "training/run_folder.h"
#include "training/trainer.h"
#include "training_setup.h"

namespace ptb {

namespace {

namespace fs = std::filesystem;

struct TrainOptions {
  Recipe recipe;
  fs::path data, out;
  bool json = false, dry_run = false, overfit_one_batch = false;
};

// False if only help was asked for.
bool parse(const Arguments& arguments, TrainOptions& train) {
  std::string data, out, engine;
  std::vector<std::string> sets;
  int thread_count = 0;
  uint64_t seed = 0;
  Options options("train", "RECIPE", "Trains a model from a recipe: a file, or the name of a bundled one.");
  namespace po = boost::program_options;
  options.add()("data", po::value(&data)->value_name("DIR"), "folder of the text (default for PTB: data/ptb)")(
      "out", po::value(&out)->value_name("DIR"), "folder of the run (default: runs/<recipe>-<n>)")(
      "set", po::value(&sets)->value_name("KEY=VALUE"), "another value for a key of the recipe; may be repeated")(
      "engine", po::value(&engine)->value_name("NAME"), "of the LSTM: auto, fused, composed")(
      "threads", po::value(&thread_count)->value_name("N"), "at most so many (default: one per core)")(
      "seed", po::value(&seed)->value_name("N"), "of first values and dropout masks")(
      "json", po::bool_switch(&train.json), "the last line of standard output is a JSON object, all else is standard error")(
      "dry-run", po::bool_switch(&train.dry_run), "one step of training and a little scoring; writes nothing")(
      "overfit-one-batch", po::bool_switch(&train.overfit_one_batch),
      "learn one window by heart: what cannot do that has a flaw; writes nothing");
  if (!options.parse(arguments)) return false;
  if (options.given("threads")) set_threads(thread_count);
  std::vector<Override> overrides;
  for (const std::string& assignment : sets) overrides.push_back({assignment, "--set"});
  if (options.given("engine")) overrides.push_back({fmt::format("model.engine={}", engine), "--engine"});
  if (options.given("seed")) overrides.push_back({fmt::format("training.seed={}", seed), "--seed"});
  train.recipe = load_recipe(options.positional(), overrides);
  train.data = data;
  train.out = out;
  require_input(!options.given("out") || !out.empty(), "train: --out names no folder");
  require_input(!(train.dry_run && train.overfit_one_batch), "train: --dry-run and --overfit-one-batch exclude each other");
  return true;
}

// 929589 -> "929,589"
std::string with_commas(int64_t number) {
  const std::string text = std::to_string(number);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && (text.size() - i) % 3 == 0) result += ',';
    result += text[i];
  }
  return result;
}

// A model, its text, and what training it needs.
class Session {
 public:
  explicit Session(TrainOptions options)
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

  void run();
  void dry_run();
  void overfit_one_batch();

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    fmt::print(out_, format, std::forward<Args>(args)...);
    std::fflush(out_);
  }
  void introduce() const;
  TrainingTask task();
  TrainerOptions trainer_options(const fs::path& log = {}) const;
  Score score_split(Split split, int batch) const;
  void save(const fs::path& folder, const EpochReport& report) const;
  void report(const Trainer& trainer, const fs::path& file);
  void say_score(Split split, double perplexity, int64_t tokens, std::optional<double> source) const;
  void print_json(const Trainer& trainer, int epochs);

  TrainOptions options_;
  const Recipe& recipe_;
  std::FILE* out_;
  Text text_;
  LanguageModel model_;
  BpttWindows windows_;
  LstmState state_;
  LstmVars next_;
  std::unique_ptr<Optimizer> optimizer_;
  Result result_;
};

void Session::introduce() const {
  const Corpus& corpus = text_.corpus;
  const auto& m = recipe_.model;
  say("recipe  {}: {}\n", recipe_.name, describe(recipe_, options_.data));
  say("text    {} / {} / {} tokens to train on, to validate, to test; {} {}\n", with_commas(std::ssize(corpus.train)),
      with_commas(std::ssize(corpus.valid)), with_commas(std::ssize(corpus.test)), with_commas(corpus.vocabulary.size()),
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

TrainerOptions Session::trainer_options(const fs::path& log) const {
  const bool triggered = recipe_.optimizer.kind == OptimizerKind::asgd && recipe_.optimizer.average_from == 0;
  return {.epochs = recipe_.training.epochs,
          .clip = recipe_.training.clip,
          .accumulate = recipe_.training.accumulate,
          .schedule = make_schedule(recipe_, windows_.count()),
          .non_monotone = triggered ? recipe_.optimizer.non_monotone : 0,
          .perplexity = true,
          .unit = recipe_.data.level == Level::word ? "words" : "characters",
          .progress = {.stream = out_},
          .log = log};
}

Score Session::score_split(Split split, int batch) const {
  return score(model_, text_.corpus.split(split), text_.corpus.vocabulary.eos(), batch);
}

void Session::run() {
  const fs::path folder = create_run_folder(options_.out, recipe_.name);
  introduce();
  write_file_atomically(folder / "recipe.toml", resolved(recipe_));
  say("folder  {}\n\n", folder.string());

  Trainer trainer(*optimizer_, trainer_options(folder / "log.jsonl"));
  TrainingTask task = this->task();
  task.validate = [this] { return score_split(Split::valid, recipe_.data.eval_batch).perplexity(); };
  task.save = [&](const EpochReport& report) { save(folder, report); };
  trainer.run(task);
  report(trainer, folder / (recipe_.training.keep == Keep::best ? "best.safetensors" : "last.safetensors"));
}

void Session::save(const fs::path& folder, const EpochReport& report) const {
  save_model(folder / "last.safetensors", recipe_, text_.corpus.vocabulary, model_);
  if (report.best) save_model(folder / "best.safetensors", recipe_, text_.corpus.vocabulary, model_);
}

// Scores the weights that are kept, as they are in the file, and says what came out.
void Session::report(const Trainer& trainer, const fs::path& file) {
  const bool best = recipe_.training.keep == Keep::best;
  const double valid = best ? *trainer.state().best : *trainer.epochs().back().valid;
  load_weights(file, model_);
  const Score test = score_split(Split::test, recipe_.data.eval_batch);
  say("\n");
  if (best) say("weights of epoch {}, the best on the valid split\n", trainer.state().best_epoch);
  say_score(Split::valid, valid, std::ssize(text_.corpus.valid), text_.source_valid);
  say_score(Split::test, test.perplexity(), test.tokens, text_.source_test);
  say("speed   {} {}/s, {} of training\n", format_number(trainer.rate()), trainer_options().unit,
      format_duration(trainer.seconds()));
  say("model   {}\nnext    ./run ptb generate {}\n", file.string(), file.string());

  result_.valid_perplexity = valid;
  result_.test_perplexity = test.perplexity();
  print_json(trainer, trainer.state().epoch);
}

// A perplexity, and what it is to be held against: what made the text, and what counting words gives.
void Session::say_score(Split split, double perplexity, int64_t tokens, std::optional<double> source) const {
  const Corpus& corpus = text_.corpus;
  say("{:<8}perplexity {:.2f}, {} of {} tokens scored\n", unroll::name(split), perplexity, with_commas(tokens),
      with_commas(std::ssize(corpus.split(split))));
  if (source)
    say("        the source's own is {:.2f}: {:.1f} % above the best possible\n", *source, 100 * (perplexity / *source - 1));
  if (recipe_.data.level != Level::word) return;
  const auto counted = [&](int order) {
    return NgramModel(order, corpus.train, corpus.vocabulary.size(), corpus.vocabulary.eos()).perplexity(corpus.split(split));
  };
  say("        by counting: unigram {:.2f}, trigram {:.2f}\n", counted(1), counted(3));
}

void Session::print_json(const Trainer& trainer, int epochs) {
  result_.epochs = epochs;
  result_.tokens = trainer.count();
  result_.seconds = trainer.seconds();
  result_.words_per_second = trainer.rate();
  if (!trainer.epochs().empty()) result_.train_perplexity = trainer.epochs().back().train;
  if (options_.json) result_.print_json();
}

void Session::dry_run() {
  introduce();
  TrainingTask task = this->task();
  task.windows = 1;
  TrainerOptions options = trainer_options();
  options.epochs = 1;
  options.progress.mode = ProgressOptions::Mode::silent;
  Trainer trainer(*optimizer_, options);
  trainer.run(task);
  say("\none step: perplexity {:.2f} of {} tokens, {:.3f} s\n", trainer.epochs().back().train,
      with_commas(trainer.count()), trainer.seconds());
  const auto& valid = text_.corpus.valid;
  const int64_t few = std::min<int64_t>(std::ssize(valid), int64_t{recipe_.data.batch} * recipe_.data.bptt);
  const Score scored = score(model_, std::span(valid).first(static_cast<size_t>(few)), text_.corpus.vocabulary.eos(),
                             recipe_.data.eval_batch);
  say("scoring: perplexity {:.2f} of {} tokens of the valid split\nmemory: {}B at most, of tensors\nnothing was written\n",
      scored.perplexity(), with_commas(scored.tokens), format_number(static_cast<double>(memory_statistics().peak)));
  print_json(trainer, 0);
}

// The mean loss that nothing can beat on a window from an empty state: streams that agree so far and then differ.
double floor_of(const Window& window) {
  std::vector<std::vector<int32_t>> history(static_cast<size_t>(window.input.dim(1)));
  double nats = 0;
  for (int t = 0; t < window.input.dim(0); ++t) {
    std::map<std::vector<int32_t>, std::map<int32_t, int>> after;
    for (size_t stream = 0; stream < history.size(); ++stream) {
      history[stream].push_back(window.input[t].data()[stream]);
      ++after[history[stream]][window.target[t].data()[stream]];
    }
    for (const auto& [words, targets] : after) {
      double total = 0;
      for (const auto& [target, count] : targets) total += count;
      for (const auto& [target, count] : targets) nats -= count * std::log(count / total);
    }
  }
  return nats / static_cast<double>(window.target.size());
}

void Session::overfit_one_batch() {
  constexpr int most_steps = 3000;
  constexpr double near = 0.1;  // nats above the floor
  introduce();
  const Window window = windows_.at(0);
  const double floor = floor_of(window);
  say("\none window of {} tokens, again and again; no loss can be below {:.3f}\n", window.target.size(), floor);
  TrainingTask task = this->task();
  task.windows = 1;
  TrainerOptions options = trainer_options();
  options.epochs = most_steps;
  options.schedule.reset();
  options.accumulate = 1;
  options.progress.mode = ProgressOptions::Mode::silent;
  Trainer trainer(*optimizer_, options);
  double loss = 0;
  int next_line = 1;
  task.save = [&](const EpochReport& report) {
    loss = std::log(report.train);
    const bool learnt = loss < floor + near;
    if (learnt) trainer.stop();
    if (report.epoch != next_line && !learnt) return;
    say("step {:5}  loss {:.3f}\n", report.epoch, loss);
    next_line = report.epoch * 2;
  };
  trainer.run(task);
  const int steps = trainer.state().epoch;
  require(loss < floor + near, "the window was not learnt by heart in {} steps: the loss is {:.3f} still; "
                               "look at the learning rate, at dropout, and at the model", steps, loss);
  say("learnt by heart in {} steps\n", steps);
  print_json(trainer, 0);
}

}  // namespace

void train(const Arguments& arguments) {
  TrainOptions options;
  if (!parse(arguments, options)) return;
  check_run_folder(options.out);
  const bool dry_run = options.dry_run, overfit = options.overfit_one_batch;
  if (overfit) options.recipe.model.dropout = 0;  // what is learnt by heart must not be hidden
  Session session(std::move(options));
  if (dry_run) return session.dry_run();
  if (overfit) return session.overfit_one_batch();
  session.run();
}

}  // namespace ptb
