#include "examples/ptb/scores/tune.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "framework/signals.h"
#include "training/program/cli/console.h"
#include "training/report/progress.h"

namespace ptb {

TunePlan tune_plan(const std::string& mode) {
  TunePlan plan;
  if (mode == "full") return plan;
  return {.mode = mode,
          .tokens = 5'000,
          .rates = {3e-5, 5e-5, 1e-4},
          .decays = {1e-3, 2e-3, 5e-3},
          .most_extensions = 1,
          .windows = {500},
          .thetas = {0.2, 0.5, 1},
          .lambdas = {0.05, 0.1, 0.15}};
}

namespace {

// Each pass scores its tokens at all these temperatures, which costs little.
std::vector<double> temperature_grid() {
  std::vector<double> grid;
  for (int percent = 70; percent <= 150; percent += 5) grid.push_back(percent / 100.0);
  return grid;
}

// Two significant digits: a value that somebody would type.
double rounded(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1);
  return std::round(value / unit) * unit;
}
// The value after writing and reading it.
double as_written(double value) { return std::stod(fmt::format("{:.6g}", value)); }

std::string settings_text(double rate, double decay) {
  return fmt::format("rate={:g},decay={:g}", rate, decay);
}

class Tuning : TuneInput {
 public:
  explicit Tuning(const TuneInput& input)
      : TuneInput(input),
        temperatures_(temperature_grid()),
        passes_(static_cast<int64_t>(plan.rates.size() + plan.decays.size())) {}

  Tuned run() {
    Tuned tuned;
    tuned.static_perplexity = static_score();
    tuned.tokens = std::ssize(text.tokens);
    tuned.dynamic.rate =
        best_of("rate", plan.rates, [&](double rate) { return adapted("rate", rate, tuned.dynamic.decay); });
    tuned.dynamic.decay = best_of("decay", plan.decays,
                                  [&](double decay) { return adapted("decay", tuned.dynamic.rate, decay); });
    choose_temperature(tuned);
    choose_cache(tuned);
    tuned.scored = scored_;
    return tuned;
  }

 private:
  // The trial from the table, or a new one that make(trial) scores, with a line.
  template <class Make>
  const Trial& trial(const std::string& stage, const std::string& settings, Make make) {
    if (!table.find(stage, settings)) {
      Trial added{.stage = stage, .settings = settings};
      make(added);
      table.add(std::move(added));
    }
    const Trial& made = *table.find(stage, settings);
    show(out, "{:<12} {:<36} perplexity {}\n", stage, settings,
         std::isfinite(made.perplexity) ? fmt::format("{:.4f}", made.perplexity) : "not finite");
    std::fflush(out);
    return made;
  }

  double static_score() {
    return trial("static", "",
                 [&](Trial& made) {
                   const Score of_text = score(model, text);
                   made.perplexity = of_text.perplexity(), scored_ += of_text.tokens;
                 })
        .perplexity;
  }

  // One pass over the text. scored(segment, losses [temperatures, steps]); false if a loss was not finite.
  template <class Scored>
  bool pass(double rate, double decay, std::span<const double> temperatures, Scored scored) {
    const DynamicSettings settings{.rate = rate, .decay = decay};
    const auto optimizer = make_dynamic(model, settings, statistics);
    const int64_t before = done_ * std::ssize(text.tokens);
    Progress progress(fmt::format("trial {}/{}", done_ + 1, std::max(passes_, done_ + 1)),
                      std::max(passes_, done_ + 1) * std::ssize(text.tokens),
                      {.stream = stderr, .done_before = before});
    int64_t tokens = 0;
    bool finite = true;
    try {
      score_dynamically(model, text, settings, *optimizer, [&](const ScoredSegment& s) {
        scored(s, softmax_cross_entropies(s.logits, s.target, temperatures));
        tokens += s.target.size();
        progress.update(before + tokens);
      });
    } catch (const LossNotFinite&) { finite = false; }
    scored_ += tokens;
    ++done_;
    return finite;
  }

  const Trial& adapted(const std::string& stage, double rate, double decay) {
    const std::string settings = settings_text(rate, decay);
    // The best rate has a trial at the default decay already.
    if (const Trial* const before = stage == "decay" ? table.find("rate", settings) : nullptr) return *before;
    if (table.find(stage, settings)) ++done_;
    return trial(stage, settings, [&](Trial& made) {
      std::vector<double> nats(temperatures_.size());
      const bool finite = pass(rate, decay, temperatures_, [&](const ScoredSegment& s, const Tensor& losses) {
        const auto all = losses.on_host();
        for (size_t k = 0; k < nats.size(); ++k)
          for (int64_t t = 0; t < s.target.size(); ++t)
            nats[k] += static_cast<double>(all[static_cast<int64_t>(k) * s.target.size() + t]);
      });
      for (const double sum : nats)
        made.by_temperature.push_back(finite ? std::exp(sum / static_cast<double>(text.tokens.size()))
                                             : std::numeric_limits<double>::infinity());
      made.perplexity = made.by_temperature[plain_temperature()];
    });
  }
  size_t plain_temperature() const {
    return static_cast<size_t>(std::ranges::find(temperatures_, 1.0) - temperatures_.begin());
  }

