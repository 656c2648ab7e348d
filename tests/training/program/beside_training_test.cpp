// Commands beside a training in the same folder: none ends it, none takes anything of what it leaves.
#include <atomic>
#include <filesystem>
#include <thread>

#include <sys/file.h>

#include "tests/training/program/trained_programs.h"
#include "training/files/atomic_file.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

const Words go_on = {"resume", "whole", "--set", "training.epochs=4"};

Words look_at(const Subject& subject, const std::string& command) {
  Words words = {command, command == "report"    ? "whole"
                          : command == "explain" ? "whole/recipe.toml"
                                                 : "whole/last.safetensors"};
  return command == "evaluate" || command == "forecast" || command == "explain" ? words + subject.data
                                                                                : words;
}

}  // namespace

TEST_CASE("a training waits for nobody who makes its report, and has its results in the report at its end") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    // As a `report` that was stopped in the middle, for as long as the training lasts.
    const AtomicFile stopped(folder / "whole/report.html");
    const ProgramRun trained = run(subject, go_on, folder);
    CHECK_MESSAGE(trained.code == 0, trained.err);
    const std::string page = read_text(folder / "whole/report.html");
    CHECK(page.find("4 epochs complete; not at its end") == std::string::npos);
    CHECK(page.find(subject.results[1]) != std::string::npos);
  }
}

TEST_CASE("every command that only looks works beside a training, which goes on to its end") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    std::atomic<bool> done = false;
    ProgramRun trained;
    std::thread training([&] {
      trained = run(subject, {"resume", "whole", "--set", "training.epochs=60"}, folder);
      done = true;
    });
    const Words commands = subject.program == "ptb" ? Words{"report", "evaluate", "explain", "generate"}
                                                    : Words{"report", "evaluate", "explain", "forecast"};
    std::vector<std::string> failed;
    do {
      for (const std::string& command : commands) {
        const ProgramRun beside = run(subject, look_at(subject, command), folder);
        if (beside.code != 0) failed.push_back(command + ": " + beside.err);
      }
    } while (!done);
    training.join();
    CHECK(failed == std::vector<std::string>{});
    CHECK_MESSAGE(trained.code == 0, trained.err);
    CHECK(trained.out.find("epoch 60/60") != std::string::npos);
    for (const auto& entry : fs::directory_iterator(folder / "whole"))
      CHECK_MESSAGE(entry.path().string().find("unroll-partial") == std::string::npos, entry.path().string());
  }
}

TEST_CASE("of two that write one file each has its own whole, and the last to finish has its own in place") {
  const Folder folder;
  AtomicFile first(folder / "w");
  first.write("first");
  AtomicFile second(folder / "w");
  second.write("second");
  second.commit();
  CHECK(read_text(folder / "w") == "second");
  first.commit();
  CHECK(read_text(folder / "w") == "first");
  CHECK(folder.listing().size() == 1);
}
