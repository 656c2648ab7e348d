// export/step_kernels.h as text, which the build puts here.
#pragma once

#include <string_view>

namespace unroll {

extern const std::string_view step_kernels_text;  // the whole file

}  // namespace unroll
