#include "saved_model.h"

#include <nlohmann/json.hpp>

#include "framework/one_line.h"
#include "training/safetensors.h"

namespace ptb {

namespace {

// "lstm.bias_l0" -> "lstm.bias_hh_l0"; empty if the parameter is no bias of an LSTM.
std::string torch_bias(const std::string& name, std::string_view which) {
  constexpr std::string_view ours = "lstm.bias_l";
  return name.starts_with(ours) ? fmt::format("lstm.bias_{}_l{}", which, name.substr(ours.size())) : "";
}

void check_shape(const SafetensorsFile& file, const std::string& name, const Shape& shape) {
  const SafetensorsFile::Entry* entry = file.find(name);
  require_input(entry != nullptr, "{}: there is no '{}' in it", file.path(), name);
  require_input(entry->shape_text() == shape.text(),
                "{}: '{}' is {}, but its recipe and vocabulary make it {}", file.path(), name,
                entry->shape_text(), shape);
}

const std::string& metadata(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  require_input(found != file.metadata().end(), "{}: not a model of ptb: its metadata has no '{}'",
                file.path(), key);
  return found->second;
}

Vocabulary read_vocabulary(const SafetensorsFile& file) {
  const auto words = nlohmann::json::parse(metadata(file, "vocabulary"), nullptr, false);
  const auto is_text = [](const auto& word) { return word.is_string(); };
  require_input(words.is_array() && std::ranges::all_of(words, is_text),
                "{}: the vocabulary in its metadata is not a JSON array of words", file.path());
  try {
    return Vocabulary(words.get<std::vector<std::string>>());
  } catch (const InputError& error) { throw InputError(fmt::format("{}: {}", file.path(), error.what())); }
}

}  // namespace

void save_model(const std::filesystem::path& path, const Recipe& recipe, const Vocabulary& vocabulary,
                const LanguageModel& model) {
  std::vector<NamedTensor> tensors;
  for (const auto& p : model.params.all()) {
    const std::string ih = torch_bias(p->name, "ih");
    tensors.push_back({ih.empty() ? p->name : ih, p->leaf_value()});
    if (!ih.empty()) tensors.push_back({torch_bias(p->name, "hh"), Tensor::zeros(p->shape)});
  }
  if (recipe.model.tied) tensors.push_back({"decoder.weight", model.decoder.weight.value()});
  write_safetensors(path, tensors,
                    {{"format", "pt"},
                     {"program", "unroll ptb"},
                     {"recipe_name", recipe.name},
                     {"recipe", resolved(recipe)},
                     {"vocabulary", nlohmann::json(vocabulary.words()).dump()}});
}

static void load_weights(const SafetensorsFile& file, LanguageModel& model) {
  // Every shape is checked before there is memory for any: a wrong file cannot ask for much.
  for (const auto& p : model.params.all()) {
    const std::string ih = torch_bias(p->name, "ih");
    check_shape(file, ih.empty() ? p->name : ih, p->shape);
    if (!ih.empty()) check_shape(file, torch_bias(p->name, "hh"), p->shape);
  }
  for (const auto& p : model.params.all()) {
    const std::string ih = torch_bias(p->name, "ih");
    const Tensor& value = p->leaf_value();
    file.load_into(ih.empty() ? p->name : ih, value);
    if (ih.empty()) continue;
    const Tensor second = file.load(torch_bias(p->name, "hh"));
    for (int64_t i = 0; i < value.size(); ++i) value.data()[i] += second.data()[i];
  }
}

void load_weights(const std::filesystem::path& path, LanguageModel& model) {
  load_weights(SafetensorsFile(path), model);
}

SavedModel load_model(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  SavedModel saved;
  saved.recipe = load_recipe({.name = one_line(metadata(file, "recipe_name")),
                              .origin = path.string() + ": recipe",
                              .text = metadata(file, "recipe")});
  saved.vocabulary = read_vocabulary(file);
  require_input(saved.vocabulary.size() > 0, "{}: its vocabulary is empty", file.path());
  saved.model = std::make_unique<LanguageModel>(saved.recipe, saved.vocabulary.size());
  load_weights(file, *saved.model);
  return saved;
}

}  // namespace ptb
