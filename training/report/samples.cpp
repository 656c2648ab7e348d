#include "training/report/samples.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "data/text_file.h"
#include "training/files/atomic_file.h"
#include "training/files/json/json.h"
#include "training/files/run_files.h"

namespace unroll {

namespace {

constexpr std::size_t most_bytes = 600;

// The beginning of the text, up to a whole character.
std::string beginning_of(const std::string& text) {
  std::size_t end = std::min(text.size(), most_bytes);
  while (end < text.size() && end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return end < text.size() ? text.substr(0, end) + "…" : text;
}

}  // namespace

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
  samples.push_back({sample.epoch, beginning_of(sample.text)});
  std::string text;
  for (const Sample& one : samples)
    text += json_text(nlohmann::ordered_json{{"epoch", one.epoch}, {"text", one.text}}) + '\n';
  write_file_atomically(folder / samples_file, text);
}

}  // namespace unroll
