// Vocabulary, corpora from files, windows, n-gram models, and the script that fetches the Penn Treebank.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "data/text/corpus.h"
#include "data/text/ngram.h"
#include "data/text/vocabulary.h"
#include "data/windows.h"
#include "tests/data_files.h"
#include "tests/folder.h"
#include "tests/support.h"
#include "training/files/vocabulary_file.h"

using namespace unroll;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

void write_splits(const Folder& folder, std::string_view train, std::string_view valid,
                  std::string_view test) {
  folder.write("train.txt", train), folder.write("valid.txt", valid), folder.write("test.txt", test);
}

// The folder of the Penn Treebank, from UNROLL_PTB or where it usually lies; empty if there is none.
fs::path ptb_folder() {
  if (const char* named = std::getenv("UNROLL_PTB")) return named;
  const fs::path root = project_root();
  for (const fs::path& folder : {root / "data/ptb", root / "../shared/data/ptb"}) {
    if (fs::exists(folder / "ptb.train.txt")) return folder;
  }
  return {};
}

std::vector<std::string> words_of(const std::vector<int32_t>& ids, const Vocabulary& vocabulary) {
  std::vector<std::string> words;
  for (const int32_t id : ids) words.push_back(vocabulary.word(id));
  return words;
}

}  // namespace

// --- vocabulary --------------------------------------------------------------------------------------------

TEST_CASE("a vocabulary numbers words in the order in which they come") {
  Vocabulary vocabulary;
  CHECK(vocabulary.add("the") == 0);
  CHECK(vocabulary.add("cat") == 1);
  CHECK(vocabulary.add("the") == 0);
  CHECK(vocabulary.add("<eos>") == 2);
  CHECK(vocabulary.size() == 3);
  CHECK(vocabulary.word(1) == "cat");
  CHECK(vocabulary.id("cat") == 1);
  CHECK(vocabulary.eos() == 2);
  CHECK_FALSE(vocabulary.find("dog").has_value());

  const Vocabulary again(vocabulary.words());
  CHECK(again.words() == vocabulary.words());
  CHECK(again.id("<eos>") == 2);
}

TEST_CASE("an unknown word is <unk>, or an error, never some other word") {
  const Vocabulary with(Words{"the", "<unk>", "cat"});
  CHECK(with.id("dog") == 1);
  const Vocabulary without(Words{"the", "cat"});
  CHECK(lacks(input_error_of([&] { without.id("dog"); }), {"'dog'", "<unk>"}) == "");
  CHECK(lacks(input_error_of([&] { without.eos(); }), {"<eos>"}) == "");
  CHECK(lacks(error_of([&] { without.word(2); }), {"no word 2", "there are 2"}) == "");
  CHECK(lacks(error_of([&] { without.word(-1); }), {"-1"}) == "");
}

TEST_CASE("a list that is no vocabulary is refused") {
  CHECK(lacks(input_error_of([] { Vocabulary(Words{"a", "b", "a"}); }), {"'a'", "twice", "0", "2"}) == "");
  CHECK(lacks(input_error_of([] { Vocabulary(Words{"a\nb", "a\nb"}); }), {"'a?b'"}) == "");
  CHECK(lacks(input_error_of([] { Vocabulary(Words{"a", ""}); }), {"id 1", "empty"}) == "");
}

// --- text --------------------------------------------------------------------------------------------------

TEST_CASE("words are what white space separates, and every line ends with <eos>") {
  const Folder folder;
  write_splits(folder, " the cat\tsat \r\n\nthe <unk>\n", "the dog sat", "cat\n");
  const Corpus corpus = load_text(folder.path());
  CHECK(corpus.vocabulary.words() == Words{"the", "cat", "sat", "<eos>", "<unk>"});
  CHECK(corpus.train == std::vector<int32_t>{0, 1, 2, 3, 3, 0, 4, 3});
  CHECK(words_of(corpus.valid, corpus.vocabulary) == Words{"the", "<unk>", "sat", "<eos>"});
  CHECK(words_of(corpus.test, corpus.vocabulary) == Words{"cat", "<eos>"});
  CHECK(&corpus.split(Split::test) == &corpus.test);

  CHECK(load_text_split(folder.path(), Split::valid, corpus.vocabulary) == corpus.valid);
  CHECK(decode(corpus.train, corpus.vocabulary, Level::word) == "the cat sat\n\nthe <unk>\n");
}

