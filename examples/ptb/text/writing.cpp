#include "examples/ptb/text/writing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "framework/signals.h"
#include "layers/stepper.h"

namespace ptb {

namespace {

// A word drawn from softmax(logits / temperature).
class Sampler {
 public:
  Sampler(int vocab, const WritingOptions& options)
      : options_(options),
        order_(static_cast<size_t>(vocab)),
        weights_(order_.size()),
        random_(options.seed, "generate") {}

  int32_t draw(std::span<const real> logits) {
    require_input(
        std::ranges::all_of(logits, [](real x) { return std::isfinite(x); }),
        "the scores of the next word are not finite: the model's weights are too large to compute with");
    std::iota(order_.begin(), order_.end(), 0);
    const auto likelier = [&](int32_t a, int32_t b) {
      return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
    };
    const size_t kept = options_.top_k ? std::min<size_t>(order_.size(), options_.top_k) : order_.size();
    std::partial_sort(order_.begin(), order_.begin() + kept, order_.end(), likelier);
    double total = 0;
    for (size_t i = 0; i < kept; ++i) {
      weights_[i] = std::exp((logits[order_[i]] - logits[order_[0]]) / options_.temperature);
      total += weights_[i];
    }
    double left = random_.uniform() * total;
    for (size_t i = 0; i < kept; ++i)
      if ((left -= weights_[i]) < 0) return order_[i];
    return order_[0];
  }

 private:
  const WritingOptions& options_;
  std::vector<int32_t> order_;
  std::vector<double> weights_;
  RandomStream random_;
};

// Reads one word at a time. A stepper does it where it knows the model's parts. A transformer's state is the keys and values of the words so far.
class Reader {
 public:
  explicit Reader(const LanguageModel& model) : model_(model) {
    if (model.transformer || model.mixture)
      state_ = model.zero_state(1);
    else
      stepper_.emplace(model.embedding, *model.recurrent, model.decoder);
  }
  void reset() { stepper_ ? stepper_->layers.reset() : state_.reset(); }
  // Scores of the word after this one, valid until the next is read.
  std::span<const real> operator()(int32_t word) {
    if (stepper_) return (*stepper_)(word);
    const NoTape guard;
    const auto [y, next] = model_.read(IdTensor::full({1, 1}, word), state_);
    state_ = next;
    logits_ = model_.logits(y).value().to_host();
    return logits_;
  }

 private:
  const LanguageModel& model_;
  std::optional<TokenStepper> stepper_;
  ModelState state_;
  std::vector<real> logits_;
};

}  // namespace

std::string write_text(const LanguageModel& model, const Vocabulary& vocabulary, TextForm form,
                       const WritingOptions& options, int64_t* unknown) {
  const int32_t eos = vocabulary.eos();
  Reading reading;
  std::vector<int32_t> text = encode(options.prompt, vocabulary, form, "--prompt", &reading);
  if (unknown) *unknown = std::ssize(reading.unknown);
  Reader step(model);
  const auto begin_document = [&] {
    step.reset();
    return step(eos);
  };
  std::span<const real> logits = begin_document();
  const auto begins = [&](size_t place) {
    return std::ranges::binary_search(reading.documents, static_cast<int64_t>(place));
  };
  for (size_t i = 0; i < text.size(); ++i) {
    stop_if_signalled();
    if (begins(i)) logits = begin_document();
    logits = step(text[i]);
  }
  if (begins(text.size())) logits = begin_document();
  Sampler sampler(vocabulary.size(), options);
  const int64_t limit =
      options.words + (form.level == Level::word ? most_words_to_end : most_characters_to_end);
  for (int64_t drawn = 0; drawn < limit && !(drawn >= options.words && (text.empty() || text.back() == eos));
       ++drawn) {
    stop_if_signalled();
    text.push_back(sampler.draw(logits));
    logits = step(text.back());
  }
  std::string written;
  const auto write = [&](size_t begin, size_t end) {
    written += decode(std::span(text).subspan(begin, end - begin), vocabulary, form.level);
  };
  size_t begin = 0;
  for (const int64_t document : reading.documents)
    if (document > 0) {
      const auto end = static_cast<size_t>(document);
      write(begin, end), begin = end;
      written += '\n';
    }
  write(begin, text.size());
  if (!written.ends_with('\n')) written += '\n';
  return written;
}

}  // namespace ptb
