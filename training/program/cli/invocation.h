// How the user calls a program, for lines that say what to type next.
#pragma once

#include <filesystem>
#include <string>

namespace unroll {

// Stores argv[0]. Call it first.
void remember_invocation(const char* argv0);

// The stored word; empty if there is none.
std::string started_program();

// "./run ptb" if ./run started the program (it sets UNROLL_RUN); else the stored word, or the program's name. Quoted
// for a shell if need be.
std::string invocation(const std::string& program);

// Quotes text for a shell if it has blanks or other characters with a meaning to a shell; else returns it unchanged.
std::string shell_word(const std::string& text);
// As above for a path, so that no program takes it for an option: "./-x" for "-x".
std::string shell_path(const std::filesystem::path& path);

}  // namespace unroll
