#include "training/state_dict.h"

namespace unroll::inline UNROLL_REAL {

namespace {

// "lstm.bias_l0" -> "lstm.bias_hh_l0"; empty if the parameter is no bias of an LSTM.
std::string torch_bias(const std::string& path, std::string_view which) {
  constexpr std::string_view ours = "bias_l";
  const size_t name = path.rfind('.') + 1;  // 0 where there is no '.'
  if (!std::string_view(path).substr(name).starts_with(ours)) return "";
  return fmt::format("{}bias_{}_l{}", path.substr(0, name), which, path.substr(name + ours.size()));
}

void check_shape(const SafetensorsFile& file, const std::string& name, const Shape& shape) {
  const SafetensorsFile::Entry* entry = file.find(name);
  require_input(entry != nullptr, "{}: there is no '{}' {} in it", file.path(), name, shape);
  require_input(entry->shape_text() == shape.text(), "{}: '{}' is {} in it, {} in the model", file.path(),
                name, entry->shape_text(), shape);
}

}  // namespace

std::vector<NamedTensor> state_dict(const ParameterSet& params) {
  std::vector<NamedTensor> tensors;
  for (const auto& p : params.all()) {
    const std::string ih = torch_bias(p->name, "ih");
    tensors.push_back({ih.empty() ? p->name : ih, p->leaf_value()});
    if (!ih.empty()) tensors.push_back({torch_bias(p->name, "hh"), Tensor::zeros(p->shape)});
  }
  return tensors;
}

void load_state_dict(const SafetensorsFile& file, ParameterSet& params) {
  // Every shape is checked before there is memory for any: a wrong file cannot ask for much.
  for (const auto& p : params.all()) {
    const std::string ih = torch_bias(p->name, "ih");
    check_shape(file, ih.empty() ? p->name : ih, p->shape);
    if (!ih.empty()) check_shape(file, torch_bias(p->name, "hh"), p->shape);
  }
  for (const auto& p : params.all()) {
    const std::string ih = torch_bias(p->name, "ih");
    const Tensor& value = p->leaf_value();
    file.load_into(ih.empty() ? p->name : ih, value);
    if (ih.empty()) continue;
    const Tensor second = file.load(torch_bias(p->name, "hh"));
    for (int64_t i = 0; i < value.size(); ++i)
      if (second.data()[i] != 0) value.data()[i] += second.data()[i];  // -0 + 0 would be another zero
  }
}

}  // namespace unroll::inline UNROLL_REAL
