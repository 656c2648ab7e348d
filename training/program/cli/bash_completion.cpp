// The completion for bash: one function that looks at the word before the cursor and offers the words that may follow.
#include <fmt/format.h>

#include "training/program/cli/pages.h"

namespace unroll {

namespace {

// Bash splits words at '=', so "--set model.engine=auto" arrives as four words, with the value of "model.engine" last.
// compopt works only while bash completes; elsewhere (a test that calls the function) there is nothing to set.
constexpr const char* script = R"(# Completion of {name} for bash. Written by "{name} help --completion bash".

_{name}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} name=
  COMPREPLY=()
  if [[ $current == = ]]; then current= name=$before
  elif [[ $before == = ]]; then name=${{COMP_WORDS[COMP_CWORD-2]}}
  elif [[ $before == -* ]]; then name=$before
  fi

  _unroll_offer() {{ mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen "$@" -- "$current"); }}
  _unroll_setting() {{ compopt -o "$1" 2>/dev/null || true; }}

  if ((COMP_CWORD == 1)); then _unroll_offer -W '{commands} --help --version'; return; fi
  case "${{COMP_WORDS[1]}} $name" in
{values}  esac
  case $name in
{keys}  esac
  case "${{COMP_WORDS[1]}} $current" in
{words}  esac
}}

complete -F _{name} {name}
)";

// The shell code that completes a value named `value`; empty if nothing does.
std::string offer(const Program& program, const std::string& value, const std::vector<std::string>& words) {
  const auto files = [](const char* pattern) {
    return fmt::format("_unroll_setting filenames; _unroll_offer -f -X '!{}'; _unroll_offer -d", pattern);
  };
  if (!words.empty()) return fmt::format("_unroll_offer -W '{}'", fmt::join(words, " "));
  if (value == "DIR") return "_unroll_setting filenames; _unroll_offer -d";
  if (value == "CHECKPOINT") return files("*.safetensors");
  if (value == "FILE") return "_unroll_setting filenames; _unroll_offer -f";
  if (value == "RECIPE")
    return fmt::format("_unroll_offer -W '{}'; {}", fmt::join(bundled_recipes(program.name), " "),
                       files("*.toml"));
  if (value == "KEY=VALUE") {
    std::string keys;
    for (const Entry& key : program.recipe_keys())
      keys += fmt::format("{}{}=", keys.empty() ? "" : " ", key.what);
    return fmt::format("_unroll_setting nospace; _unroll_offer -W '{}'", keys);
  }
  return "";
}

}  // namespace

std::string bash_completion(const Program& program) {
  const std::vector<Command> commands = declared_commands(program);
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name());
  std::string values, keys, words;
  for (const Command& command : commands) {
    std::string options;
    for (const Option& option : command.options()) {
      options += fmt::format("--{} ", option.name);
      if (option.value.empty()) continue;
      const std::string offered = offer(program, option.value, option.words);
      values += fmt::format("    '{} --{}') {}{}return ;;\n", command.name(), option.name, offered,
                            offered.empty() ? "" : "; ");
    }
    words += fmt::format("    '{} -'*) _unroll_offer -W '{}--help' ;;\n", command.name(), options);
    const std::string& word = command.takes().what;
    const std::string offered = word == "[COMMAND]" ? offer(program, word, names) : offer(program, word, {});
    if (!offered.empty()) words += fmt::format("    '{} '*) {} ;;\n", command.name(), offered);
  }
  for (const Entry& key : program.recipe_keys()) {
    if (!key.description.empty())
      keys += fmt::format("    {}) _unroll_offer -W '{}'; return ;;\n", key.what, key.description);
  }
  return fmt::format(fmt::runtime(script), fmt::arg("name", program.name),
                     fmt::arg("commands", fmt::join(names, " ")), fmt::arg("values", values),
                     fmt::arg("keys", keys), fmt::arg("words", words));
}

}  // namespace unroll
