#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"
#include "framework/processes/processes.h"
#include "framework/signals.h"
#include "framework/system_call.h"
#include "framework/version.h"
#include "training/program/cli/console.h"
#include "training/program/cli/invocation.h"
#include "training/program/cli/pages.h"
#include "training/program/cli/program.h"

namespace unroll {

namespace {

std::string first_run(const Program& program) {
  return fmt::format("runs/{}-1", program.without_arguments.back());
}

InputError no_command(const std::string& word, const std::vector<std::string>& names) {
  const std::string meant = nearest(word, names);
  return InputError(fmt::format("there is no command '{}'; {}", one_line(word),
                                meant.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                              : fmt::format("did you mean '{}'?", meant)));
}

// "help" prints everything that the table of commands can give.
Program::Listed help_command(const Program& program) {
  return {"help", "prints pages like this one", [&program](Command& command) {
            bool man = false;
            std::string shell;
            command.describe(
                "Prints the page of a command, or of the whole program. 'meson install' puts the manual page "
                "and the completion in place; these options print them without it.");
            command.word("[COMMAND]", "one of the commands");
            command.option("man", man, "the manual page, for man(1)");
            command
                .option("completion", shell, "",
                        "a script that completes the program's words; for bash to source")
                .one_of({"bash"});
            command.example("help train", "the page of train");
            command.example("help --man | man -l -", "reads the manual page without installing it");
            command.example("help --completion bash > completion.bash; source ./completion.bash",
                            "completes words in this shell");
            if (!command.parse()) return;
            require_input(int{man} + !shell.empty() + !command.positional().empty() <= 1,
                          "help: only one of COMMAND, --man and --completion");
            if (man) return show("{}", manual_page(program));
            if (!shell.empty()) return show("{}", bash_completion(program));
            if (command.positional().empty()) return show("{}", help_page(program, page_columns()));
            std::vector<std::string> names;
            for (const Command& one : declared_commands(program)) {
              if (one.name() == command.positional()) return show("{}", help_page(one, page_columns()));
              names.push_back(one.name());
            }
            throw no_command(command.positional(), names);
          }};
}

std::vector<Program::Listed> all_commands(const Program& program) {
  std::vector<Program::Listed> all = program.commands;
  all.push_back(help_command(program));
  return all;
}

void carry_out(const Program& program, std::vector<std::string> arguments) {
  for (const std::string& argument : arguments)  // a run's files say them, in JSON
    require_input(is_utf8(argument), "'{}': this is not UTF-8; words and paths must be", one_line(argument));
  if (arguments.empty()) arguments = program.without_arguments;
  const std::string word = arguments.front();
  if (word == "--help" || word == "-h") return show("{}", help_page(program, page_columns()));
  if (word == "--version") return show("{} {}\n", program.name, UNROLL_VERSION);
  arguments.erase(arguments.begin());
  std::vector<std::string> names;
  for (const Program::Listed& listed : all_commands(program)) {
    if (listed.name == word) {
      Command command(program.name, {listed.name, listed.purpose}, std::move(arguments), first_run(program));
      if (listed.shared) return listed.run(command);
      if (!is_first_process()) return;
      const AloneForNow alone;
      return listed.run(command);
    }
    names.push_back(listed.name);
  }
  throw no_command(word, names);
}

// Opens /dev/null for each standard descriptor that is closed. Otherwise one of our files would get its number, and
// receive the output.
void keep_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) == -1) (void)open("/dev/null", O_RDONLY);
}

void only_rank_0_prints() {
  if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0) dup2(nowhere, 1), close(nowhere);
}

}  // namespace

std::vector<Command> declared_commands(const Program& program) {
  std::vector<Command> commands;
  for (const Program::Listed& listed : all_commands(program)) {
    commands.emplace_back(program.name, Entry{listed.name, listed.purpose}, std::vector<std::string>{},
                          first_run(program));
    commands.back().only_declare();
    listed.run(commands.back());
  }
  return commands;
}

std::vector<Entry> listed_keys(const RecipeReader& reader) {
  std::vector<Entry> keys;
  for (const RecipeKey& key : reader.keys())
    keys.push_back({key.path(), fmt::format("{}", fmt::join(key.words, " "))});
  return keys;
}

std::span<const Entry> exit_codes() {
  static const std::array<Entry, 5> codes = {
      {{"0", "done"},
       {"1", "failed while running"},
       {"2", "wrong input: a file, a key of a recipe, an option"},
       {"3", "out of memory"},
       {"129, 130, 143", "hung up (SIGHUP), interrupted (SIGINT), ended (SIGTERM)"}}};
  return codes;
}

int run(const Program& program, int argc, char** argv) {
  keep_standard_descriptors();
  std::optional<ProcessGroup> group;
  const auto fail = [&](int code, std::string message) {
    std::fflush(stdout);
    if (!is_first_process()) message = fmt::format("rank {}: {}", process_rank(), message);
    if (group && !group->fail(code)) return code;                // another rank says it
    const std::string line = one_line(message, message.size());  // a file's name may have several
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(),
                 line.c_str());  // of a terminal that is gone, no exception
    return code;
  };
  remember_invocation(argv[0]);
  try {
    group.emplace();
    if (!is_first_process()) only_rank_0_prints();
    carry_out(program, {argv + 1, argv + argc});
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) return fail(1, "the output could not be written");
    group->finish();
    return 0;
  } catch (const OtherRankFailed& other) { return other.code; } catch (const Interrupted& interrupted) {
    return fail(128 + interrupted.signal, interrupted.what());
  } catch (const InputError& error) { return fail(2, error.what()); } catch (const OutOfMemory& error) {
    return fail(3, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    const int code = is_for_user(error.code().value()) ? 2 : error.code().value() == ENOMEM ? 3 : 1;
    return fail(code, fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::bad_alloc&) { return fail(3, "out of memory"); } catch (const Error& error) {
    return fail(1, error.what());
  } catch (const std::system_error& error) {
    return fail(1, error.code().message());
  } catch (const std::exception& error) {  // not in words of ours: nothing of the user's is wrong
    return fail(1, fmt::format("a fault of the program itself, which is worth a report ({})", error.what()));
  }
}

}  // namespace unroll
