// Every kernel's signature, once. A back end fills the table: the CPU's is compiled for several instruction sets
// and chosen at start.
//
// Kernels see bare memory: row-major, sizes in elements. `add` means: add to what the output holds, instead of
// overwriting it. Sums have a fixed order that does not depend on the number of threads. This header is included
// by files compiled for instruction sets that the machine may lack, so it holds nothing but declarations.
#pragma once

#include <cstdint>

#include "framework/real.h"
#include "framework/rounded_copy.h"
#include "framework/unary.h"

namespace unroll {

struct RandomKey;

enum class Binary : uint8_t { add, sub, mul, div, max, min, pow, less, less_equal, equal, not_equal };

// Orders of optimizers and of a step: framework/kernels/updates.h.
struct WeightUpdate;
struct DynamicUpdate;
struct StepValues;

// Options act on a state [batch, width] between the step that computes it and the next one, which meets it and
// multiplies it. A cell's kernels do it in the pass that they make anyway. Null: that option does not act.
//   forward   state = share·computed + (1 - share)·before;    met = state, but 0 in rows that begin anew;    entering = met·mask
//   back      d = d of entering·mask + direct + rest, but 0 in rows that begin anew, + dy;
//             rest_of_before = d - share·d;    d of computed = share·d
struct HandOn {
  const real* share = nullptr;  // [batch, width]: zoneout and lengths
  const real* kept = nullptr;   // [batch]: resets, 0 in rows that begin anew with the next step
  const real* mask = nullptr;   // [batch, width]: recurrent dropout
  // Forward. before: the state that this step met, given with share. The others are null where nobody reads them; met may be
  // before.
  const real* before = nullptr;
  real *met = nullptr, *entering = nullptr;
  // Back. dy: of y, which the state is, too. direct: what the state gained besides the product. rest: rest_of_before
  // of the step after. rest_of_before: given with share, may be rest. room: the CPU's, for d of computed, if anything
  // acts; may be d of entering.
  const real *dy = nullptr, *direct = nullptr, *rest = nullptr;
  real *rest_of_before = nullptr, *room = nullptr;
  RoundedCopy rounded = {};  // of entering; back: of d of computed
};

// One step of an LSTM cell for `batch` rows: gates [batch, gate_count()·hidden] in order i f g o, or f g o if coupled; the
// rest [batch, hidden].
struct LstmStep {
  int64_t batch, hidden;
  real* gates;  // sums, then activated
  const real* c_prev;
  real *c, *h;
  Unary gate = Unary::sigmoid;  // of i f o: sigmoid or hard_sigmoid
  Unary cell = Unary::tanh;     // of g and c: tanh, relu, hard_tanh or softsign
  real clip = 0;                // c stays between ±clip; 0: it is free
  bool coupled = false;         // there is no gate i, which is 1 - f: gates are f g o, peepholes of f and o
  constexpr int64_t gate_count() const { return coupled ? 3 : 4; }
  constexpr int64_t peephole_count() const { return coupled ? 2 : 3; }
  const real* peepholes = nullptr;  // [peephole_count(), hidden]: i and f see c_prev, o sees c
  real* dpeepholes = nullptr;       // [batch, peephole_count(), hidden]: the gradient adds each row's own
  real norm_eps = 0;
  // Layer norm of the product [batch, gate_count()·hidden] of h on its way into the gates.
  struct Norm {
    const real* gain = nullptr;             // null: none
    real* product = nullptr;                // by the gradient overwritten with its own
    real *mean = nullptr, *rstd = nullptr;  // [batch]
    real* dgain = nullptr;                  // [batch, gate_count()·hidden]: the gradient adds each row's own
  } norm_h = {};
  struct StateNorm {                              // of c on its way to h
    const real *gain = nullptr, *bias = nullptr;  // [hidden]; null: none
    real* y = nullptr;                      // [batch, hidden]; the way back overwrites it with its gradient
    real *mean = nullptr, *rstd = nullptr;  // [batch]
  } norm_c = {};
  HandOn h_on = {}, c_on = {};
  real* c_after = nullptr;  // c as share leaves it; null: c stays
  // A copy of the gates' gradients, or of the gradient of h's product if that is normalised.
  RoundedCopy rounded_gates = {};
};

// One step of a GRU cell: gates and sums [batch, 3·hidden] in order r z n, the first of x, the second of h; the rest
// [batch, hidden].
struct GruStep {
  int64_t batch, hidden;
  static constexpr int64_t gate_count() { return 3; }
  real *gates, *sums;
  const real *bias_hn, *h_prev;  // bias_hn [hidden]
  real* h;
  HandOn h_on = {};
  RoundedCopy rounded_sums = {};  // of their gradients
};

// One step of a plain cell [batch, hidden].
struct RnnStep {
  int64_t batch, hidden;
  Unary f;     // tanh or relu
  real* sums;  // then f of them
  real* h;
  HandOn h_on = {};
  RoundedCopy rounded_sums = {};  // of their gradients
};

// On a GPU, of logits whose cross entropy is computed. bias [cols] is added to them before. rounded: a copy of the gradient.
struct LogitsOptions {
  const real* bias = nullptr;
  RoundedCopy rounded = {};
};

// The columns of a matrix that each of its rows sees. Row r sees those from begin + r·step up to, but without, end +
// r·step. If firsts is given, it sees none before firsts[r·apart] - origin.
struct SeenColumns {
  int64_t end = 0, step = 0;
  int64_t begin = INT64_MIN / 2;
  const real* firsts = nullptr;  // whole numbers, where the matrix is
  int64_t apart = 0, origin = 0;
};

// A factor of a product: element (i, j) at data[i·row + j·col]; row or col is 1.
struct Operand {
  const real* data;
  int64_t row, col;
  const void* rounded =
      nullptr;  // the same elements, of which data are not read: as RoundedCopy, in the product's own 16 bits
  const void* packed = nullptr;  // b's, of which nothing else is read: as `pack` leaves them
};

// Added to a product: c itself, or one row for all of c's, at a distance of 0. Without data nothing.
struct Addend {
  const real* data = nullptr;
  int64_t row = 0;
  Addend at(int64_t i, int64_t j) const { return data ? Addend{data + i * row + j, row} : *this; }
};

// Matrix products with operands of one precision; a, b and c are real numbers in any case. Scratch and packed
// matrices are bytes, aligned to 64.
struct Products {
  // c [m, n] = addend + a [m, k] b [k, n], rows of c at a distance of c_row. On up to `threads` threads, with
  // scratch_bytes for each.
  void (*gemm)(const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
               const Addend& addend, void* scratch, int threads);
  void (*pack)(const Operand& b, int64_t k, int64_t n, void* packed);  // in packed_bytes(k, n)
  int64_t (*packed_bytes)(int64_t k, int64_t n);
  int64_t scratch_bytes;
  // For a library that is given operands and gives results in the 16 bits of this precision: y = x rounded as the
  // operands are, and y = x or y += x, exactly. Null for fp32 and tf32, and on the CPU.
  void (*round)(const real* x, void* y, int64_t n) = nullptr;
  void (*widen)(const void* x, real* y, int64_t n, bool add) = nullptr;
};

struct Kernels {
  const char* name;  // "avx512"

