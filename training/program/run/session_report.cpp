// What a session says at its end, and what it leaves to be read: the page of the run, the profile.
#include <algorithm>
#include <chrono>

#include "training/program/cli/invocation.h"
#include "training/program/run/session.h"
#include "framework/device.h"
#include "framework/memory.h"
#include "training/report/report.h"
#include "training/files/state_dict.h"

namespace unroll {

namespace fs = std::filesystem;

static constexpr const char* peak_memory = "peak memory";

static std::string bytes(int64_t count) { return format_number(static_cast<double>(count)) + "B"; }

void Session::describe_run(const fs::path& folder) {
  description_ = trainee_.description;
  description_.title = fs::absolute(folder / ".").lexically_normal().parent_path().filename().string();
  description_.tables.insert(description_.tables.begin(), parameter_table(trainee_.params));
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

// Between two epochs the profile goes on. Of epochs that are over in a moment, few are followed by a page.
void Session::write_page_in_time(const fs::path& folder) {
  if (std::chrono::steady_clock::now() - last_page_ < std::chrono::seconds(1)) return;
  try {
    write_page(folder);
  } catch (const Error& error) {  // the next epoch writes it; no training ends for a page
    voice_.say("page    not written now: {}\n", error.what());
  }
}

void Session::write_page(const fs::path& folder) {
  const auto begin = std::chrono::steady_clock::now();
  if (profile_) description_.tables.back() = profile_table(*profile_);
  write_run_description(folder, description_);
  write_report(folder);
  last_page_ = std::chrono::steady_clock::now();
  seconds_of_pages_ += std::chrono::duration<double>(last_page_ - begin).count();
}

void Session::tell_profile() {
  if (!profile_) return;
  const RunDescription::Table table = profile_table(*profile_);
  profile_.reset();
  if (!description_.tables.empty()) description_.tables.back() = table;
  voice_.tell("\n"), voice_.tell(table), voice_.tell("\n");
}

// No part of what the process had: a block counts whole, and the system only what was written to of it; and a
// GPU's memory is not the process's.
static std::string asked_for_tensors() {
  return fmt::format("{} asked for tensors{}", bytes(memory_statistics().peak),
                     on_gpu() ? " on the GPU" : "");
}

void Session::tell_memory() const {
  voice_.tell("memory  {} at most; {}\n", bytes(peak_memory_of_process()), asked_for_tensors());
}

// Scores the weights that are kept, as they are in the file, and says what came out.
void Session::report(const Trainer& trainer, const fs::path& folder) {
  tell_profile();
  const bool best = trainee_.sections.training.keep == Keep::best;
  const std::optional<double> valid = best ? trainer.state().best : trainer.state().valid;
  const fs::path file = folder / (best ? best_checkpoint : last_checkpoint);
  const SafetensorsFile kept(file, Links::refused);
  load_state_dict(kept, trainee_.params);
  if (trainee_.kept) trainee_.kept(kept);
  voice_.tell("\n");
  if (trainer.out_of_patience())
    voice_.tell("ended   {} epochs without a better valid score\n", trainee_.sections.training.patience);
  if (trainer.state().skipped > 0)
    voice_.tell("skipped {} steps that were not finite\n", trainer.state().skipped);
  if (const auto& loss = trainer.state().loss_scale; loss && loss->skipped > 0)
    voice_.tell("skipped {} steps whose gradient overflowed in fp16; the loss scale ended at {:g}\n",
                loss->skipped, loss->scale);
  if (best) voice_.tell("weights of epoch {}, the best on the valid split\n", trainer.state().best_epoch);

  trainee_.report(valid, description_);
  const int64_t parameters = trainee_.params.count();
  description_.results.push_back({"parameters", format_number(static_cast<double>(parameters)),
                                  bytes(parameters * static_cast<int64_t>(sizeof(real)))});
  description_.results.push_back(peak_memory_.value_or(
      RunDescription::Figure{peak_memory, bytes(peak_memory_of_process()), asked_for_tensors()}));
  std::string no_page;  // which takes nothing of what is said below
  try {
    write_page(folder);
  } catch (const Error& error) { no_page = error.what(); }
  const Trainer::Times& times = trainer.times();
  if (times.count > 0)
    voice_.tell("speed   {} {}/s, {} of training, {:.2f} s of saving and logging\n",
                format_number(times.rate()), trainee_.description.names.unit, format_duration(times.training),
                times.saving + times.logging + seconds_of_pages_);
  tell_memory();
  voice_.tell("model   {}\nreport  {}\nnext    {} {} {}", shown(file), shown(folder / "report.html"),
              invocation(options_.program), trainee_.next, shell_path(file));
  for (const std::string& word : trainee_.next_words) voice_.tell(" {}", word);
  voice_.tell("\n");
  require(no_page.empty(), "the run is complete and saved, but not its page: {}", no_page);
  print_json(trainer, trainer.state().epoch);
}

}  // namespace unroll
