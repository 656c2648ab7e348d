#include "training/vocabulary_file.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "training/json_text.h"

namespace unroll {

namespace {

// `what` is the file, or what is meant in it.
Vocabulary from_json(const std::string& text, const std::string& what) {
  const auto words = nlohmann::json::parse(text, nullptr, false);
  const auto is_text = [](const auto& word) { return word.is_string(); };
  require_input(words.is_array() && std::ranges::all_of(words, is_text), "{} is not a JSON array of words",
                what);
  require_input(!words.empty(), "{} is empty", what);
  try {
    return Vocabulary(words.get<std::vector<std::string>>());
  } catch (const InputError& error) { throw InputError(fmt::format("{}: {}", what, error.what())); }
}

Vocabulary from_lines(const std::string& text, const std::string& file) {
  Vocabulary vocabulary;
  int line = 0;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    std::string word = text.substr(begin, end - begin);
    if (word.ends_with('\r')) word.pop_back();
    ++line;
    require_input(!word.empty(), "{}:{}: an empty line, where a word must stand on each", file, line);
    require_input(is_utf8(word), "{}:{}: not UTF-8 text", file, line);
    const int32_t id = vocabulary.add(word);
    require_input(id == line - 1, "{}:{}: '{}' stands in line {} already", file, line, one_line(word),
                  id + 1);
  }
  require_input(line > 0, "{}: the file is empty", file);
  return vocabulary;
}

}  // namespace

Vocabulary vocabulary_of(const SafetensorsFile& file) {
  const auto found = file.metadata().find("vocabulary");
  require_input(found != file.metadata().end(), "{}: there is no vocabulary in its metadata", file.path());
  return from_json(found->second, file.path() + ": the vocabulary in its metadata");
}

std::string vocabulary_metadata(const Vocabulary& vocabulary) {
  for (const std::string& word : vocabulary.words())
    require_input(is_utf8(word), "vocabulary: the word '{}' is not UTF-8", one_line(word));
  return json_text(nlohmann::json(vocabulary.words()));
}

Vocabulary load_vocabulary(const std::filesystem::path& path) {
  std::error_code unreadable;  // which opening it says
  require_input(!std::filesystem::is_directory(path, unreadable), "{}: a folder, not a file", path.string());
  const std::string bytes = read_file(path);
  const std::string text(without_byte_order_mark(bytes));
  return path.extension() == ".json" ? from_json(text, path.string()) : from_lines(text, path.string());
}

}  // namespace unroll
