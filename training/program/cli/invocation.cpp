#include "training/program/cli/invocation.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "framework/one_line.h"

namespace unroll {

namespace {
std::string started_as;
}

void remember_invocation(const char* argv0) { started_as = argv0 ? argv0 : ""; }

std::string started_program() { return started_as; }

std::string invocation(const std::string& program) {
  const char* const run = std::getenv("UNROLL_RUN");
  if (run && *run) return shell_word(run) + " " + program;
  return started_as.empty() ? program : shell_word(started_as);
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return c >= 128 || std::isalnum(c) || std::strchr("_-+=./:,@%", c) != nullptr;
  };
  if (printable(text) != text) {  // bash reads it back; a terminal shows it
    std::string word = "$'";
    for_each_character(text, [&](std::string_view part, bool shown) {
      if (part == "'" || part == "\\")
        word += fmt::format("\\{}", part);
      else if (shown && !looks_like_nothing(part))
        word += part;
      else
        for (const char c : part) word += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    });
    return word + "'";
  }
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string shell_path(const std::filesystem::path& path) {
  const std::string text = path.string();
  return shell_word(text.starts_with('-') ? "./" + text : text);
}

}  // namespace unroll
