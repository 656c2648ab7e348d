// evaluate --tune: its input, output and files.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "examples/ptb/scores/dynamic_statistics.h"
#include "examples/ptb/scores/tune.h"
#include "examples/ptb/session/result.h"
#include "examples/ptb/text/text.h"
#include "framework/clock.h"
#include "framework/signals.h"
#include "training/files/gradient_statistics.h"
#include "training/program/cli/console.h"
#include "training/program/cli/invocation.h"

namespace ptb {

using Json = nlohmann::ordered_json;

namespace {

// The command line that scores the test split with the chosen settings.
std::string scoring_line(const TuneCommand& command, const std::string& program, const Tuned& tuned) {
  std::string line = fmt::format("{} evaluate {}", invocation(program), shell_path(command.checkpoint));
  if (!command.data.empty()) line += " --data " + shell_path(command.data);
  line += fmt::format(" --batch 1 --dynamic {}", option_text(tuned.dynamic));
  if (!command.statistics.empty()) line += " --statistics " + shell_path(command.statistics);
  if (tuned.temperature != 1) line += fmt::format(" --temperature {:g}", tuned.temperature);
  if (tuned.cache) line += " --cache " + option_text(*tuned.cache);
  return line;
}

std::filesystem::path table_path(const TuneCommand& command) {
  const std::filesystem::path model = command.checkpoint;
  return model.parent_path() /
         fmt::format("{}.{}.json", model.stem().string(), command.mode == "quick" ? "tune-quick" : "tune");
}

Json as_json(const Tuned& tuned, const TuneTable& table, const TuneCommand& command,
             const std::string& line) {
  Json json{{"mode", command.mode},
            {"tokens", tuned.tokens},
            {"static_perplexity", tuned.static_perplexity},
            {"perplexity", tuned.perplexity},
            {"rate", tuned.dynamic.rate},
            {"decay", tuned.dynamic.decay},
            {"epsilon", tuned.dynamic.epsilon},
            {"segment", tuned.dynamic.segment},
            {"temperature", tuned.temperature},
            {"cache", Json()},
            {"table", table.path().string()},
            {"command", line},
            {"trials", Json::array()}};
  if (tuned.cache)
    json["cache"] = {
        {"window", tuned.cache->window}, {"theta", tuned.cache->theta}, {"lambda", tuned.cache->lambda}};
  for (const Trial& trial : table.trials())
    json["trials"].push_back(
        {{"stage", trial.stage}, {"settings", trial.settings}, {"perplexity", trial.perplexity}});
  return json;
}

}  // namespace

void run_tune(const TuneCommand& command, SavedModel& saved, const std::string& program) {
  std::FILE* const out = command.json ? stderr : stdout;
  const SplitText text = load_split(saved.recipe, command.data, Split::valid, saved.vocabulary);
  const TunePlan plan = tune_plan(command.mode);
  const int64_t size = std::min(plan.tokens, std::ssize(text.tokens));
  const ScoredText first =
      ScoredText{.tokens = text.tokens, .eos = saved.vocabulary.eos(), .documents = text.documents}.first(
          size);
  const SignalGuard guard;
  const double begin = clock_seconds();
  TuneTable table(table_path(command));  // before minutes of work for the statistics
  std::string said;
  const std::filesystem::path beside = statistics_path(command.checkpoint);
  const Tensor statistics =
      Statistics(saved, command.statistics.empty() ? beside : std::filesystem::path(command.statistics),
                 command.data)
          .root_mean_square(said);
  show(out, "note: {}\n", said);
  table.begin({.model = fingerprint_of(saved.model->params),
               .statistics = fingerprint_of(statistics),
               .text = fingerprint_of(first.tokens, text.documents),
               .mode = command.mode,
               .tokens = size});
  if (!table.trials().empty())
    show(out, "note: {} trials were made before: {}\n", table.trials().size(), table.path().string());
  const Tuned tuned = tune({*saved.model, first, statistics, plan, table, out});
  const double seconds = clock_seconds() - begin;

  const std::string line = scoring_line(command, program, tuned);
  show(out, "chosen       {}, temperature {:g}, {}\n", describe(tuned.dynamic), tuned.temperature,
       tuned.cache ? "cache " + option_text(*tuned.cache) : "no cache");
  show(out, "             perplexity {:.4f} of the first {} tokens to validate on, static {:.4f}\n",
       tuned.perplexity, with_commas(tuned.tokens), tuned.static_perplexity);
  show(out, "table        {}\n", shown(table.path()));
  show(out, "next         {}\n", line);
  if (!command.json) return;
  Result result(saved.recipe, *saved.model);
  result.run.count = tuned.scored;
  result.run.seconds = seconds;
  result.run.rate = static_cast<double>(result.run.count) / seconds;
  result.run.print_json("tokens", "words_per_second", {{"tune", as_json(tuned, table, command, line)}});
}

}  // namespace ptb
