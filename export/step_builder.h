// Makes the plan of a step of a model by naming its layers, in inference: dropout does nothing, zoneout is its expectation.
//
//   const SafetensorsFile file("amp.safetensors");
//   StepBuilder step(weights_in(file));
//   StepVector x = step.input("x", 1);
//   x = step.recurrent("lstm", CellKind::lstm, {.input = 1, .hidden = 16}, x);
//   step.output("y", step.dense("out.weight", "out.bias", 1, x));
//   RealTimeStep amp(step.plan());
//
// Weights are found by their names, so nothing but a file of them is needed. A model that exists is shorter to name:
// step_of(params, layers…) (export/step_of.h).
#pragma once

#include "export/step_plan.h"
#include "layers/recurrent/options.h"

namespace unroll {

// A weight that a plan needs.
struct StepWeight {
  std::string name;          // "lstm.weight_ih_l0"
  std::vector<int> shape;    // [64, 1]
  bool is_gru_bias = false;  // "gru.bias_l0": PyTorch adds the first two thirds of its two biases only
};
// Returns its numbers. Throws Error if there is none of this name, or its shape is another.
using StepWeights = std::function<std::vector<float>(const StepWeight& weight)>;

// h and c of each layer.
struct RecurrentPlaces {
  std::vector<StepVector> h, c;
};

class StepBuilder {
 public:
  explicit StepBuilder(StepWeights weights) : weights_(std::move(weights)) {}

  // Numbers that the caller gives, and takes.
  StepVector input(const std::string& name, int size);
  void output(const std::string& name, const StepVector& from);
  StepVector output(const std::string& name, int size) { return only(name, StepArray::Kind::output, size); }
  // In 64 bits, for kernels that read or write them: input64, output64, constant64.
  StepVector input64(const std::string& name, int size) { return add(name, StepArray::Kind::input64, size); }
  StepVector output64(const std::string& name, int size);
  StepVector constant64(const std::string& name, std::vector<double> values);

  // Row `token` of a table [vocab, dim]; the step gets a token. A matrix that a dense layer reads, too, stands once in the plan.
  StepVector embedding(const std::string& weight, int vocab, int dim);
  // y = W x + b, weight [out, x.size]. bias "": none.
  StepVector dense(const std::string& weight, const std::string& bias, int out, const StepVector& x);
  // Layers under a path, by a state that they change, or by that of the path. Returns y [config.output()], which the next use of
  // the state may change. Throws Error for layers that read backwards, for a second use of the path's state, for sizes that do not
  // fit, and for cells and options that no equation is here for.
  StepVector recurrent(const std::string& path, CellKind cell, const RecurrentConfig& config,
                       const StepVector& x, const RecurrentPlaces& state);
  StepVector recurrent(const std::string& path, CellKind cell, const RecurrentConfig& config,
                       const StepVector& x) {
    return recurrent(path, cell, config, x, recurrent_state(path, cell, config));
  }
  // A state of layers. From step to step, one for each path; or, as `work`, zero from this place of each step on.
  RecurrentPlaces recurrent_state(const std::string& path, CellKind cell, const RecurrentConfig& config,
                                  StepArray::Kind kind = StepArray::Kind::state);
  // y = gain (x - mean) / deviation + bias
  StepVector layer_norm(const std::string& path, const StepVector& x, float epsilon = 1e-5f);

  // Parts, for layers that this class lacks (export/step_transformer.h adds one): state, work, result, constant, matrix, copy.
  StepVector state(const std::string& name, int size) { return only(name, StepArray::Kind::state, size); }
  // One array for each name: it holds what is read before the next work of this name.
  StepVector work(const std::string& name, int size) { return add(name, StepArray::Kind::work, size); }
  // A layer's result: an array of its own each time. The second one of a name is called NAME_2.
  StepVector result(const std::string& name, int size);
  // Numbers of one name: a weight's, however often it is read, or others, once.
  StepVector constant(const StepWeight& weight);
  StepVector constant(const std::string& name, std::vector<float> values);
  StepPlace matrix(const std::string& weight, int out, int in);  // of a weight [out, in]
  // y += W x
  void product(const StepVector& y, const StepVector& x, const std::string& weight);
  void copy(const StepVector& y, const StepVector& x) { call("copy", y, {x}); }  // y = x
  // The name of a kernel that gives y with y.size as its size.
  void call(std::string_view kernel, const StepVector& y, std::initializer_list<StepVector> others = {});
  void call(std::string_view kernel, float number, const StepVector& y,
            std::initializer_list<StepVector> others = {});
  void call(StepCall call) { plan_.calls.push_back(std::move(call)); }
  // Calls between these are made so often; a place in them may move on with each turn. token_size: as often as the token says.
  void loop(int turns);
  void end_loop();                                // see loop()
  StepVector turned(StepVector v, int by) const;  // v, which moves on by so much each turn
  // A whole number in first … end-1 that a step reads, under this name.
  void read_token(const std::string& name, int first, int end);
  // The kernel of a function. Throws Error, with its name, if there is none.
  static std::string_view kernel_of(Unary f);

  const StepPlan& plan() const { return plan_; }

 private:
  StepVector add(const std::string& name, StepArray::Kind kind, int size);
  StepVector only(const std::string& name, StepArray::Kind kind, int size);  // Throws Error if there is one
  int find(const std::string& name) const;

  StepWeights weights_;
  StepPlan plan_;
  int depth_ = 0;  // of loops
};

}  // namespace unroll
