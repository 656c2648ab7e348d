// What the first bytes of a file say of the others.
#pragma once

#include <string_view>

namespace unroll {

// Whether bytes begin as a packed file does (gzip).
inline bool is_packed(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

// Whether a text begins with the mark of UTF-16, of either byte order.
inline bool is_utf16(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
}

}  // namespace unroll
