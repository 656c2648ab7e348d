#include "examples/ptb/text/text.h"

#include <algorithm>

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

constexpr Split all_splits[] = {Split::train, Split::valid, Split::test};

GrammarCorpus generate(const Recipe& recipe) {
  const auto size = [&](int64_t tokens) {
    return recipe.data.limit ? std::min(tokens, recipe.data.limit) : tokens;
  };
  return generate_grammar_corpus(recipe.data.seed, {.train = size(recipe.data.train_tokens),
                                                    .valid = size(recipe.data.valid_tokens),
                                                    .test = size(recipe.data.test_tokens)});
}

// Tokens of a split of the grammar without data.limit; `made` were made. Sentences stay whole, so these are a few more
// than asked for.
int64_t whole_of_grammar(const Recipe& recipe, Split split, int64_t made) {
  const auto& data = recipe.data;
  const int64_t asked = split == Split::train   ? data.train_tokens
                        : split == Split::valid ? data.valid_tokens
                                                : data.test_tokens;
  return std::max(made, data.limit ? asked : made);
}

// Cuts text from files. Sentences of the grammar stay whole, since the source gives probabilities of sentences.
void cut(std::vector<int32_t>& tokens, std::vector<int64_t>& documents, int64_t limit) {
  if (limit == 0 || std::ssize(tokens) <= limit) return;
  tokens.resize(static_cast<size_t>(limit));
  documents.erase(std::ranges::lower_bound(documents, limit), documents.end());
}

// Counts the unknown words among the first `tokens` tokens of a split.
int64_t count_unknown(const Reading& reading, int64_t tokens) {
  return std::ranges::lower_bound(reading.unknown, tokens) - reading.unknown.begin();
}

// Adds notes on a split of which `tokens` out of `whole` tokens are used.
void add_size_notes(const Recipe& recipe, Split split, bool scored, int64_t tokens, int64_t whole,
                    std::vector<std::string>& notes) {
  if (tokens < whole)
    notes.push_back(fmt::format("data.limit = {}: the first {} of the {} text's {} tokens are used",
                                recipe.data.limit, with_commas(tokens), unroll::name(split),
                                with_commas(whole)));
  if (scored && recipe.data.eval_batch > tokens)
    notes.push_back(fmt::format("the {} text has {} tokens, and is scored in as many streams, not in {}",
                                unroll::name(split), with_commas(tokens), recipe.data.eval_batch));
}

void add_notes(const Reading& reading, Split split, std::vector<std::string>& notes) {
  if (reading.documents.size() == 1)
    notes.push_back(
        fmt::format("data.reset = \"document\": no blank line divides the {} text, which is one document",
                    unroll::name(split)));
  if (reading.written_ends > 0)
    notes.push_back(fmt::format(
        "the {} text writes {} {} times: each ends a line, and the line break right after it is that same end",
        unroll::name(split), Vocabulary::end_of_sentence, with_commas(reading.written_ends)));
  if (reading.sentence_marks > 0)
    notes.push_back(fmt::format(
        "the {} text has <s> or </s> {} times: each is scored like a word, and easy to predict where every "
        "line has it",
        unroll::name(split), with_commas(reading.sentence_marks)));
}

}  // namespace

Text load_text(const Recipe& recipe, const fs::path& data) {
  const fs::path folder = text_folder(recipe, data);
  if (recipe.data.corpus == CorpusKind::grammar) {
    GrammarCorpus made = generate(recipe);
    Text text{.corpus = std::move(made.corpus),
              .source_valid = made.source_valid_perplexity,
              .source_test = made.source_test_perplexity};
    for (const Split split : all_splits) {
      const int64_t tokens = std::ssize(text.corpus.split(split));
      int64_t& whole = text.whole[static_cast<size_t>(split)];
      whole = whole_of_grammar(recipe, split, tokens);
      add_size_notes(recipe, split, split != Split::train, tokens, whole, text.notes);
    }
    return text;
  }
  Corpus corpus = recipe.data.corpus == CorpusKind::ptb ? load_ptb(folder, form_of(recipe))
                                                        : unroll::load_text(folder, form_of(recipe));
  Text text;
  std::vector<int32_t>* const tokens_of[] = {&corpus.train, &corpus.valid, &corpus.test};
  for (size_t k = 0; k < 3; ++k) {
    text.whole[k] = std::ssize(*tokens_of[k]);
    cut(*tokens_of[k], corpus.readings[k].documents, recipe.data.limit);
  }
  for (const Split split : all_splits) {
    const int64_t tokens = std::ssize(corpus.split(split));
    add_size_notes(recipe, split, split != Split::train, tokens, text.whole[static_cast<size_t>(split)],
                   text.notes);
    add_notes(corpus.reading(split), split, text.notes);
    if (split == Split::train) continue;
    const int64_t unknown = count_unknown(corpus.reading(split), tokens);
    (split == Split::valid ? text.unknown_valid : text.unknown_test) = unknown;
    if (unknown > 0)
      text.notes.push_back(
          fmt::format("of the {} text {}", unroll::name(split), describe_unknown(unknown, tokens)));
  }
  text.corpus = std::move(corpus);
  return text;
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
    SplitText text{.tokens = made.corpus.split(split), .source = source};
    text.whole = whole_of_grammar(recipe, split, std::ssize(text.tokens));
    add_size_notes(recipe, split, true, std::ssize(text.tokens), text.whole, text.notes);
    return text;
  }
  const auto load = recipe.data.corpus == CorpusKind::ptb ? load_ptb_split : load_text_split;
  Reading reading;
  SplitText text{.tokens = load(folder, split, vocabulary, form_of(recipe), &reading)};
  text.whole = std::ssize(text.tokens);
  cut(text.tokens, reading.documents, recipe.data.limit);
  add_size_notes(recipe, split, true, std::ssize(text.tokens), text.whole, text.notes);
  text.unknown = count_unknown(reading, std::ssize(text.tokens));
  add_notes(reading, split, text.notes);
  text.documents = std::move(reading.documents);
  return text;
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

int64_t windows_of_epoch(const Recipe& recipe, int64_t length, int epoch) {
  if (!recipe.data.variable_bptt) return (length + recipe.data.bptt - 1) / recipe.data.bptt;
  int64_t windows = 0;
  for (int64_t end = 0; end < length; ++windows) end += steps_of_window(recipe, epoch, windows);
  return windows;
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