  Products fp32;
  // Operands rounded, sums in float. All null where there is no such product.
  Products tf32;  // to 11 bits of precision, by a GPU's tensor cores
  Products bf16;  // to bfloat16
  Products fp16;  // to half precision: 11 bits, and nothing beyond 65504
  // bf16's numbers by the instructions of fp32 and about as slow as these; what bf16 is under
  // UNROLL_ISA=emulated_bf16. The CPU's, in float.
  Products emulated_bf16;
  // fp32's numbers by the instructions of bf16, each as the sum of three, as exact as by its own. With AMX, all but
  // small products of fp32 are these.
  Products split_fp32;

  // --- elements -------------------------------------------------------------------------------------------
  void (*fill)(real* y, real value, int64_t n);
  void (*unary)(Unary f, const real* x, real* y, int64_t n);
  // dx = dy · f'(x)
  void (*unary_gradient)(Unary f, const real* x, const real* y, const real* dy, real* dx, int64_t n,
                         bool add);
  // y[i] = a[i mod na] ∘ b[i mod nb]; na or nb equals n, the other divides it
  void (*binary)(Binary f, const real* a, int64_t na, const real* b, int64_t nb, real* y, int64_t n);
  // da[i] = dy[i] · ∂f/∂a before any summing over repeats; both operands as in `binary`. `of_b`: with respect to b.
  void (*binary_gradient)(Binary f, bool of_b, const real* a, int64_t na, const real* b, int64_t nb,
                          const real* dy, real* d, int64_t n, bool add);
  // y = scale · x + shift
  void (*affine)(const real* x, real scale, real shift, real* y, int64_t n, bool add);
  // y[i] = a[i] where c[i] is not 0, else b[i]. If a or b is null, all its elements are a0 or b0.
  void (*select)(const real* c, const real* a, real a0, const real* b, real b0, real* y, int64_t n, bool add);
  // y = 2σ(a)·x, and a becomes σ(a)
  void (*gate)(real* a, const real* x, real* y, int64_t n);
  // s = σ(a) becomes the gradient of a, and d, the gradient of y, that of x
  void (*gate_gradient)(real* s, const real* x, real* d, int64_t n);
  // y[i] = x[i] · keep(i mod period) / (1 - rate), keep drawn from key; period < n locks the mask over time
  void (*dropout)(const real* x, real rate, const RandomKey& key, int64_t period, real* y, int64_t n,
                  bool add);
  // dst[b·dst_stride + i] = src[b·src_stride + i] for `blocks` blocks of `length`
  void (*copy_blocks)(const real* src, int64_t src_stride, real* dst, int64_t dst_stride, int64_t blocks,
                      int64_t length, bool add);
  // y [outer, cols, rows, inner] = x [outer, rows, cols, inner] with its middle dimensions exchanged
  void (*transpose)(const real* x, int64_t outer, int64_t rows, int64_t cols, int64_t inner, real* y,
                    bool add);

