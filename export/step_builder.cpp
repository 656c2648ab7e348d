#include "export/step_builder.h"

#include <algorithm>

namespace unroll {

namespace {

// [out][in] -> [in][out]
std::vector<float> turned_over(const std::vector<float>& rows, int out, int in) {
  std::vector<float> result(rows.size());
  for (size_t o = 0; o < static_cast<size_t>(out); ++o)
    for (size_t i = 0; i < static_cast<size_t>(in); ++i)
      result[i * static_cast<size_t>(out) + o] = rows[o * static_cast<size_t>(in) + i];
  return result;
}

}  // namespace

int StepBuilder::find(const std::string& name) const {
  const auto found = std::ranges::find(plan_.arrays, name, &StepArray::name);
  return found == plan_.arrays.end() ? -1 : static_cast<int>(found - plan_.arrays.begin());
}

StepVector StepBuilder::add(const std::string& name, StepArray::Kind kind, int size) {
  int at = find(name);
  if (at < 0) {
    at = static_cast<int>(plan_.arrays.size());
    plan_.arrays.push_back({.name = name, .kind = kind, .size = size});
  }
  const StepArray& array = plan_.arrays[static_cast<size_t>(at)];
  require(array.kind == kind && array.size == size, "step: two arrays are called {}, of {} and {} numbers",
          name, array.size, size);
  return {{.array = at}, size};
}

StepVector StepBuilder::only(const std::string& name, StepArray::Kind kind, int size) {
  require(
      find(name) < 0,
      "step: a second {}: each use of a layer needs a state of its own (recurrent_state), each output a name",
      name);
  return add(name, kind, size);
}

StepVector StepBuilder::result(const std::string& name, int size) {
  std::string own = name;
  for (int k = 2; find(own) >= 0; ++k) own = fmt::format("{}_{}", name, k);
  return work(own, size);
}

StepVector StepBuilder::input(const std::string& name, int size) {
  return add(name, StepArray::Kind::input, size);
}
StepVector StepBuilder::output64(const std::string& name, int size) {
  return only(name, StepArray::Kind::output64, size);
}
void StepBuilder::output(const std::string& name, const StepVector& from) {
  copy(output(name, from.size), from);
}

StepVector StepBuilder::constant(const std::string& name, std::vector<float> values) {
  const StepVector result = only(name, StepArray::Kind::constant, static_cast<int>(values.size()));
  plan_.arrays.back().values = std::move(values);
  return result;
}
StepVector StepBuilder::constant64(const std::string& name, std::vector<double> values) {
  const StepVector result = only(name, StepArray::Kind::constant64, static_cast<int>(values.size()));
  plan_.arrays.back().values64 = std::move(values);
  return result;
}
StepVector StepBuilder::constant(const StepWeight& weight) {
  if (const int known = find(weight.name); known >= 0)
    return {{.array = known}, static_cast<int>(plan_.arrays[static_cast<size_t>(known)].size)};
  return constant(weight.name, weights_(weight));
}

StepPlace StepBuilder::matrix(const std::string& weight, int out, int in) {
  int at = find(weight);
  if (at < 0) {
    at = static_cast<int>(plan_.arrays.size());
    plan_.arrays.push_back({.name = weight,
                            .kind = StepArray::Kind::matrix,
                            .size = int64_t{out} * in,
                            .values = turned_over(weights_({weight, {out, in}}), out, in),
                            .out = out});
  }
  const StepArray& array = plan_.arrays[static_cast<size_t>(at)];
  require(array.out == out && array.size == int64_t{out} * in,
          "step: {} is [{}, {}], and is read as [{}, {}]", weight, array.out, array.size / array.out, out,
          in);
  return {.array = at};
}

void StepBuilder::call(std::string_view kernel, const StepVector& y,
                       std::initializer_list<StepVector> others) {
  StepCall result{.kernel = kernel, .sizes = {y.size}, .places = {y.place}};
  for (const StepVector& other : others) {
    require(other.size == y.size || other.size == 1, "step: {} of {} and {} numbers", kernel, y.size,
            other.size);
    result.places.push_back(other.place);
  }
  call(std::move(result));
}
void StepBuilder::call(std::string_view kernel, float number, const StepVector& y,
                       std::initializer_list<StepVector> others) {
  call(kernel, y, others);
  plan_.calls.back().numbers = {number};
}

void StepBuilder::read_token(const std::string& name, int first, int end) {
  plan_.token = name, plan_.first_token = first, plan_.token_end = end;
}

StepVector StepBuilder::turned(StepVector v, int by) const {
  require(depth_ > 0, "step: a place moves in no loop");
  v.place.by_turn[depth_ - 1] += by;
  return v;
}
void StepBuilder::loop(int turns) {
  require(depth_ < 2, "step: three loops stand in each other");
  call({.kernel = "loop", .sizes = {turns}}), ++depth_;
}
void StepBuilder::end_loop() { call({.kernel = "end"}), --depth_; }

void StepBuilder::product(const StepVector& y, const StepVector& x, const std::string& weight) {
  call({.kernel = "product",
        .sizes = {x.size, y.size},
        .places = {y.place, x.place, matrix(weight, y.size, x.size)}});
}

std::string_view StepBuilder::kernel_of(Unary f) {
  switch (f) {
    case Unary::sigmoid:
      return "sigmoid";
    case Unary::tanh:
      return "tanh";
    case Unary::softplus:
      return "softplus";
    case Unary::gelu:
      return "gelu";
    case Unary::relu:
      return "relu";
    case Unary::hard_sigmoid:
      return "hard_sigmoid";
    case Unary::hard_tanh:
      return "hard_tanh";
    case Unary::softsign:
      return "softsign";
    default:
      throw Error(fmt::format("step: no kernel computes {}", unary_names[static_cast<size_t>(f)]));
  }
}

// --- layers ------------------------------------------------------------------------------------------------

StepVector StepBuilder::embedding(const std::string& weight, int vocab, int dim) {
  require(plan_.token_end == 0 || plan_.token_end == vocab, "step: two embeddings, of {} and {} tokens",
          plan_.token_end, vocab);
  read_token("token", 0, vocab);
  const StepVector y = result(weight + "_row", dim);
  call({.kernel = "column",
        .sizes = {dim, vocab, token_size},
        .places = {y.place, matrix(weight, vocab, dim)}});
  return y;
}

StepVector StepBuilder::dense(const std::string& weight, const std::string& bias, int out,
                              const StepVector& x) {
  const StepVector y = result(weight + "_sums", out);
  bias.empty() ? call("zero", y) : copy(y, constant({bias, {out}}));
  product(y, x, weight);
  return y;
}

StepVector StepBuilder::layer_norm(const std::string& path, const StepVector& x, float epsilon) {
  const StepVector y = result(path + ".y", x.size);
  copy(y, x);
  call("norm", epsilon, y, {constant({path + ".weight", {x.size}})});
  call("add", y, {constant({path + ".bias", {x.size}})});
  return y;
}

}  // namespace unroll
