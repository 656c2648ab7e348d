#include "training/report/samples.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "data/text_file.h"
#include "framework/one_line.h"
#include "training/files/atomic_file.h"
#include "training/files/json/json.h"
#include "training/files/run_files.h"

namespace unroll {

static constexpr std::size_t most_bytes = 600;

std::vector<Sample> read_samples(const std::filesystem::path& folder, std::vector<std::string>* damaged) {
  const std::filesystem::path path = folder / samples_file;
  std::vector<Sample> samples;
  if (!has_own_file(path)) return samples;
  std::istringstream lines(read_own_file(path, most_bytes_of_samples));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto json = parse_json(line);
    try {
      samples.push_back({json.at("epoch"), json.at("text")});
    } catch (const nlohmann::json::exception&) {
      if (damaged) damaged->push_back(fmt::format("{}:{}: no sample", path.string(), number));
    }
  }
  return samples;
}

void add_sample(const std::filesystem::path& folder, const Sample& sample) {
  std::vector<Sample> samples = read_samples(folder);
  std::erase_if(samples, [&](const Sample& before) { return before.epoch >= sample.epoch; });
  const std::string_view kept = beginning(sample.text, most_bytes);
  samples.push_back({sample.epoch, std::string(kept) + (kept.size() < sample.text.size() ? "…" : "")});
  std::string text;
  for (const Sample& one : samples)
    text += json_text(nlohmann::ordered_json{{"epoch", one.epoch}, {"text", one.text}}) + '\n';
  write_file_atomically(folder / samples_file, text);
}

}  // namespace unroll
