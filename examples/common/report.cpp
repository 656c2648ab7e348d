// The command "report": the page of a run, made again from what lies in its folder.
#include "training/report.h"

#include <fmt/format.h>

#include "examples/common/run_commands.h"

namespace unroll {

void report_command(Command& command) {
  command.describe(
      "Makes report.html of a run's folder again, from the files beside it: after an interruption in the "
      "middle of an epoch, or for a look while the run goes on.");
  command.word("DIR", "folder of a run: runs/demo-1");
  command.example("report runs/demo-1", "then open runs/demo-1/report.html");
  if (!command.parse()) return;
  const std::filesystem::path folder = command.positional();
  write_report(folder);
  fmt::print("{}\n", (folder / "report.html").string());
}

}  // namespace unroll