  // --- rows: x [rows, cols] ---------------------------------------------------------------------------------
  // y[r] = x[r] where kept[r] is not 0, else zeros, whatever x holds there
  void (*keep_rows)(const real* x, const real* kept, int64_t rows, int64_t cols, real* y, bool add);
  void (*sum_rows)(const real* x, int64_t rows, int64_t cols, real* y, bool add);
  void (*softmax)(const real* x, int64_t rows, int64_t cols, real* y);
  void (*softmax_gradient)(const real* y, const real* dy, int64_t rows, int64_t cols, real* dx, bool add);
  void (*log_softmax)(const real* x, int64_t rows, int64_t cols, real* y);
  void (*log_softmax_gradient)(const real* y, const real* dy, int64_t rows, int64_t cols, real* dx, bool add);
  // y = (x - mean) · rstd · gain + bias, over each row; mean and rstd [rows] are kept for the gradient. bias may be null.
  void (*layer_norm)(const real* x, const real* gain, const real* bias, real eps, int64_t rows, int64_t cols,
                     real* y, bool add, real* mean, real* rstd);
  // dx, which may be x; dgain and dbias [cols] are added to what they hold. Any of the three may be null.
  void (*layer_norm_gradient)(const real* x, const real* gain, const real* mean, const real* rstd,
                              const real* dy, int64_t rows, int64_t cols, real* dx, bool add_dx, real* dgain,
                              real* dbias);
  // y [outer, inner] = Σ over the middle dimension of x [outer, n, inner], times `scale`
  void (*sum_middle)(const real* x, int64_t outer, int64_t n, int64_t inner, real scale, real* y);
  void (*sum_middle_gradient)(const real* dy, int64_t outer, int64_t n, int64_t inner, real scale, real* dx,
                              bool add);
  // y = max over the middle dimension, where [outer, inner] = its index (the first of equals)
  void (*max_middle)(const real* x, int64_t outer, int64_t n, int64_t inner, real* y, int32_t* where);
  void (*max_middle_gradient)(const real* dy, const int32_t* where, int64_t outer, int64_t n, int64_t inner,
                              real* dx);

