// Guesses for a bare file: how it is read, how many steps are forecast, and a network's recipe.
#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/times.h"
#include "tests/examples/timeseries.h"

using namespace unroll;

TEST_CASE("a file is read by tabs, packed or not, and with each key that says how it is read") {
  const Folder folder;
  std::string tabs = "day\tx\n", marks = "t,x,y\n";
  for (int row = 0; row < 84; ++row) {
    const Time day{TimeForm::date, parse_time("2021-01-04")->count + row * one_day};
    tabs += fmt::format("{}\t{}\n", to_text(day), 10 + row % 7);
    const CalendarTime at = calendar_of(day);
    marks += fmt::format("{:02}/{:02}/{},\"1,0{}\",z\n", at.day, at.month, at.year, 10 + row % 7);
  }
  folder.write("x.tsv", tabs), folder.write("marks.csv", marks);
  const Words week = Words{"--steps", "2", "--members", "last,seasonal"} + set({"data.period=7"});
  const std::string forecast = "time,x,x_low,x_high\n2021-03-29,10,10,10\n2021-03-30,11,11,11\n";
  CHECK(timeseries_out(Words{"forecast", "x.tsv"} + week, folder.path()) == forecast);
  (void)output_of(run_program("/bin/bash", {"-c", "gzip x.tsv"}, folder.path()));
  const ProgramRun packed = started(Words{"forecast", "x.tsv.gz"} + week, folder.path());
  if (packed.err.find("no zlib") == std::string::npos) {
    CHECK(packed.out == forecast);
    const ProgramRun plan = started({"train", "x.tsv.gz", "--dry-run"}, folder.path());
    CHECK_MESSAGE(plan.out.find("recipe  x: ") != std::string::npos, plan.out);
  }
  const std::string said = timeseries_out(
      Words{"forecast", "marks.csv", "--members", "last,seasonal"} +
          set({"data.channels=[\"x\"]", "data.targets=[\"x\"]", "data.time=t", "data.date_order=dmy",
               "data.separator=,", "data.decimal=.", "data.thousands=,", "data.mend=true",
               "data.missing=previous", "data.gaps=fill", "data.open_end=true", "data.period=7",
               "data.second_period=14", "data.horizon=3", "data.bounds=[0,1012]"}),
      folder.path());
  CHECK(
      said ==
      "time,x,x_low,x_high\n2021-03-29,1010,1010,1010\n2021-03-30,1011,1011,1011\n2021-03-31,1012,1012,1012\n");
}

TEST_CASE("how many steps are forecast follows from the season and the rows, and why is said") {
  const Folder folder;
  const auto run = [&](const std::string& csv, const Words& more) {
    folder.write("x.csv", csv);
    return started(Words{"forecast", "x.csv", "--members", "last,seasonal"} + set(more), folder.path());
  };
  const auto months = [](int rows) {
    std::string csv = "t,x\n";
    for (int row = 0; row < rows; ++row)
      csv += fmt::format("{}-{:02},{}\n", 2010 + row / 12, row % 12 + 1, row % 12 + 5);
    return csv;
  };
  std::string quarters = "t,x\n", hours = "t,x\n";
  for (int row = 0; row < 960; ++row)
    quarters +=
        fmt::format("2021-01-{:02} {:02}:{:02},{}\n", row / 96 + 1, row % 96 / 4, row % 4 * 15, row % 96);
  for (int row = 0; row < 480; ++row)
    hours += fmt::format("2021-01-{:02} {:02}:00,{}\n", row / 24 + 1, row % 24, row % 24 + row / 24 % 7);
  for (const auto& [csv, period, steps, why] : {std::tuple{months(60), 12, 12, "a season"},
                                                {months(30), 12, 7, "a quarter of the rows at most"},
                                                {months(60), 1, 6, "a tenth of the rows"},
                                                {months(150), 1, 12, "there is no season"},
                                                {months(300), 120, 12, "the season is long"},
                                                {quarters, 96, 96, "a season"}}) {
    const ProgramRun found = run(csv, {fmt::format("data.period={}", period)});
    CHECK_MESSAGE(found.err.find(fmt::format("steps   {}: {} (--steps N)", steps, why)) != std::string::npos,
                  found.err);
    CHECK(std::ssize(lines_of(found.out)) == 1 + steps);
  }
  CHECK(run(hours, {}).err.find("season  24 and 168 rows: ") != std::string::npos);
  CHECK(
      run(hours, {"data.second_period=48"})
          .err.find("season  24 and 48 rows: a day of 24 rows: strength 0.99; data.second_period is set (") !=
      std::string::npos);
}

