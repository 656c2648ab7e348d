// The cells that the examples show compute the equations above them.
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "layers/recurrent/recurrent.h"
#include "tests/support.h"
#include "unroll.h"

// Each example is a program of its own.
#define main main_of_sru
namespace sru {
#include "examples/sru.cpp"
}
#undef main
#define main main_of_min_gru
namespace min_gru {
#include "examples/min_gru.cpp"
}
#undef main
#define main main_of_slstm
namespace slstm {
#include "examples/slstm.cpp"
}
#undef main

using namespace unroll;

namespace {

using Numbers = std::vector<double>;
constexpr int input = 3, hidden = 2, steps = 4;

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

// The unit's next state and its h, by the sums W x of each gate, the state before and the cell's other weights.
using Unit = std::function<double(const Numbers& sums, Numbers& state,
                                  const std::function<double(const char*, int gate)>& weight)>;

// The cell's y beside a unit's, by hand. `gates`: rows of weight_ih a unit; `parts`: numbers of its state.
template <class Cell>
void check_cell(int gates, int parts, const Unit& unit) {
  ParameterSet params;
  const Recurrent<Cell> cell(params / "cell", {.input = input, .hidden = hidden});
  RandomStream random(1, "cells");
  std::map<std::string, std::vector<real>> weights;
  for (Parameter* p : params) {
    p->var().value().copy_from(random_tensor(p->shape, random));
    std::string name = p->name.substr(p->name.find('.') + 1);
    weights[name.substr(0, name.rfind("_l"))] = values(p->var());
  }
  const Tensor x = random_tensor({steps, 1, input}, random);
  const std::vector<real> y = values(cell(x, cell.zero_state(1)).y);
  for (int k = 0; k < hidden; ++k) {
    Numbers state(static_cast<size_t>(parts));
    for (int t = 0; t < steps; ++t) {
      Numbers sums(static_cast<size_t>(gates));
      for (int gate = 0; gate < gates; ++gate)
        for (int i = 0; i < input; ++i)
          sums[static_cast<size_t>(gate)] +=
              static_cast<double>(
                  weights.at("weight_ih")[static_cast<size_t>((gate * hidden + k) * input + i)]) *
              static_cast<double>(values(x)[static_cast<size_t>(t * input + i)]);
      const double h = unit(sums, state, [&](const char* name, int gate) {
        return static_cast<double>(weights.at(name)[static_cast<size_t>(gate * hidden + k)]);
      });
      CHECK(static_cast<double>(y[static_cast<size_t>(t * hidden + k)]) == doctest::Approx(h).epsilon(1e-5));
    }
  }
}

}  // namespace

TEST_CASE("the simple recurrent unit") {
  check_cell<sru::SruCell>(4, 1, [](const Numbers& sums, Numbers& state, const auto& weight) {
    double& c = state[0];
    const double f = sigma(sums[0] + weight("peephole", 0) * c + weight("bias", 0)),
                 r = sigma(sums[1] + weight("peephole", 1) * c + weight("bias", 1));
    c = f * c + (1 - f) * sums[2];
    return r * c + (1 - r) * sums[3];
  });
}

TEST_CASE("the minimal gated recurrent unit") {
  check_cell<min_gru::MinGruCell>(2, 1, [](const Numbers& sums, Numbers& state, const auto& weight) {
    const double z = sigma(sums[0] + weight("bias", 0));
    return state[0] = (1 - z) * state[0] + z * (sums[1] + weight("bias", 1));
  });
}

TEST_CASE("the sLSTM, without its stabiliser") {
  check_cell<slstm::SlstmCell>(4, 2, [](const Numbers& sums, Numbers& state, const auto& weight) {
    const double i = std::exp(sums[0] + weight("bias", 0)), f = sigma(sums[1] + weight("bias", 1)),
                 z = std::tanh(sums[2] + weight("bias", 2)), o = sigma(sums[3] + weight("bias", 3));
    state[0] = f * state[0] + i * z, state[1] = f * state[1] + i;
    return o * state[0] / state[1];
  });
}
