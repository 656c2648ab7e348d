// Reading a file's header and numbers, with nothing of tensors.
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "framework/one_line.h"
#include "training/files/safetensors.h"

namespace unroll {
namespace {

using Entry = SafetensorsFile::Entry;
constexpr uint64_t largest_header = SafetensorsFile::largest_header;
constexpr std::string_view native_type = SafetensorsFile::native_type;

// Bytes per number; 0 for an unknown type.
std::size_t bytes_of(std::string_view type) {
  const auto one_of = [&](std::initializer_list<std::string_view> types) {
    return std::ranges::find(types, type) != types.end();
  };
  return one_of({"F64", "I64", "U64"})           ? 8
         : one_of({"F32", "I32", "U32"})         ? 4
         : one_of({"F16", "BF16", "I16", "U16"}) ? 2
         : one_of({"I8", "U8", "BOOL"})          ? 1
                                                 : 0;
}

// Takes the header piece by piece, as the parser comes to it, and accepts only what the format allows. It keeps no piece, so a
// hostile file cannot build large structures. Throws InputError.
class HeaderReader {
 public:
  HeaderReader(std::vector<Entry>& tensors, Metadata& strings) : entries_(tensors), metadata_(strings) {}

  // `depth`: 1 for names of tensors, 2 within one, 3 within its lists. Returns whether the parser keeps the piece.
  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& piece) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::key) {
      depth == 1 ? begin_entry(piece.get<std::string>()) : begin_field(piece.get<std::string>());
    } else if (event == Event::object_start) {
      if (depth > 1) misplaced("an object");
      if (depth == 1 && !in_metadata()) entries_.emplace_back().name = name_;
    } else if (event == Event::array_start) {
      if (depth != 2 || in_metadata() || field_ == "dtype") misplaced("a list");
    } else if (event == Event::value) {
      take_value(depth, piece);
    } else if (event == Event::object_end && depth == 1 && !in_metadata()) {
      require_input(seen_.size() == 3 && offsets_.size() == 2,
                    "tensor '{}' lacks its type, its shape or its place", one_line(name_));
      entries_.back().begin = offsets_[0];
      entries_.back().end = offsets_[1];
    }
    return event == Event::key || event == Event::object_start || event == Event::array_start;
  }

 private:
  bool in_metadata() const { return name_ == "__metadata__"; }

  void begin_entry(const std::string& name) {
    require_input(SafetensorsFile::is_name(name), "'{}' is no name of a tensor", one_line(name));
    require_input(names_.insert(name).second, "'{}' stands in it twice", one_line(name));
    name_ = name;
    seen_.clear();
    offsets_.clear();
  }

  void begin_field(const std::string& field) {
    field_ = field;
    if (in_metadata())
      return require_input(!metadata_.contains(field), "metadata '{}' stands in it twice", one_line(field));
    require_input(field == "dtype" || field == "shape" || field == "data_offsets",
                  "tensor '{}' has an unknown field '{}'", one_line(name_), one_line(field));
    require_input(seen_.insert(field).second, "tensor '{}' has '{}' twice", one_line(name_), field);
  }

  void take_value(int depth, const nlohmann::json& value) {
    if (value.is_string() && depth == 2 && (in_metadata() || field_ == "dtype")) {
      (in_metadata() ? metadata_[field_] : entries_.back().type) = value.get<std::string>();
    } else if (depth == 3 && (value.is_number_unsigned() || (value.is_number_integer() && value >= 0))) {
      const auto number = value.get<uint64_t>();
      if (field_ == "shape") {
        require_input(number <= INT64_MAX, "tensor '{}' has an impossible shape", one_line(name_));
        entries_.back().shape.push_back(static_cast<int64_t>(number));
      } else {
        require_input(offsets_.size() < 2, "tensor '{}' has more than two offsets", one_line(name_));
        offsets_.push_back(number);
      }
    } else {
      misplaced(value.is_string()            ? "text"
                : value.is_boolean()         ? "true or false"
                : value.is_null()            ? "null"
                : value.is_number_float()    ? "a fraction"
                : value.is_number_unsigned() ? "a number"
                                             : "a negative number");
    }
  }

  [[noreturn]] void misplaced(std::string_view what) const {
    throw InputError(fmt::format("'{}' holds {} where none belongs", one_line(name_), what));
  }

  std::vector<Entry>& entries_;
  Metadata& metadata_;
  std::set<std::string> names_, seen_;  // of tensors; of fields of one
  std::string name_, field_;
  std::vector<uint64_t> offsets_;
};

