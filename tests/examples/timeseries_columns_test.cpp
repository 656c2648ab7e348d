// Which columns of a file are its time, which name its series, and which are forecast.
#include "tests/examples/mended.h"
#include "tests/examples/timeseries.h"

using namespace mended;

TEST_CASE(
    "names and numbers of a year's parts are the time, and a text with a number that is none is said to be none") {
  const Folder folder;
  const auto quarter = [](int row) { return std::pair(row % 4 + 1, 2003 + row / 4); };
  const auto part = [](int row, int of) { return std::pair(row % of + 1, 2014 + row / of); };
  struct Kind {
    std::function<std::string(int)> cell;
    std::string next;
  };
  for (const Kind& kind : std::vector<Kind>{
           {[&](int row) {
              return fmt::format("FY{:02} Q{}", quarter(row).second - 2000, quarter(row).first);
            },
            "2024-Q1"},
           {[&](int row) { return fmt::format("{}Q{:02}", quarter(row).first, quarter(row).second - 2000); },
            "2024-Q1"},
           {[&](int row) { return fmt::format("{}{}", quarter(row).second, quarter(row).first); }, "2024-Q1"},
           {[&](int row) { return fmt::format("T{} {}", quarter(row).first, quarter(row).second); },
            "2024-Q1"},
           {[&](int row) { return fmt::format("{}. Quartal {}", quarter(row).first, quarter(row).second); },
            "2024-Q1"},
           {[&](int row) { return fmt::format("P{:02}-{}", part(row, 12).first, part(row, 12).second); },
            "2021-01"},
           {[&](int row) { return fmt::format("{}M{:02}", part(row, 12).second, part(row, 12).first); },
            "2021-01"},
           {[&](int row) { return fmt::format("{}{:02}", part(row, 52).second, part(row, 52).first); },
            "2015-08-10"},
           {[&](int row) { return fmt::format("KW {}/{}", part(row, 52).first, part(row, 52).second); },
            "2015-08-10"},
           {[&](int row) { return fmt::format("{}", 1'600'000'000 + 3600 * row); },
            "2020-09-17 00:26:40Z"}}) {
    CAPTURE(kind.cell(0));
    const auto beside = [&](int row) { return fmt::format("{},{}", kind.cell(row), week(row)); };
    CHECK(first_forecast(forecast_of(folder, rows("t,x", 84, beside))) == kind.next + ",10");
  }
  const ProgramRun run = forecast_of(
      folder, rows("t,x", 84, [](int row) { return fmt::format("Tag {},{}", row + 1, week(row)); }));
  CHECK_MESSAGE(run.err.find("column 1 ('t') may hold times, but 'Tag 1' in line 2 is not read as one") !=
                    std::string::npos,
                run.err);
}

TEST_CASE("columns that count or select are not forecast") {
  const Folder folder;
  for (const char* name : {"entry_id", "Invoice No", "OrderID", "index"}) {
    const ProgramRun run =
        forecast_of(folder, rows(fmt::format("t,{},paid", name), 84, [](int row) {
                      return fmt::format("2021-{:02}-{:02},{},{}", day(row).month, day(row).day,
                                         100 + row * (row + 3), 900 + row * row);
                    }));
    CHECK_MESSAGE(
        run.err.find(fmt::format("left out: {} (a counter by its name and whole numbers that ascend)",
                                 name)) != std::string::npos,
        run.err);
    CHECK(lines_of(run.out).at(0) == "time,paid,paid_low,paid_high");
  }
  for (const char* name : {"COVID", "case number"})  // these add up, and are forecast
    CHECK(lines_of(forecast_of(folder, rows(fmt::format("t,{}", name), 84,
                                            [](int row) {
                                              return fmt::format("2021-{:02}-{:02},{}", day(row).month,
                                                                 day(row).day, 100 + row * (row + 3));
                                            }))
                       .out)
              .at(0)
              .starts_with(fmt::format("time,{}", name)));
  const std::string shops = rows("t,shop no,x", 84, [](int row) {
    return fmt::format("2021-{:02}-{:02},{},{}", day(row / 2).month, day(row / 2).day, row % 2 + 7,
                       week(row / 2));
  });
  CHECK(refusal(folder, shops).ends_with("as an option: --set 'data.id=shop no'\n"));
  CHECK(lines_of(forecast_of(folder, shops, set({"data.only=shop no=7"})).out).at(0) ==
        "time,x,x_low,x_high");
  // The newest stand first, of each series in turn or of one after the other.
  for (const bool in_turn : {true, false})
    CHECK(refusal(folder, rows("t,shop no,x", 84,
                               [&](int row) {
                                 const int at = in_turn ? 41 - row / 2 : 41 - row % 42;
                                 return fmt::format("2021-{:02}-{:02},{},{}", day(at).month, day(at).day,
                                                    7 + (in_turn ? row % 2 : row / 42), week(at));
                               }))
              .find("2 series in one file, by column 'shop no' (7, 8)") != std::string::npos);
}

// Clocks are set back on 2021-10-31 at 01:00 UTC. Each value is the hour that the clock shows.
TEST_CASE("hours with offsets that change are forecast by the clock") {
  const Folder folder;
  folder.write("x.csv", rows("t,x", 140, [](int row) {
                 const int64_t hour = 3'600'000'000;
                 const Time time{.form = TimeForm::date_time,
                                 .count = parse_time("2021-10-28 00:00")->count + row * hour,
                                 .utc = true,
                                 .offset = (row < 73 ? 2 : 1) * hour};
                 return fmt::format("{},{}", to_text(time), calendar_of(time).hour);
               }));
  const ProgramRun run =
      started(Words{"forecast", "x.csv", "--steps", "2"} + set({"data.period=24"}), folder.path());
  CHECK(first_forecast(run) == "2021-11-02 21:00:00,21");
}

TEST_CASE("a first line of numbers has the names if --column asks for one of them") {
  const Folder folder;
  const std::string csv =
      rows("0,1,2", 84, [](int row) { return fmt::format("{},{},{}", dated(row), week(row), row % 7); });
  const ProgramRun run = forecast_of(folder, csv, {"--column", "1"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.out.starts_with("time,1,1_low,1_high\n"));
  CHECK(refused(folder, csv).find("'0' is a value, as are all in it") != std::string::npos);
}
