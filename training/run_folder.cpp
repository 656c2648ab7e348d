#include "training/run_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "training/checkpoint.h"
#include "training/files/atomic_file.h"
#include "training/files/run_files.h"
#include "training/report/log.h"
#include "training/report/report.h"

namespace unroll {

namespace fs = std::filesystem;

namespace {

constexpr const char* lock_name = "run.lock";

// The largest number of "demo-7" and its like in a folder; 0 if there is none.
int last_run(const fs::path& parent, const std::string& prefix) {
  int last = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(prefix)) continue;
    int number = 0;
    const auto result = std::from_chars(file.data() + prefix.size(), file.data() + file.size(), number);
    // A number far beyond any count is somebody's own name.
    if (result.ec == std::errc() && *result.ptr == '\0' && number < 1'000'000'000)
      last = std::max(last, number);
  }
  return last;
}

// True for files left by a process that was killed as it began: there is no run then.
bool is_left_of_a_beginning(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error))) return false;
  const std::string name = file.filename().string();
  if (name != "start.json")
    return name.starts_with("start.json.unroll-partial") || name.starts_with("recipe.toml.unroll-partial") ||
           name.starts_with("sweep.json.unroll-partial") || name == lock_name;
  if (fs::file_size(file, error) > most_bytes_of_start || error) return false;
  const std::string text = read_own_file(file, most_bytes_of_start);
  return text.find("\"recipe\"") != text.npos && text.find("\"threads\"") != text.npos;  // ours
}

bool no_run_has_begun(const fs::path& folder, std::error_code& error) {
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (!is_left_of_a_beginning(entry->path())) return false;
  return true;
}

}  // namespace

void create_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw_system_error(error.value(), folder.string() + ": cannot be created");
}

void check_run_folder(const fs::path& out) {
  std::error_code error;
  if (out.empty() || !fs::exists(out, error)) return;
  require_input(fs::is_directory(out, error), "{}: this is a file; --out names a folder for the run",
                out.string());
  const bool empty = no_run_has_begun(out, error);
  require_input(!error, "{}: {}", out.string(), error.message());
  require_input(
      empty,
      "{}: there is something in this folder already, and no run is ever overwritten; resume that one, "
      "or choose another --out",
      out.string());
}

namespace {

// "process 123 on host (pid:[4026531836])": the namespace in which the process's number is valid.
std::string this_machine() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  std::error_code error;
  return fmt::format("{} ({})", name, fs::read_symlink("/proc/self/ns/pid", error).string());
}
std::string owner(pid_t process) { return fmt::format("process {} on {}", process, this_machine()); }

// True if the named process ran on this machine and is gone.
bool is_abandoned(const std::string& text) {
  constexpr std::string_view begin = "process ";
  pid_t process = 0;
  if (!text.starts_with(begin)) return false;
  std::from_chars(text.data() + begin.size(), text.data() + text.size(), process);
  return process > 0 && text == owner(process) && kill(process, 0) != 0 && errno == ESRCH;
}

void take_lock_file(const fs::path& path) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (auto file = AppendFile::create(path)) return file->append(owner(getpid()));
    const std::string text = read_own_file(path, 4096);
    require_input(is_abandoned(text),
                  "{}: {} is training in it. The file system has no locks, so {} stands for one: delete that "
                  "file if this process is gone",
                  path.parent_path().string(), text.empty() ? "another process" : one_line(text, 300),
                  path.string());
    fs::remove(path);
  }
  throw InputError(fmt::format("{}: another process is training in it", path.parent_path().string()));
}

}  // namespace

RunFolderLock::RunFolderLock(const fs::path& folder)
    : folder_(retried([&] { return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); })) {
  if (!folder_) throw_system_error(errno, folder.string());
  const LockResult lock = lock_file(folder_.number());
  require_input(lock != LockResult::held, "{}: another process is training in it", folder.string());
  if (lock == LockResult::taken) return;
  take_lock_file(folder / lock_name);
  lock_file_ = folder / lock_name;
}

RunFolderLock::~RunFolderLock() {
  std::error_code error;
  if (!lock_file_.empty()) fs::remove(lock_file_, error);
}

void check_run_files(const fs::path& folder) {
  for (const char* name : {"start.json", "recipe.toml", "report.json", "report.html", log_file, samples_file,
                           last_checkpoint, best_checkpoint, lock_name}) {
    (void)has_own_file(folder / name);
    (void)has_own_file(folder / (std::string(name) + ".unroll-partial"));
  }
}

fs::path create_run_folder(const fs::path& out, std::string_view name, const fs::path& parent) {
  if (!out.empty()) {
    check_run_folder(out);
    create_folder(out);
    return out;
  }
  create_folder(parent);
  const std::string prefix = std::string(name) + "-";
  for (int number = last_run(parent, prefix) + 1;; ++number) {
    const fs::path folder = parent / (prefix + std::to_string(number));
    std::error_code error;
    if (fs::create_directory(folder, error)) return folder;  // false if another process was faster
    if (error) throw_system_error(error.value(), folder.string() + ": cannot be created");
  }
}

}  // namespace unroll
