// gzip.h in a build without zlib.
#include "data/gzip.h"
#include "framework/check.h"

namespace unroll {

std::string unpacked(std::string_view, const std::string& origin, std::size_t) {
  throw InputError(origin + ": packed (gzip), and this build has no zlib; gunzip unpacks it");
}

}  // namespace unroll
