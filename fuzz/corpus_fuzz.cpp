// Text: any bytes as the three files of a corpus, at word and at character level, with blank lines as tokens and
// between documents. An accepted text can be written out and read again, and takes at most one number for each byte.
#include <algorithm>
#include <functional>

#include "data/text/corpus.h"
#include "fuzz/target.h"

namespace {

using namespace unroll;

// Text without '\r' at character level: one before the end of a line is not kept, so it could not be written
// out.
void check(const Corpus& corpus, TextForm form, std::size_t bytes) {
  const Level level = form.level;
  const Vocabulary again(corpus.vocabulary.words());
  fuzz::expect(again.words() == corpus.vocabulary.words(), "a vocabulary can be written out and read again");
  fuzz::expect(corpus.train.size() + corpus.valid.size() + corpus.test.size() <= bytes + 3,
               "a token for a byte");
  for (const Split split : {Split::train, Split::valid, Split::test}) {
    const std::vector<int32_t>& ids = corpus.split(split);
    for (int32_t id : ids) fuzz::expect(id >= 0 && id < again.size(), "ids are of the vocabulary");
    const auto& documents = corpus.reading(split).documents;
    fuzz::expect(documents.empty() != form.documents, "there are documents where they are asked for");
    if (form.documents)
      fuzz::expect(documents[0] == 0 && documents.back() < std::ssize(ids) &&
                       std::ranges::is_sorted(documents, std::less_equal()),
                   "documents begin with the text, each behind the one before");
    const std::string text = decode(ids, again, level);
    if (level == Level::character && text.find('\r') != text.npos) continue;
    fuzz::expect(encode(text, again, level, "decoded") == ids, "text can be written out and read again");
  }
}

}  // namespace

// The input: a byte that chooses the form, then the three files, between them a byte that no text contains.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const TextForm form{data[0] % 2 ? Level::character : Level::word, (data[0] & 2) != 0};
  std::string_view left(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string_view text;
  for (const Split split : {Split::train, Split::valid, Split::test}) {
    if (!left.empty() || split == Split::train) {
      text = left.substr(0, left.find('\xff'));
      left.remove_prefix(std::min(left.size(), text.size() + 1));
    }  // else the one before serves again
    fuzz::file(text_file("", split), text);
  }
  fuzz::accepts([&] { check(load_text(fuzz::folder().path(), form), form, 3 * size); });
  return 0;
}
