// Writes letters small. See lower_case.h.
#include "data/lower_case.h"

#include <cstdint>

namespace unroll {

namespace {

bool is_between(int c, int first, int last) { return first <= c && c <= last; }

// The small letter of a capital of Latin, Greek or Cyrillic script that UTF-8 writes in two bytes: U+00C0 to U+042F.
int small_letter(int c) {
  if (is_between(c, 0xc0, 0xde) && c != 0xd7) return c + 0x20;  // À to Þ
  if (c == 0x130) return 'i';                                   // İ
  if (c == 0x178) return 0xff;                                  // Ÿ
  const bool odd_are_capitals = is_between(c, 0x139, 0x148) || is_between(c, 0x179, 0x17e);
  if (is_between(c, 0x100, 0x17e) && c != 0x138 && c != 0x149)
    return c + ((c % 2 == 1) == odd_are_capitals ? 1 : 0);
  if (c == 0x386) return 0x3ac;                       // Ά
  if (is_between(c, 0x388, 0x38a)) return c + 0x25;   // Έ Ή Ί
  if (c == 0x38c) return 0x3cc;                       // Ό
  if (is_between(c, 0x38e, 0x38f)) return c + 0x3f;   // Ύ Ώ
  if (is_between(c, 0x391, 0x3ab)) return c + 0x20;   // Α to Ω, Ϊ, Ϋ
  if (is_between(c, 0x400, 0x40f)) return c + 0x50;   // Ѐ to Џ
  return is_between(c, 0x410, 0x42f) ? c + 0x20 : c;  // А to Я
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string small(text);
  for (std::size_t i = 0; i < small.size(); ++i) {
    const auto lead = static_cast<uint8_t>(small[i]);
    if (is_between(lead, 'A', 'Z')) small[i] = static_cast<char>(lead + ('a' - 'A'));
    if (!is_between(lead, 0xc3, 0xd0) || i + 1 == small.size()) continue;
    const int letter = small_letter((lead & 0x1f) << 6 | (static_cast<uint8_t>(small[i + 1]) & 0x3f));
    if (letter < 0x80) {
      small.replace(i, 2, 1, static_cast<char>(letter));
      continue;
    }
    small[i] = static_cast<char>(0xc0 | letter >> 6);
    small[++i] = static_cast<char>(0x80 | (letter & 0x3f));
  }
  return small;
}

}  // namespace unroll
