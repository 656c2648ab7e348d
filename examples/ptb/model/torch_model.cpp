#include "examples/ptb/model/torch_model.h"

#include "framework/check.h"
#include "training/files/state_dict.h"

namespace ptb {

namespace {

const std::vector<KnownModule>& known_modules() {
  static const std::vector<KnownModule> modules = {
      {.ours = "embedding",
       .theirs = {"embedding", "embeddings", "embed", "emb", "encoder", "word_embeddings", "wte"},
       .leaves = {"weight"}},
      {.ours = "decoder",
       .theirs = {"decoder", "fc", "linear", "out", "output", "proj", "head", "lm_head", "classifier",
                  "generator"},
       .leaves = {"weight", "bias"}},
      {.ours = "mixture.prior", .theirs = {"prior"}, .leaves = {"weight"}},
      {.ours = "mixture.latent", .theirs = {"latent"}, .leaves = {"weight", "bias"}},
      {.ours = "lstm", .theirs = {}, .leaves = {}}};
  return modules;
}

}  // namespace

// Its weights would fit ours, but no shape tells how it encodes positions.
static void refuse_transformer(const SafetensorsFile& file) {
  for (const auto& entry : file.entries())
    require_input(
        !entry.name.ends_with("self_attn.in_proj_weight"),
        "{}: '{}' is a transformer's; import takes recurrent models: nothing in such a file says how "
        "it tells positions, and ours has biases of distances",
        file.path(), entry.name);
}

// How many softmaxes a mixture has; 0: the file has one softmax. output: the width of the recurrent layers' output.
static int components_in(const TorchTensors& tensors, int width, int output) {
  const char *const prior = "mixture.prior.weight", *const latent = "mixture.latent.weight";
  if (!tensors.find(prior) && !tensors.find(latent) && !tensors.find("mixture.latent.bias")) return 0;
  const int components = tensors.matrix(prior)[0];
  tensors.check(prior, {components, output}, tensors.text("lstm.weight_hh_l0"));
  (void)tensors.matrix(latent);
  const std::string why =
      fmt::format("{} and {}", tensors.text(prior), tensors.text("embedding.weight"));
  tensors.check(latent, {int64_t{components} * width, output}, why);
  tensors.check("mixture.latent.bias", {int64_t{components} * width}, why);
  return components;
}

TorchModel read_torch_model(const SafetensorsFile& file, const std::vector<std::string>& renames) {
  refuse_transformer(file);
  const TorchTensors tensors(file, known_modules(), renames);
  TorchModel model;
  const auto [vocab, width] = tensors.matrix("embedding.weight");
  const std::string embedding = tensors.text("embedding.weight");
  model.vocab = vocab;
  model.layers = read_recurrent_sizes(tensors, "lstm", width, embedding);
  const int of_layers = model.layers.projection ? model.layers.projection : model.layers.hidden;
  model.components = components_in(tensors, width, of_layers);
  const int output = model.components ? width : of_layers;  // of what the decoder reads
  tensors.check("decoder.bias", {model.vocab}, embedding);
  model.names = with_scope(tensors.names, "lstm", facts_of(model.layers.cell).name);
  if (const auto decoder = tensors.names.find("decoder.weight"); decoder != tensors.names.end()) {
    tensors.check("decoder.weight", {model.vocab, output},
                  embedding + " and " +
                      tensors.text(model.components ? "mixture.latent.weight" : "lstm.weight_hh_l0"));
    model.tied = same_bits(file, tensors.names.at("embedding.weight"), decoder->second);
    if (model.tied) model.names.erase("decoder.weight");
  } else {
    require_input(output == width,
                  "{}: nothing in it is known as 'decoder.weight', and {} cannot take its place for a hidden "
                  "width of {}",
                  file.path(), embedding, output);
    model.tied = true;
  }
  return model;
}

}  // namespace ptb
