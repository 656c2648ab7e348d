// Running a program as a user does: words in, exit code and two streams out, in a folder of its own.
#pragma once

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// An empty folder that goes away with everything in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "unroll-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  // Writes a file, with the folders on the way to it.
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  // Every file and folder in it, sorted; files with their sizes and the time of their last change.
  std::vector<std::string> listing() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      std::string line = std::filesystem::relative(entry.path(), path_).string();
      if (entry.is_regular_file())
        line += " " + std::to_string(entry.file_size()) + " " +
                std::to_string(entry.last_write_time().time_since_epoch().count());
      result.push_back(line);
    }
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

struct ProgramRun {
  int code = -1;  // exit code; 128 + signal where one ended it
  std::string out, err;
};

// Runs a program in `folder` and waits for it. `output` takes the place of standard output (a device).
inline ProgramRun run_program(const std::string& program, const std::vector<std::string>& arguments,
                              const std::filesystem::path& folder, const std::string& output = {}) {
  const Folder streams;
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
  REQUIRE(waitpid(child, &status, 0) == child);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          output.empty() ? read_text(out) : "", read_text(err)};
}

// The path of a program that this build made ("ptb"): from UNROLL_PROGRAM_PTB.
inline std::string program_named(const std::string& name) {
  std::string variable = "UNROLL_PROGRAM_" + name;
  for (char& c : variable) c = static_cast<char>(std::toupper(c));
  const char* path = std::getenv(variable.c_str());
  REQUIRE_MESSAGE(path, variable, " names no program");
  return path;
}
