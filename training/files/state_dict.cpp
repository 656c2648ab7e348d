#include "training/files/state_dict.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>

#include "framework/kernels/kernels.h"
#include "framework/one_line.h"

namespace unroll {

namespace {

// "bias_l" of "bias_l0" and of "bias_l0_reverse"; empty if a name does not end in a layer's number so.
std::string_view kind_of(std::string_view name) {
  constexpr std::string_view side = "_reverse";
  const size_t end = name.size() - (name.ends_with(side) ? side.size() : 0);
  const size_t number = name.substr(0, end).find_last_not_of("0123456789") + 1;
  return name.substr(0, number < end ? number : 0);
}

// A parameter's names in a state_dict.
struct Names {
  std::string name;           // empty: it is part of another tensor
  std::string second;         // of a bias: the tensor that PyTorch adds to it
  Parameter* last = nullptr;  // the parameter at the end of `second`, if that end is not added
};

Names names_of(const Parameter& p, const ParameterSet& params) {
  const size_t leaf = p.name.rfind('.') + 1;  // 0 where there is no '.'
  const std::string scope = p.name.substr(0, leaf);
  const std::string_view name = std::string_view(p.name).substr(leaf), kind = kind_of(name);
  constexpr std::string_view bias = "bias_l", of_new_state = "bias_hn_l";
  const auto called = [&](std::string_view other) {
    return fmt::format("{}{}{}", scope, other, name.substr(kind.size()));
  };
  // A user's cell may have a bias_hn without a bias that it is the end of.
  const auto is_end = [](const Parameter* end, const Parameter* of) {
    return end && of && end->shape.rank() == 1 && of->shape.rank() == 1 && end->size() <= of->size();
  };
  if (kind == of_new_state && is_end(&p, params.find(called(bias)))) return {};
  if (kind != bias) return {.name = p.name, .second = {}};
  Parameter* const last = params.find(called(of_new_state));
  return {
      .name = called("bias_ih_l"), .second = called("bias_hh_l"), .last = is_end(last, &p) ? last : nullptr};
}

void check_entry(const SafetensorsFile& file, const std::string& name, const Shape& shape) {
  const SafetensorsFile::Entry* entry = file.find(name);
  require_input(entry != nullptr, "{}: there is no '{}' {} in it", file.path(), name, shape);
  require_input(entry->shape_text() == shape.text(), "{}: '{}' is {} in it, {} in the model", file.path(),
                name, entry->shape_text(), shape);
  file.check_type(*entry);
}

// The end of `second`, which belongs to `last` and is not added.
Tensor end_of(const Tensor& second, const Parameter& last) {
  return second.slice(second.dim(0) - last.shape[0], second.dim(0));
}

// The second tensor of a bias: zeros, but for the end.
Tensor second_of(const Parameter& p, const Names& names) {
  const Tensor second = Tensor::zeros(p.shape);
  if (names.last) end_of(second, *names.last).copy_from(names.last->leaf_value());
  return second;
}

}  // namespace

std::vector<NamedTensor> state_dict(const ParameterSet& params) {
  std::vector<NamedTensor> tensors;
  for (const auto& p : params.all()) {
    const Names names = names_of(*p, params);
    if (names.name.empty()) continue;
    tensors.push_back({names.name, p->leaf_value()});
    if (!names.second.empty()) tensors.push_back({names.second, second_of(*p, names)});
  }
  std::set<std::string_view> seen;
  for (const NamedTensor& t : tensors)
    require(
        seen.insert(t.name).second,
        "state_dict: two parameters are '{}' in PyTorch's names, which have a bias twice; give one another name",
        t.name);
  return tensors;
}

Tensor segment_of(const Parameter& parameter, const Tensor& slab) {
  const int begin = static_cast<int>(parameter.offset);
  return slab.slice(begin, begin + static_cast<int>(parameter.size())).reshape(parameter.shape);
}

static bool is_finite(const Tensor& x) {
  if (std::isfinite(kernels().sum_of_squares(x.data(), x.size()))) return true;
  const auto numbers = x.on_host();  // the squares of large ones have no finite sum
  return std::all_of(numbers.begin(), numbers.end(), [](real number) { return std::isfinite(number); });
}

void load_finite_into(const SafetensorsFile& file, const std::string& name, const Tensor& into) {
  file.load_into(name, into);
  require_input(is_finite(into), "{}: '{}' {} has numbers that are not finite{}", file.path(), one_line(name),
                into.shape(),
                sizeof(real) == 4 && file.entry(name).type == "F64" ? ", or too large for float" : "");
}

bool same_bits(const SafetensorsFile& file, const std::string& a, const std::string& b) {
  if (file.entry(a).shape != file.entry(b).shape) return false;
  const Tensor x = file.load(a), y = file.load(b);
  const auto of_x = x.on_host(), of_y = y.on_host();
  return std::memcmp(of_x.data(), of_y.data(), static_cast<size_t>(x.size()) * sizeof(real)) == 0;
}

std::vector<std::string> load_state_dict(const SafetensorsFile& file, ParameterSet& params) {
  // Check everything before allocating: a wrong file cannot ask for much memory.
  for (const auto& p : params.all()) {
    const Names names = names_of(*p, params);
    if (!names.name.empty()) check_entry(file, names.name, p->shape);
    if (!names.second.empty()) check_entry(file, names.second, p->shape);
  }
  std::set<std::string> read;
  load_state_dict(
      [&](const std::string& name, const Tensor& into) {
        load_finite_into(file, name, into);
        read.insert(name);
      },
      params);
  std::vector<std::string> others;
  for (const auto& entry : file.entries())
    if (!read.contains(entry.name) && !entry.name.starts_with("training/")) others.push_back(entry.name);
  return others;
}

void load_state_dict(const std::function<void(const std::string& name, const Tensor& into)>& load,
                     ParameterSet& params) {
  for (const auto& p : params.all()) {
    const Names names = names_of(*p, params);
    if (names.name.empty()) continue;
    const Tensor& value = p->leaf_value();
    load(names.name, value);
    if (names.second.empty()) continue;
    // If `load` leaves `second` alone, it adds nothing, and its end keeps the parameter's values.
    const Tensor second = second_of(*p, names);
    load(names.second, second);
    if (names.last) {
      names.last->leaf_value().copy_from(end_of(second, *names.last));
      end_of(second, *names.last).fill(0);
    }
    const auto sum = value.on_host(Access::change);
    const auto added = second.on_host();
    for (int64_t i = 0; i < value.size(); ++i)
      if (added[i] != 0) sum[i] += added[i];  // -0 + 0 would be another zero
  }
}

}  // namespace unroll
