// Lesson 13: the tape's memory. The page to read: examples/lessons/13-memory/README.md
#include "examples/lessons/13-memory/check.h"

// The gradient of a whole window's loss, from tapes of one piece: the last piece first, each read anew from the state that a
// first reading left before it.
void in_pieces(const Lstm& lstm, const Tensor& x, const Tensor& target) {
  const std::vector<RecurrentState> before = states_before(lstm, x);  // the first reading, without a tape
  // The gradient of all later pieces' loss with respect to the state in which this piece ends. After the last it is 0.
  Tensor dh = Tensor::zeros({1, batch, units}), dc = Tensor::zeros({1, batch, units});
  for (size_t k = before.size(); k-- > 0;) {
    const int begin = static_cast<int>(k) * piece, end = begin + piece;
    Tape tape;  // of this piece alone
    const Var h = tape.watch(before[k].h), c = tape.watch(before[k].c);
    const auto [y, next] = lstm(x.slice(begin, end), RecurrentVars{h, c});
    const Var own = loss_of(y, target.slice(begin, end));
    // ---- your part: what is differentiated. It is this piece's own loss, and dh and dc must enter where the piece ends,
    // at next.h and next.c. The gradient of sum(v * d) with respect to v is d.
    const Var objective = own;
    // ---- end of your part
    tape.backward(objective);  // adds to the weights' gradients
    dh = h.grad().clone(), dc = c.grad().clone();
  }
}

void lesson() {
  for (const int steps : lengths) show_whole(steps);
  check_pieces(in_pieces);
}
