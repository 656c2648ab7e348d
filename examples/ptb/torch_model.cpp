#include "torch_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"
#include "training/recipe_reader.h"

namespace ptb {

namespace {

using Entry = SafetensorsFile::Entry;

constexpr std::array embeddings = {"embedding", "embeddings",      "embed", "emb",
                                   "encoder",   "word_embeddings", "wte"};
constexpr std::array decoders = {"decoder", "fc",   "linear",  "out",        "output",
                                 "proj",    "head", "lm_head", "classifier", "generator"};

bool is_one_of(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// What a tensor is called after the renames; empty: it is left out.
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
    for (const Entry& entry : file.entries()) {
      names.push_back(entry.name);
      if (const size_t dot = entry.name.rfind('.'); dot != std::string::npos)
        names.push_back(entry.name.substr(0, dot));
    }
    const bool found = std::ranges::any_of(
        names, [&](const auto& name) { return name == theirs || name.starts_with(theirs + "."); });
    const std::string meant = nearest(theirs, names);
    require_input(found, "--rename {}: {} has no '{}'{}", rename, file.path(), theirs,
                  meant.empty() ? "" : fmt::format("; did you mean '{}'?", one_line(meant)));
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

// Our name for a tensor, if its own says what it is. Before the shapes are known every layer is an LSTM's.
std::optional<std::string> our_name(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view path = name.substr(0, dot), leaf = name.substr(dot + 1),
                         module = path.substr(path.rfind('.') + 1);
  if (is_recurrent(leaf)) return fmt::format("lstm.{}", leaf);
  if (leaf == "weight" && is_one_of(embeddings, module)) return "embedding.weight";
  if ((leaf == "weight" || leaf == "bias") && is_one_of(decoders, module))
    return fmt::format("decoder.{}", leaf);
  return {};
}

// Throws InputError: why a tensor cannot be used.
[[noreturn]] void refuse(const SafetensorsFile& file, const Entry& entry) {
  const std::string name = one_line(entry.name);
  const auto unsupported = [&](std::string_view what) {
    throw InputError(
        fmt::format("{}: '{}' {} is of {}; an LSTM or a GRU forward in time is what can be imported",
                    file.path(), name, entry.shape_text(), what));
  };
  if (name.ends_with("_reverse")) unsupported("a bidirectional layer");
  std::vector<std::string> ours = {"embedding.weight", "decoder.weight", "decoder.bias"};
  for (const char* kind : {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"})
    ours.push_back(fmt::format("lstm.{}", kind));
  const std::string meant = nearest(entry.name, ours);
  throw InputError(fmt::format(
      "{}: '{}' {} is not known; --rename '{}={}' says what it is{}, --rename '{}=' leaves it out",
      file.path(), name, entry.shape_text(), name, meant.empty() ? "NAME" : meant,
      meant.empty() ? fmt::format(" (NAME: {}, …)", fmt::join(ours, ", ")) : "", name));
}

// The tensors of a file under our names.
class Tensors {
 public:
  Tensors(const SafetensorsFile& file, const std::vector<std::string>& renames) : file_(file) {
    check_renames(file, renames);
    std::string lstm;  // the module of the first recurrent layer that was met
    for (const Entry& entry : file.entries()) {
      if (entry.name.starts_with("training/"))
        continue;  // of our own checkpoints: an optimizer's state and the like
      const std::string name = renamed(entry.name, renames);
      if (name.empty()) continue;
      const auto ours = our_name(name);
      if (!ours) refuse(file, entry);
      if (ours->starts_with("lstm.")) {
        const std::string module = name.substr(0, name.rfind('.'));
        if (lstm.empty()) lstm = module;
        require_input(module == lstm,
                      "{}: two recurrent modules, '{}' and '{}'; --rename THEIRS=OURS can make them layers "
                      "of one",
                      file.path(), one_line(lstm), one_line(module));
      }
      const auto [other, is_new] = names.emplace(*ours, entry.name);
      require_input(is_new, "{}: '{}' and '{}' are both taken for '{}'; --rename '{}=' leaves one out",
                    file.path(), one_line(other->second), one_line(entry.name), *ours, one_line(entry.name));
    }
  }

  const Entry* find(const std::string& ours) const {
    const auto found = names.find(ours);
    return found == names.end() ? nullptr : file_.find(found->second);
  }
  // "'rnn.weight_ih_l0' [800, 200]"
  std::string text(const std::string& ours) const {
    const Entry* entry = find(ours);
    return fmt::format("'{}' {}", one_line(entry->name), entry->shape_text());
  }
  // Rows and columns of a matrix that must be there, neither of them 0.
  std::array<int, 2> matrix(const std::string& ours) const {
    const Entry* entry = find(ours);
    if (entry == nullptr) {
      std::vector<std::string> all;
      for (const Entry& e : file_.entries()) all.push_back(one_line(e.name));
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
  // Throws unless a tensor, if it is there, has a shape; `why` says who demands it.
  void check(const std::string& ours, const std::vector<int64_t>& shape, const std::string& why) const {
    const Entry* entry = find(ours);
    require_input(entry == nullptr || entry->shape == shape, "{}: {} does not fit {}, it must be [{}]",
                  file_.path(), entry ? text(ours) : "", why, fmt::join(shape, ", "));
  }

  std::map<std::string, std::string> names;  // ours -> theirs

 private:
  const SafetensorsFile& file_;
};

// The sizes of one layer's state, from the shapes of its weights: hidden, and the width of h.
struct StateSizes {
  int hidden, width;
};
StateSizes read_state_sizes(const SafetensorsFile& file, const Tensors& tensors, int layer, Cell& cell) {
  const std::string hh = fmt::format("lstm.weight_hh_l{}", layer),
                    hr = fmt::format("lstm.weight_hr_l{}", layer);
  const auto [rows, width] = tensors.matrix(hh);
  if (tensors.find(hr) != nullptr) {
    const auto [projection, hidden] = tensors.matrix(hr);
    require_input(rows == 4 * int64_t{hidden} && width == projection && projection < hidden,
                  "{}: {} does not fit {}, an LSTM's projection", file.path(), tensors.text(hr),
                  tensors.text(hh));
    return {hidden, width};
  }
  require_input(rows != width, "{}: {} is of a plain RNN; an LSTM has four gates, a GRU three", file.path(),
                tensors.text(hh));
  if (layer == 0 && rows == 3 * int64_t{width}) cell = Cell::gru;
  const int gates = cell == Cell::gru ? 3 : 4;
  require_input(rows == gates * int64_t{width},
                "{}: {} must have {} times as many rows as columns, as {} has", file.path(), tensors.text(hh),
                gates == 3 ? "three" : "four", gates == 3 ? "a GRU" : "an LSTM");
  return {width, width};
}

// The layers' sizes, every shape checked.
void read_layers(const SafetensorsFile& file, const Tensors& tensors, TorchModel& model) {
  for (const auto& [ours, theirs] : tensors.names)
    if (ours.starts_with("lstm."))
      model.layers = std::max(model.layers, std::stoi(ours.substr(ours.rfind('l') + 1)) + 1);
  for (int layer = 0; layer < std::max(model.layers, 1); ++layer) {
    const auto name = [](const char* kind, int number) { return fmt::format("lstm.{}_l{}", kind, number); };
    const std::string hh = name("weight_hh", layer), hr = name("weight_hr", layer);
    const auto [hidden, width] = read_state_sizes(file, tensors, layer, model.cell);
    const int64_t rows = (model.cell == Cell::gru ? 3 : 4) * int64_t{hidden};
    if (layer == 0) model.hidden = hidden, model.projection = width == hidden ? 0 : width;
    const std::string below = tensors.text(layer == 0 ? "embedding.weight" : name("weight_hh", layer - 1));
    const int width_of_first = model.projection ? model.projection : model.hidden;
    tensors.check(hh, {rows / hidden * model.hidden, width_of_first}, below);
    if (model.projection) tensors.check(hr, {width_of_first, model.hidden}, below);
    tensors.matrix(name("weight_ih", layer));
    tensors.check(name("weight_ih", layer), {rows, layer == 0 ? model.embedding : width},
                  fmt::format("{} and {}", below, tensors.text(hh)));
    for (const char* kind : {"bias_ih", "bias_hh"}) {
      tensors.check(name(kind, layer), {rows}, tensors.text(hh));
      const bool here = tensors.find(name(kind, layer)), first = tensors.find(name("bias_ih", 0));
      require_input(here == first, "{}: '{}' is {} and '{}' is {}", file.path(), name("bias_ih", 0),
                    first ? "there" : "missing", name(kind, layer), here ? "there" : "missing");
    }
  }
}

bool same_values(const SafetensorsFile& file, const std::string& a, const std::string& b) {
  const Tensor x = file.load(a), y = file.load(b);
  return x.shape() == y.shape() && std::memcmp(x.data(), y.data(), x.span().size_bytes()) == 0;
}

}  // namespace

TorchModel read_torch_model(const SafetensorsFile& file, const std::vector<std::string>& renames) {
  const Tensors tensors(file, renames);
  TorchModel model;
  const auto [vocab, width] = tensors.matrix("embedding.weight");
  model.vocab = vocab;
  model.embedding = width;
  read_layers(file, tensors, model);
  const int output = model.projection ? model.projection : model.hidden;
  tensors.check("decoder.bias", {model.vocab}, tensors.text("embedding.weight"));
  if (const auto decoder = tensors.names.find("decoder.weight"); decoder != tensors.names.end()) {
    tensors.check("decoder.weight", {model.vocab, output},
                  tensors.text("embedding.weight") + " and " + tensors.text("lstm.weight_hh_l0"));
    model.tied = same_values(file, tensors.names.at("embedding.weight"), decoder->second);
  } else {
    require_input(output == model.embedding,
                  "{}: nothing in it is known as 'decoder.weight', and {} cannot take its place for a hidden "
                  "width of {}",
                  file.path(), tensors.text("embedding.weight"), output);
    model.tied = true;
  }
  for (const auto& [ours, theirs] : tensors.names)
    model.names[model.cell == Cell::gru && ours.starts_with("lstm.") ? "gru" + ours.substr(4) : ours] =
        theirs;
  return model;
}

}  // namespace ptb
