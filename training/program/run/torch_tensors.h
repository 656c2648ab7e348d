// PyTorch's tensors under our models' names: which is which, and the sizes that their shapes tell.
//
//   const TorchTensors tensors(file, {{.ours = "lstm"}, {"head", {"fc", "head"}}}, renames);
//   tensors.names.at("head.weight");  // "model.fc.weight"
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "framework/parameters.h"
#include "layers/recurrent/options.h"
#include "training/files/safetensors.h"

namespace unroll {

// A module that a model may have.
struct KnownModule {
  std::string ours;                 // "decoder"
  std::vector<std::string> theirs;  // names it may have, at any depth; none: any name
  std::vector<std::string> leaves;  // "weight", "bias"; none named: those of one nn.LSTM, nn.GRU or nn.RNN
};

class TorchTensors {
 public:
  using Entry = SafetensorsFile::Entry;

  // Assigns each tensor to the first of `modules` that it can belong to. `renames`: "THEIRS=OURS", for a tensor or a
  // module ("rnns.0=lstm"); with nothing after '=' it is left out. Throws InputError for an unknown tensor, two tensors
  // for one name, or two recurrent modules that match one. Requires: the file outlives this.
  TorchTensors(const SafetensorsFile& file, const std::vector<KnownModule>& modules,
               const std::vector<std::string>& renames);

  const SafetensorsFile& file() const { return file_; }
  const Entry* find(const std::string& ours) const;  // nullptr: there is none
  std::string text(const std::string& ours) const;   // "'rnn.weight_ih_l0' [800, 200]"; it must be there
  // Rows and columns of a matrix. Throws if it is missing, or one of them is 0.
  std::array<int, 2> matrix(const std::string& ours) const;
  // Throws if the tensor exists with another shape; `why` says who demands this one.
  void check(const std::string& ours, const std::vector<int64_t>& shape, const std::string& why) const;

  std::map<std::string, std::string> names;  // ours -> theirs

 private:
  const SafetensorsFile& file_;
};

// Sizes that the shapes of a recurrent module tell.
struct RecurrentSizes {
  CellKind cell = CellKind::lstm;
  int input = 0, hidden = 0, layers = 0;
  int projection = 0;  // of an LSTM: proj_size
};

// Checks every shape of the module that we call `scope`, and returns its sizes. `input`: the width that the first layer
// reads, and `reads` its origin ("'encoder.weight' [17, 6]"); 0: take it from the module. Throws InputError.
RecurrentSizes read_recurrent_sizes(const TorchTensors& tensors, const std::string& scope, int input = 0,
                                    const std::string& reads = {});

// The names with `scope` replaced by `other`: a GRU's tensors are ours as "gru.…".
std::map<std::string, std::string> with_scope(const std::map<std::string, std::string>& names,
                                              const std::string& scope, const std::string& other);

// Fills a model. Biases that the file lacks become zeros. `names`: ours -> theirs. Throws InputError, naming the
// tensor, if one is missing, unknown to the model, of another shape (naming both), or has numbers that are not finite.
void fill_from_torch(ParameterSet& params, const SafetensorsFile& file,
                     const std::map<std::string, std::string>& names);

// One line per tensor of the model: the tensor of the file that it was taken from.
std::string table_of_names(const ParameterSet& params, const std::map<std::string, std::string>& names);

}  // namespace unroll
