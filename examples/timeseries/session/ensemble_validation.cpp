#include "examples/timeseries/session/ensemble_validation.h"

#include "examples/timeseries/scores/scores.h"
#include "framework/signals.h"
#include "training/files/json/json.h"
#include "training/members.h"

namespace timeseries {

namespace {

// The further sums of a part are, of each target, how many of its values were observed, and the sums of the products of the errors
// of any two networks: the first with itself, the second with the first and with itself, …
size_t sums_of_target(size_t networks) { return 1 + networks * (networks + 1) / 2; }

ScoreSum sum_of(const SeriesModel& model, const SeriesBatch& batch, size_t targets) {
  const size_t networks = model.networks(), each = sums_of_target(networks);
  const std::vector<real> target = batch.target.to_host(),
                          weights = batch.weights.defined() ? batch.weights.to_host() : std::vector<real>();
  std::vector<std::vector<real>> found;
  for (size_t k = 0; k < networks; ++k) found.push_back(model.predict(batch.input, k).to_host());
  ScoreSum sum{.count = batch.observed};
  sum.further.resize(targets * each);
  std::vector<double> errors(networks);
  for (size_t i = 0; i < target.size(); ++i) {
    if (!weights.empty() && weights[i] == 0) continue;
    for (size_t k = 0; k < networks; ++k)
      errors[k] = static_cast<double>(found[k][i]) - static_cast<double>(target[i]);
    double* of_target = &sum.further[i % targets * each];
    *of_target++ += 1;
    for (size_t m = 0; m < networks; ++m)
      for (size_t n = 0; n <= m; ++n) *of_target++ += errors[m] * errors[n];
  }
  return sum;
}

using Matrix = std::vector<std::vector<double>>;

// Inner products of the networks' errors, of one target.
Matrix products_in(std::span<const double> sums, size_t networks) {
  Matrix products(networks, std::vector<double>(networks));
  size_t at = 1;
  for (size_t m = 0; m < networks; ++m)
    for (size_t n = 0; n <= m; ++n) products[m][n] = products[n][m] = sums[at++];
  return products;
}

// The square of the weighted error, summed. Writes the target's weights and mean squared errors.
double weigh(const std::vector<double>& weights, std::span<const double> sums, size_t target,
             EnsembleFacts& facts) {
  const size_t networks = weights.size();
  const Matrix products = products_in(sums, networks);
  double squares = 0;
  for (size_t m = 0; m < networks; ++m) {
    facts.members[m].weights[target] = weights[m];
    facts.members[m].scaled_mse[target] = products[m][m] / sums[0];
    for (size_t n = 0; n < networks; ++n) squares += weights[m] * weights[n] * products[m][n];
  }
  facts.scaled_mse[target] = squares / sums[0];
  return squares;
}

// In double, in parts of one batch. Whoever asks for the score has the weights in `facts` then, of each target by itself.
SharedScore weighed_loss(const Recipe& recipe, const SeriesModel& model, SeriesWindows& windows,
                         EnsembleFacts& facts) {
  const int size = recipe.data.eval_batch;
  const size_t targets = windows.options().targets.size();
  return {.parts = windows.batches(size),
          .sum = [&model, &windows, size, targets](int64_t k) -> ScoreSum {
            stop_if_signalled();
            windows.in_order();
            return sum_of(model, windows.batch(k, size), targets);
          },
          .score =
              [&recipe, &facts, targets](const ScoreSum& sum) {
                const size_t each = sum.further.size() / targets, networks = facts.members.size();
                const auto of_target = [&](size_t t) {
                  return std::span(sum.further).subspan(t * each, each);
                };
                double squares = 0;
                for (const std::vector<size_t>& together : weighed_together(recipe, targets)) {
                  std::vector<double> sums(each);
                  for (const size_t t : together)
                    for (size_t i = 0; i < each; ++i) sums[i] += of_target(t)[i];
                  const std::vector<double> weights =
                      weights_of(recipe.ensemble.weights, products_in(sums, networks));
                  for (const size_t t : together) squares += weigh(weights, of_target(t), t, facts);
                }
                return squares / static_cast<double>(sum.count);
              }};
}

bool weighs(const Recipe& recipe, const SeriesData& data) {
  return recipe.is_ensemble() && !recipe.has_folds() && data.valid;
}

SharedScore score_of(const Recipe& recipe, const SeriesModel& model, SeriesData& data) {
  return weighs(recipe, data) ? weighed_loss(recipe, model, *data.valid, data.facts.ensemble)
                              : mean_loss(model, 0, *data.valid, recipe.data.eval_batch);
}

}  // namespace

void add_validation(TrainingTask& task, const Recipe& recipe, const SeriesModel& model, SeriesData& data) {
  if (!data.valid) return;
  task.shared_validation = score_of(recipe, model, data);
  task.validate = [score = task.shared_validation] { return score.score(sum_of_parts(score)); };
  if (!weighs(recipe, data) || recipe.training.keep != Keep::best) return;
  std::vector<Member> members;
  for (size_t k = 0; k < model.networks(); ++k)
    members.push_back({name_of_member(k), model.parameters_of(k),
                       mean_loss(model, k, *data.valid, recipe.data.eval_batch)});
  task.observer = std::make_shared<Members>(std::move(members));
}

void finish_validation(const Recipe& recipe, const SeriesModel& model, SeriesData& data) {
  if (!weighs(recipe, data)) return;
  const SharedScore score = score_of(recipe, model, data);
  (void)score.score(sum_of_parts(score));
}

Metadata validation_metadata(const ModelFacts& facts) {
  if (facts.ensemble.empty()) return {};
  return {{"ensemble", json_text(json_of(facts.ensemble))}};
}

RunDescription::Table table_of_folds(const EnsembleFacts& facts, const Recipe& recipe) {
  RunDescription::Table table{
      .title = "Folds: weights and errors of members",
      .note = fmt::format(
          "{} windows of {} folds, {} to {}. Root of the mean square, in scaled units{}; the ensemble of a "
          "fold has the weights that the other folds give.",
          facts.windows, recipe.ensemble.folds, facts.from, facts.to,
          facts.scaled_mse.size() > 1 ? ", mean of the targets" : ""),
      .columns = {"", "weight", "RMSE scaled"}};
  table.rows.push_back({"the ensemble", "", figure(std::sqrt(mean_over_targets(facts.scaled_mse)))});
  for (const auto& member : facts.members)
    table.rows.push_back({member.name, fmt::format("{:.3f}", mean_over_targets(member.weights)),
                          figure(std::sqrt(mean_over_targets(member.scaled_mse)))});
  return table;
}

static RunDescription::Table table_of_validation(const EnsembleFacts& facts) {
  RunDescription::Table table{
      .title = "Members: weights and errors on the validation split",
      .note = fmt::format("Mean squared error, scaled{}.",
                          facts.scaled_mse.size() > 1 ? ", mean of the targets; weights likewise" : ""),
      .columns = {"", "weight", "MSE scaled"}};
  table.rows.push_back({"the ensemble", "", figure(mean_over_targets(facts.scaled_mse))});
  for (size_t m = 0; m < facts.members.size(); ++m) {
    const auto& [name, weights, mse] = facts.members[m];
    table.rows.push_back({fmt::format("{}: {}", name_of_member(m), name),
                          fmt::format("{:.3f}", mean_over_targets(weights)), figure(mean_over_targets(mse))});
  }
  return table;
}

std::optional<RunDescription::Table> validation_table(const Recipe& recipe, const SeriesData& data) {
  if (recipe.has_folds()) return table_of_folds(data.facts.ensemble, recipe);
  return weighs(recipe, data) ? std::optional(table_of_validation(data.facts.ensemble)) : std::nullopt;
}

}  // namespace timeseries
