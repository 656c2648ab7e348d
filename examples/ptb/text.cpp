#include "text.h"

#include <algorithm>

#include "data/grammar.h"
#include "data/windows.h"
#include "framework/check.h"

namespace ptb {

std::filesystem::path text_folder(const Recipe& recipe, const std::filesystem::path& data) {
  switch (recipe.data.corpus) {
    case CorpusKind::ptb:
      return data.empty() ? std::filesystem::path("data/ptb") : data;
    case CorpusKind::text:
      require_input(!data.empty(), "{}: the recipe wants text of yours; name its folder with --data",
                    recipe.name);
      return data;
    case CorpusKind::grammar:
      require_input(data.empty(), "{}: the recipe makes its own text, so --data {} would not be read",
                    recipe.name, data.string());
  }
  return {};
}

namespace {

namespace fs = std::filesystem;

GrammarCorpus generate(const Recipe& recipe) {
  const auto size = [&](int64_t tokens) {
    return recipe.data.limit ? std::min(tokens, recipe.data.limit) : tokens;
  };
  return generate_grammar_corpus(recipe.data.seed, {.train = size(recipe.data.train_tokens),
                                                    .valid = size(recipe.data.valid_tokens),
                                                    .test = size(recipe.data.test_tokens)});
}

// Sentences of the grammar stay whole, since the source's probability is that of sentences.
void cut(std::vector<int32_t>& tokens, int64_t limit) {
  if (limit > 0 && std::ssize(tokens) > limit) tokens.resize(static_cast<size_t>(limit));
}

}  // namespace

Text load_text(const Recipe& recipe, const fs::path& data) {
  const fs::path folder = text_folder(recipe, data);
  if (recipe.data.corpus == CorpusKind::grammar) {
    GrammarCorpus made = generate(recipe);
    return {std::move(made.corpus), made.source_valid_perplexity, made.source_test_perplexity};
  }
  Corpus corpus = recipe.data.corpus == CorpusKind::ptb ? load_ptb(folder, recipe.data.level)
                                                        : unroll::load_text(folder, recipe.data.level);
  for (auto* split : {&corpus.train, &corpus.valid, &corpus.test}) cut(*split, recipe.data.limit);
  return {std::move(corpus), {}, {}};
}

SplitText load_split(const Recipe& recipe, const fs::path& data, Split split, const Vocabulary& vocabulary) {
  const fs::path folder = text_folder(recipe, data);
  if (recipe.data.corpus == CorpusKind::grammar) {
    GrammarCorpus made = generate(recipe);
    require_input(made.corpus.vocabulary.words() == vocabulary.words(),
                  "the model's vocabulary is not that of the built-in grammar: another version of it made "
                  "the model's text");
    const double source = split == Split::train   ? made.source_train_perplexity
                          : split == Split::valid ? made.source_valid_perplexity
                                                  : made.source_test_perplexity;
    return {.tokens = made.corpus.split(split), .source = source};
  }
  const auto load = recipe.data.corpus == CorpusKind::ptb ? load_ptb_split : load_text_split;
  std::vector<int64_t> unknown;
  auto tokens = load(folder, split, vocabulary, recipe.data.level, &unknown);
  cut(tokens, recipe.data.limit);
  const auto after = std::ranges::lower_bound(unknown, std::ssize(tokens));
  return {.tokens = std::move(tokens), .unknown = after - unknown.begin(), .source = {}};
}

int steps_of_window(const Recipe& recipe, int epoch, int64_t window) {
  return recipe.data.variable_bptt ? variable_steps(recipe.data.bptt, recipe.training.seed, epoch, window)
                                   : recipe.data.bptt;
}

int64_t windows_of_epoch(const Recipe& recipe, int64_t length, int epoch) {
  if (!recipe.data.variable_bptt) return (length + recipe.data.bptt - 1) / recipe.data.bptt;
  int64_t windows = 0;
  for (int64_t end = 0; end < length; ++windows) end += steps_of_window(recipe, epoch, windows);
  return windows;
}

std::string describe(const Recipe& recipe, const fs::path& data) {
  const fs::path folder = text_folder(recipe, data);
  switch (recipe.data.corpus) {
    case CorpusKind::ptb:
      return "Penn Treebank in " + folder.string();
    case CorpusKind::text:
      return "text in " + folder.string();
    case CorpusKind::grammar:
      return "sentences of the built-in grammar";
  }
  return {};
}

}  // namespace ptb
