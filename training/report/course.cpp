#include "training/report/course.h"

#include <algorithm>

namespace unroll {

const LogRecord* Course::best() const {
  const LogRecord* best = nullptr;
  for (const LogRecord& record : epochs)
    if (record.best) best = &record;
  return best;
}

std::vector<std::string> Course::metrics() const {
  std::vector<std::string> names;
  for (const LogRecord& record : epochs)
    for (const Scalar& metric : record.metrics)
      if (std::ranges::find(names, metric.name) == names.end()) names.push_back(metric.name);
  return names;
}

// Marks the scores so far as not comparable with later ones.
static void score_anew(Course& course, const LogRecord& anew) {
  for (LogRecord& record : course.epochs) {
    record.best = record.epoch == anew.epoch && anew.valid;
    record.valid = record.best ? anew.valid : std::nullopt;
    course.scored_otherwise = record.epoch;
  }
}

Course read_course(const std::filesystem::path& folder, const LogNames& names) {
  Course course;
  for (const LogRecord& record : read_log(folder / log_file, names, &course.damaged)) {
    if (record.kind == LogRecord::Kind::anew)
      score_anew(course, record);
    else
      (record.kind == LogRecord::Kind::epoch ? course.epochs : course.intervals).push_back(record);
  }
  return course;
}

}  // namespace unroll
