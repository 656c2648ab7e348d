// A graph of ONNX, version 17 of its operators: nodes in the order of computing, weights, named inputs and outputs.
//
//   OnnxGraph graph("classifier");
//   const OnnxValue x = graph.input("x", {"steps", "batch", 8});
//   graph.output("y", softmax(onnx(model.out, tanh(x))), {"steps", "batch", 3});
//   graph.write("classifier.onnx");
//
// Operations here have the names and meanings of framework/ops.h. export/onnx.h has the layers, and whole models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "framework/tape.h"
#include "framework/unary.h"

namespace unroll {

class OnnxGraph;

enum class OnnxType : uint8_t { real32 = 1, int64 = 7, real64 = 11 };  // the format's numbers

// A value in a graph. Requires: the graph outlives it and stays in its place.
struct OnnxValue {
  OnnxGraph* graph = nullptr;  // nullptr: an input that an operator may lack, left out
  std::string name = {};
};
using OnnxValues = std::vector<OnnxValue>;  // several values

// An attribute of a node, by its name, and its value.
struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
               std::vector<std::string>, const OnnxGraph*>
      value;
};

class OnnxGraph {
 public:
  using Dim =
      std::variant<int, std::string>;  // a number, or the name of one that is known when the model runs
  using Dims = std::vector<Dim>;       // of a value, in order

  explicit OnnxGraph(std::string name);
  OnnxGraph(const OnnxGraph&) = delete;
  OnnxGraph& operator=(const OnnxGraph&) = delete;

  // Throw Error if the name is taken.
  OnnxValue input(const std::string& name, const Dims& dims, OnnxType type = OnnxType::real32);
  void output(const std::string& name, const OnnxValue& value, const Dims& dims,
              OnnxType type = OnnxType::real32);
  // A line of metadata in the file.
  void note(const std::string& key, const std::string& text);

  // A weight under its parameter's name. Stored once, however often it is asked for.
  OnnxValue weight(const Var& weight);
  OnnxValue transposed(const Var& weight);  // [rows, columns] -> [columns, rows]
  // Another arrangement of weights, in the shape given. Stored once under its name.
  OnnxValue arranged(const std::string& name, const std::vector<int64_t>& shape,
                     const std::vector<float>& values);
  OnnxValue numbers(const std::vector<int64_t>& values);  // [size], for shapes and places
  OnnxValue number(double value, OnnxType type = OnnxType::real32);  // a constant, []
  OnnxValue reals(const std::vector<double>& values);  // [size], in 64 bits

  // A node of ONNX's operators: its one result, or its first `count`.
  OnnxValue op(std::string_view type, const OnnxValues& inputs,
               const std::vector<OnnxAttribute>& attributes = {});
  OnnxValues ops(std::string_view type, const OnnxValues& inputs, int count,
                 const std::vector<OnnxAttribute>& attributes = {});

  // scan: steps over the first dimension of each of xs, the last first if `backwards`. A Step gives, in a graph of its own, the
  // states after a step and its outputs. Results: the states after the last step, then [steps, …] of each output.
  struct Stepped {
    OnnxValues states, outputs;
  };
  using Step = std::function<Stepped(OnnxGraph& graph, const OnnxValues& states, const OnnxValues& xs)>;
  Stepped scan(const OnnxValues& states, const OnnxValues& xs, bool backwards, const Step& step);

  // The bytes of a GraphProto; and of the file. Throws InputError if a model is larger than the format's 2 GB.
  std::string graph_bytes() const;
  std::string model_bytes() const;  // the file's
  // Replaces the file whole.
  void write(const std::filesystem::path& path) const;

 private:
  struct Shared;  // by a graph and the bodies of its scans: weights, names
  OnnxGraph(std::string name, std::shared_ptr<Shared> shared);
  OnnxValue stored(const std::string& name, const std::vector<int64_t>& shape, OnnxType type,
                   std::string_view bytes);
  OnnxValue constant(const std::vector<int64_t>& shape, OnnxType type, std::string_view bytes);
  void take_name(const std::string& name);

  std::string name_, nodes_, inputs_, outputs_;  // as bytes of fields
  std::shared_ptr<Shared> shared_;
};

// --- operations ------------------------------------------------------------------------------------------

OnnxValue operator+(const OnnxValue& a, const OnnxValue& b);
OnnxValue operator-(const OnnxValue& a, const OnnxValue& b);
OnnxValue operator*(const OnnxValue& a, const OnnxValue& b);
OnnxValue operator/(const OnnxValue& a, const OnnxValue& b);
OnnxValue operator*(double a, const OnnxValue& b);
OnnxValue one_minus(const OnnxValue& x);  // 1 - x
OnnxValue matmul(const OnnxValue& a, const OnnxValue& b);
OnnxValue unary(Unary f, const OnnxValue& x);
OnnxValue sigmoid(const OnnxValue& x);
OnnxValue tanh(const OnnxValue& x);
OnnxValue relu(const OnnxValue& x);
OnnxValue softmax(const OnnxValue& x, int axis = -1);
OnnxValue log_softmax(const OnnxValue& x, int axis = -1);
OnnxValue concat(const OnnxValues& parts, int axis);
OnnxValues chunk(const OnnxValue& x, int parts, int axis);
// Elements begin … end-1; negative ones count from the end.
constexpr int64_t to_the_end = INT64_MAX;
OnnxValue slice(const OnnxValue& x, int axis, int64_t begin, int64_t end);
OnnxValue row(const OnnxValue& x, int64_t i);  // without the first dimension; -1: the last one
OnnxValue rows(const OnnxValue& table, const OnnxValue& ids);  // the rows of these ids
// 0: the extent of x there; -1: what is left.
OnnxValue reshape(const OnnxValue& x, const std::vector<int64_t>& shape);
OnnxValue permute(const OnnxValue& x, const std::vector<int64_t>& order);
OnnxValue unsqueeze(const OnnxValue& x, int axis);  // one more dimension there, of 1
OnnxValue cast(const OnnxValue& x, OnnxType type);  // its numbers in another type
OnnxValue extent(const OnnxValue& x, int axis);  // [1], a whole number

}  // namespace unroll
