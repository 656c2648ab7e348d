// Lesson 1: a tape by hand. The page to read: examples/lessons/01-tape/README.md
#include <functional>
#include <vector>

#include "examples/lessons/01-tape/check.h"

struct Number {  // where a number of the computation stands on the tape
  size_t at;
};

struct Tape {
  std::vector<double> value, gradient;         // of each number, in the order of computing
  std::vector<std::function<void()>> records;  // how a result's gradient reaches what it was made of

  Number number(double v) {
    value.push_back(v);
    gradient.push_back(0);
    return {value.size() - 1};
  }

  Number add(Number a, Number b) {
    const Number y = number(value[a.at] + value[b.at]);
    records.push_back([=, this] {
      gradient[a.at] += gradient[y.at];
      gradient[b.at] += gradient[y.at];
    });
    return y;
  }

  Number mul(Number a, Number b) {
    const Number y = number(value[a.at] * value[b.at]);
    records.push_back([=, this] {
      // ---- your part: y = a·b. What do the gradients of a and b gain?

      // ---- end of your part
    });
    return y;
  }

  void backward(Number loss) {
    gradient[loss.at] = 1;
    for (auto record = records.rbegin(); record != records.rend(); ++record) (*record)();
  }
};

// L = (w·x + b)², of which x = 1.5 and b = -1 are given: L and dL/dw.
Slope loss_at(double weight) {
  Tape tape;
  const Number w = tape.number(weight), x = tape.number(1.5), b = tape.number(-1);
  const Number sum = tape.add(tape.mul(w, x), b);
  const Number loss = tape.mul(sum, sum);
  tape.backward(loss);
  return {tape.value[loss.at], tape.gradient[w.at]};
}

void lesson() {
  for (const double w : {0.5, 1.0, 2.0})
    fmt::print("w = {}:  L = {:.4f}, dL/dw = {:.4f} by your tape, {:.4f} by central difference\n", w,
               loss_at(w).value, loss_at(w).slope, central_difference(loss_at, w));
  draw_tangents(loss_at);
  check_tape<Tape>();
  check_slope(loss_at);
}
