// The models to beat: n-gram counts of the training split with interpolated, modified Kneser-Ney smoothing.
//
// A sentence's first words are predicted from `<eos>`; the model never looks at an earlier sentence.
// It counts once, in a fixed order, so the same tokens give the same bits.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace unroll {

class NgramModel {
 public:
  static constexpr int most_words = (1 << 21) - 2;  // of a vocabulary that can be counted

  // Counts `train`, ids below `vocabulary`; the id `eos` ends each sentence. order: 1 (unigram) … 3
  // (trigram). Throws InputError if there are no tokens, Error if an id or the order is outside its range.
  NgramModel(int order, std::span<const int32_t> train, int vocabulary, int32_t eos);

  // P(word | history). Only the last order-1 tokens of the history matter, and none before an `<eos>`. Sums to 1
  // over all words of the vocabulary.
  double probability(std::span<const int32_t> history, int32_t word) const;
  // exp(-mean log P) over all tokens, the first predicted from `<eos>`.
  double perplexity(std::span<const int32_t> tokens) const;

 private:
  static constexpr int max_order = 3;
  using Key = uint64_t;  // up to three ids of 21 bits, the latest lowest; ids count from 1
  struct Context {
    int64_t total = 0;                  // sum of the counts of all words seen after it
    std::array<int64_t, 3> words = {};  // how many of them were counted once, twice, more often
  };
  struct Order {
    std::unordered_map<Key, int64_t> counts;
    std::unordered_map<Key, Context> contexts;
    std::array<double, 3> discounts = {};  // taken from a count of 1, of 2, of more
  };
  double probability(int order, Key context, int32_t word) const;

  int order_;
  int vocabulary_;
  int32_t eos_;
  std::array<Order, max_order> orders_;
};

}  // namespace unroll
