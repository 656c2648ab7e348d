#include "training/program/sweep/child.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/check.h"
#include "framework/system_call.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/invocation.h"

namespace unroll {

namespace {

constexpr const char* this_program =
    "/proc/self/exe";  // the same bytes, also if a build has replaced the file

std::vector<std::string> environment_without_mpi() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    const auto begins = [&](std::string_view prefix) { return text.starts_with(prefix); };
    if (!begins("OMPI_") && !begins("PMIX_") && !begins("PMI_")) kept.emplace_back(text);
  }
  return kept;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words, const std::filesystem::path& directory,
                           const std::filesystem::path& output) {
  const auto opened = [](const std::filesystem::path& path, int how) {
    Descriptor file(retried([&] { return open(path.c_str(), how | O_CLOEXEC, 0666); }));
    if (!file) throw_system_error(errno, path.string());
    return file;
  };
  const Descriptor folder = opened(directory, O_RDONLY | O_DIRECTORY),
                   nothing = opened("/dev/null", O_RDONLY),
                   out = opened(output, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW);
  // Made before: between fork and exec nothing may ask for memory.
  std::vector<std::string> arguments = {started_program()}, environment = environment_without_mpi();
  arguments.insert(arguments.end(), words.begin(), words.end());
  const std::vector<char*> argv = pointers_to(arguments), envp = pointers_to(environment);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) throw_system_error(errno, "a process for a trial");
  if (process_ > 0) return;
  setpgid(0, 0);
  signal(SIGPIPE, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() == parent && fchdir(folder.number()) == 0 && dup2(nothing.number(), 0) >= 0 &&
      dup2(out.number(), 1) >= 0 && dup2(out.number(), 2) >= 0)
    execve(this_program, argv.data(), envp.data());
  _exit(127);
}

ChildProcess::~ChildProcess() {
  if (ended()) return;
  kill(process_, SIGTERM);
  wait(0);
}

std::optional<int> ChildProcess::ended() {
  if (!code_) code_ = wait(WNOHANG);
  return code_;
}

std::optional<int> ChildProcess::wait(int options) {
  int status = 0;
  if (retried([&] { return waitpid(process_, &status, options); }) != process_) return {};
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace unroll
