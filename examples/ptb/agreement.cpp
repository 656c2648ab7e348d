#include "agreement.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "data/text/grammar_structure.h"

namespace ptb {

static constexpr int most_attractors = 3;
static constexpr int most_sentences = 200'000;  // three attractors stand in one sentence of a few hundred

TokenModel parts_of(LanguageModel& model) {
  return {model.params, model.embedding, model.recurrent, model.decoder};
}

std::vector<AgreementCase> draw_agreement_cases(const Vocabulary& vocabulary, int of_each, uint64_t seed) {
  const Grammar& grammar = Grammar::built_in();
  RandomStream random(seed, "agreement");
  std::array<std::vector<AgreementCase>, most_attractors + 1> found;
  const auto enough = [&](const auto& cases) { return std::ssize(cases) >= of_each; };
  for (int drawn = 0; drawn < most_sentences && !std::ranges::all_of(found, enough); ++drawn) {
    const std::vector<AnnotatedWord> sentence = sample_annotated(grammar, random);
    AgreementCase next{.before = {vocabulary.eos()}};
    for (size_t i = 0; i < sentence.size(); ++i) {
      const AnnotatedWord& word = sentence[i];
      const auto id = vocabulary.find(word.word);
      if (!id) break;
      if (word.subject >= 0) {
        const std::string_view number = number_of(grammar, word.symbol);
        const auto wrong = other_number(grammar, word);
        const auto id_of_wrong = wrong ? vocabulary.find(*wrong) : std::nullopt;
        const auto attractors = std::count_if(
            sentence.begin() + word.subject + 1, sentence.begin() + static_cast<std::ptrdiff_t>(i),
            [&](const AnnotatedWord& between) {
              return is_noun(grammar, between.symbol) && number_of(grammar, between.symbol) != number;
            });
        if (id_of_wrong && attractors <= most_attractors && !enough(found[static_cast<size_t>(attractors)])) {
          next.right = *id, next.wrong = *id_of_wrong;
          next.attractors = static_cast<int>(attractors), next.plural = number == "pl";
          found[static_cast<size_t>(attractors)].push_back(next);
        }
      }
      next.before.push_back(*id);
    }
  }
  std::vector<AgreementCase> all;
  for (const auto& cases : found) all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

AgreementTable evaluate_agreement(const TokenModel& model, const Vocabulary& vocabulary, int of_each) {
  const std::vector<AgreementCase> cases = draw_agreement_cases(vocabulary, of_each, 1);
  require_input(!cases.empty(), "agreement: the model's vocabulary has no verb of the grammar");
  const Agreement measured = measure_agreement(model, cases);
  AgreementTable table;
  std::vector<int> plural;
  for (size_t i = 0; i < cases.size(); ++i) {
    plural.push_back(cases[i].plural);
    if (table.rows.empty() || table.rows.back().attractors != cases[i].attractors)
      table.rows.push_back({.attractors = cases[i].attractors});
    AgreementRow& row = table.rows.back();
    ++row.cases, row.hits += measured.p_right[i] > 0.5, row.p_right += measured.p_right[i];
  }
  for (AgreementRow& row : table.rows) {
    row.p_right /= static_cast<double>(row.cases);
    row.interval = interval_of_share(row.hits, row.cases);
  }
  if (const auto best = units_that_tell(measured.states, plural, 1); !best.empty()) table.unit = best.front();
  return table;
}

std::string describe(const AgreementRow& row) {
  return fmt::format(
      "agreement {:.1f} % of {} verbs ({:.1f} to {:.1f}), mean p {:.4f}, with {} noun{} of the other number between",
      100 * row.share(), row.cases, 100 * row.interval.low, 100 * row.interval.high, row.p_right,
      row.attractors, row.attractors == 1 ? "" : "s");
}

std::string describe_unit(const UnitTells& unit) {
  return fmt::format("one unit tells the subject's number in {:.1f} %: layer {}, unit {}", 100 * unit.share,
                     unit.layer + 1, unit.unit + 1);
}

}  // namespace ptb
