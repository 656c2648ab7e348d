// cuDNN's LSTM, GRU and plain RNN: plain loops in double precision, written from the equations and sharing nothing
// with the library's kernels, so that agreement of the two means something.
#pragma once

#include <vector>

namespace standin {

using Numbers = std::vector<double>;

enum class RnnKind { relu, tanh, lstm, gru };  // as cudnnRNNMode_t

struct RnnShape {
  RnnKind kind;
  int steps, batch, input, hidden, width, layers, directions;  // width: of h, hidden where nothing projects
  double (*carried)(double) =
      nullptr;  // what goes of a number of a state, or of its gradient, from step to step

  int gates() const { return kind == RnnKind::lstm ? 4 : kind == RnnKind::gru ? 3 : 1; }
  int pseudo_layers() const { return layers * directions; }
  int input_of(int pseudo) const { return pseudo < directions ? input : directions * width; }
};

// One layer in one direction; gates in order i f g o, or r z n; a plain RNN has one sum. Also gradients of all that.
struct RnnWeights {
  Numbers x, h, bias_x, bias_h, projection;  // [G*H, input], [G*H, P], [G*H], [G*H], [P, H] or empty
};

// The forward pass of one layer in one direction keeps these numbers for its gradients.
struct RnnTrace {
  Numbers gates;  // [T, B, G*H] after their activations
  Numbers state;  // [T, B, H]: c of an LSTM; of a GRU the recurrent sum of n
  Numbers out;    // [T, B, H]: h before it is projected
  // and the backward pass for the gradients of the weights
  Numbers d_sums_x, d_sums_h;  // [T, B, G*H]: of what x and h are multiplied into
  Numbers d_projected;         // [T, B, P]

  std::vector<Numbers*> all() { return {&gates, &state, &out, &d_sums_x, &d_sums_h, &d_projected}; }
};
RnnTrace trace_of(const RnnShape& shape);  // with its memory
std::size_t numbers_of_trace(const RnnShape& shape);

// One layer in one direction over x [T, B, input], row b being lengths[b] steps long: its part of y [T, B, D*P], and the
// state h [B, P] and c [B, H], which becomes that after the last step.
void forward(const RnnShape& shape, int pseudo, const RnnWeights& w, const std::vector<int>& lengths,
             const Numbers& x, Numbers& y, double* h, double* c, RnnTrace& trace);
// The state's gradients become those of the state before; dx is added to. h0 and c0: the state before.
void backward_data(const RnnShape& shape, int pseudo, const RnnWeights& w, const std::vector<int>& lengths,
                   const Numbers& y, const Numbers& dy, const double* h0, const double* c0, double* dh,
                   double* dc, Numbers& dx, RnnTrace& trace);
// dw is added to.
void backward_weights(const RnnShape& shape, int pseudo, const std::vector<int>& lengths, const Numbers& x,
                      const Numbers& y, const double* h0, const RnnTrace& trace, RnnWeights& dw);

}  // namespace standin
