// Texts of several documents, and a training loop in which every document begins anew: what `reset = "document"` is held against.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "tests/support.h"
#include "unroll.h"

namespace documents_by_hand {

using namespace unroll;

inline constexpr int width = 6, hidden = 7, batch = 3, bptt = 5, epochs = 4;
inline constexpr float most_norm = 0.5f;
inline constexpr int32_t eos = 2;

inline const std::vector<std::string> words = {"the", "cat", "<eos>", "sat", "dog", "on", "a", "mat"};

struct Documents {
  std::vector<int32_t> ids;
  std::vector<int64_t> begins;
  bool begins_at(int64_t place) const { return std::ranges::binary_search(begins, place); }
  std::vector<std::span<const int32_t>> each() const {
    std::vector<std::span<const int32_t>> result;
    for (size_t k = 0; k < begins.size(); ++k) {
      const int64_t end = k + 1 < begins.size() ? begins[k + 1] : std::ssize(ids);
      result.push_back(
          std::span(ids).subspan(static_cast<size_t>(begins[k]), static_cast<size_t>(end - begins[k])));
    }
    return result;
  }
};

// The first document has every word, in the order of the numbers. Others have one to three lines of one to four words, each of
// which follows from the last.
inline Documents draw(int count, uint64_t seed) {
  RandomStream random(seed, "text");
  Documents text{.ids = {0, 1, eos, 3, 4, 5, 6, 7, eos}, .begins = {0}};
  while (static_cast<int>(text.ids.size()) < count) {
    text.begins.push_back(std::ssize(text.ids));
    for (uint32_t lines = 1 + random.below(3), l = 0; l < lines; ++l) {
      for (uint32_t line = 1 + random.below(4), k = 0; k < line; ++k) {
        const auto next = static_cast<int32_t>((text.ids.back() * 3 + random.below(3)) % 8);
        text.ids.push_back(next == eos ? 0 : next);
      }
      text.ids.push_back(eos);
    }
  }
  return text;
}

inline std::string text_of(std::span<const int32_t> ids) {
  std::string text;
  for (const int32_t id : ids) text += id == eos ? "\n" : words[id] + " ";
  return text;
}
inline std::string text_of(const Documents& documents) {
  std::string text;
  for (const auto& document : documents.each())
    text += text_of(document) + (text.size() % 2 ? "\n" : " \n\n");
  return text;
}

struct Model {
  Model() { params.initialize(Init::uniform(-1, 1)); }
  ParameterSet params{5};
  Embedding embed{params / "embedding", {.vocab = 8, .dim = width}};
  Lstm lstm{params / "lstm", {.input = width, .hidden = hidden, .layers = 2}};
  Dense decoder{params / "decoder", {.in = hidden, .out = 8}};
};

// Ways in which a loop treats the text.
enum class Mistake { none, no_resets, gradients };  // the latter: values are reset, and gradients flow on
struct Epoch {
  double loss, valid;  // mean nats of a token in training, perplexity of the valid split
};

// Each document from an empty state and <eos>.
inline double perplexity(const Model& model, const Documents& text) {
  const NoTape guard;
  double nats = 0;
  for (const auto& document : text.each()) {
    RecurrentState state = model.lstm.zero_state(1);
    int32_t before = eos;
    for (const int32_t next : document) {
      const auto out = model.lstm(model.embed(ids({1, 1}, {before})), state);
      nats += static_cast<double>(softmax_cross_entropy(model.decoder, out.y, ids({1, 1}, {next})).item());
      state = out.state;
      before = next;
    }
  }
  return std::exp(nats / static_cast<double>(text.ids.size()));
}

// Stream i of L = (tokens - 1) / batch tokens begins at token i L. A step at a time: where the target begins a document, the
// state before is zero, and the change of the output from the step before does not count.
inline std::vector<Epoch> train(const Documents& text, const Documents& valid,
                                Mistake mistake = Mistake::none) {
  Model model;
  Sgd optimizer(model.params, {.learning_rate = 0.5});
  const int length = (static_cast<int>(text.ids.size()) - 1) / batch;
  std::vector<Epoch> result;
  int first_steps = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    RecurrentState state = model.lstm.zero_state(batch);
    double nats = 0;
    for (int begin = 0; begin < length; begin += bptt) {
      const int steps = std::min(bptt, length - begin);
      Tape tape;
      RecurrentVars now = state;
      Vars losses, changes;
      Var before;
      for (int t = 0; t < steps; ++t) {
        std::vector<int32_t> input, target;
        std::vector<real> kept;
        for (int i = 0; i < batch; ++i) {
          const auto place = static_cast<size_t>(i * length + begin + t + 1);
          input.push_back(text.ids[place - 1]), target.push_back(text.ids[place]);
          kept.push_back(text.begins_at(static_cast<int64_t>(place)) && mistake != Mistake::no_resets ? 0
                                                                                                      : 1);
          first_steps += t == 0 && begin > 0 && kept.back() == 0;
        }
        std::vector<real> of_layers = kept;
        of_layers.insert(of_layers.end(), kept.begin(), kept.end());
        const Tensor mask = tensor({2, batch}, of_layers);
        if (mistake == Mistake::gradients) {
          // zero, and the gradient of what it was
          const auto reset = [&](const Var& v) {
            return v + Var(mask_rows(Var(v.value()), mask).value().clone()) - Var(v.value().clone());
          };
          now = {reset(now.h), reset(now.c)};
        } else {
          now = {mask_rows(now.h, mask), mask_rows(now.c, mask)};
        }
        const auto out = model.lstm(model.embed(ids({1, batch}, input)), now);
        now = out.state;
        losses.push_back(softmax_cross_entropy(model.decoder, out.y, ids({1, batch}, target)));
        if (t > 0) changes.push_back(mask_rows(out.y - before, tensor({1, batch}, kept)));
        before = out.y;
      }
      const Var loss = mean(stack(losses));
      nats += static_cast<double>(loss.item()) * steps * batch;
      Var objective = loss;
      if (!changes.empty()) {
        const Var change = stack(changes);
        objective = objective + mean(change * change);
      }
      tape.backward(objective);
      optimizer.step({.max_norm = most_norm});
      state = now;
    }
    result.push_back({nats / (length * batch), perplexity(model, valid)});
  }
  if (mistake == Mistake::none) CHECK(first_steps > 0);  // windows that begin with a document
  return result;
}

}  // namespace documents_by_hand
