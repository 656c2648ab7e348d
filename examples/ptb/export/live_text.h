// A language model for the page of `ptb look --live`.
#pragma once

#include <string>

#include "examples/ptb/model/saved_model.h"
#include "export/program/live_page.h"

namespace ptb {

// The model as the page runs it. Rounds its weights. `path`: of its file, in messages. Throws InputError if the page cannot run it.
std::string live_json(const SavedModel& saved, const LiveOption& live, const std::string& path);

}  // namespace ptb
