#include "export/onnx_graph.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "framework/version.h"
#include "training/files/atomic_file.h"

namespace unroll {

namespace {

using Writer = protozero::pbf_writer;

// Numbers of fields in onnx.proto, by message.
namespace model_field {
constexpr int ir_version = 1, producer = 2, producer_version = 3, graph = 7, operators = 8, metadata = 14;
}
namespace graph_field {
constexpr int node = 1, name = 2, initializer = 5, input = 11, output = 12;
}
namespace node_field {
constexpr int input = 1, output = 2, name = 3, type = 4, attribute = 5;
}
namespace attribute_field {
constexpr int name = 1, real = 2, whole = 3, text = 4, graph = 6, reals = 7, wholes = 8, texts = 9, type = 20;
}
namespace tensor_field {
constexpr int dims = 1, type = 2, name = 8, bytes = 9;
}

constexpr int64_t format_version = 8, operator_version = 17;

void require_fits(size_t bytes) {  // a message of protobuf; room is left for the file's head
  require_input(bytes < INT32_MAX - 1000, "onnx: {} MB are more than a file of this format holds, 2 GB",
                bytes / 1'000'000);
}

void add(std::string& fields, int field, const std::string& message) {
  Writer(fields).add_message(static_cast<protozero::pbf_tag_type>(field), message);
}

template <class Fill>
std::string message(Fill fill) {
  std::string bytes;
  Writer writer(bytes);
  fill(writer);
  return bytes;
}

std::string pair_bytes(const std::string& key, const std::string& text) {
  return message([&](Writer& w) { w.add_string(1, key), w.add_string(2, text); });
}

// A ValueInfoProto. Without dims: of any shape.
std::string value_bytes(const std::string& name, OnnxType type, const OnnxGraph::Dims* dims) {
  const std::string shape = message([&](Writer& w) {
    for (const OnnxGraph::Dim& dim : dims ? *dims : OnnxGraph::Dims())
      w.add_message(1, message([&](Writer& one) {
                      if (const int* extent = std::get_if<int>(&dim))
                        one.add_int64(1, *extent);
                      else
                        one.add_string(2, std::get<std::string>(dim));
                    }));
  });
  const std::string tensor = message([&](Writer& w) {
    w.add_int32(1, static_cast<int32_t>(type));
    if (dims) w.add_message(2, shape);
  });
  return message([&](Writer& w) {
    w.add_string(1, name);
    w.add_message(2, message([&](Writer& of_type) { of_type.add_message(1, tensor); }));
  });
}

std::string attribute_bytes(const OnnxAttribute& attribute) {
  using namespace attribute_field;
  const auto kinds = std::array{2, 1, 3, 7, 6, 8, 5};  // AttributeType, in the variant's order
  return message([&](Writer& w) {
    w.add_string(name, attribute.name);
    w.add_enum(type, kinds[attribute.value.index()]);
    if (const auto* i = std::get_if<int64_t>(&attribute.value)) w.add_int64(whole, *i);
    if (const auto* f = std::get_if<float>(&attribute.value)) w.add_float(real, *f);
    if (const auto* s = std::get_if<std::string>(&attribute.value)) w.add_bytes(text, *s);
    if (const auto* g = std::get_if<const OnnxGraph*>(&attribute.value))
      w.add_message(graph, (*g)->graph_bytes());
    if (const auto* all = std::get_if<std::vector<int64_t>>(&attribute.value))
      for (const int64_t i : *all) w.add_int64(wholes, i);
    if (const auto* all = std::get_if<std::vector<float>>(&attribute.value))
      for (const float f : *all) w.add_float(reals, f);
    if (const auto* all = std::get_if<std::vector<std::string>>(&attribute.value))
      for (const std::string& s : *all) w.add_bytes(texts, s);
  });
}

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  static_assert(std::endian::native == std::endian::little);  // as the format's raw numbers
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::vector<int64_t> extents(const Shape& shape) {
  std::vector<int64_t> all;
  for (int i = 0; i < shape.rank(); ++i) all.push_back(shape[i]);
  return all;
}

std::vector<float> values_of(const Var& weight) {
  const auto values = weight.value().to_host();
  return {values.begin(), values.end()};
}

const std::string& name_of(const Var& weight) {
  require(weight.leaf() != nullptr, "onnx: a weight {} that is no parameter has no name", weight.shape());
  return weight.leaf()->leaf_name();
}

}  // namespace

struct OnnxGraph::Shared {
  std::string weights;  // fields of the whole graph
  std::string metadata;
  std::set<std::string> names;
  std::set<std::string> stored;                                  // weights, by name
  std::map<std::pair<int, std::string>, std::string> constants;  // by type, shape and bytes
  int64_t count = 0;                                             // of values that have a number for a name
};

OnnxGraph::OnnxGraph(std::string name) : OnnxGraph(std::move(name), std::make_shared<Shared>()) {}
OnnxGraph::OnnxGraph(std::string name, std::shared_ptr<Shared> shared)
    : name_(std::move(name)), shared_(std::move(shared)) {}

void OnnxGraph::take_name(const std::string& name) {
  require(!name.empty() && shared_->names.insert(name).second, "onnx: the name '{}' is taken", name);
}

OnnxValue OnnxGraph::input(const std::string& name, const Dims& dims, OnnxType type) {
  take_name(name);
  add(inputs_, graph_field::input, value_bytes(name, type, &dims));
  return {this, name};
}

void OnnxGraph::output(const std::string& name, const OnnxValue& value, const Dims& dims, OnnxType type) {
  take_name(name);
  add(nodes_, graph_field::node, message([&](Writer& w) {
        w.add_string(node_field::input, value.name), w.add_string(node_field::output, name);
        w.add_string(node_field::type, "Identity");
      }));
  add(outputs_, graph_field::output, value_bytes(name, type, &dims));
}

void OnnxGraph::note(const std::string& key, const std::string& text) {
  add(shared_->metadata, model_field::metadata, pair_bytes(key, text));
}

// --- weights and constants -------------------------------------------------------------------------------

OnnxValue OnnxGraph::stored(const std::string& name, const std::vector<int64_t>& shape, OnnxType type,
                            std::string_view bytes) {
  require_fits(shared_->weights.size() + bytes.size());
  take_name(name);
  add(shared_->weights, graph_field::initializer, message([&](Writer& w) {
        for (const int64_t extent : shape) w.add_int64(tensor_field::dims, extent);
        w.add_int32(tensor_field::type, static_cast<int32_t>(type));
        w.add_string(tensor_field::name, name);
        w.add_bytes(tensor_field::bytes, bytes.data(), bytes.size());
      }));
  return {this, name};
}

OnnxValue OnnxGraph::arranged(const std::string& name, const std::vector<int64_t>& shape,
                              const std::vector<float>& values) {
  if (!shared_->stored.insert(name).second) return {this, name};
  return stored(name, shape, OnnxType::real32, bytes_of(values));
}

OnnxValue OnnxGraph::weight(const Var& weight) {
  return arranged(name_of(weight), extents(weight.shape()), values_of(weight));
}

OnnxValue OnnxGraph::transposed(const Var& weight) {
  // A decoder that is tied to an embedding, say.
  if (shared_->stored.contains(name_of(weight))) return permute(this->weight(weight), {1, 0});
  const int64_t rows = weight.dim(0), columns = weight.dim(1);
  const std::vector<float> from = values_of(weight);
  std::vector<float> values(from.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      values[static_cast<size_t>(j * rows + i)] = from[static_cast<size_t>(i * columns + j)];
  return arranged(name_of(weight) + ".transposed", {columns, rows}, values);
}

OnnxValue OnnxGraph::constant(const std::vector<int64_t>& shape, OnnxType type, std::string_view bytes) {
  std::string& name =
      shared_->constants[{static_cast<int>(type) + 100 * static_cast<int>(shape.size()), std::string(bytes)}];
  if (!name.empty()) return {this, name};
  name = fmt::format("constant_{}", shared_->constants.size());
  return stored(name, shape, type, bytes);
}

OnnxValue OnnxGraph::numbers(const std::vector<int64_t>& values) {
  return constant({std::ssize(values)}, OnnxType::int64, bytes_of(values));
}

OnnxValue OnnxGraph::number(double value, OnnxType type) {
  if (type == OnnxType::int64) return constant({}, type, bytes_of(std::vector{static_cast<int64_t>(value)}));
  if (type == OnnxType::real64) return constant({}, type, bytes_of(std::vector{value}));
  return constant({}, type, bytes_of(std::vector{static_cast<float>(value)}));
}

OnnxValue OnnxGraph::reals(const std::vector<double>& values) {
  return constant({std::ssize(values)}, OnnxType::real64, bytes_of(values));
}

// --- nodes -----------------------------------------------------------------------------------------------

OnnxValues OnnxGraph::ops(std::string_view type, const OnnxValues& inputs, int count,
                          const std::vector<OnnxAttribute>& attributes) {
  OnnxValues results;
  const std::string name = fmt::format("{}_{}", type, ++shared_->count);
  add(nodes_, graph_field::node, message([&](Writer& w) {
        for (const OnnxValue& input : inputs) w.add_string(node_field::input, input.name);
        for (int k = 0; k < count; ++k) {
          results.push_back({this, count == 1 ? name : fmt::format("{}.{}", name, k)});
          take_name(results.back().name);
          w.add_string(node_field::output, results.back().name);
        }
        w.add_string(node_field::name, name);
        w.add_string(node_field::type, type.data(), type.size());
        for (const OnnxAttribute& attribute : attributes)
          w.add_message(node_field::attribute, attribute_bytes(attribute));
      }));
  return results;
}

OnnxValue OnnxGraph::op(std::string_view type, const OnnxValues& inputs,
                        const std::vector<OnnxAttribute>& attributes) {
  return ops(type, inputs, 1, attributes).front();
}

OnnxGraph::Stepped OnnxGraph::scan(const OnnxValues& states, const OnnxValues& xs, bool backwards,
                                   const Step& step) {
  OnnxGraph body(fmt::format("step_{}", ++shared_->count), shared_);
  OnnxValues inside_states, inside_xs, inputs = states;
  const auto place = [&](OnnxValues& into, const char* what) {
    const std::string name = fmt::format("{}.{}_{}", body.name_, what, into.size());
    body.take_name(name);
    add(body.inputs_, graph_field::input, value_bytes(name, OnnxType::real32, nullptr));
    into.push_back({&body, name});
  };
  for (size_t k = 0; k < states.size(); ++k) place(inside_states, "state");
  for (const OnnxValue& x : xs) place(inside_xs, "x"), inputs.push_back(x);
  const Stepped found = step(body, inside_states, inside_xs);
  const auto give = [&](const OnnxValues& values) {
    for (const OnnxValue& value : values) {  // a value may be a state and an output, too
      const OnnxValue given = body.op("Identity", {value});
      add(body.outputs_, graph_field::output, value_bytes(given.name, OnnxType::real32, nullptr));
    }
  };
  give(found.states), give(found.outputs);
  const int64_t direction = backwards ? 1 : 0;
  const OnnxValues all =
      ops("Scan", inputs, static_cast<int>(found.states.size() + found.outputs.size()),
          {{"body", &body},
           {"num_scan_inputs", std::ssize(xs)},
           {"scan_input_directions", std::vector<int64_t>(xs.size(), direction)},
           {"scan_output_directions", std::vector<int64_t>(found.outputs.size(), direction)}});
  const auto middle = all.begin() + std::ssize(found.states);
  return {{all.begin(), middle}, {middle, all.end()}};
}

// --- the file --------------------------------------------------------------------------------------------

std::string OnnxGraph::graph_bytes() const {
  std::string bytes = nodes_;
  Writer(bytes).add_string(graph_field::name, name_);
  return bytes + inputs_ + outputs_;
}

std::string OnnxGraph::model_bytes() const {
  const std::string graph = graph_bytes() + shared_->weights;
  require_fits(graph.size() + shared_->metadata.size());
  return message([&](Writer& w) {
           w.add_int64(model_field::ir_version, format_version);
           w.add_string(model_field::producer, "unroll");
           w.add_string(model_field::producer_version, UNROLL_VERSION);
           w.add_message(model_field::graph, graph);
           w.add_message(model_field::operators, message([](Writer& set) {
                           set.add_string(1, ""), set.add_int64(2, operator_version);
                         }));
         }) +
         shared_->metadata;
}

void OnnxGraph::write(const std::filesystem::path& path) const { write_file_atomically(path, model_bytes()); }

}  // namespace unroll
