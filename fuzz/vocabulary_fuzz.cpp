// Lists of words: any bytes as a file with a word per line, and as one with a JSON array. An accepted list can be
// written out as JSON and read again.
#include "fuzz/target.h"
#include "training/files/vocabulary_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"words.txt", "words.json"}) {
    fuzz::accepts([&] {
      const unroll::Vocabulary words = unroll::load_vocabulary(fuzz::file(name, bytes));
      const std::string written = unroll::vocabulary_metadata(words);
      const auto again = unroll::load_vocabulary(fuzz::file("again.json", written));
      fuzz::expect(again.words() == words.words(), "a vocabulary can be written out and read again");
    });
  }
  return 0;
}
