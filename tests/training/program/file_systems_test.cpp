// File systems that fail in part: calls that a signal interrupts, and those that have no locks.
#include <filesystem>

#include <signal.h>

#include "tests/run_outcome.h"
#include "tests/training/program/system_calls.h"
#include "tests/training/program/trained_programs.h"

using namespace unroll;
namespace fs = std::filesystem;

TEST_CASE("a call that a signal interrupts is made again: the same run, to the bit") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder folder;
    write_inputs(subject, folder);
    // The first seven calls of each kind: those of start.json, recipe.toml, the first checkpoints.
    const SystemCalls calls("fsync=EINTR*7,flock=EINTR*7,rename=EINTR*7");
    const ProgramRun interrupted = run(subject, train_tiny(subject) + Words{"whole"}, folder);
    CHECK_MESSAGE(interrupted.code == 0, interrupted.err);
    CHECK(outcome(folder / "whole") == outcome(trained(subject) / "whole"));
  }
}

TEST_CASE(
    "without locks of the file system a run goes on, says so, and no second process trains in its folder") {
  for (const Subject& subject : subjects) {
    for (const char* error : {"ENOLCK", "EOPNOTSUPP", "ENOSYS"}) {
      CAPTURE(subject.program);
      const Copy folder(subject);
      const SystemCalls calls(fmt::format("flock={}", error));
      const Words resume = {"resume", "whole"}, more = {"--set", "training.epochs=4"};
      const auto refused = [&](const std::string& owner, const Words& parts) {
        folder.write("whole/run.lock", owner);
        const ProgramRun second = run(subject, resume, folder);
        CHECK(second.code == 2);
        CHECK(lacks(lines_of(second.err).at(0), parts) == "");
        CHECK(read_text(folder / "whole/run.lock") == owner);
      };
      // Nobody knows whether a process of another machine is still at work.
      refused("process 1 on another (pid:[1])",
              {"whole: process 1 on another (pid:[1]) is training in it", "no locks", "delete that file"});
      refused("", {"whole: another process is training in it"});
      fs::remove(folder / "whole/run.lock");

      const ProgramRun first = run(subject, resume + more, folder);
      CHECK_MESSAGE(first.code == 0, first.err);
      CHECK(
          first.out.find("warning the file system of whole has no locks; the file run.lock stands for one") !=
          std::string::npos);
      CHECK(!fs::exists(folder / "whole/run.lock"));
      for (const auto& entry : fs::directory_iterator(folder / "whole"))
        CHECK(entry.path().string().find("unroll-partial") == std::string::npos);
    }
  }
}

TEST_CASE("a lock file of a process that was killed on this machine is in nobody's way") {
  const Subject& subject = subjects[0];
  const Copy folder(subject);
  const SystemCalls calls("flock=ENOLCK");
  // A training that is killed while it trains leaves the file; its number is that of the child.
  const std::string killed = fmt::format(
      "{} resume whole --set training.epochs=100000 > out & until [ -s whole/run.lock ]; do sleep 0.01; done; "
      "kill -9 $!; wait $!; true",
      program_named(subject.program));
  REQUIRE(run_program("/bin/bash", {"-c", killed}, folder.path()).code == 0);
  REQUIRE(fs::exists(folder / "whole/run.lock"));
  const ProgramRun next = run(subject, {"resume", "whole", "--set", "training.epochs=4"}, folder);
  CHECK_MESSAGE(next.code == 0, next.err);
  CHECK(!fs::exists(folder / "whole/run.lock"));
}

TEST_CASE("threads that the system does not give for another reason than memory: exit code 1") {
  const Subject& subject = subjects[0];
  const Folder folder;
  write_inputs(subject, folder);
  const SystemCalls calls("pthread_create=EAGAIN");
  const ProgramRun refused =
      run(subject,
          Words{"train", "tiny.toml"} + subject.data + Words{"--threads", "2", "--set", "model.hidden=200"},
          folder);
  CHECK(refused.code == 1);
  CHECK(lacks(lines_of(refused.err).at(0), {"threads: 2 wanted"}) == "");
}
