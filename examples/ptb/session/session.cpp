#include "examples/ptb/session/session.h"

#include <algorithm>
#include <iterator>

#include "examples/ptb/model/saved_model.h"
#include "training/program/cli/explanations.h"
#include "training/program/cli/invocation.h"
#include "training/program/run/first_weights.h"

namespace ptb {

// Checks in the recipe's words, before any memory of a batch's size is allocated.
static WindowOptions window_options(const Recipe& recipe, const Text& text) {
  check_streams(recipe, std::ssize(text.train.tokens));
  return {.batch = recipe.data.batch, .steps = recipe.data.bptt, .documents = text.train.documents};
}

TextTraining::TextTraining(RunOptions options, Recipe recipe)
    : options_(std::move(options)),
      recipe_(std::move(recipe)),
      console_(options_.console()),
      text_(load_text(recipe_, options_.data)),
      model_(recipe_, text_.vocabulary.size()),
      windows_(text_.train.tokens, window_options(recipe_, text_)),
      state_(model_.zero_state(recipe_.data.batch)),
      result_(recipe_, model_),
      session_(options_, training_run()) {
  if (recipe_.training.deterministic && model_.recurrent)
    require_repeatable(model_.recurrent->choice().engine);
  result_.source_valid_perplexity = text_.valid.source;
  result_.source_test_perplexity = text_.test.source;
  result_.unknown_valid_tokens = text_.valid.unknown;
  result_.unknown_test_tokens = text_.test.unknown;
}

std::vector<RunDescription::Figure> TextTraining::facts() const {
  const auto sizes = [&](const char* unit, const auto& of_split) {
    return fmt::format("{} / {} / {} {}", with_commas(of_split(text_.train)),
                       with_commas(of_split(text_.valid)), with_commas(of_split(text_.test)), unit);
  };
  const auto [input, between, output] = dropout_rates(recipe_);
  const std::string rates = input == between && between == output
                                ? fmt::format("{:g}", input)
                                : fmt::format("{:g} / {:g} / {:g}", input, between, output);
  std::vector<RunDescription::Figure> facts = {
      {"recipe", fmt::format("{}: {}", recipe_.name, describe(recipe_, options_.data))},
      {"text", sizes("tokens", [](const SplitText& split) { return std::ssize(split.tokens); }),
       fmt::format("to train on, to validate, to test; {} {}", with_commas(text_.vocabulary.size()),
                   recipe_.data.level == Level::word ? "words" : "characters")},
      {"model", fmt::format("embedding {}, {}, dropout {}: {} parameters", recipe_.model.embedding,
                            describe_layers(recipe_), rates, with_commas(model_.params.count()))},
      {"engine", model_.engine_text()},
      {"", describe_computing(recipe_.training)}};
  if (recipe_.data.reset == Reset::document)
    facts.insert(facts.begin() + 2,
                 {"", sizes("documents", [](const SplitText& split) { return std::ssize(split.documents); }),
                  "each read from a state of zeros"});
  if (plays_graphs(recipe_, options_.profile))
    facts.insert(facts.end() - 1, {"", "windows are played as CUDA graphs (training.graph)"});
  for (const std::string& note : text_.notes) facts.push_back({"note", note});
  if (const auto& file = options_.init_from; !file.empty()) {
    // A run that is resumed does not need the file.
    const auto keys =
        options_.resume ? std::vector<DifferingKey>() : ptb::differing_keys(SafetensorsFile(file), recipe_);
    std::ranges::copy(describe_first_weights(file, keys), std::back_inserter(facts));
  }
  return facts;
}

RunDescription TextTraining::description() const {
  RunDescription run{
      .title = {},
      .summary = fmt::format("{} language model of {} parameters: {}", title_of(recipe_),
                             format_number(static_cast<double>(model_.params.count())),
                             describe(recipe_, options_.data)),
      .names = {.unit = recipe_.data.level == Level::word ? "words" : "characters", .perplexity = true},
      .facts = facts(),
      .results = {},
      .levels = {},
      .tables = {}};
  if (model_.recurrent) run.tables = {engine_table(model_.recurrent->choice())};
  if (text_.valid.source) run.levels.push_back({"the best possible", *text_.valid.source});
  return run;
}

TrainingTask TextTraining::task() {
  TrainingTask task{.windows = windows_.count(),
                    .begin_epoch = [this](int) { state_.reset(); },
                    .loss = [this](int64_t) { return loss(window_, windows_.resets(), state_, next_); },
                    .shard_loss = [this](int64_t k, const Shard& shard) { return shard_loss(k, shard); },
                    .load =
                        [this](int64_t k) {
                          window_ = windows_.at(k);
                          return windows_.kind_of(window_);
                        },
                    .carry = [this] { state_ = next_; },
                    .validate = [this] { return score(model_, scored(text_.valid)).perplexity(); },
                    .carried = carried(state_)};
  // Processes cannot share one stream.
  if (recipe_.data.eval_batch > 1 && recipe_.training.shards > 1)
    task.shared_validation = score_in_shards(model_, scored(text_.valid));
  if (recipe_.data.variable_bptt || recipe_.data.partial_shuffle)
    task.cut = [this](int epoch) {
      if (recipe_.data.variable_bptt)
        windows_.cut([&](int64_t k) { return steps_of_window(recipe_, epoch, k); });
      if (recipe_.data.partial_shuffle) windows_.shuffle(recipe_.training.seed, epoch);
      return windows_.count();
    };
  return task;
}

WindowLoss TextTraining::loss(const Window& window, const IdTensor& resets, const ModelVars& state,
                              ModelVars& next) const {
  const auto& t = recipe_.training;
  const int steps = window.target.dim(0);
  const auto [y, after] = model_.read(window.input, state, resets);
  next = after;
  const Var dropped = model_.output_dropout(y);
  CrossEntropyOptions options;
  if (const real alpha = t.adversarial_softmax; alpha > 0)
    options.margins = adversarial_margins(model_.decoder, dropped, window.target, alpha);
  const PastDecoder::Losses losses =
      t.past_decode > 0
          ? (*model_.past_decoder)(model_.decoder, dropped, window.input, window.target, options.margins)
          : PastDecoder::Losses{model_.loss(dropped, window.target, options), {}};
  WindowLoss result = mean_loss(losses.next, window.target.size());
  if (const real alpha = t.activation_regularization; alpha > 0)
    result.objective = result.objective + activation_regularization(dropped, alpha);
  if (const real beta = t.temporal_activation_regularization; beta > 0)
    result.objective = result.objective + temporal_activation_regularization(y, beta, resets);
  if (const real lambda = t.past_decode; lambda > 0)
    result.objective = result.objective + losses.past * lambda;
  if (t.reduction == Reduction::sum_over_steps)
    result.objective = result.objective * static_cast<real>(steps);
  if (recipe_.data.variable_bptt) result.rate_factor = static_cast<double>(steps) / recipe_.data.bptt;
  return result;
}

WindowLoss TextTraining::shard_loss(int64_t k, const Shard& shard) {
  const int batch = recipe_.data.batch, begin = shard.begin(batch), end = shard.end(batch);
  if (begin == end) return {};
  const Window window = windows_.at(k, begin, end);
  ModelVars next;
  WindowLoss result = loss(window, windows_.resets(), state_.rows(begin, end), next);
  result.share = static_cast<double>(end - begin) / batch;
  result.carry = [this, begin, next] { state_.set_rows(begin, next); };
  return result;
}

TrainingRun TextTraining::training_run() {
  return {.recipe_name = recipe_.name,
          .recipe = resolved(recipe_),
          .sections = recipe_.sections(),
          .params = model_.params,
          .task = task(),
          .windows = windows_of(recipe_, std::ssize(text_.train.tokens)),
          .metadata = metadata(),
          .also = tied_weights(model_),
          .take_first_weights =
              [this] {
                load_first_weights(options_.init_from, recipe_, text_.vocabulary,
                                   describe(recipe_, options_.data), model_);
              },
          .description = description(),
          .differing_keys =
              [this](const RecipeFile& before) { return ptb::differing_keys(load_recipe(before), recipe_); },
          .window_sizes = {{"data.batch", recipe_.data.batch}, {"data.bptt", recipe_.data.bptt}},
          .graph = plays_graphs(recipe_, options_.profile),
          .operations = operations_of_step(recipe_, model_.params),
          .data_differences = [this](const Metadata& then,
                                     const std::string& path) { return differences(then, path); },
          .sample = [this](int epoch) { return sample(epoch); },
          .score_a_little = [this] { score_a_little(); },
          .report = [this](std::optional<double> valid,
                           RunDescription& description) { report(*valid, description); },
          .print_json =
              [this](const RunResult& run) {
                result_.run = run;
                result_.train_perplexity = run.train;
                result_.print_json();
              },
          .next = "generate",
          .look_words = look_words()};
}

// None if the model has a transformer or a mixture of softmaxes, which the page does not show.
std::function<std::vector<std::string>()> TextTraining::look_words() const {
  if (model_.transformer || model_.mixture) return {};
  return [this] { return std::vector<std::string>{"--text", shell_word(text_to_look_at_)}; };
}

// The metadata of a checkpoint; resuming compares it.
Metadata TextTraining::metadata() const {
  Metadata metadata = model_metadata(recipe_, text_.vocabulary);
  metadata["engine"] = model_.engine();
  metadata["text"] = fingerprint_of(text_.train.tokens, text_.train.documents);
  metadata["valid_text"] = fingerprint_of(text_.valid.tokens, text_.valid.documents);
  return metadata;
}

DataDifferences TextTraining::differences(const Metadata& then, const std::string& path) const {
  const Metadata now = metadata();
  const auto same = [&](const char* key) { return then.contains(key) && then.at(key) == now.at(key); };
  require_input(same("vocabulary"), "{}: its vocabulary is not that of {}", path,
                describe(recipe_, options_.data));
  DataDifferences differences{.scores = !same("valid_text")};
  if (!same("text")) differences.notes.push_back("the text to train on is another");
  if (then.contains("valid_text") && !same("valid_text"))
    differences.notes.push_back("the text to validate on is another");
  return differences;
}

ScoredText TextTraining::scored(const SplitText& split) const {
  return {split.tokens, text_.vocabulary.eos(), recipe_.data.eval_batch, split.documents,
          recipe_.training.shards};
}

}  // namespace ptb
