// The text of a file as rows of cells, for mends that move them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace unroll {

using Table = std::vector<std::vector<std::string>>;

// Throws MendableFile: turned(rows of the file) are read in their place. `done` says so.
[[noreturn]] void refuse_table(const std::string& message, const std::string& done, char separator,
                               std::function<Table(const Table&)> turned);

}  // namespace unroll
