// Files of gradient statistics: any bytes as those of one small model. Accepted statistics can be divided by, and are
// the same when written and read again.
#include <cstring>

#include "fuzz/safetensors.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "optim/dynamic_evaluation.h"
#include "training/files/gradient_statistics.h"

using namespace unroll;

namespace {

struct Model {
  Model() { params.initialize(Init::uniform(-0.1f, 0.1f)); }
  ParameterSet params;
  Embedding embedding{params / "embedding", {.vocab = 3, .dim = 2}};
  Dense out{params / "out", {.in = 2, .out = 3}};
};

void read_and_write(const std::filesystem::path& path) {
  Model model;
  const StoredStatistics stored = read_gradient_statistics(path, model.params);
  const Tensor& rms = stored.root_mean_square;
  const auto again = fuzz::folder() / "again.safetensors";
  write_gradient_statistics(again, model.params, rms, stored.metadata);
  const StoredStatistics second = read_gradient_statistics(again, model.params);
  fuzz::expect(std::memcmp(std::as_const(rms).data(), std::as_const(second.root_mean_square).data(),
                           static_cast<std::size_t>(rms.size()) * sizeof(real)) == 0 &&
                   second.metadata == stored.metadata,
               "statistics make themselves");
  const DynamicEvaluation update(model.params, rms);  // which may refuse them
  fuzz::expect(update.typical() > 0, "there is something to divide by");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  for (const std::string& bytes : fuzz::as_safetensors(data, size))
    fuzz::expect_in_proportion(bytes, read_and_write);
  return 0;
}
