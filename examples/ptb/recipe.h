// The recipe of a language model: every key that a recipe for `ptb` may have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/corpus.h"
#include "training/recipe_reader.h"
#include "training/trainer.h"

namespace ptb {

using namespace unroll;

enum class CorpusKind : uint8_t { ptb, grammar, text };
enum class Reduction : uint8_t { mean, sum_over_steps };
enum class OptimizerKind : uint8_t { sgd, adam, adamw, asgd };
enum class ScheduleKind : uint8_t { constant, step, plateau, cosine };
enum class Keep : uint8_t { last, best };
enum class InitScheme : uint8_t { uniform, pytorch };

struct Recipe {
  std::string name;  // of the recipe, for the run's folder; not a key

  struct {
    int embedding = 200, hidden = 200, layers = 2;
    float dropout = 0;
    bool locked_dropout = false;
    float embedding_dropout = 0, recurrent_dropout = 0, weight_drop = 0;
    float zoneout_h = 0, zoneout_c = 0;
    bool tied = false;
    std::string engine = "auto";
    float init = 0.1f;
    InitScheme init_scheme = InitScheme::uniform;
    float forget_bias = 0;
  } model;
  struct {
    CorpusKind corpus = CorpusKind::ptb;
    Level level = Level::word;
    int batch = 20, bptt = 20;
    int eval_batch = 1;
    int64_t limit = 0;
    int64_t train_tokens = 200'000, valid_tokens = 10'000, test_tokens = 10'000;
    uint64_t seed = 1;
  } data;
  struct {
    int epochs = 13, accumulate = 1;
    double clip = 5;
    Reduction reduction = Reduction::sum_over_steps;
    std::string precision = "fp32";
    uint64_t seed = 1;
    Keep keep = Keep::last;
    int patience = 0;
    OnDivergence on_divergence = OnDivergence::stop;
    int64_t save_every_steps = 0;
    double save_every_minutes = 10;
    int64_t log_every = 100;
    int sample_every_epochs = 0, sample_words = 30;
  } training;
  struct {
    OptimizerKind kind = OptimizerKind::sgd;
    double learning_rate = 1, momentum = 0;
    bool nesterov = false;
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
    int average_from = 0, non_monotone = 5;
  } optimizer;
  struct {
    ScheduleKind kind = ScheduleKind::constant;
    int after = 4;
    double factor = 0.5;
    double warmup = 0, minimum = 0;
  } schedule;
};

// The table of keys over a recipe's fields. The recipe must outlive the reader.
void declare_keys(RecipeReader& reader, Recipe& recipe);

// Another value for a key, and the option that brought it.
struct Override {
  std::string assignment;  // "section.key=value"
  std::string origin;      // "--set"
};

// A recipe with its overrides, once the rules between keys are kept. Throws InputError.
Recipe load_recipe(std::string_view name_or_path, const std::vector<Override>& overrides);
// The same from the resolved text in a saved model.
Recipe load_recipe(const RecipeFile& file, const std::vector<Override>& overrides = {});
// Every key with its value.
std::string resolved(const Recipe& recipe);

// The keys whose values differ, the values as TOML.
struct DifferingKey {
  std::string path, before, after;
};
std::vector<DifferingKey> differing_keys(const Recipe& before, const Recipe& after);

}  // namespace ptb
