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
  // Of the built-in grammar: the perplexity of each split under the source itself, the floor of every model.
  std::optional<double> source_valid = {}, source_test = {};
  int64_t unknown_valid = 0,
          unknown_test = 0;             // tokens that are not in the vocabulary: `<unk>` stands for them
  std::vector<std::string> notes = {};  // what to know about the text, a line each

  // Where documents begin, with data.reset = "document".
  const std::vector<int64_t>& documents(Split split) const& { return corpus.reading(split).documents; }
  const std::vector<int64_t>& documents(Split split) const&& = delete;
};

// "12 of 40 tokens, 30.0 %, are not in the model's vocabulary and count as <unk>"; "" where there are none.
std::string describe_unknown(int64_t unknown, int64_t tokens);

// The folder that a recipe's text is in: `data`, or where that is empty data/ptb; empty for the grammar. Throws InputError
// where `data` is wanted, or would not be read.
std::filesystem::path text_folder(const Recipe& recipe, const std::filesystem::path& data);

// The corpus of a recipe, from that folder. Throws InputError.
Text load_text(const Recipe& recipe, const std::filesystem::path& data);

// One split under the vocabulary of a saved model; data.eval_batch of the recipe is how many streams score it.
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

// Throws InputError where `tokens` to train on are too few for data.batch streams.
void check_streams(const Recipe& recipe, int64_t tokens);

// Steps of time of a window in an epoch, counted from 1, where the end of the text does not cut it.
int steps_of_window(const Recipe& recipe, int epoch, int64_t window);
// Windows of an epoch over streams of `length` tokens to predict.
int64_t windows_of_epoch(const Recipe& recipe, int64_t length, int epoch);

// Of the tokens, and of where documents begin, if that matters.
std::string fingerprint_of(std::span<const int32_t> tokens, std::span<const int64_t> documents);

// "the built-in grammar", "Penn Treebank in data/ptb"
std::string describe(const Recipe& recipe, const std::filesystem::path& data);

}  // namespace ptb
