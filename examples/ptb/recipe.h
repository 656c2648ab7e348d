// The recipe of a language model: every key that a recipe for `ptb` may have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/corpus.h"
#include "training/recipe_sections.h"

namespace ptb {

using namespace unroll;

enum class CorpusKind : uint8_t { ptb, grammar, text };
enum class Reduction : uint8_t { mean, sum_over_steps };
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
  struct : TrainingSection {
    Reduction reduction = Reduction::sum_over_steps;
    int sample_every_epochs = 0, sample_words = 30;
  } training;
  OptimizerSection optimizer;
  ScheduleSection schedule;
  TrainingSections sections() const { return {training, optimizer, schedule}; }
};

// The table of keys over a recipe's fields. The recipe must outlive the reader.
void declare_keys(RecipeReader& reader, Recipe& recipe);

// A recipe with its overrides, once the rules between keys are kept. Throws InputError.
Recipe load_recipe(std::string_view name_or_path, const std::vector<Override>& overrides);
// The same from the resolved text in a saved model.
Recipe load_recipe(const RecipeFile& file, const std::vector<Override>& overrides = {});
// Every key with its value.
std::string resolved(const Recipe& recipe);

// The keys whose values differ.
std::vector<DifferingKey> differing_keys(const Recipe& before, const Recipe& after);

}  // namespace ptb
