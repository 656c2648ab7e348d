// Places of a network's weights in cuDNN's weight space: asked of the library, never assumed.
#pragma once

#include <functional>
#include <vector>

#include "layers/recurrent/engines/cudnn.h"
#include "layers/recurrent/engines/cudnn/library.h"
#include "layers/recurrent/engines/cudnn/numbers.h"

namespace unroll {

class CudnnWeightSpace {
 public:
  CudnnWeightSpace(const CudnnConfig& config, const CudnnNumbers& numbers, cudnnRNNDescriptor_t rnn,
                   const ListedWeights& weights);

  std::size_t bytes() const { return bytes_; }
  const Vars& parameters() const { return parameters_; }  // each once
  // True if the parameters already lie in memory as cuDNN wants them.
  bool in_place() const { return place() != nullptr; }

  // Returns the weight space with the parameters' values: the parameters themselves, or a copy that this call renews.
  // With tapes, the copy is renewed once for all whose gradients make one step, since they see the same weights.
  // Without a tape it is renewed at every call, since the weights may have changed.
  const void* renewed() const;

  // Calls add_gradients(space), in which cuDNN adds to a weight space, and adds the result to the gradients of the
  // parameters that want one. Does nothing if none does.
  void gather(const std::function<void(void* space)>& add_gradients) const;

 private:
  // Elements first … first+count-1 of a parameter, and their place in the weight space.
  struct Segment {
    size_t parameter;
    int first, count, offset;
  };
  const real* place() const;  // of the weight space in the parameters; nullptr if they are not in place
  void add(size_t parameter, int first, int count, int offset);
  void* at(const Memory& space, const Segment& s) const {
    return static_cast<char*>(space.data()) + static_cast<std::size_t>(s.offset) * numbers_.bytes;
  }

  bool is_of_this_step() const;  // the copy

  CudnnNumbers numbers_;
  std::size_t bytes_ = 0;
  Vars parameters_;
  std::vector<Segment> segments_;
  mutable Memory copy_;  // what no parameter fills stays 0: the second bias of an LSTM
  mutable struct {
    uint64_t tape = 0;  // 0: none
    uint32_t part = 0;
  } copied_for_;
};

}  // namespace unroll