  // Returns the value with the least perplexity. If that stands at a border of the grid, extends the grid there.
  template <class Try>
  double best_of(const char* stage, std::vector<double> grid, Try make) {
    std::vector<double> perplexities;
    for (const double value : grid) perplexities.push_back(make(value).perplexity);
    for (int extensions = 0; extensions < plan.most_extensions; ++extensions) {
      const auto best = std::ranges::min_element(perplexities) - perplexities.begin();
      const bool below = best == 0, above = best + 1 == std::ssize(grid);
      if (!below && !above) break;
      if (passes_ <= done_) passes_ = done_ + 1;
      const double next = as_written(rounded(below ? grid.front() / 1.5 : grid.back() * 1.5));
      const double perplexity = make(next).perplexity;
      grid.insert(below ? grid.begin() : grid.end(), next);
      perplexities.insert(below ? perplexities.begin() : perplexities.end(), perplexity);
    }
    const auto best = std::ranges::min_element(perplexities) - perplexities.begin();
    const double perplexity = perplexities[static_cast<size_t>(best)];
    require_input(std::isfinite(perplexity), "--tune: no {} of the grid keeps the loss finite", stage);
    return grid[static_cast<size_t>(best)];
  }

  // Chooses by the scores at all temperatures of the trial with the chosen rate and decay.
  void choose_temperature(Tuned& tuned) {
    const std::string settings = settings_text(tuned.dynamic.rate, tuned.dynamic.decay);
    const Trial* found = table.find("decay", settings);
    const std::vector<double> of_best = (found ? found : table.find("rate", settings))->by_temperature;
    require_input(of_best.size() == temperatures_.size(),
                  "{}: damaged: a trial of {} temperatures; remove it to begin anew", table.path().string(),
                  of_best.size());
    const auto best = static_cast<size_t>(std::ranges::min_element(of_best) - of_best.begin());
    for (size_t k = 0; k < of_best.size(); ++k) {
      trial("temperature", fmt::format("temperature={:g}", temperatures_[k]),
            [&](Trial& made) { made.perplexity = of_best[k]; });
    }
    tuned.temperature = temperatures_[best];
    tuned.perplexity = of_best[best];
  }

  void choose_cache(Tuned& tuned) {
    std::vector<NeuralCacheConfig> configs;
    for (const int window : plan.windows)
      for (const double theta : plan.thetas)
        for (const double lambda : plan.lambdas) configs.push_back({window, theta, lambda});
    const bool complete = std::ranges::all_of(
        configs, [&](const NeuralCacheConfig& c) { return table.find("cache", option_text(c)); });
    if (!complete) keep_pass(tuned);
    for (const NeuralCacheConfig& config : configs) {
      const double perplexity = trial("cache", option_text(config), [&](Trial& made) {
                                  stop_if_signalled();
                                  made.perplexity = mixed(config);
                                }).perplexity;
      if (perplexity < tuned.perplexity) tuned.perplexity = perplexity, tuned.cache = config;
    }
  }

  // Makes one more pass with the chosen settings and keeps the values that caches need.
  void keep_pass(const Tuned& tuned) {
    if (passes_ <= done_) passes_ = done_ + 1;
    const int width = model.width();
    h_ = Tensor({static_cast<int>(text.tokens.size()), width});
    nats_.clear();
    const double temperature[] = {tuned.temperature};
    const bool finite = pass(tuned.dynamic.rate, tuned.dynamic.decay, temperature,
                             [&](const ScoredSegment& s, const Tensor& losses) {
                               const int begin = static_cast<int>(nats_.size());
                               h_.slice(begin, begin + s.h.dim(0)).copy_from(s.h);
                               const auto of_words = losses.on_host();
                               nats_.insert(nats_.end(), of_words.begin(), of_words.end());
                             });
    require_input(finite, "--tune: a loss is not finite that was so before");
  }

  // The perplexity of the mixture with this cache.
  double mixed(const NeuralCacheConfig& config) const {
    NeuralCache cache(config);
    std::vector<double> nats = nats_;
    const int64_t size = std::ssize(text.tokens);
    size_t document = 0;
    for (int64_t begin = 0, end = 0; begin < size; begin = end) {
      while (document < text.documents.size() && text.documents[document] <= begin) {
        if (text.documents[document++] == begin) cache.forget();
      }
      end = std::min(size, begin + 1000);
      if (document < text.documents.size()) end = std::min(end, text.documents[document]);
      const auto first = static_cast<size_t>(begin), count = static_cast<size_t>(end - begin);
      cache.mix(h_.slice(static_cast<int>(begin), static_cast<int>(end)), text.tokens.subspan(first, count),
                std::span(nats).subspan(first, count));
    }
    double sum = 0;
    for (const double loss : nats) sum += loss;
    return std::exp(sum / static_cast<double>(size));
  }

  std::vector<double> temperatures_;
  int64_t passes_, done_ = 0;  // over the text: as planned, and so far
  int64_t scored_ = 0;         // tokens, in the trials that no table had
  Tensor h_;                   // [tokens, width], of the chosen settings
  std::vector<double> nats_;   // at the chosen temperature
};

}  // namespace

Tuned tune(const TuneInput& input) { return Tuning(input).run(); }

}  // namespace ptb
