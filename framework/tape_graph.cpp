// A tape's recording, read: as a graph, as text, and for numbers that are not finite.
#include "framework/tape_graph.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace unroll {

static double norm_of(const Tensor& x) {
  double sum = 0;
  for (const real v : x.on_host()) sum += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(sum);
}

// A file as it is called from the project's folder, however the compiler was given it; one from elsewhere as it was given.
static std::string in_project(std::string_view file) {
  constexpr std::string_view own_name = "framework/tape_graph.cpp", own = __FILE__;
  if (own.ends_with(own_name) && file.starts_with(own.substr(0, own.size() - own_name.size())))
    file.remove_prefix(own.size() - own_name.size());
  while (file.starts_with("../")) file.remove_prefix(3);
  return std::string(file);
}

// --- what the tape tells ---------------------------------------------------------------------------------------

TapeGraph::Input TapeGraph::input_of(const Var& var) {
  const Shape shape = var.value().defined() ? var.value().shape() : Shape();
  if (var.leaf()) {
    const auto [found, is_new] = parameter_of_.try_emplace(var.node(), static_cast<int>(parameters.size()));
    if (is_new) parameters.push_back({var.leaf()->leaf_name(), {shape, norm_of(var.value())}});
    return {Input::Kind::parameter, found->second, 0, shape};
  }
  const auto found = result_of_.find(var.node());
  if (!var.node() || found == result_of_.end()) return {Input::Kind::constant, -1, 0, shape};
  return {Input::Kind::result, found->second.first, found->second.second, shape};
}

void TapeGraph::recorded(const OperationName& op, std::span<const Var* const> inputs,
                         std::span<const Var> results) {
  Operation operation{
      .name = op.name, .file = in_project(op.file), .line = op.line, .inputs = {}, .results = {}};
  for (const Var* input : inputs) operation.inputs.push_back(input_of(*input));
  for (const Var& result : results) {
    result_of_[result.node()] = {static_cast<int>(operations.size()),
                                 static_cast<int>(operation.results.size())};
    operation.results.push_back({result.shape(), norm_of(result.value())});
  }
  operations.push_back(std::move(operation));
}

void TapeGraph::completed(const Var& x) {
  if (!x.has_grad()) return;
  const double norm = norm_of(x.node()->gradient.value(x.shape()));
  if (x.leaf()) {
    parameters[static_cast<size_t>(parameter_of_.at(x.node()))].value.gradient_norm = norm;
  } else {
    const auto& [operation, result] = result_of_.at(x.node());
    operations[static_cast<size_t>(operation)].results[static_cast<size_t>(result)].gradient_norm = norm;
  }
}

// --- as text ---------------------------------------------------------------------------------------------------

namespace {

using Kind = TapeGraph::Input::Kind;

std::string replaced(std::string_view text, std::string_view characters, auto in_place) {
  std::string result;
  for (const char c : text)
    if (characters.find(c) != std::string_view::npos)
      result += in_place(c);
    else
      result += c;
  return result;
}

// "linear [1, 640]", and the norms in lines below.
std::string label_of(std::string_view name, const std::vector<TapeGraph::Value>& values) {
  std::string text(name);
  for (const TapeGraph::Value& value : values) text += fmt::format(" {}", value.shape);
  for (const TapeGraph::Value& value : values) {
    text += fmt::format("\n|value| {:.3g}", value.norm);
    if (value.gradient_norm) text += fmt::format(" |gradient| {:.3g}", *value.gradient_norm);
  }
  return text;
}

// For both languages: node(name, kind, label) is a line's text, `arrow` stands between two nodes and `end` behind a line.
template <class Node>
std::string text_of(const TapeGraph& graph, std::string text, const char* arrow, const char* end, Node node) {
  const auto add = [&](const std::string& line) { text += "  " + line + end; };
  for (size_t p = 0; p < graph.parameters.size(); ++p)
    add(node(fmt::format("p{}", p), Kind::parameter,
             label_of(graph.parameters[p].name, {graph.parameters[p].value})));
  int constants = 0;
  for (size_t k = 0; k < graph.operations.size(); ++k) {
    const TapeGraph::Operation& operation = graph.operations[k];
    const std::string name = fmt::format("o{}", k);
    add(node(name, Kind::result, label_of(operation.name, operation.results)));
    for (const TapeGraph::Input& input : operation.inputs) {
      std::string from = fmt::format("{}{}", input.kind == Kind::parameter ? 'p' : 'o', input.number);
      if (input.kind == Kind::constant) {
        from = fmt::format("c{}", constants++);
        add(node(from, Kind::constant, fmt::format("constant {}", input.shape)));
      }
      add(from + arrow + name);
    }
  }
  return text;
}

}  // namespace

