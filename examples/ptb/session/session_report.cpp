// Reports from the training of a language model: samples, scores, and whether it can learn at all.
#include <cmath>
#include <map>

#include "data/text/ngram.h"
#include "examples/ptb/scores/surprises.h"
#include "examples/ptb/session/session.h"
#include "examples/ptb/text/writing.h"

namespace ptb {

std::string TextTraining::sample(int epoch) const {
  const int every = recipe_.training.sample_every_epochs;
  if (every == 0 || epoch % every != 0) return {};
  return write_text(model_, text_.corpus.vocabulary, form_of(recipe_),
                    {.words = recipe_.training.sample_words, .seed = recipe_.training.seed});
}

void TextTraining::score_a_little() const {
  const auto& valid = text_.corpus.valid;
  const int64_t few = std::min<int64_t>(std::ssize(valid), int64_t{recipe_.data.batch} * recipe_.data.bptt);
  const Score scored =
      score(model_, std::span(valid).first(static_cast<size_t>(few)), text_.corpus.vocabulary.eos(),
            recipe_.data.eval_batch, text_.documents(Split::valid), recipe_.training.shards);
  console_.print("scoring: perplexity {:.2f} of {} tokens of the valid split\n", scored.perplexity(),
                 with_commas(scored.tokens));
}

// The least mean loss on a window from an empty state. It is above 0 if streams, or documents in them, begin alike and
// then differ.
static double floor_of(const Window& window, const IdTensor& resets) {
  std::vector<std::vector<int32_t>> history(static_cast<size_t>(window.input.dim(1)));
  std::map<std::vector<int32_t>, std::map<int32_t, int>> after;
  for (int t = 0; t < window.input.dim(0); ++t)
    for (size_t stream = 0; stream < history.size(); ++stream) {
      if (resets.defined() && resets[t].data()[stream] != 0) history[stream].clear();
      history[stream].push_back(window.input[t].data()[stream]);
      ++after[history[stream]][window.target[t].data()[stream]];
    }
  double nats = 0;
  for (const auto& [words, targets] : after) {
    double total = 0;
    for (const auto& [target, count] : targets) total += count;
    for (const auto& [target, count] : targets) nats -= count * std::log(count / total);
  }
  return nats / static_cast<double>(window.target.size());
}

void TextTraining::overfit_one_batch() {
  constexpr double near = 0.1;  // nats above the least
  const Window window = windows_.at(0);
  session_.overfit_one_window(fmt::format("one window of {} tokens", window.target.size()),
                              floor_of(window, windows_.resets()), near);
}

void TextTraining::report(double valid, RunDescription& description) {
  const Score test = score_split(Split::test);
  print_score(Split::valid, valid, std::ssize(text_.corpus.valid), text_.source_valid, description);
  print_score(Split::test, test.perplexity(), test.tokens, text_.source_test, description);
  const std::string note = text_.source_test ? fmt::format("the source's own: {:.2f}", *text_.source_test)
                                             : describe_unknown(text_.unknown_test, test.tokens);
  description.results = {{"test perplexity", fmt::format("{:.2f}", test.perplexity()), note}};
  describe_surprises(description);
  result_.valid_perplexity = valid;
  result_.test_perplexity = test.perplexity();
}

// "the dog that", "the do": as a text is read.
std::string TextTraining::written(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    if (!text.empty() && recipe_.data.level == Level::word) text += ' ';
    text += text_.corpus.vocabulary.word(id);
  }
  return text;
}

void TextTraining::describe_surprises(RunDescription& description) {
  const auto& corpus = text_.corpus;
  const bool words = recipe_.data.level == Level::word;
  const int count = recipe_.training.surprising_words;
  const int32_t eos = corpus.vocabulary.eos();
  // If nothing surprises, the beginning of the text's first sentence.
  const auto begin = std::ranges::find_if(corpus.valid, [&](int32_t id) { return id != eos; });
  const auto end = std::find(begin, corpus.valid.end(), eos);
  text_to_look_at_ = written({begin, begin + std::min<std::ptrdiff_t>(end - begin, words ? 12 : 60)});
  if (count == 0) return;
  RunDescription::Table table{
      .title = fmt::format("The most surprising {}", words ? "words" : "characters"),
      .note = fmt::format(
          "Of the validation text: the {0} to which the model gave the least probability, and what it held "
          "for likeliest. n bits are a probability of 1 in 2ⁿ: as surprising as n heads in a row. Rare {0} "
          "surprise most; where a common one does, the model has something to learn.",
          words ? "words" : "characters"),
      .columns = {"bits", words ? "word" : "character", "likeliest instead", "after"}};
  const auto surprises = most_surprising(model_, corpus.valid, eos, recipe_.data.eval_batch, count,
                                         text_.documents(Split::valid));
  const auto name = [&](int32_t id) -> std::string {
    return corpus.vocabulary.word(id) == " " ? "␣" : corpus.vocabulary.word(id);
  };
  for (const Surprise& s : surprises)
    table.rows.push_back({fmt::format("{:.1f}", s.bits), name(s.word),
                          fmt::format("{} ({:.0f} %)", name(s.expected), 100 * s.p_expected),
                          s.before.empty() ? "the end of a line" : written(s.before)});
  if (surprises.empty()) return;
  std::vector<int32_t> ids = surprises[0].before;
  if (surprises[0].word != eos) ids.push_back(surprises[0].word);
  if (!ids.empty()) text_to_look_at_ = written(ids);
  description.tables.insert(description.tables.begin(), std::move(table));
}

// Prints a perplexity beside its references: the text's source and models that count words.
void TextTraining::print_score(Split split, double perplexity, int64_t tokens, std::optional<double> source,
                               RunDescription& description) const {
  const Corpus& corpus = text_.corpus;
  console_.print("{:<8}perplexity {:.2f}, {} of {} tokens scored\n", unroll::name(split), perplexity,
                 with_commas(tokens), with_commas(text_.whole[static_cast<size_t>(split)]));
  if (source)
    console_.print("        the source's own is {:.2f}: {:.1f} % above the best possible\n", *source,
                   100 * (perplexity / *source - 1));
  if (const int64_t unknown = split == Split::valid ? text_.unknown_valid : text_.unknown_test; unknown > 0)
    console_.print("        {}\n", describe_unknown(unknown, std::ssize(corpus.split(split))));
  if (recipe_.data.level != Level::word) return;
  const auto counted = [&](int order) {
    return NgramModel(order, corpus.train, corpus.vocabulary.size(), corpus.vocabulary.eos())
        .perplexity(corpus.split(split));
  };
  const double trigram = counted(3);
  console_.print("        by counting: unigram {:.2f}, trigram {:.2f}\n", counted(1), trigram);
  if (split == Split::valid) description.levels.push_back({"trigram", trigram});
}

}  // namespace ptb
