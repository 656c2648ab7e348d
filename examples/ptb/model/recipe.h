// The recipe of a language model: every key that a recipe for `ptb` may have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/corpus.h"
#include "layers/transformer.h"
#include "training/program/recipe/recipe_sections.h"
#include "training/program/recipe/recurrent_keys.h"

namespace ptb {

using namespace unroll;

enum class Architecture : uint8_t { recurrent, transformer, recurrent_attention };
enum class CorpusKind : uint8_t { ptb, grammar, text };
enum class Reduction : uint8_t { mean, sum_over_steps };
enum class Reset : uint8_t { none, document };
enum class Graphs : uint8_t { automatic, always, never };
enum class InitScheme : uint8_t { uniform, pytorch };
enum class SoftmaxKind : uint8_t { single, mixture };

struct Recipe {
  std::string name;  // of the recipe, for the run's folder; not a key

  // The options of the recurrent layers. Here `dropout` has the key's meaning: it acts everywhere that has no rate of
  // its own.
  struct Model : RecurrentConfig {
    Architecture architecture = Architecture::recurrent;
    int heads = 4, feed_forward = 0, memory = 64, attention_layers = 1;  // of a transformer
    float attention_dropout = 0;
    int embedding = 200;
    CellKind cell = CellKind::lstm;
    float input_dropout = -1, hidden_dropout = -1, output_dropout = -1;  // -1: dropout
    float embedding_dropout = 0;
    bool tied = false;
    SoftmaxKind softmax = SoftmaxKind::single;
    int components = 15;  // of a mixture
    float component_dropout = 0;
    float init = 0.1f;
    InitScheme init_scheme = InitScheme::uniform;
    Model() : RecurrentConfig{.hidden = 200, .layers = 2} {}
  } model;
  struct {
    CorpusKind corpus = CorpusKind::ptb;
    Level level = Level::word;
    Reset reset = Reset::none;
    int batch = 20, bptt = 20;
    bool variable_bptt = false, partial_shuffle = false;
    int eval_batch = 1;
    int64_t limit = 0;
    int64_t train_tokens = 200'000, valid_tokens = 10'000, test_tokens = 10'000;
    uint64_t seed = 1;
  } data;
  struct : TrainingSection {
    Reduction reduction = Reduction::sum_over_steps;
    Graphs graph = Graphs::automatic;
    float activation_regularization = 0, temporal_activation_regularization = 0;
    float past_decode = 0, past_decode_share = 0.1f, adversarial_softmax = 0;
    int sample_every_epochs = 0, sample_words = 30, surprising_words = 12;
  } training;
  OptimizerSection optimizer;
  ScheduleSection schedule;
  TrainingSections sections() const { return {training, optimizer, schedule}; }
};

// The rates of dropout where they act.
struct DropoutRates {
  // input: on the embedding's output. hidden: between recurrent layers, or on the sums of a transformer's layers.
  // output: on the last layer's output.
  float input, hidden, output;
};
DropoutRates dropout_rates(const Recipe& recipe);
// Returns true if windows are replayed as CUDA graphs. By default they are if all have one size and nothing rules out a
// graph: the graph of each size keeps memory of its own.
bool plays_graphs(const Recipe& recipe, bool profiled);
inline bool has_recurrent(const Recipe& r) { return r.model.architecture != Architecture::transformer; }
inline bool has_transformer(const Recipe& r) { return r.model.architecture != Architecture::recurrent; }
// The model's recurrent layers and its transformer, if it has them.
RecurrentConfig layers_of(const Recipe& recipe);
TransformerConfig transformer_of(const Recipe& recipe);
int width_of(const Recipe& recipe);  // of the last layer's output
inline bool is_mixture(const Recipe& r) { return r.model.softmax == SoftmaxKind::mixture; }
// The width of the decoder's rows: that, or with a mixture of softmaxes the embedding's.
inline int decoder_width_of(const Recipe& r) { return is_mixture(r) ? r.model.embedding : width_of(r); }
// "LSTM", "Transformer", "LSTM with attention"
std::string title_of(const Recipe& recipe);
// "2 LSTM layers of 200", "Transformer, 4 layers of …"
std::string describe_layers(const Recipe& recipe);
inline const CellFacts& cell_of(const Recipe& recipe) { return facts_of(recipe.model.cell); }
// How the recipe's text becomes tokens.
inline TextForm form_of(const Recipe& recipe) {
  return {recipe.data.level, recipe.data.reset == Reset::document};
}

// The table of keys over a recipe's fields. The recipe must outlive the reader.
void declare_keys(RecipeReader& reader, Recipe& recipe);

// Loads a recipe and applies the overrides. Throws InputError, also if the result breaks a rule between keys.
Recipe load_recipe(std::string_view name_or_path, const std::vector<Override>& overrides);
// Loads the resolved recipe of a saved model likewise.
Recipe load_recipe(const RecipeFile& file, const std::vector<Override>& overrides = {});
// Every key with its value.
std::string resolved(const Recipe& recipe);

// The keys whose values differ.
std::vector<DifferingKey> differing_keys(const Recipe& before, const Recipe& after);

}  // namespace ptb
