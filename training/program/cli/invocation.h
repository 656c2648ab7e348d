// How the user calls a program, for the lines that say what to do next.
#pragma once

#include <filesystem>
#include <string>

namespace unroll {

// As a program begins: what it was started as.
void remember_invocation(const char* argv0);

// That word; the program's name, where there was none.
std::string started_program();

// "./run ptb" if ./run started it, which names itself in UNROLL_RUN; else what it was started as, or its name.
// A word for a shell.
std::string invocation(const std::string& program);

// A word that a shell reads as this text: as it is, or in quotes if it has blanks or other characters that a
// shell has a use for.
std::string shell_word(const std::string& text);
// As above for a path, which no program takes for an option: "./-x" for "-x".
std::string shell_path(const std::filesystem::path& path);

}  // namespace unroll