TEST_CASE("at character level a symbol is a code point, blanks too") {
  const Folder folder;
  write_splits(folder, "aé €\r\n𝄞a\n", "a a\n", "é");
  const Corpus corpus = load_text(folder.path(), Level::character);
  CHECK(corpus.vocabulary.words() == Words{"a", "é", " ", "€", "<eos>", "𝄞"});
  CHECK(corpus.train == std::vector<int32_t>{0, 1, 2, 3, 4, 5, 0, 4});
  CHECK(corpus.valid == std::vector<int32_t>{0, 2, 0, 4});
  CHECK(corpus.test == std::vector<int32_t>{1, 4});
  CHECK(decode(corpus.train, corpus.vocabulary, Level::character) == "aé €\n𝄞a\n");
  // As in the Penn Treebank of characters.
  CHECK(unroll::words_of("<unk> a", Level::character, "text") == Words{"<", "u", "n", "k", ">", " ", "a"});
}

TEST_CASE("a byte order mark is no part of the first word, nor a character") {
  const Folder folder;
  const std::string mark = "\xEF\xBB\xBF";
  write_splits(folder, mark + "the cat\n", mark + "cat\n", mark + "the\n");
  const Corpus corpus = load_text(folder.path());
  CHECK(corpus.vocabulary.words() == Words{"the", "cat", "<eos>"});
  CHECK(corpus.valid == std::vector<int32_t>{1, 2});
  CHECK(load_text_split(folder.path(), Split::test, corpus.vocabulary) == std::vector<int32_t>{0, 2});
  CHECK(load_text(folder.path(), Level::character).vocabulary.word(0) == "t");
  const Vocabulary listed = load_vocabulary(folder.write("words.txt", mark + "the\ncat\n"));
  CHECK(listed.words() == Words{"the", "cat"});
  folder.write("valid.txt", mark);
  CHECK(lacks(input_error_of([&] { load_text(folder.path()); }), {"valid.txt", "empty"}) == "");
}

TEST_CASE("a prompt ends without <eos> unless it ends its line") {
  const Vocabulary vocabulary(Words{"the", "cat", "<eos>"});
  CHECK(encode("the cat", vocabulary, Level::word, "--prompt") == std::vector<int32_t>{0, 1});
  CHECK(encode("the\ncat\n", vocabulary, Level::word, "--prompt") == std::vector<int32_t>{0, 2, 1, 2});
  CHECK(encode("", vocabulary, Level::word, "--prompt").empty());
  CHECK(lacks(input_error_of([&] { encode("the\ndog", vocabulary, Level::word, "--prompt"); }),
              {"--prompt:2", "'dog'"}) == "");
}

TEST_CASE("a word that needs an <unk> the training split lacks is named with file and line") {
  const Folder folder;
  write_splits(folder, "a b\n", "a\nb c\n", "a\n");
  CHECK(lacks(input_error_of([&] { load_text(folder.path()); }),
              {"valid.txt:2: 'c'", "no <unk>", "train on a text that has <unk> in place of rare words"}) ==
        "");
  folder.write("valid.txt", "a \x1b[31m\n");  // found by fuzzing: it would have coloured the terminal
  CHECK(lacks(input_error_of([&] { load_text(folder.path()); }), {"valid.txt:1: '?[31m'"}) == "");
  folder.write("valid.txt", "a\n");
  folder.write("test.txt", "aé\n");
  CHECK(lacks(input_error_of([&] { load_text(folder.path(), Level::character); }),
              {"test.txt:1: 'é'", "take it out, or train on a text that has it"}) == "");
}

TEST_CASE("files that are no text are refused by name") {
  const Folder folder;
  const auto error = [&] { return input_error_of([&] { load_text(folder.path()); }); };
  CHECK(lacks(input_error_of([&] { load_text(folder.path() / "none"); }), {"none", "no such folder"}) == "");
  CHECK(lacks(error(), {"train.txt", "no such file"}) == "");
  write_splits(folder, "a\n", "", "a\n");
  CHECK(lacks(error(), {"valid.txt", "is empty"}) == "");
  folder.write("valid.txt", " \n\n");
  CHECK(lacks(error(), {"valid.txt", "no words"}) == "");
  for (const std::string_view broken : {std::string_view("a\0b", 3), std::string_view("\xff"),
                                        std::string_view("\xc0\x80"), std::string_view("\xed\xa0\x80"),
                                        std::string_view("\xe2\x82"), std::string_view("\xf5\x80\x80\x80")}) {
    folder.write("valid.txt", "a\na ");
    std::ofstream(folder.path() / "valid.txt", std::ios::app | std::ios::binary) << broken << '\n';
    CHECK(lacks(error(), {"valid.txt:2: ", "UTF-8"}) == "");
  }
  fs::remove(folder.path() / "valid.txt");
  fs::create_directory(folder.path() / "valid.txt");
  CHECK(lacks(error(), {"valid.txt", "a folder, not a file"}) == "");
}

