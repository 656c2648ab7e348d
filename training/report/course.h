// The course of a training: its log in the form that pictures and tables need.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "training/report/log.h"

namespace unroll {

struct Course {
  std::vector<LogRecord> intervals, epochs;
  std::vector<std::string> damaged = {};  // lines of the log that are no records
  int scored_otherwise = 0;               // epochs up to this one, of which only the best was scored anew

  // The names of the program's own metrics, in order of appearance.
  std::vector<std::string> metrics() const;
  const LogRecord* best() const;  // the epoch with the best validation score so far; nullptr: there is none
};

// The course of the run in a folder. Throws InputError as read_log.
Course read_course(const std::filesystem::path& folder, const LogNames& names);

}  // namespace unroll
