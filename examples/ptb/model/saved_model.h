// A language model in a file: weights under the names that PyTorch would use, recipe and vocabulary in the
// metadata, so that the file alone can be evaluated.
#pragma once

#include <filesystem>
#include <memory>

#include "data/text/vocabulary.h"
#include "examples/ptb/model/model.h"
#include "training/files/safetensors.h"

namespace ptb {

// What a model's file says about it, and the weights that PyTorch's users look for beside the parameters.
Metadata model_metadata(const Recipe& recipe, const Vocabulary& vocabulary);
std::vector<NamedTensor> tied_weights(const LanguageModel& model);
// Throws InputError where the file's weights contradict its recipe: with model.tied = true the decoder's differ from the
// embedding's, with false they are the same.
void check_tied(const SafetensorsFile& file, const Recipe& recipe);
// What a checkpoint keeps of the state between two windows, sharing its memory.
std::vector<NamedTensor> carried(const ModelState& state);

// Writes the file whole or not at all. The biases become PyTorch's two (training/files/state_dict.h).
void save_model(const std::filesystem::path& path, const Recipe& recipe, const Vocabulary& vocabulary,
                const LanguageModel& model);

struct SavedModel {
  Recipe recipe;
  Vocabulary vocabulary;
  std::unique_ptr<LanguageModel> model;
};
// Throws InputError: no such file, cut off, of another program, or contradicting itself. Two biases are
// summed.
SavedModel load_model(const std::filesystem::path& path);

// The keys in which the model of a file and a recipe differ. Throws InputError as load_model.
std::vector<DifferingKey> differing_keys(const SafetensorsFile& file, const Recipe& recipe);
// Fills a model of the recipe with the weights of another's file. Throws InputError: as load_model; of another vocabulary than
// that of `text` (as messages call it), naming the first word that differs; as load_first_weights.
void load_first_weights(const std::filesystem::path& path, const Recipe& recipe, const Vocabulary& vocabulary,
                        const std::string& text, LanguageModel& model);

}  // namespace ptb
