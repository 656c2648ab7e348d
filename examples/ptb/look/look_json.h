// The numbers of `ptb look` as its page reads them.
#pragma once

#include <string>

#include "examples/ptb/look/look_numbers.h"

namespace ptb {

// `title` is what the page calls the model; `path` its file.
std::string look_json(const SavedModel& saved, const LookedText& look, const std::string& title,
                      const std::string& path);

}  // namespace ptb
