// Programs' inputs beside files, and their end if the machine fails them: pipes, variables of the environment that
// are empty, folders that cannot be made, memory that is short.
#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <sys/stat.h>

#include "framework/system_call.h"
#include "tests/training/program/system_calls.h"
#include "tests/training/program/trained_programs.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

// A line of bash, with the program as $P, in a folder.
ProgramRun shell(const Subject& subject, const std::string& line, const Folder& folder) {
  return run_program("/bin/bash", {"-c", "P=" + program_named(subject.program) + "; " + line}, folder.path());
}

}  // namespace

TEST_CASE("a pipe is read whole, wherever a text or a series is read, as often as the command looks at it") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const std::string data = fmt::format("{}", fmt::join(subject.data, " "));
    const auto explained = lines_of(output_of(shell(subject, "$P explain tiny.toml " + data, folder))),
               by_pipe = lines_of(output_of(shell(subject, "$P explain <(cat tiny.toml) " + data, folder)));
    // The first line has the recipe's name, and those further below what is measured.
    REQUIRE(std::min(explained.size(), by_pipe.size()) > 8);
    CHECK(std::equal(explained.begin() + 1, explained.begin() + 8, by_pipe.begin() + 1));
  }
  const Copy series(subjects[1]), text(subjects[0]);
  for (const std::string command : {"evaluate", "forecast"}) {
    const std::string from = "$P " + command + " whole/last.safetensors --csv ";
    const ProgramRun by_pipe = shell(subjects[1], from + "<(sleep 0.1; cat series.csv)", series);
    CHECK_MESSAGE(by_pipe.code == 0, command, by_pipe.err);
    CHECK(lines_of(by_pipe.out).size() ==
          lines_of(output_of(shell(subjects[1], from + "series.csv", series))).size());
  }
  fs::remove(text / "text/test.txt");
  REQUIRE(mkfifo((text / "text/test.txt").c_str(), 0600) == 0);
  const ProgramRun run =
      shell(subjects[0],
            "cat text/train.txt > text/test.txt & $P evaluate whole/last.safetensors --data text", text);
  CHECK_MESSAGE(run.code == 0, run.err);
}

TEST_CASE("a pipe that nobody writes to is refused, and so is a device; a model is no pipe") {
  const Copy folder(subjects[1]);
  REQUIRE(mkfifo((folder / "pipe.csv").c_str(), 0600) == 0);
  const auto refused = [&](const std::string& line) {
    const ProgramRun run = shell(subjects[1], line, folder);
    CHECK(run.code == 2);
    return lines_of(run.err).at(0);
  };
  const std::string forecast = "$P forecast whole/last.safetensors --csv ";
  CHECK(refused(forecast + "pipe.csv") == "timeseries: pipe.csv: a pipe that nobody writes to");
  CHECK(refused(forecast + "/dev/zero") == "timeseries: /dev/zero: a device, not a file");
  CHECK(refused(forecast + "whole") == "timeseries: whole: a folder, not a file");
  CHECK(refused("mkfifo model; $P evaluate model") == "timeseries: model: a pipe, not a file");
}

TEST_CASE("a variable of the environment that is empty is one that is not set") {
  for (const Subject& subject : subjects) {
    const Folder folder;
    write_inputs(subject, folder);
    const std::string explain = fmt::format("$P explain tiny.toml {}", fmt::join(subject.data, " "));
    const ProgramRun run =
        shell(subject, "UNROLL_ISA= UNROLL_RUN= XDG_CACHE_HOME= HOME= TERM= " + explain, folder);
    CHECK_MESSAGE(run.code == 0, run.err);
    CHECK(lines_of(run.out).at(0) == lines_of(output_of(shell(subject, explain, folder))).at(0));
  }
}

