// The command "report": makes the report of a run again from its folder.
#include "training/report/report.h"

#include <fmt/format.h>

#include "data/text_file.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/run/run_commands.h"
#include "training/program/run/run_start.h"
#include "training/run_folder.h"

namespace unroll {

void report_command(Command& command) {
  command.describe(
      "Makes report.html in a run's folder again from the files beside it. Use it after an interruption in "
      "the middle of an epoch, or while the run goes on.");
  command.word("DIR", "folder of a run: " + command.first_run());
  std::string plot;
  command.option("plot", plot, "FILE", "draws the scores of training and validation, as SVG");
  command.example("report " + command.first_run(),
                  fmt::format("then open {}/report.html", command.first_run()));
  command.example("report " + command.first_run() + " --plot curve.svg", "its main curve as a picture");
  if (!command.parse()) return;
  require_new("report", plot, "plot");
  const std::filesystem::path folder = command.positional();
  check_run_files(folder);
  if (has_own_file(folder / "start.json"))
    (void)read_run_start(folder, command.program());  // or it is another program's
  for (const std::string& line : write_report(folder))
    show(stderr, "{}: warning: {}; left out of the report\n", command.program(), line);
  show("{}\n", shown(folder / "report.html"));
  if (!plot.empty()) write_new_file(plot, chart_file(score_chart(folder)));
}

}  // namespace unroll
