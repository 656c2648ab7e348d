#include "training/files/vocabulary_file.h"

#include <algorithm>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "training/files/json/json.h"

namespace unroll {

namespace {

// `what`: the file, or the part of it that is meant.
Vocabulary from_json(const std::string& text, const std::string& what) {
  const auto json = parse_json(text);
  const auto is_word = [](const auto& element) { return element.is_string(); };
  require_input(json.is_array() && std::ranges::all_of(json, is_word), "{} is not a JSON array of words",
                what);
  require_input(!json.empty(), "{} is empty", what);
  try {
    return Vocabulary(json.get<std::vector<std::string>>());
  } catch (const InputError& error) { throw InputError(fmt::format("{}: {}", what, error.what())); }
}

Vocabulary from_lines(const std::string& text, const std::string& file) {
  Vocabulary vocabulary;
  int line = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = take_line(rest).text;
    ++line;
    require_input(!word.empty(), "{}:{}: an empty line, where a word must stand on each", file, line);
    for (std::string_view letters = word; !letters.empty(); letters.remove_prefix(code_point_size(letters)))
      if (code_point_size(letters) == 0) throw_no_text(file, line, letters[0]);
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
    require_input(is_utf8(word), "vocabulary: the word '{}' is not UTF-8{}", one_line(word),
                  word.find('\0') == word.npos ? "" : " without NUL bytes");
  return json_text(nlohmann::json(vocabulary.words()));
}

Vocabulary load_vocabulary(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  return path.extension() == ".json" ? from_json(text, path.string()) : from_lines(text, path.string());
}

}  // namespace unroll
