// Documents of a text: what stands between them, where they begin in windows, and that no n-gram reaches over.
#include <algorithm>
#include <numeric>

#include "data/text/corpus.h"
#include "data/text/ngram.h"
#include "data/windows.h"
#include "tests/folder.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Ids = std::vector<int32_t>;
using Places = std::vector<int64_t>;
using Words = std::vector<std::string>;

const TextForm words_in_documents{Level::word, true};

void write_splits(const Folder& folder, const std::string& train, const std::string& valid,
                  const std::string& test) {
  folder.write("train.txt", train), folder.write("valid.txt", valid), folder.write("test.txt", test);
}

}  // namespace

TEST_CASE("blank lines stand between documents and are no tokens, however they are spelled") {
  // Documents of two lines, one and one: the=0 cat=1 sat=2 <eos>=3 a=4 dog=5.
  const Ids tokens = {0, 1, 2, 3, 4, 5, 3, 0, 1, 3, 4, 3};
  const Places begins = {0, 7, 10};
  for (const std::string text :
       {"the cat sat\na dog\n\nthe cat\n\na\n", "\n\nthe cat sat\na dog\n\n\n\nthe cat\n \t\na",
        "the cat sat\r\na dog\r\n\r\nthe cat\r\n\r\na\r\n\r\n", "the cat sat\ra dog\r\rthe cat\r\ra\r",
        "\xEF\xBB\xBF\nthe cat sat\na dog\n \nthe cat\n\na\n\n\n",
        "the cat sat <eos> a dog <eos>\n\nthe cat <eos>\n\na <eos>\n \n"}) {
    CAPTURE(text);
    const Folder folder;
    write_splits(folder, text, text, text);
    const Corpus corpus = load_text(folder.path(), words_in_documents);
    CHECK(corpus.vocabulary.words() == Words{"the", "cat", "sat", "<eos>", "a", "dog"});
    for (const Split split : {Split::train, Split::valid, Split::test}) {
      CHECK(corpus.split(split) == tokens);
      CHECK(corpus.reading(split).documents == begins);
      Reading reading;
      CHECK(load_text_split(folder.path(), split, corpus.vocabulary, words_in_documents, &reading) == tokens);
      CHECK(reading.documents == begins);
    }
    CHECK(load_text(folder.path()).readings[0].documents.empty());
  }
}

TEST_CASE("as characters too, where a line of blanks alone is a border, and blanks in a line are symbols") {
  const Folder folder;
  const std::string text = "a b\n  \nc \n\n";  // a=0 ' '=1 b=2 <eos>=3 c=4
  write_splits(folder, text, text, text);
  const Corpus corpus = load_text(folder.path(), {Level::character, true});
  for (const Split split : {Split::train, Split::valid, Split::test}) {
    CHECK(corpus.split(split) == Ids{0, 1, 2, 3, 4, 1, 3});
    CHECK(corpus.reading(split).documents == Places{0, 4});
  }
}

TEST_CASE("a line with <eos> alone is no blank line; a text without one is one document") {
  const Folder folder;
  write_splits(folder, "a\n<eos>\na\n", "a\n", "a");
  const Corpus corpus = load_text(folder.path(), words_in_documents);
  CHECK(corpus.train == Ids{0, 1, 1, 0, 1});
  for (const Split split : {Split::train, Split::valid, Split::test})
    CHECK(corpus.reading(split).documents == Places{0});
  write_splits(folder, "\n \n", "a\n", "a\n");
  CHECK(lacks(input_error_of([&] { load_text(folder.path(), words_in_documents); }),
              {"train.txt", "no words"}) == "");
}

TEST_CASE("a prompt that ends with a blank line is followed by another document") {
  const Vocabulary vocabulary(Words{"a", "<eos>", " "});
  const auto documents = [&](const std::string& text, Level level) {
    Reading reading;
    const auto tokens = encode(text, vocabulary, {level, true}, "--prompt", &reading);
    return std::pair(std::ssize(tokens), reading.documents);
  };
  for (const Level level : {Level::word, Level::character}) {
    CHECK(documents("a", level) == std::pair(std::ptrdiff_t{1}, Places{0}));
    CHECK(documents("a\n", level) == std::pair(std::ptrdiff_t{2}, Places{0}));
    CHECK(documents("a\n\n", level) == std::pair(std::ptrdiff_t{2}, Places{0, 2}));
    CHECK(documents("a\n\na", level) == std::pair(std::ptrdiff_t{3}, Places{0, 2}));
    CHECK(documents("\n\n", level) == std::pair(std::ptrdiff_t{0}, Places{}));
    CHECK(documents("", level) == std::pair(std::ptrdiff_t{0}, Places{}));
  }
  CHECK(documents("a\n ", Level::character) ==
        std::pair(std::ptrdiff_t{3}, Places{0}));  // a line that has begun
}

