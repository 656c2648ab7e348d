// The bytes of files that are not UTF-8.
#pragma once

#include <string>
#include <vector>

namespace unroll {

// A text of UTF-16 with its mark, of Shift JIS, GBK, Big5, of Korea's, of Windows' Western, Central European, Cyrillic, Greek or
// Thai code page, as
// UTF-8; what is UTF-8 stays, and so does what is none of them. Notes the encoding in `done`. Throws InputError: UTF-16 that ends
// within a character, or has half of a surrogate pair.
std::string as_utf8(std::string text, const std::string& origin, std::vector<std::string>& done);

}  // namespace unroll
