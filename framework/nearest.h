// The name that a misspelt one may have meant.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unroll {

// How far a word is from a candidate, if that is near enough: also 'hidden_size' from 'hidden', 'lr' from 'learning_rate'.
std::optional<std::size_t> nearness(std::string_view word, std::string_view candidate);

// The candidate nearest to `word` by edit distance, or "" if none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean 'what'?" on one line, or "" for "".
std::string did_you_mean(const std::string& what);

// "; did you mean 'count'?", or where none is near "; there are 'date', 'cnt'", of many the first ones.
std::string which_was_meant(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace unroll
