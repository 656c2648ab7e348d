// What a session says at its end, and what it leaves to be read: the page of the run, samples, the profile.
#include <chrono>
#include <sstream>

#include "data/ngram.h"
#include "framework/memory.h"
#include "saved_model.h"
#include "session.h"
#include "training/report.h"
#include "writing.h"

namespace ptb {

namespace fs = std::filesystem;

static std::string bytes(int64_t count) { return format_number(static_cast<double>(count)) + "B"; }

RunDescription Session::describe_run(const fs::path& folder) const {
  const LstmChoice& choice = model_.lstm.choice();
  RunDescription::Table engine{
      .title = "Engine", .note = choice.text(), .columns = {"criterion", "value", "verdict"}};
  for (const LstmReason& reason : choice.reasons)
    engine.rows.push_back({reason.criterion, reason.value, reason.verdict});
  RunDescription run{.title = fs::absolute(folder / ".").lexically_normal().parent_path().filename().string(),
                     .summary = fmt::format("LSTM language model of {} parameters: {}",
                                            format_number(static_cast<double>(model_.params.count())),
                                            describe(recipe_, options_.data)),
                     .names = {.unit = trainer_options().unit, .perplexity = true},
                     .facts = facts(),
                     .results = {},
                     .levels = {},
                     .tables = {parameter_table(model_.params),
                                engine,
                                {.title = "Time per operation",
                                 .note = "Not measured in this run; ptb train --profile measures it.",
                                 .columns = {}}}};
  if (text_.source_valid) run.levels.push_back({"the source's own", *text_.source_valid});
  return run;
}

void Session::train(Trainer& trainer, const TrainingTask& task) {
  if (options_.profile) profile_.emplace();
  trainer.run(task);
}

// Between two epochs the profile goes on.
void Session::write_page(const fs::path& folder) {
  const auto begin = std::chrono::steady_clock::now();
  if (profile_) description_.tables.back() = profile_table(*profile_);
  write_run_description(folder, description_);
  write_report(folder);
  seconds_of_pages_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Session::sample(int epoch) const {
  const int every = recipe_.training.sample_every_epochs;
  if (every == 0 || epoch % every != 0) return;
  std::istringstream text(
      write_text(model_, text_.corpus.vocabulary, recipe_.data.level,
                 {.words = recipe_.training.sample_words, .seed = recipe_.training.seed}));
  for (std::string line; std::getline(text, line);) say("        | {}\n", line);
}

void Session::tell_profile() {
  if (!profile_) return;
  const RunDescription::Table table = profile_table(*profile_);
  profile_.reset();
  if (!description_.tables.empty()) description_.tables.back() = table;
  tell("\n{}\n", table_text(table));
}

void Session::tell_memory() const {
  tell("memory  {} at most, {} of it tensors\n", bytes(peak_memory_of_process()),
       bytes(memory_statistics().peak));
}

// Scores the weights that are kept, as they are in the file, and says what came out.
void Session::report(const Trainer& trainer, const fs::path& folder) {
  tell_profile();
  const bool best = recipe_.training.keep == Keep::best;
  const double valid = best ? *trainer.state().best : *trainer.state().valid;
  const fs::path file = folder / (best ? "best.safetensors" : "last.safetensors");
  load_weights(file, model_);
  const Score test = score_split(Split::test);
  tell("\n");
  if (trainer.out_of_patience())
    tell("ended   {} epochs without a better valid score\n", recipe_.training.patience);
  if (trainer.state().skipped > 0) tell("skipped {} steps that were not finite\n", trainer.state().skipped);
  if (best) tell("weights of epoch {}, the best on the valid split\n", trainer.state().best_epoch);
  tell_score(Split::valid, valid, std::ssize(text_.corpus.valid), text_.source_valid);
  tell_score(Split::test, test.perplexity(), test.tokens, text_.source_test);

  const std::string of_source =
      text_.source_test ? fmt::format("the source's own: {:.2f}", *text_.source_test) : "";
  description_.results = {
      {"test perplexity", fmt::format("{:.2f}", test.perplexity()), of_source},
      {"parameters", format_number(static_cast<double>(model_.params.count())),
       bytes(model_.params.count() * static_cast<int64_t>(sizeof(real)))},
      {"peak memory", bytes(peak_memory_of_process()), bytes(memory_statistics().peak) + " of it tensors"}};
  write_page(folder);
  const Trainer::Times& times = trainer.times();
  if (times.count > 0)
    tell("speed   {} {}/s, {} of training, {:.2f} s of saving and logging\n", format_number(times.rate()),
         trainer_options().unit, format_duration(times.training),
         times.saving + times.logging + seconds_of_pages_);
  tell_memory();
  tell("model   {}\nreport  {}\nnext    ./run ptb generate {}\n", file.string(),
       (folder / "report.html").string(), file.string());

  result_.valid_perplexity = valid;
  result_.test_perplexity = test.perplexity();
  print_json(trainer, trainer.state().epoch);
}

// A perplexity, and what it is to be held against: what made the text, and what counting words gives.
void Session::tell_score(Split split, double perplexity, int64_t tokens, std::optional<double> source) {
  const Corpus& corpus = text_.corpus;
  tell("{:<8}perplexity {:.2f}, {} of {} tokens scored\n", unroll::name(split), perplexity,
       with_commas(tokens), with_commas(std::ssize(corpus.split(split))));
  if (source)
    tell("        the source's own is {:.2f}: {:.1f} % above the best possible\n", *source,
         100 * (perplexity / *source - 1));
  if (recipe_.data.level != Level::word) return;
  const auto counted = [&](int order) {
    return NgramModel(order, corpus.train, corpus.vocabulary.size(), corpus.vocabulary.eos())
        .perplexity(corpus.split(split));
  };
  const double trigram = counted(3);
  tell("        by counting: unigram {:.2f}, trigram {:.2f}\n", counted(1), trigram);
  if (split == Split::valid) description_.levels.push_back({"trigram", trigram});
}

}  // namespace ptb
