// See tables.h.
#include "examples/timeseries/files/tables.h"

#include <utility>

#include "data/csv.h"
#include "examples/timeseries/files/mend.h"

namespace unroll {

static Table read_table(const std::string& text, char separator) {
  Table table;
  CsvReader csv(text, "", separator);
  while (csv.next()) table.emplace_back(csv.cells().begin(), csv.cells().end());
  return table;
}

static std::string written(const Table& table, char separator) {
  std::string text;
  for (const auto& row : table) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += (i > 0 ? std::string(1, separator) : "") + csv_cell(row[i], separator);
    text += '\n';
  }
  return text;
}

void refuse_table(const std::string& message, const std::string& done, char separator,
                  std::function<Table(const Table&)> turned) {
  throw MendableFile(message, done + ", and lines are counted in the table that this makes",
                     [=, turned = std::move(turned)](const std::string& text) {
                       return written(turned(read_table(text, separator)), separator);
                     });
}

}  // namespace unroll
