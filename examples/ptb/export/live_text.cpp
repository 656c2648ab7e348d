#include "examples/ptb/export/live_text.h"

#include "examples/ptb/export/c_model.h"
#include "examples/ptb/look/look_numbers.h"
#include "training/files/json/json.h"

namespace ptb {

std::string live_json(const SavedModel& saved, const LiveOption& live, const std::string& path) {
  require_input(!form_of(saved.recipe).documents,
                "{}: look --live: the model begins anew at blank lines (data.reset), which the page does not",
                path);
  nlohmann::ordered_json json =
      live.plan_json(step_plan(*saved.model), cell_of(saved.recipe).name, saved.model->params, path);
  json["kind"] = "live";
  json["words"] = saved.vocabulary.words();
  json["most"] = most_words_of_look;
  return json_text(json);
}

}  // namespace ptb
