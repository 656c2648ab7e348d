// A tape's recording as a graph: its operations, what each was given, and how large values and gradients are.
//
//   TapeGraph graph;
//   Tape tape({.observer = &graph});
//   …
//   tape.backward(loss);
//   std::cout << graph.dot();                             // dot -Tsvg draws it; mermaid() is for Markdown
//
// It reads every value and every gradient once more. A graph observes one tape.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/tape.h"

namespace unroll {

struct TapeGraph : TapeObserver {
  // A tensor's shape, its norm, and its gradient's.
  struct Value {
    Shape shape;                               // of the tensor
    double norm = 0;                           // Euclidean, when it was recorded
    std::optional<double> gradient_norm = {};  // after backward, if anything was contributed
  };
  // The result of an operation, a parameter, or a constant.
  struct Input {
    enum class Kind { result, parameter, constant };  // of an operation; of the ParameterSet; neither
    Kind kind = Kind::constant;  // which of these
    int number = -1;             // of the operation or the parameter; a constant has none
    int result = 0;              // which of the operation's
    Shape shape = {};            // of what the operation was given
  };
  // As it was recorded.
  struct Operation {
    std::string name, file;      // the file from the project's folder
    int line = 0;                // of its record(…)
    std::vector<Input> inputs;   // in its order
    std::vector<Value> results;  // in its order
  };
  // The gradient is the sum of all contributions since it was last spent, those of other tapes too.
  struct Parameter {
    std::string name;  // by path
    Value value;       // its tensor
  };

  std::vector<Operation> operations;  // in the order of recording; backward plays the last one first
  std::vector<Parameter> parameters;  // in the order of first use

  std::string dot() const;      // for Graphviz
  std::string mermaid() const;  // for Markdown viewers that draw ```mermaid

  void recorded(const OperationName& op, std::span<const Var* const> inputs,
                std::span<const Var> results) override;
  void completed(const Var& x) override;

 private:
  Input input_of(const Var& var);
  std::unordered_map<const Node*, std::pair<int, int>> result_of_;  // operation, and which of its results
  std::unordered_map<const Node*, int> parameter_of_;
};

}  // namespace unroll
