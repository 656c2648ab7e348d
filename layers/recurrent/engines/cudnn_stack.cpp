// Which calls of cuDNN make up a stack of layers. Nothing here needs cuDNN itself.
#include <algorithm>

#include "layers/recurrent/engines/cudnn.h"
#include "layers/recurrent/recurrent.h"

namespace unroll {

namespace {

// The order of cuDNN's weight space: the matrices of all layers, then the biases of all.
Vars in_order(const ListedWeights& weights) {
  Vars result;
  for (const bool matrices : {true, false})
    for (const auto& layer : weights)
      for (size_t i = 0; i < layer->all.size();
           ++i)  // by name: a shape would have the weight take its memory
        if (layer->names[i].starts_with("weight") == matrices) result.push_back(layer->all[i]);
  return result;
}

// A call of a network. cuDNN fails where a row has no step (jax-ml/jax#17966), so such a row takes one: over the zeros that
// x has there, and with the state as it was before instead of the one that comes of it.
RecurrentOutput call(const CudnnNetwork& network, const Var& x, const RecurrentVars& before,
                     const IdTensor& lengths, const Tensor& real_steps, const WavePart& part) {
  if (!lengths.defined() || std::ranges::find(lengths.span(), 0) == lengths.span().end())
    return network(x, before, lengths, real_steps, part);
  const int batch = x.dim(1), layers = before.h.dim(0);
  IdTensor at_least_one({batch});
  const Tensor steps({layers, batch}), stays({layers, batch});
  {
    const auto has_steps = steps.on_host(Access::overwrite), has_none = stays.on_host(Access::overwrite);
    for (int b = 0; b < batch; ++b) {
      const int length = lengths.data()[b];
      at_least_one.data()[b] = std::max(1, length);
      for (int k = 0; k < layers; ++k) {
        has_steps[int64_t{k} * batch + b] = length > 0;
        has_none[int64_t{k} * batch + b] = length == 0;
      }
    }
  }
  const RecurrentOutput out = network(x, before, at_least_one, real_steps, part);
  const auto kept = [&](const Var& after, const Var& was) {
    return mask_rows(after, steps) + mask_rows(was, stays);
  };
  return {out.y, {kept(out.state.h, before.h), has(before.c) ? kept(out.state.c, before.c) : Var()}};
}

WindowFacts facts_of(const Var& x, const Lengths& lengths, const IdTensor& resets) {
  using Known = WindowFacts::Lengths;
  return {.steps = x.dim(0),
          .batch = x.dim(1),
          .lengths = !lengths.steps.defined()             ? Known::none
                     : lengths.padding == Padding::before ? Known::padded_before
                                                          : Known::padded_after,
          .resets = resets.defined()};
}

// Checks what is known of a window alone. Throws InputError.
void require_serves(const RecurrentStack& stack, const WindowFacts& window) {
  if (window.lengths == WindowFacts::Lengths::none && !window.resets && window.steps <= most_cudnn_steps)
    return;
  RecurrentConfig config = stack.config();
  config.engine = Engine::cudnn;
  choose_engine(stack.cell(), config, engine_facts(), window);
}

}  // namespace

// Lays the weights out in the scope's slab as cuDNN's weight spaces, where one bias serves.
static std::vector<CudnnNetwork> networks_of(const RecurrentStack& stack, const ListedWeights& weights,
                                             int in_a_call) {
  std::vector<CudnnNetwork> networks;
  const RecurrentConfig& c = stack.config();
  for (int k = 0; k < stack.count(); k += in_a_call) {
    ListedWeights of_call(weights.begin() + k, weights.begin() + k + in_a_call);
    const CudnnConfig config{.cell = stack.cell().kind,
                             .nonlinearity = c.nonlinearity,
                             .input = stack.scope_of(k).input,
                             .hidden = stack.hidden_of(k),
                             .width = stack.width_of(k),
                             .layers = in_a_call / c.directions(),
                             .directions = c.directions()};
    if (config.has_one_bias()) stack.scope().join(in_order(of_call));
    networks.emplace_back(config, std::move(of_call));
  }
  return networks;
}

WholeStack over_cudnn(const RecurrentStack& of, const ListedWeights& weights) {
  const int directions = of.config().directions();
  const int in_a_call = acts_between_layers(of.config()) ? directions : of.count();
  return [=, networks = networks_of(of, weights, in_a_call)](
             const RecurrentStack& stack, const Var& x, const RecurrentVars& state, const Lengths& lengths,
             const IdTensor& resets) -> RecurrentOutput {
    const WindowFacts window = facts_of(x, lengths, resets);
    require_serves(stack, window);
    const bool has_c = stack.cell().has_c, at_once = in_a_call == stack.count();
    const LayerOrder order(Engine::cudnn, stack.cell(), stack.config(), window);
    // Layers may be side by side: between the first and the last of them there is no other operation.
    std::vector<RecurrentVars, PoolAllocator<RecurrentVars>> states;
    for (int k = 0; k < stack.count(); k += in_a_call) {
      const auto own = [&](const Var& s) {
        return at_once ? s : stack.own_part(k, slice(s, 0, k, k + in_a_call));
      };
      states.push_back({own(state.h), has_c ? own(state.c) : Var()});
    }
    for (int k = 0; k < stack.count(); ++k)
      for (const Var& weight : stack.weights(k)) weight.value();  // which is made at first use
    Vars h, c;
    const auto run = [&](int k, const Var& in, const Tensor& real_steps) {
      const auto at = static_cast<size_t>(k / in_a_call);
      const auto out = call(networks[at], in, states[at], lengths.steps, real_steps, order.part(k));
      h.push_back(out.state.h);
      if (has_c) c.push_back(out.state.c);
      return out.y;
    };
    const Var y = stack.layer_by_layer(x, lengths, run, at_once, order);
    const auto all = [&](Vars& parts) {
      for (Var& part : parts) part = stack.full_rows(part);
      return parts.size() == 1 ? parts[0] : concat(parts, 0);
    };
    return {y, {all(h), has_c ? all(c) : Var()}};
  };
}

}  // namespace unroll
