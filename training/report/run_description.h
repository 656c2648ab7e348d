// A run's description of itself, besides its log: `report.json` in its folder.
//
// A program writes it as training begins and again as results are there; the report (training/report/report.h) is
// made from it. Nothing in it is about language models: names, figures and tables are whatever a program has
// to tell.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/parameters.h"
#include "framework/profile.h"
#include "training/report/chart.h"
#include "training/report/log.h"

namespace unroll {

struct RunDescription {
  std::string title;    // "ptb-small"
  std::string summary;  // a line that says what is trained
  LogNames names = {};

  // "test perplexity", "115.21", "82,430 tokens scored"
  struct Figure {
    std::string name, value, note = {};
  };
  std::vector<Figure> facts = {};    // known before training: text, model, threads, seed
  std::vector<Figure> results = {};  // known after it; empty: it goes on, or was interrupted

  // A validation score to compare with: of the source that made a text, of a simpler model.
  struct Level {
    std::string name;
    double score = 0;
  };
  std::vector<Level> levels = {};

  // A column is set as numbers if all of its cells are numbers; "61.0 %" is drawn as a bar, too.
  struct Table {
    std::string title, note;           // the note stands below, alone where there are no rows
    std::vector<std::string> columns;  // their names
    std::vector<std::vector<std::string>> rows = {};
    std::vector<bool> numeric() const;  // by column
  };
  std::vector<Table> tables = {};
  std::vector<Chart> charts = {};  // beside the curves of training: what was forecast, how well
};

// Atomically. Throws Error.
void write_run_description(const std::filesystem::path& folder, const RunDescription& description);
// Throws InputError: there is none, or it is not one.
RunDescription read_run_description(const std::filesystem::path& folder);

// For a terminal: columns aligned, the note below. Lines longer than so many characters go on in a further block of columns
// below, that begins with the first column again: a terminal breaks no line, and no number in it.
constexpr int table_columns = 100;  // where there is no terminal
std::string table_text(const RunDescription::Table& table, int columns = table_columns);

// Tables that every program can give. The profile's has a share of the time for each row.
RunDescription::Table parameter_table(const ParameterSet& params);
RunDescription::Table profile_table(const Profile& profile);

// "929,589"
std::string with_commas(int64_t number);

}  // namespace unroll
