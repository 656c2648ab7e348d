// Categories, as the networks read them: each word is a row of an embedding (Guo and Berkhahn 2016).
#include <string>

#include "examples/timeseries/networks/model.h"
#include "framework/ops.h"

namespace timeseries {

void SeriesNetwork::make_categories(const std::function<Scope(const char*)>& place) {
  for (size_t k = 0; k < columns_.categories.size(); ++k) {
    const Columns::Category& category = columns_.categories[k];
    categories_.push_back(place(("category" + std::to_string(k + 1)).c_str())
                              .add("weight", {category.words, category.width()}, Init::normal(0, 1))
                              .var());
  }
}

Tensor SeriesNetwork::without_codes(const Tensor& input) const {
  if (categories_.empty()) return input;
  const int rows = input.dim(0), batch = input.dim(1), all = input.dim(2), inputs = columns_.inputs;
  Tensor values({rows, batch, inputs});
  const auto from = input.on_host();
  const auto to = values.on_host(Access::overwrite);
  for (int64_t place = 0; place < int64_t{rows} * batch; ++place)
    std::copy_n(from.data() + place * all, inputs, to.data() + place * inputs);
  return values;
}

Var SeriesNetwork::embedded(const Tensor& input, int first, int end, int each, bool known_alone) const {
  const int batch = input.dim(1), all = input.dim(2), rows = (end - first) * batch * each;
  const auto from = input.on_host();
  Vars parts;
  for (size_t k = 0; k < categories_.size(); ++k) {
    if (known_alone && !columns_.categories[k].is_known) continue;
    std::vector<int32_t> codes;
    codes.reserve(static_cast<size_t>(rows));
    for (int64_t place = int64_t{first} * batch; place < int64_t{end} * batch; ++place)
      codes.insert(codes.end(), static_cast<size_t>(each),
                   static_cast<int32_t>(from[place * all + columns_.inputs + static_cast<int64_t>(k)]));
    parts.push_back(embedding(categories_[k], IdTensor::from(Shape{rows}, codes)));
  }
  return parts.size() == 1 ? parts.front() : concat(parts, 1);
}

Var SeriesNetwork::read_ahead(const Tensor& input) const {
  const int window = recipe_.data.window, horizon = recipe_.horizon(),
            each = by_channel() ? static_cast<int>(columns_.targets.size()) : 1;
  Vars parts;
  if (!columns_.known.empty()) parts.emplace_back(ahead_of(without_codes(input)));
  if (columns_.ahead() > static_cast<int>(columns_.known.size())) {
    Var words = embedded(input, window, window + horizon, each, true);
    // As the columns beside them, where a linear network goes on from the last value.
    if (linear() && recipe_.model.normalization == Normalization::last)
      words = words -
              concat(Vars(static_cast<size_t>(horizon), embedded(input, window - 1, window, each, true)), 0);
    parts.push_back(words);
  }
  return parts.size() == 1 ? parts.front() : concat(parts, 1);
}

}  // namespace timeseries
