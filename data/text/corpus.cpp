// See corpus.h.
#include "data/text/corpus.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

namespace fs = std::filesystem;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }

// Sentences' marks of other toolkits: words, for us.
bool is_mark(std::string_view word) { return word == "<s>" || word == "</s>"; }

// The first place of the word `<eos>`; npos if there is none.
std::size_t find_end(std::string_view line) {
  constexpr std::string_view end = Vocabulary::end_of_sentence;
  for (std::size_t at = line.find(end); at != line.npos; at = line.find(end, at + 1)) {
    const std::size_t after = at + end.size();
    if ((at == 0 || is_blank(line[at - 1])) && (after == line.size() || is_blank(line[after]))) return at;
  }
  return line.npos;
}

std::string_view without_blanks_before(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}
std::string_view without_blanks_after(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Calls token(text of the symbol, its line) for each word or character and for each end of a line. Fills in the
// reading's ends, marks and documents.
template <class F>
void for_each_token(std::string_view text, TextForm form, std::string_view origin, Reading& reading,
                    F token) {
  const Level level = form.level;
  int64_t line = 1, tokens = 0;
  bool document_begins = form.documents;
  const auto symbol = [&](std::string_view word, int64_t of_line) {
    if (document_begins) reading.documents.push_back(tokens);
    document_begins = false;
    ++tokens;
    reading.sentence_marks += is_mark(word);
    token(word, of_line);
  };
  const auto add = [&](std::string_view part) {
    std::size_t word_begin = 0;
    for (std::size_t i = 0; i < part.size();) {
      const std::size_t size = code_point_size(part.substr(i));
      if (size == 0) throw_no_text(origin, line, part[i]);
      if (level == Level::character) {
        symbol(part.substr(i, size), line);
      } else if (is_blank(part[i])) {
        if (word_begin < i) symbol(part.substr(word_begin, i - word_begin), line);
        word_begin = i + 1;
      }
      i += size;
    }
    if (level == Level::word && word_begin < part.size()) symbol(part.substr(word_begin), line);
  };
  for (; !text.empty(); ++line) {
    auto [rest, has_end] = take_line(text);
    if (form.documents && has_end && without_blanks_before(rest).empty()) {
      document_begins = true;
      continue;
    }
    bool has_ended = false;  // by an `<eos>` with nothing but blanks after it
    for (std::size_t end = find_end(rest); end != rest.npos; end = find_end(rest)) {
      add(without_blanks_after(rest.substr(0, end)));
      symbol(Vocabulary::end_of_sentence, line);
      rest = without_blanks_before(rest.substr(end + Vocabulary::end_of_sentence.size()));
      has_ended = rest.empty();
      ++reading.written_ends;
    }
    add(rest);
    if (has_end && !has_ended) symbol(Vocabulary::end_of_sentence, line);
  }
  if (document_begins && tokens > 0) reading.documents.push_back(tokens);
}

// The file's text, its last line ended. Never without a word.
std::string read_split(const fs::path& path) {
  std::string text = read_file(path);
  require_input(text.find_first_not_of(" \t\r\v\f\n") != std::string::npos, "{}: {}", path.string(),
                text.empty() ? "the file is empty" : "the file has no words");
  if (text.back() != '\n') text += '\n';
  return text;
}

void require_words(const fs::path& path, std::span<const int32_t> ids, const Vocabulary& vocabulary) {
  const auto eos = vocabulary.find(Vocabulary::end_of_sentence);
  require_input(std::ranges::any_of(ids, [&](int32_t id) { return id != eos; }), "{}: the file has no words",
                path.string());
}

using FileOf = fs::path (*)(const fs::path&, Split);

// The blank lines that a file ends with begin no document.
void drop_empty_document(Reading& reading, int64_t tokens) {
  if (!reading.documents.empty() && reading.documents.back() == tokens) reading.documents.pop_back();
}

std::vector<int32_t> load_split(const fs::path& path, const Vocabulary& vocabulary, TextForm form,
                                Reading* reading) {
  std::vector<int32_t> ids = encode(read_split(path), vocabulary, form, path.string(), reading);
  require_words(path, ids, vocabulary);
  if (reading) drop_empty_document(*reading, std::ssize(ids));
  return ids;
}

Corpus load(const fs::path& directory, FileOf file_of, TextForm form) {
  Corpus corpus;
  const fs::path train = file_of(directory, Split::train);
  Reading& of_train = corpus.readings[0];
  for_each_token(read_split(train), form, train.string(), of_train, [&](std::string_view word, int64_t) {
    corpus.train.push_back(corpus.vocabulary.add(word));
  });
  require_words(train, corpus.train, corpus.vocabulary);
  drop_empty_document(of_train, std::ssize(corpus.train));
  for (const Split split : {Split::valid, Split::test})
    (split == Split::valid ? corpus.valid : corpus.test) =
        load_split(file_of(directory, split), corpus.vocabulary, form,
                   &corpus.readings[static_cast<std::size_t>(split)]);
  return corpus;
}

// Throws if a file is missing and the folder has the one that another data.corpus reads.
void require_not_other(const fs::path& missing, const fs::path& other, const char* corpus) {
  std::error_code error;
  require_input(fs::exists(missing, error) || !fs::exists(other, error),
                "{}: there is no such file; beside it is {}, which data.corpus = \"{}\" reads",
                missing.string(), other.filename().string(), corpus);
}

void require_ptb(const fs::path& directory, std::initializer_list<Split> splits) {
  for (const Split split : splits) {
    const fs::path path = ptb_file(directory, split);
    require_not_other(path, text_file(directory, split), "text");
    std::error_code error;
    require_input(
        fs::exists(path, error),
        "{}: the Penn Treebank is not there; fetch it with data/get-ptb.sh, or name its folder with --data",
        path.string());
  }
}

void require_text(const fs::path& directory, Split split) {
  std::error_code error;
  const bool is_folder = fs::is_directory(directory, error);  // before its error is looked at
  require_input(is_folder, "{}: there is no such folder of text{}", directory.string(),
                error && error != std::errc::no_such_file_or_directory ? ": " + error.message() : "");
  require_not_other(text_file(directory, split), ptb_file(directory, split), "ptb");
}

}  // namespace