TEST_CASE("an error of the system is one of the user's, of memory or of the machine") {
  const auto kind_of = [](int error) -> std::string {
    try {
      throw_system_error(error, "x");
    } catch (const InputError&) { return "input"; } catch (const OutOfMemory&) {
      return "memory";
    } catch (const Error& other) { return other.what(); }
  };
  for (const int error : {ENOENT, EACCES, EPERM, ENOTDIR, EEXIST, ENAMETOOLONG, ELOOP, EROFS})
    CHECK(kind_of(error) == "input");
  CHECK(kind_of(ENOMEM) == "memory");
  CHECK(kind_of(ENOSPC) == "x: No space left on device");
  CHECK(kind_of(EIO) == "x: Input/output error");
  CHECK(kind_of(EMFILE) == "x: Too many open files");
}

TEST_CASE("a path that cannot be written is the user's to mend: exit code 2") {
  for (const Subject& subject : subjects) {
    const Folder folder;
    write_inputs(subject, folder);
    const std::string long_name(300, 'x');
    for (const std::string out : {"tiny.toml/run", "/proc/run", long_name.c_str()}) {
      const ProgramRun run = ::run(subject, train_tiny(subject) + Words{out}, folder);
      CHECK_MESSAGE(run.code == 2, run.err);
      CHECK(lines_of(run.err).size() == 1);
    }
  }
  const Copy folder(subjects[1]);
  for (const std::string out : {"none/x.csv", "series.csv/x.csv"}) {
    const ProgramRun run = ::run(
        subjects[1], {"forecast", "whole/last.safetensors", "--csv", "series.csv", "--out", out}, folder);
    CHECK_MESSAGE(run.code == 2, run.err);
    CHECK(lines_of(run.err).size() == 1);
  }
}

TEST_CASE("a checkpoint that is gone when a training ends: the machine's failure, exit code 1") {
  for (const Subject& subject : subjects) {
    const Copy folder(subject);
    const SystemCalls calls("", "best.safetensors");
    const ProgramRun run = ::run(subject,
                                 {"resume", "whole", "--set", "training.epochs=6", "--set",
                                  "training.keep=best", "--set", "training.save_every_steps=0"},
                                 folder);
    CHECK_MESSAGE(run.code == 1, run.err);
    CHECK(lacks(lines_of(run.err).at(0), {"whole/best.safetensors: there is no such file"}) == "");
    CHECK(run.out.find("resume whole") != std::string::npos);
  }
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("the advice on memory names keys of the program at hand, and only where they help") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder folder;
    write_inputs(subject, folder);
    const auto refusal = [&](const std::string& words) {
      const ProgramRun run = shell(subject,
                                   fmt::format("ulimit -v 1000000; exec $P train tiny.toml {} --threads 1 {}",
                                               fmt::join(subject.data, " "), words),
                                   folder);
      CHECK_MESSAGE(run.code == 3, run.err);
      REQUIRE(lines_of(run.err).size() == 1);
      return lines_of(run.err)[0];
    };
    const auto names = [](const std::string& line, const std::string& part) {
      return line.find(part) != std::string::npos;
    };
    // Four matrices of 8000 rows and columns in each of two layers: 4 GB.
    const std::string weights = refusal("--set model.hidden=8000 --set model.layers=2");
    CHECK(names(weights, "a smaller model needs less"));
    CHECK(!names(weights, "bptt"));
    CHECK(!names(weights, "batch"));
  }
}

TEST_CASE("threads for which there is no memory: exit code 3") {
  for (const Subject& subject : subjects) {
    const Folder folder;
    write_inputs(subject, folder);
    // A stack of a gigabyte for each thread, and less than that for the whole process.
    const ProgramRun run =
        shell(subject,
              fmt::format("ulimit -s 1000000; ulimit -v 900000; exec $P train tiny.toml {} --threads 2 --set "
                          "model.hidden=200",
                          fmt::join(subject.data, " ")),
              folder);
    CHECK_MESSAGE(run.code == 3, run.err);
    CHECK(lacks(lines_of(run.err).at(0), {"threads: 2 wanted", "no memory"}) == "");
  }
}
#endif
