// ptb generate: draws words from a trained model, one after the other.
#include <cmath>

#include <fmt/format.h>

#include "examples/ptb/commands/commands.h"
#include "examples/ptb/model/options.h"
#include "examples/ptb/model/saved_model.h"
#include "examples/ptb/text/writing.h"
#include "framework/setup.h"
#include "training/program/cli/console.h"

namespace ptb {

void generate(Command& command) {
  WritingOptions writing;
  command.describe(
      "Lets a trained model write, a word at a time; each sentence is a line. Equal seeds write equal text.");
  add_checkpoint(command);
  command.option("prompt", writing.prompt, "TEXT", "the text to go on from").otherwise("a sentence begins");
  command.option(
      "words", writing.words, "N",
      "words to draw (characters of a model of characters), and those that end the last sentence: at most 100 words "
      "or 2,000 characters");
  command.option("temperature", writing.temperature, "T",
                 "below 1: likelier words become likelier still; above: rarer ones");
  command.option("top-k", writing.top_k, "K", "draw among the likeliest K words; 0: all");
  command.option("seed", writing.seed, "N", "of the random numbers");
  command.example("generate runs/demo-1/last.safetensors", "about a hundred words");
  command.example("generate best.safetensors --prompt \"the company\" --temperature 0.8",
                  "goes on from a text");
  if (!command.parse()) return;
  require_input(writing.words >= 0, "generate: --words {} is negative", writing.words);
  require_input(writing.temperature > 0 && std::isfinite(writing.temperature),
                "generate: --temperature {} must be a number above 0", writing.temperature);
  require_input(writing.top_k >= 0, "generate: --top-k {} is negative", writing.top_k);

  set_up({.threads = 1});  // a word at a time gives a second thread nothing to do
  const SavedModel saved = load_model(command.positional());
  int64_t unknown = 0;
  const std::string text =
      write_text(*saved.model, saved.vocabulary, form_of(saved.recipe), writing, &unknown);
  if (unknown > 0)
    show(stderr, "{}: --prompt: {} not in the model's vocabulary, read as {}\n", command.program(),
         unknown == 1 ? "a word is" : fmt::format("{} words are", unknown), Vocabulary::unknown);
  show_data(text);
}

}  // namespace ptb
