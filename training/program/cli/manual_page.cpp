// The manual page, in the macros of man(7).
#include <set>

#include <fmt/format.h>

#include "framework/version.h"
#include "training/program/cli/pages.h"

namespace unroll {

namespace {

// Escapes text for roff: no character acts as a request, and a minus can be copied into a shell.
std::string escaped(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '\'')
      result += "\\(aq";
    else if (c == '"')
      result += "\\(dq";
    else if (c == '^')
      result += "\\(ha";
    else if (c == '~')
      result += "\\(ti";
    else
      result += c;
  }
  return result;
}

std::string paragraphs(const std::string& text) {
  std::string result;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find("\n\n", at), text.size());
    if (at > 0) result += ".PP\n";
    result += escaped(text.substr(at, end - at)) + "\n";
    at = end + 2;
  }
  return result;
}

template <class Entries>
std::string list(const Entries& entries) {
  std::string text;
  for (const Entry& entry : entries)
    text += fmt::format(".TP\n.B {}\n{}\n", escaped(entry.what), escaped(entry.description));
  return text;
}

std::string section_of(const Command& command) {
  std::string text = fmt::format(".SS {} {}\n", escaped(command.program()), escaped(command.synopsis()));
  text += paragraphs(command.description());
  std::vector<Entry> entries;
  if (!command.takes().what.empty()) entries.push_back(command.takes());
  for (const Option& option : command.options()) entries.push_back(as_entry(option));
  return text + list(entries);
}

}  // namespace

std::string manual_page(const Program& program) {
  std::string name;
  for (char c : program.name) name += static_cast<char>(std::toupper(c));
  std::string text = fmt::format(".\\\" Written by \"{} help --man\".\n", program.name);
  text += fmt::format(".TH {} 1 {} \"unroll {}\" \"User Commands\"\n", name, UNROLL_DATE, UNROLL_VERSION);
  text += fmt::format(".SH NAME\n{} \\- {}\n", program.name, escaped(program.purpose));
  text += fmt::format(".SH SYNOPSIS\n.B {}\n.I COMMAND\n.RI [ ARGUMENT ]...\n", program.name);
  text += ".SH DESCRIPTION\n" + paragraphs(program.description);
  text += fmt::format(".PP\nWithout arguments it is \\(lq{} {}\\(rq.\n", program.name,
                      escaped(fmt::format("{}", fmt::join(program.without_arguments, " "))));

  std::string commands = ".SH COMMANDS\n", examples = ".SH EXAMPLES\n";
  std::vector<Entry> files;
  std::set<std::string> named;
  for (const Command& command : declared_commands(program)) {
    commands += section_of(command);
    examples += list(command.examples());
    for (const Entry& file : command.files())
      if (named.insert(file.what).second) files.push_back(file);
  }
  return text + commands + ".SH FILES\n" + list(files) + ".SH EXIT STATUS\n" + list(exit_codes()) + examples;
}

}  // namespace unroll
