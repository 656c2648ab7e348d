// ptb: trains LSTM language models, of the Penn Treebank and other text.
#include <exception>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include "commands.h"
#include "framework/check.h"
#include "framework/threads.h"
#include "training/recipe_reader.h"

namespace {

struct Command {
  std::string_view name;
  void (*run)(const ptb::Arguments&);
  std::string_view synopsis, purpose;
};
constexpr Command commands[] = {
    {"train", ptb::train, "train RECIPE", "trains a model; a recipe is a file or the name of a bundled one"},
    {"evaluate", ptb::evaluate, "evaluate CHECKPOINT", "scores a trained model on a split of its text"},
    {"generate", ptb::generate, "generate CHECKPOINT", "lets a trained model write"},
    {"explain", ptb::explain, "explain RECIPE", "parameters, work, memory and engine of a model, untrained"},
};

void print_help() {
  fmt::print("ptb trains LSTM language models, of the Penn Treebank and other text.\n\n");
  for (const Command& command : commands) fmt::print("  ptb {:22}{}\n", command.synopsis, command.purpose);
  fmt::print(
      "\n'ptb COMMAND --help' lists the options. Without arguments: ptb train demo.\nBundled recipes: {}\n",
      fmt::join(unroll::bundled_recipes(), ", "));
}

void run(ptb::Arguments arguments) {
  if (arguments.empty()) arguments = {"train", "demo"};
  const std::string word = arguments.front();
  if (word == "--help" || word == "-h" || word == "help") return print_help();
  arguments.erase(arguments.begin());
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (command.name == word) return command.run(arguments);
    names.emplace_back(command.name);
  }
  const std::string meant = unroll::nearest(word, names);
  throw unroll::InputError(fmt::format("there is no command '{}'; {}", word,
                                       meant.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                                     : fmt::format("did you mean '{}'?", meant)));
}

int fail(int code, std::string_view message) {
  std::fflush(stdout);
  fmt::print(stderr, "ptb: {}\n", message);
  return code;
}

}  // namespace

// Exit codes: docs/exit-codes.md.
int main(int argc, char** argv) {
  unroll::sleep_while_waiting(argv);
  try {
    run({argv + 1, argv + argc});
    if (std::fflush(stdout) != 0) return fail(1, "the output could not be written");
    return 0;
  } catch (const unroll::InputError& error) {
    return fail(2, error.what());
  } catch (const unroll::OutOfMemory& error) {
    return fail(3, error.what());
  } catch (const std::bad_alloc&) {
    return fail(3, "out of memory");
  } catch (const std::exception& error) {
    return fail(1, error.what());
  }
}
