#include "training/program/sweep/sweep.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include <fmt/ranges.h>
#include <unistd.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "framework/signals.h"
#include "framework/version.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/cli/invocation.h"
#include "training/program/run/machine.h"
#include "training/program/sweep/child.h"
#include "training/program/sweep/results.h"
#include "training/run_folder.h"

namespace unroll {

namespace fs = std::filesystem;

namespace {

// The command line.
struct Request {
  std::string program, word, seeds, data, out;
  std::vector<SweptKey> keys;
  Machine machine;
  bool device_given = false, json = false, quiet = false;
  Console console() const { return {.out = json ? stderr : stdout, .quiet = quiet}; }
};

// The word that it begins with may be the folder of a sweep.
bool is_sweep(const fs::path& folder) { return fs::is_directory(folder) && has_own_file(folder / plan_file); }

// None while another process has it.
std::unique_ptr<RunFolderLock> lock_of(const fs::path& folder) {
  try {
    return std::make_unique<RunFolderLock>(folder);
  } catch (const InputError&) {
    if (!fs::is_directory(folder)) throw;
    return nullptr;
  }
}

void wait_a_little(int milliseconds) {
  stop_if_signalled();
  usleep(static_cast<useconds_t>(milliseconds) * 1000);
}

// Why a trial has failed: what its process said last.
std::string why(int code, const fs::path& output) {
  if (code < 0) return fmt::format("ended by signal {}", -code);
  constexpr std::size_t most = std::size_t{1} << 30;
  const std::string text = read_own_file(output, most);
  std::string_view rest = text, last;
  while (!rest.empty())
    if (const TextLine line = take_line(rest); !line.text.empty()) last = line.text;
  return last.empty() ? fmt::format("exit code {}", code) : one_line(last, 300);
}

// --- before the first trial ------------------------------------------------------------------------------------

SweepPlan plan_of(const Request& request, const SweepProgram& program, const std::vector<Override>& others) {
  const RecipeFile recipe = find_recipe(request.word, request.program);  // read once: it may be a pipe
  SweepPlan plan{.program = request.program,
                 .version = UNROLL_VERSION,
                 .recipe = recipe.name,
                 .directory = fs::current_path(),
                 .device = request.device_given ? request.machine.device : "",
                 .keys = request.keys};
  if (!request.data.empty()) {
    plan.data = fs::absolute(request.data).lexically_normal();
    require_input(fs::exists(plan.data), "{}: there is no such file or folder", request.data);
    require_input(fs::is_regular_file(plan.data) || fs::is_directory(plan.data),
                  "{}: each trial reads the data anew, and this can be read once: save it as a file",
                  request.data);
  }
  if (!request.seeds.empty()) plan.seeds = seeds_in(request.seeds);
  plan.trials = trials_of(plan, [&](std::vector<Override> overrides) {
    overrides.insert(overrides.end(), others.begin(), others.end());
    return program.resolve(recipe, overrides);
  });
  return plan;
}

// As the trials' processes: what relative paths in recipes begin at.
class InDirectory {
 public:
  explicit InDirectory(const fs::path& directory) {
    require_input(fs::is_directory(directory), "{}: the sweep began in this folder, and it is not here",
                  directory.string());
    fs::current_path(directory);
  }
  ~InDirectory() {
    std::error_code ignored;
    fs::current_path(before_, ignored);
  }
  InDirectory(const InDirectory&) = delete;
  InDirectory& operator=(const InDirectory&) = delete;

