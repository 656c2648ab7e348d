// ptb evaluate: the perplexity of a saved model on a split of its text.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "examples/ptb/commands/commands.h"
#include "examples/ptb/model/options.h"
#include "examples/ptb/model/saved_model.h"
#include "examples/ptb/scores/agreement.h"
#include "examples/ptb/scores/dynamic_score.h"
#include "examples/ptb/scores/dynamic_statistics.h"
#include "examples/ptb/scores/text_scores.h"
#include "examples/ptb/scores/tune.h"
#include "examples/ptb/session/result.h"
#include "examples/ptb/text/text.h"
#include "framework/clock.h"
#include "framework/one_line.h"
#include "framework/processes/processes.h"
#include "framework/signals.h"
#include "framework/threads.h"
#include "training/files/gradient_statistics.h"
#include "training/program/cli/console.h"
#include "training/program/run/machine.h"

namespace ptb {

namespace {

Split split_named(const std::string& name) {
  for (const Split split : {Split::train, Split::valid})
    if (unroll::name(split) == name) return split;
  return Split::test;
}

// The command line, read before anything is computed.
struct Wanted {
  std::string split_name = "test", cache, dynamic_words, tune_mode;
  int batch = 0;
  bool one_stream = false;  // since an option needs it, and the recipe has more
  bool agreement = false;
  Machine machine = {};
  ScoreWays ways;
  std::optional<DynamicSettings> dynamic;
  std::string statistics;  // the file; empty: beside the model
  std::string data;
  bool json = false;