  // y [outer, inner] = log Σ exp x over the middle dimension; -∞ where all of x is
  void (*log_sum_exp)(const real* x, int64_t outer, int64_t n, int64_t inner, real* y);
  // dx = dy · exp(x - y), 0 where y is -∞
  void (*log_sum_exp_gradient)(const real* x, const real* y, const real* dy, int64_t outer, int64_t n,
                               int64_t inner, real* dx, bool add);
  // y[o, i, k] = the sum of x[o, 0 … i, k], or backwards of x[o, i … n-1, k]
  void (*cumulate)(const real* x, int64_t outer, int64_t n, int64_t inner, bool backwards, real* y, bool add);
  // y [outer, count, inner] = x[o, id, k], with an id for each of y, or `shared`: ids [count]
  void (*take_middle)(const real* x, const int32_t* ids, bool shared, int64_t outer, int64_t n, int64_t inner,
                      int64_t count, real* y);
  // dx[o, id, k] += dy, in order
  void (*add_to_middle)(const real* dy, const int32_t* ids, bool shared, int64_t outer, int64_t n,
                        int64_t inner, int64_t count, real* dx);
  // where [rows, count]: the places of the largest of each row, largest first, the first of equals first. NaN is
  // larger than any number.
  void (*largest)(const real* x, int64_t rows, int64_t cols, int64_t count, int32_t* where);
  // x becomes the softmax of scale·x + slope·column over what each row sees, and zeros elsewhere
  void (*softmax_within)(real* x, int64_t rows, int64_t cols, const SeenColumns& seen, real scale,
                         real slope);

  // --- indices ------------------------------------------------------------------------------------------------
  // y [n, cols] = rows ids of table
  void (*take_rows)(const real* table, const int32_t* ids, int64_t n, int64_t cols, real* y);
  // table[ids[k]] += dy[k], k in order; ids below 0 are left out
  void (*add_to_rows)(const real* dy, const int32_t* ids, int64_t n, int64_t cols, real* table);
  // The same beside the table: where an id stands first, sums [n, cols] has the sum of its rows of dy, and firsts [n] the id.
  // Where it stands again, these are 0 and -1.
  void (*sums_of_rows)(const real* dy, const int32_t* ids, int64_t n, int64_t cols, real* sums,
                       int32_t* firsts);

  // --- cells -------------------------------------------------------------------------------------------------------
  // HandOn's formulas by themselves, [batch, width]. Forward: computed -> state, which may be computed. Back: d of
  // entering -> d of computed, which may be d of entering.
  void (*hand_on)(const HandOn& on, const real* computed, int64_t batch, int64_t width, real* state);
  void (*hand_on_gradient)(const HandOn& on, const real* d, int64_t batch, int64_t width, real* d_computed);

  // i f o = σ, g = tanh of the gates, written over them;  c = f·c_prev + i·g;  h = o·tanh(c)
  void (*lstm_cell)(const LstmStep& step);
  // Overwrites the activated gates with the gradients of what they were before activation. A product that was
  // normalised is overwritten with its gradient, and so is norm_c.y. dh and dc: gradients of h and c; dc_prev (may be
  // dc) receives that of c_prev.
  void (*lstm_cell_gradient)(const LstmStep& step, const real* dh, const real* dc, real* dc_prev);

  // r z = σ(gates + sums), n = tanh(gates + r·(sums + bias_hn)), written over the gates; sums of n keep bias_hn;
  //   h = (1-z)·n + z·h_prev
  void (*gru_cell)(const GruStep& step);
  // Overwrites gates and sums with their gradients; kept = z·dh, what h_prev gains beside the product.
  void (*gru_cell_gradient)(const GruStep& step, const real* dh, real* kept);

  // h = f(sums), also written over them; and sums with their gradients
  void (*rnn_cell)(const RnnStep& step);
  void (*rnn_cell_gradient)(const RnnStep& step, const real* dh);