 private:
  const fs::path before_ = fs::current_path();
};

// Makes the data of every trial that is not done in `folder` before the first starts, once for each combination of the data's
// keys. Throws InputError if they cannot be made: each trial would fail.
void check_data(const SweepPlan& plan, const SweepProgram& program, const fs::path& folder) {
  const InDirectory begun_there(plan.directory);
  std::set<std::vector<std::string>> seen;
  for (const Trial& trial : plan.trials) {
    if (const auto result = read_result(folder / trial.folder); result && !result->failed()) continue;
    std::vector<std::string> values;
    for (std::size_t k = 0; k < plan.keys.size(); ++k)
      if (plan.keys[k].key.starts_with("data.")) values.push_back(trial.values[k]);
    if (!seen.insert(values).second) continue;
    program.make_data({plan.recipe, "a trial's recipe", trial.recipe}, plan.data);
  }
}

// The sweep's folder, with its plan in it, for this process alone: a plan is read and replaced under `lock`.
fs::path prepare(const Request& request, const SweepProgram& program, const std::vector<Override>& others,
                 std::optional<RunFolderLock>& lock) {
  if (is_sweep(request.word)) {
    const fs::path folder = fs::absolute(request.word);
    lock.emplace(folder);
    check_data(read_plan(folder, request.program), program, folder);
    return folder;
  }
  SweepPlan plan = plan_of(request, program, others);
  const bool goes_on = !request.out.empty() && is_sweep(request.out);
  if (goes_on) {
    lock.emplace(fs::absolute(request.out));
    go_on_with(plan, read_plan(request.out, request.program), request.out, program.differing_keys);
  }
  check_data(plan, program, goes_on ? fs::absolute(request.out) : fs::path());
  const fs::path folder =
      fs::absolute(goes_on ? fs::path(request.out) : create_run_folder(request.out, plan.recipe + "-sweep"));
  if (!goes_on) {
    lock.emplace(folder);
    check_run_folder(folder);  // another process may have begun in it just now
  }
  write_plan(folder, plan);
  return folder;
}

// --- the trials ------------------------------------------------------------------------------------------------

class Sweep {
 public:
  Sweep(fs::path folder, const Request& request, const SweepProgram& program)
      : folder_(std::move(folder)),
        request_(request),
        program_(program),
        console_(request.console()),
        plan_(read_plan(folder_, request.program)),
        results_(plan_.trials.size()) {}

  // Reads the results so far. A trial that failed when the command was started before is tried again.
  void read_results() {
    for (std::size_t i = 0; i < plan_.trials.size(); ++i) {
      const fs::path folder = folder_ / plan_.trials[i].folder;
      results_[i] = read_result(folder);
      if (results_[i] && results_[i]->failed()) remove_result(folder), results_[i].reset();
    }
  }

  void run() {
    introduce();
    for (std::size_t i = 0; i < plan_.trials.size(); ++i) {
      const Trial& trial = plan_.trials[i];
      const fs::path folder = folder_ / trial.folder;
      create_folder(folder);
      if (!results_[i]) train(trial, folder), results_[i] = read_result(folder);
      console_.info("{:<8}{}: {}\n", trial.folder, plan_.name_of(trial), in_words(*results_[i]));
      write_tables(folder_, plan_, results_);
    }
    report();
  }

 private:
  void introduce() const {
    console_.info("sweep   {}: {}\n        {} trials\nfolder  {}\n", plan_.recipe, plan_.summary(),
                  plan_.trials.size(), shown(folder_));
    if (plan_.version != UNROLL_VERSION)
      console_.info("note    begun with version {} of the program; this is {}\n", plan_.version,
                    UNROLL_VERSION);
  }

  void train(const Trial& trial, const fs::path& folder) {
    const fs::path run = folder / run_name, output = folder / "output.txt";
    // One that lost its parent saves and ends.
    while (fs::is_directory(run) && !lock_of(run)) wait_a_little(50);
    int code = 0;
    {
      ChildProcess child(words_for(trial, folder, run), plan_.directory, output);
      std::optional<int> ended;
      while (!(ended = child.ended())) wait_a_little(10);
      code = *ended;
    }
    TrialResult result;
    if (code != 0)
      result.why = why(code, output);
    else
      try {
        result = result_of_run(run);
      } catch (const InputError& error) { result.why = error.what(); }
    write_result(folder, result);
  }

  std::vector<std::string> words_for(const Trial& trial, const fs::path& folder, const fs::path& run) const {
    std::vector<std::string> words;
    if (has_own_file(run / "start.json") && has_own_file(run / "recipe.toml")) {
      words = {"resume", run.string()};
    } else {
      const fs::path recipe = folder / (plan_.recipe + ".toml");  // a model knows its recipe's name
      write_file_atomically(recipe, trial.recipe);
      words = {"train", recipe.string(), "--out", run.string()};
      if (!plan_.data.empty()) words.insert(words.end(), {"--" + program_.data.name, plan_.data.string()});
      if (!plan_.device.empty()) words.insert(words.end(), {"--device", plan_.device});
    }
    if (const auto threads = request_.machine.threads_of_process())
      words.insert(words.end(), {"--threads", std::to_string(*threads)});
    return words;
  }

