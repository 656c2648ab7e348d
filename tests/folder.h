// Folders of the tests: one that goes away again, and that of the project.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// An empty folder that goes away with everything in it.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "unroll-").string() + std::string(6, 'X');  // which mkdtemp replaces
    if (!mkdtemp(name.data())) throw std::runtime_error("no folder can be made in " + parent.string());
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }
  // Writes a file, with the folders on the way to it. Its path.
  std::string write(const std::filesystem::path& name, std::string_view bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
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

// The project's own folder: the working directory or one above it.
inline std::filesystem::path project_root() {
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / "recipes/demo.toml")) return at;
    if (at == at.parent_path()) throw std::runtime_error("the tests run outside the project's folder");
  }
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}
