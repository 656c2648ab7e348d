#include "training/files/safetensors.h"

#include <bit>
#include <climits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/one_line.h"
#include "training/files/atomic_file.h"

namespace unroll {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

// Rounds to the nearest, of two that are as near to the even one (IEEE 754). What is too large becomes infinite.
static uint16_t half_of(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (size >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  // A sum with 1/2 (below 2^-14) leaves the fraction, rounded, in its last bits.
  if (size < 0x38800000)
    return static_cast<uint16_t>(
        sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - std::bit_cast<uint32_t>(0.5f)));
  return static_cast<uint16_t>(sign | (((size + 0xfff + (size >> 13 & 1)) >> 13) - (112u << 10)));
}

// --- writing -----------------------------------------------------------------------------------------------

static std::string header_of(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                             const Metadata& metadata, StoredAs numbers) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  const bool half = numbers == StoredAs::half;
  uint64_t offset = 0;
  std::string text;
  try {
    for (const NamedTensor& named : tensors) {
      require(SafetensorsFile::is_name(named.name),
              "{}: '{}' is no name of a tensor: it must be one line of at most {} characters", path.string(),
              one_line(named.name), SafetensorsFile::longest_name);
      require(named.name != "__metadata__" && !header.contains(named.name), "{}: the name '{}' is taken",
              path.string(), named.name);
      const uint64_t end = offset + static_cast<uint64_t>(named.tensor.size()) * (half ? 2 : sizeof(real));
      nlohmann::ordered_json shape = nlohmann::ordered_json::array();
      for (int i = 0; i < named.tensor.rank(); ++i) shape.push_back(named.tensor.dim(i));
      header[named.name] = {{"dtype", half ? "F16" : SafetensorsFile::native_type},
                            {"shape", shape},
                            {"data_offsets", {offset, end}}};
      offset = end;
    }
    text = header.dump();  // json_text() would replace what is not UTF-8, and so make another name of it
  } catch (const nlohmann::json::exception&) {
    throw Error(fmt::format("{}: names and metadata must be UTF-8", path.string()));
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the numbers begin at a multiple of 8
  require(text.size() <= SafetensorsFile::largest_header,
          "{}: the header would take {} bytes, at most {} are allowed", path.string(), text.size(),
          SafetensorsFile::largest_header);
  return text;
}

void check_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const Metadata& metadata) {
  (void)header_of(path, tensors, metadata, StoredAs::in_memory);
}

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const Metadata& metadata, StoredAs numbers) {
  const std::string text = header_of(path, tensors, metadata, numbers);
  AtomicFile file(path);
  const uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text);
  for (const NamedTensor& named : tensors) {
    const auto elements = named.tensor.on_host();
    if (numbers == StoredAs::half) {
      std::vector<uint16_t> halves;
      for (const real x : elements) {
        halves.push_back(half_of(static_cast<float>(x)));
        require((halves.back() & 0x7fff) < 0x7c00, "{}: '{}' has {}, and F16 ends at 65504", path.string(),
                named.name, x);
      }
      file.write(halves.data(), halves.size() * sizeof(uint16_t));
      continue;
    }
    file.write(elements.data(), static_cast<std::size_t>(named.tensor.size()) * sizeof(real));
  }
  file.commit();
}

// --- reading -----------------------------------------------------------------------------------------------

Tensor SafetensorsFile::load(std::string_view name) const {
  const Entry& found = entry(name);
  require_input(found.shape.size() <= Shape::max_rank,
                "{}: tensor '{}' has {} dimensions, at most {} can be used", path_, name, found.shape.size(),
                Shape::max_rank);
  Shape shape;
  for (int64_t extent : found.shape) {
    require_input(extent <= INT_MAX, "{}: tensor '{}' {} is too large", path_, name, found.shape_text());
    shape.append(static_cast<int>(extent));
  }
  check_type(found);  // before memory is taken for it
  Tensor result(shape);
  load_into(name, result);
  return result;
}

void SafetensorsFile::load_into(std::string_view name, const Tensor& target) const {
  const Entry& found = entry(name);
  check_type(found);
  const Shape& shape = target.shape();
  bool same = found.shape.size() == static_cast<std::size_t>(shape.rank());
  for (int i = 0; same && i < shape.rank(); ++i) same = found.shape[static_cast<std::size_t>(i)] == shape[i];
  require_input(same, "{}: tensor '{}' is {}, the model's is {}", path_, name, found.shape_text(), shape);

  const auto on_host = target.on_host(Access::overwrite);
  load_numbers(found, on_host.data());
}

}  // namespace unroll
