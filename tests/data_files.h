// Finds the series that the repository cannot contain.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/folder.h"

// The file, in the folder of UNROLL_SERIES or where it usually lies; empty if it is not there.
inline std::filesystem::path series_file(const std::string& name) {
  const char* named = std::getenv("UNROLL_SERIES");
  for (const std::filesystem::path& folder :
       {std::filesystem::path(named ? named : ""), project_root() / "data/series",
        project_root() / "../shared/data/series"}) {
    if (std::filesystem::exists(folder / name)) return folder / name;
  }
  return {};
}
