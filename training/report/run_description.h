// A run's description of itself: `report.json` in its folder, beside its log. A program writes it when training begins and again
// when there are results; the report (report.h) is made from it. Names, figures and tables are the program's.
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
  LogNames names = {};  // of the figures in its log

  // "test perplexity", "115.21", "82,430 tokens scored"
  struct Figure {
    std::string name, value, note = {};  // all as text, the note below
  };
  std::vector<Figure> facts = {};    // known before training: text, model, threads, seed
  std::vector<Figure> results = {};  // known after it; empty: it goes on, or was interrupted

  // A validation score to compare with: that of a text's source, or of a simpler model.
  struct Level {
    std::string name;
    double score = 0;
  };
  std::vector<Level> levels = {};  // those of the charts and the table

  // A column is set as numbers if all of its cells are numbers. "61.0 %" is also drawn as a bar.
  struct Table {
    std::string title, note;                          // the note stands below the rows, or alone
    std::vector<std::string> columns;                 // their names
    std::vector<std::vector<std::string>> rows = {};  // each with a cell for each column
    std::vector<bool> numeric() const;                // by column
  };
  std::vector<Table> tables = {};
  std::vector<Chart> charts = {};  // further charts: forecasts and their quality
};

// Atomic. Throws Error.
void write_run_description(const std::filesystem::path& folder, const RunDescription& description);
// Throws InputError if there is none, or it is damaged.
RunDescription read_run_description(const std::filesystem::path& folder);

// table_text: the table for a terminal, columns aligned, note below. A table wider than `columns` continues in a further block
// below, which repeats the first column. So a terminal breaks no line.
constexpr int table_columns = 100;  // without a terminal
std::string table_text(const RunDescription::Table& table, int columns = table_columns);

// parameter_table, profile_table: tables for every program. The profile's shows each row's share of the time.
RunDescription::Table parameter_table(const ParameterSet& params);
RunDescription::Table profile_table(const Profile& profile);

// "929,589"
std::string with_commas(int64_t number);

}  // namespace unroll
