// The page of `look`: what lies inside a model while it reads a text, in one HTML file that needs no network and no server.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace unroll {

// `models`: the numbers of one or several models as JSON, as the scripts in training/report/look/ read them. Whatever their
// strings hold, it stays text.
std::string look_page(std::string_view title, std::span<const std::string> models);

}  // namespace unroll