// Checks that every byte of the data belongs to exactly one tensor, and that each has as many as its shape takes.
void check_places(const std::string& path, std::vector<Entry>& entries, uint64_t data_bytes) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t end = 0;
  for (const Entry& entry : entries) {
    const std::string name = one_line(entry.name);
    require_input(entry.begin <= entry.end && entry.end <= data_bytes,
                  "{}: cut off or damaged: tensor '{}' lies at bytes {} to {} of {}", path, name, entry.begin,
                  entry.end, data_bytes);
    require_input(entry.begin >= end, "{}: damaged: tensor '{}' overlaps the one before it", path, name);
    require_input(entry.begin == end, "{}: damaged: {} bytes before tensor '{}' belong to none", path,
                  entry.begin - end, name);
    if (const std::size_t width = bytes_of(entry.type)) {
      const int64_t numbers = entry.size();
      require_input(numbers >= 0 && static_cast<uint64_t>(numbers) <= UINT64_MAX / width &&
                        static_cast<uint64_t>(numbers) * width == entry.end - entry.begin,
                    "{}: damaged: tensor '{}' {} of {} has {} bytes", path, name, entry.shape_text(),
                    entry.type, entry.end - entry.begin);
    }
    end = entry.end;
  }
  require_input(end == data_bytes, "{}: damaged: {} bytes at the end belong to no tensor", path,
                data_bytes - end);
}

void read_exactly(int descriptor, void* into, std::size_t bytes, uint64_t at, const std::string& path) {
  for (char* next = static_cast<char*>(into); bytes > 0;) {
    const ssize_t got =
        pread(descriptor, next, std::min(bytes, std::size_t{1} << 30), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0, "{}: cannot be read: {}", path, std::strerror(errno));
    require_input(got > 0, "{}: cut off: it became shorter while it was read", path);
    next += got;
    at += static_cast<uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

// IEEE 754 binary16: 1 sign bit, 5 of exponent (bias 15), 10 of fraction.
float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, exponent = (bits >> 10) & 31,
                 fraction = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -small : small;
}

// bfloat16: the upper half of a float.
float bfloat_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

template <class T, class F>
void convert(const char* bytes, std::size_t count, real* out, F number) {
  for (std::size_t i = 0; i < count; ++i) {
    T bits;
    std::memcpy(&bits, bytes + i * sizeof(T), sizeof(T));
    out[i] = static_cast<real>(number(bits));
  }
}

}  // namespace

// Names appear in messages, also in PyTorch: only plain text is allowed.
bool SafetensorsFile::is_name(const std::string& text) { return text == one_line(text, longest_name); }

int64_t SafetensorsFile::Entry::size() const {
  int64_t product = 1;
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(product, extent, &product))
      return std::ranges::find(shape, 0) != shape.end() ? 0 : -1;  // a later zero makes it empty all the same
  return product;
}
std::string SafetensorsFile::Entry::shape_text() const { return fmt::format("[{}]", fmt::join(shape, ", ")); }

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, Links links)
    : path_(path.string()), file_(open_file(path, links)) {
  struct stat status;
  require(fstat(file_.number(), &status) == 0, "{}: {}", path_, std::strerror(errno));
  read_header(static_cast<uint64_t>(status.st_size));
}

