// The file of measured algorithms: any bytes. It is a cache, so nothing is refused: what cannot be used is a complaint of
// one line. What can be used is found again, and can be written out and read again.
#include "fuzz/target.h"
#include "training/files/cudnn/algorithm_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace unroll;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const AlgorithmFile read = read_algorithm_file(fuzz::file("algorithms.json", bytes));
  for (const unsigned char c : read.complaint)
    fuzz::expect(c >= 32 && c != 127, "a complaint is one line of text");
  fuzz::expect(read.complaint.empty() || read.entries.empty(), "there are entries, or a complaint");
  for (const auto& entry : read.entries)
    fuzz::expect(find_measured(read.entries, entry.at("of"))->size() == 4,
                 "an entry is found, and has every algorithm");
  if (!read.complaint.empty()) return 0;
  const auto again = fuzz::folder() / "again.json";
  write_algorithm_file(again, read.entries);
  fuzz::expect(read_algorithm_file(again).entries == read.entries,
               "what was read can be written out and read again");
  return 0;
}
