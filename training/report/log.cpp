#include "training/report/log.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "data/text_file.h"
#include "framework/check.h"
#include "training/files/json/json.h"
#include "training/files/run_files.h"

namespace unroll {

namespace {

using Json = nlohmann::ordered_json;

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string valid_name(const LogNames& names) { return std::string("valid_") + names.score(); }

constexpr std::pair<LogRecord::Kind, std::string_view> kinds[] = {{LogRecord::Kind::interval, "interval"},
                                                                  {LogRecord::Kind::epoch, "epoch"},
                                                                  {LogRecord::Kind::anew, "anew"}};

// Calls use(name, figure) for each field of a record's line but for its kind, metrics and times, in their order. A figure of an
// optional may be missing.
template <class Use>
void each_figure(LogRecord& r, const LogNames& names, Use use) {
  const bool trained = r.kind != LogRecord::Kind::anew;
  std::optional<double> perplexity;  // follows from the loss
  if (trained && names.perplexity) perplexity = std::exp(r.loss);
  use("step", r.step), use("epoch", r.epoch), use(names.unit, r.count);
  if (trained) use("loss", r.loss);
  use("perplexity", perplexity);
  use("learning_rate", r.learning_rate);
  use("momentum", r.momentum);
  use("gradient_norm", r.gradient_norm);
  use(valid_name(names), r.valid);
  if (r.valid) use("best", r.best);
  use("loss_scale", r.loss_scale);
  if (r.loss_scale) use("skipped_steps", r.skipped);
}

// JSON's null for a number that is not finite.
Json to_json(LogRecord record, const LogNames& names) {
  const auto kind =
      std::ranges::find(kinds, record.kind, &std::pair<LogRecord::Kind, std::string_view>::first);
  Json json{{"kind", kind->second}};
  each_figure(record, names, [&](const std::string& name, const auto& figure) {
    if (Json value = json_of(figure); !value.is_null()) json[name] = std::move(value);
  });
  for (const auto& [name, value] : record.metrics) json["metrics"][name] = value;
  json["time"] = Json{{"seconds", record.seconds}, {names.unit + "_per_second", record.rate}};
  return json;
}

LogRecord from_json(const Json& json, const LogNames& names) {
  const auto read = [](const Json& from, const std::string& name, auto& figure) {
    read_field(from, name.c_str(), figure, true);
  };
  std::string name;
  read(json, "kind", name);
  const auto kind = std::ranges::find(kinds, name, &std::pair<LogRecord::Kind, std::string_view>::second);
  require(kind != std::end(kinds), "'{}' is no kind of record", name);
  LogRecord record{.kind = kind->first};
  each_figure(record, names, [&](const std::string& field, auto& figure) {
    if constexpr (!requires { figure.emplace(); })
      read(json, field, figure);
    else if (json.contains(field))
      read(json, field, figure.emplace());
  });
  Json metrics = Json::object(), time;
  if (json.contains("metrics")) read(json, "metrics", metrics);
  require(metrics.is_object(), "'metrics' has no names");
  for (const auto& [metric, value] : metrics.items())
    read(metrics, metric, record.metrics.emplace_back(Scalar{metric}).value);
  read(json, "time", time);
  read(time, "seconds", record.seconds);
  read(time, names.unit + "_per_second", record.rate);
  return record;
}

InputError no_record(const std::filesystem::path& path, int line, std::string_view why) {
  return InputError(fmt::format("{}:{}: no record of a log: {}", path.string(), line, why));
}

// True if a process killed while writing a record can have left this.
bool is_torn_record(const std::string& text) {
  constexpr std::string_view begin = "{\"kind\":\"";
  return text.starts_with(begin) || begin.starts_with(text);
}

// Calls use(record, line) for each whole line. Lines that are no records are listed in `damaged`, or thrown if it is nullptr.
// Returns the number of the line after them, and its text: one that is being written, or was torn.
template <class Use>
std::pair<int, std::string> each_record(const std::filesystem::path& path, const LogNames& names,
                                        std::vector<std::string>* damaged, Use use) {
  const std::string text = read_own_file(path, most_bytes_of_log);
  std::size_t begin = 0;
  int number = 1;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1, ++number) {
    const std::string line = text.substr(begin, end - begin);
    try {
      const Json json = parse_json(line);
      require(!json.is_discarded(), "the line is damaged");
      use(from_json(json, names), line);
    } catch (const Error& error) {
      if (!damaged) throw no_record(path, number, error.what());
      damaged->push_back(no_record(path, number, error.what()).what());
    }
  }
  return {number, text.substr(begin)};
}

// Copies the file to the first free name of log.jsonl.damaged, log.jsonl.damaged-2 and so on.
std::filesystem::path keep_copy(const std::filesystem::path& path) {
  for (int number = 1;; ++number) {
    const std::filesystem::path copy =
        path.string() + ".damaged" + (number > 1 ? fmt::format("-{}", number) : "");
    if (auto file = AppendFile::create(copy)) {
      file->append(read_own_file(path, most_bytes_of_log));
      return copy;
    }
  }
}

std::vector<Scalar> scalars_of(const LogRecord& record, const LogNames& names) {
  const std::string score = names.score();
  if (record.kind == LogRecord::Kind::anew) return {};
  if (record.kind == LogRecord::Kind::epoch) {
    std::vector<Scalar> scalars{{"epoch/train_" + score, names.shown(record.loss)}};
    if (record.valid) scalars.push_back({"epoch/valid_" + score, *record.valid});
    for (const auto& [name, value] : record.metrics) scalars.push_back({"epoch/" + name, value});
    return scalars;
  }
  std::vector<Scalar> scalars{{"train/loss", record.loss}, {"train/learning_rate", record.learning_rate}};
  if (record.momentum) scalars.push_back({"train/momentum", *record.momentum});
  if (names.perplexity) scalars.push_back({"train/perplexity", names.shown(record.loss)});
  if (record.gradient_norm) scalars.push_back({"train/gradient_norm", *record.gradient_norm});
  if (record.loss_scale) {
    scalars.push_back({"train/loss_scale", *record.loss_scale});
    scalars.push_back({"train/skipped_steps", static_cast<double>(record.skipped)});
  }
  scalars.push_back({"speed/" + names.unit + "_per_second", record.rate});
  return scalars;
}

}  // namespace

