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
  return write_text(model_, text_.vocabulary, form_of(recipe_),
                    {.words = recipe_.training.sample_words, .seed = recipe_.training.seed});
}

void TextTraining::score_a_little() const {
  const int64_t few = int64_t{recipe_.data.batch} * recipe_.data.bptt;
  const Score of_few = score(model_, scored(text_.valid).first(few));
  console_.print("scoring: perplexity {:.2f} of {} tokens of the valid split\n", of_few.perplexity(),
                 with_commas(of_few.tokens));
}

// The least mean loss on a window from an empty state, of a model that sees the last `reach` tokens. It is above 0 if
// streams, or documents in them, begin alike and then differ.
static double floor_of(const Window& window, const IdTensor& resets, size_t reach) {
  std::vector<std::vector<int32_t>> history(static_cast<size_t>(window.input.dim(1)));
  std::map<std::vector<int32_t>, std::map<int32_t, int>> after;
  for (int t = 0; t < window.input.dim(0); ++t)
    for (size_t stream = 0; stream < history.size(); ++stream) {
      if (resets.defined() && resets[t].data()[stream] != 0) history[stream].clear();
      history[stream].push_back(window.input[t].data()[stream]);
      if (history[stream].size() > reach) history[stream].erase(history[stream].begin());
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
  const auto& [layers, memory] = std::pair(size_t(recipe_.model.layers), size_t(recipe_.model.memory));
  const size_t reach = has_recurrent(recipe_) ? SIZE_MAX : layers * memory + 1;
  session_.overfit_one_window(fmt::format("one window of {} tokens", window.target.size()),
                              floor_of(window, windows_.resets(), reach), near);
}

void TextTraining::report(double valid, RunDescription& description) {
  const Score test = score(model_, scored(text_.test));
  print_score(Split::valid, valid, description);
  print_score(Split::test, test.perplexity(), description);
  const std::string note = text_.test.source ? fmt::format("the source's own: {:.2f}", *text_.test.source)
                                             : describe_unknown(text_.test.unknown, test.tokens);
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
    text += text_.vocabulary.word(id);
  }
  return text;
}

void TextTraining::describe_surprises(RunDescription& description) {
  const std::vector<int32_t>& valid = text_.valid.tokens;
  const bool words = recipe_.data.level == Level::word;
  const int count = recipe_.training.surprising_words;
  const int32_t eos = text_.vocabulary.eos();
  // If nothing surprises, the beginning of the text's first sentence.
  const auto begin = std::ranges::find_if(valid, [&](int32_t id) { return id != eos; });
  const auto end = std::find(begin, valid.end(), eos);
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
  const auto surprises = most_surprising(model_, scored(text_.valid), count);
  const auto name = [&](int32_t id) -> std::string {
    return text_.vocabulary.word(id) == " " ? "␣" : text_.vocabulary.word(id);
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
void TextTraining::print_score(Split split, double perplexity, RunDescription& description) const {
  const SplitText& text = text_.split(split);
  console_.print("{:<8}perplexity {:.2f}, {} of {} tokens scored\n", unroll::name(split), perplexity,
                 with_commas(std::ssize(text.tokens)), with_commas(text.whole));
  if (text.source)
    console_.print("        the source's own is {:.2f}: {:.1f} % above the best possible\n", *text.source,
                   100 * (perplexity / *text.source - 1));
  if (text.unknown > 0)
    console_.print("        {}\n", describe_unknown(text.unknown, std::ssize(text.tokens)));
  if (recipe_.data.level != Level::word) return;
  if (text_.vocabulary.size() > NgramModel::most_words) {
    console_.print("        nothing by counting: it takes a vocabulary of {} words at most\n",
                   with_commas(NgramModel::most_words));
    return;
  }
  const auto counted = [&](int order) {
    return NgramModel(order, text_.train.tokens, text_.vocabulary.size(), text_.vocabulary.eos())
        .perplexity(text.tokens);
  };
  const double trigram = counted(3);
  console_.print("        by counting: unigram {:.2f}, trigram {:.2f}\n", counted(1), trigram);
  if (split == Split::valid) description.levels.push_back({"trigram", trigram});
}

}  // namespace ptb
