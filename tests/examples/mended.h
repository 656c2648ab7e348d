// For the suites of files that are mended.
#pragma once

#include "tests/examples/everyday.h"
#include "tests/examples/timeseries.h"

namespace mended {

using namespace everyday;

inline std::string dated(int row) {
  return fmt::format("{}-{:02}-{:02}", day(row).year, day(row).month, day(row).day);
}
inline std::string table(const std::string& header, int count = 84) {
  return rows(header, count, [](int row) { return fmt::format("{},{}", dated(row), week(row)); });
}
inline std::string with(std::string text, const std::string& what, const std::string& to) {
  const size_t at = text.find(what);
  REQUIRE_MESSAGE(at != text.npos, what);
  return text.replace(at, what.size(), to);
}

inline void check_mended(const Folder& folder, const std::string& exported, const std::string& by_hand,
                         const std::vector<std::string>& notes, const Words& more = {}) {
  const ProgramRun run = forecast_of(folder, exported), plain = forecast_of(folder, by_hand, more);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  REQUIRE_MESSAGE(plain.code == 0, plain.err);
  CHECK(run.out == plain.out);
  const auto rows_of =
      [](const std::string& said) {  // how many, from when to when: a first one may be lost unseen
        const size_t at = said.find(": ", said.find("rows are "));
        return at == said.npos ? "" : said.substr(at, said.find(" (", at) - at);
      };
  if (!rows_of(plain.err).empty()) CHECK(rows_of(run.err) == rows_of(plain.err));
  for (const std::string& note : notes)
    CHECK_MESSAGE(count_of(run.err, "note    " + note + "\n") == 1, note, "\n", run.err);
}

// The one line in which a file is refused.
inline std::string refused(const Folder& folder, const std::string& csv, const Words& more = {}) {
  const ProgramRun run = forecast_of(folder, csv, more);
  CHECK_MESSAGE((run.code == 2 && lines_of(run.err).size() == 1), run.err);
  return run.err;
}
inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace mended
