// The functions of the Python package's extension (module.cpp). Each does what a command does. Forecasts are the JSON
// that the command prints. An InputError has the command's message, with arguments ("series=") for options ("--series").
#pragma once

#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "examples/ptb/model/saved_model.h"
#include "examples/timeseries/model/saved_model.h"

namespace unroll::python {

struct TextModel {
  std::string path;
  ptb::SavedModel saved;
};
struct SeriesModel {
  timeseries::SavedModel saved;
};
std::variant<TextModel, SeriesModel> load(const std::string& path);

// Perplexity, tokens, and how many of them the vocabulary lacks.
std::tuple<double, int64_t, int64_t> score_text(const TextModel& model, const std::string& text);
// Write a page of `look`, whose file must be new. For a series: `series`, `at` and `target` as the command's options; empty: none.
void look_at_text(TextModel& model, const std::string& text, const std::string& out);
void look_at_series(const SeriesModel& model, const std::string& csv, const std::string& out,
                    const std::string& series, const std::string& at, const std::string& target);

// `csv` empty: the series that the recipe names. `steps` 0: the model's horizon.
std::string forecast_by_model(const SeriesModel& model, const std::string& csv, int steps,
                              const std::string& future);
// Without a model: the file is read as `timeseries forecast FILE.csv` reads it. `steps` 0: guessed.
std::string forecast_file(const std::string& csv, int steps, const std::vector<std::string>& columns);

}  // namespace unroll::python