TEST_CASE(
    "a network for a file that is mended: its horizon, its calendar, and a recipe that reads the file again") {
  const Folder folder;
  std::string csv = "Report of the port\n\nt,x\n";
  for (int row = 0; row < 480; ++row)
    csv += fmt::format("2021-01-{:02} {:02}:00,{}\n", row / 24 + 1, row % 24, row % 24 + row / 24 % 7);
  folder.write("port.csv", csv + "Exported by ERP\n");
  const std::string said = timeseries_out(
      Words{"train", "port.csv", "--steps", "60", "--out", "first"} +
          set({"training.epochs=1", "model.hidden=4", "data.period=24", "data.second_period=168"}),
      folder.path());
  CHECK_MESSAGE(
      said.find(
          "horizon 48 of 60 steps: 384 rows leave no more to validate it on; the further steps go on from the first (") !=
          std::string::npos,
      said);
  const std::string recipe = read_text(folder / "first/recipe.toml");
  for (const std::string key : {"calendar = [\"hour\", \"weekday\"]", "mend = true", "missing = \"previous\"",
                                "horizon = 48", "second_period = 168"})
    CHECK_MESSAGE(recipe.find(fmt::format("\n{}\n", key)) != std::string::npos, key);
  const std::string again = timeseries_out({"train", "first/recipe.toml", "--out", "again"}, folder.path());
  for (const char* note : {"lines 1 to 2 are left out: above the names, which are in line 3",
                           "line 484 is left out: below the rows, as 'Exported by ERP'"})
    CHECK_MESSAGE(again.find(note) != std::string::npos, again);
  CHECK(timeseries_out({"forecast", "first/best.safetensors"}, folder.path()) ==
        timeseries_out({"forecast", "again/best.safetensors"}, folder.path()));
}

TEST_CASE("a network for a bare file begins with the weights that are named, and computes in the precision that is") {
  const Folder folder;
  std::string csv = "t,x\n";
  for (int row = 0; row < 240; ++row) csv += fmt::format("{}-{:02},{}\n", 2000 + row / 12, row % 12 + 1, row % 7);
  folder.write("x.csv", csv);
  const auto train = [&](const std::string& out, const Words& more) {
    return started(Words{"train", "x.csv", "--out", out} +
                       set(Words{"training.epochs=1", "model.hidden=4", "data.period=12"} + more),
                   folder.path());
  };
  REQUIRE(train("first", {}).code == 0);
  const ProgramRun second = train("second", {"training.init_from=first/best.safetensors"});
  CHECK_MESSAGE(second.out.find("begins  with the weights of ") != std::string::npos, second.out);
  const ProgramRun none = train("third", {"training.init_from=none.safetensors"});
  CHECK(none.code == 2);
  CHECK(none.err.find("none.safetensors: there is no such file") != std::string::npos);
  const std::string command = "UNROLL_ISA=emulated_bf16 " + program_named("timeseries") +
                              " train x.csv --out bf16 --set training.epochs=1 --set training.precision=bf16";
  CHECK(output_of(run_program("/bin/sh", {"-c", command}, folder.path())).find("bf16 on kernels for emulated_bf16") != std::string::npos);
}
