// Text generation: draws words from a model's predictions, one after the other.
#pragma once

#include <string>

#include "data/text/corpus.h"
#include "examples/ptb/model/model.h"

namespace ptb {

// Beyond the tokens asked for, so many may end the last sentence: a model may never end it.
inline constexpr int64_t most_words_to_end = 100, most_characters_to_end = 2000;

struct WritingOptions {
  std::string prompt = {};  // is gone on from; empty: a sentence begins
  int words = 100;          // tokens to draw, and those that end the last sentence
  double temperature = 1;   // of the softmax; towards 0 the likeliest word is certain
  int top_k = 0;            // only the likeliest so many words; 0: all
  uint64_t seed = 1;
};

// Returns the prompt and its continuation, a line for each sentence. Records nothing. Words of the prompt that the
// vocabulary lacks are read as <unk> and counted in `unknown`, if given. Throws InputError if there is no <unk> for
// them. Throws Interrupted after a signal (framework/signals.h).
//
// With documents, a blank line of the prompt begins a new one from an empty state. The model itself ends no document.
std::string write_text(const LanguageModel& model, const Vocabulary& vocabulary, TextForm form,
                       const WritingOptions& options, int64_t* unknown = nullptr);

}  // namespace ptb
