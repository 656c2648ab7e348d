// Running a program as a user does: words in, exit code and two streams out, in a folder of its own.
#pragma once

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/folder.h"

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

using Words = std::vector<std::string>;

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct ProgramRun {
  int code = -1;  // exit code; 128 + signal where one ended it
  std::string out, err;
};

// A signal that a program gets as soon as `when` says so.
struct Interruption {
  int signal = 0;
  std::function<bool()> when;
};

// Runs a program in `folder` and waits for it. `output` takes the place of standard output (a device).
inline ProgramRun run_program(const std::string& program, const Words& arguments,
                              const std::filesystem::path& folder, const std::string& output = {},
                              const Interruption& interruption = {}) {
  const Folder streams;
  for (const char* name : {"out", "err"}) streams.write(name, "");  // a signal may come before the program opens them
  const std::string out = output.empty() ? (streams / "out").string() : output,
                    err = (streams / "err").string();
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is ended leaves nothing running
    const bool ready = chdir(folder.c_str()) == 0 && dup2(open("/dev/null", O_RDONLY), 0) >= 0 &&
                       dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), 1) >= 0 &&
                       dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), 2) >= 0;
    if (ready) execv(program.c_str(), words.data());
    _exit(127);
  }
  int status = 0;
  pid_t ended = 0;
  if (interruption.when) {
    while (!ended && !interruption.when()) {
      usleep(1000);
      ended = waitpid(child, &status, WNOHANG);
    }
    if (!ended) kill(child, interruption.signal);
  }
  if (!ended) REQUIRE(waitpid(child, &status, 0) == child);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          output.empty() ? read_text(out) : "", read_text(err)};
}

// The standard output of a run that must succeed.
inline std::string output_of(const ProgramRun& run) {
  CHECK_MESSAGE(run.code == 0, run.err);
  return run.out;
}

// The path of a program that this build made ("ptb"): from UNROLL_PROGRAM_PTB.
inline std::string program_named(const std::string& name) {
  std::string variable = "UNROLL_PROGRAM_" + name;
  for (char& c : variable) c = static_cast<char>(std::toupper(c));
  const char* path = std::getenv(variable.c_str());
  REQUIRE_MESSAGE(path, variable, " names no program");
  return path;
}
