// See corpus.h.
#include "data/corpus.h"

#include <fmt/format.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

namespace fs = std::filesystem;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

// Calls symbol(text of the symbol, its line) for each word or character and for each newline.
template <class F>
void for_each_symbol(std::string_view text, Level level, std::string_view origin, F symbol) {
  int64_t line = 1;
  std::size_t word_begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = code_point_size(text.substr(i));
    require_input(size > 0, "{}:{}: this is not UTF-8 text (byte {:#04x})", origin, line,
                  static_cast<unsigned char>(text[i]));
    const bool newline = text[i] == '\n';
    const bool line_end = newline || (text[i] == '\r' && text.substr(i + 1).starts_with('\n'));
    if (level == Level::word && (newline || is_blank(text[i]))) {
      if (word_begin < i) symbol(text.substr(word_begin, i - word_begin), line);
      word_begin = i + 1;
    } else if (level == Level::character && !line_end) {
      symbol(text.substr(i, size), line);
    }
    if (newline) symbol(Vocabulary::end_of_sentence, line++);
    i += size;
  }
  if (level == Level::word && word_begin < text.size()) symbol(text.substr(word_begin), line);
}

// The file's text, its last line ended. Never without a word.
std::string read_split(const fs::path& path) {
  std::string text = read_file(path);
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  require_input(text.find_first_not_of(" \t\r\v\f\n") != std::string::npos, "{}: {}", path.string(),
                text.empty() ? "the file is empty" : "the file has no words");
  if (text.back() != '\n') text += '\n';
  return text;
}

using FileOf = fs::path (*)(const fs::path&, Split);

Corpus load(const fs::path& directory, FileOf file_of, Level level) {
  Corpus corpus;
  const fs::path train = file_of(directory, Split::train);
  for_each_symbol(read_split(train), level, train.string(), [&](std::string_view word, int64_t) {
    corpus.train.push_back(corpus.vocabulary.add(word));
  });
  for (const Split split : {Split::valid, Split::test}) {
    const fs::path path = file_of(directory, split);
    (split == Split::valid ? corpus.valid : corpus.test) =
        encode(read_split(path), corpus.vocabulary, level, path.string());
  }
  return corpus;
}

void require_folder(const fs::path& directory) {
  std::error_code error;
  const bool is_folder = fs::is_directory(directory, error);  // before its error is looked at
  require_input(is_folder, "{}: there is no such folder of text{}", directory.string(),
                error && error != std::errc::no_such_file_or_directory ? ": " + error.message() : "");
}

void require_ptb(const fs::path& directory, std::initializer_list<Split> splits) {
  for (const Split split : splits) {
    const fs::path path = ptb_file(directory, split);
    std::error_code error;
    require_input(
        fs::exists(path, error),
        "{}: the Penn Treebank is not there; fetch it with data/get-ptb.sh, or name its folder with --data",
        path.string());
  }
}

}  // namespace

std::string_view name(Split split) {
  return split == Split::train ? "train" : split == Split::valid ? "valid" : "test";
}

const std::vector<int32_t>& Corpus::split(Split split) const {
  return split == Split::train ? train : split == Split::valid ? valid : test;
}

fs::path ptb_file(const fs::path& directory, Split split) {
  return directory / fmt::format("ptb.{}.txt", name(split));
}
fs::path text_file(const fs::path& directory, Split split) {
  return directory / fmt::format("{}.txt", name(split));
}

Corpus load_ptb(const fs::path& directory, Level level) {
  require_ptb(directory, {Split::train, Split::valid, Split::test});
  return load(directory, ptb_file, level);
}

Corpus load_text(const fs::path& directory, Level level) {
  require_folder(directory);
  return load(directory, text_file, level);
}

std::vector<int32_t> load_ptb_split(const fs::path& directory, Split split, const Vocabulary& vocabulary,
                                    Level level, std::vector<int64_t>* unknown) {
  require_ptb(directory, {split});
  const fs::path path = ptb_file(directory, split);
  return encode(read_split(path), vocabulary, level, path.string(), unknown);
}

std::vector<int32_t> load_text_split(const fs::path& directory, Split split, const Vocabulary& vocabulary,
                                     Level level, std::vector<int64_t>* unknown) {
  require_folder(directory);
  const fs::path path = text_file(directory, split);
  return encode(read_split(path), vocabulary, level, path.string(), unknown);
}

std::vector<int32_t> encode(std::string_view text, const Vocabulary& vocabulary, Level level,
                            std::string_view origin, std::vector<int64_t>* unknown) {
  std::vector<int32_t> ids;
  for_each_symbol(text, level, origin, [&](std::string_view word, int64_t line) {
    const auto known = vocabulary.find(word);
    const auto id = known ? known : vocabulary.find(Vocabulary::unknown);
    require_input(id.has_value(),
                  "{}:{}: '{}' is not in the vocabulary of the training split, which has no {} for it",
                  origin, line, one_line(word), Vocabulary::unknown);
    if (!known && unknown) unknown->push_back(std::ssize(ids));
    ids.push_back(*id);
  });
  return ids;
}

std::string decode(std::span<const int32_t> ids, const Vocabulary& vocabulary, Level level) {
  std::string text;
  bool line_begins = true;
  for (const int32_t id : ids) {
    const std::string& word = vocabulary.word(id);
    const bool newline = word == Vocabulary::end_of_sentence;
    if (level == Level::word && !line_begins && !newline) text += ' ';
    text += newline ? "\n" : word;
    line_begins = newline;
  }
  return text;
}

}  // namespace unroll