std::string TapeGraph::dot() const {
  const auto node = [](const std::string& name, Kind kind, const std::string& label) {
    const char* const shape = kind == Kind::parameter  ? ", shape=ellipse"
                              : kind == Kind::constant ? ", shape=plaintext"
                                                       : "";
    const auto escape = [](char c) { return c == '\n' ? std::string("\\n") : std::string{'\\', c}; };
    return fmt::format("{} [label=\"{}\"{}]", name, replaced(label, "\"\\\n", escape), shape);
  };
  return text_of(*this, "digraph tape {\n  node [shape=box];\n", " -> ", ";\n", node) + "}\n";
}

std::string TapeGraph::mermaid() const {
  const auto node = [](const std::string& name, Kind kind, const std::string& label) {
    const bool round = kind == Kind::parameter;
    const auto escape = [](char c) { return c == '\n' ? std::string("<br/>") : fmt::format("#{};", int{c}); };
    return fmt::format("{}{}\"{}\"{}", name, round ? "([" : "[", replaced(label, "\"#<>\n", escape),
                       round ? "])" : "]");
  };
  return text_of(*this, "flowchart TD\n", " --> ", "\n", node);
}

// --- without a graph ---------------------------------------------------------------------------------------------

std::vector<Tape::Entry> Tape::entries() const {
  std::vector<Entry> result;
  for (const Record* record = last_; record; record = record->previous) {
    Entry& entry = result.emplace_back(Entry{record->op, 0});
    for (const Shape& shape : record->shapes) {
      entry.text += fmt::format(" {}", shape);
      entry.numbers += shape.size();
    }
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::string Tape::text() const {
  std::string result;
  for (const Entry& entry : entries()) result += entry.text + '\n';
  return result;
}

std::string Tape::first_not_finite() {
  const auto finite = [](const Tensor& values) {
    const auto elements = values.on_host();
    return std::all_of(elements.begin(), elements.end(), [](real x) { return std::isfinite(x); });
  };
  std::vector<Record*> records;
  for (Record* record = last_; record; record = record->previous) records.push_back(record);
  std::reverse(records.begin(), records.end());
  // Backward meets them in the other order.
  const Leaf* before = nullptr;
  std::string of_gradient;
  for (Record* record : records) {
    const auto named = [&](const Shape& shape) {
      const Leaf* leaf = record->leaf ? record->leaf : before;
      const std::string name =
          leaf ? fmt::format(" {} '{}'", record->leaf ? "of" : "after", leaf->leaf_name()) : "";
      return fmt::format("{} {}{}", record->op, shape, name);
    };
    for (size_t i = 0; i < record->nodes.size(); ++i) {
      const Shape& shape = record->shapes[i];
      const Var& output = record->outputs[i];
      if (output.node() && !finite(output.value())) return named(shape);
      Gradient& gradient = record->nodes[i].gradient;
      if (gradient.written() && !finite(gradient.value(shape))) of_gradient = named(shape);
    }
    if (record->leaf) before = record->leaf;
  }
  return of_gradient;
}

}  // namespace unroll
