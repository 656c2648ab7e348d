// Tensors in a file: the safetensors format (huggingface.co/docs/safetensors), which PyTorch's users read and write.
// Layout: eight bytes with the length of a JSON header; the header (name, number type, shape and place of every tensor;
// metadata: strings by name); the numbers, little-endian.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/text_file.h"
#include "framework/tensor.h"

namespace unroll {

using Metadata = std::map<std::string, std::string>;  // strings by name, beside the tensors

// A tensor and the name that it has in a file.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Numbers as they are in memory (F32; F64 if real is double), or rounded to the nearest of 16 bits (F16).
enum class StoredAs : uint8_t { in_memory, half };

// Writes one tensor after the other, from a multiple of 8 bytes on. Atomic: whatever happens, `path` is the old file or the
// whole new one. Throws Error if it cannot be written, or a number is beyond F16's range. Requires: names of one line and at
// most 1000 characters.
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const Metadata& metadata = {}, StoredAs numbers = StoredAs::in_memory);

// Throws for names and metadata that write_safetensors would refuse. Writes nothing.
void check_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const Metadata& metadata = {});

// A file open for reading. Only the header is in memory; each tensor is read on demand.
class SafetensorsFile {
 public:
  // A tensor of the file: its name, type, shape and place.
  struct Entry {
    std::string name, type;  // type: "F32", "F64", "F16", "BF16", "I64", …
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0;     // bytes, counted from the end of the header
    int64_t size() const;            // numbers; -1: too many to count
    std::string shape_text() const;  // "[800, 200]"
  };

  // Reads and checks the header. Throws InputError, with the file's name, if it is missing, cut off, of another format,
  // or contradicts itself.
  explicit SafetensorsFile(const std::filesystem::path& path, Links links = Links::followed);
  // As above, from bytes in memory, which must live as long as this. `name` stands for the path.
  SafetensorsFile(std::string name, std::string_view bytes);

  const std::vector<Entry>& entries() const& { return entries_; }  // in the order of the file
  std::vector<Entry> entries() const&& { return entries_; }
  const Entry* find(std::string_view name) const&;  // nullptr if there is none
  const Entry* find(std::string_view name) const&& = delete;
  const Entry& entry(std::string_view name) const&;  // throws InputError if there is none
  const Entry& entry(std::string_view name) const&& = delete;
  const Metadata& metadata() const& { return metadata_; }  // the file's, strings by name
  Metadata metadata() const&& { return metadata_; }
  const std::string& path() const& { return path_; }  // the file's
  std::string path() const&& { return path_; }

  // Reads one tensor. F32, F64, F16 and BF16 are converted to real: rounded to nearest if real has fewer bits, and
  // infinite beyond its largest number. Throws InputError if there is no such tensor, its numbers are of another type,
  // or it has more dimensions than a Shape.
  Tensor load(std::string_view name) const;
  // As above, into existing memory. Throws InputError, naming both shapes, if they differ.
  void load_into(std::string_view name, const Tensor& target) const;

  // As above, without a tensor: out has room for the entry's numbers.
  void load_numbers(const Entry& entry, real* out) const;

  // The format's limits, for writing, too.
  static constexpr uint64_t largest_header = 100'000'000;  // as in the format's own library
  static constexpr std::size_t longest_name = 1000;        // characters
  static constexpr std::string_view native_type = sizeof(real) == 4 ? "F32" : "F64";  // of real
  static bool is_name(const std::string& text);  // one line, not too long
  // Throws InputError unless numbers of this type can be loaded.
  void check_type(const Entry& entry) const;

 private:
  void read_header(uint64_t bytes);
  void read(void* into, std::size_t bytes, uint64_t at) const;
  std::string path_;
  Descriptor file_;
  std::string_view bytes_;  // in place of a file
  uint64_t data_begin_ = 0;
  std::vector<Entry> entries_;
  Metadata metadata_;
};

}  // namespace unroll
