// A language model in a file: weights under the names that PyTorch would use, recipe and vocabulary in the
// metadata, so that the file alone can be evaluated.
#pragma once

#include <filesystem>
#include <memory>

#include "data/text/vocabulary.h"
#include "examples/ptb/model/model.h"
#include "training/files/safetensors.h"

namespace ptb {

// The metadata of a model's file.
Metadata model_metadata(const Recipe& recipe, const Vocabulary& vocabulary);
// The decoder's weight of a tied model, which PyTorch's users look for beside the parameters; else none.
std::vector<NamedTensor> tied_weights(const LanguageModel& model);
// Throws InputError if the file's weights contradict model.tied of its recipe: true, but the decoder's differ from the
// embedding's; or false, but they are equal.
void check_tied(const SafetensorsFile& file, const Recipe& recipe);
// The tensors of the state between two windows, as a checkpoint names them. They share the state's memory.
std::vector<NamedTensor> carried(const ModelState& state);

// Writes the file whole or not at all. The biases become PyTorch's two (training/files/state_dict.h).
void save_model(const std::filesystem::path& path, const Recipe& recipe, const Vocabulary& vocabulary,
                const LanguageModel& model);

struct SavedModel {
  Recipe recipe;
  Vocabulary vocabulary;
  std::unique_ptr<LanguageModel> model;
};
// Sums PyTorch's two biases. Throws InputError if the file is missing, truncated, of another program, or contradicts
// itself.
SavedModel load_model(const std::filesystem::path& path);

// The keys in which a file's model and a recipe differ. Throws InputError as load_model does.
std::vector<DifferingKey> differing_keys(const SafetensorsFile& file, const Recipe& recipe);
// Fills the recipe's model with the weights of another model's file. `text`: the name of the text in messages. Throws
// InputError as load_model and load_first_weights do, and if the vocabularies differ, with the first word that does.
void load_first_weights(const std::filesystem::path& path, const Recipe& recipe, const Vocabulary& vocabulary,
                        const std::string& text, LanguageModel& model);

}  // namespace ptb
