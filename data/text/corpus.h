// A corpus: three splits of text as word numbers, and the vocabulary that its training split built.
//
// White space separates words. At character level a symbol is a UTF-8 code point (blanks are symbols too). At both
// levels every line ends with `<eos>`: empty lines too, and the last one even if the file lacks its newline. A
// newline, a carriage return, or the two together end a line. A byte order mark at the beginning of a file is not
// part of its text.
//
// A word `<eos>` in the text is the end of a line, wherever it stands. Blanks around it and a newline right after it
// belong to it, so "a cat <eos>\n", "a cat <eos>" and "a cat\n" are the same text.
//
// With TextForm::documents, lines of blanks alone are no tokens: one or more of them separate two documents. A document
// ends with the `<eos>` of its last line.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/vocabulary.h"

namespace unroll {

enum class Level { word, character };  // the symbols of a text
// How text becomes tokens.
struct TextForm {
  Level level = Level::word;  // what a token is
  bool documents = false;     // blank lines stand between documents; else each is an `<eos>`
  TextForm(Level tokens = Level::word, bool with_documents = false)
      : level(tokens), documents(with_documents) {}
};
enum class Split { train, valid, test };  // parts of a corpus
std::string_view name(Split split);       // "train", "valid", "test"

// Facts about a split beside its tokens.
struct Reading {
  std::vector<int64_t>
      unknown;                 // places of what the vocabulary lacks, of no `<unk>` that the text itself has
  int64_t written_ends = 0;    // ends of lines that the text writes as `<eos>`
  int64_t sentence_marks = 0;  // words `<s>` and `</s>`, which are words like any other
  // Places of the first tokens of documents, ascending; empty without TextForm::documents. If a text ends with blank
  // lines, encode() adds the place behind the last token, where the next document would begin.
  std::vector<int64_t> documents;
};

struct Corpus {
  Vocabulary vocabulary;
  std::vector<int32_t> train, valid, test;  // the splits' tokens: ids of `vocabulary`
  std::array<Reading, 3> readings;          // of train, valid, test

  const Reading& reading(Split split) const;  // facts about a split

  const std::vector<int32_t>& split(Split split) const&;  // its tokens
  const std::vector<int32_t>& split(Split split) const&& = delete;
};

// The file of a split. ptb_file: ptb.train.txt, ptb.valid.txt, ptb.test.txt; text_file: train.txt, valid.txt, test.txt.
std::filesystem::path ptb_file(const std::filesystem::path& directory, Split split);
std::filesystem::path text_file(const std::filesystem::path& directory, Split split);

// load_ptb, load_text: all three splits. A word outside the training split becomes `<unk>`. Throws InputError, naming the file
// and if possible the line, if a folder or file is missing, unreadable, without any word, or not UTF-8 text. Throws
// it also if a word needs an `<unk>` which the training split lacks. For a missing Penn Treebank the message has the
// command that fetches it.
Corpus load_ptb(const std::filesystem::path& directory, TextForm form = {});
Corpus load_text(const std::filesystem::path& directory, TextForm form = {});

// load_ptb_split, load_text_split: one split under a given vocabulary (a checkpoint's). Throws as above.
std::vector<int32_t> load_ptb_split(const std::filesystem::path& directory, Split split,
                                    const Vocabulary& vocabulary, TextForm form = {},
                                    Reading* reading = nullptr);
std::vector<int32_t> load_text_split(const std::filesystem::path& directory, Split split,
                                     const Vocabulary& vocabulary, TextForm form = {},
                                     Reading* reading = nullptr);

// Throws InputError, naming the first one, if there are words that no text of this level has. At word level these are
// words with blanks, at character level words of several characters, except those in angle brackets such as `<unk>`.
// `origin` begins the message.
void check_words(const Vocabulary& vocabulary, Level level, std::string_view origin);

// The ids of a text, with `<eos>` for each end of a line in it: a prompt need not end its line. Throws InputError as
// above, with `origin` in place of the file's name.
std::vector<int32_t> encode(std::string_view text, const Vocabulary& vocabulary, TextForm form,
                            std::string_view origin, Reading* reading = nullptr);
// The words of a text as they stand there, with `<eos>` for each end of a line.
std::vector<std::string> words_of(std::string_view text, TextForm form, std::string_view origin);
// The reverse of encode: blanks between words (none at character level), a newline for `<eos>`.
std::string decode(std::span<const int32_t> ids, const Vocabulary& vocabulary, Level level);

}  // namespace unroll