std::string_view name(Split split) {
  return split == Split::train ? "train" : split == Split::valid ? "valid" : "test";
}

const Reading& Corpus::reading(Split split) const { return readings[static_cast<std::size_t>(split)]; }
const std::vector<int32_t>& Corpus::split(Split split) const& {
  return split == Split::train ? train : split == Split::valid ? valid : test;
}

fs::path ptb_file(const fs::path& directory, Split split) {
  return directory / fmt::format("ptb.{}.txt", name(split));
}
fs::path text_file(const fs::path& directory, Split split) {
  return directory / fmt::format("{}.txt", name(split));
}

Corpus load_ptb(const fs::path& directory, TextForm form) {
  require_ptb(directory, {Split::train, Split::valid, Split::test});
  return load(directory, ptb_file, form);
}

Corpus load_text(const fs::path& directory, TextForm form) {
  require_text(directory, Split::train);
  return load(directory, text_file, form);
}

std::vector<int32_t> load_ptb_split(const fs::path& directory, Split split, const Vocabulary& vocabulary,
                                    TextForm form, Reading* reading) {
  require_ptb(directory, {split});
  return load_split(ptb_file(directory, split), vocabulary, form, reading);
}

std::vector<int32_t> load_text_split(const fs::path& directory, Split split, const Vocabulary& vocabulary,
                                     TextForm form, Reading* reading) {
  require_text(directory, split);
  return load_split(text_file(directory, split), vocabulary, form, reading);
}

void check_words(const Vocabulary& vocabulary, Level level, std::string_view origin) {
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string& word = vocabulary.word(id);
    const bool is_whole =
        level == Level::character
            ? code_point_size(word) == word.size() || (word.starts_with('<') && word.ends_with('>'))
            : std::ranges::none_of(word, [](char c) { return is_blank(c) || c == '\n' || c == '\r'; });
    require_input(
        is_whole, "{}: word {} is '{}': {}", origin, id + 1, one_line(word),
        level == Level::character
            ? "data.level = \"char\" has characters, and no words but those in angle brackets such as <unk>"
            : "no word of a text has a blank in it; there must be words alone, without counts");
  }
}

std::vector<int32_t> encode(std::string_view text, const Vocabulary& vocabulary, TextForm form,
                            std::string_view origin, Reading* reading) {
  std::vector<int32_t> ids;
  Reading own;
  Reading& r = reading ? *reading : own;
  for_each_token(text, form, origin, r, [&](std::string_view word, int64_t line) {
    const auto known = vocabulary.find(word);
    const auto id = known ? known : vocabulary.find(Vocabulary::unknown);
    require_input(
        id.has_value(),
        "{}:{}: '{}' is not in the vocabulary of the training split, which has no {} for it: take it "
        "out, or train on a text that has {}",
        origin, line, one_line(word), Vocabulary::unknown,
        form.level == Level::character ? "it" : "<unk> in place of rare words");
    if (!known) r.unknown.push_back(std::ssize(ids));
    ids.push_back(*id);
  });
  return ids;
}

std::vector<std::string> words_of(std::string_view text, TextForm form, std::string_view origin) {
  std::vector<std::string> words;
  Reading reading;
  for_each_token(text, form, origin, reading, [&](std::string_view word, int64_t) { words.emplace_back(word); });
  return words;
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
