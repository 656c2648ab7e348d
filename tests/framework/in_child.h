// Work in a process of its own: a device is chosen once in a process, and what fails there stays failed.
#pragma once

#include <csignal>
#include <functional>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/check.h"
#include "framework/device.h"
#include "framework/memory.h"

namespace unroll {

// Returns what `work` returned or threw in a child process, or "signal 11" if it crashed, followed by the child's
// standard error.
inline std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (int signal : {SIGSEGV, SIGABRT}) std::signal(signal, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    std::string text;
    try {
      text = work();
    } catch (const OutOfMemory& error) {
      text = std::string("out of memory: ") + error.what();
    } catch (const InputError& error) {
      text = std::string("input: ") + error.what();
    } catch (const std::exception& error) { text = std::string("error: ") + error.what(); }
    const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string result;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    result.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  while (result.ends_with('\n')) result.pop_back();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? fmt::format("signal {} {}", WTERMSIG(status), result) : result;
}

inline std::string on_gpu_in_child(const std::function<std::string()>& work) {
  return in_child([&] {
    set_device(device_named("cuda"));
    return work();
  });
}

}  // namespace unroll