// --- the Penn Treebank -------------------------------------------------------------------------------------

TEST_CASE("a missing Penn Treebank names the command that fetches it") {
  const Folder folder;
  CHECK(lacks(input_error_of([&] { load_ptb(folder.path() / "ptb"); }),
              {"ptb.train.txt", "data/get-ptb.sh", "--data"}) == "");
  write_splits(folder, "a\n", "a\n", "a\n");  // another corpus does not take its place
  CHECK(lacks(input_error_of([&] { load_ptb(folder.path()); }), {"ptb.train.txt", "train.txt, which"}) == "");
  const Vocabulary vocabulary(Words{"a", "<eos>"});
  CHECK(lacks(input_error_of([&] { load_ptb_split(folder.path(), Split::test, vocabulary); }),
              {"ptb.test.txt"}) == "");
  folder.write("ptb.test.txt", "a a\n");
  CHECK(load_ptb_split(folder.path(), Split::test, vocabulary) == std::vector<int32_t>{0, 0, 1});
}

TEST_CASE("the Penn Treebank has the tokens and types that everybody counts") {
  const fs::path folder = ptb_folder();
  if (folder.empty()) {
    std::puts("[skipped] the Penn Treebank's counts: UNROLL_PTB names no folder");
    return;
  }
  const Corpus corpus = load_ptb(folder);
  CHECK(corpus.train.size() == 929'589);
  CHECK(corpus.valid.size() == 73'760);
  CHECK(corpus.test.size() == 82'430);
  CHECK(corpus.vocabulary.size() == 10'000);
  CHECK(std::count(corpus.train.begin(), corpus.train.end(), corpus.vocabulary.eos()) == 42'068);
  CHECK(load_ptb_split(folder, Split::test, corpus.vocabulary) == corpus.test);

  // Evaluation scores each of them once.
  CHECK(evaluation_windows(corpus.test, corpus.vocabulary.eos(), {.batch = 1, .steps = 20}).targets() ==
        82'430);
  // Zaremba's small model: 46,479 targets in each of 20 streams, 20 at a time.
  const BpttWindows windows(corpus.train, {.batch = 20, .steps = 20});
  CHECK(windows.count() == 2'324);
  CHECK(windows.targets() == 929'580);

  // Mikolov reported 148.3 for a trigram with modified Kneser-Ney smoothing.
  const NgramModel trigram(3, corpus.train, corpus.vocabulary.size(), corpus.vocabulary.eos());
  CHECK(trigram.perplexity(corpus.test) == doctest::Approx(148.3).epsilon(0.002));
}

// --- n-gram models -----------------------------------------------------------------------------------------

TEST_CASE("the probabilities of an n-gram model sum to 1 after any history") {
  RandomStream random(3, "ngram test");
  constexpr int vocabulary = 37, eos = 5;  // ids 30 … 36 never occur
  std::vector<int32_t> train;
  for (int i = 0; i < 400; ++i) train.push_back(static_cast<int32_t>(random.below(6) * random.below(6)) % 30);
  for (int order = 1; order <= 3; ++order) {
    const NgramModel model(order, train, vocabulary, eos);
    std::vector<int32_t> history;
    for (int trial = 0; trial < 200; ++trial) {
      double sum = 0;
      for (int32_t word = 0; word < vocabulary; ++word) {
        const double p = model.probability(history, word);
        CHECK(p > 0);
        sum += p;
      }
      CHECK(sum == doctest::Approx(1).epsilon(1e-12));
      history.push_back(static_cast<int32_t>(random.below(vocabulary)));
    }
  }
}

TEST_CASE("a bigram of four words, by hand") {
  // a b <eos> a a <eos>: after <eos> a, a; after a b, a, <eos>; after b <eos>. Every bigram occurs once but
  // "<eos> a".
  const std::vector<int32_t> train = {0, 1, 2, 0, 0, 2};
  const NgramModel model(2, train, 4, 2);
  // Counted once: ab, b<eos>, aa, a<eos>; twice: <eos>a. Y = 4 / (4 + 2) = 2/3, D1 = 1 - 2 * 2/3 * 1/4 = 2/3,
  // D2 = 2 - 0 = 2. Words by different predecessors: a 2 (<eos>, a), <eos> 2 (a, b), b 1; counted once 1,
  // twice 2: Y = 1/5, D1 = 1 - 2/5 * 2 = 1/5, D2 = 2, and 1/5 + 2 * 2 of 5 is freed for a quarter each.
  const double a = (0 + 4.2 / 4) / 5, b = (0.8 + 4.2 / 4) / 5, none = 4.2 / 4 / 5;
  const auto p = [&](std::vector<int32_t> history, int32_t word) { return model.probability(history, word); };
  CHECK(p({0}, 1) == doctest::Approx((1.0 / 3 + 2 * b) / 3));
  CHECK(p({0}, 0) == doctest::Approx((1.0 / 3 + 2 * a) / 3));
  CHECK(p({0}, 3) == doctest::Approx(2 * none / 3));
  CHECK(p({}, 0) == doctest::Approx(a));   // all of the count was taken: D2 = 2
  CHECK(p({3}, 1) == doctest::Approx(b));  // a history never seen
  const double nll = -std::log(p({2}, 0)) - std::log(p({0}, 1)) - std::log(p({1}, 2));
  CHECK(model.perplexity(std::vector<int32_t>{0, 1, 2}) == doctest::Approx(std::exp(nll / 3)));
}

TEST_CASE("an n-gram model looks at its last words only, and not behind <eos>") {
  RandomStream random(4, "ngram test");
  std::vector<int32_t> train;
  for (int i = 0; i < 3000; ++i) train.push_back(static_cast<int32_t>(random.below(12)));
  const NgramModel model(3, train, 12, 0);
  const auto p = [&](std::vector<int32_t> history) { return model.probability(history, 7); };
  CHECK(p({1, 2, 3}) == p({9, 9, 9, 2, 3}));
  CHECK(p({1, 2, 3}) != p({1, 9, 3}));
  CHECK(p({5, 0}) == p({}));
  CHECK(p({5, 0, 3}) == p({0, 3}));
  CHECK(p({0, 3}) == p({3}));
}

TEST_CASE("an n-gram model is the better, the more of a regular text it looks at") {
  std::vector<int32_t> text;  // 1 2 or 3 2, and after 2 comes what began: 4 or 5
  RandomStream random(5, "ngram test");
  for (int i = 0; i < 2000; ++i) {
    const bool first = random.below(2) == 0;
    for (const int32_t id : {first ? 1 : 3, 2, first ? 4 : 5, 0}) text.push_back(id);
  }
  const auto perplexity = [&](int order) { return NgramModel(order, text, 6, 0).perplexity(text); };
  CHECK(perplexity(3) == doctest::Approx(std::pow(2, 0.25)).epsilon(0.01));  // one bit in four words is left
  CHECK(perplexity(2) == doctest::Approx(std::pow(2, 0.5)).epsilon(0.01));
  CHECK(perplexity(1) == doctest::Approx(std::pow(2, 2.5)).epsilon(0.01));
}

TEST_CASE("an n-gram model refuses what it cannot count") {
  const std::vector<int32_t> train = {0, 1, 2};
  CHECK(lacks(error_of([&] { NgramModel(4, train, 3, 0); }), {"order 4"}) == "");
  CHECK(lacks(error_of([&] { NgramModel(3, train, 2, 0); }), {"id 2 of 2"}) == "");
  constexpr int most = NgramModel::most_words;
  const std::vector<int32_t> ends = {most - 1, 1, 0, most - 1, 1, 0};
  CHECK(NgramModel(3, ends, most, 0).perplexity(ends) < NgramModel(1, ends, most, 0).perplexity(ends));
  CHECK(lacks(error_of([&] { NgramModel(3, ends, most + 1, 0); }), {"vocabulary of 2097151 words"}) == "");
  CHECK(lacks(input_error_of([&] { NgramModel(3, std::vector<int32_t>{}, 2, 0); }), {"no tokens"}) == "");
  CHECK(lacks(input_error_of([&] { NgramModel(3, train, 3, 0).perplexity({}); }), {"no tokens"}) == "");
}

// --- the script --------------------------------------------------------------------------------------------

// The exit status of tests/get_files_test.sh with these words after it.
int try_script(const std::string& words) {
  const std::string command =
      fmt::format("cd '{}' && bash tests/get_files_test.sh {}", project_root().string(), words);
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    std::puts("[skipped] scripts that fetch files: no python3 to serve them with, or neither curl nor wget");
  return WEXITSTATUS(status) == 77 ? 0 : WEXITSTATUS(status);
}

TEST_CASE("data/get-ptb.sh keeps what is right and leaves nothing else behind") {
  CHECK(try_script(fmt::format("data/get-ptb.sh '{}' ptb.train.txt ptb.valid.txt ptb.test.txt",
                               ptb_folder().string())) == 0);
}

TEST_CASE("data/get-series.sh does likewise") {
  const fs::path folder = series_file("eeg-eye-state.csv").parent_path();
  CHECK(try_script(fmt::format("data/get-series.sh '{}' ETTh1.csv occupancy-datatraining.csv "
                               "occupancy-datatest.csv occupancy-datatest2.csv eeg-eye-state.csv",
                               folder.string())) == 0);
}
