// The recipe of a language model: every key that a recipe for `ptb` may have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/corpus.h"
#include "framework/unary.h"
#include "training/recipe/recipe_sections.h"

namespace ptb {

using namespace unroll;

enum class CorpusKind : uint8_t { ptb, grammar, text };
enum class Cell : uint8_t { lstm, gru };
enum class Reduction : uint8_t { mean, sum_over_steps };
enum class InitScheme : uint8_t { uniform, pytorch };

struct Recipe {
  std::string name;  // of the recipe, for the run's folder; not a key

  struct {
    int embedding = 200, hidden = 200, last_hidden = 0, layers = 2;
    Cell cell = Cell::lstm;
    float dropout = 0;
    float input_dropout = -1, hidden_dropout = -1, output_dropout = -1;  // -1: dropout
    bool locked_dropout = false;
    float embedding_dropout = 0, recurrent_dropout = 0, weight_drop = 0;
    float zoneout_h = 0, zoneout_c = 0;
    int projection = 0;
    bool layer_norm = false, peepholes = false, residual = false;
    Unary gate_activation = Unary::sigmoid, cell_activation = Unary::tanh;
    bool tied = false;
    std::string engine = "auto", algorithm = "auto";
    float init = 0.1f;
    InitScheme init_scheme = InitScheme::uniform;
    float forget_bias = 0;

    int output() const { return last_hidden ? last_hidden : projection ? projection : hidden; }  // width of y
  } model;
  struct {
    CorpusKind corpus = CorpusKind::ptb;
    Level level = Level::word;
    int batch = 20, bptt = 20;
    bool variable_bptt = false;
    int eval_batch = 1;
    int64_t limit = 0;
    int64_t train_tokens = 200'000, valid_tokens = 10'000, test_tokens = 10'000;
    uint64_t seed = 1;
  } data;
  struct : TrainingSection {
    Reduction reduction = Reduction::sum_over_steps;
    bool graph = false;
    float activation_regularization = 0, temporal_activation_regularization = 0;
    int sample_every_epochs = 0, sample_words = 30;
  } training;
  OptimizerSection optimizer;
  ScheduleSection schedule;
  TrainingSections sections() const { return {training, optimizer, schedule}; }
};

// The rates of dropout where they act.
struct DropoutRates {
  float input, hidden, output;  // of the embedding's output, between layers, of the last layer's output
};
DropoutRates dropout_rates(const Recipe& recipe);

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