  std::FILE* out() const { return json ? stderr : stdout; }
  // "        perplexity 80.1234 dynamic: rate …"
  void print_score(double perplexity, const std::string& how) const {
    show(out(), "{: >{}}  perplexity {:.4f} {}\n", "", split_name.size() - 1, perplexity, how);
    std::fflush(out());
  }
  void print_line(const std::string& line) const {
    show(out(), "{: >{}}  {}\n", "", split_name.size() - 1, line);
  }
  std::string at_temperature(const std::string& how) const {
    return ways.temperature == 1 ? how : fmt::format("{} at temperature {:g}", how, ways.temperature);
  }
};

std::string describe(const NeuralCacheConfig& cache) {
  return fmt::format("with the cache of the last {} steps, theta {:g}, lambda {:g}", cache.window,
                     cache.theta, cache.lambda);
}

// How many streams: --batch, or as many as the options allow of `of_recipe`.
void choose_streams(const Command& command, Wanted& wanted, int of_recipe) {
  const char* const learns = "what the model learns from a text is of use to what follows in it";
  bool needs_one = false;
  for (const auto& [option, why] :
       {std::pair{"cache",
                  "the cache of a word is what the text said just before it, and of streams side by side "
                  "only one is that text"},
        {"dynamic", learns},
        {"tune", learns}}) {
    if (!command.given(option)) continue;
    require_input(!command.given("batch") || wanted.batch == 1, "evaluate: --{} needs --batch 1, not {}: {}",
                  option, wanted.batch, why);
    needs_one = true;
  }
  if (command.given("batch")) return;
  wanted.batch = needs_one ? 1 : of_recipe;
  wanted.one_stream = needs_one && of_recipe != 1;
}

// The score over all processes, if several are started.
Score shared_score(const LanguageModel& model, const ScoredText& text) {
  const std::vector<std::string> all =
      gather_from_ranks(fingerprint_of(model.params) + ' ' + fingerprint_of(text.tokens, text.documents));
  for (size_t rank = 1; is_first_process() && rank < all.size(); ++rank)
    require_input(all[rank] == all[0], "rank {} has another model or text than rank 0", rank);
  const ScoreSum sum = shared_sum(score_in_shards(model, text));
  return {sum.total, sum.count};
}

void print_static(const Wanted& wanted, const SplitText& text, const TextScores& scores) {
  std::FILE* const out = wanted.out();
  const double perplexity = scores.model.perplexity();
  show(out, "{}: perplexity {:.4f}, {} tokens of {}", wanted.split_name, perplexity, scores.model.tokens,
       text.whole);
  if (!text.documents.empty())
    show(out, " in {} document{}", text.documents.size(), plural(text.documents.size()));
  if (wanted.one_stream) show(out, ", in one stream");
  if (text.source)
    show(out, ", the source itself {:.4f}: {:.1f} % above the best possible", *text.source,
         100 * (perplexity / *text.source - 1));
  show(out, "\n");
  if (text.unknown > 0)
    show(out, "{: >{}}  {}\n", "", wanted.split_name.size() - 1,
         describe_unknown(text.unknown, std::ssize(text.tokens)));
  if (wanted.ways.temperature != 1)
    wanted.print_score(scores.tempered.perplexity(), wanted.at_temperature("with the softmax"));
  if (wanted.ways.cache)
    wanted.print_score(scores.mixture.perplexity(), wanted.at_temperature(describe(*wanted.ways.cache)));
  std::fflush(out);
}

// The statistics that --dynamic divides by, or the text to make them from.
std::optional<Statistics> wanted_statistics(const Wanted& wanted, SavedModel& saved,
                                            const std::string& checkpoint) {
  if (!wanted.dynamic || wanted.dynamic->rule != DynamicSettings::Rule::rms) return {};
  return Statistics(
      saved,
      wanted.statistics.empty() ? statistics_path(checkpoint) : std::filesystem::path(wanted.statistics),
      wanted.data);
}

Result::Dynamic evaluate_dynamically(const Wanted& wanted, SavedModel& saved,
                                     std::optional<Statistics>& divided_by, const ScoredText& text) {
  const DynamicSettings& settings = *wanted.dynamic;
  Tensor statistics;
  if (divided_by) {
    std::string said;
    statistics = divided_by->root_mean_square(said);
    show(wanted.out(), "note: {}\n", said);
  }
  const double begin = clock_seconds();
  const auto optimizer = make_dynamic(*saved.model, settings, statistics);
  TextScorer scorer(wanted.ways);
  Progress progress("dynamic", std::ssize(text.tokens), {.stream = stderr});
  score_dynamically(*saved.model, text, settings, *optimizer, [&](const ScoredSegment& s) {
    scorer.add(s.h, softmax_cross_entropies(s.logits, s.target, scorer.temperatures()), s.target, s.resets);
    const Score& sofar = scorer.scores().tempered;
    progress.update(sofar.tokens,
                    {{"perplexity", sofar.perplexity()},
                     {"words/s", static_cast<double>(sofar.tokens) / (clock_seconds() - begin), true}});
  });
  progress.clear();
  const TextScores& scores = scorer.scores();
  Result::Dynamic result{.settings = settings,
                         .perplexity = scores.tempered.perplexity(),
                         .with_cache = {},
                         .seconds = clock_seconds() - begin};
  const double of_model = scores.model.perplexity();
  require_input(std::isfinite(of_model), "--dynamic: the perplexity is {}: the rate {} is too large",
                of_model, settings.rate);
  const std::string how = fmt::format("dynamic: {}", ptb::describe(settings));
  wanted.print_score(result.perplexity, wanted.at_temperature(how));
  if (wanted.ways.cache) {
    result.with_cache = scores.mixture.perplexity();
    wanted.print_score(*result.with_cache,
                       "dynamic, and " + wanted.at_temperature(describe(*wanted.ways.cache)));
  }
  return result;
}

void declare(Command& command, Wanted& wanted) {
  command.describe(
      "Scores a trained model on a split of its text, every token once. The perplexity is exp(total negative "
      "log-likelihood / tokens); ends of sentences count. Products are in fp32, also for a model that "
      "trained in another precision.");
  add_checkpoint(command);
  add_data_option(command, wanted.data);
  command.option("split", wanted.split_name, "NAME", "the split to score").one_of({"valid", "test", "train"});
  command
      .option("batch", wanted.batch, "N",
              "streams read side by side, each from an empty state; with 1 the state is carried through the "
              "whole split")
      .otherwise("the recipe's data.eval_batch; 1 with --cache, --dynamic or --tune");
  command.option("temperature", wanted.ways.temperature, "T",
                 "score with logits / T too: above 1 the model is less sure of itself");
  command
      .option(
          "cache", wanted.cache, "SETTINGS",
          "score with a neural cache too, as in window=500,theta=1.0,lambda=0.1 (its defaults): words of the "
          "last steps become likelier again where the state is like theirs; in one stream")
      .otherwise("")
      .may_stand_alone(option_text(NeuralCacheConfig()), {});
  command
      .option(
          "dynamic", wanted.dynamic_words, "SETTINGS",
          "score with dynamic evaluation too: the model learns from each segment of the text once it is scored. "
          "Settings as in rate=5e-5,decay=0.002,epsilon=2e-5,segment=5 (its defaults), or sgd,rate=0.1; in one "
          "stream. The model's file stays as it is")
      .otherwise("")
      .may_stand_alone("rms", {"rms", "sgd"});
  command
      .option(
          "statistics", wanted.statistics, "FILE",
          "the gradients' statistics that --dynamic divides by; made of the training text if there is no such "
          "file, which takes about as long as an epoch of training")
      .otherwise("NAME.statistics.safetensors beside the model");
  command
      .option(
          "tune", wanted.tune_mode, "full|quick",
          "choose rate, decay, temperature and cache on the first 20,000 tokens of the validation split, and print the "
          "command that scores the test split with them; quick: a tenth of the time. Each trial is kept in "
          "NAME.tune.json beside the model, from which an interrupted search goes on")
      .one_of({"full", "quick"})
      .otherwise("")
      .may_stand_alone("full", {"full", "quick"});
  command.option(
      "agreement", wanted.agreement,
      "of a model of the built-in grammar: how often it gives a verb the number of its subject, by the number of "
      "nouns of the other number between, with 95 % intervals; and the units that tell the number best");
  wanted.machine.add_to(command);
  add_json_option(command, wanted.json);
  command.example("evaluate runs/demo-1/last.safetensors", "perplexity on the test split");
  command.example("evaluate best.safetensors --cache theta=1.0,lambda=0.1",
                  "with a memory of the last 500 words");
  command.example("evaluate best.safetensors --dynamic", "learning from what it has just read");
  command.example("evaluate runs/demo-1/last.safetensors --agreement",
                  "does the verb agree with its subject?");
  command.example("evaluate best.safetensors --tune quick", "finds settings for the line above");
  command.example("evaluate model.safetensors --data ptb --split valid --json", "for a script to read");
}

// The streams of a model that was trained in shards can be shared by processes, and nothing else.
bool is_shared(const Command& command, const Wanted& wanted, int shards) {
  return wanted.batch != 1 && shards != 1 &&
         std::ranges::none_of(std::array{"cache", "dynamic", "tune", "temperature", "agreement"},
                              [&](const char* option) { return command.given(option); });
}

// Reads the words of options, and refuses options that do not go together.
void read_ways(const Command& command, Wanted& wanted) {
  require_input(wanted.batch >= 1, "evaluate: --batch {} must be at least 1", wanted.batch);
  ScoreWays& ways = wanted.ways;
  require_input(ways.temperature >= 1e-3 && ways.temperature <= 1e3,
                "evaluate: --temperature {} is not from 0.001 to 1000", ways.temperature);
  if (command.given("cache")) ways.cache = read_cache_config(wanted.cache);
  if (command.given("dynamic")) wanted.dynamic = read_dynamic_settings(wanted.dynamic_words);
  for (const char* other : {"split", "temperature", "cache", "dynamic", "agreement"})
    require_input(
        !command.given("tune") || !command.given(other),
        "evaluate: --tune chooses its settings on the validation split, so --{} has no place beside it",
        other);
  require_input(
      !command.given("statistics") || command.given("tune") ||
          (wanted.dynamic && wanted.dynamic->rule == DynamicSettings::Rule::rms),
      "evaluate: --statistics is for --tune, and for --dynamic with the rule rms, which divides by them");
}

void require_agreement_fits(const SavedModel& saved, const std::string& checkpoint) {
  require_input(
      saved.recipe.data.corpus == CorpusKind::grammar,
      "evaluate: --agreement is for models of the built-in grammar, which knows the subject of each verb; this one "
      "is of another text");
  require_input(!saved.model->transformer,
                "{}: --agreement asks units of recurrent layers, and this model has a transformer's "
                "(model.architecture)",
                checkpoint);
  require_input(
      !saved.model->mixture,
      "{}: --agreement follows one softmax back, and this model has a mixture of them (model.softmax)",
      checkpoint);
}

void fill_static(Result& result, const Command& command, const Wanted& wanted, const SplitText& text,
                 const TextScores& scores) {
  const double perplexity = scores.model.perplexity();
  const double tempered = wanted.ways.temperature == 1 ? perplexity : scores.tempered.perplexity();
  const Split split = split_named(wanted.split_name);
  require_input(std::isfinite(perplexity),
                "{}: the perplexity of the {} split is {}: the model's weights are too large to compute with",
                command.positional(), wanted.split_name, perplexity);
  require_input(!command.given("temperature") || std::isfinite(tempered),
                "--temperature {}: the perplexity is {}: it is too near to 0", wanted.ways.temperature,
                tempered);
  result.unknown_tokens = text.unknown;
  result.run.count = scores.model.tokens;
  result.run.rate = static_cast<double>(scores.model.tokens) / result.run.seconds;
  (split == Split::train   ? result.train_perplexity
   : split == Split::valid ? result.valid_perplexity
                           : result.test_perplexity) = perplexity;
  if (split == Split::valid) result.source_valid_perplexity = text.source;
  if (split == Split::test) result.source_test_perplexity = text.source;
  const ScoreWays& ways = wanted.ways;
  if (command.given("temperature")) result.temperature = {ways.temperature, tempered};
  if (ways.cache) result.cache = {*ways.cache, scores.mixture.perplexity()};
}

}  // namespace

void evaluate(Command& command) {
  Wanted wanted;
  declare(command, wanted);
  if (!command.parse()) return;
  wanted.machine.set_up(command);

  SavedModel saved = load_model(command.positional());
  choose_streams(command, wanted, saved.recipe.data.eval_batch);
  std::optional<AloneForNow> alone;
  if (!is_shared(command, wanted, saved.recipe.training.shards)) {
    if (!is_first_process()) return;
    if (process_count() > 1 && !command.given("threads")) set_threads(local_processes().cores);
    alone.emplace();
  }
  read_ways(command, wanted);
  if (command.given("tune")) {
    saved.recipe.data.eval_batch = 1;
    return run_tune({.checkpoint = command.positional(),
                     .data = wanted.data,
                     .statistics = wanted.statistics,
                     .mode = wanted.tune_mode,
                     .json = wanted.json},
                    saved, command.program());
  }
  if (wanted.agreement) require_agreement_fits(saved, command.positional());
  saved.recipe.data.eval_batch = wanted.batch;
  const SplitText text =
      load_split(saved.recipe, wanted.data, split_named(wanted.split_name), saved.vocabulary);

  const SignalGuard guard;
  auto statistics = wanted_statistics(wanted, saved, command.positional());  // may be damaged
  const double begin = clock_seconds();
  Result result(saved.recipe, *saved.model);
  TextScores scores;
  const ScoredText to_score{text.tokens, saved.vocabulary.eos(), wanted.batch, text.documents,
                            saved.recipe.training.shards};
  if (wanted.ways.cache || wanted.ways.temperature != 1)
    scores = score_in_ways(*saved.model, to_score, wanted.ways);
  else
    scores.model = shared_score(*saved.model, to_score);
  result.run.seconds = clock_seconds() - begin;
  fill_static(result, command, wanted, text, scores);

  print_static(wanted, text, scores);
  if (wanted.dynamic) result.dynamic = evaluate_dynamically(wanted, saved, statistics, to_score);
  if (wanted.agreement) {
    result.agreement = evaluate_agreement(parts_of(*saved.model), saved.vocabulary, 200);
    for (const std::string& line : describe(*result.agreement)) wanted.print_line(line);
  }
  for (const std::string& note : text.notes) show(wanted.out(), "note: {}\n", note);
  if (wanted.json) result.print_json();
}

}  // namespace ptb
