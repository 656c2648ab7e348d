#include "examples/ptb/look/look_numbers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "data/text/grammar_structure.h"

namespace ptb {

namespace {

constexpr size_t likeliest = 6;

bool reads_grammar(const SavedModel& saved) { return saved.recipe.data.corpus == CorpusKind::grammar; }

void predict(const SavedModel& saved, const std::string& path, LookedText& look) {
  const int vocab = look.seen.log_p.dim(1);
  std::vector<int32_t> order(static_cast<size_t>(vocab));
  for (int t = 0; t < look.tokens.steps(); ++t) {
    const std::vector<real> log_p = look.seen.log_p[t].to_host();
    require_input(
        std::ranges::all_of(log_p, [](real x) { return !std::isnan(x); }),
        "{}: the probabilities of the next word are not finite: the model's weights are too large to "
        "compute with",
        path);
    const int32_t target = look.tokens.target[static_cast<size_t>(t)];
    const real of_target = log_p[static_cast<size_t>(target)];
    look.bits.push_back(-static_cast<double>(of_target) / std::log(2.0));
    look.rank.push_back(
        1 + static_cast<int>(std::ranges::count_if(log_p, [&](real x) { return x > of_target; })));
    std::iota(order.begin(), order.end(), 0);
    const size_t kept = std::min(likeliest, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      [&](int32_t a, int32_t b) {
                        const real of_a = log_p[static_cast<size_t>(a)], of_b = log_p[static_cast<size_t>(b)];
                        return of_a > of_b || (of_a == of_b && a < b);
                      });
    auto& next = look.next.emplace_back();
    for (size_t i = 0; i < kept; ++i)
      next.push_back({saved.vocabulary.word(order[i]),
                      std::exp(static_cast<double>(log_p[static_cast<size_t>(order[i])]))});
  }
}

std::vector<SourceStep> ask_source(const std::vector<std::string>& written) {
  GrammarPrefix prefix;
  std::vector<SourceStep> result;
  for (const std::string& word : written) {
    SourceStep& step = result.emplace_back();
    for (const auto& [next, p] : prefix.next()) {
      if (step.next.size() < likeliest) step.next.push_back({std::string(next), p});
      if (next == word) step.bits = -std::log2(p);
    }
    prefix.read(word);
  }
  return result;
}

}  // namespace

LookedText read_for_look(const SavedModel& saved, const std::string& text, const std::string& path) {
  require_input(!saved.model->transformer,
                "{}: has layers of a transformer (model.architecture); the page shows recurrent layers alone",
                path);
  require_input(!saved.model->mixture,
                "{}: has a mixture of softmaxes (model.softmax); the page shows one softmax", path);
  LookedText look;
  const TextForm form = form_of(saved.recipe);
  const Vocabulary& words = saved.vocabulary;
  Reading reading;
  std::vector<int32_t> ids = encode(text, words, form, fmt::format("{}: --text", path), &reading);
  look.written = words_of(text, form, "--text");
  require_input(!ids.empty(), "look: --text has no words");
  require_input(std::ssize(ids) <= most_words_of_look, "look: --text has {} {}s; a page has {} at most",
                ids.size(), form.level == Level::word ? "word" : "character", most_words_of_look);
  const int32_t eos = words.eos();
  if (ids.back() != eos) ids.push_back(eos), look.written.emplace_back(Vocabulary::end_of_sentence);
  TokenText& tokens = look.tokens;
  tokens.target = ids;
  tokens.input = {eos};
  tokens.input.insert(tokens.input.end(), ids.begin(), ids.end() - 1);
  if (form.documents) {
    tokens.resets.assign(ids.size(), 0);
    for (const int64_t begin : reading.documents)
      if (begin < std::ssize(ids)) tokens.resets[static_cast<size_t>(begin)] = 1;
  }
  return look;
}

void look_inside(SavedModel& saved, const std::string& text, const std::string& path, LookedText& look) {
  const TokenModel model = parts_of(*saved.model);
  look.seen = inspect(model, look.tokens);
  predict(saved, path, look);
  look.reach = gradient_reach(model, look.tokens);
  LanguageModel first(saved.recipe, saved.vocabulary.size());
  look.untrained = gradient_reach(parts_of(first), look.tokens);
  look.tapes = step_graphs(model, look.tokens);
  if (reads_grammar(saved)) {
    look.source = ask_source(look.written);
    look.agreement = evaluate_agreement(model, saved.vocabulary, 100);
  }
  look.offered = offer_units(saved, text);
}

}  // namespace ptb
