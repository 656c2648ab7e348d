#include "training/log.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "framework/check.h"
#include "training/atomic_file.h"
#include "training/json_text.h"

namespace unroll {

namespace {

using Json = nlohmann::ordered_json;

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string valid_name(const LogNames& names) { return names.perplexity ? "valid_perplexity" : "valid_loss"; }

constexpr std::pair<LogRecord::Kind, std::string_view> kinds[] = {{LogRecord::Kind::interval, "interval"},
                                                                  {LogRecord::Kind::epoch, "epoch"},
                                                                  {LogRecord::Kind::anew, "anew"}};

// Not finite: null, which JSON has for it.
Json to_json(const LogRecord& record, const LogNames& names) {
  const auto kind =
      std::ranges::find(kinds, record.kind, &std::pair<LogRecord::Kind, std::string_view>::first);
  Json json{
      {"kind", kind->second}, {"step", record.step}, {"epoch", record.epoch}, {names.unit, record.count}};
  if (record.kind != LogRecord::Kind::anew) {
    json["loss"] = record.loss;
    if (names.perplexity) json["perplexity"] = std::exp(record.loss);
  }
  json["learning_rate"] = record.learning_rate;
  if (record.gradient_norm) json["gradient_norm"] = *record.gradient_norm;
  if (record.valid) {
    json[valid_name(names)] = *record.valid;
    json["best"] = record.best;
  }
  if (record.loss_scale) {
    json["loss_scale"] = *record.loss_scale;
    json["skipped_steps"] = record.skipped;
  }
  json["time"] = Json{{"seconds", record.seconds}, {names.unit + "_per_second", record.rate}};
  return json;
}

double number(const Json& json) { return json.is_null() ? std::nan("") : json.get<double>(); }

const Json& figure(const Json& json, const std::string& name) {
  require(json.is_object() && json.contains(name), "'{}' is missing", name);
  return json[name];
}

LogRecord from_json(const Json& json, const LogNames& names) {
  const std::string name = figure(json, "kind");
  const auto kind = std::ranges::find(kinds, name, &std::pair<LogRecord::Kind, std::string_view>::second);
  require(kind != std::end(kinds), "'{}' is no kind of record", name);
  const bool anew = kind->first == LogRecord::Kind::anew;
  const Json& time = figure(json, "time");
  LogRecord record{.kind = kind->first,
                   .step = figure(json, "step"),
                   .epoch = figure(json, "epoch"),
                   .count = figure(json, names.unit),
                   .loss = anew ? 0 : number(figure(json, "loss")),
                   .learning_rate = number(figure(json, "learning_rate")),
                   .seconds = number(figure(time, "seconds")),
                   .rate = number(figure(time, names.unit + "_per_second"))};
  if (json.contains("gradient_norm")) record.gradient_norm = number(figure(json, "gradient_norm"));
  if (json.contains("loss_scale")) {
    record.loss_scale = number(figure(json, "loss_scale"));
    record.skipped = figure(json, "skipped_steps");
  }
  if (json.contains(valid_name(names))) {
    record.valid = number(figure(json, valid_name(names)));
    record.best = figure(json, "best");
  }
  return record;
}

// The lines that are whole; the last may lack its end.
std::vector<std::string> whole_lines(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  require_input(file.good(), "{}: cannot be read", path.string());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line) && !file.eof();) lines.push_back(std::move(line));
  return lines;
}

// What `f` makes of a line; where it throws, the line's number, in our words.
template <class F>
auto parse(const std::filesystem::path& path, std::size_t index, const std::string& line, F&& f) {
  const auto refused = [&](std::string_view why) {
    return InputError(fmt::format("{}:{}: no record of a log: {}", path.string(), index + 1, why));
  };
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) throw refused("the line is damaged");
  try {
    return f(json);
  } catch (const Error& error) { throw refused(error.what()); } catch (const Json::exception&) {
    throw refused("a figure in it is no number");
  }
}

// A process that was killed while it wrote leaves half a line.
void drop_torn_line(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  std::uintmax_t whole = 0;
  for (const std::string& line : whole_lines(path)) whole += line.size() + 1;
  if (whole != std::filesystem::file_size(path, error) && !error)
    std::filesystem::resize_file(path, whole, error);
  require(!error, "{}: cannot be written: {}", path.string(), error.message());
}

std::vector<Scalar> scalars_of(const LogRecord& record, const LogNames& names) {
  const auto shown = [&](double loss) { return names.perplexity ? std::exp(loss) : loss; };
  const std::string score = names.perplexity ? "perplexity" : "loss";
  if (record.kind == LogRecord::Kind::anew) return {};
  if (record.kind == LogRecord::Kind::epoch) {
    std::vector<Scalar> scalars{{"epoch/train_" + score, shown(record.loss)}};
    if (record.valid) scalars.push_back({"epoch/valid_" + score, *record.valid});
    return scalars;
  }
  std::vector<Scalar> scalars{{"train/loss", record.loss}, {"train/learning_rate", record.learning_rate}};
  if (names.perplexity) scalars.push_back({"train/perplexity", shown(record.loss)});
  if (record.gradient_norm) scalars.push_back({"train/gradient_norm", *record.gradient_norm});
  if (record.loss_scale) {
    scalars.push_back({"train/loss_scale", *record.loss_scale});
    scalars.push_back({"train/skipped_steps", static_cast<double>(record.skipped)});
  }
  scalars.push_back({"speed/" + names.unit + "_per_second", record.rate});
  return scalars;
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& folder, LogNames names)
    : names_(std::move(names)),
      path_(folder / log_file),
      file_((drop_torn_line(path_), path_)),
      events_(folder, wall_time()) {}

void RunLog::write(const LogRecord& record) {
  file_.append(json_text(to_json(record, names_)) + '\n');
  if (const auto scalars = scalars_of(record, names_); !scalars.empty())
    events_.write(record.step, scalars, wall_time());
}

void RunLog::cut_after(int64_t step, int epochs) {
  const std::vector<std::string> lines = whole_lines(path_);
  std::string kept;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool stays = parse(path_, i, lines[i], [&](const Json& json) {
      return figure(json, "kind") == "interval" ? figure(json, "step") <= step
                                                : figure(json, "epoch") <= epochs;
    });
    if (stays) kept += lines[i] + '\n';
  }
  write_file_atomically(path_, kept);
  file_ = AppendFile(path_);
  events_.restart(step + 1, wall_time());
}

std::vector<LogRecord> read_log(const std::filesystem::path& path, const LogNames& names) {
  const std::vector<std::string> lines = whole_lines(path);
  std::vector<LogRecord> records;
  for (std::size_t i = 0; i < lines.size(); ++i)
    records.push_back(parse(path, i, lines[i], [&](const Json& json) { return from_json(json, names); }));
  return records;
}

}  // namespace unroll
