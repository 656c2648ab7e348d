#include "export/step_file.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

namespace unroll {

namespace {

std::vector<float> read(const SafetensorsFile& file, const std::string& name, const std::vector<int>& shape) {
  const SafetensorsFile::Entry* entry = file.find(name);
  require_input(entry != nullptr, "{}: there is no '{}' [{}] in it", file.path(), name,
                fmt::join(shape, ", "));
  require_input(std::ranges::equal(entry->shape, shape), "{}: '{}' is {} in it, and is read as [{}]",
                file.path(), name, entry->shape_text(), fmt::join(shape, ", "));
  std::vector<float> numbers(static_cast<size_t>(entry->size()));
  file.load_numbers(*entry, numbers.data());
  require_input(std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); }),
                "{}: '{}' has numbers that are not finite", file.path(), name);
  return numbers;
}

// "lstm.bias_l0" -> "lstm.bias_ih_l0"
std::string with(const std::string& name, size_t at, std::string_view kind) {
  return name.substr(0, at) + std::string(kind) + name.substr(name.rfind("_l") + 2);
}

}  // namespace

StepWeights weights_in(const SafetensorsFile& file) {
  return [&file](const StepWeight& weight) {
    const size_t leaf = weight.name.rfind('.') + 1;  // 0 where there is no '.'
    const std::string_view name = std::string_view(weight.name).substr(leaf);
    if (name.starts_with("bias_hn_l")) {  // the end of a GRU's second bias
      const int hidden = weight.shape[0];
      std::vector<float> all = read(file, with(weight.name, leaf, "bias_hh_l"), {3 * hidden});
      return std::vector<float>(all.begin() + 2 * hidden, all.end());
    }
    if (!name.starts_with("bias_l")) return read(file, weight.name, weight.shape);
    std::vector<float> sum = read(file, with(weight.name, leaf, "bias_ih_l"), weight.shape);
    const std::vector<float> second = read(file, with(weight.name, leaf, "bias_hh_l"), weight.shape);
    const size_t added = weight.is_gru_bias ? sum.size() / 3 * 2 : sum.size();
    for (size_t i = 0; i < added; ++i) sum[i] += second[i];
    return sum;
  };
}

}  // namespace unroll
