// The trials of `evaluate --tune` in a file beside the model. It is written after each trial, so a killed process
// continues from there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptb {

struct Trial {
  std::string stage;                        // "static", "rate", "decay", "temperature", "cache"
  std::string settings;                     // "rate=5e-05,decay=0.002"
  double perplexity = 0;                    // infinite where a loss was not finite
  std::vector<double> by_temperature = {};  // perplexities; of rates and decays
};

class TuneTable {
 public:
  // The subject of the trials. A table with another subject is refused.
  struct Subject {
    std::string model, statistics, text;  // fingerprints
    std::string mode;                     // "full", "quick"
    int64_t tokens = 0;                   // scored in a trial
  };
  // Reads the file if there is one. Throws InputError if it is damaged or cannot be written.
  explicit TuneTable(std::filesystem::path path);
  // Must be called before find(). Throws InputError if the file's trials have another subject.
  void begin(Subject subject);

  const Trial* find(std::string_view stage,
                    std::string_view settings) const&;  // nullptr: it was not made yet
  const Trial* find(std::string_view stage, std::string_view settings) const&& = delete;
  // Adds a trial and writes the file, whole or not at all. Throws Error.
  void add(Trial trial);
  const std::vector<Trial>& trials() const& { return trials_; }
  const std::filesystem::path& path() const& { return path_; }

 private:
  void read();
  std::filesystem::path path_;
  std::optional<Subject> subject_;
  std::vector<Trial> trials_;
};

}  // namespace ptb
