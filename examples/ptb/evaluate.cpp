// ptb evaluate: the perplexity of a saved model on a split of its text.
#include <cmath>

#include <fmt/format.h>

#include "cached_score.h"
#include "commands.h"
#include "framework/clock.h"
#include "options.h"
#include "result.h"
#include "saved_model.h"
#include "text.h"
#include "training/program/cli/console.h"
#include "training/program/run/machine.h"

namespace ptb {

static Split split_named(const std::string& name) {
  for (const Split split : {Split::train, Split::valid})
    if (unroll::name(split) == name) return split;
  return Split::test;
}

void evaluate(Command& command) {
  std::string data, split_name = "test", cache;
  int batch = 0;
  Machine machine;
  bool json = false;
  command.describe(
      "Scores a trained model on a split of its text, every token once. The perplexity is exp(total negative "
      "log-likelihood / tokens); ends of sentences count. Products are in fp32, also for a model that "
      "trained in another precision.");
  add_checkpoint(command);
  add_data_option(command, data);
  command.option("split", split_name, "NAME", "the split to score").one_of({"valid", "test", "train"});
  command
      .option("batch", batch, "N",
              "streams read side by side, each from an empty state; with 1 the state is carried through the "
              "whole split")
      .otherwise("the recipe's data.eval_batch");
  command
      .option(
          "cache", cache, "SETTINGS",
          "score with a neural cache too, as in window=500,theta=1.0,lambda=0.1 (its defaults): words of the "
          "last steps become likelier again where the state is like theirs; needs one stream")
      .otherwise("");
  machine.add_to(command);
  add_json_option(command, json);
  command.example("evaluate runs/demo-1/last.safetensors", "perplexity on the test split");
  command.example("evaluate best.safetensors --batch 1 --cache theta=1.0,lambda=0.1",
                  "with a memory of the last 500 words");
  command.example("evaluate model.safetensors --data ptb --split valid --json", "for a script to read");
  if (!command.parse()) return;
  machine.set_up(command);
  const Split split = split_named(split_name);

  SavedModel saved = load_model(command.positional());
  if (!command.given("batch")) batch = saved.recipe.data.eval_batch;
  require_input(batch >= 1, "evaluate: --batch {} must be at least 1", batch);
  std::optional<NeuralCacheConfig> cache_config;
  if (command.given("cache")) {
    cache_config = read_cache_config(cache);
    require_input(
        batch == 1,
        "evaluate: --cache needs --batch 1, not {}{}: the cache of a word is what the text said just before "
        "it, and of streams side by side only one is that text",
        batch, command.given("batch") ? "" : ", the recipe's data.eval_batch");
  }
  saved.recipe.data.eval_batch = batch;
  const SplitText text = load_split(saved.recipe, data, split, saved.vocabulary);

  const double begin = clock_seconds();
  const int32_t eos = saved.vocabulary.eos();
  Result result(saved.recipe, *saved.model);
  Score scored;
  if (cache_config) {
    const CachedScore both = score_with_cache(*saved.model, text.tokens, eos, *cache_config, text.documents);
    scored = both.model;
    result.cache = {*cache_config, both.mixture.perplexity()};
  } else {
    scored = score(*saved.model, text.tokens, eos, batch, text.documents);
  }
  result.run.seconds = clock_seconds() - begin;
  require_input(std::isfinite(scored.perplexity()),
                "{}: the perplexity of the {} split is {}: the model's weights are too large to compute with",
                command.positional(), split_name, scored.perplexity());
  result.unknown_tokens = text.unknown;
  result.run.count = scored.tokens;
  result.run.rate = static_cast<double>(scored.tokens) / result.run.seconds;
  (split == Split::train   ? result.train_perplexity
   : split == Split::valid ? result.valid_perplexity
                           : result.test_perplexity) = scored.perplexity();
  if (split == Split::valid) result.source_valid_perplexity = text.source;
  if (split == Split::test) result.source_test_perplexity = text.source;

  std::FILE* out = json ? stderr : stdout;
  show(out, "{}: perplexity {:.4f}, {} tokens of {}", split_name, scored.perplexity(), scored.tokens,
       text.whole);
  if (!text.documents.empty())
    show(out, " in {} document{}", text.documents.size(), text.documents.size() == 1 ? "" : "s");
  if (text.source)
    show(out, ", the source itself {:.4f}: {:.1f} % above the best possible", *text.source,
         100 * (scored.perplexity() / *text.source - 1));
  show(out, "\n");
  if (text.unknown > 0)
    show(out, "{: >{}}  {}\n", "", split_name.size() - 1,
         describe_unknown(text.unknown, std::ssize(text.tokens)));
  if (result.cache)
    show(out, "{: >{}}  perplexity {:.4f} with the cache of the last {} steps, theta {:g}, lambda {:g}\n", "",
         split_name.size() - 1, result.cache->perplexity, cache_config->window, cache_config->theta,
         cache_config->lambda);
  for (const std::string& note : text.notes) show(out, "note: {}\n", note);
  if (json) result.print_json();
}

}  // namespace ptb
