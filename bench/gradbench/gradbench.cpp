// An entry for GradBench: reads the protocol's messages, a line of JSON each, and answers with lines. One thread.
//
//   {"id": 0, "kind": "start", "eval": "lse"}                       -> {"id": 0, "tool": "unroll"}
//   {"id": 1, "kind": "define", "module": "lse"}                    -> {"id": 1, "success": true}
//   {"id": 2, "kind": "evaluate", "module": "lse", "function": "gradient", "input": {"x": […], "min_runs": 1, "min_seconds": 1}}
//     -> {"id": 2, "success": true, "output": […], "timings": [{"name": "evaluate", "nanoseconds": 812}, …]}
//
// An input that cannot be used is answered with "success": false and an "error". A line without an "id" ends the program.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

#include "bench/gradbench/evals.h"
#include "framework/ops.h"
#include "framework/threads.h"

using namespace unroll;
using namespace unroll::gradbench;

namespace {

// A number, a list, a list of lists.
Json written(const Tensor& x) {
  if (x.rank() == 0) return x.item();
  Json list = Json::array();
  if (x.rank() == 1)
    for (const real v : x.span()) list.push_back(v);
  else
    for (int i = 0; i < x.dim(0); ++i) list.push_back(written(x[i]));
  return list;
}

std::vector<Tensor> gradient_of(const Problem& problem) {
  Tape tape;
  Vars x;
  for (const Tensor& value : problem.at) x.push_back(tape.watch(value));
  const Var y = problem.value(x);
  tape.backward(y.shape().rank() == 0 ? y : y[-1]);
  std::vector<Tensor> result;
  for (const Var& variable : x) result.push_back(variable.grad());
  return result;
}

Tensor value_of(const Problem& problem) {
  return problem.value(Vars(problem.at.begin(), problem.at.end())).value();
}

Json named(const Problem& problem, const std::vector<Tensor>& gradients) {
  if (problem.names.empty()) return written(gradients[0]);
  Json result = Json::object();
  for (size_t i = 0; i < gradients.size(); ++i) result[problem.names[i]] = written(gradients[i]);
  return result;
}

std::string text_in(const Json& message, const char* key) {
  require_input(message.contains(key) && message[key].is_string(), "message: '{}' must be a text", key);
  return message[key].get<std::string>();
}

const Eval* eval_named(const std::string& module) {
  const auto found = std::ranges::find(evals(), module, &Eval::module);
  return found == evals().end() ? nullptr : &*found;
}

// Runs it at least so often, and as long as it took less than so many seconds; the output is the last run's.
void evaluate(const Json& message, Json& answer) {
  const std::string module = text_in(message, "module"), function = text_in(message, "function");
  const Eval* const eval = eval_named(module);
  require_input(eval, "message: there is no module '{}'", module);
  require_input(function == eval->value || function == eval->gradient, "message: {} has no function '{}'",
                module, function);
  require_input(message.contains("input"), "message: there is no 'input'");
  const Json& input = message["input"];
  const Problem problem = eval->read(input);
  const auto given = [&](const char* key) { return input.is_object() && input.contains(key); };
  const int runs = given("min_runs") ? count(input, "min_runs", 1) : 1;
  const double seconds = given("min_seconds") ? number(input, "min_seconds") : 0;

  Json output, timings = Json::array();
  std::vector<Tensor> result;
  for (double spent = 0; std::ssize(timings) < runs || spent < seconds;) {
    const auto start = std::chrono::steady_clock::now();
    result = function == eval->gradient ? gradient_of(problem) : std::vector{value_of(problem)};
    const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start;
    timings.push_back({{"name", "evaluate"}, {"nanoseconds", time.count()}});
    spent += std::chrono::duration<double>(time).count();
  }
  answer["output"] = function == eval->gradient ? named(problem, result) : written(result[0]);
  answer["timings"] = std::move(timings);
}

Json answer_to(const std::string& line) {
  const Json message = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  require_input(message.is_object() && message.contains("id") && message["id"].is_number_integer(),
                "gradbench: a line is not a JSON object with an 'id'");
  Json answer{{"id", message["id"]}};
  try {
    const std::string kind = text_in(message, "kind");
    if (kind == "start") answer["tool"] = "unroll";
    if (kind == "evaluate") evaluate(message, answer);
    if (kind == "define" || kind == "evaluate")
      answer["success"] = kind == "evaluate" || eval_named(text_in(message, "module"));
  } catch (const Error& error) {
    answer["success"] = false;
    answer["error"] = error.what();
  }
  return answer;
}

}  // namespace

int main() {
  set_threads(1);
  try {
    for (std::string line; std::getline(std::cin, line);)
      std::cout << answer_to(line).dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