  void report() const {
    console_.print(table_of(plan_, results_));
    const auto configurations = configurations_of(plan_, results_);
    if (const auto best = best_of(configurations); best && configurations.size() > 1)
      console_.print("lowest  {}: {} {}\n",
                     plan_.name_of_values(plan_.trials[configurations[*best].trials[0]]),
                     name_of_score(results_), format_score(*configurations[*best].mean));
    console_.print("tables  {}, trials.csv, table.json\n", shown(folder_ / "table.csv"));
    const auto failed = std::ranges::count_if(results_, [](const auto& result) { return result->failed(); });
    require(failed == 0, "{} of {} trials failed; {} says why, and the same command tries them again", failed,
            results_.size(), shown(folder_ / "trials.csv"));
    if (request_.json) show("{}\n", tables_json(folder_, plan_, results_));
  }

  const fs::path folder_;
  const Request& request_;
  const SweepProgram& program_;
  const Console console_;
  const SweepPlan plan_;
  TrialResults results_;
};

// False if only what is declared was wanted.
bool parse(Command& command, SweepProgram& program, Request& request, std::vector<Override>& others) {
  command.describe(
      "Trains a recipe with each combination of values, and with each seed, and prints a table of the best "
      "validation scores: mean and spread over the seeds. Each trial is a training in a process of its own. A sweep "
      "that was interrupted goes on with its folder in the recipe's place: what is done is not trained "
      "again. With --out and the folder of a sweep it can be given more values and more seeds.");
  command.word(
      "RECIPE",
      fmt::format("a TOML file, the name of a bundled recipe ({}), or the folder of a sweep that goes on",
                  fmt::join(bundled_recipes(command.program()), ", ")));
  program.recipe.add_to(command, {.lists = true});
  command.option("seeds", request.seeds, "LIST", "seeds to train with, as in 1..5 or 1,2,7")
      .otherwise("the recipe's");
  command.group(program.data.heading);
  command.option(program.data.name, request.data, program.data.value, program.data.description)
      .otherwise("as train has it");
  request.machine.add_to(command);
  command.group("Output");
  command.option("out", request.out, "DIR", "folder of the sweep").otherwise("runs/<recipe>-sweep-<n>");
  add_json_option(command, request.json);
  command.option("quiet", request.quiet, "print the table only, and what goes wrong");
  command.example(program.example, "six trainings, and a table with two rows");
  const std::string first_run = command.first_run();  // "runs/demo-1"
  command.example(fmt::format("sweep {}-sweep-1", first_run.substr(0, first_run.rfind('-'))),
                  "goes on after an interruption");
  command.file(plan_file, "in a sweep's folder: values, seeds and recipes");
  command.file("table.csv, trials.csv, table.json",
               "in a sweep's folder: a line for each combination of values, a line for each trial, both");
  if (!command.parse()) return false;
  request.program = command.program();
  request.word = command.positional();
  request.device_given = command.given("device");
  request.machine.check(command);
  if (is_sweep(request.word)) {
    for (const char* option : {"set", "engine", "seeds", program.data.name.c_str(), "device", "out"})
      require_input(
          !command.given(option),
          "sweep: {} goes on as it was begun: leave out --{}; with the recipe and --out {} it can be "
          "given more values and seeds",
          request.word, option, request.word);
    return true;
  }
  require_input(!fs::is_directory(request.word) ||
                    std::ranges::count(bundled_recipes(request.program), request.word) > 0,
                "{}: no sweep has begun in it; start one with '{} sweep RECIPE'", request.word,
                request.program);
  require_input(!command.given("out") || !request.out.empty(), "sweep: --out names no folder");
  require_input(!command.given("seeds") || !request.seeds.empty(), "sweep: --seeds names none");
  for (const Override& override : program.recipe.overrides(command)) {
    if (override.said.empty())
      request.keys.push_back(swept_key(override.assignment));
    else
      others.push_back(override);
  }
  return true;
}

}  // namespace

void sweep_command(Command& command, SweepProgram program) {
  Request request;
  std::vector<Override> others;
  if (!parse(command, program, request, others)) return;
  std::optional<RunFolderLock> lock;  // one process at a time
  const fs::path folder = prepare(request, program, others, lock);
  const SignalGuard guard;
  Sweep sweep(folder, request, program);
  sweep.read_results();
  try {
    sweep.run();
  } catch (const Interrupted&) {
    request.console().info("\nnext    {} sweep {}\n", invocation(request.program), shell_path(folder));
    throw;
  }
}

}  // namespace unroll
