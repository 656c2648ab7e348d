// The text that a recipe asks for, and how training cuts it.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/text/corpus.h"
#include "examples/ptb/model/recipe.h"

namespace ptb {

struct Text {
  Corpus corpus;
  std::array<int64_t, 3> whole =
      {};  // tokens of train, valid and test, with those that data.limit leaves out
  // The perplexity of each split under the source itself, the floor of every model. Built-in grammar only.
  std::optional<double> source_valid = {}, source_test = {};
  int64_t unknown_valid = 0,
          unknown_test = 0;             // tokens that are not in the vocabulary: `<unk>` stands for them
  std::vector<std::string> notes = {};  // what to know about the text, a line each

  // Places where documents begin; empty unless data.reset = "document".
  const std::vector<int64_t>& documents(Split split) const& { return corpus.reading(split).documents; }
  const std::vector<int64_t>& documents(Split split) const&& = delete;
};

// "12 of 40 tokens, 30.0 %, are not in the model's vocabulary and count as <unk>"; "" if there are none.
std::string describe_unknown(int64_t unknown, int64_t tokens);

// The folder of a recipe's text: `data`, or data/ptb if that is empty; empty for the grammar. Throws InputError if the
// recipe needs `data` and it is empty, or if nothing would read it.
std::filesystem::path text_folder(const Recipe& recipe, const std::filesystem::path& data);

// The corpus of a recipe, from that folder. Throws InputError.
Text load_text(const Recipe& recipe, const std::filesystem::path& data);

// One split under the vocabulary of a saved model. The recipe's data.eval_batch is the number of streams that score it.
struct SplitText {
  std::vector<int32_t> tokens;
  std::vector<int64_t> documents = {};  // where they begin, with data.reset = "document"
  int64_t whole = 0;                    // how many there are, with those that data.limit leaves out
  int64_t unknown = 0;                  // of them are not in the vocabulary: `<unk>` stands for them
  std::optional<double> source = {};    // perplexity under the source
  std::vector<std::string> notes = {};
};
SplitText load_split(const Recipe& recipe, const std::filesystem::path& data, Split split,
                     const Vocabulary& vocabulary);

// Throws InputError if `tokens` training tokens are too few for data.batch streams.
void check_streams(const Recipe& recipe, int64_t tokens);

// Time steps of a window that the end of the text does not cut. Epochs count from 1.
int steps_of_window(const Recipe& recipe, int epoch, int64_t window);
// Number of windows of an epoch over streams of `length` target tokens.
int64_t windows_of_epoch(const Recipe& recipe, int64_t length, int epoch);

// Fingerprint of the tokens, and of the places where documents begin if there are any.
std::string fingerprint_of(std::span<const int32_t> tokens, std::span<const int64_t> documents);

// "the built-in grammar", "Penn Treebank in data/ptb"
std::string describe(const Recipe& recipe, const std::filesystem::path& data);

}  // namespace ptb
