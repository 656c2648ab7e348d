#include "training/files/gradient_statistics.h"

#include <fmt/format.h>

#include "framework/hash.h"
#include "framework/one_line.h"
#include "training/files/state_dict.h"

namespace unroll {

namespace {

constexpr const char *statistics_of = "statistics_of", *statistics_checksum = "checksum",
                     *statistics_kind = "unroll gradient statistics";

// A hash that shows every single changed byte, since each step can be undone.
class Digest {
 public:
  void add(std::string_view text) {
    number(text.size());
    bytes(text.data(), text.size());
  }
  void add(const Shape& shape) {
    number(static_cast<uint64_t>(shape.rank()));
    for (int i = 0; i < shape.rank(); ++i) number(static_cast<uint64_t>(shape[i]));
  }
  // Names, shapes and bits of all parameters, which lie in `slab`.
  void add(const ParameterSet& params, const Tensor& slab) {
    for (const auto& p : params.all()) add(p->name), add(p->shape), add(segment_of(*p, slab));
  }
  void add(const Tensor& tensor) {
    const auto elements = tensor.on_host();
    bytes(reinterpret_cast<const char*>(elements.data()), static_cast<size_t>(tensor.size()) * sizeof(real));
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  void number(uint64_t n) {
    for (int i = 0; i < 8; ++i) hash_ = hash_with(hash_, (n >> (8 * i)) & 0xff);
  }
  void bytes(const char* begin, size_t count) {
    for (size_t i = 0; i < count; ++i) hash_ = hash_with(hash_, static_cast<unsigned char>(begin[i]));
  }
  uint64_t hash_ = hash_of_nothing;
};

std::string checksum_of(const ParameterSet& params, const Tensor& slab, const Metadata& metadata) {
  Digest digest;
  for (const auto& [key, value] : metadata)
    if (key != statistics_checksum) digest.add(key), digest.add(value);
  digest.add(params, slab);
  return digest.text();
}

}  // namespace

std::string fingerprint_of(const ParameterSet& params) {
  Digest digest;
  digest.add(params, params.values());
  return digest.text();
}

std::string fingerprint_of(const Tensor& tensor) {
  Digest digest;
  digest.add(tensor.shape()), digest.add(tensor);
  return digest.text();
}

void write_gradient_statistics(const std::filesystem::path& path, const ParameterSet& params,
                               const Tensor& root_mean_square, Metadata metadata) {
  require(root_mean_square.shape() == params.values().shape(), "{}: statistics {} of weights {}",
          path.string(), root_mean_square.shape(), params.values().shape());
  metadata["kind"] = statistics_kind;
  metadata[statistics_of] = fingerprint_of(params);
  metadata[statistics_checksum] = checksum_of(params, root_mean_square, metadata);
  std::vector<NamedTensor> tensors;
  for (const auto& p : params.all()) tensors.push_back({p->name, segment_of(*p, root_mean_square)});
  write_safetensors(path, tensors, metadata);
}

StoredStatistics read_gradient_statistics(const std::filesystem::path& path, const ParameterSet& params) {
  const SafetensorsFile file(path);
  StoredStatistics stored{.root_mean_square = {}, .metadata = file.metadata()};
  const auto has = [&](const char* key, const std::string& value) {
    const auto found = stored.metadata.find(key);
    return found != stored.metadata.end() && found->second == value;
  };
  require_input(has("kind", statistics_kind),
                "{}: no statistics of gradients, which 'evaluate --dynamic' makes", file.path());
  require_input(
      has(statistics_of, fingerprint_of(params)),
      "{}: statistics of another model, or damaged; name another file with --statistics, or remove it",
      file.path());
  require_input(file.entries().size() == params.all().size(),
                "{}: damaged: {} tensors of a model that has {}", file.path(), file.entries().size(),
                params.all().size());
  stored.root_mean_square = Tensor::zeros(params.values().shape());
  for (const auto& p : params.all()) {
    require_input(file.entry(p->name).type == (sizeof(real) == 4 ? "F32" : "F64"),
                  "{}: damaged: '{}' holds {}", file.path(), p->name, one_line(file.entry(p->name).type));
    file.load_into(p->name, segment_of(*p, stored.root_mean_square));
  }
  require_input(has(statistics_checksum, checksum_of(params, stored.root_mean_square, stored.metadata)),
                "{}: damaged: its checksum is another; remove it, and it is made again", file.path());
  for (const char* ours : {"kind", statistics_of, statistics_checksum}) stored.metadata.erase(ours);
  return stored;
}

}  // namespace unroll
