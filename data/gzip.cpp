// See gzip.h.
#include "data/gzip.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

#include <zlib.h>

#include "data/file_marks.h"
#include "framework/check.h"

namespace unroll {

namespace {

// zlib's own state.
class Inflater {
 public:
  Inflater() {
    constexpr int gzip_alone = 15 + 16;  // the largest window; a gzip header is expected
    if (inflateInit2(&stream, gzip_alone) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream stream = {};
};

}  // namespace

std::string unpacked(std::string_view bytes, const std::string& origin, std::size_t at_most) {
  std::string text;
  while (!bytes.empty()) {
    require_input(is_packed(bytes), "{}: packed (gzip), and other bytes follow its end", origin);
    Inflater inflater;
    z_stream& stream = inflater.stream;
    int state = Z_OK;
    while (state != Z_STREAM_END) {
      constexpr std::size_t most_at_once = std::numeric_limits<int>::max();
      const std::size_t given = std::min(bytes.size(), most_at_once);
      char buffer[1 << 16];
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib reads it alone
      stream.avail_in = static_cast<uInt>(given);
      stream.next_out = reinterpret_cast<Bytef*>(buffer);
      stream.avail_out = sizeof buffer;
      state = inflate(&stream, Z_NO_FLUSH);
      if (state == Z_MEM_ERROR) throw std::bad_alloc();
      bytes.remove_prefix(given - stream.avail_in);
      const std::size_t found = sizeof buffer - stream.avail_out;
      require_input(state == Z_OK || state == Z_STREAM_END || state == Z_BUF_ERROR,
                    "{}: packed (gzip), and damaged: {}", origin, stream.msg ? stream.msg : "no such form");
      require_input(found > 0 || !bytes.empty() || state == Z_STREAM_END,
                    "{}: packed (gzip), and cut off before its end", origin);
      require_input(found <= at_most - text.size(),
                    "{}: unpacked it is longer than the {} bytes that are read of such a file", origin,
                    at_most);
      text.append(buffer, found);
      require_input(is_utf16(text) || std::find(buffer, buffer + found, '\0') == buffer + found,
                    "{}: packed (gzip), and what is packed is no text: it has a NUL byte", origin);
    }
    // Tapes and disks fill up with zeros.
    if (bytes.find_first_not_of('\0') == std::string_view::npos) break;
  }
  return text;
}

}  // namespace unroll
