#include "packaging/python/functions.h"

#include <cmath>
#include <filesystem>
#include <regex>

#include <fmt/format.h>

#include "data/text/corpus.h"
#include "examples/ptb/look/look_json.h"
#include "examples/ptb/look/look_numbers.h"
#include "examples/ptb/model/saved_model.h"
#include "examples/timeseries/commands/forecast_file.h"
#include "examples/timeseries/commands/forecaster.h"
#include "examples/timeseries/guess/wishes.h"
#include "examples/timeseries/look/look_numbers.h"
#include "training/files/atomic_file.h"
#include "training/files/json/json.h"
#include "training/files/safetensors.h"
#include "training/program/look/look_page.h"

namespace unroll::python {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

static void write_page(const std::string& model, const std::string& numbers, const std::string& out) {
  write_new_file(out, look_page(fs::path(model).stem().string() + ": a look inside", {&numbers, 1}));
}

std::tuple<double, int64_t, int64_t> score_text(const TextModel& model, const std::string& text) {
  const ptb::SavedModel& saved = model.saved;
  Reading reading;
  std::vector<int32_t> ids =
      encode(text, saved.vocabulary, ptb::form_of(saved.recipe), "score: the text", &reading);
  require_input(!ids.empty(), "score: the text has no words");
  const int32_t eos = saved.vocabulary.eos();
  if (ids.back() != eos) ids.push_back(eos);
  const ptb::Score found =
      ptb::score(*saved.model, {.tokens = ids, .eos = eos, .documents = reading.documents});
  require_input(std::isfinite(found.perplexity()),
                "{}: the perplexity is {}: the model's weights are too large to compute with", model.path,
                found.perplexity());
  return {found.perplexity(), found.tokens, std::ssize(reading.unknown)};
}

// Returns what `made` returns. Its messages name arguments where a command's name options: "series=north" for
// "--series north".
template <class Made>
static auto with_arguments(Made made) {
  try {
    return made();
  } catch (const InputError& error) {
    static const std::regex with_value("(^|[ (])--(steps|future|series|at|target) "), csv("(^|[ (])--csv\\b"),
        out("(^|[ (])--out ");
    std::string text = std::regex_replace(error.what(), with_value, "$1$2=");
    text = std::regex_replace(text, csv, "$1csv");
    throw InputError(std::regex_replace(text, out, "$1path="));
  }
}

void look_at_text(TextModel& model, const std::string& text, const std::string& out) {
  with_arguments([&] { require_new("look", out); });
  ptb::LookedText looked = ptb::read_for_look(model.saved, text, model.path);
  ptb::look_inside(model.saved, text, model.path, looked);
  write_page(model.path,
             ptb::look_json(model.saved, looked, fs::path(model.path).stem().string(), model.path), out);
}

static std::string forecast_of(const SeriesModel& model, const std::string& csv, int steps,
                               const std::string& future) {
  const timeseries::SavedModel& saved = model.saved;
  timeseries::Forecaster forecaster(saved, csv, steps > 0 ? steps : saved.recipe.data.horizon, future);
  const timeseries::ForecastOutput output = forecaster.forecast_all();
  Json found{{"forecasts", output.json()}, {"notes", forecaster.series().notes}};
  for (const std::string& warning : output.warnings()) found["notes"].push_back(warning);
  return json_text(found);
}

std::string forecast_by_model(const SeriesModel& model, const std::string& csv, int steps,
                              const std::string& future) {
  return with_arguments([&] { return forecast_of(model, csv, steps, future); });
}

void look_at_series(const SeriesModel& model, const std::string& csv, const std::string& out,
                    const std::string& series, const std::string& at, const std::string& target) {
  with_arguments([&] {
    require_new("look", out);
    const timeseries::SavedModel saved = timeseries::one_series(model.saved, "look", series);
    const std::string path = saved.path.string();
    const timeseries::LookedWindow window(saved, csv, at, target);
    const timeseries::LookedSeries look = timeseries::look_inside(window);
    write_page(path, timeseries::look_json(window, look, saved.path.stem().string(), path), out);
  });
}

std::string forecast_file(const std::string& csv, int steps, const std::vector<std::string>& columns) {
  const timeseries::GuessedRecipe guessed =
      timeseries::guess_recipe(csv, {.columns = columns, .steps = steps});
  timeseries::FileForecasts found(guessed.recipe, {}, steps, "");
  found.forecast();
  Json notes = Json::array();
  for (const timeseries::Guess& guess : guessed.guesses)
    notes.push_back(fmt::format("{}: {} ({})", guess.name, guess.what, guess.why));
  for (const auto& more : {found.warnings, found.notes, found.output.warnings()})
    for (const std::string& note : more) notes.push_back(note);
  return json_text(Json{{"forecasts", found.output.json()}, {"notes", notes}});
}

std::variant<TextModel, SeriesModel> load(const std::string& path) {
  const SafetensorsFile file(path);
  const auto program = file.metadata().find("program");
  const std::string whose = program == file.metadata().end() ? "" : program->second;
  if (whose == "unroll ptb") return TextModel{path, ptb::load_model(path)};
  require_input(whose == "unroll timeseries",
                "{}: not a model of ptb or timeseries: their files name the program in their metadata", path);
  return SeriesModel{timeseries::read_saved_model(path)};
}

}  // namespace unroll::python
