// A session's last lines, and the report and the profile that it leaves.
#include <algorithm>
#include <chrono>
#include <sstream>

#include "framework/device.h"
#include "framework/memory.h"
#include "framework/one_line.h"
#include "training/files/state_dict.h"
#include "training/program/cli/invocation.h"
#include "training/program/run/session.h"
#include "training/report/report.h"

namespace unroll {

namespace fs = std::filesystem;

static constexpr const char* peak_memory = "peak memory";

void Session::describe_run(const fs::path& folder) {
  description_ = run_.description;
  description_.title = fs::absolute(folder / ".").lexically_normal().parent_path().filename().string();
  description_.tables.insert(description_.tables.begin(), parameter_table(run_.params));
  description_.tables.push_back(
      {.title = "Time per operation",
       .note = fmt::format("Not measured in this run; {} train --profile measures it.", options_.program),
       .columns = {}});
}

void Session::keep_what_was_measured(const fs::path& folder) {
  RunDescription before;
  try {
    before = read_run_description(folder);
  } catch (const InputError&) { return; }  // it is written anew
  RunDescription::Table& profile = description_.tables.back();
  for (const auto& table : before.tables)
    if (table.title == profile.title && !table.columns.empty()) profile = table;
  for (const auto& figure : before.results)
    if (figure.name == peak_memory) peak_memory_ = figure;
}

void Session::keep_sample(const fs::path& folder, int epoch, const std::string& text) const {
  if (text.empty()) return;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) console_.info("        | {}\n", line);
  add_sample(folder, {epoch, text});
}

// The profile continues between epochs. If epochs are short, only few are followed by a report.
void Session::write_report_in_time(const fs::path& folder) {
  if (std::chrono::steady_clock::now() - last_report_ < std::chrono::seconds(1)) return;
  try {
    write_report_now(folder);
  } catch (const Error& error) {  // the next epoch writes it; no training ends for a report
    console_.info("report  not written now: {}\n", error.what());
  }
}

void Session::write_report_now(const fs::path& folder) {
  const auto begin = std::chrono::steady_clock::now();
  if (profile_) description_.tables.back() = profile_table(*profile_);
  write_run_description(folder, description_);
  write_report(folder);
  last_report_ = std::chrono::steady_clock::now();
  seconds_of_reports_ += std::chrono::duration<double>(last_report_ - begin).count();
}

void Session::print_profile() {
  if (!profile_) return;
  const RunDescription::Table table = profile_table(*profile_);
  profile_.reset();
  if (!description_.tables.empty()) description_.tables.back() = table;
  console_.print("\n"), console_.print(table), console_.print("\n");
}

// Not a part of the process's memory: a block counts whole here, but to the system only as far as it was written. A
// GPU's memory is not the process's at all.
static std::string asked_for_tensors() {
  return fmt::format("{} asked for tensors{}", format_bytes(memory_statistics().peak),
                     on_gpu() ? " on the GPU" : "");
}

void Session::print_memory() const {
  console_.print("memory  {} at most; {}\n", format_bytes(peak_memory_of_process()), asked_for_tensors());
}

// Scores the kept weights, as they are in the file, and prints the result.
void Session::report(const Trainer& trainer, const fs::path& folder) {
  print_profile();
  const bool best = run_.sections.training.keep == Keep::best;
  const std::optional<double> valid = best ? trainer.state().best : trainer.state().valid;
  const fs::path file = folder / (best ? best_checkpoint : last_checkpoint);
  const SafetensorsFile kept(file, Links::refused);
  load_state_dict(kept, run_.params);
  if (run_.kept) run_.kept(kept);
  console_.print("\n");
  if (trainer.out_of_patience())
    console_.print("ended   {} epoch{} without a better valid score\n", run_.sections.training.patience,
                   plural(run_.sections.training.patience));
  if (const int64_t skipped = trainer.state().skipped; skipped > 0)
    console_.print("skipped {} step{} that {} not finite\n", skipped, plural(skipped),
                   skipped == 1 ? "was" : "were");
  if (const double factor = trainer.state().rate_factor; factor < 1)
    console_.print("diverged and went back to a checkpoint, at {:g} of the learning rate\n", factor);
  if (const auto& loss = trainer.state().loss_scale; loss && loss->skipped > 0)
    console_.print("skipped {} step{} whose gradient overflowed in fp16; the loss scale ended at {:g}\n",
                   loss->skipped, plural(loss->skipped), loss->scale);
  if (best) console_.print("weights of epoch {}, the best on the valid split\n", trainer.state().best_epoch);
  run_.report(valid, description_);
  const int64_t parameters = run_.params.count();
  description_.results.push_back({"parameters", format_number(static_cast<double>(parameters)),
                                  format_bytes(parameters * static_cast<int64_t>(sizeof(real)))});
  description_.results.push_back(peak_memory_.value_or(
      RunDescription::Figure{peak_memory, format_bytes(peak_memory_of_process()), asked_for_tensors()}));
  if (run_.look_words) {
    std::string look = fmt::format("{} look {}", invocation(options_.program), shell_path(file));
    for (const std::string& word : run_.look_words()) look += " " + word;
    description_.tables.insert(
        description_.tables.begin(),
        {.title = "Look inside",
         .note =
             fmt::format("This command makes a page that shows what the model does while it reads: {}", look),
         .columns = {}});
  }
  std::string no_report;  // the lines below are printed all the same
  try {
    write_report_now(folder);
  } catch (const Error& error) { no_report = error.what(); }
  const Trainer::Times& times = trainer.times();
  if (times.count > 0)
    console_.print("speed   {} {}/s, {} of training, {:.2f} s of saving and logging\n",
                   format_number(times.rate()), run_.description.names.unit, format_duration(times.training),
                   times.saving + times.logging + seconds_of_reports_);
  if (const auto exchanged = trainer.exchanged(); exchanged.bytes > 0)
    console_.print(
        "shared  by {} processes: {} bytes sent by this one, {} of training for that and for waiting\n",
        process_count(), with_commas(exchanged.bytes), format_duration(exchanged.seconds));
  print_memory();
  console_.print("model   {}\nreport  {}\n", shown(file), shown(folder / "report.html"));
  if (!run_.next.empty()) {
    console_.print("next    {} {} {}", invocation(options_.program), run_.next, shell_path(file));
    for (const std::string& word : run_.next_words) console_.print(" {}", word);
    console_.print("\n");
  }
  require(no_report.empty(), "the run is complete and saved, but not its report: {}", no_report);
  print_json(trainer, trainer.state().epoch);
}

}  // namespace unroll
