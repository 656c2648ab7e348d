#include "training/run_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "framework/check.h"

namespace unroll {

namespace fs = std::filesystem;

namespace {

// The number of "demo-7" among runs of "demo"; 0 if it is none.
int run_number(const std::string& file, const std::string& prefix) {
  if (!file.starts_with(prefix)) return 0;
  int number = 0;
  const char* end = file.data() + file.size();
  const auto result = std::from_chars(file.data() + prefix.size(), end, number);
  // One far beyond any count is a name of somebody's.
  return result.ec == std::errc() && result.ptr == end && number < 1'000'000'000 ? number : 0;
}

int last_run(const fs::path& parent, const std::string& prefix) {
  int last = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error))
    last = std::max(last, run_number(entry.path().filename().string(), prefix));
  return last;
}

// A process that was killed as it began leaves these, and no run.
bool is_left_of_a_beginning(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error))) return false;
  const std::string name = file.filename().string();
  if (name != "start.json")
    return name == "start.json.unroll-partial" || name == "recipe.toml.unroll-partial";
  std::ifstream stream(file);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
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
  require_input(!error, "{}: cannot be created: {}", folder.string(), error.message());
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

RunFolderLock::RunFolderLock(const fs::path& folder)
    : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  require_input(descriptor_ >= 0, "{}: {}", folder.string(), std::strerror(errno));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const bool other = errno == EWOULDBLOCK;
  const std::string message = other ? "another process is training in it" : std::strerror(errno);
  close(descriptor_);
  throw InputError(fmt::format("{}: {}", folder.string(), message));
}

RunFolderLock::~RunFolderLock() { close(descriptor_); }

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
    require_input(!error, "{}: cannot be created: {}", folder.string(), error.message());
  }
}

}  // namespace unroll
