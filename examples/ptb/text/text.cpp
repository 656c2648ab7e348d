#include "examples/ptb/text/text.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "data/text/grammar.h"
#include "data/windows.h"
#include "framework/check.h"
#include "framework/random.h"
#include "training/report/run_description.h"

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
  const auto& data = recipe.data;
  return generate_grammar_corpus(data.seed, {.train = data.train_tokens,
                                             .valid = data.valid_tokens,
                                             .test = data.test_tokens,
                                             .limit = data.limit});
}

// Adds notes on how many tokens of a split are used; `scored`: and in how many streams.
void add_size_notes(const Recipe& recipe, Split split, bool scored, SplitText& text) {
  const int64_t tokens = std::ssize(text.tokens);
  if (tokens < text.whole)
    text.notes.push_back(fmt::format("data.limit = {}: the first {} of the {} text's {} tokens are used",
                                     recipe.data.limit, with_commas(tokens), unroll::name(split),
                                     with_commas(text.whole)));
  if (scored && recipe.data.eval_batch > tokens)
    text.notes.push_back(fmt::format("the {} text has {} tokens, and is scored in {} streams, not in {}",
                                     unroll::name(split), with_commas(tokens),
                                     evaluation_streams(tokens, text.documents, recipe.data.eval_batch),
                                     recipe.data.eval_batch));
}

// Sentences of the grammar stay whole, since the source gives probabilities of sentences: these are a few more tokens than asked
// for.
SplitText of_grammar(const Recipe& recipe, const GrammarCorpus& made, Split split, bool scored) {
  const auto& data = recipe.data;
  const auto [asked, source] =
      split == Split::train   ? std::pair(data.train_tokens, made.source_train_perplexity)
      : split == Split::valid ? std::pair(data.valid_tokens, made.source_valid_perplexity)
                              : std::pair(data.test_tokens, made.source_test_perplexity);
  SplitText text{.tokens = made.corpus.split(split), .source = source};
  text.whole = std::max(std::ssize(text.tokens), data.limit ? asked : 0);
  add_size_notes(recipe, split, scored, text);
  return text;
}

// Text from files, as far as data.limit goes.
SplitText of_files(const Recipe& recipe, std::vector<int32_t> tokens, Reading reading, Split split,
                   bool scored) {
  SplitText text{.tokens = std::move(tokens), .documents = std::move(reading.documents)};
  const int64_t limit = recipe.data.limit;
  const bool undivided = text.documents.size() == 1;
  text.whole = std::ssize(text.tokens);
  if (limit > 0 && limit < text.whole) {
    text.tokens.resize(static_cast<size_t>(limit));
    text.documents.erase(std::ranges::lower_bound(text.documents, limit), text.documents.end());
  }
  text.unknown = std::ranges::lower_bound(reading.unknown, std::ssize(text.tokens)) - reading.unknown.begin();
  add_size_notes(recipe, split, scored, text);
  if (undivided)
    text.notes.push_back(
        fmt::format("data.reset = \"document\": no blank line divides the {} text, which is one document",
                    unroll::name(split)));
  const auto times = [](int64_t count) { return count == 1 ? "once" : with_commas(count) + " times"; };
  if (reading.written_ends > 0)
    text.notes.push_back(fmt::format(
        "the {} text writes {} {}: each ends a line, and the line break right after it is that same end",
        unroll::name(split), Vocabulary::end_of_sentence, times(reading.written_ends)));
  if (reading.sentence_marks > 0)
    text.notes.push_back(fmt::format(
        "the {} text has <s> or </s> {}: each is scored like a word, easy to predict if all lines have it",
        unroll::name(split), times(reading.sentence_marks)));
  return text;
}

}  // namespace

const SplitText& Text::split(Split split) const& {
  return split == Split::train ? train : split == Split::valid ? valid : test;
}

Text load_text(const Recipe& recipe, const fs::path& data) {
  const fs::path folder = text_folder(recipe, data);
  Text text;
  GrammarCorpus made{};
  if (recipe.data.corpus == CorpusKind::grammar)
    made = generate(recipe);
  else
    made.corpus = recipe.data.corpus == CorpusKind::ptb ? load_ptb(folder, form_of(recipe))
                                                        : unroll::load_text(folder, form_of(recipe));
  Corpus& corpus = made.corpus;
  for (auto& [split, tokens, to] : {std::tuple{Split::train, &corpus.train, &text.train},
                                    {Split::valid, &corpus.valid, &text.valid},
                                    {Split::test, &corpus.test, &text.test}}) {
    const bool scored = split != Split::train;
    *to = recipe.data.corpus == CorpusKind::grammar
              ? of_grammar(recipe, made, split, scored)
              : of_files(recipe, std::move(*tokens), corpus.reading(split), split, scored);
    std::ranges::copy(to->notes, std::back_inserter(text.notes));
    if (scored && to->unknown > 0)
      text.notes.push_back(fmt::format("of the {} text {}", unroll::name(split),
                                       describe_unknown(to->unknown, std::ssize(to->tokens))));
  }
  text.vocabulary = std::move(corpus.vocabulary);
  return text;
}

SplitText load_split(const Recipe& recipe, const fs::path& data, Split split, const Vocabulary& vocabulary) {
  const fs::path folder = text_folder(recipe, data);
  if (recipe.data.corpus == CorpusKind::grammar) {
    const GrammarCorpus made = generate(recipe);
    require_input(made.corpus.vocabulary.words() == vocabulary.words(),
                  "the model's vocabulary is not that of the built-in grammar: another version of it made "
                  "the model's text");
    return of_grammar(recipe, made, split, true);
  }
  const auto load = recipe.data.corpus == CorpusKind::ptb ? load_ptb_split : load_text_split;
  Reading reading;
  std::vector<int32_t> tokens = load(folder, split, vocabulary, form_of(recipe), &reading);
  return of_files(recipe, std::move(tokens), std::move(reading), split, true);
}

std::string describe_unknown(int64_t unknown, int64_t tokens) {
  if (unknown == 0) return "";
  return fmt::format("{} of {} tokens, {:.1f} %, are not in the model's vocabulary and count as {}", unknown,
                     tokens, 100 * static_cast<double>(unknown) / static_cast<double>(tokens),
                     Vocabulary::unknown);
}

void check_streams(const Recipe& recipe, int64_t tokens) {
  require_input(tokens > recipe.data.batch,
                "{}: data.batch = {}: {} tokens to train on are too few for so many streams", recipe.name,
                recipe.data.batch, tokens);
}

int steps_of_window(const Recipe& recipe, int epoch, int64_t window) {
  return recipe.data.variable_bptt ? variable_steps(recipe.data.bptt, recipe.training.seed, epoch, window)
                                   : recipe.data.bptt;
}

EpochWindows windows_of(const Recipe& recipe, int64_t tokens) {
  const int64_t length = (tokens - 1) / recipe.data.batch;
  if (!recipe.data.variable_bptt) return (length + recipe.data.bptt - 1) / recipe.data.bptt;
  return EpochWindows([&recipe, length](int epoch) {
    int64_t windows = 0;
    for (int64_t end = 0; end < length; ++windows) end += steps_of_window(recipe, epoch, windows);
    return windows;
  });
}

std::string fingerprint_of(std::span<const int32_t> tokens, std::span<const int64_t> documents) {
  const auto of = [](auto numbers) {
    return fmt::format("{:016x}",
                       place_of({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()}));
  };
  return documents.empty() ? of(tokens) : of(tokens) + of(documents);
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