  // --- losses ---------------------------------------------------------------------------------------------------
  // loss[r] = weight_r · (log Σ_k exp x[r,k] - Σ_k t_k x[r,k]), t = (1 - smoothing)·onehot(target) + smoothing / cols. If
  // `gradient`, x is overwritten with weight_r · scale · (softmax(x) - t). If target is `ignore` or the weight 0, both
  // are 0, whatever x holds. weights [rows] may be null, and so may scored [rows]: it becomes 1, or 0 in those rows.
  void (*cross_entropy)(real* x, const int32_t* target, const real* weights, int32_t ignore, int64_t rows,
                        int64_t cols, real* loss, bool gradient, real scale, real smoothing, real* scored,
                        const LogitsOptions& options);
  // y[i] = pos_weight·t·softplus(-x) + (1-t)·softplus(x)
  void (*binary_cross_entropy)(const real* x, const real* t, real pos_weight, real* y, int64_t n);
  void (*binary_cross_entropy_gradient)(const real* x, const real* t, real pos_weight, const real* dy,
                                        real* dx, int64_t n, bool add);

  // --- the optimizers' passes over slabs --------------------------------------------------------------------------
  double (*sum_of_squares)(const real* x, int64_t n);
  // Nothing is changed unless step->outcome.go. first, second: the moments of the rule, or null.
  void (*update_weights)(const WeightUpdate& u, const StepValues* step, real* p, const real* g, real* first,
                         real* second, int64_t n);
  // p += min(decay·rms, 1)·(start - p);  p -= learning_rate·scale·g / (rms + epsilon).  g null: it is 0
  void (*dynamic)(const DynamicUpdate& u, const StepValues* step, real* p, const real* g, const real* start,
                  const real* rms, int64_t n);
  // sum += x²
  void (*add_square)(const real* x, real* sum, int64_t n);
  // average += average_weight · (p - average)
  void (*average)(const StepValues* step, const real* p, real* average, int64_t n);

  // --- a step's decisions, where its numbers are -------------------------------------------------------------------
  // loss += count · mean; finite only if both numbers are, and mean is at most `largest`
  void (*add_loss)(const real* mean, const real* objective, double count, double largest, StepValues* step);
  // squares += Σ x²
  void (*add_squares)(const real* x, int64_t n, StepValues* step);
  // norm = |factor| √squares;  scale = factor · min(1, max_norm / (norm + 1e-6));  go if all is finite and nothing has
  // failed before; total += loss if so. The sums begin anew.
  void (*decide_step)(StepValues* step);
  // y = x unless a step has failed
  void (*keep)(const StepValues* step, const real* x, real* y, int64_t n);
};

// use(name) for each kernel: a back end declares a function of that name and type, and puts it into its table.
#define UNROLL_EACH_KERNEL(use)                                                                              \
  use(fill) use(unary) use(unary_gradient) use(binary) use(binary_gradient) use(affine) use(select)          \
      use(gate) use(gate_gradient) use(dropout) use(copy_blocks) use(transpose) use(keep_rows) use(sum_rows) \
          use(softmax) use(softmax_gradient) use(log_softmax) use(log_softmax_gradient) use(layer_norm)      \
              use(layer_norm_gradient) use(sum_middle) use(sum_middle_gradient) use(max_middle)              \
                  use(max_middle_gradient) use(log_sum_exp) use(log_sum_exp_gradient) use(cumulate)          \
                      use(take_middle) use(add_to_middle) use(largest) use(softmax_within) use(take_rows)    \
                          use(add_to_rows) use(sums_of_rows) use(hand_on) use(hand_on_gradient)              \
                              use(lstm_cell) use(lstm_cell_gradient) use(gru_cell) use(gru_cell_gradient)    \
                                  use(rnn_cell) use(rnn_cell_gradient) use(cross_entropy)                    \
                                      use(binary_cross_entropy) use(binary_cross_entropy_gradient)           \
                                          use(sum_of_squares) use(update_weights) use(dynamic)               \
                                              use(add_square) use(average) use(add_loss) use(add_squares)    \
                                                  use(decide_step) use(keep)

// The kernels of the device that computes (device.h). The CPU's are in the best instruction set of this machine.
// UNROLL_ISA=baseline|avx2|avx512|avx512_bf16|amx, on Arm baseline|neon_bf16, in the environment asks for another: an error
// if the machine lacks it. UNROLL_ISA=emulated_bf16 asks for the best that has no bfloat16, with emulated_bf16 as its bf16.
const Kernels& kernels();
// The CPU's in any case, for numbers in the host's memory.
const Kernels& host_kernels();

}  // namespace unroll
