#include "training/program/run/torch_tensors.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"
#include "training/files/state_dict.h"
#include "training/program/recipe/recipe_reader.h"

namespace unroll {

namespace {

// A tensor's name after the renames; empty: it is left out.
std::string renamed(std::string name, const std::vector<std::string>& renames) {
  for (const std::string& rename : renames) {
    const size_t equals = rename.find('=');
    const std::string theirs = rename.substr(0, equals), ours = rename.substr(equals + 1);
    if (name == theirs) {
      name = ours;
    } else if (name.starts_with(theirs + ".")) {
      name = ours.empty() ? "" : ours + name.substr(theirs.size());
    }
  }
  return name;
}

void check_renames(const SafetensorsFile& file, const std::vector<std::string>& renames) {
  for (const std::string& rename : renames) {
    const size_t equals = rename.find('=');
    require_input(equals != std::string::npos && equals > 0, "--rename {}: must be THEIRS=OURS", rename);
    const std::string theirs = rename.substr(0, equals);
    std::vector<std::string> names;
    for (const SafetensorsFile::Entry& entry : file.entries()) {
      names.push_back(entry.name);
      if (const size_t dot = entry.name.rfind('.'); dot != std::string::npos)
        names.push_back(entry.name.substr(0, dot));
    }
    const bool found = std::ranges::any_of(
        names, [&](const auto& name) { return name == theirs || name.starts_with(theirs + "."); });
    require_input(found, "--rename {}: {} has no '{}'{}", rename, file.path(), theirs,
                  did_you_mean(nearest(theirs, names)));
  }
}

// "weight_ih_l0" and the like.
bool is_recurrent(std::string_view leaf) {
  for (const std::string_view kind : {"weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l", "weight_hr_l"})
    if (leaf.starts_with(kind) && leaf.size() > kind.size() && leaf.size() <= kind.size() + 3)
      return std::ranges::all_of(leaf.substr(kind.size()), [](char c) { return c >= '0' && c <= '9'; }) &&
             (leaf[kind.size()] != '0' || leaf.size() == kind.size() + 1);
  return false;
}

// The module that a tensor's name points to, if any. Before the shapes are known every layer counts as an LSTM's.
const KnownModule* module_of(const std::vector<KnownModule>& modules, std::string_view path,
                             std::string_view leaf) {
  const std::string_view name = path.substr(path.rfind('.') + 1);
  for (const KnownModule& module : modules) {
    const bool has_leaf = module.leaves.empty()
                              ? is_recurrent(leaf)
                              : std::ranges::find(module.leaves, leaf) != module.leaves.end();
    if (has_leaf && (module.theirs.empty() || std::ranges::find(module.theirs, name) != module.theirs.end()))
      return &module;
  }
  return nullptr;
}

// Throws InputError, saying why a tensor cannot be used.
[[noreturn]] void refuse(const SafetensorsFile& file, const SafetensorsFile::Entry& entry,
                         const std::vector<KnownModule>& modules) {
  const std::string name = one_line(entry.name);
  require_input(
      !name.ends_with("_reverse"),
      "{}: '{}' {} is of a bidirectional layer; an LSTM, a GRU or an RNN forward in time is what can be imported",
      file.path(), name, entry.shape_text());
  std::vector<std::string> ours;
  for (const auto& [module, theirs, leaves] : modules) {
    std::vector<std::string> all = leaves;
    if (all.empty()) all = {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"};
    for (const std::string& leaf : all) ours.push_back(fmt::format("{}.{}", module, leaf));
  }
  const std::string meant = nearest(entry.name, ours);
  throw InputError(fmt::format(
      "{}: '{}' {} is not known; --rename '{}={}' says what it is{}, --rename '{}=' leaves it out",
      file.path(), name, entry.shape_text(), name, meant.empty() ? "NAME" : meant,
      meant.empty() ? fmt::format(" (NAME: {}, …)", fmt::join(ours, ", ")) : "", name));
}

}  // namespace

TorchTensors::TorchTensors(const SafetensorsFile& file, const std::vector<KnownModule>& modules,
                           const std::vector<std::string>& renames)
    : file_(file) {
  check_renames(file, renames);
  std::map<std::string, std::string> recurrent;  // ours -> the module that was met first
  for (const SafetensorsFile::Entry& entry : file.entries()) {
    if (entry.name.starts_with("training/"))
      continue;  // of our own checkpoints: an optimizer's state and the like
    const std::string name = renamed(entry.name, renames);
    if (name.empty()) continue;
    const size_t dot = name.rfind('.');
    const std::string path = dot == std::string::npos ? "" : name.substr(0, dot), leaf = name.substr(dot + 1);
    const KnownModule* module = dot == std::string::npos ? nullptr : module_of(modules, path, leaf);
    if (!module) refuse(file, entry, modules);
    if (module->leaves.empty()) {
      const std::string& first = recurrent.emplace(module->ours, path).first->second;
      require_input(
          path == first,
          "{}: two recurrent modules, '{}' and '{}'; --rename THEIRS=OURS can make them layers of one",
          file.path(), one_line(first), one_line(path));
    }
    const std::string ours = fmt::format("{}.{}", module->ours, leaf);
    const auto [other, is_new] = names.emplace(ours, entry.name);
    require_input(is_new, "{}: '{}' and '{}' are both taken for '{}'; --rename '{}=' leaves one out",
                  file.path(), one_line(other->second), one_line(entry.name), ours, one_line(entry.name));
  }
}

const SafetensorsFile::Entry* TorchTensors::find(const std::string& ours) const {
  const auto found = names.find(ours);
  return found == names.end() ? nullptr : file_.find(found->second);
}

std::string TorchTensors::text(const std::string& ours) const {
  const SafetensorsFile::Entry* entry = find(ours);
  return fmt::format("'{}' {}", one_line(entry->name), entry->shape_text());
}

std::array<int, 2> TorchTensors::matrix(const std::string& ours) const {
  const SafetensorsFile::Entry* entry = find(ours);
  if (entry == nullptr) {
    std::vector<std::string> all;
    for (const SafetensorsFile::Entry& e : file_.entries()) all.push_back(one_line(e.name));
    throw InputError(
        fmt::format("{}: nothing in it is known as '{}'; --rename THEIRS={} says what is. There are: {}",
                    file_.path(), ours, ours, one_line(fmt::format("{}", fmt::join(all, ", ")), 400)));
  }
  constexpr int64_t most = 100'000'000;  // of rows and columns: far beyond any model, far from overflow
  require_input(entry->shape.size() == 2 &&
                    std::ranges::all_of(entry->shape, [](int64_t n) { return n > 0 && n <= most; }),
                "{}: {}, taken for '{}', must be a matrix", file_.path(), text(ours), ours);
  return {static_cast<int>(entry->shape[0]), static_cast<int>(entry->shape[1])};
}

void TorchTensors::check(const std::string& ours, const std::vector<int64_t>& shape,
                         const std::string& why) const {
  const SafetensorsFile::Entry* entry = find(ours);
  require_input(entry == nullptr || entry->shape == shape, "{}: {} does not fit {}, it must be [{}]",
                file_.path(), entry ? text(ours) : "", why, fmt::join(shape, ", "));
}

// --- recurrent layers -------------------------------------------------------------------------------------

namespace {

// The sizes of one layer's state, from the shapes of its weights: hidden, and the width of h.
struct StateSizes {
  int hidden, width;
};
StateSizes read_state_sizes(const TorchTensors& tensors, const std::string& scope, int layer,
                            CellKind& cell) {
  const std::string hh = fmt::format("{}.weight_hh_l{}", scope, layer),
                    hr = fmt::format("{}.weight_hr_l{}", scope, layer), &file = tensors.file().path();
  const auto [rows, width] = tensors.matrix(hh);
  if (tensors.find(hr) != nullptr) {
    const auto [projection, hidden] = tensors.matrix(hr);
    require_input(rows == 4 * int64_t{hidden} && width == projection && projection < hidden,
                  "{}: {} does not fit {}, an LSTM's projection", file, tensors.text(hr), tensors.text(hh));
    return {hidden, width};
  }
  if (layer == 0)
    cell = rows == width ? CellKind::rnn : rows == 3 * int64_t{width} ? CellKind::gru : CellKind::lstm;
  const int gates = facts_of(cell).gates;
  constexpr const char* times[] = {"", "as many", "twice as many", "three times as many",
                                   "four times as many"};
  require_input(rows == gates * int64_t{width}, "{}: {} must have {} rows as columns, as {} {} has", file,
                tensors.text(hh), times[gates], cell == CellKind::gru ? "a" : "an", facts_of(cell).title);
  return {width, width};
}

}  // namespace

RecurrentSizes read_recurrent_sizes(const TorchTensors& tensors, const std::string& scope, int input,
                                    const std::string& reads) {
  RecurrentSizes sizes{.input = input};
  for (const auto& [ours, theirs] : tensors.names)
    if (ours.starts_with(scope + "."))
      sizes.layers = std::max(sizes.layers, std::stoi(ours.substr(ours.rfind('l') + 1)) + 1);
  for (int layer = 0; layer < std::max(sizes.layers, 1); ++layer) {
    const auto name = [&](const char* kind, int number) {
      return fmt::format("{}.{}_l{}", scope, kind, number);
    };
    const std::string hh = name("weight_hh", layer), hr = name("weight_hr", layer),
                      ih = name("weight_ih", layer);
    const auto [hidden, width] = read_state_sizes(tensors, scope, layer, sizes.cell);
    const int64_t rows = facts_of(sizes.cell).gates * int64_t{hidden};
    const int columns = tensors.matrix(ih)[1];
    if (layer == 0) {
      sizes.hidden = hidden, sizes.projection = width == hidden ? 0 : width;
      if (input == 0) sizes.input = columns;
    }
    const std::string below = layer > 0 ? tensors.text(name("weight_hh", layer - 1)) : reads;
    const int width_of_first = sizes.projection ? sizes.projection : sizes.hidden;
    tensors.check(hh, {rows / hidden * sizes.hidden, width_of_first}, below);
    if (sizes.projection) tensors.check(hr, {width_of_first, sizes.hidden}, below);
    tensors.check(ih, {rows, layer == 0 ? sizes.input : width},
                  below.empty() ? tensors.text(hh) : fmt::format("{} and {}", below, tensors.text(hh)));
    for (const char* kind : {"bias_ih", "bias_hh"}) {
      tensors.check(name(kind, layer), {rows}, tensors.text(hh));
      const bool here = tensors.find(name(kind, layer)), first = tensors.find(name("bias_ih", 0));
      require_input(here == first, "{}: '{}' is {} and '{}' is {}", tensors.file().path(), name("bias_ih", 0),
                    first ? "there" : "missing", name(kind, layer), here ? "there" : "missing");
    }
  }
  return sizes;
}

std::map<std::string, std::string> with_scope(const std::map<std::string, std::string>& names,
                                              const std::string& scope, const std::string& other) {
  std::map<std::string, std::string> result;
  for (const auto& [ours, theirs] : names)
    result[ours.starts_with(scope + ".") ? other + ours.substr(scope.size()) : ours] = theirs;
  return result;
}

// --- into a model -----------------------------------------------------------------------------------------

void fill_from_torch(ParameterSet& params, const SafetensorsFile& file,
                     const std::map<std::string, std::string>& names) {
  std::vector<std::string> expected;
  for (const auto& [ours, tensor] : state_dict(params)) {
    expected.push_back(ours);
    const auto theirs = names.find(ours);
    if (theirs == names.end()) {
      const bool is_bias = ours.substr(ours.rfind('.') + 1).starts_with("bias");
      require_input(is_bias, "{}: nothing in it is known as '{}' {}; --rename THEIRS={} says what is",
                    file.path(), ours, tensor.shape(), ours);
      continue;
    }
    const SafetensorsFile::Entry& entry = file.entry(theirs->second);
    require_input(entry.shape_text() == tensor.shape().text(),
                  "{}: '{}' {} is taken for '{}', which is {} in the model", file.path(),
                  one_line(entry.name), entry.shape_text(), ours, tensor.shape());
  }
  for (const auto& [ours, theirs] : names)
    require_input(std::ranges::find(expected, ours) != expected.end(),
                  "{}: '{}' {} is taken for '{}', which the model does not have", file.path(),
                  one_line(theirs), file.entry(theirs).shape_text(), ours);
  const auto load = [&](const std::string& ours, const Tensor& into) {
    const auto theirs = names.find(ours);
    if (theirs == names.end()) return into.fill(0);
    load_finite_into(file, theirs->second, into);
  };
  load_state_dict(load, params);
}

std::string table_of_names(const ParameterSet& params, const std::map<std::string, std::string>& names) {
  std::string lines;
  for (const auto& [ours, tensor] : state_dict(params)) {
    const auto theirs = names.find(ours);
    lines += fmt::format("{:<20}{:<15}{}\n", ours, tensor.shape().text(),
                         theirs == names.end() ? "zeros" : theirs->second);
  }
  return lines;
}

}  // namespace unroll
