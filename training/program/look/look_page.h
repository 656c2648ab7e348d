// The page of `look`: shows the inside of a model while it reads a text, in one HTML file without network or server.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace unroll {

// `models`: the numbers of one or several models as JSON, in the form that the scripts in training/program/look/ read.
// Strings in it cannot break the page: they stay text.
std::string look_page(std::string_view title, std::span<const std::string> models);

}  // namespace unroll