SafetensorsFile::SafetensorsFile(std::string name, std::string_view bytes)
    : path_(std::move(name)), bytes_(bytes) {
  read_header(bytes.size());
}

void SafetensorsFile::read(void* into, std::size_t bytes, uint64_t at) const {
  if (bytes_.empty()) return read_exactly(file_.number(), into, bytes, at, path_);
  std::memcpy(into, bytes_.data() + at, bytes);
}

void SafetensorsFile::read_header(uint64_t bytes) {
  require_input(bytes > 0, "{}: the file is empty", path_);
  uint64_t length = 0;
  std::array<char, 16> start{};
  read(start.data(), std::min<std::size_t>(bytes, start.size()), 0);
  std::memcpy(&length, start.data(), sizeof length);
  const std::string_view magic(start.data(), 4);
  const bool zip = magic == std::string_view("PK\x03\x04", 4),
             pickle = magic.substr(0, 1) == "\x80" && length > largest_header;
  require_input(
      !zip && !pickle,
      "{}: not a safetensors file but one of torch.save(); write it with safetensors.torch.save_file()",
      path_);
  require_input(bytes >= 10 && start[8] == '{' && length >= 2 && length <= largest_header,
                "{}: not a safetensors file, or damaged at its beginning", path_);
  require_input(length <= bytes - 8, "{}: cut off: its header takes {} bytes, there are {}", path_, length,
                bytes - 8);

  std::string text(length, '\0');
  read(text.data(), text.size(), 8);
  require_input(text.find('\0') == text.npos, "{}: damaged header: a NUL in it",
                path_);  // where JSON would end
  try {
    [[maybe_unused]] const auto nothing = nlohmann::json::parse(text, HeaderReader(entries_, metadata_));
  } catch (const nlohmann::json::parse_error& error) {
    throw InputError(fmt::format("{}: damaged header: it is not JSON at byte {}", path_, error.byte + 7));
  } catch (const nlohmann::json::out_of_range&) {
    throw InputError(fmt::format("{}: damaged header: it has a number beyond all bounds", path_));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: damaged header: {}", path_, error.what()));
  }
  data_begin_ = 8 + length;
  check_places(path_, entries_, bytes - data_begin_);
}

const Entry* SafetensorsFile::find(std::string_view name) const& {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : &*found;
}
const Entry& SafetensorsFile::entry(std::string_view name) const& {
  const Entry* found = find(name);
  require_input(found, "{}: there is no tensor '{}' in it", path_, name);
  return *found;
}

void SafetensorsFile::check_type(const Entry& found) const {
  static constexpr std::array<std::string_view, 4> types = {"F32", "F64", "F16", "BF16"};
  require_input(std::find(types.begin(), types.end(), found.type) != types.end(),
                "{}: tensor '{}' holds {}; only F32, F64, F16 and BF16 can be used", path_, found.name,
                one_line(found.type));
}

void SafetensorsFile::load_numbers(const Entry& found, real* out) const {
  check_type(found);
  uint64_t at = data_begin_ + found.begin;
  if (found.type == native_type) return read(out, found.end - found.begin, at);
  const std::size_t width = bytes_of(found.type);
  std::array<char, 16384> buffer;
  for (std::size_t left = static_cast<std::size_t>(found.size()); left > 0;) {
    const std::size_t some = std::min(left, buffer.size() / width);
    read(buffer.data(), some * width, at);
    if (found.type == "F16") {
      convert<uint16_t>(buffer.data(), some, out, half_to_float);
    } else if (found.type == "BF16") {
      convert<uint16_t>(buffer.data(), some, out, bfloat_to_float);
    } else if (found.type == "F32") {
      convert<float>(buffer.data(), some, out, [](float x) { return x; });
    } else {
      convert<double>(buffer.data(), some, out, [](double x) { return x; });
    }
    out += some;
    at += some * width;
    left -= some;
  }
}

}  // namespace unroll
