#include "examples/ptb/scores/agreement.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "data/text/grammar_structure.h"
#include "framework/one_line.h"

namespace ptb {

static constexpr int most_attractors = 3;
static constexpr int most_sentences = 200'000;  // three attractors stand in one sentence of a few hundred

TokenModel parts_of(LanguageModel& model) {
  require(!model.transformer && !model.mixture,
          "parts_of: a model with a transformer or a mixture of softmaxes");
  return {model.params, model.embedding, *model.recurrent, model.decoder};
}

std::vector<AgreementCase> draw_agreement_cases(const Vocabulary& vocabulary, int of_each, uint64_t seed) {
  const Grammar& grammar = Grammar::built_in();
  RandomStream random(seed, "agreement");
  std::array<std::vector<AgreementCase>, most_attractors + 1> found;
  const auto enough = [&](const auto& cases) { return std::ssize(cases) >= of_each; };
  for (int drawn = 0; drawn < most_sentences && !std::ranges::all_of(found, enough); ++drawn) {
    const std::vector<AnnotatedWord> sentence = sample_annotated(grammar, random);
    // "if … then …" and "either … or …" have two.
    const bool one_clause = std::ranges::none_of(sentence, &AnnotatedWord::in_pair);
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
          next.of_main = one_clause && word.depth == 0;
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

// The unit that tells best which of these cases' subjects are plural.
static BestUnit best_unit(const Agreement& measured, const std::vector<AgreementCase>& cases, auto counts) {
  BestUnit best;
  std::vector<int> plural;
  for (const AgreementCase& one : cases) {
    plural.push_back(counts(one) ? int{one.plural} : -1);
    best.cases += counts(one);
  }
  if (const auto units = units_that_tell(measured.states, plural, 1); !units.empty()) best.unit = units[0];
  return best;
}

AgreementTable evaluate_agreement(const TokenModel& model, const Vocabulary& vocabulary, int of_each) {
  const std::vector<AgreementCase> cases = draw_agreement_cases(vocabulary, of_each, 1);
  require_input(!cases.empty(), "agreement: the model's vocabulary has no verb of the grammar");
  const Agreement measured = measure_agreement(model, cases);
  AgreementTable table{
      .rows = {},
      .of_main = best_unit(measured, cases, [](const AgreementCase& one) { return one.of_main; }),
      .of_all = best_unit(measured, cases, [](const AgreementCase&) { return true; })};
  for (size_t i = 0; i < cases.size(); ++i) {
    if (table.rows.empty() || table.rows.back().attractors != cases[i].attractors)
      table.rows.push_back({.attractors = cases[i].attractors});
    AgreementRow& row = table.rows.back();
    ++row.cases, row.hits += measured.p_right[i] > 0.5, row.p_right += measured.p_right[i];
  }
  for (AgreementRow& row : table.rows) {
    row.p_right /= static_cast<double>(row.cases);
    row.interval = interval_of_share(row.hits, row.cases);
  }
  return table;
}

std::vector<std::string> describe(const AgreementTable& table) {
  std::vector<std::string> lines;
  for (const AgreementRow& row : table.rows)
    lines.push_back(fmt::format(
        "agreement {:.1f} % of {} verbs ({:.1f} to {:.1f}), mean p {:.4f}, with {} noun{} of the other number between",
        100 * row.share(), row.cases, 100 * row.interval.low, 100 * row.interval.high, row.p_right,
        row.attractors, plural(row.attractors)));
  const auto tells = [&](const BestUnit& best, std::string_view of) {
    if (best.unit)
      lines.push_back(fmt::format("one unit tells the subject's number in {:.1f} % of {}: layer {}, unit {}",
                                  100 * best.unit->share, of, best.unit->layer + 1, best.unit->unit + 1));
  };
  tells(table.of_main, fmt::format("{} verbs of a single main clause", table.of_main.cases));
  tells(table.of_all, fmt::format("all {} verbs", table.of_all.cases));
  return lines;
}

nlohmann::ordered_json agreement_json(const AgreementTable& table) {
  using Json = nlohmann::ordered_json;
  Json json{{"by_attractors", Json::array()}};
  for (const AgreementRow& row : table.rows)
    json["by_attractors"].push_back({{"attractors", row.attractors},
                                     {"cases", row.cases},
                                     {"share", row.share()},
                                     {"low", row.interval.low},
                                     {"high", row.interval.high},
                                     {"p_right", row.p_right}});
  for (const auto& [of, best] :
       {std::pair{"unit_of_main_clauses", &table.of_main}, {"unit_of_all_verbs", &table.of_all}}) {
    json[of] = nullptr;
    if (best->unit)
      json[of] = {{"layer", best->unit->layer + 1},
                  {"unit", best->unit->unit + 1},
                  {"share", best->unit->share},
                  {"cases", best->cases}};
  }
  return json;
}

}  // namespace ptb
