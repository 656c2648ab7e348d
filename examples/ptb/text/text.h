// The text that a recipe asks for, and how training cuts it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/text/corpus.h"
#include "examples/ptb/model/recipe.h"

namespace ptb {

// A split of a text.
struct SplitText {
  std::vector<int32_t> tokens;
  std::vector<int64_t> documents = {};  // where they begin; empty unless data.reset = "document"
  int64_t whole = 0;                    // how many tokens there are, with those that data.limit leaves out
  int64_t unknown = 0;                  // of them are not in the vocabulary: `<unk>` stands for them
  std::optional<double> source = {};  // perplexity under the source, the floor of every model: of the grammar
  std::vector<std::string> notes = {};  // what to know about it, a line each
};
struct Text {
  Vocabulary vocabulary;
  SplitText train, valid, test;
  std::vector<std::string> notes = {};  // of all splits

  const SplitText& split(Split split) const&;
  const SplitText& split(Split split) const&& = delete;
};

// "12 of 40 tokens, 30.0 %, are not in the model's vocabulary and count as <unk>"; "" if there are none.
std::string describe_unknown(int64_t unknown, int64_t tokens);

// The folder of a recipe's text: `data`, or data/ptb if that is empty; empty for the grammar. Throws InputError if the
// recipe needs `data` and it is empty, or if nothing would read it.
std::filesystem::path text_folder(const Recipe& recipe, const std::filesystem::path& data);

// The corpus of a recipe, from that folder. Throws InputError.
Text load_text(const Recipe& recipe, const std::filesystem::path& data);

// One split under the vocabulary of a saved model. The recipe's data.eval_batch is the number of streams that score it.
SplitText load_split(const Recipe& recipe, const std::filesystem::path& data, Split split,
                     const Vocabulary& vocabulary);

// Throws InputError if `tokens` training tokens are too few for data.batch streams.
void check_streams(const Recipe& recipe, int64_t tokens);

// Time steps of a window that the end of the text does not cut. Epochs count from 1.
int steps_of_window(const Recipe& recipe, int epoch, int64_t window);
// Numbers of windows of a text of `tokens` training tokens. They refer to the recipe.
EpochWindows windows_of(const Recipe& recipe, int64_t tokens);

// Fingerprint of the tokens, and of the places where documents begin if there are any.
std::string fingerprint_of(std::span<const int32_t> tokens, std::span<const int64_t> documents);

// "the built-in grammar", "Penn Treebank in data/ptb"
std::string describe(const Recipe& recipe, const std::filesystem::path& data);

}  // namespace ptb
