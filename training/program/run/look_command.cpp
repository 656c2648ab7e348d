#include "training/program/run/look_command.h"

#include <filesystem>

#include <fmt/format.h>

#include "framework/clock.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/look/look_page.h"
#include "training/program/run/run_commands.h"

namespace unroll {

namespace fs = std::filesystem;

// "demo-1/last" of runs/demo-1/last.safetensors
static std::string title_of(const fs::path& path) {
  const fs::path folder = fs::absolute(path).parent_path().filename();
  return (folder / path.stem()).string();
}

void LookCommand::add_to(Command& command, const std::string& on_the_same) {
  add_checkpoint(command);
  command.option("out", out, "FILE", "the page; a file that is there is not overwritten");
  command
      .option("against", against, "FILE",
              "another model's file, to be shown beside it on the same " + on_the_same)
      .otherwise("");
}

std::vector<LookCommand::Model> LookCommand::models(const Command& command) const {
  const std::string& first = command.positional();
  if (!command.given("against")) return {{first, title_of(first)}};
  const bool alike = title_of(first) == title_of(against);  // runs of one name in two folders
  return {{first, alike ? first : title_of(first)}, {against, alike ? against : title_of(against)}};
}

void LookCommand::write(const std::string& title, std::span<const std::string> numbers, double begin) const {
  const std::string page = look_page(title + ": a look inside", numbers);
  write_new_file(out, page);
  show("{}  {:.2f} MB, made in {:.1f} s; open it in a browser\n", shown(fs::path(out)),
       static_cast<double>(page.size()) / 1e6, clock_seconds() - begin);
}

}  // namespace unroll
