#include "layers/recurrent/wavefront.h"

#include <fmt/format.h>

#include "framework/kernels/kernels.h"
#include "framework/kernels/persistent.h"
#include "framework/ops.h"
#include "framework/plain.h"
#include "framework/profile.h"
#include "layers/recurrent/engines/fused/layer_pair.h"
#include "layers/recurrent/options.h"
#include "layers/recurrent/persistent.h"

namespace unroll {

bool detail::layer_by_layer = false;
bool detail::one_lane = false;

std::optional<Wavefront> wavefront(Engine engine, const CellFacts& cell, const RecurrentConfig& config,
                                   const EngineFacts& gpu, const WindowFacts& window, std::string* why) {
  const bool calls = engine == Engine::cudnn;
  std::string reason;
  if (gpu.gpu.empty())
    reason = "a GPU does it";
  else if (!cell.is_ours())
    reason = fmt::format("the cell {} computes a window at once", cell.name);
  else if (config.layers == 1)
    reason = "there is one layer";
  else if (config.bidirectional)
    reason = "a layer that reads backwards needs the whole window of the one below";
  else if (calls && !acts_between_layers(config))
    reason = "one call of cuDNN's computes all layers";
  else if (calls && window.lengths != WindowFacts::Lengths::none)
    reason = "rows have lengths of their own, and some would have no step in a chunk";
  else if (calls && is_plain("cudnn-lanes"))
    reason = "UNROLL_PLAIN names cudnn-lanes";
  else if (window.steps > 0 && window.steps < Wavefront::least_steps)
    reason = fmt::format("a window of {} steps is shorter than {}", window.steps, Wavefront::least_steps);
  else if (!calls && persistent_plan(cell, config, gpu, window))
    reason = "the persistent kernel takes all processors";
  if (why) *why = reason;
  if (!reason.empty()) return {};
  const int steps = window.steps > 0 ? window.steps : 5 * Wavefront::most_chunks;
  return calls ? Wavefront::of_calls(steps) : Wavefront::of(steps);
}

WavePart::WavePart(std::shared_ptr<Wave> wave, int lane)
    : wave_(std::move(wave)),
      place_(static_cast<int>(wave_->parts_.size())),
      lane_(detail::one_lane ? 1 : lane) {
  for (auto& marks : wave_->parts_.emplace_back().marks) marks.fill(-1);
}

int WavePart::chunks() const { return wave_ ? wave_->chunks : 1; }

PartInLane::PartInLane(const WavePart& part, Way way) : part_(part), way_(way) {
  if (!part) return;
  std::optional<Lanes>& lanes = part.wave_->lanes_[way];
  if (!lanes) lanes.emplace();
  in_.emplace(*lanes, part.lane_);
}
void PartInLane::await(int chunk) {
  if (!in_) return;
  Wave& wave = *part_.wave_;
  const int before = part_.place_ + (way_ == Way::forward ? -1 : 1);
  if (before < 0 || before == static_cast<int>(wave.parts_.size())) return;
  const int mark = wave.parts_[static_cast<size_t>(before)].marks[way_][static_cast<size_t>(chunk)];
  if (mark >= 0) wave.lanes_[way_]->await(mark);  // else no gradient came
}
void PartInLane::done(int chunk) {
  if (!in_) return;
  Wave& wave = *part_.wave_;
  wave.parts_[static_cast<size_t>(part_.place_)].marks[way_][static_cast<size_t>(chunk)] =
      wave.lanes_[way_]->mark();
}

// The upper of a pair adds to the gradients of the lower's inputs, too.
static bool inputs_are_checked() { return Tape::recording() && Tape::recording()->options().check_inputs; }

LayerOrder::LayerOrder(Engine engine, const CellFacts& cell, const RecurrentConfig& config,
                       const WindowFacts& window) {
  if (!on_gpu() || config.layers == 1 || detail::layer_by_layer || Lanes::any() || Profile::active()) return;
  if (const Tape* tape = Tape::recording(); tape && tape->options().observer) return;
  static EngineFacts here = engine_facts();  // of the process's one GPU
  here.precision = precision();
  if (const auto plan = wavefront(engine, cell, config, here, window))
    wave_ = std::allocate_shared<Wave>(PoolAllocator<Wave>(), plan->chunks);
  else if (const auto both = persistent_pair(cell, config, here, window);
           both && engine == Engine::fused && !inputs_are_checked())
    pair_ = std::allocate_shared<LayerPair>(PoolAllocator<LayerPair>(), *both);
}
WavePart LayerOrder::part(int k) const {
  if (pair_) return WavePart(pair_);
  return wave_ ? WavePart(wave_, 1 + k % Wavefront::streams) : WavePart();
}
void LayerOrder::end() const {
  if (wave_) wave_->end_forward();
  if (pair_) pair_->lower.reset();
}

// y = x · mask        dx = dy · mask
Var LayerOrder::dropout(const Var& x, real rate, const RandomKey& key, bool locked) const {
  if (pair_ && pair_->lower && rate > 0 && dropout_is_on()) return pair_->dropout(x, rate, key, locked);
  if (!wave_ || rate == 0 || !dropout_is_on()) return unroll::dropout(x, rate, key, locked);
  const WavePart part(wave_, 1 + Wavefront::streams);
  const int steps = x.dim(0);
  const Tensor mask = dropout_mask(locked ? Shape{x.dim(1), x.dim(2)} : x.shape(), rate, key), y(x.shape());
  const auto of_steps = [=](int begin, int end) { return locked ? mask : mask.slice(begin, end); };
  {
    PartInLane lane(part, PartInLane::Way::forward);
    lane.each_chunk(steps, [&](int begin, int end) {
      const Tensor in = x.value().slice(begin, end), factors = of_steps(begin, end);
      Tensor out = y.slice(begin, end);
      kernels().binary(Binary::mul, in.data(), in.size(), factors.data(), factors.size(), out.data(),
                       out.size());
    });
  }
  return record("dropout", y, inputs(x), [=](const Var& y) {
    PartInLane lane(part, PartInLane::Way::back);
    const Tensor dy = y.grad();
    const Into dx = x.gradient();
    lane.each_chunk(steps, [&](int begin, int end) {
      const Tensor d = dy.slice(begin, end), factors = of_steps(begin, end);
      const Tensor in = x.value().slice(begin, end);
      Tensor out = dx.tensor.slice(begin, end);
      kernels().binary_gradient(Binary::mul, false, in.data(), in.size(), factors.data(), factors.size(),
                                d.data(), out.data(), out.size(), dx.add);
    });
  });
}

// y = out + in        dout = din = dy
Var LayerOrder::residual(const Var& out, const Var& in) const {
  if (!wave_) return out + in;
  const WavePart part(wave_, 2 + Wavefront::streams);
  const int steps = out.dim(0);
  const Tensor y(out.shape());
  {
    PartInLane lane(part, PartInLane::Way::forward);
    lane.each_chunk(steps, [&](int begin, int end) {
      const Tensor a = out.value().slice(begin, end), b = in.value().slice(begin, end);
      Tensor sum = y.slice(begin, end);
      kernels().binary(Binary::add, a.data(), a.size(), b.data(), b.size(), sum.data(), sum.size());
    });
  }
  return record("residual", y, inputs(out, in), [=](const Var& y) {
    PartInLane lane(part, PartInLane::Way::back);
    const Tensor dy = y.grad();
    const Into to_both[] = {out.wants_grad() ? out.gradient() : Into(),
                            in.wants_grad() ? in.gradient() : Into()};
    lane.each_chunk(steps, [&](int begin, int end) {
      const Tensor d = dy.slice(begin, end);
      for (const Into& to : to_both)
        if (to.tensor.defined())
          kernels().affine(d.data(), 1, 0, to.tensor.slice(begin, end).data(), d.size(), to.add);
    });
  });
}

}  // namespace unroll