double metric_of(const LogRecord& record, const std::string& name) {
  const auto found = std::ranges::find(record.metrics, name, &Scalar::name);
  return found == record.metrics.end() ? std::nan("") : found->value;
}

RunLog::RunLog(const std::filesystem::path& folder, LogNames names)
    : names_(std::move(names)),
      path_(folder / log_file),
      file_((has_own_file(path_) ? keep([](const LogRecord&) { return true; }) : void(), path_)) {}

// Never cuts the file in place: it is read first, and a copy keeps lines that are no records. If the file has another
// name elsewhere (a hard link), its contents there stay.
void RunLog::keep(const std::function<bool(const LogRecord&)>& stays) {
  std::string kept;
  std::vector<std::string> damaged;
  const auto [number, rest] =
      each_record(path_, names_, &damaged, [&](const LogRecord& record, const std::string& line) {
        if (stays(record)) kept += line + '\n';
      });
  if (!is_torn_record(rest)) damaged.push_back(no_record(path_, number, "the line is damaged").what());
  if (!damaged.empty()) {
    damaged_.push_back(fmt::format("{}{}; left out of the log, which is kept as it was in {}", damaged[0],
                                   damaged.size() > 1 ? fmt::format(", and {} more", damaged.size() - 1) : "",
                                   keep_copy(path_).string()));
  }
  write_file_atomically(path_, kept);
}

void RunLog::write(const LogRecord& record) {
  file_.append(json_text(to_json(record, names_)) + '\n');
  const auto scalars = scalars_of(record, names_);
  if (scalars.empty()) return;
  if (!events_) {
    events_.emplace(path_.parent_path(), wall_time());
    if (restart_) events_->restart(*restart_, wall_time());
  }
  events_->write(record.step, scalars, wall_time());
}

void RunLog::cut_after(int64_t step, int epochs) {
  keep([&](const LogRecord& record) {
    return record.kind == LogRecord::Kind::interval ? record.step <= step : record.epoch <= epochs;
  });
  file_ = AppendFile(path_);
  events_.reset();
  restart_ = step + 1;
}

std::vector<LogRecord> read_log(const std::filesystem::path& path, const LogNames& names,
                                std::vector<std::string>* damaged) {
  std::vector<LogRecord> records;
  each_record(path, names, damaged,
              [&](const LogRecord& record, const std::string&) { records.push_back(record); });
  return records;
}

// --- the course of a training ------------------------------------------------------------------------------

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
