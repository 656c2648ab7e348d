// The pages of --help: headings, and lists in two columns, wrapped.
#include <algorithm>

#include <fmt/format.h>

#include "training/program/cli/pages.h"
#include "training/report/progress.h"

namespace unroll {

namespace {

// Wraps text at blanks. Every line but the first is indented; lines are at most `columns` wide unless a word is wider.
// The first line begins at column `used`. Empty lines stay.
std::string wrapped(const std::string& text, size_t used, size_t indent, size_t columns) {
  std::string result;
  size_t column = used;
  bool line_begins = true;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n' || text[at] == ' ') {
      if (text[at] == '\n') result += '\n', column = 0, line_begins = true;
      ++at;
      continue;
    }
    const size_t end = std::min(text.find_first_of(" \n", at), text.size());
    if (!line_begins && column + 1 + (end - at) > columns) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!line_begins) {
      result += ' ', ++column;
    }
    result.append(text, at, end - at);
    column += end - at;
    line_begins = false;
    at = end;
  }
  return result + '\n';
}

// "  --words N     words to draw": the description begins in column 24, on a new line if there is no room.
std::string listed(const Entry& entry, size_t columns) {
  constexpr size_t indent = 24;
  std::string line = "  " + entry.what;
  if (line.size() + 2 > indent)
    line += '\n' + std::string(indent, ' ');
  else
    line.resize(indent, ' ');
  return line + wrapped(entry.description, indent, indent, columns);
}

template <class Entries>
std::string list(const std::string& heading, const Entries& entries, size_t columns) {
  if (entries.empty()) return "";
  std::string text = fmt::format("\n{}:\n", heading);
  for (const Entry& entry : entries) text += listed(entry, columns);
  return text;
}

// An example's line stands alone, so that it can be copied; its effect stands below it.
std::string examples(const Command& command, size_t columns) {
  if (command.examples().empty()) return "";
  std::string text = "\nExamples:\n";
  for (const auto& [line, description] : command.examples())
    text += fmt::format("  {}\n      {}", line, wrapped(description, 6, 6, columns));
  return text;
}

}  // namespace

int page_columns() { return std::clamp(terminal_columns(stdout, 80), 40, 100); }

Entry as_entry(const Option& option) {
  Entry entry{"--" + option.name, option.description};
  if (!option.value.empty()) entry.what += " " + option.value;
  if (!option.default_text.empty()) entry.description += fmt::format(" (default: {})", option.default_text);
  return entry;
}

std::string help_page(const Command& command, int columns) {
  const size_t width = static_cast<size_t>(columns);
  std::string text = fmt::format("usage: {} {}{}\n\n{}", command.program(), command.synopsis(),
                                 command.options().empty() ? "" : " [OPTION]...",
                                 wrapped(command.description(), 0, 0, width));
  if (!command.takes().what.empty()) text += fmt::format("\n{}", listed(command.takes(), width));
  for (size_t i = 0; i < command.options().size();) {
    const std::string& group = command.options()[i].group;
    std::vector<Entry> entries;
    for (; i < command.options().size() && command.options()[i].group == group; ++i)
      entries.push_back(as_entry(command.options()[i]));
    text += list(group, entries, width);
  }
  return text + examples(command, width) + list("Files", command.files(), width) +
         list("Exit codes", exit_codes(), width);
}

std::string help_page(const Program& program, int columns) {
  const size_t width = static_cast<size_t>(columns);
  const std::string& name = program.name;
  std::vector<Entry> commands;
  for (const Command& command : declared_commands(program))
    commands.push_back({command.synopsis(), command.purpose()});
  const std::vector<Entry> others = {
      {name + " COMMAND --help", "the page of a command: its options, examples, files"},
      {name + " --version", "the version"},
      {name, fmt::format("the same as '{} {}'", name, fmt::join(program.without_arguments, " "))}};
  return fmt::format("usage: {} COMMAND [ARGUMENT]...\n\n", name) +
         wrapped(program.description, 0, 0, width) + list("Commands", commands, width) +
         list("Also", others, width) + list("Exit codes", exit_codes(), width);
}

}  // namespace unroll
