#include "examples/ptb/export/onnx_model.h"

#include <cmath>

#include "export/onnx.h"

namespace ptb {

void write_onnx(const std::filesystem::path& path, const SavedModel& saved) {
  const LanguageModel& model = *saved.model;
  OnnxGraph graph("language_model");
  OnnxValue y = onnx(model.embedding, graph.input("ids", {"steps", "batch"}, OnnxType::int64));
  if (!model.recurrent) y = std::sqrt(static_cast<double>(model.embedding.config.dim)) * y;
  if (model.recurrent) y = onnx_with_state(model.recurrent->cell().name, *model.recurrent, y);
  if (model.transformer) y = onnx_with_state("transformer", *model.transformer, y);
  const OnnxGraph::Dims dims{"steps", "batch", model.decoder.config.out};
  if (model.mixture)
    graph.output("log_p", onnx_log_probabilities(*model.mixture, model.decoder, y), dims);
  else
    graph.output("logits", onnx(model.decoder, y), dims);
  for (const auto& [key, text] : model_metadata(saved.recipe, saved.vocabulary)) graph.note(key, text);
  graph.write(path);
}

}  // namespace ptb