// Tokens that are their own places.
TEST_CASE("windows say of every target whether a document begins with it, however the text is cut") {
  RandomStream random(3, "windows");
  for (int i = 0; i < 300; ++i) {
    const int batch = 1 + static_cast<int>(random.below(4)), steps = 1 + static_cast<int>(random.below(7));
    Ids tokens(static_cast<size_t>(batch) + 1 + random.below(60));
    std::iota(tokens.begin(), tokens.end(), 0);
    Places documents;
    for (const int32_t place : tokens)
      if (place == 0 || random.below(i % 2 ? 5 : 20) == 0) documents.push_back(place);
    const WindowOptions options{.batch = batch, .steps = steps, .documents = documents};
    BpttWindows all[] = {BpttWindows(tokens, options), BpttWindows(tokens, options),
                         evaluation_windows(tokens, 0, options), BpttWindows(tokens, options)};
    all[1].cut([&](int64_t k) { return 1 + static_cast<int>((7 * k + i) % 9); });
    all[3].shuffle(1, i);
    const auto length = (std::ssize(tokens) - 1) / batch;
    for (BpttWindows& windows : all) {
      bool at_the_first_step = false;
      for (int pass = 0; pass < 2; ++pass)  // from memory that has been used
        for (const auto& [input, target] : windows) {
          const IdTensor& resets = windows.resets();
          int begun = 0;
          for (int64_t k = 0; k < target.size(); ++k) {
            const int32_t token = target.data()[k];  // which is its place
            const bool is_seam = &windows == &all[3] && (token - 1) % length == 0;
            const bool begins = is_seam || std::ranges::binary_search(documents, int64_t{token});
            begun += begins;
            at_the_first_step |= begins && k < batch;
            if (resets.defined()) CHECK((resets.data()[k] != 0) == begins);
          }
          CHECK(resets.defined() == (begun > 0));
          if (resets.defined()) CHECK(resets.shape() == target.shape());
        }
      if (i == 1) CHECK(at_the_first_step);
    }
  }
  const Ids tokens(20, 0);
  BpttWindows undivided(tokens, {.batch = 2, .steps = 3});
  for (int64_t k = 0; k < undivided.count(); ++k) {
    undivided.at(k);
    CHECK_FALSE(undivided.resets().defined());
  }
}

TEST_CASE(
    "evaluation reads each document from its beginning to its end in one stream, and every token once") {
  RandomStream random(4, "windows");
  for (int i = 0; i < 300; ++i) {
    const int batch = 1 + static_cast<int>(random.below(9)), steps = 1 + static_cast<int>(random.below(7));
    Ids tokens(static_cast<size_t>(batch) + random.below(60));
    std::iota(tokens.begin(), tokens.end(), 0);
    Places documents;
    for (const int32_t place : tokens)
      if (place == 0 || random.below(i % 2 ? 5 : 20) == 0) documents.push_back(place);
    BpttWindows windows =
        evaluation_windows(tokens, -7, {.batch = batch, .steps = steps, .documents = documents});
    std::vector<Ids> read(static_cast<size_t>(batch));
    for (const auto& [input, target] : windows)
      for (int64_t k = 0; k < target.size(); ++k)
        if (const int32_t token = target.data()[k]; token != ignored_target) {
          CHECK(input.data()[k] == (token == 0 ? -7 : token - 1));
          read[static_cast<size_t>(k % batch)].push_back(token);
        }
    Ids all;
    for (const Ids& stream : read) {
      if (!stream.empty()) CHECK(std::ranges::binary_search(documents, int64_t{stream[0]}));
      all.insert(all.end(), stream.begin(), stream.end());
    }
    CHECK(all == tokens);
    CHECK(windows.targets() == std::ssize(tokens));
    // So many streams are worth it: the longest document is as long as they are on average, or shorter.
    int64_t longest = 0;
    for (size_t k = 0; k < documents.size(); ++k)
      longest = std::max(longest,
                         (k + 1 < documents.size() ? documents[k + 1] : std::ssize(tokens)) - documents[k]);
    const int streams = evaluation_streams(std::ssize(tokens), documents, batch);
    CHECK(streams >= 1);
    CHECK(streams <= batch);
    CHECK((streams - 1) * longest < std::ssize(tokens));
  }
  CHECK(evaluation_streams(7, {}, 20) == 7);
  CHECK(evaluation_streams(70, {}, 20) == 20);
}

// Every document ends with an <eos>, behind which an n-gram does not look.
TEST_CASE("counting words gives the same whatever stood in the document before") {
  const Folder folder;
  write_splits(folder, "a b\nb c\n\nb a\nc\n\na a b\n", "a c b\n\nb a\n\nc c\n", "b a\n\nc c\n\na c b\n");
  const Corpus corpus = load_text(folder.path(), words_in_documents);
  const NgramModel trigram(3, corpus.train, corpus.vocabulary.size(), corpus.vocabulary.eos());
  double nats = 0;
  const Places& begins = corpus.readings[1].documents;
  REQUIRE(begins.size() == 3);
  for (size_t d = 0; d < begins.size(); ++d) {
    const auto first = static_cast<size_t>(begins[d]),
               last = d + 1 < begins.size() ? static_cast<size_t>(begins[d + 1]) : corpus.valid.size();
    const auto document = std::span(corpus.valid).subspan(first, last - first);
    CHECK(document.back() == corpus.vocabulary.eos());
    nats += std::log(trigram.perplexity(document)) * static_cast<double>(document.size());
  }
  const double rounding = 1e-13;  // of some ten logarithms and their sum in double
  const double together = std::exp(nats / static_cast<double>(corpus.valid.size()));
  CHECK(trigram.perplexity(corpus.valid) == doctest::Approx(together).epsilon(rounding));
  CHECK(trigram.perplexity(corpus.test) == doctest::Approx(together).epsilon(rounding));  // in another order
}

TEST_CASE("the places of unknown words are those of their tokens") {
  const Vocabulary words(Words{"a", "<unk>", "<eos>"});
  Reading reading;
  CHECK(encode("b a <unk>\na c\n", words, Level::word, "x.txt", &reading) ==
        std::vector<int32_t>{1, 0, 1, 2, 0, 1, 2});
  CHECK(reading.unknown == std::vector<int64_t>{0, 5});  // the text's own <unk> is a word
}
